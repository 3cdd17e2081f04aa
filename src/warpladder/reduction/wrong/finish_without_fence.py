"""The wrong rung of the single launch: a ticket is taken before the sum is seen.

Idea: as in `last-block-finish`, each block leaves its sum and takes a ticket, and the block with
the last ticket adds up the sums. The fence between the two is left out.

Fault: a block's writes may become visible to others in any order. The ticket, an atomic operation,
takes effect in the L2 cache at once; the sum may still be on its way there, and the last block then
adds what lay in that place before. It happens rarely, and with other timing never. In the simulator
every write is visible at once, so the sum comes out right under all of its schedules; the race
check asks for the fence.

Mended by: `last-block-finish`.

Source: beyond

Question: `last-block-finish` has two fences, one before a ticket is drawn and one after. What does
each of them put in order?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import blocks_for
from warpladder.reduction.rungs._launching import STEPS, THREADS, whole_warps
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.warp_shuffle import add_across_block
from warpladder.reduction.rungs.wide_loads import add_groups
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["WRONG", "add_at_once_unfenced", "run"]


@cuda.jit
def add_at_once_unfenced(data, partial, tickets, result, n):
    """Let each block add up its share, and the last one the shares that it happens to see."""
    last = cuda.shared.array(1, int32)
    total = cuda.local.array(1, data.dtype)
    total[0] = 0
    add_groups(total, data, n)
    add_across_block(total)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = total[0]
        last[0] = cuda.atomic.add(tickets, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0]:
        total[0] = 0
        for block in range(cuda.threadIdx.x, cuda.gridDim.x, cuda.blockDim.x):
            total[0] += partial[block]
        add_across_block(total)
        if cuda.threadIdx.x == 0:
            result[0] = total[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return what is taken for the sum."""
    values = problem.values
    full = whole_warps(threads)
    blocks = blocks_for(values.size, STEPS * full)
    if blocks == 0:
        return np.zeros(1, values.dtype)
    partial, result = device.empty(blocks, values.dtype), device.empty(1, values.dtype)
    tickets = device.full(1, 0, np.int32)
    data = device.to_device(values)
    device.launch(add_at_once_unfenced, blocks, full, data, partial, tickets, result, values.size)
    return device.to_host(result)


WRONG = WrongRung(
    rung=Rung(
        name="finish-without-fence",
        title="One launch, without the fence before the ticket",
        source="beyond",
        run=run,
        task=SUM,
        bound=Bound("dram", "4 n bytes over the memory bandwidth"),
        kernels=(add_at_once_unfenced,),
    ),
    caught_by="racecheck",
    n=8192,
)
