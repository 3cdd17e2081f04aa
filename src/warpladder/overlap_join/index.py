"""The inverted index: for each id the rows that have it, in order.

Rows are cut into blocks. The list of an id runs through all blocks one after the other, and
``starts`` says where each block's part of it begins. So a posting need only say which row of its
block it is: 16 bits where blocks have 65,536 rows at most, and half the traffic.

Lists are filled from their ends, the last row first. When a row comes to be listed, what stands in
its list already are the rows behind it, with which alone it is joined: where they begin and how
many they are is written down beside the row's id. So a join of rows with themselves reads where
its lists are in the order of its rows, and looks nothing up, which with many ids costs more than
short lists themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.crew import each
from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.forms import parts_of_rows
from warpladder.overlap_join.lanes import COPIED, fetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Rows

__all__ = [
    "AHEAD",
    "BLOCK_BITS",
    "LONGEST_LIST",
    "ONE_BLOCK",
    "SIZE_BITS",
    "Index",
    "Tails",
    "bucket_of",
    "build_index",
    "list_of",
    "no_tails",
    "rows_behind",
]

BLOCK_BITS = 16
"""Blocks have 2^16 rows at most: postings take 16 bits."""

ONE_BLOCK = 31
"""Blocks of as many rows as there can be, for lists that are not to be cut."""

SIZE_BITS = 24
"""Of a word of `Index.behind` how many rows there are takes so many bits; above is where."""
LONGEST_LIST = (1 << SIZE_BITS) - 1
"""Of rows behind one of a list, `Index.behind` says so many at most."""

# Below so many ids threads cost more than they give.
_IDS_PER_WORKER = 1 << 17
AHEAD = 16
"""How many ids ahead memory is asked for: 2 M ids are listed in 67 ms without, in 36 with it."""


class Tails(NamedTuple):
    """What rows meet that were listed as they were given (`listing`): of each list what is behind.

    Attributes
    ----------
    met
        Of each row the rows behind it in its short lists, one list after the other: uint16.
    lists
        All lists, each with `END` behind it: uint16.
    long
        Of each row where in ``lists`` the rows behind it begin that are too many to be in ``met``:
        int32.
    hot
        Of each row at which words of a panel its masks begin: int32.
    ends
        For each part of the ids and each row where in ``met``, ``long`` and ``hot`` what is its own
        ends; it begins where that of the next row ends: int64, (parts, rows + 1, 3).
    """

    met: NDArray[np.uint16]
    lists: NDArray[np.uint16]
    long: NDArray[np.int32]
    hot: NDArray[np.int32]
    ends: NDArray[np.int64]


class Index(NamedTuple):
    """The lists of ids.

    Attributes
    ----------
    bits
        Blocks have 2^bits rows.
    blocks
        How many blocks there are.
    first
        Ids below this have no list.
    starts
        Where the part of a list begins that is in a block, at ``(id - first) * blocks + block``,
        int64. A part ends where the next one begins; behind all there is an empty one.
    postings
        Rows, counted from the first of their block, ascending: uint16, or int32 for blocks of more
        rows than that holds. Behind them stand `COPIED` more, so that so many can be read from
        wherever a list begins.
    behind
        For each id of each row, the part of its list with the rows of the same block that come
        after, for `rows_behind` to read. Zeros follow, so that places some way ahead can be read.
        Empty where it was not asked for.
    tails
        Where rows were listed as they were given, what stands for all of this; else empty.
    """

    bits: int
    blocks: int
    first: int
    starts: NDArray[np.int64]
    postings: NDArray[Any]
    behind: NDArray[np.int64]
    tails: Tails


def build_index(
    rows: Rows,
    ids: tuple[int, int],
    prefixes: NDArray[np.int64],
    bits: int,
    *,
    with_behind: bool = False,
) -> Index:
    """Index some ids that stand in the first places of each row.

    Parameters
    ----------
    rows
        The rows.
    ids
        The first that gets a list, and the first behind it that gets none.
    prefixes
        How many of its first ids each row is listed for.
    bits
        Of blocks: `BLOCK_BITS` at most, or `ONE_BLOCK`.
    with_behind
        Whether `Index.behind` is wanted; blocks, or lists, must have no more than `LONGEST_LIST`
        rows then.
    """
    n = len(rows)
    blocks = max(1, -(-n >> bits)) if bits < ONE_BLOCK else 1
    first, last = ids
    buckets = (last - first) * blocks
    posting = np.uint16 if bits <= BLOCK_BITS else np.int32
    noted = rows.items.size + AHEAD if with_behind else 0
    if not buckets:
        # Where hot ids are all that rows share, no pass over them is needed.
        no_lists = np.zeros(2, np.int64), np.zeros(COPIED, posting), np.zeros(noted, np.int64)
        return Index(bits, blocks, first, *no_lists, no_tails())
    workers = max(1, min(worker_count(), rows.items.size // max(_IDS_PER_WORKER, buckets)))
    # Each thread has its own rows and its own part of every list, so that lists come out in order.
    bounds = parts_of_rows(rows.starts, workers)
    # Of 32 bits, where that is enough: more of them stay in caches. The last list stays empty, for
    # ids that have none.
    width = np.int32 if rows.items.size <= np.iinfo(np.int32).max else np.int64
    places = np.zeros((workers, buckets + 2), width)

    def given(part: int) -> tuple[Any, ...]:
        return rows.starts, rows.items, prefixes, ids, *bounds[part : part + 2], bits, blocks

    each(lambda part: _count(*given(part), places[part]), workers)
    starts = np.empty(buckets + 2, np.int64)
    _end(places, starts)
    postings = np.empty(starts[-1] + COPIED, posting)
    behind = np.empty(noted, np.int64)
    behind[rows.items.size :] = 0
    each(lambda part: _fill(*given(part), places[part], starts, postings, behind), workers)
    return Index(bits, blocks, first, starts, postings, behind, no_tails())


def no_tails() -> Tails:
    """Return what stands in an index of rows that were not listed as they were given."""
    rows, places = np.empty(0, np.uint16), np.empty(0, np.int32)
    return Tails(rows, rows, places, places, np.empty((0, 0, 3), np.int64))


@cached
@njit(nogil=True, inline="always")
def rows_behind(index: Any, k: Any) -> Any:
    """Return where the rows behind its own begin in the list of the id at place k, and end."""
    place = index.behind[k] >> SIZE_BITS
    return place, place + (index.behind[k] & LONGEST_LIST)


@cached
@njit(nogil=True, inline="always")
def list_of(index: Any, code: Any, block: Any) -> Any:
    """Return where the part of an id's list begins and ends that is in a block."""
    bucket = bucket_of(index, code, block)
    return index.starts[bucket], index.starts[bucket + 1]


