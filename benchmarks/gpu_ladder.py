"""Time the shortest-paths ladder on a GPU: kernels alone, by events around each launch.

    PYTHONPATH=src python benchmarks/gpu_ladder.py --out DIR [--sizes 2048 8192]

Each rung is verified first, at sizes around its tile; afterwards all rungs of a dtype must give the
same bits at the size that is timed. The least of three warm runs is shown, all of them are written.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.registry import find_ladder
from warpladder.lab.rung import Rung
from warpladder.lab.verify import verify

VERIFIED_AT = (1, 33, 97, 128, 130, 256, 385)
REPETITIONS = 3
#: Beyond this size only rungs that reach a tenth of the best are worth the wait.
LARGE = 4096
FAST = ("blocked-shared", "register-tiles", "register-tiles-float32", "register-tiles-float64")


def main() -> None:
    """Verify, time, print and write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--sizes", type=int, nargs="+", default=[2048, 8192])
    given = options.parse_args()
    device = CudaDevice(time_kernels=True)
    rungs = [rung for rung in find_ladder("shortest-paths").rungs if rung.on == "device"]
    rows: list[dict[str, Any]] = []
    for n in given.sizes:
        chosen = [
            rung
            for rung in rungs
            if (rung.max_n is None or rung.max_n >= n) and (n <= LARGE or rung.name in FAST)
        ]
        rows += _climb(device, chosen, n)
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": device.properties.name,
        "what": "kernel milliseconds by events, first run left out",
        "rows": rows,
    }
    given.out.mkdir(parents=True, exist_ok=True)
    name = device.properties.name.lower().replace(" ", "-")
    (given.out / f"shortest_paths_ladder-{name}.json").write_text(
        json.dumps(document, indent=1) + "\n"
    )


def _climb(device: CudaDevice, rungs: list[Rung], n: int) -> list[dict[str, Any]]:
    answers: dict[str, np.ndarray[Any, Any]] = {}
    problems: dict[str, Any] = {}
    rows = []
    for rung in rungs:
        limit = rung.max_n or max(VERIFIED_AT)
        faults = [
            verdict.fault
            for verdict in verify(rung, device, [size for size in VERIFIED_AT if size <= limit])
            if verdict.fault
        ]
        if rung.task.name not in problems:
            problems[rung.task.name] = rung.task.make(n, 0)
        problem = problems[rung.task.name]
        milliseconds, seconds = [], []
        for _ in range(REPETITIONS + 1):
            device.reset_kernel_ms()
            began = perf_counter()
            answer = rung.run(device, problem)
            device.synchronize()
            seconds.append(perf_counter() - began)
            milliseconds.append(device.kernel_ms)
        matrix = answer[0] if isinstance(answer, tuple) else answer
        first = answers.setdefault(matrix.dtype.str, matrix)
        best = min(milliseconds[1:])
        rows.append(
            {
                "rung": rung.name,
                "n": n,
                "dtype": matrix.dtype.name,
                "kernel_ms": [round(value, 4) for value in milliseconds[1:]],
                "end_to_end_ms": [round(1000 * value, 2) for value in seconds[1:]],
                "relaxations_per_second": round(n**3 / best * 1000),
                "same_as_first_of_dtype": bool(np.array_equal(first, matrix)),
                "faults": faults,
            }
        )
        rate = n**3 / best / 1e9
        print(f"{rung.name:24} n = {n:6,} {best:10.3f} ms {rate:7.3f} T relaxations/s", flush=True)
    return rows


if __name__ == "__main__":
    main()
