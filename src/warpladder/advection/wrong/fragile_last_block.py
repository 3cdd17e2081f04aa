"""The wrong rung of the tile: GR's FD_kernel2 as it is printed.

Idea: as in `tile-with-halo`, thread 0 loads the left halo and thread 255 the right one. Where the
block is the last, thread 255 stores the last ghost not behind itself but behind the last cell, at
`(n + 2) % BLOCKSIZE`, with GR's n one less than there are cells.

Fault: the place behind the last cell is `n % BLOCKSIZE + 2`. That is the same for most sizes, and
another one for two of 256. If the last block is full, thread 255 stores over the first cell of the
tile, which thread 0 has loaded: a data race; and the place behind the last cell holds nothing. If
it lacks one cell, thread 255 stores over the left halo, likewise. A test with 1,000 cells passes,
and one with a million; with 1,024 or 1,023 the ends are wrong.

Mended by: `tile-with-halo`.

Source: GR FD_kernel2

Question: Work out GR's place for the last ghost and the right one for 1,000 and for 1,024 cells.
Where do they differ, and what stands at the place that is overwritten?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.advection.rungs._launching import THREADS, advance_between_ghosts
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["WRONG", "run", "step_fragile_tile"]

#: A block's cells and their halo.
ROOM = THREADS + 2


@cuda.jit
def step_fragile_tile(phi, new, a, b, cells):
    """Take a step with the cells of a block, right for most sizes."""
    tile = cuda.shared.array(ROOM, float32)
    n = cells - 1
    t = cuda.threadIdx.x
    i = cuda.grid(1) + 1
    if i < n + 2:
        tile[t + 1] = phi[i]
    if t == 0:
        tile[0] = phi[i - 1]
    if t == THREADS - 1:
        if i >= n + 1:
            tile[(n + 2) % THREADS] = phi[n + 2]
        else:
            tile[THREADS + 1] = phi[i + 1]
    cuda.syncthreads()
    if i < n + 2:
        value = cuda.fma(b, tile[t + 2], a * tile[t])
        new[i] = value
        if i == 1:
            new[0] = value
        if i == n + 1:
            new[n + 2] = value


def run(device: Device, problem: Cells) -> NDArray[np.float32]:
    """Return the cells after all steps, right for most sizes."""
    return advance_between_ghosts(device, step_fragile_tile, problem)


WRONG = WrongRung(
    rung=Rung(
        name="fragile-last-block",
        title="The last block's halo at a place that is right for most sizes",
        source="GR FD_kernel2",
        run=run,
        task=LAX_FRIEDRICHS,
        bound=Bound("dram", "8 bytes a cell and step over the memory bandwidth"),
        kernels=(step_fragile_tile,),
    ),
    caught_by="racecheck",
    n=256,
    visible_under=("lockstep", "warps", "warps-reverse", "warps-random"),
)
