"""The wrong rung of the small matrix: steps that do not wait for one another.

Idea: as in `small-n-one-block`, the matrix lies in shared memory and a block takes all steps. The
barrier behind the loading is there, the barriers between the steps are left out.

Fault: step k + 1 reads row k + 1 and column k + 1 as step k has made them. A warp that runs ahead
reads what they were before and misses every path that step k has just found; later steps do not
come back to it. In lockstep all is well, and so it is with a single warp.

Mended by: `small-n-one-block`, and between tiles `blocked-shared`.

Source: beyond

Question: Up to how many vertices do all cells belong to one warp, and is the kernel right for them?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.rung import Bound, Rung, WrongRung
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["WRONG", "close_in_a_hurry", "run"]

LARGEST = 96
CELLS = LARGEST * LARGEST
THREADS = 1024


@cuda.jit
def close_in_a_hurry(dist, n):
    """Take all steps in shared memory, without waiting in between."""
    tile = cuda.shared.array(CELLS, dist.dtype)
    t = cuda.threadIdx.x
    for cell in range(t, n * n, THREADS):
        i = cell // n
        tile[cell] = dist[i, cell - i * n]
    cuda.syncthreads()
    for k in range(n):
        for cell in range(t, n * n, THREADS):
            i = cell // n
            through = tile[i * n + k] + tile[k * n + cell - i * n]
            known = tile[cell]
            if through < known:
                tile[cell] = through
    for cell in range(t, n * n, THREADS):
        i = cell // n
        dist[i, cell - i * n] = tile[cell]


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return what becomes of the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    if n:
        device.launch(close_in_a_hurry, 1, THREADS, dist, n)
    return device.to_host(dist)


WRONG = WrongRung(
    rung=Rung(
        name="steps-without-barrier",
        title="A small matrix in shared memory, without barriers between the steps",
        source="beyond",
        run=run,
        task=DISTANCES,
        bound=Bound("shared", "three 4-byte loads per relaxation, on one multiprocessor"),
        kernels=(close_in_a_hurry,),
        limits="the matrix must fit into 48 KiB of shared memory, with room for numbers of 4 bytes",
        max_n=LARGEST,
    ),
    caught_by="racecheck",
    n=33,
    visible_under=("warps",),
)
