"""Places of extrema of arrays that lie in another order than they are counted in."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.reduction.loops import anywhere
from warpladder.reduction.shortcuts import views

DTYPES = ("f8", *large("f4", "i1", "u8", "i2", "u4", "i8", "f2", "?"))


@pytest.fixture
def found_anywhere(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of what `_find` has found."""
    found: list[Any] = []
    make = anywhere.way_to_place_anywhere

    def noting(*given: Any) -> Any:
        way = make(*given)
        if way is None:
            return None

        def noted(array: NDArray[Any], ddof: int) -> Any:
            found.append(way(array, ddof))
            return found[-1]

        return noted

    monkeypatch.setattr(views, "way_to_place_anywhere", noting)
    views._way_to.cache_clear()
    yield found
    views._way_to.cache_clear()


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 1e-4
    drawn = rng.integers(0, 120, shape)
    return drawn.astype(dtype)


def lying(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return an array turned and mirrored anyhow, and parts of it."""
    turned = [values.transpose(order) for order in permutations(range(values.ndim))]
    inner = (slice(1, -1),) * values.ndim
    return [
        *turned,
        *(each[::-1] for each in turned),
        *(np.flip(each) for each in turned),
        *(each[..., ::-1] for each in turned),
        *(each[inner] for each in turned),
        *(each[inner][::-1] for each in turned),
        *(each[::3] for each in turned),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["argmax", *large("argmin", "nanargmax", "nanargmin")])
@pytest.mark.parametrize("shape", [(270, 300), *large(((40, 41, 60),), ((400_000,),))])
def test_the_first_of_equals(
    found_anywhere: list[Any], dtype: str, op: str, shape: tuple[int, ...]
) -> None:
    for values in (numbers(dtype, shape), np.zeros(shape, dtype)):
        for each in lying(values):
            expected = getattr(np, op)(each)
            for _ in range(4):
                found = wl.reduce(each, op)
                assert (type(found), found) == (np.int64, expected)
            kept = wl.reduce(each, op, keepdims=True)
            assert (kept.shape, kept.item()) == ((1,) * each.ndim, expected)
    assert bool(found_anywhere) is (dtype not in {"f2", "?"})


@pytest.mark.parametrize("op", ["argmax", *large("nanargmin")])
def test_nans(found_anywhere: list[Any], op: str) -> None:
    """The first NaN is the place, or none is; where there is nothing else it is said."""
    for seed in range(10):
        values = numbers("f8", (270, 300), seed)
        values.reshape(-1)[np.random.default_rng(seed).integers(0, values.size, 3)] = np.nan
        for each in (values.T, values[::-1], values.T[::-1, ::-1]):
            for _ in range(4):
                assert wl.reduce(each, op) == getattr(np, op)(each)
    assert None not in found_anywhere
    values[...] = np.nan
    for _ in range(4):
        if op == "argmax":
            assert wl.reduce(values.T, op) == 0
        else:
            with pytest.raises(wl.InputError, match="only NaNs"):
                wl.reduce(values.T, op)


def test_the_last_of_equals_is_sought_from_the_end(found_anywhere: list[Any]) -> None:
    """Backwards what is last in memory counts first: at the ends of what is looked at together."""
    values = np.zeros(1 << 17)
    for at in (0, 1, 255, 256, 257, 70_000, values.size - 257, values.size - 256, values.size - 1):
        values[at] = 1
        for _ in range(3):
            assert wl.reduce(values[::-1], "argmax") == values.size - 1 - at
    assert found_anywhere


def test_few_elements_and_those_that_are_counted_as_they_lie_are_not_sought_so() -> None:
    values = numbers("f8", (400, 300))
    way = anywhere.way_to_place_anywhere
    for each in (values, values[1:-1, 1:-1], values[:, ::2], values.T[:, ::2].T, values[:100].T):
        assert way(each, lambda *_: None, "argmax") is None
    for each in (values.T, values[::-1], values.T[:200]):
        assert way(each, lambda *_: None, "argmax") is not None
