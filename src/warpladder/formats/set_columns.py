"""Which columns of a table hold the rows' ids and their related ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from warpladder.errors import InputError
from warpladder.formats.columns import column_number
from warpladder.formats.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "FIRST_ROWS",
    "SetColumns",
    "brackets_around",
    "choose_set_columns",
    "list_as_text",
    "names_sets",
]

FIRST_ROWS = 100
"""By which a column is judged, as a text is by its first lines."""

_BRACKETS = ("{}", "[]", "()")
# What may stand between the ids of a list.
_BETWEEN = " ,;|"

_OWNERS = ("row", "user", "customer", "basket", "order", "transaction", "document", "doc", "record")
# Names without blanks, dots, dashes and the like, in lower case.
_KNOWN_NAMES = {
    "ids": {"id", "key", "tid", "source", *_OWNERS, *(owner + "id" for owner in _OWNERS)},
    "items": {
        *("relatedids", "relatedid", "related", "items", "item", "itemids", "itemid", "members"),
        *("products", "product", "productids", "productid", "tokens", "token", "tags", "tag"),
        *("neighbours", "neighbors", "target", "set", "values"),
    },
}


class SetColumns(NamedTuple):
    """Column numbers counted from 0; `ids` is None where rows go by their positions."""

    ids: int | None
    items: int


def names_sets(names: Sequence[str]) -> bool:
    """Tell whether fields read like a header: they name ids and related ids.

    Examples
    --------
    >>> names_sets(["id", "related_ids"]), names_sets(["alice", "tea"])
    (True, False)
    """
    return bool(_known(names, "ids")) and bool(_known(names, "items"))


def brackets_around(values: Sequence[str]) -> str:
    """Return the brackets that each of some values is in, nothing where they are in none.

    Examples
    --------
    >>> brackets_around(["{1, 2}", "{}"]), brackets_around(["{1, 2}", "3"])
    ('{}', '')
    """
    for pair in _BRACKETS:
        if values and all(value[:1] == pair[0] and value[-1:] == pair[1] for value in values):
            return pair
    return ""


def list_as_text(values: Sequence[str]) -> str:
    """Return the first list among values that all are lists written as text, which are no ids.

    Examples
    --------
    >>> list_as_text(["[1]", "[1, 2]"]), list_as_text(["[a]", "[b]"]), list_as_text(["1, 2"])
    ('[1, 2]', '', '')
    """
    if not brackets_around(values):
        return ""
    return next((value for value in values if any(sign in value for sign in _BETWEEN)), "")


def choose_set_columns(
    where: Path | str,
    names: Sequence[str] | None,
    count: int,
    ids: str | int | None = None,
    items: str | int | None = None,
    *,
    lists: Sequence[int] = (),
    remedy: str = "choose those of ids and items (by a name, or a number from 0)",
) -> SetColumns:
    """Choose the columns: as asked, else by what they hold, their names or their order.

    Parameters
    ----------
    where
        What errors name.
    names
        The columns' names, None where they have none.
    count
        How many columns there are.
    ids, items
        What is asked for, by name or number.
    lists
        Columns that hold lists. One alone holds the items; a table that is nothing else has rows
        without ids.
    remedy
        What to do where it is not clear.

    Examples
    --------
    >>> choose_set_columns("a.csv", ["price", "related_ids", "id"], 3)
    SetColumns(ids=2, items=1)
    """
    listing = listed(names) if names is not None else f"{count} without names"

    def refused(why: str) -> InputError:
        return InputError(f"{where}: {why}; columns found: {listing}; {remedy}")

    def resolve(role: str, choice: str | int) -> int:
        if isinstance(choice, str) and names is not None and choice in names:
            if names.count(choice) > 1:
                raise refused(f"{role}={choice!r} stands there twice")
            return names.index(choice)
        number = column_number(choice)
        if number is None or number >= count:
            raise refused(f"{role}={choice!r} is no column")
        return number

    def found(role: str, others: set[int | None]) -> int:
        free = [i for i in range(count) if i not in others]
        known = [i for i in _known(names or (), role) if i in free]
        if len(known) == 1:
            return known[0]
        # Of two columns without known names the first holds the ids.
        if len(free) == 1 or (len(free) == 2 == count and not known):
            return free[0] if role == "ids" else free[-1]
        raise refused(f"it is not clear which column holds the {role}")

    id_column = None if ids is None else resolve("ids", ids)
    item_column = None if items is None else resolve("items", items)
    if item_column is None and len(lists) == 1:
        item_column = lists[0]
    if id_column is None and not (count == 1 and lists):
        if count < 2:
            raise refused("sets need a column of ids and one of items")
        # Where no name tells the ids, one may tell the items.
        if item_column is None and not _known(names or (), "ids"):
            item_column = found("items", {None})
        id_column = found("ids", {item_column, *lists})
    if item_column is None:
        item_column = found("items", {id_column})
    if id_column == item_column:
        raise refused("ids and items must be different columns")
    return SetColumns(id_column, item_column)


def _known(names: Sequence[str], role: str) -> list[int]:
    return [i for i, name in enumerate(names) if _normal(name) in _KNOWN_NAMES[role]]


def _normal(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
