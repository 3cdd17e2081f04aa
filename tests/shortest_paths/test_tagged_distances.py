"""Next hops by tags, on a simulated GPU: which graphs have them, and what is found."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import absent, as_float, check_hops, distances, random_weights

import warpladder as wl
from choosing import large, meeting
from warpladder.errors import InputError
from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.gpu import close as closing
from warpladder.shortest_paths.gpu import engine, length_bound
from warpladder.shortest_paths.gpu.length_bound import all_below
from warpladder.shortest_paths.gpu.tagged_rounds import close_in_tagged_tiles
from warpladder.shortest_paths.gpu_tiles.tagged import MOST
from warpladder.shortest_paths.rungs import tagged_distances
from warpladder.shortest_paths.rungs._tasks import Weights
from warpladder.simulator import SimulatedDevice

NO_PATH = inner_no_path(np.int32).item()


@pytest.fixture(scope="module")
def gpu() -> SimulatedDevice:
    """Return one that checks: no block may race with another, no thread within one."""
    return SimulatedDevice(counters=False, multiprocessors=1)


@pytest.fixture(scope="module")
def hasty() -> SimulatedDevice:
    return SimulatedDevice(counters=False, checks=False, multiprocessors=1)


@pytest.fixture
def tagged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have graphs of any size closed so; return the sides of the matrices that are."""
    sides = []

    def noting(device: Any, dist: Any, *rest: Any, **named: Any) -> None:
        sides.append(dist.shape[0])
        close_in_tagged_tiles(device, dist, *rest, **named)

    monkeypatch.setattr(length_bound, "_WAYS_FROM", 0)
    monkeypatch.setattr(closing, "_TAGS_FROM", 0)
    monkeypatch.setattr(closing, "_SMALL_ROUNDS_FROM", 0)
    monkeypatch.setattr(closing, "close_in_tagged_tiles", noting)
    return sides


def some_weights(n: int, dtype: str, *, undirected: bool = False) -> NDArray[Any]:
    """Return a graph with detours, equally short paths, and pairs without one."""
    weights = random_weights(n, dtype, density=4 / n, high=9, seed=n)
    weights[:, :1] = absent(dtype)
    if undirected:
        weights[:1] = absent(dtype)
        weights = np.minimum(weights, weights.T)
    np.fill_diagonal(weights, 0)
    return weights


# ---- what is found -------------------------------------------------------------------------------

#: One tile in rounds of one to three; two directed, and three undirected, which have a rest in a
#: round of two. By default there is one tile; with zeros and of many notes there are more,
#: undirected and directed, below. Single launches, of four tiles in a row, too, are tested in
#: test_gpu_rounds.py.
CHOSEN = (33, "int16", 2, False)


