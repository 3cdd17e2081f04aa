"""How blocks and threads go over the rows of a matrix, whatever they accumulate.

`scanner` makes the loop of one thread over the part of a row that its block has. Where elements
follow each other in memory, each thread has four loads of 16 bytes on their way, as in the rung
`tuned`; single elements before the first multiple of 16 bytes and behind the last tile. Where they
do not, or a mask says which of them count, it has as many single loads on their way.

What a thread has loaded is a *batch*, in registers. A part brings device functions that take
a batch into a state, a record of 8-byte numbers in registers too:

* ``reset(state)``;
* ``take_all(state, batch, valid, first, width, hop)`` for what wide loads bring, ``take_few`` for
  a few single elements, ``take_some`` for such of which bit j of ``valid`` says whether element j
  counts. Element j has the index ``first + j // width * hop + j % width``. Where NaNs do not count,
  ``valid`` holds for all: 32 bits are enough for a batch of floats. It begins with 64, which Numba
  makes of what is shifted: one that began with fewer had what takes batches compiled for both;
* ``merge(states, i, others, j)``: state i takes in what other j has seen.

`along` is the kernel for rows whose elements lie together: a block has a piece of a row, or whole
rows as far as they are short; the states of the threads at a row are merged in shared memory, and
the block that finishes a row's last piece merges the pieces, as in the rung `last-block-finish`.
Those for rows that lie side by side are in `side_by_side`.

What becomes of a row's state is up to the caller, see `finish`: it is left as it is, for the host,
or the result is made of it in the same kernel.

Pieces depend on the matrix alone, not on the GPU. So does the order of every addition: the same
bits come out on any GPU for which the compiler makes the same operations of a kernel.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32, int64, uint32, uint64

from warpladder.device.grids import WARP
from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
from warpladder.reduction.gpu.layout import THREADS
from warpladder.reduction.loops.blocks import element_type

__all__ = [
    "SOME",
    "OnDevice",
    "along",
    "batch_size",
    "draw_ticket",
    "scanner",
    "singles",
    "state_copier",
    "unpacker",
]

SOME = 8
"""Elements that are loaded one by one, before any of them is used."""

_IN_FLIGHT = 4
_BITS = THREADS.bit_length() - 1
_HALF = THREADS // 2


class OnDevice(NamedTuple):
    """A `Part` on a device: what is kept, of which elements, and the device functions for it.

    ``dtype`` is a record of 8-byte numbers, ``values`` the name of the elements' dtype, ``size``
    how many of them ``take_all`` takes, whole groups of 16 bytes; the others take `SOME`.
    """

    dtype: np.dtype[Any]
    values: str
    masked: bool
    skip_nan: bool
    size: int
    reset: Any
    take_all: Any
    take_few: Any
    take_some: Any
    merge: Any


def batch_size(values: str) -> int:
    """Return how many elements a thread takes at a time: those of four wide loads.

    Examples
    --------
    >>> [batch_size(name) for name in ("int8", "float16", "float32", "float64")]
    [64, 32, 16, 8]
    """
    return _IN_FLIGHT * WIDE_BYTES // np.dtype(values).itemsize


@cache
def unpacker(count: int) -> Any:
    """Return a device function that puts the numbers of a tuple into a batch."""

    @cuda.jit(device=True)
    def unpack(numbers, batch, first):
        for k in range(count):
            batch[first + k] = numbers[k]

    return unpack


def singles(part: OnDevice, number: Any, *, lean: bool) -> Any:
    """Return what takes single elements, `SOME` of which are loaded before one is used.

    ``take_singles(state, data, where, hop, mask, mark, mark_hop, i, n, index, threads)``: a thread
    takes elements i, i + threads, ... below n. They lie in ``data`` from ``where`` on, a hop apart,
    their marks likewise; element 0 has the index ``index``. Places are unsigned: Numba asks of
    a signed index whether it counts from the end. ``number`` is the type to count elements with:
    of Numba 32 bits and 32 bits make 64. A ``lean`` one has a way of its own for elements
    of which no mask leaves any out, which takes registers.
    """
    _, values, masked, skip_nan, _, _, _, take_few, take_some, _ = part
    element = element_type(values)
    counts_all = lean and not masked

    # In `while` loops: a range of unknown step begins with a division of 64 bits. And by additions:
    # of so few elements, half of the time went into multiplying.
    @cuda.jit(device=True)
    @specialised
    def take_singles(state, data, where, hop, mask, mark, mark_hop, i, n, index, threads):
        few = cuda.local.array(SOME, element)
        if counts_all:
            whole = number(n - (SOME - 1) * threads)
            while i < whole:
                valid = uint64(0)
                for j in range(SOME):
                    few[j] = data[where]
                    where += hop
                if skip_nan:
                    for j in range(SOME):
                        if few[j] == few[j]:
                            valid |= uint32(1) << uint32(j)
                take_few(state, few, valid, index + i, 1, threads)
                i = number(i + SOME * threads)
        while i < n:
            valid, at = uint64(0), i
            for j in range(SOME):
                counts = at < n
                if masked and counts:
                    counts = mask[mark] != 0
                few[j] = 0
                if counts:
                    few[j] = data[where]
                    if not skip_nan or few[j] == few[j]:
                        valid |= uint32(1) << uint32(j)
                at, where, mark = number(at + threads), where + hop, mark + mark_hop
            take_some(state, few, valid, index + i, 1, threads)
            i = at

    return take_singles


def scanner(part: OnDevice, *, lean: bool = False) -> Any:
    """Return ``scan(state, data, start, step, mask, mask_start, mask_step, n, index, t, threads)``.

    So many threads, of which this is number t, go over ``data[start], data[start + step], ...``,
    n elements of which the first has the index ``index``. A ``lean`` one is for rows so short that
    many of their elements are single ones.
    """
    _, values, masked, skip_nan, size, _, take_all, _, _, _ = part
    element = element_type(values)
    itemsize = np.dtype(values).itemsize
    width = WIDE_BYTES // itemsize
    unpack, take_singles = unpacker(width), singles(part, int64, lean=lean)

    @cuda.jit(device=True)
    @specialised
    def scan(state, data, start, step, mask, mask_start, mask_step, n, index, t, threads):
        batch = cuda.local.array(size, element)
        hop, tile = width * threads, size * threads
        # All are single elements where they do not lie together, or a mask is to be read too.
        head, end_of_tiles = n, n
        if not masked and step == 1:
            begin = address_of(data) + start * itemsize
            head = min(n, (-begin & (WIDE_BYTES - 1)) // itemsize)
            end_of_tiles = head + ((n - head) & -tile)
            i = head + width * t
            while i < end_of_tiles:
                for which in range(size // width):
                    unpack(load_16_bytes(data, start + i + which * hop), batch, which * width)
                valid = uint64(0)
                if skip_nan:
                    for j in range(size):
                        if batch[j] == batch[j]:
                            valid |= uint32(1) << uint32(j)
                take_all(state, batch, valid, index + i, width, hop)
                i += tile
        for side in range(2):
            first, last = (end_of_tiles, n) if side else (0, head)
            i = int64(first + t)
            take_singles(
                state, data, uint64(start + i * step), uint64(threads * step),
                mask, uint64(mask_start + i * mask_step), uint64(threads * mask_step),
                i, int64(last), index, threads,
            )  # fmt: skip

    return scan


@cache
def state_copier(dtype: np.dtype[Any]) -> Any:
    """Return ``copy(states, i, others, j)``: state i becomes what other j is.

    Field by field: a record as a whole is copied byte by byte. On an H200 the norms of 64 x 1000 x
    64 float32 over the middle axis took 34 us so, and take 20.
    """
    copy: Any = _copy_nothing
    for name in dtype.names or ():
        copy = _copying(name, copy)
    return copy


@cuda.jit(device=True)
def _copy_nothing(states, i, others, j):
    pass


def _copying(name: str, rest: Any) -> Any:
    @cuda.jit(device=True)
    def copy(states, i, others, j):
        states[i][name] = others[j][name]
        rest(states, i, others, j)

    return copy


@cache
def block_merger(merge: Any) -> Any:
    """Return ``merge_block(of_threads, place, threads)``: neighbours' states into the first's.

    Of so many threads, a power of two, of which this is number ``place``; all of a block call it.
    """

    @cuda.jit(device=True)
    def merge_block(of_threads, place, threads):
        t = cuda.threadIdx.x
        half = threads // 2
        if half >= WARP:
            cuda.syncthreads()
        else:
            cuda.syncwarp()
        while half:
            if place < half:
                merge(of_threads, t, of_threads, t + half)
            half //= 2
            # The threads that go on, and those whose states they read, are of one warp at last.
            if half >= WARP:
                cuda.syncthreads()
            else:
                cuda.syncwarp()

    return merge_block


@cuda.jit(device=True)
def draw_ticket(tickets, row, all_tickets):
    """Return whether all blocks that work at a row have left there what they found."""
    is_last = cuda.shared.array(1, int32)
    # Each thread makes sure that what it left is seen by whoever sees the ticket.
    cuda.threadfence()
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        is_last[0] = cuda.atomic.add(tickets, row, 1) == all_tickets - 1
        if is_last[0]:
            # As the next launch needs it.
            tickets[row] = 0
        cuda.threadfence()
    cuda.syncthreads()
    return is_last[0]


@cache
def along(
    part: OnDevice, leave: Any, route: Any, registers: int | None = None,
    *, shared: bool, split: bool,
) -> Any:  # fmt: skip
    """Return the kernel in which a block has a piece of a row, or several rows: it is ``shared``.

    ``kernel(data, place, mask, mask_place, shape, index, states, tickets, results, option)``; the
    places are those of `layout.Field`; the shape is the number of rows, of those in a group, their
    length, pieces of each, length of a piece, and of the threads at a row the logarithm to base 2.
    Rows that share a block have one piece each; others are ``split`` if they have several. What is
    found in those is left in ``states``; there is a ticket at zero for each row, which is zero
    again afterwards. The ``route`` is one of `routes`, ``registers`` limits those of a thread.
    ``leave(results, place, states, i, length, option)`` is called for each row, with the place of
    its result, by the thread that has its state.
    """
    dtype, reset, merge = part.dtype, part.reset, part.merge
    (origin, scan, target), merge_block = route, block_merger(merge)
    copy = state_copier(dtype)

    @cuda.jit(device=True)
    def merge_two_chunks(states, state, of_threads, begin, left):
        """Do what `merge_pieces` does with more states than threads, and up to twice as many.

        Half of the threads has a chunk each, so that one is not waited for before the other. Their
        first round is merged as it is loaded.
        """
        t = cuda.threadIdx.x
        place = t & (_HALF - 1)
        at = (t - place) * 2 + place
        reset(state)
        if at < left:
            copy(state, 0, states, begin + at)
        copy(of_threads, t, state, 0)
        reset(state)
        if at + _HALF < left:
            copy(state, 0, states, begin + at + _HALF)
        merge(of_threads, t, state, 0)
        merge_block(of_threads, place, _HALF)
        cuda.syncthreads()
        if t == 0:
            merge(of_threads, 0, of_threads, _HALF)
            copy(states, begin, of_threads, 0)

    @cuda.jit(device=True)
    def merge_pieces(states, state, of_threads, begin, left):
        """Merge neighbouring states, as many at a time as there are threads."""
        t = cuda.threadIdx.x
        if THREADS < left <= 2 * THREADS:
            merge_two_chunks(states, state, of_threads, begin, left)
            return
        while left > 1:
            chunks = -(-left // THREADS)
            for chunk in range(chunks):
                at = chunk * THREADS + t
                reset(state)
                if at < left:
                    copy(state, 0, states, begin + at)
                copy(of_threads, t, state, 0)
                merge_block(of_threads, t, THREADS)
                if t == 0:
                    copy(states, begin + chunk, of_threads, 0)
                cuda.syncthreads()
            left = chunks

    @cached
    @cuda.jit(max_registers=registers)
    @specialised
    def reduce_along(data, place, mask, mask_place, shape, index, states, tickets, results, option):
        state = cuda.local.array(1, dtype)
        of_threads = cuda.shared.array(THREADS, dtype)
        count, inner, length, pieces, piece, bits = shape
        t = cuda.threadIdx.x
        lane, threads, items = t, THREADS, count
        if split:
            items = count * pieces
        if shared:
            threads = int32(1) << int32(bits)
            lane = t & (threads - 1)
            items = (count + (THREADS >> bits) - 1) >> (_BITS - bits)
        item = int64(cuda.blockIdx.x)
        while item < items:
            row, begin = item, int64(0)
            if shared:
                row = (item << (_BITS - bits)) + (t >> bits)
            if split:
                # A division takes as long as a hundred additions.
                row = item // pieces
                begin = (item - row * pieces) * piece
            n = min(piece, length - begin) if row < count else 0
            reset(state)
            scan(
                state, data, origin(place, row, inner), place,
                mask, origin(mask_place, row, inner), mask_place,
                begin, n, index + begin, lane, threads,
            )  # fmt: skip
            copy(of_threads, t, state, 0)
            merge_block(of_threads, lane, threads)
            if not split:
                if lane == 0 and row < count:
                    leave(results, target(place, row), of_threads, t, length, option)
            else:
                if t == 0:
                    copy(states, item, of_threads, 0)
                if draw_ticket(tickets, row, pieces):
                    merge_pieces(states, state, of_threads, row * pieces, pieces)
                    if t == 0:
                        leave(results, target(place, row), states, row * pieces, length, option)
            cuda.syncthreads()
            item += cuda.gridDim.x

    return reduce_along
