"""Two stages: the GPU leaves a number for each block, the host adds them up.

Idea: one launch. Each block adds up its elements as in `sequential-shared`; the sums of the blocks
are copied to the host, and a loop there does the rest.

Below: another launch for the sums of the blocks, at times two.

The source's blocks write their sums over the array itself, element by element from its front, where
other blocks may not have read yet. Here they have an array of their own; the source's form is the
wrong rung `sums-in-place`.

Expect: one launch for any n. At n = 8192 it leaves 32 numbers to copy, not one; with a block for
every 256 elements that is 4 n / 256 bytes over the bus and n / 256 additions on one core. For a
large array that costs more than the launch it saves. It pays behind a kernel that leaves few
numbers, as `warp-shuffle` does.

Found: the launch that it saves is worth little. On an NVIDIA H200 (2026-11-23), the kernel takes
9.28 us for 2**20 numbers, those of `warp-shuffle` 9.82 us. For 2**10, where neither launches twice,
it is 3.87 us and 4.10 us, and for 2**28, with a block for every 256 of them, 1,260 us and 249 us.

Source: GR reduction

Question: How many bytes go back over the bus for 65,536 numbers, and what part of the array is
that?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.grids import blocks_for
from warpladder.reduction.rungs._launching import THREADS, check_threads
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.sequential_shared import add_halves
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "run"]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    values = problem.values
    blocks = blocks_for(values.size, check_threads(threads))
    if blocks == 0:
        return np.zeros(1, values.dtype)
    partial = device.empty(blocks, values.dtype)
    device.launch(
        add_halves,
        blocks,
        threads,
        device.to_device(values),
        partial,
        values.size,
        shared_bytes=threads * values.dtype.itemsize,
    )
    return np.array([device.to_host(partial).sum(dtype=values.dtype)])


RUNG = Rung(
    name="host-finish",
    title="Two stages: the host adds up what the blocks leave",
    source="GR reduction",
    run=run,
    task=SUM,
    bound=Bound("latency", "one launch, then n / 256 numbers over the bus and added by one core"),
    kernels=(add_halves,),
    predicts=(
        Prediction(
            "launches",
            "==",
            Ratio(1, 2),
            8192,
            "the second pass is the host's",
            than="sequential-shared",
        ),
        Prediction(
            "barriers",
            "==",
            Ratio(32, 33),
            8192,
            "and its block is not needed",
            than="sequential-shared",
            tolerance=1e-9,
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 20,
            (("host-finish", 0.00928), ("warp-shuffle", 0.00982)),
        ),
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 10,
            (("host-finish", 0.00387), ("warp-shuffle", 0.0041)),
        ),
        Found(
            "NVIDIA H200", "2026-11-23", 1 << 28, (("host-finish", 1.26), ("warp-shuffle", 0.249))
        ),
    ),
)
