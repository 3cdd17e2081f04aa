"""Latency hidden inside a thread: four elements are asked for before the first is used.

Idea: a load does not stop a warp; using its value does. A thread that asks for four pairs of
numbers, and only then begins to add, waits once for eight loads instead of four times for two. This
is called instruction-level parallelism: the loads are independent of each other, so they are under
way together.

Below: the loop loaded two numbers, used them and stored the sum before it asked for the next two. A
compiler may not move a load up over a store that might hit the same place, and for all that it
knows `out` might be `a`; so the order has to be written. `warpladder sass primer/few-warps --full`
shows it: the compiler unrolls the loop, four steps in a row, and still every pair of loads stands
behind the store of the step before.

Expect: the same warps, the same requests, four times as many bytes under way: 1 KiB for each warp
instead of 256 bytes. At n = 16896 a single step covers all, as 4 x 132 x 32 = 16896. Each of 132
warps asks twice for the loop and once whether all four elements are there: 396 branches where the
loop of one element has 660. It costs registers: eight numbers are held at a time.

Found: not quite three times as fast. On an NVIDIA H200 (2026-11-23), at n = 2**24, this takes 623
us and `few-warps` 1,730 us. Why it is not four times is not known.

Source: beyond

Question: Why is nothing won by four elements in a step if the thread stores each sum before it
loads the next pair?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import WARP, blocks_for
from warpladder.primer.launching import launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add_four", "run"]


@cuda.jit
def add_four(a, b, out, n):
    """Add four elements in a step, a grid apart, with all loads before the first addition."""
    step = cuda.gridsize(1)
    for first in range(cuda.grid(1), n, 4 * step):
        second, third, fourth = first + step, first + 2 * step, first + 3 * step
        if fourth < n:
            a1, a2, a3, a4 = a[first], a[second], a[third], a[fourth]
            b1, b2, b3, b4 = b[first], b[second], b[third], b[fourth]
            out[first] = a1 + b1
            out[second] = a2 + b2
            out[third] = a3 + b3
            out[fourth] = a4 + b4
        else:
            for i in range(first, n, step):
                out[i] = a[i] + b[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    n = problem.a.size
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty(n, problem.a.dtype)
    grid = min(blocks_for(n, WARP), device.properties.multiprocessors)
    launch(device, add_four, grid, WARP, a, b, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="independent-loads",
    title="Latency hidden by independent loads in each thread",
    source="beyond",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("latency", "n / (4 x 32 x multiprocessors) times the latency of a load"),
    kernels=(add_four,),
    predicts=(
        Prediction(
            "branches",
            "==",
            Ratio(3, 5),
            16896,
            "132 x (2 + 1) where steps of one element take 132 x 5",
            than="few-warps",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_requests",
            "==",
            1,
            16896,
            "the same loads of the same warps, in another order",
            than="few-warps",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("independent-loads", 0.623), ("few-warps", 1.73)),
        ),
    ),
)
