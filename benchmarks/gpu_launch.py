"""Check and time what a launch costs the host, beside Numba, cuda.core, CuPy and PyTorch.

    python benchmarks/gpu_launch.py --out DIR

Microseconds of the host from one launch of a small kernel to the next, with the GPU far from busy:
the median of rounds that take turns, so that all have the same machine.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from cuda import core
from numba import cuda

from gpu_timing import described, write_record
from report import Target, interleave, print_table, print_targets, quantiles
from warpladder.device.compiler import compile_kernel, kinds_and_words
from warpladder.device.cuda_device import CudaDevice

_N, _THREADS = 1000, 256
_ROUNDS, _LAUNCHES = 15, 1000
_AT_MOST_US = 8.0


@cuda.jit
def add(a: Any, b: Any, out: Any, n: int) -> None:
    """Add two vectors: a kernel of three arrays and a number, 22 machine words."""
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]


def main() -> None:
    """Check, time, print and write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    device = CudaDevice()
    taken = interleave(_ways(device), _ROUNDS)
    rows = [{"case": name, **quantiles(taken[name])} for name in taken]
    print_table("microseconds for a launch of a kernel with three arrays", rows)
    ours = statistics.median(taken["Device.launch"])
    targets = [Target("Device.launch of a small kernel, us", ours, _AT_MOST_US, at_most=True)]
    print_targets(targets)
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": described(),
        "gpu": device.properties.name,
        "launches": rows,
        "targets": targets,
    }
    write_record(given.out, "gpu_launch", document)


def _ways(device: CudaDevice) -> dict[str, Callable[[], float]]:
    """Return the ways to launch, each of which times itself; ours have been checked once."""
    values = np.arange(_N, dtype=np.float32)
    a, b = device.to_device(values), device.full(_N, 2, np.float32)
    out = device.full(_N, 0, np.float32)
    blocks = -(-_N // _THREADS)
    given = a, b, out, _N
    theirs = [cuda.as_cuda_array(array) for array in (a, b, out)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dispatched = add[blocks, _THREADS]
    compiled = compile_kernel(add, given)
    kernel = compiled.code.get_kernel(compiled.entry)
    config = core.LaunchConfig(grid=blocks, block=_THREADS)
    _, words = kinds_and_words(given) or ((), [])
    found: dict[str, Callable[[], object]] = {
        "Device.launch": lambda: device.launch(add, blocks, _THREADS, *given),
        "cuda.core alone": lambda: core.launch(core.LEGACY_DEFAULT_STREAM, config, kernel, *words),
        "numba.cuda": lambda: dispatched(*theirs, _N),
    }
    for launch in found.values():
        device.to_device(np.zeros(_N, np.float32), out=out)
        launch()
        np.testing.assert_array_equal(device.to_host(out), values + 2)
    for library in (_cupy, _torch):
        try:
            found |= library()
        except ImportError as fault:
            print(f"left out: {fault}")
    return {name: partial(_microseconds, device, launch) for name, launch in found.items()}


def _cupy() -> dict[str, Callable[[], object]]:
    import cupy

    a, b, out = (cupy.ones(_N, cupy.float32) for _ in range(3))
    return {"CuPy, add": lambda: cupy.add(a, b, out=out)}


def _torch() -> dict[str, Callable[[], object]]:
    import torch

    a, b, out = (torch.ones(_N, device="cuda") for _ in range(3))
    return {"PyTorch, add": lambda: torch.add(a, b, out=out)}


def _microseconds(device: CudaDevice, launch: Callable[[], object]) -> float:
    """Return the host's time for one of many launches."""
    launch()
    device.synchronize()
    began = perf_counter()
    for _ in range(_LAUNCHES):
        launch()
    taken = (perf_counter() - began) / _LAUNCHES * 1e6
    device.synchronize()
    return taken


if __name__ == "__main__":
    main()