@cached
@njit(nogil=True, inline="always")
def bucket_of(index: Any, code: Any, block: Any) -> Any:
    """Return the place of a list in ``starts``: the last, an empty one, for ids without."""
    bucket = (np.int64(code) - index.first) * index.blocks + block
    last = len(index.starts) - 2
    return bucket if 0 <= bucket < last else last


@cached
@njit(nogil=True)
def _end(counts: Any, starts: Any) -> None:
    """Turn each thread's counts into where its parts of lists end; say where lists begin."""
    place = 0
    for bucket in range(len(starts)):
        starts[bucket] = place
        for part in range(len(counts)):
            place += counts[part, bucket]
            counts[part, bucket] = place


@cached
@njit(nogil=True)
def _count(
    starts: Any, items: Any, prefixes: Any, ids: Any, first: Any, last: Any, bits: Any, blocks: Any,
    counts: Any,
) -> None:  # fmt: skip
    listed, end = ids
    for i in range(first, last):
        block = i >> bits
        for k in range(starts[i], starts[i] + prefixes[i]):
            if items[k] >= end:
                break
            if items[k] >= listed:
                counts[np.int64(items[k] - listed) * blocks + block] += 1


@cached
@njit(nogil=True)
def _fill(
    starts: Any, items: Any, prefixes: Any, ids: Any, first: Any, last: Any, bits: Any, blocks: Any,
    places: Any, list_starts: Any, postings: Any, behind: Any,
) -> None:  # fmt: skip
    listed, end = ids
    for i in range(last - 1, first - 1, -1):
        block = i >> bits
        row = i - (block << bits)
        for k in range(starts[i] + prefixes[i] - 1, starts[i] - 1, -1):
            code = items[max(k - AHEAD, 0)]
            if listed <= code < end:
                bucket = np.int64(code - listed) * blocks + block
                fetch(places, bucket)
                fetch(list_starts, bucket + 1)
            code = items[max(k - AHEAD // 2, 0)]
            if listed <= code < end:
                bucket = np.int64(code - listed) * blocks + block
                fetch(postings, max(places[bucket] - 1, 0))
            code = items[k]
            if listed <= code < end:
                bucket = np.int64(code - listed) * blocks + block
                place = places[bucket]
                if len(behind):
                    behind[k] = np.int64(place) << SIZE_BITS | (list_starts[bucket + 1] - place)
                postings[place - 1] = row
                places[bucket] = place - 1
            elif len(behind):
                behind[k] = 0
