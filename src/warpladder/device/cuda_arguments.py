"""What callers of a device pass, checked: launch dimensions, shapes, dtypes, output arrays."""

from __future__ import annotations

import math
import operator
from itertools import count
from typing import TYPE_CHECKING, Any

from warpladder.errors import InputError, InputTypeError, LaunchError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from warpladder.device.base import Grid

__all__ = [
    "as_element",
    "as_shape",
    "bytes_of",
    "check_out",
    "check_same",
    "dimensions",
    "interface_of",
    "with_others",
]


def dimensions(argument: str, given: Grid, most: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Return x, y, z of a grid or a block, the missing ones as 1."""
    numbers = given if isinstance(given, (tuple, list)) else (given,)
    try:
        sizes = tuple(operator.index(number) for number in numbers)
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(f"{name}: {argument}={given!r} is not one to three whole numbers")
    sizes += (1,) * (3 - len(sizes))
    if not all(1 <= size <= limit for size, limit in zip(sizes, most, strict=True)):
        raise LaunchError(f"{name}: {argument}={given!r} is not within 1 to {most} in x, y, z")
    return sizes


def as_shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape as a tuple of whole numbers."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        plain = tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise InputTypeError(
            f"shape={shape!r}: sizes are whole numbers; give one, or a tuple of them"
        ) from None
    if any(size < 0 for size in plain):
        raise InputError(f"shape={shape!r}: no size can be negative")
    return plain


def as_element(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a dtype whose elements can lie in the memory of a device."""
    import numpy as np

    try:
        known: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError) as fault:
        raise InputTypeError(f"dtype={dtype!r} is not known: {fault}; give one of NumPy") from None
    if known.hasobject:
        raise InputTypeError(
            f"dtype {known}: Python objects cannot lie on a device; use .astype with a dtype of "
            "numbers"
        )
    return known


def bytes_of(shape: int | tuple[int, ...], dtype: DTypeLike) -> int:
    """Return the bytes of an array."""
    return math.prod(as_shape(shape)) * as_element(dtype).itemsize


def check_same(name: str, out: Any, source: Any) -> None:
    """Refuse an array of another shape or dtype than what is to be copied into it."""
    if not (hasattr(out, "shape") and hasattr(out, "dtype")):
        raise InputTypeError(f"{name} is of type {type(out).__name__}; give an array")
    if out.shape != source.shape or out.dtype != source.dtype:
        raise InputError(
            f"{name} has shape {out.shape} and dtype {out.dtype}; {source.shape} and "
            f"{source.dtype} are needed"
        )


def check_out(out: NDArray[Any], source: Any) -> None:
    """Refuse a host array that cannot take the contents of a device array."""
    check_same("out", out, source)
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise InputError("out must be contiguous in C order and writeable")


def interface_of(array: Any) -> dict[str, Any]:
    """Return the ``__cuda_array_interface__`` of an array.

    Raises
    ------
    InputError
        It does not say where the array lies, or how.
    InputTypeError
        It has a mask.
    """
    given = array.__cuda_array_interface__
    known: dict[str, Any] = given if isinstance(given, dict) else {}
    missing = [repr(key) for key in ("shape", "typestr", "data") if key not in known]
    if missing:
        raise InputError(
            f"the __cuda_array_interface__ of a {type(array).__name__} has no "
            f"{', '.join(missing)}; give an array that describes itself in full"
        )
    if known.get("mask") is not None:
        raise InputTypeError(
            f"the __cuda_array_interface__ of a {type(array).__name__} has a mask: elements may be "
            "missing; fill them, and give a plain array"
        )
    return known


def with_others(
    args: tuple[Any, ...], kind: type, other: Callable[[int, Any], Any]
) -> tuple[Any, ...]:
    """Return arguments of a kernel with ``other(number, array)`` in place of each array.

    Arrays are of a ``kind`` and numbered as they stand, also in tuples.

    Examples
    --------
    >>> with_others(("a", 1, ("b", 2)), str, lambda number, name: f"{name}{number}")
    ('a0', 1, ('b1', 2))
    """
    numbers = count()

    def replaced(arg: Any) -> Any:
        if type(arg) is tuple:
            return tuple(replaced(each) for each in arg)
        return other(next(numbers), arg) if type(arg) is kind else arg

    return tuple(replaced(arg) for arg in args)
