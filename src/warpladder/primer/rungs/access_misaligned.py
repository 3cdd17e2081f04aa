"""Misaligned but coalesced: 128 neighbouring bytes that start 4 bytes too late.

Idea: read from the second element on. The threads of a warp are still neighbours in memory, but
their 128 bytes now lie across a boundary: 124 in one line and 4 in the next one.

Below: an order that jumps about cost nothing, as it stayed inside the line. Leaving the line does
cost.

Expect: every warp touches 2 lines, so of 256 bytes 128 are used: 50 %. In sectors it is one more
than needed, 5 instead of 4, and 128 of 160 bytes are used: 80 %, which is what GPUs of today make
of it. The neighbouring warp needs the rest of that sector, so a cache can make up for much of it.

Found: a cache makes up for nearly all of it. On an NVIDIA H200 (2026-11-23), at n = 2**22, this
takes 17.7 us and `access-aligned` 17.2 us.

Source: GR types of access (3)

Question: By how many elements must the start be off so that a warp takes 4 sectors again, though
two lines?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import READ_MISALIGNED
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Reading

__all__ = ["RUNG", "read_misaligned", "run"]


@cuda.jit
def read_misaligned(source, out, n):
    """Read the element after the one of this thread's number."""
    i = cuda.grid(1)
    if i < n:
        out[i] = source[i + 1]


def run(device: Device, problem: Reading) -> NDArray[np.float32]:
    """Return the elements that were read."""
    source = device.to_device(problem.source)
    out = device.empty(problem.n, problem.source.dtype)
    launch(device, read_misaligned, blocks_for(problem.n, THREADS), THREADS, source, out, problem.n)
    return device.to_host(out)


RUNG = Rung(
    name="access-misaligned",
    title="Reads that are coalesced but misaligned",
    source="GR types of access (3)",
    run=run,
    task=READ_MISALIGNED,
    bound=Bound("dram", "8 n bytes over the memory bandwidth, if a cache keeps the shared sectors"),
    kernels=(read_misaligned,),
    predicts=(
        Prediction(
            "load_utilisation_128", "==", 50, 256, "bytes 4 to 131 lie in 2 lines: 128 / 256"
        ),
        Prediction(
            "load_utilisation_32", "==", 80, 256, "bytes 4 to 131 lie in 5 sectors: 128 / 160"
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1.25,
            256,
            "5 sectors where an aligned warp takes 4",
            than="access-aligned",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 22,
            (("access-misaligned", 0.0177), ("access-aligned", 0.0172)),
        ),
    ),
)
