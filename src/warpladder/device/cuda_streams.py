"""Streams and events of a `CudaDevice`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from warpladder.device.cuda_faults import named
from warpladder.errors import InputTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CudaEvent", "CudaStream", "core_stream", "handle_of", "stream_at"]


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
        return stream_at(handle_of(stream))
    return stream


def handle_of(stream: Any) -> int:
    """Return the driver's handle of a stream of any library, or of one given as that.

    Raises
    ------
    InputTypeError
        It is no stream.
    """
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr", "handle"):
        # Streams of PyTorch and CuPy before they had the above, and of Numba.
        if isinstance(handle := getattr(stream, attribute, None), int):
            return handle
    raise InputTypeError(f"stream: a stream of CUDA is needed, not {type(stream).__name__}")


def stream_at(handle: int) -> Any:
    """Return the stream of cuda.core for one of the driver's; 0 is the default stream."""
    if not handle:
        return _default()
    from cuda.core import Stream

    return Stream.from_handle(handle)


@cache
def _default() -> Any:
    # To import it takes a quarter of the time of a launch.
    from cuda.core import LEGACY_DEFAULT_STREAM

    return LEGACY_DEFAULT_STREAM
