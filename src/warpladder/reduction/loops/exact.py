"""Exact sums: the same bits for any order, chunking, number of threads and device.

Every float64 is an integer times 2^-1074, so a sum of floats is one long integer. It is kept as
*limbs*: int64 words of which each stands for 32 bits of it and has the rest to spare for carries.
Adding integers is associative; whatever the order, the limbs hold the same number, and rounding
happens once, at the very end. On a GPU the same state takes atomic additions of 64-bit integers.

Limbs are not touched for each element. A block is summed in a *window* of 51 bits, in vectors:
adding the constant ``1.5 * 2^(52 + s)`` to x rounds it to a multiple of 2^s, and that multiple can
be read off the sum's bits, so that adding up bits as integers adds up the multiples; ``x - ((x + c)
- c)`` is what was rounded off, exactly. If nothing was left in the whole block, one window was
enough: so it is for float32 and float16 unless their exponents differ by more than 25. Float64
takes a second window, 51 bits lower. A block whose numbers span yet more, or that has an infinity
or a NaN, is added number by number. Measured on one core of a Zen 4: 21 GB/s of float32, 34 GB/s of
float64; main memory gives 34 GB/s to all cores.

Squares are exact as well: those of float32 fit float64, the square of a float64 is the sum of two.
Integers of 64 bits are added up in pieces, which is integer arithmetic all along.

Sources: Neal, "Fast exact summation using small and large superaccumulators", 2015 (the limbs);
Demmel, Nguyen, "Parallel reproducible summation", 2015 (the windows, there with a rounded result).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.arithmetic import fma
from warpladder.device.kernel_cache import cached
from warpladder.reduction.loops.blocks import chosen, element_type, numbers, widened
from warpladder.reduction.loops.limbs import (
    HIGHEST,
    LOWEST,
    MAGNITUDE,
    MINUS,
    NAN,
    PLUS,
    SQUARES_WITH_ERRORS,
    WINDOW,
    carry,
    deposit,
    deposit_number,
    halves,
    nearest,
    scale_for,
    square_pieces,
    window_constant,
)
from warpladder.reduction.rules import LOW_WORD
from warpladder.reduction.scalars import as_bits, strict

__all__ = [
    "ExactSpec",
    "exact_deviations",
    "exact_kernel",
    "exact_means",
    "exact_roots",
    "exact_sums",
    "limbs_of",
    "new_limbs",
]

_BLOCK = 2048
# Limbs of a sum, from 2^-1088 to 2^1088, and of a sum of squares; one more holds what is no number.
_LIMBS, _LIMBS_OF_SQUARES = 68, 136
# From so many rows on a loop rounds them: Python's integers take 2 us each, compiling it 0.4 s.
_MANY_ROWS = 64
# Digits of a root beyond those of the square: more than float64 has.
_ROOT_BITS = 64


class ExactSpec(NamedTuple):
    """What one compiled loop does.

    Attributes
    ----------
    values
        Name of the elements' dtype.
    term
        ``value``, ``absolute`` or ``square``: what of each element is added.
    masked, skip_nan
        Whether a mask says which elements count; whether NaNs do not.
    """

    values: str
    term: str
    masked: bool
    skip_nan: bool


def new_limbs(spec: ExactSpec, rows: int) -> NDArray[np.int64]:
    """Return the states of ``rows`` sums of nothing."""
    limbs = _LIMBS_OF_SQUARES if spec.term == "square" else _LIMBS
    return np.zeros((rows, limbs + 1), np.int64)


def limbs_of(number: float, limbs: int) -> NDArray[np.int64]:
    """Return the state, of so many limbs, of the sum of one number."""
    row = np.zeros(limbs, np.int64)
    if not math.isfinite(number):
        row[-1] = NAN if math.isnan(number) else PLUS if number > 0 else MINUS
        return row
    numerator, denominator = number.as_integer_ratio()
    rest = numerator * _unit(row) // denominator
    for i in range(limbs - 2):
        row[i] = rest & LOW_WORD
        rest >>= 32
    row[-2] = rest
    return row


@strict
def _one_window(block: Any, constant: Any) -> Any:
    """Return the sum of multiples, the bits of all that is left, and the largest magnitude's."""
    total, left, top = np.int64(0), np.int64(0), np.int64(0)
    for i in range(block.size):
        x = np.float64(block[i])
        shifted = x + constant
        total += as_bits(shifted)
        left |= as_bits(x - (shifted - constant))
        top = max(top, as_bits(x) & MAGNITUDE)
    return total - block.size * as_bits(constant), left, top


