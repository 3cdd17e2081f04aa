"""The wrong rung of memory on the device: a sum is built up on memory that nobody filled.

Idea: as in `device-memory`, two launches add one vector each to a sum on the device. The array is
allocated by `device.empty` in place of `device.full`.

Fault: memory that is only allocated holds whatever was there before. On a fresh GPU that is often
zeros, so that the sum is right in the first run, and wrong on the day on which another array lay
there. The simulator hands out memory that holds NaN and knows of each byte whether anybody wrote
it.

Mended by: `device-memory`.

Source: GR variables in global memory

Question: Which of the two launches is the first to read what nobody wrote, and why does the other
one escape?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["WRONG", "add_to", "run"]


@cuda.jit
def add_to(total, values, n):
    """Add one element to what is there, whatever it is."""
    i = cuda.grid(1)
    if i < n:
        total[i] += values[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors and of what was there before."""
    n = problem.a.size
    total = device.empty(n, problem.a.dtype)
    for addend in problem:
        values = device.to_device(addend)
        launch(device, add_to, blocks_for(n, THREADS), THREADS, total, values, n)
    return device.to_host(total)


WRONG = WrongRung(
    rung=Rung(
        name="unfilled-sum",
        title="A sum on the device that begins with what was there",
        source="GR variables in global memory",
        run=run,
        task=VECTOR_ADD,
        bound=Bound("dram", "24 n bytes over the memory bandwidth"),
        kernels=(add_to,),
    ),
    caught_by="initcheck",
    n=1000,
    visible_under=("lockstep", "warps"),
)
