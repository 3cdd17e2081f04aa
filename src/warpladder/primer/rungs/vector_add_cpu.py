"""Vector addition on the CPU: one loop, one element after the other.

Idea: add two vectors by a plain loop. One core does all n additions in order; compiled, it may
take several elements per instruction, but there is still one stream of instructions. Whatever a
GPU computes further up the ladder has to equal what this loop computes.

Below: nothing; this is the ground.

Expect: memory decides. An addition reads 8 bytes and writes 4, and a core can add numbers much
faster than memory can bring them.

Source: GR vector addition

Question: How many additions a second can this loop do where memory moves 24 GB/s for one core, and
what changes if the core adds twice as fast?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "run"]


@cached
@njit
def add(a, b, out):
    """Add element after element."""
    for i in range(out.size):
        out[i] = a[i] + b[i]


def run(device: None, problem: Addends) -> NDArray[np.float32]:  # noqa: ARG001 - one signature
    """Return the sum of the two vectors."""
    out = np.empty_like(problem.a)
    add(problem.a, problem.b, out)
    return out


RUNG = Rung(
    name="vector-add-cpu",
    title="Vector addition by a loop on one CPU core",
    source="GR vector addition",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("dram", "12 n bytes over the memory bandwidth that one core reaches"),
    on="cpu",
)
