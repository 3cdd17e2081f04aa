"""The wrong rung of the reversal: elements are taken out before all have been put in.

Idea: as in `shared-reverse`, each thread puts its element into shared memory and takes out the one
of the thread at the other end. The barrier between the two is left out.

Fault: thread 0 wants what thread 255 brings, and these are in different warps. Where the last warp
has not been there yet, the first one takes out whatever shared memory held before. On a GPU the
warps of a block often run so close together that most results are right, which is worse than none.

Mended by: `shared-reverse`.

Source: GR variables in shared memory

Question: With runs of 32 elements, one warp each, would the barrier be missed?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.device.grids import blocks_for
from warpladder.primer.further_tasks import REVERSAL, REVERSED
from warpladder.primer.launching import launch
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["WRONG", "reverse_too_early", "run"]


@cuda.jit
def reverse_too_early(values, out, n):
    """Take out elements that may not have been put in."""
    run_of_block = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * REVERSED
    length = min(REVERSED, n - first)
    if t < length:
        run_of_block[t] = values[first + t]
        out[first + t] = run_of_block[length - 1 - t]


def run(device: Device, problem: Values) -> NDArray[np.float32]:
    """Return the elements in reverse, where they were there in time."""
    n = problem.values.size
    values = device.to_device(problem.values)
    out = device.empty(n, problem.values.dtype)
    launch(device, reverse_too_early, blocks_for(n, REVERSED), REVERSED, values, out, n)
    return device.to_host(out)


WRONG = WrongRung(
    rung=Rung(
        name="reverse-without-barrier",
        title="Reversing through shared memory, without the barrier",
        source="GR variables in shared memory",
        run=run,
        task=REVERSAL,
        bound=Bound("dram", "8 n bytes over the memory bandwidth"),
        kernels=(reverse_too_early,),
    ),
    caught_by="racecheck",
    n=512,
    visible_under=("warps",),
)
