"""Streams and events of a `CudaDevice`."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from warpladder.device.cuda_faults import named

if TYPE_CHECKING:
    from warpladder.device.cuda_device import CudaDevice

__all__ = ["CudaEvent", "CudaStream", "numba_stream"]


class CudaStream:
    """A queue of work on a `CudaDevice`; made by `CudaDevice.stream`."""

    def __init__(self, device: CudaDevice, *, urgent: bool = False) -> None:
        self._device = device
        with device._current(), named("making a stream"):
            self._stream = _urgent_stream(device._cuda) if urgent else device._cuda.stream()

    def synchronize(self) -> None:
        """Wait until everything on this stream is done."""
        with self._device._current(), named("waiting for a stream"):
            self._stream.synchronize()

    def wait(self, event: Any) -> None:
        """Hold back what is put on this stream from now on until ``event`` is reached."""
        with self._device._current(), named("making a stream wait"):
            event._event.wait(self._stream)


class CudaEvent:
    """A mark in a stream of a `CudaDevice`; made by `CudaDevice.event`."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        with device._current(), named("making an event"):
            self._event = device._cuda.event()

    def record(self, stream: Any = None) -> None:
        """Place the mark behind everything that is on ``stream`` by now."""
        with self._device._current(), named("recording an event"):
            self._event.record(numba_stream(stream))

    def synchronize(self) -> None:
        """Wait until the mark is reached."""
        with self._device._current(), named("waiting for an event"):
            self._event.synchronize()

    def elapsed_ms(self, later: Any) -> float:
        """Return the milliseconds from this mark to a ``later`` one, both of them reached."""
        with self._device._current(), named("reading the time between two events"):
            return float(self._device._cuda.event_elapsed_time(self._event, later._event))


def _urgent_stream(cuda: Any) -> Any:
    """Return a stream of the highest priority, which Numba has no call for."""
    from numba.cuda.cudadrv.driver import binding, driver

    _, highest = driver.cuCtxGetStreamPriorityRange()
    flags = binding.CUstream_flags.CU_STREAM_DEFAULT
    handle = driver.cuStreamCreateWithPriority(flags.value, highest)
    stream = cuda.external_stream(int(handle))
    weakref.finalize(stream, driver.cuStreamDestroy, handle)
    return stream


def numba_stream(stream: Any) -> Any:
    """Return Numba's stream for one of ours, 0 for none; Numba's own pass."""
    if stream is None:
        return 0
    return stream._stream if isinstance(stream, CudaStream) else stream
