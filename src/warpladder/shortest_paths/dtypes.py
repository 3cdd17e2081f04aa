"""Dtypes: what weights are taken as, what may be asked for, what NumPy must not have rounded."""

from __future__ import annotations

from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.device.foreign import refuse_128_bits
from warpladder.errors import DistanceOverflowError, InputError, InputTypeError
from warpladder.shortest_paths.frames import is_table, objects_of, without_na

__all__ = ["array_of", "asked_dtype", "beyond_int64", "distance_dtype", "exact_array_of"]

_EXACT_BELOW = 2.0**53
_KEPT = ("int16", "int32", "int64", "float32", "float64")
_TAKEN_AS = {
    "bool": "int16", "int8": "int16", "uint8": "int16", "uint16": "int32", "uint32": "int64",
    "uint64": "int64", "float16": "float32",
}  # fmt: skip


def distance_dtype(dtype: DTypeLike, name: str) -> np.dtype[Any]:
    """Return the dtype in which distances of such weights are computed.

    Examples
    --------
    >>> distance_dtype("uint8", "graph")
    dtype('int16')
    """
    try:
        taken = _taken_as(np.dtype(dtype))
    except (TypeError, ValueError, SyntaxError):
        # What has commas or brackets NumPy reads as Python would.
        taken = None
    if taken is None:
        kept = ", ".join(_KEPT)
        raise InputTypeError(f"{name}: dtype {dtype!s} is not taken; convert to one of {kept}")
    return taken


# NumPy takes microseconds to put the name of a dtype together, which shows with few vertices.
@lru_cache
def _taken_as(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    name = dtype.newbyteorder("=").name
    return np.dtype(_TAKEN_AS.get(name, name)) if name in {*_KEPT, *_TAKEN_AS} else None


def asked_dtype(dtype: DTypeLike | None) -> np.dtype[Any] | None:
    """Return the dtype that a caller wants distances in; None where any will do.

    Raises
    ------
    InputTypeError
        It is none that distances are computed in: they would come in another one.
    """
    if dtype is None:
        return None
    taken = distance_dtype(dtype, "dtype")
    asked = np.dtype(dtype).name
    if taken.name != asked:
        raise InputTypeError(
            f"dtype={asked!r}: distances are computed in {', '.join(_KEPT)}; take one of these"
        )
    return taken


def array_of(given: Any, name: str, kind: str) -> NDArray[Any]:
    """Return what NumPy makes of an argument; ``kind`` is what it should be, for people.

    Raises
    ------
    InputTypeError
        NumPy makes nothing of it.
    """
    refuse_128_bits(given)
    try:
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError, BufferError) as fault:
        raise InputTypeError(f"{name}: cannot be read as {kind}: {fault}") from None


def exact_array_of(given: Any, name: str, kind: str) -> NDArray[Any]:
    """Do what `array_of` does, and refuse integers that NumPy would round, or make floats of.

    It does where floats, or integers that int64 does not hold, stand beside them in lists or
    tables.

    Raises
    ------
    DistanceOverflowError
        All are integers, and int64 does not hold one of them.
    InputError
        An integer would not be what it was.
    """
    array = array_of(without_na(given), name, kind)
    if array is given or array.dtype.kind not in "fO":
        return array
    if not (isinstance(given, list | tuple) or is_table(given)):
        return array
    if array.dtype == object:
        # NumPy keeps integers beyond 64 bits.
        _refuse_beyond_int64(array, name)
        return array
    # float16 holds no number as large.
    with np.errstate(invalid="ignore", over="ignore"):
        is_large = np.isfinite(array) & (np.abs(array) >= _EXACT_BELOW)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        # Loops that are not negative are not counted.
        np.fill_diagonal(is_large, is_large.diagonal() & (array.diagonal() < 0))
    large = np.argwhere(is_large)
    if not large.size:
        return array
    numbers = objects_of(given)
    _refuse_beyond_int64(numbers, name)
    for place in map(tuple, large.tolist()):
        if isinstance(numbers[place], Integral) and int(array[place]) != numbers[place]:
            raise InputError(
                f"{name}: the integer {numbers[place]} would be rounded, for there are floats, "
                "as inf is, beside it; give integers only, or floats only"
            )
    return array


def _refuse_beyond_int64(numbers: NDArray[np.object_], name: str) -> None:
    """Refuse integers, where all are such, of which int64 does not hold one."""
    listed: list[Any] = numbers.ravel().tolist()
    limits = np.iinfo(np.int64)
    if all(isinstance(number, Integral) for number in listed):
        beyond = [number for number in listed if not limits.min <= number <= limits.max]
        if beyond:
            raise DistanceOverflowError(beyond_int64(name, beyond[0]))


def beyond_int64(name: str, number: Any) -> str:
    """Return in words that an integer is too large for distances of any dtype."""
    return f"{name}: {number} does not fit int64, in which distances are computed"