@strict
def _two_windows(block: Any, constant: Any, lower: Any) -> Any:
    """Return as `_one_window` does, with the sum of multiples of the lower window."""
    total, lower_total, left, top = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(block.size):
        x = np.float64(block[i])
        shifted = x + constant
        total += as_bits(shifted)
        rest = x - (shifted - constant)
        shifted = rest + lower
        lower_total += as_bits(shifted)
        left |= as_bits(rest - (shifted - lower))
        top = max(top, as_bits(x) & MAGNITUDE)
    n = block.size
    return total - n * as_bits(constant), lower_total - n * as_bits(lower), left, top


@strict
def _add_block(limbs: Any, block: Any, window: Any) -> None:
    """Add a block; ``window`` holds where the last block's stood and whether it took two."""
    for attempt in range(3):
        s = window[0]
        lower = max(s - WINDOW - 1, LOWEST)
        constant = window_constant(s)
        rest = np.int64(0)
        if window[1]:
            total, rest, left, top = _two_windows(block, constant, window_constant(lower))
        else:
            total, left, top = _one_window(block, constant)
        # 0 has the exponent of the least numbers, and fits where they do.
        exponent = (top >> 52) - 1022
        if left & MAGNITUDE == 0 and exponent <= s + WINDOW:
            deposit(limbs, total, s)
            deposit(limbs, rest, lower)
            return
        if exponent - WINDOW > HIGHEST:
            break
        # Set the window to this block first, with some room above for the next ones; take a second
        # one if that is not enough.
        aimed = scale_for(exponent)
        if aimed == s or attempt == 1:
            window[1] = 1
        window[0] = aimed
    for i in range(block.size):
        deposit_number(limbs, np.float64(block[i]), False)


@strict
def _add_squares(limbs: Any, block: Any, squares: Any, errors: Any, windows: Any) -> None:
    """Add the squares of a block of float64: each rounded, and what rounding left."""
    strays = 0
    least, largest = SQUARES_WITH_ERRORS
    for i in range(block.size):
        x = np.float64(block[i])
        square = x * x
        squares[i] = square
        errors[i] = fma(x, x, -square)
        strays += not (least < square < largest or x == 0)
    if not strays:
        _add_block(limbs, squares[: block.size], windows[0])
        _add_block(limbs, errors[: block.size], windows[1])
    else:
        for i in range(block.size):
            deposit_number(limbs, np.float64(block[i]), True)


@strict
def _add_wholes(limbs: Any, block: Any, is_absolute: Any) -> None:
    """Add integers of 64 bits, or their absolute values, in halves."""
    high, low = np.int64(0), np.int64(0)
    for i in range(block.size):
        high_half, low_half = halves(block[i], is_absolute)
        high += high_half
        low += low_half
    deposit(limbs, high, 32)
    deposit(limbs, low, 0)


@strict
def _add_whole_squares(limbs: Any, block: Any) -> None:
    """Add squares of integers of 64 bits, in pieces."""
    top, second, middle = np.int64(0), np.int64(0), np.int64(0)
    fourth, last = np.int64(0), np.int64(0)
    for i in range(block.size):
        pieces = square_pieces(block[i])
        top += pieces[0]
        second += pieces[1]
        middle += pieces[2]
        fourth += pieces[3]
        last += pieces[4]
    deposit(limbs, top, 88)
    deposit(limbs, 2 * second, 66)
    deposit(limbs, middle, 44)
    deposit(limbs, 2 * fourth, 22)
    deposit(limbs, last, 0)


