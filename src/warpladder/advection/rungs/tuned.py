"""The top: strips of 128 cells, two directions, as many steps as pay; what the library runs.

Idea: with the tile of 32 lanes as large as registers allow, 128 cells to a lane, less of it is
lost, and shuffles are for more cells. A step goes up through the strip and writes each new cell one
place further left, where its left neighbour was, which nobody needs any more; the next goes down
and moves all back (`gpu_tiles/sweeps.py`). Stencils of more points, which read a cell again after
it would have been replaced, need no moves between registers that way either. How long strips are
and how many steps a launch takes is chosen for the number of cells by a small model
(`gpu_tiles/plan.py`): few cells make few warps, so strips are short. Fewer than the smallest tile
has go to one block, in shared memory.

**Two registers a clock.** A multiprocessor reads two registers a clock for each lane, and a fused
multiply-add wants three. With its weights in registers a step of two operations reads five, and no
more than 80 % of it can be issued. The weights are the same for all, so they are given with the
launch: then they are read from another place, and a step reads three registers.

**The way in and out.** It has to be short, too: an index of 64 bits worked out for each cell takes
more instructions than the cell's step. Rows of a tile whose places in shared memory are a constant
apart are loads and stores with the constant in them, and nothing else (`gpu_tiles/strips.py`).

The library's call runs the same kernels, for any stencil of up to five points, schemes with a
limiter, float64, other ends, and many systems at a time.

Below: strips of 32 cells and 64 steps a launch for any number of cells, a loop of one step, of
whose 75 instructions 11 do not compute, and long ways in and out.

Expect: the loop of two steps is 2 * 128 products and as many fused multiply-adds, with 4 shuffles
and what selects at the ends: 528 instructions, 512 of which compute. Of 2**26 cells and 1,000 steps
a launch takes 167: of a tile of 4,096 cells 334 are lost, a twelfth. So at most 0.97 * 0.92 of what
registers alone would allow. Registers for 4,096 cells of a warp leave room for 12 warps on a
multiprocessor, enough where each has 128 cells that do not wait for each other. On the simulator's
GPU, 1,952 cells and 24 steps are strips of 8: 256 cells to a tile, of which 208 are kept, so 10
tiles, each loaded by 8 requests.

Found: on an NVIDIA H200 (2026-11-22), with 2**26 cells, 200 steps take 1.06 ms, and with
`register-strips` 2.35 ms.

Source: beyond

Question: Strips have grown from 32 cells to 128, and more of each tile is kept. Why not go on to
256 cells for a lane?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpladder.advection.gpu_tiles.passes import Ends, Run, passes
from warpladder.advection.gpu_tiles.plan import Shape, shape_for
from warpladder.advection.gpu_tiles.strips import strips_kernel
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["FORM", "RUNG", "run"]

#: Two neighbours, one on either side, and no limiter.
FORM = ((-1, 1), None)


def run(device: Device, problem: Cells, shape: Shape | None = None) -> NDArray[np.float32]:
    """Return the cells after all steps; the shape is chosen where none is given."""
    n, steps = problem.phi.size, problem.steps
    if n == 0:
        return problem.phi.copy()
    phi = device.to_device(problem.phi[None])
    weights = problem.a, problem.b
    if shape is None:
        shape = shape_for(FORM, 4, n, 1, max(steps, 1), device.properties, ring=False)
    for target, _ in passes(Run(device, FORM, weights, Ends()), shape, phi, steps, owned=True):
        phi = target
    found: NDArray[np.float32] = device.to_host(phi)[0]
    return found


RUNG = Rung(
    name="tuned",
    title="Strips as long and launches as deep as pay, and no moves between registers",
    source="beyond",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("issue", "two operations a cell and step at 128 a multiprocessor and clock"),
    kernels=(strips_kernel(FORM, "float32", 8, (False, False), ring=False, alike=True),),
    predicts=(
        Prediction("global_load_requests", "==", 10 * 8, 1952, "8 rows of each tile"),
        Prediction("shuffles", "==", 10 * 48, 1952, "two for each step of 10 warps"),
        Prediction("shared_bank_conflicts", "==", 0, 1952, "four strips and a free word"),
        Prediction("launches", "==", 1, 1952, "24 steps are fewer than a launch may take"),
    ),
    found=(
        Found("NVIDIA H200", "2026-11-22", 1 << 26, (("tuned", 1.06), ("register-strips", 2.35))),
    ),
)
