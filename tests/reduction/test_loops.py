"""What the fast loops leave out, join and stop at: masks, NaNs, short lines, settled answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numba import njit

import warpladder as wl
from choosing import large
from warpladder.device.simd import vector_unit
from warpladder.reduction.cpu import jobs
from warpladder.reduction.loops.blocks import is_kept
from warpladder.reduction.memory import layout


@pytest.mark.parametrize("dtype", ["?", *large("u2", "i1", "f2", "f4", "f8")])
def test_truth_is_settled_early_and_right(dtype, monkeypatch):
    """Where one element decides, wherever it lies and however many tiles follow it."""
    monkeypatch.setattr(layout, "TILE_BYTES", 1 << 15)
    n = 70_001
    for workers in (1, 3):
        monkeypatch.setattr(jobs, "worker_count", lambda n=workers: n)
        for at in (0, 1, 16_383, 16_384, 33_333, n - 1):
            some = np.zeros(n, dtype)
            some[at] = 1
            assert wl.reduce(some, "any")
            assert not wl.reduce(some, "all")
            assert not wl.reduce(some == 0, "all")
            none = np.ones(n, dtype)
            none[at] = 0
            assert wl.reduce(none, "any")
            assert not wl.reduce(none, "all")
            # Neither is settled by an element that does not count.
            mask = np.arange(n) != at
            assert not wl.reduce(some, "any", where=mask)
            assert wl.reduce(none, "all", where=mask)
        assert not wl.reduce(np.zeros(n, dtype), "any")
        assert wl.reduce(np.ones(n, dtype), "all")
    rows = np.zeros((3, n), dtype)
    rows[1, 5] = rows[2, n - 1] = 1
    assert wl.reduce(rows, "any", axis=1).tolist() == [False, True, True]
    assert wl.reduce(rows.T, "any", axis=0).tolist() == [False, True, True]


@pytest.mark.parametrize("alone", [("max", "argmin"), *large((("min", "argmax"),))])
def test_extremes_of_booleans_are_settled_early_and_right(monkeypatch, alone):
    monkeypatch.setattr(layout, "TILE_BYTES", 1 << 13)
    n = 40_001
    ops = ("min", "max", "argmin", "argmax")
    for workers in (1, 3):
        monkeypatch.setattr(jobs, "worker_count", lambda n=workers: n)
        for at in (0, 1, 1023, 1024, 9000, n - 1):
            for values in (np.arange(n) == at, np.arange(n) != at, np.arange(n) >= at):
                for op in alone:
                    assert wl.reduce(values, op) == getattr(np, op)(values), op
                assert wl.reduce(values, ops) == tuple(getattr(np, op)(values) for op in ops)
                # The mean needs all elements, whatever is settled.
                assert wl.reduce(values, ("max", "mean")).mean == values.mean()


@pytest.mark.parametrize("dtype", ["u2", *large("i2", "i1", "u1")])
def test_sums_of_small_integers_at_their_limits(dtype):
    """Within a block they are made in 32 bits, which the largest just fit, and counted in 16."""
    for limit in (np.iinfo(dtype).min, np.iinfo(dtype).max):
        for n in (4096, 16_384, 16_385, 100_000):
            values = np.full(n, limit, dtype)
            answer = wl.reduce(values, ("sum", "mean"))
            assert answer.sum == n * int(limit)
            assert wl.reduce(values, "count_nonzero") == np.count_nonzero(values)
            assert answer.mean == limit
            assert wl.reduce(values, where=np.arange(n) % 2 == 0) == (n + 1) // 2 * int(limit)


# Twice eleven operations: test_reduce.py has masks and NaNs beside NumPy by default, of few.
@pytest.mark.large
@pytest.mark.parametrize("dtype", ["f4", *large("f8")])
def test_what_does_not_count_leaves_no_trace(dtype):
    """Elements behind a mask may be NaN, infinite or beyond all others; those skipped are NaN."""
    ops = ("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "l1", "l2", "logsumexp")
    nan_ops = tuple(f"nan{op}" for op in ops)
    rng = np.random.default_rng(8)
    for n in (1, 2, 33, 4097, 20_011):
        values = rng.uniform(0.9, 1.1, n).astype(dtype)
        values[n // 2 :] = rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e30], n - n // 2)
        mask = np.arange(n) < max(n // 2, 1)
        values[0] = 1
        # With others, as in test_reduce, so that it is compiled once.
        all_ops = (*ops, "std", "any", "all", "count_nonzero")
        expected = wl.reduce(values[mask], all_ops)[: len(ops)]
        np.testing.assert_allclose(wl.reduce(values, ops, where=mask), expected, rtol=2e-6)
        holes = np.where(mask, values, np.dtype(dtype).type(np.nan))
        skipping = wl.reduce(holes, nan_ops)
        np.testing.assert_allclose(skipping, expected, rtol=2e-6)
    # All that count are the largest there is, and what stands for those left out is no less.
    infinite = np.full(5000, np.inf, dtype)
    infinite[:4000] = np.nan
    found = wl.reduce(infinite, nan_ops)
    assert (found.nanmin, found.nanargmin, found.nanmax) == (np.inf, 4000, np.inf)
    # Blocks with no number come first.
    blocks = np.repeat(infinite, 5)
    assert wl.reduce(blocks, ("nanmin", "nanargmin")) == (np.inf, 20_000)
    assert wl.reduce(-blocks, ("nanmax", "nanargmax")) == (-np.inf, 20_000)
    assert np.isnan(wl.reduce(blocks[:20_000], "nanmax"))
    assert wl.reduce(-infinite, ("nanmax", "nanargmax"), where=np.arange(5000) > 4500) == (
        -np.inf,
        4501,
    )


SHAPES = [
    *((349, 3), (2000, 8), (8, 2000), (5000, 1), (40, 513)),
    *((5, 100, 3), (64, 17, 16), (3, 4, 1030), (2, 1000, 2), (4, 3, 2, 5)),
]


@pytest.mark.parametrize(
    ("shape", "dtypes"),
    [*((shape, ("f4",)) for shape in SHAPES), *large(*((shape, ("i2", "f4")) for shape in SHAPES))],
    ids=str,
)
def test_columns_and_panels(shape, dtypes, monkeypatch):
    """Lines too short for vectors, middle axes, few long lines; ties, NaNs and first indices."""
    rng = np.random.default_rng(len(shape))
    ops = ("sum", "min", "max", "argmin", "argmax", "var", "count_nonzero")
    nan_ops = ("nanargmin", "nanargmax", "nanmax", "nansum", "nanmean", "nanvar")
    # A lane of a vector adds up so many squares of a block of 1024, each rounded to float32.
    rounded = (1024 * 4 // vector_unit().bytes + 2) * 2.0**-24
    for tile in (None, 2048):
        if tile is not None:
            monkeypatch.setattr(layout, "TILE_BYTES", tile)
            monkeypatch.setattr(layout, "_ROWS_ACROSS", 16)
        for dtype in dtypes:
            values = rng.integers(-5, 6, shape).astype(dtype)
            for axis in range(len(shape)):
                answer = wl.reduce(values, ops, axis=axis)
                for op, found in zip(ops, answer, strict=True):
                    expected = getattr(np, op)(values.astype("f8"), axis=axis)
                    slack = rounded if op == "var" else 1e-6
                    np.testing.assert_allclose(found, expected, rtol=slack, atol=1e-6, err_msg=op)
        values[rng.random(shape) < 0.1] = np.nan
        np.moveaxis(values, 0, -1)[..., 0] = 7
        np.moveaxis(values, -1, 0)[0] = 7
        for axis, some in product((0, len(shape) - 1), (ops, nan_ops)):
            for op, found in zip(some, wl.reduce(values, some, axis=axis), strict=True):
                expected = getattr(np, op)(values.astype("f8"), axis=axis)
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=op)


def test_variances_of_columns_far_from_zero_that_begin_with_nan():
    values = np.random.default_rng(2).random((3000, 5)) + 1e9
    values[:700, 1:] = np.nan
    expected = np.nanvar(values.astype(np.longdouble), axis=0).astype("f8")
    np.testing.assert_allclose(wl.reduce(values, "nanvar", axis=0), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "op"),
    [("f4", "argmin"), *large(("i1", "argmax"), ("f4", "argmax"), ("i1", "argmin"))],
)
def test_the_first_of_columns_that_are_all_the_largest_there_is(dtype, op):
    values = np.full((700, 5), np.inf, "f4") if dtype == "f4" else np.full((3, 40, 33), 127, "i1")
    if op == "argmax":
        values = -values if dtype == "f4" else ~values
    for axis in range(values.ndim):
        assert not wl.reduce(values, op, axis=axis).any()


def test_the_first_of_columns_that_are_all_the_least_there_is_behind_nans():
    holes = np.full((700, 5), -np.inf)
    holes[:600] = np.nan
    assert wl.reduce(holes, "nanargmax", axis=0).tolist() == [600] * 5


def test_a_loop_that_asks_what_counts_becomes_vectors():
    """Also where only a call tells whether there is a mask, as of what loops over blocks call."""

    @njit(nogil=True, fastmath={"reassoc", "nsz"})
    def total_of(block, marks, masked, skip_nan):
        total = 0.0
        for i in range(block.size):
            total += block[i] if is_kept(block, marks, i, masked, skip_nan) else 0.0
        return total

    values, marks = np.arange(100.0), np.arange(100) % 2 == 0
    values[4] = np.nan
    assert total_of(values, marks, True, True) == 2450 - 4
    (code,) = total_of.inspect_llvm().values()
    loop = code[: code.index("define", code.index("define") + 1)]
    assert " x double>" in loop
