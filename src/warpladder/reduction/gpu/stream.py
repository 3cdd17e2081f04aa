"""Matrices of the host, brought to a GPU tile by tile.

The tiles are those of the CPU engine, from 4 to 32 MB. Each is copied into page-locked memory by a
few threads, goes over the bus on a stream of its own, and the kernels follow it there; meanwhile
the next one is being copied. So memory of both sides is bounded, whatever the size of the array,
and copying and the bus are the limit: far less than what a CPU reads. That is why
``device="auto"`` leaves arrays of the host to the CPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.lib.stride_tricks import as_strided

from warpladder.device.team import worker_count
from warpladder.reduction.cpu import Cascade, Taker
from warpladder.reduction.gpu.layout import Field, Matrix
from warpladder.reduction.gpu.parts import Collect, start
from warpladder.reduction.layout import Buffers, Rows, Span, Tile
from warpladder.reduction.parts import CompensatedPart, ExactPart, FoldPart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.plan import Plan

__all__ = ["accumulate"]

_TURNS = 2
_MOST_THREADS = 8
_LEAST_BYTES = 1 << 16

_Copy = Callable[["NDArray[Any]", "NDArray[Any]"], None]


class _Slot:
    """Page-locked memory, as much on the device, and the stream between them."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.stream = device.stream()
        self._host: dict[str, NDArray[np.uint8]] = {}
        self._there: dict[str, Any] = {}

    def memory(self, use: str, size: int) -> tuple[NDArray[np.uint8], Any]:
        """Return so many bytes on the host and on the device."""
        if use not in self._host or self._host[use].size < size:
            enough = max(_LEAST_BYTES, 1 << (size - 1).bit_length())
            self._host[use] = self._device.pinned(enough, np.uint8)
            self._there[use] = self._device.empty(enough, np.uint8)
        return self._host[use][:size], self._there[use][:size]


class _Started(NamedTuple):
    """A tile whose kernels are on their way: its rows, whether it is their last, the states."""

    span: Span
    is_last: bool
    collectors: list[Collect]


def accumulate(
    device: Device,
    plan: Plan,
    rows: Rows,
    take: Taker,
    *,
    first: int = 0,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Accumulate every row of a matrix of the host: `cpu.accumulate` on a GPU.

    Parameters
    ----------
    device
        The GPU.
    plan
        The accumulators.
    rows
        The matrix.
    take
        Called once for each run of rows, in order.
    first
        What the first column counts as, where indices are kept.
    progress
        Called now and then with the fraction done.
    """
    columns = rows.column_spans()
    runs = list(rows.row_spans())
    total = len(runs) * max(len(columns), 1)
    started: deque[_Started] = deque()
    cascade = Cascade(plan)
    done = 0

    def finish_oldest() -> None:
        nonlocal cascade, done
        span, is_last, collectors = started.popleft()
        cascade.push([collect() for collect in collectors])
        if is_last:
            states = cascade.drain()
            assert states is not None  # noqa: S101 - one was pushed above
            take(span, states)
            cascade = Cascade(plan)
        done += 1
        if progress is not None:
            progress(done / total)

    with _slots(device) as (slots, copy):
        buffers: Buffers = {}
        turn = 0
        for span in runs:
            if not columns:
                take(span, plan.new(span.end - span.begin))
            for column in columns:
                if len(started) == _TURNS:
                    finish_oldest()
                tile = rows.tile(span, column, buffers)
                slot = slots[turn % _TURNS]
                matrix = _staged(device, slot, tile, _dtype(plan, tile), copy)
                collectors = [
                    start(device, part, matrix, first + column.begin, slot.stream)
                    for part in plan.parts
                ]
                started.append(_Started(span, column is columns[-1], collectors))
                turn += 1
        while started:
            finish_oldest()


def _dtype(plan: Plan, tile: Tile) -> np.dtype[Any]:
    """Return the dtype of a tile's elements, of which float16 and bool come as their bits."""
    part = plan.parts[0]
    if isinstance(part, FoldPart | CompensatedPart):
        name = part.spec.values
    elif isinstance(part, ExactPart):
        name = part.values
    else:
        return tile.data.dtype
    return tile.data.dtype if name == "bool" else np.dtype(name)


def _staged(device: Device, slot: _Slot, tile: Tile, dtype: np.dtype[Any], copy: _Copy) -> Matrix:
    """Put a tile on the device, without what lies between its rows."""

    def field(use: str, data: NDArray[Any], dtype: np.dtype[Any]) -> Field:
        lines, width = (length, rows) if is_across else (rows, length)
        size = data.itemsize
        given = as_strided(data, (lines, width), (pitch * size, size), writeable=False)
        host, there = slot.memory(use, lines * width * size)
        copy(host.view(data.dtype).reshape(lines, width), given)
        device.to_device(host, out=there, stream=slot.stream)
        return Field(there.view(dtype), 0, *((1, width) if is_across else (width, 1)))

    data, mask, rows, length, pitch, is_across = tile
    values = field("data", data, dtype)
    marks = field("mask", mask.view(np.uint8), np.dtype(np.uint8)) if mask.size else None
    return Matrix(values, marks, rows, length)


_kept: WeakKeyDictionary[Any, list[_Slot]] = WeakKeyDictionary()


@contextmanager
def _slots(device: Device) -> Iterator[tuple[list[_Slot], _Copy]]:
    """Give the slots, and a call that copies one matrix into another by several threads."""
    # Locking memory takes longer than copying it, so it is kept for the next call.
    slots = _kept.pop(device, None) or [_Slot(device) for _ in range(_TURNS)]
    workers = min(worker_count(), _MOST_THREADS)
    with ThreadPoolExecutor(workers) as pool:

        def copy(target: NDArray[Any], source: NDArray[Any]) -> None:
            if len(target) < workers:
                target, source = target.T, source.T
            bounds = np.linspace(0, len(target), workers + 1).astype(int).tolist()
            parts = [slice(*part) for part in pairwise(bounds)]
            list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))

        try:
            yield slots, copy
            _kept[device] = slots
        finally:
            # Nobody may write to the memory, or free it, while it is on the bus.
            device.synchronize()
