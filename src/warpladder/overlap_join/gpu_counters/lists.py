"""The inverted index of a block of rows: for each id a list of the rows that have it.

All lists stand one behind the other in one array, and another says where each ends. They are made
by a counting sort: how often is each id there, what do running sums of that make, and then every
row writes its place into the list of each of its ids. Threads get their places in a list by atomic
additions, so the order within a list is left to chance; for counting it does not matter.

Lists are read 16 bytes at a time, so each begins at a multiple of that, and is filled up to one.
What fills it up are the numbers of `SPARE` counters that stand for no row. Whoever reads a list
then has nothing to ask of a posting: it is added to its counter, and the spare ones are not read.

Postings come to lists all over the index. Where it is larger than the L2 cache, a sector of 32
bytes would be read and written back for each of 2 or 4. So lists are written some ids at a time, as
many as stay in the cache; rows are sorted, so each goes on where it was.

Each addition moves the beginning of a list on by one, until it has become its end. So occurrences
of id ``c`` are counted in element ``c + 2``: the running sums then stand one further than where
they will be in the end, and nothing has to be copied.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda

from warpladder.device.grids import EVERYBODY, WARP, blocks_for
from warpladder.device.kernel_cache import cached
from warpladder.device.wide_loads import WIDE_BYTES
from warpladder.errors import TooLargeError
from warpladder.overlap_join.gpu_counters.prefix import running_sums

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["SPARE", "SPARE_WORDS", "Lists", "build_lists", "most_postings", "posting_type"]

#: Words of counters of 8 bits that stand for no row, and counters: as many words as there are banks
#: for additions of several threads to be spread over.
SPARE_WORDS = 8
SPARE = 4 * SPARE_WORDS
_THREADS = 256
_BLOCKS_PER_MULTIPROCESSOR = 8
#: Postings of a load at most.
_IN_LOAD = WIDE_BYTES // 2
#: Of lists that are written at a time. For 65,504 of 2,000,000 rows of 1,000 ids that takes 1.7 ms
#: on an H200, whose L2 cache has 60 MB, where all lists at once take 3.6; 16 and 32 MiB take as
#: long, 8 and 48 longer.
_BYTES_AT_A_TIME = 24 << 20


class Lists(NamedTuple):
    """The index of a block of rows, on the device.

    Attributes
    ----------
    ends
        Zero, and where the list of each id ends: uint32. It begins where the one before it ends, or
        at the next multiple of 16 bytes.
    postings
        The lists: of each row the number of its counter, 32 bits or 16 where these suffice; as
        words of 32 bits, a multiple of 16 bytes.
    """

    ends: Any
    postings: Any


@cached
@cuda.jit
def count_ids(items, first, last, ids, ends):
    """Count how often each of the first ``ids`` ids is among some items."""
    i = first + cuda.grid(1)
    while i < last:
        code = items[i]
        if code < ids:
            cuda.atomic.add(ends, code + 2, 1)
        i += cuda.gridsize(1)


@cached
@cuda.jit
def round_up_counts(ends, in_load):
    """Make of how often an id is there how many places its list takes."""
    i = cuda.grid(1)
    while i < ends.size:
        ends[i] = (ends[i] + in_load - 1) // in_load * in_load
        i += cuda.gridsize(1)


@cached
@cuda.jit
def fill_lists(ends, low, high, counters, postings):
    """Write spare counters into the lists of ids from ``low`` to before ``high``.

    Each is the last of a word: what it carries over is lost.
    """
    i = ends[low + 1] + cuda.grid(1)
    last = ends[high + 1]
    while i < last:
        # Neighbours, and those at the same place of neighbouring loads, have other words.
        word = (i + i // SPARE_WORDS) % SPARE_WORDS
        postings[i] = counters + 4 * word + 3
        i += cuda.gridsize(1)


@cached
@cuda.jit
def write_postings(starts, items, rows, counters, high, reached, ends, postings):
    """Write each row into the lists of its ids below ``high``, row ``r`` as ``r % counters``.

    A warp takes a row, and begins where ``reached`` says that it has come to.
    """
    lane = cuda.threadIdx.x % WARP
    row = cuda.grid(1) // WARP
    while row < rows:
        first, end = starts[row] + reached[row], starts[row + 1]
        written = WARP
        while written == WARP:
            code = high
            if first + lane < end:
                code = items[first + lane]
            if code < high:
                postings[cuda.atomic.add(ends, code + 1, 1)] = row % counters
            written = cuda.popc(cuda.ballot_sync(EVERYBODY, code < high))
            first += written
        cuda.syncwarp()
        if lane == 0:
            reached[row] = first - starts[row]
        row += cuda.gridsize(1) // WARP


def most_postings(ids: int) -> int:
    """Return how many postings an index may have, so that places in full lists have 32 bits.

    Examples
    --------
    >>> most_postings(1_000_000), most_postings(1 << 31)
    (2147483647, 536870911)
    """
    all_ids = (1 << 32) - _IN_LOAD - (_IN_LOAD - 1) * ids
    return min(max(all_ids, (1 << 32) // _IN_LOAD - 1), (1 << 31) - 1)


def posting_type(counters: int) -> Any:
    """Return the narrowest type that holds the number of a counter.

    Examples
    --------
    >>> posting_type(65_536)
    <class 'numpy.uint16'>
    """
    return np.uint16 if counters <= 1 << 16 else np.uint32


def build_lists(
    device: Device,
    starts: Any,
    items: Any,
    span: tuple[int, int],
    ids: int,
    counters: int,
) -> Lists:
    """Return the index of a block of rows.

    Parameters
    ----------
    device
        Where it is made.
    starts
        Where the rows of the block begin in ``items``, and where the last ends: int64, on the
        device.
    items
        Ids of rows, ascending in each: int32, on the device.
    span
        The first and the last of ``starts``, known to the host.
    ids
        How many codes are indexed: those from this one on have no list.
    counters
        Into how many counters rows are folded, a multiple of 4; the number of rows, or more, gives
        each its own. `SPARE` more of them have numbers.

    Returns
    -------
    Lists
        Takes 4 bytes for each id, and 2 or 4 for each item and for what fills up lists: at least 16
        for each id that is there.

    Raises
    ------
    TooLargeError
        The block is one row of more ids than an index may have postings.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> device = SimulatedDevice()
    >>> starts, items = np.array([0, 2, 3]), np.array([0, 2, 2], np.int32)
    >>> there = device.to_device(starts), device.to_device(items)
    >>> ends, postings = build_lists(device, *there, (0, 3), 3, 4)
    >>> device.to_host(ends), sorted(device.to_host(postings.view(np.uint16))[8:10].tolist())
    (array([ 0,  1,  8, 10], dtype=uint32), [0, 1])
    """
    first, last = span
    if last - first > most_postings(ids):
        raise TooLargeError(
            f"rows: one has {last - first:,} ids, and an index on a GPU can have at most "
            f"{most_postings(ids):,}; give device='cpu'"
        )
    rows = starts.shape[0] - 1
    ends = device.full(ids + 2, 0, np.uint32)
    kind = np.dtype(posting_type(counters + SPARE))
    in_load = WIDE_BYTES // kind.itemsize
    at_most = _BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors

    def blocks(threads: int) -> int:
        return max(min(blocks_for(threads, _THREADS), at_most), 1)

    if last == first:
        # Kernels load from the first place on where there is no list, too.
        return Lists(ends[: ids + 1], device.full(in_load, counters, kind).view(np.uint32))
    device.launch(count_ids, blocks(last - first), _THREADS, items, first, last, ids, ends)
    device.launch(round_up_counts, blocks(ids), _THREADS, ends, in_load)
    running_sums(device, ends, ends)
    places = max(int(device.to_host(ends[ids + 1 :])[0]), in_load)
    postings = device.empty(places, kind)
    reached = device.full(rows, 0, np.int32)
    times = max(-(-postings.nbytes // _BYTES_AT_A_TIME), 1)
    for low, high in pairwise(ids * time // times for time in range(times + 1)):
        device.launch(
            fill_lists, blocks(places // times), _THREADS, ends, low, high, counters, postings
        )
        device.launch(
            write_postings, blocks(rows * WARP), _THREADS, starts, items, rows, counters, high,
            reached, ends, postings,
        )  # fmt: skip
    return Lists(ends[: ids + 1], postings.view(np.uint32))
