"""All-pairs shortest paths on the CPU: checked, then timed beside its peers and the ceiling.

Run it with `make bench`. Everything that is compared runs in one process in turn; figures are
medians. The ceiling is the rate of relaxations whose operands never leave the registers, measured
between the runs it is compared with.
"""

from __future__ import annotations

import importlib.metadata
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import floyd_warshall as scipy_floyd_warshall

import warpladder as wl
from ceilings import relaxations_per_second
from report import Target, interleave, print_table, print_targets, quantiles, write_results

_DTYPES = ("float32", "int32", "int16", "float64", "int64")
_N = 2048
_LARGE = 8192
#: Size and dtype of undirected graphs, whether next hops are wanted, and how many times each is
#: timed.
_UNDIRECTED = (
    *((2048, dtype, False, 7) for dtype in _DTYPES),
    *((4096, dtype, False, 5) for dtype in _DTYPES),
    (_LARGE, "float32", False, 3),
    (2048, "float32", True, 7),
    (2048, "int32", True, 7),
    (4096, "float32", True, 5),
    (4096, "int32", True, 5),
)
_PEAK = """
import re, sys, numpy as np, warpladder as wl

def peak():
    # Not getrusage: what it gives includes the parent's memory at the start of this process.
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

wl.shortest_paths(np.ones((300, 300), "float32"))
n = int(sys.argv[1])
weights = np.random.default_rng(0).random((n, n), dtype="float32")
before = peak() - weights.nbytes
wl.shortest_paths(weights)
print((peak() - before) / weights.nbytes)
"""


