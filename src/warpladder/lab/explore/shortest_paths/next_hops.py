"""The way itself: one more number for each pair of vertices.

HB asks for a second matrix, of the vertex to step to from i on the way to j, and how to make the
whole way of it. The rung `next-hops` carries it along: where the way through k is better, it begins
like the way to k. To walk, look up the hop, go there, and look up again until j is reached: at most
n - 1 look-ups, and n * n numbers hold all ways.

Here on HB's own graph of six vertices, and beside the rung that finds the distances alone.

Expect, per step: the same loads and one more for each row, of the hop that its cells would copy.
An improvement stores two numbers instead of one, so exactly twice the stores. Twice the memory.
On a GPU neither is much of a step that reads the whole matrix: a few per cent.

Source: HB exploration 8
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)
from warpladder.lab.explore.shortest_paths.side_by_side import (
    Counted,
    Timed,
    count_rungs,
    kernel_panel,
    kernel_table,
    ratios,
    remarks,
    time_rungs,
)
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import run as run_rung
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.generators_hochberg import graph1
from warpladder.shortest_paths.rungs._tasks import Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EXPLORATION", "walk"]

_DISTANCES, _HOPS = _RUNGS = ("pivot-in-register", "next-hops")
_FROM, _TO = "C", "B"


def walk(hops: NDArray[np.int32], start: int, end: int) -> list[int]:
    """Return the vertices of the way, both ends included; empty where there is none.

    Parameters
    ----------
    hops
        The vertex to step to from i on the way to j, -1 where there is no way, shape (n, n).
    start, end
        Vertices.

    Examples
    --------
    >>> walk(np.array([[0, 1, 1], [-1, 1, 2], [-1, -1, 2]], np.int32), 0, 2)
    [0, 1, 2]
    >>> walk(np.array([[0, -1], [0, 1]], np.int32), 0, 1)
    []
    """
    way = [start]
    while way[-1] != end:
        step = int(hops[way[-1], end])
        if step < 0:
            return []
        way.append(step)
    return way


def _run(setting: Setting) -> Findings:
    letters, dist, hops = _on_graph1()
    counted = count_rungs(_RUNGS, setting)
    times = time_rungs(_RUNGS, setting)
    matrix = Table(
        "HB's graph1: from the row's vertex to the column's, step to",
        (Column("from", "from", "text"), *(Column(to, to, "text") for to in letters)),
        tuple(
            {"from": letters[i], **{to: letters[hops[i, j]] for j, to in enumerate(letters)}}
            for i in range(len(letters))
        ),
    )
    costs = Table(
        "next-hops beside pivot-in-register",
        (
            Column("n", "n", "count"),
            Column("loads", "times the load requests"),
            Column("sectors", "times the sectors"),
            Column("stores", "times the stores"),
        ),
        tuple(_row(counted, n) for n in setting.sizes),
    )
    panel = Panel(
        "next-hops beside pivot-in-register",
        setting.size_word,
        "times as many",
        tuple(
            Series(key, setting.sizes, tuple(row[key] for row in costs.rows))
            for key in ("loads", "sectors", "stores")
        ),
        connected=False,
    )
    return Findings(
        (matrix, costs, *kernel_table(_RUNGS, times)),
        _answer(letters, dist, hops, times),
        (panel, *kernel_panel(_RUNGS, times, setting)),
        remarks(setting, times),
    )


def _on_graph1() -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """Return the letters, distances and next hops of HB's graph, by the rung on the simulator."""
    from warpladder.simulator import SimulatedDevice

    graph = graph1()
    no_path = inner_no_path(np.int32).item()
    matrix = np.full((graph.n, graph.n), no_path, np.int32)
    matrix[graph.sources, graph.targets] = np.asarray(graph.weights)
    np.fill_diagonal(matrix, 0)
    rung = find_rung(f"shortest-paths/{_HOPS}")[1]
    dist, hops = run_rung(rung, SimulatedDevice(checks=False), Weights(matrix, no_path))
    return list(map(str, graph.labels or ())), dist, hops


def _row(counted: Counted, n: int) -> dict[str, Any]:
    alone, both = counted[_DISTANCES, n], counted[_HOPS, n]
    stores = alone.global_store_requests
    return {
        "n": n,
        "loads": both.global_load_requests / alone.global_load_requests,
        "sectors": both.global_load_sectors / alone.global_load_sectors,
        "stores": both.global_store_requests / stores if stores else None,
    }


def _answer(
    letters: list[str], dist: NDArray[np.int32], hops: NDArray[np.int32], times: Timed
) -> tuple[str, ...]:
    i, j = letters.index(_FROM), letters.index(_TO)
    way = ", ".join(letters[vertex] for vertex in walk(hops, i, j))
    said = [
        (
            f"From {_FROM} to {_TO} the matrix says {letters[hops[i, j]]}; look up again from "
            f"there, and so on: {way}, which is {dist[i, j]} long. HB's own example, from A to G "
            "in its graph2, is a figure that our copy of the text lacks."
        )
    ]
    if times:
        said.append(
            "On this GPU the kernel that carries hops takes so many times as long: "
            f"{ratios(times, _HOPS, _DISTANCES)}."
        )
    return tuple(said)


EXPLORATION = Exploration(
    name="next-hops",
    question="The actual shortest path: what does it take to know it?",
    source="HB exploration 8",
    run=_run,
    sizes=(16, 32, 64, 97, 128),
    largest=512,
    why_largest="the simulator runs n**3 threads",
    rung=f"shortest-paths/{_DISTANCES}",
    gpu_sizes=(1024, 2048, 4096),
)
