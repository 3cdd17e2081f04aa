"""``warpladder paths``: shortest paths of a graph in a file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from warpladder.shortest_paths.graph import Graph
    from warpladder.shortest_paths.result import ShortestPaths

__all__ = ["paths"]

_SHOWN = 10
_TRACED = 10
_PROGRESS_FROM_SECONDS = 2.0
_WORTH_TELLING_SECONDS = 1.5


def paths(
    file: Annotated[
        Path, typer.Argument(help="The graph. gzip is seen through.", show_default=False)
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
        typer.Option("-o", "--output", help="Write all distances: .npy, .npz, .csv or .parquet."),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, floyd-warshall or dijkstra.")] = "auto",
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
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Find the shortest paths between all pairs of vertices of a graph.

    Prints a summary, the distances between the first ten vertices ([bold]--[/]
    where there is no path), and the path asked for.

    Formats: HB's [bold]V W length[/] lines, DIMACS .gr, MatrixMarket .mtx, METIS
    .graph, edge lists (CSV, TSV, SNAP), TNTP, .npy, .npz, Parquet.

    [bold]warpladder paths flights.csv --from KEF --to NAN[/]
    """
    from warpladder.cli.output import print_json
    from warpladder.errors import InputError
    from warpladder.shortest_paths.intake import read_graph

    if (start is None) != (end is None):
        raise typer.BadParameter("give both ends of the path, --from A and --to B")
    if output is not None:
        from warpladder.formats.distances import check_target

        check_target(output)
    columns = {"source": source, "target": target, "weight": weight}
    graph = read_graph(
        file,
        format=format,
        directed=directed,
        **{name: _column(column) for name, column in columns.items() if column is not None},
    )
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
    steps = _trace(graph, answer.dist_matrix.dtype) if trace else []
    if output is not None:
        from warpladder.formats.distances import write_distances

        write_distances(output, answer.dist_matrix, graph.labels, no_path=answer.unreachable)
    facts = _facts(graph, answer, seconds, setup)
    route = None if ends is None else _route(answer, *ends)
    if json:
        print_json({**facts, **_json_details(answer, route, steps)})
    else:
        _print(answer, facts, route, ends, steps)
        if output is not None:
            _remark(f"wrote {output}")


