"""Results that a loop over lines makes itself: bit by bit what is made of its fields."""

from __future__ import annotations

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.reduction.cpu.finishers import array_maker
from warpladder.reduction.cpu.line_results import leaving_results
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.shortcuts import along, few

CASES = (
    *(("sum", "f4"), ("mean", "i8"), ("prod", "f8")),
    *large(("l2", "f4"), ("nanmean", "f4")),
    *large(("mean", "i1"), ("sum", "u8"), ("nansum", "f8"), ("nanl1", "f4")),
    *large(("sum", "f8"), ("sum", "i4"), ("mean", "f8"), ("mean", "f4"), ("mean", "u8")),
    *large(("prod", "f4"), ("prod", "i4"), ("l2", "f8"), ("nanprod", "f8"), ("nansum", "f4")),
    *large(("l1", "f4"), ("l1", "f8"), ("l1", "i1"), ("l1", "u8")),
)
# Panels, lines and columns: of one block and of several, with each number of lines beyond fours.
SHAPES = ((1, 1, 33), (1, 2, 5000), (2, 3, 31), (3, 4, 64), (2, 1029, 40), (2, 514, 3))


def plan_for(op, dtype):
    return make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False)


def numbers(op, dtype, shape):
    drawn = np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)
    if op == "mean":
        drawn *= np.asarray(np.iinfo(dtype).max // 4 if drawn.dtype.kind != "f" else 0.1, dtype)
    if op.endswith("prod") and drawn.dtype.kind == "f":
        drawn[np.abs(drawn) != 2] = -1.0
        drawn[drawn == 2] = 1.001
    if drawn.dtype.kind == "f":
        # Sums of nothing but -0.
        drawn[..., 1] = 1.0 if op.endswith("prod") else -0.0
        drawn[..., 2] = np.nan if op.startswith("nan") else 1.0
    return drawn


@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_results_are_those_of_fields(op, dtype, shape):
    plan = plan_for(op, dtype)
    leaving = leaving_results(plan)
    assert leaving is not plan
    panels, length, width = shape
    data = numbers(op, dtype, shape).ravel()
    tile = Tile(data, NO_MASK, panels * width, length, width, width)
    found = leaving.complete(tile, 0)
    assert list(found[0]) == ["result"]
    states = plan.complete(tile, 0)
    assert "result" not in states[0]
    (expected,) = plan.finish(states, tile.rows, length, 0)
    made = array_maker(plan, tile.length)(found[0], 0)
    assert made.dtype == expected.dtype
    assert made.tobytes() == expected.tobytes()
    into = np.empty_like(expected)
    assert array_maker(plan, tile.length)(found[0], 0, into) is into
    assert into.tobytes() == expected.tobytes()


@pytest.mark.parametrize("op", ["max", "argmax", "any", "all", "count_nonzero", "ptp"])
def test_of_others_fields_are_left(op):
    plan = plan_for(op, "f4")
    assert leaving_results(plan) is plan


def test_results_of_another_dtype_are_made_of_fields():
    plan = make_plan(parse_ops("sum"), np.dtype("f4"), np.dtype("f8"), "fast", False)
    assert leaving_results(plan) is plan
    assert leaving_results(plan_for(("sum", "max"), "f4")).parts[0].spec.folds == {"total", "high"}


TRUTHS_AND_SUMS = ("any", "sum")
THEIR_LIKES = ("max", "nanptp", "nanmax", "all", "ptp", "l1")


@pytest.mark.parametrize(
    ("dtype", "ops"),
    [
        ("f4", TRUTHS_AND_SUMS),
        *large(("f4", THEIR_LIKES), ("f8", (*TRUTHS_AND_SUMS, *THEIR_LIKES))),
    ],
)
@pytest.mark.parametrize("length", [5, 32, 1100])
def test_small_arrays_over_their_first_axis(dtype, ops, length):
    values = np.random.default_rng(length).random((length, 40)).astype(dtype)
    values[1, 3], values[:, 4], values[2, 5] = np.nan, np.nan, np.inf
    values[3, 6], values[length - 1, 7] = 0.0, -0.0
    for op in ops:
        (expected,) = wl.reduce(values, (op,), axis=0)
        found = wl.reduce(values, op, axis=0)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), op
        kept = wl.reduce(values, op, axis=0, keepdims=True)
        assert kept.tobytes() == found.tobytes()
        assert kept.shape == (1, 40)


