"""Blocks on the diagonal, closed in vectors, and operands that are packed in squares."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, njit
from oracles import DTYPES

from choosing import large
from warpladder.shortest_paths.cpu_tiles.diagonal import close_block
from warpladder.shortest_paths.cpu_tiles.packing import operand, pack_left, pack_right
from warpladder.shortest_paths.cpu_tiles.tiles import tile_shape
from warpladder.shortest_paths.dense import inner_no_path

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

SOME = ("float32", "int16", *large(*(each for each in DTYPES if each not in {"float32", "int16"})))


@njit
def _close(matrix, carry, k0, k1):
    close_block(matrix, carry, k0, k1)


@njit
def _pack(matrix, carry, rows, columns, panel, pad):
    i0, i1 = rows
    j0, j1 = columns
    left, right = operand(matrix, carry, 200 * panel), operand(matrix, carry, 200 * panel)
    pack_left(matrix, carry, i0, i1, j0, j1, panel, pad, left)
    pack_right(matrix, carry, False, i0, i1, j0, j1, panel, pad, right, 0)
    return left[0], right[0]


def _graph(n, dtype):
    rng = np.random.default_rng(n)
    dist = rng.integers(1, 100, (n, n)).astype(dtype)
    dist[rng.random((n, n)) < 0.5] = inner_no_path(np.dtype(dtype))
    np.fill_diagonal(dist, 0)
    return dist, np.broadcast_to(np.arange(n, dtype=np.int32), (n, n)).copy()


@pytest.mark.parametrize("with_hops", [False, True])
@pytest.mark.parametrize("dtype", SOME)
def test_a_block_is_closed_by_the_book(dtype, with_hops):
    """Of every size from nothing to some vectors and what is left; what is around it stays."""
    for size in (0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 95, 96):
        dist, hops = _graph(size + 9, dtype)
        expected, taken = dist.copy(), hops.copy()
        k0, k1 = 4, 4 + size
        for k in range(k0, k1):
            sums = expected[k0:k1, k, None] + expected[None, k, k0:k1]
            better = sums < expected[k0:k1, k0:k1]
            taken[k0:k1, k0:k1] = np.where(better, taken[k0:k1, k, None], taken[k0:k1, k0:k1])
            expected[k0:k1, k0:k1] = np.where(better, sums, expected[k0:k1, k0:k1])
        _close((dist, hops), True if with_hops else None, k0, k1)
        np.testing.assert_array_equal(dist, expected)
        if with_hops:
            np.testing.assert_array_equal(hops, taken)


@pytest.mark.parametrize("dtype", SOME)
def test_operands_are_packed_as_tiles_read_them(dtype):
    shape = tile_shape(dtype)
    dist, hops = _graph(100, dtype)
    pad = dist.dtype.type(77)
    for rows in ((0, 1), (3, 3 + shape.rows), (5, 5 + 3 * shape.rows + 1), (40, 99)):
        for columns in ((0, 1), (2, 10), (7, 7 + shape.columns // 2), (1, 24), (50, 57)):
            left, right = _pack((dist, hops), None, rows, columns, 96, pad)
            part = dist[slice(*rows), slice(*columns)]
            depth = part.shape[1]
            strips = -(-len(part) // shape.rows)
            filled = np.full((strips * shape.rows, depth), pad)
            filled[: len(part)] = part
            packed = filled.reshape(strips, shape.rows, depth).transpose(0, 2, 1).ravel()
            np.testing.assert_array_equal(left[: packed.size], packed)
            if depth <= shape.columns:
                filled = np.full((len(part), shape.columns), pad)
                filled[:, :depth] = part
                np.testing.assert_array_equal(right[: filled.size], filled.ravel())
