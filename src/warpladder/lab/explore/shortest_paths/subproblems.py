"""Dynamic programming: what it saves to keep the answers to smaller problems.

The shortest way to a vertex ends with an edge from one of its predecessors, so whoever knows how
far these are knows the rest by one addition each. HB asks it of a graph without cycles, and gives
two ways: to ask recursively and keep every answer in a table, or to take the vertices in an order
in which predecessors come first. The third way, to ask recursively and keep nothing, is what both
are to be compared with.

Here on streets of a town that lead east and south only: s by s crossings, the longest way has
2 * s - 2 streets. The vertices in an order of which spot check 1 asks: row by row would do; here
the standard library's sorter finds one.

Expect: without a table the calls are counted by the ways: a crossing in row i and column j,
both counted from 0, takes one call and those of its one or two predecessors, in all
(i + j + 2 over i + 1) - 1. That is nearly four times as much for each s more: 184,755 for 10 by 10.
With a table each of the s * s crossings is worked out once, and each of the 2 * s * (s - 1) streets
is looked at once; the order does the same without a call.

Source: HB 1.2; HB spot check 1
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import Any, TypeVar

import numpy as np

from warpladder.errors import WarpladderError
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)
from warpladder.shortest_paths.generators_hochberg import graph2_end

__all__ = ["EXPLORATION", "comes_after_its_predecessors", "in_order", "memoized", "recursive"]

Vertex = TypeVar("Vertex", bound=Hashable)
#: By vertex: the length of the edge from each of its predecessors.
Predecessors = Mapping[Vertex, Mapping[Vertex, int]]

#: What HB's text tells of the figure: from where one comes to B, and to these four.
_TOLD = {"W": "JX", "X": "GDY", "Y": "DEH", "Z": "YK"}
_HB_ORDER = "ACFEDGIHYXJWKZB"


def comes_after_its_predecessors(
    order: Iterable[Vertex], predecessors: Mapping[Vertex, Iterable[Vertex]]
) -> bool:
    """Return whether every vertex of an order stands behind its predecessors, as spot check 1 asks.

    Examples
    --------
    >>> comes_after_its_predecessors("ABC", {"C": "AB"})
    True
    >>> comes_after_its_predecessors("CAB", {"C": "AB"})
    False
    """
    seen: set[Vertex] = set()
    for vertex in order:
        if not seen.issuperset(predecessors.get(vertex, ())):
            return False
        seen.add(vertex)
    return True


def recursive(predecessors: Predecessors[Any], start: Any, end: Any) -> tuple[float, int]:
    """Return how far it is and how many calls it took to find out, keeping nothing."""
    if end == start:
        return 0, 1
    best, calls = float("inf"), 1
    for before, length in predecessors[end].items():
        far, made = recursive(predecessors, start, before)
        best, calls = min(best, far + length), calls + made
    return best, calls


def memoized(
    predecessors: Predecessors[Any], start: Any, end: Any, table: dict[Any, float] | None = None
) -> tuple[float, int]:
    """Return how far it is and how many calls it took, with a table of what is known."""
    known = {start: 0.0} if table is None else table
    if end in known:
        return known[end], 1
    best, calls = float("inf"), 1
    for before, length in predecessors[end].items():
        far, made = memoized(predecessors, start, before, known)
        best, calls = min(best, far + length), calls + made
    known[end] = best
    return best, calls


def in_order(predecessors: Predecessors[Any], start: Any, end: Any) -> tuple[float, int]:
    """Return how far it is and how many vertices were worked out, predecessors first."""
    far: dict[Any, float] = {}
    for vertex in TopologicalSorter(predecessors).static_order():
        ways = (far[before] + length for before, length in predecessors[vertex].items())
        far[vertex] = 0.0 if vertex == start else min(ways, default=float("inf"))
    return far[end], len(far)


def _town(s: int) -> dict[tuple[int, int], dict[tuple[int, int], int]]:
    """Return the streets that lead to each crossing, with lengths drawn at random."""
    lengths = np.random.default_rng(s).integers(1, 99, (s, s, 2)).tolist()
    return {
        (i, j): {
            before: lengths[i][j][way]
            for way, before in enumerate(((i - 1, j), (i, j - 1)))
            if min(before) >= 0
        }
        for i in range(s)
        for j in range(s)
    }


def _run(setting: Setting) -> Findings:
    rows = [
        _row(s) for s in setting.watch(setting.sizes, lambda s: f"{s} by {s}", lambda s: 4.0**s)
    ]
    counts = Table(
        "s by s crossings: what was asked and worked out",
        (
            Column("s", "s", "count"),
            Column("far", "length"),
            Column("recursive", "calls, no table", "count"),
            Column("memoized", "calls, table", "count"),
            Column("in_order", "in order", "count"),
        ),
        tuple(rows),
    )
    panel = Panel(
        "What it takes to find the shortest way",
        "crossings along a side",
        "calls, vertices",
        tuple(
            Series(name, setting.sizes, tuple(float(row[key]) for row in rows))
            for name, key in (
                ("recursion, no table", "recursive"),
                ("recursion with a table", "memoized"),
                ("predecessors first", "in_order"),
            )
        ),
        log_base=10,
    )
    return Findings((_last_step(), counts), _answer(rows), (panel,), (_REMARK,))


def _row(s: int) -> dict[str, Any]:
    town, last = _town(s), (s - 1, s - 1)
    found = {way.__name__: way(town, (0, 0), last) for way in (recursive, memoized, in_order)}
    if len({far for far, _ in found.values()}) > 1:
        raise WarpladderError(
            f"three ways to one length differ in a town of {s} by {s}: this is a fault of "
            "warpladder, please report it"
        )
    return {
        "s": s,
        "far": found["in_order"][0],
        **{name: count for name, (_, count) in found.items()},
    }


def _last_step() -> Table:
    """Return HB's table of the last step, worked out from what its text tells."""
    end = graph2_end()
    names = end.labels or ()
    edges = {
        (names[u], names[v]): weight
        for u, v, weight in zip(
            end.sources.tolist(),
            end.targets.tolist(),
            np.asarray(end.weights).tolist(),
            strict=True,
        )
    }
    rows = tuple(
        {
            "by": by,
            "to": edges["A", by],
            "on": edges[by, "B"],
            "all": edges["A", by] + edges[by, "B"],
        }
        for by in _TOLD
    )
    columns = (
        Column("by", "last but one", "text"),
        Column("to", "from A", "count"),
        Column("on", "to B", "count"),
        Column("all", "in all", "count"),
    )
    return Table("HB's graph2: the last step from A to B", columns, rows)


