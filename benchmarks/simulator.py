"""Time the simulator on kernels as they come, beside the simulator that numba-cuda ships.

Numba's own simulator runs a Python thread per CUDA thread and is chosen by an environment variable
before Numba is imported, so it runs in a process of its own; it is given one round, which is long.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
from numba import cuda, float32

from warpladder.simulator import simulate

sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120 - a script beside its helpers

from report import Target, interleave, print_table, print_targets, quantiles, write_results

VERTICES, TILE, ROUNDS = 64, 16, 7
ELEMENTS, BLOCK = 1 << 20, 256

_NUMBAS_OWN = f"""
import time
import numpy as np
from numba import cuda

@cuda.jit
def relax(distances, k):
    i, j = cuda.grid(2)
    n = distances.shape[0]
    if i < n and j < n:
        through = distances[i, k] + distances[k, j]
        if through < distances[i, j]:
            distances[i, j] = through

distances = np.random.default_rng(1).integers(1, 100, ({VERTICES}, {VERTICES})).astype(np.int32)
began = time.perf_counter()
for k in range({VERTICES}):
    relax[({VERTICES // TILE}, {VERTICES // TILE}), ({TILE}, {TILE})](distances, k)
print(time.perf_counter() - began, int(distances.sum()))
"""


@cuda.jit
def relax(distances, k):  # type: ignore[no-untyped-def]
    """Shorten paths through vertex ``k``."""
    i, j = cuda.grid(2)
    n = distances.shape[0]
    if i < n and j < n:
        through = distances[i, k] + distances[k, j]
        # `min` would store always; the sources' kernels store what is shorter.
        if through < distances[i, j]:  # noqa: PLR1730
            distances[i, j] = through


@cuda.jit
def reduce_blocks(values, sums):  # type: ignore[no-untyped-def]
    """Sum the elements of each block in shared memory."""
    shared = cuda.shared.array(BLOCK, float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[thread] = values[i] if i < values.size else 0
    cuda.syncthreads()
    width = cuda.blockDim.x // 2
    while width > 0:
        if thread < width:
            shared[thread] += shared[thread + width]
        cuda.syncthreads()
        width //= 2
    if thread == 0:
        sums[cuda.blockIdx.x] = shared[0]


def _floyd_warshall(**options: Any) -> np.ndarray[Any, Any]:
    kernel = simulate(relax, **options)
    distances = np.random.default_rng(1).integers(1, 100, (VERTICES, VERTICES)).astype(np.int32)
    side = VERTICES // TILE
    for k in range(VERTICES):
        kernel[(side, side), (TILE, TILE)](distances, k)
    return distances


def _reduction(**options: Any) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(1).random(ELEMENTS, dtype=np.float32)
    sums = np.zeros(ELEMENTS // BLOCK, dtype=np.float32)
    simulate(reduce_blocks, **options)[len(sums), BLOCK](values, sums)
    np.testing.assert_allclose(sums, values.reshape(-1, BLOCK).sum(axis=1), rtol=1e-5)
    return sums


def _numbas_own() -> tuple[float, int]:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    answer = subprocess.run(  # noqa: S603 - the script above
        [sys.executable, "-c", _NUMBAS_OWN],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return float(answer[0]), int(answer[1])


def main() -> None:
    """Check, time, print and write."""
    everything: dict[str, Any] = {"checks": True, "counters": True}
    tasks = {
        "Floyd-Warshall, 64 vertices": _floyd_warshall,
        "the same, all checks and counters": lambda: _floyd_warshall(**everything),
        "block reduction, 2^20 elements": _reduction,
        "the same reduction, all checks and counters": lambda: _reduction(**everything),
    }
    for task in tasks.values():
        task()
    seconds = {name: quantiles(times) for name, times in interleave(tasks, ROUNDS).items()}
    own, total = _numbas_own()
    if total != int(_floyd_warshall().sum()):
        sys.exit("Numba's simulator and ours disagree")
    print_table(
        "the simulator, in seconds",
        [
            {"case": name, **{key: float(value) for key, value in found.items()}}
            for name, found in seconds.items()
        ]
        + [{"case": "numba-cuda's own, Floyd-Warshall", "min": own, "median": own, "max": own}],
    )
    limits = (0.5, 3.0, 5.0)
    targets = [
        Target(name, seconds[name]["median"], limit, at_most=True)
        for name, limit in zip(tasks, limits, strict=False)
    ]
    print_targets(targets)
    write_results(
        "simulator", {"seconds": seconds, "numba_simulator_seconds": own, "targets": targets}
    )


if __name__ == "__main__":
    main()
