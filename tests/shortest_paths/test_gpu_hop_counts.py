"""Breadth-first searches on a simulated GPU: the bits of the CPU engine, with all checks on."""

from __future__ import annotations

import numpy as np
import pytest
from hop_graphs import check_next_hops, hops_between, path, random_edges, star
from oracles import DTYPES, absent, as_float

import warpladder as wl
from choosing import large, only
from warpladder import errors
from warpladder.call import Target
from warpladder.shortest_paths import plan
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.gpu import engine, level_kernels, level_launches
from warpladder.shortest_paths.gpu.hop_counts import GpuSearches, hop_counts
from warpladder.shortest_paths.gpu.level_launches import Layout, layout_for
from warpladder.shortest_paths.sparse.arcs import arcs_of
from warpladder.shortest_paths.sparse.hop_counts import Searches
from warpladder.simulator import SimulatedDevice

H200 = SimulatedDevice((9, 0))


@pytest.fixture(scope="module", params=[1, 3], ids=["one block", "three blocks"])
def gpu(request):
    return SimulatedDevice(counters=False, multiprocessors=request.param)


@pytest.fixture(scope="module")
def one():
    return SimulatedDevice(counters=False, multiprocessors=1)


def answer_for(gpu, n, ends, weights=None, *, directed=True, **options):
    graph = wl.Graph.from_edges(*ends, weights, n=n, directed=directed)
    return wl.shortest_paths(graph, method="breadth-first", device=gpu, **options)


def check(gpu, n, ends, *, directed=True):
    """Distances and next hops are SciPy's, and to the last bit those of the CPU."""
    found = answer_for(gpu, n, ends, directed=directed, next_hops=True)
    here = answer_for("cpu", n, ends, directed=directed, next_hops=True)
    expected = hops_between(n, *ends, directed=directed)
    assert found.dist_matrix.dtype == here.dist_matrix.dtype == np.int16
    assert np.array_equal(found.dist_matrix, here.dist_matrix)
    assert np.array_equal(found.next_hops, here.next_hops)
    assert np.array_equal(as_float(found.dist_matrix), expected)
    check_next_hops(found.next_hops, expected)
    assert found.method == "breadth-first"
    return found


def layout_of(device, n):
    return layout_for(device, n, np.dtype(np.int16))


@pytest.mark.parametrize(
    ("directed", "n"),
    # What is undirected has arcs in both directions, for the same kernels. One warp of vertices and
    # one more, four warps and one less.
    only(
        lambda directed, n: n in ({0, 1, 33, 128, 300} if directed else {33}),
        [True, False],
        [0, 1, 2, 31, 32, 33, 127, 128, 129, 300],
    ),
)
def test_random_graphs_of_awkward_sizes(gpu, n, directed):
    """With loops, parallel edges, and vertices that no edge names."""
    check(gpu, n, random_edges(n, 3 * n, seed=n), directed=directed)


@pytest.mark.parametrize(
    ("directed", "ends"),
    [
        *((True, path(70)), (True, star(150)), (True, star(150)[::-1]), (False, path(70))),
        *large((False, star(150)), (True, path(40))),
    ],
)
def test_paths_and_stars(gpu, ends, directed):
    """More levels than four digits say; a vertex with many arcs into it, out of it, or both."""
    check(gpu, max(ends[0].max(), ends[1].max()) + 1, ends, directed=directed)


@pytest.mark.parametrize("n", large(300))
def test_more_levels_than_eight_digits_say(one, n):
    check(one, n, path(n))


def test_complete_graphs(gpu):
    """Every vertex has more arcs than a warp has threads, and there are more than warps."""
    n = 45
    assert n - 1 > level_launches._ARCS_OF_A_HUB
    assert n > level_launches._THREADS_OF_SEARCHES // 32
    check(gpu, n, np.nonzero(~np.eye(n, dtype=bool)))


