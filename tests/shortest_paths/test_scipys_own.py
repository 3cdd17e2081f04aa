"""SciPy's own tests of shortest paths, run with our call in the place of SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import NegativeCycleError

import warpladder as wl
from warpladder import errors

scipys = pytest.importorskip("scipy.sparse.csgraph.tests.test_shortest_path")


def shortest_path(
    csgraph,
    method="auto",
    directed=True,
    return_predecessors=False,
    unweighted=False,
    overwrite=False,
):
    """Our call under SciPy's signature and its rules: in a dense matrix a 0 or inf is no edge."""
    if sp.issparse(csgraph):
        coo = csgraph.tocoo()
        edges = (coo.row, coo.col, coo.data)
    else:
        ends = np.nonzero((csgraph != 0) & np.isfinite(csgraph))
        edges = (*ends, csgraph[ends])
    weights = np.ones(len(edges[2])) if unweighted else np.asarray(edges[2], float)
    graph = wl.Graph.from_edges(edges[0], edges[1], weights, n=csgraph.shape[0], directed=directed)
    try:
        answer = wl.shortest_paths(graph, next_hops=return_predecessors)
    except errors.NegativeCycleError as fault:
        raise NegativeCycleError(str(fault)) from None
    if return_predecessors:
        return answer.dist_matrix, answer.predecessors
    return answer.dist_matrix


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    monkeypatch.setattr(scipys, "shortest_path", shortest_path)


@pytest.mark.parametrize(
    "name",
    [
        "test_directed",
        "test_undirected",
        "test_directed_sparse_zero",
        "test_undirected_sparse_zero",
        "test_predecessors",
        "test_construct_shortest_path",
        "test_unweighted_path",
        "test_negative_cycles",
        "test_masked_input",
        "test_overwrite",
        "test_sparse_matrices",
    ],
)
def test_scipys(name):
    getattr(scipys, name)()


@pytest.mark.parametrize("directed", [True, False])
def test_scipys_about_direction(directed):
    for n in (10, 100):
        scipys.test_star_graph(n, "FW", directed)
    scipys.test_construct_dist_matrix_predecessors_error(directed)


def test_scipys_about_methods():
    scipys.test_negative_weights("FW")
    scipys.test_buffer("FW")
