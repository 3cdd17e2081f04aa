"""Moments of rows that lie across and are no longer than a block, without a record for each row.

`columns` merges the blocks of rows in records. Where a matrix is short and wide, as 8 x 2,000,000,
there is one block and nothing to merge, and the records are more memory than the numbers. Here the
same sums are left in plain arrays. Measured on two shared cores of a Zen 4, in one process, for
variances over axis 0: float64 of 8 x 2,000,000 6.4 ms, with records 17.3; int8 3.1 and 12.1;
float32 of 400 x 3,000 0.15 and 0.34.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.specialised import specialised
from warpladder.device.subroutines import entry_for
from warpladder.device.words import WORD_BYTES, place_of
from warpladder.reduction.lines.shared_lines import Found
from warpladder.reduction.lines.short_rows import folder_of_panels, folder_of_short_rows
from warpladder.reduction.lines.small_panels import folder_of_small_panels
from warpladder.reduction.loops.blocks import element_type, numbers_among
from warpladder.reduction.loops.columns import LINES, STRIP, column_entries, lines_joined
from warpladder.reduction.loops.states import FoldSpec, new_states, shift_type
from warpladder.reduction.memory.at_hand import Lent, states_at_hand
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.memory.levels import Levels, Panels
from warpladder.reduction.rules import LARGEST_SQUARE, LEAST_SQUARE, moments_of
from warpladder.reduction.scalars import compiled, difference, either

__all__ = [
    "deviations_alone",
    "moments_of_lines",
    "takes_deviations",
    "way_to_deviations",
    "way_to_deviations_in_panels",
    "way_to_joined_deviations",
    "way_to_short_deviations",
]


def takes_deviations(spec: FoldSpec) -> bool:
    """Return whether there is such a loop for a set of folds."""
    return not spec.masked and spec.values != "float16" and spec.folds == {"moments"}


def moments_of_lines(
    spec: FoldSpec, tile: Tile, *, are_all: bool = True
) -> dict[str, NDArray[Any]] | None:
    """Return the fields of all rows of a tile that lies across, None where it takes records.

    Without those of means, where all are not needed: to have the system give a call two megabytes
    more takes three times as long as the variances of 3 x 131,072 float32.

    Examples
    --------
    >>> spec = FoldSpec(frozenset({"moments"}), "int8", "int64")
    >>> numbers = np.array([3, 1, 2, 5, 0, 2], np.int8)
    >>> moments_of_lines(spec, Tile(numbers, np.empty(0, bool), 3, 2, 3, 3))["deviation"]
    array([2. , 0.5, 0. ])
    """
    data, _, rows, length, pitch, width = tile
    if length > min(spec.block, LINES) or lines_joined(tile) > 1:
        return None
    kept = rows if are_all else min(STRIP, width)
    shift, offset = np.empty(kept, shift_type(spec.values)), np.empty(kept)
    deviation = np.empty(rows)
    counts = np.empty(rows if spec.skip_nan else 0, np.int64)
    kernel = _moments_kernel(spec)
    are_lost = np.zeros(1, np.int64)
    kernel(data, rows, length, pitch, width, shift, offset, deviation, counts, are_lost)
    if are_lost[0]:
        return None
    fields = deviations_alone(deviation, counts if spec.skip_nan else np.array([length]))
    return fields | ({"shift": shift, "offset": offset} if are_all else {})


def deviations_alone(
    deviation: NDArray[np.float64], counts: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return the fields of which variances are made, where none left its range."""
    nothing = np.zeros(1)
    return {
        "count": counts,
        "tiny_deviation": nothing,
        "deviation": deviation,
        "huge_deviation": nothing,
    }


def way_to_deviations(
    spec: FoldSpec, rows: int, length: int, pitch: int, width: int
) -> Callable[[NDArray[Any]], NDArray[np.float64] | None] | None:
    """Return what finds of all elements of rows that lie so the sums of their squared deviations.

    They are those of `moments_of_lines`. It is None, and returns None, where that takes records;
    and None where NaNs are skipped.
    """
    element, near = np.empty(0, element_type(spec.values)), np.empty(0, shift_type(spec.values))
    tile = Tile(element, NO_MASK, rows, length, pitch, width)
    if spec.skip_nan or length > min(spec.block, LINES) or lines_joined(tile) > 1:
        return None
    no_counts, sums, kept = np.empty(0, np.int64), np.empty(0), min(STRIP, width)
    numbers = (1, 1, 1, 1)
    fold = entry_for(
        _moments_kernel(spec), element, *numbers, near, sums, sums, no_counts, no_counts
    )

    def way(data: NDArray[Any]) -> NDArray[np.float64] | None:
        deviation = np.empty(rows)
        shift, offset = np.empty(kept, near.dtype), np.empty(kept)
        are_lost, found = np.zeros(1, np.int64), (shift, offset, deviation)
        fold(data, rows, length, pitch, width, *found, no_counts, are_lost)
        return None if are_lost[0] else deviation

    return way