def test_some_have_many_arcs_and_some_few(gpu):
    n, rng = 140, np.random.default_rng(4)
    share = np.arange(1, n + 1) ** -0.5
    ends = rng.permutation(n)[rng.choice(n, (2, 12 * n), p=share / share.sum())]
    entering = np.diff(arcs_of(Edges(n, *ends, None, directed=True)).into_starts)
    assert 1 < (entering > level_launches._ARCS_OF_A_HUB).sum() < 10
    check(gpu, n, ends)


def test_pieces_and_a_directed_circle(gpu):
    ends = np.arange(0, 130, 2)
    check(gpu, 133, (ends, ends + 1), directed=False)
    check(gpu, 37, (np.arange(37), (np.arange(37) + 1) % 37))


def test_no_edges(gpu):
    found = check(gpu, 5, (np.empty(0, int), np.empty(0, int)))
    assert (found.dist_matrix == found.unreachable).sum() == 20


# As on a CPU, a float and an integer of either width.
@pytest.mark.parametrize("dtype", only({"float32", "int64"}.__contains__, DTYPES))
def test_every_dtype(one, dtype):
    ends = random_edges(90, 200, 3)
    found = answer_for(one, 90, ends, dtype=dtype, next_hops=True)
    expected = hops_between(90, *ends)
    assert found.dist_matrix.dtype == np.dtype(dtype)
    assert np.array_equal(as_float(found.dist_matrix), expected)
    assert found.dist_matrix[np.isinf(expected)][0] == absent(dtype) == found.unreachable
    check_next_hops(found.next_hops, expected)


@pytest.mark.parametrize("schedule", ["warps-reverse", *large("warps")])
def test_warps_in_any_order(schedule):
    gpu = SimulatedDevice(counters=False, multiprocessors=2, schedule=schedule)
    check(gpu, 100, np.concatenate([random_edges(100, 250, 1), star(60)], axis=1))


class TestLengths:
    """Edges of one length that is not 1."""

    @pytest.mark.parametrize(("length", "dtype"), [(7, "int16"), (2.5, "float32")])
    def test_distances_are_multiples(self, one, length, dtype):
        ends, weights = path(20), np.full(19, length, dtype)
        found = answer_for(one, 20, ends, weights, next_hops=True)
        here = answer_for("cpu", 20, ends, weights, next_hops=True)
        assert found.dist_matrix[0, 19] == 19 * length
        assert found.dist_matrix.dtype == here.dist_matrix.dtype == np.dtype(dtype)
        assert np.array_equal(found.dist_matrix, here.dist_matrix)
        assert np.array_equal(found.next_hops, here.next_hops)

    def test_a_distance_that_does_not_fit(self, one):
        weights = np.full(3, 12_000, "int16")
        answer = answer_for(one, 4, path(4), weights)
        assert answer.distance(0, 3) == 36_000
        assert "int32 because int16 cannot hold a distance" in answer.why
        with pytest.raises(
            errors.DistanceOverflowError, match="36000, beyond what distances use of int16"
        ):
            answer_for(one, 4, path(4), weights, dtype="int16")

    def test_other_lengths_are_refused(self, one):
        with pytest.raises(errors.InputError, match="lengths are searched on the CPU alone"):
            answer_for(one, 3, path(3), np.array([1, 2]))
        with pytest.raises(errors.InputError, match="edges are not all of 1 to 64 steps"):
            answer_for(one, 3, path(3), np.array([1, 65]))