@pytest.mark.parametrize(
    ("n", "dtype", "depth", "undirected"),
    [
        CHOSEN,
        *large(
            *meeting(
                (1, 33, 128), ["int32", "int16"], [1, 2, 3], [False, True],
                where=lambda *one: one != CHOSEN,
            ),
            (130, "int32", 1, False),
            (260, "int16", 2, True),
        ),
    ],
)  # fmt: skip
def test_next_hops_by_tags(
    gpu: SimulatedDevice,
    hasty: SimulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    tagged: list[int],
    n: int,
    dtype: str,
    depth: int,
    undirected: bool,
) -> None:
    monkeypatch.setattr(closing, "depth_of", lambda _: depth)
    weights = some_weights(n, dtype, undirected=undirected)
    answer = wl.shortest_paths(weights, device=gpu, next_hops=True)
    # The same from weights on the device; of undirected ones, as the whole of the matrix has them.
    if undirected:
        monkeypatch.setattr(engine, "is_symmetric", lambda _: False)
    given = weights if undirected else hasty.to_device(weights)
    again: Any = wl.shortest_paths(given, device=hasty, next_hops=True)
    assert tagged == [-(-n // 128) * 128] * 2
    assert answer.dist_matrix.dtype == dtype
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    hops: Any = answer.next_hops
    check_hops(weights, answer.dist_matrix, hops)
    assert np.array_equal(hops, again.next_hops if undirected else hasty.to_host(again.next_hops))
    assert (BY_HALF in answer.why) is (undirected or n == 1)
    assert (BY_HALF in again.why) is (n == 1 and not undirected)


@pytest.mark.large
@pytest.mark.parametrize("undirected", [*large(False), True])
def test_edges_of_weight_zero_lead_in_no_circles(
    hasty: SimulatedDevice, tagged: list[int], undirected: bool
) -> None:
    weights = some_weights(140, "int32", undirected=undirected)
    weights[weights < 5] = 0
    answer = wl.shortest_paths(weights, device=hasty, next_hops=True)
    assert tagged
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    check_hops(weights, answer.dist_matrix, answer.next_hops)


@pytest.mark.large
@pytest.mark.parametrize("shuffled", [*large(True), False])
def test_as_many_notes_on_the_way_as_vertices(hasty: SimulatedDevice, shuffled: bool) -> None:
    n = 250
    ring = np.random.default_rng(1).permutation(n) if shuffled else np.arange(n)
    weights = np.full((n, n), NO_PATH, np.int32)
    weights[ring, np.roll(ring, -1)] = np.random.default_rng(2).integers(0, 3, n)
    np.fill_diagonal(weights, 0)
    problem = Weights(weights, NO_PATH)
    dist, hops = tagged_distances.run(hasty, problem)
    assert np.array_equal(dist, distances(np.where(weights == NO_PATH, absent("int32"), weights)))
    steps = np.empty(n, np.int32)
    steps[ring] = np.roll(ring, -1)
    expected = np.broadcast_to(steps[:, None], (n, n)).copy()
    np.fill_diagonal(expected, np.arange(n))
    assert np.array_equal(hops, expected)


# ---- which graphs --------------------------------------------------------------------------------


def chain(lengths: list[int], n: int) -> NDArray[np.int32]:
    """Return a path of these edges, among vertices without any."""
    weights = np.full((n, n), absent("int32"), np.int32)
    for i, length in enumerate(lengths):
        weights[i, i + 1] = length
    return weights


@pytest.mark.parametrize("beyond", [0, 1])
def test_distances_have_to_leave_room(
    hasty: SimulatedDevice, tagged: list[int], beyond: int
) -> None:
    """The longest there may be, and one more: both are right."""
    weights = chain([MOST - 11 + beyond, 7, 3], 20)
    answer = wl.shortest_paths(weights, device=hasty, next_hops=True)
    assert bool(tagged) is not bool(beyond)
    assert answer.dist_matrix[0, 3] == MOST - 1 + beyond
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    check_hops(weights, answer.dist_matrix, answer.next_hops)


def test_long_edges_that_no_path_takes_need_no_room(
    hasty: SimulatedDevice, tagged: list[int]
) -> None:
    weights = random_weights(40, "int32", high=2**29, seed=3)
    weights[3], weights[:, 3] = 5, 7
    answer = wl.shortest_paths(weights, device=hasty, next_hops=True)
    assert tagged
    assert weights.max() > MOST
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    check_hops(weights, answer.dist_matrix, answer.next_hops)


def test_negative_weights_have_no_tags(hasty: SimulatedDevice, tagged: list[int]) -> None:
    weights = some_weights(40, "int32")
    weights[3, 4], weights[4] = -1, absent("int32")
    answer = wl.shortest_paths(weights, device=hasty, next_hops=True)
    assert not tagged
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))


def test_other_dtypes_and_small_graphs_have_no_tags(hasty: SimulatedDevice) -> None:
    least = closing._TAGS_FROM * 128
    for n, dtype, carry, method in (
        *((least, "int32", True, "tags"), (least, "int16", True, "tags")),
        *((least - 128, "int32", True, "hops"), (least, "float32", True, "hops")),
        *((least, "int64", True, "hops"), (least * 2, "int32", False, "singles")),
    ):
        plan = closing.plan_for(hasty, n, np.dtype(dtype), carry=carry)
        assert plan.method == method, (n, dtype)
        assert plan.side % plan.tile == 0
    plan = closing.plan_for(hasty, least, np.dtype(np.int32), carry=True, tags=False)
    assert plan.method == "hops"


