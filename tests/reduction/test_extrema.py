"""Extrema of floats taken two at a time or one: the same states."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import config

import warpladder as wl
from choosing import large
from warpladder.reduction.loops import extrema, folds
from warpladder.reduction.loops.states import NOT_ASKED, kept_as, merge_kernel
from warpladder.reduction.memory.layout import NO_MASK
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan

ROWS, LENGTH = 9, 5000


def numbers(dtype):
    drawn = np.random.default_rng(3).standard_normal((ROWS, LENGTH)).astype(dtype)
    # First and last of a block and of either half, and a row of nothing else.
    for row, place in enumerate((0, 2047, 2048, 4095, 4096, 4999)):
        drawn[row, place] = np.nan
    drawn[6] = np.nan
    drawn[7, [5, 2053]] = np.inf, -np.inf
    return drawn.reshape(-1)


@pytest.mark.parametrize(("op", "place"), [("max", "argmax"), ("min", "argmin")])
def test_an_extremum_alone_has_the_loop_of_its_place_and_looks_for_none(op, place):
    alone, located = (
        make_plan(parse_ops(each), np.dtype("f4"), None, "fast", False).parts[0]
        for each in (op, place)
    )
    assert alone.loop is located.loop
    assert merge_kernel(alone.spec) is merge_kernel(located.spec)
    found = []
    for part in (alone, located):
        states, later = part.new(ROWS), part.new(ROWS)
        part.loop(numbers("f4"), NO_MASK, ROWS, LENGTH, LENGTH, 0, states)
        part.loop(-numbers("f4"), NO_MASK, ROWS, LENGTH, LENGTH, LENGTH, later)
        part.merge(states, later)
        found.append(states)
    (fold,), (at,) = alone.spec.folds, located.spec.folds - alone.spec.folds
    np.testing.assert_array_equal(found[0][fold], found[1][fold])
    assert (found[0][at] == NOT_ASKED).all()
    rows = numbers("f4").reshape(ROWS, LENGTH)
    np.testing.assert_array_equal(
        found[1][at], getattr(np, place)(np.hstack([rows, -rows]), axis=1)
    )


@pytest.mark.parametrize("dtype", ["f2", "?"])
def test_other_extrema_have_loops_of_their_own(dtype):
    """The buffer of float16 is as long as a block; places of booleans have another loop."""
    part = make_plan(parse_ops("max"), np.dtype(dtype), None, "fast", False).parts[0]
    assert kept_as(part.spec) == part.spec
    values = np.arange(20_000).astype(dtype)
    assert wl.reduce(values, "max") == values.max()


@pytest.mark.parametrize(
    ("op", "dtype"), [("argmax", "f4"), *large(("ptp", "f8"), ("argmin", "f2"), ("max", "f4"))]
)
def test_both_ways_leave_the_same_states(op, dtype, monkeypatch):
    part = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False).parts[0]
    values, found = numbers(dtype), []
    data = values.view(np.uint16) if dtype == "f2" else values
    for most in (0, 1 << 40):
        monkeypatch.setattr(folds, "most_bytes_by_twos", lambda most=most: most)
        states = part.new(ROWS)
        folds.fold_kernel.__wrapped__(kept_as(part.spec))(
            data, NO_MASK, ROWS, LENGTH, LENGTH, 0, states
        )
        found.append(states)
    one_by_one, by_twos = found
    for name in one_by_one.dtype.names:
        np.testing.assert_array_equal(one_by_one[name], by_twos[name])
    rows = values.reshape(ROWS, LENGTH)
    if op == "argmax":
        np.testing.assert_array_equal(by_twos["high_at"], rows.argmax(axis=1))
    if op == "ptp":
        np.testing.assert_array_equal(by_twos["low"], rows.min(axis=1))
        np.testing.assert_array_equal(by_twos["high"], rows.max(axis=1))


@pytest.mark.parametrize("dtype", ["i1", *large("i4", "f4", "f8")])
def test_rows_may_begin_anywhere_in_a_line_of_the_caches(dtype):
    block, length = 4096, 2 * 4096 + 33
    wide = np.zeros((2, length + 200), dtype)
    # Beyond the rows there are others.
    wide[...] = 100
    for begin in range(0, 64 // wide.itemsize, max(1, 4 // wide.itemsize)):
        rows = wide[:, begin + 1 : begin + 1 + length]
        ahead = rows.ctypes.data % 64 // rows.itemsize
        for place in (0, block - ahead - 1, block - ahead, block - 1, block, length - 1):
            rows[...] = np.arange(length) % 7
            rows[0, place] = rows[1, length - 1 - place] = 50
            rows[:, 5] = -50
            found = wl.reduce(rows, ("argmax", "argmin", "ptp"), axis=1)
            assert found.argmax.tolist() == rows.argmax(axis=1).tolist()
            assert found.argmin.tolist() == rows.argmin(axis=1).tolist()
            assert found.ptp.tolist() == [100, 100]
            # The first of equal ones.
            rows[0, place // 2] = 50
            assert wl.reduce(rows[0], "argmax") == rows[0].argmax()
        wide[...] = 100


@pytest.mark.parametrize(
    ("name", "most"), [("znver4", 1 << 19), ("sapphirerapids", 1 << 62), ("generic", 1 << 62)]
)
def test_it_goes_by_the_processor(name, most, monkeypatch):
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: name)
    monkeypatch.setattr(config, "CPU_NAME", None)
    assert extrema.most_bytes_by_twos.__wrapped__() == most
    monkeypatch.setattr(config, "CPU_NAME", "znver5")
    assert extrema.most_bytes_by_twos.__wrapped__() == 1 << 19
