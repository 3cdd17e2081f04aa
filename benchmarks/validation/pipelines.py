"""What overlapping copies with kernels gains on the GPU: the pipelines of the primer, timed."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from validation.common import Entry, Request, Steps, open_gpu
from warpladder.lab.compare import difference
from warpladder.lab.registry import find_rung

__all__ = ["pipeline_steps"]

_PIPELINES = ("pipeline-serial", "pipeline-two-way", "pipeline-three-way")
_ROUNDS = 7


class _Keeping:
    """A device that hands out the same memory in every run, and knows when the first copy began.

    What is left to time is copies and kernels: page-locked memory takes longer to get than to fill.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        self._kept: list[Any] = []
        self._next = 0
        self.began: float | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def start(self) -> None:
        """Begin another run with the memory of the last one."""
        self._next, self.began = 0, None

    def _keep(self, make: Callable[[], Any]) -> Any:
        if self._next == len(self._kept):
            self._kept.append(make())
        self._next += 1
        return self._kept[self._next - 1]

    def pinned(self, shape: Any, dtype: Any) -> Any:
        """Return page-locked memory of this place in the run."""
        return self._keep(lambda: self._device.pinned(shape, dtype))

    def empty(self, shape: Any, dtype: Any) -> Any:
        """Return device memory of this place in the run."""
        return self._keep(lambda: self._device.empty(shape, dtype))

    def to_device(self, host_array: Any, *, stream: Any = None) -> Any:
        """Copy to device memory of this place in the run."""
        array = self.empty(host_array.shape, host_array.dtype)
        self.began = perf_counter() if self.began is None else self.began
        self._device.to_device(host_array, out=array, stream=stream)
        return array


def pipeline_steps(request: Request) -> Steps:
    """Time each engine alone, then the pipelines, whose results are compared."""
    gpu = open_gpu(request)
    task = find_rung(f"primer/{_PIPELINES[0]}")[1].task
    problem = task.make(1 << 12 if request.dry else task.default_n, 0)
    yield "copies and kernel alone", partial(_time_alone, gpu, problem)
    results: list[Any] = []
    for name in _PIPELINES:
        yield name, partial(_time_pipeline, name, gpu, problem, results)


def _time_alone(gpu: Any, problem: Any) -> Entry:
    """Time each engine by itself: upload, download, both at once, kernel."""
    n = problem.words.size
    up, down = gpu.pinned(n, np.uint32), gpu.pinned(n, np.uint32)
    up[:] = problem.words
    first, second = gpu.to_device(up), gpu.to_device(up)
    one, other = gpu.stream(), gpu.stream()
    kernel = find_rung("primer/pipeline-serial")[1].kernels[0]

    def both() -> None:
        gpu.to_device(up, out=first, stream=one)
        gpu.to_host(second, down, stream=other)

    actions: dict[str, Callable[[], object]] = {
        "upload": lambda: gpu.to_device(up, out=first, stream=one),
        "download": lambda: gpu.to_host(second, down, stream=other),
        "upload_and_download": both,
        "kernel": lambda: gpu.launch(kernel, -(-n // 256), 256, first, n, stream=one),
    }
    answer: Entry = {"n": n, "bytes_each_way": 4 * n}
    for name, action in actions.items():
        action()
        gpu.synchronize()
        seconds = []
        for _ in range(_ROUNDS):
            began = perf_counter()
            action()
            gpu.synchronize()
            seconds.append(perf_counter() - began)
        answer[f"{name}_ms"] = _milliseconds(statistics.median(seconds))
    for name in ("upload", "download"):
        answer[f"{name}_GB_per_s"] = round(4 * n / answer[f"{name}_ms"] / 1e6, 2)
    return answer


def _milliseconds(seconds: float) -> float:
    return round(1e3 * seconds, 3)


def _time_pipeline(name: str, gpu: Any, problem: Any, results: list[Any]) -> Entry:
    rung = find_rung(f"primer/{name}")[1]
    whole, spans = [], []
    for _ in range(_ROUNDS):
        began = perf_counter()
        result = rung.run(gpu, problem)
        gpu.synchronize()
        whole.append(perf_counter() - began)
    # The oracle goes by words, so that a sample of them is enough of a sample.
    sample = slice(None, None, max(1, problem.words.size // 100_000))
    expected = rung.task.oracle(type(problem)(problem.words[sample]))
    faults = {"oracle, sampled": difference(expected, np.ascontiguousarray(result[sample]))}
    results.append(result.copy())
    faults["the first pipeline"] = difference(results[0], result)
    keeping = _Keeping(gpu)
    for _ in range(_ROUNDS + 1):
        keeping.start()
        result = rung.run(keeping, problem)
        gpu.synchronize()
        ended = perf_counter()
        spans.append(ended - (keeping.began or ended))
    faults["the run before, with kept memory"] = difference(results[-1], result)
    return {
        "n": problem.words.size,
        "end_to_end_ms": list(map(_milliseconds, whole)),
        "end_to_end_median_ms": _milliseconds(statistics.median(whole)),
        "copies_and_kernels_ms": list(map(_milliseconds, spans[1:])),
        "copies_and_kernels_median_ms": _milliseconds(statistics.median(spans[1:])),
        "differences": [
            {"on": f"gpu, expected from {source}", "fault": fault}
            for source, fault in faults.items()
            if fault
        ],
    }
