"""No divergence: the same branch, but a warp is always of one mind.

Idea: let the choice depend on the warp's number instead of the thread's, which means that the data
are arranged in runs of 32 elements of one kind. As many elements as before take each formula.

Below: parity of the thread sent every warp through both formulas. A branch costs nothing as such;
it costs where threads of one warp disagree.

Expect: at n = 256 all branches are uniform, 100 % instead of 50 %, and all 32 threads are active in
every instruction. Fewer instructions are issued, as each warp leaves one formula out. The traffic
is the same.

Found: nothing is won here. On an NVIDIA H200 (2026-11-23), at n = 2**24, this takes 64.3 us and
`divergence-by-thread` 65.3 us, and `shared-reverse`, which moves as many bytes and computes
nothing, 64.1 us: both formulas hide behind memory. Divergence costs where instructions are the
limit.

Source: GR warp divergence

Question: Let the kind change every 8, every 16, every 32 or every 64 elements. In which of these
cases does no warp diverge?
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import BRANCH_BY_WARP
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["RUNG", "branch_by_warp", "run"]

ONE = np.float32(1)


@cuda.jit
def branch_by_warp(values, out, n):
    """Let even and odd warps take different formulas."""
    i = cuda.grid(1)
    if i < n:
        value = values[i]
        if (i // cuda.warpsize) % 2 == 0:  # noqa: SIM108 - the branch is the subject
            result = math.sqrt(math.sqrt(value))
        else:
            result = ONE / (ONE + value)
        out[i] = result


def run(device: Device, problem: Values) -> NDArray[np.float32]:
    """Return one formula's value for even runs of 32 elements, the other's for odd ones."""
    n = problem.values.size
    values = device.to_device(problem.values)
    out = device.empty(n, problem.values.dtype)
    launch(device, branch_by_warp, blocks_for(n, THREADS), THREADS, values, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="divergence-by-warp",
    title="A branch on the parity of the warp: none diverges",
    source="GR warp divergence",
    run=run,
    task=BRANCH_BY_WARP,
    bound=Bound("dram", "8 n bytes over the memory bandwidth"),
    kernels=(branch_by_warp,),
    predicts=(
        Prediction("branch_uniformity", "==", 100, 256, "all 32 threads of a warp agree"),
        Prediction(
            "branch_uniformity",
            "==",
            2,
            256,
            "100 % where half of the branches split their warp",
            than="divergence-by-thread",
        ),
        Prediction(
            "threads_per_instruction", "==", 32, 256, "no thread of a warp is ever switched off"
        ),
        Prediction(
            "warp_instructions",
            "<",
            1,
            256,
            "a warp issues one formula instead of both",
            than="divergence-by-thread",
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            256,
            "the reads do not depend on the branch",
            than="divergence-by-thread",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (
                ("divergence-by-warp", 0.0643),
                ("divergence-by-thread", 0.0653),
                ("shared-reverse", 0.0641),
            ),
        ),
    ),
)
