"""What exact sums are made of: numbers of any size, added to limbs of 32 bits.

As in `rules`, each function is for a CPU and a GPU alike. What the limbs and windows are for is
told in `exact`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from warpladder.reduction.rules import LOW_WORD
from warpladder.reduction.scalars import add_at, as_bits, as_float, mark_at, rule

__all__ = [
    "HIGHEST",
    "LOWEST",
    "MAGNITUDE",
    "MINUS",
    "NAN",
    "PLUS",
    "SQUARES_WITH_ERRORS",
    "WINDOW",
    "carry",
    "deposit",
    "deposit_number",
    "halves",
    "merge_exact",
    "nearest",
    "scale_for",
    "spread",
    "square_pieces",
    "window_constant",
]

NAN, PLUS, MINUS = 1, 2, 4
"""What the last limb says of a sum that is no number: there was a NaN, an infinity of a sign."""

WINDOW, LOWEST, HIGHEST = 50, -1074, 970
"""The window at s takes numbers below 2^(s + 50); it stands no lower than float64's last bit, and
no higher than its constant fits float64."""

MAGNITUDE = 0x7FFFFFFFFFFFFFFF
"""All bits of a float64 but the sign."""

SQUARES_WITH_ERRORS = 2.0**-900, 2.0**1000
"""Squares in this range leave a rounding error that is a normal float64."""

_PIECE = 0x3FFFFF


@rule
def merge_exact(states: Any, i: Any, others: Any, j: Any) -> None:
    """Let the limbs of sum i take in those of other j."""
    limbs, later = states[i], others[j]
    last = limbs.size - 1
    for k in range(last):
        limbs[k] += later[k]
    limbs[last] |= later[last]
    carry(limbs)


@rule
def carry(limbs: Any) -> None:
    """Leave 32 bits in each limb; the last keeps the sign. Equal sums then have equal limbs."""
    carried = np.int64(0)
    for i in range(limbs.size - 2):
        word = limbs[i] + carried
        carried = word >> 32
        limbs[i] = word & LOW_WORD
    limbs[limbs.size - 2] += carried


@rule
def spread(limbs: Any, value: Any, exponent: Any) -> Any:
    """Return what a value * 2^exponent adds to limbs: the first one's number, and to each of three.

    The value is below 2^62; what the second takes has 33 bits, and the last has the sign.
    """
    position = exponent + 16 * (limbs.size - 1)
    i, shift = position >> 5, position & 31
    low = (value & LOW_WORD) << shift
    high = (value >> 32) << shift
    return i, low & LOW_WORD, (low >> 32) + (high & LOW_WORD), high >> 32


@rule
def deposit(limbs: Any, value: Any, exponent: Any) -> None:
    """Add value * 2^exponent, the value below 2^62."""
    i, low, middle, high = spread(limbs, value, exponent)
    add_at(limbs, i, low)
    add_at(limbs, i + 1, middle)
    # Near the top of the range the value is small and this is nothing.
    if i + 2 < limbs.size - 1:
        add_at(limbs, i + 2, high)


@rule
def deposit_number(limbs: Any, x: Any, is_square: Any) -> None:
    """Add one number, or its square, whatever it is."""
    bits = as_bits(x)
    exponent = (bits >> 52) & 0x7FF
    fraction = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        kind = NAN if fraction != 0 else (MINUS if bits < 0 and not is_square else PLUS)
        mark_at(limbs, limbs.size - 1, kind)
        return
    if exponent != 0:
        fraction |= np.int64(1) << 52
    else:
        exponent = np.int64(1)
    exponent -= 1075
    if is_square:
        high, low = fraction >> 27, fraction & 0x7FFFFFF
        deposit(limbs, high * high, 2 * exponent + 54)
        deposit(limbs, 2 * high * low, 2 * exponent + 27)
        deposit(limbs, low * low, 2 * exponent)
    else:
        deposit(limbs, -fraction if bits < 0 else fraction, exponent)


@rule
def window_constant(scale: Any) -> Any:
    """Return 1.5 * 2^(52 + scale): adding it rounds to multiples of 2^scale."""
    return as_float(((np.int64(scale) + 1075) << 52) | (np.int64(1) << 51))


@rule
def scale_for(exponent: Any) -> Any:
    """Return where to set a window for numbers below 2^exponent, with some room above."""
    return min(max(exponent - WINDOW + 2, LOWEST), HIGHEST)


@rule
def halves(v: Any, is_absolute: Any) -> Any:
    """Return the words of an integer of 64 bits, or of its absolute value."""
    sign = np.int64(-1 if is_absolute and v < 0 else 1)
    return sign * np.int64(v >> 32), sign * np.int64(v & LOW_WORD)


@rule
def square_pieces(v: Any) -> Any:
    """Return what the square of an integer has of 2^88, 2^67, 2^44, 2^23 and 1.

    It is cut into pieces of 22 bits: 2048 products of two fit 62.
    """
    a, b = np.int64(v >> 44), np.int64(v >> 22) & _PIECE
    c = np.int64(v & _PIECE)
    return a * a, a * b, b * b + 2 * a * c, b * c, c * c


# Of a magnitude so many bits are looked at, of which the first is set; those of a float64.
_BITS, _MANTISSA = 62, 53
_LEAST_EXPONENT = -1022


@rule
def _digit(limbs: Any, k: Any, lowest: Any, is_negative: Any) -> Any:
    """Return limb k of the magnitude of a sum whose lowest limb that is not 0 is this."""
    word, top = limbs[k], limbs.size - 2
    if not is_negative or k < lowest:
        return word
    if k > lowest:
        return ~word if k == top else LOW_WORD - word
    return -word if k == top else LOW_WORD + 1 - word


@rule
def _width(word: Any) -> Any:
    """Return how many bits a number above 0 has."""
    bits = np.int64(0)
    while word > 0:
        word >>= 1
        bits += 1
    return bits


@rule
def nearest(limbs: Any) -> Any:
    """Return the sum that limbs stand for after `carry` as a float64, rounded once."""
    last = limbs.size - 1
    kinds, top = limbs[last], last - 1
    if kinds != 0:
        if kinds & NAN or (kinds & PLUS and kinds & MINUS):
            return math.nan
        return math.inf if kinds & PLUS else -math.inf
    is_negative = limbs[top] < 0
    lowest = np.int64(0)
    while lowest < top and limbs[lowest] == 0:
        lowest += 1
    if limbs[lowest] == 0:
        return 0.0
    highest: Any = np.int64(top)
    while _digit(limbs, highest, lowest, is_negative) == 0:
        highest -= 1
    first = _digit(limbs, highest, lowest, is_negative)
    width = _width(first)
    # Bits of the digits below that there is room for; what does not fit only tells of a rest.
    room = _BITS - width
    mantissa, rest = first << room, np.int64(0)
    k = highest
    while k > max(highest - 2, 0):
        k -= 1
        digit = _digit(limbs, k, lowest, is_negative)
        room -= 32
        if room >= 0:
            mantissa |= digit << room
        else:
            cut = min(-room, 32)
            mantissa |= digit >> cut
            rest |= digit & ((np.int64(1) << cut) - 1)
    if lowest < highest - 2:
        rest |= 1
    exponent = 32 * highest + width - 1 - 16 * last
    kept = min(_MANTISSA, _MANTISSA + exponent - _LEAST_EXPONENT)
    if kept < 0:
        return -0.0 if is_negative else 0.0
    dropped = _BITS - kept
    half = np.int64(1) << (dropped - 1)
    whole, below = mantissa >> dropped, mantissa & (2 * half - 1)
    if below > half or (below == half and (rest != 0 or whole & 1)):
        whole += 1
    found = math.ldexp(np.float64(whole), int(exponent - kept + 1))
    return -found if is_negative else found
