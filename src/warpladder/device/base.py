"""What the host code of a rung may ask of a device, whichever device it is.

`CudaDevice` (`warpladder.device.cuda_device`) drives a GPU through cuda.core; `SimulatedDevice`
(`warpladder.simulator`) runs the same kernels with none. Host code written against `Device` runs
on both without a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from warpladder.device.properties import DeviceProperties

__all__ = ["Bound", "Device", "Event", "Grid", "Stream"]

#: Blocks in a grid or threads in a block: one number, or one to three of them.
Grid = int | tuple[int, ...]


class Stream(Protocol):
    """A queue of work: what is put on one stream runs in the order in which it was put."""

    def synchronize(self) -> None:
        """Wait until everything on this stream is done."""

    def wait(self, event: Any) -> None:
        """Hold back what is put on this stream from now on until ``event`` is reached."""


class Event(Protocol):
    """A mark in a stream, from which time can be read."""

    def record(self, stream: Any = None) -> None:
        """Place the mark behind everything that is on ``stream`` by now."""

    def synchronize(self) -> None:
        """Wait until the mark is reached."""

    def elapsed_ms(self, later: Any) -> float:
        """Return the milliseconds from this mark to a ``later`` one, both of them reached."""


class Bound(Protocol):
    """A launch that is made again and again, with other arrays in the same places."""

    def __call__(self, arrays: tuple[Any, ...], stream: Any = 0, waits: bool = False) -> None:
        """Launch the kernel for other arrays; where ``waits``, wait until the stream is done.

        ``arrays`` are those of a simulated device, of a GPU their addresses; the stream is one of
        the driver, as a number, 0 for the default stream.
        """


@runtime_checkable
class Device(Protocol):
    """Memory, kernels, streams and events of one device.

    Arrays that a device hands out are opaque to host code, but for ``shape``, ``dtype``, basic
    slicing, ``view(dtype)`` of those in C order (the same bytes, read as another type), and being
    arguments of kernels that the same device launches.
    """

    properties: DeviceProperties

    def to_device(self, host_array: NDArray[Any], out: Any = None, *, stream: Any = None) -> Any:
        """Return a copy of ``host_array`` on the device; one that is there already passes.

        A copy is made in ``out``, an array of the device, where that is given.
        """

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return an array on the device whose contents are undefined."""

    def full(self, shape: int | tuple[int, ...], value: Any, dtype: DTypeLike) -> Any:
        """Return an array on the device with ``value`` in every place."""

    def pinned(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a page-locked host array: copies to and from it overlap with kernels."""

    def mapped(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> tuple[NDArray[Any], Any]:
        """Return a page-locked host array, and the same memory as an array of the device."""

    def to_host(
        self, device_array: Any, out: NDArray[Any] | None = None, *, stream: Any = None
    ) -> NDArray[Any]:
        """Return the contents of ``device_array`` on the host, in ``out`` where it is given.

        Without a stream the copy is complete on return; with one, when the stream is.
        """

    def launch(
        self,
        kernel: Any,
        grid: Grid,
        block: Grid,
        *args: Any,
        shared_bytes: int = 0,
        stream: Any = None,
        cooperative: bool = False,
    ) -> None:
        """Start ``kernel`` on ``grid`` blocks of ``block`` threads.

        ``shared_bytes`` is the dynamic shared memory of a block. A ``cooperative`` launch promises
        that all blocks are resident together, and is refused where they cannot be.
        """

    def bind(
        self, kernel: Any, grid: Grid, block: Grid, *args: Any, moving: Sequence[int]
    ) -> Bound:
        """Return `launch` for these arguments, to be called for others in place of some arrays.

        Those are the ``moving`` ones, by their numbers among the arrays in ``args``, also in
        tuples there.
        """

    def max_active_blocks(self, kernel: Any, block: Grid, shared_bytes: int = 0) -> int:
        """Return how many blocks of ``kernel`` one multiprocessor holds at a time."""

    def free_bytes(self) -> int:
        """Return how many bytes of the device's memory are free."""

    def stream(self, *, urgent: bool = False) -> Stream:
        """Return a new stream; blocks of an ``urgent`` one go before those of others."""

    def event(self) -> Event:
        """Return a new event."""

    def synchronize(self) -> None:
        """Wait until everything on the device is done."""
