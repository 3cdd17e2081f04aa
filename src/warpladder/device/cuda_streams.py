"""Streams and events of a `CudaDevice`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from warpladder.device.cuda_faults import named

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CudaEvent", "CudaStream", "core_stream"]


class CudaStream:
    """A queue of work on a `CudaDevice`; made by `CudaDevice.stream`.

    Attributes
    ----------
    core
        The stream of cuda.core.
    """

    def __init__(self, core: Any, enter: Callable[[], None]) -> None:
        self.core = core
        self._enter = enter

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the stream for other libraries: the protocol's version, the driver's handle."""
        version, handle = self.core.__cuda_stream__()
        return version, int(handle)

    def synchronize(self) -> None:
        """Wait until everything on this stream is done."""
        self._enter()
        with named("waiting for a stream"):
            self.core.sync()

    def wait(self, event: Any) -> None:
        """Hold back what is put on this stream from now on until ``event`` is reached."""
        self._enter()
        with named("making a stream wait"):
            self.core.wait(event.core)


class CudaEvent:
    """A mark in a stream of a `CudaDevice`; made by `CudaDevice.event`.

    Attributes
    ----------
    core
        The event of cuda.core.
    """

    def __init__(self, core: Any, enter: Callable[[], None]) -> None:
        self.core = core
        self._enter = enter

    def record(self, stream: Any = None) -> None:
        """Place the mark behind everything that is on ``stream`` by now."""
        self._enter()
        with named("recording an event"):
            core_stream(stream).record(self.core)

    def synchronize(self) -> None:
        """Wait until the mark is reached."""
        self._enter()
        with named("waiting for an event"):
            self.core.sync()

    def elapsed_ms(self, later: Any) -> float:
        """Return the milliseconds from this mark to a ``later`` one, both of them reached."""
        self._enter()
        with named("reading the time between two events"):
            return float(later.core - self.core)


def core_stream(stream: Any) -> Any:
    """Return the stream of cuda.core for one of ours, of another library, or of nobody."""
    if isinstance(stream, CudaStream):
        return stream.core
    if stream is None:
        return _default()
    if hasattr(stream, "__cuda_stream__"):
        from cuda.core import Stream

        return Stream.from_handle(int(stream.__cuda_stream__()[1]))
    return stream


@cache
def _default() -> Any:
    # To import it takes a quarter of the time of a launch.
    from cuda.core import LEGACY_DEFAULT_STREAM

    return LEGACY_DEFAULT_STREAM
