"""Next hops that are looked for after a tile has been relaxed: those of the first best sum."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from oracles import DTYPES

from choosing import large
from warpladder.device.stretches import copy_block
from warpladder.shortest_paths.cpu_tiles.packing import operand, pack_left, pack_right
from warpladder.shortest_paths.cpu_tiles.tile_hops import scratch_tile, take_hops
from warpladder.shortest_paths.cpu_tiles.tiles import (
    PANEL_UNIT,
    RUN,
    relax_tile_marking,
    tile_shape,
)
from warpladder.shortest_paths.dense import inner_no_path


@njit
def _relax(matrix, full, half, below, cells, k0, k1, panel, pad):
    """Relax some cells, at most one tile, through some intermediates; in a tile of its own."""
    i0, i1, j0, j1 = cells
    left, right = operand(matrix, full, 96 * panel), operand(matrix, full, 96 * panel)
    scratch = scratch_tile(matrix, full)
    tile, best, runs, marks = scratch
    pack_left(matrix, full, i0, i1, k0, k1, panel, pad, left)
    pack_right(matrix, full, half, k0, k1, j0, j1, panel, pad, right, 0)
    copy_block(matrix[0], i0, j0, tile, 0, 0, i1 - i0, j1 - j0)
    relax_tile_marking(tile, 0, 0, left[0], 0, right[0], 0, k1 - k0, best, runs, marks)
    copy_block(tile, 0, 0, matrix[0], i0, j0, i1 - i0, j1 - j0)
    take_hops(matrix[1], half, below, i0, i1, j0, j1, left, 0, right, 0, panel, scratch)


def _expected(dist, hops, half, below, cells, k0, k1):
    """Return distances and hops after the same, by the first of the least sums."""
    i0, i1, j0, j1 = cells
    dist, taken = dist.copy(), hops.copy()
    known = dist.copy()
    for i in range(i0, i1):
        for j in range(j0, j1):
            sums = known[i, k0:k1] + known[k0:k1, j]
            k = k0 + int(sums.argmin())
            if sums.min() < known[i, j]:
                dist[i, j] = sums.min()
                if not below or j < i:
                    taken[i, j] = hops[i, k]
                    if half:
                        taken[j, i] = hops[j, k]
    return dist, taken


@pytest.mark.parametrize("dtype", ["float32", *large(*sorted({*DTYPES} - {"float32"}))])
@pytest.mark.parametrize("depth", [1, 31, RUN, 33, 48, 95, 200])
@pytest.mark.parametrize(
    ("half", "below"), [(False, False), (True, False), (True, True)], ids=["whole", "half", "below"]
)
def test_hops_are_those_of_the_first_best_sum(dtype, depth, half, below):
    rng = np.random.default_rng(depth)
    shape = tile_shape(dtype)
    n = 220 + shape.columns
    # Few lengths, so that many sums are equal.
    dist = rng.integers(1, 30, (n, n)).astype(dtype)
    dist[rng.random((n, n)) < 0.3] = inner_no_path(dtype)
    hops = rng.integers(0, n, (n, n)).astype(np.int32)
    i0, j0 = 205, 202
    for height, width in ((shape.rows, shape.columns), (1, 1), (shape.rows - 1, shape.columns - 3)):
        cells = i0, i0 + height, j0, j0 + width
        wanted = _expected(dist, hops, half, below, cells, 0, depth)
        found = dist.copy(), hops.copy()
        panel = -(-depth // PANEL_UNIT) * PANEL_UNIT
        _relax(found, True, half, below, cells, 0, depth, panel, inner_no_path(dtype))
        assert np.array_equal(found[0], wanted[0])
        assert np.array_equal(found[1], wanted[1])
        assert height == 1 or not np.array_equal(found[1], hops)
