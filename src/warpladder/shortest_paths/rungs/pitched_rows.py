"""Pitched rows: the padding is the device's business.

Idea: allocate rows with a *pitch*, a distance in memory that is larger than their length, and hand
the kernel a view of n columns. The view knows its strides, so the kernel is written as if there
were no padding at all. The host sends and receives the n x n numbers that there are; a small kernel
moves them into the pitched rows and out again. CUDA's `cudaMallocPitch` with `cudaMemcpy2D` does
the same.

Below: in `padded-rows` the host built a wider matrix and sent the padding along. `column-blocks`
read down the columns; this one goes back to rows.

Expect: the sectors of `padded-rows` in the steps, and once more the matrix in and out. At n = 97
that is 254,043 + 1513 (unaligned rows read) + 97 * 13 (pitched rows read) = 256,817.

Source: HB exploration 3

Question: At n = 97 the two copies load 2,774 sectors. How many sectors does a step save against
rows that are not aligned, and after how many steps have the copies paid?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.grids import blocks_for, round_up
from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.rungs._launching import THREADS
from warpladder.shortest_paths.rungs._tasks import DISTANCES
from warpladder.shortest_paths.rungs.row_blocks import relax_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "copy_rows", "run"]

#: Numbers in a line of 128 bytes.
ALIGNMENT = 32


@cuda.jit
def copy_rows(source, target, n):
    """Copy n columns of row ``blockIdx.y``."""
    j = cuda.grid(2)[0]
    if j < n:
        target[cuda.blockIdx.y, j] = source[cuda.blockIdx.y, j]


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    given = device.to_device(problem.matrix)
    if n == 0:
        return device.to_host(given)
    dist = device.empty((n, round_up(n, ALIGNMENT)), problem.matrix.dtype)[:, :n]
    grid = (blocks_for(n, THREADS), n)
    device.launch(copy_rows, grid, THREADS, given, dist, n)
    for k in range(n):
        device.launch(relax_row, grid, THREADS, dist, n, k)
    device.launch(copy_rows, grid, THREADS, dist, given, n)
    return device.to_host(given)


RUNG = Rung(
    name="pitched-rows",
    title="Row blocks on rows with a pitch, allocated and filled on the device",
    source="HB exploration 3",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n launches"),
    kernels=(relax_row, copy_rows),
    predicts=(
        Prediction(
            "global_load_sectors",
            "==",
            254_043 + 1513 + 97 * 13,
            97,
            "the steps of padded-rows, and the matrix copied in and out",
        ),
        Prediction("launches", "==", 99, 97, "97 steps and two copies"),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row takes one",
    max_n=65535,
)
