"""One column of numbers from a table of text, chunk by chunk."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import methodcaller
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats.columns import choose_column
from warpladder.formats.fields import is_integer, split_row
from warpladder.formats.files import InputFile, is_gzip, told_as_gzip
from warpladder.formats.text import is_content, quoted

__all__ = ["TextColumn"]

_COMMENTS = "#"
_HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 4 << 20
# A file without line ends is not read into memory as one line.
_LONGEST_LINE = 64 << 20
_ELSE_RAW = "(raw binary needs dtype='float32', say)"
_IN_QUOTES = re.compile('"[^"]*"')
# No names of columns, though no numbers.
_MISSING = frozenset({"", "na", "n/a", "null", "none"})


class TextColumn:
    """A column of numbers in a text file with one row per line.

    Blank lines and lines that begin with ``#`` do not count; a file without any other is refused,
    while a header alone stands for no values. The first line is a header where the
    column was chosen by a name in it or has no number in it, or where another column has a name
    above a number. Rows have as many fields as the first line; an empty one may follow. Fields may
    be in quotes; line ends may not.
    """

    def __init__(self, file: InputFile, column: str | int | None, dtype: DTypeLike | None) -> None:
        self._file = file
        self.path = path = file.path
        self.done = 0.0
        head = self._head()
        if not head:
            raise FileFormatError(path, None, "numbers, or a header alone", "an empty file")
        first = head[0][1]
        outside = _IN_QUOTES.sub("", first)
        self._delimiter = next((sign for sign in "\t;," if sign in outside), None)
        names, below = ([*(self._split(*line) for line in head[:2]), [], []])[:2]
        self._count, self._filled = len(names), _filled(names)
        has_names = any(map(_is_name_above_number, names, below))
        is_named = not all(map(_is_number, names))
        self._column, is_chosen_by_name = choose_column(
            path, names, column, is_named=is_named, names_first=has_names
        )
        if is_chosen_by_name and names.count(names[self._column]) > 1:
            raise InputError(f"{path}: column={column!r} stands there twice; give its number")
        self._has_header = has_names or is_chosen_by_name or not _is_number(names[self._column])
        self._title = quoted(names[self._column]) if self._has_header else f"{self._column}"
        try:
            asked = np.dtype(np.int64 if dtype is None else dtype)
        except TypeError as error:
            raise InputTypeError(f"dtype={dtype!r} is not known: {error}") from None
        self.dtype: np.dtype[Any] = asked.newbyteorder("=")
        rows = [text for _, text in head[self._has_header :]]
        if dtype is None and (not rows or self._parse(rows) is None):
            self.dtype = np.dtype(np.float64)
        if self.dtype not in (np.int64, np.float64):
            raise InputError(f"dtype={self.dtype.name}: a column of text is int64 or float64")

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on."""
        header_is_ahead = self._has_header
        for before, lines in self._chunks(_CHUNK_BYTES):
            rows = [text for text in lines if is_content(text, _COMMENTS)]
            if not rows:
                continue
            values = self._parse(rows[header_is_ahead:])
            if values is None:
                self._explain(lines, before, skip_first=header_is_ahead)
            elif values.size:
                yield values
            header_is_ahead = False

    def _parse(self, rows: list[str]) -> NDArray[Any] | None:
        """Return the column's values, None where a row has none or NumPy might misread one."""
        if not rows:
            return np.empty(0, self.dtype)
        try:
            # NumPy's reader is content with a quote that is not closed.
            if any(quotes % 2 for quotes in set(_counts('"', rows))) or not self._are_even(rows):
                return None
            # Other characters than ASCII make NumPy's integer reader look up digits beyond its
            # table, which may end the process (numpy/numpy#31586).
            if self.dtype.kind == "i" and not all(map(str.isascii, rows)):
                return self._parse_one_by_one([self._split(0, row) for row in rows])
            values = np.loadtxt(
                rows,
                self.dtype,
                comments=None,
                delimiter=self._delimiter,
                # Without this NumPy itself refuses rows of different lengths.
                usecols=None if self._count == 1 else [self._column],
                quotechar='"',
                ndmin=1,
            )
        except (ValueError, OverflowError, csv.Error):
            return None
        return values if values.size == len(rows) else None

    def _parse_one_by_one(self, rows: list[list[str]]) -> NDArray[Any] | None:
        if not all(map(self._is_even, rows)):
            return None
        tokens = [row[self._column] for row in rows]
        return (
            np.array(list(map(int, tokens)), self.dtype) if all(map(is_integer, tokens)) else None
        )

    def _are_even(self, rows: list[str]) -> bool:
        """Tell whether rows of several columns are as long as the first: no field is shifted."""
        if self._count == 1:
            return True
        if self._delimiter is None:
            counts: Iterable[int] = map(len, map(str.split, rows))
            if set(counts) == {self._count}:
                return True
            return all(self._is_even(self._split(0, row)) for row in rows)
        counts = _counts(self._delimiter, rows)
        # In quotes a delimiter is none.
        if set(counts) == {self._count - 1} and not any('"' in row for row in rows):
            return True
        split = csv.reader(rows, delimiter=self._delimiter, strict=True, skipinitialspace=True)
        return all(map(self._is_even, split))

    def _is_even(self, fields: Sequence[str]) -> bool:
        count = len(fields)
        is_even = count in {self._count, self._filled} or _filled(fields) == self._filled
        return is_even and count > self._column

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
            tokens = self._split(number, text)
            if not self._is_even(tokens):
                found = f"{len(tokens)}: {quoted(text)}"
                fields = f"as many fields as in the first line, {self._filled}"
                raise FileFormatError(self.path, number, fields, found)
            if self._parse([text]) is None:
                token = tokens[self._column]
                hint = ""
                if self.dtype.kind == "i" and _is_number(token):
                    hint = "; for numbers like this give dtype='float64'"
                raise FileFormatError(self.path, number, expected, quoted(token) + hint)
        raise FileFormatError(self.path, before + 1, expected, "a row that cannot be read")

    def _split(self, number: int, line: str) -> list[str]:
        """Return the fields of a line; its number is for the error."""
        try:
            if self._delimiter is None and '"' in line:
                return split_row(line.strip(), " ")
            return split_row(line, self._delimiter)
        except csv.Error:
            raise FileFormatError(
                self.path, number, "fields with closed quotes", quoted(line)
            ) from None

    def _head(self) -> list[tuple[int, str]]:
        """Return the first lines that count, with their numbers: two, or more for a good sample."""
        head: list[tuple[int, str]] = []
        size = 0
        for before, lines in self._chunks(_HEAD_BYTES):
            for number, line in enumerate(lines, before + 1):
                if is_content(line, _COMMENTS):
                    head.append((number, line))
                    size += len(line) + 1
            if size > _HEAD_BYTES // 2 and len(head) > 1:
                break
        self.done = 0.0
        return head

    def _chunks(self, size: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the file's lines, about ``size`` bytes at a time, and how many came before."""
        line = 0
        begun: list[bytes] = []
        try:
            whole_size = max(self._file.place.stat().st_size, 1)
            with told_as_gzip(self.path), self._file.place.open("rb") as raw:
                packed = is_gzip(self._file)
                file: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
                block = file.read(size).removeprefix(b"\xef\xbb\xbf")
                while block:
                    whole, found, tail = block.rpartition(b"\n")
                    if found:
                        lines = self._decoded(b"".join([*begun, whole]), line)
                        self.done = raw.tell() / whole_size
                        yield line, lines
                        line += len(lines)
                        begun = []
                    begun.append(tail)
                    if sum(map(len, begun)) > _LONGEST_LINE:
                        expected = f"lines of up to {_LONGEST_LINE >> 20} MiB"
                        raise FileFormatError(self.path, line + 1, expected, "a longer one")
                    block = file.read(size)
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror or error}") from error
        if any(begun):
            self.done = 1.0
            yield line, self._decoded(b"".join(begun), line)

    def _decoded(self, data: bytes, before: int) -> list[str]:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = before + 1 + data.count(b"\n", 0, error.start)
            found = f"the byte 0x{data[error.start]:02x}"
            raise FileFormatError(self.path, line, f"text in UTF-8 {_ELSE_RAW}", found) from None
        if "\0" in text:
            line = before + 1 + text.count("\n", 0, text.index("\0"))
            raise FileFormatError(self.path, line, f"text {_ELSE_RAW}", "a NUL byte")
        lines = text.replace("\r\n", "\n").removesuffix("\r").split("\n")
        for number, line_of_text in enumerate(lines if "\r" in text else [], before + 1):
            if "\r" in line_of_text:
                found = "a CR by itself"
                raise FileFormatError(self.path, number, "lines that end with LF or CR LF", found)
        return lines


def _is_name_above_number(name: str, below: str) -> bool:
    return not _is_number(name) and name.lower() not in _MISSING and _is_number(below)


def _counts(sign: str, rows: list[str]) -> Iterable[int]:
    return map(methodcaller("count", sign), rows)


def _filled(fields: Sequence[str]) -> int:
    """Return the number of fields, but for an empty one after the last delimiter."""
    return len(fields) - (len(fields) > 1 and not fields[-1].strip())


def _is_number(token: str) -> bool:
    # Python reads digits of any script, and underscores between them.
    if not token.isascii() or "_" in token:
        return False
    try:
        float(token)
    except ValueError:
        return False
    return True
