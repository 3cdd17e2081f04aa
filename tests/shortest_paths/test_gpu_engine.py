"""The GPU engine, on a simulated GPU: every dtype, both ways in, and what only the host can do."""

from __future__ import annotations

import os
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import DTYPES, ON_A_GPU

import warpladder as wl
from choosing import large, only
from warpladder import errors
from warpladder.device import select, staging
from warpladder.device.cuda import FORKED, CudaReport, Gpu
from warpladder.shortest_paths.gpu import close as closing
from warpladder.shortest_paths.gpu import transfer
from warpladder.shortest_paths.rungs import overlapped_panels
from warpladder.simulator import SimulatedDevice


@pytest.fixture(scope="module")
def gpu() -> SimulatedDevice:
    return SimulatedDevice(counters=False, checks=False, multiprocessors=1)


@pytest.fixture(scope="module")
def strict_gpu() -> SimulatedDevice:
    return SimulatedDevice(counters=False, multiprocessors=1)


def absent(dtype: Any) -> Any:
    kind = np.dtype(dtype)
    return np.inf if kind.kind == "f" else np.iinfo(kind).max


def weights_of(n: int, dtype: str, seed: int = 0, low: int = 1) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(low, 60, (n, n)).astype(dtype)
    matrix[rng.random((n, n)) * n > 4] = absent(dtype)
    return matrix


