"""Divergence: neighbouring threads disagree, and the warp goes both ways.

Idea: even elements take one formula, odd elements another. A warp has one stream of instructions;
where its threads disagree it runs first the one side with half of its threads, then the other side
with the other half.

Below: the guard at the end of the data splits one warp of the whole grid. This branch splits every
warp there is.

Expect: at n = 256 each of 8 warps executes two branches, the guard and the choice. The guard is
uniform, the choice never: exactly 50 % of branches are uniform. Both formulas are issued to every
warp, so fewer than 32 threads are active per instruction. (With formulas as short as one assignment
a compiler replaces the branch by a select, and the divergence is gone; these are longer.)

Source: GR warp divergence

Question: Suppose that one thread of each warp took the first formula and 31 the second. Would a
warp issue fewer instructions than with 16 and 16?
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import BRANCH_BY_THREAD
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["RUNG", "branch_by_thread", "run"]

ONE = np.float32(1)


@cuda.jit
def branch_by_thread(values, out, n):
    """Let even and odd threads take different formulas."""
    i = cuda.grid(1)
    if i < n:
        value = values[i]
        if i % 2 == 0:  # noqa: SIM108 - the branch is the subject
            result = math.sqrt(math.sqrt(value))
        else:
            result = ONE / (ONE + value)
        out[i] = result


def run(device: Device, problem: Values) -> NDArray[np.float32]:
    """Return one formula's value for even elements, the other's for odd ones."""
    n = problem.values.size
    values = device.to_device(problem.values)
    out = device.empty(n, problem.values.dtype)
    launch(device, branch_by_thread, blocks_for(n, THREADS), THREADS, values, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="divergence-by-thread",
    title="A branch on the parity of the thread: every warp diverges",
    source="GR warp divergence",
    run=run,
    task=BRANCH_BY_THREAD,
    bound=Bound("dram", "8 n bytes over the memory bandwidth, if both formulas hide behind it"),
    kernels=(branch_by_thread,),
    predicts=(
        Prediction(
            "branch_uniformity",
            "==",
            50,
            256,
            "of two branches per warp the guard is uniform and the choice is not",
        ),
        Prediction(
            "threads_per_instruction",
            "<",
            32,
            256,
            "each formula is issued to a warp of which half is switched off",
        ),
    ),
)
