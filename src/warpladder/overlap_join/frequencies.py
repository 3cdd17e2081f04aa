"""How often each id is listed, counted in tables as wide as the range of ids.

Threads that share a table must not count the same ids. Where the ids of each row ascend, what a
thread may count is one stretch of every row, and threads share one table; else each counts rows of
its own in a table of its own, and the tables are added.
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

__all__ = [
    "Classes",
    "Frequencies",
    "are_ascending",
    "classes_of",
    "count_ids",
    "count_in_stretches",
    "parts_of_table",
    "range_of",
    "workers_for",
]

# Below so many ids threads cost more than they give.
_IDS_PER_WORKER = 1 << 16
# Of so many ids it is told where all of them are cut into stretches of about as many.
_SAMPLED = 1 << 13


class Frequencies(NamedTuple):
    """How often ids are listed.

    Attributes
    ----------
    least
        The id that the first place of the table is for.
    counts
        How often the id of each place is listed: int32, or int64 for more than that holds; uint16
        where rows have been cut and are few enough.
    cuts
        Where the table is cut, by stretches of rows.
    stretches
        Where in each row its stretches begin, and where the last ends: int64, (stretches + 1,
        rows). There is none where rows have not been cut.
    """

    least: int
    counts: NDArray[Any]
    cuts: list[int]
    stretches: NDArray[np.int64]


class Classes(NamedTuple):
    """How many ids are listed how often, by parts of the table of counts.

    Attributes
    ----------
    bounds
        Where the table is cut.
    held
        Of each part how many ids are listed how often; the last count is of all that are more
        often.
    """

    bounds: list[int]
    held: NDArray[np.int64]

    @property
    def universe(self) -> int:
        """How many ids are listed at all."""
        return int(self.held[:, 1:].sum())


def workers_for(size: int, width: int) -> int:
    """Return how many threads so many ids are worth, if each has a table of so many places."""
    return max(1, min(worker_count(), size // max(_IDS_PER_WORKER, width // 2)))


def parts_of_table(width: int, parts: int) -> list[int]:
    """Return where a table is cut into so many parts."""
    return [width * part // parts for part in range(parts + 1)]


def are_ascending(starts: NDArray[np.int64], items: NDArray[Any]) -> bool:
    """Tell whether the ids of each row ascend, so that none is there twice."""
    workers = workers_for(items.size, 0)
    bounds = parts_of_rows(starts, workers)
    answers = [False] * workers

    def look(part: int) -> None:
        answers[part] = _are_ascending(starts, items, *bounds[part : part + 2])

    each(look, workers)
    return all(answers)


def range_of(starts: NDArray[np.int64], items: NDArray[Any], *, ascend: bool) -> tuple[int, int]:
    """Return the least and the largest id of rows; whether the ids of each ascend is known."""
    firsts = lasts = items
    if ascend:
        is_filled = starts[1:] > starts[:-1]
        firsts, lasts = items[starts[:-1][is_filled]], items[starts[1:][is_filled] - 1]
    return int(firsts.min()), int(lasts.max())


def count_in_stretches(
    starts: NDArray[np.int64], items: NDArray[Any], least: int, width: int
) -> Frequencies:
    """Count ids from ``least`` on, ``width`` different ones at most, of rows that ascend."""
    parts = workers_for(items.size, 0)
    # No row has an id twice. Of as few bits as are enough, more of the table stays in caches.
    are_few = len(starts) - 1 <= np.iinfo(np.uint16).max
    counts = np.zeros(width, np.uint16) if are_few else _zeros(items.size, width)
    sample = np.sort(items[:: max(1, items.size // _SAMPLED)])
    cuts = [int(sample[len(sample) * part // parts]) - least for part in range(1, parts)]
    cuts = [0, *cuts, width]
    stretches = np.empty((parts + 1, len(starts) - 1), np.int64)
    stretches[0], stretches[-1] = starts[:-1], starts[1:]

    def count(part: int) -> None:
        _count(items, stretches[part], stretches[part + 1], least, counts)

    bounds = parts_of_rows(starts, parts)

    def cut(some: int) -> None:
        first, last = bounds[some : some + 2]
        for part in range(1, parts):
            _cut(starts[first : last + 1], items, least + cuts[part], stretches[part, first:last])

    each(cut, parts)
    each(count, parts)
    return Frequencies(least, counts, cuts, stretches)


def count_ids(
    starts: NDArray[np.int64], items: NDArray[Any], least: int, width: int
) -> NDArray[Any]:
    """Count ids from ``least`` on, ``width`` different ones at most."""
    workers = workers_for(items.size, width)
    bounds = parts_of_rows(starts, workers)
    tables = [_zeros(items.size, width) for _ in range(workers)]

    def count(part: int) -> None:
        first, last = bounds[part : part + 2]
        _count(items, starts[first:last], starts[first + 1 : last + 1], least, tables[part])

    each(count, workers)
    for table in tables[1:]:
        np.add(tables[0], table, out=tables[0])
    return tables[0]


def classes_of(counts: NDArray[Any], bounds: list[int], different: int) -> Classes:
    """Return how many ids are listed how often, for so many different counts."""
    held = np.zeros((len(bounds) - 1, different), np.int64)
    each(lambda part: _count_counts(counts, *bounds[part : part + 2], held[part]), len(held))
    return Classes(bounds, held)


def _zeros(size: int, width: int) -> NDArray[Any]:
    return np.zeros(width, np.int32 if size <= np.iinfo(np.int32).max else np.int64)


@cached
@njit(nogil=True)
def _count_counts(counts: Any, first: Any, last: Any, held: Any) -> None:
    for place in range(first, last):
        held[np.uintp(min(counts[place], len(held) - 1))] += 1


@cached
@njit(nogil=True)
def _are_ascending(starts: Any, items: Any, first: Any, last: Any) -> Any:
    for i in range(first, last):
        descents = 0
        for k in range(starts[i] + 1, starts[i + 1]):
            # Without a look whether a place is below 0 this becomes vectors: 1 ms instead of 3.
            descents += items[np.uintp(k - 1)] >= items[np.uintp(k)]
        if descents:
            return False
    return True


@cached
@njit(nogil=True)
def _cut(starts: Any, items: Any, least: Any, places: Any) -> None:
    """Write down where in each row the ids from ``least`` on begin."""
    for i in range(len(places)):
        first, last = starts[i], starts[i + 1]
        while first < last:
            middle = (first + last) >> 1
            if items[middle] < least:
                first = middle + 1
            else:
                last = middle
        places[i] = first


@cached
@njit(nogil=True)
def _count(items: Any, begins: Any, ends: Any, least: Any, counts: Any) -> None:
    for i in range(len(begins)):
        for k in range(begins[i], ends[i]):
            counts[np.uintp(items[np.uintp(k)] - least)] += 1
