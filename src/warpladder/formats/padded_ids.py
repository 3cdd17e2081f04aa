"""Ids that are no numbers although they look like some: 007 and 7 are two vertices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["may_be_padded", "with_integer_ids"]

# So many rows at once stay in a core's own cache.
_SLICE = 8192
# After these no field begins, but a number, a word or a date goes on: 1e+05, 2026-01-02.
_WITHIN = r"[\w.+-]"
_GOES_ON = np.array([re.match(_WITHIN, chr(code), re.ASCII) is not None for code in range(256)])
_IS_BLANK = np.array([code < 128 and chr(code).isspace() for code in range(256)])
_IS_BLANK[ord("\n")] = False
_OTHER_BLANK = re.compile(r"(?![\x00-\x7f])\s")


def with_integer_ids(columns: list[NDArray[Any]], are_ids: list[bool]) -> list[NDArray[Any]]:
    """Return the columns, ids as integers where every one is written as its number is printed.

    Examples
    --------
    >>> ids = [np.array(["1", "0"], object), np.array(["2", "-7"], object)]
    >>> [column.tolist() for column in with_integer_ids(ids, [True, True])]
    [[1, 0], [2, -7]]
    >>> ids[1][0] = "02"
    >>> [column.tolist() for column in with_integer_ids(ids, [True, True])]
    [['1', '0'], ['02', '-7']]
    """
    integers: dict[int, NDArray[np.int64]] = {}
    for place, (column, is_id) in enumerate(zip(columns, are_ids, strict=True)):
        if is_id and column.dtype == object:
            ids = _as_printed(column.tolist())
            if ids is None:
                return columns
            integers[place] = ids
    return [integers.get(place, column) for place, column in enumerate(columns)]


def may_be_padded(rows: list[str], delimiter: str | None, are_ids: list[bool]) -> bool:
    """Tell whether some id may be written otherwise than it is printed, as 07, +7 and -0.

    ``are_ids`` has one entry per field of a row.

    Examples
    --------
    >>> may_be_padded(["1 20", "2 0"], None, [True, True])
    False
    >>> [may_be_padded(["1 20", "2 00"], None, ids) for ids in ([True, True], [True, False])]
    [True, False]
    """
    if delimiter is not None and not delimiter.isascii():
        return True
    may_begin_within = delimiter is not None and re.match(_WITHIN, delimiter) is not None
    for begin in range(0, len(rows), _SLICE):
        text = "\n".join(("", *rows[begin : begin + _SLICE], ""))
        if delimiter is None and not text.isascii():
            text = _OTHER_BLANK.sub(" ", text)
        codes = np.frombuffer(text.encode(), np.uint8)
        # Most files hold nothing like it in any field, which takes less time to see.
        if (may_begin_within or _holds_padded(codes)) and _ids_may_be_padded(
            codes, delimiter, are_ids
        ):
            return True
    return False


def _holds_padded(codes: NDArray[np.uint8]) -> bool:
    """Tell whether `_are_padded` may be true of a field, whichever it is."""
    begins = ~_GOES_ON[codes[:-2]]
    return bool((begins & _are_padded(codes[1:-1], codes[2:])).any())


def _ids_may_be_padded(
    codes: NDArray[np.uint8], delimiter: str | None, are_ids: list[bool]
) -> bool:
    """Tell whether an id is padded, or that rows have other fields than they should."""
    if delimiter is None:
        between = _IS_BLANK[codes] | (codes == ord("\n"))
        begins = np.flatnonzero(between[:-1] & ~between[1:]) + 1
    else:
        codes = codes[~_IS_BLANK[codes] | (codes == ord(delimiter))]
        begins = np.flatnonzero((codes == ord(delimiter)) | (codes == ord("\n")))[:-1] + 1
    line_ends = np.flatnonzero(codes == ord("\n"))
    if begins.size != (line_ends.size - 1) * len(are_ids):
        return True
    fields = begins.reshape(-1, len(are_ids))
    if (fields[:, 0] <= line_ends[:-1]).any() or (fields[:, -1] > line_ends[1:]).any():
        return True
    ids = fields[:, are_ids]
    # An empty field at the end has no character after it.
    return bool(_are_padded(codes[ids], codes.take(ids + 1, mode="clip")).any())


def _are_padded(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell of which fields the first two characters are those of no number as it is printed."""
    is_padded: NDArray[np.bool_] = (first == ord("0")) & (second - np.uint8(ord("0")) < 10)
    is_padded |= first == ord("+")
    is_padded |= (first == ord("-")) & (second == ord("0"))
    return is_padded


def _as_printed(tokens: list[str]) -> NDArray[np.int64] | None:
    """Return integers, or None where one of them would be printed otherwise than it is written."""
    try:
        numbers = np.array(list(map(int, tokens)), np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if list(map(str, numbers.tolist())) == tokens else None
