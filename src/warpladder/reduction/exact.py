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

from warpladder.device.kernel_cache import cached
from warpladder.reduction.blocks import chosen, element_type, numbers, widened
from warpladder.reduction.scalars import as_bits, as_float, fused_multiply_add, strict

__all__ = [
    "ExactSpec",
    "exact_deviations",
    "exact_kernel",
    "exact_means",
    "exact_roots",
    "exact_sums",
    "merge_exact",
    "new_limbs",
]

_BLOCK = 2048
# Limbs of a sum, from 2^-1088 to 2^1088, and of a sum of squares; one more holds what is no number.
_LIMBS, _LIMBS_OF_SQUARES = 68, 136
_NAN, _PLUS, _MINUS = 1, 2, 4
_LOW_WORD, _PIECE = 0xFFFFFFFF, 0x3FFFFF
_MAGNITUDE = 0x7FFFFFFFFFFFFFFF
# The window at s takes numbers below 2^(s + 50); it stands no lower than float64's last bit, and no
# higher than its constant fits float64.
_WINDOW, _LOWEST, _HIGHEST = 50, -1074, 970
# Squares in this range leave a rounding error that is a normal float64.
_LEAST_SQUARE, _LARGEST_SQUARE = 2.0**-900, 2.0**1000
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


@strict
def _deposit(limbs: Any, value: Any, exponent: Any) -> None:
    """Add value * 2^exponent, the value below 2^62."""
    position = exponent + 16 * (limbs.size - 1)
    i, shift = position >> 5, position & 31
    low = (value & _LOW_WORD) << shift
    high = (value >> 32) << shift
    limbs[i] += low & _LOW_WORD
    limbs[i + 1] += (low >> 32) + (high & _LOW_WORD)
    # Near the top of the range the value is small and this is nothing.
    if i + 2 < limbs.size - 1:
        limbs[i + 2] += high >> 32


@strict
def _carry(limbs: Any) -> None:
    """Leave 32 bits in each limb; the last keeps the sign. Equal sums then have equal limbs."""
    carried = np.int64(0)
    for i in range(limbs.size - 2):
        word = limbs[i] + carried
        carried = word >> 32
        limbs[i] = word & _LOW_WORD
    limbs[limbs.size - 2] += carried


@strict
def _deposit_number(limbs: Any, x: Any, is_square: Any) -> None:
    """Add one number, or its square, whatever it is."""
    bits = as_bits(x)
    exponent = (bits >> 52) & 0x7FF
    fraction = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        kind = _NAN if fraction else (_MINUS if bits < 0 and not is_square else _PLUS)
        limbs[limbs.size - 1] |= kind
        return
    if exponent:
        fraction |= 1 << 52
    else:
        exponent = 1
    exponent -= 1075
    if not is_square:
        _deposit(limbs, -fraction if bits < 0 else fraction, exponent)
        return
    high, low = fraction >> 27, fraction & 0x7FFFFFF
    _deposit(limbs, high * high, 2 * exponent + 54)
    _deposit(limbs, 2 * high * low, 2 * exponent + 27)
    _deposit(limbs, low * low, 2 * exponent)


@strict
def _window_constant(s: Any) -> Any:
    return as_float(((np.int64(s) + 1075) << 52) | (1 << 51))


@strict
def _one_window(block: Any, constant: Any) -> Any:
    """Return the sum of multiples, the bits of all that is left, and the largest magnitude's."""
    total, left, top = np.int64(0), np.int64(0), np.int64(0)
    for i in range(block.size):
        x = np.float64(block[i])
        shifted = x + constant
        total += as_bits(shifted)
        left |= as_bits(x - (shifted - constant))
        top = max(top, as_bits(x) & _MAGNITUDE)
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
        top = max(top, as_bits(x) & _MAGNITUDE)
    n = block.size
    return total - n * as_bits(constant), lower_total - n * as_bits(lower), left, top


