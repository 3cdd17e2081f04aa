"""Graphs from files and to files: one way in, one way out, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.flags import as_flag
from warpladder.formats.arrays import NPY_MAGIC, read_arrays
from warpladder.formats.atomic import atomic_write
from warpladder.formats.dimacs import read_dimacs, write_dimacs
from warpladder.formats.edge_list import (
    DELIMITERS,
    read_edge_list,
    write_delimited_edges,
    write_plain_edges,
)
from warpladder.formats.edges import DenseTable, EdgeTable
from warpladder.formats.files import InputFile, as_path, plain_suffix, read_head
from warpladder.formats.hochberg import end_of_edges, read_hochberg, write_hochberg
from warpladder.formats.matrix_market import BANNER, read_matrix_market, write_matrix_market
from warpladder.formats.metis import is_metis, read_metis, write_metis
from warpladder.formats.parquet import read_parquet
from warpladder.formats.text import TextFile, read_text
from warpladder.formats.tntp import FIRST_TAG, read_tntp

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["FORMATS", "WRITABLE_FORMATS", "format_to_write", "read", "write"]


@dataclass(frozen=True, slots=True)
class _Format:
    """What there is to know about a format; its reader takes a TextFile, or else an InputFile."""

    description: str
    suffixes: tuple[str, ...]
    read: Callable[..., EdgeTable | DenseTable]
    is_text: bool = True
    options: frozenset[str] = frozenset()


_FORMATS = {
    "hochberg": _Format(
        "'V W length' on each line with any names, '--END--' on the last (.hb)",
        (".hb",),
        read=read_hochberg,
    ),
    "dimacs": _Format(
        "DIMACS shortest-path graph: 'p sp N M', then 'a U V W' (.gr)",
        (".gr",),
        read=read_dimacs,
    ),
    "matrix-market": _Format(
        "MatrixMarket coordinate matrix: general or symmetric; pattern, integer or real (.mtx)",
        (".mtx",),
        read=read_matrix_market,
    ),
    "metis": _Format(
        "METIS adjacency lists of an undirected graph (.graph, .metis)",
        (".graph", ".metis"),
        read=read_metis,
    ),
    "edges": _Format(
        "edge list in columns: SNAP, KONECT, CSV, TSV (.csv, .tsv, .edges, .el, .txt and others)",
        (".csv", ".tsv", ".edges", ".edgelist", ".el"),
        read=read_edge_list,
        options=frozenset({"directed", "source", "target", "weight", "header", "delimiter"}),
    ),
    "tntp": _Format(
        "TNTP road network; weight='free_flow_time' unless told otherwise (.tntp)",
        (".tntp",),
        read=read_tntp,
        options=frozenset({"weight"}),
    ),
    "numpy": _Format(
        "matrix of weights in NumPy's .npy or .npz, or scipy.sparse .npz (extra: sparse)",
        (".npy", ".npz"),
        is_text=False,
        read=read_arrays,
    ),
    "parquet": _Format(
        "Parquet table with one row per edge (extra: parquet) (.parquet, .pq)",
        (".parquet", ".pq"),
        is_text=False,
        read=read_parquet,
        options=frozenset({"source", "target", "weight"}),
    ),
}

_WRITERS: dict[str, Callable[[IO[bytes], EdgeTable, str | None], None]] = {
    "hochberg": write_hochberg,
    "dimacs": write_dimacs,
    "matrix-market": write_matrix_market,
    "metis": write_metis,
    "edges": write_plain_edges,
}

#: Every format's name with a one-line description.
FORMATS: dict[str, str] = {name: known.description for name, known in _FORMATS.items()}
#: The formats that `write` knows.
WRITABLE_FORMATS: tuple[str, ...] = tuple(_WRITERS)

_BY_SUFFIX = {suffix: name for name, known in _FORMATS.items() for suffix in known.suffixes}
# What a text file is read as, its content tells.
_WRITTEN_AS = {".txt": "hochberg"}
_BINARY_MAGIC = {NPY_MAGIC: "numpy", b"PK\x03\x04": "numpy", b"PAR1": "parquet"}


def read(
    path: str | os.PathLike[str] | InputFile,
    *,
    format: str = "auto",  # noqa: A002 - the word NetworkX users and the command line use
    directed: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> EdgeTable | DenseTable:
    r"""Read a graph from a file, gzip or not.

    Ids of an edge list are integers where every one of the file is written as that integer is
    printed, else all are text: 01234 and 1234 are two vertices, as in a Hochberg file.
    Its fields may be in quotes, between blanks too, as R writes them.
    Its lines that begin with # or % are comments; below the first row of such text, those without
    a blank after that are refused where they may be a row.

    Parameters
    ----------
    path
        The file; a pipe, which is read once and whole; or ``"-"`` for standard input.
    format
        A name from `FORMATS`. ``"auto"`` goes by the extension, and where that says nothing by the
        content. METIS files and edge lists look alike; where the content fits both, ask for one.
    directed
        Whether an edge has one direction; None for what the format says, or the comments of an edge
        list, or its column ``Type`` of Directed and Undirected. ``True`` turns each edge of a METIS
        file or a symmetric matrix into two; for an edge list it only says what they are.
    source, target, weight
        Columns of an edge list or a Parquet file, by name or by number from 0. Where source and
        target are given and weight is not, edges have no weights. TNTP takes weight alone; that no
        path goes through its zones is not kept, but said in a ``remark``.
    header
        Whether an edge list's first line holds column names; None to find out. It is refused where
        it may be an edge as well, as ``u v`` above other edges of u or v.
    delimiter
        The character between an edge list's columns, ``" "`` for any white space; None to find out.
        A comma that is found out is refused where it may be a decimal comma, as in ``1 2 3,5``.

    Returns
    -------
    EdgeTable or DenseTable
        A DenseTable only from a NumPy file that holds a full matrix.

    Raises
    ------
    FileFormatError
        The file is malformed; the message has the line, what was expected and what was found.
    InputError, InputTypeError
        The file cannot be opened, or an argument cannot be used with it.
    MissingExtraError
        The format needs a package that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "graph1.txt")
    ...     _ = file.write_text("a b 5\nb c 2\n--END--\n")
    ...     table = read(file)
    >>> table.labels, table.weights.tolist(), table.directed
    (['a', 'b', 'c'], [5, 2], True)
    """
    file = path if isinstance(path, InputFile) else InputFile(path)
    given = {
        "directed": directed,
        "source": source,
        "target": target,
        "weight": weight,
        "header": header,
        "delimiter": delimiter,
    }
    options = {name: value for name, value in given.items() if value is not None}
    for flag in options.keys() & {"directed", "header"}:
        options[flag] = as_flag(flag, options[flag])
    if not (delimiter is None or isinstance(delimiter, str)):
        raise InputTypeError(f"delimiter={delimiter!r} must be text, as ',' or ' '")
    name = _name_of(file, format)
    text = None
    is_guess = False
    if name is None:
        text = read_text(file)
        name = _known_from_text(text)
        is_guess = name is None
        name = name or "edges"
    chosen = _FORMATS[name]
    for option in options.keys() - chosen.options - {"directed"}:
        takers = ", ".join(other for other, known in _FORMATS.items() if option in known.options)
        raise InputError(
            f"{option}= does not apply to {file.path}, read as {name}; it is for {takers}"
        )
    passed: dict[str, Any] = {k: v for k, v in options.items() if k in chosen.options}

    if chosen.is_text and text is None:
        text = read_text(file)
    try:
        table = chosen.read(text if chosen.is_text else file, **passed)
    except FileFormatError as error:
        if not is_guess:
            raise
        found = f"{error.found} (read as {name}, a guess; else give format=NAME)"
        raise FileFormatError(error.path, error.line, error.expected, found) from error

    if directed is None or "directed" in passed:
        return table
    if isinstance(table, DenseTable):
        if directed:
            return table
        raise InputError(
            f"directed=False does not apply to {file.path}: a full matrix states both directions"
        )
    return table.with_both_directions() if directed else replace(table, directed=False)


def write(
    path: str | os.PathLike[str],
    table: EdgeTable,
    *,
    format: str = "auto",  # noqa: A002 - as in read
    comment: str | None = None,
) -> None:
    """Write a graph to a file, whole or not at all; a name that ends in ``.gz`` is packed.

    Parameters
    ----------
    path
        The file; one that is there is replaced.
    table
        The graph. Formats that only know directed edges get each undirected edge twice; those that
        number their vertices keep the order of the labels, not the labels themselves.
    format
        A name from `WRITABLE_FORMATS`, or ``"auto"`` to go by the extension (``.txt``: hochberg).
    comment
        Text to put into the file where its format has a place for it.

    Raises
    ------
    InputError
        The file cannot be written, or the format cannot hold this graph.
    InputTypeError
        The table is none, or its weights are no real numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> table = EdgeTable(np.array([0]), np.array([1]), np.array([7]), 2, None, directed=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.gr")
    ...     write(file, table, comment="two vertices")
    ...     print(file.read_text(), end="")
    c two vertices
    p sp 2 1
    a 1 2 7
    """
    path = as_path(path)
    if not isinstance(table, EdgeTable):
        raise InputTypeError(
            f"table must be an EdgeTable, not {type(table).__name__} "
            "(warpladder.formats.distances.write_distances writes matrices)"
        )
    name = format_to_write(path, format)
    if table.weights is not None:
        _check_weights(np.asarray(table.weights), len(table.sources))
    suffix = plain_suffix(path)
    # An edge list has two faces: a table with a header, or plain columns.
    delimited = name == "edges" and suffix in DELIMITERS
    with atomic_write(path) as file:
        if delimited:
            write_delimited_edges(file, table, comment, DELIMITERS[suffix])
        else:
            _WRITERS[name](file, table, comment)


def _check_weights(weights: NDArray[Any], edges: int) -> None:
    if weights.dtype.kind not in "biuf" or weights.dtype.itemsize > 8:
        raise InputTypeError(
            f"table has weights of dtype {weights.dtype}; real numbers of up to 64 bits are needed"
        )
    if weights.shape != (edges,):
        raise InputError(f"table has weights of shape {weights.shape} for {edges} edges")
    if not (weights > -np.inf).all():
        raise InputError("table has a weight that is NaN or -inf, which no graph file takes")


def format_to_write(
    path: str | os.PathLike[str],
    format: str = "auto",  # noqa: A002 - as in read
) -> str:
    """Return the name of the format in which `write` writes a file.

    Raises
    ------
    InputError
        There is none for this extension, or no such format.

    Examples
    --------
    >>> format_to_write("roads.gr.gz"), format_to_write("ring.txt")
    ('dimacs', 'hochberg')
    """
    path = as_path(path)
    by_suffix = {**_BY_SUFFIX, **_WRITTEN_AS}
    name = by_suffix.get(plain_suffix(path)) if format == "auto" else _checked(format)
    if name not in _WRITERS:
        raise InputError(
            f"cannot tell a format to write {path} in; use one of the extensions "
            f"{', '.join(s for s, n in by_suffix.items() if n in _WRITERS)} "
            f"or a format, one of {', '.join(WRITABLE_FORMATS)}"
        )
    return name


def _name_of(file: InputFile, format: str) -> str | None:  # noqa: A002 - as in read
    """Return the format's name, None where only the text can tell."""
    if format != "auto":
        return _checked(format)
    by_suffix = _BY_SUFFIX.get(plain_suffix(file.path))
    if by_suffix is not None:
        return by_suffix
    head = read_head(file, 8)
    return next((name for magic, name in _BINARY_MAGIC.items() if head.startswith(magic)), None)


def _checked(name: str) -> str:
    if not (isinstance(name, str) and name in _FORMATS):
        raise InputError(f"format={name!r} is not known; use auto or one of {', '.join(_FORMATS)}")
    return name


def _known_from_text(text: TextFile) -> str | None:
    """Return the name of the format that the content is surely in, None where it shows none."""
    if text.lines[0].lower().startswith(BANNER.lower()):
        return "matrix-market"
    for name, comments, beginning in (("dimacs", "c", "p sp "), ("tntp", "~", FIRST_TAG)):
        first = text.first_content(comments)
        line = "" if first is None else " ".join(text.lines[first].split())
        # Tags of TNTP are read in any case, words of DIMACS in lower case alone.
        if (line.upper() if name == "tntp" else line).startswith(beginning):
            return name
    if end_of_edges(text) is not None:
        return "hochberg"
    if is_metis(text):
        raise InputError(
            f"{text.path} may be a METIS graph or an edge list; say format=metis or format=edges"
        )
    return None
