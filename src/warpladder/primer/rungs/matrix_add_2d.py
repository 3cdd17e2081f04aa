"""Matrix addition on a grid of two dimensions: a thread has a row and a column.

Idea: blocks and grids may have two (or three) dimensions, so that a thread finds its place in a
matrix as naturally as in a vector. `cuda.grid(2)` gives x and y; x is to be the column, because
threads are numbered along x first and rows lie along memory.

Below: a vector has one index and one guard; here each direction has its own, as the matrix need be
a multiple of the block in neither. How a warp reads, and where it is split, follows from how
threads are numbered, as before.

Expect: a 10 x 10 matrix on blocks of 4 x 4 takes 3 x 3 = 9 blocks, 144 threads for 100 elements.
A block is half a warp, so 9 warps store, 9 requests in all. Each asks for its row first: the 3
blocks at the lower edge are split, rows 8 and 9 in, 10 and 11 out. The threads that remain ask
for the column: the 3 blocks at the right edge are split. Of 18 branches 12 are uniform, 2 / 3. A
block touches 2 to 5 sectors, because rows of 40 bytes start anywhere in them: 35 sectors per matrix
where 13 hold all its 400 bytes. And even where nothing sticks out, as at n = 64, no instruction
has more than 16 threads, and the 16 bytes read of each row are half a sector.

Source: GR matrix addition

Question: Blocks of 8 x 4 threads, 8 columns by 4 rows, fill a warp. How many sectors does one of
its loads take at n = 64, and would 16 x 2 or 32 x 1 be better?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import launch
from warpladder.primer.tasks import MATRIX_ADD
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]

SIDE = 4


@cuda.jit
def add(a, b, out, n):
    """Add the element in this thread's row and column, where there is one."""
    column, row = cuda.grid(2)
    if row < n and column < n:
        out[row, column] = a[row, column] + b[row, column]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two matrices."""
    n = problem.a.shape[0]
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty((n, n), problem.a.dtype)
    blocks = blocks_for(n, SIDE)
    launch(device, add, (blocks, blocks), (SIDE, SIDE), a, b, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="matrix-add-2d",
    title="Matrix addition on a 2D grid of 4 x 4 blocks",
    source="GR matrix addition",
    run=run,
    task=MATRIX_ADD,
    bound=Bound(
        "latency", "a multiprocessor holds 32 such blocks, 512 threads: few loads are under way"
    ),
    kernels=(add,),
    predicts=(
        Prediction(
            "global_store_requests",
            "==",
            9,
            10,
            "3 x 3 blocks of 4 x 4 cover 10 x 10; each is one warp, and stores once",
        ),
        Prediction("global_store_bytes", "==", 400, 10, "100 of the 144 threads pass the guard"),
        Prediction(
            "branches",
            "==",
            18,
            10,
            "each of 9 warps asks for its row, and those within for the column",
        ),
        Prediction(
            "branch_uniformity",
            "==",
            200 / 3,
            10,
            "3 warps are split by the lower edge and 3 by the right one: 12 of 18 are not",
            tolerance=1e-9,
        ),
        Prediction(
            "global_store_sectors",
            "==",
            35,
            10,
            "rows of 40 bytes: blocks touch 5+5+4, 5+5+4 and 2+3+2 sectors",
        ),
        Prediction(
            "threads_per_instruction", "==", 16, 64, "a block of 4 x 4 threads is half a warp"
        ),
        Prediction(
            "load_utilisation_32",
            "==",
            50,
            64,
            "a warp reads 4 x 4 bytes from each of 4 rows: half of each sector",
        ),
    ),
)
