"""How kernels on a GPU are timed: with a cold cache, and without the time of the host.

A launch from Python takes the host 30 to 100 us, longer than many kernels run. Events around a
launch would then measure Python. So the GPU is first given something else to do, for as long as
the host needs to launch what is to be timed: it writes memory much larger than its second-level
cache, and so leaves nothing of use in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

if TYPE_CHECKING:
    from warpladder.device.base import Device, Event, Grid

__all__ = ["ColdCache", "CopyWatch", "Stopwatch", "event_times_ms", "overwrite"]

# Eight times the largest second-level cache there is, 126 MiB of a B200.
_FLUSH_BYTES = 1 << 30
_THREADS = 1024
#: Launches between two events: far fewer than the 1024 for which the driver lets the host go ahead.
_SPAN = 64
#: With an H200, plain launches took 46 us and cooperative ones 101.
_HOST_SECONDS_PER_LAUNCH = 1e-4


@cuda.jit
def overwrite(memory: Any, value: int) -> None:
    """Write the same number everywhere."""
    for i in range(cuda.grid(1), memory.size, cuda.gridsize(1)):
        memory[i] = value


def event_times_ms(
    device: Device,
    work: Callable[[], object],
    repetitions: int = 5,
    *,
    before: Callable[[], object] = lambda: None,
    stream: Any = None,
) -> list[float]:
    """Return how long what ``work`` puts on the GPU takes, by events; one run does not count.

    ``before`` is called before each run, and its work waited for by what follows on the GPU.
    """
    taken = []
    for _ in range(repetitions + 1):
        device.synchronize()
        before()
        start, end = device.event(), device.event()
        start.record(stream)
        work()
        end.record(stream)
        end.synchronize()
        taken.append(start.elapsed_ms(end))
    return taken[1:]


class ColdCache:
    """Empties the second-level cache of a GPU, and keeps the GPU busy with that.

    Parameters
    ----------
    device
        The GPU. Takes 1 GiB of its memory, or an eighth of what is free where that is less.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        size = min(_FLUSH_BYTES, device.free_bytes() // 8)
        self._memory = device.empty(size // 4, np.int32)
        self._blocks = 2 * device.properties.multiprocessors
        self._seconds_each = median(event_times_ms(device, self.flush)) / 1e3

    def flush(self, times: int = 1) -> None:
        """Write all of a buffer much larger than the cache; 0.25 ms each time on an H200."""
        for value in range(times):
            self._device.launch(overwrite, self._blocks, _THREADS, self._memory, value)

    def keep_busy(self, seconds: float) -> None:
        """Have the GPU at work for at least so long, and its cache empty after that."""
        self.flush(max(1, math.ceil(seconds / self._seconds_each)))


class Stopwatch:
    """Hands everything on to a GPU, and takes the time of the kernels that are launched.

    Kernels with no copy between them are timed together, up to 64 at a time, from an event before
    the first to one behind the last; so what passes on the GPU from one kernel to the next counts.
    The cache is cold where such a span begins, and the host is ahead of the GPU.

    Parameters
    ----------
    device
        The GPU.
    cache
        Of that GPU.
    """

    def __init__(self, device: Device, cache: ColdCache) -> None:
        self._device = device
        self._cache = cache
        self._spans: list[tuple[Event, Event]] = []
        self._launched = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(self, kernel: Any, grid: Grid, block: Grid, *args: Any, **options: Any) -> None:
        """Start a kernel."""
        if not self._launched:
            self._cache.keep_busy(_SPAN * _HOST_SECONDS_PER_LAUNCH)
            self._spans.append((self._device.event(), self._device.event()))
            # On no stream: an event there waits for all streams, and all wait for it.
            self._spans[-1][0].record()
        self._device.launch(kernel, grid, block, *args, **options)
        self._launched += 1
        if self._launched == _SPAN:
            self._end_span()

    def to_device(self, *args: Any, **options: Any) -> Any:
        """Return a copy on the device."""
        self._end_span()
        return self._device.to_device(*args, **options)

    def to_host(self, *args: Any, **options: Any) -> Any:
        """Return a copy on the host."""
        self._end_span()
        return self._device.to_host(*args, **options)

    def full(self, *args: Any) -> Any:
        """Return a filled array on the device; to fill it does not count."""
        self._end_span()
        return self._device.full(*args)

    def synchronize(self) -> None:
        """Wait until everything on the device is done."""
        self._end_span()
        self._device.synchronize()

    def seconds(self) -> float:
        """Wait, and return the time of all kernels so far."""
        self.synchronize()
        return sum(start.elapsed_ms(end) for start, end in self._spans) / 1e3

    def _end_span(self) -> None:
        if self._launched:
            self._spans[-1][1].record()
        self._launched = 0


class CopyWatch:
    """Hands everything on to a GPU, and takes the time from the first copy to the last.

    For what is about copies: they count, and so do kernels as far as no copy hides them, but not
    the memory that is allocated and filled on the host before, nor what is given back after, which
    takes longer than the copies where it was page-locked. No cache is cold or warm to them.

    Parameters
    ----------
    device
        The GPU.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._begun: Event | None = None
        self._ends: list[Event] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def to_device(self, *args: Any, **options: Any) -> Any:
        """Return a copy on the device."""
        if self._begun is None:
            self._begun = self._device.event()
            self._begun.record()
        return self._device.to_device(*args, **options)

    def to_host(self, *args: Any, stream: Any = None, **options: Any) -> Any:
        """Return a copy on the host."""
        host = self._device.to_host(*args, stream=stream, **options)
        # On the same stream, so that no other waits for it.
        self._ends.append(self._device.event())
        self._ends[-1].record(stream)
        return host

    def seconds(self) -> float:
        """Wait, and return the time from the first copy to the device to the last one back."""
        self._device.synchronize()
        if self._begun is None:
            return 0.0
        return max((self._begun.elapsed_ms(end) for end in self._ends), default=0.0) / 1e3
