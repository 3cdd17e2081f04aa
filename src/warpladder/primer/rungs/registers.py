"""Registers: eight scalars instead of an array of eight.

Idea: give each counter a name. Every symbol is compared with all eight kinds, and each comparison
adds its outcome, 0 or 1, to its counter. That is more arithmetic than adding to one counter, and no
memory at all: scalars stay in registers, up to 255 of them per thread.

Below: the local array sent a load and a store behind the caches for each symbol, and the next
symbol of the same kind had to wait for them.

Expect: not one local load or store, and the same global traffic.

Found: a fifth of the time. On an NVIDIA H200 (2026-11-23), with 2**21 texts, this takes 55.5 us and
`local-array` 273 us.

Source: GR registers and local memory

Question: How does the work for one symbol grow with the number of kinds of symbols, here and in
`local-array`?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import COUNT_SYMBOLS, RUN, SYMBOLS
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Texts

__all__ = ["RUNG", "count_in_registers", "run"]


@cuda.jit
def count_in_registers(symbols, counts, n):
    """Count the symbols of one text in eight scalars."""
    i = cuda.grid(1)
    if i < n:
        zeros = ones = twos = threes = fours = fives = sixes = sevens = np.int32(0)
        for k in range(RUN):
            symbol = symbols[k, i]
            # Numba widens sums of 32-bit integers; the casts keep one register per counter.
            zeros = np.int32(zeros + (symbol == 0))
            ones = np.int32(ones + (symbol == 1))
            twos = np.int32(twos + (symbol == 2))
            threes = np.int32(threes + (symbol == 3))
            fours = np.int32(fours + (symbol == 4))
            fives = np.int32(fives + (symbol == 5))
            sixes = np.int32(sixes + (symbol == 6))
            sevens = np.int32(sevens + (symbol == 7))
        counts[0, i] = zeros
        counts[1, i] = ones
        counts[2, i] = twos
        counts[3, i] = threes
        counts[4, i] = fours
        counts[5, i] = fives
        counts[6, i] = sixes
        counts[7, i] = sevens


def run(device: Device, problem: Texts) -> NDArray[np.int32]:
    """Return how often each symbol (row) is in each text (column)."""
    n = problem.symbols.shape[1]
    symbols = device.to_device(problem.symbols)
    counts = device.empty((SYMBOLS, n), np.int32)
    launch(device, count_in_registers, blocks_for(n, THREADS), THREADS, symbols, counts, n)
    return device.to_host(counts)


RUNG = Rung(
    name="registers",
    title="Counters in registers",
    source="GR registers and local memory",
    run=run,
    task=COUNT_SYMBOLS,
    bound=Bound("dram", "96 n bytes over the memory bandwidth"),
    kernels=(count_in_registers,),
    predicts=(
        Prediction("local_load_requests", "==", 0, 256, "scalars live in registers"),
        Prediction("local_store_requests", "==", 0, 256, "scalars live in registers"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            256,
            "the symbols are read once, either way",
            than="local-array",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200", "2026-11-23", 1 << 21, (("registers", 0.0555), ("local-array", 0.273))
        ),
    ),
)
