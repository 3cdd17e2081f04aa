"""Hochberg's graph files: ``V W length`` on each line, ``--END--`` on the last."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from warpladder.errors import InputError
from warpladder.formats.edges import EdgeTable
from warpladder.formats.fields import Field, Layout, parse_rows
from warpladder.formats.labels import number_vertices, vertex_names, weights_as_text

if TYPE_CHECKING:
    from warpladder.formats.text import TextFile

__all__ = ["end_of_edges", "read_hochberg", "write_hochberg"]

_END = "--END--"
_LAYOUT = Layout(
    (Field("name", "source"), Field("name", "target"), Field("weight", "length")),
    "an edge 'V W length'",
)


def end_of_edges(file: TextFile) -> int | None:
    """Return the index of the end line, None where there is none."""
    ends = (i for i, line in enumerate(file.lines) if _END in line and line.strip() == _END)
    return next(ends, None)


def read_hochberg(file: TextFile) -> EdgeTable:
    """Read the edges before the end line; vertices are numbered in the order of their names."""
    end = end_of_edges(file)
    sources, targets, weights = parse_rows(file, _LAYOUT, 0, end)
    if end is None:
        raise file.ended(f"a last line {_END!r}")
    source_indices, target_indices, labels, n = number_vertices(sources, targets)
    return EdgeTable(source_indices, target_indices, weights, n, labels, directed=True)


def write_hochberg(file: IO[bytes], table: EdgeTable, comment: str | None) -> None:
    """Write every direction of every edge; an edge without weight has length 1."""
    names = vertex_names(table, "hochberg")
    spaced = next((name for name in names if name == _END or len(name.split()) > 1), None)
    if spaced is not None:
        raise InputError(f"the vertex label {spaced!r} cannot be written to hochberg: use one word")
    both = table.with_both_directions()
    edges = zip(both.sources.tolist(), both.targets.tolist(), weights_as_text(both), strict=True)
    file.write("".join(f"{names[u]} {names[v]} {w}\n" for u, v, w in edges).encode())
    # The format has no comments, but readers stop at the end line.
    file.write("\n".join([_END, *(comment or "").splitlines(), ""]).encode())
