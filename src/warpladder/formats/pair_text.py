"""Pairs as lines of text.

A line is put together from cells, all of one width in a column and filled up with NUL bytes, which
are taken out at the end. So NumPy writes thousands of lines at once, by some operations on whole
columns. Measured on one core of the machine named in benchmarks/results, to CSV: 14 M pairs/s,
where pyarrow writes 5 M and a loop over Python's numbers 1 M.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import InputError
from warpladder.formats.pair_blocks import ids_of, not_in_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from warpladder.formats.pair_blocks import PairBlock, RowIds

__all__ = ["GroupedText", "PairText", "csv_text", "json_lines", "plain_text"]

# So many pairs at once stay in the core's own cache.
_SLICE = 8192
# Above that the texts of all rows are not kept in cells of one width.
_MOST_TABLE_BYTES = 1 << 28
_FILLER = b"\0"
# With which comments begin for those who read sets, and edges.
_SET_COMMENTS, _EDGE_COMMENTS = "#", "#%"


class PairText:
    """A line for each pair.

    Parameters
    ----------
    left, right
        Writes the ids of either side.
    heading
        The first line.
    parts
        What stands before the left id, the right id, the number shared, and the value; and at the
        end of the line.
    """

    def __init__(
        self, left: _Ids, right: _Ids, heading: str, parts: tuple[str, str, str, str, str]
    ) -> None:
        self._left, self._right, self._heading = left, right, heading.encode()
        self._parts = [part.encode() for part in parts]

    def head(self) -> bytes:
        """Return the heading."""
        return self._heading

    def body(self, block: PairBlock, offset: int) -> tuple[bytes, str]:  # noqa: ARG002 - others need it
        """Return a line for each pair."""
        lefts, row = _cells_of_rows(self._left, block)
        text = []
        before_left, before_right, before_shared, before_value, end = self._parts
        for begin in range(0, len(row), _SLICE):
            part = slice(begin, begin + _SLICE)
            columns: list[bytes | NDArray[Any]] = [
                before_left,
                lefts[row[part]],
                before_right,
                self._right.cells(block.right[part]),
                before_shared,
                _number_cells(block.shared[part]),
            ]
            if block.value is not None:
                columns += [before_value, _value_cells(block.value[part])]
            text.append(_joined([*columns, end], len(row[part])))
        return b"".join(text), ""

    def tail(self, notes: Sequence[str], offset: int) -> bytes:  # noqa: ARG002 - as above
        """Return nothing: a file of lines just ends."""
        return b""


class GroupedText:
    """A line for each left row that has pairs: ``1 {2, 3}``."""

    def __init__(self, left: _Ids, right: _Ids) -> None:
        self._left, self._right = left, right

    def head(self) -> bytes:
        """Return nothing: the first line is a row's."""
        return b""

    def body(self, block: PairBlock, offset: int) -> tuple[bytes, str]:  # noqa: ARG002 - others need it
        """Return the lines of the rows."""
        ends = np.cumsum(block.counts)
        has_pairs = block.counts > 0
        heads = np.zeros(len(block.right), np.bool_)
        heads[(ends - block.counts)[has_pairs]] = True
        lasts = np.zeros(len(block.right), np.bool_)
        lasts[ends[has_pairs] - 1] = True
        lefts, row = _cells_of_rows(self._left, block)
        text = []
        for begin in range(0, len(row), _SLICE):
            part = slice(begin, begin + _SLICE)
            is_head = heads[part]
            names = np.zeros(len(is_head), lefts.dtype)
            names[is_head] = lefts[row[part][is_head]]
            text.append(
                _joined(
                    [
                        names,
                        np.where(is_head, np.bytes_(" {"), np.bytes_(", ")),
                        self._right.cells(block.right[part]),
                        np.where(lasts[part], np.bytes_("}\n"), np.bytes_("")),
                    ],
                    len(is_head),
                )
            )
        return b"".join(text), ""

    def tail(self, notes: Sequence[str], offset: int) -> bytes:  # noqa: ARG002 - as above
        """Return nothing: a file of lines just ends."""
        return b""


def csv_text(left: RowIds, right: RowIds, with_value: bool, delimiter: str) -> PairText:
    """Return the writer of a table; ids with delimiters, quotes or line ends are quoted.

    So are those that would begin a comment.
    """
    special = re.compile(f'[{delimiter}"\r\n]|^[{_EDGE_COMMENTS}]')

    def spell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if special.search(text) else text

    names = ["left", "right", "shared", *(["value"] if with_value else [])]
    return PairText(
        *_both(left, right, _without_nul(spell)),
        heading=delimiter.join(names) + "\n",
        parts=("", delimiter, delimiter, delimiter, "\n"),
    )


def json_lines(left: RowIds, right: RowIds) -> PairText:
    """Return the writer of a JSON object a line."""
    parts = ('{"left": ', ', "right": ', ', "shared": ', ', "value": ', "}\n")
    return PairText(*_both(left, right, json.dumps), heading="", parts=parts)


