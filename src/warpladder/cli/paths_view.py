"""How `warpladder paths` shows its answer: as tables for people, as a document for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from warpladder.cli.output import printable, stdout, with_prefix

if TYPE_CHECKING:
    from warpladder.shortest_paths.result import ShortestPaths

__all__ = ["as_document", "plain", "show"]

_SHOWN = 10
_LABEL_WIDTH = 16
_COLUMN_WIDTH = 60
_WORTH_TELLING_SECONDS = 1.5


def plain(answer: ShortestPaths, value: Any) -> Any:
    """Return a distance as a Python number, with a true infinity for a special entry."""
    if value == answer.unreachable:
        return math.inf
    return -math.inf if value == answer.unbounded else value.item()


def as_document(
    facts: dict[str, Any],
    answer: ShortestPaths,
    route: dict[str, Any] | None,
    steps: list[list[list[Any]]],
) -> dict[str, Any]:
    """Return everything as one JSON document: null for no path, "-inf" for no minimum."""
    first = min(_SHOWN, answer.graph.n)
    document = {
        **facts,
        "labels": [answer.graph.label(vertex) for vertex in range(first)],
        "distances": _without_infinities(_block(answer, first)),
    }
    if route is not None:
        document["path"] = _without_infinities(route)
    if steps:
        document["trace"] = _without_infinities(steps)
    return document


def show(
    facts: dict[str, Any],
    answer: ShortestPaths,
    route: dict[str, Any] | None,
    steps: list[list[list[Any]]],
) -> None:
    """Print the matrices of a trace, a summary, the first distances and the path."""
    console = stdout()
    labels = [
        _printable(answer.graph.label(vertex)) for vertex in range(min(_SHOWN, answer.graph.n))
    ]
    for k, step in enumerate(steps):
        via = f"M_{k}" if k == 0 else f"M_{k}: paths through {labels[k - 1]} too"
        console.print(Text(via, style="bold"))
        console.print(_matrix_table(labels, step, console.width), "")
    console.print(_summary(facts))
    if labels and not steps:
        block = _block(answer, len(labels))
        console.print("", _matrix_table(labels, block, console.width), sep="\n")
    if route is not None:
        console.print("", _route_table(route), sep="\n")


def _summary(facts: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    kind = "directed" if facts["directed"] else "undirected"
    table.add_row("graph", f"{facts['vertices']:,} vertices, {facts['edges']:,} {kind} edges")
    table.add_row("weights", Text(_printable(facts["weights"], _COLUMN_WIDTH)))
    table.add_row("components", f"{facts['components']:,}")
    table.add_row("method", Text(facts["why"]))
    pace = ""
    if "relaxations_per_second" in facts:
        pace = f", {with_prefix(facts['relaxations_per_second'])} relaxations/s"
    table.add_row("time", f"{with_prefix(facts['seconds'])}s ({facts['dtype']}){pace}")
    if facts["setup_seconds"] > _WORTH_TELLING_SECONDS:
        from warpladder.device.kernel_cache import are_kept

        setup = f"{with_prefix(facts['setup_seconds'])}s to compile kernels"
        setup += ", kept for the next run" if are_kept() else ""
        table.add_row("set-up", setup)
    if "longest_distance" in facts:
        table.add_row("longest", _number(facts["longest_distance"]))
    return table


def _matrix_table(labels: list[str], matrix: list[list[Any]], width: int) -> Table:
    """Return a table of as many vertices as fit: a number is shown whole or not at all."""
    cells = [[_number(value) for value in row] for row in matrix]
    columns = [
        max([len(label), *(len(row[vertex]) for row in cells)]) + 1
        for vertex, label in enumerate(labels)
    ]
    used = max(map(len, labels), default=0) + 1
    shown = 0
    while shown < len(labels) and (shown == 0 or used + columns[shown] <= width):
        used += columns[shown]
        shown += 1
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("", style="bold", no_wrap=True)
    for label in labels[:shown]:
        table.add_column(Text(label), justify="right", no_wrap=True)
    for label, row in zip(labels[:shown], cells, strict=False):
        table.add_row(Text(label), *row[:shown])
    return table


def _route_table(route: dict[str, Any]) -> Table | Text:
    start, end = _printable(route["from"]), _printable(route["to"])
    if not route["vertices"]:
        if route["total"] < 0:
            return Text(f"a negative cycle lies between {start} and {end}")
        return Text(f"no path leads from {start} to {end}")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_footer=True)
    table.add_column(Text(f"path from {start} to {end}"), footer="total", overflow="fold")
    table.add_column("length", justify="right", footer=_number(route["total"]), no_wrap=True)
    for leg in route["legs"]:
        ends = f"{_printable(leg['from'])} -> {_printable(leg['to'])}"
        table.add_row(Text(ends), _number(leg["length"]))
    return table


def _block(answer: ShortestPaths, size: int) -> list[list[Any]]:
    return [[plain(answer, value) for value in row[:size]] for row in answer.dist_matrix[:size]]


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_infinities(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_infinities(inner) for inner in value]
    if value == math.inf:
        return None
    return "-inf" if value == -math.inf else value


def _printable(label: object, width: int = _LABEL_WIDTH) -> str:
    """Return a label that cannot steer the terminal, shortened if it is very long."""
    text = printable(str(label))
    return text if len(text) <= width else text[: width - 1] + "\u2026"


def _number(value: float) -> str:
    if value == math.inf:
        return "--"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
