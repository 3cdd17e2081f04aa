"""Vector addition in one block: the loop is gone, each thread adds one element.

Idea: a kernel is the body of the loop, written for one element. The launch says how many threads
run it, here one block of n, and each thread takes the element of its own number, `threadIdx.x`.

Below: one thread added one element after the other; here n threads add theirs side by side.

The hardware does not move threads one by one. It cuts a block into warps, 32 threads with numbers
in a row, and issues each instruction once for a whole warp. A load that a warp issues is called a
request: one request asks for up to 32 numbers.

Expect: 1024 threads are 32 warps. Each loads from two vectors, 64 requests where one thread would
make 2048. There is no branch, as there are exactly as many threads as elements. A block of 33
threads fills one warp and puts a single thread into a second one, which issues every instruction
again: 16.5 active threads per instruction. One block also means one multiprocessor, one of the many
processors of which a GPU is made. The rest of the GPU is idle, and n ends at 1024.

Found: as expected. On an NVIDIA H200 (2026-11-23), at n = 1024, this takes 3.71 us and
`vector-add-one-thread` 71.2 us, on one multiprocessor either way.

Source: GR vector addition

Question: How many warps does a block of 97 threads have, and how many of their threads are active
in an instruction, on average? Try `warpladder explain primer/vector-add-one-block --n 97`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.primer.launching import launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]


@cuda.jit
def add(a, b, out):
    """Add the element whose number is this thread's."""
    i = cuda.threadIdx.x
    out[i] = a[i] + b[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    n = problem.a.size
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty(n, problem.a.dtype)
    launch(device, add, 1, n, a, b, out)
    return device.to_host(out)


RUNG = Rung(
    name="vector-add-one-block",
    title="Vector addition in one block, one thread per element",
    source="GR vector addition",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("latency", "one multiprocessor waits for its own loads; the others have no work"),
    kernels=(add,),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(1, 32),
            256,
            "a warp asks for 32 numbers at a time",
            than="vector-add-one-thread",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_requests", "==", 64, 1024, "32 warps load from two vectors, once each"
        ),
        Prediction(
            "branches", "==", 0, 1024, "the body of the loop is left, and nothing to decide"
        ),
        Prediction(
            "threads_per_instruction",
            "==",
            16.5,
            33,
            "two warps issue every instruction, for 32 threads and for 1: 33 / 2",
        ),
    ),
    limits="n is at most 1024: no GPU takes a larger block",
    max_n=1024,
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1024,
            (("vector-add-one-block", 0.00371), ("vector-add-one-thread", 0.0712)),
        ),
    ),
)
