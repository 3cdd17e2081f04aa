"""Four cells for each thread: tiles of 1,024, fewer halos, fewer blocks, no ghosts in memory.

Idea: a thread takes four cells of the tile, 256 apart, so that a warp still reads and writes
neighbours. All four loads are on their way before the barrier asks for the first. And the ghosts
go: what lies beyond an end is the cell at the end, so the halo's place is cut off at the ends,
`max(i, 0)` and `min(i, n - 1)`, and the arrays hold cells and nothing else.

Below: a block had 256 cells, its barrier and its halo were for as many, and a thread waited for one
load.

Expect: two single loads for 1,024 cells, not eight: 34 requests a tile where there were 40. Eight
warps at a barrier, not 32. The cells lie at addresses that are multiples of a warp's line again, 4
sectors to a request and not 5, as no ghost comes before them. Memory is read and written as before,
and a GPU with enough threads in flight is as fast.

Found: on an NVIDIA H200 (2026-11-22), with 2**26 cells, 200 steps take 30.6 ms, and with
`tile-with-halo` 54.8 ms: fewer requests and warps that wait do pay. With few cells a step is as
short as a launch, and they are alike.

Source: beyond

Question: At n = 1025 a second tile starts for one cell. How many load requests does it make in a
step, beside the 34 of the full one? Try `warpladder explain advection/cells-per-thread --n 1025`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.advection.rungs._launching import THREADS, advance
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["RUNG", "TILE", "run", "step_four"]

EACH = 4
TILE = EACH * THREADS
#: The tile and its halo.
ROOM = TILE + 2


@cuda.jit
def step_four(phi, new, a, b, steps):  # noqa: ARG001 - all kernels of `advance` are given steps
    """Take a step with four cells of each thread."""
    tile = cuda.shared.array(ROOM, float32)
    t, n = cuda.threadIdx.x, phi.size
    begin = cuda.blockIdx.x * TILE
    for k in range(EACH):
        i = begin + k * THREADS + t
        if i < n:
            tile[k * THREADS + t + 1] = phi[i]
    if t == 0:
        tile[0] = phi[max(begin - 1, 0)]
        end = min(begin + TILE, n)
        tile[end - begin + 1] = phi[min(end, n - 1)]
    cuda.syncthreads()
    for k in range(EACH):
        j = k * THREADS + t
        if begin + j < n:
            new[begin + j] = cuda.fma(b, tile[j + 2], a * tile[j])


def run(device: Device, problem: Cells) -> NDArray[np.float32]:
    """Return the cells after all steps."""
    return advance(device, step_four, problem, lambda _steps: TILE)


RUNG = Rung(
    name="cells-per-thread",
    title="Four cells for each thread, and no ghosts in memory",
    source="beyond",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("dram", "8 bytes a cell and step over the memory bandwidth"),
    kernels=(step_four,),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(34, 40),
            1024,
            "one halo for 1,024 cells, not four",
            than="tile-with-halo",
            tolerance=1e-9,
        ),
        Prediction(
            "barriers",
            "==",
            Ratio(1, 4),
            1024,
            "8 warps for 1,024 cells, not 32",
            than="tile-with-halo",
        ),
        Prediction(
            "global_store_sectors", "==", 24 * 128, 1024, "the cells begin at a multiple of a line"
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-22",
            1 << 26,
            (("cells-per-thread", 30.6), ("tile-with-halo", 54.8)),
        ),
    ),
)
