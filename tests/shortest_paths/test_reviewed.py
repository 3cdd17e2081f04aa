"""Cases that once gave a wrong answer, a crash or an untrue reason, each by its story."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from oracles import absent, check_hops, distances

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.shortest_paths import paths, prepare, result
from warpladder.shortest_paths.generators import cycle
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.paths import predecessors_from_hops, walk_pairs
from warpladder.shortest_paths.structure.negative_cycles import find_negative_cycle

INF = np.inf


# The same loops in float64 are among the elevations below.
@pytest.mark.large
def test_height_differences_that_rounding_makes_loop():
    weights = np.array(
        [
            [0, -155.6, -2574.1, INF],
            [INF, 0, -2418.5, -295.0],
            [2574.1, INF, 0, INF],
            [INF, 295.0, -2123.5, 0],
        ],
        np.float32,
    )
    answer = wl.shortest_paths(weights, next_hops=True)
    for source in range(4):
        for target in range(4):
            assert len(answer.path(source, target)) <= 4
    assert answer.predecessors.shape == (4, 4)


@pytest.mark.parametrize("dtype", ["float64", *large("float32")])
@pytest.mark.parametrize("seed", range(40))
def test_elevations_with_one_decimal(dtype, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    height = np.round(rng.random(n) * 3000, 1)
    weights = (height[None, :] - height[:, None]).astype(dtype)
    weights[rng.random((n, n)) < 0.4] = INF
    np.fill_diagonal(weights, 0)
    try:
        answer = wl.shortest_paths(weights, next_hops=True)
    except errors.NegativeCycleError as fault:
        # As rounded, some cycles of such differences really are below zero.
        cycle = fault.cycle
        edges = [float(weights[u, v]) for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
        assert sum(map(Fraction, edges)) < 0
        return
    pairs = [(u, v) for u in range(n) for v in range(n)]
    bound = 4 * n * np.finfo(dtype).eps * 3000
    for (u, v), path in zip(pairs, answer.paths(pairs), strict=True):
        length = sum(float(weights[a, b]) for a, b in pairwise(path))
        if path:
            assert abs(length - answer.dist_matrix[u, v]) <= bound
        else:
            assert answer.dist_matrix[u, v] == INF
    assert answer.predecessors.shape == (n, n)


def test_exact_differences_of_very_different_size_stay_bounded():
    side = 14
    n = side * side
    rows, columns = np.divmod(np.arange(n), side)
    rng = np.random.default_rng(0)
    steps = np.where(
        rng.random(n) < 0.5, 2.0**60 * rng.integers(1, 900, n), rng.integers(1, 900, n)
    )
    height = np.where(rng.random(n) < 0.5, steps, steps / 1024)
    near = np.abs(rows[:, None] - rows) + np.abs(columns[:, None] - columns) == 1
    weights = np.where(near, height[None, :] - height[:, None], INF)
    exact = near & (height[:, None] + np.where(near, weights, 0) == height[None, :])
    weights[~(exact & exact.T)] = INF
    np.fill_diagonal(weights, 0)
    answer = wl.shortest_paths(weights, next_hops=True)
    largest = np.abs(height).max()
    finite = np.isfinite(answer.dist_matrix)
    expected = height[None, :] - height[:, None]
    error = np.abs(answer.dist_matrix - expected)[finite].max()
    assert error <= 4 * n * np.finfo(float).eps * largest


@pytest.mark.parametrize("hops", [False, *large(True)])
def test_overwriting_a_float32_matrix_that_must_widen(hops):
    weights = np.full((4, 4), INF, np.float32)
    weights[0, 1] = weights[1, 2] = 3e38
    weights[2, 3] = 1
    heavy = float(weights[0, 1])
    answer = wl.shortest_paths(weights, next_hops=hops, overwrite=True)
    assert answer.dist_matrix.dtype == np.float64
    assert answer.dist_matrix[0].tolist() == [0, heavy, 2 * heavy, 2 * heavy + 1]
    if hops:
        assert answer.path(1, 3) == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("value", [-INF, np.nan])
def test_what_is_no_weight_is_refused_in_any_dtype(dtype, value):
    with pytest.raises(errors.InputError, match=r"NaN|-inf"):
        wl.shortest_paths([[0.0, value], [1.0, 0.0]], dtype=dtype)


def test_the_largest_weights_of_int64():
    for weight in (2**62 - 2, 2**62 - 1, 2**62):
        try:
            answer = wl.shortest_paths(([0], [1], np.array([weight])))
        except errors.DistanceOverflowError:
            assert weight >= 2**62 - 1
        else:
            assert answer.distance(0, 1) == weight
    edges = ([0, 2], [1, 3], np.array([4611668426241343191, -8796093022356]))
    with suppress(errors.DistanceOverflowError):
        assert wl.shortest_paths(edges).distance(0, 1) == edges[2][0]


@pytest.mark.large
def test_dijkstra_widens_and_refuses_like_floyd_warshall():
    chain = ([0, 1, 2], [1, 2, 3])
    answer = wl.shortest_paths((*chain, np.full(3, 12000, "int16")), method="dijkstra")
    assert answer.dist_matrix.dtype == np.int32
    assert answer.distance(0, 3) == 36000
    with pytest.raises(errors.DistanceOverflowError):
        wl.shortest_paths((*chain, np.full(3, 12000, "int16")), method="dijkstra", dtype="int16")
    with pytest.raises(errors.InputError, match="exact"):
        wl.shortest_paths((*chain, np.full(3, 3e38, "float32")), method="dijkstra")


def test_a_cycle_beyond_double_double_is_not_called_negative():
    weights = [1e200, -1e200, 1e100, 1, -1e100, -0.5]
    graph = Graph.from_edges(np.arange(6), (np.arange(6) + 1) % 6, weights)
    try:
        wl.shortest_paths(graph)
    except errors.NegativeCycleError as fault:
        pytest.fail(f"its weight is 0.5: {fault}")
    # Nor is one elsewhere that is negative passed over then.
    graph = Graph.from_edges([*range(6), 6, 7], [*range(1, 6), 0, 7, 6], [*weights, 1, -2])
    with pytest.raises(errors.NegativeCycleError, match="weight -1: 7 -> 6 -> 7"):
        wl.shortest_paths(graph)


def test_negative_cycles_far_from_each_other_are_not_searched_for_one_by_one(monkeypatch):
    sizes = []

    def count(dist, *rest):
        sizes.append(len(dist))
        return find_negative_cycle(dist, *rest)

    monkeypatch.setattr(prepare, "find_negative_cycle", count)
    even = np.arange(0, 20, 2)
    edges = [*even, *even + 1], [*even + 1, *even], [1.0] * 10 + [-2.0] * 10
    answer = wl.shortest_paths(edges, negative_cycle="mark")
    in_pairs = np.arange(20)[:, None] // 2 == np.arange(20) // 2
    assert np.array_equal(answer.dist_matrix, np.where(in_pairs, -INF, INF))
    assert sizes.count(20) == 2


class TestLabels:
    """A number is a label where labels are numbers, whatever stands for them."""

    def test_numpy_integers(self):
        graph = Graph.from_matrix([[0, 5], [INF, 0]], labels=np.array([10, 20]))
        assert wl.shortest_paths(graph).distance(10, 20) == 5
        with pytest.raises(errors.UnknownVertexError):
            graph.vertex(1)

    def test_numbers_as_text(self, tmp_path):
        path = tmp_path / "g.txt"
        path.write_text("1 2 5\n2 3 5\n--END--\n")
        graph = wl.read_graph(path)
        assert graph.vertex(1) == graph.vertex("1") == 0
        with pytest.raises(errors.UnknownVertexError):
            graph.vertex(0)

    @pytest.mark.parametrize(
        "names", [["1.0", "2.0", "3.0"], [0.5, 2.5, 3.0], ["-1", "x", "y"], ["a", "1e3", "b"]]
    )
    def test_numbers_that_are_no_counts(self, names):
        graph = Graph.from_edges(names[:2], names[1:], [5, 7])
        for index in (1, 2):
            with pytest.raises(errors.UnknownVertexError, match=f"no vertex {index}; labels"):
                graph.vertex(index)
        assert [graph.vertex(name) for name in names] == [0, 1, 2]
        assert Graph.from_edges(["NAN"], ["INF"]).vertex(1) == 1

    def test_vertices_of_a_vast_range_are_found_without_a_dictionary(self, monkeypatch):
        graph = Graph.from_edges([0], [1], n=10**12, labels=range(1, 10**12 + 1))
        monkeypatch.setattr(Graph, "index_of", property(lambda _: pytest.fail("it has no room")))
        for label in (10**12, np.int64(10**12), 1e12):
            assert graph.vertex(label) == 10**12 - 1
        for label in (0, -1, 10**12 + 1, 1.5, INF, "1", None, [1]):
            with pytest.raises(errors.UnknownVertexError, match="no vertex"):
                graph.vertex(label)

    def test_mixed_types_stay_apart(self):
        graph = Graph.from_edges([1, "a"], ["a", "b"], np.array([2, 3], "int32"))
        assert list(graph.labels) == [1, "a", "b"]
        assert wl.shortest_paths(graph, next_hops=True).path(1, "b") == [1, "a", "b"]

    def test_tuples_are_labels(self):
        graph = Graph.from_edges([(0, 0), (0, 1)], [(0, 1), (1, 1)], [2, 3])
        assert wl.shortest_paths(graph).distance((0, 0), (1, 1)) == 5


class TestMarks:
    """Pairs without a minimum look like it everywhere."""

    @pytest.fixture(params=["int32", "float64", *large("int16")])
    def answer(self, request):
        weights = np.array([-5, 1, 2], request.param)
        graph = Graph.from_edges(["a", "b", "b"], ["b", "a", "c"], weights)
        return wl.shortest_paths(graph, negative_cycle="mark", next_hops=True)

    def test_distances_and_paths(self, answer):
        assert answer.distance("a", "a") == -INF
        assert answer.path("a", "a") == []
        assert answer.path("c", "c") == ["c"]

    def test_measures_and_frames(self, answer):
        assert answer.eccentricity(reachable_only=True).tolist() == [-INF, -INF, 0]
        assert answer.to_pandas().loc["a", "c"] == -INF
        assert answer.with_infinities().tolist()[2] == [INF, INF, 0]


class TestNoEdge:
    """What means "no edge" is one value of the matrix's own type."""

    def test_only_for_dense_graphs(self):
        with pytest.raises(errors.InputError, match="dense matrix only"):
            wl.shortest_paths(([0], [1], [1]), no_edge=0)

    def test_a_value_that_integers_lack_means_the_default(self):
        weights = np.array([[0, 3], [absent("int32"), 0]], "int32")
        for value in (np.nan, -INF, INF):
            graph = Graph.from_matrix(weights, no_edge=value)
            assert graph.edge_count == 1
            assert wl.shortest_paths(graph).distance(1, 0) == INF

    def test_it_is_rounded_like_the_matrix(self):
        weights = np.array([[0, 0.1], [2, 0]], np.float32)
        answer = wl.shortest_paths(weights, no_edge=np.float64(0.1), dtype="float64")
        assert answer.distance(0, 1) == INF

    def test_true_may_be_no_edge(self):
        weights = np.array([[True, False], [True, True]])
        answer = wl.shortest_paths(weights, no_edge=True)
        assert answer.distance(0, 1) == 0
        assert answer.distance(1, 0) == INF

    def test_it_must_be_a_number(self):
        with pytest.raises(errors.InputTypeError, match="no_edge"):
            wl.shortest_paths(np.zeros((2, 2)), no_edge="x")


