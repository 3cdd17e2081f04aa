"""A launch returns at once: the host adds one half while the device adds the other.

Idea: to launch a kernel is to put it into a queue. The call returns as soon as it stands there, and
the host goes on while the device works. It has to wait only when it needs the result. A copy back
to the host waits by itself, for every kernel before it; so does `device.synchronize()`, which waits
for everything. Here the host launches the kernel for the first half of the vectors, adds the second
half itself, and then fetches the first.

Below: inside the GPU, warps work while others wait; the host can do so, too. Every host function so
far launched a kernel and fetched its result in the next line, so it waited without a word.

Expect: one launch, and half of the traffic of the whole: at n = 1024 the device loads 2 x 512
numbers, 4096 bytes. On a GPU the longer of the two halves decides. The simulator runs a kernel to
its end before the launch returns, so that nothing happens at the same time there; what it shows is
that the order is right. Two things follow from the queue. A clock that is stopped without waiting
has measured the launch and not the kernel. And what goes wrong in a kernel is not known when the
launch returns, which is the next rung.

Found: the longer half is the host's. On an NVIDIA H200 (2026-11-23), at n = 2**24, it is 6.85 ms
from the launch until the host comes for the result, where the kernel of `vector-add-grid` takes
67.7 us for both halves. The host adds its half meanwhile, and is the first to touch the pages of
the result: halves are not a fair division.

Source: GR host-device synchronisation

Question: What does a program measure that takes the time before the launch and after it, without a
wait in between?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
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
    half = problem.a.size // 2
    result = np.empty_like(problem.a)
    a, b = device.to_device(problem.a[:half]), device.to_device(problem.b[:half])
    out = device.empty(half, problem.a.dtype)
    launch(device, add, blocks_for(half, THREADS), THREADS, a, b, out, half)
    np.add(problem.a[half:], problem.b[half:], out=result[half:])
    device.to_host(out, out=result[:half])
    return result


RUNG = Rung(
    name="asynchronous-launch",
    title="Host and device work at the same time",
    source="GR host-device synchronisation",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("dram", "the longer of 6 n bytes in the GPU's memory and 6 n bytes in the host's"),
    kernels=(add,),
    predicts=(
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(1, 2),
            1024,
            "the other half never leaves the host",
            than="vector-add-grid",
        ),
        Prediction("launches", "==", 1, 1024, "the device's half is one launch"),
        Prediction("global_load_bytes", "==", 4096, 1024, "2 x 512 numbers of 4 bytes"),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("asynchronous-launch", 6.85), ("vector-add-grid", 0.0677)),
        ),
    ),
)
