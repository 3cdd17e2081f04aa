"""The marker of "no edge" is compared without rounding, in every dtype and wherever weights are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpladder as wl
from warpladder import errors
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.no_edge import absent_value, is_absent
from warpladder.simulator import SimulatedDevice

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
# float64 has 53 bits: as one of these, each is rounded to another integer.
ROUNDED = (999_999_999_999_999_999, 2**53 + 1, -(2**53) - 1, 2**62 - 1)


def marked(marker: int) -> np.ndarray:
    """Return a path 0 -> 1 -> 2 whose other pairs are marked."""
    return np.array([[0, 4, marker], [marker, 0, 7], [marker, marker, 0]], np.int64)


@pytest.mark.parametrize("marker", ROUNDED)
@pytest.mark.parametrize("kind", [int, np.int64, Fraction])
def test_a_marker_beyond_float64_marks(marker, kind):
    answer = wl.shortest_paths(marked(marker), no_edge=kind(marker))
    none = answer.unreachable
    assert answer.dist_matrix.tolist() == [[0, 4, 11], [none, 0, 7], [none, none, 0]]
    assert answer.graph.edge_count == 2


def test_a_neighbour_of_the_marker_is_a_weight():
    weights = marked(2**53 + 1)
    weights[1, 0] = 2**53
    answer = wl.shortest_paths(weights, no_edge=2**53 + 1)
    assert answer.distance(1, 0) == 2**53
    assert answer.distance(2, 0) == math.inf


@pytest.mark.large
def test_in_stacks_of_any_kind():
    marker = ROUNDED[0]
    expected = wl.shortest_paths(marked(marker), no_edge=marker).dist_matrix
    stack = np.stack([marked(marker)] * 2)
    stack[1, 0, 1] = 2
    for dtype in (None, "int32", "float64"):
        batch = wl.shortest_paths(stack, no_edge=marker, dtype=dtype)
        assert batch[0].distance(0, 2) == 11
        assert batch[1].distance(0, 2) == 9
        assert batch[1].distance(2, 0) == math.inf
    assert np.array_equal(wl.shortest_paths(stack, no_edge=marker).dist_matrix[0], expected)


def test_where_the_weights_are_on_a_gpu():
    gpu = SimulatedDevice()
    marker = ROUNDED[0]
    expected = wl.shortest_paths(marked(marker), no_edge=marker).dist_matrix
    there = gpu.to_device(marked(marker))
    answer = wl.shortest_paths(there, no_edge=marker, device=gpu)
    assert np.array_equal(answer.dist_matrix.copy_to_host(), expected)
    stack = gpu.to_device(np.stack([marked(marker)] * 2))
    batch = wl.shortest_paths(stack, no_edge=marker, device=gpu)
    assert np.array_equal(batch.dist_matrix.copy_to_host()[1], expected)
    for given_there in (there, stack):
        with pytest.raises(errors.InputError, match=r"no_edge=0\.5"):
            wl.shortest_paths(given_there, no_edge=0.5, device=gpu)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_both_ends_of_every_integer_type(dtype):
    limits = np.iinfo(dtype)
    for marker in {limits.min, limits.max, limits.max - 1, 1}:
        weights = np.array([[0, marker], [3, 0]], dtype)
        answer = wl.shortest_paths(Graph.from_matrix(weights, no_edge=marker))
        assert answer.distance(0, 1) == math.inf
        assert answer.distance(1, 0) == 3
        stack = wl.shortest_paths(np.stack([weights, weights]), no_edge=marker)
        assert np.array_equal(stack.dist_matrix[1], answer.dist_matrix)
    for beyond in (limits.min - 1, limits.max + 1, 0.5, 1e300, Fraction(1, 3), np.float32(2.5)):
        with pytest.raises(errors.InputError, match=f"the weights are {dtype}, so none of them"):
            wl.shortest_paths(np.zeros((2, 2), dtype), no_edge=beyond)


def test_what_integers_and_booleans_lack_stands_for_the_default():
    for value in (math.nan, -math.inf, np.float32(np.inf)):
        assert absent_value(np.dtype("int16"), value) == 32767
        assert not absent_value(np.dtype("bool"), value)
    adjacency = np.array([[True, False], [True, True]])
    assert wl.shortest_paths(adjacency, no_edge=math.nan).distance(1, 0) == 1
    with pytest.raises(errors.InputError, match="from 0 to 1"):
        wl.shortest_paths(adjacency, no_edge=2)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_mark_as_they_are_held(dtype):
    for marker in (0.1, 1 / 3, 2049, 16777217, -math.inf, 2**60 + 2**36 + 1, math.nan, -0.0):
        with np.errstate(over="ignore"):
            weights = np.array([[0, 1], [2, 0]]).astype(dtype)
            weights[0, 1] = np.array([marker]).astype(dtype)[0]
        answer = wl.shortest_paths(weights, no_edge=marker)
        assert answer.distance(0, 1) == math.inf
        assert answer.distance(1, 0) == 2
    assert absent_value(np.dtype(dtype), 10**400) == math.inf
    assert absent_value(np.dtype(dtype), -(10**400)) == -math.inf


@given(
    st.sampled_from(INTEGERS).flatmap(
        lambda dtype: st.tuples(
            st.just(dtype),
            st.lists(
                st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)),
                min_size=1,
                max_size=9,
            ),
        )
    )
)
def test_exactly_the_entries_that_equal_it_as_numbers_of_python(drawn):
    dtype, entries = drawn
    matrix = np.array(entries, dtype)
    for marker in {*entries, entries[0] ^ 1}:
        if np.iinfo(dtype).min <= marker <= np.iinfo(dtype).max:
            found = is_absent(matrix, absent_value(matrix.dtype, marker))
            assert found.tolist() == [entry == marker for entry in entries]


@pytest.mark.parametrize("marker", [1j, np.complex64(1), "0", None, np.zeros(1)])
def test_it_is_a_real_number(marker):
    with pytest.raises(errors.InputTypeError, match="no_edge must be a number"):
        wl.shortest_paths(np.zeros((2, 2)), no_edge=marker)


def test_graphs_that_know_their_edges_take_none():
    for graph in (([0], [1], [1]), Graph.from_edges([0], [1])):
        with pytest.raises(errors.InputError, match="this graph lists its edges"):
            wl.shortest_paths(graph, no_edge=ROUNDED[0])
    with pytest.raises(errors.InputError, match="from_matrix"):
        wl.shortest_paths(Graph.from_matrix(np.zeros((2, 2))), no_edge=0)