def way_to_joined_deviations(
    spec: FoldSpec, rare: Sequence[str], rows: int, length: int
) -> Callable[[NDArray[Any]], NDArray[np.float64] | None] | None:
    """Return what `way_to_deviations` does for rows of which lines are joined, as `columns` has it.

    It goes through the same records, which lie ready: variances of 100 x 3 float64 over the first
    axis take 6.6 us so, of 1,000 x 3 10.7, and 15 and 22 where records are made anew. It is None
    where no lines are joined or NaNs are skipped, and returns None where squares left their range:
    then a field of these names is not 0.
    """
    none = np.empty(0, element_type(spec.values))
    joined = lines_joined(Tile(none, NO_MASK, rows, length, rows, rows))
    if spec.skip_nan or joined == 1:
        return None
    fold, merge = column_entries(spec)
    wide, lines = rows * joined, length // joined
    over = length - lines * joined

    def views(_memory: memoryview, states: NDArray[Any]) -> Lent:
        halves, some = [], wide
        while some > rows:
            some //= 2
            halves.append((states[:some], states[some : 2 * some]))
        first = states[:rows]
        return halves, first, first["deviation"], [first[name] for name in rare]

    take, ready = states_at_hand(new_states(spec, wide), views)

    def way(data: NDArray[Any]) -> NDArray[np.float64] | None:
        kept = _, states, halves, first, deviation, left = take()
        fold(data, wide, lines, wide, wide, 0, states)
        for earlier, later in halves:
            merge(earlier, later)
        if over:
            fold(data[lines * wide :], rows, over, rows, rows, length - over, first)
        found = None if any(map(np.count_nonzero, left)) else deviation.copy()
        ready.append(kept)
        return found

    return way


def way_to_short_deviations(
    spec: FoldSpec, levels: Levels, length: int, *, step: int = 1, shares: bool
) -> Callable[[NDArray[Any]], NDArray[np.float64] | None]:
    """Return what `way_to_deviations` does for short rows that do not lie across.

    They are turned some at a time, and dealt out if it ``shares`` them. Variances of 10,000 x 30
    float64 over the second axis take two cores of an EPYC 94 us so, where all were turned at once
    566.
    """
    given, kernel = _given_for(spec)
    find = folder_of_short_rows(*given, levels, length, kernel, step=step, shares=shares)
    return _way_to_found(find)


def way_to_deviations_in_panels(
    spec: FoldSpec, panels: Panels, length: int, *, shares: bool
) -> Callable[[NDArray[Any]], NDArray[np.float64] | None] | None:
    """Return what `way_to_deviations` does for rows in panels, None where that is none."""
    if spec.skip_nan or length > min(spec.block, LINES):
        return None
    given, kernel = _given_for(spec)
    return _way_to_found(folder_of_panels(*given, panels, length, kernel, shares=shares))


def way_to_deviations_in_small_panels(
    spec: FoldSpec, panels: int, length: int, side: int, *, shares: bool
) -> Callable[[NDArray[Any]], NDArray[np.float64] | None] | None:
    """Return what `way_to_deviations` does for rows in small panels, None where that is none."""
    if spec.skip_nan or length > min(spec.block, LINES):
        return None
    given, kernel = _given_for(spec)
    return _way_to_found(
        folder_of_small_panels(*given, panels, length, side, kernel, shares=shares)
    )


def _way_to_found(
    find: Callable[[NDArray[Any]], Found],
) -> Callable[[NDArray[Any]], NDArray[np.float64] | None]:
    def way(data: NDArray[Any]) -> NDArray[np.float64] | None:
        _, are_lost, _, deviation = find(data)
        return None if np.count_nonzero(are_lost) else deviation

    return way


def _room_of_short(rows: int, pieces: int, how: int) -> Found:
    """Return where `_leave_deviations` leaves what it finds."""
    return np.empty(0), np.zeros(pieces, np.int64), np.empty(0, np.int64), np.empty(rows)


@cached
@njit(nogil=True)
def _leave_deviations(  # type: ignore[no-untyped-def]
    data, rows, length, pitch, width, rows_left, first, second, counts, results, how
):
    """Call the loop at an address for lines as those for lines are; leave a mark if some are lost.

    Shifts and offsets are words, whatever they are.
    """
    kept = min(rows, STRIP)
    shift, offset = np.empty(kept), np.empty(kept)
    numbers, lie = array_at(place_of(data), data.size, data.itemsize), (rows, length, pitch, width)
    near, total = (
        array_at(place_of(shift), kept, WORD_BYTES), array_at(place_of(offset), kept, WORD_BYTES)
    )  # fmt: skip
    squared = array_at(place_of(results), rows, WORD_BYTES)
    no_counts = array_at(place_of(counts), 0, WORD_BYTES)
    lost = array_at(place_of(second), 1, WORD_BYTES)
    call_at(how, numbers + lie + near + total + squared + no_counts + lost)
    # As long as they are to be written Numba does not free them.
    shift[:1], offset[:1] = 0, 0


