"""Half of a symmetric matrix on a GPU: the same bits as the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import absent, as_float, check_hops, distances, random_weights

import warpladder as wl
from choosing import large, only
from warpladder.shortest_paths.api import _engine
from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF
from warpladder.shortest_paths.gpu import close as closing
from warpladder.shortest_paths.gpu import engine, halves
from warpladder.shortest_paths.gpu.kernels import PARTS_OF_ROW, THREADS, find_unlike
from warpladder.shortest_paths.solve import Options
from warpladder.simulator import SimulatedDevice


@pytest.fixture(autouse=True)
def _rounds_from_one_vertex_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_ONE_LAUNCH_UP_TO", 0)
    monkeypatch.setattr(closing, "_SMALL_ROUNDS_FROM", 0)


@pytest.fixture(scope="module")
def gpu() -> SimulatedDevice:
    """Return one that checks: no block may race with another."""
    return SimulatedDevice(counters=False, multiprocessors=1)


def both_ways(weights: NDArray[Any]) -> NDArray[Any]:
    """Return the lighter weight of both directions."""
    return np.minimum(weights, weights.T)


def undirected(n: int, dtype: str) -> NDArray[Any]:
    """Return a graph with detours, rounded sums, pairs without a path, and zeros of both signs."""
    weights = both_ways(random_weights(n, dtype, density=3 / n, seed=n))
    weights[:7], weights[:, :7] = absent(dtype), absent(dtype)
    if weights.dtype.kind == "f":
        weights /= weights.dtype.type(np.pi)
        zeros = np.random.default_rng(n).integers(7, n, (4, 40))
        for i, j, zero in ((*zeros[:2], 0.0), (*zeros[2:], -0.0)):
            weights[i, j], weights[j, i] = zero, zero
    return weights


# ---- the same bits -------------------------------------------------------------------------------

#: Three tiles in a row, of which a round has a rest while the next one begins: 260 vertices, and of
#: the small ones, which next hops and float64 have, 130; other large ones are two. What comes last
#: is how many tiles of the diagonal a round takes, and whether rows and columns go in whole tiles,
#: as the small ones do. By default two rounds without next hops, which go along with distances;
#: those of tags are halved by default, too. In test_gpu_rounds.py launches have four in a row, and
#: which tiles of many wait for which is seen without running them.
CHOSEN = (130, "float64", False, (2, False))


@pytest.mark.parametrize(
    ("n", "dtype", "hops", "way"),
    [
        CHOSEN,
        *large((260, "float32", False, (1, False)), (130, "float32", False, (2, True))),
        *large((130, "int16", False, (2, False))),
        *large((130, "float32", True, (1, False)), (130, "float64", True, (2, False))),
    ],
)
def test_half_has_the_bits_of_the_whole(
    gpu: SimulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    n: int,
    dtype: str,
    hops: bool,
    way: tuple[int, bool],
) -> None:
    depth, whole_tiles = way
    monkeypatch.setattr(closing, "depth_of", lambda _: depth)
    monkeypatch.setattr(halves, "_TILES_FROM", 0 if whole_tiles else 100)
    weights = undirected(n, dtype)
    # Nothing new is to be checked there.
    hasty = SimulatedDevice(checks=False, counters=False, multiprocessors=1)
    answer = wl.shortest_paths(weights, device=gpu, next_hops=hops)
    resident = wl.shortest_paths(hasty.to_device(weights), device=hasty, next_hops=hops)
    monkeypatch.setattr(engine, "is_symmetric", lambda _: False)
    whole = wl.shortest_paths(weights, device=hasty, next_hops=hops)
    assert [BY_HALF in one.why for one in (answer, resident, whole)] == [True, True, False]
    found = answer.dist_matrix
    assert found.dtype == dtype
    assert found.tobytes() == whole.dist_matrix.tobytes()
    assert found.tobytes() == hasty.to_host(resident.dist_matrix).tobytes()
    assert (found[:7, 7:] == absent(dtype)).all()
    if weights.dtype.kind == "f":
        signs = np.signbit(found)
        assert signs.any()
        assert not signs[found == 0].all()
    assert np.allclose(as_float(found), distances(weights), rtol=n * 1e-7, atol=0)
    if hops:
        assert np.array_equal(answer.next_hops, whole.next_hops)
        assert np.array_equal(answer.next_hops, hasty.to_host(resident.next_hops))
        check_hops(weights, found, answer.next_hops)


# ---- what is symmetric ---------------------------------------------------------------------------


def is_found_unlike(device: SimulatedDevice, matrix: NDArray[Any]) -> bool:
    unlike = device.empty((len(matrix) // 32, PARTS_OF_ROW), np.int32)
    bits = matrix.view(f"i{matrix.itemsize}")
    device.launch(find_unlike, unlike.shape[::-1], THREADS, device.to_device(bits), unlike)
    return bool(device.to_host(unlike).any())


@pytest.mark.parametrize(
    ("n", "dtype"),
    only(lambda n, dtype: (n, dtype) != (384, "int16"), [128, 384], ["float32", "int16"]),
)
def test_one_cell_makes_a_matrix_unlike_its_transpose(
    gpu: SimulatedDevice, n: int, dtype: str
) -> None:
    matrix = both_ways(random_weights(n, dtype, density=0.5, seed=n))
    assert not is_found_unlike(gpu, matrix)
    rng = np.random.default_rng(n)
    corners = [(n - 1, n - 2), (n - 2, n - 1), (n - 1, 0), (0, n - 1), (33, 32), (0, 1), (5, 5)]
    for i, j in [*corners, *rng.integers(0, n, (5, 2)).tolist()]:
        changed = matrix.copy()
        changed[i, j] = 100
        assert is_found_unlike(gpu, changed) == (i != j)


def test_zeros_of_two_signs_are_unlike(gpu: SimulatedDevice) -> None:
    matrix = np.ones((128, 128), np.float32)
    matrix[127, 126], matrix[126, 127] = 0.0, -0.0
    assert is_found_unlike(gpu, matrix)
    matrix[127, 126] = -0.0
    assert not is_found_unlike(gpu, matrix)


@pytest.mark.large
@pytest.mark.parametrize(("kind", "resident"), [("edge", True), *large(("zero", False))])
def test_one_edge_of_the_last_tile_makes_a_digraph(
    gpu: SimulatedDevice, kind: str, resident: bool
) -> None:
    weights = both_ways(random_weights(130, "float32", density=0.02, seed=4))
    there, back = (0.5, 60) if kind == "edge" else (0.0, -0.0)
    weights[129, 128], weights[128, 129] = there, back
    answer = wl.shortest_paths(gpu.to_device(weights) if resident else weights, device=gpu)
    assert BY_HALF not in answer.why
    assert np.array_equal(answer.with_infinities(), distances(weights))


@pytest.mark.parametrize("hops", [False, True])
def test_small_graphs_are_not_halved(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, hops: bool
) -> None:
    monkeypatch.undo()
    weights = undirected(40, "int32")
    for given in (weights, gpu.to_device(weights)):
        assert BY_HALF not in wl.shortest_paths(given, device=gpu, next_hops=hops).why


@pytest.mark.parametrize(("directed", "next_hops"), [(True, False), (False, True), (False, False)])
def test_what_is_halved_is_estimated_so(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, directed: bool, next_hops: bool
) -> None:
    monkeypatch.undo()
    given = wl.Graph.from_edges([0], [1], n=50_000, directed=directed).given
    options = Options(True, next_hops, overwrite=False, mark=False, progress=None)
    for dtype in (np.dtype("int32"), np.dtype("int64")):
        whole = engine.seconds(gpu, 50_000, dtype, carry=next_hops)
        estimated = _engine(gpu, given, options).seconds(50_000, dtype)
        assert estimated == whole if directed else whole / 2 < estimated < 0.55 * whole
    # With next hops fewer vertices are enough.
    whole = engine.seconds(gpu, 2500, np.dtype("int32"), carry=next_hops)
    estimated = _engine(gpu, given, options).seconds(2500, np.dtype("int32"))
    assert (estimated < whole) is (next_hops and not directed)


def test_next_hops_are_estimated_by_how_they_are_found(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tags, which some thousand vertices of integers have, they cost next to nothing."""
    monkeypatch.undo()

    def seconds(n: int, dtype: str, *, carry: bool) -> float:
        return engine.seconds(gpu, n, np.dtype(dtype), carry=carry)

    # Of so many vertices all but the relaxations is little, where there is memory for them.
    monkeypatch.setattr(gpu, "free_bytes", lambda: 1 << 50)
    for dtype, times in (("int16", 1.1), ("int32", 1.1), ("float32", 2), ("int64", 2)):
        found = seconds(200_000, dtype, carry=True) / seconds(200_000, dtype, carry=False)
        assert found == pytest.approx(times, rel=0.02)
    few, more = (
        seconds(n, "int32", carry=True) - seconds(n, "int32", carry=False) for n in (2400, 2500)
    )
    assert few > more


def test_what_does_not_fit_is_estimated_without_tags_and_whole(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    dtype = np.dtype("int32")
    directed, undirected, fitting = (
        engine.seconds(gpu, n, dtype, carry=True, half=half) / n**3
        for n, half in ((200_000, False), (200_000, True), (100_000, False))
    )
    assert directed == undirected > 1.5 * fitting
