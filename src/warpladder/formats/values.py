"""Numbers from files larger than memory: arrays that stay on disk, columns that come in chunks."""

from __future__ import annotations

import mmap
import operator
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats.arrays import NPY_MAGIC, known_dtype
from warpladder.formats.files import (
    InputFile,
    is_gzip,
    open_binary,
    packed_by,
    plain_suffix,
    read_head,
    told_as_broken,
)

__all__ = ["REAL_NUMBERS", "StoredArray", "StoredColumn", "Stretches", "open_typed", "open_values"]

REAL_NUMBERS = "?" + np.typecodes["AllInteger"] + "efd"
"""Codes of the dtypes that are taken; other libraries add some of the same kinds."""

_BINARY_SUFFIXES = (".bin", ".raw")
_RAW_SUFFIXES = (*_BINARY_SUFFIXES, ".dat")
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_ZIP_MAGIC = b"PK\x03\x04"
# Enough to tell text from numbers.
_HEAD_BYTES = 512
# NumPy's limit from version 2 on.
_MOST_DIMENSIONS = 64


@dataclass(frozen=True)
class StoredArray:
    """An array in a file.

    Attributes
    ----------
    file
        The file.
    offset
        Bytes before the first element.
    dtype
        As stored; the byte order may be foreign.
    shape
        The array's shape.
    fortran_order
        Whether the first index varies fastest in the file.
    """

    file: InputFile
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool = False

    @property
    def path(self) -> Path:
        """What errors call the file."""
        return self.file.path

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def mapped(self) -> NDArray[Any]:
        """Return the array mapped into memory, read-only."""
        order: Literal["C", "F"] = "F" if self.fortran_order else "C"
        return self.stretches().all.reshape(self.shape, order=order)

    def stretches(self) -> Stretches:
        """Return the elements as they lie in the file, to be gone through from the start."""
        return Stretches(self)


class Stretches:
    """The elements of a stored array, mapped; only what is in use need stay in memory.

    Whoever cuts the file short meanwhile ends the process, as with any mapped file, unless `check`
    sees it before the missing part is touched. Measured on two cores, the file in the system's
    cache: as fast as memory, 28 GB/s, where reading into buffers gives 12, of whatever size these
    are: reading would survive, at twice the time.

    Attributes
    ----------
    all
        All elements, one-dimensional, read-only.
    """

    def __init__(self, stored: StoredArray) -> None:
        self._stored = stored
        self._map: mmap.mmap | None = None
        self.all: NDArray[Any] = np.empty(0, stored.dtype)
        if not stored.size:
            return
        try:
            with stored.file.place.open("rb") as file:
                _check_length(stored, os.fstat(file.fileno()).st_size)
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise InputError(f"cannot read {stored.path}: {error.strerror or error}") from error
        self.all = np.frombuffer(self._map, stored.dtype, stored.size, stored.offset)
        if hasattr(mmap, "MADV_SEQUENTIAL"):
            self._map.madvise(mmap.MADV_SEQUENTIAL)

    def check(self) -> None:
        """Refuse to go on where the file has been cut short, which the next element might tell.

        Raises
        ------
        FileFormatError
            It has.
        """
        if self._map is not None:
            _check_length(self._stored, self._map.size())

    def release(self, begin: int, end: int) -> None:
        """Let the system have the memory of some elements back; they can still be used again."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            first, last = (
                self._stored.offset + index * self._stored.dtype.itemsize for index in (begin, end)
            )
            first -= first % mmap.PAGESIZE
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)


class StoredColumn(Protocol):
    """A column of a table in a file, read in chunks."""

    path: Path
    dtype: np.dtype[Any]

    @property
    def done(self) -> float:
        """Fraction of the file that the running iteration has read."""

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on, all chunks of one dtype."""


