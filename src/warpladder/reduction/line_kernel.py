"""The loop over rows that lie across which leaves plain numbers; see `lines`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.reduction.blocks import bounds, element_type
from warpladder.reduction.columns import LINES, STRIP
from warpladder.reduction.rules import (
    LARGEST_PRODUCT,
    LARGEST_SQUARE,
    LEAST_PRODUCT,
    LEAST_SQUARE,
    LOW_WORD,
    outdoes,
)
from warpladder.reduction.scalars import compiled, select, strict, times_itself
from warpladder.reduction.states import FoldSpec

__all__ = ["is_extreme_of_some", "lines_kernel", "may_leave_range"]


@cache
def may_leave_range(spec: FoldSpec) -> bool:
    """Tell whether products or squares may overflow or vanish; 0 may be of such."""
    of_products = spec.folds == {"product"} and spec.sums != "int64"
    return of_products or (spec.folds == {"square"} and spec.values == "float64")


@cache
def is_extreme_of_some(spec: FoldSpec) -> bool:
    """Tell whether it is an extremum that skips NaNs, which shows by itself that there was more.

    But where it is what all others are ahead of: then the row is looked through. In place of counts
    such rows have marks, which are set where there was nothing.
    """
    return spec.skip_nan and spec.folds <= {"low", "high"}


@cache
def _kind(spec: FoldSpec) -> Any:
    """Return the type of what is left for each row."""
    (fold,) = spec.folds
    if fold in {"low", "high"}:
        return element_type(spec.values)
    if fold == "nonzero":
        # Whether there is one takes a byte.
        return np.uint8 if spec.until == "some" else np.int64
    return np.int64 if spec.sums == "int64" and fold != "square" else np.float64


@compiled
def _either(condition: Any, a: Any, b: Any) -> Any:
    # What is among a loop's variables may not call an intrinsic: the key of the loop on disk would
    # be another one in each process.
    return select(condition, a, b)


@strict
def _are_squares_lost(
    data: Any, rows: Any, length: Any, pitch: Any, width: Any, squares: Any
) -> Any:
    """Return whether a row whose squares add up to 0 has a number that is not 0."""
    are_lost = False
    for panel in range(rows // width):
        of_panel = squares[panel * width : (panel + 1) * width]
        for i in range(length):
            at = (panel * length + i) * pitch
            line = data[at : at + width]
            for j in range(width):
                # Where NaNs are skipped, a row may have nothing else.
                is_number = line[j] == line[j]
                are_lost |= (of_panel[j] == 0) & (line[j] != 0) & is_number
    return are_lost


@cache
def lines_kernel(spec: FoldSpec) -> tuple[Any, Any, bool]:
    """Return a loop with the type of what it leaves for each row, and whether that is two words.

    It is called as ``fold(data, rows, length, pitch, width, left, first, second, counts)``. Rows
    lie as in `columns`; in the end they are joined, later ones to earlier ones, until no more than
    so many are left. Four lines are taken at a time, so that what is kept of each row is loaded and
    stored once for them; the order in which they are added is theirs.
    """
    (fold,) = spec.folds
    skip_nan, until_some = spec.skip_nan, spec.until == "some"
    is_total, is_whole, is_product = fold == "total", fold == "whole", fold == "product"
    is_low, is_high, is_nonzero = fold == "low", fold == "high", fold == "nonzero"
    is_of_some = is_extreme_of_some(spec)
    is_counted = skip_nan and not is_of_some
    may_leave = may_leave_range(spec)
    least_size, largest_size = LEAST_SQUARE, LARGEST_SQUARE
    if is_product:
        least_size, largest_size = LEAST_PRODUCT, LARGEST_PRODUCT
    is_square = fold == "square"
    in_two_words = is_whole and spec.values in {"int64", "uint64"}
    element, kind = element_type(spec.values), _kind(spec)
    # What a block of lines is added in, as in `columns`.
    lanes = kind
    if is_total:
        lanes = np.dtype(spec.sums).type
    elif is_nonzero and not until_some:
        lanes = np.int32
    least, largest = bounds(element)
    neutral = lanes(largest if is_low else least if is_high else is_product)
    block_size = min(spec.block, LINES)

    @compiled
    def taken(v):  # type: ignore[no-untyped-def]
        if is_nonzero:
            return lanes(v != 0)
        if in_two_words:
            return lanes(v & LOW_WORD)
        if is_square:
            square = times_itself(np.float64(v))
            if skip_nan:
                return _either(v == v, square, neutral)  # noqa: PLR0124 - NaN is not itself
            return square
        if skip_nan:
            return _either(v == v, lanes(v), neutral)  # noqa: PLR0124 - NaN is not itself
        return lanes(v)

    @compiled
    def with_next(kept, v):  # type: ignore[no-untyped-def]
        # Of equals, which zeros of both signs are, the last is taken, as in `columns`.
        if is_of_some:
            # Where there is a NaN that leaves what is kept.
            return _either(v <= kept if is_low else v >= kept, v, kept)
        if is_low or is_high:
            new = taken(v)
            ahead = new <= kept if is_low else new >= kept
            ahead |= new != new  # noqa: PLR0124 - NaN is not itself
            return _either(ahead, new, kept)
        if is_product:
            return kept * taken(v)
        if until_some:
            return kept | taken(v)
        return lanes(kept + taken(v))

    @compiled
    def joined(old, new, old_count, new_count):  # type: ignore[no-untyped-def]
        if is_of_some:
            return _either(new < old if is_low else new > old, new, old)
        if is_low or is_high:
            leads = outdoes(new, old, new < old if is_low else new > old)
            return _either((new_count > 0) & (leads | (old_count == 0)), new, old)
        if is_product:
            return old * new
        if until_some:
            return old | new
        return kind(old + kind(new))

    # Additions stay in their order: nothing may be reassociated.
    @cached
    @njit(nogil=True, fastmath={"nsz"})
    @specialised
    def fold_lines(data, rows, length, pitch, width, rows_left, first, second, counts):  # type: ignore[no-untyped-def]
        block, high = np.empty(STRIP, lanes), np.empty(STRIP, np.int64)
        numbers = np.empty(STRIP, np.int32)
        strips, rows_of_all = (width + STRIP - 1) // STRIP, rows
        for strip in range(rows // width * strips):
            panel, left = strip // strips, strip % strips * STRIP
            run = min(STRIP, width - left)
            start = panel * length * pitch + left
            row = panel * width + left
            answers, counted = first[row : row + run], counts[row : row + run]
            high_words = second[row : row + run]
            if is_whole:
                for j in range(run):
                    answers[j], high_words[j] = 0, 0
            for begin in range(0, length, block_size):
                end = min(begin + block_size, length)
                for j in range(run):
                    block[j] = neutral
                    if in_two_words:
                        high[j] = 0
                    if is_counted:
                        numbers[j] = 0
                fours = (end - begin) // 4 * 4
                for i in range(begin, begin + fours, 4):
                    at = start + i * pitch
                    a, b = data[at : at + run], data[at + pitch : at + pitch + run]
                    at += 2 * pitch
                    c, d = data[at : at + run], data[at + pitch : at + pitch + run]
                    for j in range(run):
                        two = with_next(with_next(block[j], a[j]), b[j])
                        block[j] = with_next(with_next(two, c[j]), d[j])
                        if in_two_words:
                            high[j] += (
                                np.int64(a[j] >> 32)
                                + np.int64(b[j] >> 32)
                                + np.int64(c[j] >> 32)
                                + np.int64(d[j] >> 32)
                            )
                        if is_counted:
                            numbers[j] += (
                                np.int32(a[j] == a[j])
                                + np.int32(b[j] == b[j])
                                + np.int32(c[j] == c[j])
                                + np.int32(d[j] == d[j])
                            )
                for i in range(begin + fours, end):
                    a = data[start + i * pitch : start + i * pitch + run]
                    for j in range(run):
                        block[j] = with_next(block[j], a[j])
                        if in_two_words:
                            high[j] += np.int64(a[j] >> 32)
                        if is_counted:
                            numbers[j] += np.int32(a[j] == a[j])
                if begin == 0 and not is_whole:
                    # There is nothing to join yet.
                    for j in range(run):
                        answers[j] = kind(block[j])
                        if is_counted:
                            counted[j] = numbers[j]
                    continue
                for j in range(run):
                    if is_whole:
                        low_word = answers[j] + (block[j] & LOW_WORD)
                        high_words[j] += (low_word >> 32) + (block[j] >> 32)
                        if in_two_words:
                            high_words[j] += high[j]
                        answers[j] = low_word & LOW_WORD
                    elif is_counted:
                        answers[j] = joined(answers[j], block[j], counted[j], numbers[j])
                        counted[j] += numbers[j]
                    else:
                        answers[j] = joined(answers[j], block[j], begin, 1)
            if is_of_some:
                in_doubt = False
                for j in range(run):
                    in_doubt |= answers[j] == neutral
                if in_doubt:
                    for j in range(run):
                        if answers[j] == neutral:
                            counted[j] = 1
                            for i in range(length):
                                v = data[start + i * pitch + j]
                                if v == v:  # noqa: PLR0124 - NaN is not itself
                                    counted[j] = 0
                                    break
        while rows > rows_left:
            rows //= 2
            for j in range(rows):
                if is_whole:
                    low_word = first[j] + first[rows + j]
                    second[j] += second[rows + j] + (low_word >> 32)
                    first[j] = low_word & LOW_WORD
                elif is_of_some:
                    first[j] = joined(first[j], first[rows + j], 1, 1)
                    counts[j] &= counts[rows + j]
                elif skip_nan:
                    first[j] = joined(first[j], first[rows + j], counts[j], counts[rows + j])
                    counts[j] += counts[rows + j]
                else:
                    first[j] = joined(first[j], first[rows + j], 1, 1)
        if may_leave:
            # Here the numbers are in a cache still, and no array is made for it.
            are_lost, are_zero = False, False
            for j in range(rows):
                size = abs(first[j])
                are_zero |= size == 0
                are_lost |= (size > largest_size) | ((size < least_size) & (size != 0))
                if is_product:
                    are_lost |= size != size  # noqa: PLR0124 - NaN is not itself
            if is_square and are_zero and not are_lost and rows == rows_of_all:
                are_lost = _are_squares_lost(data, rows, length, pitch, width, first)
            else:
                are_lost |= are_zero
            second[0] = are_lost

    return fold_lines, kind, is_whole
