"""What callers have, brought into the form that engines take: arrays, files, chunks."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from numbers import Integral, Number, Real
from operator import countOf
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.call import naming_reader
from warpladder.errors import InputError, InputTypeError
from warpladder.formats.arrays import known_dtype
from warpladder.formats.missing import refuse_missing
from warpladder.formats.text import shortened
from warpladder.formats.values import REAL_NUMBERS, StoredArray, open_values
from warpladder.reduction.memory.copies import Buffers, lent
from warpladder.reduction.memory.layout import NO_MASK, Span, Tile
from warpladder.reduction.ops import Request

__all__ = [
    "StoredRow",
    "as_array",
    "as_axes",
    "as_ddof",
    "as_dtype",
    "as_mask",
    "as_source",
    "as_truths",
    "check_axes_of_indices",
    "check_dtype",
]

# Integers up to this are float64s.
_LARGEST_COUNT = 2**53

# What to do where an iterable is no array.
_OR_CHUNKS = "; of arrays to be reduced as one give iter(values)"

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
        with naming_reader("open_values", "column=|dtype=", "reduce"):
            values = open_values(values)
    if isinstance(values, StoredArray):
        return values
    # Tables of Astropy can read files, too, and of pandas what yields frames, not lines.
    is_file = hasattr(values, "readline") or not isinstance(values, Iterable)
    if is_file and hasattr(values, "read") and not hasattr(values, "__array__"):
        raise InputTypeError("values: an open file is not taken; give its path instead")
    is_array = isinstance(values, Sequence | np.generic) or any(
        hasattr(values, name) for name in ("__array__", "__array_interface__")
    )
    # An iterator may know how many are to come, as that of PyTorch's DataLoader.
    has_length = hasattr(values, "__len__") and not isinstance(values, Iterator)
    if isinstance(values, Iterable) and not (is_array or has_length):
        return values
    return as_array(values, "values")


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return an ndarray of real numbers of at most 64 bits."""
    _refuse_sparse(values, name)
    refuse_missing(values, name)
    array = _read(values, name, "numbers")
    if array.dtype == object and not array.ndim and isinstance(values, Integral):
        raise InputTypeError(
            f"{name}: an integer of {int(values).bit_length()} bits is not taken, of 64 at the "
            "most; give a float"
        )
    if array.dtype == object and not array.ndim:
        or_chunks = _OR_CHUNKS if name == "values" and isinstance(values, Iterable) else ""
        raise InputTypeError(
            f"{name}: {type(values).__name__} is no array of numbers; give an array or a list"
            + or_chunks
        )
    _refuse_no_numbers(array, name)
    check_dtype(array.dtype, name)
    _refuse_hidden(values, name, array.ndim)
    return _exact(values, array, name)


def _read(values: Any, name: str, kind: str) -> NDArray[Any]:
    try:
        return np.asanyarray(values)
    except (TypeError, ValueError, RuntimeError, BufferError) as fault:
        or_chunks = _OR_CHUNKS if name == "values" and isinstance(values, list | tuple) else ""
        raise InputTypeError(
            f"{name}: cannot be read as an array of {kind}: {fault}{or_chunks}"
        ) from None


def _refuse_no_numbers(array: NDArray[Any], name: str) -> None:
    """Refuse objects of which one is no number at all."""
    if array.dtype == object:
        for one in array.flat:
            if not isinstance(one, Number):
                raise InputTypeError(
                    f"{name}: {type(one).__name__} {shortened(repr(one), 40)} is no number; give "
                    "numbers alone"
                )


