"""Half of a symmetric matrix: the same bits as the whole, and only where it is symmetric."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from oracles import absent, as_float, check_hops, distances, random_weights

import warpladder as wl
from choosing import large, only
from warpladder.errors import NegativeCycleError
from warpladder.shortest_paths import cpu
from warpladder.shortest_paths.api import _engine
from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF, is_symmetric
from warpladder.shortest_paths.solve import Options

shortest_paths = partial(wl.shortest_paths, device="cpu")

#: About the panels: one more, one less, a part of one, and those of twice the height.
SIZES = (257, 287, 288, 289, 401, 577, 1031)
#: What other tests compile too.
DTYPES = ("int16", "float32", "int32", "int64", "float64")


def both_ways(weights):
    """Return the lighter weight of both directions."""
    return np.minimum(weights, weights.T)


@pytest.fixture
def directed(monkeypatch):
    """Return an answer that has been computed for both directions, and says nothing of halves."""

    def answer(graph, **options):
        with monkeypatch.context() as patch:
            patch.setattr(cpu, "is_symmetric", lambda _: False)
            found = shortest_paths(graph, **options)
        assert BY_HALF not in found.why
        return found

    return answer


@pytest.mark.parametrize(("n", "dtype"), only(lambda _, dtype: dtype == "float32", SIZES, DTYPES))
def test_half_has_the_bits_of_the_whole(n, dtype, directed):
    # Few enough edges for detours and, in one corner, pairs without a path.
    weights = both_ways(random_weights(n, dtype, density=3 / n, seed=n))
    weights[:7], weights[:, :7] = absent(dtype), absent(dtype)
    if weights.dtype.kind == "f":
        weights /= weights.dtype.type(np.pi)
    answer, whole = shortest_paths(weights), directed(weights)
    assert BY_HALF in answer.why
    assert answer.dist_matrix.tobytes() == whole.dist_matrix.tobytes()
    answer, whole = shortest_paths(weights, next_hops=True), directed(weights, next_hops=True)
    assert BY_HALF in answer.why
    assert answer.dist_matrix.tobytes() == whole.dist_matrix.tobytes()
    assert answer.next_hops.tobytes() == whole.next_hops.tobytes()
    check_hops(weights, answer.dist_matrix, answer.next_hops)
    assert not (answer.dist_matrix[:7, 7:] != absent(dtype)).any()
    if n < 500:
        exact = distances(weights)
        assert np.allclose(as_float(answer.dist_matrix), exact, rtol=n * 1e-7, atol=0)


@pytest.mark.parametrize("workers", ["1", "5"])
def test_any_number_of_workers_gives_the_same_bits(workers, monkeypatch):
    weights = both_ways(np.random.default_rng(8).random((600, 600), np.float32))
    usual = shortest_paths(weights, next_hops=True)
    monkeypatch.setenv("NUMBA_NUM_THREADS", workers)
    other = shortest_paths(weights, next_hops=True)
    assert np.array_equal(other.dist_matrix, usual.dist_matrix)
    assert np.array_equal(other.next_hops, usual.next_hops)


def test_zeros_keep_their_signs(directed):
    """The sum of two negative zeros is one, which equals any other zero."""
    rng = np.random.default_rng(3)
    kinds = np.array([-0.0, 0.0, 1, np.inf], np.float32)
    weights = rng.choice(kinds, (300, 300), p=[0.004, 0.004, 0.01, 0.982])
    weights = np.where(np.tri(300, dtype=np.bool_), weights, weights.T)
    answer = shortest_paths(weights)
    assert BY_HALF in answer.why
    signs = np.signbit(answer.dist_matrix)
    assert signs.any()
    assert not signs[answer.dist_matrix == 0].all()
    assert answer.dist_matrix.tobytes() == directed(weights).dist_matrix.tobytes()


@pytest.mark.parametrize("cell", [(299, 0), (0, 299), (150, 149), (298, 299)])
def test_one_edge_that_leads_one_way_makes_a_digraph(cell):
    weights = both_ways(random_weights(300, "float32", density=0.02, seed=4))
    weights[cell] = 0.5
    answer = shortest_paths(weights)
    assert BY_HALF not in answer.why
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 33, 101])
@pytest.mark.parametrize("dtype", ["float32", *large("int16", "int32", "int64", "float64")])
def test_symmetry_is_seen_bit_for_bit(n, dtype):
    matrix = both_ways(random_weights(n, dtype, density=0.5, low=0, seed=n))
    assert is_symmetric(matrix)
    rng = np.random.default_rng(n)
    for i, j in rng.integers(0, n, (40, 2)) if n else ():
        changed = matrix.copy()
        changed[i, j] = 100
        assert is_symmetric(changed) == (i == j)


def test_zeros_of_two_signs_and_large_matrices_of_both_kinds():
    assert not is_symmetric(np.array([[0, -0.0], [0.0, 0]]))
    matrix = both_ways(np.random.default_rng(0).random((1200, 1200), np.float32))
    assert is_symmetric(matrix)
    matrix[1199, 0] += 1
    assert not is_symmetric(matrix)


def test_edges_of_an_undirected_graph_and_a_matrix_with_its_own_no_edge(directed):
    rng = np.random.default_rng(5)
    ends, weights = rng.integers(0, 400, (2, 900)), rng.integers(1, 99, 900)
    graph = wl.Graph.from_edges(*ends, weights, n=400, directed=False)
    answer = shortest_paths(graph, dtype="int16", method="floyd-warshall")
    assert BY_HALF in answer.why
    matrix = np.full((400, 400), -1, np.int16)
    for u, v, weight in zip(*ends.tolist(), weights.tolist(), strict=True):
        lighter = weight if matrix[u, v] < 0 else min(weight, matrix[u, v])
        matrix[u, v] = matrix[v, u] = lighter
    marked = shortest_paths(matrix, no_edge=-1)
    assert BY_HALF in marked.why
    whole = directed(graph, dtype="int16", method="floyd-warshall").dist_matrix
    for found in (answer, marked):
        assert np.array_equal(found.dist_matrix, whole)
    assert (whole == absent("int16")).any()


def test_a_negative_edge_is_a_cycle_and_what_is_left_is_answered(directed):
    weights = both_ways(random_weights(300, "int16", density=0.004, seed=1))
    weights[3, 4] = weights[4, 3] = -1
    with pytest.raises(NegativeCycleError):
        shortest_paths(weights)
    answer = shortest_paths(weights, negative_cycle="mark").dist_matrix
    assert (answer == np.iinfo(np.int16).min).any()
    assert np.array_equal(answer, directed(weights, negative_cycle="mark").dist_matrix)


@pytest.mark.large
def test_a_dtype_that_is_too_narrow_is_widened_all_the_same():
    vertices = np.arange(300)
    matrix = np.full((300, 300), absent("int16"), np.int16)
    matrix[vertices[1:], vertices[:-1]] = matrix[vertices[:-1], vertices[1:]] = 200
    answer = shortest_paths(matrix, method="floyd-warshall")
    assert "int32 because int16 cannot hold" in answer.why
    assert BY_HALF in answer.why
    assert np.array_equal(answer.dist_matrix, 200 * np.abs(vertices[:, None] - vertices))


@pytest.mark.parametrize("n", [600, 1200])
def test_progress_rises_to_one(n):
    seen = []
    shortest_paths(both_ways(random_weights(n, "float32")), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_small_graphs_are_not_halved():
    weights = both_ways(random_weights(cpu.SERIAL_UP_TO, "float32"))
    assert BY_HALF not in shortest_paths(weights).why


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("next_hops", [True, False])
def test_what_is_halved_is_estimated_so(directed, next_hops):
    given = wl.Graph.from_edges([0], [1], n=5000, directed=directed).given
    options = Options(True, next_hops, overwrite=False, mark=False, progress=None)
    dtype = np.dtype("float32")
    whole = cpu.seconds(5000, dtype, carry=next_hops)
    assert (whole > 1.5 * cpu.seconds(5000, dtype)) is next_hops
    estimated = _engine(None, given, options).seconds(5000, dtype)
    assert estimated == whole if directed else whole / 2 < estimated < 0.65 * whole
