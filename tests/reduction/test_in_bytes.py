"""Booleans are asked as bytes: answers, types and errors are those of booleans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.errors import InputError
from warpladder.reduction.shortcuts.in_bytes import _OF_BYTES, in_bytes

SHAPES = ((1,), (33,), (31, 7), (7, 31), (40, 3, 9), (4, 600))


def truths(*shape: int) -> NDArray[np.bool_]:
    """Return booleans of which true ones are any byte but 0."""
    rng = np.random.default_rng(shape)
    raw = rng.integers(1, 256, shape, np.uint8)
    raw[rng.random(shape) < 0.4] = 0
    return raw.view(np.bool_)


def layouts(values: NDArray[Any]) -> list[NDArray[Any]]:
    whole = np.zeros([n + 2 for n in values.shape], values.dtype)
    part = whole[(slice(1, -1),) * values.ndim]
    part[...] = values
    second = np.repeat(values, 2, -1)[..., ::2]
    return [values, np.asfortranarray(values), part, second, values[::-1], values.T]


USUAL = ("mean", "all")


@pytest.mark.parametrize("op", [*USUAL, *large(*sorted(_OF_BYTES.keys() - USUAL))])
def test_answers_are_those_of_booleans(op: str) -> None:
    function = getattr(np, op)
    for shape in SHAPES:
        for lying in layouts(truths(*shape)):
            plain = lying.view(np.uint8) != 0
            for axis in (None, *range(lying.ndim)):
                for keepdims in (False, True):
                    expected = function(plain, axis=axis, keepdims=keepdims)
                    for _ in range(3):
                        found = wl.reduce(lying, op, axis=axis, keepdims=keepdims)
                        assert type(found) is type(expected)
                        assert found.dtype == expected.dtype
                        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("op", [np.add, np.maximum, np.minimum, np.logical_or, np.logical_and])
def test_ufuncs(op: np.ufunc) -> None:
    values = truths(40, 9)
    plain = values.view(np.uint8) != 0
    for axis in (None, 0, 1):
        found, expected = wl.reduce(values, op, axis=axis), op.reduce(plain, axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


FIRST_SETTLES = (
    *((op, True) for op in ("any", "max", "nanmax", "argmax", "nanargmax")),
    *((op, False) for op in ("all", "min", "nanmin", "argmin", "nanargmin")),
)


@pytest.mark.parametrize(("op", "first"), FIRST_SETTLES)
def test_the_first_that_settles_all(op: str, first: bool) -> None:
    for shape in ((), (1,), (33,), (5, 7), (3, 4, 5)):
        # One that is any byte but 0; the first by place, not in memory.
        for other in (first, not first):
            raw = np.full(shape, 7 if other else 0, np.uint8)
            for here in (first, not first):
                raw.reshape(-1)[0] = 9 if here else 0
                for lying in layouts(raw.view(np.bool_)) if shape else [raw.view(np.bool_)]:
                    expected = getattr(np, op)(lying.view(np.uint8) != 0)
                    found = wl.reduce(lying, op)
                    assert type(found) is type(expected)
                    assert found == expected
    kept = np.array([True, False])
    assert wl.reduce(np.array([first, not first]), op, keepdims=True).shape == (1,)
    masked = wl.reduce(np.array([first, not first]), op, where=~kept)
    assert masked == (1 if "arg" in op else not first)
    with pytest.raises(InputError, match="accuracy"):
        wl.reduce(kept, op, accuracy="exact")
    with pytest.raises(InputError, match="dtype"):
        wl.reduce(kept, op, dtype="i4")


def test_means_are_rounded_once() -> None:
    for n in (3, 7, 1000, 99_991):
        values = np.zeros(n, bool)
        values[: n // 3 + 1] = True
        assert wl.reduce(values, "mean") == values.mean() == (n // 3 + 1) / n


def test_masks() -> None:
    values, kept = truths(30, 20), truths(30, 20).view(np.uint8) > 60
    plain = values.view(np.uint8) != 0
    for axis in (None, 0, 1):
        for op in ("sum", "any", "all", "mean", "max"):
            options: dict[str, Any] = {"initial": False} if op == "max" else {}
            expected = getattr(np, op)(plain, axis=axis, where=kept, **options)
            np.testing.assert_array_equal(wl.reduce(values, op, axis=axis, where=kept), expected)
    nothing = np.zeros_like(kept)
    assert wl.reduce(values, "sum", where=nothing) == 0
    assert np.isnan(wl.reduce(values, "mean", where=nothing))
    for op in ("max", "min"):
        with pytest.raises(wl.InputError, match=f"where: {op} is not defined"):
            wl.reduce(values, op, where=nothing)


def test_errors_say_what_was_asked() -> None:
    empty = np.zeros((0, 3), bool)
    assert wl.reduce(empty, "sum", axis=0).tolist() == [0, 0, 0]
    assert np.isnan(wl.reduce(empty, "mean", axis=0)).all()
    with pytest.raises(wl.InputError, match="max of no elements"):
        wl.reduce(empty, "max", axis=0)
    values = truths(4, 5)
    with pytest.raises(wl.InputError, match="axis=2 is out of range"):
        wl.reduce(values, "max", axis=2)
    with pytest.raises(wl.InputError, match="accuracy"):
        wl.reduce(values, "mean", accuracy="none")
    with pytest.raises(wl.InputError, match="ptp is not defined for bool"):
        wl.reduce(values, "ptp")


def test_what_is_not_asked_of_bytes() -> None:
    values = truths(9)
    for op in ("prod", "var", "argmax", ("sum", "max"), "no such name"):
        assert in_bytes(values, op, masked=False)[0] is values
    plain = values.view(np.uint8) != 0
    assert wl.reduce(values, "var") == pytest.approx(plain.var(), rel=1e-15)
    assert wl.reduce(values, "sum", dtype="f4") == np.float32(plain.sum())
    assert wl.reduce(values, "sum", initial=3) == plain.sum() + 3
    assert wl.reduce(values, "sum", accuracy="reproducible") == plain.sum()
    assert list(wl.reduce(values, ("sum", "max"))) == [plain.sum(), plain.max()]


@pytest.mark.parametrize(
    "shape", [(1, 40), (32, 32), (257, 33), (4096, 3), (4097, 40), (60, 70_000)]
)
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_places_along_rows(shape: tuple[int, int], op: str) -> None:
    """Whatever bytes are true: of few rows states lie ready, of more they are made anew."""
    rng = np.random.default_rng(shape)
    for share in (0.5, 0.001):
        found = rng.random(shape) < (share if op == "argmax" else 1 - share)
        odd = np.where(found, rng.integers(1, 256, shape), 0).astype(np.uint8).view(bool)
        expected = getattr(np, op)(found, axis=1)
        for values in (found, odd, np.asfortranarray(found), np.repeat(found, 2, 1)[:, ::2]):
            for _ in range(3):
                got = wl.reduce(values, op, axis=1)
                assert got.dtype == np.int64
                np.testing.assert_array_equal(got, expected)
