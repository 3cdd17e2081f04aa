"""Ways between the host and a device, through page-locked memory.

Copies from ordinary memory run at a fraction of the bus, because the driver has to copy them into
page-locked memory first, and the host waits for it. Here the host does that itself, with several
threads: while one piece is on the bus, the next is being prepared in another buffer.

Locking memory takes longer than copying it, so what a call has locked is `Kept` for the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from warpladder.device.crew import share
from warpladder.device.environment import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device, Event

__all__ = ["Kept", "Lane", "PinnedBuffer", "lane"]

_BAND_BYTES = 16 << 20
_BUFFERS = 2
# More do not copy faster: four read and write as fast as the memory of a socket can.
_MOST_THREADS = 4

#: Of a matrix: the band of page-locked rows, and the number of its first row.
Fill = Callable[["NDArray[Any]", int], None]

T = TypeVar("T")


class Kept(Generic[T]):
    """Things that are dear to make for a device, kept for the next call that needs one there.

    They are kept with the device, and go when it goes: arrays and streams know it, so that anybody
    else who kept them would keep it, too.
    """

    def __init__(self, make: Callable[[Device], T]) -> None:
        self._make = make

    @contextmanager
    def lent(self, device: Device) -> Iterator[T]:
        """Lend one to one call; after a fault, which may have left it in any state, it is gone."""
        free: list[T] = vars(device).setdefault("_kept", {}).setdefault(self, [])
        try:
            # Two threads may be at work on one device: each takes its own.
            thing = free.pop()
        except IndexError:
            thing = self._make(device)
        yield thing
        free.append(thing)


class PinnedBuffer:
    """Page-locked memory of the host that grows as it is asked for."""

    def __init__(self, device: Device, least: int) -> None:
        self._memory = device.pinned(least, np.uint8)

    def array(self, device: Device, shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return the first bytes as an array; ends the use of the one before."""
        sizes = shape if isinstance(shape, tuple) else (shape,)
        size = math.prod(sizes) * np.dtype(dtype).itemsize
        if size > self._memory.size:
            self._memory = device.pinned(1 << (size - 1).bit_length(), np.uint8)
        array: NDArray[Any] = self._memory[:size].view(dtype).reshape(sizes)
        return array


class _Resources:
    """What a lane is made of."""

    def __init__(self, device: Device) -> None:
        self.stream = device.stream()
        # An event is behind the last copy from its buffer or to it.
        self.buffers = [
            (PinnedBuffer(device, _BAND_BYTES), device.event()) for _ in range(_BUFFERS)
        ]


class Lane:
    """A way over the bus for matrices, in bands of rows; made by `lane`.

    Attributes
    ----------
    stream
        On which the copies are.
    """

    def __init__(self, device: Device, resources: _Resources) -> None:
        self.stream = resources.stream
        self._device = device
        self._buffers = resources.buffers
        self._turn = 0

    def send(self, there: Any, prepare: Fill) -> None:
        """Fill a matrix on the device.

        On return all of it has been prepared; the last bands may still be on the bus.

        Parameters
        ----------
        there
            The matrix, contiguous.
        prepare
            Called in several threads for neighbouring rows, which it has to fill.
        """
        for first, last in _bands(there.shape[0], there):
            rows, done = self._next_buffer(there[first:last])
            _in_threads(prepare, rows, first)
            self._device.to_device(rows, out=there[first:last], stream=self.stream)
            done.record(self.stream)

    def fetch(self, there: Any, count: int, take: Fill) -> None:
        """Bring the first ``count`` rows of a matrix from the device, and wait for them.

        Parameters
        ----------
        there
            The matrix, contiguous.
        count
            How many rows.
        take
            Called in several threads with neighbouring rows, which are there until it returns.
        """
        bands = list(_bands(count, there))
        on_the_bus = []
        for turn in range(len(bands) + _BUFFERS - 1):
            if turn < len(bands):
                first, last = bands[turn]
                rows, done = self._next_buffer(there[first:last])
                self._device.to_host(there[first:last], out=rows, stream=self.stream)
                done.record(self.stream)
                on_the_bus.append((rows, done, first))
            if turn >= _BUFFERS - 1:
                rows, done, first = on_the_bus.pop(0)
                done.synchronize()
                _in_threads(take, rows, first)

    def _next_buffer(self, band: Any) -> tuple[NDArray[Any], Event]:
        """Return page-locked memory for this band, once it is free, and the event that says so."""
        buffer, done = self._buffers[self._turn % _BUFFERS]
        self._turn += 1
        done.synchronize()
        return buffer.array(self._device, band.shape, band.dtype), done


_kept = Kept(_Resources)


@contextmanager
def lane(device: Device) -> Iterator[Lane]:
    """Give a way to the device or back, and wait for the device when it is no longer needed."""
    with _kept.lent(device) as resources:
        try:
            yield Lane(device, resources)
        finally:
            # Nobody may write to the buffers, or free them, while they are on the bus.
            device.synchronize()


def _bands(count: int, matrix: Any) -> Iterator[tuple[int, int]]:
    """Cut the first ``count`` rows of a matrix into bands of about as many bytes."""
    height = max(1, _BAND_BYTES // (matrix.shape[1] * np.dtype(matrix.dtype).itemsize))
    for first in range(0, count, height):
        yield first, min(first + height, count)


def _in_threads(task: Fill, rows: NDArray[Any], first: int) -> None:
    workers = min(worker_count(), _MOST_THREADS)
    share(lambda begin, end: task(rows[begin:end], first + begin), len(rows), workers)