def test_int16_is_kept_where_only_the_sum_of_negative_weights_is_large():
    n = 200
    weights = np.full((n, n), absent("int16"), "int16")
    weights[1:, 0] = -100
    weights[0, 1:] = 100
    answer = wl.shortest_paths(weights, dtype="int16")
    assert answer.dist_matrix.dtype == np.int16
    assert np.array_equal(answer.dist_matrix, distances(weights))


def test_walks_refuse_hops_that_lead_in_circles():
    circle = np.array([[0, 1, 1], [0, 1, 0], [0, 0, 2]], "int32")
    with pytest.raises(ValueError, match="circle"):
        walk_pairs(circle, np.array([[0, 2]]))
    with pytest.raises(ValueError, match="circle"):
        predecessors_from_hops(np.zeros((3, 3)), circle)


def test_memory_that_is_not_there_is_an_error_of_ours(monkeypatch):
    from warpladder.shortest_paths import solve

    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(solve, "prepare", fail)
    with pytest.raises(errors.TooLargeError, match="memory"):
        wl.shortest_paths(np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Graph.from_edges([0], [1], n=2.5), errors.InputTypeError),
        (lambda: Graph.from_edges([0], [1], n="3"), errors.InputTypeError),
        (lambda: Graph.from_edges([], [], n=-1), errors.InputError),
        (lambda: Graph.from_edges([0], [0], n=True), errors.InputTypeError),
        (lambda: Graph.from_edges([0], [1], labels=5), errors.InputTypeError),
        (lambda: Graph.from_edges([0], [1], labels={"a", "b"}), errors.InputTypeError),
        (lambda: Graph.from_edges([0], [1], labels=[[], {}]), errors.InputTypeError),
        (lambda: Graph.from_edges([0], [1], labels=np.array("ab")), errors.InputError),
        (
            lambda: Graph.from_edges([0], [1], labels=np.ma.array(["a", "b"], mask=[0, 1])),
            errors.InputTypeError,
        ),
        (lambda: Graph.from_edges(np.array([2**63], "uint64"), [1]), errors.InputError),
        (lambda: wl.shortest_paths([[0]], negative_cycle=np.zeros(2)), errors.InputError),
    ],
)
def test_arguments_of_the_wrong_kind(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"sources": ["a"], "targets": ["b"], "n": 3}, "name 2 vertices, and n = 3; give labels="),
        ({"sources": [0], "targets": [1], "labels": ["a"]}, r"0 \.\. 0; give labels= if there are"),
        ({"sources": [0], "targets": [0], "n": 0}, r"is 0, outside a graph without vertices; give"),
        ({"sources": [0], "targets": [2], "n": 2}, r"targets\[0\] is 2, .* 0 \.\. 1; give n= if"),
    ],
)
def test_more_vertices_than_are_listed(arguments, told):
    with pytest.raises(errors.InputError, match=told):
        Graph.from_edges(**arguments)


