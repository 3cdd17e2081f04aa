"""How long a rung takes: its kernels, and the whole call with all copies."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from warpladder.lab.devices import Simulated
from warpladder.lab.verify import run

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.lab.gpu_timing import ColdCache
    from warpladder.rung import Rung

__all__ = ["Timing", "cold_cache", "time_rung"]

_SECONDS = 0.3
_REPETITIONS, _MOST_REPETITIONS = 5, 100
# A rung of seconds is not sped up by the mood of the machine; three runs show whether it was.
_SLOW_SECONDS = 1.0
_SLOW_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a rung on one problem, every one of them.

    Attributes
    ----------
    totals
        Seconds of whole calls, on the wall clock.
    kernels
        Seconds of the kernels of other calls, taken on the GPU with a cold cache; of copies and
        kernels together for a rung that the bus bounds; none without a GPU.
    """

    totals: tuple[float, ...]
    kernels: tuple[float, ...] = ()

    @property
    def total_seconds(self) -> float:
        """The median of whole calls."""
        return median(self.totals)

    @property
    def kernel_seconds(self) -> float | None:
        """The median of kernels, None where none were timed."""
        return median(self.kernels) if self.kernels else None

    @property
    def seconds(self) -> float:
        """The time of the computation itself: of its kernels, or of the call on a CPU."""
        return self.total_seconds if self.kernel_seconds is None else self.kernel_seconds


def cold_cache(device: Device | None) -> ColdCache | None:
    """Return what kernels on this device are timed with; None where none can be timed."""
    if device is None or isinstance(device, Simulated):
        return None
    from warpladder.lab.gpu_timing import ColdCache

    return ColdCache(device)


def time_rung(
    rung: Rung, device: Device | None, cache: ColdCache | None, problem: Any
) -> tuple[Timing, Any]:
    """Time a rung that has run before, so that nothing is left to compile.

    At least five runs and 0.3 seconds, or 100 runs; or three runs where these took a second.

    Parameters
    ----------
    rung, device
        The rung, and where it runs.
    cache
        Of a GPU; without it kernels are not timed.
    problem
        What it solves.

    Returns
    -------
    timing, result
        The result is that of the last run.
    """
    totals: list[float] = []
    kernels: list[float] = []
    result: Any = None
    on_gpu = None if rung.on == "cpu" else device
    while not _enough(totals):
        _clear(on_gpu)
        began = perf_counter()
        result = run(rung, device, problem)
        if on_gpu is not None:
            on_gpu.synchronize()
        totals.append(perf_counter() - began)
    # Apart from the others: the host would be in their way, and they in the host's.
    if cache is not None and on_gpu is not None and rung.on == "device":
        for _ in totals[:_REPETITIONS]:
            _clear(on_gpu)
            watch = _watch(rung, on_gpu, cache)
            result = run(rung, watch, problem)
            kernels.append(watch.seconds())
    return Timing(tuple(totals), tuple(kernels)), result


def _clear(device: Device | None) -> None:
    """Have all memory given back that died before: to do so waits for the GPU."""
    if device is not None:
        device.free_bytes()


def _watch(rung: Rung, device: Device, cache: ColdCache) -> Any:
    from warpladder.lab.gpu_timing import CopyWatch, Stopwatch

    return CopyWatch(device) if rung.task.ceiling == "pcie" else Stopwatch(device, cache)


def _enough(taken: list[float]) -> bool:
    if len(taken) < _REPETITIONS:
        return len(taken) >= _SLOW_REPETITIONS and sum(taken) >= _SLOW_SECONDS
    return len(taken) >= _MOST_REPETITIONS or sum(taken) >= _SECONDS