@pytest.mark.parametrize("dtype", ["f4", *large("i1", "?", "i8", "u2", "f8")])
@pytest.mark.parametrize("shape", [(2, 700), (33, 5), (514, 40), (3, 20_000), (9000, 3)])
def test_truths_ranges_and_absolute_sums_over_the_first_axis(dtype, shape):
    values = np.random.default_rng(7).integers(1, 2 if dtype == "?" else 60, shape).astype(dtype)
    for line in (0, 1, shape[0] // 2, shape[0] - 1):
        values[line, line % shape[1]] = 0
    found = wl.reduce(values, "all", axis=0)
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found, values.all(axis=0))
    # Beside others it is found another way; so it is where there are more tiles.
    np.testing.assert_array_equal(wl.reduce(values, ("max", "all"), axis=0)[1], found)
    if dtype != "?":
        np.testing.assert_array_equal(wl.reduce(values, "ptp", axis=0), np.ptp(values, axis=0))
        negative = values if dtype == "u2" else -values
        sums = wl.reduce(negative, "l1", axis=0)
        # Less than 2^24: exact in any dtype.
        np.testing.assert_array_equal(sums, values.sum(axis=0, dtype="f8"))
        assert sums.tobytes() == wl.reduce(negative, ("l1", "argmax"), axis=0)[0].tobytes()


FEW_COLUMNS = (
    *(("f4", "sum"), ("f4", "mean"), ("i8", "mean"), ("f4", "min"), ("f4", "any"), ("f8", "l2")),
    *large(
        *(("f8", "mean"), ("f8", "min")),
        *(("f8", "nansum"), ("f4", "nanmax"), ("i4", "all"), ("f8", "count_nonzero"), ("f4", "l1")),
        *(("i4", "prod"), ("f8", "prod"), ("u8", "mean"), ("i1", "max"), ("f4", "ptp")),
        *(("f8", "nanmean"), ("f4", "nanprod"), ("u8", "sum"), ("f4", "max"), ("i2", "any")),
    ),
)


@pytest.mark.parametrize(("dtype", "op"), FEW_COLUMNS)
def test_lines_that_are_joined_and_those_left_over(monkeypatch, dtype, op):
    """In few steps or by all fields: the same bits."""
    for shape in ((100, 3), (1000, 3), (1024, 4), (3001, 5), (2050, 7), (4099, 16)):
        values = numbers(op, dtype, shape)
        if dtype[0] == "f" and not op.startswith("nan"):
            values[:, 0] = values[:, 0] * 1e-3 + 1
        if (dtype, op) == ("f8", "l2"):
            # Its square leaves the range, among lines that are left over where there are some.
            values[:, 1], values[-1, 1] = 1, 1e200
        if op == "nanmax":
            # Of the whole column, and of what is left over.
            values[:, 1], values[shape[0] // 64 * 64 :, 0] = np.nan, np.nan
        found = wl.reduce(values, op, axis=0)
        wanted = wl.reduce(values, op, axis=0, dtype="f8") if op == "sum" else None
        with monkeypatch.context() as patch:
            patch.setattr(along, "way_across", lambda *_: None)
            few.answer_to.cache_clear()
            expected = wl.reduce(values, op, axis=0)
            assert (found.tobytes(), found.dtype) == (expected.tobytes(), expected.dtype), shape
            if wanted is not None:
                assert wanted.tobytes() == wl.reduce(values, op, axis=0, dtype="f8").tobytes()
        few.answer_to.cache_clear()


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("dtype", "op"), [("f8", "var"), *large(("f4", "std"), ("i8", "var"))])
def test_variances_of_lines_that_are_joined(monkeypatch, dtype, op, ddof):
    """Also of those that leave their range, which take in others before and after them."""
    for shape in ((100, 3), (1000, 3), (1024, 4), (3001, 5), (4099, 16)):
        values = numbers("sum", dtype, shape)
        strange = [values] if dtype != "f8" else [values, values * 1e-200, values.copy(), values]
        if dtype == "f8":
            strange[2][:, 1], strange[2][7, 2] = strange[2][:, 1] * 1e200, np.inf
        for array in strange:
            found = wl.reduce(array, op, axis=0, ddof=ddof)
            # No later call changes it.
            wl.reduce(np.ones_like(array), op, axis=0, ddof=ddof)
            with monkeypatch.context() as patch:
                patch.setattr(along, "way_across", lambda *_: None)
                few.answer_to.cache_clear()
                expected = wl.reduce(array, op, axis=0, ddof=ddof)
            few.answer_to.cache_clear()
            assert (found.tobytes(), found.dtype) == (expected.tobytes(), expected.dtype), shape


