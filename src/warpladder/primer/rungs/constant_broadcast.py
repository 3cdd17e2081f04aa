"""Constant memory read by all threads at once: one address, one broadcast.

Idea: let every thread begin at the first threshold. All 32 threads of a warp then read the same
address in every step, and the constant cache hands its value to all of them in one pass. This is
what constant memory is for: coefficients and settings that all threads need at the same time.

Below: with a different address per thread, each request took 32 passes. The kernel is the same but
for the index, and so is the answer.

Expect: 256 requests as before, and 256 wavefronts instead of 8192: one each.

Found: this is what it is for. On an NVIDIA H200 (2026-11-23), with 2**22 samples, it takes 24.1 us
and `constant-per-thread` 1,040 us: even more than 32 times as long.

Source: beyond

Question: How many sectors does a load from global memory take in which all 32 threads of a warp
read the same number?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import LEVELS, QUANTISE, THRESHOLDS
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Samples

__all__ = ["RUNG", "quantise", "run"]


@cuda.jit
def quantise(samples, levels, n):
    """Count the thresholds that one sample reaches, all threads in the same order."""
    thresholds = cuda.const.array_like(THRESHOLDS)
    i = cuda.grid(1)
    if i < n:
        sample = samples[i]
        level = np.int32(0)
        for k in range(LEVELS):
            level = np.int32(level + (thresholds[k] <= sample))
        levels[i] = level


def run(device: Device, problem: Samples) -> NDArray[np.int32]:
    """Return how many thresholds each sample reaches."""
    n = problem.samples.size
    samples = device.to_device(problem.samples)
    levels = device.empty(n, np.int32)
    launch(device, quantise, blocks_for(n, THREADS), THREADS, samples, levels, n)
    return device.to_host(levels)


RUNG = Rung(
    name="constant-broadcast",
    title="Constant memory, one address for all threads",
    source="beyond",
    run=run,
    task=QUANTISE,
    bound=Bound("issue", "32 n comparisons over the rate at which they are issued"),
    kernels=(quantise,),
    predicts=(
        Prediction(
            "constant_wavefronts",
            "==",
            256,
            256,
            "8 warps x 32 thresholds, one address and one wavefront each",
        ),
        Prediction(
            "constant_requests",
            "==",
            1,
            256,
            "the same 32 thresholds are read by each warp",
            than="constant-per-thread",
        ),
        Prediction(
            "constant_wavefronts",
            "==",
            Ratio(1, 32),
            256,
            "one address per request instead of 32",
            than="constant-per-thread",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 22,
            (("constant-broadcast", 0.0241), ("constant-per-thread", 1.04)),
        ),
    ),
)
