"""Permuted inside a segment: the same 128 bytes, asked for out of order.

Idea: let the 32 threads of a warp read the 32 elements of their own line, each a different one, in
an order that jumps about: thread t reads element (5 t + 3) mod 32. As 5 and 32 have no common
factor, no element is read twice.

Below: with aligned reads, thread and element had the same number. It is tempting to think that this
order is what makes an access fast.

Expect: no difference. The hardware collects addresses into sectors and does not care which thread
asked for which: 1 line, 4 sectors, 100 % and 100 %.

Found: hardly any difference, but not none. On an NVIDIA H200 (2026-11-23), at n = 2**22, this takes
18.4 us and `access-aligned` 17.2 us. The sectors are the same, and to find its place takes a thread
some instructions more; whether these are the reason is not known.

Source: GR types of access (2)

Question: Let thread t read element 4 t mod 32 of its line. How many different elements does a warp
then ask for, and from how many sectors?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import READ_PERMUTED
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Reading

__all__ = ["RUNG", "read_permuted", "run"]


@cuda.jit
def read_permuted(source, out, n):
    """Read an element of this warp's line, another one for each thread."""
    i = cuda.grid(1)
    if i < n:
        first_of_line = i - i % 32
        out[i] = source[first_of_line + (5 * i + 3) % 32]


def run(device: Device, problem: Reading) -> NDArray[np.float32]:
    """Return the elements that were read."""
    source = device.to_device(problem.source)
    out = device.empty(problem.n, problem.source.dtype)
    launch(device, read_permuted, blocks_for(problem.n, THREADS), THREADS, source, out, problem.n)
    return device.to_host(out)


RUNG = Rung(
    name="access-permuted",
    title="Reads that are permuted inside an aligned segment",
    source="GR types of access (2)",
    run=run,
    task=READ_PERMUTED,
    bound=Bound("dram", "8 n bytes over the memory bandwidth"),
    kernels=(read_permuted,),
    predicts=(
        Prediction("load_utilisation_128", "==", 100, 256, "the same line, in another order"),
        Prediction("load_utilisation_32", "==", 100, 256, "the same 4 sectors, in another order"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            256,
            "which thread reads which element of a line makes no difference",
            than="access-aligned",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 22,
            (("access-permuted", 0.0184), ("access-aligned", 0.0172)),
        ),
    ),
)
