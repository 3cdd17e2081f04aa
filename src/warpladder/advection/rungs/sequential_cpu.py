"""Advection on the CPU: one loop over the cells for each step.

Idea: the solution of phi_t + u phi_x = 0 moves with speed u and keeps its shape. On a grid, the new
value of a cell is made of its two neighbours' old ones: `fma(b, right, a * left)`, a product and
then a *fused multiply-add*, which adds a second product to it and rounds once. The weights a = (1 +
c) / 2 and b = (1 - c) / 2 depend on the Courant number c = u dt / dx alone. A cell beyond either
end, a *ghost*, holds what the cell at the end holds; ghosts are set before each step, and the
arrays of old and new values change places after it.

GR writes `0.5 * ((r + l) - c * (r - l))`, five operations. Multiplied out it is two weights, two
operations: `_tasks.py` tells how, and where GR's formula has a slip of sign that its code has not.

Below: nothing; this is the ground.

Expect: two operations and 8 bytes through memory for each cell of each step, 4 read and 4 written.
A compiler takes as many cells to an instruction as its vectors have room for. Where the two arrays
do not fit a cache, memory decides, and every step goes over all of it.

Source: GR linear advection

Question: With a Courant number of 0.8 the weights are 0.9 and 0.1. What are they with 1, and what
does a step do to the cells then?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.device.arithmetic import fma
from warpladder.device.kernel_cache import cached
from warpladder.rung import Bound, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells

__all__ = ["RUNG", "run", "step_all"]


@cached
@njit
def step_all(phi, new, a, b):
    """Take a step with all cells of ``phi``, which has a ghost at either end."""
    n = phi.size - 2
    phi[0], phi[n + 1] = phi[1], phi[n]
    for i in range(1, n + 1):
        new[i] = fma(b, phi[i + 1], a * phi[i - 1])


def run(device: None, problem: Cells) -> NDArray[np.float32]:  # noqa: ARG001 - one signature
    """Return the cells after all steps."""
    phi = np.pad(problem.phi, 1)
    new = np.empty_like(phi)
    for _ in range(problem.steps if problem.phi.size else 0):
        step_all(phi, new, problem.a, problem.b)
        phi, new = new, phi
    return phi[1:-1].copy()


RUNG = Rung(
    name="sequential-cpu",
    title="One loop on one CPU core",
    source="GR linear advection",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("dram", "8 bytes a cell and step through memory that one core reaches"),
    on="cpu",
)
