"""The wrong rung of many steps on a tile: its halo is a cell too thin.

Idea: as in `steps-per-tile`, a block takes T steps with a tile and keeps those that its halos
leave right. Whoever wrote this thought that the first step needs no halo, for its neighbours are
just loaded: T - 1 cells at either end, and two cells more kept.

Fault: the outermost cell that is kept needs T cells beyond it. One of them is not in the tile, and
the place before it, or behind it, is read in its stead: nobody has written it. It holds what the
last block left there, a halo of other cells, or of an earlier time. The weight with which it comes
into the result is that of the farthest neighbour, a**T or b**T, so that a test with a tolerance may
well pass, and one with fewer cells than a tile does.

Mended by: `steps-per-tile`.

Source: beyond

Question: With a = 0.9, b = 0.1 and 24 steps, what is the weight of the value that should have come
from beyond the left end of a tile, and what that from beyond the right end? Which of the two
mistakes would a test notice?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.advection.rungs._launching import advance
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.advection.rungs.steps_per_tile import DEPTH
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["TILE", "WRONG", "run", "step_thin_tiles"]

#: Few, so that it shows with few cells.
THREADS, TILE = 64, 256
#: Two tiles, and a place beyond either end.
ROOM = (2, TILE + 2)


@cuda.jit
def step_thin_tiles(phi, new, a, b, steps):
    """Take so many steps with the tile of a block, with a halo for one less."""
    tile = cuda.shared.array(ROOM, float32)
    t, n = cuda.threadIdx.x, phi.size
    halo = steps - 1
    begin = cuda.blockIdx.x * (TILE - 2 * halo) - halo
    low, high = max(-begin, 0), min(n - begin, TILE) - 1
    for j in range(t, TILE, THREADS):
        if low <= j <= high:
            tile[0, j + 1] = phi[begin + j]
    cuda.syncthreads()
    for step in range(steps):
        now = step & 1
        for j in range(t, TILE, THREADS):
            if low <= j <= high:
                # At the ends of all cells there are ghosts, at those of the tile there are not.
                left = j if begin + j == 0 else j - 1
                right = j if begin + j == n - 1 else j + 1
                tile[1 - now, j + 1] = cuda.fma(b, tile[now, right + 1], a * tile[now, left + 1])
        cuda.syncthreads()
    for j in range(t, TILE, THREADS):
        if halo <= j < TILE - halo and j <= high:
            new[begin + j] = tile[steps & 1, j + 1]


def run(device: Device, problem: Cells, depth: int = DEPTH) -> NDArray[np.float32]:
    """Return the cells after all steps, wrong at the seams between tiles."""
    return advance(
        device, step_thin_tiles, problem, lambda steps: TILE - 2 * steps + 2, depth, THREADS
    )


WRONG = WrongRung(
    rung=Rung(
        name="stale-halo",
        title="A halo of one cell less than the steps need",
        source="beyond",
        run=run,
        task=LAX_FRIEDRICHS,
        bound=Bound("shared", "three words of shared memory a cell and step, 32 a clock"),
        kernels=(step_thin_tiles,),
    ),
    caught_by="initcheck",
    n=220,
    visible_under=("lockstep", "warps", "warps-reverse", "warps-random"),
)
