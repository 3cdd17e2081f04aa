"""Options that are done to results: a number that comes first, and integers that wrap.

Short ways (`few`, `many`, `views`) know neither. What they find of the elements alone is one
operation away from the answer, with the bits of the long way where it is taken before it is
rounded: 1,024 numbers take 0.08 ms there, and 4 to 8 us so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.ops import Op, parse_ops
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.quiet import quietly
from warpladder.reduction.ways import Asked, Into, Unrounded, as_plain_dtype, plan_of, remembered

__all__ = ["asked_before"]

_MERGES = {
    "sum": np.add,
    "nansum": np.add,
    "prod": np.multiply,
    "nanprod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "nanmin": np.fmin,
    "nanmax": np.fmax,
}
# Up to this every integer is a float64.
_LARGEST_COUNT = 2**53
_WORD = 2**64

After = Callable[[Any], Any]
"""Makes the answer of what is found of the elements alone."""


def asked_before(
    op: Any, values: NDArray[Any], dtype: Any, accuracy: str, initial: Any, *, masked: bool
) -> tuple[Asked, After] | None:
    """Return what to ask a short way for, and what to do to its result; None for the long way.

    Parameters
    ----------
    op
        One operation, by its name or as a ufunc, or a tuple, which has the long way.
    values
        The array.
    dtype, accuracy, initial
        As for `reduce`, not checked yet.
    masked
        Whether there is a mask.
    """
    # What comes first is the answer where there is nothing else.
    if isinstance(op, tuple) or not values.size:
        return None
    into = None
    if dtype is not None:
        into = as_plain_dtype(dtype)
        if into is None:
            return None
    known = _known(op, values.dtype, into and Into(op, into, type(into)), accuracy, masked)
    if known is None:
        return None
    if initial is None:
        return known.asked, partial(_cast, known.dtype)
    first = known.first(initial)
    return None if first is None else (known.asked, partial(_joined, known, first))


class _Known(NamedTuple):
    """What is known of an operation.

    Attributes
    ----------
    asked
        What to ask for.
    merge
        What joins its result with a number.
    kept
        The dtype in which that is done.
    dtype
        Of the answer.
    low, high
        What is between them is such a number.
    """

    asked: Asked
    merge: np.ufunc
    kept: np.dtype[Any]
    dtype: np.dtype[Any]
    low: float
    high: float

    def first(self, initial: Any) -> Any:
        """Return the number that comes first as it is kept, None where that is the long way's."""
        if isinstance(initial, np.generic):
            initial = initial.item()
        is_whole = type(initial) is int
        if not (is_whole or type(initial) is float):
            return None
        if self.kept.kind != "f":
            if not (is_whole and self.low <= initial <= self.high):
                return None
            # Whatever wraps: sums are modulo 2^64.
            return np.array(initial % _WORD, np.uint64).astype(self.kept)[()]
        limit = _LARGEST_COUNT if is_whole else inf
        is_known = self.low <= initial <= self.high and -limit <= initial <= limit
        # Of a NaN nothing is less or greater.
        is_known = is_known or initial in (inf, -inf)
        return self.kept.type(initial) if is_known else None


@remembered
def _known(
    op: str | np.ufunc, values: np.dtype[Any], into: Into | None, accuracy: str, masked: bool
) -> _Known | None:
    """Return what is known of an operation, None where it is the long way's."""
    if not values.isnative:
        return None
    try:
        (request,) = parse_ops(op)
        plan, alone = (plan_of(asked, values, accuracy, masked) for asked in (into or op, op))
    except (InputError, InputTypeError):
        # Something else may have to be said first.
        return None
    part, (dtype,), merge = plan.parts[0], plan.dtypes, _MERGES.get(request.name)
    if not (plan.is_plain and type(part) is FoldPart and isinstance(request.op, Op) and merge):
        return None
    if request.op.result == "element":
        if into or values.kind == "b":
            return None
        return _Known(op, merge, dtype, dtype, *_range(dtype))
    if dtype.kind == "b":
        return None
    if dtype.kind in "iu":
        # All integers are summed alike.
        return _Known(op, merge, alone.dtypes[0], dtype, *_range(dtype))
    if merge is not np.add:
        # A product is kept with an exponent of its own.
        return None
    wide = np.dtype(np.float64)
    return _Known(Unrounded(into or op), merge, wide, dtype, *_range(dtype))


def _range(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind == "f":
        most = float(np.finfo(dtype).max)
        return -most, most
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _cast(dtype: np.dtype[Any], found: Any) -> Any:
    return found.astype(dtype)


def _joined(known: _Known, first: Any, found: Any) -> Any:
    if known.kept.kind != "f":
        joined = known.merge(found, first)
    else:
        joined = quietly(known.merge, found, first)
    # Dtypes that are equal may have scalars of their own.
    return joined if joined.dtype is known.dtype else quietly(joined.astype, known.dtype)