def plain(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distances by the textbook's loop."""
    dist = np.where(matrix == absent(matrix.dtype), np.inf, matrix.astype(np.float64))
    np.fill_diagonal(dist, np.minimum(dist.diagonal(), 0))
    for k in range(len(dist)):
        dist = np.minimum(dist, dist[:, k, None] + dist[k])
    return dist


def check(matrix: NDArray[Any], answer: wl.ShortestPaths, hops: bool) -> None:
    dist = answer.with_infinities()
    expected = plain(matrix)
    assert np.array_equal(dist, expected)
    assert answer.predecessors.shape == expected.shape if hops else answer.next_hops is None
    if not hops:
        return
    reached = np.isfinite(expected)
    links = answer._hops("this test")
    assert links.dtype == np.int32
    assert np.array_equal(links == -1, ~reached)
    i, j = np.nonzero(reached & ~np.eye(len(matrix), dtype=bool))
    k = links[i, j]
    assert np.array_equal(matrix[i, k].astype(float) + expected[k, j], expected[i, j])


def compiled(n: int, dtype: str, hops: bool) -> bool:
    return (dtype, hops) in (ON_A_GPU if n > 1 else {("int32", True)})


@pytest.mark.parametrize(("n", "dtype", "hops"), only(compiled, [33, 1, 0], DTYPES, [False, True]))
def test_from_and_to_the_host(gpu: SimulatedDevice, n: int, dtype: str, hops: bool) -> None:
    matrix = weights_of(n, dtype, seed=n)
    kept = matrix.copy()
    answer = wl.shortest_paths(matrix, device=gpu, next_hops=hops)
    check(matrix, answer, hops)
    assert answer.dist_matrix.dtype == dtype
    assert np.array_equal(matrix, kept)
    assert "simulated" in answer.why


@pytest.mark.parametrize(("n", "dtype", "hops"), only(compiled, [33, 1], DTYPES, [True, False]))
def test_where_the_weights_are(gpu: SimulatedDevice, n: int, dtype: str, hops: bool) -> None:
    matrix = weights_of(n, dtype, seed=n)
    there = gpu.to_device(matrix)
    answer = wl.shortest_paths(there, device=gpu, next_hops=hops)
    assert hasattr(answer.dist_matrix, "copy_to_host")
    check(matrix, answer, hops)
    assert np.array_equal(there.copy_to_host(), matrix)
    assert "where the graph is" in answer.why
    assert "on the host" not in answer.why


@pytest.mark.parametrize(
    ("n", "resident"), [(64, True), (65, False), *large((63, False), (65, True))]
)
def test_with_all_checks_around_a_tile(strict_gpu: SimulatedDevice, n: int, resident: bool) -> None:
    matrix = weights_of(n, "int32", seed=n)
    given = strict_gpu.to_device(matrix) if resident else matrix
    check(matrix, wl.shortest_paths(given, device=strict_gpu, next_hops=True), hops=True)


@pytest.mark.large
@pytest.mark.parametrize(
    ("n", "side", "dtype"),
    [(130, 256, "int16"), *large((260, 384, "int32"), (260, 384, "int16"))],
)
def test_large_tiles_on_two_streams(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, n: int, side: int, dtype: str
) -> None:
    monkeypatch.setattr(closing, "_ONE_LAUNCH_UP_TO", 0)
    assert closing.plan_for(gpu, n, np.dtype(dtype), carry=False) == (
        "pairs" if dtype == "int16" else "singles",
        side,
        np.dtype(dtype),
    )
    matrix = weights_of(n, dtype)
    check(matrix, wl.shortest_paths(matrix, device=gpu), hops=False)


def test_pairs_need_instructions_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_ONE_LAUNCH_UP_TO", 0)
    older = SimulatedDevice((8, 0))
    plan = closing.plan_for(older, 260, np.dtype("int16"), carry=False)
    assert plan == ("singles", 384, np.dtype("int32"))


@pytest.mark.large
def test_many_launches_tell_how_far_they_are(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "_SMALL_ROUNDS_FROM", 0)
    monkeypatch.setattr(overlapped_panels, "_ROUNDS_AHEAD", 1)
    told: list[float] = []
    matrix = weights_of(193, "int32")
    answer = wl.shortest_paths(matrix, device=gpu, next_hops=True, progress=told.append)
    check(matrix, answer, hops=True)
    assert told == [0, 1 / 4]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounded_sums_stay_within_the_bound(gpu: SimulatedDevice, dtype: str) -> None:
    n = 70
    rng = np.random.default_rng(3)
    matrix = rng.random((n, n)).astype(dtype)
    matrix[rng.random((n, n)) * n > 3] = np.inf
    found = wl.shortest_paths(matrix, device=gpu).dist_matrix
    exact = plain(matrix.astype(np.float64))
    reached = np.isfinite(exact)
    assert np.array_equal(np.isfinite(found), reached)
    error = np.abs(found[reached].astype(np.float64) - exact[reached])
    assert (error <= n * np.finfo(dtype).eps * exact[reached]).all()


@pytest.mark.parametrize("resident", [False, True])
def test_negative_weights(gpu: SimulatedDevice, resident: bool) -> None:
    n = 40
    rng = np.random.default_rng(1)
    heights = rng.integers(0, 50, n)
    # Lifted by heights: some weights are below zero, no cycle is.
    matrix = weights_of(n, "int32", seed=4)
    edges = matrix != absent("int32")
    matrix[edges] += (heights[:, None] - heights)[edges].astype(np.int32)
    np.fill_diagonal(matrix, 0)
    assert matrix.min() < 0
    given = gpu.to_device(matrix) if resident else matrix
    answer = wl.shortest_paths(given, device=gpu, next_hops=True)
    check(matrix, answer, hops=True)
    assert ("on the host" in answer.why) == resident


@pytest.mark.parametrize("resident", [False, True])
def test_negative_cycles(gpu: SimulatedDevice, resident: bool) -> None:
    matrix = np.full((5, 5), np.inf)
    matrix[0, 1], matrix[1, 2], matrix[2, 1], matrix[2, 3] = 1, -3, 2, 1
    given = gpu.to_device(matrix) if resident else matrix
    with pytest.raises(errors.NegativeCycleError) as caught:
        wl.shortest_paths(given, device=gpu)
    assert set(caught.value.cycle) == {1, 2}
    marked = wl.shortest_paths(given, device=gpu, negative_cycle="mark")
    assert marked.distance(0, 3) == -np.inf
    assert marked.distance(0, 4) == np.inf
    assert marked.distance(3, 3) == 0


@pytest.mark.parametrize("resident", [False, True])
def test_a_distance_that_does_not_fit_widens(gpu: SimulatedDevice, resident: bool) -> None:
    n = 40
    line = np.full((n, n), absent("int16"), np.int16)
    line[np.arange(n - 1), np.arange(1, n)] = 1000
    given = gpu.to_device(line) if resident else line
    answer = wl.shortest_paths(given, device=gpu)
    assert answer.distance(0, n - 1) == 39_000
    assert "int32 because int16 cannot hold" in answer.why
    with pytest.raises(errors.DistanceOverflowError, match="take dtype='int32'"):
        wl.shortest_paths(given, device=gpu, dtype="int16")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16"])
def test_other_dtypes_where_the_weights_are(gpu: SimulatedDevice, dtype: str) -> None:
    matrix = (np.random.default_rng(2).random((20, 20)) < 0.2).astype(dtype)
    answer = wl.shortest_paths(gpu.to_device(matrix), device=gpu, no_edge=0)
    expected = wl.shortest_paths(matrix, device="cpu", no_edge=0)
    assert np.array_equal(answer._dist, expected.dist_matrix)
    assert answer._dist.dtype == expected.dist_matrix.dtype
    assert answer.graph.edge_count == expected.graph.edge_count


def test_a_narrower_dtype_where_the_weights_are(gpu: SimulatedDevice) -> None:
    matrix = weights_of(20, "float64")
    answer = wl.shortest_paths(gpu.to_device(matrix), device=gpu, dtype="int32")
    assert answer._dist.dtype == np.int32
    assert np.array_equal(answer.with_infinities(), plain(matrix))


@pytest.mark.parametrize("resident", [False, True])
def test_what_is_no_weight_is_refused(gpu: SimulatedDevice, resident: bool) -> None:
    for bad, told in ((np.nan, r"weight \(3, 7\) is NaN"), (-np.inf, "a weight is -inf")):
        matrix = weights_of(20, "float32")
        matrix[3, 7] = bad
        with pytest.raises(errors.InputError, match=told):
            wl.shortest_paths(gpu.to_device(matrix) if resident else matrix, device=gpu)


def test_nan_may_mean_no_edge_where_the_weights_are(gpu: SimulatedDevice) -> None:
    matrix = weights_of(20, "float32")
    with_nan = np.where(np.isinf(matrix), np.nan, matrix).astype(np.float32)
    answer = wl.shortest_paths(gpu.to_device(with_nan), device=gpu, no_edge=np.nan)
    assert np.array_equal(answer.with_infinities(), plain(matrix))


# Of float32 test_long_distances_beside_short_edges_where_the_weights_are looks for circles.
@pytest.mark.parametrize("dtype", ["int32", *large("float32")])
def test_edges_of_weight_zero_where_the_weights_are(gpu: SimulatedDevice, dtype: str) -> None:
    matrix = weights_of(30, dtype, seed=9, low=0)
    answer = wl.shortest_paths(gpu.to_device(matrix), device=gpu, next_hops=True)
    assert "on the host" not in answer.why
    check(matrix, answer, hops=True)


def test_long_distances_beside_short_edges_where_the_weights_are(gpu: SimulatedDevice) -> None:
    """Their bound does not exclude that rounding leads in circles; a look does."""
    matrix = weights_of(40, "float32", seed=3)
    matrix[0, 1], matrix[1, 2] = 2**-40, 2**20
    answer = wl.shortest_paths(gpu.to_device(matrix), device=gpu, next_hops=True)
    assert "on the host" not in answer.why
    assert answer.path(0, 1) == [0, 1]


def zeros_and_ones(n: int) -> NDArray[np.int32]:
    """Return weights with so many ties that the engine's next hops lead in circles."""
    rng = np.random.default_rng(1)
    matrix = np.full((n, n), absent("int32"), np.int32)
    edges = rng.random((n, n)) < 0.1
    matrix[edges] = rng.integers(0, 2, edges.sum())
    return matrix


@pytest.mark.large
def test_progress_does_not_go_back_where_circles_are_mended(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "_SMALL_ROUNDS_FROM", 0)
    monkeypatch.setattr(overlapped_panels, "_ROUNDS_AHEAD", 1)
    told: list[float] = []
    matrix = zeros_and_ones(260)
    answer = wl.shortest_paths(
        gpu.to_device(matrix), device=gpu, next_hops=True, progress=told.append
    )
    assert "next hops that led in circles mended on the host" in answer.why
    assert len(told) > 2
    assert told == sorted(told)


def test_cycles_of_weight_zero_where_the_weights_are(gpu: SimulatedDevice) -> None:
    matrix = zeros_and_ones(90)
    answer = wl.shortest_paths(gpu.to_device(matrix), device=gpu, next_hops=True)
    assert "next hops that led in circles mended on the host" in answer.why
    expected = plain(matrix)
    for source in range(90):
        for target in range(0, 90, 7):
            path = answer.path(source, target)
            if np.isfinite(expected[source, target]):
                length = sum(int(matrix[u, v]) for u, v in pairwise(path))
                assert length == expected[source, target]


def test_how_a_graph_on_a_gpu_is_refused(gpu: SimulatedDevice) -> None:
    square = gpu.to_device(weights_of(4, "int32"))
    with pytest.raises(errors.InputError, match="graph is an array on a GPU; copy it to the host"):
        wl.shortest_paths(square, device="cpu")
    with pytest.raises(errors.InputError, match='method="dijkstra": the graph is a dense matrix'):
        wl.shortest_paths(square, device=gpu, method="dijkstra")
    with pytest.raises(errors.InputError, match=r"square, this has shape \(2, 4\)"):
        wl.shortest_paths(gpu.to_device(np.zeros((2, 4))), device=gpu)
    with pytest.raises(errors.InputTypeError, match="complex64 is not taken"):
        wl.shortest_paths(gpu.to_device(np.zeros((2, 2), np.complex64)), device=gpu)


def test_too_little_memory_beside_the_graph(gpu: SimulatedDevice) -> None:
    class Full(SimulatedDevice):
        def empty(self, shape: Any, dtype: Any) -> Any:
            if np.prod(shape) == 400:
                raise errors.TooLargeError("full")
            return super().empty(shape, dtype)

    matrix = weights_of(20, "int32")
    device = Full(counters=False, multiprocessors=1)
    answer = wl.shortest_paths(device.to_device(matrix), device=device)
    assert "not enough memory beside the graph" in answer.why
    check(matrix, answer, hops=False)


# ---- transfers -----------------------------------------------------------------------------------


@pytest.fixture(params=[1, 500, 1 << 24])
def _bands(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_BAND_BYTES", request.param)


@pytest.mark.usefixtures("_bands")
@pytest.mark.parametrize(("n", "side"), [(1, 64), (37, 64), (64, 64), (65, 128)])
@pytest.mark.parametrize(("here", "there"), [("int16", "int32"), ("float64", "float64")])
def test_there_and_back(n: int, side: int, here: str, there: str) -> None:
    device = SimulatedDevice()
    matrix = np.random.default_rng(n).integers(0, 99, (n, n)).astype(here)
    filled = device.empty((side, side), there)
    transfer.upload(device, matrix, filled, 1234)
    expected = np.full((side, side), 1234, there)
    expected[:n, :n] = matrix
    added = np.arange(n, side)
    expected[added, added] = 0
    assert np.array_equal(filled.copy_to_host(), expected)
    back = np.full((n, n), 77, here)
    transfer.download(device, filled, back)
    assert np.array_equal(back, matrix)


# ---- which device --------------------------------------------------------------------------------


def test_which_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimulatedDevice()
    monkeypatch.setattr(select, "_may_find_one", lambda: True)
    monkeypatch.setattr(select, "_obstacle", lambda: "")
    monkeypatch.setattr(select, "gpu", lambda: device)
    assert select.choose_device("auto") == ("cuda", "there is a CUDA GPU")
    assert select.choose_device("cuda") == ("cuda", "as asked")
    assert select.choose_device("cpu") == ("cpu", "as asked")
    assert select.choose_device("auto", too_small="tiny") == ("cpu", "tiny")
    assert select.choose_device(device) == ("cuda", "as asked")
    monkeypatch.setattr(select, "_obstacle", lambda: "no driver")
    monkeypatch.setattr(select, "_found", lambda: CudaReport(None, (), "no driver"))
    assert select.choose_device("auto") == ("cpu", "there is no CUDA GPU")
    # A driver that finds nothing is one that nothing here can use: that is worth a word.
    monkeypatch.setattr(select, "_found", lambda: CudaReport("13.0", (), "no driver"))
    assert select.choose_device("auto") == ("cpu", "no driver")
    with pytest.raises(errors.DeviceError, match="there is no GPU to use: no driver"):
        select.choose_device("cuda")
    for unknown in ("gpu", 3, None):
        with pytest.raises(errors.InputError, match="is not known; use one of auto, cpu, cuda"):
            select.choose_device(unknown)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("gpus", [(), (Gpu("a", (9, 0), 1, 1, 1, 1, 1, 1),)])
def test_who_is_forked_from_one_that_uses_a_gpu_uses_none(
    monkeypatch: pytest.MonkeyPatch, gpus: tuple[Gpu, ...]
) -> None:
    monkeypatch.setattr(select, "_may_find_one", lambda: True)
    monkeypatch.setattr(select, "_found", cache(lambda: CudaReport("13.0", gpus, "")))
    before = select.choose_device("auto")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, "; ".join(select.choose_device("auto")).encode())
        os._exit(0)
    os.waitpid(child, 0)
    expected = f"cpu; {FORKED}" if gpus else "; ".join(before)
    assert os.read(reading, 999).decode() == expected
    assert select.choose_device("auto") == before
    os.close(reading)
    os.close(writing)


def test_without_a_driver_nothing_is_imported_to_look_for_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(select, "_may_find_one", lambda: False)
    monkeypatch.setattr(select, "_obstacle", lambda: pytest.fail("it was looked for"))
    assert select.choose_device("auto") == ("cpu", "there is no CUDA GPU")


def test_an_array_of_a_simulated_device_is_not_on_the_gpu_that_is_asked_for(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "_may_find_one", lambda: True)
    monkeypatch.setattr(select, "_obstacle", lambda: "")
    for there in (gpu.to_device(np.ones((3, 3))), gpu.to_device(np.ones((2, 3, 3)))):
        for asked in ("cuda", "auto"):
            with pytest.raises(errors.DeviceError, match="graph is on a simulated device, not on"):
                wl.shortest_paths(there, device=asked)


def test_a_gpu_that_holds_next_to_nothing_is_named() -> None:
    class Tiny(SimulatedDevice):
        def free_bytes(self) -> int:
            return 1000

    with pytest.raises(errors.TooLargeError, match="bytes of GPU memory, of which simulated"):
        wl.shortest_paths(weights_of(200, "int32"), device=Tiny(counters=False))
