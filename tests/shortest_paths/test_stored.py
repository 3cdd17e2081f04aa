"""Answers written to files and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import check_hops, random_weights

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.formats.distances import read_distances, write_distances
from warpladder.simulator import SimulatedDevice


def graph_of(labels: Any = None) -> wl.Graph:
    return wl.Graph.from_edges([0, 1, 2], [1, 2, 0], [4, 7, 1], n=4, labels=labels)


@pytest.mark.parametrize("labels", [None, ["A", "B", "C", "D"], [7, 9, 11, 13]])
@pytest.mark.parametrize("dtype", ["int16", "float64", *large("int64", "float32")])
def test_an_npz_holds_all_and_is_read_back(tmp_path: Path, dtype: str, labels: Any) -> None:
    answer = wl.shortest_paths(graph_of(labels), next_hops=True, dtype=dtype)
    file = tmp_path / "answer.npz"
    answer.save(file)
    with np.load(file, allow_pickle=False) as stored:
        assert set(stored) == {"dist_matrix", "next_hops", *(["labels"] if labels else [])}
        assert stored["next_hops"].dtype == np.int32
        assert np.array_equal(stored["next_hops"], answer.next_hops)
    again = wl.ShortestPaths.load(file)
    assert again.dist_matrix.dtype == np.dtype(dtype)
    assert np.array_equal(again.dist_matrix, answer.dist_matrix)
    assert again.graph.labels == labels
    assert again.graph.edge_count == 3
    a, c, d = (labels or range(4))[0], (labels or range(4))[2], (labels or range(4))[3]
    assert again.path(a, c) == answer.path(a, c)
    assert again.path(a, d) == []
    assert again.distance(a, c) == 11
    assert np.array_equal(again.predecessors, answer.predecessors)
    # As a graph, the file is a matrix of weights.
    assert wl.read_graph(file).matrix is not None


@settings(max_examples=40)
@given(n=st.integers(0, 33), seed=st.integers(0, 2**32 - 1), density=st.floats(0, 1))
def test_what_is_read_back_leads_along_shortest_paths(
    tmp_path_factory: pytest.TempPathFactory, n: int, seed: int, density: float
) -> None:
    weights = random_weights(n, "int32", density=density, low=0, seed=seed)
    file = tmp_path_factory.mktemp("answers") / "answer.npz"
    answer = wl.shortest_paths(weights, next_hops=True)
    answer.save(file)
    again = wl.ShortestPaths.load(file)
    check_hops(weights, again.dist_matrix, again.next_hops)
    # The edges that next hops take are edges of the graph, and enough for all distances.
    kept = again.graph
    assert np.array_equal(weights[kept.sources, kept.targets], kept.weights)
    assert np.array_equal(wl.shortest_paths(kept, dtype="int32").dist_matrix, answer.dist_matrix)


def test_without_next_hops_distances_are_read_back(tmp_path: Path) -> None:
    answer = wl.shortest_paths(graph_of(["A", "B", "C", "D"]))
    answer.save(tmp_path / "answer.npz")
    again = wl.ShortestPaths.load(tmp_path / "answer.npz")
    assert again.next_hops is None
    assert again.distance("A", "C") == 11
    with pytest.raises(errors.InputError, match="next_hops=True"):
        again.path("A", "C")


@pytest.mark.parametrize("suffix", ["npy", "csv", "parquet"])
def test_other_formats_hold_distances_alone(tmp_path: Path, suffix: str) -> None:
    answer = wl.shortest_paths(graph_of(), next_hops=True)
    file = tmp_path / f"answer.{suffix}"
    answer.save(file)
    assert file.exists()
    told = "an array named dist_matrix" if suffix == "npy" else "a NumPy file, found another"
    with pytest.raises(errors.FileFormatError, match=f"answer.{suffix}: expected {told}"):
        wl.ShortestPaths.load(file)
    with pytest.raises(errors.InputError, match=r"place for distances alone; write \.npz"):
        write_distances(tmp_path / f"b.{suffix}", [[0]], None, next_hops=[[0]])
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_marked_pairs_have_no_path(tmp_path: Path) -> None:
    graph = wl.Graph.from_edges(["a", "b", "c"], ["b", "a", "a"], [-2, 1, 1])
    wl.shortest_paths(graph, next_hops=True, negative_cycle="mark").save(tmp_path / "a.npz")
    again = wl.ShortestPaths.load(tmp_path / "a.npz")
    assert again.distance("c", "b") == -np.inf
    assert again.path("c", "b") == []
    assert again.path("c", "c") == ["c"]


def test_an_answer_on_a_gpu(tmp_path: Path) -> None:
    gpu = SimulatedDevice()
    there = gpu.to_device(np.array([[0, 4, 9], [9, 0, 3], [1, 9, 0]], np.int32))
    wl.shortest_paths(there, device=gpu, next_hops=True).save(tmp_path / "a.npz")
    assert wl.ShortestPaths.load(tmp_path / "a.npz").path(0, 2) == [0, 1, 2]


DIST = np.array([[0, 1, 2], [9, 0, 1], [9, 9, 0]])
HOPS = np.array([[0, 1, 1], [-1, 1, 2], [-1, -1, 2]], np.int32)


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"matrix": DIST}, "expected an array named dist_matrix, found arrays named matrix"),
        ({"dist_matrix": DIST[:2]}, "expected a square matrix of distances, found shape"),
        ({"dist_matrix": np.int64(3)}, "expected a square matrix of distances, found shape"),
        ({"dist_matrix": DIST.astype(str)}, "expected a square matrix of distances"),
        ({"dist_matrix": DIST, "next_hops": HOPS[:2]}, "next_hops of shape"),
        ({"dist_matrix": DIST, "next_hops": HOPS.astype(float)}, "integers, found"),
        ({"dist_matrix": DIST, "next_hops": HOPS + 1}, "next_hops from -1 to 2, found 0 and 3"),
        ({"dist_matrix": DIST, "next_hops": HOPS - 1}, "next_hops from -1 to 2, found -2 and 1"),
        (
            {"dist_matrix": DIST, "next_hops": np.array([[0, 1, 1], [-1, 1, -1], [-1, -1, 2]])},
            "next_hops that arrive, found some that lead nowhere",
        ),
        (
            {"dist_matrix": DIST, "next_hops": np.array([[0, 1, 1], [0, 1, 0], [0, 1, 2]])},
            "next_hops that arrive, found some that lead in a circle",
        ),
        ({"dist_matrix": DIST, "labels": np.arange(4)}, "3 labels"),
    ],
)
def test_what_is_no_answer_is_refused(tmp_path: Path, arrays: dict[str, Any], told: str) -> None:
    file = tmp_path / "answer.npz"
    np.savez(file, **arrays)
    with pytest.raises(errors.FileFormatError, match=told):
        wl.ShortestPaths.load(file)


@pytest.mark.parametrize("dtype", [">i4", ">f8"])
def test_answers_of_machines_of_the_other_byte_order(tmp_path: Path, dtype: str) -> None:
    file = tmp_path / "answer.npz"
    np.savez(file, dist_matrix=DIST.astype(dtype), next_hops=HOPS.astype(">i4"))
    answer = wl.ShortestPaths.load(file)
    assert answer.dist_matrix.dtype.isnative
    assert answer.predecessors[0].tolist() == [-9999, 0, 1]
    assert answer.path(0, 2) == [0, 1, 2]


@pytest.mark.parametrize("with_hops", [True, False])
def test_labels_that_no_graph_has_are_told_with_the_file(tmp_path: Path, with_hops: bool) -> None:
    file = tmp_path / "answer.npz"
    hops = {"next_hops": HOPS} if with_hops else {}
    np.savez(file, dist_matrix=DIST, labels=np.array(["a", "b", "a"]), **hops)
    with pytest.raises(errors.InputError, match=r"answer\.npz: labels: 'a' appears twice"):
        wl.ShortestPaths.load(file)


def test_a_file_that_is_not_whole(tmp_path: Path) -> None:
    file = tmp_path / "answer.npz"
    wl.shortest_paths(graph_of(), next_hops=True).save(file)
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(errors.FileFormatError, match=r"answer\.npz"):
        wl.ShortestPaths.load(file)
    with pytest.raises(errors.InputError, match=r"none\.npz"):
        wl.ShortestPaths.load(tmp_path / "none.npz")


def test_next_hops_that_do_not_fit(tmp_path: Path) -> None:
    for hops in ([[0, 1]], [[0.0, 1.0], [0.0, 1.0]]):
        with pytest.raises(errors.InputError, match="next_hops has shape"):
            write_distances(tmp_path / "a.npz", [[0, 1], [1, 0]], None, next_hops=hops)
    assert list(tmp_path.iterdir()) == []
    write_distances(tmp_path / "a.npz", np.empty((0, 0)), None, next_hops=np.empty((0, 0), int))
    assert read_distances(tmp_path / "a.npz").next_hops is not None


@pytest.mark.parametrize("weight", [2**53, 2**53 + 1])
def test_no_distance_is_rounded_beside_minus_infinity(weight, tmp_path):
    file = tmp_path / "answer.npz"
    graph = wl.Graph.from_edges([0, 1, 2], [1, 0, 3], np.array([-2, 1, weight]))
    answer = wl.shortest_paths(graph, negative_cycle="mark")
    if weight == 2**53:
        answer.save(file)
        assert np.load(file)["dist_matrix"][2, 3] == weight
        return
    with pytest.raises(errors.InputError, match=f"rounds {weight}"):
        answer.save(file)
    assert not file.exists()
