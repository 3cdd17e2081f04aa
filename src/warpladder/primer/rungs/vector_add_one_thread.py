"""The loop on the GPU, unchanged: one thread, and memory that is not the host's.

Idea: a GPU is a second computer beside the host, with memory of its own. A kernel is a function
that runs there; it sees arrays that lie there, and no others. So the host does four things: it
copies both vectors to the device, allocates a place for the sum, launches the kernel, and copies
the sum back. How many threads run the kernel is said at the launch. Here it is one thread in one
block, which does the whole loop.

Below: on the CPU the loop finds its vectors where they are. Here nothing is found that was not
brought, and a result that nobody copies back is never seen.

Expect: no gain. One thread reads and writes one number at a time and uses next to nothing of the
GPU; a thread of a GPU is slower than a core of the host. At n = 100 it loads 200 times 4 bytes, 800
bytes in all, and stores 100 times. The copies alone take longer than the loop on the CPU. All that
the next rungs win they win by more threads.

Source: GR memory and transfers

Question: Which of the four steps would you leave out if the sum were to be added to a third vector
on the GPU next?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.primer.launching import launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]


@cuda.jit
def add(a, b, out):
    """Add element after element."""
    for i in range(out.size):
        out[i] = a[i] + b[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty(problem.a.size, problem.a.dtype)
    launch(device, add, 1, 1, a, b, out)
    return device.to_host(out)


RUNG = Rung(
    name="vector-add-one-thread",
    title="Vector addition by one thread of the GPU, in the GPU's memory",
    source="GR memory and transfers",
    run=run,
    task=VECTOR_ADD,
    bound=Bound(
        "latency", "n times the wait for two loads: one thread has no other work meanwhile"
    ),
    kernels=(add,),
    predicts=(
        Prediction("threads_per_instruction", "==", 1, 100, "nobody else is there"),
        Prediction("launches", "==", 1, 100, "the host starts the kernel once"),
        Prediction("global_load_requests", "==", 200, 100, "one thread loads one number a time"),
        Prediction("global_load_bytes", "==", 800, 100, "two vectors of 100 x 4 bytes"),
        Prediction("global_store_requests", "==", 100, 100, "and stores one sum at a time"),
    ),
    limits="n is at most 1024: a single thread is not worth waiting for",
    max_n=1024,
)
