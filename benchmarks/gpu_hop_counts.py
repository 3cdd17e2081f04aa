"""Check and time distances in graphs without weights on a GPU, beside the CPU engine.

    python benchmarks/gpu_hop_counts.py --out DIR [--graphs FOLDER]

``--graphs`` names a folder with the four files of which `unweighted_graphs` tells; others are made.
One has the size of email-Enron, and takes 25 GB of the host for four answers.

Every answer is compared with that of the CPU engine, bit for bit, next hops included. Times of
kernels are between events around each launch, added up; where the GPU waits for the host to launch
the next, some tens of microseconds of that are in them. "left" is from edges to distances that are
left on the GPU, "call" is `shortest_paths` from edges to the answer on the host. "estimate" is what
`auto` goes by. "variants" times the searches with other numbers of blocks and threads.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import warpladder as wl
from gpu_timing import parser_of_parts, record_parts
from report import interleave, print_table
from unweighted_graphs import from_files, like_email_enron, made
from warpladder.device.cuda_device import CudaDevice
from warpladder.shortest_paths.dense import outer_no_path
from warpladder.shortest_paths.gpu import level_launches
from warpladder.shortest_paths.gpu.engine import seconds as closing_seconds
from warpladder.shortest_paths.gpu.hop_counts import GpuSearches
from warpladder.shortest_paths.gpu.kernels import THREADS
from warpladder.shortest_paths.gpu.level_kernels import write_next_hops
from warpladder.shortest_paths.gpu.level_launches import LevelSearches
from warpladder.shortest_paths.plan import default_dtype

_DTYPES = ("int16", "int32", "int64", "float32", "float64")
_ROUNDS = 5
#: Of a graph whose answers take gigabytes, and how many vertices that are.
_FEW_ROUNDS, _LARGE = 2, 20_000
_MOST_FOR_FLOYD_WARSHALL = 20_000
#: Blocks on a multiprocessor, and their threads: with 64 registers there is room for 1,024.
_VARIANTS = ((1, 1024), (1, 512), (2, 512), (4, 256))
_ENRON = "like email-Enron"
_VARIED = ("random, 5,000", "grid, 70 x 70", _ENRON)


class ByKernel:
    """Hands everything on to a GPU, and takes the time of each launch by events."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._spans: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(self, kernel: Any, *args: Any, **options: Any) -> None:
        """Start a kernel between two events."""
        begin, end = self._device.event(), self._device.event()
        begin.record()
        self._device.launch(kernel, *args, **options)
        end.record()
        self._spans.append((kernel.py_func.__name__, begin, end))

    def milliseconds(self) -> dict[str, float]:
        """Return the time of each kernel since the last time that somebody asked."""
        self._device.synchronize()
        taken: dict[str, float] = {}
        for name, begin, end in self._spans:
            taken[name] = taken.get(name, 0.0) + begin.elapsed_ms(end)
        self._spans.clear()
        return taken


def main() -> None:
    """Check, time, print and write."""
    parser = parser_of_parts(__doc__)
    parser.add_argument("--graphs", type=Path, help="folder with the four files")
    given = parser.parse_args()
    device = CudaDevice()
    graphs = {**from_files(given.graphs), **made(), _ENRON: like_email_enron()}
    some = {name: graph for name, graph in graphs.items() if name in _VARIED}
    parts: dict[str, Callable[[dict[str, Any]], Any]] = {
        "checks": lambda _: check(device, (1, 33, 129, 700, 4500)),
        "graphs": lambda _: time_graphs(device, graphs),
        "variants": lambda _: time_variants(device, some),
    }
    record_parts("gpu_hop_counts", device, parts, given)


