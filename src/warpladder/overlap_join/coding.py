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
from warpladder.device.kernel_cache import cached
from warpladder.errors import InputError
from warpladder.overlap_join.forms import Rows, parts_of_rows
from warpladder.overlap_join.frequencies import (
    Classes,
    Frequencies,
    are_ascending,
    classes_of,
    count_ids,
    count_in_stretches,
    parts_of_table,
    range_of,
    workers_for,
)
from warpladder.overlap_join.occurring import Occurring
from warpladder.overlap_join.sorting import close_gaps, recode_rows, take_off
from warpladder.overlap_join.uncoded import UncodedRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warpladder.formats.sets import Sets

__all__ = ["Coded", "coded"]

# Ids within a range up to so many times their number are looked up in a table of that range.
_WIDEST_RANGE = 4
_SMALLEST_TABLE = 1 << 22
_MOST_CODES = (1 << 31) - 1
# Ids in fewer rows than this are put in order by counting how many are in how many.
_OFTEN = 1 << 16


class Coded(NamedTuple):
    """Both sides of a join, coded together.

    Attributes
    ----------
    left, right
        The rows; the same object where rows are joined with themselves.
    occurring
        In how many right rows codes are.
    """

    left: Rows
    right: Rows
    occurring: Occurring


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
    counted, distinct = _frequencies(sides, values)
    classes = _classes_of(counted, len(left))
    if classes.universe > _MOST_CODES:
        raise InputError(f"rows: there are more than {_MOST_CODES:,} distinct ids")
    if len(counted.stretches) and most_rows is None and len(left) < _OFTEN:
        return _coded_when_asked(left, values[0], counted, classes)
    table, listed = _codes_by_frequency(counted.counts, classes)
    recode = _Recode(counted.least, distinct, table)
    # One side is in as many rows as it is listed, less what rows have twice.
    taken_off = listed if right is None else None
    rows = [
        _sorted_rows(side, items, recode, classes.universe, taken_off)
        for side, items in zip(sides, values, strict=True)
    ]
    frequency = [listed] if right is None else [_frequency(one) for one in rows]
    if most_rows is not None:
        is_kept = np.sum(frequency, axis=0) <= most_rows
        rows = [_without(one, is_kept) for one in rows]
        frequency = [np.where(is_kept, one, 0) for one in frequency]
    return Coded(rows[0], rows[-1], Occurring(frequency[-1]))


def _coded_when_asked(
    sets: Sets, items: NDArray[Any], counted: Frequencies, classes: Classes
) -> Coded:
    """Return rows without any id twice: how frequent codes are is known before there are any."""
    ids = classes.held.sum(axis=0)
    often = np.flatnonzero(ids[1:]) + 1

    def codes() -> NDArray[np.int32]:
        table, _ = _codes_by_frequency(counted.counts, classes)
        recode = _Recode(counted.least, np.empty(0, np.int64), table)
        return _sorted_rows(sets, items, recode, classes.universe, None).items

    starts = np.ascontiguousarray(sets.starts, np.int64)
    occurring = Occurring(often, ids[often])
    rows = UncodedRows(starts, classes.universe, items, counted, classes, occurring, codes)
    return Coded(rows, rows, occurring)


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


def _frequencies(
    sides: Sequence[Sets], values: list[NDArray[Any]]
) -> tuple[Frequencies, NDArray[Any]]:
    """Return how often ids are listed that lie close together; else the ids, ascending."""
    filled = [
        (np.ascontiguousarray(side.starts, np.int64), items)
        for side, items in zip(sides, values, strict=True)
        if items.size
    ]
    none, uncut = np.empty(0, np.int64), np.empty((0, 0), np.int64)
    if not filled:
        return Frequencies(0, none, [], uncut), none
    ascend = len(sides) == 1 and are_ascending(*filled[0])
    ranges = [range_of(*side, ascend=ascend) for side in filled]
    least = min(first for first, _ in ranges)
    width = max(last for _, last in ranges) - least + 1
    total = sum(items.size for _, items in filled)
    if width <= max(_WIDEST_RANGE * total, _SMALLEST_TABLE) and width <= _MOST_CODES:
        if ascend:
            return count_in_stretches(*filled[0], least, width), none
        each_side = [count_ids(*side, least, width) for side in filled]
        counts = each_side[0] if len(filled) == 1 else np.add(*each_side, dtype=np.int64)
        return Frequencies(least, counts, [], uncut), none
    distinct, counts = np.unique(np.concatenate([items for _, items in filled]), return_counts=True)
    return Frequencies(0, counts, [], uncut), distinct


def _classes_of(counted: Frequencies, rows: int) -> Classes:
    width = len(counted.counts)
    even = parts_of_table(width, workers_for(width, 2 * _OFTEN))
    if not len(counted.stretches):
        return classes_of(counted.counts, even, _OFTEN)
    # Of each thread's own part, and about as large as any other. No row has an id twice.
    return classes_of(counted.counts, sorted({*even, *counted.cuts}), min(_OFTEN, rows + 1))


def _codes_by_frequency(
    counts: NDArray[Any], classes: Classes
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the code of each place of a table of counts, and how often each code is listed."""
    universe = classes.universe
    often = universe - int(classes.held[:, -1].sum())
    table, listed = np.empty(len(counts), np.int32), np.empty(universe, np.int64)
    bounds, next_codes = classes.bounds, classes.held.copy()
    _begin_codes(next_codes)

    def code(part: int) -> None:
        _code_by_counts(counts, *bounds[part : part + 2], next_codes[part], table, listed)

    each(code, len(next_codes))
    order = np.argsort(listed[often:], kind="stable")
    if len(order) > 1:
        listed[often:] = listed[often:][order]
        code_of = np.empty(len(order), np.int32)
        code_of[order] = np.arange(often, universe, dtype=np.int32)
        places = np.flatnonzero(table >= often)
        table[places] = code_of[table[places] - often]
    return table, listed


def _frequency(rows: Rows) -> NDArray[np.int64]:
    return count_ids(rows.starts, rows.items, 0, rows.universe).astype(np.int64)


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

    workers = workers_for(items.size, 0)
    bounds = parts_of_rows(starts, workers)

    def recode_part(part: int) -> None:
        first, last = bounds[part : part + 2]
        recode_rows(items, starts, first, last, least, recode.table, codes, lengths)

    each(recode_part, workers)
    kept = np.zeros(n + 1, np.int64)
    np.cumsum(lengths, out=kept[1:])
    if kept[-1] < items.size:
        if listed is not None:
            take_off(codes, starts, lengths, listed)
        close_gaps(codes, starts, lengths)
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
