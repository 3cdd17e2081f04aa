"""Neighbours by shuffles: a warp's lanes read each other's registers.

Idea: a warp has 128 cells, in four rows of 32, so that each row is one load. A thread's place in
its warp is its *lane*. The left neighbour of a lane's cell is the cell of the lane before it, and
`shfl_sync` gives each lane what another one offers. Only lane 0's left neighbour is the last cell
of the row above, and that is lane 31's. In this row nobody needs lane 31's cell for a left
neighbour; so lane 31 offers the one of the row above, lane 0 asks lane 31, and one shuffle serves
all. To the right it is the same with lane 0 and the row below. Only what is beside the 128 cells
has to be loaded, the cell before them by lane 31 and the one behind them by lane 0.

Below: every cell went into shared memory, was read from there twice, and a block waited for its
slowest warp in between.

Expect: no shared memory and no barrier. At n = 1,024 eight warps make 4 + 2 load requests a step,
48 where there were 34, and 2 * 4 shuffles, 64 in all. Memory decides as before.

Found: on an NVIDIA H200 (2026-11-22), with 2**26 cells, 200 steps take 42.8 ms, and with
`cells-per-thread` 30.6 ms. There is no barrier, but there are eight times as many single loads for
ends.

Source: beyond

Question: Each single load for an end brings a whole sector for one cell. How many sectors do the
loads of 1,024 cells take in a step, here and in `cells-per-thread`?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.advection.rungs._launching import THREADS, advance
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.device.grids import WARP
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["RUNG", "run", "step_rows"]

EVERYBODY = 0xFFFFFFFF
ROWS = 4
#: A row more on either side.
ROOM = ROWS + 2
LAST = WARP - 1


@cuda.jit
def step_rows(phi, new, a, b, steps):  # noqa: ARG001 - all kernels of `advance` are given steps
    """Take a step with the four rows of a warp."""
    cells = cuda.local.array(ROOM, float32)
    lane, n = cuda.threadIdx.x % WARP, phi.size
    begin = cuda.grid(1) // WARP * (ROWS * WARP)
    for k in range(ROWS):
        cells[k + 1] = phi[min(begin + k * WARP + lane, n - 1)]
    cells[0] = cells[1]
    cells[ROWS + 1] = cells[ROWS]
    if lane == LAST:
        # The row above, as far as lane 0 needs it; and the first cell behind the last row.
        cells[0] = phi[min(max(begin - 1, 0), n - 1)]
    if lane == 0:
        cells[ROWS + 1] = phi[min(begin + ROWS * WARP, n - 1)]
    for k in range(1, ROWS + 1):
        above = cells[k - 1] if lane == LAST else cells[k]
        left = cuda.shfl_sync(EVERYBODY, above, (lane + LAST) % WARP)
        below = cells[k + 1] if lane == 0 else cells[k]
        right = cuda.shfl_sync(EVERYBODY, below, (lane + 1) % WARP)
        i = begin + (k - 1) * WARP + lane
        if i < n:
            new[i] = cuda.fma(b, right, a * left)


def run(device: Device, problem: Cells) -> NDArray[np.float32]:
    """Return the cells after all steps."""
    return advance(device, step_rows, problem, lambda _steps: ROWS * THREADS)


RUNG = Rung(
    name="warp-shuffle",
    title="Neighbours by shuffles, without shared memory",
    source="beyond",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("dram", "8 bytes a cell and step over the memory bandwidth"),
    kernels=(step_rows,),
    predicts=(
        Prediction("shared_load_requests", "==", 0, 1024, "registers and shuffles are enough"),
        Prediction("barriers", "==", 0, 1024, "a warp needs nothing of another"),
        Prediction("shuffles", "==", 24 * 64, 1024, "two for each row of 8 warps"),
        Prediction(
            "global_load_requests",
            "==",
            Ratio(48, 34),
            1024,
            "each warp has a halo of its own",
            than="cells-per-thread",
            tolerance=1e-9,
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-22",
            1 << 26,
            (("warp-shuffle", 42.8), ("cells-per-thread", 30.6)),
        ),
    ),
)
