"""Register tiles in float64.

Idea: the same kernels once more, on numbers twice as wide: for distances that need 53 bits. Only
the limit on registers is lifted. The 64 best values alone are 128 of them, of the 255 that a thread
may have, so one block fits on a multiprocessor where two did, and there is no other block to
compute while this one loads.

Below: for float32 the minimum is an instruction. For float64 there is none: it is a comparison and
two selections, one for each half.

Expect: a relaxation is four instructions, of which the selections alone take as long as all of it
in float32. And every number is twice the bytes, in memory as in shared memory.

Source: beyond

Question: A multiprocessor has 65,536 registers. How many blocks of 256 threads fit with 128
registers to a thread, and how many with 255?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.rungs import register_tiles
from warpladder.shortest_paths.rungs._tasks import DISTANCES_FLOAT64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "run"]

KERNELS = tuple(cuda.jit(kernel.py_func) for kernel in register_tiles.KERNELS)


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    return register_tiles.close_in_tiles(device, problem, KERNELS)


RUNG = Rung(
    name="register-tiles-float64",
    title="Register tiles in float64",
    source="beyond",
    run=run,
    task=DISTANCES_FLOAT64,
    bound=Bound("issue", "four instructions per relaxation, two of them at half the rate"),
    kernels=KERNELS,
    predicts=(
        Prediction(
            "global_load_bytes", "==", 2, 128, "numbers twice as wide", than="register-tiles"
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=register_tiles.MAX_N,
)
