"""The loop over rows that lie across which leaves plain numbers; see `lines`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.stretches import on_stack, stretch
from warpladder.reduction.loops.blocks import bounds, element_type, numbers_among
from warpladder.reduction.loops.columns import LINES
from warpladder.reduction.loops.ranges import are_squares_lost
from warpladder.reduction.loops.states import FoldSpec
from warpladder.reduction.rules import (
    LARGEST_PRODUCT,
    LARGEST_SQUARE,
    LEAST_PRODUCT,
    LEAST_SQUARE,
    LOW_WORD,
    outdoes,
)
from warpladder.reduction.scalars import compiled, either, times_itself

__all__ = [
    "FIELDS",
    "MEANS",
    "ROOTS",
    "SUMS",
    "is_extreme_of_some",
    "lines_kernel",
    "may_leave_range",
    "results_type",
]

FIELDS, SUMS, MEANS, ROOTS = range(4)
"""What a loop makes: fields, of which others make results, or results."""

# What is kept of each row of a strip is to stay in the first-level cache, beside the lines
# (`benchmarks/choices.py`: `strips-of-lines`). Up to six such arrays are on the stack, for which a
# thread that Python makes has 8 MB, if nobody has asked for less: 128 KB are enough.
_STRIP_BYTES = 1 << 14


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
        # Whether there is one, or all are, takes a byte.
        return np.uint8 if spec.until else np.int64
    is_exact = spec.sums == "int64" and fold in {"total", "whole", "product"}
    return np.int64 if is_exact else np.float64


@cache
def results_type(spec: FoldSpec) -> Any:
    """Return the type of the results that the loop can leave, None where it leaves none."""
    (fold,) = spec.folds
    if fold not in {"total", "whole", "product", "square", "absolute"}:
        return None
    if fold != "whole" and spec.values == "float32":
        return np.float32
    return np.int64 if spec.sums == "int64" and fold in {"total", "product"} else np.float64


@cache
def lines_kernel(spec: FoldSpec) -> tuple[Any, Any, bool]:
    """Return a loop with the type of what it leaves for each row, and whether that is two words.

    It is called as ``fold(data, rows, length, pitch, width, left, first, second, counts, results,
    how)``. Rows lie as in `columns`; in the end they are joined, later ones to earlier ones, until
    no more than so many are left. Four lines are taken at a time, so that what is kept of each row
    is loaded and stored once for them; the order in which they are added is theirs.

    Where ``how`` is not `FIELDS`, no rows are joined and results are made of what is left while it
    is in the first-level cache: `SUMS` and the like, `MEANS`, or `ROOTS`.
    """
    (fold,) = spec.folds
    skip_nan, until_some, until_none = spec.skip_nan, spec.until == "some", spec.until == "none"
    is_total, is_whole, is_product = fold == "total", fold == "whole", fold == "product"
    is_low, is_high, is_absolute = fold == "low", fold == "high", fold == "absolute"
    is_of_some = is_extreme_of_some(spec)
    is_counted = skip_nan and not is_of_some
    may_leave = may_leave_range(spec)
    of_products, of_squares = (LEAST_PRODUCT, LARGEST_PRODUCT), (LEAST_SQUARE, LARGEST_SQUARE)
    least_size, largest_size = of_products if is_product else of_squares
    is_square, is_nonzero = fold == "square", fold == "nonzero"
    in_two_words = is_whole and spec.values in {"int64", "uint64"}
    element, kind = element_type(spec.values), _kind(spec)
    # What a block of lines is added in, as in `columns`.
    lanes = kind
    if is_total or (is_absolute and spec.sums != "int64"):
        lanes = np.dtype(spec.sums).type
    elif is_nonzero and not spec.until:
        lanes = np.int32
    is_left_as_added = lanes is kind and not is_whole
    is_sum = is_total or is_absolute
    is_left_as_result = results_type(spec) is kind and (is_sum or is_product)
    is_added_as_result = results_type(spec) is lanes and is_sum
    least, largest = bounds(element)
    begins_with_one = is_product or until_none
    neutral = lanes(largest if is_low else least if is_high else begins_with_one)
    block_size = min(spec.block, LINES)
    strip_size = _STRIP_BYTES // max(each().itemsize for each in (element, lanes, kind))
    is_extreme = is_low or is_high
    may_be_nan = is_extreme and not skip_nan and np.dtype(element).kind == "f"
    nan = lanes(np.nan if may_be_nan else neutral)
    adds_nothing = element(np.nan if skip_nan else neutral if is_extreme else begins_with_one)
    leaves_results = results_type(spec) is not None

    @compiled
    def with_next(kept, v):  # type: ignore[no-untyped-def]
        # Of equals, which zeros of both signs are, the last is taken, as in `columns`.
        if is_of_some:
            # Where there is a NaN that leaves what is kept.
            return either(v <= kept if is_low else v >= kept, v, kept)
        if is_extreme:
            return either(kept < v if is_low else kept > v, kept, v)
        if is_nonzero:
            number = lanes(v != 0)
        elif in_two_words:
            number = lanes(v & LOW_WORD)
        elif is_square:
            number = times_itself(np.float64(v))
        else:
            number = abs(lanes(v)) if is_absolute else lanes(v)
        if skip_nan:
            number = either(v == v, number, neutral)  # noqa: PLR0124 - NaN is not itself
        if is_product:
            return kept * number
        if until_some:
            return kept | number
        if until_none:
            return kept & number
        return lanes(kept + number)

    @compiled
    def with_four(kept, a, b, c, d):  # type: ignore[no-untyped-def]
        found = with_next(with_next(with_next(with_next(kept, a), b), c), d)
        if may_be_nan:
            # One that was kept is lost, so it is asked for, by two numbers at a time: ten
            # instructions where a loop that loses none had 16. The largest over the first axis of
            # 4,096 x 4,096 float32 takes two cores of a Xeon 2.4 ms so, and took 2.8.
            are_nan = (kept != kept) | (a != a)  # noqa: PLR0124 - NaN is not itself
            are_nan |= (b != b) | (c != c)  # noqa: PLR0124 - likewise
            return either(are_nan, nan, found)
        return found

    @compiled
    def joined(old, new, old_count, new_count):  # type: ignore[no-untyped-def]
        if is_of_some:
            return either(new < old if is_low else new > old, new, old)
        if is_extreme:
            leads = outdoes(new, old, new < old if is_low else new > old)
            return either((new_count > 0) & (leads | (old_count == 0)), new, old)
        if is_product:
            return old * new
        if until_some:
            return old | new
        if until_none:
            return old & new
        return kind(old + kind(new))

    @compiled
    def high_words_of(a, b, c, d):  # type: ignore[no-untyped-def]
        two = np.int64(a >> 32) + np.int64(b >> 32)
        return two + np.int64(c >> 32) + np.int64(d >> 32)

    # Additions stay in their order: nothing may be reassociated. A sum begins with 0, which added
    # to the first number is not to be left out: -0 would stay.
    flags = set() if is_total else {"nsz"}

    @cached
    @njit(nogil=True, fastmath=flags, error_model="numpy", _nrt=False)
    @specialised
    def fold_lines(  # type: ignore[no-untyped-def]
        data, rows, length, pitch, width, rows_left, first, second, counts, results, how
    ):
        most = min(strip_size, width)
        # A line that adds nothing.
        nothing = on_stack(strip_size, element)
        for j in range(most):
            nothing[j] = adds_nothing
        block = on_stack(strip_size, lanes)
        if in_two_words:
            high = on_stack(strip_size, np.int64)
        if is_counted:
            numbers = on_stack(strip_size, np.int32)
        if leaves_results:
            own_answers = on_stack(strip_size, kind)
            if is_whole:
                own_high_words = on_stack(strip_size, np.int64)
            if is_counted:
                own_counts = on_stack(strip_size, np.int64)
        strips, joins = (width + strip_size - 1) // strip_size, rows != rows_left
        for strip in range(rows // width * strips):
            panel, left = strip // strips, strip % strips * strip_size
            run = min(strip_size, width - left)
            start = panel * length * pitch + left
            row = panel * width + left
            # One of these may be of no elements, where another is taken in its place below.
            answers, is_done = stretch(first, row, row + run), False
            if is_whole:
                high_words = stretch(second, row, row + run)
            if skip_nan:
                counted = stretch(counts, row, row + run)
            if leaves_results:
                # Made here and not where it is used: a variable that might not be set keeps loops
                # from becoming vectors.
                done = stretch(results, row, row + run)
            if leaves_results and how != FIELDS:
                answers = stretch(own_answers, 0, run)
                if is_whole:
                    high_words = stretch(own_high_words, 0, run)
                if is_counted:
                    counted = stretch(own_counts, 0, run)
                if is_left_as_result and how == SUMS:
                    answers, is_done = done, True
            none = stretch(nothing, 0, run)
            if is_whole:
                for j in range(run):
                    answers[j], high_words[j] = 0, 0
            # Where there is one block, there will be nothing to join.
            sums, is_joined = stretch(block, 0, run), length > block_size
            if is_left_as_added and not is_joined:
                sums = answers
            if is_added_as_result and how == SUMS and not is_joined:
                sums, is_done = done, True
            is_inside = True
            for begin in range(0, length, block_size):
                end = min(begin + block_size, length)
                # The first one to four lines begin the block, so that fours are left. Those have a
                # loop that does not choose its lines, which took ten times as long for short ones.
                some = (end - begin - 1) % 4 + 1
                at = start + begin * pitch
                a, b, c, d = stretch(data, at, at + run), none, none, none
                if some > 1:
                    b = stretch(data, at + pitch, at + pitch + run)
                at += 2 * pitch
                if some > 2:
                    c = stretch(data, at, at + run)
                if some > 3:
                    d = stretch(data, at + pitch, at + pitch + run)
                for j in range(run):
                    sums[j] = with_four(neutral, a[j], b[j], c[j], d[j])
                    if in_two_words:
                        high[j] = high_words_of(a[j], b[j], c[j], d[j])
                    if is_counted:
                        numbers[j] = numbers_among(a[j], b[j], c[j], d[j])
                for i in range(begin + some, end, 4):
                    at = start + i * pitch
                    a, b = stretch(data, at, at + run), stretch(data, at + pitch, at + pitch + run)
                    at += 2 * pitch
                    c, d = stretch(data, at, at + run), stretch(data, at + pitch, at + pitch + run)
                    for j in range(run):
                        sums[j] = with_four(sums[j], a[j], b[j], c[j], d[j])
                        if in_two_words:
                            high[j] += high_words_of(a[j], b[j], c[j], d[j])
                        if is_counted:
                            numbers[j] += numbers_among(a[j], b[j], c[j], d[j])
                if begin == 0 and not is_whole:
                    # There is nothing to join yet.
                    if is_counted:
                        for j in range(run):
                            counted[j] = numbers[j]
                    if not (is_left_as_added or is_done) or is_joined:
                        for j in range(run):
                            answers[j] = kind(sums[j])
                    continue
                for j in range(run):
                    if is_whole:
                        low_word = answers[j] + (sums[j] & LOW_WORD)
                        high_words[j] += (low_word >> 32) + (sums[j] >> 32)
                        if in_two_words:
                            high_words[j] += high[j]
                        answers[j] = low_word & LOW_WORD
                    elif is_counted:
                        answers[j] = joined(answers[j], sums[j], counted[j], numbers[j])
                        counted[j] += numbers[j]
                    else:
                        answers[j] = joined(answers[j], sums[j], begin, 1)
                if is_product and may_leave:
                    # So far none has left its range, nor did what it takes in.
                    for j in range(run):
                        size, later = abs(answers[j]), abs(sums[j])
                        is_inside &= (size >= least_size) & (size <= largest_size)
                        is_inside &= (later >= least_size) & (later <= largest_size)
                    if not is_inside:
                        # All is done again with records.
                        second[0] = True
                        return
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
            # Here the numbers are in a cache still, and no array is made for it.
            if leaves_results and how != FIELDS and not is_done:
                for j in range(run):
                    if may_leave:
                        size = abs(answers[j])
                        is_inside &= (size >= least_size) & (size <= largest_size)
                    if is_whole:
                        mean = np.float64(high_words[j]) * 2.0**32 + np.float64(answers[j])
                        done[j] = mean / length
                    elif is_square:
                        done[j] = np.sqrt(answers[j])
                    elif how == SUMS:
                        done[j] = answers[j]
                    elif is_counted:
                        done[j] = answers[j] / counted[j]
                    else:
                        done[j] = answers[j] / length
            elif may_leave and (is_product or not joins):
                for j in range(run):
                    size = abs(answers[j])
                    is_inside &= (size >= least_size) & (size <= largest_size)
            if may_leave and not is_inside:
                has_left = True
                if is_square:
                    has_left = are_squares_lost(
                        data, start, length, pitch, answers, least_size, largest_size
                    )
                if has_left:
                    second[0] = True
                    return
        are_inside = True
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
            if is_product and may_leave:
                # One that has left its range may come back, with other bits; so may a part of it,
                # which is why parts have been looked at above.
                for j in range(rows):
                    size = abs(first[j])
                    are_inside &= (size >= least_size) & (size <= largest_size)
        if is_product and may_leave:
            second[0] |= not are_inside
        elif may_leave and joins:
            for j in range(rows):
                size = abs(first[j])
                is_inside = least_size <= size <= largest_size
                second[0] |= not is_inside and size == size  # noqa: PLR0124 - NaN is not itself

    return fold_lines, kind, is_whole
