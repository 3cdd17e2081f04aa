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
# A set comes first, for which Python looks fast.
_PADDED = re.compile(rf"[+0-](?<!{_WITHIN}[+0-])(?:(?<=\+)|(?<=0)[0-9]|(?<=-)0(?!\.))")


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


def may_be_padded(rows: list[str], delimiter: str | None) -> bool:
    """Tell whether some number may be written otherwise than it is printed, as 07, +7 and -0.

    Weights are told like ids: this only has to be fast.

    Examples
    --------
    >>> may_be_padded(["1 20", "2 0"], None), may_be_padded(["1 20", "2 00"], None)
    (False, True)
    """
    if delimiter is not None and re.match(_WITHIN, delimiter):
        return True
    for begin in range(0, len(rows), _SLICE):
        text = "\n".join(("", *rows[begin : begin + _SLICE], ""))
        if _has_zero_or_sign_first(text) and _PADDED.search(text):
            return True
    return False


def _has_zero_or_sign_first(text: str) -> bool:
    """Tell whether `_PADDED` may be found: some times faster, and seldom wrong."""
    codes = np.frombuffer(text.encode(), np.uint8)
    before, after = codes[:-2], codes[2:]
    is_digit = codes - np.uint8(ord("0")) < 10
    is_first = (codes[1:-1] == ord("0")) & ~is_digit[:-2] & (before != ord("."))
    is_negative_zero = (before == ord("-")) & (after != ord("."))
    return "+" in text or bool((is_first & (is_digit[2:] | is_negative_zero)).any())


def _as_printed(tokens: list[str]) -> NDArray[np.int64] | None:
    """Return integers, or None where one of them would be printed otherwise than it is written."""
    try:
        numbers = np.array(list(map(int, tokens)), np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if list(map(str, numbers.tolist())) == tokens else None
