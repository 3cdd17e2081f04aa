"""NetworkX's own tests through its backend interface, and what they do not ask."""

from __future__ import annotations

import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest


def test_networkxs_own_tests_pass_on_this_backend():
    tests = ["test_dense.py", "test_dense_numpy.py"]
    folder = "networkx.algorithms.shortest_paths.tests"
    modules = [f"{folder}.{name.removesuffix('.py')}" for name in tests]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", *modules],
        env={**os.environ, "NETWORKX_TEST_BACKEND": "warpladder", "NETWORKX_FALLBACK_TO_NX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    assert "15 passed" in result.stdout


@pytest.fixture
def graph():
    made = nx.gnp_random_graph(40, 0.1, seed=5, directed=True)
    for u, v, data in made.edges(data=True):
        data["weight"] = (7 * u + 3 * v) % 11 + 1
    return made


def test_the_same_answers_as_networkx(graph, monkeypatch):
    # What is cached refers to the graph itself, so it can never be stale.
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})
    ours = nx.floyd_warshall_numpy(graph, backend="warpladder")
    assert np.array_equal(ours, nx.floyd_warshall_numpy(graph, backend="networkx"))
    order = list(reversed(list(graph)))
    ours = nx.floyd_warshall_numpy(graph, nodelist=order, backend="warpladder")
    assert np.array_equal(ours, nx.floyd_warshall_numpy(graph, order, backend="networkx"))
    assert nx.floyd_warshall(graph, backend="warpladder") == nx.floyd_warshall(
        graph, backend="networkx"
    )
    predecessors, dist = nx.floyd_warshall_predecessor_and_distance(graph, backend="warpladder")
    for source, row in predecessors.items():
        for target in row:
            path = nx.reconstruct_path(source, target, predecessors)
            assert nx.path_weight(graph, path, "weight") == dist[source][target]


def test_a_negative_cycle_and_a_wrong_nodelist(graph):
    with pytest.raises(nx.NetworkXError, match="nodelist"):
        nx.floyd_warshall_numpy(graph, nodelist=[0, 1], backend="warpladder")
    ring = nx.DiGraph()
    ring.add_weighted_edges_from([(0, 1, -2), (1, 0, 1)])
    with pytest.raises(nx.NetworkXUnbounded, match="negative cycle"):
        nx.floyd_warshall(ring, backend="warpladder")