@pytest.mark.parametrize("dtype", ["i1", *large("f4", "f8", "i4")])
def test_ranges_wanted_as_another_dtype(dtype):
    for shape in ((2, 3), (7, 33), (40, 3), (300, 40), (20, 2000)):
        values = np.random.default_rng(3).integers(-50, 50, shape).astype(dtype)
        for into in ("f4", "f8", "i8"):
            if dtype[0] == "f" and into == "i8":
                continue
            found = wl.reduce(values, "ptp", axis=0, dtype=into)
            assert found.dtype == into
            np.testing.assert_array_equal(found, np.ptp(values.astype("f8"), axis=0))


def test_truths_of_more_than_one_tile(monkeypatch):
    values = np.ones((4000, 40), "f4")
    values[[0, 1999, 3999], [1, 2, 3]] = 0
    monkeypatch.setattr(layout, "TILE_BYTES", 1 << 14)
    np.testing.assert_array_equal(wl.reduce(values, ("all",), axis=0)[0], values.all(axis=0))
    np.testing.assert_array_equal(wl.reduce(values[:, ::2], "all", axis=0), values.all(axis=0)[::2])


def test_ranges_over_the_first_axis_that_their_dtype_cannot_hold():
    values = np.zeros((3, 50), "i1")
    values[:, 7] = [100, -28, 0]
    with pytest.raises(wl.InputError, match="ptp is 128, which int8 cannot hold"):
        wl.reduce(values, "ptp", axis=0)
    assert wl.reduce(values, "ptp", axis=0, dtype="u1")[7] == 128
    infinite = np.array([[np.inf, 1.0], [np.inf, np.nan], [1.0, 0.0]], "f4")
    np.testing.assert_array_equal(wl.reduce(infinite, "ptp", axis=0), [np.inf, np.nan])
    # Of float64, so that a loop is that of other tests.
    found = wl.reduce(infinite[:2].astype("f8"), "nanptp", axis=0)
    np.testing.assert_array_equal(found, [np.nan, 0.0])


#: Each is a loop of its own.
ALL = (
    *("sum", "prod", "mean", "min", "l1", "l2", "all", "argmax", "count_nonzero", "var"),
    *("nansum", "nanmin", "nanvar", "nanl2"),
)


@pytest.mark.parametrize(
    ("dtype", "ops"),
    [
        ("f4", ("argmax", "nansum")),
        *large(("f4", ALL), ("f2", ("mean", "l2", "nanmin")), ("?", ("sum", "min", "all"))),
        *large(("f8", ("prod", "min", "l2", "var", "nansum")), ("i2", ("mean", "l1", "argmax"))),
    ],
    ids=lambda one: None if isinstance(one, str) else f"{len(one)}-ops",
)
def test_rows_of_one_element(dtype, ops):
    """They are their own sums and extrema, wherever the axis is."""
    values = np.random.default_rng(11).integers(-3, 4, 2600).astype(dtype)
    if values.dtype.kind == "f":
        values[:6] = np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).max, np.finfo(dtype).tiny
    shapes = {1: (2600, 1), 0: (1, 2600), -1: (26, 100, 1), -2: (52, 1, 50)}
    for op in ops:
        # Not as many as are turned.
        expected = [
            wl.reduce(values[i : i + 1].reshape(1, 1), op, axis=1) for i in range(0, 2600, 5)
        ]
        for axis, shape in shapes.items():
            for given in (values.reshape(shape), values.repeat(2)[::2].reshape(shape)):
                found = wl.reduce(given, op, axis=axis)
                assert found.shape == np.squeeze(given, axis=axis).shape
                assert found.ravel()[::5].tobytes() == np.concatenate(expected).tobytes(), op
                assert found.dtype == expected[0].dtype


