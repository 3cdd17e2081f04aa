"""What callers have, brought into the form that engines take: arrays, files, chunks."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.formats.values import StoredArray, open_values
from warpladder.reduction.layout import NO_MASK, Buffers, Span, Tile, lent

__all__ = ["StoredRow", "as_array", "as_axes", "as_mask", "as_source", "check_dtype"]

# Bytes of a file that each thread has in memory at a time.
_STRETCH_BYTES = 8 << 20


def as_source(values: Any) -> NDArray[Any] | StoredArray | Iterable[Any]:
    """Return what was given as an array, an array in a file, or chunks to be reduced in turn.

    Raises
    ------
    InputTypeError
        It holds no numbers.
    """
    if isinstance(values, str | os.PathLike):
        values = open_values(values)
    if isinstance(values, StoredArray):
        return values
    is_array = isinstance(values, Sequence | np.generic) or any(
        hasattr(values, name) for name in ("__array__", "__array_interface__", "__len__")
    )
    if isinstance(values, Iterable) and not is_array:
        return values
    return as_array(values, "values")


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return an ndarray of real numbers of at most 64 bits."""
    try:
        array: NDArray[Any] = np.asanyarray(values)
    except (TypeError, ValueError) as fault:
        raise InputTypeError(f"{name}: cannot be read as an array of numbers: {fault}") from None
    check_dtype(array.dtype, name)
    return array


def check_dtype(dtype: np.dtype[Any], name: str) -> None:
    """Raise InputTypeError for what is no dtype of real numbers of at most 64 bits."""
    if dtype.kind in "biuf" and dtype.itemsize <= 8:
        return
    remedy = {
        "c": "reduce .real and .imag, or abs()",
        "f": "use .astype('float64')",
        "O": "use .astype('float64'), or a list of numbers that fit 64 bits",
    }.get(dtype.kind, "only booleans, integers and floats are taken")
    raise InputTypeError(f"{name}: dtype {dtype} is not taken; {remedy}")


def as_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes to reduce over, counted from 0 and in order.

    Examples
    --------
    >>> as_axes((-1, 0), 3)
    (0, 2)
    """
    if axis is None:
        return tuple(range(ndim))
    try:
        asked = [operator.index(one) for one in (axis if isinstance(axis, tuple) else (axis,))]
    except TypeError:
        raise InputTypeError(
            f"axis={axis!r} must be None, an integer or a tuple of integers"
        ) from None
    for one in asked:
        if not -ndim <= one < ndim:
            raise InputError(f"axis={one} is out of range for values of {ndim} dimensions")
    axes = sorted(one % ndim for one in asked)
    if len(set(axes)) < len(axes):
        raise InputError(f"axis={axis!r} names an axis twice")
    return tuple(axes)


def as_mask(where: Any, values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return the mask in the array's shape, None where all elements count."""
    mask = None
    if where is not None:
        mask = np.asarray(where)
        if mask.dtype != np.bool_:
            raise InputTypeError(f"where: a mask of booleans is needed, not dtype {mask.dtype}")
        try:
            mask = np.broadcast_to(mask, values.shape)
        except ValueError:
            raise InputError(
                f"where: its shape {mask.shape} does not broadcast to that of values, "
                f"{values.shape}"
            ) from None
    if isinstance(values, np.ma.MaskedArray) and values.mask is not np.ma.nomask:
        unmasked = ~np.ma.getmaskarray(values)
        mask = unmasked if mask is None else mask & unmasked
    return mask


class StoredRow:
    """An array in a file as a matrix of one row, which is never in memory as a whole."""

    count = 1

    def __init__(self, stored: StoredArray) -> None:
        self._stretches = stored.stretches()
        self._native = stored.dtype.newbyteorder("=")
        self.length = stored.size

    def row_spans(self) -> Iterator[Span]:
        """Yield the row."""
        yield Span(0, 1)

    def column_spans(self) -> list[Span]:
        """Return the stretches to be read."""
        step = _STRETCH_BYTES // self._native.itemsize
        return [Span(i, min(i + step, self.length)) for i in range(0, self.length, step)]

    def tile(self, rows: Span, columns: Span, buffers: Buffers) -> Tile:
        """Take a stretch, and let go of the one before."""
        done = buffers.get("done")
        if done is not None:
            self._stretches.release(*done)
        begin, end, _ = columns
        buffers["done"] = np.array([begin, end])
        data = self._stretches.all[begin:end]
        if data.dtype != self._native or not data.flags.aligned:
            data = data.astype(self._native)
        return Tile(lent(data, data.size), NO_MASK, rows.end - rows.begin, end - begin, end - begin)
