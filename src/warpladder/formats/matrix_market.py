"""MatrixMarket coordinate files: a banner, a size line, one line per stored entry."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import numpy as np

from warpladder.formats.edges import EdgeTable
from warpladder.formats.fields import Field, Layout, is_integer, parse_rows
from warpladder.formats.labels import weights_as_text
from warpladder.formats.text import quoted

if TYPE_CHECKING:
    from warpladder.formats.text import TextFile

__all__ = ["BANNER", "read_matrix_market", "write_matrix_market"]

BANNER = "%%MatrixMarket"
_ENDS = (Field("vertex", "row"), Field("vertex", "column"))
_LAYOUTS = {
    "pattern": (_ENDS, "an entry 'row column'"),
    "integer": ((*_ENDS, Field("integer", "value")), "an entry 'row column value'"),
    "real": ((*_ENDS, Field("real", "value")), "an entry 'row column value'"),
}
_IS_DIRECTED = {"general": True, "symmetric": False}


def read_matrix_market(file: TextFile) -> EdgeTable:
    """Read a square matrix as edges from row to column; a stored zero is an edge of weight 0."""
    banner = file.lines[0].split()
    expected = f"'{BANNER} matrix coordinate FIELD SYMMETRY'"
    if len(banner) != 5 or banner[0].lower() != BANNER.lower() or banner[1].lower() != "matrix":
        raise file.error(0, expected)
    storage, kind, symmetry = (word.lower() for word in banner[2:])
    for word, known in (
        (storage, ("coordinate",)),
        (kind, tuple(_LAYOUTS)),
        (symmetry, tuple(_IS_DIRECTED)),
    ):
        if word not in known:
            raise file.error(0, f"{' or '.join(known)} in the banner", quoted(word))

    size = file.first_content("%", 1)
    if size is None:
        raise file.ended("a size line 'rows columns entries'")
    words = file.lines[size].split()
    if len(words) != 3 or not all(is_integer(word) and int(word) >= 0 for word in words):
        raise file.error(size, "a size line 'rows columns entries'")
    n, columns, m = map(int, words)
    if n != columns:
        raise file.error(size, "a square matrix", f"{n} rows and {columns} columns")

    fields, shape = _LAYOUTS[kind]
    sources, targets, *values = parse_rows(file, Layout(fields, shape, "%", n=n), size + 1)
    if len(sources) != m:
        raise file.error(size, f"{m} entries, as this line says", f"{len(sources)} in the file")
    weights = values[0] if values else None
    labels = range(1, n + 1)
    return EdgeTable(sources - 1, targets - 1, weights, n, labels, directed=_IS_DIRECTED[symmetry])


def write_matrix_market(file: IO[bytes], table: EdgeTable, comment: str | None) -> None:
    """Write one entry per edge; an undirected table becomes a symmetric matrix."""
    rows, columns = table.sources, table.targets
    if not table.directed:
        # Symmetric files hold the lower triangle only.
        rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
    symmetry = "general" if table.directed else "symmetric"
    ends = zip((rows + 1).tolist(), (columns + 1).tolist(), strict=True)
    if table.weights is None:
        kind = "pattern"
        entries = [f"{u} {v}\n" for u, v in ends]
    else:
        kind = "real" if table.weights.dtype.kind == "f" else "integer"
        pairs = zip(ends, weights_as_text(table), strict=True)
        entries = [f"{u} {v} {w}\n" for (u, v), w in pairs]
    head = [
        f"{BANNER} matrix coordinate {kind} {symmetry}",
        *(f"% {line}" for line in (comment or "").splitlines()),
        f"{table.n} {table.n} {len(entries)}",
        "",
    ]
    file.write("\n".join(head).encode())
    file.write("".join(entries).encode())
