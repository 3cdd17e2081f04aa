"""One column of numbers from a table, chunk by chunk: text of any delimiter, or Parquet."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats.fields import split_row
from warpladder.formats.files import is_gzip, read_head
from warpladder.formats.parquet import import_pyarrow
from warpladder.formats.text import is_content, quoted

__all__ = ["ParquetColumn", "TextColumn"]

_COMMENTS = "#"
_HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 4 << 20
_PARQUET_ROWS = 1 << 20


class TextColumn:
    """A column of numbers in a text file with one row per line.

    Blank lines and lines that begin with ``#`` do not count. A first line that has no number in the
    column is a header. Fields may be in quotes; line ends may not.
    """

    def __init__(self, path: Path, column: str | int | None, dtype: DTypeLike | None) -> None:
        self.path = path
        self.done = 0.0
        head = self._head()
        first = next((line for line in head if is_content(line, _COMMENTS)), "")
        self._delimiter = next((sign for sign in "\t;," if sign in first), None)
        names = self._split(first, 1) if first else []
        is_named = not all(_is_number(name) for name in names)
        self._column = _choose(path, names, column, is_named=is_named)
        self._title = repr(names[self._column]) if is_named else f"{self._column}"
        self._has_header = bool(names) and not _is_number(names[self._column])
        try:
            self.dtype: np.dtype[Any] = np.dtype(np.int64 if dtype is None else dtype)
        except TypeError as error:
            raise InputTypeError(f"dtype={dtype!r} is not known: {error}") from None
        rows = [line for line in head if is_content(line, _COMMENTS)][self._has_header :]
        if dtype is None and (not rows or self._parse(rows) is None):
            self.dtype = np.dtype(np.float64)
        if self.dtype not in (np.int64, np.float64):
            raise InputError(f"dtype={self.dtype.name}: a column of text is int64 or float64")

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on."""
        line = 0
        header_is_ahead = self._has_header
        for lines in self._chunks():
            rows = [text for text in lines if is_content(text, _COMMENTS)]
            if header_is_ahead and rows:
                rows = rows[1:]
            values = self._parse(rows)
            if values is None:
                self._explain(lines, line, skip_first=header_is_ahead)
            elif values.size:
                yield values
            header_is_ahead = header_is_ahead and not any(
                is_content(text, _COMMENTS) for text in lines
            )
            line += len(lines)

    def _parse(self, rows: list[str]) -> NDArray[Any] | None:
        """Return the column's values, None where a row has none or NumPy might misread one."""
        if not rows:
            return np.empty(0, self.dtype)
        # NumPy's reader is content with a quote that is not closed.
        if any(row.count('"') % 2 for row in rows):
            return None
        # Other characters than ASCII make NumPy's integer reader look up digits beyond its table,
        # which may end the process (numpy/numpy#31586).
        if self.dtype.kind == "i" and not all(map(str.isascii, rows)):
            return self._parse_one_by_one(rows)
        try:
            return np.loadtxt(
                rows,
                self.dtype,
                comments=None,
                delimiter=self._delimiter,
                usecols=[self._column],
                quotechar='"',
                ndmin=1,
            )
        except (ValueError, OverflowError):
            return None

    def _parse_one_by_one(self, rows: list[str]) -> NDArray[Any] | None:
        try:
            return np.array([int(self._split(row, 0)[self._column]) for row in rows], self.dtype)
        except (ValueError, IndexError, OverflowError, FileFormatError):
            return None

    def _explain(self, lines: list[str], before: int, *, skip_first: bool) -> None:
        """Raise the error for the first line that cannot be read."""
        kind = "an integer of 64 bits" if self.dtype.kind == "i" else "a number"
        expected = f"{kind} in column {self._title}"
        for number, text in enumerate(lines, before + 1):
            if not is_content(text, _COMMENTS):
                continue
            if skip_first:
                skip_first = False
                continue
            tokens = self._split(text, number)
            if len(tokens) <= self._column:
                raise FileFormatError(self.path, number, expected, quoted(text))
            token = tokens[self._column]
            if self._parse([text]) is None:
                hint = ""
                if self.dtype.kind == "i" and _is_number(token):
                    hint = "; the lines before hold integers, give dtype='float64'"
                raise FileFormatError(self.path, number, expected, quoted(token) + hint)
        raise FileFormatError(self.path, before + 1, expected, "a row that cannot be read")

    def _split(self, line: str, number: int) -> list[str]:
        try:
            return split_row(line, self._delimiter)
        except csv.Error:
            raise FileFormatError(
                self.path, number, "fields with closed quotes", quoted(line)
            ) from None

    def _head(self) -> list[str]:
        head = read_head(self.path, _HEAD_BYTES)
        lines = self._decoded(head.removeprefix(b"\xef\xbb\xbf"), 0, is_cut=True)
        # The last line may be cut short.
        return lines[:-1] if len(head) == _HEAD_BYTES and len(lines) > 1 else lines

    def _chunks(self) -> Iterator[list[str]]:
        """Yield the lines of the file, many at a time."""
        size = max(self.path.stat().st_size, 1)
        line = 0
        rest = b""
        try:
            with self.path.open("rb") as raw:
                packed = is_gzip(self.path)
                file: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
                while block := file.read(_CHUNK_BYTES):
                    if line == 0 and not rest:
                        block = block.removeprefix(b"\xef\xbb\xbf")
                    whole, found, tail = (rest + block).rpartition(b"\n")
                    rest = tail
                    if found:
                        lines = self._decoded(whole, line)
                        line += len(lines)
                        self.done = raw.tell() / size
                        yield lines
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            expected = "a whole gzip file"
            raise FileFormatError(self.path, None, expected, f"a broken one ({error})") from error
        if rest:
            self.done = 1.0
            yield self._decoded(rest, line)

    def _decoded(self, data: bytes, before: int, *, is_cut: bool = False) -> list[str]:
        try:
            text = data.decode("utf-8", errors="ignore" if is_cut else "strict")
        except UnicodeDecodeError as error:
            line = before + 1 + data.count(b"\n", 0, error.start)
            found = f"the byte 0x{data[error.start]:02x}"
            raise FileFormatError(self.path, line, "text in UTF-8", found) from None
        if "\0" in text:
            line = before + 1 + text.count("\n", 0, text.index("\0"))
            raise FileFormatError(
                self.path, line, "text (raw binary needs dtype, as 'float32')", "a NUL byte"
            )
        return [line.removesuffix("\r") for line in text.split("\n")]


