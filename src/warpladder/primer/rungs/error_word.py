"""Errors come late: a kernel cannot raise, so it leaves word, and the host asks after waiting.

Idea: when a kernel meets a number that it cannot take, nobody is there to hear of it: the host has
long gone on. What it can do is to write the fact down. Here it takes square roots, and where there
is none it lowers a word in global memory to the place of the number, by an atomic minimum, so that
the first place wins whichever thread comes first. The host has put n there, meaning that all is
well; it waits, reads the word and knows.

The driver has a word of this kind for faults of its own, such as an address that belongs to nobody.
It is found at the next call that waits, a copy perhaps, and named there; the launch that is to
blame has returned without a word. That is why a program that asks each call for its error is still
told about the wrong line, and why one puts a wait behind every launch while looking for a fault.
The simulator runs each launch to its end, and so its checks name the kernel, the line and the
thread at the launch itself.

Below: a launch returns before the kernel has run, so its return says nothing about success.

Expect: at n = 96 three numbers have no root, one in each warp: 3 atomic requests with 1 thread
each. The roots are stored as ever, 96 of 4 bytes, NaN where there is none. While nothing goes wrong
the word costs nothing. Read before the wait it says that all is well, whatever happens: the wrong
rung `early-read`.

Found: it costs where something goes wrong. On an NVIDIA H200 (2026-11-23), at n = 2**24, of which
one number in 32 has no root, this takes 437 us, and `shared-reverse`, which moves as many bytes,
64.1 us: half a million atomic minimums go to one word, one after the other. Without any faulty
number the same kernel takes 13 % of the time (`benchmarks/gpu_variants.py`).

Source: GR reporting errors

Question: What would the word hold if each thread that fails simply stored its place there, and
would two runs agree?
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.further_tasks import ROOTS
from warpladder.primer.launching import THREADS, launch
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["RUNG", "run", "take_roots"]

NONE = np.float32(np.nan)


@cuda.jit
def take_roots(values, roots, first_without, n):
    """Take one root, or note that there is none."""
    i = cuda.grid(1)
    if i < n:
        value = values[i]
        if value < 0:
            roots[i] = NONE
            cuda.atomic.min(first_without, 0, i)
        else:
            roots[i] = math.sqrt(value)


def run(device: Device, problem: Values) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the roots, and the place of the first number that has none, in an array of one."""
    n = problem.values.size
    values = device.to_device(problem.values)
    roots = device.empty(n, problem.values.dtype)
    first_without = device.full(1, n, np.int32)
    launch(device, take_roots, blocks_for(n, THREADS), THREADS, values, roots, first_without, n)
    device.synchronize()
    return device.to_host(roots), device.to_host(first_without)


RUNG = Rung(
    name="error-word",
    title="A kernel that notes where it failed, and a host that asks in time",
    source="GR reporting errors",
    run=run,
    task=ROOTS,
    bound=Bound("dram", "8 n bytes over the memory bandwidth"),
    kernels=(take_roots,),
    predicts=(
        Prediction("atomic_requests", "==", 3, 96, "each of 3 warps meets one faulty number"),
        Prediction("atomic_threads", "==", 3, 96, "and nobody else touches the word"),
        Prediction("global_store_bytes", "==", 384, 96, "96 roots of 4 bytes, faulty or not"),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("error-word", 0.437), ("shared-reverse", 0.0641)),
        ),
    ),
)
