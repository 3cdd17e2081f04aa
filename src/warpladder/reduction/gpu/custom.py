"""A caller's operation on a GPU: elements in their order, each thread with a run of neighbours.

An operation need not be commutative, so what is combined has to be neighbours, and what threads
have combined is, again, neighbour by neighbour. Where rows are long and their elements follow each
other in memory, a warp goes through them tile by tile: each lane has 64 bytes, by wide loads, and
what the lanes found is combined before the next tile. (Threads that each went through a long run
read from 32 lines at a time: the largest of 2^24 float32 took an H200 41 us.) Else each thread goes
through a run of a row; where rows lie side by side, a warp so reads neighbouring elements of
neighbouring rows. The block that finishes a row's last piece combines the pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import isfunction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda, int32, int64
from numba.np.numpy_support import from_dtype

from warpladder.device.grids import WARP
from warpladder.device.specialised import specialised
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
from warpladder.errors import InputError, UnsupportedKernelError
from warpladder.reduction.custom import reason_of
from warpladder.reduction.gpu.layout import THREADS, Levels
from warpladder.reduction.gpu.routes import rows_one_by_one
from warpladder.reduction.gpu.walk import SOME, batch_size, draw_ticket, unpacker
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.parts import CustomPart

if TYPE_CHECKING:
    from warpladder.reduction.part import Part

__all__ = ["explaining", "in_order"]

_BITS, _WARP_BITS = THREADS.bit_length() - 1, WARP.bit_length() - 1


def explaining(part: Part, launch: Callable[..., Any]) -> Callable[..., Any]:
    """Return a launch that says which operation it is that a GPU cannot be given.

    Kernels are compiled when they are bound, or when they are launched for the first time. Of parts
    that have no operation of the caller's it is the launch itself.

    Raises
    ------
    InputError
        When it is called, with an operation that cannot be compiled.
    """
    if not isinstance(part, CustomPart):
        return launch

    def call(*args: Any, **options: Any) -> Any:
        try:
            return launch(*args, **options)
        except UnsupportedKernelError as fault:
            why = reason_of(fault.__cause__ or fault)
            raise InputError(
                f"op {part.op.name}: Numba cannot compile it for {part.dtype.name} on a GPU: {why}"
            ) from fault

    return call


@cache
def _combiner(part: CustomPart) -> Any:
    """Return the operation on two numbers of the dtype in which is reduced."""
    function: Any = part.op.function
    # What Numba has compiled for the CPU is compiled anew from its source; what it knows itself, as
    # max, is taken as it is.
    source = getattr(function, "py_func", function)
    combine = cuda.jit(device=True)(source) if isfunction(source) else source
    number = from_dtype(part.dtype)

    @cuda.jit(device=True)
    def combine_numbers(a, b):
        return number(combine(a, number(b)))

    return combine_numbers


class _Way(NamedTuple):
    """Device functions with which threads combine the elements of a row.

    ``take_run(data, place, origin, mask, mask_place, mask_origin, begin, end, found)`` is what one
    thread makes of elements ``begin`` to ``end``, behind what was found before.
    ``merge(of_threads, lane, threads, hop)`` combines what threads have left there, each a hop from
    the next: neighbours, then theirs. ``take_tiles(of_threads, data, begin, end, found)`` is what
    the first lane of a warp makes of elements that lie together from a multiple of 16 bytes on, and
    of which whole tiles are taken.
    """

    take_run: Any
    merge: Any
    take_tiles: Any


@cache
def _way(part: CustomPart, values: str, levels: Levels | None) -> _Way:
    combine, element, number = _combiner(part), element_type(values), from_dtype(part.dtype)
    masked, size = part.masked, batch_size(values)
    width = WIDE_BYTES // np.dtype(values).itemsize
    tile, unpack = size * WARP, unpacker(width)
    _, find, _ = rows_one_by_one(levels)
    # Where a place has the step between neighbours and, if elements are nested, how many there are.
    is_regular, length, step = levels is None, 0, 2
    if levels is not None:
        length, step = levels.jumps - 1, levels.jumps + levels.elements - 1

    @cuda.jit(device=True)
    @specialised
    def take_run(data, place, origin, mask, mask_place, mask_origin, begin, end, found):
        i = int64(begin)
        if not masked:
            few = cuda.local.array(SOME, element)
            while i + SOME <= end:
                at = origin + find(place, i)
                if is_regular or i % place[length] <= place[length] - SOME:
                    for j in range(SOME):
                        few[j] = data[at + j * place[step]]
                else:
                    for j in range(SOME):
                        few[j] = data[origin + find(place, i + j)]
                for j in range(SOME):
                    found = combine(found, few[j])
                i += SOME
        while i < end:
            counts = True
            if masked:
                counts = mask[mask_origin + find(mask_place, i)] != 0
            if counts:
                found = combine(found, data[origin + find(place, i)])
            i += 1
        return found

    @cuda.jit(device=True)
    def merge(of_threads, lane, threads, hop):
        t = cuda.threadIdx.x
        half = 1
        while half < threads:
            if half * hop < WARP:
                cuda.syncwarp()
            else:
                cuda.syncthreads()
            if lane & (2 * half - 1) == 0:
                of_threads[t] = combine(of_threads[t], of_threads[t + half * hop])
            half *= 2

    @cuda.jit(device=True)
    def take_tiles(of_threads, data, begin, end, found):
        t = cuda.threadIdx.x
        lane = t & (WARP - 1)
        batch = cuda.local.array(size, element)
        i = begin
        while i + tile <= end:
            at = i + lane * size
            for which in range(size // width):
                unpack(load_16_bytes(data, at + which * width), batch, which * width)
            own = number(batch[0])
            for j in range(1, size):
                own = combine(own, batch[j])
            of_threads[t] = own
            merge(of_threads, lane, WARP, 1)
            if lane == 0:
                found = combine(found, of_threads[t])
            cuda.syncwarp()
            i += tile
        return found

    return _Way(take_run, merge, take_tiles)


@cache
def in_order(
    part: CustomPart, values: str, leave: Any, levels: Levels | None, *, threads_at_row: str,
    split: bool,
) -> Any:  # fmt: skip
    """Return the kernel that combines the elements of each row in their order.

    Called as those of `walk.along` and `side_by_side.across`, for rows that are divided as there;
    the states are numbers, and so is what is left. ``threads_at_row`` is "across" of rows that lie
    side by side, else "warps" or "lanes", of which a row has some.
    """
    combine, (take_run, merge, take_tiles) = _combiner(part), _way(part, values, levels)
    origin, _, target = rows_one_by_one(levels)
    identity, number = part.new(1)[0], from_dtype(part.dtype)
    itemsize = np.dtype(values).itemsize
    tile = batch_size(values) * WARP
    is_across, by_warps = threads_at_row == "across", threads_at_row == "warps"
    reads_wide = by_warps and not part.masked and levels is None

    @cuda.jit
    @specialised
    def combine_in_order(data, place, mask, mask_place, shape, _, states, tickets, results, option):
        of_threads = cuda.shared.array(THREADS, number)
        count, inner, length, pieces, piece = shape[:5]
        t = int32(cuda.threadIdx.x)
        # Logarithms of how many threads are at a row, and of the rows of a block.
        bits = int32(shape[5])
        many = int32(_BITS - bits)
        column, lane, hop = t >> bits, t & ((int32(1) << bits) - 1), 1
        if is_across:
            bits, many = many, bits
            column, lane, hop = t & ((int32(1) << many) - 1), t >> many, 1 << many
        threads = int32(1) << bits
        items = (count + (1 << many) - 1) >> many
        if split:
            items *= pieces
        item = int64(cuda.blockIdx.x)
        while item < items:
            group, begin = item, int64(0)
            if split:
                group = item // pieces
                begin = (item - group * pieces) * piece
            row = (group << many) + column
            end = min(begin + piece, length) if row < count else begin
            start, mask_start = origin(place, row, inner), origin(mask_place, row, inner)
            first, last, before, own, own_bits = begin, end, identity, lane, bits
            if by_warps:
                # A warp has whole tiles, and its lanes what is left at the end of them.
                own, own_bits = lane & (WARP - 1), int32(_WARP_BITS)
                share = (end - begin + (threads // WARP) - 1) >> (bits - own_bits)
                share = (share + tile - 1) & -tile
                first = min(begin + (lane // WARP) * share, end)
                last = min(first + share, end)
                if reads_wide and place[2] == 1:
                    address = address_of(data) + (start + first) * itemsize
                    aligned = min(first + (-address & (WIDE_BYTES - 1)) // itemsize, last)
                    if own == 0:
                        before = take_run(
                            data, place, start, mask, mask_place, mask_start,
                            first, aligned, before,
                        )  # fmt: skip
                    before = take_tiles(of_threads, data, start + aligned, start + last, before)
                    first = last - ((last - aligned) & (tile - 1))
            run = (last - first + (int32(1) << own_bits) - 1) >> own_bits
            first = min(first + own * run, last)
            of_threads[t] = take_run(
                data, place, start, mask, mask_place, mask_start,
                first, min(first + run, last), identity,
            )  # fmt: skip
            merge(of_threads, own, int32(1) << own_bits, hop)
            if by_warps:
                if own == 0:
                    of_threads[t] = combine(before, of_threads[t])
                merge(of_threads, lane // WARP, threads // WARP, WARP)
            is_first = lane == 0 and row < count
            if not split:
                if is_first:
                    leave(results, target(place, row), of_threads, t, length, option)
            else:
                if lane == 0:
                    states[(item << many) + column] = of_threads[t]
                if draw_ticket(tickets, group, pieces):
                    some = (pieces + threads - 1) >> bits
                    found = identity
                    for k in range(lane * some, min((lane + 1) * some, pieces)):
                        found = combine(found, states[((group * pieces + k) << many) + column])
                    of_threads[t] = found
                    merge(of_threads, lane, threads, hop)
                    if is_first:
                        leave(results, target(place, row), of_threads, t, length, option)
            # What the first threads found is read before others have the next piece's.
            cuda.syncthreads()
            item += cuda.gridDim.x

    return combine_in_order
