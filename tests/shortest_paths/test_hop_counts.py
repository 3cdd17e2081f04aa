"""Breadth-first searches, 512 at a time: graphs whose edges all have the same length."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hop_graphs import check_next_hops, hops_between, path, random_edges, star
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import absent, as_float

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.shortest_paths import plan
from warpladder.shortest_paths.cpu import SERIAL_UP_TO
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.sparse import elimination, level_hops
from warpladder.shortest_paths.sparse import hop_counts as engine
from warpladder.shortest_paths.sparse.arcs import arcs_of
from warpladder.shortest_paths.sparse.bit_rows import BitRows, bit_rows
from warpladder.shortest_paths.sparse.elimination import eliminate
from warpladder.shortest_paths.sparse.hop_counts import Searches, hop_counts
from warpladder.shortest_paths.sparse.masks import BITS, WORDS
from warpladder.shortest_paths.sparse.orders import in_order
from warpladder.shortest_paths.sparse.strips import ROW_BYTES
from warpladder.shortest_paths.sparse.whole_lengths import WholeLengths
from warpladder.shortest_paths.widening import DoesNotFitError

INF = np.inf


def answer_for(n, ends, weights=None, *, directed=True, **options):
    graph = wl.Graph.from_edges(*ends, weights, n=n, directed=directed)
    return wl.shortest_paths(graph, method="breadth-first", device="cpu", **options)


def as_bits(n, arcs):
    present = np.zeros((n, -(-n // BITS) * BITS), bool)
    for v in range(n):
        present[v, arcs.ends[arcs.starts[v] : arcs.starts[v + 1]]] = True
    rows = np.packbits(present, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    return BitRows(rows.reshape(-1, WORDS), arcs.ends.size)


def with_arcs(given, length=1):
    """A graph made ready for searches of many at a time, however many arcs it has."""
    arcs = arcs_of(given)
    return Searches(given, length, listed=arcs, order=in_order(arcs)[0])


def every_way(given, dtype, length=1):
    """Distances from many searches at a time, from one at a time, from bits, and from no graph."""
    searches = with_arcs(given, length)
    ways = [
        searches,
        replace(searches, one_by_one=True),
        replace(searches, marked=as_bits(given.n, searches.arcs)),
    ]
    gone = eliminate(searches.arcs, 1 << 20, 1 << 30)
    if given.n >= ROW_BYTES // gone.out.itemsize:
        ways.append(replace(searches, eliminated=gone))
    return [hop_counts(way, np.dtype(dtype), next_hops=False)[0] for way in ways]


def check(n, ends, *, directed=True, **options):
    answer = answer_for(n, ends, directed=directed, next_hops=True, **options)
    expected = hops_between(n, *ends, directed=directed)
    assert answer.method == "breadth-first"
    assert np.array_equal(as_float(answer.dist_matrix), expected)
    for found in every_way(answer.graph.given, answer.dist_matrix.dtype):
        assert np.array_equal(found, answer.dist_matrix)
    check_next_hops(answer.next_hops, expected)


@pytest.mark.parametrize(
    "n",
    [
        0,
        1,
        2,
        15,
        16,
        17,
        31,
        32,
        33,
        63,
        64,
        65,
        127,
        128,
        129,
        255,
        256,
        257,
        511,
        512,
        513,
        1031,
    ],
)
@pytest.mark.parametrize("arcs", [1, 4])
@pytest.mark.parametrize("directed", [True, False])
def test_random_graphs_of_awkward_sizes(n, arcs, directed):
    check(n, random_edges(n, arcs * n, seed=n + arcs), directed=directed)


# A dtype is what is written in the end: a float and an integer, of either width.
@pytest.mark.parametrize("dtype", ["float32", *large("int64")])
@pytest.mark.parametrize("make", [path, star])
def test_every_dtype(dtype, make):
    check(600, make(600), dtype=dtype)
    far = answer_for(3, ([0], [1]), dtype=dtype)
    assert far.dist_matrix.dtype == np.dtype(dtype)
    assert far.dist_matrix[1, 0] == absent(dtype) == far.unreachable


@pytest.mark.parametrize("n", [254, 255, 256, 257, 530])
@pytest.mark.parametrize("directed", [True, False])
def test_paths_on_both_sides_of_eight_digits(n, directed):
    check(n, path(n), directed=directed)


def test_long_thin_graphs_are_searched_one_by_one():
    # What would become full of arcs, with a long tail.
    core, tail = random_edges(900, 8000, 1), np.arange(899, 2400)
    ends = np.concatenate([core, [tail, tail + 1]], axis=1)
    assert "breadth-first searches one by one on" in answer_for(2401, ends).why
    assert "one by one" not in answer_for(700, random_edges(700, 3000, 1)).why


class TestManyArcs:
    """Graphs with at least one arc for 16 pairs."""

    @pytest.mark.parametrize(
        ("n", "share", "directed"),
        [
            *((1, 1, True), (2, 0.5, False), (63, 0.1, True), (64, 1, False), (65, 0.5, True)),
            *((511, 0.1, False), (512, 1, True), (513, 0.5, False)),
            *large(
                *product([64, 513], [0.1], [True, False]), *product([511, 512], [0.5, 1], [False])
            ),
        ],
    )
    def test_random_ones(self, n, share, directed):
        present = np.random.default_rng(n).random((n, n)) < share
        # One that no arc leads to, one from which none leads, one alone.
        present[:, n // 2] = present[n // 3] = present[:, n // 5] = present[n // 5] = False
        check(n, np.nonzero(present), directed=directed)

    @pytest.mark.parametrize("form", ["edges", "bool", "float32"])
    def test_they_are_marked(self, form):
        for share, is_marked in ((0.04, False), (0.08, True)):
            present = np.random.default_rng(1).random((300, 300)) < share
            given = Edges(300, *np.nonzero(present), None, directed=True)
            if form != "edges":
                weights = present if form == "bool" else np.where(present, np.float32(2), INF)
                given = Matrix(weights, False if form == "bool" else INF)
            found = bit_rows(given)
            assert (found is not None) == is_marked
            if is_marked:
                expected = as_bits(300, arcs_of(given))
                assert np.array_equal(found.rows, expected.rows)
                assert found.arcs == expected.arcs

    def test_two_pieces_and_a_long_way_round(self):
        block = ~np.eye(40, dtype=bool)
        ring = np.roll(np.kron(np.eye(6, dtype=bool), np.ones((40, 40), bool)), 40, axis=1)
        for present in (np.kron(np.eye(3, dtype=bool), block), ring):
            check(len(present), np.nonzero(present))

    def test_infinite_weights_are_no_arcs(self):
        ends = np.nonzero(~np.eye(70, dtype=bool))
        weights = np.where(ends[1] == (ends[0] + 1) % 70, np.float32(1), np.float32(INF))
        found = answer_for(70, ends, weights).dist_matrix
        assert np.array_equal(found, (np.arange(70) - np.arange(70)[:, None]) % 70)


class TestElimination:
    """Graphs from which vertices can be taken out without many new arcs."""

    def test_they_are_chosen(self):
        assert "elimination of vertices on" in answer_for(700, path(700)).why
        assert "elimination" not in answer_for(700, random_edges(700, 3000, 1)).why

    @pytest.mark.parametrize("directed", [True, False])
    @pytest.mark.parametrize(
        "chains",
        [
            [(0, 1, 300)],
            [(0, 0, 300)],
            [(0, 1, 100), (0, 1, 57), (0, 1, 1), (0, 1, 0), (1, 0, 30)],
            [(0, 1, 9), (1, 2, 60), (2, 2, 40), (2, 2, 41), (3, 4, 50), (4, 3, 50), (5, 6, 2)],
            [(k, k + 1, k % 7) for k in range(60)] + [(k, k + 20, 3) for k in range(40)],
        ],
    )
    def test_chains(self, chains, directed):
        """From one end to another, over so many vertices: also parallel ones, and circles."""
        n = 1 + max(max(chain[:2]) for chain in chains)
        edges = []
        for first, last, between in chains:
            inner = list(range(n, n + between))
            edges += zip([first, *inner], [*inner, last], strict=True)
            n += between
        # Some are alone, and the others are named at random.
        names = np.random.default_rng(len(edges)).permutation(n + 5)
        check(n + 5, names[np.array(edges).T], directed=directed)

    @pytest.mark.parametrize("directed", [True, False])
    @pytest.mark.parametrize("turned", [True, False])
    def test_trees_and_ladders(self, turned, directed):
        rng = np.random.default_rng(5)
        child = np.arange(1, 600)
        for parent in (child // 2, child - rng.integers(1, np.minimum(child, 4) + 1), child // 30):
            ends = (child, parent) if turned else (parent, child)
            check(600, ends, directed=directed)
        side = np.arange(250)
        rails = np.r_[side[:-1], side[:-1] + 250, side], np.r_[side[1:], side[1:] + 250, side + 250]
        check(500, rails[::-1] if turned else rails, directed=directed)

    @pytest.mark.parametrize("m", [100, 300, 600, 1200])
    @pytest.mark.parametrize("seed", range(4))
    def test_both_ways_differ(self, m, seed):
        check(300, random_edges(300, m, seed), directed=True)

    def test_it_is_given_up(self):
        arcs = arcs_of(Edges(300, *random_edges(300, 900, 1), None, directed=False))
        gone = eliminate(arcs, 1 << 20, 1 << 30)
        assert sorted(gone.order) == list(range(300))
        assert np.array_equal(gone.order[gone.places], np.arange(300))
        # While there are lists, when there is a matrix, and at its end.
        for most in (100, 2000, gone.later.size - 1):
            assert eliminate(arcs, most, 1 << 30) is None
        steps = [2**k for k in range(20)]
        is_done = [eliminate(arcs, 1 << 20, most) is not None for most in steps]
        assert is_done == sorted(is_done)
        assert not is_done[0]
        assert is_done[-1]

    def test_graphs_of_fewer_vertices_than_a_strip_has_columns_stay(self):
        for n, is_taken in ((127, False), (128, True)):
            searches = Searches.of(
                Edges(n, *map(np.asarray, path(n)), None, directed=False), WholeLengths(1)
            )
            assert (searches.eliminated is not None) == is_taken

    @pytest.mark.parametrize("dtype", ["int16", "float32", *large("int32", "int64", "float64")])
    @pytest.mark.parametrize("directed", [True, False])
    def test_more_vertices_than_int16_counts(self, dtype, directed, monkeypatch):
        """Steps are then of int32, which few vertices can have as well."""
        monkeypatch.setattr(elimination, "steps_dtype", lambda _: np.dtype(np.int32))
        n = 200
        given = Edges(n, *random_edges(n, 230, 7), None, directed=directed)
        searches = Searches.of(given, WholeLengths(3))
        gone = eliminate(searches.arcs, 1 << 20, 1 << 30)
        assert gone.out.dtype == np.int32
        expected = every_way(given, dtype, 3)[0]
        found = hop_counts(replace(searches, eliminated=gone), np.dtype(dtype), next_hops=False)[0]
        assert np.array_equal(found, expected)


def test_a_distance_that_is_beyond_the_dtype_is_none_that_is_missing():
    # The second level is 32,767 steps of int16, which means "no path" there.
    length = 32767 // 2 + 1
    ends = [0, 1, 2, 3], [1, 2, 3, 0]
    searches = with_arcs(Edges(4, *map(np.array, ends), None, directed=False), length - 1)
    for one_by_one in (False, True):
        with pytest.raises(DoesNotFitError, match="a distance of"):
            hop_counts(replace(searches, one_by_one=one_by_one), np.dtype("int16"), next_hops=False)
    marked = replace(searches, marked=as_bits(4, searches.arcs))
    with pytest.raises(DoesNotFitError, match="a distance of"):
        hop_counts(marked, np.dtype("int16"), next_hops=False)
    long = Searches.of(
        Edges(700, *map(np.asarray, path(700)), None, directed=False), WholeLengths(24)
    )
    assert long.eliminated is not None
    with pytest.raises(DoesNotFitError, match=f"a distance of {24 * 699}"):
        hop_counts(long, np.dtype("int16"), next_hops=False)


def test_searches_one_by_one_end_at_what_means_no_path():
    # The seventh level is 32,767, which int16 could not tell from a vertex not found yet.
    length = 32767 // 7
    searches = with_arcs(Edges(12, *map(np.asarray, path(12)), None, directed=False), length)
    with pytest.raises(DoesNotFitError, match="a distance of 32767"):
        hop_counts(replace(searches, one_by_one=True), np.dtype("int16"), next_hops=False)


def test_a_long_tail_on_a_full_core():
    core = np.argwhere(~np.eye(40, dtype=bool)).T
    tail = np.arange(39, 339)
    check(340, np.concatenate([core, [tail, tail + 1], [tail + 1, tail]], axis=1))


def test_stars_and_full_graphs_are_pulled():
    for n in (65, 513):
        check(n, star(n), directed=False)
        check(n, np.argwhere(~np.eye(n, dtype=bool)).T)


def test_many_pieces():
    ends = np.arange(0, 700, 2)
    check(701, (ends, ends + 1), directed=False)


def test_a_directed_circle():
    check(520, (np.arange(520), (np.arange(520) + 1) % 520))


@settings(max_examples=60)
@given(st.data())
def test_any_graph(data):
    n = data.draw(st.integers(1, 24))
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=70))
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    check(n, ends, directed=data.draw(st.booleans()))


# By default on one core: loops of Floyd-Warshall for several would be compiled for this alone.
@pytest.mark.parametrize("most", [SERIAL_UP_TO, *large(600)])
@settings(max_examples=20)
@given(st.data(), st.integers(0, 3000), st.integers(0, 99), st.booleans())
def test_it_agrees_with_floyd_warshall(most, data, m, seed, directed):
    n = data.draw(st.integers(1, most))
    graph = wl.Graph.from_edges(*random_edges(n, m, seed), n=n, directed=directed)
    searched = wl.shortest_paths(graph, method="breadth-first", device="cpu").dist_matrix
    closed = wl.shortest_paths(graph, method="floyd-warshall", device="cpu").dist_matrix
    assert searched.dtype == closed.dtype
    assert np.array_equal(searched, closed)


class TestLengths:
    """Edges of one length that is not 1."""

    @pytest.mark.parametrize(
        ("weights", "dtype"), [([7] * 3, "int16"), ([2.5] * 3, "float32"), ([True] * 3, "int16")]
    )
    def test_distances_are_multiples(self, weights, dtype):
        ends = [0, 1, 2], [1, 2, 3]
        weights = np.array(weights)
        found = answer_for(5, ends, weights, dtype=dtype).dist_matrix
        closed = wl.shortest_paths(
            wl.Graph.from_edges(*ends, weights, n=5), dtype=dtype, method="floyd-warshall"
        )
        assert found.dtype == closed.dist_matrix.dtype
        assert np.array_equal(found, closed.dist_matrix)

    def test_a_distance_that_does_not_fit(self):
        weights = np.full(3, 12_000, "int16")
        chain = [0, 1, 2], [1, 2, 3]
        answer = answer_for(4, chain, weights)
        assert answer.dist_matrix.dtype == np.int32
        assert answer.distance(0, 3) == 36_000
        assert "int32 because int16 cannot hold a distance" in answer.why
        with pytest.raises(
            errors.DistanceOverflowError, match="36000, beyond what distances use of int16"
        ):
            answer_for(4, chain, weights, dtype="int16")

    @pytest.mark.parametrize("dtype", ["float32", *large("float64")])
    @pytest.mark.parametrize("loop", [0.0, 5.0, INF])
    def test_loops_are_no_matter(self, loop, dtype):
        graph = wl.Graph.from_edges([0, 1, 1], [1, 1, 2], np.array([2.0, loop, 2.0], dtype))
        answer = wl.shortest_paths(graph, method="breadth-first")
        assert answer.dist_matrix.tolist() == [[0, 2, 4], [INF, 0, 2], [INF, INF, 0]]

    def test_a_loop_below_zero_is_a_negative_cycle(self):
        n = 80
        ends = np.append(np.arange(n - 1), 7), np.append(np.arange(1, n), 7)
        with pytest.raises(errors.NegativeCycleError):
            wl.shortest_paths((*ends, np.append(np.ones(n - 1), -1)))


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_dense_matrices(kind, layout):
    adjacency = np.random.default_rng(3).random((130, 130)) < 0.05
    weights = adjacency if kind == "bool" else np.where(adjacency, 1, INF)
    given = np.array(weights, kind, order=layout)
    answer = wl.shortest_paths(given, method="breadth-first", next_hops=True)
    expected = hops_between(130, *np.nonzero(adjacency))
    assert np.array_equal(as_float(answer.dist_matrix), expected)
    check_next_hops(answer.next_hops, expected)
    assert np.array_equal(given, weights, equal_nan=True)


class TestArcs:
    """Compressed rows."""

    def test_both_ways_without_loops_or_parallel_arcs(self):
        ends = np.array([2, 2, 0, 1, 2]), np.array([0, 0, 1, 1, 1])
        arcs = arcs_of(Edges(4, *ends, np.array([1, 1, 1, 1, INF]), True))
        assert [part.tolist() for part in arcs] == [
            [0, 1, 1, 2, 2],
            [1, 0],
            [0, 1, 2, 2, 2],
            [2, 0],
        ]

    def test_the_order_has_every_vertex_once_and_begins_at_an_end(self):
        mixed = np.random.default_rng(0).permutation(50)
        order, depth = in_order(arcs_of(Edges(60, mixed[:-1], mixed[1:], None, True)))
        assert sorted(order.tolist()) == list(range(60))
        assert depth == 49 * 50 / 60


class TestChoice:
    """What `auto` takes, and what it says."""

    def test_graphs_without_weights_are_searched(self):
        answer = wl.shortest_paths(tuple(random_edges(800, 3000, 1)), device="cpu")
        assert answer.method == "breadth-first"
        told = r"breadth-first searches on \d+ CPU cores?; all edges are of one length; estimated"
        assert re.match(told, answer.why)

    # By default test_dijkstra.py has what is taken instead, and computes nothing.
    @pytest.mark.parametrize("last", [1, *large(65)])
    def test_one_other_weight_is_enough(self, last):
        weights = np.append(np.ones(2999, "int16"), np.int16(last))
        sources, targets = random_edges(800, 3000, 1)
        sources[-1], targets[-1] = 5, 6
        answer = wl.shortest_paths((sources, targets, weights), device="cpu")
        assert (answer.method == "breadth-first") is (last == 1)

    def test_small_graphs_and_matrices_to_be_used_up_are_not(self):
        assert wl.shortest_paths(path(50)).method == "floyd-warshall"
        weights = np.ones((400, 400), "float32")
        assert wl.shortest_paths(weights, device="cpu").method == "breadth-first"
        answer = wl.shortest_paths(weights, device="cpu", overwrite=True)
        assert answer.method == "floyd-warshall"
        assert answer.dist_matrix is weights

    def test_a_matrix_whose_arcs_would_take_much_memory_is_not(self, monkeypatch):
        monkeypatch.setattr(plan, "_LITTLE_MEMORY", 0)
        full = np.ones((400, 400), "float32")
        assert wl.shortest_paths(full, device="cpu").method == "floyd-warshall"
        half = np.where(np.tri(400, k=-40, dtype=bool), np.float32(1), np.float32(INF))
        assert wl.shortest_paths(half, device="cpu").method == "breadth-first"

    def test_what_cannot_be_searched_is_refused(self):
        with pytest.raises(errors.InputError, match="edges are not all of 1 to 64 steps of one"):
            wl.shortest_paths(([0, 1], [1, 2], [1, 65]), method="breadth-first")
        with pytest.raises(errors.InputError, match="graphs are dense matrices"):
            wl.shortest_paths(np.ones((2, 3, 3)), method="breadth-first")

    def test_longer_ways_take_longer(self):
        def seconds(ends):
            given = Edges(3000, *map(np.asarray, ends), None, True)
            searches = Searches.of(given, WholeLengths(1))
            at_once = replace(searches, one_by_one=False, eliminated=None)
            return at_once.seconds(np.dtype("int16")), searches.seconds(np.dtype("int16"))

        at_once, chosen = seconds(path(3000))
        assert at_once > 10 * seconds(star(3000))[0]
        assert chosen < at_once


class TestProgress:
    """As every engine tells and stops."""

    @pytest.mark.parametrize("brief", [0, 1])
    @pytest.mark.parametrize("next_hops", [False, True])
    def test_it_ends_at_one(self, next_hops, brief, monkeypatch):
        monkeypatch.setattr(engine, "_BRIEF_SECONDS", brief)
        monkeypatch.setattr(level_hops, "_BRIEFLY", brief << 28)
        told = []
        searches = Searches.of(
            Edges(1400, *random_edges(1400, 6000, 2), None, True), WholeLengths(1)
        )
        assert searches.is_brief(np.dtype("int16")) == brief
        hop_counts(searches, np.dtype("int16"), next_hops=next_hops, progress=told.append)
        assert told[-1] == 1
        assert told == sorted(told)

    def test_what_it_raises_passes(self):
        class EnoughError(Exception):
            pass

        def stop(_):
            raise EnoughError

        with pytest.raises(EnoughError):
            answer_for(1400, path(1400), progress=stop)

    def test_memory_that_is_not_there(self):
        with pytest.raises(errors.TooLargeError, match="GiB"):
            answer_for(10_000_000, ([0], [1]))
