"""Which columns of a table hold the rows' ids and their related ids."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from warpladder.errors import InputError
from warpladder.formats.columns import column_number
from warpladder.formats.set_lines import LineGrammar
from warpladder.formats.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = [
    "FIRST_ROWS",
    "SetColumns",
    "brackets_around",
    "choose_set_columns",
    "list_as_text",
    "names_sets",
    "text_instead",
]

FIRST_ROWS = 2000
"""By which a column is judged, about as many as the first lines by which a text is."""

_BRACKETS = ("{}", "[]", "()")
# What may stand between the ids of a list.
_BETWEEN = re.compile(r"\s*[,;|]\s*|\s+")
# What `set_tables` makes of text whose first lines have one id each.
_ONE_EACH = LineGrammar("table", delimiter=",", is_paired=True)

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


def list_as_text(
    first: Sequence[str], others: Iterable[str] = (), *, rows_repeat: bool = False
) -> str | None:
    """Return a value of a column that is, or may be, a list written as text; None for ids only.

    A table of text with these values would be read as one of lists, or be refused as unclear; but
    where rows repeat, each stands there with one id after the other, which may be names.

    Parameters
    ----------
    first
        The column's first values, by which it is judged; none where that is done.
    others
        More of them, among which names may have blanks and commas.
    rows_repeat
        Whether a row's own id is there several times.

    Examples
    --------
    >>> list_as_text(["1", "1;2"]), list_as_text(["[a]", "[b]"]), list_as_text(["a", ""])
    ('1;2', '[a]', '')
    >>> list_as_text(["a"], ["New York"]), list_as_text(["a"], ["1 2"])
    (None, '1 2')
    >>> list_as_text(["New York", "Rome"]), list_as_text(["New York"], rows_repeat=True)
    ('New York', None)
    """
    bare = [value.strip() for value in first]
    for value in bare:
        if not value or (not rows_repeat and _BETWEEN.search(value)):
            return value
    if brackets_around(bare):
        return first[0]
    for value in chain(bare, others):
        # Letters and digits, of which most ids are, are soon told.
        if not value.isalnum() and (not value.strip() or _ONE_EACH.is_several(value)):
            return value
    return None


def text_instead(column: str, value: str) -> str:
    """Tell what was found instead of lists, and what to do: for errors.

    Examples
    --------
    >>> print(text_instead("r", "1;2"))
    text like '1;2' (split it: frame['r'].str.split(';'); of names make lists, as groupby does)
    """
    # All of it is to fit into an error.
    shown = f"text like {value!r:.30}"
    bare = value.strip()
    if not bare:
        return f"{shown} (drop such rows, or give a list in each)"
    brackets = brackets_around([bare])
    between = _BETWEEN.search(bare[1:-1].strip() if brackets else bare)
    split = f".str.split({between[0] if between else ','!r})"
    if brackets:
        split = f".str.strip({brackets!r}){split}"
    otherwise = "" if brackets else "; of names make lists, as groupby does"
    return f"{shown} (split it: frame[{quoted(column, 20)}]{split}{otherwise})"


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
