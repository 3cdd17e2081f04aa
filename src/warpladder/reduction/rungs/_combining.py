"""Device functions by which the top rungs combine numbers, whatever the operation."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda

from warpladder.device.grids import WARP

__all__ = ["add", "block_combiner", "taker_of"]

_EVERYBODY = 0xFFFFFFFF


@cuda.jit(device=True)
def add(a, b):
    """Return the sum of two numbers."""
    return a + b


@cache
def taker_of(combine: Any, count: int) -> Any:
    """Return a device function that combines a total with the first numbers of a tuple."""
    if count == 0:

        @cuda.jit(device=True)
        def take_nothing(total, which, numbers):
            pass

        return take_nothing

    last = count - 1
    take_those_before = taker_of(combine, last)

    @cuda.jit(device=True)
    def take(total, which, numbers):
        take_those_before(total, which, numbers)
        # A cell of an array keeps its type, where Numba adds integers in 64 bits.
        total[which] = combine(total[which], numbers[last])

    return take


@cache
def block_combiner(combine: Any, threads: int) -> Any:
    """Return a device function that leaves in thread 0's total what all of a block's make."""

    @cuda.jit(device=True)
    def combine_warp(total):
        places = WARP // 2
        while places:
            total[0] = combine(total[0], cuda.shfl_down_sync(_EVERYBODY, total[0], places))
            places //= 2

    @cuda.jit(device=True)
    def combine_block(total, neutral):
        of_warps = cuda.shared.array(WARP, total.dtype)
        t = cuda.threadIdx.x
        combine_warp(total)
        if t % WARP == 0:
            of_warps[t // WARP] = total[0]
        cuda.syncthreads()
        if t < WARP:
            total[0] = of_warps[t] if t < threads // WARP else neutral
            combine_warp(total)

    return combine_block
