"""Whether two answers are the same, and where they first differ if they are not.

Exact means bit for bit, with one exception: a NaN equals any other NaN, whatever its payload, for
IEEE 754 leaves the payload to the hardware. Zeros of different sign differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.foreign import is_on_gpu

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["POISON_BYTE", "difference", "named_arrays", "poison", "uncompared"]

#: Every byte of integers that were never written; floats hold NaN.
POISON_BYTE = 0xA5

_MOST_NAMED = 6


def poison(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of what no right answer contains: NaN, or a conspicuous integer.

    Examples
    --------
    >>> poison(2, "float32")
    array([nan, nan], dtype=float32)
    >>> hex(poison((), "uint16"))
    '0xa5a5'
    """
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8).fill(POISON_BYTE)
    for _, part in named_arrays(array):
        if part.dtype.kind == "f":
            part.fill(np.nan)
    return array


def named_arrays(value: Any, name: str = "result") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield every array and number inside a record, with the expression that leads to it.

    Tuples, lists, mappings, dataclasses and namespaces are walked through; arrays of records and
    of complex numbers are taken apart, so that a NaN in one part hides nothing in another.

    Examples
    --------
    >>> [name for name, _ in named_arrays((np.zeros(2), {"size": 3}))]
    ['result[0]', "result[1]['size']"]
    """
    for part, leaf in _leaves(value, name):
        if _is_numbers(leaf):
            yield part, leaf


def uncompared(value: Any, name: str = "result") -> str:
    """Return what of a record is neither number nor array of numbers, so that nothing compares it.

    Examples
    --------
    >>> uncompared({"size": 3, "pairs": {(1, 2)}}), uncompared((np.zeros(2), None))
    ("result['pairs'] of type set", '')
    """
    for part, leaf in _leaves(value, name):
        # Of an answer in parts one may be missing.
        if not (_is_numbers(leaf) or (leaf is None and part != name)):
            is_array = isinstance(leaf, np.ndarray)
            kind = f"array of {leaf.dtype}" if is_array else type(leaf).__name__
            return f"{part} of type {kind}"
    return ""


def _is_numbers(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf"


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield what a record consists of: numbers as arrays, anything else as it is."""
    if isinstance(value, np.ndarray | np.generic | int | float | complex):
        array = np.asarray(value)
        if array.dtype.names is not None:
            for field in array.dtype.names:
                yield from _leaves(array[field], f"{name}[{field!r}]")
        elif array.dtype.kind == "c":
            yield from ((f"{name}.real", array.real), (f"{name}.imag", array.imag))
        else:
            yield name, array
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}[{key!r}]")
    elif is_dataclass(value):
        for attribute in fields(value):
            yield from _leaves(getattr(value, attribute.name), f"{name}.{attribute.name}")
    elif hasattr(value, "_fields"):
        for attribute in value._fields:
            yield from _leaves(getattr(value, attribute), f"{name}.{attribute}")
    elif isinstance(value, tuple | list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{name}[{index}]")
    elif isinstance(value, SimpleNamespace):
        yield from _leaves(vars(value), name)
    else:
        yield name, value


def difference(
    expected: Any,
    found: Any,
    tolerance: tuple[float, float] | None = None,
    name: str = "result",
) -> str:
    """Return what differs first between two answers; nothing where they are the same.

    Parameters
    ----------
    expected, found
        Arrays, or records of arrays.
    tolerance
        Relative to the expected value, and absolute; their sum is allowed. Without it, floats must
        be equal bit for bit. Infinities and NaNs must be in the same places either way.
    name
        What the message calls the answer.

    Examples
    --------
    >>> difference(np.array([1, 2, 3]), np.array([1, 5, 3]))
    'result[1]: expected 2, found 5; 1 of 3 differ, by up to 3, where equal bits are asked for'
    >>> difference(np.array([np.nan, 1.0]), np.array([np.nan, 1.5]), tolerance=(0.5, 0.0))
    ''
    """
    wanted = dict(named_arrays(expected, name))
    given = dict(named_arrays(found, name))
    if wanted.keys() != given.keys():
        what = _named(given) or f"{name} of type {type(found).__name__}, which holds no array"
        if is_on_gpu(found):
            what = f"{name} on the device, from where device.to_host() brings it"
        return f"expected {_named(wanted) or 'nothing'}, found {what}"
    for part, array in wanted.items():
        if fault := _difference(part, array, given[part], tolerance):
            return fault
    return ""


def _named(arrays: Mapping[str, Any]) -> str:
    """Return the names of some arrays, of many the first: a list has one for each number."""
    names = list(arrays)
    rest = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + rest


def _difference(
    name: str, expected: NDArray[Any], found: NDArray[Any], tolerance: tuple[float, float] | None
) -> str:
    if expected.shape != found.shape:
        return f"{name}: expected shape {expected.shape}, found {found.shape}"
    if expected.dtype != found.dtype:
        return f"{name}: expected dtype {expected.dtype}, found {found.dtype}"
    if not _other_bits(expected, found).any():
        return ""
    error = _error(expected, found)
    if tolerance is None:
        wrong = _other_bits(expected, found) & ~(np.isnan(expected) & np.isnan(found))
    else:
        wrong = _beyond(expected, found, error, *tolerance)
    if not wrong.any():
        return ""

    place = tuple(map(int, np.unravel_index(int(wrong.argmax()), wrong.shape)))
    where = f"[{', '.join(map(str, place))}]" if place else ""
    # None where all that differs is a NaN or an infinity.
    sizes = error[wrong & np.isfinite(error)]
    largest = f"by up to {float(sizes.max()):g}, " if sizes.size else ""
    allowed = (
        "where equal bits are asked for"
        if tolerance is None
        else f"where {tolerance[0]:g} of the value + {tolerance[1]:g} is allowed"
    )
    return (
        f"{name}{where}: expected {expected[place]!s}, found {found[place]!s}"
        f"{_hint(found[place])}; {int(wrong.sum())} of {wrong.size} differ, "
        f"{largest}{allowed}"
    )


def _error(expected: NDArray[Any], found: NDArray[Any]) -> NDArray[np.longdouble]:
    # A long double holds the difference of any two 64-bit integers; theirs would wrap around.
    with np.errstate(invalid="ignore"):
        return np.abs(expected.astype(np.longdouble) - found.astype(np.longdouble))


def _other_bits(expected: NDArray[Any], found: NDArray[Any]) -> NDArray[np.bool_]:
    bits = f"u{expected.dtype.itemsize}"
    other = np.ascontiguousarray(expected).view(bits) != np.ascontiguousarray(found).view(bits)
    # ascontiguousarray gives an array of no dimensions one.
    return np.asarray(other.reshape(expected.shape))


def _beyond(
    expected: NDArray[Any],
    found: NDArray[Any],
    error: NDArray[np.longdouble],
    relative: float,
    absolute: float,
) -> NDArray[np.bool_]:
    finite = np.isfinite(expected) & np.isfinite(found)
    with np.errstate(invalid="ignore"):
        near = error <= absolute + relative * np.abs(expected.astype(np.longdouble))
    both_nan = np.isnan(expected) & np.isnan(found)
    return np.asarray(~((expected == found) | both_nan | (finite & near)))


def _hint(value: np.generic) -> str:
    """Return what a learner should know of a value that may be memory never written."""
    if np.isnan(value):
        return " (memory that was never written holds nan too)"
    if value.tobytes() == bytes([POISON_BYTE]) * value.itemsize:
        return " (this place was never written)"
    return ""
