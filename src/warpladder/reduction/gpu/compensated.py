"""Compensated sums: the loops of `warpladder.reduction.loops.compensated` for a GPU.

A batch of at most 8 float64, or 64 shorter integers, is added by TwoSums, its sum and error join
those of the thread, and those of threads and blocks are merged pairwise. No element goes through
more than 8 + 128 + 8 TwoSums in a block, whose piece is of 2^18 elements at the most, and eight
more each time that 256 pieces become one. Where rows lie side by side it is as many, and at most
eight more each time that eight pieces become one. Such rows, if they are in pieces, have a thread
each only if there are more than 2^16: d < 181 for all that memories hold, up to 2^38 elements,
which is what the bound of the module named asks for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, uint32

from warpladder.reduction.gpu.walk import SOME, OnDevice, batch_size
from warpladder.reduction.loops.compensated import STATE, CompensatedSpec
from warpladder.reduction.rules import merge_compensated, two_sum

__all__ = ["COMPENSATED_PIECE", "compensated_on_device"]

COMPENSATED_PIECE = 1 << 18
"""Elements of a block's piece at the most: their number is in the bound."""


@cuda.jit(device=True)
def reset(state):
    """Start with nothing."""
    state[0].high, state[0].low = 0.0, 0.0


@cache
def compensated_on_device(spec: CompensatedSpec) -> OnDevice:
    """Return what a device runs for such a sum."""
    size = batch_size(spec.values)
    return OnDevice(
        STATE, spec.values, spec.masked, spec.skip_nan, size, reset,
        _taker(spec, size, some=spec.skip_nan), _taker(spec, SOME, some=spec.skip_nan),
        _taker(spec, SOME, some=True), merge_compensated,
    )  # fmt: skip


def _taker(spec: CompensatedSpec, size: int, *, some: bool) -> Any:
    is_absolute = spec.absolute

    @cuda.jit(device=True)
    def take(state, batch, valid, first, width, hop):
        high, low = 0.0, 0.0
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                v = np.float64(batch[j])
                if is_absolute:
                    v = abs(v)
                high, error = two_sum(high, v)
                low += error
        row = state[0]
        row.high, error = two_sum(row.high, high)
        row.low += low + error

    return take
