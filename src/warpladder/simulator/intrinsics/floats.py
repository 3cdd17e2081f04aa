"""Functions of floats and complex numbers that NumPy has not, or has otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from warpladder.simulator.machine.values import convert_scalar

__all__ = [
    "complex_power",
    "complex_quotient",
    "cospi",
    "elementwise",
    "fast_power",
    "fma",
    "gamma",
    "greatest",
    "least",
    "lgamma",
    "logb",
    "rounded",
    "rounded_away",
    "sinpi",
]


def elementwise(function: Callable[..., float]) -> Callable[..., Any]:
    """Return a function of Python numbers as one of NumPy values; domain errors give NaN."""

    def one(*values: Any) -> Any:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    def run(*values: Any) -> Any:
        dtype = np.result_type(*values)
        result = np.frompyfunc(one, len(values), 1)(*values)
        return np.asarray(result, dtype=dtype if dtype.kind == "f" else np.float64)[()]

    return run


def rounded(value: Any, digits: Any = None) -> Any:
    """Round to whole numbers, or to decimal places, halves to even.

    As Numba does it, scaled to an int64 and back: 0.15, which is less, is rounded to 0.2.
    """
    if digits is None:
        return np.rint(value)
    # In two steps, so that a power of ten is no infinity.
    near = np.power(10.0, np.where(digits > 22, digits - 22, np.abs(digits)))
    far = np.where(digits > 22, 1e22, 1.0)
    scaled = np.where(digits < 0, value / near, value * near * far)
    whole = convert_scalar(np.rint(scaled), np.dtype(np.int64))
    result = np.where(digits < 0, whole * near, whole / far / near)
    kept = ~np.isfinite(value) | (np.isinf(scaled) & (digits >= 0))
    return np.where(kept, value, result)[()]


def gamma(x: float) -> float:
    """Return C's gamma function, which Python does not give for zero."""
    try:
        return math.gamma(x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan
    except OverflowError:
        return math.copysign(math.inf, x)


def lgamma(x: float) -> float:
    """Return the logarithm of the gamma function, infinite at its poles."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def logb(x: Any) -> Any:
    """Return the exponent, as a float."""
    exponent = np.where(np.isfinite(x), np.frexp(x)[1] - 1.0, np.abs(x))
    return np.where(x == 0, -np.inf, exponent)


def _quarter_turns(x: Any) -> tuple[Any, Any, Any]:
    """Return sine and cosine of ``pi * x`` less whole quarters of a turn, and how many quarters."""
    turned = np.fmod(x, 2)
    quarters = np.rint(2 * turned)
    rest = (turned - quarters / 2) * np.pi
    return np.sin(rest), np.cos(rest), np.mod(quarters, 4)


def sinpi(x: Any) -> Any:
    """Return ``sin(pi * x)``, exact where that is a whole number."""
    sine, cosine, quarters = _quarter_turns(x)
    turned = np.where(quarters % 2 == 0, sine, cosine)
    result = np.where(quarters >= 2, -turned, turned)
    return np.where(result == 0, np.copysign(result, x), result)[()]


def cospi(x: Any) -> Any:
    """Return ``cos(pi * x)``, exact where that is a whole number."""
    sine, cosine, quarters = _quarter_turns(x)
    turned = np.where(quarters % 2 == 0, cosine, sine)
    return np.where((quarters == 1) | (quarters == 2), -turned, turned)[()] + x.dtype.type(0)


def fma(a: Any, b: Any, c: Any) -> Any:
    """One rounding: exact in float64 for float32; for float64 through integers where it matters."""
    dtype = np.result_type(a, b, c)
    if dtype.itemsize < 8:
        product = np.multiply(a, b, dtype=np.float64)
        total = product + np.asarray(c, dtype=np.float64)
        return _round_to_odd(product, np.asarray(c, np.float64), total).astype(dtype)[()]
    return np.asarray(np.frompyfunc(_fma_exact, 3, 1)(a, b, c), dtype=np.float64)[()]


def _round_to_odd(product: Any, addend: Any, total: Any) -> Any:
    """Return product + addend rounded to odd, so that rounding to float32 next is as if exact."""
    back = total - product
    error = (product - (total - back)) + (addend - back)
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error)
    bits = np.asarray(total).view(np.int64)
    toward = np.where((error > 0) == (total > 0), 0, -1)
    odd = np.where(inexact & ((bits & 1) == 0), bits + np.where(toward == 0, 1, -1), bits)
    return odd.view(np.float64)


def _fma_exact(a: float, b: float, c: float) -> float:
    from fractions import Fraction

    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def rounded_away(value: Any) -> Any:
    """Round to whole numbers, halves away from zero."""
    whole = np.trunc(value)
    away = np.where(np.abs(value - whole) >= 0.5, np.copysign(1, value), 0)
    return np.copysign(whole + away, value)


def least(a: Any, b: Any) -> Any:
    """Return the lesser as PTX ``min`` does: the number where the other is NaN; of zeros -0.0."""
    return _with_signs(a, b, np.fmin(a, b), negative=True)


def greatest(a: Any, b: Any) -> Any:
    """Return the greater as PTX ``max`` does: the number where the other is NaN; of zeros 0.0."""
    return _with_signs(a, b, np.fmax(a, b), negative=False)


def _with_signs(a: Any, b: Any, extreme: Any, *, negative: bool) -> Any:
    """Return the extremes of two values, of zeros the ``negative`` one or the other."""
    if not np.count_nonzero(extreme == 0):
        return extreme
    signs = np.signbit(a) if negative else ~np.signbit(a)
    return np.where(a == b, np.where(signs, a, b), extreme)[()]


def fast_power(a: Any, b: Any) -> Any:
    """Return ``a**b`` of float32 as fast math has it: NaN below zero, and of ``0**0``."""
    return np.exp2(b * np.log2(a))


def complex_quotient(a: Any, b: Any) -> Any:
    """Divide complex numbers as Python does, scaled by the larger part of the divisor."""
    by_real = np.abs(b.real) >= np.abs(b.imag)
    large, small = np.where(by_real, (b.real, b.imag), (b.imag, b.real))
    ratio = small / large
    divisor = large + small * ratio
    real = np.where(by_real, a.real + a.imag * ratio, a.real * ratio + a.imag)
    imaginary = np.where(by_real, a.imag - a.real * ratio, a.imag * ratio - a.real)
    return _composed(real / divisor, imaginary / divisor)


def complex_power(a: Any, b: Any) -> Any:
    """Return ``a**b`` of complex numbers by length and angle, with Numba's exceptions at zero.

    Angles are float64: what NumPy makes of float32 near a right one depends on the CPU.
    """
    length, angle = np.hypot(a.real, a.imag), np.arctan2(a.imag, a.real, dtype=np.float64)
    power, phase = np.power(length, b.real), angle * b.real
    turns = b.imag != 0
    power = np.where(turns, power / np.exp(angle * b.imag), power)
    phase = np.where(turns, phase + b.imag * np.log(length), phase)
    result = power * _composed(np.cos(phase), np.sin(phase))
    one = (b.real == 0) & ~turns
    found = np.where(one, 1, np.where((a.real == 0) & (b.real == 0), 0, result))
    return found.astype(np.result_type(a, b))[()]


def _composed(real: Any, imaginary: Any) -> Any:
    value = np.empty(np.shape(real), np.result_type(real, np.complex64))
    value.real, value.imag = real, imaginary
    return value[()]
