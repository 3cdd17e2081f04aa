"""Systems that are smaller than a tile of strips: a block has all cells of one in shared memory.

Nothing overlaps and nothing is lost, so a launch takes as many steps as are wanted. A step reads
one of two buffers and writes the other. Before it the ghosts are set; so there are two barriers to
a step.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.advection.gpu_tiles.cells import cell_of, number_of
from warpladder.advection.gpu_tiles.strips import reaches

if TYPE_CHECKING:
    from warpladder.advection.gpu_tiles.cells import Form

__all__ = ["shared_bytes_for", "whole_kernel"]


def shared_bytes_for(form: Form, n: int, itemsize: int) -> int:
    """Return the dynamic shared memory of a block: two buffers with their ghosts.

    Examples
    --------
    >>> shared_bytes_for(((-2, -1, 0), None), 100, 4)
    816
    """
    return 2 * (n + sum(reaches(form[0]))) * itemsize


@cache
def whole_kernel(
    form: Form, dtype: str, given: tuple[bool, bool], *, ring: bool, alike: bool
) -> Any:
    """Return the kernel; what it takes is what `strips.strips_kernel` does, but for the tiles.

    A block, of at least one warp, takes a system.
    """
    cell = cell_of(form, dtype)
    before, behind = reaches(form[0])
    count = len(form[0]) if form[1] is None else 2
    left_given, right_given = given
    number = number_of(alike=alike)

    @cuda.jit
    def advance_whole(phi, new, numbers, left, right, first, steps):
        """Take so many steps with the system of this block."""
        cells = cuda.shared.array(0, phi.dtype)
        own = cuda.local.array(count, phi.dtype)
        system, t, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        n = phi.shape[1]
        width = before + n + behind
        for j in range(count):
            own[j] = number(numbers, system, j)
        for i in range(t, n, threads):
            cells[before + i] = phi[system, i]
        now, other = 0, width
        cuda.syncthreads()
        for step in range(first, first + steps):
            begin = now + before
            if t < before:
                if left_given:
                    cells[now + t] = left[step, system]
                elif ring:
                    cells[now + t] = cells[begin + (t - before) % n]
                else:
                    cells[now + t] = cells[begin]
            if t < behind:
                if right_given:
                    cells[begin + n + t] = right[step, system]
                elif ring:
                    cells[begin + n + t] = cells[begin + t % n]
                else:
                    cells[begin + n + t] = cells[begin + n - 1]
            cuda.syncthreads()
            # A range of unknown step begins with a division, in every step of time.
            i = t
            while i < n:
                cells[other + before + i] = cell(cells, begin + i, own)
                i += threads
            now, other = other, now
            cuda.syncthreads()
        for i in range(t, n, threads):
            new[system, i] = cells[now + before + i]

    return advance_whole
