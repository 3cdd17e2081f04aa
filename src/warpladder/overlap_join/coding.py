"""Ids coded from 0 on, the rarest first; each row's codes ascending, none twice.

The order is that of how often ids are listed. It puts what is rare, and so tells most, at the front
of every row, where the prefix filter looks first, and the few ids that half of the rows have at the
end, where signatures take them.

Integers that lie close together are counted in a table as wide as their range; others, and a range
far wider than there are ids, are sorted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.crew import each
from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.errors import InputError
from warpladder.overlap_join.forms import Rows, parts_of_rows
from warpladder.overlap_join.lanes import fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from warpladder.formats.sets import Sets

__all__ = ["Coded", "coded"]

# Ids within a range up to so many times their number are looked up in a table of that range.
_WIDEST_RANGE = 4
_SMALLEST_TABLE = 1 << 22
_MOST_CODES = (1 << 31) - 1
# Below so many ids threads cost more than they give.
_IDS_PER_WORKER = 1 << 16
# Rows up to here are sorted by insertion, longer ones by digits: of 100 ids, 12 ns an id, where
# Numba's quicksort takes 40; of 1,000, 7 and 53.
_SHORT_ROW = 32
# In tables of more ids codes are asked for before they are looked up: rows of 100 ids, 2 M in all
# out of 1,000,000, are coded and sorted in 22 ms of one core, and in 25 without. Where a cache next
# to the core has the table, asking takes longer than waiting.
_NEAR = 1 << 18
# Ids in fewer rows than this are put in order by counting how many are in how many.
_OFTEN = 1 << 16


class Coded(NamedTuple):
    """Both sides of a join, coded together.

    Attributes
    ----------
    left, right
        The rows; the same object where rows are joined with themselves.
    frequency
        In how many right rows each code is: int64.
    """

    left: Rows
    right: Rows
    frequency: NDArray[np.int64]


def coded(left: Sets, right: Sets | None = None, most_rows: float | None = None) -> Coded:
    """Code the rows of a join.

    Parameters
    ----------
    left
        One side.
    right
        The other; None where rows are joined with themselves.
    most_rows
        Ids that more rows than this have, of both sides together, are left out.

    Raises
    ------
    InputError
        The ids of one side are strings and those of the other integers, or there are more than
        2^31 - 1 rows or distinct ids.

    Examples
    --------
    >>> import numpy as np
    >>> from warpladder.formats.sets import Sets
    >>> sets = Sets(np.array([0, 3, 5]), np.array([70, 50, 50, 70, 20]))
    >>> rows = coded(sets).left
    >>> rows.starts, rows.items, rows.universe
    (array([0, 2, 4]), array([1, 2, 0, 2], dtype=int32), 3)
    """
    sides = [left] if right is None else [left, right]
    if any(len(side) > _MOST_CODES for side in sides):
        raise InputError(f"rows: there are more than {_MOST_CODES:,} of them")
    values = _comparable(sides)
    recode, listed = _codes_by_frequency(values)
    universe = len(listed)
    # One side is in as many rows as it is listed, less what rows have twice.
    taken_off = listed if right is None else None
    rows = [
        _sorted_rows(side, items, recode, universe, taken_off)
        for side, items in zip(sides, values, strict=True)
    ]
    frequency = [listed] if right is None else [_frequency(one) for one in rows]
    if most_rows is not None:
        is_kept = np.sum(frequency, axis=0) <= most_rows
        rows = [_without(one, is_kept) for one in rows]
        frequency = [np.where(is_kept, one, 0) for one in frequency]
    return Coded(rows[0], rows[-1], frequency[-1])


def _comparable(sides: Sequence[Sets]) -> list[NDArray[Any]]:
    """Return the ids of each side as integers that mean the same on both."""
    if len({side.words is None for side in sides if side.items.size}) > 1:
        raise InputError(
            "other: its ids are of another kind than those of rows, integers against strings; "
            "give both as strings"
        )
    first = sides[0].words
    if first is None or len(sides) == 1 or sides[1].words is None or sides[1].words is first:
        return [side.items for side in sides]
    number = {word: index for index, word in enumerate(first)}
    renumber = np.array(
        [number.setdefault(word, len(number)) for word in sides[1].words], dtype=np.int64
    )
    return [sides[0].items, renumber[sides[1].items]]


class _Recode(NamedTuple):
    """How ids become codes: by a table from the least id on, or by their place among all."""

    least: int
    distinct: NDArray[Any]
    table: NDArray[np.int32]


def _codes_by_frequency(values: list[NDArray[Any]]) -> tuple[_Recode, NDArray[np.int64]]:
    """Return what codes ids, and how often each code is listed."""
    filled = [items for items in values if items.size]
    none = np.empty(0, np.int64)
    if not filled:
        return _Recode(0, none, np.empty(0, np.int32)), none
    least = min(int(items.min()) for items in filled)
    width = max(int(items.max()) for items in filled) - least + 1
    total = sum(items.size for items in filled)
    distinct: NDArray[Any] = none
    if width <= max(_WIDEST_RANGE * total, _SMALLEST_TABLE) and width <= _MOST_CODES:
        counts = _table_counts(filled[0], least, width)
        for items in filled[1:]:
            counts = np.add(counts, _table_counts(items, least, width), dtype=np.int64)
    else:
        distinct, counts = np.unique(np.concatenate(filled), return_counts=True)
    parts = _workers(len(counts), _OFTEN)
    bounds = [len(counts) * part // parts for part in range(parts + 1)]
    held = np.zeros((parts, _OFTEN), np.int64)
    each(lambda part: _count_counts(counts, *bounds[part : part + 2], held[part]), parts)
    universe = len(counts) - int(held[:, 0].sum())
    if universe > _MOST_CODES:
        raise InputError(f"rows: there are more than {_MOST_CODES:,} distinct ids")
    often = universe - int(held[:, -1].sum())
    table, listed = np.empty(len(counts), np.int32), np.empty(universe, np.int64)
    _begin_codes(held)
    each(
        lambda part: _code_by_counts(counts, *bounds[part : part + 2], held[part], table, listed),
        parts,
    )
    order = np.argsort(listed[often:], kind="stable")
    if len(order) > 1:
        listed[often:] = listed[often:][order]
        code = np.empty(len(order), np.int32)
        code[order] = np.arange(often, universe, dtype=np.int32)
        places = np.flatnonzero(table >= often)
        table[places] = code[table[places] - often]
    return _Recode(least, distinct, table), listed


def _table_counts(items: NDArray[Any], least: int, width: int) -> NDArray[Any]:
    return _counted(lambda first, last, counts: _count(items, first, last, least, counts),
                    items.size, width)  # fmt: skip


def _frequency(rows: Rows) -> NDArray[np.int64]:
    items = rows.items
    return _counted(lambda first, last, counts: _count(items, first, last, 0, counts),
                    items.size, rows.universe).astype(np.int64)  # fmt: skip


def _counted(
    count: Callable[[int, int, NDArray[Any]], None], size: int, width: int
) -> NDArray[Any]:
    """Let several threads count, each in a table of its own where that is worth its while."""
    workers = _workers(size, width // 2)
    # Of 32 bits, where that is enough: more of the table stays in caches.
    dtype = np.int32 if size <= np.iinfo(np.int32).max else np.int64
    tables = [np.zeros(width, dtype) for _ in range(workers)]
    bounds = [size * part // workers for part in range(workers + 1)]
    each(lambda part: count(bounds[part], bounds[part + 1], tables[part]), workers)
    for table in tables[1:]:
        np.add(tables[0], table, out=tables[0])
    return tables[0]


def _workers(size: int, width: int) -> int:
    return max(1, min(worker_count(), size // max(_IDS_PER_WORKER, width)))


def _sorted_rows(
    sets: Sets,
    items: NDArray[Any],
    recode: _Recode,
    universe: int,
    listed: NDArray[np.int64] | None,
) -> Rows:
    """Code one side: its rows ascending, without what they have twice, which is not listed then."""
    n = len(sets)
    starts = np.ascontiguousarray(sets.starts, np.int64)
    if recode.distinct.size:
        items = np.searchsorted(recode.distinct, items)
    least = 0 if recode.distinct.size else recode.least
    codes = np.empty(items.size, np.int32)
    lengths = np.empty(n, np.int64)

    workers = _workers(items.size, 0)
    bounds = parts_of_rows(starts, workers)

    def recode_part(part: int) -> None:
        first, last = bounds[part : part + 2]
        _recode_rows(items, starts, first, last, least, recode.table, codes, lengths)

    each(recode_part, workers)
    kept = np.zeros(n + 1, np.int64)
    np.cumsum(lengths, out=kept[1:])
    if kept[-1] < items.size:
        if listed is not None:
            _take_off(codes, starts, lengths, listed)
        _close_gaps(codes, starts, lengths)
        codes = codes[: kept[-1]].copy()
    return Rows(kept, codes, universe)


def _without(rows: Rows, is_kept: NDArray[np.bool_]) -> Rows:
    """Return rows without some ids."""
    stays = is_kept[rows.items]
    before = np.zeros(stays.size + 1, np.int64)
    np.cumsum(stays, out=before[1:])
    return Rows(before[rows.starts], rows.items[stays], rows.universe)


@cached
@njit(nogil=True)
def _count(items: Any, first: Any, last: Any, least: Any, counts: Any) -> None:
    for k in range(first, last):
        counts[items[k] - least] += 1


@cached
@njit(nogil=True)
def _count_counts(counts: Any, first: Any, last: Any, held: Any) -> None:
    """Count how many ids are listed how often; the last count is of all that are more often."""
    for place in range(first, last):
        held[min(counts[place], len(held) - 1)] += 1


@cached
@njit(nogil=True)
def _begin_codes(held: Any) -> None:
    """Turn how many ids of each part are listed how often into the first code of each.

    Ids that no row has come first; they get no code.
    """
    code = -held[:, 0].sum()
    for count in range(held.shape[1]):
        for part in range(held.shape[0]):
            ids = held[part, count]
            held[part, count] = code
            code += ids


@cached
@njit(nogil=True)
def _code_by_counts(counts: Any, first: Any, last: Any, held: Any, table: Any, listed: Any) -> None:
    """Code ids by ascending counts, stably, but for those that are listed most often.

    ``held`` has the next code for each count.
    """
    for place in range(first, last):
        count = min(counts[place], len(held) - 1)
        code = held[count]
        held[count] = code + 1
        table[place] = code
        if code >= 0:
            listed[code] = counts[place]


@cached
@njit(nogil=True)
def _recode_rows(
    items: Any, starts: Any, first: Any, last: Any, least: Any, table: Any, codes: Any, lengths: Any
) -> None:
    longest = 0
    for i in range(first, last):
        longest = max(longest, starts[i + 1] - starts[i])
    spare, ends = np.empty(longest, np.int32), np.empty(256, np.int32)
    for i in range(first, last):
        begin, end = starts[i], starts[i + 1]
        for k in range(begin, end):
            codes[k] = table[items[k] - least]
        # What the next row looks up comes while this one is sorted.
        coming = starts[min(i + 2, last)] if len(table) > _NEAR else end
        for k in range(end, coming):
            fetch(table, items[k] - least)
        row = codes[begin:end]
        if end - begin <= _SHORT_ROW:
            _sort_by_insertion(row)
        else:
            _sort_by_digits(row, spare, ends)
        kept = 0
        for k in range(end - begin):
            if k == 0 or row[k] != row[kept - 1]:
                row[kept] = row[k]
                kept += 1
            else:
                spare[k - kept] = row[k]
        lengths[i] = kept
        # Behind the row stands what it has once more.
        row[kept:] = spare[: len(row) - kept]


@subroutine
def _sort_by_insertion(row: Any) -> None:
    for k in range(1, len(row)):
        code = row[k]
        place = k
        while place > 0 and row[place - 1] > code:
            row[place] = row[place - 1]
            place -= 1
        row[place] = code


@subroutine(counted=False)
def _sort_by_digits(row: Any, spare: Any, ends: Any) -> None:
    """Sort numbers from 0 on by one digit after another, the lowest first.

    ``spare`` is as long as the row at least, ``ends`` has room for each value of a digit.
    """
    size = len(row)
    most = np.int32(0)
    for k in range(size):
        most |= row[k]
    width = 0
    while most >> width > 0:
        width += 1
    # Digits of 8 bits at most, and of as many bits each.
    digits = (width + 7) // 8
    step = -(-width // max(1, digits))
    last = (1 << step) - 1
    given, taken = row, spare
    for digit_of in range(digits):
        shift = digit_of * step
        for digit in range(last + 1):
            ends[digit] = 0
        for k in range(size):
            ends[(given[k] >> shift) & last] += 1
        place = 0
        for digit in range(last + 1):
            count = ends[digit]
            ends[digit] = place
            place += count
        for k in range(size):
            digit = (given[k] >> shift) & last
            taken[ends[digit]] = given[k]
            ends[digit] += 1
        given, taken = taken, given
    if digits & 1:
        for k in range(size):
            row[k] = spare[k]


@cached
@njit(nogil=True)
def _take_off(codes: Any, starts: Any, lengths: Any, listed: Any) -> None:
    """Count each id of a row once, where it is listed more often."""
    for i in range(len(lengths)):
        for k in range(starts[i] + lengths[i], starts[i + 1]):
            listed[codes[k]] -= 1


@cached
@njit(nogil=True)
def _close_gaps(codes: Any, starts: Any, lengths: Any) -> None:
    """Move each row to the end of the one before it."""
    place = 0
    for i in range(len(lengths)):
        for k in range(starts[i], starts[i] + lengths[i]):
            codes[place] = codes[k]
            place += 1