@strict
def _add_block(limbs: Any, block: Any, window: Any) -> None:
    """Add a block; ``window`` holds where the last block's stood and whether it took two."""
    for attempt in range(3):
        s = window[0]
        lower = max(s - _WINDOW - 1, _LOWEST)
        constant = _window_constant(s)
        rest = np.int64(0)
        if window[1]:
            total, rest, left, top = _two_windows(block, constant, _window_constant(lower))
        else:
            total, left, top = _one_window(block, constant)
        # 0 has the exponent of the least numbers, and fits where they do.
        exponent = (top >> 52) - 1022
        if left & _MAGNITUDE == 0 and exponent <= s + _WINDOW:
            _deposit(limbs, total, s)
            _deposit(limbs, rest, lower)
            return
        if exponent - _WINDOW > _HIGHEST:
            break
        # Set the window to this block first, with some room above for the next ones; take a second
        # one if that is not enough.
        aimed = min(max(exponent - _WINDOW + 2, _LOWEST), _HIGHEST)
        if aimed == s or attempt == 1:
            window[1] = 1
        window[0] = aimed
    for i in range(block.size):
        _deposit_number(limbs, np.float64(block[i]), False)


@strict
def _add_squares(limbs: Any, block: Any, squares: Any, errors: Any, windows: Any) -> None:
    """Add the squares of a block of float64: each rounded, and what rounding left."""
    strays = 0
    for i in range(block.size):
        x = np.float64(block[i])
        square = x * x
        squares[i] = square
        errors[i] = fused_multiply_add(x, x, -square)
        strays += not (_LEAST_SQUARE < square < _LARGEST_SQUARE or x == 0)
    if not strays:
        _add_block(limbs, squares[: block.size], windows[0])
        _add_block(limbs, errors[: block.size], windows[1])
    else:
        for i in range(block.size):
            _deposit_number(limbs, np.float64(block[i]), True)


@strict
def _add_wholes(limbs: Any, block: Any, is_absolute: Any) -> None:
    """Add integers of 64 bits, or their absolute values, in halves."""
    high, low = np.int64(0), np.int64(0)
    for i in range(block.size):
        v = block[i]
        sign = np.int64(-1 if is_absolute and v < 0 else 1)
        high += sign * np.int64(v >> 32)
        low += sign * np.int64(v & _LOW_WORD)
    _deposit(limbs, high, 32)
    _deposit(limbs, low, 0)


@strict
def _add_whole_squares(limbs: Any, block: Any) -> None:
    """Add squares of integers of 64 bits, in pieces of 22 bits: 2048 products of two fit 62."""
    top, second, middle = np.int64(0), np.int64(0), np.int64(0)
    fourth, last = np.int64(0), np.int64(0)
    for i in range(block.size):
        a, b = np.int64(block[i] >> 44), np.int64(block[i] >> 22) & _PIECE
        c = np.int64(block[i] & _PIECE)
        top += a * a
        second += a * b
        middle += b * b + 2 * a * c
        fourth += b * c
        last += c * c
    _deposit(limbs, top, 88)
    _deposit(limbs, 2 * second, 66)
    _deposit(limbs, middle, 44)
    _deposit(limbs, 2 * fourth, 22)
    _deposit(limbs, last, 0)


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
            _carry(row)

    return add


@cached
@njit(nogil=True, fastmath=False)
def merge_exact(limbs: Any, later: Any) -> None:
    """Add sums to sums."""
    for k in range(len(limbs)):
        for i in range(limbs.shape[1] - 1):
            limbs[k, i] += later[k, i]
        limbs[k, -1] |= later[k, -1]
        _carry(limbs[k])


def exact_sums(limbs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums in float64, each rounded once, to the nearest."""
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
    for k, n in enumerate(counts.tolist()):
        if n and not limbs[k, -1]:
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
    """Return the long integer that limbs after `_carry` stand for."""
    below = int.from_bytes(row[:-2].astype("<u4").tobytes(), "little")
    return below + (int(row[-2]) << (32 * (row.size - 2)))


def _unit(row: NDArray[np.int64]) -> int:
    """Return how many of the integer's units make 1."""
    return 1 << (16 * (row.size - 1))


def _nearest(numerator: int, denominator: int, kinds: int) -> float:
    """Return the float64 nearest to a fraction, or what infinities and NaNs make of the sum."""
    if kinds & _NAN or (kinds & _PLUS and kinds & _MINUS):
        return np.nan
    if kinds:
        return np.inf if kinds & _PLUS else -np.inf
    try:
        # Python divides integers with one rounding, to the nearest.
        return numerator / denominator
    except OverflowError:
        return np.inf if numerator > 0 else -np.inf