class ParquetColumn:
    """A column of numbers in a Parquet file; it needs pyarrow."""

    def __init__(self, path: Path, column: str | int | None) -> None:
        self.path = path
        self.done = 0.0
        self._pa = import_pyarrow("reading Parquet")
        with self._opened() as file:
            names = list(file.schema_arrow.names)
            self._name = names[_choose(path, names, column, is_named=True)]
            kind = file.schema_arrow.field(self._name).type
            self._rows = max(file.metadata.num_rows, 1)
        if not (
            self._pa.types.is_integer(kind)
            or self._pa.types.is_floating(kind)
            or self._pa.types.is_boolean(kind)
        ):
            raise FileFormatError(path, None, f"numbers in column {self._name!r}", f"type {kind}")
        self.dtype = np.dtype(np.bool_ if str(kind) == "bool" else kind.to_pandas_dtype())

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on."""
        row = 0
        with self._opened() as file:
            batches = file.iter_batches(batch_size=_PARQUET_ROWS, columns=[self._name])
            for batch in self._guarded(batches):
                values = batch.column(0)
                if values.null_count:
                    missing = row + values.is_null().to_numpy(zero_copy_only=False).argmax()
                    expected = f"a value in every row of column {self._name!r}"
                    found = f"none in row {missing}, counted from 0"
                    raise FileFormatError(self.path, None, expected, found)
                row += len(values)
                self.done = row / self._rows
                yield values.to_numpy(zero_copy_only=False)

    def _opened(self) -> Any:
        try:
            return self._pa.parquet.ParquetFile(self.path)
        except (self._pa.ArrowException, OSError) as error:
            raise self._broken(error) from error

    def _guarded(self, batches: Any) -> Iterator[Any]:
        try:
            yield from batches
        except (self._pa.ArrowException, OSError) as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> FileFormatError:
        return FileFormatError(self.path, None, "a whole Parquet file", f"a broken one ({error})")


def _choose(path: Path, names: list[str], column: str | int | None, *, is_named: bool) -> int:
    """Return the number of the column asked for, or of the only one."""
    listing = ", ".join(map(repr, names)) if is_named else f"{len(names)} without names"
    if column is None:
        if len(names) <= 1:
            return 0
        raise InputError(f"{path}: choose a column (by name, or number from 0); found: {listing}")
    if isinstance(column, str) and is_named and column in names:
        return names.index(column)
    if str(column).isdecimal() and int(column) < len(names):
        return int(column)
    raise InputError(f"{path}: column={column!r} is not there; found: {listing}")


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True