@pytest.mark.parametrize("value", ["no", 0, 1, None, np.array([True, False])])
def test_flags_that_are_neither_true_nor_false(value):
    answer = wl.shortest_paths([[0, 1], [1, 0]])
    for name, call in (
        ("directed", lambda: Graph.from_edges([0], [1], directed=value)),
        ("directed", lambda: cycle(5, directed=value)),
        ("next_hops", lambda: wl.shortest_paths([[0]], next_hops=value)),
        ("overwrite", lambda: wl.shortest_paths([[0]], overwrite=value)),
        ("reachable_only", lambda: answer.diameter(reachable_only=value)),
    ):
        with pytest.raises(errors.InputTypeError, match=f"{name}=.* must be True or False"):
            call()


def test_flags_of_numpy():
    graph = Graph.from_edges([0], [1], directed=np.False_)
    assert graph.directed is False
    answer = wl.shortest_paths(graph, next_hops=np.True_, overwrite=np.False_)
    assert answer.path(1, 0) == [1, 0]
    assert answer.diameter(reachable_only=np.True_) == 1


def test_zero_cycles_in_floats_still_give_sound_hops():
    rng = np.random.default_rng(3)
    height = rng.integers(0, 50, 80).astype(float)
    weights = np.where(rng.random((80, 80)) < 0.2, height[None, :] - height[:, None], INF)
    np.fill_diagonal(weights, 0)
    answer = wl.shortest_paths(weights, next_hops=True)
    assert np.array_equal(answer.dist_matrix, distances(weights))
    check_hops(weights, answer.dist_matrix, answer.next_hops)


