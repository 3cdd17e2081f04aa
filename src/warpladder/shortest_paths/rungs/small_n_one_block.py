"""Small graphs: the whole matrix in the shared memory of one block, in a single launch.

Idea: 96 x 96 numbers of 4 bytes are 36 KiB, and a block has 48 KiB of shared memory. Bring the
matrix in, take all steps there with a block barrier after each, and bring it out again. Step k
reads row k and column k, which do not change in it, so a barrier between steps is all it takes.

Below: tiles of 128 fill a small graph up with vertices that are not there: 128**3 relaxations for n
= 64 are eight times too many. And a launch for each step, or each phase, takes longer than what it
does for so few cells.

Expect: each number crosses once in each direction. At n = 96 that is 288 requests to load and 288
to store; one launch, and a barrier for the loading and one for each of 96 steps, by 32 warps each.
One multiprocessor works, all others are free: for other small graphs, say.

Source: beyond

Question: How many vertices would fit into 48 KiB with numbers of 4 bytes if the limit were drawn to
the last one, and how many with numbers of 2?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_small", "run"]

LARGEST = 96
CELLS = LARGEST * LARGEST
THREADS = 1024


@cuda.jit
def close_small(dist, n):
    """Replace weights by distances, in place, in one block."""
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
        cuda.syncthreads()
    for cell in range(t, n * n, THREADS):
        i = cell // n
        dist[i, cell - i * n] = tile[cell]


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    if n:
        device.launch(close_small, 1, THREADS, dist, n)
    return device.to_host(dist)


RUNG = Rung(
    name="small-n-one-block",
    title="A small matrix in the shared memory of one block",
    source="beyond",
    run=run,
    task=DISTANCES,
    bound=Bound("shared", "three 4-byte loads per relaxation, on one multiprocessor"),
    kernels=(close_small,),
    predicts=(
        Prediction("launches", "==", 1, 96, "one block does it all"),
        Prediction("global_load_requests", "==", 288, 96, "9216 numbers, 32 at a time, once"),
        Prediction("global_load_sectors", "==", 1152, 96, "4 sectors per request"),
        Prediction(
            "barriers", "==", 32 * 97, 96, "32 warps meet after loading and after each step"
        ),
    ),
    limits="the matrix must fit into 48 KiB of shared memory, with room for numbers of 4 bytes",
    max_n=LARGEST,
)
