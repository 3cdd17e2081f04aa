"""Axes with others between them, over one group after the other: the same as over all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large, only
from warpladder.reduction.shortcuts import few, steps, views

OPS = ("sum", "prod", "min", "max", "any", "all", "count_nonzero")
DTYPES = ("i4", "i1", "u8", "?", "u2", "i8")
# Two groups and three, axes of one element among them and between them, lines, runs, few and many.
CASES = (
    ((3, 4, 5), (0, 2)),
    ((2, 3, 33, 2), (0, 2)),
    ((5, 6, 7, 8), (1, 3)),
    ((70, 2, 3, 300), (0, 3)),
    ((4, 1, 5, 3, 2), (0, 1, 3)),
    ((3, 4, 2, 5, 3), (0, 2, 4)),
    ((2, 3, 1, 4, 1, 5, 2), (0, 2, 3, 5)),
    ((64, 3, 1100), (0, 2)),
)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that says of each operation on a shape whether it goes in steps."""
    noted, find = [], few.way_in_steps

    def noting(*arguments: Any) -> Any:
        way = find(*arguments)
        noted.append(way is not None)
        return way

    monkeypatch.setattr(few, "way_in_steps", noting)
    few.answer_to.cache_clear()
    yield noted
    few.answer_to.cache_clear()