def plain_text(left: RowIds, right: RowIds, *, grouped: bool) -> PairText | GroupedText:
    """Return the writer of numbers and words that blanks part, a line a pair or, grouped, a row.

    Raises
    ------
    InputError
        An id has a blank or, grouped, a comma or a brace: nobody could tell where it ends. Or it
        begins a line as comments do.
    """
    ends_it = re.compile(r"[\s\0{},]" if grouped else r"[\s\0]")
    comments = _SET_COMMENTS if grouped else _EDGE_COMMENTS

    def refused(text: str, what: str) -> InputError:
        form = "grouped" if grouped else "pairs"
        return InputError(
            f"the row id {text!r} cannot be written as text in which {what}; write .csv, .jsonl or "
            f".parquet instead of format='{form}'"
        )

    def spell(text: str) -> str:
        if not text or ends_it.search(text):
            signs = "blanks, commas and braces" if grouped else "blanks"
            raise refused(text, f"{signs} part the ids")
        return text

    def begin(text: str) -> str:
        if text.startswith(tuple(comments)):
            raise refused(text, f"lines that begin with {text[0]} are comments")
        return spell(text)

    ids = _both(left, right, spell, begin)
    return GroupedText(*ids) if grouped else PairText(*ids, "", ("", " ", " ", " ", "\n"))


def _without_nul(spell: Callable[[str], str]) -> Callable[[str], str]:
    """Return how to spell ids, those refused that no text file is read with."""

    def checked(text: str) -> str:
        if "\0" in text:
            raise InputError(
                f"the row id {text!r} has a NUL character, which tables of text cannot have; write "
                ".jsonl or .parquet"
            )
        return spell(text)

    return checked


class _Ids:
    """The text of the ids of one side."""

    def __init__(self, ids: RowIds, spell: Callable[[str], str]) -> None:
        self._ids = ids
        self._texts: NDArray[Any] | None = None
        if ids is None or ids.dtype != object:
            return
        texts = np.empty(len(ids), object)
        texts[:] = [_encoded(spell(text)) for text in ids]
        width = max(map(len, texts), default=0)
        if len(texts) * width <= _MOST_TABLE_BYTES:
            texts = _as_cells(texts.astype(f"S{max(width, 1)}"))
        self._texts = texts

    def cells(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Return the texts of the ids of some rows."""
        if self._texts is None:
            return _number_cells(ids_of(self._ids, positions))
        found: NDArray[Any] = self._texts[positions]
        return _as_cells(found.astype("S")) if found.dtype == object else found


def _both(
    left: RowIds,
    right: RowIds,
    spell: Callable[[str], str],
    begin: Callable[[str], str] | None = None,
) -> tuple[_Ids, _Ids]:
    """Return the text of the ids of either side, of which the left ones begin lines."""
    ids = _Ids(left, begin or spell)
    return ids, ids if right is left else _Ids(right, spell)


def _cells_of_rows(ids: _Ids, block: PairBlock) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the ids of the left rows that have pairs, and of each pair which of them is its."""
    has_pairs = np.flatnonzero(block.counts)
    row = np.repeat(np.arange(len(has_pairs)), block.counts[has_pairs])
    return ids.cells(block.first + has_pairs), row


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise not_in_utf8(text) from None


def _joined(columns: list[bytes | NDArray[Any]], size: int) -> bytes:
    """Return the text of lines, given the cells of each column; bytes stand in every line."""
    cells = [np.bytes_(one) if isinstance(one, bytes) else one for one in columns]
    cells = [cell for cell in cells if cell.dtype.itemsize]
    table = np.empty(size, [(f"{place}", cell.dtype) for place, cell in enumerate(cells)])
    for place, cell in enumerate(cells):
        table[f"{place}"] = cell
    return table.tobytes().translate(None, _FILLER)


def _as_cells(texts: NDArray[np.bytes_]) -> NDArray[np.void]:
    # Copied as they are: of bytes NumPy would look for the end, which takes four times as long.
    return texts.view(f"V{texts.itemsize}")


@cache
def _digits() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the texts of 0 to 9999 in four bytes each, then those with all zeros in front.

    For the last digits of a number, and for those before, which are empty where they are zero.
    """
    numbers = range(10_000)
    full = "".join(f"{number:04}" for number in numbers)
    last = "".join(f"{number:\0>4}" for number in numbers)
    tables = (last + full, last.replace("\0\0\x000", "\0\0\0\0", 1) + full)
    first, others = (np.frombuffer(text.encode(), np.uint32) for text in tables)
    return first, others


def _number_cells(numbers: NDArray[Any]) -> NDArray[np.void]:
    """Return integers as text, four digits at a time."""
    if not numbers.size:
        return np.empty(0, "V4")
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0:
        # Also the least of all, whose opposite no int64 is.
        return _as_cells(numbers.astype("S21"))
    groups = 1
    while high >= 10_000**groups:
        groups += 1
    last, before = _digits()
    cells = np.empty((len(numbers), groups), np.uint32)
    rest, digits = numbers, last
    for group in range(groups - 1, 0, -1):
        above = rest // 10_000
        four = rest - above * 10_000
        # Zeros in front are written where other digits stand before them.
        four += 10_000 * (above > 0)
        # All are in the table; looking whether they are would take a copy.
        digits.take(four, out=cells[:, group], mode="clip")
        rest, digits = above, before
    digits.take(rest, out=cells[:, 0], mode="clip")
    return cells.view(f"V{4 * groups}").ravel()


def _value_cells(values: NDArray[np.float64]) -> NDArray[np.void]:
    """Return numbers as the shortest text that reads back as the same."""
    distinct, places = np.unique(values, return_inverse=True)
    return _as_cells(np.array([repr(value) for value in distinct.tolist()], "S"))[places]
