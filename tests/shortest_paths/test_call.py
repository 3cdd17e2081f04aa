"""What `shortest_paths` takes, gives and refuses."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from inspect import signature

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from oracles import absent, check_hops, distances, random_weights
from scipy.sparse import csgraph

import warpladder as wl
from warpladder import errors
from warpladder.device import select
from warpladder.formats.graphs import read

INF = np.inf
TRIANGLE = np.array([[0, 4, INF], [INF, 0, 7], [1, INF, 0]])
CLOSED = [[0, 4, 11], [8, 0, 7], [1, 5, 0]]


@pytest.mark.parametrize(
    "graph",
    [
        TRIANGLE,
        TRIANGLE.tolist(),
        TRIANGLE.astype(np.float32),
        np.asfortranarray(TRIANGLE),
        np.ascontiguousarray(TRIANGLE[::-1, ::-1])[::-1, ::-1],
        TRIANGLE.astype(">f8"),
        ([0, 1, 2], [1, 2, 0], [4, 7, 1]),
        (np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([4.0, 7.0, 1.0])),
        wl.Graph.from_edges([0, 1, 2], [1, 2, 0], [4, 7, 1]),
        sp.csr_array(([4, 7, 1], ([0, 1, 2], [1, 2, 0])), shape=(3, 3)),
        sp.coo_matrix(([4.0, 7, 1], ([0, 1, 2], [1, 2, 0])), shape=(3, 3)),
        nx.DiGraph([(0, 1, {"weight": 4}), (1, 2, {"weight": 7}), (2, 0, {"weight": 1})]),
    ],
)
def test_every_kind_of_graph(graph):
    assert np.array_equal(wl.shortest_paths(graph).dist_matrix, CLOSED)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("int16", "int16"), ("int32", "int32"), ("int64", "int64"), ("float32", "float32"),
        ("float64", "float64"), ("int8", "int16"), ("uint8", "int16"), ("uint16", "int32"),
        ("uint32", "int64"), ("uint64", "int64"), ("float16", "float32"),
    ],
)  # fmt: skip
def test_the_dtype_is_kept_or_the_next_that_holds_it(given, kept):
    weights = np.array([[0, 3, 9], [9, 0, 4], [1, 9, 0]], given)
    answer = wl.shortest_paths(weights)
    assert answer.dist_matrix.dtype == np.dtype(kept)
    assert answer.dist_matrix.tolist() == [[0, 3, 7], [5, 0, 4], [1, 4, 0]]


def test_the_largest_integer_of_any_type_is_no_edge():
    for dtype in ("int8", "uint8", "uint16", "uint32", "uint64", "int64"):
        weights = np.full((2, 2), np.iinfo(dtype).max, dtype)
        weights[0, 1] = 5
        answer = wl.shortest_paths(weights)
        assert answer.distance(0, 1) == 5
        assert answer.distance(1, 0) == math.inf


def test_false_is_no_edge():
    adjacency = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    answer = wl.shortest_paths(adjacency)
    assert answer.distance(0, 2) == 2
    assert answer.distance(2, 0) == math.inf


def test_zero_is_an_edge_unless_no_edge_says_otherwise():
    weights = np.array([[0, 0, 5], [5, 0, 5], [5, 5, 0]])
    assert wl.shortest_paths(weights).distance(0, 1) == 0
    assert wl.shortest_paths(weights, no_edge=0).distance(0, 1) == 10
    expected = csgraph.floyd_warshall(weights)
    assert np.array_equal(wl.shortest_paths(weights, no_edge=0).dist_matrix, expected)


@pytest.mark.parametrize("layout", ["bsr", "dia"])
def test_zeros_that_fill_up_a_sparse_layout_are_no_edges(layout):
    weights = np.array([[0, 5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 7], [0, 0, 0, 0]])
    options = {"blocksize": (2, 2)} if layout == "bsr" else {}
    filled = getattr(sp, f"{layout}_array")(weights, **options)
    assert np.count_nonzero(filled.data == 0)
    answer = wl.shortest_paths(filled)
    assert answer.graph.edge_count == 2
    assert np.array_equal(answer.dist_matrix, wl.shortest_paths(weights, no_edge=0).dist_matrix)


def test_zeros_that_a_sparse_layout_lists_are_edges():
    listed = sp.csr_array(([0, 5], ([0, 1], [1, 0])), shape=(2, 2))
    assert wl.shortest_paths(listed).distance(0, 1) == 0


def test_sparse_matrices_whose_arrays_lead_out_of_each_other():
    """SciPy makes edges of whatever stands in memory, or ends the process."""
    for layout in ("csr", "csc"):
        kind = getattr(sp, f"{layout}_array")
        rising = kind(([4, 7, 1], [1, 2, 0], [0, 1, 2, 3]), shape=(3, 3))
        falling = kind(([4, 7, 1], [1, 2, 0], [0, 2, 1, 3]), shape=(3, 3))
        with pytest.raises(errors.InputError, match=f"^graph: the arrays of this {layout}_array"):
            wl.shortest_paths(falling)
        # What stands behind the last entry is none.
        room = rising.copy()
        room.data, room.indices = np.append(room.data, 9), np.append(room.indices, 0)
        given = room.data
        expected = wl.shortest_paths(rising).dist_matrix
        assert np.array_equal(wl.shortest_paths(room).dist_matrix, expected)
        assert room.data is given


def test_nan_may_mean_no_edge():
    weights = np.array([[0, 2, np.nan], [np.nan, 0, INF], [1, np.nan, 0]])
    answer = wl.shortest_paths(weights, no_edge=np.nan)
    assert answer.dist_matrix.tolist() == [[0, 2, INF], [INF, 0, INF], [1, 3, 0]]


def test_dtype_converts_the_weights():
    assert wl.shortest_paths(TRIANGLE, dtype="int32").dist_matrix.dtype == np.int32
    assert np.array_equal(wl.shortest_paths(TRIANGLE, dtype="int16").dist_matrix, CLOSED)
    with pytest.raises(errors.InputError, match="fractions"):
        wl.shortest_paths(TRIANGLE / 8, dtype="int32")


def test_parallel_edges_count_by_the_lightest_and_loops_not_at_all():
    graph = wl.Graph.from_edges([0, 0, 0, 1], [1, 1, 0, 1], [7, 3, 5, 9])
    assert wl.shortest_paths(graph).dist_matrix.tolist() == [[0, 3], [absent("int64"), 0]]


def test_an_infinite_weight_is_no_edge():
    graph = wl.Graph.from_edges([0, 1], [1, 0], [INF, 3.0])
    assert wl.shortest_paths(graph).distance(0, 1) == INF


@pytest.mark.parametrize("directed", [True, False])
def test_an_infinite_weight_counts_nowhere_but_its_ends_are_vertices(directed):
    ends = ["a", "b", "c"], ["b", "c", "d"]
    graph = wl.Graph.from_edges(*ends, [INF, 1.0, INF], directed=directed)
    assert list(graph.labels) == ["a", "b", "c", "d"]
    assert (graph.edge_count, graph.components) == (1, 3)
    assert (graph.sources.tolist(), graph.targets.tolist()) == ([1], [2])
    assert graph.weights.tolist() == [1]
    answer = wl.shortest_paths(graph)
    assert answer.distance("b", "c") == 1
    assert answer.distance("a", "b") == answer.distance("c", "d") == INF
    none = wl.Graph.from_edges([0, 2], [1, 0], [INF, INF], directed=directed)
    assert (none.n, none.edge_count, none.components) == (3, 0, 3)


def test_multigraphs_and_missing_weights():
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", weight=7)
    graph.add_edge("a", "b", weight=3)
    graph.add_edge("b", "c")
    graph.add_node("alone")
    answer = wl.shortest_paths(graph)
    assert answer.distance("c", "a") == 4
    assert answer.distance("a", "alone") == INF


def test_networkx_agrees_on_a_random_graph():
    graph = nx.gnp_random_graph(60, 0.08, seed=3, directed=True)
    rng = np.random.default_rng(3)
    for _, _, data in graph.edges(data=True):
        data["weight"] = float(rng.random())
    assert np.allclose(wl.shortest_paths(graph).dist_matrix, nx.floyd_warshall_numpy(graph))


class Unreadable:
    """As a tensor that requires a gradient."""

    def __init__(self, ndim):
        self.ndim = ndim

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("use detach() first")


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (np.zeros((2, 3)), errors.InputError, r"must be square, this has shape \(2, 3\)"),
        (np.zeros(4), errors.InputError, "must be square"),
        (np.array([[0, np.nan], [1, 0]]), errors.InputError, r"weight \(0, 1\) is NaN"),
        (np.array([[0, -INF], [1, 0]]), errors.InputError, "-inf"),
        (np.array([[0, 1j], [1, 0]]), errors.InputTypeError, "complex128 is not taken"),
        (np.array([["a", "b"], ["c", "d"]]), errors.InputTypeError, "not taken"),
        (np.zeros((2, 2), np.longdouble), errors.InputTypeError, "not taken"),
        (object(), errors.InputTypeError, "graph: object is not taken"),
        (
            type("Graph", (), {"__module__": "igraph"})(),
            errors.InputTypeError,
            r"graph: igraph\.Graph is not taken; give a square array, a warpladder\.Graph,",
        ),
        ("roads.gr", errors.InputTypeError, r"read_graph\(path\)"),
        (([0], [1], [np.nan]), errors.InputError, r"weights\[0\] is nan"),
        (([0], [1], [-INF]), errors.InputError, r"weights\[0\] is -inf"),
        (([0, 1], [1], [1]), errors.InputError, "sources has 2 entries and targets 1"),
        (([0], [1], [1, 2]), errors.InputError, r"weights has shape \(2,\)"),
        (([-1], [1], [1]), errors.InputError, r"sources\[0\] is -1"),
        (([0], [1], [1], 5), errors.InputTypeError, "tuple"),
        ([[0, 1], [2]], errors.InputTypeError, "cannot be read"),
        (([0, 1], [1, 2], [[1], [2, 3]]), errors.InputTypeError, "^weights: cannot be read"),
        *(
            (graph, errors.InputTypeError, f"^{name}: cannot be read as .*: use detach")
            for name, graph in (
                ("graph", Unreadable(2)),
                ("graph", Unreadable(3)),
                ("sources", (Unreadable(1), [1])),
                ("weights", ([0], [1], Unreadable(1))),
            )
        ),
        (np.ma.masked_array(np.zeros((2, 2)), True), errors.InputTypeError, "masked"),
        ([np.ma.array([0, 5], mask=[0, 1]), [1, 0]], errors.InputTypeError, "masked"),
        *(
            (graph, errors.DistanceOverflowError, f"^{told} does not fit int64")
            for told, graph in (
                ("graph: 9223372036854775808", [[0, 2**63], [1, 0]]),
                (f"graph: {2**70}", [[0, 2**70], [1, 0]]),
                (f"weights: {-(2**70)}", ([0, 1], [1, 2], [-(2**70), 1])),
                (f"weights: {2**64 - 1}", ([0, 1], [1, 2], [2**64 - 1, 1])),
                (f"graph: {2**64 - 2}", np.full((2, 2), 2**64 - 2, "uint64")),
            )
        ),
        (([0], {1}), errors.InputTypeError, "^targets: set is not taken; give a list or an array"),
        *(
            (edges, errors.InputError, "if it lists edges, give .*, as .*zip")
            for edges in ([(0, 1), (1, 2), (2, 0)], [("A", "B", 4)] * 3, [[0, 1, 4], [1, 2, 7]])
        ),
        *(
            ([graph] * 2, errors.InputTypeError, "a list of graphs is not taken")
            for graph in (nx.path_graph(2), wl.Graph.from_edges([0], [1]), sp.eye_array(2))
        ),
        (
            ([0, 1], [1, 2], np.ma.masked_array([1, 2], [0, 1])),
            errors.InputTypeError,
            "^weights: m",
        ),
        (([0, 1], np.ma.masked_array([1, 2], [0, 1])), errors.InputTypeError, "^targets: masked"),
        ((np.ma.masked_array([1, 2], [1, 0]), [0, 1]), errors.InputTypeError, "^sources: masked"),
        (
            (np.array([2**64 - 2, 1], np.uint64), [0, 1]),
            errors.InputError,
            r"18446744073709551614 is no vertex index, .*give sources\.astype\(object\)",
        ),
    ],
)
def test_what_is_refused_is_named(graph, error, message):
    with pytest.raises(error, match=message):
        wl.shortest_paths(graph)


@pytest.mark.parametrize(
    ("targets", "told"),
    [
        (pd.Series([1, None, 2]), r"targets\[1\] is nan"),
        (pd.Series([1, None, 2], dtype="Int64"), r"targets\[1\] is (nan|<NA>)"),
        (pd.Series(["a", "b", None], dtype=object), r"targets\[2\] is None"),
        (pl.Series([1, 2, None]), r"targets\[2\] is nan"),
        (pl.Series(["a", "b", None]), r"targets\[2\] is None"),
        (np.array([1, 2, None], object), r"targets\[2\] is None"),
        (np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[D]"), r"targets\[1\] is None"),
        ([1, pd.NA, 2], r"targets\[1\] is <NA>"),
        (["a", INF - INF, "b"], r"targets\[1\] is nan"),
    ],
)
def test_an_end_that_is_missing_is_no_vertex(targets, told):
    with pytest.raises(errors.InputError, match=f"{told}, so the edge lacks an end"):
        wl.shortest_paths(([0, 1, 0], targets, [1, 2, 3]))
    with pytest.raises(errors.InputError, match=told.replace("targets", "sources")):
        wl.shortest_paths((targets, [0, 1, 0], [1, 2, 3]))


@pytest.mark.parametrize(
    "given",
    [
        np.array([2, 0], object),
        np.array([np.int32(2), 0], object),
        np.array([np.uint64(2), np.int64(0)], object),
        [np.uint64(2), np.int64(0)],
        np.array([2, 0], np.uint64),
        pd.Series([2, 0], dtype="Int64"),
        pl.Series([2, 0], dtype=pl.UInt64),
    ],
)
def test_integers_are_vertex_indices_whatever_holds_them(given):
    for ends in ((given, [0, 1]), (given, np.array([0, 1], object))):
        graph = wl.Graph.from_edges(*ends, [1, 2])
        assert graph.labels is None
        assert (graph.sources.tolist(), graph.targets.tolist()) == ([2, 0], [0, 1])
        assert graph.sources.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int64, np.float64, object])
@pytest.mark.parametrize("mask", [np.ma.nomask, [False, False]])
def test_masked_arrays_are_taken_where_nothing_is_masked(dtype, mask):
    ends = np.ma.array([0, 1], mask=mask)
    weights = np.ma.array([5, 7], dtype, mask=mask)
    if dtype is not object:
        assert wl.shortest_paths((ends, ends[::-1], weights)).distance(0, 1) == 5
    graph = wl.Graph.from_edges(ends.astype(dtype if dtype is object else np.int64), ends)
    assert graph.labels is None
    assert type(graph.sources) is np.ndarray


@pytest.mark.parametrize("large", [2**63, 2**64 + 1, -(2**63) - 1, np.uint64(2**64 - 1)])
@pytest.mark.parametrize("labels", [None, True])
def test_integers_beyond_int64_are_labels(large, labels):
    names = [7, int(large), 5] if labels else None
    for ends in (([large, 5], [7, large]), np.array([[large, 5], [7, large]], object)):
        graph = wl.Graph.from_edges(*ends, [1, 2], labels=names)
        assert set(graph.labels) == {large, 5, 7}
        assert wl.shortest_paths(graph).distance(5, 7) == 3
    assert wl.Graph.from_edges([4, 2], [large, 4]).labels == [4, large, 2]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_edges_are_those_that_were_given_whatever_becomes_of_the_arrays(dtype):
    edges = np.array([[0, 1], [1, 2], [4, 7]], dtype)
    ends = edges[:2].astype(np.int64)
    graph = wl.Graph.from_edges(*ends, edges[2])
    edges[:], ends[:] = 0, 0
    assert wl.shortest_paths(graph).distance(0, 2) == 11


def test_integers_are_indices_of_listed_labels_whatever_holds_them():
    for dtype in (np.int64, object):
        ends = np.array([[0, 1], [1, 2]], dtype)
        graph = wl.Graph.from_edges(*ends, labels=[2, 1, 0])
        assert graph.sources.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "johnson"}, errors.InputError, "method='johnson' is not known; use one of"),
        ({"device": "tpu"}, errors.InputError, "device='tpu' is not known"),
        ({"negative_cycle": "ignore"}, errors.InputError, "negative_cycle='ignore'"),
        ({"dtype": "complex64"}, errors.InputTypeError, "dtype: dtype complex64 is not taken"),
        ({"dtype": ",f4"}, errors.InputTypeError, "dtype: dtype ,f4 is not taken"),
        ({"dtype": "no such"}, errors.InputTypeError, "no such"),
        ({"method": "dijkstra"}, errors.InputError, "the graph is a dense matrix"),
    ],
)
def test_options_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        wl.shortest_paths(TRIANGLE, **options)


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(select, "_obstacle", lambda: "nobody has plugged one in")
    told = 'device="cuda": there is no GPU to use: nobody has plugged one in'
    for graph in (TRIANGLE, np.stack([TRIANGLE] * 2), ([0], [1])):
        with pytest.raises(errors.DeviceError, match=told):
            wl.shortest_paths(graph, device="cuda")


def test_a_matrix_beyond_memory_is_refused_before_it_is_tried():
    graph = wl.Graph.from_edges([0], [10_000_000], [1])
    with pytest.raises(errors.TooLargeError, match="GiB"):
        wl.shortest_paths(graph)


def test_every_error_is_also_the_built_in_one():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.InputTypeError, TypeError)
    assert issubclass(errors.UnknownVertexError, KeyError)
    assert issubclass(errors.TooLargeError, MemoryError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert issubclass(errors.DeviceError, RuntimeError)


class TestAnswer:
    """What a `ShortestPaths` tells."""

    @pytest.fixture
    def answer(self):
        graph = wl.Graph.from_edges(
            ["a", "b", "c"], ["b", "c", "d"], [2, 3, 4], labels=["a", "b", "c", "d", "e"]
        )
        return wl.shortest_paths(graph, next_hops=True)

    def test_by_label_or_index(self, answer):
        assert answer.distance("a", "d") == answer.distance(0, 3) == 9
        assert answer.path("a", "d") == answer.path(0, 3) == ["a", "b", "c", "d"]
        assert answer.distance("d", "a") == INF
        assert answer.path("d", "a") == []
        assert answer.path("e", "e") == ["e"]

    def test_many_at_once(self, answer):
        found = answer.paths([("a", "c"), ("c", "a"), ("b", "b")])
        assert found == [["a", "b", "c"], [], ["b"]]
        assert answer.paths([]) == []

    @pytest.mark.parametrize("vertex", ["f", 5, -1, 1.5, None, ["a"], True])
    def test_unknown_vertices(self, answer, vertex):
        with pytest.raises(errors.UnknownVertexError, match="no vertex"):
            answer.distance(vertex, "a")

    def test_numeric_labels_come_before_indices(self):
        answer = wl.shortest_paths(wl.Graph.from_edges([0], [1], [5], labels=[7, 9]))
        assert answer.distance(7, 9) == 5
        with pytest.raises(errors.UnknownVertexError):
            answer.distance(0, 1)

    def test_paths_need_next_hops(self):
        answer = wl.shortest_paths(TRIANGLE)
        assert answer.next_hops is None
        with pytest.raises(errors.InputError, match="next_hops=True"):
            answer.path(0, 1)
        with pytest.raises(errors.InputError, match="next_hops=True"):
            _ = answer.predecessors

    def test_measures(self, answer):
        assert answer.eccentricity().tolist() == [INF] * 5
        assert answer.eccentricity(reachable_only=True).tolist() == [9, 7, 4, 0, 0]
        assert answer.diameter() == INF
        assert (answer.diameter(reachable_only=True), answer.radius(reachable_only=True)) == (9, 0)
        closed = wl.shortest_paths(TRIANGLE)
        assert closed.eccentricity().tolist() == [11, 8, 5]
        assert (closed.diameter(), closed.radius()) == (11, 5)

    def test_integers_are_exact_beside_infinities(self):
        long = 2**61 + 1
        answer = wl.shortest_paths(([0], [1], [long]))
        assert (answer.diameter(), answer.radius()) == (INF, long)
        falling = wl.shortest_paths(([0, 1], [0, 2], [-1, long]), negative_cycle="mark")
        assert falling.diameter(reachable_only=True) == long
        assert falling.radius(reachable_only=True) == -INF
        assert falling.eccentricity(reachable_only=True).tolist() == [-INF, float(long), 0]

    def test_an_empty_graph_has_no_diameter(self):
        answer = wl.shortest_paths(np.empty((0, 0)))
        assert answer.dist_matrix.shape == (0, 0)
        assert answer.eccentricity().shape == (0,)
        with pytest.raises(errors.InputError, match="no vertices"):
            answer.diameter()

    def test_to_pandas(self, answer):
        frame = answer.to_pandas()
        assert list(frame.index) == list(frame.columns) == list("abcde")
        assert frame.loc["a", "d"] == 9
        assert frame.loc["d", "a"] is pd.NA
        assert wl.shortest_paths(TRIANGLE).to_pandas().loc[0, 2] == 11.0

    def test_predecessors_are_scipys(self):
        weights = random_weights(120, "float64", density=0.05, seed=6)
        weights[weights != INF] += np.random.default_rng(6).random((weights != INF).sum())
        answer = wl.shortest_paths(weights, next_hops=True)
        edges = csgraph.csgraph_from_dense(weights, null_value=INF)
        dist, predecessors = csgraph.floyd_warshall(edges, return_predecessors=True)
        assert np.allclose(answer.dist_matrix, dist)
        # Random weights leave one shortest path for each pair.
        assert np.array_equal(answer.predecessors, predecessors)


class TestPackage:
    """The package as a whole."""

    def test_all_is_what_is_there(self):
        assert wl.__all__ == sorted(wl.__all__)
        for name in wl.__all__:
            assert getattr(wl, name) is not None
        with pytest.raises(AttributeError, match="no_such"):
            _ = wl.no_such

    def test_a_verb_stays_a_verb_when_its_subpackage_is_imported(self):
        code = (
            "import warpladder.shortest_paths.cpu_tiles.tiles as tiles, warpladder as wl;"
            "from warpladder.shortest_paths import graph;"
            "print(wl.shortest_paths([[0]]).dist_matrix, tiles.__name__, graph.__name__)"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert result.stdout.split() == [
            "[[0]]", "warpladder.shortest_paths.cpu_tiles.tiles", "warpladder.shortest_paths.graph"
        ]  # fmt: skip

    def test_importing_it_imports_nothing_heavy(self):
        code = (
            "import sys, warpladder; print({'numpy', 'numba', 'typer', 'rich'} & set(sys.modules))"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert result.stdout.strip() == "set()"

    @pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="names x86 features")
    @pytest.mark.large
    def test_other_vector_units_give_the_same_bits(self, tmp_path):
        code = (
            "import numpy as np, sys, warpladder as wl; from warpladder.device.simd import *;"
            "w = np.random.default_rng(0).random((300, 300)).astype('float32');"
            "a = wl.shortest_paths(w, next_hops=True); name = vector_unit().name;"
            "np.savez(sys.argv[1], dist=a.dist_matrix, hops=a.next_hops, name=name)"
        )
        weights = np.random.default_rng(0).random((300, 300)).astype("float32")
        here = wl.shortest_paths(weights)
        bound = 2 * len(weights) * np.finfo("float32").eps
        assert np.allclose(here.dist_matrix, distances(weights), rtol=bound, atol=0)
        for name, features in {"AVX2": "+avx2,+fma,+avx", "SSE2": "+sse2"}.items():
            file = tmp_path / f"{name}.npz"
            env = {
                **os.environ,
                "NUMBA_CACHE_DIR": str(tmp_path / name),
                "NUMBA_CPU_NAME": "generic",
                "NUMBA_CPU_FEATURES": features,
            }
            subprocess.run([sys.executable, "-c", code, str(file)], env=env, check=True)
            with np.load(file) as found:
                assert found["name"] == name
                assert np.array_equal(found["dist"], here.dist_matrix)
                check_hops(weights, found["dist"], found["hops"])


def test_read_graph_takes_the_options_of_its_reader(tmp_path):
    own, known = (signature(function).parameters.values() for function in (wl.read_graph, read))
    assert [(one.name, one.default, one.kind) for one in own] == [
        (one.name, one.default, one.kind) for one in known
    ]
    path = tmp_path / "roads"
    path.write_text("what;x;y;far;near\n0;b;a;5;2\n0;c;b;7;3\n")
    graph = wl.read_graph(
        path, format="edges", directed=False, source="y", target="x", weight=4, header=True,
        delimiter=";",
    )  # fmt: skip
    answer = wl.shortest_paths(graph)
    assert answer.distance("c", "a") == answer.distance("a", "c") == 5
    with pytest.raises(TypeError, match=r"read_graph\(\) got an unexpected keyword argument 'foo'"):
        wl.read_graph(path, foo=1)