def main() -> None:
    """Check, time, print, write."""
    _check()
    targets: list[Target] = []
    by_dtype = _time_dtypes(targets)
    by_size = _time_sizes()
    peers = _time_peers(targets)
    large = _time_large(targets)
    undirected = _time_undirected(targets)
    small = _time_small(targets)
    start = _time_start(targets)
    print_targets(targets)
    path = write_results(
        "shortest_paths",
        {
            "by_dtype": by_dtype,
            "by_size": by_size,
            "peers": peers,
            "large": large,
            "undirected": undirected,
            "small": small,
            "second_process": start,
            "targets": targets,
        },
    )
    print(f"wrote {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def _weights(n: int, dtype: str) -> NDArray[Any]:
    return np.random.default_rng(n).integers(1, 100, (n, n)).astype(dtype)


def _check() -> None:
    """Compare with SciPy before anything is timed."""
    for dtype in _DTYPES:
        for n in (200, 700):
            weights = _weights(n, dtype)
            exact = scipy_floyd_warshall(weights.astype(np.float64))
            for hops in (False, True):
                found = wl.shortest_paths(weights, next_hops=hops).dist_matrix
                if not np.array_equal(found, exact):
                    raise SystemExit(f"wrong distances for {dtype}, n = {n}, next_hops={hops}")


def _time_dtypes(targets: list[Target]) -> list[dict[str, Any]]:
    """Time all dtypes in turn, each between measurements of its own ceiling."""
    ceilings: dict[str, list[dict[str, float]]] = {dtype: [] for dtype in _DTYPES}
    tasks: dict[str, Callable[[], object]] = {}
    for dtype in _DTYPES:
        weights = _weights(_N, dtype)
        tasks[f"{dtype} ceiling"] = lambda d=dtype: ceilings[d].append(  # type: ignore[misc]
            relaxations_per_second(d)
        )
        tasks[dtype] = lambda w=weights: wl.shortest_paths(w)  # type: ignore[misc]
        tasks[f"{dtype} with hops"] = lambda w=weights: wl.shortest_paths(w, next_hops=True)  # type: ignore[misc]
    figures = interleave(tasks, rounds=9)
    rows = []
    rates = {}
    for dtype in _DTYPES:
        seconds = statistics.median(figures[dtype])
        best = statistics.median(found["best"] for found in ceilings[dtype])
        add = statistics.median(found["add"] for found in ceilings[dtype])
        rate = rates[dtype] = _N**3 / seconds
        factor = statistics.median(figures[f"{dtype} with hops"]) / seconds
        rows.append(
            {
                "case": f"{dtype}, n = {_N}",
                "ms": 1e3 * seconds,
                "G_relaxations_per_s": rate / 1e9,
                "ceiling_G_per_s": best / 1e9,
                "percent_of_ceiling": 100 * rate / best,
                "ceiling_with_add_G_per_s": add / 1e9,
                "next_hops_factor": factor,
                "seconds": quantiles(figures[dtype]),
            }
        )
        if dtype in {"float32", "int32"}:
            targets.append(Target(f"{dtype}, n = {_N}: share of the ceiling", rate / best, 0.65))
            targets.append(Target(f"{dtype}: next hops, times", factor, 3, at_most=True))
    targets.append(Target("int16 over int32", rates["int16"] / rates["int32"], 1.6))
    targets.append(Target("float64 over float32", rates["float64"] / rates["float32"], 0.45))
    _print("end to end, dense input, all cores", rows)
    return rows


def _time_sizes() -> list[dict[str, Any]]:
    """Time float32 over the sizes, SciPy beside it as long as that takes about a second."""
    rows = []
    for n in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
        weights = _weights(n, "float32")
        tasks = {"ours": lambda w=weights: wl.shortest_paths(w)}
        if n <= 1024:
            tasks["scipy"] = lambda w=weights: scipy_floyd_warshall(w)
        figures = interleave(tasks, rounds=3 if n >= 1024 else 20)
        row: dict[str, Any] = {"case": f"float32, n = {n}", "n": n}
        for name, seconds in figures.items():
            row[f"{name}_G_relaxations_per_s"] = n**3 / statistics.median(seconds) / 1e9
        rows.append(row)
    _print("by size", [{"scipy_G_relaxations_per_s": "", **row} for row in rows])
    return rows


def _time_peers(targets: list[Target]) -> list[dict[str, Any]]:
    import rustworkx

    weights = _weights(_N, "float32")
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(_N))
    graph.add_edges_from(
        [(u, v, w) for u, row in enumerate(weights.tolist()) for v, w in enumerate(row) if u != v]
    )
    figures = interleave(
        {
            "ours": lambda: wl.shortest_paths(weights),
            "ours again": lambda: wl.shortest_paths(weights),
            "scipy": lambda: scipy_floyd_warshall(weights),
            "rustworkx": lambda: rustworkx.floyd_warshall_numpy(
                graph, weight_fn=float, parallel_threshold=0
            ),
        },
        rounds=3,
    )
    ours = statistics.median(figures.pop("ours") + figures.pop("ours again"))
    rows: list[dict[str, Any]] = [{"case": "warpladder", "seconds": ours, "times_ours": 1.0}]
    for name, asked in (("scipy", 50), ("rustworkx", 25)):
        seconds = statistics.median(figures[name])
        version = importlib.metadata.version(name)
        rows.append({"case": f"{name} {version}", "seconds": seconds, "times_ours": seconds / ours})
        targets.append(Target(f"times faster than {name}", seconds / ours, asked))
    _print(f"peers, float32 dense, n = {_N}", rows)
    return rows


def _time_large(targets: list[Target]) -> list[dict[str, Any]]:
    weights = np.random.default_rng(0).random((_LARGE, _LARGE), dtype=np.float32)
    ceilings: list[dict[str, float]] = []
    figures = interleave(
        {
            "ceiling": lambda: ceilings.append(relaxations_per_second("float32")),
            "distances": lambda: wl.shortest_paths(weights),
        },
        rounds=3,
    )
    seconds = statistics.median(figures["distances"])
    best = statistics.median(rates["best"] for rates in ceilings)
    command = [sys.executable, "-c", _PEAK, str(_LARGE)]
    peak = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603 - our own script
    rate = _LARGE**3 / seconds
    row = {
        "case": f"float32, n = {_LARGE}",
        "s": seconds,
        "G_relaxations_per_s": rate / 1e9,
        "ceiling_G_per_s": best / 1e9,
        "percent_of_ceiling": 100 * rate / best,
        "ceiling_with_add_G_per_s": statistics.median(rates["add"] for rates in ceilings) / 1e9,
        "peak_memory_in_matrices": peak,
        "seconds": quantiles(figures["distances"]),
    }
    targets.append(Target(f"float32, n = {_LARGE}: share of the ceiling", rate / best, 0.80))
    targets.append(Target(f"peak memory, n = {_LARGE}, matrices", peak, 2.3, at_most=True))
    _print("larger than the caches", [row])
    return [row]


