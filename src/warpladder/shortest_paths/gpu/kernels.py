"""The kernels around the engine's: weights taken in, first next hops, answers given out."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from warpladder.device.grids import EVERYBODY, WARP
from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.dense import NO_HOP

__all__ = [
    "PARTS_OF_ROW",
    "THREADS",
    "export_rows",
    "find_longest",
    "find_unlike",
    "import_batch",
    "import_rows",
    "write_first_hops",
]

THREADS = 256
"""In a block of each of these kernels; a block or a warp takes whole rows, but to compare."""

PARTS_OF_ROW = 8
"""Of the rows that `find_unlike` compares with columns: more blocks than there are rows of 32."""

_SQUARE = (WARP, WARP + 1)


@cached
@cuda.jit
def write_first_hops(dist, hops, no_path):
    """Write the next hops before any detour: the target where there is an edge."""
    n = dist.shape[0]
    for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            hops[i, j] = j if dist[i, j] < no_path else NO_HOP


@cuda.jit(device=True)
def import_row(source, dist, i, absent, no_path, least, greatest, high, low, nan):
    """Copy one row of weights into the engine's form; a warp takes it.

    The first lane's places in ``high``, ``low`` and ``nan``, which have one for each thread, then
    hold what `WeightSummary` is made of.
    """
    n, side = source.shape[0], dist.shape[0]
    t, lane = cuda.threadIdx.x, cuda.threadIdx.x & 31
    absent_is_nan = math.isnan(absent)
    high[t], low[t], nan[t] = least, greatest, -1
    for j in range(lane, side, 32):
        dist[i, j] = 0 if i == j else no_path
        if i < n and j < n:
            weight = source[i, j]
            is_nan = math.isnan(weight)
            is_infinite = weight > 0 and math.isinf(weight)
            if not (weight == absent or is_infinite or (is_nan and absent_is_nan)):
                if is_nan:
                    nan[t] = j
                if i != j or weight < 0:
                    dist[i, j] = weight
                    high[t] = max(high[t], dist[i, j])
                    low[t] = min(low[t], dist[i, j])
    cuda.syncwarp()
    step = 16
    while step:
        if lane < step:
            high[t] = max(high[t], high[t + step])
            low[t] = min(low[t], low[t + step])
            nan[t] = max(nan[t], nan[t + step])
        cuda.syncwarp()
        step >>= 1


@cached
@cuda.jit
def import_rows(source, dist, absent, no_path, least, greatest, found):
    """Copy a matrix into the engine's form, and find in each row what is to be known of it.

    That is its largest weight, its smallest and the column of a NaN: a column of ``found``.
    """
    high = cuda.shared.array(THREADS, dist.dtype)
    low = cuda.shared.array(THREADS, dist.dtype)
    nan = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    for i in range(cuda.grid(1) >> 5, dist.shape[0], cuda.gridsize(1) >> 5):
        import_row(source, dist, i, absent, no_path, least, greatest, high, low, nan)
        if t & 31 == 0:
            found[0, i], found[1, i], found[2, i] = high[t], low[t], nan[t]


@cached
@cuda.jit
def import_batch(source, dist, absent, no_path, least, greatest, found):
    """Do the same for all matrices of a batch, whose rows are numbered through."""
    high = cuda.shared.array(THREADS, dist.dtype)
    low = cuda.shared.array(THREADS, dist.dtype)
    nan = cuda.shared.array(THREADS, np.int32)
    t, n = cuda.threadIdx.x, dist.shape[1]
    for row in range(cuda.grid(1) >> 5, dist.shape[0] * n, cuda.gridsize(1) >> 5):
        graph = row // n
        i = row - graph * n
        import_row(source[graph], dist[graph], i, absent, no_path, least, greatest, high, low, nan)
        if t & 31 == 0:
            found[0, row], found[1, row], found[2, row] = high[t], low[t], nan[t]


@cached
@cuda.jit
def find_unlike(bits, unlike):
    """Find where a matrix differs from its transpose.

    Block (x, y) compares 32 rows from ``32 * y`` on with columns, as far as the diagonal, one
    square in `PARTS_OF_ROW`. It leaves in ``unlike[y, x]`` whether a number differs. One square is
    read by rows and goes through shared memory, so that the other is read by rows, too.
    """
    square = cuda.shared.array(_SQUARE, bits.dtype)
    t = cuda.threadIdx.x
    y, x = t >> 5, t & 31
    row, found = cuda.blockIdx.y << 5, 0
    for column in range(cuda.blockIdx.x << 5, row + 1, PARTS_OF_ROW << 5):
        for r in range(y, WARP, THREADS // WARP):
            square[r, x] = bits[row + r, column + x]
        cuda.syncthreads()
        for r in range(y, WARP, THREADS // WARP):
            if bits[column + r, row + x] != square[x, r]:
                found = 1
        # The next square may be written from here on; and one difference is enough.
        found = cuda.syncthreads_or(found)
        if found:
            break
    if t == 0:
        unlike[cuda.blockIdx.y, cuda.blockIdx.x] = found


@cached
@cuda.jit
def find_longest(dist, n, no_path, found):
    """Find in each row the longest distance to n vertices, and whether one is not reached.

    A warp takes a row; the former goes to the first row of ``found``, the latter, as 1 or 0, to the
    second.
    """
    lane = cuda.threadIdx.x & 31
    for i in range(cuda.grid(1) >> 5, found.shape[1], cuda.gridsize(1) >> 5):
        # Of 64 bits: no shuffle takes 16.
        longest, misses = 0, 0
        for j in range(lane, n, 32):
            if dist[i, j] < no_path:
                longest = max(longest, dist[i, j])
            else:
                misses = 1
        misses = cuda.any_sync(EVERYBODY, misses)
        step = 16
        while step:
            longest = max(longest, cuda.shfl_down_sync(EVERYBODY, longest, step))
            step >>= 1
        if lane == 0:
            found[0, i], found[1, i] = longest, misses


@cached
@cuda.jit
def export_rows(dist, hops, out, out_hops, no_path, outer):
    """Write the caller's matrices: without what filled up tiles, "no path" as the caller has it."""
    for i in range(cuda.blockIdx.x, out.shape[0], cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, out.shape[1], cuda.blockDim.x):
            known = dist[i, j]
            reached = known < no_path
            out[i, j] = known if reached else outer
            if i < out_hops.shape[0]:
                out_hops[i, j] = hops[i, j] if reached else NO_HOP
