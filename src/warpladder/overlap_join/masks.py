"""The masks of hot ids: for each id and each panel of right rows a bit for every row that has it.

A panel is 1,024 right rows. Its masks stand together, that of one id in 128 bytes, two lines of the
cache; behind them stands one without a bit, for what needs eight masks and has fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.crew import each
from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.slices import ROWS, WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Rows
    from warpladder.overlap_join.index import Index

__all__ = [
    "PANEL_BITS",
    "Masks",
    "aligned_words",
    "are_met_at_once",
    "empty_masks",
    "masks_of",
    "memory_of_masks",
]

PANEL_BITS = 10
"""A panel has 2^10 rows, as many as a slice has bits."""

_ONE = np.uint64(1)
_LINE = 64
# So many masks, 2 MB of them, are as many as the largest caches of one core hold. The rows told of
# in `slicing`, of 20 panels, take 29 to 31 ms with from 250 to 1,100 hot ids.
_MET_AT_ONCE = 1 << 14


class Masks(NamedTuple):
    """The masks of the last, and hottest, ids.

    Attributes
    ----------
    table
        Of each panel the masks of all hot ids, `WORDS` words each, and an empty one: uint64.
    cold
        Ids below this have no mask.
    hot
        How many have one.
    panels
        How many panels there are.
    most_listed
        A left row meets so many rows in the lists of cold ids at most; 0 where these are not
        sorted.
    at_once
        Whether a row meets all panels at once: what it meets in lists is added as it comes, then,
        and not sorted by panels before.
    """

    table: NDArray[np.uint64]
    cold: int
    hot: int
    panels: int
    most_listed: int
    at_once: bool


def aligned_words(count: int) -> NDArray[np.uint64]:
    """Return so many words, 0, from the beginning of a line of the cache on.

    A vector across two lines takes two loads.
    """
    room = np.zeros(count + _LINE // 8, np.uint64)
    first = -room.ctypes.data % _LINE // 8
    return room[first : first + count]


def memory_of_masks(rows: int, hot: int) -> int:
    """Return how many bytes the masks of so many right rows take, and hot ids; 0 for none."""
    return 8 * WORDS * -(-rows // ROWS) * (hot + 1) if hot else 0


def are_met_at_once(panels: int, hot: Any) -> Any:
    """Tell whether so many masks of so many panels are few enough for a row to meet all at once."""
    return panels * (hot + 1) <= _MET_AT_ONCE


def masks_of(left: Rows, index: Index, right: Rows, hot: int, *, at_once: bool = False) -> Masks:
    """Return the masks of right rows for the last ``hot`` ids; ``index`` has the others."""
    masks = empty_masks(right, hot, at_once=at_once)
    panels, cold = masks.panels, masks.cold
    workers = min(worker_count(), panels)
    # Each thread has panels of its own.
    bounds = [min(ROWS * (panels * part // workers), len(right)) for part in range(workers)]
    bounds.append(len(right))

    def mark(part: int) -> None:
        _mark(right.starts, right.items, cold, hot, *bounds[part : part + 2], masks.table)

    each(mark, workers)
    if at_once:
        return masks
    return masks._replace(most_listed=int(_most_listed(left.starts, left.items, cold, index)))


def empty_masks(right: Rows, hot: int, *, at_once: bool) -> Masks:
    """Return masks without any bit."""
    panels = max(1, -(-len(right) // ROWS))
    table = aligned_words(panels * (hot + 1) * WORDS)
    return Masks(table, right.universe - hot, hot, panels, 0, at_once)


@cached
@njit(nogil=True)
def _mark(starts: Any, items: Any, cold: Any, hot: Any, first: Any, last: Any, table: Any) -> None:
    for i in range(first, last):
        base = (i >> PANEL_BITS) * (hot + 1) * WORDS + ((i >> 6) & (WORDS - 1))
        bit = _ONE << np.uint64(i & 63)
        for k in range(starts[i + 1] - 1, starts[i] - 1, -1):
            if items[k] < cold:
                break
            table[base + (np.int64(items[k]) - cold) * WORDS] |= bit


@cached
@njit(nogil=True)
def _most_listed(starts: Any, items: Any, cold: Any, index: Any) -> Any:
    most = 0
    for i in range(len(starts) - 1):
        total = 0
        for k in range(starts[i], starts[i + 1]):
            if items[k] >= cold:
                break
            bucket = np.int64(items[k]) - index.first
            if bucket >= 0:
                total += index.starts[bucket + 1] - index.starts[bucket]
        most = max(most, total)
    return most