def test_the_rung_refuses_what_has_no_tags(hasty: SimulatedDevice) -> None:
    weights = chain([MOST], 3)
    weights[weights == absent("int32")] = NO_PATH
    with pytest.raises(InputError, match=r"problem: .* 4,194,303.* use one-launch-next-hops"):
        tagged_distances.run(hasty, Weights(weights, NO_PATH))
    weights[0, 1] = -1
    with pytest.raises(InputError, match=r"problem: a weight is below 0"):
        tagged_distances.run(hasty, Weights(weights, NO_PATH))


# ---- the bound -----------------------------------------------------------------------------------


def is_below(device: SimulatedDevice, weights: NDArray[np.int32], limit: int) -> bool:
    """Ask for a graph as the engine has it, with some vertices more that have no edges."""
    n = len(weights)
    side = 4 * (n // 4 + 7)
    matrix = np.full((side, side), NO_PATH, np.int32)
    matrix[:n, :n] = np.where(weights == absent("int32"), NO_PATH, weights)
    np.fill_diagonal(matrix, np.minimum(matrix.diagonal(), 0))
    with patch.object(length_bound, "_WAYS_FROM", 0):
        return all_below(device, device.to_device(matrix), n, NO_PATH, limit)


@settings(max_examples=25)
@given(data=st.data())
def test_no_distance_is_beyond_the_bound(hasty: SimulatedDevice, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40), "vertices")
    seed = data.draw(st.integers(0, 999), "seed")
    edges = data.draw(st.sampled_from([0.5, 1, 2, 5, n]), "edges of a vertex")
    high = data.draw(st.sampled_from([1, 10, 10**6]), "heaviest")
    weights = random_weights(n, "int32", density=edges / n, low=0, high=high, seed=seed)
    expected = distances(weights)
    longest = int(expected[np.isfinite(expected)].max(initial=0))
    assert not is_below(hasty, weights, longest)
    assert is_below(hasty, weights, n * high + 1)


def test_vertices_at_which_nothing_ends_or_begins_need_no_way(hasty: SimulatedDevice) -> None:
    weights = np.full((6, 6), absent("int32"), np.int32)
    # 0 to 3 in a circle, with a long way round; nothing leads to 4, and nothing leaves 5.
    for i in range(4):
        weights[i, (i + 1) % 4] = 10
        weights[(i + 1) % 4, i] = 5000
    weights[4, 0], weights[2, 5] = 100, 200
    # To 0 from 4, and from 0 to 5.
    assert is_below(hasty, weights, 100 + 220 + 1)
    assert not is_below(hasty, weights, 100 + 220)
    # From here to 5 there is a way, and none to 0.
    weights[4, 0] = absent("int32")
    weights[4, 5] = 1
    assert not is_below(hasty, weights, 1000)


def test_ways_are_looked_for_in_large_graphs_alone(hasty: SimulatedDevice) -> None:
    """Else the time for that is lost, or as long as what is gained."""
    weights = random_weights(40, "int32", high=1000, seed=3)
    weights[3], weights[:, 3] = 5, 7
    longest = 24
    assert is_below(hasty, weights, longest + 1)
    matrix = hasty.to_device(np.fmin(weights, NO_PATH))
    assert not all_below(hasty, matrix, len(weights), NO_PATH, longest + 1)
    assert all_below(hasty, matrix, len(weights), NO_PATH, 40 * 1000)


@pytest.mark.parametrize("place", [(3, 1), (2, 2)])
def test_a_weight_below_zero_is_no_weight_below_the_limit(
    hasty: SimulatedDevice, place: tuple[int, int]
) -> None:
    weights = random_weights(5, "int32", seed=1)
    assert is_below(hasty, weights, 1000)
    weights[place] = -1
    assert not is_below(hasty, weights, 1000)
