"""Time what rungs say of causes: a rung on a GPU, and the same with one thing changed.

    python benchmarks/gpu_variants.py --out DIR

Kernels alone with a cold cache, medians. Where only the kernel was changed, both have to give the
same answer.
"""

from __future__ import annotations

from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from numba import cuda

from gpu_timing import parser_of_parts, record_parts
from report import print_table
from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.bench import time_rung
from warpladder.lab.gpu_timing import ColdCache, Stopwatch
from warpladder.lab.registry import find_rung
from warpladder.primer.rungs import translation_soa
from warpladder.shortest_paths.rungs import pivot_in_run
from warpladder.shortest_paths.rungs._launching import MAX_REGISTERS
from warpladder.shortest_paths.rungs.flag_barrier import meet


@cuda.jit
def translate_loads_first(x: Any, y: Any, z: Any, dx: Any, dy: Any, dz: Any, n: int) -> None:
    """Move one point; all its loads stand before its stores."""
    i = cuda.grid(1)
    if i < n:
        a, b, c = x[i], y[i], z[i]
        x[i] = a + dx
        y[i] = b + dy
        z[i] = c + dz


@cuda.jit(max_registers=MAX_REGISTERS)
def close_with_three_loads(dist: Any, n: int, length: int, flags: Any) -> None:
    """Replace weights by distances as `close_by_runs` does, with three loads for each cell."""
    first = cuda.grid(1) * length
    cells = min(length, n * n - first)
    for k in range(n):
        if cells > 0:
            i = first // n
            j = first - i * n
            for _ in range(cells):
                through = dist[i, k] + dist[k, j]
                known = dist[i, j]
                if through < known:
                    dist[i, j] = through
                j += 1
                if j == n:
                    i = min(i + 1, n - 1)
                    j = 0
        meet(flags, k + 1)


def main() -> None:
    """Time, compare, print and write."""
    given = parser_of_parts(__doc__).parse_args()
    device = CudaDevice()
    record_parts("gpu_variants", device, {"variants": lambda _: _variants(device)}, given)


def _variants(device: CudaDevice) -> list[dict[str, Any]]:
    cache = ColdCache(device)
    rows = []

    def timed(path: str, problem: Any) -> tuple[float, Any]:
        timing, answer = time_rung(find_rung(path)[1], device, cache, problem)
        return 1000 * median(timing.kernels), answer

    def add(path: str, change: str, ms: float, changed_ms: float, n: int) -> None:
        row = {"case": path, "n": n, "change": change, "rung_ms": ms, "changed_ms": changed_ms}
        rows.append(row)

    for path, module, name, kernel, change in (
        ("primer/translation-soa", translation_soa, "translate", translate_loads_first,
         "all loads before the stores"),
        ("shortest-paths/pivot-in-run", pivot_in_run, "close_by_runs", close_with_three_loads,
         "three loads for each cell, none kept"),
    ):  # fmt: skip
        task = find_rung(path)[1].task
        problem = task.make(task.default_n, 0)
        ms, answer = timed(path, problem)
        with patch.object(module, name, kernel):
            changed_ms, same = timed(path, problem)
        np.testing.assert_array_equal(answer, same)
        add(path, change, ms, changed_ms, task.default_n)

    path = "primer/error-word"
    n = find_rung(path)[1].task.default_n
    problem = find_rung(path)[1].task.make(n, 0)
    without = problem._replace(values=np.abs(problem.values))
    add(path, "no faulty number", timed(path, problem)[0], timed(path, without)[0], n)

    for path in ("primer/kernels-in-turn", "primer/kernels-side-by-side"):
        rung = find_rung(path)[1]
        problem = rung.task.make(rung.task.default_n, 0)
        taken = []
        for _ in range(6):
            watch: Any = Stopwatch(device, cache)
            rung.run(watch, problem)
            taken.append(1000 * watch.seconds())
        ms = timed(path, problem)[0]
        add(path, "the kernels alone, no copies", ms, median(taken[1:]), rung.task.default_n)

    print_table("rungs, and the same with one thing changed", rows)
    return rows


if __name__ == "__main__":
    main()
