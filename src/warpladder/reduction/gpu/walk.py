"""How blocks and threads go over the rows of a matrix, whatever they accumulate.

`scanner` makes the loop of one thread over the part of a row that its block has. Where elements
follow each other in memory, each thread has four loads of 16 bytes on their way, as in the rung
`tuned`; single elements before the first multiple of 16 bytes and behind the last tile. Where they
do not, or a mask says which of them count, it has as many single loads on their way.

What a thread has loaded is a *batch*, in registers. A part brings device functions that take
a batch into a state, a record of 8-byte numbers in registers too:

* ``reset(state)``;
* ``take_all(state, batch, valid, first, width, hop)`` for what wide loads bring, ``take_some`` for
  a few single elements, of which bit j of ``valid`` says whether element j counts. Element j has
  the index ``first + j // width * hop + j % width``. Where NaNs do not count, ``valid`` holds for
  both: its 32 bits are enough for a batch of floats;
* ``merge(states, i, others, j)``: state i takes in what other j has seen.

`along` is the kernel for long rows: a block has a piece of a row, the states of its threads are
merged in shared memory, and the block that finishes a row's last piece merges the pieces, as in the
rung `last-block-finish`. `across` is the one for many rows: each thread has a piece of a row for
itself, neighbouring threads have neighbouring rows; `join` merges the pieces of each row.

Pieces depend on the matrix alone, not on the GPU. So does the order of every addition: the same
bits come out on any GPU for which the compiler makes the same operations of a kernel.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32, uint32

from warpladder.device.kernel_cache import cached
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
from warpladder.reduction.blocks import element_type
from warpladder.reduction.gpu.layout import THREADS

__all__ = [
    "LARGEST_PIECE",
    "SOME",
    "OnDevice",
    "Pieces",
    "across",
    "along",
    "batch_size",
    "draw_ticket",
    "join",
    "pieces_of",
    "scanner",
]

SOME = 8
"""Elements that are loaded one by one, before any of them is used."""

_IN_FLIGHT = 4
# Elements of a piece: enough to pay for merging 256 states; few enough that sums round little. On
# an H200, whose 132 multiprocessors have 4 such blocks each, five statistics of 2^28 float32 take
# 273 us in 512 pieces and 289 in 1024, argmax 258 and 262, a sum 255 and 257.
_LEAST_PIECE, _MOST_PIECES, LARGEST_PIECE = 4096, 512, 1 << 19
# Of a thread's own piece, and how many threads there should be at least.
_OWN_PIECE, _OWN_PIECES = (64, 1024), 1 << 17
# Rows up to this long are left to a thread each.
_SHORT = 64
_MOST_BLOCKS = 1 << 20


class OnDevice(NamedTuple):
    """A `Part` on a device: what is kept, of which elements, and the device functions for it.

    ``dtype`` is a record of 8-byte numbers, ``values`` the name of the elements' dtype, ``size``
    how many of them ``take_all`` takes, whole groups of 16 bytes; ``take_some`` takes `SOME`.
    """

    dtype: np.dtype[Any]
    values: str
    masked: bool
    skip_nan: bool
    size: int
    reset: Any
    take_all: Any
    take_some: Any
    merge: Any


class Pieces(NamedTuple):
    """How rows are cut: whether each thread has pieces of its own, how many a row has, how long."""

    own: bool
    each: int
    length: int


def pieces_of(
    count: int, length: int, pitch: int, step: int, largest: int = LARGEST_PIECE
) -> Pieces:
    """Return how to cut ``count`` rows of a length that lie so.

    ``largest`` is the number of elements in a block's piece at the most.

    Examples
    --------
    >>> pieces_of(1, 1 << 28, 0, 1), pieces_of(2048, 20_000, 1, 2048)
    (Pieces(own=False, each=512, length=524288), Pieces(own=True, each=63, length=320))
    """
    if length <= _SHORT or (count >= THREADS and abs(pitch) < abs(step)):
        least, most = _OWN_PIECE
        wanted = -(-count * length // _OWN_PIECES)
        size = -(-min(max(wanted, least), most) // least) * least
        return Pieces(True, -(-length // size), size)
    wanted = -(-count * length // _MOST_PIECES)
    size = -(-min(max(wanted, _LEAST_PIECE), largest) // _LEAST_PIECE) * _LEAST_PIECE
    return Pieces(False, -(-length // size), size)


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


def scanner(part: OnDevice) -> Any:
    """Return ``scan(state, data, start, step, mask, mask_start, mask_step, n, index)``.

    A block goes over ``data[start], data[start + step], ...``, n elements of which the first has
    the index ``index``.
    """
    _, values, masked, skip_nan, size, _, take_all, take_some, _ = part
    element = element_type(values)
    itemsize = np.dtype(values).itemsize
    width = WIDE_BYTES // itemsize
    unpack = unpacker(width)
    hop = width * THREADS
    tile = size * THREADS

    @cuda.jit(device=True)
    def scan(state, data, start, step, mask, mask_start, mask_step, n, index):
        batch = cuda.local.array(size, element)
        few = cuda.local.array(SOME, element)
        t = cuda.threadIdx.x
        # All are single elements where they do not lie together, or a mask is to be read too.
        head, end_of_tiles = n, n
        if not masked and step == 1:
            begin = address_of(data) + start * itemsize
            head = min(n, (-begin & (WIDE_BYTES - 1)) // itemsize)
            end_of_tiles = head + (n - head) // tile * tile
            for i in range(head + width * t, end_of_tiles, tile):
                for which in range(size // width):
                    unpack(load_16_bytes(data, start + i + which * hop), batch, which * width)
                valid = uint32(0)
                if skip_nan:
                    for j in range(size):
                        if batch[j] == batch[j]:
                            valid |= uint32(1) << uint32(j)
                take_all(state, batch, valid, index + i, width, hop)
        for side in range(2):
            first, last = (end_of_tiles, n) if side else (0, head)
            for i in range(first + t, last, SOME * THREADS):
                valid = uint32(0)
                for j in range(SOME):
                    at = i + j * THREADS
                    counts = at < last
                    if masked and counts:
                        counts = mask[mask_start + at * mask_step] != 0
                    few[j] = 0
                    if counts:
                        few[j] = data[start + at * step]
                        if not skip_nan or few[j] == few[j]:
                            valid |= uint32(1) << uint32(j)
                take_some(state, few, valid, index + i, 1, THREADS)

    return scan


@cache
def block_merger(merge: Any) -> Any:
    """Return a device function that merges the states of a block's threads into the first."""

    @cuda.jit(device=True)
    def merge_block(of_threads):
        t = cuda.threadIdx.x
        cuda.syncthreads()
        half = THREADS // 2
        while half:
            if t < half:
                merge(of_threads, t, of_threads, t + half)
            cuda.syncthreads()
            half //= 2

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
def along(part: OnDevice, registers: int | None = None) -> Any:
    """Return the kernel in which a block has a piece of a row.

    ``kernel(data, place, mask, mask_place, shape, index, states, tickets)``; the places are those
    of `layout.Field`, the shape is the number of rows, their length, pieces of each, length of a
    piece. The state of row k is left in ``states[k]``. Where rows have several pieces, the states
    of these are behind those of the rows, and there is a ticket at zero for each row, which is
    zero again afterwards. ``registers`` limits those of a thread.
    """
    dtype, reset, merge = part.dtype, part.reset, part.merge
    scan, merge_block = scanner(part), block_merger(merge)

    @cuda.jit(device=True)
    def merge_pieces(states, state, of_threads, begin, left):
        """Merge neighbouring states, as many at a time as there are threads."""
        t = cuda.threadIdx.x
        while left > 1:
            chunks = -(-left // THREADS)
            for chunk in range(chunks):
                at = chunk * THREADS + t
                reset(state)
                if at < left:
                    state[0] = states[begin + at]
                of_threads[t] = state[0]
                merge_block(of_threads)
                if t == 0:
                    states[begin + chunk] = of_threads[0]
                cuda.syncthreads()
            left = chunks

    @cached
    @cuda.jit(max_registers=registers)
    def reduce_along(data, place, mask, mask_place, shape, index, states, tickets):
        state = cuda.local.array(1, dtype)
        of_threads = cuda.shared.array(THREADS, dtype)
        count, length, pieces, piece = shape
        t = cuda.threadIdx.x
        for item in range(cuda.blockIdx.x, count * pieces, cuda.gridDim.x):
            row = item // pieces
            begin = item % pieces * piece
            start = place[0] + row * place[1] + begin * place[2]
            mask_start = mask_place[0] + row * mask_place[1] + begin * mask_place[2]
            n = min(piece, length - begin)
            reset(state)
            scan(state, data, start, place[2], mask, mask_start, mask_place[2], n, index + begin)
            of_threads[t] = state[0]
            merge_block(of_threads)
            if pieces == 1:
                if t == 0:
                    states[row] = of_threads[0]
            else:
                if t == 0:
                    states[count + item] = of_threads[0]
                if draw_ticket(tickets, row, pieces):
                    merge_pieces(states, state, of_threads, count + row * pieces, pieces)
                    if t == 0:
                        states[row] = of_threads[0]
            cuda.syncthreads()

    return reduce_along


@cache
def across(part: OnDevice) -> Any:
    """Return the kernel in which each thread has a piece of a row.

    ``kernel(data, place, mask, mask_place, shape, index, states)``, as that of `along`, but states
    of several pieces are not yet joined to those of rows.
    """
    dtype, values, masked, skip_nan, _, reset, _, take_some, _ = part
    element = element_type(values)

    @cached
    @cuda.jit
    def reduce_across(data, place, mask, mask_place, shape, index, states):
        state = cuda.local.array(1, dtype)
        few = cuda.local.array(SOME, element)
        count, length, pieces, piece = shape
        before = count if pieces > 1 else 0
        for item in range(cuda.grid(1), count * pieces, cuda.gridsize(1)):
            row, number = item % count, item // count
            begin = number * piece
            start = place[0] + row * place[1] + begin * place[2]
            mask_start = mask_place[0] + row * mask_place[1] + begin * mask_place[2]
            n = min(piece, length - begin)
            reset(state)
            for i in range(0, n, SOME):
                valid = uint32(0)
                for j in range(SOME):
                    counts = i + j < n
                    if masked and counts:
                        counts = mask[mask_start + (i + j) * mask_place[2]] != 0
                    few[j] = 0
                    if counts:
                        few[j] = data[start + (i + j) * place[2]]
                        if not skip_nan or few[j] == few[j]:
                            valid |= uint32(1) << uint32(j)
                take_some(state, few, valid, index + begin + i, 1, 1)
            states[before + row * pieces + number] = state[0]

    return reduce_across


@cache
def join(part: OnDevice) -> Any:
    """Return the kernel that merges the states of each row's pieces, pairwise and in their order.

    ``kernel(states, count, pieces)``, the states as `across` leaves them: those of pieces are lost.
    A block has a row.
    """
    merge = part.merge

    @cached
    @cuda.jit
    def join_pieces(states, count, pieces):
        t = cuda.threadIdx.x
        for row in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            begin = count + row * pieces
            distance = 1
            while distance < pieces:
                for i in range(2 * distance * t, pieces - distance, 2 * distance * THREADS):
                    merge(states, begin + i, states, begin + i + distance)
                cuda.syncthreads()
                distance *= 2
            if t == 0:
                states[row] = states[begin]

    return join_pieces
