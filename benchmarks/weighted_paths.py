"""Distances in sparse graphs with weights: checked, then timed beside the peers in one process.

    python benchmarks/weighted_paths.py [--graphs FOLDER]

``--graphs`` names a folder with ``power.graph`` and ``celegans_metabolic.graph`` (NetworKit),
``lagraph_fw_1000.mtx`` (LAGraph), ``openflights_routes.dat`` and ``openflights_airports.dat``
(OpenFlights), which are not part of this project. The first two have no weights and get some;
routes are as long as the great circle. Graphs of other kinds are made.

Peers: SciPy's ``dijkstra``, igraph's ``distances`` and rustworkx's
``all_pairs_dijkstra_path_lengths``, each with its own kind of graph, made before; ours gets edges.
SciPy and igraph, which use one core, start from some of the vertices, and their times are scaled
up; rustworkx, which uses all, keeps what it finds in maps and is left out for large graphs.

All times are CPU seconds, of all cores together, the least of calls in turn: what a call costs, and
how methods compare per core, where others use the machine, too. The time that passed stands beside
ours.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import igraph
import numpy as np
import rustworkx
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import warpladder as wl
from report import Target, interleave, print_table, print_targets, quantiles, write_results
from warpladder.device.environment import worker_count
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.forms import Edges
from warpladder.shortest_paths.plan import default_dtype
from warpladder.shortest_paths.sparse.by_source import search_some
from warpladder.shortest_paths.sparse.dijkstra import Counts, SourceSearches, work_seconds

_ROUNDS = 4
_SOME = 300
_MOST_FOR_RUSTWORKX = 3500
_EARTH_KM = 6371.0


def main() -> None:
    """Check, time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=Path, help="folder with the five files")
    asked = parser.parse_args()
    targets: list[Target] = []
    graphs = {**_from_files(asked.graphs), **made()}
    rows = []
    for name, graph in graphs.items():
        rows.append(_time(name, graph, targets))
        print_table(name, [{k: v for k, v in rows[-1].items() if not isinstance(v, dict | str)}])
    print_targets(targets)
    peers = {name: importlib.metadata.version(name) for name in ("scipy", "igraph", "rustworkx")}
    document = {"peers": peers, "graphs": rows, "targets": targets}
    print(f"wrote {write_results('weighted_paths', document).name}")


def _from_files(folder: Path | None) -> dict[str, wl.Graph]:
    if folder is None:
        return {}
    rng = np.random.default_rng(1)
    graphs = {}
    for name in ("celegans_metabolic", "power"):
        graph = wl.read_graph(folder / f"{name}.graph")
        whole = rng.integers(1, 100, graph.edge_count, np.int32)
        graphs[f"{name}, below 100"] = with_weights(graph, whole)
        graphs[f"{name}, floats"] = with_weights(graph, rng.random(graph.edge_count))
    graphs["lagraph_fw_1000"] = wl.read_graph(folder / "lagraph_fw_1000.mtx")
    with (folder / "openflights_airports.dat").open(encoding="utf-8") as file:
        places = {row[4]: (float(row[6]), float(row[7])) for row in csv.reader(file)}
    lines = (folder / "openflights_routes.dat").read_text(encoding="utf-8").splitlines()
    ends = [(line.split(",")[2], line.split(",")[4]) for line in lines]
    ends = [pair for pair in ends if pair[0] in places and pair[1] in places]
    froms, tos = ([places[pair[side]] for pair in ends] for side in (0, 1))
    lengths = _great_circles(np.radians(froms), np.radians(tos))
    sources, targets = ([pair[side] for pair in ends] for side in (0, 1))
    km = lengths.round().astype(np.int32)
    graphs["openflights, km"] = wl.Graph.from_edges(sources, targets, km)
    graphs["openflights, floats"] = wl.Graph.from_edges(sources, targets, lengths)
    return graphs


def with_weights(graph: wl.Graph, weights: NDArray[Any]) -> wl.Graph:
    """Return a graph with the same edges and other weights."""
    return wl.Graph.from_edges(
        graph.sources, graph.targets, weights, n=graph.n, directed=graph.directed
    )


