from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choosing import large
from warpladder.device import host_memory
from warpladder.device.host_memory import HostMemory
from warpladder.errors import InputError, InputTypeError, TooLargeError
from warpladder.shortest_paths.generators import cycle, grid, random_graph, scale_free

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpladder.shortest_paths.graph import Graph

MAKERS: dict[str, Callable[..., Graph]] = {
    "random": lambda **options: random_graph(30, density=0.3, **{"weights": (1, 100), **options}),
    "grid": lambda **options: grid(5, 7, **{"weights": (1, 100), **options}),
    "scale-free": lambda **options: scale_free(
        40, edges_per_vertex=3, **{"weights": (1, 100), **options}
    ),
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def pairs(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))


def assert_simple(graph: Graph) -> None:
    """No self-loops and no parallel edges; an undirected edge stands for both directions."""
    known = pairs(graph) if graph.directed else [(min(e), max(e)) for e in pairs(graph)]
    assert len(set(known)) == len(known) == graph.edge_count
    assert all(u != v and 0 <= u < graph.n and 0 <= v < graph.n for u, v in known)


def same(a: Graph, b: Graph) -> bool:
    assert a.weights is not None
    assert b.weights is not None
    return pairs(a) == pairs(b) and np.array_equal(a.weights, b.weights)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("n", [3, 10, 31])
def test_a_cycle_goes_through_every_vertex_once(n: int, directed: bool) -> None:
    ring = cycle(n, directed=directed)
    assert pairs(ring) == [(i, (i + 1) % n) for i in range(n)]
    assert ring.directed is directed
    assert ring.weights is not None
    assert ring.weights.tolist() == [1] * n


def test_the_smallest_cycle_goes_forth_and_back() -> None:
    assert pairs(cycle(2)) == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("weight", "dtype"),
    [(7, "int32"), (-7, "int32"), (2**31, "int64"), (0.5, "float64"), (np.float32(2), "float32")],
)
def test_a_cycle_keeps_the_kind_of_its_weight(weight: Any, dtype: str) -> None:
    weights = cycle(4, weight=weight).weights
    assert weights is not None
    assert weights.dtype == dtype
    assert (weights == weight).all()


@given(n=st.integers(1, 12), share=st.floats(0, 1), directed=st.booleans(), seed=st.integers(0, 99))
def test_a_random_graph_has_the_edges_asked_for(
    n: int, share: float, directed: bool, seed: int
) -> None:
    possible = n * (n - 1) // (1 if directed else 2)
    by_density = random_graph(n, density=share, directed=directed, seed=seed, weights=(1, 9))
    assert_simple(by_density)
    assert by_density.edge_count == round(share * possible)
    by_number = random_graph(
        n, edges=round(share * possible), directed=directed, seed=seed, weights=(1, 9)
    )
    assert same(by_density, by_number)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_density_1_is_the_complete_graph(n: int, directed: bool) -> None:
    complete = permutations(range(n), 2) if directed else combinations(range(n), 2)
    assert pairs(random_graph(n, density=1, directed=directed)) == list(complete)


@pytest.mark.parametrize(
    ("directed", "edges"), [(True, 2), (False, 4), *large((True, 4), (False, 2))]
)
def test_every_set_of_edges_is_equally_likely(directed: bool, edges: int) -> None:
    n, rounds = (3, 3000) if directed else (4, 3000)
    generator = np.random.default_rng(5)
    seen = Counter(
        tuple(pairs(random_graph(n, edges=edges, directed=directed, seed=generator)))
        for _ in range(rounds)
    )
    sets = math.comb(6, edges)
    assert len(seen) == sets
    expected = rounds / sets
    chi_square = sum((count - expected) ** 2 / expected for count in seen.values())
    # 14 degrees of freedom: a fair draw stays below this but once in ten thousand times.
    assert chi_square < 42.6


