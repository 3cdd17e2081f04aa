"""Which columns of a table are meant: those of edges, or the one of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from warpladder.errors import InputError
from warpladder.formats.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "LABEL_COLUMN",
    "Columns",
    "choose_column",
    "choose_columns",
    "column_number",
    "names_edges",
]

#: What a table of distances calls the column that names the vertices of its rows.
LABEL_COLUMN = "vertex"

# Names without blanks, dots, dashes and the like, in lower case.
_SOURCES = ("source", "from", "src", "tail", "start", "origin")
_TARGETS = ("target", "to", "dst", "head", "end", "destination")
_KNOWN_NAMES = {
    "source": {"u", "initnode", *(n + of for n in _SOURCES for of in ("", "id", "node", "nodeid"))},
    "target": {"v", "termnode", *(n + of for n in _TARGETS for of in ("", "id", "node", "nodeid"))},
    "weight": {
        *("weight", "weights", "w", "value", "cost", "price", "length", "len", "distance", "dist"),
        *("km", "kilometers", "kilometres", "miles", "meters", "metres", "time", "traveltime"),
        *("freeflowtime", "duration", "seconds", "minutes", "hours"),
    },
    # What edges are called or numbered by.
    "no weight": {
        *("", "id", "key", "index", "idx", "no", "nr", "row", "rowid", "edge", "edgeid", "link"),
        *("linkid", "name", "label", "type", "kind", "note", "notes", "comment", "comments"),
        "unnamed0",  # as pandas calls a column without a name
    },
}


class Columns(NamedTuple):
    """Column numbers counted from 0; `weight` is None where edges have none."""

    source: int
    target: int
    weight: int | None


def names_edges(names: Sequence[str]) -> bool:
    """Tell whether a row of fields reads like a header: it names a source and a target.

    Examples
    --------
    >>> names_edges(["From", "To", "km"]), names_edges(["a", "b", "5"])
    (True, False)
    """
    return bool(_known(names, "source")) and bool(_known(names, "target"))


def column_number(choice: str | int) -> int | None:
    """Return a choice of a column as its number, None where it can be no number of one.

    Examples
    --------
    >>> column_number("2"), column_number("km")
    (2, None)
    """
    text = str(choice)
    # No table has more columns, and Python makes no number of more than 4300 digits.
    return int(text) if text.isdecimal() and len(text) < 10 else None


def choose_columns(
    path: Path,
    names: Sequence[str] | None,
    count: int,
    source: str | int | None,
    target: str | int | None,
    weight: str | int | None,
) -> Columns:
    """Choose the columns from what the person said, else from the header, else from the order.

    `names` is the header, None where there is none, and `count` the number of columns. Where source
    and target are given and weight is not, edges have no weights. Beside a source and a target that
    the header names, the weight has to have a name that says so; where it may be in a column of
    another name, the person is asked.
    """
    listing = listed(names) if names is not None else f"{count} without names"
    remedy = (
        f"columns found: {listing}; "
        "choose the source, target and weight columns (by a name, or a number from 0)"
    )

    def resolve(role: str, choice: str | int) -> int:
        if isinstance(choice, str) and names is not None and choice in names:
            if names.count(choice) > 1:
                raise InputError(
                    f"{path}: {role}={choice!r} stands there twice; give its number, from 0"
                )
            return names.index(choice)
        number = column_number(choice)
        if number is None or number >= count:
            raise InputError(f"{path}: {role}={choice!r} is no column; {remedy}")
        return number

    if (source is None) != (target is None):
        raise InputError(
            f"{path}: give both the source and the target column, or neither; {remedy}"
        )
    if count < 2:
        raise InputError(f"{path}: edges need a source and a target column; {remedy}")
    weight_column = None if weight is None else resolve("weight", weight)
    if source is not None and target is not None:
        ends = resolve("source", source), resolve("target", target)
    elif names is not None and names_edges(names):
        sources, targets = _known(names, "source"), _known(names, "target")
        if len(sources) > 1 or len(targets) > 1:
            raise InputError(f"{path}: more than one column may be the source or target; {remedy}")
        ends = sources[0], targets[0]
        if weight is None:
            weight_column = _weight_beside(path, names, ends, listing)
    elif count > 3:
        raise InputError(f"{path}: it is not clear which columns hold the edges; {remedy}")
    else:
        ends = 0, 1
        if weight is None and count == 3:
            weight_column = 2
    columns = Columns(*ends, weight_column)
    if len(set(columns)) < 3:
        raise InputError(f"{path}: source, target and weight must be different columns; {remedy}")
    return columns


def _weight_beside(
    path: Path, names: Sequence[str], ends: tuple[int, int], listing: str
) -> int | None:
    """Return the column that the header names as the weight, None where it names none."""
    candidates = _known(names, "weight")
    if not candidates:
        candidates = sorted(set(range(len(names))) - {*ends, *_known(names, "no weight")})
        if not candidates:
            return None
    elif len(candidates) == 1:
        return candidates[0]
    first = quoted(names[candidates[0]], 30)
    without = " ".join(
        f"{role}={quoted(names[i], 30)}" for role, i in zip(("source", "target"), ends, strict=True)
    )
    raise InputError(
        f"{path}: it is not clear which column is the weight; columns found: {listing}; "
        f"give weight={first}, say, or only {without} for edges without weights"
    )


def _known(names: Sequence[str], role: str) -> list[int]:
    return [i for i, name in enumerate(names) if _normal(name) in _KNOWN_NAMES[role]]


def _normal(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def choose_column(
    path: Path, names: list[str], column: str | int | None, *, is_named: bool, names_first: bool
) -> tuple[int, bool]:
    """Return the number of the column asked for, or of the only one, and whether by its name.

    Text that is a number is taken for the name of a column rather than for its number where
    ``names_first``, else the other way round.
    """
    listing = listed(names) if is_named else f"{len(names)} without names"
    if column is None:
        if len(names) <= 1:
            return 0, False
        raise InputError(f"{path}: choose a column, column=0 or by name; found: {listing}")
    name = column if isinstance(column, str) and is_named else None
    if name is not None and name not in names:
        # Of text, names are without the blanks around them; of Parquet they may have some.
        name = name.strip()
    number = column_number(column) if str(column).isascii() else None
    if number is not None and number >= len(names):
        number = None
    if name in names and (names_first or number is None):
        return names.index(name), True
    if number is not None:
        return number, False
    raise InputError(f"{path}: column={column!r} is not there; found: {listing}")
