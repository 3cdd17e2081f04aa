"""What every accumulator does with a block of elements before and after its loop.

A mask and NaNs to skip are dealt with here: a loop that can leave elements out without a branch
asks `is_kept` for each; one that cannot is given a copy of what counts (`chosen`, `numbers`) in a
small buffer that stays in the first-level cache, as is float16 in a wider form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.subroutines import subroutine
from warpladder.reduction.scalars import compiled, half_to_float, strict

__all__ = [
    "STACK",
    "bounds",
    "chosen",
    "count_numbers",
    "drain",
    "element_type",
    "is_kept",
    "numbers",
    "numbers_among",
    "push",
    "widened",
]


def element_type(values: str) -> Any:
    """Return the type in which loops see the elements of a dtype."""
    return np.dtype({"float16": "float32", "bool": "uint8"}.get(values, values)).type


def bounds(element: Any) -> tuple[Any, Any]:
    """Return what no element is less than, and none greater."""
    if np.dtype(element).kind == "f":
        return element(-np.inf), element(np.inf)
    limits = np.iinfo(element)
    return element(limits.min), element(limits.max)


@compiled
def numbers_among(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return how many of these are not NaN, which is not itself."""
    two = np.int32(a == a) + np.int32(b == b)  # noqa: PLR0124
    return two + np.int32(c == c) + np.int32(d == d)  # noqa: PLR0124


# It is asked at every element: where references to its arrays were counted, no loop became vectors
# that learns only as it runs whether there is a mask. The exponentials of 2^20 float64 took 13 ms
# in place of 1.2.
@subroutine(fastmath=False, counted=False)
def is_kept(block: Any, marks: Any, i: Any, masked: Any, skip_nan: Any) -> Any:
    """Return whether an element counts: its mark is set, it is no NaN."""
    kept = True
    if masked:
        kept = marks[i]
    if skip_nan:
        kept &= block[i] == block[i]
    return kept


@strict
def widened(block: Any, buffer: Any) -> Any:
    """Return float16s, given as their bits, as float32."""
    for i in range(block.size):
        buffer[i] = half_to_float(block[i])
    return buffer[: block.size]


@strict
def chosen(block: Any, mask: Any, buffer: Any) -> Any:
    """Return the elements where the mask is set; the block may be the buffer itself."""
    kept = 0
    for i in range(block.size):
        kept += mask[i]
    if kept == block.size:
        return block
    count = 0
    for i in range(block.size):
        buffer[count] = block[i]
        count += mask[i]
    return buffer[:count]


@strict
def count_numbers(block: Any) -> Any:
    """Return how many elements are not NaN."""
    kept = 0
    for i in range(block.size):
        kept += block[i] == block[i]
    return kept


@strict
def numbers(block: Any, buffer: Any) -> Any:
    """Return the elements that are not NaN; the block may be the buffer itself."""
    if count_numbers(block) == block.size:
        return block
    count = 0
    for i in range(block.size):
        v = block[i]
        buffer[count] = v
        count += v == v  # noqa: PLR0124 - NaN is not itself
    return buffer[:count]


STACK = 64
"""Levels of a pairwise sum of up to 2^64 numbers."""


@strict
def push(stack: Any, count: Any, value: Any) -> None:
    """Add a number to a pairwise sum that has taken ``count`` numbers before."""
    level = 0
    while count & 1:
        value = stack[level] + value
        count >>= 1
        level += 1
    stack[level] = value


@strict
def drain(stack: Any, count: Any) -> Any:
    """Return the pairwise sum of the ``count`` numbers pushed."""
    total = 0.0
    level = 0
    while count:
        if count & 1:
            total = stack[level] + total
        count >>= 1
        level += 1
    return total
