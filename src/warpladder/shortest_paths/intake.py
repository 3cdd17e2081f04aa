"""From what callers have, arrays, other libraries' graphs and files, to a `Graph`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.foreign import adopted, is_on_gpu, numpy_dtype
from warpladder.errors import InputError, InputTypeError
from warpladder.formats.arrays import sparse_as
from warpladder.formats.edges import DenseTable, EdgeTable
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.dtypes import array_of, distance_dtype, exact_array_of
from warpladder.shortest_paths.forms import Matrix
from warpladder.shortest_paths.frames import is_frame, refuse_gaps
from warpladder.shortest_paths.graph import Graph, check_size
from warpladder.shortest_paths.no_edge import absent_value

__all__ = ["as_graph", "from_networkx", "networkx_edges", "read_graph"]

# Sparse layouts that fill up their blocks and diagonals, so that zeros in them mean nothing.
_FILLED_LAYOUTS = ("bsr", "dia")


def as_graph(graph: Any, no_edge: float = np.inf) -> Graph | Batch:
    """Return anything that `shortest_paths` takes as a `Graph`, or as many of them.

    Raises
    ------
    InputTypeError
        It is nothing that can be taken for a graph.
    """
    if type(graph) is np.ndarray and graph.ndim == 2 and graph.dtype != object:
        # What most give: what is asked below takes 3 us, of 60 that a call with ten vertices takes.
        return Graph.from_matrix(graph, no_edge=no_edge)
    graph = adopted(graph)
    if is_on_gpu(graph):
        return _on_gpu(graph, no_edge)
    if getattr(graph, "ndim", None) == 3:
        return _as_batch(graph, no_edge)
    by_edges = _with_edges(graph)
    if by_edges is not None:
        if not (isinstance(no_edge, Real) and no_edge == np.inf):
            said = "this graph lists its edges"
            if isinstance(by_edges.given, Matrix):
                said = "a Graph has been told already, by Graph.from_matrix(..., no_edge=...)"
            raise InputError(f"no_edge={no_edge!r} goes with a dense matrix only; {said}")
        return by_edges
    if isinstance(graph, str | Path):
        raise InputTypeError(
            "graph: a path was given; read it first with warpladder.read_graph(path)"
        )
    if isinstance(graph, list):
        _refuse_lists(graph)
    refuse_gaps(graph)
    array = exact_array_of(graph, "graph", "a matrix of weights")
    if array.dtype == object and array.ndim:
        odd = [entry for entry in array.flat if not isinstance(entry, Real)]
        such = f", such as {odd[0]!r:.40}" if odd else ""
        if is_frame(graph):
            such += " (a DataFrame gives one dtype by frame.to_numpy(float, na_value=numpy.inf))"
        raise InputTypeError(
            f"graph: its entries are Python objects{such}; weights must be numbers of one dtype, "
            "with infinity for no edge"
        )
    if array.ndim == 0:
        # Other libraries have a Graph, too.
        kind = f"{type(graph).__module__}.{type(graph).__name__}".removeprefix("builtins.")
        raise InputTypeError(
            f"graph: {kind} is not taken; give a square array, a warpladder.Graph, "
            "a scipy.sparse matrix, a NetworkX graph or (sources, targets, weights)"
        )
    if array.ndim == 3:
        raise InputError(
            f"graph: this has shape {array.shape}; many graphs at once are given as one array, "
            "numpy.stack(matrices)"
        )
    return Graph.from_matrix(graph if is_frame(graph) else array, no_edge=no_edge)


def _on_gpu(array: Any, no_edge: Any) -> Graph | Batch:
    """Return the graph, or the graphs, of an array that is on a GPU; it is not copied."""
    shape = tuple(array.shape)
    many = len(shape) == 3
    if len(shape) not in {2, 3} or shape[-2] != shape[-1]:
        what = "matrices of weights" if many else "a matrix of weights"
        raise InputError(f"graph: {what} must be square, this has shape {shape}")
    dtype = numpy_dtype(array)
    distance_dtype(dtype, "graph")
    absent = absent_value(dtype, no_edge)
    return Batch(array, absent) if many else Graph(Matrix(array, absent))


def _as_batch(given: Any, no_edge: float) -> Batch:
    """Return the graphs of a three-dimensional array."""
    array = array_of(given, "graph", "matrices of weights")
    if array.ndim != 3:
        raise InputTypeError(
            f"graph: {type(given).__name__} is not taken for many graphs; give an array of shape "
            "(b, n, n)"
        )
    refuse_gaps(given)
    # What is said of all of them, whatever their weights are.
    zeros = np.broadcast_to(np.zeros((), array.dtype), array.shape[1:])
    absent = Graph.from_matrix(zeros, no_edge=no_edge).no_edge
    if array.dtype == np.uint64:
        for number, matrix in enumerate(array):
            check_size(Matrix(matrix, absent), f"graph {number}", number)
    return Batch(array, absent)


def _with_edges(graph: Any) -> Graph | None:
    """Return a `Graph` for what lists its edges, None for anything else."""
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, tuple):
        if len(graph) not in {2, 3}:
            raise InputTypeError(
                "graph: a tuple must be (sources, targets) or (sources, targets, weights), "
                f"this has {len(graph)} parts"
            )
        return Graph.from_edges(*graph)
    if _is_sparse(graph):
        return _from_sparse(graph)
    return from_networkx(graph) if _is_networkx(graph) else None


def _is_sparse(graph: Any) -> bool:
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(graph))


def _is_networkx(graph: Any) -> bool:
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(graph, networkx.Graph)


def _refuse_lists(given: list[Any]) -> None:
    """Refuse lists of graphs, of whose vertices NumPy would make a matrix, and lists of edges."""
    first = given[0] if given else None
    if isinstance(first, Graph) or _is_sparse(first) or _is_networkx(first):
        raise InputTypeError(
            "graph: a list of graphs is not taken; call shortest_paths for each of them, or give "
            "numpy.stack(matrices)"
        )
    if not isinstance(first, list | tuple) or len(first) not in {2, 3}:
        return
    # Three edges of numbers could be a matrix, and rows of rows are several.
    is_matrix = len(first) == len(given) and not isinstance(first[0], str)
    if not (is_matrix or isinstance(first[0], list | np.ndarray)):
        raise InputError(
            "graph: this list is no square matrix of weights; if it lists edges, give "
            "(sources, targets, weights), as tuple(zip(*edges)) has them"
        )


def read_graph(
    path: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - as in warpladder.formats.graphs.read
    directed: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Graph:
    r"""Read a graph from a file.

    Parameters
    ----------
    path
        The file, a pipe, or ``"-"`` for standard input; gzip is seen through.
    format, directed
        What the file is, and whether an edge has one direction: see
        `warpladder.formats.graphs.read`.
    source, target, weight, header, delimiter
        For tables of edges, whose columns go by name or number: see there.

    Raises
    ------
    FileFormatError
        The file does not follow its format; the message names the line.
    MissingExtraError
        The format needs a library that is not installed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "roads.csv"
    >>> _ = path.write_text("from,to,km\nA,B,4\nB,C,7\n")
    >>> read_graph(path)
    Graph(n=3, no_edge=None, directed=True)
    >>> folder.cleanup()
    """
    from warpladder.formats.files import InputFile
    from warpladder.formats.graphs import read

    file = InputFile(path)
    table = read(
        file, format=format, directed=directed, source=source, target=target, weight=weight,
        header=header, delimiter=delimiter,
    )  # fmt: skip
    return from_table(table, file.path)


def from_table(table: EdgeTable | DenseTable, path: Path) -> Graph:
    """Return a `Graph` for what was read from a file, which errors name."""
    try:
        if isinstance(table, DenseTable):
            return Graph.from_matrix(table.matrix, labels=table.labels)
        weights = table.weights
        if weights is not None and weights.dtype == np.int64 and _fits_int32(weights):
            weights = weights.astype(np.int32)
        ends = table.sources, table.targets
        graph = Graph.from_edges(
            *ends, weights, n=table.n, labels=table.labels, directed=table.directed
        )
        return replace(graph, remark=table.remark)
    except (InputError, InputTypeError) as error:
        raise type(error)(f"{path}: {error}") from error


def _from_sparse(matrix: Any) -> Graph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"graph: a matrix of weights must be square, this has shape {matrix.shape}"
        )
    edges = sparse_as("coo", matrix, "graph")
    if matrix.format in _FILLED_LAYOUTS:
        edges.eliminate_zeros()
    return Graph.from_edges(edges.row, edges.col, edges.data, n=matrix.shape[0])


def from_networkx(graph: Any, weight: str | Callable[..., Any] = "weight") -> Graph:
    """Return a `Graph` for a NetworkX graph; an edge without the attribute ``weight`` counts 1.

    As for NetworkX's searches ``weight`` may be a function instead: of both ends and the attributes
    of the edge (of each of them by its key in a multigraph); None for what is to be no edge. Of
    NetworkX's Floyd-Warshall functions not all take one, which `networkx_backend` sees to.
    """
    labels = list(graph)
    index = {label: position for position, label in enumerate(labels)}
    edges, directed = networkx_edges(graph, weight)
    # An infinite weight is no edge, and would make floats of integers.
    edges = [edge for edge in edges if not (isinstance(edge[2], Real) and edge[2] == math.inf)]
    sources, targets = (np.array([index[edge[end]] for edge in edges], np.int64) for end in (0, 1))
    weights = [cost for _, _, cost in edges]
    return Graph.from_edges(sources, targets, weights, len(labels), labels, directed)


def networkx_edges(
    graph: Any, weight: str | Callable[..., Any]
) -> tuple[list[tuple[Any, Any, Any]], bool]:
    """Return both ends and the weight of each edge, and whether it leads one way only."""
    if callable(weight):
        # The two directions of an edge may weigh differently.
        arcs = ((u, v, data) for u, ends in graph.adjacency() for v, data in ends.items())
        costs = ((u, v, weight(u, v, data)) for u, v, data in arcs)
        return [edge for edge in costs if edge[2] is not None], True
    known = graph.edges(data=weight, default=1)
    edges = list(known)
    for u, v, cost in edges:
        if cost is None:
            raise InputTypeError(
                f"graph: the weight of the edge from {u!r} to {v!r} is None; leave the attribute "
                "out, and it counts 1, or leave the edge out"
            )
    return edges, graph.is_directed()


def _fits_int32(weights: NDArray[Any]) -> bool:
    limits = np.iinfo(np.int32)
    return bool(weights.min(initial=0) >= limits.min and weights.max(initial=0) <= limits.max)
