"""Constant memory with an index per thread: a warp is served one address at a time.

Idea: a small table that no kernel changes may lie in constant memory, which has a cache of its own.
Here each thread compares its sample with 32 thresholds. To spread the reads, each thread begins at
another threshold, as one would do against bank conflicts in shared memory.

Below: shared memory has 32 banks and serves a warp that reads 32 words of different banks in one
pass.

Expect: the constant cache hands out one address at a time. Every read of a warp names 32 different
ones, which are served one after the other. At n = 256, 8 warps make 32 requests each, 256 in all;
each takes 32 wavefronts, 8192 in all. What helps in shared memory is the worst order here.

Source: beyond

Question: Let even threads begin at the first threshold and odd ones at the second. How many
wavefronts do the 256 requests take then?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import LEVELS, QUANTISE, THRESHOLDS
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Samples

__all__ = ["RUNG", "quantise", "run"]


@cuda.jit
def quantise(samples, levels, n):
    """Count the thresholds that one sample reaches, each thread from another one on."""
    thresholds = cuda.const.array_like(THRESHOLDS)
    i = cuda.grid(1)
    if i < n:
        sample = samples[i]
        level = np.int32(0)
        for k in range(LEVELS):
            level = np.int32(level + (thresholds[(i + k) % LEVELS] <= sample))
        levels[i] = level


def run(device: Device, problem: Samples) -> NDArray[np.int32]:
    """Return how many thresholds each sample reaches."""
    n = problem.samples.size
    samples = device.to_device(problem.samples)
    levels = device.empty(n, np.int32)
    launch(device, quantise, blocks_for(n, THREADS), THREADS, samples, levels, n)
    return device.to_host(levels)


RUNG = Rung(
    name="constant-per-thread",
    title="Constant memory, another address for each thread",
    source="beyond",
    run=run,
    task=QUANTISE,
    bound=Bound("issue", "32 n reads, one per clock and multiprocessor"),
    kernels=(quantise,),
    predicts=(
        Prediction("constant_requests", "==", 256, 256, "8 warps x 32 thresholds"),
        Prediction(
            "constant_wavefronts",
            "==",
            8192,
            256,
            "each request of a warp names 32 addresses: 256 x 32",
        ),
    ),
)
