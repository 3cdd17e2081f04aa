"""Distances in graphs whose edges are a few whole steps long: checked, then timed beside the peers.

    python benchmarks/whole_lengths.py [--graphs FOLDER]

``--graphs`` names a folder with the four files of which `unweighted_graphs` tells; graphs of other
kinds are made. Each gets lengths of 1 to 3, and of 1 to 10, at random.

Peers: our own Dijkstra, which ``auto`` chooses where searches by levels would take longer, and
SciPy's, which uses one core, starts from some of the vertices, and whose time is scaled up. All
times are CPU seconds, of all cores together, the least of calls in turn, as in `weighted_paths`; of
small graphs some calls follow one another in each turn.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import unweighted_graphs
import warpladder as wl
import weighted_paths
from report import Target, interleave, print_table, print_targets, quantiles, write_results
from warpladder.device.environment import worker_count
from weighted_paths import arcs_of, cpu_seconds, with_weights

_ROUNDS = 4
_SMALL, _CALLS_OF_SMALL = 1000, 20
_SOME = 300
_LONGEST = 3, 10
#: Of the least time of both; what it costs to ask stands between them where they are equal.
_MOST_OF_BEST = 1.25


def main() -> None:
    """Check, time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=Path, help="folder with the four files")
    asked = parser.parse_args()
    hubs = {"hubs, 8,000": weighted_paths.made()["hubs, 8,000"]}
    graphs = {**unweighted_graphs.from_files(asked.graphs), **unweighted_graphs.made(), **hubs}
    rng = np.random.default_rng(2)
    targets: list[Target] = []
    rows = []
    for name, graph in graphs.items():
        for longest in _LONGEST:
            lengths = rng.integers(1, longest + 1, graph.edge_count, np.int32)
            rows.append(_time(name, longest, with_weights(graph, lengths), targets))
    print_table("edges of a few whole steps", [_shown(row) for row in rows])
    print_targets(targets)
    versions = {"scipy": importlib.metadata.version("scipy")}
    document = {"peers": versions, "graphs": rows, "targets": targets}
    print(f"wrote {write_results('whole_lengths', document).name}")


def _time(name: str, longest: int, graph: wl.Graph, targets: list[Target]) -> dict[str, Any]:
    u, v, weights = arcs_of(graph)
    n = graph.n
    matrix = csr_array((weights, (u, v)), shape=(n, n))
    some = np.unique(np.linspace(0, n - 1, _SOME).astype(np.int64))
    ours = partial(wl.shortest_paths, graph, device="cpu")
    answers = [ours(), ours(method="dijkstra"), ours(method="breadth-first")]
    expected = dijkstra(matrix, indices=some)
    for answer in answers:
        found = answer.dist_matrix[some].astype(np.float64)
        found[answer.dist_matrix[some] == answer.unreachable] = np.inf
        if not np.array_equal(found, expected):
            raise SystemExit(f"wrong distances: {name}, {answer.why}")
    chosen = answers[0]
    method, why = chosen.method, chosen.why
    del answers, answer, chosen, found, expected
    passed: list[float] = []
    calls = _CALLS_OF_SMALL if n <= _SMALL else 1
    tasks: dict[str, Callable[[], object]] = {
        "ours": partial(_seconds_each, ours, calls, passed),
        "with next hops": partial(_seconds_each, partial(ours, next_hops=True), calls),
        "by levels": partial(_seconds_each, partial(ours, method="breadth-first"), calls),
        "dijkstra": partial(_seconds_each, partial(ours, method="dijkstra"), calls),
        "scipy": partial(cpu_seconds, partial(dijkstra, matrix, indices=some)),
    }
    figures = interleave(tasks, _ROUNDS)
    figures["scipy"] = [once * n / some.size for once in figures["scipy"]]
    seconds = {task: min(times) for task, times in figures.items()}
    case = f"{name}, up to {longest} steps"
    targets.append(Target(f"{case}, per core scipy", seconds["scipy"] / seconds["ours"], 2))
    best = min(seconds["by levels"], seconds["dijkstra"])
    of_best = seconds["ours"] / best
    targets.append(Target(f"{case}, of the better of both", of_best, _MOST_OF_BEST, at_most=True))
    return {
        "case": name,
        "longest": longest,
        "vertices": n,
        "arcs": u.size,
        "method": method,
        **{f"{task.replace(' ', '_')}_cpu_s": figure for task, figure in seconds.items()},
        "passed_s": min(passed) / calls,
        "why": why,
        "threads": worker_count(),
        "cpu_seconds": {task: quantiles(times) for task, times in figures.items()},
    }


def _seconds_each(
    task: Callable[[], object], calls: int, passed: list[float] | None = None
) -> float:
    """Return the CPU seconds of each of some calls; note the time that passed in all."""

    def repeated() -> None:
        for _ in range(calls):
            task()

    return cpu_seconds(repeated, passed) / calls


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: figure
        for name, figure in row.items()
        if not isinstance(figure, dict) and name != "why"
    }


if __name__ == "__main__":
    main()