def _column(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _vertex(graph: Graph, text: str) -> int:
    """Find a vertex by what was typed: its label, or a number."""
    from warpladder.errors import UnknownVertexError

    try:
        return graph.vertex(text)
    except UnknownVertexError:
        if not text.lstrip("-").isdecimal():
            raise
        return graph.vertex(int(text))


def _warm_up(graph: Graph, wanted: dict[str, Any]) -> float:
    """Load the compiled kernels, or compile them where no earlier run has; return the seconds.

    Done apart, so that the time of the run itself can be shown.
    """
    import numpy as np

    from warpladder.shortest_paths.api import default_dtype, shortest_paths
    from warpladder.shortest_paths.cpu import SERIAL_UP_TO
    from warpladder.shortest_paths.graph import distance_dtype

    began = perf_counter()
    if wanted["method"] != "dijkstra":
        n = min(graph.n, SERIAL_UP_TO + 1)
        asked = wanted["dtype"]
        dtype = default_dtype(graph) if asked is None else distance_dtype(asked, "--dtype")
        shortest_paths(np.zeros((n, n), dtype), next_hops=wanted["next_hops"])
    return perf_counter() - began


def _solve(graph: Graph, wanted: dict[str, Any]) -> tuple[ShortestPaths, float]:
    """Run, with a progress bar on standard error once the run has taken a while."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from warpladder.cli.output import stderr
    from warpladder.shortest_paths.api import shortest_paths

    console = stderr()
    columns = (TextColumn("shortest paths"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    began = perf_counter()
    shown = Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with shown as bar:
        task = bar.add_task("run", total=1.0, visible=False)

        def show(done: float) -> None:
            late = perf_counter() - began > _PROGRESS_FROM_SECONDS / 4
            expected = (perf_counter() - began) / done if done else 0.0
            bar.update(task, completed=done, visible=late and expected > _PROGRESS_FROM_SECONDS)

        answer = shortest_paths(graph, **wanted, progress=show)
        seconds = perf_counter() - began
    return answer, seconds


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
    if answer.method == "floyd-warshall":
        facts["relaxations_per_second"] = graph.n**3 / seconds
    if graph.n:
        facts["longest_distance"] = answer.diameter(reachable_only=True)
    return facts


def _route(answer: ShortestPaths, start: int, end: int) -> dict[str, Any]:
    """Return the path between two vertex indices with the length of each leg."""
    from warpladder.shortest_paths.paths import walk_pairs

    graph = answer.graph
    assert answer.next_hops is not None  # noqa: S101 - asked for together with the path
    vertices = walk_pairs(answer.next_hops, _pair(start, end))[0].tolist()
    legs = [
        {
            "from": graph.label(u),
            "to": graph.label(v),
            "length": answer.dist_matrix[u, v].item(),
        }
        for u, v in pairwise(vertices)
    ]
    value = answer.dist_matrix[start, end]
    if value == answer.unreachable:
        total = float("inf")
    else:
        total = float("-inf") if value == answer.unbounded else value.item()
    return {"vertices": [graph.label(vertex) for vertex in vertices], "legs": legs, "total": total}


def _pair(start: int, end: int) -> Any:
    import numpy as np

    return np.array([[start, end]], np.int64)


def _trace(graph: Graph, dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
    """Return M_0 .. M_n: distances over paths through the first k vertices only."""
    from warpladder.shortest_paths.trace import trace_matrices

    return trace_matrices(graph, dtype)


def _json_details(
    answer: ShortestPaths, route: dict[str, Any] | None, steps: list[np.ndarray[Any, Any]]
) -> dict[str, Any]:
    first = min(_SHOWN, answer.graph.n)
    details: dict[str, Any] = {
        "labels": [answer.graph.label(vertex) for vertex in range(first)],
        "distances": _plain(answer, answer.dist_matrix[:first, :first]),
    }
    if route is not None:
        details["path"] = route
    if steps:
        details["trace"] = [_plain(answer, step) for step in steps]
    return details


def _plain(answer: ShortestPaths, matrix: np.ndarray[Any, Any]) -> list[list[Any]]:
    special = {answer.unreachable: None, answer.unbounded: "-inf"}
    return [[special.get(value, value.item()) for value in row] for row in matrix]


def _print(
    answer: ShortestPaths,
    facts: dict[str, Any],
    route: dict[str, Any] | None,
    ends: tuple[int, int] | None,
    steps: list[np.ndarray[Any, Any]],
) -> None:
    from rich.table import Table

    from warpladder.cli.output import stdout

    console = stdout()
    for k, step in enumerate(steps):
        via = f"M_{k}" if k == 0 else f"M_{k}: paths through {answer.graph.label(k - 1)} too"
        console.print(f"[bold]{via}[/]")
        console.print(_matrix_table(answer, step), "")
    summary = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    summary.add_column(style="bold", no_wrap=True)
    summary.add_column(overflow="fold")
    kind = "directed" if facts["directed"] else "undirected"
    summary.add_row("graph", f"{facts['vertices']:,} vertices, {facts['edges']:,} {kind} edges")
    summary.add_row("components", f"{facts['components']:,}")
    summary.add_row("method", facts["why"])
    pace = ""
    if "relaxations_per_second" in facts:
        pace = f", {_si(facts['relaxations_per_second'])} relaxations/s"
    summary.add_row("time", f"{_si(facts['seconds'])}s ({facts['dtype']}){pace}")
    if facts["setup_seconds"] > _WORTH_TELLING_SECONDS:
        summary.add_row(
            "set-up", f"{_si(facts['setup_seconds'])}s to compile kernels, kept for the next run"
        )
    if "longest_distance" in facts:
        summary.add_row("longest", _number(facts["longest_distance"]))
    console.print(summary)
    first = min(_SHOWN, answer.graph.n)
    if first and not steps:
        console.print("", _matrix_table(answer, answer.dist_matrix[:first, :first]), sep="\n")
    if route is not None and ends is not None:
        console.print("", _route_table(answer.graph, route, ends), sep="\n")


def _matrix_table(answer: ShortestPaths, matrix: np.ndarray[Any, Any]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("", style="bold")
    for vertex in range(len(matrix)):
        table.add_column(str(answer.graph.label(vertex)), justify="right")
    special = {answer.unreachable: "--", answer.unbounded: "-inf"}
    for vertex, row in enumerate(matrix):
        cells = [special.get(value) or _number(value.item()) for value in row]
        table.add_row(str(answer.graph.label(vertex)), *cells)
    return table


def _route_table(graph: Graph, route: dict[str, Any], ends: tuple[int, int]) -> Table | str:
    from rich.table import Table

    start, end = (graph.label(vertex) for vertex in ends)
    if not route["vertices"]:
        if route["total"] < 0:
            return f"a negative cycle lies between {start} and {end}"
        return f"no path leads from {start} to {end}"
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_footer=True)
    table.add_column(f"path from {start} to {end}", footer="total")
    table.add_column("length", justify="right", footer=_number(route["total"]))
    for leg in route["legs"]:
        table.add_row(f"{leg['from']} -> {leg['to']}", _number(leg["length"]))
    return table


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _si(value: float) -> str:
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value / 1e-6:.3g} u"


def _remark(text: str) -> None:
    typer.echo(text, err=True)
