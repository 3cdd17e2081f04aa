"""Vector addition over a grid: many blocks, and a guard at the end.

Idea: cut n elements into blocks of 256 threads. A thread's element is then `blockIdx.x * blockDim.x
+ threadIdx.x`, for which Numba has the short form `cuda.grid(1)`. As n is seldom a multiple of 256,
the last block has threads too many; `if i < n` keeps them off memory that is not theirs.

Below: one block stops at 1024 elements and uses one multiprocessor. Blocks know nothing of each
other, so the GPU spreads them over as many multiprocessors as it has, in any order: the same launch
scales from a small GPU to a large one.

Expect: not one byte more than the data: at n = 1000 two vectors of 4000 bytes are loaded and one is
stored. The guard adds one branch per warp. There are 4 blocks, that is 32 warps; 1000 = 31 x 32 +
8, so in the last warp 8 threads pass the guard and 24 do not. A branch that all threads of a warp
take alike is called uniform: 31 of 32 are. At n = 1024 all are. A guard at the end of the data
costs nothing. Left out, it is the wrong rung `vector-add-no-guard`.

Source: GR vector addition

Question: At n = 1000 the guard is asked 32 times and splits one warp. What are both numbers at n =
1025, where a fifth block starts for one element? Try `warpladder explain primer/vector-add-grid --n
1025`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]


@cuda.jit
def add(a, b, out, n):
    """Add one element, where there is one for this thread."""
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    n = problem.a.size
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty(n, problem.a.dtype)
    launch(device, add, blocks_for(n, THREADS), THREADS, a, b, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="vector-add-grid",
    title="Vector addition over a grid of blocks, with a bounds guard",
    source="GR vector addition",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("dram", "12 n bytes over the memory bandwidth"),
    kernels=(add,),
    predicts=(
        Prediction("global_load_bytes", "==", 8000, 1000, "twice 4000, and none beyond n"),
        Prediction("branches", "==", 32, 1000, "4 blocks x 8 warps ask i < n once each"),
        Prediction(
            "branch_uniformity",
            "==",
            96.875,
            1000,
            "1000 = 31 x 32 + 8: the guard splits one warp of 32, and 31 / 32 = 96.875 %",
        ),
        Prediction("branch_uniformity", "==", 100, 1024, "1024 fills every warp: none is split"),
        Prediction("global_store_bytes", "==", 4000, 1000, "the guard lets 1000 x 4 bytes pass"),
    ),
)