def _refuse_hidden(values: Any, name: str, depth: int) -> None:
    """Refuse arrays in lists that mask elements or miss some, of which NumPy takes what is below.

    Lists are looked into as deep as their array has dimensions, so that one in itself has an end.
    """
    lists = [values] if isinstance(values, list | tuple) else []
    for _ in range(depth):
        # A level at a time by its types: half of what making the array takes, where asking every
        # list for itself took up to eight times as much as making it. Those of one type are
        # counted faster than put into a set.
        first = next(chain.from_iterable(lists), None)
        kinds = {type(first)}
        if countOf(map(type, chain.from_iterable(lists)), type(first)) < sum(map(len, lists)):
            kinds.update(map(type, chain.from_iterable(lists)))
        nested = {kind for kind in kinds if issubclass(kind, list | tuple)}
        plain = {
            kind for kind in kinds if kind is np.ndarray or issubclass(kind, Real | np.generic)
        }
        if foreign := kinds - nested - plain:
            for one in chain.from_iterable(lists):
                if type(one) in foreign:
                    _refuse_masked(one, name)
                    refuse_missing(one, name)
        if not nested:
            return
        below = chain.from_iterable(lists)
        lists = list(below if kinds == nested else (one for one in below if type(one) in nested))


def _exact(values: Any, array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the array, with integers of which NumPy has made floats as they are.

    They are in lists, or in columns of a table, which say what they are and are refused. Of 2^63
    and 1 NumPy would have one as uint64 and the other as int64, though the former holds both.
    """
    is_list, is_table = isinstance(values, list | tuple), hasattr(values, "columns")
    if array.dtype != np.float64 or not (is_list or is_table):
        return array
    # What is just above the largest has been rounded to it.
    if not (np.abs(array) >= _LARGEST_COUNT).any():
        return array
    if is_table:
        kinds = _kinds_of_columns(values)
        if kinds and all(kind.lower().startswith(("int", "uint")) for kind in kinds):
            raise InputTypeError(
                f"{name}: no integer dtype holds columns of {' and '.join(kinds)}, and as float64 "
                "some would be rounded; cast them to one dtype"
            )
        return array
    given = np.array(values, object).ravel().tolist()
    if not all(isinstance(one, Integral) for one in given):
        return array
    # Scalars of NumPy's would be compared as floats.
    integers = list(map(int, given))
    least, largest = min(integers), max(integers)
    for dtype in (np.uint64, np.int64):
        if np.iinfo(dtype).min <= least and largest <= np.iinfo(dtype).max:
            return np.array(integers, dtype).reshape(array.shape)
    raise InputTypeError(
        f"{name}: no integer dtype holds both {least} and {largest}, and as float64 they would be "
        "rounded; give an array of float64"
    )


def _kinds_of_columns(table: Any) -> list[str]:
    """Return the names of the dtypes of a table's columns, each once, whichever library's it is."""
    schema = getattr(table, "schema", None)
    kinds = table.dtypes if hasattr(table, "dtypes") else getattr(schema, "types", ())
    return sorted(set(map(str, kinds)))


def _refuse_masked(values: Any, name: str) -> None:
    """Refuse masked elements in a list, of which its array would have no mask."""
    if np.ma.is_masked(values):
        raise InputTypeError(
            f"{name}: a list has arrays with masked elements, of which NumPy would make "
            "elements like others; numpy.ma.array makes one masked array of it"
        )


def _refuse_sparse(values: Any, name: str) -> None:
    """Refuse matrices without their zeros, which some operations need and others do not."""
    if type(values).__module__.startswith("scipy.sparse") and hasattr(values, "tocsr"):
        raise InputTypeError(
            f"{name}: a sparse {type(values).__name__} is not taken; give .tocsr().data for the "
            "stored numbers alone, which is enough for sums and norms, or .toarray() where the "
            "zeros between them count too, as in min, mean and var"
        )


def check_dtype(dtype: np.dtype[Any], name: str) -> None:
    """Raise InputTypeError for what is no dtype of real numbers of at most 64 bits."""
    # Dtypes that others bring, as bfloat16, may have a letter of NumPy's own, but not its kind.
    if dtype.char in REAL_NUMBERS and dtype.kind in "biuf":
        return
    remedy = {
        "c": "reduce .real and .imag, or abs()",
        "f": "use .astype('float64')",
        "O": "use numpy.asarray(values, 'float64'), or numbers that fit 64 bits",
        "V": "use .astype('float32')",
    }.get(
        "" if issubclass(dtype.type, np.void) else dtype.kind,
        "only booleans, integers and floats are taken",
    )
    raise InputTypeError(f"{name}: dtype {dtype} is not taken; {remedy}")


def as_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a dtype in this machine's byte order."""
    return known_dtype(dtype).newbyteorder("=")


def as_ddof(ddof: Any) -> float:
    """Return what to take off a count."""
    is_number = isinstance(ddof, Real) and not isinstance(ddof, bool)
    if not is_number:
        raise InputTypeError(f"ddof={ddof!r} is no number")
    # Compared with a float16, what is larger than those overflows with a warning.
    ddof = ddof.item() if isinstance(ddof, np.generic) else ddof
    if not -_LARGEST_COUNT < ddof < _LARGEST_COUNT:
        raise InputError(f"ddof={ddof!r} must be finite, and no larger than counts are")
    return float(ddof)


def as_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes to reduce over, counted from 0 and in order.

    Examples
    --------
    >>> as_axes((-1, 0), 3)
    (0, 2)
    """
    if axis is None:
        return tuple(range(ndim))
    given: tuple[Any, ...] = axis if isinstance(axis, tuple) else (axis,)
    try:
        asked = [operator.index(one) for one in given]
    except TypeError:
        asked = []
    # Like NumPy, not even True for 1.
    if len(asked) < len(given) or any(isinstance(one, bool | np.bool_) for one in given):
        raise InputTypeError(f"axis={axis!r} must be None, an integer or a tuple of integers")
    for one in asked:
        if not -ndim <= one < ndim:
            raise InputError(f"axis={one} is out of range for values of {ndim} dimensions")
    axes = sorted(one % ndim for one in asked)
    if len(set(axes)) < len(axes):
        raise InputError(f"axis={axis!r} names an axis twice")
    return tuple(axes)


def check_axes_of_indices(requests: Sequence[Request], axes: tuple[int, ...], ndim: int) -> None:
    """Refuse indices along several axes that are not all."""
    if len(axes) in {1, ndim}:
        return
    for request in requests:
        if request.name.endswith(("argmin", "argmax")):
            raise InputError(
                f"axis={axes}: {request.name} gives indices along one axis; name one, or None"
            )


def as_truths(where: Any) -> NDArray[np.bool_]:
    """Return a mask of the host in its own shape."""
    if isinstance(where, np.ma.MaskedArray) or np.ma.is_masked(where):
        raise InputTypeError("where: a masked array is no mask; give its .filled(False)")
    mask = np.asarray(_read(where, "where", "booleans"))
    if mask.dtype != np.bool_:
        raise InputTypeError(f"where: a mask of booleans is needed, not dtype {mask.dtype}")
    _refuse_hidden(where, "where", mask.ndim)
    return mask


def as_mask(where: Any, values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return the mask in the array's shape, None where all elements count."""
    mask = None
    if where is not None:
        mask = as_truths(where)
        try:
            mask = np.broadcast_to(mask, values.shape)
        except ValueError:
            raise InputError(
                f"where: its shape {mask.shape} does not broadcast to that of values, "
                f"{values.shape}"
            ) from None
    # Not NumPy's own alone: Astropy's, too, say what does not count.
    if np.ma.getmask(values) is not np.ma.nomask:
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

    def tile(self, rows: Span, columns: Span, buffers: Buffers | None) -> Tile:
        """Take a stretch, and let go of the one before."""
        done = None if buffers is None else buffers.get("done")
        if done is not None:
            self._stretches.release(*done)
        begin, end, _ = columns
        self._stretches.check()
        if buffers is not None:
            buffers["done"] = np.array([begin, end])
        data = self._stretches.all[begin:end]
        if data.dtype != self._native or not data.flags.aligned:
            data = data.astype(self._native)
        return Tile(lent(data, data.size), NO_MASK, rows.end - rows.begin, end - begin, end - begin)
