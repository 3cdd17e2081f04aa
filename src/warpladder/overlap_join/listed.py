"""Sets of Python's own objects; ids are integers of 64 bits or strings, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.formats.set_builder import SetsBuilder
from warpladder.formats.set_columns import names_sets
from warpladder.formats.sets import Sets

__all__ = ["Where", "as_ids", "fitting", "narrowed", "sets_of_rows"]

Where = Callable[[int], str]
"""Names what holds an id, by the id's place, for errors."""

# Of objects so many rows are taken at a time.
_ROWS = 1 << 14
_INT64 = np.iinfo(np.int64)
_INT32 = np.iinfo(np.int32)
_BEYOND = "is beyond integers of 64 bits with a sign; give ids as text, by str()"


def sets_of_rows(
    rows: Iterable[Any], ids: NDArray[np.int64] | list[str] | None, argument: str
) -> Sets:
    """Return the sets of iterables, and the rows' ids where there are any."""
    builder = SetsBuilder(has_ids=ids is not None)
    has_items = False
    first = 0
    iterator = iter(rows)
    while batch := list(islice(iterator, _ROWS)):
        items, lengths = _items_of(batch, first, argument)
        if len(items):
            is_text = isinstance(items, list)
            if has_items and is_text != builder.has_words:
                raise _mixed(argument, first + int(np.argmax(lengths > 0)))
            builder.has_words = is_text
            has_items = True
        else:
            items = np.empty(0, np.int64)
        builder.add(None if ids is None else ids[first : first + len(batch)], items, lengths)
        first += len(batch)
    return builder.sets()


def _mixed(argument: str, row: int) -> InputTypeError:
    return InputTypeError(
        f"{argument}: in row {row} ids are of another kind than before; integers and text do not "
        "mix, give all as text, by str()"
    )


def _items_of(
    batch: list[Any], first: int, argument: str
) -> tuple[NDArray[Any] | list[str], NDArray[np.int32]]:
    """Return the items of some rows, the first of them row ``first``, and how many each has."""
    if all(type(row) is np.ndarray and row.ndim == 1 and row.dtype.kind in "iu" for row in batch):
        parts = batch
        if any(dtype.kind == "u" for dtype in {row.dtype for row in batch}):
            # Next to those of 64 bits signed ones would become floats.
            parts = [
                fitting(row, lambda _, number=number: f"{argument}: row {number}")  # type: ignore[misc]  # of an int
                for number, row in enumerate(batch, first)
            ]
        return np.concatenate(parts), np.array(list(map(len, batch)), np.int32)
    sets = [_as_collection(row, first + place, argument) for place, row in enumerate(batch)]
    lengths = np.array(list(map(len, sets)), np.int32)
    return as_ids(list(chain.from_iterable(sets)), _naming(sets, first, argument)), lengths


def _as_collection(row: Any, number: int, argument: str) -> Any:
    """Return a row as something with a length, and with Python's objects in it."""
    kind = type(row)
    if kind in {list, tuple, set, frozenset, range}:
        return row
    if isinstance(row, Mapping) and _is_record(row):
        raise InputTypeError(
            f"{argument}: row {number} is the record {row!r:.60}, whose keys are no ids; give "
            "{id: set}, or a DataFrame of the records"
        )
    if hasattr(row, "tolist"):
        row = row.tolist()
    elif isinstance(row, Iterable) and not isinstance(row, str | bytes | bytearray):
        row = list(row)
    if not isinstance(row, list | tuple):
        shown = f"{row!r:.60}".replace("\n", " ")
        raise InputTypeError(
            f"{argument}: row {number} is {shown}, not a set of ids; give a list or a set for each "
            "row"
        )
    return row


def _is_record(row: Mapping[Any, Any]) -> bool:
    """Tell a row with names for its parts, as JSON has them, from one of ids with their counts."""
    are_names = all(isinstance(key, str) for key in row) and names_sets(list(row))
    kinds = (list, tuple, set, frozenset, np.ndarray)
    return are_names or any(isinstance(value, kinds) for value in row.values())


