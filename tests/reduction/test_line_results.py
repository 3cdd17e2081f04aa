"""Results that a loop over lines makes itself: bit by bit what is made of its fields."""

from __future__ import annotations

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.reduction.finishers import array_maker
from warpladder.reduction.layout import NO_MASK, Tile
from warpladder.reduction.line_results import leaving_results
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan

CASES = (
    *(("sum", "f4"), ("mean", "i8"), ("mean", "i1"), ("prod", "f8"), ("l2", "f4"), ("sum", "u8")),
    *(("nanmean", "f4"), ("nansum", "f8")),
    *large(("sum", "f8"), ("sum", "i4"), ("mean", "f8"), ("mean", "f4"), ("mean", "u8")),
    *large(("prod", "f4"), ("prod", "i4"), ("l2", "f8"), ("nanprod", "f8"), ("nansum", "f4")),
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
    made = array_maker(plan)(found[0])
    assert made.dtype == expected.dtype
    assert made.tobytes() == expected.tobytes()
    into = np.empty_like(expected)
    assert array_maker(plan)(found[0], into) is into
    assert into.tobytes() == expected.tobytes()


@pytest.mark.parametrize("op", ["max", "argmax", "any", "count_nonzero", "ptp", "l1"])
def test_of_others_fields_are_left(op):
    plan = plan_for(op, "f4")
    assert leaving_results(plan) is plan


def test_results_of_another_dtype_are_made_of_fields():
    plan = make_plan(parse_ops("sum"), np.dtype("f4"), np.dtype("f8"), "fast", False)
    assert leaving_results(plan) is plan
    assert leaving_results(plan_for(("sum", "max"), "f4")).parts[0].spec.folds == {"total", "high"}


@pytest.mark.parametrize("dtype", ["f4", *large("f8")])
@pytest.mark.parametrize("length", [5, 32, 1100])
def test_small_arrays_over_their_first_axis(dtype, length):
    values = np.random.default_rng(length).random((length, 40)).astype(dtype)
    values[1, 3], values[:, 4], values[2, 5] = np.nan, np.nan, np.inf
    for op in ("max", "nanmax", "any", "sum"):
        (expected,) = wl.reduce(values, (op,), axis=0)
        found = wl.reduce(values, op, axis=0)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), op
        kept = wl.reduce(values, op, axis=0, keepdims=True)
        assert kept.tobytes() == found.tobytes()
        assert kept.shape == (1, 40)


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


@pytest.mark.parametrize("dtype", ["f8", *large("f4")])
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
