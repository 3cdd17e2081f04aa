"""METIS graphs: a header, then one line per vertex with its neighbours."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.edges import EdgeTable
from warpladder.formats.fields import Field, Layout, is_integer, is_number, parse_rows
from warpladder.formats.labels import weights_as_text
from warpladder.formats.text import TextFile, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_metis", "read_metis", "write_metis"]

_HEADER = "a header 'vertices edges [fmt [ncon]]'"


class _Header(NamedTuple):
    line: int
    n: int
    m: int
    skipped: int  # numbers before a vertex's first neighbour: its size and its own weights
    has_weights: bool


class _Entries(NamedTuple):
    """Every neighbour as listed: an edge stands here twice, once from each end."""

    lines: NDArray[np.int64]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[Any] | None


def is_metis(file: TextFile) -> bool:
    """Tell whether the content is a graph of this format with an edge or more, by accident or not.

    The lines of an edge list seldom count its vertices, and hardly ever state each edge twice.
    """
    try:
        header = _read_header(file)
        # Most edge lists end here.
        if not header.m or header.n > len(file.lines):
            return False
        read_metis(file)
    except FileFormatError:
        return False
    return True


def read_metis(file: TextFile) -> EdgeTable:
    """Read an undirected graph, each edge once; vertices keep their numbers 1..n as labels.

    Where the two ends of an edge state different weights, the edge is kept with both.
    """
    header = _read_header(file)
    entries = _read_entries(file, header)
    sources, targets, weights = _pair_up(file, header, entries)
    return EdgeTable(sources, targets, weights, header.n, range(1, header.n + 1), directed=False)


def _read_header(file: TextFile) -> _Header:
    line = file.first_content("%")
    if line is None:
        raise file.ended(_HEADER)
    words = file.lines[line].split()
    if not 2 <= len(words) <= 4 or not all(is_integer(word) and int(word) >= 0 for word in words):
        raise file.error(line, _HEADER)
    flags = words[2].zfill(3) if len(words) > 2 else "000"
    if len(flags) != 3 or set(flags) - {"0", "1"}:
        raise file.error(line, "three digits 0 or 1 as fmt (or fewer)", quoted(words[2]))
    has_sizes, has_vertex_weights, has_weights = (flag == "1" for flag in flags)
    vertex_weights = int(words[3]) if len(words) > 3 else int(has_vertex_weights)
    if vertex_weights and not has_vertex_weights:
        raise file.error(line, "a fmt with vertex weights, as ncon is given")
    return _Header(line, int(words[0]), int(words[1]), has_sizes + vertex_weights, has_weights)


def _read_entries(file: TextFile, header: _Header) -> _Entries:
    body = range(header.line + 1, len(file.lines))
    lines = [i for i in body if not file.lines[i].lstrip().startswith("%")]
    if len(lines) < header.n:
        raise file.ended(f"{header.n} vertex lines, one for each vertex")
    surplus = next((i for i in lines[header.n :] if file.lines[i].strip()), None)
    if surplus is not None:
        raise file.error(surplus, f"nothing after the {header.n} vertex lines")
    lines = lines[: header.n]
    rows = [file.lines[i].split() for i in lines]

    step = 1 + header.has_weights
    for index, row in zip(lines, rows, strict=True):
        if len(row) < header.skipped or not all(map(is_number, row[: header.skipped])):
            raise file.error(index, f"{header.skipped} numbers before the neighbours, as fmt says")
        if (len(row) - header.skipped) % step:
            raise file.error(index, "pairs 'neighbour weight', as fmt says")

    counts = np.array([(len(row) - header.skipped) // step for row in rows], dtype=np.int64)
    token_lines = np.repeat(np.array(lines, dtype=np.int64), counts)

    def column(offset: int, field: Field) -> NDArray[Any]:
        tokens = list(chain.from_iterable(row[header.skipped + offset :: step] for row in rows))
        try:
            return parse_rows(
                TextFile(file.path, tokens), Layout((field,), field.title, n=header.n), 0
            )[0]
        except FileFormatError as error:
            # There, every token was a line of its own.
            token = (error.line or 1) - 1
            raise file.error(int(token_lines[token]), error.expected, error.found) from None

    targets = column(0, Field("vertex", "neighbour")) - 1
    weights = column(1, Field("weight", "edge weight")) if header.has_weights else None
    return _Entries(token_lines, np.repeat(np.arange(header.n), counts), targets, weights)


def _pair_up(
    file: TextFile, header: _Header, entries: _Entries
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]:
    _, sources, targets, weights = entries
    loop = np.flatnonzero(sources == targets)
    # The stated weight comes last in the order, so that equal edges line up by weight.
    keys = (np.zeros(len(sources)) if weights is None else weights, targets, sources)
    forth = _sorted_subset(sources < targets, keys)
    back = _sorted_subset(sources > targets, (keys[0], sources, targets))
    if not (
        np.array_equal(sources[forth], targets[back])
        and np.array_equal(targets[forth], sources[back])
    ):
        raise _one_sided(file, entries)

    pairs = len(forth)
    # Some writers list a loop once, others once for each of its ends.
    if 2 * header.m not in {2 * (pairs + len(loop)), 2 * pairs + len(loop)}:
        found = f"{pairs + len(loop)} edges in the file"
        raise file.error(header.line, f"{header.m} edges, as this line says", found)

    kept = np.concatenate((forth, loop))
    if weights is not None:
        kept = np.concatenate((kept, back[weights[forth] != weights[back]]))
    return sources[kept], targets[kept], None if weights is None else weights[kept]


def _sorted_subset(mask: NDArray[np.bool_], keys: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    chosen = np.flatnonzero(mask)
    order: NDArray[np.int64] = chosen[np.lexsort([key[chosen] for key in keys])]
    return order


def _one_sided(file: TextFile, entries: _Entries) -> FileFormatError:
    edges = list(zip(entries.sources.tolist(), entries.targets.tolist(), strict=True))
    times = Counter(edges)
    i, (u, v) = next((i, (u, v)) for i, (u, v) in enumerate(edges) if times[u, v] > times[v, u])
    return file.error(
        int(entries.lines[i]),
        f"neighbours that list vertex {u + 1} too, as METIS states an edge at both ends",
        f"neighbour {v + 1}, which does not",
    )


def write_metis(file: IO[bytes], table: EdgeTable, comment: str | None) -> None:
    """Write an undirected table; a loop stands once in its vertex's line."""
    if table.directed:
        raise InputError(
            "metis holds undirected graphs only and this one is directed; "
            "write dimacs, matrix-market or edges, or make or read the graph with directed=False"
        )
    both = table.with_both_directions()
    has_weights = both.weights is not None
    words = [str(v) for v in (both.targets + 1).tolist()]
    if has_weights:
        pairs = zip(words, weights_as_text(both), strict=True)
        words = [f"{v} {w}" for v, w in pairs]
    neighbours: list[list[str]] = [[] for _ in range(table.n)]
    for source, word in zip(both.sources.tolist(), words, strict=True):
        neighbours[source].append(word)
    head = [f"% {line}" for line in (comment or "").splitlines()]
    head.append(f"{table.n} {len(table.sources)}{' 1' * has_weights}")
    file.write("\n".join([*head, *map(" ".join, neighbours), ""]).encode())
