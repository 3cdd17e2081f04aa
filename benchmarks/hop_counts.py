"""Distances in graphs without weights: checked, then timed beside the peers in the same process.

    python benchmarks/hop_counts.py [--graphs FOLDER] [--large]

``--graphs`` names a folder with the four files of which `unweighted_graphs` tells. Graphs of other
kinds are made. ``--large`` adds one of the size of SNAP's email-Enron, and with as uneven degrees:
36,692 vertices, 183,831 edges.

Peers: SciPy's ``shortest_path(unweighted=True)``, rustworkx's ``distance_matrix`` on all cores and
igraph's ``distances``. Each gets its own kind of graph, made before; ours
gets edges. For the large graph SciPy starts from some of the vertices, and its time is scaled up;
its whole answer would take minutes and 11 GB, as would that of rustworkx, which is left out. Ours
is timed by Floyd-Warshall, too, where that takes seconds.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import igraph
import numpy as np
import rustworkx
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, shortest_path

import warpladder as wl
from report import (
    Target,
    interleave,
    print_table,
    print_targets,
    quantiles,
    repeated,
    write_results,
)
from unweighted_graphs import from_files, like_email_enron, made
from warpladder.device.environment import worker_count

_ROUNDS = 3
# Calls that take less than a millisecond are timed so long at once; what the first of them takes
# between the calls of others, which leave nothing of it in the caches, stands beside.
_SMALL, _ROUNDS_OF_SMALL, _TURN_SECONDS = 1000, 9, 10e-3
_MOST_FOR_FLOYD_WARSHALL = 5000
_SOME = 150
Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


def main() -> None:
    """Check, time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=Path, help="folder with the four files")
    parser.add_argument("--large", action="store_true", help="a minute and 6 GB more")
    asked = parser.parse_args()
    targets: list[Target] = []
    graphs = {**from_files(asked.graphs), **made()}
    rows = [_time(name, graph, targets) for name, graph in graphs.items()]
    _print("all hop counts", rows)
    versions = {name: importlib.metadata.version(name) for name in ("scipy", "rustworkx", "igraph")}
    document: dict[str, Any] = {"peers": versions, "graphs": rows}
    write_results("hop_counts", {**document, "targets": targets})
    if asked.large:
        document["large"] = [_time_large(targets)]
        _print("the size of email-Enron", document["large"])
    print_targets(targets)
    print(f"wrote {write_results('hop_counts', {**document, 'targets': targets}).name}")


def _arcs(graph: wl.Graph) -> Ends:
    """Return each arc once, both of an undirected edge, no loops."""
    u, v = graph.sources, graph.targets
    if not graph.directed:
        u, v = np.r_[u, v], np.r_[v, u]
    pairs = np.unique(u[u != v] * graph.n + v[u != v])
    return pairs // graph.n, pairs % graph.n


def _for_peers(graph: wl.Graph) -> tuple[Any, dict[str, Callable[[], object]]]:
    """Return SciPy's form of a graph, and what the other peers do."""
    ends = _arcs(graph)
    matrix = csr_array((np.ones(ends[0].size), ends), shape=(graph.n, graph.n))
    pairs = list(zip(*(end.tolist() for end in ends), strict=True))
    network = rustworkx.PyDiGraph()
    network.add_nodes_from(range(graph.n))
    network.add_edges_from_no_data(pairs)
    tasks: dict[str, Callable[[], object]] = {
        "rustworkx": partial(
            rustworkx.distance_matrix, network, parallel_threshold=0, null_value=np.inf
        ),
        "igraph": igraph.Graph(graph.n, pairs, directed=True).distances,
    }
    return matrix, tasks


