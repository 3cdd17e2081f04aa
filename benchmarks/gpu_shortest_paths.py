"""Check and time shortest paths on a GPU: ceilings, the engine, calls end to end, the ladder.

    python benchmarks/gpu_shortest_paths.py --out DIR
    python benchmarks/gpu_shortest_paths.py --out DIR --only undirected targets

Everything is checked before it is timed: the engine against the CPU engine, next hops by the first
step of every path. Kernel times are between events on the GPU, which is kept busy while the host
launches, its cache cold; "call" is `shortest_paths` from the array to the answer, transfers
and checks of the weights included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
from numba import cuda

import warpladder as wl
from gpu_timing import parser_of_parts, record_parts
from report import Target, print_table, print_targets
from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.bench import cold_cache, time_rung
from warpladder.lab.ceilings import (
    copy_bytes_per_second,
    operations_per_second,
    pinned_bytes_per_second,
)
from warpladder.lab.gpu_timing import ColdCache, event_times_ms
from warpladder.lab.registry import find_ladder
from warpladder.lab.verify import verify
from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF
from warpladder.shortest_paths.dense import NO_HOP, inner_no_path
from warpladder.shortest_paths.gpu import close as closing
from warpladder.shortest_paths.gpu import halves
from warpladder.shortest_paths.gpu.close import Plan, close, plan_for
from warpladder.shortest_paths.gpu.kernels import THREADS, write_first_hops
from warpladder.shortest_paths.gpu.transfer import upload
from warpladder.shortest_paths.gpu_tiles.relaxing import relaxation

_DTYPES = ("int16", "int32", "int64", "float32", "float64")
#: On the device: n, dtype, next hops.
_CASES = (
    *((n, "int32", False) for n in (512, 1024, 2048, 4096, 8192, 16384, 24000, 32768)),
    *((n, "float32", False) for n in (2048, 8192, 24000)),
    *((n, "int16", False) for n in (8192, 16000)),
    *((n, "float64", False) for n in (2048, 8192)),
    *((n, "int32", True) for n in (2048, 4096, 8192, 24000)),
    *((n, "float32", True) for n in (8192,)),
)
#: With next hops, by what weights are multiplied: n and the factors. The least leave room for tags
#: whatever the paths are, the next do where their lengths are looked into, the last do not.
_TAGGED = tuple((n, factor) for n in (2560, 8192) for factor in (1, 1000, 100_000))
#: Closed by half and, beside it, as if they were digraphs.
_UNDIRECTED = (
    *((n, "int32", False) for n in (4096, 8192, 16384, 24000)),
    *((8192, dtype, False) for dtype in ("float32", "int16")),
    *((n, "float64", False) for n in (2048, 4096, 8192)),
    *((n, "int32", True) for n in (2048, 4096, 8192, 24000)),
    *((8192, dtype, True) for dtype in ("float32", "float64")),
)
#: How rows and columns of a round are relaxed, and from how many tiles in a row on by whole ones.
_WAYS_OF_HALVES = {"by_strips_ms": 1 << 30, "by_tiles_ms": 0}
#: Tiles of the diagonal in a round, and matrices that are closed so, all tiles and half of them.
_DEPTHS = (1, 2, 4)
_CLOSED_IN_DEPTHS = (
    *((n, "int32") for n in (4096, 6144, 8192, 12288, 16384, 24000)),
    *((n, "int16") for n in (8192, 12288)),
)
#: The same of small tiles, the second with next hops.
_SMALL_DEPTHS = (1, 2, 4, 8)
_CLOSED_IN_SMALL_TILES = tuple(
    (n, dtype)
    for dtype in ("float64", "int32")
    for n in (1024, 1280, 1536, 2048, 3072, 4096, 6144, 8192)
)
#: Graphs whose weights could add up beyond what their dtype holds: n, dtype, heaviest, how many.
_LONG = (
    (2048, "int32", 10_000_000, 1),
    (8192, "int32", 1_000_000, 1),
    (24000, "int32", 1_000_000, 1),
    (16000, "int16", 999, 1),
    (64, "int16", 999, 10_000),
    (512, "int16", 999, 100),
)
#: Of which the CPU closes as many in some seconds.
_CHECKED_RELAXATIONS = 1e12
#: Of whole calls that are checked: just above what one launch closes, no multiple of a tile.
_HALVED_AT = 2900
#: Carrega & Ferreira, table II, n = 2048 on a GTX 960: medians of ten runs, in milliseconds.
_CF = {
    "CPU sequential (X5670)": 40_221.5,
    "GPU parallel": 5_623.5,
    "one launch, flags": 3_206.0,
    "D[i,k] in a register": 2_730.0,
}
_LADDER_AT = 2048
#: More than the host needs to launch what closes a matrix in few launches.
_HOST_SECONDS = 1e-3
_VERIFIED_AT = (1, 33, 130, 260)


def main() -> None:
    """Check, time, print and write."""
    given = parser_of_parts(__doc__).parse_args()
    device = CudaDevice()
    parts: dict[str, Callable[[dict[str, Any]], Any]] = {
        "cold_start_seconds": lambda _: _cold_start(),
        "ceilings": lambda _: _ceilings(device),
        "checks": lambda _: _checks(device),
        "engine": lambda record: _engine(device, record["ceilings"]["relaxations_per_second"]),
        "undirected": lambda _: _undirected(device),
        "depths": lambda _: _depths(device),
        "small_depths": lambda _: _small_depths(device),
        "tagged": lambda _: _tagged(device),
        "calls": lambda _: _calls(),
        "long_calls": lambda _: _long_calls(),
        "ladder": lambda _: _ladder(),
        "targets": _targets,
    }
    record_parts("gpu_shortest_paths", device, parts, given)


def _cold_start() -> float:
    """Return the seconds of a first call: compiling or loading kernels, making a context."""
    began = perf_counter()
    wl.shortest_paths(_weights(1024, "int32"), device="cuda")
    return perf_counter() - began


def _ceilings(device: CudaDevice) -> dict[str, Any]:
    rates = {dtype: operations_per_second(device, relaxation(dtype)) for dtype in _DTYPES}
    for name, rate in rates.items():
        print(f"registers only, {name}: {rate / 1e12:.2f} T relaxations/s")
    return {
        "relaxations_per_second": rates,
        "copy_bytes_per_second": copy_bytes_per_second(device),
        "pinned_bytes_per_second": pinned_bytes_per_second(device),
    }


def _weights(n: int, dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return a digraph with about eight edges from each vertex, as `shortest_paths` takes it."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    longest = max(1, min(99, 16382 // max(n - 1, 1))) if kind == np.int16 else 99
    weights = np.full((n, n), np.inf if kind.kind == "f" else np.iinfo(kind).max, kind)
    ends = rng.integers(0, n, (2, 8 * n))
    weights[ends[0], ends[1]] = rng.integers(1, longest, 8 * n, endpoint=True)
    np.fill_diagonal(weights, 0)
    return weights


def _undirected_weights(n: int, dtype: str) -> np.ndarray[Any, Any]:
    """Return the lighter weight of both directions."""
    weights = _weights(n, dtype)
    lighter: np.ndarray[Any, Any] = np.minimum(weights, weights.T)
    return lighter


def _checks(device: CudaDevice) -> list[dict[str, Any]]:
    """Compare the engine with the CPU engine, around its tiles and its change of kernels."""
    rows: list[dict[str, Any]] = []
    for n in (1, 2, 63, 65, 129, 700, 1700, 2049, 4223):
        for dtype in _DTYPES:
            for hops in (False, True):
                weights = _weights(n, dtype, seed=n)
                here = wl.shortest_paths(weights, device=device, next_hops=hops)
                there = wl.shortest_paths(weights, device="cpu", next_hops=hops)
                same = np.array_equal(here.dist_matrix, there.dist_matrix)
                sound = not hops or _hops_are_sound(weights, here)
                rows.append({"n": n, "dtype": dtype, "hops": hops, "same": same, "sound": sound})
                if not (same and sound):
                    print(f"WRONG: n = {n}, {dtype}, hops {hops}: {same=} {sound=}", flush=True)
    for depth, dtype in product(_DEPTHS[1:], ("int16", "int32", "float32")):
        with patch.object(closing, "depth_of", lambda _, depth=depth: depth):
            here = wl.shortest_paths(weights := _weights(_HALVED_AT, dtype), device=device)
        there = wl.shortest_paths(weights, device="cpu")
        same = np.array_equal(here.dist_matrix, there.dist_matrix)
        rows.append({"n": _HALVED_AT, "dtype": dtype, "depth": depth, "same": same, "sound": True})
        if not same:
            print(f"WRONG: {rows[-1]}", flush=True)
    print(f"{sum(row['same'] and row['sound'] for row in rows)} of {len(rows)} checks passed")
    return rows


def _hops_are_sound(weights: np.ndarray[Any, Any], answer: wl.ShortestPaths) -> bool:
    """Return whether each first step leaves the rest of the distance, and none leads nowhere."""
    dist, hops = answer.dist_matrix, answer.next_hops
    assert hops is not None  # noqa: S101 - they were asked for
    reached = dist != answer.unreachable
    i, j = np.nonzero(reached & ~np.eye(len(dist), dtype=bool))
    k = hops[i, j]
    if (k == NO_HOP).any() or not np.array_equal(hops == NO_HOP, ~reached):
        return False
    return np.array_equal(weights[i, k].astype(float) + dist[k, j], dist[i, j].astype(float))


def _engine(device: CudaDevice, ceilings: dict[str, float]) -> list[dict[str, Any]]:
    rows = []
    for n, dtype, carry in _CASES:
        taken, plan, *_ = _closing_times(device, _weights(n, dtype), carry=carry)
        rate = n**3 / min(taken) * 1000
        rows.append(
            {
                "case": f"{n:,} {dtype}{' with next hops' if carry else ''}",
                "method": plan.method,
                "ms": min(taken),
                "T_relaxations_per_s": rate / 1e12,
                "percent_of_registers_only": 100 * rate / ceilings[dtype],
                "all_ms": [round(value, 4) for value in taken],
            }
        )
    print_table(
        "the engine on the GPU", [{k: v for k, v in row.items() if k != "all_ms"} for row in rows]
    )
    return rows


def _closing_times(
    device: CudaDevice, weights: np.ndarray[Any, Any], *, carry: bool, half: bool = False
) -> tuple[list[float], Plan, Any, Any]:
    """Return how long closing took, how it was done, distances and next hops on the device."""
    n, dtype = len(weights), weights.dtype
    plan = plan_for(device, n, dtype, carry=carry)
    no_path = inner_no_path(dtype).item()
    shape = (plan.side, plan.side)
    weights[weights == (np.inf if dtype.kind == "f" else np.iinfo(dtype).max)] = no_path
    dist = device.empty(shape, plan.dtype)
    hops = device.empty(shape, np.int32) if carry else None
    cache = ColdCache(device)

    def begin_anew() -> None:
        upload(device, weights, dist, no_path)
        if carry:
            device.launch(write_first_hops, 4096, THREADS, dist, hops, no_path)
        cache.keep_busy(_HOST_SECONDS)

    taken = event_times_ms(
        device,
        lambda: close(device, plan, dist, hops, no_path, half=half, n=n),
        3 if n < 10_000 else 1,
        before=begin_anew,
    )
    return taken, plan, dist, hops


def _undirected(device: CudaDevice) -> dict[str, Any]:
    """Time undirected graphs by half and whole, in turn with the same weights; compare the bits."""
    checks = [
        _halved_calls_are_right(device, dtype, hops)
        for dtype, hops in product(("int16", "int32", "float32", "float64"), (False, True))
    ]
    rows = []
    for n, dtype, carry in _UNDIRECTED:
        weights = _undirected_weights(n, dtype)
        if weights.dtype.kind == "f":
            # Sums that are rounded.
            weights /= weights.dtype.type(np.pi)
        whole, plan, *expected = _closing_times(device, weights, carry=carry)
        half, _, *found = _closing_times(device, weights, carry=carry, half=True)
        ways: dict[str, float | str] = dict.fromkeys(_WAYS_OF_HALVES, "")
        if n < 10_000 and plan.method == "singles":
            for way, least in _WAYS_OF_HALVES.items():
                with patch.object(halves, "_TILES_FROM", least):
                    ways[way] = min(_closing_times(device, weights, carry=False, half=True)[0])
        rows.append(
            {
                "case": f"{n:,} {dtype}{' with next hops' if carry else ''}",
                "method": plan.method,
                "whole_ms": min(whole),
                "half_ms": min(half),
                "times_as_fast": min(whole) / min(half),
                **ways,
                "same_bits": _are_the_same(device, found, expected),
            }
        )
        if not rows[-1]["same_bits"]:
            print(f"WRONG: {rows[-1]['case']} undirected has other bits by half", flush=True)
        del expected, found
    print_table("undirected graphs on the GPU", rows)
    return {"checks": checks, "rows": rows}


def _are_the_same(device: CudaDevice, found: list[Any], expected: list[Any]) -> bool:
    """Return whether matrices on the device, or what is None, have the same bits."""
    for one, other in zip(found, expected, strict=True):
        if one is not None:
            kind = f"i{one.dtype.itemsize}"
            if not np.array_equal(device.to_host(one.view(kind)), device.to_host(other.view(kind))):
                return False
    return True


def _depths(device: CudaDevice) -> list[dict[str, Any]]:
    """Time rounds of several depths, in turn with the same weights."""
    rows = []
    for n, dtype in _CLOSED_IN_DEPTHS:
        weights = _undirected_weights(n, dtype)
        row: dict[str, Any] = {"case": f"{n:,} {dtype}"}
        for half in (False, True):
            for depth in _DEPTHS:
                with patch.object(closing, "depth_of", lambda _, depth=depth: depth):
                    taken, *_ = _closing_times(device, weights, carry=False, half=half)
                row[f"{'half' if half else 'whole'}_{depth}_ms"] = min(taken)
        rows.append(row)
    print_table("tiles of the diagonal in a round", rows)
    return rows


def _small_depths(device: CudaDevice) -> list[dict[str, Any]]:
    """Time rounds of small tiles, of all and of half of them, and one launch of all."""
    rows = []
    for n, dtype in _CLOSED_IN_SMALL_TILES:
        weights, carry = _undirected_weights(n, dtype), dtype == "int32"
        row: dict[str, Any] = {"case": f"{n:,} {dtype}{' with next hops' if carry else ''}"}
        without_tags = patch.object(closing, "_TAGS_FROM", 1 << 30)
        with patch.object(closing, "_SMALL_ROUNDS_FROM", 0), without_tags:
            for half, depth in product((False, True), _SMALL_DEPTHS):
                with patch.object(closing, "depth_of", lambda _, depth=depth: depth):
                    taken, *_ = _closing_times(device, weights, carry=carry, half=half)
                row[f"{'half_' if half else ''}{depth}_ms"] = min(taken)
        with patch.object(closing, "_SMALL_ROUNDS_FROM", 1 << 30), without_tags:
            row["one_launch_ms"] = min(_closing_times(device, weights, carry=carry)[0])
        rows.append(row)
    print_table("small tiles of the diagonal in a round, and one launch", rows)
    return rows


def _tagged(device: CudaDevice) -> list[dict[str, Any]]:
    """Time next hops of short and long edges, by tags where they leave room and without any."""
    rows = []
    for n, factor in _TAGGED:
        weights = _weights(n, "int32")
        edges = weights < np.iinfo(np.int32).max
        weights[edges] *= factor
        row: dict[str, Any] = {"case": f"{n:,} int32", "heaviest": 99 * factor}
        found = []
        for way, least in (("ms", 0), ("small_tiles_ms", 1 << 30)):
            with patch.object(closing, "_TAGS_FROM", least):
                taken, _, dist, _ = _closing_times(device, weights.copy(), carry=True)
            row[way] = min(taken)
            found.append(device.to_host(dist)[:n, :n])
        row["same"] = np.array_equal(found[0], found[1])
        rows.append(row)
    print_table("next hops by tags, and by small tiles alone", rows)
    return rows


def _halved_calls_are_right(device: CudaDevice, dtype: str, hops: bool) -> dict[str, Any]:
    """Compare whole calls, of weights on the host and on the GPU, with the CPU engine."""
    weights = _undirected_weights(_HALVED_AT, dtype)
    here = wl.shortest_paths(weights, device=device, next_hops=hops)
    there = wl.shortest_paths(device.to_device(weights), device=device, next_hops=hops)
    expected = wl.shortest_paths(weights, device="cpu").dist_matrix
    same = all(
        np.array_equal(found, expected)
        for found in (here.dist_matrix, there.dist_matrix.copy_to_host())
    )
    if hops:
        same = same and _hops_are_sound(weights, here)
        same = same and np.array_equal(here.next_hops, there.next_hops.copy_to_host())
    halved = all(BY_HALF in answer.why for answer in (here, there))
    if not (same and halved):
        print(
            f"WRONG: undirected, n = {_HALVED_AT}, {dtype}, {hops=}: {same=} {halved=}", flush=True
        )
    return {"n": _HALVED_AT, "dtype": dtype, "hops": hops, "same": same, "halved": halved}


def _calls() -> list[dict[str, Any]]:
    """Time whole calls: from the host and back, and with everything on the GPU."""
    rows = []
    for n in (256, 512, 1024, 2048, 4096, 8192, 24000):
        weights = _weights(n, "int32")
        for what, given, where, repetitions in _callers(weights, n):
            times = []
            for _ in range(repetitions):
                began = perf_counter()
                answer = wl.shortest_paths(given, device=where)
                cuda.synchronize()
                times.append(perf_counter() - began)
            best = min(times[1:] or times)
            rows.append({"case": f"{n:,} int32, {what}", "ms": 1000 * best})
            del answer
    print_table("whole calls", rows)
    return rows


def _callers(weights: np.ndarray[Any, Any], n: int) -> Iterator[tuple[str, Any, Any, int]]:
    repetitions = 20 if n <= 2048 else 4 if n < 10_000 else 2
    yield "from and to the host", weights, "cuda", repetitions
    yield "on the GPU before and after", cuda.to_device(weights), "cuda", repetitions
    if n <= 8192:
        yield "CPU engine", weights, "cpu", 3


def _long_calls() -> list[dict[str, Any]]:
    """Time calls on graphs on the GPU of which only the answer tells that all distances fit."""
    rows = []
    for n, dtype, heaviest, graphs in _LONG:
        # Eight edges from each vertex; some have none to them, and nobody reaches those.
        rng = np.random.default_rng(n)
        weights = np.full((graphs, n, n), np.iinfo(dtype).max, dtype)
        ends = rng.integers(0, n, (graphs, 2, 8 * n))
        lengths = rng.integers(1, heaviest, (graphs, 8 * n), endpoint=True)
        weights[np.arange(graphs)[:, None], ends[:, 0], ends[:, 1]] = lengths
        given = weights if graphs > 1 else weights[0]
        there = cuda.to_device(given)
        times = []
        for _ in range(4):
            began = perf_counter()
            answer = wl.shortest_paths(there, device="cuda", dtype=dtype)
            cuda.synchronize()
            times.append(perf_counter() - began)
        many = f"{graphs:,} graphs of " if graphs > 1 else ""
        row = {"case": f"{many}{n:,} {dtype}, to {heaviest:,}", "ms": 1000 * min(times[1:])}
        row["stays"] = not any(word in answer.why for word in ("host", "one by one"))
        if graphs * n**3 < _CHECKED_RELAXATIONS:
            expected = wl.shortest_paths(given, device="cpu", method="floyd-warshall")
            row["same"] = bool(np.array_equal(answer.dist_matrix, expected.dist_matrix))
            if not row["same"]:
                print(f"WRONG: {row['case']}", flush=True)
        rows.append(row)
    print_table("whole calls on the GPU, weights that could add up too far", rows)
    return rows


def _ladder() -> dict[str, Any]:
    """Time every rung at CF's size, kernels alone; each is verified first."""
    device = CudaDevice()
    cache = cold_cache(device)
    rows = []
    answers: dict[str, np.ndarray[Any, Any]] = {}
    problems: dict[str, Any] = {}
    for rung in find_ladder("shortest-paths").rungs:
        n = min(_LADDER_AT, rung.max_n or _LADDER_AT, rung.task.default_n)
        if rung.on != "device":
            continue
        sizes = [size for size in _VERIFIED_AT if size <= n]
        faults = [verdict.fault for verdict in verify(rung, device, sizes) if verdict.fault]
        problem = problems.setdefault(f"{rung.task.name} {n}", rung.task.make(n, 0))
        timing, answer = time_rung(rung, device, cache, problem)
        kernel_ms = 1000 * min(timing.kernels)
        matrix = answer[0] if isinstance(answer, tuple) else answer
        first = answers.setdefault(f"{rung.task.name} {matrix.dtype} {matrix.shape}", matrix)
        relaxations = rung.task.work(problem).operations
        rows.append(
            {
                "case": rung.name,
                "n": matrix.shape[-1],
                "dtype": matrix.dtype.name,
                "kernel_ms": kernel_ms,
                "whole_ms": 1000 * min(timing.totals),
                "G_relaxations_per_s": relaxations / kernel_ms / 1e6,
                "same_answer": bool(np.array_equal(first, matrix)),
                "faults": faults,
            }
        )
    print_table("the ladder: kernels alone, and with copies", rows)
    print_table("CF's table", [{"case": name, "ms": ms} for name, ms in _CF.items()])
    return {"rungs": rows, "carrega_ferreira_ms": _CF}


def _targets(document: dict[str, Any]) -> list[Target]:
    rows = {row["case"]: row for row in document["engine"]}
    large = rows["24,000 int32"]
    hops = rows["24,000 int32 with next hops"]["ms"] / large["ms"]
    targets = [
        Target("n = 24,000: seconds", large["ms"] / 1000, 1.3, at_most=True),
        Target("n = 24,000: T relaxations/s", large["T_relaxations_per_s"], 11),
        Target("n = 24,000: % of registers only", large["percent_of_registers_only"], 70),
        Target("n = 2,048: ms", rows["2,048 int32"]["ms"], 2, at_most=True),
        Target("next hops: times as long, n = 24,000", hops, 1.2, at_most=True),
    ]
    # The committed record may be older than this part.
    undirected = document.get("undirected", {"rows": []})["rows"]
    fast = {row["case"]: row["times_as_fast"] for row in undirected}
    targets += [
        Target(f"undirected: times as fast, n = {n:,}", fast[f"{n:,} int32"], 1.7)
        for n in (4096, 8192)
        if fast
    ]
    print_targets(targets)
    return targets


if __name__ == "__main__":
    main()
