"""One thread of the GPU: the same loops, moved as they are.

Idea: a kernel is a function like any other. Launch one block of one thread, and it runs the three
loops from beginning to end.

Below: the loops ran on a CPU core, made to finish one thread's work soon: high clock, large caches,
instructions out of order. A GPU's thread has none of that; there are only very many of them.

Expect: far slower than the CPU. Of the 32 lanes of the only warp one is active, and each of its
n**3 relaxations waits for three loads, one request and one sector each: 28 of the 32 bytes moved
are for nobody. All other multiprocessors are idle.

Source: CF B

Question: One thread has at most the three loads of a relaxation under way. How many could be under
way on 132 multiprocessors of 2,048 threads each?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.rungs._tasks import DISTANCES_BY_ONE_THREAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_alone", "run"]


@cuda.jit
def close_alone(dist, n):
    """Replace weights by distances, in place, by one thread."""
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = dist[i, k] + dist[k, j]
                known = dist[i, j]
                if through < known:
                    dist[i, j] = through


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    if n:
        device.launch(close_alone, 1, 1, dist, n)
    return device.to_host(dist)


RUNG = Rung(
    name="one-thread",
    title="The three loops on one thread of the GPU",
    source="CF B",
    run=run,
    task=DISTANCES_BY_ONE_THREAD,
    bound=Bound("latency", "n**3 relaxations one after the other, each as long as its loads take"),
    kernels=(close_alone,),
    predicts=(
        Prediction("threads_per_instruction", "==", 1, 16, "31 of 32 lanes have no thread"),
        Prediction("global_load_requests", "==", 3 * 16**3, 16, "three loads per relaxation"),
        Prediction("global_load_sectors_per_request", "==", 1, 16, "one thread reads one word"),
    ),
    limits="one thread would take minutes for more than 512 vertices",
    max_n=512,
)
