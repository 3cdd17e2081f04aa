"""``warpladder paths``: shortest paths of a graph in a file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpladder.cli.options import Json, as_column

if TYPE_CHECKING:
    from warpladder.formats.edges import DenseTable, EdgeTable
    from warpladder.shortest_paths.graph import Graph
    from warpladder.shortest_paths.result import ShortestPaths

__all__ = ["paths"]

_TRACED = 10


def paths(
    file: Annotated[
        Path,
        typer.Argument(
            help="The graph, - for standard input. gzip is seen through.", show_default=False
        ),
    ],
    start: Annotated[
        str | None, typer.Option("--from", help="Vertex where a path to show begins.", metavar="A")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="Vertex where it ends.", metavar="B")
    ] = None,
    directed: Annotated[
        bool | None,
        typer.Option(
            "--directed/--undirected",
            help="Whether edges lead one way; else as the format says.",
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="int16, int32, int64, float32 or float64; else that of the weights."),
    ] = None,
    next_hops: Annotated[
        bool, typer.Option("--next-hops", help="Find the paths too (implied by --from and --to).")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write all distances: .npy, .npz (with next hops and labels), .csv or .parquet.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="auto, floyd-warshall, dijkstra or breadth-first.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    negative_cycle: Annotated[
        str, typer.Option(help="raise an error, or mark the pairs it affects with -inf.")
    ] = "raise",
    format: Annotated[  # noqa: A002 - the option is called --format
        str, typer.Option(help="Format of FILE, where its name and contents do not tell.")
    ] = "auto",
    source: Annotated[
        str | None, typer.Option(help="Column of the sources in a table, by name or number from 0.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column of the targets.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the weights.")] = None,
    trace: Annotated[
        bool,
        typer.Option("--trace", help=f"Print every matrix M_k of the algorithm (n <= {_TRACED})."),
    ] = False,
    json: Json = False,
) -> None:
    """Find the shortest paths between all pairs of vertices of a graph.

    Prints a summary, the distances between the first ten vertices ([bold]--[/]
    where there is no path), and the path asked for.

    Formats: HB's [bold]V W length[/] lines, DIMACS .gr, MatrixMarket .mtx, METIS
    .graph, edge lists (CSV, TSV, SNAP), TNTP, .npy, .npz, Parquet.

    [bold]warpladder paths flights.csv --from KEF --to NAN[/]
    """
    from warpladder.cli.output import print_json
    from warpladder.cli.paths_view import as_document, show
    from warpladder.cli.targets import check_no_input
    from warpladder.errors import InputError
    from warpladder.formats.distances import check_target
    from warpladder.formats.files import InputFile
    from warpladder.formats.graphs import read
    from warpladder.shortest_paths.intake import from_table
    from warpladder.shortest_paths.trace import trace_matrices

    if (start is None) != (end is None):
        raise typer.BadParameter("give both ends of the path, --from A and --to B")
    check_no_input("-o", output, [file])
    if output is not None:
        check_target(output, next_hops=next_hops)
    columns = {"source": source, "target": target, "weight": weight}
    chosen: dict[str, Any] = {
        name: as_column(column) for name, column in columns.items() if column is not None
    }
    opened = InputFile(file)
    table = read(opened, format=format, directed=directed, **chosen)
    graph = from_table(table, opened.path)
    ends = None if start is None or end is None else (_vertex(graph, start), _vertex(graph, end))
    if trace and graph.n > _TRACED:
        raise InputError(
            f"--trace: the graph has {graph.n} vertices, only up to {_TRACED} are printed"
        )

    wanted: dict[str, Any] = {
        "dtype": dtype,
        "next_hops": next_hops or ends is not None,
        "method": method,
        "device": device,
        "negative_cycle": negative_cycle,
    }
    setup = _warm_up(graph, wanted)
    answer, seconds = _solve(graph, wanted)
    steps = trace_matrices(graph) if trace else []
    if output is not None:
        answer.save(output)
    facts = {"weights": _weights(table), **_facts(graph, answer, seconds, setup)}
    route = None if ends is None else _route(answer, *ends)
    if json:
        print_json(as_document(facts, answer, route, steps))
    else:
        show(facts, answer, route, steps)
        if output is not None:
            typer.echo(f"wrote {output}", err=True)


def _weights(table: EdgeTable | DenseTable) -> str:
    """Say where the weights come from."""
    from warpladder.formats.edges import DenseTable

    if isinstance(table, DenseTable):
        return "the matrix's entries"
    if table.weights is None:
        return "none, every edge counts 1"
    if table.weight_column is None:
        return "as the file's format has them"
    is_name = isinstance(table.weight_column, str)
    return f"column {table.weight_column!r}{'' if is_name else ', counted from 0'}"


def _vertex(graph: Graph, text: str) -> int:
    """Find a vertex by what was typed: its label, or its index where vertices have none."""
    from warpladder.errors import UnknownVertexError

    try:
        return graph.vertex(text)
    except UnknownVertexError:
        # Labels of 64 bits have up to 20 characters, with a sign or without.
        is_number = text.removeprefix("-").isdecimal() and len(text) <= 20
        number = int(text) if is_number else None
        are_numbers = graph.labels is None or isinstance(graph.labels, range)
        if number is None or not (are_numbers or number in graph.index_of):
            raise
        return graph.vertex(number)


def _warm_up(graph: Graph, wanted: dict[str, Any]) -> float:
    """Load the compiled kernels, or compile them where no earlier run has; return the seconds.

    Done apart, so that the time of the run itself can be shown.
    """
    import numpy as np

    from warpladder.shortest_paths.api import shortest_paths
    from warpladder.shortest_paths.cpu import SERIAL_UP_TO
    from warpladder.shortest_paths.dtypes import asked_dtype
    from warpladder.shortest_paths.plan import default_dtype
    from warpladder.shortest_paths.sparse.whole_lengths import whole_lengths

    began = perf_counter()
    if wanted["method"] != "dijkstra":
        n = min(graph.n, SERIAL_UP_TO + 1)
        dtype = asked_dtype(wanted["dtype"]) or default_dtype(graph.given)
        given = graph.weights if graph.matrix is None else graph.matrix
        weight = -1 if given is not None and given.min(initial=0) < 0 else 1
        ends = ([0], [n - 1]) if n else ([], [])
        sample: Any = (*ends, np.full(len(ends[0]), max(weight, n == 1), dtype))
        if graph.matrix is not None:
            sample = np.full((n, n), 1, dtype)
        asked = wanted["method"]
        lengths = whole_lengths(graph.given, dtype, few=asked == "auto")
        longest = 0 if lengths is None else lengths.longest
        if longest > 1 and n > 2 and asked != "floyd-warshall":
            steps: Any = [0, 0], [1, n - 1], np.array([1, 2], dtype)
            shortest_paths(steps, next_hops=wanted["next_hops"], method="breadth-first")
        if longest == 1 or asked != "breadth-first":
            # The sample's edges are of one length: it would be searched where the graph is not.
            method: Any = asked if longest == 1 else "floyd-warshall"
            shortest_paths(sample, next_hops=wanted["next_hops"], method=method)
    return perf_counter() - began


def _solve(graph: Graph, wanted: dict[str, Any]) -> tuple[ShortestPaths, float]:
    from warpladder.cli.progress import progress_bar
    from warpladder.shortest_paths.api import shortest_paths

    began = perf_counter()
    with progress_bar("shortest paths") as progress:
        answer = shortest_paths(graph, **wanted, progress=progress)
        return answer, perf_counter() - began


def _facts(graph: Graph, answer: ShortestPaths, seconds: float, setup: float) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "vertices": graph.n,
        "edges": graph.edge_count,
        "directed": graph.directed,
        "components": graph.components,
        "dtype": answer.dist_matrix.dtype.name,
        "method": answer.method,
        "why": answer.why,
        "seconds": seconds,
        "setup_seconds": setup,
    }
    if answer.method == "floyd-warshall" and graph.n:
        facts["relaxations_per_second"] = graph.n**3 / seconds
    if graph.n:
        facts["longest_distance"] = answer.diameter(reachable_only=True)
    return facts


def _route(answer: ShortestPaths, start: int, end: int) -> dict[str, Any]:
    """Return the path between two vertex indices with the length of each leg."""
    import numpy as np

    from warpladder.cli.paths_view import plain
    from warpladder.shortest_paths.paths import walk_pairs

    graph = answer.graph
    assert answer.next_hops is not None  # noqa: S101 - asked for together with the path
    vertices = walk_pairs(answer.next_hops, np.array([[start, end]]))[0].tolist()
    legs = [
        {"from": graph.label(u), "to": graph.label(v), "length": answer.dist_matrix[u, v].item()}
        for u, v in pairwise(vertices)
    ]
    return {
        "from": graph.label(start),
        "to": graph.label(end),
        "vertices": [graph.label(vertex) for vertex in vertices],
        "legs": legs,
        "total": plain(answer, answer.dist_matrix[start, end]),
    }
