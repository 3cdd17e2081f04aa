"""Misaligned and uncoalesced: a warp reads in two places, and neither starts on a boundary.

Idea: the two halves of a warp read 16 neighbouring elements each, 64 bytes, and the halves lie 48
elements apart: thread i reads element 48 (i // 16) + i mod 16 + 25. The 25 keeps both off the
boundaries.

Below: a misaligned warp has two ragged ends. Each separate piece of memory adds two more.

Expect: of the 384 bytes that belong to a warp, the first half reads bytes 100 to 163, which lie in
sectors 3, 4, 5 and across the boundary of lines 0 and 1. The second half reads bytes 292 to 355,
which lie in sectors 9, 10, 11 and inside line 2. Together 3 lines, 128 of 384 bytes: 33.33 %; and 6
sectors, 128 of 192 bytes: 66.67 %, which is what GPUs of today make of it.

Found: it shows. On an NVIDIA H200 (2026-11-23), at n = 2**22, this takes 23.4 us, where
`access-aligned` takes 17.2 us and `access-misaligned` 17.7 us: the elements between the halves are
nobody's, so that no cache makes up for them.

Source: GR types of access (4)

Question: Replace the 25 in the index by 24. How many sectors and how many lines does a warp take
then?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import READ_SCATTERED
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Reading

__all__ = ["RUNG", "read_scattered", "run"]


@cuda.jit
def read_scattered(source, out, n):
    """Read one of 16 neighbours, far from those of the other half of the warp."""
    i = cuda.grid(1)
    if i < n:
        out[i] = source[48 * (i // 16) + i % 16 + 25]


def run(device: Device, problem: Reading) -> NDArray[np.float32]:
    """Return the elements that were read."""
    source = device.to_device(problem.source)
    out = device.empty(problem.n, problem.source.dtype)
    launch(device, read_scattered, blocks_for(problem.n, THREADS), THREADS, source, out, problem.n)
    return device.to_host(out)


RUNG = Rung(
    name="access-scattered",
    title="Reads that are misaligned and uncoalesced",
    source="GR types of access (4)",
    run=run,
    task=READ_SCATTERED,
    bound=Bound("dram", "(6 x 32 + 128) n / 32 bytes over the memory bandwidth"),
    kernels=(read_scattered,),
    predicts=(
        Prediction(
            "load_utilisation_128",
            "==",
            100 / 3,
            256,
            "one half lies across two lines, the other in a third one: 128 / 384",
            tolerance=1e-9,
        ),
        Prediction(
            "load_utilisation_32",
            "==",
            200 / 3,
            256,
            "each half of 64 bytes touches 3 sectors: 128 / 192",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1.5,
            256,
            "6 sectors where an aligned warp takes 4",
            than="access-aligned",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 22,
            (
                ("access-scattered", 0.0234),
                ("access-aligned", 0.0172),
                ("access-misaligned", 0.0177),
            ),
        ),
    ),
)
