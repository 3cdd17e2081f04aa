"""Matrix addition with blocks as wide as a warp.

Idea: choose the block so that a warp lies along a row: 32 columns by 8 rows. The kernel is the same
to the letter; only the launch differs.

Below: square blocks of 4 x 4 look natural on paper, but a warp is 32 threads in a line. Half of
every warp stayed empty, and a warp's reads were spread over four rows.

Expect: at n = 64 all 32 threads are active in every instruction, twice as many. A request is 128
neighbouring bytes, 4 full sectors, as with vectors.

Found: far more than twice as fast. On an NVIDIA H200 (2026-11-23), at n = 4096, this takes 73.6 us
and `matrix-add-2d` 634 us: with blocks of 4 x 4 not only is each warp half empty. A multiprocessor
holds 32 of them and no more, so that a quarter of its places for threads are taken.

Source: beyond

Question: At n = 33 each row needs a second block for its last column. How many threads does the
launch start for 1,089 elements, and how many elements does a store of a warp write on average?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import launch
from warpladder.primer.tasks import MATRIX_ADD
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]

COLUMNS, ROWS = 32, 8


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
    grid = blocks_for(n, COLUMNS), blocks_for(n, ROWS)
    launch(device, add, grid, (COLUMNS, ROWS), a, b, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="matrix-add-warp-rows",
    title="Matrix addition on a 2D grid of 32 x 8 blocks, one warp per row",
    source="beyond",
    run=run,
    task=MATRIX_ADD,
    bound=Bound("dram", "12 n^2 bytes over the memory bandwidth"),
    kernels=(add,),
    predicts=(
        Prediction(
            "threads_per_instruction",
            "==",
            2,
            64,
            "32 threads where a block of 4 x 4 has 16",
            than="matrix-add-2d",
        ),
        Prediction("load_utilisation_32", "==", 100, 64, "a warp reads 128 bytes of one row"),
        Prediction(
            "global_load_requests",
            "==",
            0.5,
            64,
            "the same elements in full warps are half as many requests",
            than="matrix-add-2d",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            4096,
            (("matrix-add-warp-rows", 0.0736), ("matrix-add-2d", 0.634)),
        ),
    ),
)
