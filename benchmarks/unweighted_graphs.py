"""Graphs without weights, from files and made, for the benchmarks of hop counts.

A folder of files has ``power.graph`` and ``celegans_metabolic.graph`` (NetworKit),
``lagraph_fw_1000.mtx`` (LAGraph) and ``openflights_routes.dat`` (OpenFlights), which are not part
of this project; weights that they have are left away.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import warpladder as wl

__all__ = ["from_files", "like_email_enron", "made"]

_FILES = ("celegans_metabolic.graph", "lagraph_fw_1000.mtx", "power.graph")
_ROUTES = "openflights_routes.dat"


def from_files(folder: Path | None) -> dict[str, wl.Graph]:
    """Return the graphs of a folder without their weights; none where there is no folder."""
    if folder is None:
        return {}
    graphs = {}
    for name in _FILES:
        graph = wl.read_graph(folder / name)
        ends = graph.sources, graph.targets
        graphs[Path(name).stem] = wl.Graph.from_edges(
            ends[0], ends[1], n=graph.n, directed=graph.directed
        )
    routes = [line.split(",") for line in (folder / _ROUTES).read_text().splitlines()]
    airports = [[route[end] for route in routes] for end in (2, 4)]
    graphs["openflights"] = wl.Graph.from_edges(airports[0], airports[1])
    return graphs


def made() -> dict[str, wl.Graph]:
    """Return graphs whose distances are near, far and in between."""
    rng = np.random.default_rng(1)
    side = np.arange(4900).reshape(70, 70)
    grid = (
        np.r_[side[:, 1:].ravel(), side[1:].ravel()],
        np.r_[side[:, :-1].ravel(), side[:-1].ravel()],
    )
    random = rng.integers(0, 5000, (2, 25_000))
    dense = np.nonzero(rng.random((1000, 1000)) < 0.5)
    return {
        "random, 5,000": wl.Graph.from_edges(random[0], random[1], n=5000, directed=False),
        "grid, 70 x 70": wl.Graph.from_edges(grid[0], grid[1], directed=False),
        "path, 4,000": wl.Graph.from_edges(np.arange(3999), np.arange(1, 4000), directed=False),
        "half of all edges, 1,000": wl.Graph.from_edges(dense[0], dense[1], n=1000),
    }


def like_email_enron() -> wl.Graph:
    """Return a graph of the size of SNAP's email-Enron, and with as uneven degrees."""
    n, edges = 36_692, 183_831
    rng = np.random.default_rng(1)
    share = np.arange(1, n + 1) ** -0.75
    ends = rng.permutation(n)[rng.choice(n, (2, edges), p=share / share.sum())]
    return wl.Graph.from_edges(ends[0], ends[1], n=n, directed=False)
