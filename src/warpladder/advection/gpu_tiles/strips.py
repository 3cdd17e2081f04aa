"""Strips in registers: each lane of a warp has so many consecutive cells and takes many steps.

A warp has a tile of 32 strips. It loads the tile through shared memory, so that neighbouring lanes
read neighbouring cells, takes its steps with nothing but registers and a few shuffles, and stores
what is right: at an end of the tile that is no end of the cells, what a step computes goes wrong by
as many cells as the rule reaches, and the next tile overlaps with this one by what all steps lose.

**Ends.** The first tile begins with the first cell and the last one ends with the last, wherever
that is, so what lies beyond an end is known to lane 0 or lane 31 without a question: its own cell
at the end, or a value given. In tiles between it does no harm. Cells in a ring have no ends; their
tiles are loaded around it.

**In place.** A new cell is written where its left neighbours were that no other cell needs any
more: going up, cells move `shift` places to the left. The next step goes down and moves them back.
So two steps need no more registers than one strip, its neighbours and no moves between registers.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, uint32, uint64

from warpladder.advection.gpu_tiles.sweeps import sweep_of
from warpladder.device.grids import WARP

if TYPE_CHECKING:
    from warpladder.advection.gpu_tiles.cells import Form

__all__ = ["WARPS", "reaches", "strips_kernel", "tiles_of"]

#: Warps in a block; they have nothing to do with each other.
WARPS = 4
EVERYBODY = 0xFFFFFFFF


def reaches(offsets: tuple[int, ...]) -> tuple[int, int]:
    """Return how far a rule reaches to the left and to the right.

    Examples
    --------
    >>> reaches((-2, -1, 0)), reaches((1, 2))
    ((2, 0), (0, 2))
    """
    return max(-offsets[0], 0), max(offsets[-1], 0)


def tiles_of(n: int, tile: int, lost: int, *, ring: bool) -> int:
    """Return how many tiles n cells take where all steps of a launch lose so many cells of each.

    Examples
    --------
    >>> tiles_of(1024, 1024, 100, ring=False), tiles_of(1025, 1024, 100, ring=False)
    (1, 2)
    >>> tiles_of(1024, 1024, 100, ring=True)
    2
    """
    return -(-n // (tile - lost)) if ring else 1 - (tile - n) // (tile - lost)


def _unit_of(strip: int, itemsize: int) -> int:
    """Return how many cells lie side by side in shared memory before a place is left free.

    So that lanes with a strip each meet different banks, and lanes that are neighbours, too. Strips
    of which a number make 128 bytes need no free place but after those.
    """
    line = 128 // itemsize
    return strip if line % strip else line


@cache
def _filler(strip: int, reach: tuple[int, int], at: int, given: tuple[bool, bool]) -> Any:
    """Return the device function that brings a strip's neighbours; its first cell is at ``at``."""
    left, right = reach
    left_given, right_given = given
    end = at + strip

    @cuda.jit(device=True)
    def fill(cells, lane, a, b):
        before = a if left_given else cells[at]
        behind = b if right_given else cells[end - 1]
        for j in range(left):
            value = cuda.shfl_up_sync(EVERYBODY, cells[end - left + j], 1)
            cells[at - left + j] = before if lane == 0 else value
        for j in range(right):
            value = cuda.shfl_down_sync(EVERYBODY, cells[at + j], 1)
            cells[end + j] = behind if lane == WARP - 1 else value

    return fill


