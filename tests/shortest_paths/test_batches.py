"""Many graphs at once: the same answers as one by one, and errors that name the graph."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from batch_checks import check, plain_distances, stack_of
from oracles import DTYPES, absent, as_float

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.shortest_paths import batch_cpu, batches
from warpladder.simulator import SimulatedDevice

# --- right answers --------------------------------------------------------------------------------


SIZES = [1, 2, 31, 32, 33, 64, 65]
#: Compiled for other tests in any case; six seconds each.
VARIANTS = [("int32", False), ("int32", True), ("float32", False)]
OTHERS = [
    *(("int16", False), ("int16", True), ("int64", False), ("int64", True)),
    *(("float32", True), ("float64", False), ("float64", True)),
]


@pytest.mark.parametrize(
    ("n", "dtype", "next_hops"),
    [
        *((n, *variant) for n in SIZES for variant in VARIANTS),
        *((0, "int32", hops) for hops in (False, True)),
        *large(*((n, *variant) for n in SIZES for variant in OTHERS)),
        *large(*((0, dtype, True) for dtype in DTYPES)),
    ],
)
def test_every_graph_is_answered_as_if_alone(n, dtype, next_hops):
    weights = stack_of(7, n, dtype)
    untouched = weights.copy()
    batch = wl.shortest_paths(weights, next_hops=next_hops)
    check(weights, batch, singly=range(7))
    assert batch.dist_matrix.dtype == dtype
    assert np.array_equal(weights, untouched)


@pytest.mark.parametrize("b", [0, 1, 300])
@pytest.mark.parametrize("n", [0, 1, 33])
def test_any_number_of_graphs(b, n):
    weights = stack_of(b, n, "int32")
    batch = wl.shortest_paths(weights, next_hops=True)
    check(weights, batch, singly=range(0, b, 50))
    assert len(batch) == len(list(batch)) == b


def test_many_graphs_on_a_team_of_threads_come_out_alike():
    weights = stack_of(2000, 16, "float32")
    # Many cores would have too little to do each.
    assert batch_cpu.workers_for(2000, 16) >= min(batch_cpu.worker_count(), 2)
    check(weights, wl.shortest_paths(weights), singly=(0, 1234, 1999))


@pytest.mark.parametrize("dtype", ["float32", *large("float64")])
def test_rounded_sums_are_those_of_the_single_call(dtype):
    weights = np.random.default_rng(1).random((5, 61, 61))
    batch = wl.shortest_paths(weights, dtype=dtype)
    for index, matrix in enumerate(weights):
        alone = wl.shortest_paths(matrix, dtype=dtype).dist_matrix
        assert np.array_equal(alone, batch.dist_matrix[index])


# Of float32 since teams relax it with hops for other tests as well.
@pytest.mark.parametrize("dtype", ["float32", *large("int32", "float64")])
def test_graphs_too_large_for_one_core_go_one_by_one(dtype):
    weights = stack_of(3, 259, dtype, density=0.02)
    batch = wl.shortest_paths(weights, next_hops=True)
    check(weights, batch, singly=(1,))
    assert "3 graphs one by one" in batch.why


@pytest.mark.parametrize(
    "kind", ["uint16", "float16", ">i4", *large("bool", "uint8", "int8", "uint64")]
)
def test_other_dtypes_are_taken_as_in_the_single_call(kind):
    weights = np.random.default_rng(2).integers(0, 2, (4, 9, 9)).astype(kind)
    # With hops where the dtype that it is taken as has been compiled with them.
    hops = kind != "float16"
    batch = wl.shortest_paths(weights, next_hops=hops)
    for index, matrix in enumerate(weights):
        alone = wl.shortest_paths(matrix, next_hops=hops)
        assert alone.dist_matrix.dtype == batch.dist_matrix.dtype
        assert np.array_equal(alone.dist_matrix, batch.dist_matrix[index])


def test_layout_and_no_edge():
    weights = stack_of(6, 20, "float32")
    for seen in (weights.transpose(0, 2, 1), weights[::2], np.asfortranarray(weights)):
        assert np.array_equal(wl.shortest_paths(seen).dist_matrix, plain_distances(seen))
    for mark in (-1.0, np.nan):
        marked = np.where(weights == np.inf, np.float32(mark), weights)
        again = wl.shortest_paths(marked, no_edge=mark)
        assert np.array_equal(again.dist_matrix, plain_distances(weights))
        assert again[2].graph.edge_count == wl.Graph.from_matrix(weights[2]).edge_count


def test_cycles_of_weight_0_do_not_catch_the_paths():
    weights = stack_of(20, 60, "int32", low=0, high=1, density=0.05)
    batch = wl.shortest_paths(weights, next_hops=True)
    check(weights, batch)
    assert "cycles of weight 0" in batch.why


def test_overwrite_uses_up_the_array_where_nothing_needs_it_again():
    for dtype in ("int32", "float32"):
        weights = stack_of(5, 30, dtype)
        expected = plain_distances(weights)
        batch = wl.shortest_paths(weights, overwrite=True)
        assert np.shares_memory(batch.dist_matrix, weights)
        assert np.array_equal(as_float(weights), expected)
    kept = stack_of(5, 30, "int32")
    untouched = kept.copy()
    assert not np.shares_memory(wl.shortest_paths(kept).dist_matrix, kept)
    wl.shortest_paths(kept, overwrite=True, next_hops=True)
    assert np.array_equal(kept, untouched)


@pytest.mark.large
def test_what_has_to_be_widened_is_not_overwritten():
    kept = stack_of(5, 30, "int32")
    heavy = np.where(kept == absent("int32"), kept, kept * 10_000_000)
    untouched = heavy.copy()
    assert wl.shortest_paths(heavy, overwrite=True).dist_matrix.dtype == np.int64
    assert np.array_equal(heavy, untouched)


def test_negative_weights_survive_overwriting():
    weights = stack_of(5, 30, "float32")
    weights[3, 4, 5] = -0.5
    weights[3, 5] = np.inf
    expected = plain_distances(weights)
    for device in ("cpu", SimulatedDevice(checks=False)):
        batch = wl.shortest_paths(weights.copy(), overwrite=True, device=device)
        assert np.array_equal(batch.dist_matrix, expected)


# --- the result -----------------------------------------------------------------------------------


def test_the_batch_gives_views():
    weights = stack_of(4, 12, "int32")
    batch = wl.shortest_paths(weights, next_hops=True)
    answer = batch[-1]
    assert isinstance(answer, wl.ShortestPaths)
    for view, whole in (
        (answer.dist_matrix, batch.dist_matrix),
        (answer.next_hops, batch.next_hops),
        (answer.graph.matrix, weights),
    ):
        assert np.shares_memory(view, whole)
        assert np.array_equal(view, whole[3])
    assert answer.path(0, 5) == wl.shortest_paths(weights[3], next_hops=True).path(0, 5)
    assert batch.unreachable == answer.unreachable == np.iinfo(np.int32).max
    assert (answer.graph.number, batch[np.int64(2)].graph.number) == (3, 2)
    assert batch[np.int64(2)].method == batch.method == "floyd-warshall"
    assert "4 graphs at once" in answer.why
    for wrong, fault in ((4, IndexError), (-5, IndexError), (slice(2), TypeError)):
        with pytest.raises(fault):
            batch[wrong]


def test_progress_is_told_in_order():
    seen = []
    weights = stack_of(3000, 32, "int32")
    wl.shortest_paths(weights, progress=seen.append)
    assert seen == sorted(seen)
    assert all(0 <= fraction <= 1 for fraction in seen)


def test_progress_is_one_only_when_graphs_that_need_care_are_answered_too(monkeypatch):
    monkeypatch.setattr(batches, "_SECONDS_BETWEEN_REPORTS", 0)
    weights = stack_of(3000, 32, "int32")
    weights[:6, 2, 3] = -1
    weights[:6, 3, :] = weights[:6, :, 2] = absent("int32")
    seen = []
    batch = wl.shortest_paths(weights, progress=seen.append)
    assert "6 of them one by one" in batch.why
    assert seen == sorted(seen)
    assert seen[-7] <= 2994 / 3000
    assert seen[-6:] == [done / 3000 for done in range(2995, 3001)]


# --- negative weights, cycles and the dtype -------------------------------------------------------


def with_cycle(dtype="int32"):
    weights = stack_of(5, 8, dtype, density=0.5)
    weights[3] = absent(dtype)
    weights[3, [0, 1, 2, 2], [1, 2, 1, 6]] = 1, 2, -4, 1
    return weights


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_negative_cycle_is_raised_with_the_graph(dtype):
    with pytest.raises(errors.NegativeCycleError, match=r"^graph 3 has a negative cycle") as caught:
        wl.shortest_paths(with_cycle(dtype))
    assert sorted(caught.value.cycle) == [1, 2]
    assert (caught.value.weight, caught.value.graph) == (-2, 3)


@pytest.mark.parametrize("device", ["cpu", SimulatedDevice(checks=False)], ids=["cpu", "gpu"])
@pytest.mark.parametrize("dtype", ["int32", *large("float64")])
def test_a_negative_cycle_is_marked_in_its_graph(dtype, device):
    weights = with_cycle(dtype)
    batch = wl.shortest_paths(weights, negative_cycle="mark", next_hops=True, device=device)
    alone = wl.shortest_paths(weights[3], negative_cycle="mark", next_hops=True)
    assert np.array_equal(batch.dist_matrix[3], alone.dist_matrix)
    assert (batch.dist_matrix[3] == alone.unbounded).sum() == 9
    assert np.array_equal(batch.next_hops[3], alone.next_hops)
    others = [0, 1, 2, 4]
    assert np.array_equal(as_float(batch.dist_matrix[others]), plain_distances(weights[others]))
    assert "1 of them one by one" in batch.why


@pytest.mark.parametrize("dtype", ["int32", *large("float64")])
def test_negative_weights_without_a_cycle(dtype):
    weights = stack_of(9, 33, "int32", low=0, high=50)
    # Potentials: what leaves a vertex costs less by as much as what enters it costs more.
    shift = np.random.default_rng(3).integers(0, 30, (9, 33))
    shifted = weights + shift[:, None, :] - shift[:, :, None]
    weights = np.where(weights == absent("int32"), weights, shifted).astype(np.int32)
    weights[4] = np.abs(weights[4])
    found = wl.shortest_paths(weights, dtype=dtype, next_hops=True)
    check(weights, found, singly=())
    assert "8 of them one by one" in found.why


def test_one_distance_that_does_not_fit_widens_them_all():
    weights = stack_of(5, 30, "int16", high=9)
    weights[2] = absent("int16")
    weights[2][np.arange(29), np.arange(1, 30)] = 16_000
    batch = wl.shortest_paths(weights, next_hops=True)
    check(weights, batch)
    assert batch.dist_matrix.dtype == batch[0].dist_matrix.dtype == np.int32
    assert "int32 because int16 cannot hold a distance of graph 2" in batch.why
    with pytest.raises(
        errors.DistanceOverflowError, match=r"^graph 2: .*take dtype='int32'"
    ) as caught:
        # With next hops, as above: it is compiled without them for nothing else.
        wl.shortest_paths(weights, dtype="int16", next_hops=True)
    assert caught.value.graph == 2


def test_a_weight_that_does_not_fit_widens_them_all_in_the_other_byte_order_too():
    weights = np.array([[[0, 5], [7, 0]], [[0, 32767], [1, 0]]], ">i2")
    batch = wl.shortest_paths(weights, no_edge=-1)
    assert batch.dist_matrix.dtype == np.int32
    assert batch.dist_matrix.tolist() == weights.tolist()
    assert "int32 because int16 cannot hold a distance of graph 1" in batch.why


def answer_there(weights, where, *, next_hops=True):
    """Return the distances of a batch on the CPU, on a GPU, or of one that is there; and why."""
    gpu = SimulatedDevice(checks=False)
    given = gpu.to_device(weights) if where == "on it" else weights
    batch = wl.shortest_paths(given, device="cpu" if where == "cpu" else gpu, next_hops=next_hops)
    dist = gpu.to_host(batch.dist_matrix) if where == "on it" else batch.dist_matrix
    return dist, batch.why


PLACES = ("cpu", "gpu", "on it")


@pytest.mark.parametrize("where", PLACES)
def test_sums_that_might_not_fit_but_do(where):
    weights = np.full((3, 9, 9), 16_000, np.int16)
    weights[1] = 7
    dist, why = answer_there(weights, where)
    assert dist.dtype == np.int16
    assert np.array_equal(dist, plain_distances(weights))
    assert "one by one" not in why


@pytest.mark.parametrize("where", PLACES)
def test_a_weight_that_does_not_fit_widens_them_all(where):
    weights = np.full((2, 5, 5), 20_000, np.int16)
    dist, why = answer_there(weights, where)
    assert dist.dtype == np.int32
    assert np.array_equal(dist, plain_distances(weights))
    assert "int32 because int16 cannot hold a distance of graph 0" in why


@pytest.mark.parametrize("where", PLACES)
def test_a_weight_that_nothing_holds_is_refused(where):
    # Two of them wrap around to something negative, and then all pairs have a path.
    weights = np.full((2, 3, 3), 3 << 61, np.int64)
    weights[0] = 1
    with pytest.raises(errors.DistanceOverflowError, match="graph 1: there is a weight of 69175"):
        # As test_call.py has eight bytes on CPUs, where these weights are looked at.
        answer_there(weights, where, next_hops=False)


@pytest.mark.parametrize("where", PLACES)
def test_the_limit_of_what_surely_fits(where):
    limit = np.iinfo(np.int16).max // 2
    weights = np.full((4, 5, 5), absent("int16"), "int16")
    # The weights could add up to four times as much, and nobody comes back: the longest distance
    # found has to tell that none is lost.
    lengths = np.array([[limit // 4 + 1, limit // 3 - 1, limit // 3, limit // 2]]).T
    weights[:, [0, 1, 3, 4], [1, 2, 2, 2]] = lengths
    dist, why = answer_there(weights, where)
    assert "2 of them one by one" in why
    assert dist.dtype == np.int16
    assert np.array_equal(as_float(dist), plain_distances(weights))


@pytest.mark.parametrize("where", [*large("cpu"), "gpu", "on it"])
def test_sums_near_the_largest_float_are_weighed_without_a_warning(where):
    weights = np.full((2, 3, 3), 1e308)
    weights[0] = 1
    dist, why = answer_there(weights, where, next_hops=False)
    assert dist.tolist() == np.where(np.eye(3), 0, weights).tolist()
    assert "one by one" not in why


# --- what is refused ------------------------------------------------------------------------------


def spoilt(value, dtype="float32"):
    weights = np.ones((5, 4, 4), dtype)
    weights[3, 1, 2] = value
    return weights


@pytest.mark.parametrize(
    ("stack", "options", "fault", "message"),
    [
        (spoilt(np.nan), {}, errors.InputError, r"graph 3: weight \(1, 2\) is NaN; use inf"),
        (spoilt(-np.inf), {}, errors.InputError, "graph 3: a weight is -inf"),
        (spoilt(np.nan), {"dtype": "int32"}, errors.InputError, r"graph 3: weight \(1, 2\) is NaN"),
        (spoilt(0.5), {"dtype": "int32"}, errors.InputError, "graph 3: dtype: int32 cannot hold"),
        (
            spoilt(70_000, "int64"),
            {"dtype": "int16"},
            errors.DistanceOverflowError,
            "graph 3: there is a weight of 70000, beyond what distances use of int16",
        ),
        (spoilt(2**63, "uint64"), {}, errors.InputError, "graph 3: 9223372036854775808 does not"),
        (np.ones((2, 3, 4)), {}, errors.InputError, r"must be square, this has shape \(3, 4\)"),
        (np.ones((0, 3, 4)), {}, errors.InputError, r"must be square, this has shape \(3, 4\)"),
        (np.ones((2, 3, 3), complex), {}, errors.InputTypeError, "dtype complex128 is not taken"),
        (np.ma.ones((2, 3, 3)), {}, errors.InputTypeError, "masked arrays are not taken"),
        (np.ones((2, 3, 3)), {"method": "dijkstra"}, errors.InputError, "dense matrices"),
        (np.ones((2, 3, 3)), {"device": "tpu"}, errors.InputError, "device='tpu' is not known"),
        (np.ones((2, 3, 3)), {"no_edge": "x"}, errors.InputTypeError, "no_edge must be a number"),
        ([np.ones((3, 3))] * 2, {}, errors.InputError, r"shape \(2, 3, 3\); .*numpy.stack"),
        (np.ones((2, 2, 3, 3)), {}, errors.InputError, "must be square"),
    ],
)
def test_what_is_refused(stack, options, fault, message):
    with pytest.raises(fault, match=message) as caught:
        wl.shortest_paths(stack, **options)
    assert str(caught.value).startswith(("graph", "method", "device", "no_edge"))


@pytest.mark.parametrize("dtype", ["float32", *large("float64")])
def test_nan_on_the_diagonal_is_found_in_graphs_that_are_used_up(dtype):
    weights = np.ones((2, 3, 3), dtype)
    weights[1, 2, 2] = np.nan
    with pytest.raises(errors.InputError, match=r"graph 1: weight \(2, 2\) is NaN"):
        wl.shortest_paths(weights, overwrite=True)


def test_the_first_graph_at_fault_is_named():
    weights = spoilt(np.nan)
    weights[4, 0, 0] = np.nan
    with pytest.raises(errors.InputError, match="graph 3") as caught:
        wl.shortest_paths(weights)
    assert pickle.loads(pickle.dumps(caught.value)).graph == 3  # noqa: S301 - made here
    with pytest.raises(errors.InputError, match="graph: weight") as caught:
        wl.shortest_paths(weights[3])
    assert caught.value.graph is None
    with pytest.raises(errors.DistanceOverflowError, match="graph 0: 9223372036854775808 does not"):
        wl.shortest_paths(np.full((2, 2, 2), 2**63, np.uint64))


def test_more_than_the_memory_holds():
    weights = np.lib.stride_tricks.as_strided(np.ones(1), (10**7, 2000, 2000), (0, 0, 0))
    with pytest.raises(errors.TooLargeError, match="in each of 10,000,000 graphs"):
        wl.shortest_paths(weights)


def test_small_batches_stay_on_the_cpu():
    why = wl.shortest_paths(np.ones((10, 32, 32), np.float32)).why
    assert "32 vertices are too few for a GPU" in why


def test_errors_of_a_kind_that_names_no_graph_are_named_too():
    with pytest.raises(errors.InputError, match=re.escape("graph 0: dtype: int16 cannot hold")):
        wl.shortest_paths(np.full((2, 2, 2), 0.5), dtype="int16")


def test_a_matrix_near_the_limit_is_not_used_up_before_it_is_understood():
    top = np.iinfo(np.int32).max
    heavy = 357_913_940
    matrix = np.array([[[0, heavy, top], [top, 0, heavy], [top, heavy, 0]]], np.int32)
    expected = wl.shortest_paths(matrix[0]).dist_matrix
    found = wl.shortest_paths(matrix.copy(), overwrite=True).dist_matrix
    assert found.dtype == np.int32
    assert np.array_equal(found[0], expected)


def test_no_graphs_of_large_numbers():
    junk = [np.full((3, 3), 2**64 - 5, np.uint64) for _ in range(10)]
    del junk
    assert len(wl.shortest_paths(np.zeros((0, 3, 3), np.uint64))) == 0


def test_edges_and_components_of_a_stack_are_those_of_its_graphs():
    graphs = wl.shortest_paths(np.full((2, 3, 3), 1, np.int32)).graphs
    assert (graphs.edge_count, graphs.components) == (12, 2)


@pytest.mark.parametrize("workers", [1, 2, 14, 64])
@pytest.mark.parametrize("n", [1, 4, 32, 64, 128, 250])
@pytest.mark.parametrize("graphs", [1, 2, 7, 50, 200, 1000, 10_000])
def test_a_chunk_is_worth_what_the_interpreter_takes_for_it(graphs, n, workers, monkeypatch):
    monkeypatch.setattr(batch_cpu, "worker_count", lambda: workers)
    for how in ("run_briefly", "run_team"):
        monkeypatch.setattr(batch_cpu, how, lambda work, *_: work(0))
    seen = []
    batch_cpu.deal(lambda *part: seen.append(part), graphs, n)
    assert [first for first, _ in seen] == [0, *(last for _, last in seen[:-1])]
    assert seen[-1][1] == graphs
    sizes = [last - first for first, last in seen]
    assert max(sizes) == sizes[0]
    assert min(sizes) > 0
    # Where that fits the caches; chunks are of one size, so they may have half of it.
    assert sizes[0] >= min(graphs, (1 << 17) // n**2, (1 << 21) // n**3) / 2
    assert batch_cpu.workers_for(graphs, n) == min(workers, len(sizes))
