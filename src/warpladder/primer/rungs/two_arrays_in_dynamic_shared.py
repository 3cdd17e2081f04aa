"""Two arrays in one dynamic allocation of shared memory.

Idea: how much shared memory a block has may also be said at the launch, in bytes, so that it can
depend on the data or the GPU. This dynamic memory is one piece without a type. A kernel that needs
two arrays makes two views of it: in Numba every `cuda.shared.array(0, ...)` starts at the same
byte, so the second array is a view's slice behind the first one. Here threads leave n floats in
one, then half as many threads note in the other, of integers, which of each pair is the larger.

Below: the arrays in shared memory so far were static: how many elements they have, and of which
type, was fixed when the kernel was compiled, and each had a place of its own.

Expect: at n = 256, one block of 8 warps, 2 barriers each. The 4 warps that compare read every other
float, 2 t and then 2 t + 1: 32 floats out of 16 banks, two wavefronts for each of 8 requests. The
other loads, 8 of integers and 8 of floats, take one wavefront: threads that read the same word
share it. In all 24 requests, 32 wavefronts, 8 conflicts.

Source: GR dynamic shared memory

Question: Let thread t compare floats t and t + 128 instead of 2 t and 2 t + 1. How many wavefronts
do the 8 requests of the comparison take then?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda, float32, int32

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import LARGER_OF_PAIR
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["RUNG", "larger_of_pair", "run"]

LOWEST = np.float32(-np.inf)

#: One float32 per thread and one int32 for every two of them.
SHARED_BYTES = 4 * THREADS + 4 * (THREADS // 2)


@cuda.jit
def larger_of_pair(values, out, n):
    """Put the larger of each pair of neighbours in both places."""
    pairs = cuda.blockDim.x // 2
    winners = cuda.shared.array(0, int32)[:pairs]
    floats = cuda.shared.array(0, float32)[pairs:]
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    # Threads beyond the data take part in every barrier; what they bring never wins.
    if i < n:
        floats[t] = values[i]
    else:
        floats[t] = LOWEST
    cuda.syncthreads()
    if t < pairs:
        winners[t] = 2 * t + (floats[2 * t] < floats[2 * t + 1])
    cuda.syncthreads()
    if i < n:
        out[i] = floats[winners[t // 2]]


def run(device: Device, problem: Values) -> NDArray[np.float32]:
    """Return the larger of each pair, in both places."""
    n = problem.values.size
    values = device.to_device(problem.values)
    out = device.empty(n, problem.values.dtype)
    grid = blocks_for(n, THREADS)
    launch(device, larger_of_pair, grid, THREADS, values, out, n, shared_bytes=SHARED_BYTES)
    return device.to_host(out)


RUNG = Rung(
    name="two-arrays-in-dynamic-shared",
    title="Integers and floats in one dynamic shared allocation",
    source="GR dynamic shared memory",
    run=run,
    task=LARGER_OF_PAIR,
    bound=Bound("dram", "8 n bytes over the memory bandwidth"),
    kernels=(larger_of_pair,),
    predicts=(
        Prediction("barriers", "==", 16, 256, "8 warps pass 2 barriers"),
        Prediction(
            "shared_load_requests",
            "==",
            24,
            256,
            "4 warps read both of a pair, 8 warps a winner and its float: 8 + 8 + 8",
        ),
        Prediction(
            "shared_load_wavefronts",
            "==",
            32,
            256,
            "8 requests for every other float take 2 wavefronts, 16 take 1",
        ),
        Prediction(
            "shared_bank_conflicts",
            "==",
            8,
            256,
            "a stride of 2 words meets each of 16 banks twice; the stores meet none",
        ),
    ),
)