@pytest.mark.parametrize(("small", "large"), [(3, 1030), (1030, 3), (600, 700)])
def test_products_that_leave_their_range_on_the_way(small, large):
    """In one block of lines, in a later one, and in between only."""
    values = np.ones((2048, 4))
    values[:100, 0] = 1e-30
    values[small, 1], values[large, 1] = 1e-305, 1e305
    values[:20, 2], values[1500:1520, 2] = 1e-30, 1e30
    values[5, 3] = 0
    found = wl.reduce(values, "prod", axis=0)
    np.testing.assert_allclose(found, [0, 1, 1, 0], rtol=1e-12)
    np.testing.assert_array_equal(found, wl.reduce(values, ("prod", "max"), axis=0)[0])


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["f4", *large("f8")])
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
def test_variances_that_skip_nan(dtype):
    values = np.random.default_rng(3).random((9, 2000)).astype(dtype)
    values[0, ::2] = values[3:, ::3] = values[:, 5] = values[1:, 6] = np.nan
    values[:8, 7], values[4, 8], values[:, 9] = np.nan, np.inf, 2.0
    for axis, given in ((0, values), (1, np.ascontiguousarray(values.T))):
        for ddof in (0, 1):
            found = wl.reduce(given, "nanvar", axis=axis, ddof=ddof)
            with np.errstate(invalid="ignore"):
                expected = np.nanvar(values, axis=0, ddof=ddof, dtype="f8")
            np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype == "f8" else 1e-6)
            # What leaves its range is kept in records.
            records = wl.reduce(given, ("nanvar", "nanmin"), axis=axis, ddof=ddof)[0]
            np.testing.assert_allclose(found, records, rtol=1e-12 if dtype == "f8" else 1e-6)
    if dtype == "f8":
        values[:, 10] = np.linspace(-1e-180, 1e-180, 9)
        values[2, 10] = np.nan
        kept = values[:, 10][np.arange(9) != 2] * 1e180
        found = wl.reduce(values, "nanstd", axis=0)[10]
        np.testing.assert_allclose(found, kept.std() * 1e-180, rtol=1e-12)


@pytest.mark.parametrize("op", ["var", "nanvar", *large("std", "nanstd")])
@pytest.mark.parametrize("shape", [(1, 3, 5000), (2, 4, 31), (3, 5, 4097), (1, 2, 4096)])
def test_variances_without_means(op, shape):
    """Where tiles are whole rows their means are not left: the same deviations, bit by bit."""
    values = np.random.default_rng(5).normal(3, 1, shape).astype("f4")
    if op.startswith("nan"):
        values[:, ::2, ::7] = np.nan
    panels, length, width = shape
    tile = Tile(values.ravel(), NO_MASK, panels * width, length, width, width)
    plan = plan_for(op, "f4")
    (part,), (lean,) = plan.parts, leaving_results(plan).parts
    found, kept = lean.complete(tile, 0), part.complete(tile, 0)
    assert kept.keys() - found.keys() == {"shift", "offset"}
    for name in found:
        assert found[name].tobytes() == kept[name].tobytes()
    mean = np.nanmean if op.startswith("nan") else np.mean
    wide = values.astype("f8")
    np.testing.assert_allclose(kept["shift"] + kept["offset"], mean(wide, axis=1).ravel())
    expected = getattr(np, op)(wide, axis=1)
    np.testing.assert_allclose(wl.reduce(values, op, axis=1), expected, rtol=1e-6)
