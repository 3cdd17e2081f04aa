"""Sum on the CPU: one loop.

Idea: go through the array from the first element to the last and add each to the total.

Below: nothing; this is the ground.

Expect: n additions, one after the other, and 4 n bytes read once. Integers may be added in any
order, so a compiler takes several neighbours per instruction, and one core then waits for memory as
soon as its caches do not hold the array. Floating-point additions it must do one by one.

Source: RD sequential

Question: A memory that moves 4.8 TB/s is to bring 2**28 numbers of 4 bytes. How long does that take
at the least, whatever a kernel does with them?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.reduction.rungs._tasks import SUM
from warpladder.rung import Bound, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "run"]


@cached
@njit
def add_up(values):
    """Return the sum, in 64 bits."""
    total = 0
    for value in values:
        total += value
    return total


def run(device: None, problem: Numbers) -> NDArray[Any]:  # noqa: ARG001 - one signature
    """Return the sum in an array of one."""
    return np.array([add_up(problem.values)]).astype(problem.values.dtype)


RUNG = Rung(
    name="sequential-cpu",
    title="One loop on one CPU core",
    source="RD sequential",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes through memory that one core reaches"),
    on="cpu",
)
