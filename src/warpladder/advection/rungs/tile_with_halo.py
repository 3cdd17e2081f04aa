"""A tile in shared memory: each cell is loaded once by the block that needs it.

Idea: the threads of a block load their own cells into shared memory, side by side, and the cell
before the first and the one behind the last with them, the halo. After a barrier everybody finds
both neighbours there.

GR lets thread 0 load the left halo, and thread 255 the right one. In the last block thread 255 may
have no cell; GR then has it store the last ghost at `(n + 2) % BLOCKSIZE`. That is the right place
for most sizes, and a wrong one where the last block is full or lacks one cell: the wrong rung
`fragile-last-block` has it as it was. Here the thread of the block's last cell loads what lies
behind it, whichever thread that is.

Below: each cell was loaded twice, by the threads on both sides of it.

Expect: of every 256 cells 258 are loaded, where it was 512: the bytes that warps ask for go down to
258/512. A request for a halo is one for a single thread, though: 8 + 2 for each block where there
were 16. What was saved, the cache gave nearly for free before: memory sees the same 8 bytes a cell
and step, and a barrier and two ways through shared memory come on top. There is nothing to gain
here yet. The tile pays once a step is not the only one (`steps-per-tile`).

Found: on an NVIDIA H200 (2026-11-22), with 2**26 cells, 200 steps take 54.8 ms, and with
`cell-per-thread` 43.9 ms: the barrier and the ways through shared memory cost more than they save.

Source: GR FD_kernel2

Question: At n = 1000 the last block has 232 cells. Which of its threads loads the cell behind them,
and does this block make fewer load requests than a full one?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.advection.rungs._launching import THREADS, advance_between_ghosts
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["RUNG", "run", "step_tile"]

#: A block's cells and their halo.
ROOM = THREADS + 2


@cuda.jit
def step_tile(phi, new, a, b, n):
    """Take a step with the cells of a block."""
    tile = cuda.shared.array(ROOM, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1) + 1
    if i <= n:
        tile[t + 1] = phi[i]
        if t == 0:
            tile[0] = phi[i - 1]
        if t == THREADS - 1 or i == n:
            tile[t + 2] = phi[i + 1]
    cuda.syncthreads()
    if i <= n:
        value = cuda.fma(b, tile[t + 2], a * tile[t])
        new[i] = value
        if i == 1:
            new[0] = value
        if i == n:
            new[n + 1] = value


def run(device: Device, problem: Cells) -> NDArray[np.float32]:
    """Return the cells after all steps."""
    return advance_between_ghosts(device, step_tile, problem)


RUNG = Rung(
    name="tile-with-halo",
    title="Each block's cells and their halo in shared memory",
    source="GR FD_kernel2",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("dram", "8 bytes a cell and step over the memory bandwidth"),
    kernels=(step_tile,),
    predicts=(
        Prediction(
            "global_load_bytes",
            "==",
            Ratio(258, 512),
            1024,
            "256 cells and two of the halo, where each was loaded twice",
            than="cell-per-thread",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_requests",
            "==",
            Ratio(10, 16),
            1024,
            "8 warps for their cells, two single threads for the halo",
            than="cell-per-thread",
            tolerance=1e-9,
        ),
        Prediction("barriers", "==", 24 * 32, 1024, "one for each warp and step"),
        Prediction("shared_bank_conflicts", "==", 0, 1024, "neighbours lie in different banks"),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-22",
            1 << 26,
            (("tile-with-halo", 54.8), ("cell-per-thread", 43.9)),
        ),
    ),
)
