"""How the host code of the ladder's rungs lays out cells and repeats launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.grids import blocks_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["THREADS", "advance", "advance_between_ghosts"]

#: Threads in a block, GR's number.
THREADS = 256


def advance_between_ghosts(device: Device, kernel: Any, problem: Cells) -> NDArray[np.float32]:
    """Return the cells after all steps, a launch each, ghosts in memory.

    ``kernel(phi, new, a, b, n)`` takes a step: ``phi`` has a ghost, the n cells and another ghost,
    and so will ``new``. A block has `THREADS` threads, one for each cell.
    """
    n = problem.phi.size
    if n == 0:
        return problem.phi.copy()
    phi = device.to_device(np.pad(problem.phi, 1, mode="edge"))
    new = device.empty(n + 2, np.float32)
    for _ in range(problem.steps):
        device.launch(kernel, blocks_for(n, THREADS), THREADS, phi, new, problem.a, problem.b, n)
        phi, new = new, phi
    return np.ascontiguousarray(device.to_host(phi)[1:-1])


def advance(
    device: Device,
    kernel: Any,
    problem: Cells,
    kept: Callable[[int], int],
    depth: int = 1,
    threads: int = THREADS,
) -> NDArray[np.float32]:
    """Return the cells after all steps, so many to a launch; there are no ghosts in memory.

    Parameters
    ----------
    device, kernel
        Where, and what is launched: ``kernel(phi, new, a, b, steps)`` takes so many steps.
    problem
        The cells.
    kept
        How many cells of a launch of so many steps a block brings to an end.
    depth
        Steps of a launch; the last one takes what is left.
    threads
        In a block.
    """
    n = problem.phi.size
    if n == 0:
        return problem.phi.copy()
    phi, new = device.to_device(problem.phi), device.empty(n, np.float32)
    left = problem.steps
    while left:
        steps = min(depth, left)
        blocks = blocks_for(n, kept(steps))
        device.launch(kernel, blocks, threads, phi, new, problem.a, problem.b, steps)
        phi, new = new, phi
        left -= steps
    return device.to_host(phi)
