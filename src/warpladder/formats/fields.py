"""Rows of fields: many lines of one layout turned into columns, of a whole file or of a chunk.

Numbers are parsed in bulk by NumPy's C reader. Whatever that reader refuses, and whatever it might
understand differently, is read again line by line; that second reading alone decides what is
malformed and names the line.
"""

from __future__ import annotations

import csv
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from warpladder.formats.padded_ids import may_be_padded, with_integer_ids
from warpladder.formats.text import TextFile, is_content, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Field",
    "Layout",
    "filled",
    "is_float",
    "is_integer",
    "is_number",
    "parse_rows",
    "split_row",
]

Kind = Literal[
    "word", "name", "id", "vertex", "integer", "real", "weight", "int64", "float64", "ignored"
]

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
        ``word``: always `title` itself. ``name``: any text. ``id``: integers if every id of the
        file is written as that integer is printed (01 and +1 are not), else text. ``vertex``: a
        number from 1 to ``Layout.n``. ``integer``, ``real``: int64, float64. ``weight``: int64 if
        all weights of a row and of all rows are integer literals, else float64. ``int64``,
        ``float64``: whatever NumPy takes for one, NaN too. ``ignored``: anything.
    title
        What error messages call it; of ``int64`` and ``float64``, all that they expect.
    remedy
        What to do where an ``int64`` is some other number.
    """

    kind: Kind
    title: str
    remedy: str = ""


@dataclass(frozen=True)
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
    filled
        Where rows need not have all fields, how many they have but for an empty one at the end.
    has_quotes
        Whether fields between blanks may be in quotes.
    """

    fields: tuple[Field, ...]
    shape: str
    comments: str = ""
    delimiter: str | None = None
    n: int = 0
    filled: int | None = None
    has_quotes: bool = False

    @cached_property
    def wanted(self) -> list[int]:
        """The fields that are not ignored."""
        return [i for i, field in enumerate(self.fields) if field.kind != "ignored"]

    def fits(self, tokens: Sequence[str]) -> bool:
        """Tell whether a row has as many fields as it may have."""
        count = len(tokens)
        if self.filled is None:
            return count == len(self.fields)
        is_even = count in {self.filled, len(self.fields)}
        return (is_even or filled(tokens) == self.filled) and count > self.wanted[-1]


def filled(tokens: Sequence[str]) -> int:
    """Return the number of fields, but for an empty one after the last delimiter."""
    return len(tokens) - (len(tokens) > 1 and not tokens[-1].strip())


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


def is_float(token: str) -> bool:
    """Tell whether NumPy takes `token` for a float64: nan and 1e999 are some, 1_0 is none."""
    # Python reads digits of any script, and underscores between them.
    if not token.isascii() or "_" in token:
        return False
    try:
        float(token)
    except ValueError:
        return False
    return True


def split_row(file: TextFile, index: int, layout: Layout) -> list[str]:
    """Split a line into fields without the blanks around them."""
    line, delimiter = file.lines[index], layout.delimiter
    if delimiter is None and layout.has_quotes and '"' in line:
        line, delimiter = line.strip(), " "
    if delimiter is None:
        return line.split()
    reader = csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        return [field.strip() for field in next(reader)]
    except csv.Error as error:
        after = "" if line.count('"') % 2 else "nothing, not even a blank, after "
        raise file.error(index, f"{layout.shape} with {after}closed quotes") from error