def open_values(
    path: str | os.PathLike[str],
    *,
    column: str | int | None = None,
    dtype: DTypeLike | None = None,
    offset: int = 0,
) -> StoredArray | StoredColumn:
    r"""Open the numbers in a file without reading them.

    Parameters
    ----------
    path
        A file, a pipe (what it gives is copied to a temporary file), or ``"-"`` for standard input:
        ``.npy``; raw binary (``.bin``, ``.raw``, ``.dat``, or any file with a ``dtype``); a table
        as ``.parquet`` (extra ``parquet``) or text in UTF-8 (CSV, TSV, columns parted by blanks;
        gzip is seen through).
    column
        Of a table with more than one: its name, or its number from 0. A number has to stand in
        each of its rows, ``nan`` and ``inf`` among them: an empty field or a null is refused. The
        first line of text may have the names, which begin with letters; others have to be given.
    dtype
        Of the elements of raw binary, as ``"float32"`` or ``">i4"``; of a column of text, int64 or
        float64, by default what its beginning looks like: where all are integers, those beyond
        int64 are refused.
    offset
        Bytes before the first element of raw binary.

    Returns
    -------
    StoredArray or StoredColumn
        To be given to `warpladder.reduce`.

    Raises
    ------
    FileFormatError
        The file does not follow its format.
    InputError, InputTypeError
        It cannot be read, or an argument cannot be used with it.
    MissingExtraError
        Parquet without pyarrow.

    Examples
    --------
    >>> import tempfile, warpladder as wl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rain.csv")
    ...     _ = path.write_text("day,mm\n1,2.5\n2,0\n3,4\n")
    ...     wl.reduce(wl.open_values(path, column="mm"), ("sum", "max"))
    Reductions(sum=np.float64(6.5), max=np.float64(4.0))
    """
    file = InputFile(path)
    return _opened(file, _kind_of(file, column, dtype), column, dtype, offset)


def open_typed(
    path: str | os.PathLike[str],
    dtype: str | None,
    *,
    column: str | int | None = None,
    offset: int = 0,
) -> tuple[StoredArray | StoredColumn, str | None]:
    """Open numbers of which one word says the type, where the file may say it, too.

    Parameters
    ----------
    path, column, offset
        As for `open_values`.
    dtype
        A dtype: of the elements where the file does not tell it, as raw binary and, for int64 and
        float64, text; else that of the answer. ``">i2:float64"`` has both.

    Returns
    -------
    source, dtype
        What `open_values` returns, and the dtype of the answer or None.

    Raises
    ------
    FileFormatError, InputError, InputTypeError, MissingExtraError
        As by `open_values`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(path := Path(folder, "a.npy"), np.ones(3, "int8"))
    ...     source, answer = open_typed(path, "float32")
    >>> source.dtype, answer
    (dtype('int8'), 'float32')
    """
    file = InputFile(path)
    stored, parted, answer = dtype.partition(":") if dtype else (None, "", None)
    kind = _kind_of(file, column, stored or None)
    is_of_text = stored in {"int64", "i8", "float64", "f8"}
    if kind == "raw" and is_of_text and plain_suffix(file.path) not in _RAW_SUFFIXES:
        # Numbers of 8 bytes that all are letters are none that anybody stores.
        kind = "text" if _looks_like_text(read_head(file, _HEAD_BYTES)) else kind
    if dtype and not parted and kind != "raw" and not (kind == "text" and is_of_text):
        stored, answer = None, dtype
    return _opened(file, kind, column, stored or None, offset), answer or None


_Kind = Literal["npy", "parquet", "text", "raw"]


def _kind_of(file: InputFile, column: str | int | None, dtype: DTypeLike | None) -> _Kind:
    """Return how a file is to be read."""
    path = file.path
    head = read_head(file, len(NPY_MAGIC))
    suffix = plain_suffix(path)
    if suffix == ".npy" and head != NPY_MAGIC:
        raise FileFormatError(path, None, "a NumPy file", "another beginning, or nothing at all")
    if head == NPY_MAGIC:
        return "npy"
    if head.startswith(_PARQUET_MAGIC) or suffix in _PARQUET_SUFFIXES:
        return "parquet"
    is_raw = suffix in _RAW_SUFFIXES or (dtype is not None and suffix not in _TEXT_SUFFIXES)
    if suffix == ".npz" or (head.startswith(_ZIP_MAGIC) and not is_raw):
        raise InputError(f"{path} is an archive; for .npz, reduce numpy.load(path)[name] instead")
    return "raw" if is_raw and column is None else "text"


def _opened(
    file: InputFile,
    kind: _Kind,
    column: str | int | None,
    dtype: DTypeLike | None,
    offset: int,
) -> StoredArray | StoredColumn:
    path = file.path
    if kind == "npy":
        _refuse(path, "a .npy file", column=column, dtype=dtype, offset=offset or None)
        return _open_npy(file)
    if kind == "parquet":
        from warpladder.formats.value_parquet import ParquetColumn

        _refuse(path, "a Parquet file", dtype=dtype, offset=offset or None)
        _refuse_packed(file)
        return ParquetColumn(file, column)
    if kind == "text":
        from warpladder.formats.value_columns import TextColumn

        _refuse(path, "a table of text", offset=offset or None)
        return TextColumn(file, column, None if dtype is None else known_dtype(dtype))
    return _open_raw(file, dtype, offset)


