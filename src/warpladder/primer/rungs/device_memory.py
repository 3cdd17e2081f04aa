"""Memory of the device outlives a kernel: filled once, used by two launches, read back once.

Idea: what lies in the device's global memory stays until the host frees it. So a long computation
is cut into kernels, and each finds what the one before has left; the host need not see it. Here a
sum is built up: the host fills an array of the device with zeros, one launch adds the first vector
to it, another launch of the same kernel the second one. Launches run in the order in which they are
made. Memory that is only allocated holds whatever was there before, so the zeros have to be asked
for: `device.full` fills, `device.empty` does not.

Below: every kernel so far had a launch of its own for everything and copied its result home.

Expect: 2 launches. Each loads the sum so far and one vector, so at n = 1000 the two load 16000
bytes and store 8000, where one kernel for both vectors loads 8000 and stores 4000. Cutting work
into kernels takes no copies to the host, but it takes traffic: what one kernel could keep to itself
goes through memory between two. With `empty` in place of `full` the sum is anything; that is the
wrong rung `unfilled-sum`.

Found: as the traffic says. On an NVIDIA H200 (2026-11-23), at n = 2**24, the two launches take 133
us and the one of `vector-add-grid` 67.7 us: twice the bytes, twice the time.

Source: GR variables in global memory

Question: At n = 1000, how many bytes would the same way load and store for three vectors, and how
many would one kernel for all three?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add_to", "run"]


@cuda.jit
def add_to(total, values, n):
    """Add one element to what is there."""
    i = cuda.grid(1)
    if i < n:
        total[i] += values[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    n = problem.a.size
    total = device.full(n, 0, problem.a.dtype)
    for addend in problem:
        values = device.to_device(addend)
        launch(device, add_to, blocks_for(n, THREADS), THREADS, total, values, n)
    return device.to_host(total)


RUNG = Rung(
    name="device-memory",
    title="A sum that stays on the device between two kernels",
    source="GR variables in global memory",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("dram", "24 n bytes over the memory bandwidth"),
    kernels=(add_to,),
    predicts=(
        Prediction(
            "global_load_bytes",
            "==",
            2,
            1000,
            "the sum so far is loaded in each launch, first as zeros",
            than="vector-add-grid",
        ),
        Prediction("launches", "==", 2, 1000, "one for each vector"),
        Prediction("global_load_bytes", "==", 16000, 1000, "twice: the sum so far and a vector"),
        Prediction(
            "global_store_bytes",
            "==",
            2,
            1000,
            "the sum is stored after each vector",
            than="vector-add-grid",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("device-memory", 0.133), ("vector-add-grid", 0.0677)),
        ),
    ),
)
