"""Reductions on the CPU: checked, then timed beside NumPy and the bandwidth of memory.

Everything that is compared runs in one process in turn; figures are medians. The ceiling is the
rate at which all cores together can read the same array, measured between the runs it is compared
with.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

import warpladder as wl
from report import Target, print_table, print_targets, quantiles, write_results
from report import interleave as interleave_figures
from warpladder.device.environment import worker_count

_ACCURACIES = ("fast", "pairwise", "compensated", "reproducible")
_FIVE = ("sum", "min", "max", "mean", "var")
_LARGE = 2**28
_FILE_BYTES = 4 << 30
_PEAK = """
import re, sys, time, warpladder as wl
stored = wl.open_values(sys.argv[1], dtype="float32")
wl.reduce(wl.open_values(sys.argv[2], dtype="float32"))
began = time.perf_counter()
wl.reduce(stored)
seconds = time.perf_counter() - began
print(seconds, 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]))
"""


def main() -> None:
    """Check, time, print, write."""
    _check()
    targets: list[Target] = []
    document = {
        "large": _time_large(targets),
        "by_size": _time_sizes(targets),
        "by_dtype": _time_dtypes(),
        "by_operation": _time_operations(),
        "axes": _time_axes(),
        "errors": _measure_errors(targets),
        "file": _time_file(targets),
        "start": _time_start(),
    }
    print_targets(targets)
    path = write_results("reduction", {**document, "targets": targets})
    print(f"wrote {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def interleave(tasks: Mapping[str, Callable[..., object]], rounds: int) -> dict[str, list[float]]:
    """Time tasks in turn, in seconds: what they return is often a float, but no figure."""

    def timed(task: Callable[..., object]) -> Callable[[], None]:
        def run() -> None:
            task()

        return run

    return interleave_figures({name: timed(task) for name, task in tasks.items()}, rounds)


def _check() -> None:
    """Compare with exact sums and NumPy before anything is timed."""
    for dtype in ("float32", "float64"):
        values = np.random.default_rng(1).standard_normal(3_000_001).astype(dtype)
        exact, scale = math.fsum(values), math.fsum(np.abs(values))
        for accuracy in _ACCURACIES:
            error = abs(float(wl.reduce(values, accuracy=accuracy)) - exact)  # type: ignore[arg-type]
            if error > 64 * np.finfo(dtype).eps * scale:
                raise SystemExit(f"wrong {accuracy} sum of {dtype}: off by {error}")
        for op in ("min", "max", "argmin", "argmax", "any", "all"):
            if wl.reduce(values, op) != getattr(np, op)(values):
                raise SystemExit(f"wrong {op} of {dtype}")


@njit(nogil=True)
def _read(words: Any) -> Any:
    together = np.int64(0)
    for i in range(words.size):
        together |= words[i]
    return together


def read_all(values: NDArray[Any], pool: ThreadPoolExecutor) -> None:
    """Read an array once, on all cores, doing as little with it as can be."""
    words = values.view(np.int64)
    list(pool.map(_read, np.array_split(words, worker_count())))


def _time_large(targets: list[Target]) -> list[dict[str, Any]]:
    """Time arrays beyond the caches beside NumPy and the ceiling."""
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(worker_count()) as pool:
        for dtype, n in (("float32", _LARGE), ("float64", _LARGE // 2)):
            values = np.random.default_rng(0).random(n, np.float32).astype(dtype, copy=False)
            tasks: dict[str, Callable[[], object]] = {
                "read": partial(read_all, values, pool),
                "numpy sum": partial(np.sum, values),
                "five statistics": partial(wl.reduce, values, _FIVE),
            }
            for accuracy in _ACCURACIES:
                options: dict[str, Any] = {"accuracy": accuracy}
                tasks[f"{accuracy} sum"] = partial(wl.reduce, values, **options)
            for task in tasks.values():
                task()
            figures = interleave(tasks, rounds=15)
            median = {name: statistics.median(seconds) for name, seconds in figures.items()}
            for name, seconds in figures.items():
                rows.append(
                    {
                        "case": f"{dtype}, n = 2^{int(math.log2(n))}, {name}",
                        "ms": 1e3 * median[name],
                        "GB_per_s": values.nbytes / median[name] / 1e9,
                        "percent_of_ceiling": 100 * median["read"] / median[name],
                        "times_numpy_sum": median["numpy sum"] / median[name],
                        "seconds": quantiles(seconds),
                    }
                )
            if dtype == "float32":
                fast = median["fast sum"]
                asked = {
                    "times numpy.sum": (median["numpy sum"] / fast, 1.6, False),
                    "share of the read bandwidth": (median["read"] / fast, 0.85, False),
                    "five statistics over one": (median["five statistics"] / fast, 1.2, True),
                    "compensated over fast": (median["compensated sum"] / fast, 1.5, True),
                    "reproducible over fast": (median["reproducible sum"] / fast, 4.0, True),
                }
                for name, (value, limit, at_most) in asked.items():
                    targets.append(Target(f"2^28: {name}", value, limit, at_most=at_most))
    _print("larger than the caches, all cores", rows)
    return rows


def _time_sizes(targets: list[Target]) -> list[dict[str, Any]]:
    rows = []
    for power in range(4, 27, 2):
        values = np.random.default_rng(power).random(2**power, np.float32)
        tasks = {"ours": partial(wl.reduce, values), "numpy": partial(np.sum, values)}
        for task in tasks.values():
            task()
        figures = interleave(tasks, rounds=max(2001 >> max(power - 14, 0), 15))
        ours, numpy = (1e6 * statistics.median(figures[name]) for name in ("ours", "numpy"))
        rows.append(
            {
                "case": f"float32 sum, n = 2^{power}",
                "ours_us": ours,
                "numpy_us": numpy,
                "times_numpy": numpy / ours,
                "GB_per_s": values.nbytes / ours / 1e3,
            }
        )
        if power == 10:
            targets.append(Target("2^10: us over numpy.sum", ours - numpy, 2, at_most=True))
        if power == 20:
            targets.append(Target("2^20: times numpy.sum", numpy / ours, 3))
    _print("by size, whole call", rows)
    return rows


def _time_dtypes() -> list[dict[str, Any]]:
    rows = []
    for dtype in ("bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"):
        values = (np.random.default_rng(3).random(2**26 // np.dtype(dtype).itemsize) * 9).astype(
            dtype
        )
        tasks = {"ours": partial(wl.reduce, values), "numpy": partial(np.sum, values)}
        rows.append(_beside_numpy(f"{dtype} sum, 64 MB", tasks, values.nbytes))
    _print("by dtype", rows)
    return rows


def _time_operations() -> list[dict[str, Any]]:
    """Time operations on arrays beyond the caches and within them, masked, and with NaNs."""
    rows = []
    operations = (
        *("sum", "prod", "min", "argmax", "mean", "var", "any", "all", "count_nonzero"),
        *("l1", "l2", "logsumexp"),
    )
    few = ("sum", "min", "argmax", "var", "all", "count_nonzero")
    for dtype, ops in {
        **dict.fromkeys(("float32", "float64"), operations),
        **dict.fromkeys(("int64", "int8"), few),
    }.items():
        for size in (1 << 26, 1 << 22):
            values = _positive(dtype, size)
            # A truth is settled by the first element that decides; a product is not to overflow.
            arrays = {"any": np.zeros_like(values), "prod": np.ones_like(values)}
            rows += [_by_operation(f"{op}, {dtype}", arrays.get(op, values), op) for op in ops]
    for dtype in ("float32", "float64"):
        values = _positive(dtype, 1 << 26)
        mask = np.random.default_rng(6).random(values.size) < 0.5
        holes = values.copy()
        holes[::10] = np.nan
        rows += [
            _by_operation(f"{op} where half count, {dtype}", values, op, where=mask)
            for op in ("sum", "var")
        ]
        rows += [
            _by_operation(f"{op}, a tenth NaN, {dtype}", holes, op)
            for op in ("nansum", "nanmin", "nanargmax", "nanvar")
        ]
    _print("by operation", rows)
    return rows


def _positive(dtype: str, size: int) -> NDArray[Any]:
    """Return so many bytes of numbers from 1 to 2, or to 9 for integers."""
    n = size // np.dtype(dtype).itemsize
    drawn = np.random.default_rng(4).random(n, np.float32)
    return (1 + (drawn if dtype.startswith("float") else 8 * drawn)).astype(dtype)


def _by_operation(case: str, values: NDArray[Any], op: str, **options: Any) -> dict[str, Any]:
    peers: dict[str, Callable[[], object]] = {
        "l1": lambda: np.sum(np.abs(values)),
        "l2": lambda: np.linalg.norm(values),
        "logsumexp": lambda: np.log(np.sum(np.exp(values))),
    }
    tasks: dict[str, Callable[..., object]] = {
        "ours": partial(wl.reduce, values, op, **options),
        "numpy": peers[op] if op in peers else partial(getattr(np, op), values, **options),
    }
    return _beside_numpy(f"{case}, {values.nbytes >> 20} MB", tasks, values.nbytes)


def _time_axes() -> list[dict[str, Any]]:
    rows = []
    drawn = np.random.default_rng(5).random(1 << 24, np.float32)
    for shape in ((128, 64, 2048), (8, 1 << 21), (1 << 19, 32), (1 << 21, 8), (5_592_405, 3)):
        values = drawn[: math.prod(shape)].reshape(shape)
        axes: list[Any] = list(range(len(shape)))
        for op in ("sum", "min", "argmax", "var"):
            for axis in axes + ([(0, 2)] if len(shape) == 3 and op != "argmax" else []):
                tasks = {
                    "ours": partial(wl.reduce, values, op, axis=axis),
                    "numpy": partial(getattr(np, op), values, axis=axis),
                }
                sides = " x ".join(map(str, shape))
                rows.append(_beside_numpy(f"{op} over axis {axis}, {sides}", tasks, values.nbytes))
    _print("axes of 64 MB of float32", rows)
    return rows


def _beside_numpy(
    case: str, tasks: Mapping[str, Callable[..., object]], size: int
) -> dict[str, Any]:
    for task in tasks.values():
        task()
    figures = interleave(tasks, rounds=9 if size > 1 << 24 else 51)
    ours, numpy = (statistics.median(figures[name]) for name in ("ours", "numpy"))
    return {
        "case": case,
        "ours_ms": 1e3 * ours,
        "numpy_ms": 1e3 * numpy,
        "times_numpy": numpy / ours,
        "GB_per_s": size / ours / 1e9,
    }


def _measure_errors(targets: list[Target]) -> list[dict[str, Any]]:
    """Measure relative errors where positive and negative numbers cancel."""
    rng = np.random.default_rng(6)
    rows = []
    for condition in (1e4, 1e8, 1e12, 1e16):
        worst: dict[str, float] = {}
        bound = 0.0
        for _ in range(5):
            half = rng.standard_normal(500_000) * 2.0 ** rng.uniform(0, 20, 500_000)
            few = rng.random(1000) * np.abs(half).sum() / condition / 250
            values = rng.permutation(np.concatenate((half, -half, few)))
            exact = math.fsum(values)
            bound = max(bound, 2.0**-53 + 2.0**-90 * math.fsum(np.abs(values)) / abs(exact))
            found = {"numpy": np.sum(values)}
            found |= {a: wl.reduce(values, accuracy=a) for a in _ACCURACIES}  # type: ignore[arg-type]
            for name, value in found.items():
                error = abs(float(value) - exact) / abs(exact)
                worst[name] = max(worst.get(name, 0.0), error)
        rows.append({"case": f"float64, condition {condition:.0e}", **worst, "bound": bound})
        if condition == 1e12:
            name = "condition 1e12: error of compensated over its bound"
            targets.append(Target(name, worst["compensated"] / bound, 1, at_most=True))
    _print("largest relative error of five sums of 1,001,000 numbers", rows)
    return rows


def _time_file(targets: list[Target]) -> list[dict[str, Any]]:
    """Time a file that is in the system's cache, and measure the memory that it takes."""
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "large.bin", Path(folder) / "small.bin"
        part = np.random.default_rng(7).random(2**26, np.float32)
        part[:1000].tofile(small)
        with path.open("wb") as file:
            for _ in range(_FILE_BYTES // part.nbytes):
                part.tofile(file)
        tasks: dict[str, Callable[[], object]] = {
            "ours": lambda: wl.reduce(wl.open_values(path, dtype="float32")),
            "numpy.memmap": lambda: np.sum(np.memmap(path, np.float32, "r")),
            "reads into buffers": lambda: _read_file(path),
        }
        for task in tasks.values():
            task()
        figures = interleave(tasks, rounds=5)
        rows = [
            {
                "case": f"{_FILE_BYTES >> 30} GiB, {name}",
                "s": statistics.median(seconds),
                "GB_per_s": _FILE_BYTES / statistics.median(seconds) / 1e9,
                "seconds": quantiles(seconds),
            }
            for name, seconds in figures.items()
        ]
        command = [sys.executable, "-c", _PEAK, str(path), str(small)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own script
        peak = float(printed.split()[1])
    rows.append({"case": "peak memory of the process, MB", "s": "", "GB_per_s": peak / 1e6})
    targets.append(Target("file: peak memory, GB", peak / 1e9, 1, at_most=True))
    _print("a file in the system's cache", rows)
    return rows


def _read_file(path: Path) -> None:
    """Read a file from its start to its end, stretches on all cores, into a buffer each."""
    size, step = path.stat().st_size, 1 << 20
    stretches = iter(range(0, size, step))
    descriptor = os.open(path, os.O_RDONLY)

    def work(_: int) -> None:
        buffer = bytearray(step)
        for begin in stretches:
            os.preadv(descriptor, [buffer], begin)

    with ThreadPoolExecutor(worker_count()) as pool:
        list(pool.map(work, range(worker_count())))
    os.close(descriptor)


def _time_start() -> list[dict[str, Any]]:
    """Time the command line on a small file: kernels compiled before, and not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.npy"
        np.save(path, np.ones(1000, np.float32))
        command = [str(Path(sys.executable).parent / "warpladder"), "reduce", str(path)]

        def run(cache: str | None = None) -> None:
            environment = {**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
            subprocess.run(command, capture_output=True, check=True, env=environment)  # noqa: S603 - our own command

        run()
        warm = statistics.median(interleave({"run": run}, rounds=7)["run"])
        fresh = [str(Path(folder) / f"cache{i}") for i in range(3)]
        cold = statistics.median(
            [interleave({"run": lambda c=cache: run(c)}, rounds=1)["run"][0] for cache in fresh]
        )
    rows = [
        {"case": "warpladder reduce, 1,000 numbers", "s": warm},
        {"case": "the same, nothing compiled yet", "s": cold},
    ]
    _print("second process", rows)
    return rows


def _print(title: str, rows: list[dict[str, Any]]) -> None:
    print_table(title, [{k: v for k, v in row.items() if not isinstance(v, dict)} for row in rows])


if __name__ == "__main__":
    main()
