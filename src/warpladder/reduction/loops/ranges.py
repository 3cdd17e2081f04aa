"""Squares and products whose way leads out of the range of float64 while their end lies in it.

Squares are kept in three ranges (Blue, 1978): what is tiny is scaled by `SCALE` before it is
squared, what is huge by its inverse. A product is kept as a number of moderate size times a power
of two. So what partial results are does not matter: finite numbers never make a NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.loops.blocks import is_kept
from warpladder.reduction.rules import SCALE, passes, times
from warpladder.reduction.scalars import loose, strict, strict_inline

__all__ = [
    "MOST",
    "are_squares_lost",
    "multiplied",
    "product_of",
    "root_of",
    "squares_of",
    "sum_of",
]

# Elements multiplied at a time where a block's product is out of range.
_FEW = 64
MOST = 10_000
"""Two to this, or to minus this, makes an infinity or 0 of any product of moderate size."""


@loose
def squares_of(block: Any, marks: Any, masked: Any, skip_nan: Any, scale: Any) -> Any:
    """Return the sum of the squares of a block, scaled before they are squared."""
    total = 0.0
    for i in range(block.size):
        scaled = np.float64(block[i]) * scale
        total += scaled * scaled if is_kept(block, marks, i, masked, skip_nan) else 0.0
    return total


@loose
def _plain_product(block: Any, marks: Any, masked: Any, skip_nan: Any) -> Any:
    product = 1.0
    for i in range(block.size):
        product *= np.float64(block[i]) if is_kept(block, marks, i, masked, skip_nan) else 1.0
    return product


@strict_inline
def multiplied(
    block: Any, marks: Any, masked: Any, skip_nan: Any, product: Any, exponent: Any
) -> Any:
    """Return ``product * 2^exponent`` times a block whose own product is out of range."""
    for begin in range(0, block.size, _FEW):
        few, few_marks = block[begin : begin + _FEW], marks[begin : begin + _FEW]
        factor = _plain_product(few, few_marks, masked, skip_nan)
        if passes(product, factor):
            product, exponent = times(product, exponent, factor, 0)
            continue
        for i in range(few.size):
            if is_kept(few, few_marks, i, masked, skip_nan):
                product, exponent = times(product, exponent, np.float64(few[i]), 0)
    return product, exponent


def product_of(product: NDArray[Any], exponent: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return products kept in two parts as what they are."""
    if not np.count_nonzero(exponent):
        return product
    power = np.clip(exponent, -MOST, MOST).astype(np.int32)
    return np.asarray(np.ldexp(product, power))


def root_of(tiny: NDArray[Any], middle: NDArray[Any], huge: NDArray[Any]) -> NDArray[np.float64]:
    """Return the root of a sum of squares kept in three ranges."""
    roots = np.asarray(np.sqrt(middle))
    # What is NaN belongs to these.
    if np.count_nonzero(tiny) or np.count_nonzero(huge):
        wide = (tiny != 0) | (huge != 0)
        low, high = np.sqrt(tiny[wide]) / SCALE, np.sqrt(huge[wide]) * SCALE
        both = np.hypot(np.hypot(low, roots[wide]), high)
        # To hypot an infinity outweighs a NaN.
        roots[wide] = np.where(np.isnan(roots[wide] + high), np.nan, both)
    return roots


def sum_of(tiny: NDArray[Any], middle: NDArray[Any], huge: NDArray[Any]) -> NDArray[np.float64]:
    """Return a sum of squares kept in three ranges, as far as it fits float64."""
    return np.asarray(tiny / SCALE / SCALE + middle + huge * SCALE * SCALE)


@strict
def are_squares_lost(
    data: Any, start: Any, length: Any, pitch: Any, squares: Any, least: Any, largest: Any
) -> Any:
    """Return whether squares that are added up are too small or large, or 0 and had not to be."""
    are_lost, run = False, squares.size
    for j in range(run):
        are_lost |= (squares[j] > largest) | ((squares[j] < least) & (squares[j] != 0))
    if are_lost:
        return True
    for i in range(length):
        line = data[start + i * pitch : start + i * pitch + run]
        for j in range(run):
            # Where NaNs are skipped, a row may have nothing else.
            is_number = line[j] == line[j]
            are_lost |= (squares[j] == 0) & (line[j] != 0) & is_number
    return are_lost