class TestLaunches:
    """What a launch is given, and what is there at a time."""

    def test_all_blocks_have_as_many_searches(self):
        assert layout_of(H200, 1) == Layout(1, 1, 1)
        assert layout_of(H200, 33) == Layout(2, 17, 33)
        # As many as there are multiprocessors, and more than they take at once.
        assert layout_of(H200, 132 * 32) == Layout(132, 32, 132 * 32)
        assert layout_of(H200, 132 * 128) == Layout(132, 128, 132 * 128)
        assert layout_of(H200, 132 * 128 + 1) == Layout(132, 65, 132 * 128 + 1)

    def test_vertices_with_most_arcs_come_first(self):
        """Those that have as many stay in order."""
        arcs = arcs_of(Edges(5, np.array([0, 1, 2, 0, 3]), np.array([4, 4, 4, 1, 1]), None, True))
        order = np.array([2, 3, 1, 0, 4], np.int32)
        names, starts, into = level_launches._numbered_anew(arcs, order)
        assert names.tolist() == [4, 1, 2, 3, 0]
        assert starts.tolist() == [0, 3, 5, 5, 5, 5]
        assert into.tolist() == [0, 1, 2, 0, 3]

    def test_nobody_looks_for_searches_that_are_none(self, one):
        """A block has 35 of 128 bits; those beyond must not keep vertices at work."""
        graph = Edges(35, *star(35), None, directed=False)
        found = GpuSearches.of(one, graph, 1)
        team = level_launches.LevelSearches(one, found.arcs, found.order, 1, np.dtype(np.int16))
        team.fill(0, 35, one.empty((35, 35), np.int16))
        reached = one.to_host(team._masks)[0, level_kernels.REACHED]
        assert (reached == 0xFFFFFFFF).all()

    def test_few_levels_at_a_time(self, one, monkeypatch):
        monkeypatch.setattr(level_launches, "_SECONDS_OF_A_LAUNCH", 3e-5)
        check(one, 40, path(40))
        check(one, 140, random_edges(140, 300, 2))

    def test_it_tells_how_far_it_is(self, one):
        told = []
        answer_for(one, 300, random_edges(300, 900, 1), progress=told.append)
        assert told == [1 / 3, 2 / 3, 1]
        told.clear()
        answer_for(one, 300, random_edges(300, 900, 1), next_hops=True, progress=told.append)
        assert told == [1 / 6, 2 / 6, 1 / 2, 1]

    def test_what_it_raises_passes(self, one):
        class EnoughError(Exception):
            pass

        def stop(_):
            raise EnoughError

        with pytest.raises(EnoughError):
            answer_for(one, 300, random_edges(300, 900, 1), progress=stop)


class Small(SimulatedDevice):
    """A GPU with little memory."""

    def __init__(self, free, **options):
        super().__init__(counters=False, **options)
        self.free = free

    def free_bytes(self):
        return self.free


class TestMemory:
    """Answers that the GPU does not hold."""

    def test_bands_of_rows(self):
        # Of 300 vertices a block has 57,600 bytes of masks, and a row of int16 has 600.
        gpu = Small(150_000, multiprocessors=2)
        assert layout_of(gpu, 300) == Layout(1, 100, 100)
        found = check(gpu, 300, random_edges(300, 900, 5))
        assert "; 100 rows at a time, for want of its memory: next hops on the CPU;" in found.why
        alone = answer_for(gpu, 300, random_edges(300, 900, 5))
        assert "; 100 rows at a time, for want of its memory; as asked" in alone.why
        assert np.array_equal(alone.dist_matrix, found.dist_matrix)

    def test_next_hops_some_rows_at_a_time(self):
        # Masks of 57,600 bytes, distances of 180,000, and at a time 235 rows of next hops.
        found = check(Small(291_000, multiprocessors=1), 300, random_edges(300, 900, 5))
        assert "memory" not in found.why

    def test_no_room_for_next_hops(self):
        class Full(SimulatedDevice):
            def launch(self, kernel, *args, **options):
                if kernel is level_launches.write_next_hops:
                    raise errors.TooLargeError("full")
                super().launch(kernel, *args, **options)

        gpu = Full(counters=False, multiprocessors=1)
        found = check(gpu, 50, random_edges(50, 150, 5))
        assert "; not enough memory beside the distances: next hops on the CPU;" in found.why

    def test_no_room_for_one_block(self):
        told = r"128 searches over 300 vertices need .* bytes, of which simulated .* has 96,875"
        with pytest.raises(errors.TooLargeError, match=told):
            answer_for(Small(100_000), 300, path(300))

    def test_more_arcs_than_kernels_count(self, one, monkeypatch):
        monkeypatch.setattr(level_launches, "_MOST_ARCS", 10)
        with pytest.raises(errors.TooLargeError, match="11 arcs are more than 32 bits count"):
            answer_for(one, 12, path(12))


