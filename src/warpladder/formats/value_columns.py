"""One column of numbers from a table of text, chunk by chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats.columns import choose_column
from warpladder.formats.fields import Field, Layout, filled, is_float, parse_rows, split_row
from warpladder.formats.files import InputFile
from warpladder.formats.text import TextFile, quoted, read_chunks, read_first

__all__ = ["TextColumn"]

_COMMENTS = "#"
_HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 4 << 20
_ELSE_RAW = "(raw binary needs dtype='float32', say)"
_ELSE_FLOATS = "; for numbers like this give dtype='float64'"
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
        head = read_first(file, _HEAD_BYTES, _COMMENTS, _ELSE_RAW)
        if not head:
            raise FileFormatError(path, None, "numbers, or a header alone", "an empty file")
        outside = _IN_QUOTES.sub("", head[0].lines[0])
        self._delimiter = next((sign for sign in "\t;," if sign in outside), None)
        layout = Layout((), "fields", delimiter=self._delimiter, filled=0)
        names, below = ([*(split_row(line, 0, layout) for line in head[:2]), []])[:2]
        has_names = any(map(_is_name_above_number, names, below))
        is_named = not all(map(is_float, names))
        self._column, is_chosen_by_name = choose_column(
            path, names, column, is_named=is_named, names_first=has_names
        )
        name = names[self._column]
        if is_chosen_by_name and names.count(name) > 1:
            raise InputError(f"{path}: column={column!r} stands there twice; give its number")
        self._has_header = has_names or is_chosen_by_name or not is_float(name)
        title = quoted(name) if self._has_header else f"{self._column}"
        try:
            asked = np.dtype(np.int64 if dtype is None else dtype)
        except TypeError as error:
            raise InputTypeError(f"dtype={dtype!r} is not known: {error}") from None
        self.dtype: np.dtype[Any] = asked.newbyteorder("=")
        if self.dtype not in (np.int64, np.float64):
            raise InputError(f"dtype={self.dtype.name}: a column of text is int64 or float64")
        self._layout = self._layout_of(names, title)
        rows = [line for chunk in head[self._has_header :] for line in chunk.lines]
        if dtype is None and not (rows and self._are_integers(rows)):
            self.dtype = np.dtype(np.float64)
            self._layout = self._layout_of(names, title)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on."""
        header_is_ahead = self._has_header
        for done, chunk in read_chunks(self._file, _CHUNK_BYTES, _ELSE_RAW):
            self.done = done
            first = chunk.first_content(_COMMENTS)
            if first is None:
                continue
            values = parse_rows(chunk, self._layout, first + header_is_ahead)[self._column]
            header_is_ahead = False
            if values.size:
                yield values

    def _layout_of(self, names: list[str], title: str) -> Layout:
        fields = [Field("ignored", "column")] * len(names)
        fields[self._column] = (
            Field("int64", f"an integer of 64 bits in column {title}", _ELSE_FLOATS)
            if self.dtype == np.int64
            else Field("float64", f"a number in column {title}")
        )
        return Layout(tuple(fields), "fields", _COMMENTS, self._delimiter, filled=filled(names))

    def _are_integers(self, rows: list[str]) -> bool:
        try:
            parse_rows(TextFile(self.path, rows), self._layout, 0)
        except FileFormatError:
            return False
        return True


def _is_name_above_number(name: str, below: str) -> bool:
    return not is_float(name) and name.lower() not in _MISSING and is_float(below)
