"""Aligned and coalesced: 32 threads read 128 neighbouring bytes from the start of a line.

Idea: memory is not read in numbers but in sectors of 32 bytes, which lie in lines of 128. When a
warp executes a load, the hardware finds the sectors that its 32 addresses fall into and moves each
of them once. Bus utilisation is the bytes that were asked for as a part of the bytes moved.

Below: most reads so far happened to be of this kind, and those of 4 x 4 blocks were not. This rung
and the next ones copy elements and differ in one thing only, the index at which a thread reads.

Expect: 128 bytes fill 1 line and 4 sectors, and all of what is moved is used: 100 % of 128-byte
transactions and 100 % of 32-byte transactions. The source has both, as older GPUs moved whole
lines into the first level of cache, and sectors where a load went around it. Those of today, from
compute capability 6.0 on, move sectors, 32 bytes, either way: a line is what the cache has one name
for, and it may hold some of its 4 sectors only. So here and in the next rungs the figure for 32
bytes is that of today's GPUs.

Source: GR types of access (1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import READ_ALIGNED
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Reading

__all__ = ["RUNG", "read_aligned", "run"]


@cuda.jit
def read_aligned(source, out, n):
    """Read the element of this thread's number."""
    i = cuda.grid(1)
    if i < n:
        out[i] = source[i]


def run(device: Device, problem: Reading) -> NDArray[np.float32]:
    """Return the elements that were read."""
    source = device.to_device(problem.source)
    out = device.empty(problem.n, problem.source.dtype)
    launch(device, read_aligned, blocks_for(problem.n, THREADS), THREADS, source, out, problem.n)
    return device.to_host(out)


RUNG = Rung(
    name="access-aligned",
    title="Reads that are aligned and coalesced",
    source="GR types of access (1)",
    run=run,
    task=READ_ALIGNED,
    bound=Bound("dram", "8 n bytes over the memory bandwidth"),
    kernels=(read_aligned,),
    predicts=(
        Prediction("global_load_sectors_per_request", "==", 4, 256, "128 bytes are 4 sectors"),
        Prediction("load_utilisation_128", "==", 100, 256, "128 bytes asked for, 1 line moved"),
        Prediction("load_utilisation_32", "==", 100, 256, "128 bytes asked for, 4 sectors moved"),
    ),
)
