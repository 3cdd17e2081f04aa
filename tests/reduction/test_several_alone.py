"""Several operations on few numbers go one by one, with the bits that they have together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.reduction.shortcuts import few, several, views

TUPLES = (
    ("min", "max"),
    ("sum", "mean", "argmax"),
    *large((("sum", "mean"),), (("var", "std"),), (("any", "all", "count_nonzero"),)),
    *large((("argmin", "argmax"),), (("nanmin", "nanmax"),), (("mean", "std"),)),
    *large((("nansum", "nanmean"),), (("l2", "l1"),), (("prod", "sum", "ptp"),)),
)
DTYPES = ("f4", *large(("i4",), ("f8",), ("i1",), ("u8",), ("f2",), ("?",)))


def forget() -> None:
    few.known_ways.clear()
    for remembered in (few.answer, few.answer_to, views._way_to):
        remembered.cache_clear()
    views._met.clear()


def layouts(dtype: str, shape: tuple[int, ...]) -> list[NDArray[Any]]:
    rng = np.random.default_rng(sum(shape))
    whole = rng.standard_normal(tuple(n + 2 for n in shape)) * 3 + 5
    whole = (whole > 1 if dtype == "?" else abs(whole)).astype(dtype)
    part = whole[tuple(slice(1, -1) for _ in shape)]
    return [part.copy(), part, np.asfortranarray(part), part[::-1]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ops", TUPLES)
def test_all_calls_leave_the_bits_of_the_first(
    monkeypatch: pytest.MonkeyPatch, ops: tuple[str, ...], dtype: str
) -> None:
    monkeypatch.setattr(several, "_CALLS_TOGETHER", 2)
    for shape, axes in (((40, 23), (None, 0, 1)), ((3, 50, 20), (1, (0, 1), (0, 2))), ((7,), (0,))):
        for values in layouts(dtype, shape):
            for axis in axes:
                if isinstance(axis, tuple) and any("arg" in op for op in ops):
                    continue
                if dtype == "?" and "ptp" in ops:
                    continue
                for keepdims in (False, True):
                    forget()
                    given: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
                    first = wl.reduce(values, ops, **given)
                    for _ in range(6):
                        found = wl.reduce(values, ops, **given)
                        assert found._fields == first._fields
                        for one, other in zip(found, first, strict=True):
                            assert type(one) is type(other)
                            assert one.dtype == other.dtype
                            assert one.shape == other.shape
                            assert one.tobytes() == other.tobytes(), (ops, shape, axis)


@pytest.mark.parametrize(
    ("ops", "dtype", "goes_alone"),
    [
        (("min", "max"), "f4", True),
        (("sum", "mean"), "f4", True),
        (("sum", "max"), "i4", True),
        (("sum", "max"), "f4", False),
        (("mean", "std"), "f4", False),
        (("var", "std"), "f8", True),
    ],
)
def test_what_would_have_other_bits_stays_together(
    monkeypatch: pytest.MonkeyPatch, ops: tuple[str, ...], dtype: str, goes_alone: bool
) -> None:
    monkeypatch.setattr(several, "_CALLS_TOGETHER", 2)
    values, asked = np.ones((30, 40), dtype), set()
    forget()
    plain = few.answer_along
    monkeypatch.setattr(few, "answer_along", lambda op, *rest: asked.add(op) or plain(op, *rest))
    for _ in range(5):
        wl.reduce(values, ops, axis=0)
    assert asked == (set(ops) if goes_alone else set())


def test_loops_for_each_are_made_for_who_calls_often() -> None:
    calls = []
    ways = [lambda *_: calls.append("one") or 1, lambda *_: calls.append("other") or 2]
    made = []
    way = several.each_alone(lambda *_: (0, 0), lambda: made.append(True) or ways, tuple)
    values, marks = np.ones(3), np.empty(0, bool)
    for _ in range(several._CALLS_TOGETHER):
        assert way(values, marks, 0) == (0, 0)
    assert not made
    assert way(values, marks, 0) == way(values, marks, 0) == (1, 2)
    assert made == [True]
    # One that has to go the long way takes the others with it.
    ways[1] = lambda *_: None
    way = several.each_alone(lambda *_: (0, 0), lambda: ways, tuple)
    assert [way(values, marks, 0) for _ in range(several._CALLS_TOGETHER + 2)][-1] == (0, 0)
    ways[1] = several.long_way
    calls.clear()
    way = several.each_alone(lambda *_: (0, 0), lambda: ways, tuple)
    assert [way(values, marks, 0) for _ in range(several._CALLS_TOGETHER + 2)][-1] == (0, 0)
    assert not calls


def test_what_is_rare_and_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "_CALLS_TOGETHER", 2)
    lost = np.array([[1e200, -1e200, 0], [1, 2, 3]])
    for _ in range(6):
        found = wl.reduce(lost, ("var", "std"), axis=1)
        assert np.isinf(found.var[0])
        np.testing.assert_allclose(found.std, [1e200 * np.sqrt(2 / 3), np.sqrt(2 / 3)])
    wide = np.array([[-100, 100], [0, 1]], np.int8)
    for _ in range(6):
        with pytest.raises(wl.InputError, match="ptp is 200, which int8 cannot hold"):
            wl.reduce(wide, ("max", "ptp"), axis=1)
    for _ in range(6):
        with pytest.raises(wl.InputError, match="max of no elements"):
            wl.reduce(np.empty((0, 3)), ("min", "max")[::-1])
