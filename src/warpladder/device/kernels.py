"""Device functions that the engines of several computations take into their kernels."""

from __future__ import annotations

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`

from numba import cuda, int32, uint32  # isort: skip

from warpladder.device.grids import EVERYBODY, WARP

__all__ = ["either_of_warp"]


@cuda.jit(device=True)
def either_of_warp(word):
    """Return which bits are set in the word of any thread of a warp, uint32."""
    distance, mine = WARP // 2, int32(word)
    while distance:
        mine = int32(mine | cuda.shfl_xor_sync(EVERYBODY, mine, distance))
        distance //= 2
    return uint32(mine)
