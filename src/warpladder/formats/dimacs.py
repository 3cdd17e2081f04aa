"""DIMACS shortest-path graphs: ``p sp N M``, then ``a U V W`` for each arc."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from warpladder.formats.edges import EdgeTable
from warpladder.formats.fields import Field, Layout, is_integer, parse_rows
from warpladder.formats.labels import weights_as_text

if TYPE_CHECKING:
    from warpladder.formats.text import TextFile

__all__ = ["read_dimacs", "write_dimacs"]

_FIELDS = (
    Field("word", "a"),
    Field("vertex", "tail"),
    Field("vertex", "head"),
    Field("weight", "weight"),
)


def read_dimacs(file: TextFile) -> EdgeTable:
    """Read the arcs; vertices keep their numbers 1..N as labels."""
    expected = "a problem line 'p sp N M'"
    header = file.first_content("c")
    if header is None:
        raise file.ended(expected)
    words = file.lines[header].split()
    numbers = [int(word) for word in words[2:] if is_integer(word) and int(word) >= 0]
    if words[:2] != ["p", "sp"] or len(words) != 4 or len(numbers) != 2:
        raise file.error(header, expected)
    n, m = numbers
    layout = Layout(_FIELDS, "an arc line 'a U V W'", comments="c", n=n)
    _, sources, targets, weights = parse_rows(file, layout, header + 1)
    if len(sources) != m:
        raise file.error(header, f"{m} arcs, as this line says", f"{len(sources)} arcs in the file")
    return EdgeTable(sources - 1, targets - 1, weights, n, range(1, n + 1), directed=True)


def write_dimacs(file: IO[bytes], table: EdgeTable, comment: str | None) -> None:
    """Write every direction of every edge; an edge without weight has weight 1."""
    both = table.with_both_directions()
    arcs = zip(
        (both.sources + 1).tolist(), (both.targets + 1).tolist(), weights_as_text(both), strict=True
    )
    head = [
        *(f"c {line}" for line in (comment or "").splitlines()),
        f"p sp {both.n} {len(both.sources)}",
    ]
    file.write("\n".join([*head, ""]).encode())
    file.write("".join(f"a {u} {v} {w}\n" for u, v, w in arcs).encode())
