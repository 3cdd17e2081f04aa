"""The inverted index of a block of rows: for each id a list of the rows that have it.

All lists stand one behind the other in one array, and another says where each begins. They are made
by a counting sort: how often is each id there, what do running sums of that make, and then every
row writes its place into the list of each of its ids. Threads get their places in a list by atomic
additions, so the order within a list is left to chance; for counting it does not matter.

Each addition moves the beginning of a list on by one, until it has become its end, which is where
the next one begins. So occurrences of id ``c`` are counted in element ``c + 2``: the running sums
then stand one further than where they will be in the end, and nothing has to be copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda

from warpladder.device.grids import WARP, blocks_for, round_up
from warpladder.device.kernel_cache import cached
from warpladder.device.wide_loads import WIDE_BYTES
from warpladder.overlap_join.gpu_counters.prefix import running_sums

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["MOST_POSTINGS", "Lists", "build_lists", "posting_type"]

#: Places are counted in 31 bits.
MOST_POSTINGS = (1 << 31) - 1
_THREADS = 256
_BLOCKS_PER_MULTIPROCESSOR = 8


class Lists(NamedTuple):
    """The index of a block of rows, on the device.

    Attributes
    ----------
    begins
        Where the list of each id begins, and the end of the last: uint32.
    postings
        The lists: of each row the number of its counter, 32 bits or 16 where these suffice; as
        words of 32 bits, a multiple of 16 bytes.
    """

    begins: Any
    postings: Any


@cached
@cuda.jit
def count_ids(items, first, last, ids, begins):
    """Count how often each of the first ``ids`` ids is among some items."""
    i = first + cuda.grid(1)
    while i < last:
        code = items[i]
        if code < ids:
            cuda.atomic.add(begins, code + 2, 1)
        i += cuda.gridsize(1)


@cached
@cuda.jit
def write_postings(starts, items, rows, counters, ids, begins, postings, in_load):
    """Write each row into the lists of its ids; a warp for each row.

    Row ``r`` has counter ``r % counters``. Postings are loaded ``in_load`` at a time, so a few
    behind the last one are written, too.
    """
    lane = cuda.threadIdx.x % WARP
    behind = begins[ids + 1]
    unused = max((behind + in_load - 1) // in_load, 1) * in_load - behind
    if cuda.grid(1) < unused:
        postings[behind + cuda.grid(1)] = 0
    row = cuda.grid(1) // WARP
    while row < rows:
        end = starts[row + 1]
        i = starts[row] + lane
        while i < end:
            code = items[i]
            if code < ids:
                postings[cuda.atomic.add(begins, code + 1, 1)] = row % counters
            i += WARP
        row += cuda.gridsize(1) // WARP


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
        Ids of rows: int32, on the device.
    span
        The first and the last of ``starts``, known to the host.
    ids
        How many codes are indexed: those from this one on have no list.
    counters
        Into how many counters rows are folded; the number of rows, or more, gives each its own.

    Returns
    -------
    Lists
        Takes 4 bytes for each id, and 2 or 4 for each item.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> device = SimulatedDevice()
    >>> starts, items = np.array([0, 2, 3]), np.array([0, 2, 2], np.int32)
    >>> there = device.to_device(starts), device.to_device(items)
    >>> begins, postings = build_lists(device, *there, (0, 3), 3, 2)
    >>> device.to_host(begins), sorted(device.to_host(postings.view(np.uint16))[1:3].tolist())
    (array([0, 1, 1, 3], dtype=uint32), [0, 1])
    """
    first, last = span
    rows = starts.shape[0] - 1
    begins = device.full(ids + 2, 0, np.uint32)
    kind = np.dtype(posting_type(counters))
    in_load = WIDE_BYTES // kind.itemsize
    if last == first:
        return Lists(begins[: ids + 1], device.full(in_load, 0, kind).view(np.uint32))
    postings = device.empty(round_up(last - first, in_load), kind)
    at_most = _BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors
    blocks = min(blocks_for(last - first, _THREADS), at_most)
    device.launch(count_ids, blocks, _THREADS, items, first, last, ids, begins)
    running_sums(device, begins, begins)
    blocks = min(blocks_for(rows * WARP, _THREADS), at_most)
    device.launch(
        write_postings, blocks, _THREADS, starts, items, rows, counters, ids, begins, postings,
        in_load,
    )  # fmt: skip
    return Lists(begins[: ids + 1], postings.view(np.uint32))
