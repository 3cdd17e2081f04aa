"""Extrema of floats taken two at a time or one: the same states."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import config

from choosing import large
from warpladder.reduction import extrema, folds
from warpladder.reduction.layout import NO_MASK
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


@pytest.mark.parametrize(
    ("op", "dtype"), [("argmax", "f4"), ("ptp", "f8"), *large(("argmin", "f2"), ("max", "f4"))]
)
def test_both_ways_leave_the_same_states(op, dtype, monkeypatch):
    part = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False).parts[0]
    values, found = numbers(dtype), []
    data = values.view(np.uint16) if dtype == "f2" else values
    for most in (0, 1 << 40):
        monkeypatch.setattr(folds, "most_bytes_by_twos", lambda most=most: most)
        states = part.new(ROWS)
        folds.fold_kernel.__wrapped__(part.spec)(data, NO_MASK, ROWS, LENGTH, LENGTH, 0, states)
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


@pytest.mark.parametrize(
    ("name", "most"), [("znver4", 1 << 19), ("sapphirerapids", 1 << 62), ("generic", 1 << 62)]
)
def test_it_goes_by_the_processor(name, most, monkeypatch):
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: name)
    monkeypatch.setattr(config, "CPU_NAME", None)
    assert extrema.most_bytes_by_twos.__wrapped__() == most
    monkeypatch.setattr(config, "CPU_NAME", "znver5")
    assert extrema.most_bytes_by_twos.__wrapped__() == 1 << 19
