"""A local array: private to each thread, and yet not in registers.

Idea: each thread counts the symbols of one text in eight counters of its own, an array that it
indexes by the symbol. Registers have no index: which one an instruction names is fixed when it is
compiled. An array indexed by data therefore goes to local memory, which is private by address but
lies where global memory lies, behind the caches.

Below: registers and global memory were all that kernels have used so far. Registers hold what a
thread is working on: they are part of the multiprocessor, and reading one costs no time.

Expect: at n = 256, 8 warps load and store local memory. Per warp 8 stores set the counters to zero,
each of 16 symbols loads one and stores it, and 8 loads fetch the results: 8 x 24 = 192 of each.
That is what the source asks for, and what the simulator counts. In `warpladder sass` stand 16 loads
(LDL) and 16 stores (STL) at the least: those of the symbols are all there, as nobody knows where
they go before the text is read; the others the compiler may join, four counters at a time. The
array takes 32 bytes of local memory. An array of few counters gets out of it: four are kept in
registers, and the compiler selects among them.

Source: GR registers and local memory

Question: Three statements index the array: one sets the counters, one counts, and one fetches the
results. Which of them alone keeps it out of registers?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import COUNT_SYMBOLS, RUN, SYMBOLS
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Texts

__all__ = ["RUNG", "count_locally", "run"]


@cuda.jit
def count_locally(symbols, counts, n):
    """Count the symbols of one text in a local array."""
    i = cuda.grid(1)
    if i < n:
        mine = cuda.local.array(SYMBOLS, int32)
        for symbol in range(SYMBOLS):
            mine[symbol] = 0
        for k in range(RUN):
            mine[symbols[k, i]] += 1
        for symbol in range(SYMBOLS):
            counts[symbol, i] = mine[symbol]


def run(device: Device, problem: Texts) -> NDArray[np.int32]:
    """Return how often each symbol (row) is in each text (column)."""
    n = problem.symbols.shape[1]
    symbols = device.to_device(problem.symbols)
    counts = device.empty((SYMBOLS, n), np.int32)
    launch(device, count_locally, blocks_for(n, THREADS), THREADS, symbols, counts, n)
    return device.to_host(counts)


RUNG = Rung(
    name="local-array",
    title="Counters in a local array",
    source="GR registers and local memory",
    run=run,
    task=COUNT_SYMBOLS,
    bound=Bound("latency", "each count waits for the load of the counter it adds to"),
    kernels=(count_locally,),
    predicts=(
        Prediction(
            "local_load_requests",
            "==",
            192,
            256,
            "8 warps x (16 symbols + 8 results)",
        ),
        Prediction(
            "local_store_requests",
            "==",
            192,
            256,
            "8 warps x (8 zeros + 16 symbols)",
        ),
    ),
)
