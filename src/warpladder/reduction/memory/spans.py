"""Sides of a matrix cut into runs of indices, each with the slices of an array that take them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

__all__ = ["Span", "spans_of"]


class Span(NamedTuple):
    """Indices from ``begin`` to ``end`` of a side of the matrix, and the slices that take them."""

    begin: int
    end: int
    slices: tuple[slice, ...] = ()


def spans_of(shape: tuple[int, ...], limit: int) -> Iterator[Span]:
    """Cut all indices of a shape, in C order, into runs of about ``limit`` that are slices."""
    if 0 in shape:
        return
    cut, inner = len(shape), 1
    while cut and inner * shape[cut - 1] <= limit:
        cut -= 1
        inner *= shape[cut]
    whole = (slice(None),) * (len(shape) - cut)
    if not cut:
        yield Span(0, inner, whole)
        return
    cut -= 1
    step = max(limit // inner, 1)
    begin = 0
    for outer in product(*map(range, shape[:cut])):
        for i in range(0, shape[cut], step):
            j = min(i + step, shape[cut])
            slices = (*(slice(o, o + 1) for o in outer), slice(i, j), *whole)
            yield Span(begin, begin + (j - i) * inner, slices)
            begin += (j - i) * inner