def test_a_large_sparse_graph_takes_memory_for_its_edges_only() -> None:
    # A matrix of its pairs, even of bits, would take 1.25 GB.
    graph = random_graph(100_000, edges=200_000)
    assert graph.edge_count == 200_000
    assert_simple(graph)
    # Sources and targets are spread over all vertices alike.
    for ends in (graph.sources, graph.targets):
        assert abs(ends.mean() - 49_999.5) < 5 * 100_000 / math.sqrt(12 * 200_000)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 6), (6, 1), (3, 5)])
def test_grid_joins_exactly_the_neighbours(rows: int, columns: int) -> None:
    graph = grid(rows, columns)
    assert_simple(graph)
    assert graph.n == rows * columns
    places = [divmod(vertex, columns) for vertex in range(graph.n)]
    neighbours = {
        (u, v)
        for u, v in combinations(range(graph.n), 2)
        if abs(places[u][0] - places[v][0]) + abs(places[u][1] - places[v][1]) == 1
    }
    assert set(pairs(graph)) == neighbours


@pytest.mark.parametrize(("n", "joining"), [(2, 1), (50, 1), (50, 4), (6, 5)])
def test_scale_free_graphs_are_connected_and_count_right(n: int, joining: int) -> None:
    graph = scale_free(n, edges_per_vertex=joining)
    assert_simple(graph)
    assert graph.components == 1
    assert graph.edge_count == joining * (joining + 1) // 2 + (n - joining - 1) * joining


def test_scale_free_degrees_follow_the_power_law() -> None:
    joining = 3
    graph = scale_free(20_000, edges_per_vertex=joining, weights=None)
    degrees = np.bincount(np.concatenate((graph.sources, graph.targets)))
    assert degrees.min() == joining
    # The exact shares in the limit of large n are 2 k (k + 1) / (d (d + 1) (d + 2)).
    for degree in (3, 4, 6, 10, 20):
        share = 2 * joining * (joining + 1) / (degree * (degree + 1) * (degree + 2))
        assert np.mean(degrees == degree) == pytest.approx(share, rel=0.2)
    assert degrees.max() > 200


@pytest.mark.parametrize("make", [MAKERS["grid"], MAKERS["scale-free"]])
def test_directed_networks_have_both_directions_with_weights_of_their_own(
    make: Callable[..., Graph],
) -> None:
    one_way = set(pairs(make()))
    both = make(directed=True)
    assert_simple(both)
    assert set(pairs(both)) == one_way | {(v, u) for u, v in one_way}
    assert both.weights is not None
    weight = dict(zip(pairs(both), both.weights.tolist(), strict=True))
    assert any(weight[u, v] != weight[v, u] for u, v in one_way)


@every_maker
def test_the_seed_decides(make: Callable[..., Graph]) -> None:
    assert same(make(seed=3), make(seed=3))
    assert same(make(seed=3), make(seed=np.random.default_rng(3)))
    assert not same(make(seed=3), make(seed=4))


@every_maker
def test_weights_fill_their_range_and_nothing_else(make: Callable[..., Graph]) -> None:
    weights = make(weights=(5, 7)).weights
    assert weights is not None
    assert weights.dtype == np.int32
    assert set(weights.tolist()) == {5, 6, 7}
    assert make(weights=None).weights is None
    wide = make(weights=(0, 2**40)).weights
    assert wide is not None
    assert wide.dtype == np.int64


@every_maker
def test_weights_below_0_are_for_directed_graphs(make: Callable[..., Graph]) -> None:
    weights = make(directed=True, weights=(-2, 1)).weights
    assert weights is not None
    assert set(weights.tolist()) == {-2, -1, 0, 1}
    with pytest.raises(InputError, match=r"weights: -2 .* make the graph directed"):
        make(directed=False, weights=(-2, 1))


