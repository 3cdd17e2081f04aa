"""Running sums of an array on the device: each element becomes the sum of all up to it.

Three launches: every block adds up a tile of 4,096 elements, one block makes running sums of these,
and every block goes over its tile again. So the array is read three times, and written once.

Sums are taken modulo 2**32; whoever asks knows that they do not reach it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import EVERYBODY, WARP, blocks_for
from warpladder.device.kernel_cache import cached

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["running_sums", "sum_up_to", "sum_warp"]

#: The mask of all threads of a warp.
_THREADS, _ONE_BLOCK = 256, 1024
_OF_A_THREAD = 16
_TILE = _THREADS * _OF_A_THREAD
_OF_A_WARP = WARP * _OF_A_THREAD


@cuda.jit(device=True)
def sum_up_to(value, lane):
    """Return the sum over the threads of a warp up to this one, int32."""
    distance = 1
    while distance < WARP:
        before = cuda.shfl_up_sync(EVERYBODY, value, distance)
        if lane >= distance:
            value = int32(value + before)
        distance *= 2
    return value


@cuda.jit(device=True)
def sum_warp(value):
    """Return the sum over all threads of a warp, int32, in each of them."""
    distance = WARP // 2
    while distance:
        value = int32(value + cuda.shfl_xor_sync(EVERYBODY, value, distance))
        distance //= 2
    return value


@cuda.jit(device=True)
def sum_of_mine(values, first):
    """Return what a thread adds up of its warp's part of a tile, which begins at ``first``."""
    total = int32(0)
    for step in range(0, _OF_A_WARP, WARP):
        if first + step < values.size:
            total = int32(total + int32(values[first + step]))
    return total


@cuda.jit(device=True)
def before_this_warp(total, of_warps):
    """Return the sum over the warps of the block before this one; its own is ``total``."""
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    if lane == 0:
        of_warps[warp] = total
    cuda.syncthreads()
    known = of_warps[lane] if lane < warp else int32(0)
    return sum_warp(known)


@cached
@cuda.jit
def sum_tiles(values, sums):
    """Leave in ``sums`` the sum of each tile."""
    of_warps = cuda.shared.array(WARP, int32)
    t = cuda.threadIdx.x
    lane, warp = t % WARP, t // WARP
    total = sum_warp(sum_of_mine(values, cuda.blockIdx.x * _TILE + warp * _OF_A_WARP + lane))
    before = before_this_warp(total, of_warps)
    if t == cuda.blockDim.x - 1:
        sums[cuda.blockIdx.x] = before + total


@cached
@cuda.jit
def sum_sums(sums):
    """Make running sums of what one block can walk over."""
    of_warps = cuda.shared.array(WARP, int32)
    carried = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        carried[0] = 0
    first = 0
    while first < sums.size:
        i = first + t
        mine = int32(0)
        if i < sums.size:
            mine = int32(sums[i])
        mine = sum_up_to(mine, t % WARP)
        total = cuda.shfl_sync(EVERYBODY, mine, WARP - 1)
        mine = int32(mine + before_this_warp(total, of_warps) + carried[0])
        if i < sums.size:
            sums[i] = mine
        cuda.syncthreads()
        if t == cuda.blockDim.x - 1:
            carried[0] = mine
        cuda.syncthreads()
        first += cuda.blockDim.x


@cached
@cuda.jit
def sum_within_tiles(values, sums, target):
    """Leave in ``target`` the running sums, given those of the tiles."""
    of_warps = cuda.shared.array(WARP, int32)
    t, tile = cuda.threadIdx.x, cuda.blockIdx.x
    lane, warp = t % WARP, t // WARP
    first = tile * _TILE + warp * _OF_A_WARP + lane
    total = before_this_warp(sum_warp(sum_of_mine(values, first)), of_warps)
    if tile > 0:
        total = int32(total + int32(sums[tile - 1]))
    for step in range(0, _OF_A_WARP, WARP):
        i = first + step
        mine = int32(0)
        if i < values.size:
            mine = int32(values[i])
        mine = sum_up_to(mine, lane)
        if i < values.size:
            target[i] = int32(total + mine)
        total = int32(total + cuda.shfl_sync(EVERYBODY, mine, WARP - 1))


def running_sums(device: Device, values: Any, target: Any) -> None:
    """Leave in ``target`` the running sums of ``values``, which may be the same array.

    Parameters
    ----------
    device
        Where both are.
    values, target
        Arrays of one dimension, uint32.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> device = SimulatedDevice()
    >>> numbers = device.to_device(np.array([3, 0, 1], np.uint32))
    >>> running_sums(device, numbers, numbers)
    >>> device.to_host(numbers)
    array([3, 3, 4], dtype=uint32)
    """
    tiles = blocks_for(values.size, _TILE)
    if tiles == 0:
        return
    sums = device.empty(tiles, np.uint32)
    device.launch(sum_tiles, tiles, _THREADS, values, sums)
    device.launch(sum_sums, 1, min(_ONE_BLOCK, WARP * blocks_for(tiles, WARP)), sums)
    device.launch(sum_within_tiles, tiles, _THREADS, values, sums, target)