# --- arguments that are nearly right --------------------------------------------------------------


def test_floats_as_indices_are_not_taken_for_labels():
    told = r"sources: vertex indices must be integers, and sources\[0\] is .*, as in numpy\.array"
    for ends in (
        (np.array([1.0, 0.0]), np.array([0.0, 1.0])),
        ([1.0, 0], [0, 1]),
        ([Decimal(1), Decimal(0)], [0, 1]),
        (np.array([1, 0], np.longdouble), [0, 1]),
    ):
        with pytest.raises(errors.InputTypeError, match=told):
            wl.shortest_paths((*ends, [2, 3]))
    graph = wl.Graph.from_edges([1.5, 0.0], [0.0, 1.5], [2, 3])
    assert list(graph.labels) == [1.5, 0.0]
    listed = wl.Graph.from_edges([1.0, 0.0], [0.0, 1.0], [2, 3], labels=[0.0, 1.0])
    assert wl.shortest_paths(listed).dist_matrix.tolist() == [[0, 3], [2, 0]]


def test_what_arrow_gives_one_by_one_is_neither_index_nor_label():
    ends = [list(pa.array(column)) for column in ([2, 1], [1, 0])]
    for make in (
        lambda: wl.shortest_paths((*ends, [5, 5])),
        lambda: wl.Graph.from_edges([0], [1], labels=list(pa.array(["a", "b"]))),
    ):
        with pytest.raises(errors.InputTypeError, match=r"Scalar of Arrow .* its to_pylist\(\)"):
            make()


