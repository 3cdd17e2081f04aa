"""What means "no edge" in a dense matrix, compared without rounding.

The marker is one value of the matrix's own dtype. For floating-point numbers it is rounded as the
entries were: 0.1 in float32 is the float32 next to 0.1. An integer that the dtype does not hold, or
a fraction, can be no entry of a matrix of integers: it is refused, for who gives it believes that
something is marked.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError

__all__ = ["absent_value", "is_absent"]


def absent_value(dtype: np.dtype[Any], no_edge: Any) -> Any:
    """Return what means "no edge" in a matrix of a dtype, as a value of that dtype.

    Infinity, -inf and NaN, which integers lack, stand for the largest integer; in booleans, for
    False.

    Raises
    ------
    InputError
        No entry of that dtype can be ``no_edge``.
    InputTypeError
        It is no real number.

    Examples
    --------
    >>> absent_value(np.dtype("int64"), 999_999_999_999_999_999)
    np.int64(999999999999999999)
    >>> absent_value(np.dtype("int16"), np.inf)
    np.int16(32767)
    """
    if not isinstance(no_edge, Real | np.bool_):
        raise InputTypeError(f"no_edge must be a number, not {type(no_edge).__name__}")
    if dtype.kind == "f":
        return _rounded(no_edge, dtype)
    number: Any = no_edge
    least, largest = (0, 1) if dtype.kind == "b" else _limits(dtype)
    try:
        whole = int(number)
    except (OverflowError, ValueError):
        return np.False_ if dtype.kind == "b" else dtype.type(largest)
    if whole != number or not least <= whole <= largest:
        raise InputError(
            f"no_edge={no_edge!r:.40}: the weights are {dtype.name}, so none of them can be that; "
            f"give a whole number from {least} to {largest}"
        )
    return dtype.type(whole)


def is_absent(matrix: NDArray[Any], no_edge: Any) -> NDArray[np.bool_]:
    """Return where entries mean "no edge": they equal `absent_value`, or are infinite."""
    missing: NDArray[np.bool_] = np.isnan(matrix) if np.isnan(no_edge) else matrix == no_edge
    infinite: NDArray[np.bool_] = matrix == np.inf
    return missing | infinite


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _rounded(no_edge: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as a matrix of a floating-point dtype would hold it."""
    with np.errstate(over="ignore", under="ignore"):
        try:
            # As an array: a scalar type would round an integer twice on its way to float32.
            return np.asarray(no_edge).astype(dtype.type)[()]
        except OverflowError:
            return dtype.type(np.inf if no_edge > 0 else -np.inf)
