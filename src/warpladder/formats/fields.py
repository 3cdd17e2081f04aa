"""Rows of fields: many lines of one layout turned into columns.

Numbers are parsed in bulk by NumPy's C reader. Whatever that reader refuses, and whatever it might
understand differently, is read again line by line; that second reading alone decides what is
malformed and names the line.
"""

from __future__ import annotations

import csv
import re
import warnings
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from warpladder.formats.text import TextFile, is_content, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Field", "Layout", "is_integer", "is_number", "parse_rows", "split_row"]

Kind = Literal["word", "name", "id", "vertex", "integer", "real", "weight", "ignored"]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_INFINITY = re.compile(r"\+?inf(?:inity)?", re.IGNORECASE)
_INT64 = np.iinfo(np.int64)
# Splits fields once quotes are resolved; a file that holds it itself is read line by line.
_UNIT_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a row.

    Attributes
    ----------
    kind
        ``word``: always `title` itself. ``name``: any text. ``id``: integers if all ids of the file
        are, else text. ``vertex``: a number from 1 to ``Layout.n``. ``integer``, ``real``: int64,
        float64. ``weight``: int64 if all are integer literals, else float64. ``ignored``: anything.
    title
        What error messages call it.
    """

    kind: Kind
    title: str


@dataclass(frozen=True, slots=True)
class Layout:
    """What every row of a file looks like.

    Attributes
    ----------
    fields
        The fields from left to right.
    shape
        The row in words, for error messages.
    comments
        Characters that begin a comment line.
    delimiter
        The character between fields, which may then be in quotes; None for any white space.
    n
        The largest vertex number.
    """

    fields: tuple[Field, ...]
    shape: str
    comments: str = ""
    delimiter: str | None = None
    n: int = 0


def is_integer(token: str) -> bool:
    """Tell whether `token` is an integer literal that int64 holds."""
    # Python refuses to read thousands of digits at once.
    is_literal = len(token) < 1000 and _INTEGER.fullmatch(token) is not None
    return is_literal and _INT64.min <= int(token) <= _INT64.max


def is_number(token: str) -> bool:
    """Tell whether `token` is a number that float64 holds, or infinity."""
    if _NUMBER.fullmatch(token):
        return bool(np.isfinite(float(token)))
    return _INFINITY.fullmatch(token) is not None


def split_row(line: str, delimiter: str | None) -> list[str]:
    """Split a line into fields without the blanks around them; csv.Error where quotes are open."""
    if delimiter is None:
        return line.split()
    reader = csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True)
    return [field.strip() for field in next(reader)]


def parse_rows(
    file: TextFile, layout: Layout, start: int, stop: int | None = None
) -> list[NDArray[Any]]:
    """Return one array per field from the rows among ``file.lines[start:stop]``.

    Names are object arrays of str. Raises FileFormatError at the first malformed row.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = TextFile(Path("roads"), ["a b 5", "b c 2.5"])
    >>> fields = Field("name", "source"), Field("name", "target"), Field("weight", "length")
    >>> [column.tolist() for column in parse_rows(file, Layout(fields, "'V W length'"), 0)]
    [['a', 'b'], ['b', 'c'], [5.0, 2.5]]
    """
    rows = [line for line in file.lines[start:stop] if is_content(line, layout.comments)]
    columns = _parse_in_bulk(rows, layout) if rows else None
    return _parse_line_by_line(file, layout, start, stop) if columns is None else columns


def _parse_in_bulk(rows: list[str], layout: Layout) -> list[NDArray[Any]] | None:
    """Return the columns, or None where only the reading line by line can tell."""
    delimiter = layout.delimiter
    if delimiter is not None and any('"' in row for row in rows):
        unquoted = _without_quotes(rows, delimiter)
        if unquoted is None:
            return None
        rows, delimiter = unquoted, _UNIT_SEPARATOR
    for dtype in _candidate_dtypes(layout, rows, delimiter):
        columns = _load(rows, dtype, delimiter)
        if columns is None:
            continue
        if delimiter is not None:
            columns = [
                _stripped(column) if column.dtype == object else column for column in columns
            ]
        sound = all(map(_is_sound, layout.fields, columns, [layout.n] * len(columns)))
        return columns if sound else None
    return None


def _load(
    rows: list[str], dtype: np.dtype[Any], delimiter: str | None
) -> list[NDArray[Any]] | None:
    """Return the columns, or None where a row does not fit the dtype."""
    try:
        with warnings.catch_warnings():
            # Older NumPy only warns where it reads '1.5' as the integer 1.
            warnings.simplefilter("error", DeprecationWarning)
            table = np.loadtxt(rows, dtype, comments=None, delimiter=delimiter, ndmin=1)
    except (ValueError, DeprecationWarning):
        return None
    return [np.ascontiguousarray(table[name]) for name in dtype.names or ()]


def _without_quotes(rows: list[str], delimiter: str) -> list[str] | None:
    if any(_UNIT_SEPARATOR in row for row in rows):
        return None
    reader = csv.reader(rows, delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        unquoted = [_UNIT_SEPARATOR.join(fields) for fields in reader]
    except csv.Error:
        return None
    # A quote left open swallows the lines that follow.
    return unquoted if len(unquoted) == len(rows) else None


def _candidate_dtypes(
    layout: Layout, rows: list[str], delimiter: str | None
) -> Iterator[np.dtype[Any]]:
    """Yield the dtypes a row may have, the narrowest first."""
    kinds = {field.kind for field in layout.fields}
    id_types = ("i8", "O") if "id" in kinds else ("O",)
    weight_types = ("i8", "f8") if "weight" in kinds else ("f8",)
    is_ascii = _ascii_columns(rows, len(layout.fields), delimiter)
    for id_type, weight_type in product(id_types, weight_types):
        # Text is read as objects: a fixed width would cut long names short without a word.
        types: dict[Kind, str] = {"id": id_type, "weight": weight_type}
        types |= {"vertex": "i8", "integer": "i8", "real": "f8"}
        chosen = [types.get(field.kind, "O") for field in layout.fields]
        if all(ok or kind != "i8" for ok, kind in zip(is_ascii, chosen, strict=True)):
            yield _row_dtype(chosen)


def _ascii_columns(rows: list[str], count: int, delimiter: str | None) -> list[bool]:
    """Tell which columns may be read as integers.

    Other characters than ASCII make NumPy's integer reader look up digits beyond its table, which
    may end the process (numpy/numpy#31586).
    """
    if all(map(str.isascii, rows)):
        return [True] * count
    columns = _load(rows, _row_dtype(["O"] * count), delimiter)
    if columns is None:
        return [False] * count
    return ["".join(column.tolist()).isascii() for column in columns]


def _row_dtype(types: list[str]) -> np.dtype[Any]:
    return np.dtype([(f"f{i}", kind) for i, kind in enumerate(types)])


def _stripped(names: NDArray[Any]) -> NDArray[Any]:
    return np.array(list(map(str.strip, names.tolist())), dtype=object)


def _is_sound(field: Field, column: NDArray[Any], n: int) -> bool:
    """Tell whether the reading line by line would take this column as it is."""
    if field.kind == "word":
        return bool((column == field.title).all())
    if field.kind == "vertex":
        return bool(column.min() >= 1 and column.max() <= n)
    if column.dtype == np.float64:
        # Infinity may stand for too large a literal, a large float for an integer beyond int64.
        return bool((np.abs(column) < 2.0**63).all())
    return field.kind == "ignored" or column.dtype != object or "" not in column.tolist()


def _parse_line_by_line(
    file: TextFile, layout: Layout, start: int, stop: int | None
) -> list[NDArray[Any]]:
    rows: list[list[str]] = []
    for index, line in enumerate(file.lines[start:stop], start):
        if not is_content(line, layout.comments):
            continue
        try:
            tokens = split_row(line, layout.delimiter)
        except csv.Error as error:
            raise file.error(index, f"{layout.shape} with closed quotes") from error
        if len(tokens) != len(layout.fields):
            raise file.error(index, layout.shape)
        for field, token in zip(layout.fields, tokens, strict=True):
            expected = _fault(field, token, layout.n)
            if expected is not None:
                raise file.error(index, expected, quoted(token))
        rows.append(tokens)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(layout.fields)
    ids = [
        column for column, field in zip(columns, layout.fields, strict=True) if field.kind == "id"
    ]
    ids_are_integers = all(is_integer(token) for column in ids for token in column)
    return [
        _convert(column, field.kind, ids_are_integers)
        for column, field in zip(columns, layout.fields, strict=True)
    ]


def _fault(field: Field, token: str, n: int) -> str | None:
    """Return what was expected of a token, None where it is as expected."""
    title = field.title
    match field.kind:
        case "word":
            return None if token == title else repr(title)
        case "name" | "id":
            return None if token else f"a {title}"
        case "vertex":
            in_range = is_integer(token) and 1 <= int(token) <= n
            return None if in_range else f"a vertex number from 1 to {n} as {title}"
        case "integer":
            return None if is_integer(token) else f"an integer (of 64 bits) as {title}"
        case "real" | "weight":
            is_too_large = _INTEGER.fullmatch(token) is not None and not is_integer(token)
            if is_too_large and field.kind == "weight":
                return f"a {title} within 64-bit integers (or written as a float, like 1e20)"
            return None if is_number(token) else f"a number or inf as {title}"
        case "ignored":
            return None


def _convert(tokens: tuple[str, ...], kind: Kind, ids_are_integers: bool) -> NDArray[Any]:
    whole = (
        kind in {"vertex", "integer"}
        or (kind == "id" and ids_are_integers)
        or (kind == "weight" and all(map(is_integer, tokens)))
    )
    if whole:
        return np.array([int(token) for token in tokens], dtype=np.int64)
    if kind in {"real", "weight"}:
        return np.array([float(token) for token in tokens], dtype=np.float64)
    return np.array(tokens, dtype=object)