def _great_circles(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    latitudes = np.sin(one[:, 0]) * np.sin(other[:, 0])
    both = np.cos(one[:, 0]) * np.cos(other[:, 0]) * np.cos(one[:, 1] - other[:, 1])
    angles: NDArray[Any] = np.arccos(np.clip(latitudes + both, -1, 1))
    return _EARTH_KM * angles


def made() -> dict[str, wl.Graph]:
    """Return graphs with many ways and few, with hubs, and long thin ones."""
    rng = np.random.default_rng(1)
    random = rng.integers(0, 5000, (2, 25_000))
    side = np.arange(10_000).reshape(100, 100)
    grid = (
        np.r_[side[:, 1:].ravel(), side[1:].ravel()],
        np.r_[side[:, :-1].ravel(), side[:-1].ravel()],
    )
    share = np.arange(1, 8001) ** -0.75
    hubs = rng.permutation(8000)[rng.choice(8000, (2, 40_000), p=share / share.sum())]
    path = np.arange(3999), np.arange(1, 4000)
    dense = np.nonzero(rng.random((1000, 1000)) < 0.5)

    def graph(ends: Any, weights: NDArray[Any], n: int, *, directed: bool = False) -> wl.Graph:
        return wl.Graph.from_edges(ends[0], ends[1], weights, n=n, directed=directed)

    return {
        "random, 5,000": graph(random, rng.integers(1, 1000, 25_000, np.int32), 5000),
        "random, 5,000, floats": graph(random, rng.random(25_000), 5000),
        "roads, 100 x 100": graph(grid, rng.integers(50, 150, grid[0].size, np.int32), 10_000),
        "roads, 100 x 100, floats": graph(grid, rng.exponential(size=grid[0].size), 10_000),
        "hubs, 8,000": graph(hubs, rng.integers(1, 100, 40_000, np.int32), 8000),
        "hubs, 8,000, floats": graph(hubs, rng.random(40_000), 8000),
        "path, 4,000": graph(path, rng.integers(1, 100, 3999, np.int32), 4000),
        "half of all edges, 1,000": graph(
            dense, rng.integers(1, 1000, dense[0].size, np.int32), 1000, directed=True
        ),
    }


def arcs_of(graph: wl.Graph) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return each arc once, both of an undirected edge, the lightest of parallel ones, no loops."""
    assert graph.weights is not None  # noqa: S101 - all of them have weights
    u, v, weights = graph.sources, graph.targets, graph.weights.astype(np.float64)
    if not graph.directed:
        u, v, weights = np.r_[u, v], np.r_[v, u], np.r_[weights, weights]
    u, v, weights = u[u != v], v[u != v], weights[u != v]
    order = np.lexsort((weights, v, u))
    u, v, weights = u[order], v[order], weights[order]
    first = np.ones(u.size, np.bool_)
    first[1:] = (u[1:] != u[:-1]) | (v[1:] != v[:-1])
    return u[first], v[first], weights[first]


def _time(name: str, graph: wl.Graph, targets: list[Target]) -> dict[str, Any]:
    u, v, weights = arcs_of(graph)
    n = graph.n
    matrix = csr_array((weights, (u, v)), shape=(n, n))
    some = np.unique(np.linspace(0, n - 1, _SOME).astype(np.int64))
    pairs = np.c_[u, v]
    network = igraph.Graph(n, pairs, directed=True)
    answer = wl.shortest_paths(graph, device="cpu", method="dijkstra", next_hops=True)
    chosen = wl.shortest_paths(graph, device="cpu")
    found = answer.dist_matrix[some].astype(np.float64)
    found[answer.dist_matrix[some] == answer.unreachable] = np.inf
    if not np.array_equal(found, dijkstra(matrix, indices=some)):
        raise SystemExit(f"wrong distances: {name}")
    why = chosen.why
    del answer, chosen, found
    passed: list[float] = []
    ours = partial(wl.shortest_paths, graph, device="cpu", method="dijkstra")
    tasks: dict[str, Callable[[], object]] = {
        "ours": partial(cpu_seconds, ours, passed),
        "with next hops": partial(cpu_seconds, partial(ours, next_hops=True)),
        "scipy": partial(cpu_seconds, partial(dijkstra, matrix, indices=some)),
        "igraph": partial(cpu_seconds, partial(network.distances, some.tolist(), weights=weights)),
    }
    if n <= _MOST_FOR_RUSTWORKX:
        known = rustworkx.PyDiGraph()
        known.add_nodes_from(range(n))
        known.add_edges_from(list(zip(u.tolist(), v.tolist(), weights.tolist(), strict=True)))
        lengths = partial(rustworkx.all_pairs_dijkstra_path_lengths, known, float)
        tasks["rustworkx"] = partial(cpu_seconds, lengths)
    figures = interleave(tasks, _ROUNDS)
    for peer in ("scipy", "igraph"):
        figures[peer] = [once * n / some.size for once in figures[peer]]
    seconds = {task: min(times) for task, times in figures.items()}
    for peer in set(seconds) & {"scipy", "igraph", "rustworkx"}:
        times = seconds[peer] / seconds["ours"]
        targets.append(Target(f"{name}, per core {peer}", times, 2 if peer == "scipy" else 1))
    model = _model(graph)
    for kind in ("counted", "sampled"):
        off = model[f"{kind}_s"] / seconds["ours"]
        wrong = max(off, 1 / off)
        targets.append(Target(f"{name}, {kind} estimate", wrong, 1.5, at_most=True))
    return {
        "case": name,
        "vertices": n,
        "arcs": u.size,
        **{f"{task.replace(' ', '_')}_cpu_s": figure for task, figure in seconds.items()},
        "passed_s": min(passed),
        "times_scipy": seconds["scipy"] / seconds["ours"],
        "sampled_s": model["sampled_s"],
        "model": model,
        "why": why,
        "threads": worker_count(),
        "cpu_seconds": {task: quantiles(times) for task, times in figures.items()},
    }


def cpu_seconds(task: Callable[[], object], passed: list[float] | None = None) -> float:
    """Return the CPU seconds of a task, of all its threads; note the time that passed."""
    began, cpu = perf_counter(), process_time()
    task()
    used = process_time() - cpu
    if passed is not None:
        passed.append(perf_counter() - began)
    return used


def _model(graph: wl.Graph) -> dict[str, Any]:
    """Return what all searches do, what some of them tell of that, and the times estimated."""
    assert isinstance(graph.given, Edges)  # noqa: S101 - all of them are
    dtype = default_dtype(graph.given)
    made = SourceSearches.of(graph.given, dtype)
    lanes = made.arcs[2].dtype
    counts = Counts(*search_some(made.arcs, made.batches, inner_no_path(lanes)).tolist())
    return {
        "lanes": lanes.name,
        "dtype": dtype.name,
        "counts": counts,
        "sampled": (sampled := made.sample()),
        "counted_s": work_seconds(counts, graph.n, lanes, dtype),
        "sampled_s": work_seconds(sampled, graph.n, lanes, dtype),
    }


if __name__ == "__main__":
    main()
