"""The contenders for a sum of int32 on a GPU, and how they are timed: by NVIDIA's cuda-bench.

Each is prepared: what it needs is compiled and allocated, and a call puts its kernels on the GPU,
nothing else. cuda-bench empties the second-level cache before each run, holds the GPU back until
the host has launched everything, and repeats until the figures settle.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

# CuPy sums by CUB where it is told to, before it is imported.
os.environ.setdefault("CUPY_ACCELERATORS", "cub")

import numpy as np

from warpladder.device.cuda_device import CudaDevice
from warpladder.device.grids import blocks_for
from warpladder.reduction.rungs import one_word_finish, tuned
from warpladder.reduction.rungs._combining import add

__all__ = ["Contender", "cold_us", "contenders"]

_SECONDS_EACH, _LEAST_SAMPLES = 0.05, 20


class Contender(NamedTuple):
    """A sum that is ready to run: what puts it on the GPU, and what reads its result."""

    work: Callable[[], object]
    result: Callable[[], Any]


def contenders(device: CudaDevice, data: Any, stream: Any) -> dict[str, Contender]:
    """Return the sums that can be had here, each of ``data`` and on that stream."""
    found = {
        "one-word-finish": _one_word(device, data, stream),
        "tuned": _tuned(device, data, stream),
    }
    try:
        found |= _of_cub(device, data, stream)
    except ImportError as fault:
        print(f"CUB is left out: {fault}; pip install 'warpladder[cccl]'")
    try:
        found["CuPy"] = _of_cupy(data, stream)
    except ImportError as fault:
        print(f"CuPy is left out: {fault}")
    return found


def _tuned(device: CudaDevice, data: Any, stream: Any) -> Contender:
    threads, zero = tuned.THREADS, np.int32(0)
    most = tuned.BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors
    blocks = min(blocks_for(data.size, 16 * threads), most)
    partial, result = device.empty(blocks, np.int32), device.empty(1, np.int32)
    tickets, kernel = device.full(1, 0, np.int32), tuned.kernel_for(add, threads, 4)
    arguments = (data, partial, tickets, result, zero)
    return Contender(
        lambda: device.launch(kernel, blocks, threads, *arguments, stream=stream),
        lambda: device.to_host(result)[0],
    )


def _one_word(device: CudaDevice, data: Any, stream: Any) -> Contender:
    threads, zero = one_word_finish.THREADS, np.int32(0)
    most = one_word_finish.BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors
    blocks = min(blocks_for(data.size, 16 * threads), most)
    word, result = device.full(1, 0, np.int64), device.empty(1, np.int32)
    kernel = one_word_finish.kernel_for(threads, 4)
    return Contender(
        lambda: device.launch(kernel, blocks, threads, data, word, result, zero, stream=stream),
        lambda: device.to_host(result)[0],
    )


def _of_cub(device: CudaDevice, data: Any, stream: Any) -> dict[str, Contender]:
    """Return CUB's sums: with its additions in a fixed order, its default, and in any order."""
    from cuda import compute

    out, here = device.empty(1, np.int32), stream
    given: dict[str, Any] = {
        "d_in": data, "d_out": out, "op": compute.OpKind.PLUS, "h_init": np.zeros(1, np.int32),
    }  # fmt: skip

    def contender(order: Any) -> Contender:
        call = compute.make_reduce_into(**given, determinism=order)
        needed = call(temp_storage=None, num_items=data.size, **given)
        memory = device.empty(max(needed, 1), np.uint8)
        return Contender(
            lambda: call(temp_storage=memory, num_items=data.size, stream=here, **given),
            lambda: device.to_host(out)[0],
        )

    orders = compute.Determinism
    return {"CUB": contender(orders.RUN_TO_RUN), "CUB, any order": contender(orders.NOT_GUARANTEED)}


def _of_cupy(data: Any, stream: Any) -> Contender:
    import cupy

    values, out = cupy.asarray(data), cupy.empty((), np.int32)
    there = cupy.cuda.ExternalStream(stream.__cuda_stream__()[1])

    def work() -> None:
        with there:
            values.sum(dtype=np.int32, out=out)

    return Contender(work, lambda: out.get()[()])


def cold_us(works: Mapping[str, Callable[[], object]], stream: Any) -> dict[str, dict[str, float]]:
    """Return the median, the least and the number of times in microseconds; once a process.

    Parameters
    ----------
    works
        By name; each puts its kernels on ``stream``.
    stream
        Of a `CudaDevice`.

    Raises
    ------
    ImportError
        cuda-bench is not installed.
    """
    import cuda.bench as cuda_bench

    def run(state: Any) -> None:
        state.set_stream(stream)
        work = works[state.get_string("case")]
        state.exec(lambda _: work(), batched=False)

    cuda_bench.register(run).add_string_axis("case", list(works))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "times.json"
        options = ["--min-time", str(_SECONDS_EACH), "--min-samples", str(_LEAST_SAMPLES)]
        cuda_bench.run_all_benchmarks([sys.argv[0], "--quiet", "--json", str(path), *options])
        states = json.loads(path.read_text())["benchmarks"][0]["states"]
    return {
        state["axis_values"][0]["value"]: {
            "us": 1e6 * _summary(state, "nv/cold/time/gpu/median"),
            "least_us": 1e6 * _summary(state, "nv/cold/time/gpu/min"),
            "samples": _summary(state, "nv/cold/sample_size"),
        }
        for state in states
    }


def _summary(state: Any, tag: str) -> float:
    (found,) = (summary for summary in state["summaries"] if summary["tag"] == tag)
    return float(found["data"][0]["value"])
