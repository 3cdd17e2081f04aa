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
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32, uint32, uint64

from warpladder.advection.gpu_tiles.cells import number_of
from warpladder.advection.gpu_tiles.sweeps import sweep_of
from warpladder.device.grids import EVERYBODY, WARP

if TYPE_CHECKING:
    from warpladder.advection.gpu_tiles.cells import Form

__all__ = ["WARPS", "reaches", "registers_for", "shared_bytes_for", "strips_kernel", "tiles_of"]

#: Warps in a block; they have nothing to do with each other.
WARPS = 2
#: Registers of a multiprocessor's partition for each lane of a warp, and those that a lane needs
#: beside its strip.
_REGISTERS, _BESIDE = 512, 34
#: Rows of a tile that are loaded or stored in one turn of a loop.
_ROWS_AT_ONCE = 16


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


def registers_for(form: Form, strip: int, itemsize: int) -> int:
    """Return how many registers the kernel may take, such that no fewer would let in more warps.

    Left alone the compiler takes more, to have more loads on their way, for which other warps are
    the better remedy.

    Examples
    --------
    >>> registers_for(((-1, 1), None), 128, 4), registers_for(((-1, 1), None), 48, 4)
    (168, 80)
    """
    cells = strip + 3 * max(reaches(form[0]))
    warps = max(_REGISTERS // (cells * itemsize // 4 + _BESIDE), 1)
    # With eight there is no lack of warps.
    return min(_REGISTERS // min(warps, 8) // 8 * 8, 255)


def shared_bytes_for(strip: int, itemsize: int) -> int:
    """Return the shared memory of a block, free places included.

    Examples
    --------
    >>> shared_bytes_for(32, 4)
    8448
    """
    return WARPS * _padded(strip, itemsize) * itemsize


def _padded(strip: int, itemsize: int) -> int:
    tile = WARP * strip
    return tile + tile // _unit_of(strip, itemsize)


def _unit_of(strip: int, itemsize: int) -> int:
    """Return how many cells lie side by side in shared memory before a place is left free.

    So that lanes with a strip each meet different banks. Strips of which a number make 128 bytes
    need no free place but after those; of others, a free place may lie within a row, of which two
    cells are then in one bank.
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
def _places(strip: int, itemsize: int) -> tuple[Any, tuple[int, int, int]]:
    """Return ``place(r, lane)`` of a group's row in shared memory, and how groups are looped over.

    Rows are taken in groups after which free places repeat: a row's place in its group depends on
    the lane alone, so that it is worked out once for all groups, and the rest of every index is a
    constant within a few groups, which are unrolled: they become part of the load or the store.
    Turns, groups of a turn, rows of a group.
    """
    unit = _unit_of(strip, itemsize)
    rows = unit // gcd(unit, WARP)
    most = max(_ROWS_AT_ONCE // rows, 1)
    groups = max(some for some in range(1, most + 1) if strip // rows % some == 0)

    @cuda.jit(device=True)
    def place(r, lane):
        # An index that cannot be negative is not taken for one that counts from the end.
        j = uint32(r * WARP) + lane
        return uint64(j + j // uint32(unit))

    return place, (strip // rows // groups, groups, rows)


@cache
def _way_in(strip: int, itemsize: int, *, ring: bool) -> Any:
    """Return the device function that loads a tile to shared memory, row by row."""
    place, (turns, groups, rows) = _places(strip, itemsize)
    unit = _unit_of(strip, itemsize)
    cells = rows * WARP
    words = cells + cells // unit

    @cuda.jit(device=True)
    def straight(source, begin, _n, lane, tile_cells):
        at = uint64(begin + lane)
        for turn in range(turns):
            for g in range(groups):
                for r in range(rows):
                    group = turn * groups + g
                    value = source[at + uint64(group * cells + r * WARP)]
                    tile_cells[place(r, lane) + uint64(group * words)] = value

    @cuda.jit(device=True)
    def around(source, begin, n, lane, tile_cells):
        if begin >= 0 and begin + strip * WARP <= n:
            straight(source, begin, n, lane, tile_cells)
        else:
            for k in range(strip):
                j = k * WARP + lane
                i = begin + j
                i = i + n if i < 0 else (i - n if i >= n else i)
                tile_cells[uint64(j + j // unit)] = source[uint64(i)]

    return around if ring else straight


@cache
def _way_out(strip: int, itemsize: int) -> Any:
    """Return the device function that stores what is kept of a tile, from ``low`` to ``high``."""
    place, (turns, groups, rows) = _places(strip, itemsize)
    cells = rows * WARP
    words = cells + cells // _unit_of(strip, itemsize)

    @cuda.jit(device=True)
    def store(target, begin, low, high, lane, tile_cells):
        at = uint64(begin + lane)
        # From `low` on, as a number without sign: what lies before is beyond all.
        from_low, kept = uint32(lane - low), uint32(high - low)
        for turn in range(turns):
            for g in range(groups):
                for r in range(rows):
                    group = turn * groups + g
                    k = group * cells + r * WARP
                    if uint32(from_low + uint32(k)) < kept:
                        value = tile_cells[place(r, lane) + uint64(group * words)]
                        target[at + uint64(k)] = value

    return store


@cache
def strips_kernel(
    form: Form, dtype: str, strip: int, given: tuple[bool, bool], *, ring: bool, alike: bool
) -> Any:
    """Return the kernel for a rule, a dtype, a length of strips and what lies beyond the ends.

    It takes the cells and a place for the new ones, both (systems, n) with n at least 32 strips;
    the numbers of all systems or of each, as `cells.number_of` takes them; the values given left
    and right, (steps of the run, systems), and the row of the first step; the steps, fewer than
    lose a whole tile; and how many tiles a system has, as `tiles_of` tells. A warp takes one.

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
    alike
        Whether all systems have the same numbers.
    """
    reach = reaches(form[0])
    left_reach, right_reach = reach
    span, shift = left_reach + right_reach, max(left_reach, right_reach)
    low, high = left_reach, left_reach + shift
    room = high + strip + right_reach
    itemsize = np.dtype(dtype).itemsize
    tile, unit = WARP * strip, _unit_of(strip, itemsize)
    padded = _padded(strip, itemsize)
    count = len(form[0]) if form[1] is None else 2
    left_given, right_given = given
    fill_high = _filler(strip, reach, high, given)
    fill_low = _filler(strip, reach, low, given)

    number = number_of(alike=alike)
    load = _way_in(strip, itemsize, ring=ring)
    store = _way_out(strip, itemsize)
    go_up = sweep_of(form, dtype, strip, 1)
    go_down = sweep_of(form, dtype, strip, -1)

    # A limiter takes registers of its own.
    registers = None if form[1] else registers_for(form, strip, itemsize)

    @cuda.jit(max_registers=registers)
    def advance_strips(phi, new, numbers, left, right, first, steps, tiles):
        """Take so many steps with every tile of every system."""
        shared = cuda.shared.array((WARPS, padded), phi.dtype)
        cells = cuda.local.array(room, phi.dtype)
        own = cuda.local.array(count, phi.dtype)
        t = uint32(cuda.threadIdx.x)
        lane = uint32(t % WARP)
        tile_cells = shared[t // WARP]
        mine = uint64(lane * strip + lane * strip // unit)
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
            own[j] = number(numbers, system, j)
        # Few numbers that live through all steps: registers are scarce.
        low_kept, high_kept = int32(kept_from - begin), int32(kept_to - begin)
        load(phi[system], begin, n, lane, tile_cells)
        cuda.syncwarp()
        for k in range(strip):
            cells[high + k] = tile_cells[mine + uint64(k)]

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
            tile_cells[mine + uint64(k)] = cells[high + k]
        cuda.syncwarp()
        store(new[system], begin, low_kept, high_kept, lane, tile_cells)

    return advance_strips
