"""Strided: every thread of a warp reads from a line of its own.

Idea: thread i reads element 32 i, the first of each line. This is how a matrix is read down its
columns, or one field of large records.

Below: the scattered warp was in two places. A stride puts the 32 threads in 32 places; from a
stride of 8 elements on, no two of them share a sector, and from 32 on, no two share a line.

Expect: 32 sectors per request, 8 times as many as neighbours need, the worst that there is. Of each
sector 4 of 32 bytes are used: 12.5 %; of each line 4 of 128: 3.125 %. Nor can a cache help, as
nobody asks for the rest.

Found: as bad as that. On an NVIDIA H200 (2026-11-23), at n = 2**22, this takes 84.8 us and
`access-aligned` 17.2 us: loads and stores together, a warp moves 32 + 4 sectors, not 4 + 4.

Source: GR coalesced access

Question: How many sectors would a warp take that reads every second element, and how many with
every eighth?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import READ_STRIDED, STRIDE
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Reading

__all__ = ["RUNG", "read_strided", "run"]


@cuda.jit
def read_strided(source, out, n):
    """Read the first element of the line of this thread's number."""
    i = cuda.grid(1)
    if i < n:
        out[i] = source[STRIDE * i]


def run(device: Device, problem: Reading) -> NDArray[np.float32]:
    """Return the elements that were read."""
    source = device.to_device(problem.source)
    out = device.empty(problem.n, problem.source.dtype)
    launch(device, read_strided, blocks_for(problem.n, THREADS), THREADS, source, out, problem.n)
    return device.to_host(out)


RUNG = Rung(
    name="strided-access",
    title="Reads with a stride of one line",
    source="GR coalesced access",
    run=run,
    task=READ_STRIDED,
    bound=Bound("dram", "(32 + 4) n bytes over the memory bandwidth"),
    kernels=(read_strided,),
    predicts=(
        Prediction(
            "global_load_sectors_per_request",
            "==",
            32,
            256,
            "128 bytes from one thread to the next: each is alone in its sector",
        ),
        Prediction("load_utilisation_32", "==", 12.5, 256, "4 bytes of each sector: 4 / 32"),
        Prediction("load_utilisation_128", "==", 3.125, 256, "4 bytes of each line: 4 / 128"),
        Prediction(
            "global_load_sectors",
            "==",
            8,
            256,
            "32 sectors where an aligned warp takes 4",
            than="access-aligned",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 22,
            (("strided-access", 0.0848), ("access-aligned", 0.0172)),
        ),
    ),
)
