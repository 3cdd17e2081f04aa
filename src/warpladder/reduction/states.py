"""The states of the fast accumulators: what is kept of elements gone by, and how two are merged."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.reduction.blocks import element_type
from warpladder.reduction.moments import merged_moments
from warpladder.reduction.ranges import times
from warpladder.reduction.scalars import maximum, strict

__all__ = [
    "BLOCK",
    "FOLDS",
    "LOW_WORD",
    "FoldSpec",
    "beats",
    "merge_kernel",
    "new_states",
    "rescaled",
    "shift_type",
]

BLOCK = 4096
"""Elements whose sum is made in the lanes of vectors."""

#: What can be kept: the fields of its state with their types (``v`` for that of the elements, ``s``
#: for that of sums, ``m`` for `shift_type`) and first values.
FOLDS: dict[str, tuple[tuple[str, str, float], ...]] = {
    "total": (("total", "s", 0),),
    # A sum of integers in two words, for their mean.
    "whole": (("whole_high", "i8", 0), ("whole_low", "i8", 0)),
    # Times two to the exponent, which stays 0 for integers, whose products wrap.
    "product": (("product", "s", 1), ("exponent", "i8", 0)),
    "low": (("low", "v", 0),),
    "high": (("high", "v", 0),),
    "low_at": (("low_at", "i8", -1),),
    "high_at": (("high_at", "i8", -1),),
    "absolute": (("absolute", "f8", 0),),
    # In three ranges: no square of a float64 is lost by overflow or underflow.
    "square": (("tiny_square", "f8", 0), ("square", "f8", 0), ("huge_square", "f8", 0)),
    # The mean is shift + offset; squared deviations from it are in three ranges as well.
    "moments": (
        *(("shift", "m", 0), ("offset", "f8", 0)),
        *(("tiny_deviation", "f8", 0), ("deviation", "f8", 0), ("huge_deviation", "f8", 0)),
    ),
    "nonzero": (("nonzero", "i8", 0),),
    # The largest value, and the sum of exp(x - that).
    "exponential": (("peak", "f8", -np.inf), ("scaled", "f8", 0)),
}

LOW_WORD = 0xFFFFFFFF
"""Takes the lower of an integer's two words."""


class FoldSpec(NamedTuple):
    """What one compiled loop does.

    Attributes
    ----------
    folds
        Names out of `FOLDS`.
    values
        Name of the elements' dtype.
    sums
        Name of the dtype in which sums are made within a block: int64, float32 or float64.
    masked
        Whether a mask says which elements count.
    skip_nan
        Whether NaNs do not count.
    block
        Elements per block.
    until
        What a row may be left at, as no later element changes the answer: ``some`` element that is
        not 0, ``none``: one that is, ``extremes``: all that booleans can be; else empty.
    """

    folds: frozenset[str]
    values: str
    sums: str
    masked: bool = False
    skip_nan: bool = False
    block: int = BLOCK
    until: str = ""


def shift_type(values: str) -> Any:
    """Return the type of what the differences of elements of a dtype are from."""
    return np.dtype(values if values in {"int64", "uint64"} else "float64").type


def new_states(spec: FoldSpec, rows: int) -> NDArray[Any]:
    """Return the states of ``rows`` reductions that have seen no element yet.

    Examples
    --------
    >>> new_states(FoldSpec(frozenset({"total", "low"}), "float32", "float32"), 2).tolist()
    [(0, 0.0, 0.0), (0, 0.0, 0.0)]
    """
    return _first_state(spec).repeat(rows)


