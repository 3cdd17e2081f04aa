"""Calls with options go a short way, with the bits of the long one and what NumPy finds.

Of operations in a list nothing is remembered: that is the long way.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction import api
from warpladder.reduction.memory import layout
from warpladder.reduction.shortcuts import afterwards

OTHERS = ("?", "i1", "u1", "i8", "u8", "f2", "i2", "u2", "u4", "q")
FLOATS = ("f4", "f8", "f2")


def numbers(dtype: str, *shape: int) -> NDArray[Any]:
    drawn = np.random.default_rng(len(shape)).standard_normal(shape) * 40
    if dtype == "?":
        return drawn > 0
    return (drawn if dtype in FLOATS else drawn.astype("i8")).astype(dtype)


def outcome(values: Any, op: Any, **options: Any) -> Any:
    """Return types, shapes and bits of answers, or what is said instead."""
    try:
        found = wl.reduce(values, op, **options)
    except (InputError, InputTypeError) as fault:
        return type(fault), str(fault)
    found = found if isinstance(found, tuple) else (found,)
    return [(type(one), one.dtype.char, one.shape, np.asarray(one).tobytes()) for one in found]


class Items(list[Any]):
    """A list that is looked at the long way."""


def check(values: Any, op: Any, **options: Any) -> None:
    names = list(op) if isinstance(op, tuple) else [op]
    plain = Items(values) if isinstance(values, list) else values
    expected = outcome(plain, names, **options)
    for _ in range(3):
        assert outcome(values, op, **options) == expected, (op, options)


# ---- a number that comes first -----------------------------------------------------------------


WITH_FIRSTS = ("sum", "min", "max", np.add, "prod", "nansum", "nanmin", np.fmax)


# Every dtype has loops of its own for each of the operations; test_any_call.py has a few of others.
@pytest.mark.parametrize(
    ("dtype", "ops"),
    [
        # Of float32 those that other tests need as well, and minima; integers have no NaN to skip.
        *(("i4", ("sum", *WITH_FIRSTS[2:5])), ("f4", WITH_FIRSTS[:4])),
        *large(
            ("i4", WITH_FIRSTS[1:2]),
            ("i4", WITH_FIRSTS[5:]),
            ("f4", WITH_FIRSTS[4:]),
            *product(("f8", *OTHERS), [WITH_FIRSTS]),
        ),
    ],
)
def test_initial(dtype: str, ops: tuple[Any, ...]) -> None:
    firsts = (0, -0.0, 3, -3, 2.5, 130, 2.0**60, 2**64 - 1, np.int8(7), np.float32(0.1), True)
    firsts += (2**70, np.inf, -np.inf, np.nan, 7e4)
    values = numbers(dtype, 12, 9)
    if dtype in FLOATS:
        values[3] = np.nan
        values[4, 1:3] = np.inf, -np.inf
    for op, initial in product(ops, firsts):
        for axis in (None, 0, 1):
            check(values, op, axis=axis, initial=initial)
        check(values.T, op, axis=1, initial=initial, keepdims=True)


@pytest.mark.parametrize("dtype", ["i4", *large("f4", "f8", "?", "u8", "f2")])
def test_initial_of_sizes_and_masks(dtype: str) -> None:
    for n in (0, 1, 2, 31, 33, 1021, 70_000):
        values = numbers(dtype, n)
        mask = np.arange(n) % 3 > 0
        for op, initial in product(("sum", "max", "prod"), (1, 5.0)):
            check(values, op, initial=initial)
            check(values, op, initial=initial, where=mask)
            check(values, op, initial=initial, where=mask & ~mask)
            check(values[::2], op, initial=initial, accuracy="pairwise")
    table, mask = numbers(dtype, 5, 7), np.zeros((5, 7), np.bool_)
    mask[1:3, 2:] = True
    # test_numpy_ways.py has others beside masks.
    for op, axis in product(("sum", "max"), (None, 0, 1)):
        check(table, op, axis=axis, initial=1, where=mask)


def test_initial_is_added_before_it_is_rounded() -> None:
    """A sum of blocks that ends half a last place above a float32."""
    values = np.zeros(3 * 4096, np.float32)
    values[0], values[-1] = 2.0**24, 1
    for _ in range(2):
        assert wl.reduce(values) == np.float32(2.0**24)
        assert wl.reduce(values, initial=2.0**-20) == np.float32(2.0**24 + 2)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(-(2**63), 2**63 - 1))
@settings(max_examples=60)
def test_sums_with_a_first_are_modulo_a_power_of_two(numbers_given: list[int], first: int) -> None:
    values = np.array(numbers_given, np.int64)
    for dtype in ("i8", "i4", "u1"):
        limits = np.iinfo(dtype)
        if limits.min <= first <= limits.max:
            modulus = 2 ** (8 * np.dtype(dtype).itemsize)
            expected = (sum(numbers_given) + first) % modulus
            found = wl.reduce(values, dtype=dtype, initial=first)
            assert int(found) % modulus == expected


def test_ever_other_firsts_are_not_kept() -> None:
    values = numbers("f8", 100)
    total = 0.0
    wl.reduce(values, initial=total)
    before = afterwards._known.cache_info().currsize
    for _ in range(600):
        total = wl.reduce(values, initial=total)
    assert afterwards._known.cache_info().currsize == before
    assert len(afterwards._found) <= afterwards._MOST_FOUND < 600
    assert total == pytest.approx(600 * values.sum())


# ---- integers that wrap, several arrays for results, masks, lists ------------------------------


# Over the first axis products and means have loops of their own.
@pytest.mark.parametrize(
    ("ops", "axes"),
    [
        (("sum", "max"), (None, 0, 1, (0, 1), 2)),
        (("prod", "mean"), (None, (0, 1), 2)),
        *large((("prod", "mean"), (0, 1))),
    ],
)
@pytest.mark.parametrize("dtype", ["i4", *large("?", "u1", "i8", "i1", "u8", "u4")])
def test_sums_into_integers(dtype: str, ops: tuple[str, ...], axes: tuple[Any, ...]) -> None:
    values = numbers(dtype, 40, 30)
    for into in ("i1", "u1", np.int32, "u8", "q", np.dtype("l"), int, ">i4", "?", "f4"):
        for op, axis in product(ops, axes):
            check(values, op, axis=axis, dtype=into)
        check(values[:, 3:20], "sum", axis=0, dtype=into, keepdims=True)
        check(values, "sum", axis=1, dtype=into, initial=-1, where=values > 0)
    found = wl.reduce(values, axis=0, dtype="i4")
    np.testing.assert_array_equal(found, values.sum(0, dtype="i4"))


def test_results_go_into_several_arrays() -> None:
    values = numbers("f4", 20, 6)
    for array in (values, values.T, values[:, 1:-1]):
        # As in test_several_alone.py, so that they are compiled once.
        for op, axis in product((("min", "max"), ("sum", "mean", "argmax")), (0, 1)):
            expected = wl.reduce(array, list(op), axis=axis)
            outs = tuple(np.empty_like(one) for one in expected)
            for _ in range(2):
                for out in outs:
                    out[...] = 77
                found = wl.reduce(array, op, axis=axis, out=outs)
                assert found._fields == op
                assert all(one is out for one, out in zip(found, outs, strict=True))
                for out, one in zip(outs, expected, strict=True):
                    np.testing.assert_array_equal(out, one)


def test_arrays_that_do_not_take_results_are_left_alone() -> None:
    values = numbers("f4", 20, 6)
    memory = np.full(9, 7, "f4")
    fixed = np.full(6, 7, "f4")
    fixed.flags.writeable = False
    for outs, text in (
        ((memory[:6], memory[3:]), "share memory"),
        ((memory[:6], memory[:6]), "share memory"),
        ((memory[:6], fixed), "read-only"),
        ((memory[:6], np.empty(6)), "float64"),
        ((memory[:6], np.empty(5, "f4")), "shape"),
        ((memory[:6],), "2 arrays"),
        (memory[:6], "2 arrays"),
    ):
        for _ in range(2):
            with pytest.raises((InputError, InputTypeError), match=text):
                wl.reduce(values, ("min", "max"), axis=0, out=outs)
    assert set(memory.tolist()) == {7.0}


@pytest.mark.parametrize("dtype", ["f4", *large("i4", "?", "f2", "f8")])
def test_masks_that_lie_otherwise(dtype: str) -> None:
    for rows, columns in ((4, 6), (33, 31), (300, 130)):
        whole = numbers(dtype, rows, columns, 2)
        values = whole[:, :, 0].copy()
        mask = values > 0
        arrays = (
            values,
            values[:, 1:-1],
            values[::2],
            whole[..., 1],
            values.T,
            values[::-1],
            values[:, ::-1],
        )
        swapped = values.astype(values.dtype.newbyteorder())
        for array in (*arrays, swapped):
            high, wide = array.shape
            masks = [
                np.resize(mask, array.shape)[::-1],
                np.asfortranarray(np.resize(mask, array.shape)),
                mask[0, :1],
                np.resize(mask, wide),
                np.resize(mask, (high, 1)),
                np.resize(mask, (1, wide)),
                np.bool_(1),
                np.zeros((high, 1), np.bool_),
                np.resize(mask, (1, high, wide)),
                np.resize(mask, wide + 1),
            ]
            for where in masks:
                for op, axis in product(("sum", "argmax", ("mean", "max")), (None, 0, 1)):
                    check(array, op, axis=axis, where=where)


@pytest.mark.parametrize("dtype", ["f4", *large("u1", "?")])
def test_several_operations_beside_masks(dtype: str) -> None:
    values = numbers(dtype, 7, 6, 5)
    mask = numbers("?", 7, 6, 5)
    for axis in (None, 0, 1, 2, -1, (0, 1), (0, 2), (0, 1, 2)):
        for op in (("sum", "count_nonzero"), ("argmin", "any"), ("max", "mean", "nanmin")):
            check(values, op, axis=axis, where=mask, keepdims=True)
            check(values, op, axis=axis, where=np.zeros_like(mask), ddof=1)
    if dtype != "f4":
        return
    values = np.full((3, 4), np.nan, "f4")
    for mask in (np.ones((3, 4), np.bool_), np.zeros((3, 4), np.bool_)):
        check(values, ("nanmin", "nansum"), axis=1, where=mask)


@pytest.mark.parametrize("op", [("sum", "l2"), *large((("l2", "max", "std"),), (("prod", "min"),))])
def test_several_operations_on_what_is_rare(op: tuple[str, ...]) -> None:
    """Fields that are near the ends of their range are finished the long way, others are not."""
    values = numbers("f8", 8, 9)
    values[2, 3], values[5, 1] = 1e300, 1e-300
    for axis in (None, 0, 1):
        check(values, op, axis=axis)
        check(values[:, ::-1], op, axis=axis)


def test_what_is_broadcast() -> None:
    values = numbers("f4", 30, 40)
    for array in (
        np.broadcast_to(values[0], values.shape),
        np.broadcast_to(values[:, :1], values.shape),
        np.broadcast_to(values, (3, 30, 40)),
        np.broadcast_to(values[:, None], (30, 3, 40)),
        np.broadcast_to(values[0, 0], (4, 5)),
    ):
        for op in ("sum", "argmax", "var", ("min", "mean")):
            for axis in (None, *range(array.ndim)):
                check(array, op, axis=axis)
                check(array, op, axis=axis, keepdims=True)
        check(array, "sum", axis=(0, -1))


def test_lists() -> None:
    for array in (
        [1.5, 2.0], [3, -4], [2**62] * 3, [2**63], [2**63, -1], [True, False], [1, 2.5], [1.0, 0],
        [1.0, True],
        [[1, 2], [3, 4]], [[1.0], [np.nan]], [[1], [2, 3]], [[]], [], [[], []], [[1, 2], (3, 4)],
        [[1, 2], 3], [[[1.0]]], [np.float32(1)], [1.0, np.float32(2)], ["1"], [1.0, "2"], [None],
        [1.0, None], [1 + 2j], [2**53, 2.0**60], [[1, 2], [3.0, 4]],
    ):  # fmt: skip
        for op in ("sum", "max", ("mean", "argmax")):
            check(array, op)
        check(array, "sum", axis=0, keepdims=True)
        check(array, "sum", axis=1)
        check(array, "sum", initial=3, dtype="f8")
    for array in ([1.5, 2.0], [3, -4], [[1, 2], [3, 4]], [[0.5], [1.5]], [2**62, -(2**63)]):
        np.testing.assert_array_equal(wl.reduce(array, axis=0), np.sum(array, axis=0))
        assert wl.reduce(array).dtype == np.sum(array).dtype


# ---- it is the short way -----------------------------------------------------------------------


def test_the_long_way_is_gone_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values, mask = numbers("f4", 32, 32), numbers("?", 32, 32)
    whole, part, outs = (
        values.astype("i4"),
        values[:, 1:-1],
        (np.empty(32, "f4"), np.empty(32, "f4")),
    )
    calls: list[tuple[Any, Any, dict[str, Any]]] = [
        (values, "sum", {"initial": 1.5}),
        (values, "max", {"initial": 1, "axis": 1}),
        (values, "max", {"initial": 50, "axis": 1, "where": mask}),
        (part, "sum", {"initial": 1, "axis": 0}),
        (whole, "sum", {"dtype": "i4", "axis": 0}),
        (whole, "prod", {"dtype": "u1"}),
        (values, ("min", "max"), {"axis": 0, "out": outs}),
        (part, ("min", "max"), {"axis": 0}),
        (part, ("min", "max"), {"axis": 1}),
        (part, ("sum", "max"), {}),
        (part, "sum", {"axis": 1, "where": mask[:, 1:-1]}),
        (values, "sum", {"axis": 1, "where": mask[0]}),
        (values, ("sum", "max"), {"axis": 0, "where": mask[:, :1] | True}),
        (np.broadcast_to(values[0], (32, 32)), "sum", {"axis": 0}),
        (values[0].tolist(), "sum", {}),
        (values.tolist(), "sum", {"axis": 1}),
        (numbers("f4", 1 << 19), ("min", "max"), {}),
        (numbers("f4", 600, 700), ("mean", "max"), {"axis": 0}),
    ]
    expected = [wl.reduce(array, op, **options) for array, op, options in calls]
    kept = [np.array(one) for one in expected]
    for array, op, options in calls:
        wl.reduce(array, op, **options)
    monkeypatch.setattr(api, "_reduce_new", None)
    for (array, op, options), one in zip(calls, kept, strict=True):
        np.testing.assert_array_equal(np.array(wl.reduce(array, op, **options)), one)


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["f4", *large("i1", "f8")])
def test_several_of_many_tiles(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "TILE_BYTES", 1 << 14)
    monkeypatch.setattr(layout, "CACHED_BYTES", 1 << 12)
    for shape in ((90, 701), (3, 30_000), (30_000, 3), (41, 42, 43)):
        values = numbers(dtype, *shape)
        for op in (("sum", "max"), ("mean", "std"), ("nansum", "sum")):
            for axis in (None, *range(len(shape)), (0, -1)):
                check(values, op, axis=axis)
                check(values[1:, :-1], op, axis=axis, keepdims=True)
