"""Check and time reductions on a GPU: ceilings, the ladder, CUB, block sizes, calls of `reduce`.

    python benchmarks/gpu_reduction.py --out DIR

Everything is checked before it is timed. Kernel times are between events on the GPU, with a cold
second-level cache: before each run a buffer twice its size and more is written, and while that goes
on the host queues what is to be timed, so that launching is not in the time. "End to end" is the
rung from an array of the host to the sum on the host, ordinary memory, copies and allocations
included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numba import cuda

import warpladder as wl
from gpu_sums import cold_us, contenders
from gpu_timing import Timer, least_ms, nothing, parser_of_parts, record_parts
from report import Target, print_table, print_targets
from warpladder.device.cuda_device import CudaDevice
from warpladder.errors import MissingExtraError
from warpladder.lab.ceilings import copy_bytes_per_second, pinned_bytes_per_second, read_only
from warpladder.lab.registry import find_ladder, find_rung
from warpladder.lab.verify import verify
from warpladder.reduction.rungs._tasks import Numbers

_LADDER_SIZES = (1 << 10, 1 << 20, 1 << 28, 1 << 30)
#: Blocks on a multiprocessor, of which one number reads fastest.
_BLOCKS_EACH = (2, 4, 6, 8, 40)
_LIBRARY_SIZES = tuple(1 << k for k in (10, 16, 20, 24, 28, 30))
_BLOCK_SIZES = (32, 64, 128, 256, 512, 1024)
_VERIFIED_AT = (0, 1, 33, 1025, 70_001)
#: Published for CUB's sum of int32 on an H200: microseconds by size.
_PUBLISHED_CUB = {1 << 16: 5.35, 1 << 20: 7.13, 1 << 24: 25.7, 1 << 28: 249.0}

#: The top of the ladder for sums of int32.
_TOP = "one-word-finish"

#: Calls on arrays of the GPU: operations, dtype, accuracy.
_CALLS = (
    *((("sum",), dtype, "fast") for dtype in ("int32", "int8", "float32", "float64", "float16")),
    *((("sum",), dtype, "reproducible") for dtype in ("float32", "float64")),
    (("sum",), "float64", "compensated"),
    (("max",), "float32", "fast"),
    (("argmax",), "float32", "fast"),
    (("nansum",), "float32", "fast"),
    *((("sum", "min", "max", "mean", "var"), d, "fast") for d in ("float32", "float64", "int32")),
    (("l2",), "float32", "fast"),
    (("logsumexp",), "float32", "fast"),
)
_FIVE = ("sum", "min", "max", "mean", "var")


def main() -> None:
    """Check, time, print and write."""
    given = parser_of_parts(__doc__).parse_args()
    bench = _Bench()
    parts: dict[str, Callable[[dict[str, Any]], Any]] = {
        "ceilings": lambda _: bench.ceilings(),
        "checks": lambda _: bench.checks(),
        "libraries": bench.libraries,
        "calls": bench.calls,
        "ladder": bench.ladder,
        "library_with_copies": lambda _: bench.library_with_copies(),
        "block_sizes": lambda _: bench.block_sizes(),
        "targets": _targets,
    }
    record_parts("gpu_reduction", bench.device, parts, given)


class _Bench:
    """The GPU, numbers on it, and what is measured with them."""

    def __init__(self) -> None:
        self.device = CudaDevice(time_kernels=True)
        rng = np.random.default_rng(0)
        self._host = rng.integers(-(2**31), 2**31, 1 << 30, np.int32)
        self._there = self.device.to_device(self._host)
        self.timer = Timer(self.device)

    # ---- the parts ----------------------------------------------------------------------------

    def checks(self) -> list[dict[str, Any]]:
        """Compare the engine with the CPU's."""
        rows: list[dict[str, Any]] = []
        rng = np.random.default_rng(1)
        for dtype in ("int32", "float32", "float64"):
            for accuracy in ("fast", "compensated", "reproducible"):
                for n in (33, 4097, 1_000_003) if accuracy == "fast" else (4097, 1_000_003):
                    values = (rng.standard_normal(n) * 1000).astype(dtype)
                    options: dict[str, Any] = {"accuracy": accuracy}
                    there = wl.reduce(cuda.to_device(values), _FIVE, **options)
                    here = wl.reduce(values, _FIVE, device="cpu", **options)
                    # Rounded in different orders, sums near zero differ most.
                    slack = 1e-6 * float(np.abs(values).sum()) if accuracy == "fast" else 1e-6
                    same = accuracy == "reproducible" and dtype != "int32"
                    good = all(
                        a == b if same else np.isclose(float(a), float(b), rtol=1e-5, atol=slack)
                        for a, b in zip(there, here, strict=True)
                    )
                    rows.append({"case": f"{n} {dtype} {accuracy}", "good": good})
                    if not good:
                        print(f"WRONG: {n} {dtype} {accuracy}: {there} {here}", flush=True)
        print(f"{sum(row['good'] for row in rows)} of {len(rows)} checks passed")
        return rows

    def ceilings(self) -> dict[str, Any]:
        """Measure how fast memory is read at all, and the bus."""
        out = self.device.full(1, 0, np.int32)
        shapes = []
        for each in _BLOCKS_EACH:
            for threads in (256, 512):
                blocks = each * self.device.properties.multiprocessors
                ms = self.timer.event_ms(
                    partial(self.device.launch, read_only, blocks, threads, self._there, out),
                    # A ceiling is the least that was seen.
                    of=min,
                )
                rate = self._there.nbytes / ms * 1000
                shapes.append({"blocks_each": each, "threads": threads, "TB_per_s": rate / 1e12})
        print_table("reading alone", shapes)
        return {
            "read_shapes": shapes,
            "read_bytes_per_second": max(row["TB_per_s"] for row in shapes) * 1e12,
            "copy_bytes_per_second": copy_bytes_per_second(self.device),
            "pinned_bytes_per_second": pinned_bytes_per_second(self.device),
        }

    def libraries(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """Time the ladder's top beside CUB, all prepared: kernels alone, by cuda-bench."""
        stream, device = self.device.stream(), CudaDevice()
        works: dict[str, Callable[[], object]] = {
            # What two events and a launch take without any work between them.
            "0 nothing": partial(device.launch, nothing, 1, 32, stream=stream)
        }
        right = {}
        for n in _LIBRARY_SIZES:
            expected = np.int32(self._host[:n].sum(dtype=np.int64) & 0xFFFFFFFF)
            for name, sum_of in contenders(device, self._there[:n], stream).items():
                works[f"{n} {name}"] = sum_of.work
                # Twice: each has to leave its memory as it needs it.
                for _ in range(2):
                    sum_of.work()
                    device.synchronize()
                    right[f"{n} {name}"] = bool(sum_of.result() == expected)
        try:
            times = cold_us(works, stream)
        except ImportError as fault:
            print(f"timed by our own events, not by cuda-bench: {fault}")
            times = {case: {"us": 1000 * self.timer.event_ms(work)} for case, work in works.items()}
        rows: list[dict[str, Any]] = []
        for case, taken in times.items():
            n, name = int(case.split()[0]), case.partition(" ")[2]
            rate = 4e6 * n / taken["us"]
            rows.append(
                {
                    "case": f"{n:,} {name}",
                    "n": n,
                    "by": name,
                    **taken,
                    "TB_per_s": rate / 1e12,
                    "percent_of_read": 100 * rate / _read_rate(record),
                    "right": right.get(case),
                }
            )
        print_table("the ladder's top and libraries, kernels alone", rows)
        return rows

    def calls(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """Time whole calls of `reduce`: arrays of the GPU, then the smallest, then of the host."""
        rows = []
        n = 1 << 28
        alone: dict[int, float] = {}
        for ops, dtype, accuracy in _CALLS:
            data = self._as(dtype, n)
            op: Any = ops[0] if len(ops) == 1 else ops
            options: dict[str, Any] = {"accuracy": accuracy}
            began = perf_counter()
            wl.reduce(data, op, device=self.device, **options)
            first = perf_counter() - began
            kernels = self.timer.kernel_ms(
                partial(wl.reduce, data, op, device=self.device, **options)
            )
            call = least_ms(partial(wl.reduce, data, op, **options))
            rate = data.nbytes / kernels * 1000
            if data.nbytes not in alone:
                alone[data.nbytes] = self._reading_ms(data.nbytes)
            rows.append(
                {
                    "case": f"{', '.join(ops)} of {dtype}, {accuracy}",
                    "kernel_ms": kernels,
                    "TB_per_s": rate / 1e12,
                    "percent_of_read": 100 * rate / _read_rate(record),
                    "percent_of_same": 100 * alone[data.nbytes] / kernels,
                    "call_ms": call,
                    "first_call_s": first,
                }
            )
            del data
        print_table(f"reduce on {n:,} numbers of the GPU", rows)
        return rows + self._other_calls()

    def _reading_ms(self, nbytes: int) -> float:
        """Return how long it takes to read so many bytes alone, timed as the calls are.

        Of few of them, starting and ending, and writing back what the cache is flushed with, are a
        larger part than of all.
        """
        out = self.device.full(1, 0, np.int32)
        part = self._there[: nbytes // 4]
        return min(
            self.timer.kernel_ms(
                partial(
                    self.device.launch,
                    *(read_only, each * self.device.properties.multiprocessors, threads),
                    *(part, out),
                )
            )
            for each in _BLOCKS_EACH
            for threads in (256, 512)
        )

    def _other_calls(self) -> list[dict[str, Any]]:
        small, matrix = self._as("float32", 1000), self._as("float32", 1 << 28)
        square = matrix.reshape(1 << 14, 1 << 14)
        host = np.random.default_rng(2).random(1 << 27, np.float32)
        cases: dict[str, tuple[Any, dict[str, Any]]] = {
            "sum of 1,000 float32 on the GPU": (small, {}),
            "sum, min, max, mean, var of 1,000 float32 on the GPU": (small, {"op": _FIVE}),
            "sum of 16,384 x 16,384 float32, axis 0": (square, {"axis": 0}),
            "sum of 16,384 x 16,384 float32, axis 1": (square, {"axis": 1}),
            "sum of 512 MiB of the host, over the bus": (host, {"device": "cuda"}),
            "sum of 512 MiB of the host, on the CPU": (host, {"device": "cpu"}),
        }
        rows = []
        for name, (values, options) in cases.items():
            ms = least_ms(partial(self._waited_for, values, options))
            rows.append({"case": name, "call_ms": ms, "GB_per_s": values.nbytes / ms / 1e6})
        print_table("other calls", rows)
        return rows

    def _waited_for(self, values: Any, options: dict[str, Any]) -> None:
        """Reduce, and wait for results that stay on the GPU."""
        wl.reduce(values, **options)
        self.device.synchronize()

    def _as(self, dtype: str, n: int) -> Any:
        """Return numbers of a dtype on the GPU: those of the benchmark, or made of them."""
        if dtype == "int32":
            return self._there[:n]
        if dtype == "int8":
            return self._there.view(np.int8)[:n]
        made = (self._host[: 1 << 24] * 2.0**-31).astype(dtype)
        return self.device.to_device(np.tile(made, -(-n // made.size))[:n])

    def ladder(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """Time every rung: kernels on numbers that are on the GPU, and the way from the host."""
        rows = []
        for n in _LADDER_SIZES:
            # Two rungs add up in place: each run has its numbers fresh.
            scratch = self.device.empty(n, np.int32)
            expected = np.int32(self._host[:n].sum(dtype=np.int64) & 0xFFFFFFFF)
            for rung in find_ladder("reduction").rungs:
                if rung.on != "device" or rung.task.name.endswith("float32"):
                    continue
                verdicts = verify(rung, self.device, _VERIFIED_AT) if n == _LADDER_SIZES[0] else ()
                faults = [verdict.fault for verdict in verdicts if verdict.fault]
                taken, right = [], not faults
                for _ in range(4):
                    self.device.to_device(self._there[:n], out=scratch)
                    self.device.synchronize()
                    self.device.reset_kernel_ms()
                    self.timer.flush(8)
                    found = rung.run(self.device, Numbers(scratch))
                    self.device.synchronize()
                    right &= bool(found[0] == expected)
                    taken.append(self.device.kernel_ms)
                ms = min(taken[1:])
                problem = Numbers(self._host[:n])
                whole = least_ms(partial(rung.run, self.device, problem), 1 if n > 1 << 20 else 5)
                rows.append(
                    {
                        "case": rung.name,
                        "n": n,
                        "kernel_us": 1000 * ms,
                        "TB_per_s": 4 * n / ms / 1e9,
                        "percent_of_read": 100 * 4 * n / ms * 1000 / _read_rate(record),
                        "end_to_end_ms": whole,
                        "right": right,
                    }
                )
        print_table("the ladder", rows)
        return rows

    def library_with_copies(self) -> list[dict[str, Any]]:
        """Time the rung of CUB from the host to the sum; its kernels are timed in `libraries`."""
        _, rung = find_rung("reduction/cub-library")
        rows = []
        for n in _LADDER_SIZES:
            problem = Numbers(self._host[:n])
            try:
                found = rung.run(self.device, problem)
            except MissingExtraError as fault:
                print(f"left out: {fault}")
                return []
            whole = least_ms(partial(rung.run, self.device, problem), 1 if n > 1 << 20 else 5)
            expected = np.int32(problem.values.sum(dtype=np.int64) & 0xFFFFFFFF)
            right = bool(found[0] == expected)
            rows.append({"case": rung.name, "n": n, "end_to_end_ms": whole, "right": right})
        print_table("the library, with copies", rows)
        return rows

    def block_sizes(self) -> list[dict[str, Any]]:
        """Time rungs with other numbers of threads in a block, as the source does."""
        names = ("first-add-during-load", "fully-unrolled", "grid-stride", "warp-shuffle", "tuned")
        rows = []
        for n in (1 << 20, 1 << 28):
            problem = Numbers(self._there[:n])
            for rung in find_ladder("reduction").rungs:
                if rung.name not in names:
                    continue
                row: dict[str, Any] = {"case": rung.name, "n": n}
                for threads in _BLOCK_SIZES:
                    run: Any = rung.run
                    ms = self.timer.kernel_ms(partial(run, self.device, problem, threads), 3)
                    row[f"{threads}_us"] = 1000 * ms
                rows.append(row)
        print_table("block sizes, kernels alone", rows)
        return rows


def _read_rate(record: dict[str, Any]) -> float:
    return float(record["ceilings"]["read_bytes_per_second"])


def _targets(document: dict[str, Any]) -> list[Target]:
    us = {(row["n"], row["by"]): row["us"] for row in document["libraries"]}
    top = {n: us[n, _TOP] for n in _LIBRARY_SIZES}
    targets = [
        Target(f"n = {n:,}: us of {_TOP}, CUB in this run", top[n], us[n, "CUB"], at_most=True)
        for n in _LIBRARY_SIZES
        if (n, "CUB") in us
    ]
    targets += [
        Target(f"n = {n:,}: us of {_TOP}, CUB as published", top[n], published, at_most=True)
        for n, published in _PUBLISHED_CUB.items()
    ]
    (largest,) = (
        row["percent_of_read"]
        for row in document["libraries"]
        if (row["n"], row["by"]) == (1 << 30, _TOP)
    )
    targets.append(Target("n = 2^30: % of reading alone", largest, 92))
    print_targets(targets)
    return targets


if __name__ == "__main__":
    main()