def _time_undirected(targets: list[Target]) -> list[dict[str, Any]]:
    """Time symmetric weights beside the same with one pair that is not; compare the bits."""
    rows = []
    for n, dtype, hops, rounds in _UNDIRECTED:
        weights = _weights(n, dtype)
        weights = np.minimum(weights, weights.T)
        if weights.dtype.kind == "f":
            # Sums that are rounded.
            weights /= weights.dtype.type(np.pi)
        # The first edge back is longer than other ways, so that no distance depends on it.
        digraph = weights.copy()
        digraph[n - 1, 0] = 2 * weights.max()
        digraph[0, n - 1] = weights[n - 1, 0] = weights[0, n - 1] = 2 * weights.max() - 1
        half, whole = (wl.shortest_paths(given, next_hops=hops) for given in (weights, digraph))
        same = half.dist_matrix.tobytes() == whole.dist_matrix.tobytes()
        if not same or half.why == whole.why:
            raise SystemExit(f"undirected {dtype}, n = {n}: {same=}, {half.why}")
        del half, whole
        figures = interleave(
            {
                "half": lambda w=weights, h=hops: wl.shortest_paths(w, next_hops=h),  # type: ignore[misc]
                "whole": lambda w=digraph, h=hops: wl.shortest_paths(w, next_hops=h),  # type: ignore[misc]
            },
            rounds=rounds,
        )
        half_s, whole_s = (statistics.median(figures[name]) for name in ("half", "whole"))
        rows.append(
            {
                "case": f"{dtype}, n = {n}{', with next hops' if hops else ''}",
                "whole_ms": 1e3 * whole_s,
                "half_ms": 1e3 * half_s,
                "times_as_fast": whole_s / half_s,
                "seconds": quantiles(figures["half"]),
            }
        )
        if n >= 4096 and not hops:
            name = f"undirected {dtype}, n = {n}: times as fast"
            targets.append(Target(name, whole_s / half_s, 1.7))
    _print("undirected graphs: half of the relaxations", rows)
    return rows


def _time_small(targets: list[Target]) -> list[dict[str, Any]]:
    rows = []
    for n, asked in ((10, 100), (100, 400)):
        for dtype in ("float32", "int32"):
            weights = _weights(n, dtype)
            figures = interleave({"call": lambda w=weights: wl.shortest_paths(w)}, rounds=300)  # type: ignore[misc]
            micro = 1e6 * statistics.median(figures["call"])
            rows.append({"case": f"{dtype}, n = {n}", "us": micro})
            targets.append(Target(f"warm call, {dtype}, n = {n}, us", micro, asked, at_most=True))
    _print("warm calls", rows)
    return rows


def _time_start(targets: list[Target]) -> list[dict[str, Any]]:
    """Time the command line on a small file, once the kernels are compiled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.txt"
        path.write_text("A B 4\nB C 7\nC A 1\n--END--\n")
        command = [str(Path(sys.executable).parent / "warpladder"), "paths", str(path)]
        subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - our own command

        def run() -> None:
            subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - our own command

        seconds = interleave({"run": run}, rounds=7)["run"]
    rows = [{"case": "warpladder paths, three vertices", "s": statistics.median(seconds)}]
    targets.append(
        Target("shell to printed answer, s", statistics.median(seconds), 1, at_most=True)
    )
    _print("second process", rows)
    return rows


def _print(title: str, rows: list[dict[str, Any]]) -> None:
    print_table(title, [{k: v for k, v in row.items() if not isinstance(v, dict)} for row in rows])


if __name__ == "__main__":
    main()