@cache
def _given_for(spec: FoldSpec) -> tuple[Any, ...]:
    """Return what `short_rows` is given before how rows lie, and what comes last."""
    element, near = np.empty(0, element_type(spec.values)), np.empty(0, shift_type(spec.values))
    sums, words = np.empty(0), np.empty(0, np.int64)
    kernel = address_of(_moments_kernel(spec), element, 1, 1, 1, 1, near, sums, sums, words, words)
    return (_leave_deviations, _room_of_short, np.dtype(f"u{element.itemsize}")), kernel


@cache
def _moments_kernel(spec: FoldSpec) -> Any:
    """Return ``fold(data, rows, length, pitch, width, shift, offset, deviation, counts, lost)``.

    Rows lie as in `columns`, and are added up in the same order. It leaves a mark if squares left
    the range of float64, and stops where some did. Counts are left where NaNs are skipped, shifts
    and offsets where there is room for those of all rows.
    """
    skip_nan = spec.skip_nan
    is_float = np.dtype(element_type(spec.values)).kind == "f"
    apart = shift_type(spec.values)

    @compiled
    def distance(v, near):  # type: ignore[no-untyped-def]
        found = difference(apart(v), near)
        if skip_nan:
            return either(v == v, found, 0.0)  # noqa: PLR0124 - NaN is not itself
        return found

    # Additions stay in their order: nothing may be reassociated.
    @cached
    @njit(nogil=True, fastmath={"nsz", "contract"})
    @specialised
    def fold(  # type: ignore[no-untyped-def]
        data, rows, length, pitch, width, shift, offset, deviation, counts, lost
    ):
        strips = (width + STRIP - 1) // STRIP
        for strip in range(rows // width * strips):
            panel, left = strip // strips, strip % strips * STRIP
            run = min(STRIP, width - left)
            start = panel * length * pitch + left
            row = panel * width + left
            kept = row if len(offset) == rows else 0
            near, total = shift[kept : kept + run], offset[kept : kept + run]
            squared = deviation[row : row + run]
            top = data[start : start + run]
            for j in range(run):
                near[j] = top[j]
                total[j], squared[j] = 0.0, 0.0
            if skip_nan:
                counted = counts[row : row + run]
                are_nan = False
                for j in range(run):
                    counted[j] = 0
                    are_nan |= near[j] != near[j]
                if are_nan:
                    # In place of a NaN the last number that there is, or 0.
                    for j in range(run):
                        near[j] = near[j] if near[j] == near[j] else 0.0
                    for i in range(1, length):
                        a = data[start + i * pitch : start + i * pitch + run]
                        for j in range(run):
                            is_wanted = (top[j] != top[j]) & (a[j] == a[j])
                            near[j] = apart(a[j]) if is_wanted else near[j]
            fours = length // 4 * 4
            # What is kept of each row is loaded and stored once for four lines.
            for i in range(0, fours, 4):
                at = start + i * pitch
                a, b = data[at : at + run], data[at + pitch : at + pitch + run]
                at += 2 * pitch
                c, d = data[at : at + run], data[at + pitch : at + pitch + run]
                for j in range(run):
                    first = distance(a[j], near[j])
                    second = distance(b[j], near[j])
                    third = distance(c[j], near[j])
                    fourth = distance(d[j], near[j])
                    if skip_nan:
                        counted[j] += numbers_among(a[j], b[j], c[j], d[j])
                    total[j] = total[j] + first + second + third + fourth
                    two = squared[j] + first * first + second * second
                    squared[j] = two + third * third + fourth * fourth
            for i in range(fours, length):
                a = data[start + i * pitch : start + i * pitch + run]
                for j in range(run):
                    first = distance(a[j], near[j])
                    if skip_nan:
                        counted[j] += a[j] == a[j]
                    total[j] += first
                    squared[j] += first * first
            if is_float:
                are_lost, may_be_lost = False, False
                for j in range(run):
                    is_kept = LEAST_SQUARE <= squared[j] <= LARGEST_SQUARE
                    are_lost |= (not is_kept) & (squared[j] != 0)
                    may_be_lost |= squared[j] == 0
                if may_be_lost:
                    for i in range(length):
                        a = data[start + i * pitch : start + i * pitch + run]
                        for j in range(run):
                            is_other = a[j] != near[j]
                            if skip_nan:
                                is_other &= a[j] == a[j]
                            are_lost |= is_other & (squared[j] == 0)
                if are_lost:
                    lost[0] = 1
                    return
            for j in range(run):
                size = length
                if skip_nan:
                    size = max(counted[j], 1)
                _, total[j], _, squared[j], _ = moments_of(size, near[j], total[j], squared[j], 1.0)

    return fold