def numbers(dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    rng = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    # Sums and products that wrap, rows of zeros alone and of none.
    values = rng.integers(0, 2**63, shape).astype(dtype)
    values.reshape(-1, shape[-1])[::3] = 0
    return values


def at_once(values: NDArray[Any], op: str, axes: tuple[int, ...]) -> NDArray[Any]:
    """Return the results over one axis of a copy."""
    kept = [axis for axis in range(values.ndim) if axis not in axes]
    rows = values.transpose(*kept, *axes).reshape(*(values.shape[axis] for axis in kept), -1)
    found: NDArray[Any] = wl.reduce(np.ascontiguousarray(rows), op, axis=-1)
    return found


# Each is a loop of its own, or two.
CHOSEN = {("i4", "sum"), ("i4", "count_nonzero")}


@pytest.mark.parametrize(("dtype", "op"), only(lambda *case: case in CHOSEN, DTYPES, OPS))
def test_whatever_leaves_the_same_bits(taken: list[bool], dtype: str, op: str) -> None:
    for shape, axes in CASES:
        values = numbers(dtype, shape)
        taken.clear()
        found, expected = wl.reduce(values, op, axis=axes), at_once(values, op, axes)
        assert taken[0]
        assert (found.tobytes(), found.dtype, found.shape) == (
            expected.tobytes(),
            expected.dtype,
            expected.shape,
        )
        kept = wl.reduce(values, op, axis=axes, keepdims=True)
        assert kept.shape == tuple(1 if axis in axes else n for axis, n in enumerate(shape))
        assert kept.tobytes() == expected.tobytes()


@pytest.mark.parametrize("op", ["max", "any", *large("nanmin", "min", "nanmax", "all")])
@pytest.mark.parametrize("dtype", ["f4", *large("f8")])
@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
def test_floats_and_what_is_no_number(taken: list[bool], dtype: str, op: str) -> None:
    for shape, axes in CASES:
        values = numbers(dtype, shape)
        flat = values.reshape(-1)
        flat[::7], flat[1::11], flat[5::13] = np.nan, np.inf, -np.inf
        # Of some rows nothing is a number, of others nothing in the first step.
        part = [slice(None)] * len(shape)
        for axis in range(len(shape)):
            if axis not in axes:
                part[axis] = slice(0, 1)
        values[tuple(part)] = np.nan
        part[axes[-1]] = slice(0, 1)
        values[tuple(slice(1, None) if one == slice(0, 1) else one for one in part)] = np.nan
        taken.clear()
        found, expected = wl.reduce(values, op, axis=axes), at_once(values, op, axes)
        assert taken[0]
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(found, getattr(np, op)(values, axis=axes))


@pytest.mark.parametrize(
    ("op", "dtype"),
    [("sum", "f4"), ("mean", "i4"), ("var", "i4"), ("ptp", "i4"), ("l1", "f8"), ("nansum", "f4")],
)
def test_what_rounds_or_is_no_operation_of_results_goes_at_once(
    taken: list[bool], op: str, dtype: str
) -> None:
    wl.reduce(numbers(dtype, (3, 4, 5)) // 2, op, axis=(0, 2))
    assert not any(taken)


def test_long_runs_of_few_go_at_once(taken: list[bool]) -> None:
    run = steps._LONG_RUN // 4
    for shape, is_taken in (
        ((steps._MANY - 1, 2, run), False),
        ((steps._MANY, 2, run), True),
        ((steps._MANY - 1, 2, run - 1), True),
        ((steps._MANY - 1, 2, run, 2), True),
    ):
        taken.clear()
        values = numbers("i4", shape)
        np.testing.assert_array_equal(wl.reduce(values, "max", axis=(0, 2)), values.max((0, 2)))
        assert taken[0] is is_taken


def test_ufuncs_and_what_is_done_afterwards(taken: list[bool]) -> None:
    values = numbers("i4", (5, 6, 7)) % 100
    for _ in range(2):
        np.testing.assert_array_equal(
            wl.reduce(values, np.maximum, axis=(0, 2), initial=60),
            np.maximum.reduce(values, axis=(0, 2), initial=60),
        )
        np.testing.assert_array_equal(
            wl.reduce(values, np.add, axis=(0, 2), initial=-5, dtype="i2"),
            values.sum((0, 2), dtype="i2", initial=-5),
        )
    assert all(taken)


@pytest.mark.parametrize("op", ["sum", "max", *large("any", "count_nonzero", "min")])
def test_parts_of_arrays(monkeypatch: pytest.MonkeyPatch, op: str) -> None:
    noted, find = [], views.way_in_steps

    def noting(*arguments: Any) -> Any:
        noted.append(find(*arguments))
        return noted[-1]

    monkeypatch.setattr(views, "way_in_steps", noting)
    monkeypatch.setattr(views, "MOST_COPIED", 0)
    for shape, axes in CASES:
        whole = numbers("i4", tuple(n + 2 for n in shape))
        part = whole[(slice(1, -1),) * len(shape)]
        expected = at_once(part.copy(), op, axes)
        for array in (part, part[::-1], part.astype(">i4")):
            views._way_to.cache_clear()
            noted.clear()
            for keepdims in (False, False, False, True):
                found = wl.reduce(array, op, axis=axes, keepdims=keepdims)
                is_mirrored = array.strides[0] < 0 and 0 not in axes
                values = expected[::-1] if is_mirrored else expected
                assert found.ravel().tobytes() == values.tobytes(), (shape, axes)
                assert found.dtype == expected.dtype
            # What lies backwards or in another byte order goes at once.
            is_plain = array.strides[0] > 0 and array.dtype.isnative
            assert is_plain or not noted
    views._way_to.cache_clear()
    part = numbers("i4", (72, 4, 5, 9))[1:-1, 1:-1, 1:-1, 1:-1]
    noted.clear()
    for _ in range(3):
        np.testing.assert_array_equal(wl.reduce(part, "max", axis=(0, 2)), part.max((0, 2)))
    # Of the first axis alone it is asked, too.
    assert [way is not None for way in noted] == [False, True]


# All of 3 and 4 axes, the last two, the last three; rows that are short, long, and of few elements.
OF_GAPS = (
    ((30, 40, 50), None), ((20, 60, 30, 5), None), ((20, 60, 30, 5), (2, 3)), ((50, 700), None),
    ((9, 8, 40, 33), (1, 2, 3)), ((200, 90), (0, 1)), ((3, 300, 70), (1, 2)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "op"),
    [
        *(("i4", "sum"), ("f4", "min")),
        *large(("i1", "max"), ("u8", "any"), ("?", "all")),
        *large(("i8", "prod"), ("f8", "nanmax"), ("i2", "count_nonzero"), ("f4", "count_nonzero")),
    ],
)
def test_rows_with_gaps_are_gone_through_first(
    monkeypatch: pytest.MonkeyPatch, dtype: str, op: str
) -> None:
    made = []
    by_groups = views.way_by_groups
    monkeypatch.setattr(views, "way_by_groups", lambda *a: made.append(a[4]) or by_groups(*a))
    for shape, axes in OF_GAPS:
        whole = numbers(dtype, tuple(n + 2 for n in shape))
        if op == "nanmax":
            whole[whole < -1] = np.nan
        part = whole[(slice(1, -1),) * len(shape)]
        expected = getattr(np, op)(part, axis=axes)
        made.clear()
        for options in ({}, {"keepdims": True}):
            for _ in range(4):
                found = wl.reduce(part, op, axis=axes, **options)
                assert type(found) is type(expected) or options
                assert np.asarray(found).dtype == np.asarray(expected).dtype
                np.testing.assert_array_equal(np.squeeze(found), np.squeeze(expected))
        # Of all of few bytes what is put together has a way of its own.
        assert set(made) == {(len(shape) - 1,)} or part.nbytes < 1 << 20


def test_gaps_elsewhere_are_none_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "way_by_groups", None)
    whole = numbers("i4", (40, 60, 50))
    for part, axes in (
        (whole[:, 1:-1], (1, 2)),
        (whole[..., ::2], (1, 2)),
        (whole[1:-1, 1:-1, 1:-1], (0, 1)),
        (whole[1:-1, 1:-1, 1:-1], 2),
        (whole[..., 1:4], (1, 2)),
    ):
        for _ in range(3):
            found, expected = wl.reduce(part, axis=axes), part.sum(axis=axes, dtype="i8")
            np.testing.assert_array_equal(found, expected)
