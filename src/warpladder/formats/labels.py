"""From names in a file to vertex numbers, and from a table to the words of a text file."""

from __future__ import annotations

import re
from collections import defaultdict
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warpladder.formats.edges import EdgeTable

__all__ = ["as_text", "number_vertices", "vertex_names", "weights_as_text"]

Vertices = NDArray[np.int64]
# Line ends and what UTF-8 cannot hold.
_UNWRITABLE = re.compile("[\r\n\0\ud800-\udfff]")


def number_vertices(
    sources: NDArray[Any], targets: NDArray[Any]
) -> tuple[Vertices, Vertices, Sequence[Any] | None, int]:
    """Return both ends of the edges as vertex indices, the labels, and how many vertices there are.

    Vertices are numbered in the order of their labels, so that the order of lines does not matter:
    numbers by value, also where they are written as names, any other names as text. The labels are
    None where they would be 0, 1, 2, ...

    Examples
    --------
    >>> number_vertices(np.array([7, 3]), np.array([3, 9]))
    (array([1, 0]), array([0, 2]), [3, 7, 9], 3)
    """
    ends = _side_by_side(sources, targets).ravel()
    labels: list[Any]
    if sources.dtype == object:
        names = ends.tolist()
        # A name that is not yet there gets the next number.
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        first_seen = np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))
        are_numbers = all(name.isascii() and name.isdecimal() for name in numbers)
        labels = sorted(numbers, key=_by_value if are_numbers else None)
        indices = np.empty(len(labels), np.int64)
        indices[[numbers[label] for label in labels]] = np.arange(len(labels))
        indices = indices[first_seen]
    else:
        ids, indices = np.unique(ends, return_inverse=True)
        labels = ids.tolist()
    pairs = indices.reshape(-1, 2)
    plain = labels == list(range(len(labels)))
    return (
        np.ascontiguousarray(pairs[:, 0], dtype=np.int64),
        np.ascontiguousarray(pairs[:, 1], dtype=np.int64),
        None if plain else labels,
        len(labels),
    )


def _by_value(name: str) -> tuple[int, str, str]:
    """Return what sorts names of digits by value, whatever their length."""
    digits = name.lstrip("0")
    return len(digits), digits, name


def _side_by_side(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
    """Return both ends of the edges, shape (m, 2), every id as it is."""
    if np.result_type(sources, targets).kind == "f":
        # NumPy would round int64 and uint64 to float64, the one type that has numbers of both.
        largest = max(int(sources.max(initial=0)), int(targets.max(initial=0)))
        common = np.int64 if largest <= np.iinfo(np.int64).max else np.object_
        sources, targets = sources.astype(common), targets.astype(common)
    return np.column_stack((sources, targets))


def as_text(label: Any) -> str:
    """Return a label as text: of members of enumerations what they equal, where that is text.

    Examples
    --------
    >>> City = Enum("City", {"OSLO": "Oslo"}, type=str)
    >>> str(City.OSLO), as_text(City.OSLO), as_text(7)
    ('City.OSLO', 'Oslo', '7')
    """
    is_equal = isinstance(label, Enum) and isinstance(label, str | int)
    return str(label.value if is_equal else label)


def vertex_names(table: EdgeTable, format_name: str) -> list[str]:
    """Return every vertex's name for a format that knows vertices only by the edges' ends.

    Raises InputError where reading the file back could not give the same vertices.
    """
    names = list(map(as_text, range(table.n) if table.labels is None else table.labels))
    if len(set(names)) < len(names):
        raise InputError(
            f"two vertices have the same label as text, so {format_name} would join them"
        )
    for name in names:
        # A byte order mark in front would be taken for the file's own.
        if not name or name != name.strip() or _UNWRITABLE.search(name) or name[0] == "\ufeff":
            raise InputError(
                f"the vertex label {name!r} cannot be written to {format_name}: it is empty, has "
                "blanks around it or holds a character no text line can; rename the vertex"
            )
    touched = np.zeros(table.n, dtype=bool)
    touched[table.sources] = True
    touched[table.targets] = True
    if not touched.all():
        lonely = names[int(np.argmin(touched))]
        raise InputError(
            f"vertex {lonely!r} has no edge, and {format_name} has no place for it; "
            "write dimacs, matrix-market or metis, or drop the vertex"
        )
    return names


def weights_as_text(table: EdgeTable) -> list[str]:
    """Return every edge's weight as text that reads back as the same number, 1 for none."""
    if table.weights is None:
        return ["1"] * len(table.sources)
    # Booleans become 0 and 1; a narrow float is written with all the digits of its value.
    written: dict[str, np.dtype[Any]] = {"b": np.dtype(np.int8), "f": np.dtype(np.float64)}
    values = table.weights.astype(written.get(table.weights.dtype.kind, table.weights.dtype))
    return list(map(repr, values.tolist()))
