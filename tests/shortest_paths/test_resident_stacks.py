"""Stacks of graphs that are on a GPU already, as the simulator has one: answered there."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from batch_checks import plain_distances, stack_of
from oracles import DTYPES, ON_A_GPU, as_float

import warpladder as wl
from choosing import large, only
from warpladder import errors
from warpladder.shortest_paths import batches
from warpladder.shortest_paths.gpu import resident_batch
from warpladder.shortest_paths.paths import leads_in_circles
from warpladder.simulator import SimulatedDevice


@pytest.fixture(scope="module")
def gpu():
    return SimulatedDevice(counters=False, checks=False, multiprocessors=1)


def answered(gpu, weights, **options):
    """Ask about weights on the device; the answer as arrays of the host."""
    there = gpu.to_device(weights)
    batch = wl.shortest_paths(there, device=gpu, **options)
    assert np.array_equal(there.copy_to_host(), weights, equal_nan=weights.dtype.kind == "f")
    assert hasattr(batch.dist_matrix, "copy_to_host")
    return batch


@pytest.mark.parametrize(
    ("n", "dtype", "hops"),
    only(lambda _, *variant: variant in ON_A_GPU, [33, 2, 1], DTYPES, [False, True]),
)
def test_every_graph_is_answered_where_it_is(gpu, n, dtype, hops):
    weights = stack_of(3, n, dtype, density=4 / max(n, 4))
    batch = answered(gpu, weights, next_hops=hops)
    assert batch.dist_matrix.dtype == dtype
    assert "where the graphs are, 3 graphs at once" in batch.why
    assert "one by one" not in batch.why
    assert np.array_equal(as_float(batch.dist_matrix.copy_to_host()), plain_distances(weights))
    for index, each in enumerate(batch):
        assert np.array_equal(each.with_infinities(), plain_distances(weights)[index])
        if hops:
            alone = wl.shortest_paths(weights[index], next_hops=True)
            lengths = [_length(weights[index], path) for path in each.paths(np.ndindex(n, n))]
            assert lengths == [_length(weights[index], p) for p in alone.paths(np.ndindex(n, n))]


def _length(matrix, path):
    return sum(matrix[u, v] for u, v in pairwise(path))


def test_with_all_checks_around_a_tile():
    weights = stack_of(2, 65, "int32", density=0.06)
    strict = SimulatedDevice(counters=False, multiprocessors=1)
    batch = wl.shortest_paths(strict.to_device(weights), device=strict, next_hops=True)
    assert np.array_equal(as_float(batch.dist_matrix.copy_to_host()), plain_distances(weights))


@pytest.mark.parametrize(("b", "n"), [(0, 5), (3, 0), (0, 0)])
def test_no_graphs_and_no_vertices(gpu, b, n):
    batch = answered(gpu, np.ones((b, n, n), np.int32), next_hops=True)
    assert batch.dist_matrix.shape == batch.next_hops.shape == (b, n, n)


def test_graphs_that_need_care_get_it_and_the_others_are_as_they_were(gpu):
    weights = stack_of(5, 20, "int32", density=0.2)
    weights[1, 3, 7] = -5
    weights[1, 7, :] = weights[1, :, 3] = np.iinfo(np.int32).max
    # An edge of weight zero needs a look at the next hops, no more.
    weights[3, 2, 4] = 0
    for hops in (False, True):
        batch = answered(gpu, weights, next_hops=hops)
        check_batch = wl.shortest_paths(weights, next_hops=hops)
        assert np.array_equal(batch.dist_matrix.copy_to_host(), check_batch.dist_matrix)
        assert "1 of them one by one on the CPU" in batch.why


def test_next_hops_that_lead_in_circles_are_mended(gpu):
    weights = stack_of(3, 90, "int32", density=0.05)
    rng = np.random.default_rng(1)
    edges = rng.random((90, 90)) < 0.1
    # So many ties that the kernel's next hops lead in circles.
    weights[1] = np.iinfo(np.int32).max
    weights[1][edges] = rng.integers(0, 2, edges.sum())
    told = []
    batch = answered(gpu, weights, next_hops=True, progress=told.append)
    assert told == sorted(told)
    assert "1 of them one by one on the CPU" in batch.why
    assert not leads_in_circles(batch.next_hops.copy_to_host()[1])
    expected = wl.shortest_paths(weights)
    assert np.array_equal(batch.dist_matrix.copy_to_host(), expected.dist_matrix)


def test_without_room_to_look_for_circles_the_host_looks(gpu, monkeypatch):
    def full(*_):
        raise errors.TooLargeError("no room")

    weights = stack_of(3, 20, "int32", density=0.2)
    weights[1, 2, 4] = 0
    monkeypatch.setattr(resident_batch, "circling", full)
    batch = answered(gpu, weights, next_hops=True)
    assert "1 of them one by one on the CPU" in batch.why
    expected = wl.shortest_paths(weights)
    assert np.array_equal(batch.dist_matrix.copy_to_host(), expected.dist_matrix)


def test_a_wider_dtype_for_all_where_one_needs_it(gpu):
    weights = stack_of(3, 20, "int16", density=0.2)
    weights[2] = np.iinfo(np.int16).max
    weights[2, np.arange(19), np.arange(1, 20)] = 2000
    batch = answered(gpu, weights)
    assert batch.dist_matrix.dtype == np.int32
    assert batch[2].distance(0, 19) == 38_000
    assert "int32 because int16 cannot hold a distance of graph 2" in batch.why
    with pytest.raises(errors.DistanceOverflowError, match="graph 2: there is a distance"):
        answered(gpu, weights, dtype="int16")


@pytest.mark.parametrize("together", [True, False])
def test_bad_weights_name_their_graph(gpu, monkeypatch, together):
    monkeypatch.setattr(batches, "FILLS_A_GPU", 1024 if together else 0)
    weights = stack_of(3, 8, "float32")
    weights[1, 2, 5] = np.nan
    with pytest.raises(errors.InputError, match=r"graph 1: weight \(2, 5\) is NaN"):
        answered(gpu, weights)
    weights[1, 2, 5] = -np.inf
    with pytest.raises(errors.InputError, match="graph 1: a weight is -inf"):
        answered(gpu, weights)
    weights[1] = np.inf
    weights[1, 0, 1] = weights[1, 1, 0] = -1
    with pytest.raises(errors.NegativeCycleError, match="graph 1"):
        answered(gpu, weights)
    marked = answered(gpu, weights, negative_cycle="mark")
    assert marked[1].distance(0, 1) == -np.inf


def test_large_graphs_go_one_by_one(gpu, monkeypatch):
    monkeypatch.setattr(batches, "FILLS_A_GPU", 20)
    weights = stack_of(3, 20, "int32", density=0.2)
    weights[1, 3, 7] = -1
    weights[1, 7, :] = weights[1, :, 3] = np.iinfo(np.int32).max
    told = []
    batch = answered(gpu, weights, next_hops=True, progress=told.append)
    assert "3 graphs one by one" in batch.why
    assert "1 of them one by one by way of the host" in batch.why
    check_against = wl.shortest_paths(weights, next_hops=True)
    assert np.array_equal(batch.dist_matrix.copy_to_host(), check_against.dist_matrix)
    assert told == [1 / 3, 1 / 3, 2 / 3, 1]


@pytest.mark.parametrize("kind", ["bool", "uint8", "float16", ">f4", *large("uint64")])
def test_other_dtypes(gpu, kind):
    weights = np.random.default_rng(2).integers(0, 2, (2, 9, 9)).astype(kind)
    batch = answered(gpu, weights)
    expected = wl.shortest_paths(weights)
    assert batch.dist_matrix.dtype == expected.dist_matrix.dtype
    assert np.array_equal(batch.dist_matrix.copy_to_host(), expected.dist_matrix)


def test_layout_and_no_edge(gpu):
    weights = stack_of(2, 20, "float64", density=0.2)
    there = gpu.to_device(np.where(weights == np.inf, -1, weights))
    batch = wl.shortest_paths(there, device=gpu, no_edge=-1)
    assert np.array_equal(batch.dist_matrix.copy_to_host(), plain_distances(weights))
    turned = wl.shortest_paths(gpu.to_device(weights)[:, ::-1, ::-1], device=gpu)
    assert np.array_equal(
        turned.dist_matrix.copy_to_host(), plain_distances(weights[:, ::-1, ::-1])
    )


def test_memory_that_does_not_suffice_sends_them_over_the_host(gpu, monkeypatch):
    weights = stack_of(2, 9, "int32")
    there = gpu.to_device(weights)

    def full(*_arguments):
        raise errors.TooLargeError("no memory")

    monkeypatch.setattr(resident_batch, "_all_at_once", full)
    batch = wl.shortest_paths(there, device=gpu)
    assert "not enough memory beside the graphs" in batch.why
    assert np.array_equal(as_float(batch.dist_matrix.copy_to_host()), plain_distances(weights))


def test_shapes_and_places_that_are_refused(gpu):
    there = gpu.to_device(np.ones((2, 3, 4)))
    with pytest.raises(errors.InputError, match=r"must be square, this has shape \(2, 3, 4\)"):
        wl.shortest_paths(there, device=gpu)
    with pytest.raises(errors.InputError, match="copy it to the host"):
        wl.shortest_paths(gpu.to_device(np.ones((2, 3, 3))), device="cpu")


def test_answers_are_arrays_of_the_callers_library(gpu, monkeypatch):
    """As for a single matrix: CuPy's array is made of the device's in the same memory."""
    cupy = ModuleType("cupy")
    cupy.asarray = lambda array: SimpleNamespace(owner="cupy", array=array)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    kind = type(gpu.to_device(np.ones(1)))
    monkeypatch.setattr(kind, "__module__", "cupy.ndarray")
    monkeypatch.setattr(kind, "device", nullcontext(), raising=False)
    weights = stack_of(2, 5, "int32")
    batch = wl.shortest_paths(gpu.to_device(weights), device=gpu, next_hops=True)
    assert batch.dist_matrix.owner == batch.next_hops.owner == "cupy"
    found = batch.dist_matrix.array.copy_to_host()
    assert np.array_equal(as_float(found), plain_distances(weights))


def test_progress_of_graphs_in_parts(gpu, monkeypatch):
    from warpladder.shortest_paths.gpu import batches as there

    weights = stack_of(6, 20, "int32", density=0.2)
    weights[0, 3, 7] = -1
    weights[0, 7, :] = weights[0, :, 3] = np.iinfo(np.int32).max
    monkeypatch.setattr(there, "_RELAXATIONS_AT_A_TIME", 2 * 20**3)
    told = []
    answered(gpu, weights, progress=told.append)
    assert told == pytest.approx([5 / 6 / 3, 5 / 6 * 2 / 3, 1])
