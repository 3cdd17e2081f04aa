"""Options that are done to results: a number that comes first, and integers that wrap.

Short ways (`few`, `many`, `views`) know neither. What they find of the elements alone is one
operation away from the answer, with the bits of the long way where it is taken before it is
rounded: 1,024 numbers take 0.08 ms there, and 2 to 5 us so.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.ops import Op, parse_ops
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.quiet import quietly
from warpladder.reduction.shortcuts.ways import (
    Asked,
    Into,
    Unrounded,
    as_plain_dtype,
    plan_of,
    remembered,
)

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
# And whether that is the greatest.
_EXTREMA = {np.minimum: False, np.fmin: False, np.maximum: True, np.fmax: True}
# Up to this every integer is a float64.
_LARGEST_COUNT = 2**53
_WORD = 2**64

After = Callable[[Any], Any]
"""Makes the answer of what is found of the elements alone."""


# To look here takes 0.3 us, to find what is here 1.2. Sums that go on from sum to sum are ever new.
_found: dict[tuple[Any, ...], tuple[Asked, After] | None] = {}
_MOST_FOUND = 256


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
    if type(op) is tuple or not values.size:
        return None
    if not (initial is None or isinstance(initial, int | float | np.generic)):
        return None
    # 0.0 and -0.0 are equal, as are 1 and 1.0, and some dtypes of different scalars.
    kinds = values.dtype.num, type(dtype), type(initial)
    key = op, values.dtype, dtype, accuracy, initial or repr(initial), masked, kinds
    try:
        return _found[key]
    except KeyError:
        pass
    except TypeError:
        # A list cannot be looked up.
        return None
    if len(_found) >= _MOST_FOUND:
        _found.clear()
    return _found.setdefault(key, _asked_before(op, values.dtype, dtype, accuracy, initial, masked))


def _asked_before(
    op: Any, values: np.dtype[Any], dtype: Any, accuracy: str, initial: Any, masked: bool
) -> tuple[Asked, After] | None:
    """Do what `asked_before` does."""
    into = None
    if dtype is not None:
        into = as_plain_dtype(dtype)
        if into is None:
            return None
    known = _known(op, values, into and Into(op, into, type(into)), accuracy, masked)
    if known is None:
        return None
    if initial is None:
        return known.asked, _cast_to(known.dtype)
    first = known.first(initial)
    return None if first is None else (known.asked, known.after(first))


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

    def after(self, first: Any) -> After:
        """Return what joins results with a number."""
        merge, dtype = self.merge, self.dtype
        if merge not in _EXTREMA:
            rounds = self.kept.kind == "f"

            def joined(found: Any) -> Any:
                found = quietly(merge, found, first) if rounds else merge(found, first)
                # Dtypes that are equal may have scalars of their own.
                return found if found.dtype is dtype else quietly(found.astype, dtype)

            return joined
        is_greatest, kind = _EXTREMA[merge], type(first)

        def extreme(found: Any) -> Any:
            # A tenth of the time. Zeros of two signs are equal, and NaN is what it was found to be.
            if type(found) is kind and found != first and found == found:  # noqa: PLR0124 - a NaN is not itself
                return first if bool(found < first) is is_greatest else found
            return merge(found, first)

        return extreme


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


def _cast_to(dtype: np.dtype[Any]) -> After:
    kind = dtype.type

    def cast(found: Any) -> Any:
        if not isinstance(found, np.generic):
            return found.astype(dtype)
        # In a third of the time, unless it wraps. To suppress errors takes half a microsecond.
        try:
            number = kind(int(found))
        except OverflowError:
            number = found.astype(dtype)
        return number

    return cast
