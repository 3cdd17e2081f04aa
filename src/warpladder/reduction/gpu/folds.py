"""Sums, products, extrema, moments: the loops of `warpladder.reduction.loops.folds` for a GPU.

A state has the same fields as on the CPU, each in 8 bytes. A batch, 16 float32 or up to 64 shorter
elements, is folded in the type in which sums are made, then joins the state in float64 or int64: a
float32 passes at most 31 roundings to 24 bits, all others are to 53. What NaN, ties and extreme
squares mean is as on the CPU, in the same words.

The exponentials of float32 are made in float32, against the largest number so far: `logsumexp` is
off by some units of 2^-24, or as many of its own last place where that is more.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, uint32

from warpladder.device.specialised import specialised
from warpladder.reduction.gpu.moments import about_of, whole_moments_of
from warpladder.reduction.gpu.walk import SOME, OnDevice, batch_size
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.loops.states import FoldSpec, fields_of, first_rule, merge_rule
from warpladder.reduction.rules import (
    LARGEST_SQUARE,
    LEAST_SQUARE,
    LIMITS_OF_SQUARES,
    LOW_WORD,
    SCALE,
    add_moments,
    is_new_high,
    is_new_low,
    larger,
    moments_of,
    passes,
    rescaled,
    times,
)

__all__ = ["folds_on_device"]


def state_dtype(spec: FoldSpec) -> np.dtype[Any]:
    """Return the record of a state; all fields have 8 bytes."""
    element = np.dtype(spec.values)
    wide = {"f": "f8", "u": "u8"}.get(element.kind, "i8")
    return np.dtype(fields_of(spec, wide), align=True)


@cache
def folds_on_device(spec: FoldSpec) -> OnDevice:
    """Return what a device runs for a set of folds."""
    size = batch_size(spec.values)
    return OnDevice(
        state_dtype(spec), spec.values, spec.masked, spec.skip_nan, size,
        cuda.jit(device=True)(first_rule(spec)),
        _taker(spec, size, some=spec.skip_nan), _taker(spec, SOME, some=spec.skip_nan),
        _taker(spec, SOME, some=True),
        cuda.jit(device=True)(merge_rule(spec)),
    )  # fmt: skip


def _taker(spec: FoldSpec, size: int, *, some: bool) -> Any:
    element = element_type(spec.values)
    kind = np.dtype(element)
    is_float = kind.kind == "f"
    is_real = spec.sums != "int64"
    sums = np.dtype(spec.sums).type
    number = np.float64 if is_real else np.int64
    real = sums if is_real else np.float64
    is_wide = spec.values in {"int64", "uint64"}
    wide = {"f": np.float64, "u": np.uint64}.get(kind.kind, np.int64)
    if spec.values == "bool":
        wide = np.int64
    # A batch of short integers, and their sum, are far from the ends of these types.
    whole = np.int32 if not is_float and kind.itemsize < 4 else np.int64
    takes_whole_moments = not is_float and not is_wide
    least_square, largest_square = LIMITS_OF_SQUARES[np.dtype(real).name]
    about, whole_moments = (of(spec.values, size, some) for of in (about_of, whole_moments_of))
    # Squares and differences of shorter numbers are far from the ends of float64.
    may_be_extreme = spec.values == "float64"
    # Of the exponentials, which in float64 would take three times as long as memory does.
    power = np.float32 if spec.sums == "float32" else np.float64
    least, most = (-math.inf, math.inf) if is_float else (np.iinfo(kind).min, np.iinfo(kind).max)
    has = spec.folds.__contains__
    has_total, has_whole, has_product = has("total"), has("whole"), has("product")
    has_low, has_high, has_low_at, has_high_at = map(has, ("low", "high", "low_at", "high_at"))
    has_absolute, has_square, has_moments = has("absolute"), has("square"), has("moments")
    has_nonzero, has_exponential = has("nonzero"), has("exponential")
    has_real_total, has_whole_total = has_total and is_real, has_total and not is_real
    has_short_whole = (has_whole and not is_wide) or (has_moments and takes_whole_moments)
    has_extreme = has_low or has_high or has_exponential
    sees_nan = is_float and has_extreme and not spec.skip_nan
    are_truths = spec.values == "bool" and spec.has_places

    @cuda.jit(device=True)
    @specialised
    def multiplied(batch, valid, product, exponent):
        """Multiply by a batch whose own product is out of range."""
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                product, exponent = times(product, exponent, np.float64(batch[j]), 0)
        return product, exponent

    @cuda.jit(device=True)
    @specialised
    def squares(batch, valid, scale):
        total = 0.0
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                scaled = np.float64(batch[j]) * scale
                total += scaled * scaled
        return total

    @cuda.jit(device=True)
    @specialised
    def exponentials(batch, valid, peak):
        """Return the sum of exp(x - peak); the peak is an element."""
        total = cuda.local.array(1, power)
        total[0] = 0
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                total[0] += math.exp(power(batch[j]) - power(peak))
        return np.float64(total[0])

    @cuda.jit(device=True)
    @specialised
    def position(batch, valid, sought):
        """Return the first element that equals ``sought``, or is NaN as that is."""
        seeks_nan = sought != sought  # noqa: PLR0124 - NaN is not itself
        found = 0
        # From the last to the first, without leaving early: a loop that is left is not unrolled for
        # every dtype, and then a batch is not in registers.
        for k in range(size):
            j = size - 1 - k
            if some and not (valid >> uint32(j)) & uint32(1):
                continue
            if batch[j] == sought or (seeks_nan and batch[j] != batch[j]):
                found = j
        return found

    @cuda.jit(device=True)
    @specialised
    def take(state, batch, valid, first, width, hop):
        n = size
        if some:
            n = cuda.popc(valid)
            if n == 0:
                return
        if are_truths:
            # Its first true byte is as good as a greater one that follows.
            for j in range(size):
                batch[j] = element(batch[j] != 0)
        row = state[0]
        # Cells of arrays keep their types, where Numba would widen a variable.
        cells = cuda.local.array(4, real)
        wholes = cuda.local.array(2, whole)
        extremes = cuda.local.array(2, element)
        total, absolute, offset, deviation = 0, 1, 2, 3
        for cell in range(4):
            cells[cell] = 0
        wholes[0], wholes[1] = 0, 0
        extremes[0], extremes[1] = most, least
        high_word, low_word, nonzero = np.int64(0), np.int64(0), 0
        product, square, mean = number(1), 0.0, real(0)
        has_nan = False
        if has_moments and is_float:
            # Not the sum over n: it might overflow where the mean does not.
            share = real(1) / real(n)
            for j in range(size):
                if not some or (valid >> uint32(j)) & uint32(1):
                    mean += real(batch[j]) * share

        for j in range(size):
            if some and not (valid >> uint32(j)) & uint32(1):
                continue
            v = batch[j]
            if has_real_total:
                cells[total] += real(v)
            if has_whole_total or has_short_whole:
                wholes[0] += whole(v)
            if has_whole and is_wide:
                high_word += np.int64(v >> 32)
                low_word += np.int64(v & LOW_WORD)
            if has_product:
                product *= number(v)
            if has_low:
                extremes[0] = min(extremes[0], v)
            if has_high or has_exponential:
                extremes[1] = max(extremes[1], v)
            if sees_nan:
                has_nan = has_nan | (v != v)  # noqa: PLR0124 - NaN is not itself
            if has_absolute:
                cells[absolute] += abs(real(v))
            if has_square:
                square += np.float64(v) * np.float64(v)
            if has_moments and is_float:
                d = real(v) - mean
                cells[offset] += d
                cells[deviation] += d * d
            if has_nonzero:
                nonzero += v != 0

        if has_real_total:
            row.total += np.float64(cells[total])
        if has_whole_total:
            row.total += wholes[0]
        if has_whole:
            row.whole_high += high_word
            row.whole_low += low_word if is_wide else wholes[0]
        if has_product:
            if not is_real:
                row.product *= product
            elif passes(row.product, product):
                row.product, row.exponent = times(row.product, row.exponent, product, 0)
            else:
                row.product, row.exponent = multiplied(batch, valid, row.product, row.exponent)
        if sees_nan and has_nan:
            extremes[0], extremes[1] = math.nan, math.nan
        if has_low:
            low = wide(extremes[0])
            if has_low_at:
                # No element of the batch comes before ``first``.
                if row.count == 0 or is_new_low(low, row.low, first, row.low_at):
                    j = position(batch, valid, extremes[0])
                    low_at = first + j // width * hop + j % width
                    if row.count == 0 or is_new_low(low, row.low, low_at, row.low_at):
                        row.low, row.low_at = low, low_at
            elif row.count == 0 or is_new_low(low, row.low, 0, 0):
                row.low = low
        if has_high:
            high = wide(extremes[1])
            if has_high_at:
                if row.count == 0 or is_new_high(high, row.high, first, row.high_at):
                    j = position(batch, valid, extremes[1])
                    high_at = first + j // width * hop + j % width
                    if row.count == 0 or is_new_high(high, row.high, high_at, row.high_at):
                        row.high, row.high_at = high, high_at
            elif row.count == 0 or is_new_high(high, row.high, 0, 0):
                row.high = high
        if has_absolute:
            row.absolute += np.float64(cells[absolute])
        if has_square:
            tiny, huge = 0.0, 0.0
            if may_be_extreme and square < LEAST_SQUARE:
                tiny = squares(batch, valid, SCALE)
            if may_be_extreme and square > LARGEST_SQUARE:
                huge = squares(batch, valid, 1 / SCALE)
            row.tiny_square += tiny
            row.square += 0.0 if tiny + huge > 0 else square
            row.huge_square += huge
        if has_moments:
            if takes_whole_moments:
                # Differences from a whole number near the mean are exact, and so is their sum.
                near = np.int64(wholes[0]) // n
                squared = 0.0
                for j in range(size):
                    if not some or (valid >> uint32(j)) & uint32(1):
                        d = np.float64(np.int64(batch[j]) - near)
                        squared += d * d
                later = moments_of(
                    n, np.float64(near), np.float64(np.int64(wholes[0]) - n * near), squared, 1.0
                )
            elif is_wide:
                near, distance, squared = whole_moments(batch, valid, n)
                later = moments_of(n, near, distance, squared, 1.0)
            else:
                shift, distance, scale = np.float64(mean), np.float64(cells[offset]), 1.0
                squared = np.float64(cells[deviation])
                if not least_square <= squared <= largest_square:
                    shift, distance, squared, scale = about(batch, valid, shift, squared)
                later = moments_of(n, shift, distance, squared, scale)
            add_moments(state, 0, n, later, may_be_extreme)
        if has_nonzero:
            row.nonzero += nonzero
        if has_exponential:
            new_peak = larger(row.peak, np.float64(extremes[1]))
            if new_peak != -math.inf:
                scaled = rescaled(row.scaled, row.peak, new_peak)
                row.scaled = scaled + exponentials(batch, valid, new_peak)
                row.peak = new_peak
        row.count += n

    return take