class TestChoice:
    """What `auto` takes on a GPU; the estimates are those of an H200."""

    def choice(self, given, *, is_asked=True, next_hops=False):
        def seconds(n, dtype):
            return engine.seconds(H200, n, dtype)

        dtype, target = plan.default_dtype(given), Target(H200, "", is_asked)
        searches = plan.searches_for(
            given, dtype, "auto", seconds, target, overwrite=False, next_hops=next_hops
        )
        return plan.choose_method(given, dtype, "auto", seconds, searches, next_hops=next_hops)

    def edges(self, n, ends):
        return Edges(n, *ends, None, directed=False)

    def test_small_graphs_that_an_h200_searches_sooner(self):
        # As lagraph_fw_1000: 2.8 ms, by Floyd-Warshall 4.8, and on the CPU of that host 1.3.
        ends = np.arange(1, 1000)
        tree = ends, np.maximum(ends - 4, 0)
        chosen = self.choice(self.edges(1000, tree))
        assert isinstance(chosen.ready, GpuSearches)
        assert chosen.name == "breadth-first"
        assert isinstance(self.choice(self.edges(1000, tree), is_asked=False).ready, Searches)

    def test_sparse_graphs_are_searched_there(self):
        sparse = self.edges(20_000, random_edges(20_000, 60_000, 1))
        chosen = self.choice(sparse)
        assert isinstance(chosen.ready, GpuSearches)
        assert chosen.name == "breadth-first"
        assert chosen.why.startswith("all edges are of one length; estimated ")
        assert ", Floyd-Warshall " in chosen.why

    def test_long_small_and_dense_ones_are_closed(self):
        # By Floyd-Warshall, or where there are many cores by Dijkstra.
        assert self.choice(self.edges(4000, path(4000))).name != "breadth-first"
        assert self.choice(self.edges(60, random_edges(60, 180, 1))).ready is None
        half = np.nonzero(np.random.default_rng(1).random((700, 700)) < 0.5)
        assert self.choice(self.edges(700, half)).ready is None

    def test_matrices_and_other_lengths_are_closed(self):
        weights = np.where(np.random.default_rng(1).random((900, 900)) < 0.01, 1.0, np.inf)
        assert self.choice(Matrix(weights, np.inf)).name == "floyd-warshall"
        weighted = Edges(400, *random_edges(400, 900, 1), np.arange(900), directed=False)
        assert self.choice(weighted).name == "floyd-warshall"

    def test_long_ones_stay_with_the_cpu_where_no_gpu_is_asked_for(self):
        found = self.choice(self.edges(4000, path(4000)), is_asked=False)
        assert isinstance(found.ready, Searches)

    def test_what_is_said(self, one, monkeypatch):
        graph = wl.Graph.from_edges(*random_edges(100, 300, 1), n=100)
        monkeypatch.setattr(engine, "seconds", lambda *_, **_options: 1.0)
        answer = wl.shortest_paths(graph, device=one)
        told = f"breadth-first searches on {one.properties.name}; all edges are of one length; "
        assert answer.why.startswith(f"{told}estimated ")
        assert answer.method == "breadth-first"

    def test_longer_ways_and_next_hops_take_longer(self):
        int16 = np.dtype(np.int16)
        long, short = (
            GpuSearches.of(H200, self.edges(3000, ends), 1) for ends in (path(3000), star(3000))
        )
        assert long.seconds(int16) > 3 * short.seconds(int16)
        assert short.seconds(int16, next_hops=True) > short.seconds(int16)


def test_a_host_without_memory(one):
    searches = GpuSearches(one, Edges(10**7, *path(3), None, True), 1, None, None, 1)
    with pytest.raises(errors.TooLargeError, match="GiB"):
        hop_counts(searches, np.dtype(np.int16), next_hops=False)