BAD_VALUES: dict[str, tuple[Callable[[], Graph], str]] = {
    "no vertex": (lambda: random_graph(0, edges=0), r"n=0 .* at least 1"),
    "cycle of one": (lambda: cycle(1), r"n=1 .* at least 2"),
    "undirected cycle of two": (lambda: cycle(2, directed=False), r"n=2 .* at least 3"),
    "infinite weight": (lambda: cycle(3, weight=math.inf), "weight=inf must be finite"),
    "weight is no number": (lambda: cycle(3, weight=math.nan), "weight=nan must be finite"),
    "negative undirected": (lambda: cycle(3, directed=False, weight=-1), "weight: -1"),
    "too wide": (lambda: cycle(3, weight=10**400), "weight: .* does not fit int64"),
    "too many": (lambda: random_graph(2**31, edges=1), "n=2147483648 is too large"),
    "density above 1": (lambda: random_graph(3, density=1.01), "density=1.01 must be from 0 to 1"),
    "density nan": (lambda: random_graph(3, density=math.nan), "density=nan"),
    "neither": (lambda: random_graph(3), "density, edges: .* exactly one"),
    "both": (lambda: random_graph(3, density=0.5, edges=3), "density, edges: .* exactly one"),
    "edges": (lambda: random_graph(3, edges=7), "edges=7 is too large; .* at most 6"),
    "edges both ways": (
        lambda: random_graph(3, edges=4, directed=False),
        "3, the possible edges of an undirected",
    ),
    "edges undirected": (lambda: random_graph(3, edges=4, directed=False), "at most 3"),
    "negative edges": (lambda: random_graph(3, edges=-1), "edges=-1 is too small"),
    "weights order": (lambda: grid(2, 2, weights=(3, 1)), r"weights=\(3, 1\).*give \(1, 3\)"),
    "weights size": (lambda: grid(2, 2, weights=(0, 2**63)), "weights: .* does not fit int64"),
    "rows": (lambda: grid(0, 2), "rows=0 is too small"),
    "columns": (lambda: grid(2, -1), "columns=-1 is too small"),
    "grid": (lambda: grid(2**20, 2**20), "rows=1048576 times columns=1048576"),
    "joining": (lambda: scale_free(5, edges_per_vertex=5), "edges_per_vertex=5 .* 4, n - 1"),
    "joining 0": (lambda: scale_free(5, edges_per_vertex=0), "edges_per_vertex=0 is too small"),
    "seed": (lambda: grid(2, 2, seed=-1), "seed=-1 must be 0 or more"),
}


@pytest.mark.parametrize(("call", "message"), BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_values_that_cannot_be_used(call: Callable[[], Graph], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


BAD_KINDS: dict[str, tuple[Callable[..., Graph], dict[str, Any], str]] = {
    "n": (cycle, {"n": 3.0}, "n must be an integer, not float"),
    "bool": (cycle, {"n": True}, "n must be an integer, not bool"),
    "weight": (cycle, {"n": 3, "weight": "1"}, "weight must be a number, not str"),
    "density": (random_graph, {"n": 3, "density": "1"}, "density must be a number, not str"),
    "edges": (random_graph, {"n": 3, "edges": 1.5}, "edges must be an integer"),
    "weights": (grid, {"rows": 2, "columns": 2, "weights": 5}, r"weights must be a pair"),
    "bound": (grid, {"rows": 2, "columns": 2, "weights": (0.5, 1)}, "weights must be an integer"),
    "seed": (grid, {"rows": 2, "columns": 2, "seed": None}, "seed must be an integer"),
}


@pytest.mark.parametrize(("make", "options", "message"), BAD_KINDS.values(), ids=BAD_KINDS.keys())
def test_kinds_that_are_not_taken(
    make: Callable[..., Graph], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputTypeError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("make", "edges"),
    [
        (lambda: cycle(10**9), 10**9),
        (lambda: random_graph(10**6, density=0.5, directed=False), 249_999_750_000),
        (lambda: grid(10**4, 10**5, directed=True), 3_999_780_000),
        (lambda: scale_free(10**6, edges_per_vertex=1000), 10**9),
    ],
)
def test_more_edges_than_memory_has_room_for(
    make: Callable[[], Graph], edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_memory, "host_memory", lambda: HostMemory(2**30, 2**31, "a test has"))
    with pytest.raises(TooLargeError, match=f"graph: its {edges:,} edges take .* a test has"):
        make()
