"""A dtype that would change weights: integers are refused, of floats it is said."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import warpladder as wl
from warpladder import errors
from warpladder.shortest_paths import rounding
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.rounding import holds_all, remark_on_rounding
from warpladder.simulator import SimulatedDevice

NONE = np.iinfo(np.int64).max


def weights_with(value: int, dtype: str = "int64") -> np.ndarray:
    return np.array([[0, 5, np.iinfo(dtype).max], [value, 0, 3], [1, 16777216, 0]], dtype)


@pytest.mark.parametrize(
    ("graph", "place"),
    [
        (weights_with(16777217), r"\(1, 0\)"),
        (weights_with(16777217, "int32"), r"\(1, 0\)"),
        (weights_with(16777217, "uint32"), r"\(1, 0\)"),
        (weights_with(16777217, "uint64"), r"\(1, 0\)"),
        (np.stack([weights_with(2), weights_with(16777217)]), r"\(1, 0\) of graph 1"),
        (([0, 1], [1, 0], [5, 16777217]), r"\(1\)"),
        (sp.coo_array(([16777217, 5], ([0, 1], [1, 0])), shape=(2, 2)), r"\(0\)"),
    ],
)
def test_an_integer_that_float32_rounds_is_refused(graph, place):
    told = rf"dtype='float32': it would round weight {place}, the integer 16777217, to 16777216"
    with pytest.raises(errors.InputError, match=told):
        wl.shortest_paths(graph, dtype="float32")
    answer = wl.shortest_paths(graph, dtype="float64")
    assert answer.dist_matrix.dtype == np.float64


def with_loop(loop, dtype):
    return np.array([[loop, 1], [1, 0]], dtype)


@pytest.mark.parametrize(
    ("loop", "given_dtype", "dtype"),
    [
        (10**6, "int32", "int16"),
        (16777217, "int64", "float32"),
        (0.1, "float64", "float32"),
        (1e300, "float64", "float32"),
        (0.5, "float64", "int32"),
        (2**63, "uint64", None),
        (2**63, "uint64", "float64"),
    ],
)
def test_loops_that_are_not_negative_count_for_nothing(loop, given_dtype, dtype):
    weights = with_loop(loop, given_dtype)
    ends, listed = ([0, 0, 1], [0, 1, 0]), np.array([loop, 1, 1], given_dtype)
    last_row = np.array([[0, 1], [1, loop]], given_dtype)
    undirected = wl.Graph.from_edges(*ends, listed, directed=False)
    for graph in (weights, last_row, (*ends, listed), undirected):
        for next_hops in (False, True):
            answer = wl.shortest_paths(graph, dtype=dtype, next_hops=next_hops)
            assert answer.dist_matrix.tolist() == [[0, 1], [1, 0]]
            assert "rounded" not in answer.why
            assert "cannot hold" not in answer.why
    many = wl.shortest_paths(np.stack([weights, last_row]), dtype=dtype)
    assert many.dist_matrix.tolist() == [[[0, 1], [1, 0]]] * 2
    if np.dtype(given_dtype).kind != "f" or dtype != "int32":
        answer = wl.shortest_paths((*ends, listed), dtype=dtype, method="dijkstra")
        assert answer.dist_matrix.tolist() == [[0, 1], [1, 0]]


def test_loops_that_are_negative_or_nan_are_refused_as_other_weights_are():
    with pytest.raises(errors.InputError, match=r"weight \(0, 0\) is NaN"):
        wl.shortest_paths(with_loop(np.nan, "float64"), dtype="float32")
    for graph in (with_loop(-(10**6), "int32"), ([0, 0], [0, 1], [-(10**6), 1])):
        with pytest.raises(errors.DistanceOverflowError, match="there is a weight of"):
            wl.shortest_paths(graph, dtype="int16")
    with pytest.raises(errors.InputError, match="with fractions"):
        wl.shortest_paths(with_loop(-0.5, "float64"), dtype="int32")
    with pytest.raises(errors.InputError, match=r"weight \(1, 0\)"):
        wl.shortest_paths(np.array([[2**60 + 1, 1], [2**60 + 1, 0]]), dtype="float64")


def test_a_loop_that_a_list_would_round_is_none():
    assert wl.shortest_paths([[2**53 + 1, 0.5], [1, 0]]).distance(0, 1) == 0.5
    with pytest.raises(errors.InputError, match="would be rounded"):
        wl.shortest_paths([[-(2**53) - 1, 0.5], [1, 0]])


def test_loops_in_parts_of_a_large_matrix(monkeypatch):
    monkeypatch.setattr(rounding, "_NUMBERS_AT_A_TIME", 8)
    weights = np.ones((5, 5))
    np.fill_diagonal(weights, 0.1)
    for graph in (weights, np.stack([weights] * 3)):
        assert "rounded" not in wl.shortest_paths(graph, dtype="float32").why
    weights[4, 2] = 0.1
    assert "the first of them (4, 2)" in wl.shortest_paths(weights, dtype="float32").why


def test_one_that_float64_rounds_too():
    for method in ("floyd-warshall", "dijkstra"):
        with pytest.raises(errors.InputError, match=f"the integer {2**53 + 1}, to {2**53}"):
            wl.shortest_paths(([0], [1], [2**53 + 1]), dtype="float64", method=method)
    assert wl.shortest_paths(([0], [1], [2**53 + 2]), dtype="float64").distance(0, 1) == 2**53 + 2


@pytest.mark.parametrize("stacked", [False, True])
def test_where_the_weights_are_on_a_gpu(stacked):
    gpu = SimulatedDevice()
    weights = weights_with(2**53 + 1)
    there = gpu.to_device(np.stack([weights, weights]) if stacked else weights)
    # NumPy calls this cast safe.
    with pytest.raises(errors.InputError, match="would round weight"):
        wl.shortest_paths(there, dtype="float64", device=gpu)
    halves = np.array([[0, 0.1], [0.5, 0]])
    there = gpu.to_device(np.stack([halves, halves]) if stacked else halves)
    answer = wl.shortest_paths(there, dtype="float32", device=gpu)
    assert "weights rounded to float32, the first of them (0, 1)" in answer.why


def test_that_floats_are_rounded_is_said():
    halves = np.array([[0, np.inf], [0.5, 0]])
    for graph in (halves, np.stack([halves, halves])):
        assert "rounded" not in wl.shortest_paths(graph, dtype="float32").why
        told = "weights rounded to float32, the first of them (1, 0)"
        assert told in wl.shortest_paths(graph / 5, dtype="float32").why
    for method in ("floyd-warshall", "dijkstra"):
        answer = wl.shortest_paths(([0], [1], [0.1]), dtype="float32", method=method)
        assert "the first of them (0) from 0.1 to" in answer.why
    whole = wl.shortest_paths(np.array([[0, 16777217.0], [1, 0]]), dtype="float32")
    assert "from 16777217.0 to 16777216.0" in whole.why


def test_weights_that_underflow_raise_nothing_whatever_numpy_is_told():
    with np.errstate(all="raise"):
        answer = wl.shortest_paths([[0, 1e-300], [1e-300, 0]], dtype="float32")
        assert "(0, 1) from 1e-300 to 0.0" in answer.why
        with pytest.raises(errors.InputError, match="not all of 1 to 64 steps"):
            wl.shortest_paths([[0, 1e-300], [1e-300, 0]], dtype="float32", method="breadth-first")
        weights = np.ones((2, 2), "float32")
        assert Graph.from_matrix(weights, no_edge=1e-300).no_edge == 0


def test_what_is_no_weight_is_not_looked_at():
    weights = weights_with(5)
    assert "rounded" not in wl.shortest_paths(weights, dtype="float32").why
    weights[0, 2] = 16777219
    assert "rounded" not in wl.shortest_paths(weights, no_edge=16777219, dtype="float32").why


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 62).map(lambda b: 2**b), min_size=1),
    st.integers(0, 40),
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
)
def test_the_first_integer_that_changes(drawn, shift, dtype, negative):
    values = [-(value >> shift << shift) if negative else value for value in drawn]
    ends = np.arange(len(values))
    graph = Graph.from_edges(ends, ends + 1, np.array(values)).given
    exact = [int(np.array(value, np.int64).astype(dtype)) == value for value in values]
    if all(exact):
        assert remark_on_rounding(graph, np.dtype(dtype)) == ""
        return
    with pytest.raises(errors.InputError, match=rf"weight \({exact.index(False)}\)"):
        remark_on_rounding(graph, np.dtype(dtype))


def test_the_least_integers_are_powers_of_two():
    for dtype in ("int32", "int64"):
        graph = Graph.from_edges([0], [1], np.array([np.iinfo(dtype).min], dtype)).given
        assert remark_on_rounding(graph, np.dtype("float32")) == ""


def test_what_holds_what():
    for given_dtype in ("int16", "int32", "int64", "uint16", "uint32", "uint64"):
        limits = np.iinfo(given_dtype)
        for dtype in ("float32", "float64"):
            bits = np.finfo(dtype).nmant + 1
            assert holds_all(np.dtype(given_dtype), np.dtype(dtype)) == (limits.bits <= bits)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "uint16", "uint32", "uint64", "bool", "float16"]
)
def test_a_dtype_in_which_nothing_is_computed_is_refused(dtype):
    told = f"dtype='{dtype}': distances are computed in int16, int32, int64, float32, float64"
    for graph in (np.zeros((2, 2), dtype), np.zeros((2, 2, 2), dtype), ([0], [1], [1])):
        with pytest.raises(errors.InputTypeError, match=told):
            wl.shortest_paths(graph, dtype=dtype)
    assert wl.shortest_paths([[0]], dtype=">i4").dist_matrix.dtype == np.int32
