"""The rows of one side of a join, on a device.

All of them stay there if they fit; else those that are asked for are brought each time, through
page-locked memory. Rows may be on the device already, in arrays of it in place of NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.foreign import is_on_gpu
from warpladder.device.staging import lane

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.forms import Rows

__all__ = ["Part", "Side", "bring", "fetch"]


class Part(NamedTuple):
    """Neighbouring rows on the device.

    Attributes
    ----------
    first
        The first of them, in its side.
    starts, items
        Where each begins in ``items``, and where the last ends: int64; their ids: int32.
    span
        The first and last of ``starts``.
    """

    first: int
    starts: Any
    items: Any
    span: tuple[int, int]

    def __len__(self) -> int:
        return int(self.starts.shape[0]) - 1

    def rows(self, first: int, last: int) -> Part:
        """Return some of them, counted from the first; the span is not known for these."""
        return Part(self.first + first, self.starts[first : last + 1], self.items, (-1, -1))


class Side:
    """One side of a join.

    Parameters
    ----------
    device
        Where it is needed.
    rows
        On the host, or in arrays of the device.
    stays
        Whether all of it is to be kept on the device.

    Attributes
    ----------
    starts
        Where each row begins, on the host.
    """

    def __init__(self, device: Device, rows: Rows, *, stays: bool) -> None:
        self._device = device
        self._items = rows.items
        there = is_on_gpu(rows.starts)
        self.starts: NDArray[np.int64] = device.to_host(rows.starts) if there else rows.starts
        self._kept: Part | None = None
        if stays or is_on_gpu(rows.items):
            starts = rows.starts if there else bring(device, self.starts)
            items = rows.items if is_on_gpu(rows.items) else bring(device, rows.items)
            self._kept = Part(0, starts, items, self._span(0, len(self)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def part(self, first: int, last: int) -> Part:
        """Return the rows from ``first`` to before ``last`` on the device."""
        begin, end = self._span(first, last)
        if self._kept is not None:
            starts = self._kept.starts[first : last + 1]
            return Part(first, starts, self._kept.items, (begin, end))
        starts = bring(self._device, self.starts[first : last + 1] - begin)
        return Part(first, starts, bring(self._device, self._items[begin:end]), (0, end - begin))

    def _span(self, first: int, last: int) -> tuple[int, int]:
        return int(self.starts[first]), int(self.starts[last])


def bring(device: Device, host: NDArray[Any]) -> Any:
    """Return a copy of an array of one dimension on the device, where kernels can go on with it."""
    # Of nothing there is still an array, which kernels take for one.
    there = device.empty((max(host.size, 1), 1), host.dtype)

    def prepare(rows: NDArray[Any], first: int) -> None:
        np.copyto(rows[:, 0], host[first : first + len(rows)])

    if host.size:
        with lane(device) as way:
            way.send(there, prepare)
    return there[:, 0]


def fetch(device: Device, there: Any, count: int) -> NDArray[Any]:
    """Return the first elements of a matrix of one column on the device."""
    host = np.empty(count, there.dtype)

    def take(rows: NDArray[Any], first: int) -> None:
        np.copyto(host[first : first + len(rows)], rows[:, 0])

    if count:
        with lane(device) as way:
            way.fetch(there, count, take)
    return host
