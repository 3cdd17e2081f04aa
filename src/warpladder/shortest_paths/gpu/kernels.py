"""The kernels around the engine's: weights taken in, first next hops, answers given out."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from warpladder.shortest_paths.dense import NO_HOP

__all__ = ["THREADS", "export_rows", "import_rows", "write_first_hops"]

THREADS = 256
"""In a block of each of these kernels; a block takes whole rows."""


@cuda.jit(cache=True)
def write_first_hops(dist, hops, no_path):
    """Write the next hops before any detour: the target where there is an edge."""
    n = dist.shape[0]
    for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            hops[i, j] = j if dist[i, j] < no_path else NO_HOP


@cuda.jit(cache=True)
def import_rows(source, dist, absent, no_path, least, greatest, largest, smallest, nan_columns):
    """Copy weights into the engine's form, and find in each row what `WeightSummary` is made of."""
    high = cuda.shared.array(THREADS, dist.dtype)
    low = cuda.shared.array(THREADS, dist.dtype)
    nan = cuda.shared.array(THREADS, np.int32)
    n, side, t = source.shape[0], dist.shape[0], cuda.threadIdx.x
    absent_is_nan = math.isnan(absent)
    for i in range(cuda.blockIdx.x, side, cuda.gridDim.x):
        high[t], low[t], nan[t] = least, greatest, -1
        for j in range(t, side, THREADS):
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
        cuda.syncthreads()
        if t == 0:
            for other in range(1, THREADS):
                high[0] = max(high[0], high[other])
                low[0] = min(low[0], low[other])
                nan[0] = max(nan[0], nan[other])
            largest[i], smallest[i], nan_columns[i] = high[0], low[0], nan[0]
        cuda.syncthreads()


@cuda.jit(cache=True)
def export_rows(dist, hops, out, out_hops, no_path, outer):
    """Write the caller's matrices: without what filled up tiles, "no path" as the caller has it."""
    n = out.shape[0]
    for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            known = dist[i, j]
            reached = known < no_path
            out[i, j] = known if reached else outer
            if i < out_hops.shape[0]:
                out_hops[i, j] = hops[i, j] if reached else NO_HOP
