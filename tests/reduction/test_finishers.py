"""Results made of the states of whole rows in few steps are those that `Plan.finish` makes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import warpladder as wl
from choosing import large, only
from warpladder.reduction.cpu.finishers import array_maker, finisher
from warpladder.reduction.memory.tile import NO_MASK, Tile
from warpladder.reduction.ops import OPS, parse_ops
from warpladder.reduction.plan import make_plan

DTYPES = ("f4", "f8", "i1", "i8", "u8", "u1", "i4")
# Every dtype has a loop of its own for every operation: of integers what is finished otherwise than
# of floats, and of float64 what leaves its range on the way.
OF_INTEGERS = ("sum", "mean", "ptp", "l2")
OF_FLOAT64 = ("prod", "var", "l2")


def chosen(op, dtype):
    few = {"f4": OPS, "i8": OF_INTEGERS, "f8": OF_FLOAT64}
    return op in few.get(dtype, ())


def plan_for(op, dtype):
    return make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False)


def strange(dtype, rows, length):
    """Return rows of ordinary numbers, and such as overflow, vanish, or are not there."""
    values = np.random.default_rng(rows).integers(0, 4, (rows, length)).astype(dtype)
    if dtype[0] == "f":
        largest = np.finfo(dtype).max
        values[1], values[2, 0], values[3, ::2] = largest, np.nan, np.inf
        values[4, 1], values[5] = -np.inf, np.finfo(dtype).tiny
        values[6, :2] = largest, -largest
    values[7], values[8] = 0, 1
    return values


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("op", "dtype"), only(chosen, OPS, DTYPES))
def test_few_steps_leave_the_same(op, dtype, ddof):
    plan = plan_for(op, dtype)
    for length in (1, 2, 40):
        values = strange(dtype, 12, length) if length > 1 else np.arange(12).astype(dtype)[:, None]
        rows = [*values] if dtype[0] == "f" else [values]
        for some in (np.atleast_2d(row) for row in rows):
            count = len(some)
            tile = Tile(some.ravel(), NO_MASK, count, length, length)
            (expected,) = plan.finish(plan.complete(tile, 0), count, length, ddof)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                made = array_maker(plan, length)
                found = made and made(plan.complete(tile, 0)[0], ddof)
                (finished,) = finisher(plan, length)(plan.complete(tile, 0), count, ddof)
            assert finished.dtype == expected.dtype
            assert finished.tobytes() == expected.tobytes()
            if found is not None:
                assert found.dtype == expected.dtype
                assert found.tobytes() == expected.tobytes()
                assert found.base is None


def test_most_are_made_in_few_steps():
    for op in OPS:
        values = np.arange(1, 85, dtype="f4").reshape(3, 28)
        tile = Tile(values.ravel(), NO_MASK, 3, 28, 28)
        plan = plan_for(op, "f4")
        found = array_maker(plan, 28)(plan.complete(tile, 0)[0], 0)
        assert found is not None, op


@pytest.mark.parametrize("rows", [3, 700])
def test_a_range_that_does_not_fit_is_refused_every_time(rows):
    values = np.zeros((rows, 40), "i1")
    values[-1, :2] = -100, 100
    for _ in range(3):
        with pytest.raises(wl.InputError, match="ptp is 200, which int8 cannot hold"):
            wl.reduce(values, "ptp", axis=1)
    values[-1, 0] = 0
    assert wl.reduce(values, "ptp", axis=1)[-1] == 100
    for _ in range(3):
        assert wl.reduce(values.astype("u1"), "ptp", axis=1)[-1] == 100


@pytest.mark.parametrize("ddof", [0, 1])
# Of integers test_ranges.py has variances, and takes their loops that long.
@pytest.mark.parametrize("dtype", ["f8", *large("u8", "f4", "i1", "i8", "u1", "i4")])
@pytest.mark.parametrize("op", ["var", "std"])
def test_variances_that_lie_across_or_are_of_short_rows(op, dtype, ddof):
    """The loop's sums are all that a call has to divide; where some were lost it is done anew."""
    shapes = ((9, 300), 0), ((1, 300), 0), ((4, 9, 70), 1), ((300, 9), 1), ((80, 31), 1)
    for shape, axis in shapes:
        ordinary = np.random.default_rng(3).integers(0, 4, shape).astype(dtype)
        for values in (ordinary, *([ordinary * 1e160] if dtype == "f8" else [])):
            plan, length = plan_for(op, dtype), shape[axis]
            rows, side = values.size // length, int(np.prod(shape[axis + 1 :]))
            side = side if side > 1 else 0
            tile = Tile(values.ravel(), NO_MASK, rows, length, side or length, side)
            (expected,) = plan.finish(plan.complete(tile, 0), rows, length, ddof)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for _ in range(2):
                    found = wl.reduce(values, op, axis=axis, ddof=ddof)
                    assert found.dtype == expected.dtype
                    assert found.tobytes() == expected.tobytes()