def _time(name: str, graph: wl.Graph, targets: list[Target]) -> dict[str, Any]:
    matrix, peers = _for_peers(graph)
    answer = wl.shortest_paths(graph, device="cpu", next_hops=True)
    expected = shortest_path(matrix, unweighted=True)
    _check(answer, expected)
    tasks: dict[str, Callable[[], object]] = {
        "ours": partial(wl.shortest_paths, graph, device="cpu"),
        "with next hops": partial(wl.shortest_paths, graph, device="cpu", next_hops=True),
        "scipy": partial(shortest_path, matrix, unweighted=True),
        **peers,
    }
    if graph.n <= _MOST_FOR_FLOYD_WARSHALL:
        closed = partial(wl.shortest_paths, graph, device="cpu", method="floyd-warshall")
        closed()
        tasks["floyd-warshall"] = closed
    if graph.n > _SMALL:
        figures = interleave(tasks, _ROUNDS)
    else:
        timed = {name: repeated(task, _TURN_SECONDS) for name, task in tasks.items()}
        figures = interleave({"first call": tasks["ours"], **timed}, _ROUNDS_OF_SMALL)
    return _row(name, graph, answer, figures, targets)


def _time_large(targets: list[Target]) -> dict[str, Any]:
    graph = like_email_enron()
    n, arcs = graph.n, _arcs(graph)
    matrix = csr_array((np.ones(arcs[0].size), arcs), shape=(n, n))
    some = np.random.default_rng(1).choice(n, _SOME, replace=False)
    figures: dict[str, list[float]] = {}
    tasks: dict[str, Callable[[], object]] = {
        "ours": partial(wl.shortest_paths, graph, device="cpu"),
        "ours as int16": partial(wl.shortest_paths, graph, device="cpu", dtype="int16"),
        "scipy": partial(dijkstra, matrix, unweighted=True, indices=some),
    }
    answer = wl.shortest_paths(graph, device="cpu")
    _check(answer, dijkstra(matrix, unweighted=True, indices=some), some)
    # Of the answer itself there is room for one.
    told = wl.ShortestPaths(np.empty((0, 0)), None, graph, answer.method, answer.why)
    del answer
    for _ in range(3):
        for name, times in interleave(tasks, 1).items():
            figures.setdefault(name, []).extend(times)
            gc.collect()
    figures["scipy"] = [once * n / _SOME for once in figures["scipy"]]
    row = _row(f"like email-Enron, {n:,}", graph, told, figures, targets)
    seconds = statistics.median(figures["ours"])
    targets.append(Target("like email-Enron, s", seconds, 2.5, at_most=True))
    return row


def _check(answer: wl.ShortestPaths, expected: Any, rows: Any = slice(None)) -> None:
    found = answer.dist_matrix[rows]
    if not np.array_equal(np.where(found == answer.unreachable, np.inf, found), expected):
        raise SystemExit(f"wrong distances: {answer.why}")


def _row(
    name: str,
    graph: wl.Graph,
    answer: wl.ShortestPaths,
    figures: dict[str, list[float]],
    targets: list[Target],
) -> dict[str, Any]:
    seconds = {task: statistics.median(times) for task, times in figures.items()}
    ours = seconds.pop("ours")
    peers = {task: seconds[task] for task in ("scipy", "rustworkx", "igraph") if task in seconds}
    targets += [
        Target(f"{name}, times faster than {peer}", figure / ours, 30 if peer == "scipy" else 1)
        for peer, figure in peers.items()
    ]
    return {
        "case": name,
        "vertices": graph.n,
        "arcs": _arcs(graph)[0].size,
        "ms": 1e3 * ours,
        **{f"{task.replace(' ', '_')}_ms": 1e3 * figure for task, figure in seconds.items()},
        **{f"times_{peer}": figure / ours for peer, figure in peers.items()},
        "threads": worker_count(),
        "why": answer.why,
        "seconds": {task: quantiles(times) for task, times in figures.items()},
    }


def _print(title: str, rows: list[dict[str, Any]]) -> None:
    names = {name for row in rows for name in row if name not in {"why", "seconds", "threads"}}
    order = [name for row in rows for name in row if name in names]
    keys = list(dict.fromkeys(order))
    print_table(title, [{key: row.get(key, "") for key in keys} for row in rows])
    for row in rows:
        print(f"{row['case']}: {row['why']}")


if __name__ == "__main__":
    main()