def _answer(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    asked = [before for known in _TOLD.values() for before in known]
    smaller = set(asked) - set(_TOLD)
    fits = comes_after_its_predecessors(_HB_ORDER, {**_TOLD, "B": "".join(_TOLD)})
    most = rows[-1]
    return (
        (
            f"In HB's graph: W, X, Y and Z ask for {len(asked)} smaller problems, of which "
            f"{len(smaller)} are others than themselves: they overlap, and a table answers each "
            "once. The shortest way comes by Y. HB's own answer to spot check 1 "
            f"{'agrees' if fits else 'does not agree'} with all that the text tells of the figure."
        ),
        (
            f"In a town of {most['s']} by {most['s']} crossings {most['recursive']:,} calls "
            f"without a table, {most['memoized']:,} with one, and {most['in_order']:,} vertices "
            "taken in order. Floyd-Warshall is of the third kind: its smaller problems are the "
            "ways by the first k vertices, and it takes k in order."
        ),
    )


_REMARK = (
    "HB's graph2 is a figure, which our copy of the text lacks: what the text tells of it is here, "
    "and in `warpladder make-graph graph2-end`."
)

EXPLORATION = Exploration(
    name="subproblems",
    question="Dynamic programming: why keep answers to smaller problems?",
    source="HB 1.2; HB spot check 1",
    run=_run,
    sizes=(1, 2, 4, 6, 8, 10),
    largest=12,
    why_largest="without a table the calls grow like 4 ** s",
    rung="shortest-paths/sequential-cpu",
)
