"""The wrong rung of vector addition over a grid: the bounds guard is left out.

Idea: as in `vector-add-grid`, blocks of 256 threads, one element per thread, but no `if i < n`.

Fault: at n = 1000 the 4 blocks have 1024 threads, and 24 of them read and write behind the arrays.
The sum itself comes out right, and often nothing else happens, as there may be room behind an
array. Some day another array lies there.

Mended by: `vector-add-grid`.

Source: GR vector addition

Question: For which n do the checks find nothing wrong with this kernel, and why?
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

__all__ = ["WRONG", "add", "run"]


@cuda.jit
def add(a, b, out):
    """Add one element, whether or not there is one for this thread."""
    i = cuda.grid(1)
    out[i] = a[i] + b[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    n = problem.a.size
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty(n, problem.a.dtype)
    launch(device, add, blocks_for(n, THREADS), THREADS, a, b, out)
    return device.to_host(out)


WRONG = WrongRung(
    rung=Rung(
        name="vector-add-no-guard",
        title="Vector addition over a grid, without the bounds guard",
        source="GR vector addition",
        run=run,
        task=VECTOR_ADD,
        bound=Bound("dram", "12 n bytes over the memory bandwidth"),
        kernels=(add,),
    ),
    caught_by="memcheck",
    n=1000,
)
