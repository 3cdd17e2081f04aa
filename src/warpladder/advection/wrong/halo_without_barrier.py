"""The wrong rung of the tile: cells are read from it before all are there.

Idea: as in `tile-with-halo`, a block loads its cells and their halo and reads neighbours from
shared memory. The barrier in between is left out.

Fault: a warp's own cells are mostly there, for its threads load them together, though CUDA does not
promise that. The cell before its first and the one behind its last are loaded by other warps, which
may not have come that far. Of 256 cells 14 are at stake, at the seams between warps. In lockstep
all is well, and for up to 32 cells there is no other warp to wait for; the race check reports these
cases, too.

Mended by: `tile-with-halo`.

Source: GR FD_kernel2

Question: Of a full block's 256 cells 14 are at stake. How many of 97 are, and why are none at the
ends of a block?
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

__all__ = ["WRONG", "run", "step_tile_in_a_hurry"]

#: A block's cells and their halo.
ROOM = THREADS + 2


@cuda.jit
def step_tile_in_a_hurry(phi, new, a, b, n):
    """Take a step with the cells of a block, without waiting for them."""
    tile = cuda.shared.array(ROOM, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1) + 1
    if i <= n:
        tile[t + 1] = phi[i]
        if t == 0:
            tile[0] = phi[i - 1]
        if t == THREADS - 1 or i == n:
            tile[t + 2] = phi[i + 1]
        value = cuda.fma(b, tile[t + 2], a * tile[t])
        new[i] = value
        if i == 1:
            new[0] = value
        if i == n:
            new[n + 1] = value


def run(device: Device, problem: Cells) -> NDArray[np.float32]:
    """Return the cells after all steps, where all warps keep pace."""
    return advance_between_ghosts(device, step_tile_in_a_hurry, problem)


WRONG = WrongRung(
    rung=Rung(
        name="halo-without-barrier",
        title="A tile read without the barrier behind its loads",
        source="GR FD_kernel2",
        run=run,
        task=LAX_FRIEDRICHS,
        bound=Bound("dram", "8 bytes a cell and step over the memory bandwidth"),
        kernels=(step_tile_in_a_hurry,),
    ),
    caught_by="racecheck",
    n=97,
    visible_under=("warps", "warps-reverse", "warps-random"),
)
