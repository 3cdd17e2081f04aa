"""How kernels find where a row begins, where its elements are, and where its result goes.

Of a `layout.Matrix` that is regular, an element is a step from the one before. Else it is *nested*:
rows, and the elements of each, lie at several distances, as those of the middle of an image do, or
of a channel of many images. Its fields then have a length and a jump for each level, the innermost
last, and a thread goes from one of its elements to the next as an odometer counts: it adds the
digits of the number of threads to its own, and where one is full carries to the level above: an
addition and a comparison for each level, in place of a division.

Rows are counted in the order in which they lie in memory, so that neighbouring threads read
neighbours; where a row's result goes has jumps of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, int64, uint32, uint64

from warpladder.device.specialised import specialised
from warpladder.reduction.gpu.layout import Levels
from warpladder.reduction.gpu.walk import SOME, OnDevice, scanner, singles
from warpladder.reduction.loops.blocks import element_type

__all__ = ["Route", "across_rows", "along_rows", "rows_one_by_one"]


class Route(NamedTuple):
    """Device functions with which a kernel goes over the rows of a matrix.

    ``origin(place, row, inner)`` is where a row begins. ``scan(state, data, origin, place, mask,
    mask_origin, mask_place, begin, n, index, t, threads)`` takes n elements of it, from element
    ``begin`` on, which has the index ``index``, by so many threads, of which this is number t.
    ``target(place, row)`` is where the result goes.
    """

    origin: Any
    scan: Any
    target: Any


@cache
def along_rows(part: OnDevice, levels: Levels | None, *, lean: bool = False) -> Route:
    """Return the route of threads that have neighbouring elements of a row."""
    if levels is not None:
        return Route(_origin(levels), _nested_scan(part, levels, int64), _target(levels))
    scan = scanner(part, lean=lean)

    @cuda.jit(device=True)
    def scan_row(
        state, data, origin, place, mask, mask_origin, mask_place, begin, n, index, t, threads
    ):
        scan(
            state, data, origin + begin * place[2], place[2],
            mask, mask_origin + begin * mask_place[2], mask_place[2], n, index, t, threads,
        )  # fmt: skip

    return Route(beginning, scan_row, _same_row)


@cache
def across_rows(part: OnDevice, levels: Levels | None) -> Route:
    """Return the route of threads that have neighbouring rows; n and t are of 32 bits."""
    if levels is not None:
        return Route(_origin(levels), _nested_scan(part, levels, int32), _target(levels))
    take_singles = singles(part, int32, lean=True)

    @cuda.jit(device=True)
    def scan_rows(
        state, data, origin, place, mask, mask_origin, mask_place, begin, n, index, t, threads
    ):
        start, mask_start = origin + begin * place[2], mask_origin + begin * mask_place[2]
        take_singles(
            state, data, uint64(start + t * place[2]), uint64(threads * place[2]),
            mask, uint64(mask_start + t * mask_place[2]), uint64(threads * mask_place[2]),
            t, n, index, threads,
        )  # fmt: skip

    return Route(beginning, scan_rows, _same_row)


@cuda.jit(device=True)
def beginning(place: Any, row: Any, inner: Any) -> Any:
    """Return where a row begins in the memory of a `layout.Field`, of which this is the place."""
    if inner == 0:
        # A division takes as long as some loads.
        return place[0] + row * place[1]
    group = row // inner
    return place[0] + group * place[3] + (row - group * inner) * place[1]


@cuda.jit(device=True)
def _same_row(place, row):
    return row


@cache
def _counter(levels: int, lengths: int, jumps: int) -> Any:
    """Return ``find(place, number)``: how far what has this number is from the first.

    The lengths and jumps of so many levels stand in the place from these on, the innermost last.
    """
    # Level by level, for every place in a tuple to be a constant: of one that is not Numba makes
    # a branch for each.
    innermost = levels - 1
    length, jump = lengths + innermost, jumps + innermost
    if not innermost:

        @cuda.jit(device=True)
        def find_above(place, number):
            return int64(number) * place[jump]

        return find_above
    find_rest = _counter(innermost, lengths, jumps)

    @cuda.jit(device=True)
    def find(place, number):
        whole = int64(number) // place[length]
        return (number - whole * place[length]) * place[jump] + find_rest(place, whole)

    return find


@cache
def _origin(levels: Levels) -> Any:
    find = _counter(levels.rows, levels.row_lengths, levels.row_jumps)

    @cuda.jit(device=True)
    def origin(place, row, inner):
        return place[0] + find(place, row)

    return origin


@cache
def _target(levels: Levels) -> Any:
    return _counter(levels.rows, levels.row_lengths, levels.targets)


def rows_one_by_one(levels: Levels | None) -> tuple[Any, Any, Any]:
    """Return ``origin`` and ``target`` of a route, and between them how an element is found.

    ``find(place, i)`` is how far element i of a row is from where that begins.
    """
    if levels is None:
        return beginning, _finder(None), _same_row
    return _origin(levels), _finder(levels), _target(levels)


@cache
def _finder(levels: Levels | None) -> Any:
    if levels is not None:
        return _counter(levels.elements, levels.lengths, levels.jumps)

    @cuda.jit(device=True)
    def find(place, i):
        return i * place[2]

    return find


@cuda.jit(device=True)
def _no_digits(place, number, digits):
    pass


def _counting(levels: Levels, level: int, rest: Any) -> Any:
    """Return ``count(place, number, digits)``, for the digits of levels below the first."""
    length = levels.lengths + level

    @cuda.jit(device=True)
    def count(place, number, digits):
        whole = number // place[length]
        digits[level] = number - whole * place[length]
        rest(place, whole, digits)

    return count


@cuda.jit(device=True)
def _not_carried(place, mask_place, digits, hops, far, mask_far):
    return far, mask_far


def _carrying(levels: Levels, level: int, rest: Any) -> Any:
    """Return what adds hops to digits, and where one is full what it is farther to distances."""
    length, jump, above = levels.lengths + level, levels.jumps + level, levels.jumps + level - 1

    @cuda.jit(device=True)
    def carry(place, mask_place, digits, hops, far, mask_far):
        digits[level] += hops[level]
        if digits[level] >= place[length]:
            digits[level] -= place[length]
            # Of the first level nobody asks.
            digits[level - 1] += 1
            far += place[above] - place[length] * place[jump]
            mask_far += mask_place[above] - place[length] * mask_place[jump]
        return rest(place, mask_place, digits, hops, far, mask_far)

    return carry


@cache
def _nested_scan(part: OnDevice, levels: Levels, number: Any) -> Any:
    """Return what `Route` has for nested rows; ``number`` is the type to count elements with."""
    _, values, masked, skip_nan, _, _, _, take_few, take_some, _ = part
    element = element_type(values)
    count_all, depth, find = not masked, levels.elements, _finder(levels)
    digits_of: Any = _no_digits
    carry: Any = _not_carried
    for level in range(1, depth):
        digits_of, carry = _counting(levels, level, digits_of), _carrying(levels, level, carry)

    @cuda.jit(device=True)
    @specialised
    def scan_nested(
        state, data, origin, place, mask, mask_origin, mask_place, begin, n, index, t, threads
    ):
        few = cuda.local.array(SOME, element)
        digits, hops = cuda.local.array(depth, int64), cuda.local.array(depth, int64)
        digits[0], hops[0] = 0, 0
        first = int64(begin) + t
        digits_of(place, first, digits)
        digits_of(place, int64(threads), hops)
        where, hop = origin + find(place, first), find(place, threads)
        mark, mark_hop = int64(mask_origin), int64(0)
        if masked:
            mark, mark_hop = mask_origin + find(mask_place, first), find(mask_place, threads)
        i = number(t)
        if count_all:
            whole = number(n - (SOME - 1) * threads)
            while i < whole:
                valid = uint64(0)
                for j in range(SOME):
                    few[j] = data[uint64(where)]
                    where, mark = carry(place, mask_place, digits, hops, where + hop, mark)
                if skip_nan:
                    for j in range(SOME):
                        if few[j] == few[j]:
                            valid |= uint32(1) << uint32(j)
                take_few(state, few, valid, index + i, 1, threads)
                i = number(i + SOME * threads)
        while i < n:
            valid, at = uint64(0), i
            for j in range(SOME):
                counts = at < n
                if masked and counts:
                    counts = mask[uint64(mark)] != 0
                few[j] = 0
                if counts:
                    few[j] = data[uint64(where)]
                    if not skip_nan or few[j] == few[j]:
                        valid |= uint32(1) << uint32(j)
                at = number(at + threads)
                where, mark = carry(place, mask_place, digits, hops, where + hop, mark + mark_hop)
            take_some(state, few, valid, index + i, 1, threads)
            i = at

    return scan_nested