@cache
def _first_state(spec: FoldSpec) -> NDArray[Any]:
    kinds = {
        "v": np.dtype(element_type(spec.values)).str,
        "s": "i8" if spec.sums == "int64" else "f8",
        "m": np.dtype(shift_type(spec.values)).str,
    }
    fields: list[tuple[str, str, float]] = [("count", "i8", 0)]
    for fold, parts in FOLDS.items():
        if fold in spec.folds:
            fields += [(name, kinds.get(kind, kind), value) for name, kind, value in parts]
    # Wide fields first: all are aligned without gaps.
    fields.sort(key=lambda field: -np.dtype(field[1]).itemsize)
    values = tuple(value for _, _, value in fields)
    # Padded where need be: NumPy is slow with numbers that are not aligned.
    return np.array([values], np.dtype([(name, kind) for name, kind, _ in fields], align=True))


@strict
def rescaled(total: Any, old: Any, new: Any) -> Any:
    """Return a sum of exp(x - old) as one of exp(x - new)."""
    return total if old == new else total * np.exp(old - new)


@strict
def beats(new: Any, old: Any, ahead: Any) -> Any:
    """Tell whether an extremum replaces the old one: it is ahead of it, or the first NaN."""
    return ahead or (new != new and old == old)  # noqa: PLR0124 - NaN is not itself


@strict
def same(a: Any, b: Any) -> Any:
    """Tell whether two numbers are equal or both NaN."""
    return a == b or (a != a and b != b)  # noqa: PLR0124 - NaN is not itself


@cache
def merge_kernel(spec: FoldSpec) -> Any:
    """Return the compiled ``merge(states, later)``: states take in those of later elements."""
    has = spec.folds.__contains__
    has_total, has_whole, has_product = has("total"), has("whole"), has("product")
    has_low, has_high, has_low_at, has_high_at = map(has, ("low", "high", "low_at", "high_at"))
    has_absolute, has_square, has_moments = has("absolute"), has("square"), has("moments")
    has_nonzero, has_exponential = has("nonzero"), has("exponential")
    is_real = spec.sums != "int64"

    @cached
    @njit(nogil=True)
    def merge(states, later):  # type: ignore[no-untyped-def]
        for k in range(states.size):
            a, b = states[k], later[k]
            if b.count == 0:
                continue
            if has_total:
                a.total += b.total
            if has_whole:
                low_word = a.whole_low + b.whole_low
                a.whole_high += b.whole_high + (low_word >> 32)
                a.whole_low = low_word & LOW_WORD
            if has_product:
                if is_real:
                    a.product, a.exponent = times(a.product, a.exponent, b.product, b.exponent)
                else:
                    a.product *= b.product
            if has_low:
                ahead = a.count == 0 or b.low < a.low
                # The elements of two states may also take turns.
                if has_low_at:
                    ahead |= same(a.low, b.low) and b.low_at < a.low_at
                if beats(b.low, a.low, ahead):
                    a.low = b.low
                    if has_low_at:
                        a.low_at = b.low_at
            if has_high:
                ahead = a.count == 0 or b.high > a.high
                if has_high_at:
                    ahead |= same(a.high, b.high) and b.high_at < a.high_at
                if beats(b.high, a.high, ahead):
                    a.high = b.high
                    if has_high_at:
                        a.high_at = b.high_at
            if has_absolute:
                a.absolute += b.absolute
            if has_square:
                a.tiny_square += b.tiny_square
                a.square += b.square
                a.huge_square += b.huge_square
            if has_moments:
                a.shift, a.offset, a.tiny_deviation, a.deviation, a.huge_deviation = merged_moments(
                    a.count,
                    (a.shift, a.offset, a.tiny_deviation, a.deviation, a.huge_deviation),
                    b.count,
                    (b.shift, b.offset, b.tiny_deviation, b.deviation, b.huge_deviation),
                )
            if has_nonzero:
                a.nonzero += b.nonzero
            if has_exponential:
                peak = maximum(a.peak, b.peak)
                if peak != -np.inf:
                    a.scaled = rescaled(a.scaled, a.peak, peak)
                    a.scaled += rescaled(b.scaled, b.peak, peak)
                    a.peak = peak
            a.count += b.count

    return merge