@cache
def strips_kernel(
    form: Form, dtype: str, strip: int, given: tuple[bool, bool], *, ring: bool
) -> Any:
    """Return the kernel for a rule, a dtype, a length of strips and what lies beyond the ends.

    It takes the cells and a place for the new ones, both (systems, n) with n at least 32 strips;
    the numbers of each system, (systems, numbers); the values given left and right, (steps of the
    run, systems), and the row of the first step; the steps, fewer than lose a whole tile; and how
    many tiles a system has, as `tiles_of` tells. A warp takes one of them.

    Parameters
    ----------
    form
        The rule.
    dtype
        Of the cells.
    strip
        Cells of a lane, at least as many as the rule reaches.
    given
        Whether the values beyond the left and the right end are given; else they are those of the
        cell at the end.
    ring
        Whether the last cell's neighbour is the first.
    """
    reach = reaches(form[0])
    left_reach, right_reach = reach
    span, shift = left_reach + right_reach, max(left_reach, right_reach)
    low, high = left_reach, left_reach + shift
    room = high + strip + right_reach
    tile, unit = WARP * strip, _unit_of(strip, np.dtype(dtype).itemsize)
    padded = tile + tile // unit
    count = len(form[0]) if form[1] is None else 2
    left_given, right_given = given
    fill_high = _filler(strip, reach, high, given)
    fill_low = _filler(strip, reach, low, given)

    go_up = sweep_of(form, dtype, strip, 1)
    go_down = sweep_of(form, dtype, strip, -1)

    @cuda.jit(device=True)
    def place_of(k, lane):
        # Of a row's cell in shared memory, with the free places before it.
        row = k * WARP
        rest = row % unit
        free = row // unit
        if lane >= unit - rest:
            free += 1
        if lane >= 2 * unit - rest:
            free += 1
        return uint32(row + lane + free)

    @cuda.jit
    def advance_strips(phi, new, numbers, left, right, first, steps, tiles):
        """Take so many steps with every tile of every system."""
        shared = cuda.shared.array((WARPS, padded), phi.dtype)
        cells = cuda.local.array(room, phi.dtype)
        own = cuda.local.array(count, phi.dtype)
        t = uint32(cuda.threadIdx.x)
        lane = uint32(t % WARP)
        tile_cells = shared[t // WARP]
        mine = uint32(lane * strip + lane * strip // unit)
        warp = cuda.blockIdx.x * WARPS + t // WARP
        system, which = warp // tiles, warp % tiles
        if system >= phi.shape[0]:
            return
        n = phi.shape[1]
        keep = tile - steps * span
        kept_from = which * keep
        kept_to = kept_from + keep
        begin = kept_from
        if ring:
            begin -= steps * left_reach
            kept_to = min(kept_to, n)
        else:
            begin = min(begin, n - tile)
            # Only what is at an end is right there; the last tile begins where the one before ends.
            kept_from = kept_from + steps * left_reach if which else 0
            kept_to = kept_to + steps * left_reach if which < tiles - 1 else n

        for j in range(count):
            own[j] = numbers[system, j]
        source = phi[system]
        for k in range(strip):
            i = begin + k * WARP + lane
            if ring:
                i = i + n if i < 0 else (i - n if i >= n else i)
            # An index that cannot be negative is not taken for one that counts from the end.
            tile_cells[place_of(k, lane)] = source[uint64(i)]
        cuda.syncwarp()
        for k in range(strip):
            cells[high + k] = tile_cells[uint32(mine + k)]

        a = b = own[0]
        step = first
        for _ in range(steps // 2):
            if left_given:
                a = left[step, system]
            if right_given:
                b = right[step, system]
            fill_high(cells, lane, a, b)
            go_up(cells, high, low, own)
            if left_given:
                a = left[step + 1, system]
            if right_given:
                b = right[step + 1, system]
            fill_low(cells, lane, a, b)
            go_down(cells, low + strip - 1, high + strip - 1, own)
            step += 2
        if steps % 2:
            if left_given:
                a = left[step, system]
            if right_given:
                b = right[step, system]
            fill_high(cells, lane, a, b)
            go_up(cells, high, low, own)
            for k in range(strip - 1, -1, -1):
                cells[high + k] = cells[low + k]

        for k in range(strip):
            tile_cells[uint32(mine + k)] = cells[high + k]
        cuda.syncwarp()
        target = new[system]
        for k in range(strip):
            i = begin + k * WARP + lane
            if kept_from <= i < kept_to:
                target[uint64(i)] = tile_cells[place_of(k, lane)]

    return advance_strips
