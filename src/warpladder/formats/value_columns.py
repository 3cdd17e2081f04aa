"""One column of numbers from a table of text, chunk by chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.columns import choose_column
from warpladder.formats.fields import Field, Layout, filled, is_float, parse_rows, split_row
from warpladder.formats.files import InputFile, plain_suffix
from warpladder.formats.text import TextFile, outside_quotes, quoted, read_chunks, read_first

__all__ = ["TextColumn"]

_COMMENTS = "#"
_HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 4 << 20
_ELSE_RAW = "(raw binary needs dtype='float32', say)"
_ELSE_FLOATS = "; for numbers like this give dtype='float64'"
# No names of columns, though no numbers.
_MISSING = frozenset({"", "?", ".", "-", "--", "na", "n/a", "<na>", "null", "none"})
_WHOLE = re.compile(r"[+-]?[0-9]+")
# Misspelled numbers rather than names, behind other characters too: 5 min, 1..5, (5), $5, -x.
_LIKE_NUMBERS = re.compile(r"\W*\d|[+.\-\u2212]")
_TABLE_SUFFIXES = (".csv", ".tsv")


class TextColumn:
    """A column of numbers in a text file with one row per line.

    Blank lines and lines that begin with ``#`` do not count; a file without any other is refused.
    The first line is a header where the column was chosen by a name in it or has one there, where
    another column has a name above a number, or where none of several columns has a number in it
    but all have one below. A name begins with no digit, sign or dot and is no word for what is
    missing: a number that is misspelled is refused in the first line as in all others, also in a
    column that was not chosen if a number follows it there. A header alone stands for no
    values in a table: where its columns are parted by a sign or chosen by name, or the file is
    called ``.csv`` or ``.tsv``; else it is text without numbers, and refused.
    Rows have as many fields as the first line; an empty one may follow. Fields may be in quotes;
    line ends may not.

    Attributes
    ----------
    header
        The column's name in the first line, which counts for no value; None where that has values.
    """

    header: str | None

    def __init__(
        self, file: InputFile, column: str | int | None, dtype: np.dtype[Any] | None
    ) -> None:
        self._file = file
        self.path = path = file.path
        self.done = 0.0
        head = read_first(file, _HEAD_BYTES, _COMMENTS, _ELSE_RAW)
        if not head:
            raise FileFormatError(path, None, "numbers, or a header alone", "an empty file")
        outside = outside_quotes(head[0].lines[0])
        self._delimiter = next((sign for sign in "\t;," if sign in outside), None)
        layout = Layout((), "fields", delimiter=self._delimiter, has_quotes=True)
        names, below = ([*(split_row(line, 0, layout) for line in head[:2]), []])[:2]
        has_names = _are_names_above_numbers(names, below)
        is_named = not all(map(is_float, names))
        self._column, is_chosen_by_name = choose_column(
            path, names, column, is_named=is_named, names_first=has_names
        )
        name = names[self._column]
        if is_chosen_by_name and names.count(name) > 1:
            raise InputError(f"{path}: column={column!r} stands there twice; give its number")
        has_header = has_names or is_chosen_by_name or _is_name(name)
        if not (has_header or is_float(name)):
            expected = (
                f"a number in column {self._column}, or its name, which begins with no digit, "
                f"sign or dot (give another one, as column={quoted(name, 30)})"
            )
            raise head[0].error(0, expected, quoted(name))
        unclear = _unclear_above_number(names, below)
        if not has_header and unclear is not None:
            expected = (
                f"a number in column {unclear}, or a name, which begins with no digit, sign or dot "
                "(if this line is a header, put # before it)"
            )
            raise head[0].error(0, expected, quoted(names[unclear]))
        self.header = name if has_header else None
        self._may_be_empty = (
            is_chosen_by_name
            or self._delimiter is not None
            or plain_suffix(path) in _TABLE_SUFFIXES
        )
        title = quoted(name) if has_header else f"{self._column}"
        asked = np.dtype(np.int64) if dtype is None else dtype
        self.dtype: np.dtype[Any] = asked.newbyteorder("=")
        if self.dtype not in (np.int64, np.float64):
            raise InputError(f"dtype={self.dtype.name}: a column of text is int64 or float64")
        self._layout = self._layout_of(names, title)
        rows = [line for chunk in head[has_header:] for line in chunk.lines]
        if dtype is None and not (rows and self._are_integers(rows)):
            self.dtype = np.dtype(np.float64)
            self._layout = self._layout_of(names, title)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on."""
        header_is_ahead = self.header is not None
        has_values = False
        for done, chunk in read_chunks(self._file, _CHUNK_BYTES, _ELSE_RAW):
            self.done = done
            first = chunk.first_content(_COMMENTS)
            if first is None:
                continue
            values = parse_rows(chunk, self._layout, first + header_is_ahead)[self._column]
            header_is_ahead = False
            if values.size:
                has_values = True
                yield values
        if not (has_values or self._may_be_empty):
            found = f"one line without any: {quoted(self.header or '')}"
            raise FileFormatError(self.path, None, "numbers", found)

    def _layout_of(self, names: list[str], title: str) -> Layout:
        fields = [Field("ignored", "column")] * len(names)
        fields[self._column] = (
            Field("int64", f"an integer of 64 bits in column {title}", _ELSE_FLOATS)
            if self.dtype == np.int64
            else Field("float64", f"a number in column {title}")
        )
        return Layout(
            tuple(fields), "fields", _COMMENTS, self._delimiter, 0, filled(names), has_quotes=True
        )

    def _are_integers(self, rows: list[str]) -> bool:
        """Tell whether rows have integers, of any size: floats would round those beyond 64 bits."""
        file = TextFile(self.path, rows)
        fields = [*self._layout.fields]
        fields[self._column] = Field("name", "column")
        try:
            parse_rows(file, self._layout, 0)
        except FileFormatError:
            try:
                words = parse_rows(file, replace(self._layout, fields=tuple(fields)), 0)
            except FileFormatError:
                return False
            return all(map(_WHOLE.fullmatch, words[self._column]))
        return True


def _is_name(text: str) -> bool:
    return not (is_float(text) or text.lower() in _MISSING or _LIKE_NUMBERS.match(text) is not None)


def _are_names_above_numbers(names: list[str], below: list[str]) -> bool:
    """Tell whether a line of names stands above numbers, at least in one column.

    Where no field of several is a number and all below are, "5 min" is a name as well.
    """
    pairs = [*zip(names, below, strict=False)]
    if any(_is_name(name) and is_float(number) for name, number in pairs):
        return True
    return (
        len(names) > 1
        and bool(pairs)
        and all(
            not is_float(name) and name.lower() not in _MISSING and is_float(number)
            for name, number in pairs
        )
    )


def _unclear_above_number(names: list[str], below: list[str]) -> int | None:
    """Return the column of a text above a number that is neither a number nor surely a name."""
    for column, (name, number) in enumerate(zip(names, below, strict=False)):
        is_known = is_float(name) or _is_name(name) or name.lower() in _MISSING
        if not is_known and is_float(number):
            return column
    return None
