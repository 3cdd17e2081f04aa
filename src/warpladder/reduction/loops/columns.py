"""The fast accumulators where rows lie across: each line of memory has one element of every row.

A sum over the first axis of a matrix in C order is such a case. Copying tiles so that rows lie
together would take most of the time; instead the loop runs along memory, and each lane of a vector
has a row of its own. Measured on one core of a Zen 4, a float32 sum over axis 0 of 20,000 x 2,048:
27 GB/s, by copied tiles 1.3.

A middle axis comes in *panels*, each a matrix of its own, one after the other in memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.arithmetic import maximum, select
from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.subroutines import entry_for
from warpladder.reduction.loops.blocks import bounds, element_type
from warpladder.reduction.loops.moments import about, moved
from warpladder.reduction.loops.ranges import multiplied, squares_of
from warpladder.reduction.loops.states import FoldSpec, merge_kernel, new_states, shift_type
from warpladder.reduction.memory.layout import Tile
from warpladder.reduction.rules import (
    LARGEST_SQUARE,
    LEAST_SQUARE,
    LOW_WORD,
    SCALE,
    add_moments,
    is_new_high,
    is_new_low,
    moments_of,
    outdoes,
    passes,
    times,
)
from warpladder.reduction.scalars import difference, strict, times_itself

__all__ = [
    "LINES",
    "STRIP",
    "add_columns",
    "column_entries",
    "column_kernel",
    "lines_joined",
    "states_of_columns",
    "takes_columns",
]

STRIP = 4096
"""Rows that are accumulated side by side: memory is read in long runs, and the accumulators stay in
the second-level cache. With 1,024 a sum takes twice as long."""

LINES = 512
"""Elements of a row that are added one to the other before they join its state."""

# What short lines are joined to, where there are so many that it pays (`benchmarks/choices.py`:
# `lines-joined`).
_LONG, _MANY = 512, 16


def takes_columns(spec: FoldSpec) -> bool:
    """Return whether there is such a loop for a set of folds.

    Examples
    --------
    >>> takes_columns(FoldSpec(frozenset({"total", "low"}), "float32", "float32"))
    True
    """
    folds = {"total", "whole", "product", "low", "high", "low_at", "high_at"}
    folds |= {"absolute", "square", "nonzero", "moments"}
    return not spec.masked and spec.values != "float16" and spec.folds <= folds


def lines_joined(tile: Tile) -> int:
    """Return how many lines of a tile are taken as if they were one.

    Examples
    --------
    >>> lines_joined(Tile(np.ones(3000), np.empty(0, bool), 3, 1000, 3, 3))
    32
    """
    joined = 1
    if tile.rows == tile.across == tile.pitch:
        while 2 * joined * tile.across <= _LONG and 2 * joined * _MANY <= tile.length:
            joined *= 2
    return joined


def add_columns(spec: FoldSpec, tile: Tile, first: int, states: NDArray[Any]) -> None:
    """Add a tile that lies across, whose columns count from ``first``, to the states of its rows.

    Lines shorter than some vectors are taken many at a time as if they were one, with as many more
    states, which are merged in the end: a column sum of 349,525 x 3 takes a tenth of the time.
    """
    joined = lines_joined(tile)
    if joined > 1:
        merge_kernel(spec)(states, _joined_states(spec, tile, first, joined))
    _add_rest(spec, tile, first, joined, states)


def states_of_columns(spec: FoldSpec, tile: Tile, first: int) -> NDArray[Any]:
    """Return the states of the rows of such a tile, the same numbers with less to do.

    Examples
    --------
    >>> spec = FoldSpec(frozenset({"low"}), "int8", "int64")
    >>> numbers = np.array([3, 1, 2, 5, 0, 2], np.int8)
    >>> states_of_columns(spec, Tile(numbers, np.empty(0, bool), 3, 2, 3, 3), 0)["low"].tolist()
    [3, 0, 2]
    """
    joined = lines_joined(tile)
    if joined > 1:
        states = _joined_states(spec, tile, first, joined)
    else:
        states = new_states(spec, tile.rows)
    _add_rest(spec, tile, first, joined, states)
    return states


def _joined_states(spec: FoldSpec, tile: Tile, first: int, joined: int) -> NDArray[Any]:
    """Return the states of rows for as many elements as make whole joined lines."""
    wide, lines = joined * tile.across, tile.length // joined
    states, (fold, merge) = new_states(spec, wide), column_entries(spec)
    fold(tile.data, wide, lines, wide, wide, 0, states)
    for name in spec.folds & {"low_at", "high_at"}:
        states[name] = first + states[name] * joined + np.arange(wide) // tile.across
    while wide > tile.across:
        wide //= 2
        merge(states[:wide], states[wide : 2 * wide])
    return states[:wide]


@cache
def column_entries(spec: FoldSpec) -> tuple[Any, Any]:
    """Return the loop, and what merges states, by their entries: 0.36 us less for each."""
    states, numbers = new_states(spec, 1), np.empty(0, element_type(spec.values))
    fold = entry_for(column_kernel(spec), numbers, 1, 1, 1, 1, 0, states)
    return fold, entry_for(merge_kernel(spec), states, states)


def _add_rest(spec: FoldSpec, tile: Tile, first: int, joined: int, states: NDArray[Any]) -> None:
    """Add the elements that make no whole joined lines, all where lines are not joined."""
    done = tile.length // joined * joined if joined > 1 else 0
    if done < tile.length:
        data, _, rows, length, pitch, width = tile
        fold, _ = column_entries(spec)
        fold(data[done * pitch :], rows, length - done, pitch, width, first + done, states)


@strict
def _first_number(data: Any, start: Any, begin: Any, end: Any, pitch: Any) -> Any:
    for i in range(begin, end):
        v = np.float64(data[start + i * pitch])
        if v == v:  # noqa: PLR0124 - NaN is not itself
            return v
    return 0.0


@strict
def _column(data: Any, start: Any, begin: Any, end: Any, pitch: Any, buffer: Any) -> Any:
    for i in range(begin, end):
        buffer[i - begin] = data[start + i * pitch]
    return buffer[: end - begin]


@cache
def column_kernel(spec: FoldSpec) -> Any:
    """Return the compiled loop ``fold(data, rows, length, pitch, width, first, states)``.

    Rows come in panels of ``width``; element i of row k of panel p is
    ``data[(p * length + i) * pitch + k]``. States are as in `folds.fold_kernel`.
    """
    skip_nan = spec.skip_nan
    is_real = spec.sums != "int64"
    element = element_type(spec.values)
    sums = np.dtype(spec.sums).type
    products = np.float64 if is_real else np.int64
    real = sums if is_real else np.float64
    apart = shift_type(spec.values)
    is_wide = apart is not np.float64
    is_float = np.dtype(element).kind == "f"
    may_be_extreme = spec.values == "float64"
    least, largest = bounds(element)
    nan, none = element(np.nan if is_float else 0), np.int32(-1)
    are_truths = spec.values == "bool" and spec.has_places
    block_size = min(spec.block, LINES)
    has = spec.folds.__contains__
    has_total, has_product, has_low, has_high = map(has, ("total", "product", "low", "high"))
    has_whole, in_two_words = has("whole"), spec.values in {"int64", "uint64"}
    has_low_at, has_high_at = has("low_at"), has("high_at")
    has_absolute, has_nonzero, has_moments = map(has, ("absolute", "nonzero", "moments"))
    has_square = has("square")

    @cached
    @njit(nogil=True, fastmath={"reassoc", "nsz", "contract"})
    @specialised
    def fold(data, rows, length, pitch, width, first, states):  # type: ignore[no-untyped-def]
        no_marks, few = np.empty(0, np.bool_), np.empty(block_size, element)
        if skip_nan:
            counts = np.empty(STRIP, np.int32)
        if has_total:
            total = np.empty(STRIP, sums)
        if has_whole:
            high_word, low_word = np.empty(STRIP, np.int64), np.empty(STRIP, np.int64)
        if has_product:
            product = np.empty(STRIP, products)
        if has_low:
            low, low_at = np.empty(STRIP, element), np.empty(STRIP, np.int32)
        if has_high:
            high, high_at = np.empty(STRIP, element), np.empty(STRIP, np.int32)
        if has_absolute:
            absolute = np.empty(STRIP, real)
        if has_square:
            square = np.empty(STRIP)
        if has_nonzero:
            nonzero = np.empty(STRIP, np.int32)
        if has_moments:
            shift, offset, deviation = np.empty(STRIP, apart), np.empty(STRIP), np.empty(STRIP)
            moves = np.empty(STRIP, np.bool_)
        strips = (width + STRIP - 1) // STRIP
        for strip in range(rows // width * strips):
            panel, left = strip // strips, strip % strips * STRIP
            run = min(STRIP, width - left)
            start = panel * length * pitch + left
            part = states[panel * width + left : panel * width + left + run]
            for begin in range(0, length, block_size):
                end = min(begin + block_size, length)
                top = data[start + begin * pitch : start + begin * pitch + run]
                for j in range(run):
                    if skip_nan:
                        counts[j] = 0
                    if has_total:
                        total[j] = sums(0)
                    if has_whole:
                        high_word[j], low_word[j] = 0, 0
                    if has_product:
                        product[j] = products(1)
                    if has_low:
                        low[j] = largest
                    if has_low_at:
                        low_at[j] = -1
                    if has_high:
                        high[j] = least
                    if has_high_at:
                        high_at[j] = -1
                    if has_absolute:
                        absolute[j] = real(0)
                    if has_square:
                        square[j] = 0.0
                    if has_nonzero:
                        nonzero[j] = 0
                    if has_moments:
                        row = part[j]
                        if is_wide and row.count:
                            shift[j] = moved(row.shift, row.offset)
                        elif row.count:
                            shift[j] = row.shift + row.offset
                        elif skip_nan:
                            shift[j] = _first_number(data, start + j, begin, end, pitch)
                        else:
                            shift[j] = top[j]
                        offset[j], deviation[j] = 0.0, 0.0
                for i in range(begin, end):
                    line = data[start + i * pitch : start + i * pitch + run]
                    at = np.int32(i - begin)
                    for j in range(run):
                        v = line[j]
                        if are_truths:
                            v = element(v != 0)
                        kept = True
                        if skip_nan:
                            kept = v == v  # noqa: PLR0124 - NaN is not itself
                            counts[j] += np.int32(kept)
                        if has_total:
                            total[j] += select(kept, sums(v), sums(0))
                        if has_whole and in_two_words:
                            high_word[j] += np.int64(v >> 32)
                            low_word[j] += np.int64(v & LOW_WORD)
                        elif has_whole:
                            low_word[j] += np.int64(v)
                        if has_product:
                            product[j] *= select(kept, products(v), products(1))
                        # What is stored is never chosen between something and what was there: of
                        # that LLVM makes a masked store, for which a core of an EPYC (Zen 3) waits.
                        # The place of the largest over the first axis of 262,144 x 3 float32 took
                        # 0.92 ms so, and takes 0.19. Indices rise: the later one is the larger.
                        if has_low_at:
                            # An index of -1 is that of no element.
                            leads = kept & (outdoes(v, low[j], v < low[j]) | (low_at[j] < 0))
                            low_at[j] = maximum(low_at[j], select(leads, at, none))
                        if has_low:
                            found = select(kept, v, largest)
                            found = select(low[j] < found, low[j], found)
                            low[j] = select(low[j] == low[j], found, nan)
                        if has_high_at:
                            leads = kept & (outdoes(v, high[j], v > high[j]) | (high_at[j] < 0))
                            high_at[j] = maximum(high_at[j], select(leads, at, none))
                        if has_high:
                            found = select(kept, v, least)
                            found = select(high[j] > found, high[j], found)
                            high[j] = select(high[j] == high[j], found, nan)
                        if has_absolute:
                            absolute[j] += select(kept, abs(real(v)), real(0))
                        if has_square:
                            square[j] += select(kept, times_itself(np.float64(v)), 0.0)
                        if has_nonzero:
                            nonzero[j] += np.int32(kept & (v != 0))
                        if has_moments:
                            # In float64: a row's first element may be far from its mean.
                            d = select(kept, difference(apart(v), shift[j]), 0.0)
                            offset[j] += d
                            deviation[j] += d * d
                if has_moments and is_float:
                    # What is no constant, where squares vanished. By loops: expressions of arrays
                    # take Numba a second more to compile.
                    have_vanished = False
                    for j in range(run):
                        moves[j] = not LEAST_SQUARE <= deviation[j] <= LARGEST_SQUARE
                        have_vanished |= moves[j] & (deviation[j] == 0)
                    if have_vanished:
                        for j in range(run):
                            moves[j] &= deviation[j] != 0
                        for i in range(begin, end):
                            line = data[start + i * pitch : start + i * pitch + run]
                            for j in range(run):
                                moves[j] |= (line[j] != shift[j]) & (deviation[j] == 0)
                for j in range(run):
                    row, count = part[j], end - begin
                    if skip_nan:
                        count = np.int64(counts[j])
                        if count == 0:
                            continue
                    if has_total:
                        row.total += total[j]
                    if has_whole:
                        low_word_of_row = row.whole_low + low_word[j]
                        row.whole_high += high_word[j] + (low_word_of_row >> 32)
                        row.whole_low = low_word_of_row & LOW_WORD
                    if has_product:
                        if not is_real:
                            row.product *= product[j]
                        elif passes(row.product, product[j]):
                            row.product, row.exponent = times(
                                row.product, row.exponent, product[j], 0
                            )
                        else:
                            row.product, row.exponent = multiplied(
                                _column(data, start + j, begin, end, pitch, few),
                                no_marks,
                                False,
                                skip_nan,
                                row.product,
                                row.exponent,
                            )
                    if has_low and (row.count == 0 or is_new_low(low[j], row.low, 0, 0)):
                        row.low = low[j]
                        if has_low_at:
                            row.low_at = first + begin + low_at[j]
                    if has_high and (row.count == 0 or is_new_high(high[j], row.high, 0, 0)):
                        row.high = high[j]
                        if has_high_at:
                            row.high_at = first + begin + high_at[j]
                    if has_absolute:
                        row.absolute += absolute[j]
                    if has_square:
                        squares, tiny, huge = square[j], 0.0, 0.0
                        if may_be_extreme and not LEAST_SQUARE <= squares <= LARGEST_SQUARE:
                            column = _column(data, start + j, begin, end, pitch, few)
                            if squares < LEAST_SQUARE:
                                tiny = squares_of(column, no_marks, False, skip_nan, SCALE)
                            if squares > LARGEST_SQUARE:
                                huge = squares_of(column, no_marks, False, skip_nan, 1 / SCALE)
                        row.tiny_square += tiny
                        row.square += 0.0 if tiny + huge > 0 else squares
                        row.huge_square += huge
                    if has_nonzero:
                        row.nonzero += nonzero[j]
                    if has_moments:
                        near, distance, squared, scale = shift[j], offset[j], deviation[j], 1.0
                        known = row.deviation + row.huge_deviation
                        # What is NaN stays that.
                        if is_float and moves[j] and known == known:  # noqa: PLR0124 - see above
                            column = _column(data, start + j, begin, end, pitch, few)
                            near, distance, squared, scale = about(
                                column, no_marks, False, skip_nan, near, squared
                            )
                        later = moments_of(count, near, distance, squared, scale)
                        add_moments(part, j, count, later, may_be_extreme)
                    row.count += count

    return fold
