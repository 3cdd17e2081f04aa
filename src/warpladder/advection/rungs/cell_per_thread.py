"""A thread for each cell, a launch for each step.

Idea: all cells of a step can be computed at a time, so each has a thread. It reads its two
neighbours, computes and stores. The thread of the first cell and that of the last also set the
ghost beside it, for the next step. The next step needs all of this one: the end of a launch is the
barrier that a grid has for free.

GR writes five operations, `0.5 * ((r + l) - c * (r - l))`; here and in all rungs above it is the
product and the fused multiply-add that follow from it, so that every rung gives the same bits.

Below: one core, one cell after the other, or as many as its vectors hold.

Expect: two loads and one store for each cell and step. At n = 1,024 and 24 steps 32 warps make
2 * 32 * 24 load requests. A warp's left neighbours begin with a ghost's place and fill 4 sectors,
its right ones lie two further and touch 5. The second load finds in the cache what the first one
brought, so that memory sees 4 bytes read and 4 written, as on the CPU. Two operations for these 8
bytes: memory decides.

Source: GR FD_kernel1

Question: A warp's two loads take 4 and 5 sectors. How many different sectors are these 9, and who
brings the others?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.advection.rungs._launching import advance_between_ghosts
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["RUNG", "run", "step_cell"]


@cuda.jit
def step_cell(phi, new, a, b, n):
    """Take a step with one cell."""
    i = cuda.grid(1) + 1
    if i <= n:
        value = cuda.fma(b, phi[i + 1], a * phi[i - 1])
        new[i] = value
        if i == 1:
            new[0] = value
        if i == n:
            new[n + 1] = value


def run(device: Device, problem: Cells) -> NDArray[np.float32]:
    """Return the cells after all steps."""
    return advance_between_ghosts(device, step_cell, problem)


RUNG = Rung(
    name="cell-per-thread",
    title="A thread for each cell, a launch for each step",
    source="GR FD_kernel1",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("dram", "8 bytes a cell and step over the memory bandwidth"),
    kernels=(step_cell,),
    predicts=(
        Prediction("launches", "==", 24, 1024, "one for each step"),
        Prediction("global_load_requests", "==", 1536, 1024, "two for each of 32 warps and step"),
        Prediction(
            "global_load_sectors", "==", 24 * 32 * 9, 1024, "4 of the left neighbours, 5 of right"
        ),
        Prediction(
            "global_store_requests", "==", 24 * 34, 1024, "one for each warp, and two for ghosts"
        ),
    ),
)