def _refuse(path: Path, kind: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}={value!r} has no meaning for {path}, read as {kind}")


def _refuse_packed(file: InputFile, *, is_all_read: bool = True) -> None:
    # What is inside of an archive may lie there as it is.
    if is_gzip(file) or (is_all_read and packed_by(read_head(file, _HEAD_BYTES))):
        raise InputError(
            f"{file.path}: a packed file cannot be read from anywhere; unpack it first"
        )


def _open_raw(file: InputFile, dtype: DTypeLike | None, offset: int) -> StoredArray:
    path = file.path
    if dtype is None:
        raise InputError(f"{path}: raw binary does not tell its dtype; give dtype='float32', say")
    element = known_dtype(dtype)
    if element.char not in REAL_NUMBERS:
        raise InputTypeError(
            f"dtype={dtype!r}: raw binary is read as real numbers of up to 64 bits"
        )
    try:
        offset = operator.index(offset)
    except TypeError:
        raise InputTypeError(f"offset={offset!r} is no whole number of bytes") from None
    _refuse_packed(file, is_all_read=not offset)
    if plain_suffix(path) not in _BINARY_SUFFIXES and _looks_like_text(
        read_head(file, _HEAD_BYTES)
    ):
        raise InputError(
            f"{path} looks like text; give column=0 to read it as a table, or call it .csv; "
            "if it is binary, call it .bin"
        )
    bytes_there = file.place.stat().st_size
    if not 0 <= offset <= bytes_there:
        raise InputError(f"offset={offset} is not inside {path}, which has {bytes_there:,} bytes")
    count, rest = divmod(bytes_there - offset, element.itemsize)
    if rest:
        expected = f"a multiple of {element.itemsize} bytes for elements of {element.name}"
        raise FileFormatError(path, None, expected, f"{bytes_there - offset:,} bytes")
    return StoredArray(file, offset, element, (count,))


def _looks_like_text(head: bytes) -> bool:
    if b"\n" not in head or not head.isascii():
        return False
    text = head.decode().replace("\r\n", "").replace("\n", "").replace("\t", "")
    return text.isprintable() and any(map(str.isdecimal, text))


def _open_npy(file: InputFile) -> StoredArray:
    path = file.path
    _refuse_packed(file)
    with (
        open_binary(file) as opened,
        told_as_broken(path, "the header of a NumPy file"),
        warnings.catch_warnings(),
    ):
        # Of headers as Python 2 wrote them, and of those that damage makes look like one.
        warnings.simplefilter("ignore")
        version = np.lib.format.read_magic(opened)
        read_header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran_order, dtype = read_header(opened)
        offset = opened.tell()
    if len(shape) > _MOST_DIMENSIONS or not all(0 <= extent < 2**63 for extent in shape):
        expected = f"up to {_MOST_DIMENSIONS} extents of 0 or more"
        raise FileFormatError(path, None, expected, f"shape {shape}")
    if prod(extent or 1 for extent in shape) * max(dtype.itemsize, 1) >= 2**63:
        # NumPy makes no such array, though there may be a 0 among its extents.
        raise FileFormatError(path, None, "less than 2^63 bytes", f"shape {shape} of {dtype}")
    if dtype.hasobject:
        raise FileFormatError(path, None, "numbers", f"objects (dtype {dtype})")
    if dtype.subdtype or not dtype.itemsize:
        # NumPy writes neither, and reads both.
        raise FileFormatError(path, None, "numbers", f"elements of dtype {dtype}")
    stored = StoredArray(file, offset, dtype, shape, fortran_order)
    _check_length(stored, file.place.stat().st_size)
    return stored


def _check_length(stored: StoredArray, bytes_there: int) -> None:
    """Refuse a file that is too short, or has become so since it was opened."""
    if bytes_there < stored.offset + stored.size * stored.dtype.itemsize:
        expected = f"{stored.size:,} elements of {stored.dtype.itemsize} bytes"
        found = f"{max(bytes_there - stored.offset, 0):,} bytes of them"
        raise FileFormatError(stored.path, None, expected, found)