def test_ends_that_are_neither_indices_nor_labels():
    with pytest.raises(errors.InputTypeError, match=r"sources\[0\] is a list, which is neither"):
        wl.shortest_paths(([[0, 1]], [[1, 0]], [[2, 3]]))


def test_predecessors_take_no_more_memory_than_is_asked_for(monkeypatch):
    few, many = (wl.shortest_paths(cycle(n), next_hops=True) for n in (3, 150))
    # What is loaded by the first use is no matter.
    assert few.predecessors[0].tolist() == [-9999, 0, 1]
    asked = []
    monkeypatch.setattr(paths, "require_memory", lambda size, _: asked.append(size))
    tracemalloc.start()
    assert many.predecessors[0, 1] == 0
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert asked == [150 * 150 * (4 + many.dist_matrix.itemsize)]
    assert most < 1.1 * asked[0]


def test_infinities_take_no_more_memory_than_is_asked_for(monkeypatch):
    answer = wl.shortest_paths(Graph.from_edges([0], [1]))
    asked = []
    monkeypatch.setattr(result, "require_memory", lambda size, _: asked.append(size))
    assert answer.with_infinities().nbytes == 32
    assert answer.eccentricity().tolist() == [1, INF]
    assert asked == [32, 16]


@pytest.mark.parametrize("pairs", [[0, 1], [(0, 1, 2)], [()], ["AB"], ("AB", "CD"), [{0, 1}]])
def test_what_is_no_pair(pairs):
    edges = Graph.from_edges(["A", "AB"], ["B", "CD"])
    answer = wl.shortest_paths(edges, next_hops=True)
    with pytest.raises(errors.InputError, match=r"is no pair \(source, target\)"):
        answer.paths(pairs)


def test_pairs_that_are_no_pairs_at_all():
    answer = wl.shortest_paths([[0, 1], [1, 0]], next_hops=True)
    with pytest.raises(errors.InputTypeError, match="pairs: 1 is not iterable; give pairs"):
        answer.paths(1)


def test_numbers_of_vertices_that_numpy_could_not_square():
    ends = np.arange(199, dtype=np.uint8)
    graph = Graph.from_edges(ends, ends + 1, n=(ends + 1).max() + np.uint8(1))
    assert type(graph.n) is int
    assert wl.shortest_paths(graph).distance(0, 199) == 199


def test_components_of_more_vertices_than_memory_has_room_for():
    graph = Graph.from_edges([0], [2**40])
    with pytest.raises(errors.TooLargeError, match=r"components of 1,099,511,627,777 vertices"):
        assert graph.components


def test_progress_that_cannot_be_called():
    with pytest.raises(errors.InputTypeError, match="progress must be a function"):
        wl.shortest_paths([[0, 1], [1, 0]], progress=5)


def test_objects_among_the_weights_are_named():
    with pytest.raises(errors.InputTypeError, match="Python objects, such as None; weights must"):
        wl.shortest_paths([[0, None], [1, 0]])
    with pytest.raises(errors.InputTypeError, match="Python objects; weights must"):
        wl.shortest_paths(np.array([[0, 1], [1, 0]], object))
