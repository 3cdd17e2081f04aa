"""Matrices from the host to the device and back, in bands of rows through page-locked memory.

Copies from ordinary memory run at a fraction of the bus, because the driver has to copy them into
page-locked memory first, and the host waits for it. Here the host does that itself, in bands and
with several threads: while one band is on the bus, the next is being prepared in another buffer.
Preparing also fills the matrix up to whole tiles, and changes the dtype where the device computes
in another.

Locking memory takes longer than copying it, so the buffers of a device are kept for the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from warpladder.device.environment import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device, Event, Stream

__all__ = ["Lane", "download", "lane", "upload"]

_BAND_BYTES = 16 << 20
_BUFFERS = 2
# More do not copy faster: four read and write as fast as the memory of a socket can.
_MOST_THREADS = 4


def upload(device: Device, host: NDArray[Any], filled: Any, no_path: Any) -> None:
    """Copy a matrix to the device, where it becomes the upper left part of a larger one.

    Parameters
    ----------
    device
        Where to.
    host
        Shape (n, n).
    filled
        On the device, shape (m, m), m >= n; receives the matrix in its dtype. What is added are
        vertices without edges: 0 on the diagonal, ``no_path`` elsewhere.
    no_path
        What stands where there is no edge.
    """
    with lane(device) as way:
        way.send(host, filled, no_path)


def download(device: Device, filled: Any, host: NDArray[Any]) -> None:
    """Copy the upper left part of a matrix on the device into a smaller one on the host.

    Parameters
    ----------
    device
        Where from.
    filled
        Shape (m, m).
    host
        Shape (n, n), n <= m; receives it in its dtype.
    """
    with lane(device) as way:
        way.fetch(filled, host)


@contextmanager
def lane(device: Device) -> Iterator[Lane]:
    """Give a way to the device or back, and wait for the device when it is no longer needed."""
    kept = _kept.setdefault(device, [])
    try:
        # Two at a time may be in use, or two threads at work on one device: each takes its own.
        stream, buffers = kept.pop()
    except IndexError:
        stream = device.stream()
        buffers = [_Buffer(device.pinned(_BAND_BYTES, np.uint8), device) for _ in range(_BUFFERS)]
    workers = min(worker_count(), _MOST_THREADS)
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield Lane(device, stream, buffers, (pool, workers))
        finally:
            # Nobody may write to the buffers, or free them, while they are on the bus.
            device.synchronize()
            kept.append((stream, buffers))


class Lane:
    """A way over the bus: a stream, and page-locked buffers that take turns; made by `lane`.

    Attributes
    ----------
    stream
        On which the copies are.
    """

    def __init__(
        self,
        device: Device,
        stream: Stream,
        buffers: list[_Buffer],
        team: tuple[ThreadPoolExecutor, int],
    ) -> None:
        self.stream = stream
        self._device = device
        self._buffers = buffers
        self._team = team
        self._turn = 0

    def send(self, host: NDArray[Any], filled: Any, no_path: Any, first_vertex: int = 0) -> None:
        """Copy some rows of a matrix into the upper left part of as many or more, wider rows.

        On return ``host`` has been read; the last bands may still be on the bus.

        Parameters
        ----------
        host
            Rows of the matrix.
        filled
            On the device.
        no_path
            What is added, but for 0 on the diagonal of vertices that only fill up.
        first_vertex
            The column of the diagonal in row 0.
        """
        n = host.shape[1]

        def prepare(rows: NDArray[Any], first: int) -> None:
            known = max(min(first + len(rows), len(host)) - first, 0)
            np.copyto(rows[:known, :n], host[first : first + known], casting="unsafe")
            rows[:known, n:] = no_path
            rows[known:] = no_path
            added = np.arange(known, len(rows))
            rows[added, first_vertex + first + added] = 0

        for first, last in _bands(filled.shape[0], filled.shape[1], filled.dtype):
            rows, done = self._next_buffer(filled[first:last])
            self._in_parts(prepare, rows, first)
            self._device.to_device(rows, out=filled[first:last], stream=self.stream)
            done.record(self.stream)

    def fetch(self, filled: Any, host: NDArray[Any]) -> None:
        """Copy the upper left part of rows on the device into those of ``host``, and wait for it.

        What the device computed in a wider dtype fits the narrower one again.
        """
        n = host.shape[1]

        def take(rows: NDArray[Any], first: int) -> None:
            np.copyto(host[first : first + len(rows)], rows[:, :n], casting="unsafe")

        bands = list(_bands(len(host), filled.shape[1], filled.dtype))
        on_the_bus = []
        for turn in range(len(bands) + _BUFFERS - 1):
            if turn < len(bands):
                first, last = bands[turn]
                rows, done = self._next_buffer(filled[first:last])
                self._device.to_host(filled[first:last], out=rows, stream=self.stream)
                done.record(self.stream)
                on_the_bus.append((rows, done, first))
            if turn >= _BUFFERS - 1:
                rows, done, first = on_the_bus.pop(0)
                done.synchronize()
                self._in_parts(take, rows, first)

    def _next_buffer(self, band: Any) -> tuple[NDArray[Any], Event]:
        """Return page-locked memory for this band, once it is free, and the event that says so."""
        buffer = self._buffers[self._turn % _BUFFERS]
        self._turn += 1
        buffer.done.synchronize()
        return buffer.rows(self._device, band.shape, np.dtype(band.dtype)), buffer.done

    def _in_parts(
        self, task: Callable[[NDArray[Any], int], None], rows: NDArray[Any], first: int
    ) -> None:
        """Let several threads work at parts of a band each."""
        pool, workers = self._team
        bounds = np.linspace(0, len(rows), workers + 1).astype(int).tolist()
        list(pool.map(lambda part: task(rows[slice(*part)], first + part[0]), pairwise(bounds)))


class _Buffer:
    """Page-locked memory for a band, and an event behind its last copy."""

    def __init__(self, memory: NDArray[np.uint8], device: Device) -> None:
        self.done = device.event()
        self._memory = memory

    def rows(self, device: Device, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        size = shape[0] * shape[1] * dtype.itemsize
        if size > self._memory.size:
            self._memory = device.pinned(size, np.uint8)
        return self._memory[:size].view(dtype).reshape(shape)


_kept: WeakKeyDictionary[Any, list[tuple[Any, list[_Buffer]]]] = WeakKeyDictionary()


def _bands(rows: int, width: int, dtype: np.dtype[Any]) -> Iterator[tuple[int, int]]:
    height = max(1, _BAND_BYTES // (width * np.dtype(dtype).itemsize))
    for first in range(0, rows, height):
        yield first, min(first + height, rows)
