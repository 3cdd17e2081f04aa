"""The worked example of HB: its six-vertex graph, the matrices M_0 .. M_6, the paths."""

from __future__ import annotations

import numpy as np
import pytest

import warpladder as wl
from warpladder.shortest_paths.generators_hochberg import graph1, graph2_end
from warpladder.shortest_paths.trace import trace_matrices

_EDGES = """\
A B 4
A D 5
A E 5
B C 7
B D 3
C F 4
D A 7
D C 3
D E 4
D F 3
E A 2
E D 6
F D 2
F E 1
--END--
"""

_X = np.iinfo(np.int32).max
_PRINTED = {
    0: [
        [0, 4, _X, 5, 5, _X],
        [_X, 0, 7, 3, _X, _X],
        [_X, _X, 0, _X, _X, 4],
        [7, _X, 3, 0, 4, 3],
        [2, _X, _X, 6, 0, _X],
        [_X, _X, _X, 2, 1, 0],
    ],
    1: [
        [0, 4, _X, 5, 5, _X],
        [_X, 0, 7, 3, _X, _X],
        [_X, _X, 0, _X, _X, 4],
        [7, 11, 3, 0, 4, 3],
        [2, 6, _X, 6, 0, _X],
        [_X, _X, _X, 2, 1, 0],
    ],
    2: [
        [0, 4, 11, 5, 5, _X],
        [_X, 0, 7, 3, _X, _X],
        [_X, _X, 0, _X, _X, 4],
        [7, 11, 3, 0, 4, 3],
        [2, 6, 13, 6, 0, _X],
        [_X, _X, _X, 2, 1, 0],
    ],
    3: [
        [0, 4, 11, 5, 5, 15],
        [_X, 0, 7, 3, _X, 11],
        [_X, _X, 0, _X, _X, 4],
        [7, 11, 3, 0, 4, 3],
        [2, 6, 13, 6, 0, 17],
        [_X, _X, _X, 2, 1, 0],
    ],
    4: [
        [0, 4, 8, 5, 5, 8],
        [10, 0, 6, 3, 7, 6],
        [_X, _X, 0, _X, _X, 4],
        [7, 11, 3, 0, 4, 3],
        [2, 6, 9, 6, 0, 9],
        [9, 13, 5, 2, 1, 0],
    ],
    5: [
        [0, 4, 8, 5, 5, 8],
        [9, 0, 6, 3, 7, 6],
        [_X, _X, 0, _X, _X, 4],
        [6, 10, 3, 0, 4, 3],
        [2, 6, 9, 6, 0, 9],
        [3, 7, 5, 2, 1, 0],
    ],
    6: [
        [0, 4, 8, 5, 5, 8],
        [9, 0, 6, 3, 7, 6],
        [7, 11, 0, 6, 5, 4],
        [6, 10, 3, 0, 4, 3],
        [2, 6, 9, 6, 0, 9],
        [3, 7, 5, 2, 1, 0],
    ],
}


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph1.txt"
    path.write_text(_EDGES)
    return wl.read_graph(path)


def test_every_matrix_is_the_one_hb_prints(graph):
    assert list(graph.labels) == list("ABCDEF")
    steps = trace_matrices(graph)
    assert len(steps) == 7
    for k, printed in _PRINTED.items():
        shown = [[_X if value == np.inf else value for value in row] for row in steps[k]]
        assert shown == printed, f"M_{k}"


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
def test_the_engine_ends_at_the_last_of_them(graph, dtype):
    assert np.array_equal(wl.shortest_paths(graph, dtype=dtype).dist_matrix, _PRINTED[6])


def test_the_paths_behind_them(graph):
    answer = wl.shortest_paths(graph, next_hops=True)
    assert answer.path("C", "B") == ["C", "F", "E", "A", "B"]
    assert answer.path("F", "C") == ["F", "D", "C"]
    assert answer.path("A", "F") == ["A", "D", "F"]
    assert answer.path("A", "C") == ["A", "D", "C"]
    assert answer.path("E", "E") == ["E"]
    assert answer.distance("C", "B") == 11


def test_the_four_pairs_without_a_path_in_m5_are_in_row_c():
    step = np.array(_PRINTED[5])
    assert {(int(i), int(j)) for i, j in np.argwhere(step == _X)} == {
        (2, 0),
        (2, 1),
        (2, 3),
        (2, 4),
    }


def test_graph1_can_be_made(graph):
    made = graph1()
    assert list(made.labels) == list(graph.labels)
    assert made.directed
    assert trace_matrices(made) == trace_matrices(graph)


def test_weights_that_are_true_or_false_are_numbers_in_every_matrix():
    flags = np.array([[False, True], [False, False]])
    for made in (wl.Graph.from_matrix(flags), wl.Graph.from_edges([0], [1], flags[0, 1:])):
        for step in trace_matrices(made):
            assert [type(value) for value in step[0]] == [int, int]
            assert step[0] == [0, 1]


def test_the_second_matrix_differs_from_the_first_in_two_entries():
    first, second = np.array(_PRINTED[0]), np.array(_PRINTED[1])
    assert {(int(i), int(j)): int(second[i, j]) for i, j in np.argwhere(first != second)} == {
        (3, 1): 11,
        (4, 1): 6,
    }


def test_the_last_step_of_graph2_is_reckoned_as_in_the_text():
    end = graph2_end()
    dist = dict(zip(zip(end.sources, end.targets, strict=True), end.weights, strict=True))
    start, last = end.labels.index("A"), end.labels.index("B")
    by_way_of = {
        end.labels[v]: dist[start, v] + dist[v, last] for v in range(end.n) if (v, last) in dist
    }
    assert by_way_of == {"W": 105, "X": 109, "Y": 102, "Z": 113}
