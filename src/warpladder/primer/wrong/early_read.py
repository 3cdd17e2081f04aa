"""The wrong rung of the error word: the host reads it before the copy has come.

Idea: as in `error-word`, a kernel lowers a word to the place of the first number that has no root.
Kernel and copies are put on one stream, the word is copied into pinned memory, in which the host
has put n before, and the host reads it there.

Fault: nobody waits. A copy on a stream returns at once, as a launch does, and so the word still
holds what the host put there: n, all is well. Nor have the roots arrived. On a GPU the copy may be
fast enough on one day and not on the next. No check of kernels can find this, for every kernel is
right; comparing the result with the oracle does, because the simulator completes such a copy as
late as it may.

Mended by: `error-word`.

Source: GR reporting errors

Question: In which line would `stream.synchronize()` have to stand, and would waiting for another
stream do?
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.further_tasks import ROOTS
from warpladder.primer.launching import THREADS, launch
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["WRONG", "run", "take_roots"]

NONE = np.float32(np.nan)


@cuda.jit
def take_roots(values, roots, first_without, n):
    """Take one root, or note that there is none."""
    i = cuda.grid(1)
    if i < n:
        value = values[i]
        if value < 0:
            roots[i] = NONE
            cuda.atomic.min(first_without, 0, i)
        else:
            roots[i] = math.sqrt(value)


def run(device: Device, problem: Values) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return what has arrived of the roots, and of the place of the first number without one."""
    n = problem.values.size
    stream = device.stream()
    values = device.to_device(problem.values)
    roots = device.empty(n, problem.values.dtype)
    first_without = device.full(1, n, np.int32)
    grid = blocks_for(n, THREADS)
    launch(device, take_roots, grid, THREADS, values, roots, first_without, n, stream=stream)
    found, word = device.pinned(n, np.float32), device.pinned(1, np.int32)
    word[0] = n
    device.to_host(roots, out=found, stream=stream)
    device.to_host(first_without, out=word, stream=stream)
    return found.copy(), word.copy()


WRONG = WrongRung(
    rung=Rung(
        name="early-read",
        title="An error word that is read before it has arrived",
        source="GR reporting errors",
        run=run,
        task=ROOTS,
        bound=Bound("dram", "8 n bytes over the memory bandwidth"),
        kernels=(take_roots,),
    ),
    caught_by="verification",
    n=96,
    visible_under=("lockstep", "warps"),
)