def _naming(sets: list[Any], first: int, argument: str) -> Where:
    """Return a function that names the row of an item, by the item's place among all."""

    def name(place: int) -> str:
        ends = np.cumsum(list(map(len, sets)))
        return f"{argument}: row {first + int(np.searchsorted(ends, place, side='right'))}"

    return name


def as_ids(values: list[Any], where: Where) -> NDArray[np.int64] | list[str]:
    """Return ids as an array of integers, or as a list of strings.

    Raises
    ------
    InputTypeError, InputError
        One is neither, or no integer of 64 bits; some are integers and some are strings.

    Examples
    --------
    >>> as_ids([3, np.int8(4)], "row {}".format)
    array([3, 4])
    >>> as_ids(["a", None], "row {}".format)
    Traceback (most recent call last):
    ...
    warpladder.errors.InputTypeError: row 1 has None, which is no id; drop it
    """
    kinds = set(map(type, values))
    if kinds <= {int} or all(map(_is_integer, kinds)):
        try:
            return np.array(values if kinds <= {int} else list(map(int, values)), np.int64)
        except OverflowError:
            place = next(i for i, one in enumerate(values) if not _INT64.min <= one <= _INT64.max)
            large = int(values[place])
            # Python writes no integer of thousands of digits.
            shown = large if large.bit_length() < 200 else f"one of {large.bit_length()} bits"
            raise InputError(f"{where(place)} has {shown}, which {_BEYOND}") from None
    if all(issubclass(kind, str) for kind in kinds):
        # A member of an enumeration equals its text, and str() gives its name.
        return values if kinds == {str} else list(map(str.__str__, values))
    raise _odd(values, where)


def _is_integer(kind: type) -> bool:
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def _odd(values: list[Any], where: Where) -> InputTypeError:
    """Return the error for the first id that is none, or of another kind than the first."""
    is_text = isinstance(values[0], str)
    for place, value in enumerate(values):
        # Tables of others take several lines.
        shown = f"{where(place)} has {value!r:.60}".replace("\n", " ")
        if isinstance(value, float | np.floating):
            remedy = "a missing id? drop it" if value != value else "give integers, by int()"  # noqa: PLR0124 - NaN
            return InputTypeError(f"{shown}, a float, where ids are integers or text; {remedy}")
        if not (isinstance(value, str) or _is_integer(type(value))):
            remedy = "drop it" if value is None else "give integers or text"
            # Grouped by pandas, each is an id with a Series.
            is_array = hasattr(value, "__array__") and np.ndim(value) > 0
            if is_array or isinstance(value, list | set | frozenset):
                remedy = "for rows with ids give {id: set}"
            return InputTypeError(f"{shown}, which is no id; {remedy}")
        if isinstance(value, str) != is_text:
            others = "text" if is_text else "integers"
            return InputTypeError(
                f"{shown} where others are {others}; integers and text do not mix, give all as "
                "text, by str()"
            )
    raise AssertionError  # One of them is odd.


def fitting(values: NDArray[Any], where: Where) -> NDArray[Any]:
    """Return an array of integers as one with a sign.

    Raises
    ------
    InputError
        An integer is beyond int64.
    """
    if values.dtype.newbyteorder("=") != np.uint64:
        return values
    if values.max(initial=0) > _INT64.max:
        place = int(values.argmax())
        raise InputError(f"{where(place)} has {values[place]}, which {_BEYOND}")
    return values.astype(np.int64)


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array of integers with 32 bits each, where all of them fit, else with 64."""
    if values.dtype == np.int32 or not values.size:
        return values.astype(np.int32, copy=False)
    fits = _INT32.min <= values.min() and values.max() <= _INT32.max
    return values.astype(np.int32 if fits else np.int64, copy=False)