def check(device: Any, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Compare random graphs in every dtype with what the CPU engine finds as int16."""
    rows: list[dict[str, Any]] = []
    for n in sizes:
        ends = np.random.default_rng(n).integers(0, n, (2, 3 * n))
        for directed in (True, False):
            graph = wl.Graph.from_edges(ends[0], ends[1], n=n, directed=directed)
            there = _answer(graph, "cpu", next_hops=True)
            for dtype in _DTYPES:
                here = _answer(graph, device, next_hops=True, dtype=dtype)
                same = _is_same(here, there)
                rows.append({"n": n, "directed": directed, "dtype": dtype, "same": same})
                if not same:
                    print(f"WRONG: {n} vertices, {directed=}, {dtype}", flush=True)
    print(f"{sum(row['same'] for row in rows)} of {len(rows)} checks passed")
    return rows


def _answer(graph: wl.Graph, device: Any, **options: Any) -> wl.ShortestPaths:
    answer: wl.ShortestPaths = wl.shortest_paths(
        graph, method="breadth-first", device=device, **options
    )
    return answer


def _is_same(here: wl.ShortestPaths, there: wl.ShortestPaths) -> bool:
    """Return whether two answers are the same, up to the dtypes of distances."""
    dist = there.dist_matrix
    if here.dist_matrix.dtype != dist.dtype:
        missing = dist == there.unreachable
        dist = dist.astype(here.dist_matrix.dtype)
        dist[missing] = here.unreachable
    same = np.array_equal(here.dist_matrix, dist)
    if here.next_hops is None or there.next_hops is None:
        return same
    return same and np.array_equal(here.next_hops, there.next_hops)


def time_graphs(device: Any, graphs: dict[str, wl.Graph]) -> list[dict[str, Any]]:
    """Time kernels and calls on each graph, beside the CPU engine in the same process."""
    rows = []
    for name, graph in graphs.items():
        rounds = _ROUNDS if graph.n < _LARGE else _FEW_ROUNDS
        here = _answer(graph, device, next_hops=True)
        there = _answer(graph, "cpu", next_hops=True)
        same, why = _is_same(here, there), (here.why, there.why)
        del here, there
        if not same:
            print(f"WRONG: {name}", flush=True)
        tasks: dict[str, Callable[[], object]] = {
            "left": partial(_left_there, device, graph),
            "call": partial(_answer, graph, device),
            "call_with_next_hops": partial(_answer, graph, device, next_hops=True),
            "cpu": partial(_answer, graph, "cpu"),
            "cpu_with_next_hops": partial(_answer, graph, "cpu", next_hops=True),
        }
        if graph.n <= _MOST_FOR_FLOYD_WARSHALL:
            tasks["closed"] = partial(
                wl.shortest_paths, graph, method="floyd-warshall", device=device
            )
            tasks["closed"]()
        taken = interleave(tasks, rounds)
        searches, dtype = _ready(device, graph), default_dtype(graph.given)
        kernels = {f"{kernel}_ms": ms for kernel, ms in _kernels(device, graph, rounds).items()}
        calls = {f"{task}_ms": 1e3 * statistics.median(times) for task, times in taken.items()}
        calls["estimate_ms"] = 1e3 * searches.seconds(dtype)
        calls["estimate_closed_ms"] = 1e3 * closing_seconds(device, graph.n, dtype)
        rows.append(
            {
                "case": name, "n": graph.n, "arcs": searches.arcs.ends.size, "dtype": dtype.name,
                "depth": searches.depth, "same": same, **kernels, **calls, "why": why,
            }
        )  # fmt: skip
        print_table(f"{name}: kernels", [kernels])
        print_table(f"{name}: calls", [calls])
    return rows


def _ready(device: Any, graph: wl.Graph) -> GpuSearches:
    return GpuSearches.of(device, graph.given, 1)


def _left_there(device: Any, graph: wl.Graph) -> Any:
    """Return all distances on the device, from edges of the host."""
    _, dist = _distances(device, _ready(device, graph), default_dtype(graph.given))
    device.synchronize()
    return dist


def _distances(device: Any, searches: GpuSearches, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the searches and all distances on a device, which must hold them."""
    n = searches.given.n
    team = LevelSearches(device, searches.arcs, searches.order, searches.length, dtype)
    if team.layout.band < n:
        raise SystemExit(f"{n:,} vertices: the GPU does not hold all distances")
    dist = device.empty((n, n), dtype)
    team.fill(0, n, dist)
    return team, dist


def _kernels(device: Any, graph: wl.Graph, rounds: int) -> dict[str, float]:
    """Return the median time of each kernel: all its launches for one answer, next hops at once."""
    watch, dtype = ByKernel(device), default_dtype(graph.given)
    searches = _ready(device, graph)
    n, arcs = graph.n, searches.arcs
    team, dist = _distances(watch, searches, dtype)
    starts, ends = device.to_device(arcs.starts.astype(np.int32)), device.to_device(arcs.ends)
    hops = device.empty((n, n), np.int32)
    blocks = 32 * device.properties.multiprocessors
    no_path = outer_no_path(dtype).item()
    watch.milliseconds()
    taken = []
    for _ in range(rounds):
        team.fill(0, n, dist)
        watch.launch(write_next_hops, blocks, THREADS, starts, ends, dist, 1, no_path, 0, hops)
        taken.append(watch.milliseconds())
    return {name: statistics.median(each[name] for each in taken) for name in taken[0]}


def time_variants(device: Any, graphs: dict[str, wl.Graph]) -> list[dict[str, Any]]:
    """Time the kernels with other numbers of blocks on a multiprocessor, and of their threads."""
    kept = level_launches._RESIDENT, level_launches._THREADS_OF_SEARCHES
    rows = []
    try:
        for resident, threads in _VARIANTS:
            level_launches._RESIDENT = resident
            level_launches._THREADS_OF_SEARCHES = threads
            for name, graph in graphs.items():
                row: dict[str, Any] = {"case": name, "blocks": resident, "threads": threads}
                taken = _kernels(device, graph, 3)
                rows.append({**row, **{f"{kernel}_ms": ms for kernel, ms in taken.items()}})
    finally:
        level_launches._RESIDENT, level_launches._THREADS_OF_SEARCHES = kept
    print_table("blocks on a multiprocessor and their threads", rows)
    return rows


if __name__ == "__main__":
    main()