@cache
def exact_kernel(spec: ExactSpec) -> Any:
    """Return the compiled loop ``add(data, mask, rows, length, pitch, limbs)``.

    Rows lie as in `folds.fold_kernel`. A row may have 2^30 elements at most.
    """
    masked, skip_nan, is_half = spec.masked, spec.skip_nan, spec.values == "float16"
    is_whole = spec.values in {"int64", "uint64"}
    is_copied = masked or skip_nan or is_half
    is_absolute, is_square = spec.term == "absolute", spec.term == "square"
    element = element_type(spec.values)

    @cached
    @njit(nogil=True, fastmath=False)
    def add(data, mask, rows, length, pitch, limbs):  # type: ignore[no-untyped-def]
        size = min(_BLOCK, length)
        if is_copied:
            buffer = np.empty(size, element)
        if is_square:
            squares, errors = np.empty(size), np.empty(size)
        if is_absolute:
            absolutes = np.empty(size)
        windows = np.zeros((2, 2), np.int64)
        for k in range(rows):
            row = limbs[k]
            for begin in range(k * pitch, k * pitch + length, _BLOCK):
                end = min(begin + _BLOCK, k * pitch + length)
                block = data[begin:end]
                if is_half:
                    block = widened(block, buffer)
                if masked:
                    block = chosen(block, mask[begin:end], buffer)
                if skip_nan:
                    block = numbers(block, buffer)
                if is_whole and is_square:
                    _add_whole_squares(row, block)
                elif is_whole:
                    _add_wholes(row, block, is_absolute)
                elif is_square:
                    _add_squares(row, block, squares, errors, windows)
                elif is_absolute:
                    for i in range(block.size):
                        absolutes[i] = abs(np.float64(block[i]))
                    _add_block(row, absolutes[: block.size], windows[0])
                else:
                    _add_block(row, block, windows[0])
            carry(row)

    return add


@cached
@njit(nogil=True)
def _all_nearest(limbs, sums):  # type: ignore[no-untyped-def]
    for k in range(len(limbs)):
        sums[k] = nearest(limbs[k])


def exact_sums(limbs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums in float64, each rounded once, to the nearest."""
    if len(limbs) >= _MANY_ROWS:
        sums = np.empty(len(limbs))
        _all_nearest(limbs, sums)
        return sums
    return np.array([_nearest(_integer(row), _unit(row), row[-1]) for row in limbs], np.float64)


def exact_means(
    limbs: NDArray[np.int64], sums: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the means, those of sums that do not fit float64 as well."""
    means = sums / counts
    for k in np.flatnonzero(np.isinf(sums) & (limbs[:, -1] == 0)):
        means[k] = _nearest(_integer(limbs[k]), int(counts[k]) * _unit(limbs[k]), 0)
    return np.asarray(means)


def exact_deviations(
    limbs: NDArray[np.int64], squares: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of squared deviations from the mean, and the roots of their means."""
    deviations, roots = np.full((2, len(limbs)), np.nan)
    # Those of nothing are 0, whatever that is divided by.
    for k, n in enumerate(np.maximum(counts, 1).tolist()):
        if not limbs[k, -1]:
            total, unit = _integer(limbs[k]), _unit(limbs[k])
            spread = n * _integer(squares[k]) - total * total
            deviations[k] = _nearest(spread, n * unit * unit, 0)
            roots[k] = _nearest(_root(spread), n * unit << _ROOT_BITS, 0)
    return deviations, roots


def exact_roots(squares: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the square roots of sums of squares, each rounded once."""
    roots = np.empty(len(squares))
    for k, row in enumerate(squares):
        roots[k] = _nearest(_root(_integer(row)), 1 << (8 * (row.size - 1) + _ROOT_BITS), row[-1])
    return roots


def _root(square: int) -> int:
    """Return the root of an integer, times 2^64; the last bit only tells that there is a rest."""
    square <<= 2 * _ROOT_BITS
    root = math.isqrt(square)
    return root | (root * root != square)


def _integer(row: NDArray[np.int64]) -> int:
    """Return the long integer that limbs after `carry` stand for."""
    below = int.from_bytes(row[:-2].astype("<u4").tobytes(), "little")
    return below + (int(row[-2]) << (32 * (row.size - 2)))


def _unit(row: NDArray[np.int64]) -> int:
    """Return how many of the integer's units make 1."""
    return 1 << (16 * (row.size - 1))


def _nearest(numerator: int, denominator: int, kinds: int) -> float:
    """Return the float64 nearest to a fraction, or what infinities and NaNs make of the sum."""
    if kinds & NAN or (kinds & PLUS and kinds & MINUS):
        return np.nan
    if kinds:
        return np.inf if kinds & PLUS else -np.inf
    try:
        # Python divides integers with one rounding, to the nearest.
        return numerator / denominator
    except OverflowError:
        return np.inf if numerator > 0 else -np.inf