def parse_rows(
    file: TextFile, layout: Layout, start: int, stop: int | None = None
) -> list[NDArray[Any]]:
    """Return one array per field from the rows among ``file.lines[start:stop]``.

    Names are object arrays of str; of fields that are ignored there are none. Raises
    FileFormatError at the first malformed row.

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
    may_have_quotes = delimiter is not None or layout.has_quotes
    if may_have_quotes and any('"' in row for row in rows):
        unquoted = _without_quotes(rows, delimiter)
        if unquoted is None:
            return None
        rows, delimiter = unquoted, _UNIT_SEPARATOR
    wanted = layout.wanted
    which = None if len(wanted) == len(layout.fields) else wanted
    if which is not None and not _are_even(rows, layout, delimiter):
        return None
    for dtype in _candidate_dtypes(layout, rows, delimiter, which):
        columns = _load(rows, dtype, delimiter, which)
        if columns is None:
            continue
        if delimiter is not None:
            columns = [
                _stripped(column) if column.dtype == object else column for column in columns
            ]
        fields = [layout.fields[i] for i in wanted]
        if not all(map(_is_sound, fields, columns, [layout.n] * len(columns))):
            return None
        are_ids = [field.kind == "id" for field in fields]
        return _placed(with_integer_ids(columns, are_ids), layout)
    return None


def _placed(columns: list[NDArray[Any]], layout: Layout) -> list[NDArray[Any]]:
    """Return the columns of the fields that are wanted, and empty ones in between."""
    placed = [np.empty(0, dtype=object)] * len(layout.fields)
    for place, column in zip(layout.wanted, columns, strict=True):
        placed[place] = column
    return placed


def _are_even(rows: list[str], layout: Layout, delimiter: str | None) -> bool:
    """Tell whether rows of which NumPy sees some fields only have as many as they may have."""
    if delimiter is None:
        counts = set(map(len, map(str.split, rows)))
    else:
        counts = {1 + count for count in set(map(methodcaller("count", delimiter), rows))}
    if counts == {len(layout.fields)}:
        return True
    return layout.filled is not None and all(layout.fits(row.split(delimiter)) for row in rows)


def _load(
    rows: list[str], dtype: np.dtype[Any], delimiter: str | None, which: list[int] | None = None
) -> list[NDArray[Any]] | None:
    """Return the columns, all or which are named, or None where a row does not fit the dtype."""
    try:
        with warnings.catch_warnings():
            # Older NumPy only warns where it reads '1.5' as the integer 1.
            warnings.simplefilter("error", DeprecationWarning)
            table = np.loadtxt(
                rows, dtype, comments=None, delimiter=delimiter, usecols=which, ndmin=1
            )
    except (ValueError, DeprecationWarning):
        return None
    return [np.ascontiguousarray(table[name]) for name in dtype.names or ()]


def _without_quotes(rows: list[str], delimiter: str | None) -> list[str] | None:
    if any(_UNIT_SEPARATOR in row for row in rows):
        return None
    if delimiter is None:
        # Only in lines with quotes are blanks alone between fields, as in `split_row`.
        rows, delimiter = [r.strip() if '"' in r else " ".join(r.split()) for r in rows], " "
    reader = csv.reader(rows, delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        unquoted = [_UNIT_SEPARATOR.join(fields) for fields in reader]
    except csv.Error:
        return None
    # A quote left open swallows the lines that follow, and NumPy passes over lines of nothing.
    return unquoted if len(unquoted) == len(rows) and all(unquoted) else None


def _candidate_dtypes(
    layout: Layout, rows: list[str], delimiter: str | None, which: list[int] | None
) -> Iterator[np.dtype[Any]]:
    """Yield the dtypes a row may have, the narrowest first."""
    kinds = {field.kind for field in layout.fields}
    are_ids = [field.kind == "id" for field in layout.fields]
    is_text = not any(are_ids) or may_be_padded(rows, delimiter, are_ids)
    id_types = ("O",) if is_text else ("i8", "O")
    weight_types = ("i8", "f8") if "weight" in kinds else ("f8",)
    wanted = [layout.fields[i].kind for i in layout.wanted]
    is_ascii = _ascii_columns(rows, len(wanted), delimiter, which)
    for id_type, weight_type in product(id_types, weight_types):
        # Text is read as objects: a fixed width would cut long names short without a word.
        types: dict[Kind, str] = {"id": id_type, "weight": weight_type}
        types |= {"vertex": "i8", "integer": "i8", "real": "f8", "int64": "i8", "float64": "f8"}
        chosen = [types.get(kind, "O") for kind in wanted]
        if all(ok or kind == "O" for ok, kind in zip(is_ascii, chosen, strict=True)):
            yield _row_dtype(chosen)


def _ascii_columns(
    rows: list[str], count: int, delimiter: str | None, which: list[int] | None
) -> list[bool]:
    """Tell which columns may be read as integers, and as floats only where they are none of these.

    Other characters than ASCII make NumPy's integer reader look up digits beyond its table, which
    may end the process (numpy/numpy#31586).
    """
    if all(map(str.isascii, rows)):
        return [True] * count
    columns = _load(rows, _row_dtype(["O"] * count), delimiter, which)
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
    if field.kind == "float64":
        return True
    if column.dtype == np.float64:
        # Infinity may stand for too large a literal, a large float for an integer it does not hold.
        return bool((np.abs(column) < (2.0**53 if field.kind == "weight" else 2.0**63)).all())
    return column.dtype != object or "" not in column.tolist()


def _parse_line_by_line(
    file: TextFile, layout: Layout, start: int, stop: int | None
) -> list[NDArray[Any]]:
    rows: dict[int, list[str]] = {}
    wanted = [(place, layout.fields[place]) for place in layout.wanted]
    for index, line in enumerate(file.lines[start:stop], start):
        if not is_content(line, layout.comments):
            continue
        tokens = split_row(file, index, layout)
        if not layout.fits(tokens):
            if layout.filled is None:
                raise file.error(index, layout.shape)
            expected = f"as many {layout.shape} as in the first line, {layout.filled}"
            raise file.error(index, expected, f"{len(tokens)}: {quoted(line)}")
        for place, field in wanted:
            fault = _fault(field, tokens[place], layout.n)
            if fault is not None:
                is_other = bool(field.remedy) and is_float(tokens[place])
                found = quoted(tokens[place]) + field.remedy * is_other
                raise file.error(index, fault, found)
        rows[index] = [tokens[place] for place, _ in wanted]
    columns = list(zip(*rows.values(), strict=True)) if rows else [()] * len(wanted)
    kinds = [field.kind for _, field in wanted]
    with_others: set[Kind] = {
        kind
        for kind, column in zip(kinds, columns, strict=True)
        if kind == "weight" and not all(map(is_integer, column))
    }
    for (_, field), column in zip(wanted, columns, strict=True):
        if field.kind in with_others:
            _refuse_rounded(file, field.title, rows, column)
    converted = [
        _convert(column, kind, are_integers=kind not in with_others)
        for kind, column in zip(kinds, columns, strict=True)
    ]
    return _placed(with_integer_ids(converted, [kind == "id" for kind in kinds]), layout)


def _refuse_rounded(file: TextFile, title: str, at: Iterable[int], tokens: Sequence[str]) -> None:
    """Refuse integers that float64 would round, where other numbers stand beside them."""
    for index, token in zip(at, tokens, strict=True):
        if is_integer(token) and int(token) != float(token):
            expected = f"a {title} that float64 holds, as not all are integers (or write 1e20, say)"
            raise file.error(index, expected, quoted(token))


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
        case "int64":
            return None if is_integer(token) else title
        case "float64":
            return None if is_float(token) else title
        case "ignored":
            return None


def _convert(tokens: tuple[str, ...], kind: Kind, *, are_integers: bool) -> NDArray[Any]:
    if kind in {"vertex", "integer", "int64"} or (kind == "weight" and are_integers):
        return np.array([int(token) for token in tokens], dtype=np.int64)
    if kind in {"real", "weight", "float64"}:
        return np.array([float(token) for token in tokens], dtype=np.float64)
    return np.array(tokens, dtype=object)
