"""The inverted index: for each id the rows that have it, in order.

Rows are cut into blocks. The list of an id runs through all blocks one after the other, and
``ends`` says where each block's part of it ends. So a posting need only say which row of its block
it is: 16 bits where blocks have 65,536 rows, and half the traffic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.crew import each
from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.forms import parts_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Rows

__all__ = ["BLOCK_BITS", "ONE_BLOCK", "Index", "build_index"]

BLOCK_BITS = 16
"""Blocks have 2^16 rows: their counters of 8 bits take 64 KB, and postings 16 bits."""

ONE_BLOCK = 31
"""Blocks of as many rows as there can be, for lists that are not to be cut."""

# Below so many ids threads cost more than they give.
_IDS_PER_WORKER = 1 << 17


class Index(NamedTuple):
    """The lists of ids.

    Attributes
    ----------
    bits
        Blocks have 2^bits rows.
    blocks
        How many blocks there are.
    starts
        Where the part of a list begins that is in a block, at ``id * blocks + block``, and behind
        the last one its end: int64. A part ends where the next one begins.
    postings
        Rows, counted from the first of their block, ascending: uint16, or int32 for blocks of more
        rows than that holds.
    """

    bits: int
    blocks: int
    starts: NDArray[np.int64]
    postings: NDArray[Any]


def build_index(rows: Rows, ids: int, prefixes: NDArray[np.int64], bits: int) -> Index:
    """Index the ids below ``ids`` that stand in the first places of each row.

    Parameters
    ----------
    rows
        The rows.
    ids
        Ids from here on get no list.
    prefixes
        How many of its first ids each row is listed for.
    bits
        Of blocks: `BLOCK_BITS` or `ONE_BLOCK`.
    """
    n = len(rows)
    blocks = max(1, -(-n >> bits)) if bits < ONE_BLOCK else 1
    buckets = ids * blocks
    workers = max(1, min(worker_count(), rows.items.size // max(_IDS_PER_WORKER, buckets)))
    # Each thread has its own rows and its own part of every list, so that lists come out in order.
    bounds = parts_of_rows(rows.starts, workers)
    places = np.zeros((workers, buckets + 1), np.int64)

    def given(part: int) -> tuple[Any, ...]:
        return rows.starts, rows.items, prefixes, ids, *bounds[part : part + 2], bits, blocks

    each(lambda part: _count(*given(part), places[part]), workers)
    starts = np.empty(buckets + 1, np.int64)
    _start(places, starts)
    postings = np.empty(starts[-1], np.uint16 if bits <= BLOCK_BITS else np.int32)
    each(lambda part: _fill(*given(part), places[part], postings), workers)
    return Index(bits, blocks, starts, postings)


@cached
@njit(nogil=True)
def _start(counts: Any, starts: Any) -> None:
    """Turn each thread's counts into where its parts of lists begin; say where lists do."""
    place = 0
    for bucket in range(len(starts)):
        starts[bucket] = place
        for part in range(len(counts)):
            count = counts[part, bucket]
            counts[part, bucket] = place
            place += count


@cached
@njit(nogil=True)
def _count(
    starts: Any, items: Any, prefixes: Any, ids: Any, first: Any, last: Any, bits: Any, blocks: Any,
    counts: Any,
) -> None:  # fmt: skip
    for i in range(first, last):
        block = i >> bits
        for k in range(starts[i], starts[i] + prefixes[i]):
            if items[k] >= ids:
                break
            counts[np.int64(items[k]) * blocks + block] += 1


@cached
@njit(nogil=True)
def _fill(
    starts: Any, items: Any, prefixes: Any, ids: Any, first: Any, last: Any, bits: Any, blocks: Any,
    places: Any, postings: Any,
) -> None:  # fmt: skip
    for i in range(first, last):
        block = i >> bits
        row = i - (block << bits)
        for k in range(starts[i], starts[i] + prefixes[i]):
            if items[k] >= ids:
                break
            bucket = np.int64(items[k]) * blocks + block
            postings[places[bucket]] = row
            places[bucket] += 1
