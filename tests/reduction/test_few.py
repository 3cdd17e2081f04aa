"""Short ways through `reduce` have the bits of the long one: few numbers, whole lines, copies."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from math import prod

import numpy as np
import pytest

import warpladder as wl
from choosing import large, only
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.loops.columns import LINES, lines_joined
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.copies import FEW, copied
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.shortcuts import along

# An operation of each way to a result, with dtypes that round, wrap, skip or ask for truth.
PAIRS = (
    *(("sum", "f4"), ("prod", "f4"), ("max", "f4"), ("argmax", "f4"), ("l2", "f4")),
    *(("nanmax", "f8"), ("var", "f4"), ("mean", "i8"), ("sum", "u1"), ("any", "i1")),
    *large(("std", "f4"), ("nansum", "f4"), ("nanargmin", "f8"), ("logsumexp", "f8")),
    *large(("mean", "f2"), ("all", "?"), ("sum", "?"), ("ptp", "i1"), ("count_nonzero", "f4")),
    *large(("prod", "u8"), ("min", "i4"), ("mean", "u8"), ("nanvar", "f4"), ("l1", "i8")),
    *large(("var", "f8")),
)
SIZES = (1, 2, 31, 32, 33, 1021)


def numbers(dtype, size, seed=1):
    rng = np.random.default_rng(seed)
    if dtype[0] == "f":
        return (rng.standard_normal(size) * 3).astype(dtype)
    if dtype == "?":
        return rng.random(size) < 0.3
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, size, dtype, endpoint=True)


def kinds(dtype, size):
    """Yield numbers, and for floats such as are not finite, vanish or do not fit."""
    values = numbers(dtype, size)
    yield values
    yield np.zeros(size, dtype)
    if dtype[0] == "f":
        few = np.arange(size) % 5 == 0
        limits = np.finfo(dtype)
        for odd in (np.nan, np.inf, -0.0, limits.max, limits.tiny, limits.smallest_subnormal):
            yield np.where(few, np.array(odd, dtype), values)
            yield np.full(size, odd, dtype)


def outcome(call):
    """Return type, shape and bits of an answer, or what is said instead."""
    try:
        found = call()
    except (InputError, InputTypeError) as fault:
        return type(fault), str(fault)
    return type(found), found.dtype, found.shape, np.asarray(found).tobytes()


def check(values, op, **options):
    # Of operations in a tuple nothing is short; the plan and its loops are the same.
    short = outcome(lambda: wl.reduce(values, op, **options))
    assert short == outcome(lambda: wl.reduce(values, (op,), **options)[0]), (op, options)


@pytest.mark.parametrize(("op", "dtype"), PAIRS)
def test_few_numbers(op, dtype):
    for size in SIZES:
        for values in kinds(dtype, size):
            check(values, op)
            check(values, op, ddof=1)
            check(values, op, keepdims=True)
    check(np.empty(0, dtype), op)
    check(np.ones((), dtype), op, keepdims=True)
    check(np.ones((), dtype), op)


# Over lines each has a loop of its own, which takes a second to compile.
@pytest.mark.parametrize(
    ("op", "dtype"),
    [PAIRS[0], PAIRS[3], PAIRS[7], *large(*PAIRS[1:3], *PAIRS[4:7], *PAIRS[8:10]), *PAIRS[10:]],
)
def test_few_numbers_over_an_axis(op, dtype):
    for shape in ((5, 7, 3), (33, 2), (40, 70), (1, 4), (4, 1), (31,), (0, 3), (3, 0), (2, 3, 1)):
        for values in islice(kinds(dtype, np.prod(shape)), 5):
            for axis in (0, 1, -1, len(shape)):
                check(values.reshape(shape), op, axis=axis)
            check(values.reshape(shape), op, axis=0, keepdims=True)


JOINED = (
    *(("sum", "f4"), ("mean", "f4")),
    # By default squares that leave their range are below.
    *large(
        ("l2", "f8"), ("prod", "f8"), *product(("sum", "mean", "prod", "l2"), ("i1", "u8", "i8"))
    ),
    *large(("prod", "f4"), ("l2", "f4"), ("sum", "f8"), ("mean", "f8")),
)


@pytest.mark.parametrize(("op", "dtype"), JOINED)
def test_lines_that_are_joined_without_fields(op, dtype):
    """Two of them, four and more, with nothing left over; and with a line that is."""
    for shape in ((32, 32), (256, 2), (64, 3), (1, 320, 7), (3000, 1, 3), (65, 3)):
        for values in kinds(dtype, prod(shape)):
            check(values.reshape(shape), op, axis=len(shape) - 2 if shape[-2] > 1 else 0)
    if dtype == "f8":
        # Parts vanish, overflow or lose digits, and come back with what they are joined to.
        for sizes in ((-200, 200, -200, 200), (-160, 150, -155, 150), (-310, 20, 20, 20)):
            values = np.ones((64, 2))
            values[:4] = 1.1 * 10.0 ** np.array(sizes)[:, None]
            check(values, op, axis=0)
            # Two lines of one part.
            values[4] = 1.1e-115
            values[0] = 1.1e-200
            check(values, op, axis=0)


@pytest.mark.parametrize(("op", "dtype"), [("sum", "f4"), ("nanmax", "f8"), *large(*PAIRS[:10])])
def test_few_numbers_beside_a_mask(op, dtype):
    for size in SIZES:
        for values in kinds(dtype, size):
            for mask in (np.arange(size) % 3 == 0, np.zeros(size, bool), np.ones(size, bool)):
                check(values, op, where=mask)
    for shape, axis in product(((5, 7, 3), (1, 4), (31,), (0, 3)), (0, -1, 3)):
        values = numbers(dtype, np.prod(shape)).reshape(shape)
        for mask in (np.arange(values.size) % 3 == 0, np.arange(values.size) % 7 > 0):
            check(values, op, axis=axis, where=mask.reshape(shape), keepdims=len(shape) > 1)
    for mask in (np.ones((3, 1), bool), np.ones(3), np.ones((2, 2), bool), [True] * 6):
        check(numbers(dtype, 6).reshape(3, 2), op, where=mask)


@pytest.mark.parametrize(("op", "dtype"), [("sum", "f4"), *large(("l2", "f8"), ("argmax", "i4"))])
def test_numbers_that_do_not_lie_one_after_the_other(op, dtype):
    """They are seen to, also by a call that has met others of their dtype."""
    for size in (1, 2, 600, 140_000):
        values = numbers(dtype, 2 * size)
        check(values, op)
        halves, turned = values[::2], np.asfortranarray(values.reshape(2, size))
        moved = np.zeros(values.nbytes + 1, np.uint8)[1:].view(dtype)
        moved[:] = values
        assert moved.flags.aligned is False
        others = (halves, values[::-1], turned, turned[:, ::2], moved, moved[::2], values[:0:-3])
        for other in (*others, values.astype(values.dtype.newbyteorder()), values.reshape(2, -1)):
            check(other, op)
            check(other, op, keepdims=True)
            other.flags.writeable = False
            check(other, op)
            check(other, op, keepdims=True)
            expected = wl.reduce(other.astype(dtype, order="C"), op)
            np.testing.assert_allclose(wl.reduce(other, op), expected, rtol=1e-3)


@pytest.mark.parametrize("axis", [None, 0])
def test_one_number_of_many(axis):
    """It is C-contiguous whatever its stride is, and misaligned where it is that."""
    values = np.arange(1, 21, dtype="f4")
    for one in (values[3::20], values[3:4][::-1], np.broadcast_to(values[3], 1)):
        for op in ("sum", "max", "argmax", "l2", "var"):
            check(one, op, axis=axis)
            check(one, op, axis=axis, keepdims=True)


def test_numbers_that_may_not_be_written_are_not_compiled_for():
    """Where the answer takes the long way, in the end, as those near the ends of their range do."""
    values = np.array([1e200, 1.0])
    check(values, "l2")
    (part,) = make_plan(parse_ops("l2"), values.dtype, None, "fast", masked=False).parts
    versions = len(part.loop.signatures)
    values.flags.writeable = False
    check(values, "l2")
    assert len(part.loop.signatures) == versions


def test_truths_that_settle_extrema():
    for low_at, high_at in ((0, 9000), (9000, 0), (5000, 5001)):
        for kind in (np.zeros, np.ones):
            values = kind(12_000, bool)
            values[low_at], values[high_at] = False, True
            for op in ("min", "max", "argmin", "argmax"):
                assert wl.reduce(values, op) == getattr(np, op)(values)
            assert list(wl.reduce(values, ("min", "max"))) == [values.min(), values.max()]


# Every dtype has loops of its own: the narrowest and the widest, with a sign and without. Of others
# test_any_call.py has some that reach the ends of their range.
@pytest.mark.parametrize("dtype", ["i1", *large("u8")])
@pytest.mark.parametrize(
    ("ops", "together"),
    [
        (("min", "argmax"), ("argmax", "min")),
        # test_apart.py and test_several.py have these for bytes.
        *large((("max", "argmin"), ("min", "max"))),
    ],
)
def test_extrema_that_no_number_exceeds(dtype, ops, together):
    """What follows them is not looked at; what they were before they were found is not kept."""
    limits = np.iinfo(dtype)
    for low_at, high_at in ((0, 20_000), (9000, 100), (5000, 5001), (20_000, 20_001)):
        values = np.random.default_rng(3).integers(limits.min + 1, limits.max, 20_002, dtype)
        values[low_at::7], values[high_at::5] = limits.min, limits.max
        mask = np.arange(values.size) > min(low_at, high_at)
        for rows in (values, values.reshape(2, -1), values.reshape(-1, 2)):
            for op in ops:
                for axis in (None, *range(rows.ndim)):
                    expected = getattr(np, op)(rows, axis=axis)
                    np.testing.assert_array_equal(wl.reduce(rows, op, axis=axis), expected)
        for marks in (None, mask):
            kept = values if marks is None else values[marks]
            first = 0 if marks is None else min(low_at, high_at) + 1
            expected = [
                getattr(np, op)(kept) + (first if op.startswith("arg") else 0) for op in together
            ]
            assert list(wl.reduce(values, together, where=marks)) == expected


ONE_TILE = (
    ("sum", "f4"),
    *large(("l2", "f8"), ("nanmax", "f8"), ("argmax", "f4"), ("var", "f4"), ("mean", "i8")),
    *large(("prod", "f4"), ("any", "i1")),
)


@pytest.mark.parametrize(("op", "dtype"), ONE_TILE)
def test_what_is_one_large_tile(op, dtype):
    """More than is copied at a time, and the few elements around what is one tile no more."""
    for shape in ((300, 1200), (6, 50, 1100), (3, 130_000), (130_000, 3), (3, 400_000)):
        values = numbers(dtype, np.prod(shape)).reshape(shape)
        for axis in range(len(shape)):
            check(values, op, axis=axis)
        check(values, op, keepdims=True)
        check(values, op, axis=-1, where=values > 0)


@pytest.mark.parametrize(
    ("op", "dtype", "shape", "axis"),
    [
        # More rows than lie side by side in a tile, the last ones a stack of their own.
        ("var", "float32", (4097, 33, 64), 1),
        *large(
            ("var", "int8", (4097, 33, 64), 1),
            # Tiles of 1, 2 and 16 MB, and a little more.
            ("nansum", "float32", ((1 << 18) + 1,), None),
            ("var", "float32", ((1 << 22) + 1,), None),
            ("var", "float32", (1 << 12, (1 << 10) + 1), 1),
            ("var", "float32", ((1 << 16) + 1, 8), 1),
            ("nansum", "float32", (513, 512), 0),
            ("logsumexp", "float32", (1025, 512), 0),
            ("var", "int8", ((1 << 20) + 1, 2), 0),
        ),
    ],
)
def test_more_than_a_tile_has_the_bits_of_the_long_way(op, dtype, shape, axis):
    values = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    short = wl.reduce(values, op, axis=axis)
    # Of these nothing is known beforehand.
    values.flags.writeable = False
    np.testing.assert_array_equal(short, wl.reduce(values, op, axis=axis))


@pytest.mark.parametrize(
    ("op", "dtype", "is_direct"),
    [
        *(("max", "f4", True), ("argmax", "f4", False)),
        *large(("max", "i1", True), ("sum", "u1", True), ("prod", "f4", True)),
        *large(("any", "i1", True), ("mean", "i8", True), ("nanmax", "f8", True)),
        *large(("var", "f8", False), ("min", "u2", True)),
    ],
)
def test_more_rows_than_a_tile_has_across(monkeypatch, op, dtype, is_direct):
    """Where a loop leaves results alone they are made at once, else tile by tile."""
    monkeypatch.setattr(layout, "MOST_ROWS_ACROSS", 1000)
    way = along.answer_along(op, np.dtype(dtype), (8, 5003), 0, "fast", False, (5003,))
    assert (way is not None) is is_direct
    for values in kinds(dtype, 8 * 5003):
        check(values.reshape(8, 5003), op, axis=0)
        check(values[: 3 * 8 * 1201].reshape(3, 8, 1201), op, axis=1)


def test_columns_that_are_copied_in_more_than_one_tile():
    values = numbers("f8", (layout.COPIED_COLUMNS + 7) * 30).reshape(-1, 30)
    check(values, "l2", axis=0, where=values > 0)


def test_calls_at_once_do_not_meet():
    """Each has a state of its own, which the next may use again."""
    arrays = [np.full(1000, i, np.float32) for i in range(64)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            found = list(pool.map(wl.reduce, arrays))
            assert found == [1000 * i for i in range(64)]
            rows = list(
                pool.map(lambda array: wl.reduce(array.reshape(4, 250), "max", axis=1), arrays)
            )
            assert [each.tolist() for each in rows] == [[i] * 4 for i in range(64)]


LINES_OF = (
    # Truths over lines are in test_line_results.py and test_in_bytes.py.
    *(("sum", "f4"), ("nanmax", "f4")),
    *large(
        ("nanmax", "f8"),
        ("any", "i1"),
        ("max", "f4"),
        ("mean", "i8"),
        ("sum", "f8"),
        ("sum", "i4"),
        ("nanmin", "f4"),
        ("nansum", "f4"),
        ("mean", "u8"),
    ),
    *large(("mean", "i1"), ("min", "u8"), ("all", "f4"), ("prod", "i8"), ("count_nonzero", "i4")),
)


@pytest.mark.parametrize(("op", "dtype"), LINES_OF)
def test_whole_lines_are_as_records(op, dtype):
    """One block and several, lines that are joined and what is left of them, panels, strips."""
    for panels, length, side in (
        *((1, 2, 33), (1, 5, 4097), (1, 4 * LINES + 3, 31), (1, 700, 300)),
        *((1, 100, 3), (1, 71, 2), (3, 7, 5), (2, 600, 31)),
    ):
        rows = panels * side
        plan = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", masked=False)
        for values in kinds(dtype, rows * length):
            tile = Tile(values, NO_MASK, rows, length, side, side)
            records = plan.new(rows)
            plan.add(tile, 0, records)
            whole = plan.complete(tile, 0)
            assert isinstance(whole[0], dict)
            mergeable = plan.mergeable(whole)[0]
            # The mean of nothing but what is skipped is said to be NaN.
            expected = plan.finish(records, rows, length, 0)[0]
            assert plan.finish(whole, rows, length, 0)[0].tobytes() == expected.tobytes()
            assert plan.finish([mergeable], rows, length, 0)[0].tobytes() == expected.tobytes()


MERGED = (
    *(("sum", "f4"), ("l2", "f8"), ("min", "f4"), ("mean", "i8")),
    *large(
        ("prod", "f4"),
        ("nansum", "f4"),
        ("sum", "i1"),
        ("prod", "i8"),
        ("max", "u8"),
        ("count_nonzero", "f8"),
        ("any", "i4"),
    ),
)


@pytest.mark.large
@pytest.mark.parametrize(("op", "dtype"), MERGED)
def test_fields_of_lines_merge_as_records(op, dtype):
    """Also where one is found by lines and what follows by records, as products that vanish are."""
    plan = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", masked=False)
    length, side = 40, 300
    arrays = list(kinds(dtype, length * side))
    for values in arrays:
        for later in (values, values[::-1].copy(), arrays[0]):
            tiles = [Tile(data, NO_MASK, side, length, side, side) for data in (values, later)]
            found = [plan.complete(tile, 0) for tile in tiles]
            records = [plan.mergeable(plan.complete(tile, 0)) for tile in tiles]
            merged, expected = plan.merged(*found), plan.merged(*records)
            if op != "any":
                # Of that it is kept whether there is one, or how many.
                assert plan.mergeable(merged)[0].tobytes() == expected[0].tobytes()
            for states in (merged, expected):
                (result,) = plan.finish(states, side, 2 * length, 0)
                assert result.tobytes() == plan.finish(expected, side, 2 * length, 0)[0].tobytes()


def test_products_that_leave_the_range_when_merged():
    plan = make_plan(parse_ops("prod"), np.dtype("f8"), None, "fast", masked=False)
    for factor, expected in ((1e180, np.inf), (1e-180, 0.0), (1e120, 1e240)):
        tile = Tile(np.full(300, factor), NO_MASK, 300, 1, 300, 300)
        merged = plan.merged(plan.complete(tile, 0), plan.complete(tile, 0))
        assert isinstance(merged[0], dict) is (expected == 1e240)
        np.testing.assert_allclose(plan.finish(merged, 300, 2, 0)[0], expected, rtol=1e-15)
        again = plan.merged(merged, plan.complete(tile._replace(data=1 / tile.data), 0))
        np.testing.assert_allclose(plan.finish(again, 300, 3, 0)[0], factor, rtol=1e-15)


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["f4", *large("f8")])
def test_products_over_lines(dtype):
    plan = make_plan(parse_ops("prod"), np.dtype(dtype), None, "fast", masked=False)
    values = 1 + numbers(dtype, 40 * 300).reshape(40, 300) / 8
    tile = Tile(values.ravel(), NO_MASK, 300, 40, 300, 300)
    assert isinstance(plan.complete(tile, 0)[0], dict)
    found = plan.finish(plan.complete(tile, 0), 300, 40, 0)[0]
    np.testing.assert_array_equal(found, values.astype("f8").prod(axis=0).astype(dtype))
    # Where one leaves the range, or is 0 or none, records tell which.
    for odd in (0.0, np.nan, np.inf, np.finfo(dtype).max):
        values[:, 7] = odd
        assert lines_joined(tile) == 1
        assert not isinstance(plan.complete(tile, 0)[0], dict)
        wanted = np.float64(odd) if odd != np.finfo(dtype).max else np.inf
        np.testing.assert_equal(wl.reduce(values, "prod", axis=0)[7], wanted)


@pytest.mark.parametrize(
    ("op", "dtype"), [("nanmax", "f4"), *large(("nanmin", "f4"), ("nanmax", "f8"))]
)
def test_extrema_of_nothing_over_lines(op, dtype):
    """What stands where there is nothing may be an element, in a strip or in lines that join."""
    worst = -np.inf if op == "nanmax" else np.inf
    plan = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", masked=False)
    for length, side in ((5, 4200), (2 * LINES + 3, 33), (101, 3), (71, 2)):
        values = numbers(dtype, length * side).reshape(length, side)
        values[::3] = np.nan
        values[:, 0] = np.nan
        for other in (values[1, 1], worst, np.nan):
            values[:, -1] = np.nan
            values[length // 2, -1] = other
            tile = Tile(values.ravel(), NO_MASK, side, length, side, side)
            whole = plan.complete(tile, 0)
            assert isinstance(whole[0], dict)
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                expected = getattr(np, op)(values, axis=0)
            merged = plan.merged(plan.mergeable(whole), plan.complete(tile, 0))
            for states in (whole, merged):
                np.testing.assert_array_equal(plan.finish(states, side, length, 0)[0], expected)


@pytest.mark.parametrize("op", ["min", *large("nanmin", "max", "nanmax")])
def test_the_last_of_zeros_of_both_signs_over_lines(op):
    """As in other loops, so that it is the same beside other operations."""
    for lines in (2, 70, 2 * LINES):
        for first in (0.0, -0.0):
            values = np.full((lines, 33), first, "f4")
            values[lines // 2 :] = -first
            alone = wl.reduce(values, op, axis=0)
            beside = wl.reduce(values, (op, "count_nonzero"), axis=0)[0]
            np.testing.assert_array_equal(np.signbit(alone), np.signbit(beside))


@pytest.mark.parametrize(("op", "dtype"), [("max", "f4"), *large(("min", "f8"))])
def test_one_nan_at_each_place_among_lines(op, dtype):
    """Four lines are taken at a time, after the one to four that a block begins with."""
    for lines in (*range(1, 10), LINES + 6):
        values = np.arange(lines * (lines + 1), dtype=dtype).reshape(lines, lines + 1)
        expected = getattr(values, op)(axis=0)
        expected[:lines] = np.nan
        np.fill_diagonal(values, np.nan)
        np.testing.assert_array_equal(wl.reduce(values, op, axis=0), expected)


@pytest.mark.parametrize(
    ("op", "dtype"), [("l2", "f8"), *large(("l2", "f4"), ("nanl2", "f8"), ("l2", "i4"))]
)
def test_squares_over_lines(op, dtype):
    """Without records but for squares that leave the range of float64; with records the same."""
    plan = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", masked=False)
    for length, side in ((2 * LINES + 3, 33), (700, 300), (71, 2), (8, 4097)):
        values = numbers(dtype, length * side).reshape(length, side)
        tile = Tile(values.ravel(), NO_MASK, side, length, side, side)
        odd = (
            [np.inf, 0, 1e200, 1e-200, np.nan]
            if dtype == "f8"
            else [1e30, 1e-30, 0, np.inf, np.nan]
        )
        for number in (None, *(odd if dtype[0] == "f" else ())):
            if number is not None:
                values[:, 1] = number
            # Nothing but zeros is seen not to have vanished, if lines are not joined.
            nothing = {0, np.nan} if op == "nanl2" else {0}
            lost = {np.inf, 1e200, 1e-200} | (nothing if lines_joined(tile) > 1 else set())
            is_lost = dtype == "f8" and number in lost
            assert isinstance(plan.complete(tile, 0)[0], dict) is not is_lost
            records = plan.new(side)
            plan.add(tile, 0, records)
            expected = plan.finish(records, side, length, 0)[0]
            assert plan.finish(plan.complete(tile, 0), side, length, 0)[0].tobytes() == (
                expected.tobytes()
            )
            wide = values.astype(np.longdouble)
            with np.errstate(over="ignore", under="ignore"):
                add = np.nansum if op == "nanl2" else np.sum
                norms = np.sqrt(add(wide * wide, axis=0)).astype(expected.dtype)
            np.testing.assert_allclose(expected, norms, rtol=1e-14 if dtype != "f4" else 1.2e-7)


@pytest.mark.parametrize("dtype", ["f4", *large("i8", "f8", "u8", "i1")])
def test_moments_over_lines(dtype):
    """Without records where there is one block and no square is lost; they merge as records."""
    plan = make_plan(parse_ops("var"), np.dtype(dtype), None, "fast", masked=False)
    for panels, length, side in ((1, 1, 70), (2, 5, 4097), (3, LINES, 33), (1, 8, 40)):
        rows = panels * side
        for values in kinds(dtype, rows * length):
            tile = Tile(values, NO_MASK, rows, length, side, side)
            records, whole = plan.new(rows), plan.complete(tile, 0)
            plan.add(tile, 0, records)
            is_finite = dtype[0] != "f" or np.isfinite(records[0]["deviation"]).all()
            is_small = dtype != "f8" or not records[0]["huge_deviation"].any()
            assert isinstance(whole[0], dict) is bool(is_finite and is_small)
            mergeable = plan.mergeable(whole)
            for states in (whole, mergeable):
                found = plan.finish(states, rows, length, 0)[0]
                assert found.tobytes() == plan.finish(records, rows, length, 0)[0].tobytes()
            later = plan.new(rows)
            plan.add(tile._replace(data=values[::-1].copy()), 0, later)
            for states in (records, mergeable):
                plan.merged(states, later)
            assert mergeable[0].tobytes() == records[0].tobytes()
    for length, side in ((LINES + 1, 300), (64, 2)):
        values = numbers(dtype, length * side)
        tile = Tile(values, NO_MASK, side, length, side, side)
        assert not isinstance(plan.complete(tile, 0)[0], dict)


@pytest.mark.parametrize("dtype", [*large("f8")])
def test_squared_deviations_that_vanish_over_lines(dtype):
    """A row of them is told from a constant one, wherever it is."""
    plan = make_plan(parse_ops("var"), np.dtype(dtype), None, "fast", masked=False)
    values = numbers(dtype, 7 * 5000).reshape(7, 5000)
    tile = Tile(values.ravel(), NO_MASK, 5000, 7, 5000, 5000)
    for at in (0, 4999):
        values[:, at] = 1e-170
        assert isinstance(plan.complete(tile, 0)[0], dict)
        values[3, at] = 3e-170
        assert not isinstance(plan.complete(tile, 0)[0], dict)
        found = wl.reduce(values, "std", axis=0)
        np.testing.assert_allclose(found[at], np.std(values[:, at] * 1e170) * 1e-170)
        values[:, at] = 0


@pytest.mark.parametrize("columns", [1, 63, 64, 65, 130])
def test_copies_against_memory(columns):
    """There is no loop over lines beside a mask: they are copied, some at a time."""
    values = numbers("f4", columns * 3001).reshape(columns, 3001)
    mask = values < 2
    turned, marks = np.ascontiguousarray(values.T), np.ascontiguousarray(mask.T)
    expected = wl.reduce(turned, "l2", axis=1, where=marks)
    assert wl.reduce(values, "l2", axis=0, where=mask).tobytes() == expected.tobytes()
    found = wl.reduce(values[:, ::-1], "l2", axis=0, where=mask[:, ::-1])
    assert found.tobytes() == expected[::-1].tobytes()


@pytest.mark.parametrize("shape", [(5, 40, 512), (40, 5, 512), (3, 40, 64, 16), (130, 2, 256)])
def test_copies_of_several_axes_against_memory(shape):
    """Axes that lie as one are copied as one, few lines at a time where they share cache sets."""
    # Whole numbers, whose squares add up to the same in any order.
    values = np.rint(numbers("f4", np.prod(shape)).reshape(shape))
    mask, whole = values > 0, (values * 100).astype("i4")
    for axes in ((0,), (1,), (0, 1), (1, 2), (0, 2)):
        staying = [axis for axis in range(values.ndim) if axis not in axes]
        turned = np.ascontiguousarray(values.transpose(*staying, *axes))
        along = tuple(range(len(staying), values.ndim))
        expected = wl.reduce(turned, "l2", axis=along, where=turned > 0)
        assert wl.reduce(values, "l2", axis=axes, where=mask).tobytes() == expected.tobytes()
        for array in (whole, np.asfortranarray(whole), whole.astype(">i4")):
            found = wl.reduce(array, axis=axes, where=mask)
            np.testing.assert_array_equal(found, whole.sum(axes, where=mask))


@pytest.mark.parametrize(
    ("side", "dtype"),
    only(
        lambda side, dtype: side == 9 or (dtype == "f4") == (side % 2 == 1),
        range(1, 10),
        ["i1", "f2", "f4", "f8"],
    ),
)
def test_copies_of_few_columns(dtype, side):
    """Of up to eight numbers that lie one after the other, vectors are sorted by shuffles."""
    lines = FEW // side + 1
    table = np.arange(lines * (side + 1)).astype(dtype).reshape(lines, side + 1)
    followed = np.ascontiguousarray(table[:, :side])
    for part in (followed, followed[::-1], table[:, :side], table[:, side:0:-1]):
        for rows, kept in (
            (part.T, 1),
            (part.T[None], 2),
            (np.stack([part, part]).transpose(0, 2, 1), 2),
        ):
            found = copied(rows, kept, rows.dtype, "", {})
            assert found.tobytes() == rows.tobytes()
