"""Many steps on a tile: memory is visited once for all of them.

Idea: a block loads 1,024 cells into shared memory and takes many steps there before it stores
anything. What it computes goes wrong from the ends of its tile inwards, by one cell a step, since
nobody tells it what the neighbouring tiles do meanwhile. So tiles overlap: of T steps, T cells at
either end are computed for nothing, and are right in the neighbour's tile. This is called temporal
blocking with overlapped halos.

Where a tile holds an end of all cells, nothing goes wrong there: the cell beyond the end is the
cell at the end, in each of the steps. `low` and `high` are the first and the last place of the tile
that has a cell; no neighbour is read beyond them.

New cells go to a second buffer, from which the next step reads: one barrier for each step.

Below: one step between two visits to memory, 8 bytes for two operations.

Expect: 8 bytes for 2 T operations: traffic is divided by T, and so is the number of launches; the
price is 2 T of 1,024 cells computed twice. With n = 1,952 and 24 steps two tiles keep 976 cells
each. Of 2 * 1,024 places 48 lie beyond the ends, so 2,000 cells are loaded, once, and 1,952 stored.
Each step stores both tiles whole, 2 * 32 requests, as loading does: 25 times.

Memory limits no longer. Now it is shared memory: two loads and a store for each cell and step, 32
words a clock for a multiprocessor, where it could do 128 operations. And T must not be too large:
of 1,024 cells with T = 32 a sixteenth is lost.

Source: beyond

Question: At which T is nothing left of a tile of 1,024 cells, and at which is as much lost as is
kept?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.advection.rungs._launching import THREADS, advance
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["DEPTH", "RUNG", "TILE", "run", "step_tiles"]

EACH = 4
TILE = EACH * THREADS
DEPTH = 32


@cuda.jit
def step_tiles(phi, new, a, b, steps):
    """Take so many steps with the tile of a block."""
    tile = cuda.shared.array((2, TILE), float32)
    t, n = cuda.threadIdx.x, phi.size
    begin = cuda.blockIdx.x * (TILE - 2 * steps) - steps
    low, high = max(-begin, 0), min(n - begin, TILE) - 1
    for k in range(EACH):
        j = k * THREADS + t
        if low <= j <= high:
            tile[0, j] = phi[begin + j]
    cuda.syncthreads()
    for step in range(steps):
        now = step & 1
        for k in range(EACH):
            j = k * THREADS + t
            if low <= j <= high:
                left, right = tile[now, max(j - 1, low)], tile[now, min(j + 1, high)]
                tile[1 - now, j] = cuda.fma(b, right, a * left)
        cuda.syncthreads()
    for k in range(EACH):
        j = k * THREADS + t
        if steps <= j < TILE - steps and j <= high:
            new[begin + j] = tile[steps & 1, j]


def run(device: Device, problem: Cells, depth: int = DEPTH) -> NDArray[np.float32]:
    """Return the cells after all steps, so many to a launch."""
    return advance(device, step_tiles, problem, lambda steps: TILE - 2 * steps, depth)


RUNG = Rung(
    name="steps-per-tile",
    title="Many steps on a tile in shared memory, with overlapping halos",
    source="beyond",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("shared", "three words of shared memory a cell and step, 32 a clock"),
    kernels=(step_tiles,),
    predicts=(
        Prediction(
            "launches", "==", Ratio(1, 24), 1952, "24 steps to a launch", than="warp-shuffle"
        ),
        Prediction("global_load_bytes", "==", 4 * 2000, 1952, "two tiles and their halos, once"),
        Prediction("global_store_bytes", "==", 4 * 1952, 1952, "each cell once for all 24 steps"),
        Prediction("shared_store_requests", "==", 25 * 64, 1952, "both tiles whole, halos and all"),
        Prediction("barriers", "==", 25 * 16, 1952, "one for each step of two blocks of 8 warps"),
    ),
)
