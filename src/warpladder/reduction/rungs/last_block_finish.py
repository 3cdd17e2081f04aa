"""One launch: the block that finishes last adds up what all have left.

Idea: blocks cannot wait for one another, unless all of them are on the GPU at a time: one may have
to end before another can begin. But they can count. Each block leaves its sum in memory, then takes
a ticket from a counter by an atomic addition. The one that draws the last ticket knows that all the
others have left theirs, and adds them up. No block waits.

Below: a second launch, or a copy and the host, for a few hundred numbers.

What makes it sound: the thread that leaves the sum executes a fence before it takes its ticket,
so that whoever sees the ticket sees the sum (without it: the wrong rung `finish-without-fence`).
It executes another one after the ticket, and the block's barrier passes on to all threads what
that made visible.

Expect: one launch for any n, and one result. At n = 8192, 4 blocks of 256 threads draw 4 tickets,
one launch where `warp-shuffle` takes 2. Every block meets twice, over its sum and over whether it
is the last, and the last one once more: 8 warps, 4 * 2 + 1 barriers.

Found: it pays in the middle. On an NVIDIA H200 (2026-11-23) it takes 8.32 us for 2**20 numbers,
where `warp-shuffle` takes 9.82 us and `host-finish` 9.28 us. One block is done sooner without a
ticket: for 2**10 numbers 5.82 us against 4.10 us and 3.87 us. For 2**28 the second launch hardly
shows: 251 us against 249 us of `warp-shuffle`.

Source: beyond

Question: The last block sets the counter back to zero by a plain store. Why is that enough, where
tickets have to be drawn by an atomic addition?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import blocks_for
from warpladder.reduction.rungs._launching import STEPS, THREADS, resident_blocks, whole_warps
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.warp_shuffle import add_across_block
from warpladder.reduction.rungs.wide_loads import add_groups
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "add_at_once", "leave_and_count", "run"]


@cuda.jit(device=True)
def leave_and_count(mine, partial, tickets):
    """Leave this block's number in ``partial``; return whether all blocks have left theirs."""
    last = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = mine
        cuda.threadfence()
        last[0] = cuda.atomic.add(tickets, 0, 1) == cuda.gridDim.x - 1
        cuda.threadfence()
        if last[0]:
            # Ready for the next launch.
            tickets[0] = 0
    cuda.syncthreads()
    return last[0]


@cuda.jit
def add_at_once(data, partial, tickets, result, n):
    """Let each block add up its share, and the last one all shares."""
    total = cuda.local.array(1, data.dtype)
    total[0] = 0
    add_groups(total, data, n)
    add_across_block(total)
    if leave_and_count(total[0], partial, tickets):
        total[0] = 0
        for block in range(cuda.threadIdx.x, cuda.gridDim.x, cuda.blockDim.x):
            total[0] += partial[block]
        add_across_block(total)
        if cuda.threadIdx.x == 0:
            result[0] = total[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    values = problem.values
    full = whole_warps(threads)
    blocks = min(blocks_for(values.size, STEPS * full), resident_blocks(device, full))
    if blocks == 0:
        return np.zeros(1, values.dtype)
    partial, result = device.empty(blocks, values.dtype), device.empty(1, values.dtype)
    tickets = device.full(1, 0, np.int32)
    data = device.to_device(values)
    device.launch(add_at_once, blocks, full, data, partial, tickets, result, values.size)
    return device.to_host(result)


RUNG = Rung(
    name="last-block-finish",
    title="One launch: the last block adds up what all have left",
    source="beyond",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    kernels=(add_at_once,),
    predicts=(
        Prediction(
            "launches",
            "==",
            Ratio(1, 2),
            8192,
            "the last block does the second pass",
            than="warp-shuffle",
        ),
        Prediction("atomic_requests", "==", 4, 8192, "a ticket for each of 4 blocks"),
        Prediction(
            "barriers", "==", 8 * (4 * 2 + 1), 8192, "8 warps, twice and the last once more"
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 20,
            (("last-block-finish", 0.00832), ("warp-shuffle", 0.00982), ("host-finish", 0.00928)),
        ),
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 10,
            (("last-block-finish", 0.00582), ("warp-shuffle", 0.0041), ("host-finish", 0.00387)),
        ),
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 28,
            (("last-block-finish", 0.251), ("warp-shuffle", 0.249)),
        ),
    ),
)
