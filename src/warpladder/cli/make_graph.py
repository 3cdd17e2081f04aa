"""``warpladder make-graph``: graphs to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpladder.cli.options import Command

if TYPE_CHECKING:
    from warpladder.formats.edges import EdgeTable
    from warpladder.shortest_paths.graph import Graph

__all__ = ["make_graph"]

# Formats that know a vertex by its edges alone.
_BY_EDGES_ALONE = {"hochberg", "edges"}

make_graph = typer.Typer(
    help="""Make a graph to try things on.

    Vertices are called 0, 1, 2, ..., those of graph1 and graph2-end by letters;
    in DIMACS, MatrixMarket and METIS files, which count from 1, they are
    1, 2, 3, ... The same options give the same graph every time.

    [bold]warpladder make-graph cycle --n 10 > ring.txt[/]

    [bold]warpladder make-graph random --n 1000 --density 0.1 -o random.gr[/]
    """,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_Vertices = Annotated[
    int, typer.Option("--n", help="Number of vertices.", min=1, show_default=False)
]
_OneWay = Annotated[
    bool, typer.Option("--directed/--undirected", help="Whether edges lead one way.")
]
_BothWays = Annotated[
    bool,
    typer.Option(
        "--directed/--undirected",
        help="Whether neighbours have two edges, one each way with a weight of its own, or one.",
    ),
]
_Weights = Annotated[
    str | None,
    typer.Option(
        help="Draw whole weights from LOW to HIGH; without it, every edge counts 1.",
        metavar="LOW:HIGH",
        show_default=False,
    ),
]
_Seed = Annotated[int, typer.Option(help="Another seed draws another graph.", min=0)]
_Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="The file, packed if it ends in .gz; without it, standard output.",
        show_default=False,
    ),
]
_Format = Annotated[
    str | None,
    typer.Option(
        help="hochberg, dimacs, matrix-market, metis or edges; without it, what the file's "
        "extension says (.hb, .gr, .mtx, .graph, .csv, ...), and hochberg for .txt and standard "
        "output.",
        metavar="NAME",
        show_default=False,
    ),
]
_Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document about the file; it needs -o.")
]


@make_graph.command("cycle", cls=Command)
def _cycle(
    n: _Vertices,
    directed: _OneWay = True,
    weight: Annotated[int, typer.Option(help="Weight of every edge.")] = 1,
    output: _Output = None,
    format: _Format = None,  # noqa: A002 - the option is called --format
    json: _Json = False,
) -> None:
    """Make a ring: from every vertex to the next, from the last to the first.

    Undirected, it is a good test of Floyd-Warshall, which needs all its n steps
    for it (Hochberg).
    """
    _check_format(format)
    from warpladder.shortest_paths.generators import cycle

    _save(cycle(n, directed=directed, weight=weight), output, format, json=json)


@make_graph.command("random", cls=Command)
def _random(
    n: _Vertices,
    density: Annotated[
        float | None,
        typer.Option(help="Share of the possible edges, or give --edges.", min=0, max=1),
    ] = None,
    edges: Annotated[
        int | None, typer.Option(help="Number of edges, or give --density.", min=0)
    ] = None,
    directed: _OneWay = True,
    weights: _Weights = None,
    seed: _Seed = 0,
    output: _Output = None,
    format: _Format = None,  # noqa: A002 - the option is called --format
    json: _Json = False,
) -> None:
    """Draw edges at random, no pair of vertices being preferred.

    Vertices may stay without an edge; dimacs, matrix-market and metis have a
    place for them. In hochberg and edges, which have none, such a vertex has an
    edge to itself, which changes no distance.
    """
    if (density is None) == (edges is None):
        raise typer.BadParameter("give one of them, and only one", param_hint="--density, --edges")
    bounds = _bounds(weights)
    _check_format(format)
    from warpladder.shortest_paths.generators import random_graph

    graph = random_graph(
        n, density=density, edges=edges, directed=directed, weights=bounds, seed=seed
    )
    _save(graph, output, format, json=json)


@make_graph.command("grid", cls=Command)
def _grid(
    rows: Annotated[
        int, typer.Option(help="Vertices from top to bottom.", min=1, show_default=False)
    ],
    columns: Annotated[
        int, typer.Option(help="Vertices from left to right.", min=1, show_default=False)
    ],
    directed: _BothWays = False,
    weights: _Weights = None,
    seed: _Seed = 0,
    output: _Output = None,
    format: _Format = None,  # noqa: A002 - the option is called --format
    json: _Json = False,
) -> None:
    """Make a lattice, like the streets of a planned town: up to four neighbours each.

    The vertex in row r and column c, both counted from 0, is number
    r * columns + c.
    """
    bounds = _bounds(weights)
    _check_format(format)
    from warpladder.shortest_paths.generators import grid

    _save(
        grid(rows, columns, directed=directed, weights=bounds, seed=seed), output, format, json=json
    )


@make_graph.command("scale-free", cls=Command)
def _scale_free(
    n: _Vertices,
    edges_per_vertex: Annotated[
        int, typer.Option(help="Edges that each vertex brings along as it joins.", min=1)
    ] = 2,
    directed: _BothWays = False,
    weights: _Weights = None,
    seed: _Seed = 0,
    output: _Output = None,
    format: _Format = None,  # noqa: A002 - the option is called --format
    json: _Json = False,
) -> None:
    """Grow a network of few hubs and many small vertices, like flights or links.

    Vertices join one by one and prefer neighbours that have many edges already
    (Barabási, Albert).
    """
    bounds = _bounds(weights)
    _check_format(format)
    from warpladder.shortest_paths.generators import scale_free

    graph = scale_free(
        n, edges_per_vertex=edges_per_vertex, directed=directed, weights=bounds, seed=seed
    )
    _save(graph, output, format, json=json)


@make_graph.command("graph1", cls=Command)
def _graph1(
    output: _Output = None,
    format: _Format = None,  # noqa: A002 - the option is called --format
    json: _Json = False,
) -> None:
    """Make the graph of Hochberg's spot checks 2 to 4: six vertices, A to F.

    warpladder paths FILE --trace prints the matrices to check the answers by.
    """
    _check_format(format)
    from warpladder.shortest_paths.generators_hochberg import graph1

    _save(graph1(), output, format, json=json)


@make_graph.command("graph2-end", cls=Command)
def _graph2_end(
    output: _Output = None,
    format: _Format = None,  # noqa: A002 - the option is called --format
    json: _Json = False,
) -> None:
    """Make the last step of Hochberg's acyclic graph: from A by way of W, X, Y or Z to B.

    The graph itself was a picture, which our copy lacks; what its text tells is
    here.
    """
    _check_format(format)
    from warpladder.shortest_paths.generators_hochberg import graph2_end

    _save(graph2_end(), output, format, json=json)


def _bounds(weights: str | None) -> tuple[int, int] | None:
    if weights is None:
        return None
    try:
        low, high = map(int, weights.split(":"))
    except ValueError:
        raise typer.BadParameter(
            f"{weights!r} is not LOW:HIGH, two whole numbers as in 1:100", param_hint="--weights"
        ) from None
    if low > high:
        raise typer.BadParameter(
            f"{weights!r}: the lowest comes first, as in {high}:{low}", param_hint="--weights"
        )
    return low, high


def _check_format(name: str | None) -> None:
    from warpladder.formats.graphs import WRITABLE_FORMATS

    if name is not None and name not in WRITABLE_FORMATS:
        raise typer.BadParameter(
            f"{name!r} is none of {', '.join(WRITABLE_FORMATS)}", param_hint="--format"
        )


def _save(graph: Graph, output: Path | None, format_name: str | None, *, json: bool) -> None:
    """Write the graph to the file or to standard output, and say so on standard error."""
    import shutil
    import tempfile

    from warpladder.cli.output import print_json
    from warpladder.formats.edges import EdgeTable
    from warpladder.formats.graphs import format_to_write, write

    if json and output is None:
        raise typer.BadParameter("--json takes standard output, and so would the graph; give -o")

    name = format_name or ("hochberg" if output is None else format_to_write(output))
    table = EdgeTable(
        graph.sources, graph.targets, graph.weights, graph.n, graph.labels, graph.directed
    )
    remark = ""
    if name in _BY_EDGES_ALONE:
        table, remark = _with_loops(table)
    if output is not None:
        write(output, table, format=format_name or "auto")
    else:
        # Files are written whole or not at all; so is what goes into a pipe.
        with tempfile.TemporaryDirectory() as folder:
            finished = Path(folder, "graph")
            write(finished, table, format=name)
            stdout = typer.get_binary_stream("stdout")
            with finished.open("rb") as file:
                shutil.copyfileobj(file, stdout)
            stdout.flush()
    place = "to standard output" if output is None else str(output)
    kind = "directed" if graph.directed else "undirected"
    edges = f"{graph.edge_count:,} {kind} edges{remark}"
    if json:
        print_json(
            {
                "file": str(output),
                "format": name,
                "vertices": graph.n,
                "edges": graph.edge_count,
                "directed": graph.directed,
                "remark": remark.removeprefix("; "),
            }
        )
        return
    typer.echo(f"wrote {place}: {graph.n:,} vertices, {edges}", err=True)


def _with_loops(table: EdgeTable) -> tuple[EdgeTable, str]:
    """Return the table with an edge from each lonely vertex to itself, and a remark on them.

    No distance is another for it, and the file then names all vertices.
    """
    from dataclasses import replace

    import numpy as np

    touched = np.zeros(table.n, np.bool_)
    touched[table.sources] = touched[table.targets] = True
    lonely = np.flatnonzero(~touched)
    if not lonely.size:
        return table, ""
    weights = table.weights
    if weights is not None:
        weights = np.concatenate((weights, np.zeros(lonely.size, weights.dtype)))
    sources, targets = (np.concatenate((ends, lonely)) for ends in (table.sources, table.targets))
    with_loops = replace(table, sources=sources, targets=targets, weights=weights)
    who = f"vertex {lonely[0]} has none and is written with one to itself"
    if lonely.size > 1:
        who = f"{lonely.size:,} vertices have none and are written with one to themselves"
    return with_loops, f"; {who}"
