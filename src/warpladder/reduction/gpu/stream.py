"""Matrices of the host, brought to a GPU tile by tile.

The CPU engine's tiles are joined to larger ones. A tile is copied into page-locked memory, piece by
piece, by several threads; from there it crosses the bus, and the kernels follow it, on a stream of
its own. Meanwhile other tiles are being copied. So memory of both sides is bounded, whatever the
size of the array, and copying is the limit: beside an H200, with 16 cores, 30 to 32 GB/s from half
a GiB on, where the bus takes 54 and the cores read 98. That is why ``device="auto"`` leaves arrays
of the host to the CPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from warpladder.device.crew import in_parts
from warpladder.device.staging import Kept, PinnedBuffer
from warpladder.device.workspace import Workspace
from warpladder.reduction.cpu.cascade import Cascade, Taker
from warpladder.reduction.gpu.layout import Field, Matrix
from warpladder.reduction.gpu.parts import Collect, start
from warpladder.reduction.loops.truths import with_plain_truths
from warpladder.reduction.memory.copies import Buffers
from warpladder.reduction.memory.layout import Rows, Span, Tile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.plan import Plan

__all__ = ["accumulate"]

# Tiles under way, and how many of them are being copied.
_TURNS, _COPYING = 4, 2
# Bytes of a tile, and how many there should be at least: the more, the sooner the bus is busy. A
# tile costs some 0.2 ms of the interpreter's time, which must be less than that of copying.
_LEAST_TILE_BYTES, _MOST_TILE_BYTES, _TILES = 4 << 20, 64 << 20, 8
# Pieces of a tile, each copied by a thread, and their bytes at least; those of page-locked memory.
_PIECES, _LEAST_PIECE_BYTES, _LEAST_BYTES = 8, 2 << 20, 1 << 16


class _Slot:
    """Page-locked memory, as much on the device, and the stream between them."""

    def __init__(self, device: Device) -> None:
        self.stream = device.stream()
        self.workspace = Workspace()
        self._host: dict[str, PinnedBuffer] = {}
        self._there: dict[str, Any] = {}
        # Slices of the above: those of an array on a device take some time to make.
        self._parts: dict[str, tuple[int, np.dtype[Any], NDArray[np.uint8], Any, Any]] = {}

    def memory(
        self, device: Device, use: str, size: int, dtype: np.dtype[Any]
    ) -> tuple[NDArray[np.uint8], Any, Any]:
        """Return so many bytes of the host, and of the device: as bytes and as a dtype."""
        if use not in self._there or self._there[use].size < size:
            enough = max(_LEAST_BYTES, 1 << (size - 1).bit_length())
            self._parts.pop(use, None)
            self._host[use] = PinnedBuffer(device, enough)
            self._there[use] = device.empty(enough, np.uint8)
        if use not in self._parts or self._parts[use][:2] != (size, dtype):
            there = self._there[use][:size]
            here = self._host[use].array(device, size, np.uint8)
            self._parts[use] = size, dtype, here, there, there.view(dtype)
        return self._parts[use][2:]


class _Copied(NamedTuple):
    """A tile that threads are copying: of what, where to, what to wait for, and what follows."""

    span: Span
    is_last: bool
    first: int
    slot: _Slot
    matrix: Matrix
    ways: list[tuple[NDArray[np.uint8], Any]]
    copies: list[Future[None]]


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
    """Accumulate every row of a matrix of the host: `cpu.engine.accumulate` on a GPU.

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
    dtype = plan.parts[0].elements
    runs, columns = _joined(rows, 8 if dtype is None else dtype.itemsize)
    total = len(runs) * max(len(columns), 1)
    copied: deque[_Copied] = deque()
    started: deque[_Started] = deque()
    cascade = Cascade(plan)
    done = 0

    def start_oldest() -> None:
        span, is_last, first, slot, matrix, ways, copies = copied[0]
        for copy in copies:
            copy.result()
        copied.popleft()
        for host, there in ways:
            device.to_device(host, out=there, stream=slot.stream)
        collectors = [
            start(device, part, matrix, slot.workspace, first, slot.stream) for part in plan.parts
        ]
        started.append(_Started(span, is_last, collectors))

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

    with _slots(device, copied) as slots:
        # What a tile's buffers hold is not to change until it has been copied.
        buffers: list[Buffers] = [{} for _ in slots]
        turn = 0
        for span in runs:
            if not columns:
                take(span, plan.new(span.end - span.begin))
            for column in columns:
                if len(copied) == _COPYING:
                    start_oldest()
                if len(copied) + len(started) == _TURNS:
                    finish_oldest()
                tile = rows.tile(span, column, buffers[turn])
                if plan.counts_truths:
                    tile = with_plain_truths(tile)
                matrix, ways, copies = _staged(device, slots[turn], tile, dtype)
                is_last, index = column is columns[-1], first + column.begin
                copied.append(_Copied(span, is_last, index, slots[turn], matrix, ways, copies))
                turn = (turn + 1) % _TURNS
        while copied:
            start_oldest()
        while started:
            finish_oldest()


def _joined(rows: Rows, itemsize: int) -> tuple[list[Span], list[Span]]:
    """Return runs of rows and of columns as a matrix gives them, neighbours joined.

    Each tile costs time on the way to a GPU, and need not stay in the caches of a CPU.
    """
    runs = list(rows.row_spans())
    # See `cpu.engine.accumulate`.
    columns = rows.column_spans() if runs else []
    if not runs or not columns:
        return runs, columns
    size = rows.count * rows.length * itemsize
    most = min(max(size // _TILES, _LEAST_TILE_BYTES), _MOST_TILE_BYTES) // itemsize
    columns = _neighbours_joined(columns, most // (runs[0].end - runs[0].begin))
    if len(columns) == 1:
        runs = _neighbours_joined(runs, most // rows.length)
    return runs, columns


def _neighbours_joined(spans: list[Span], most: int) -> list[Span]:
    """Join neighbouring spans as far as they are together no longer than ``most``."""
    joined = spans[:1]
    for span in spans[1:]:
        begin, _, slices = joined[-1]
        # Several slices are indices of several axes, which have no common one.
        if span.end - begin > most or len(slices) > 1:
            joined.append(span)
        else:
            both = (slice(slices[0].start, span.slices[0].stop),) if slices else ()
            joined[-1] = Span(begin, span.end, both)
    return joined


def _staged(
    device: Device, slot: _Slot, tile: Tile, dtype: np.dtype[Any] | None
) -> tuple[Matrix, list[tuple[NDArray[np.uint8], Any]], list[Future[None]]]:
    """Let threads copy a tile into a slot, without what lies between its rows.

    Returns the matrix that it will be on the device, what is to cross the bus, and the copies to be
    waited for.
    """
    ways: list[tuple[NDArray[np.uint8], Any]] = []
    copies: list[Future[None]] = []

    def field(use: str, data: NDArray[Any], dtype: np.dtype[Any]) -> Field:
        lines, width = (length, rows) if is_across else (rows, length)
        size = data.itemsize
        given = as_strided(data, (lines, width), (pitch * size, size), writeable=False)
        host, there, seen = slot.memory(device, use, lines * width * size, dtype)
        copies.extend(_copies(host.view(data.dtype).reshape(lines, width), given))
        ways.append((host, there))
        return Field(seen, 0, *((1, width) if is_across else (width, 1)))

    data, mask, rows, length, pitch, is_across = tile
    values = field("data", data, dtype or data.dtype)
    marks = field("mask", mask.view(np.uint8), np.dtype(np.uint8)) if mask.size else None
    return Matrix(values, marks, rows, length, 0), ways, copies


def _copies(target: NDArray[Any], source: NDArray[Any]) -> list[Future[None]]:
    """Let threads copy one matrix into another."""
    pieces = max(1, min(target.nbytes // _LEAST_PIECE_BYTES, _PIECES))
    if len(target) < pieces:
        target, source = target.T, source.T

    def copy(first: int, last: int) -> None:
        np.copyto(target[first:last], source[first:last])

    return in_parts(copy, len(target), pieces)


_turns = Kept(lambda device: [_Slot(device) for _ in range(_TURNS)])


@contextmanager
def _slots(device: Device, copied: deque[_Copied]) -> Iterator[list[_Slot]]:
    """Lend the slots; wait for all work on them where it breaks off."""
    with _turns.lent(device) as slots:
        try:
            yield slots
        finally:
            # Nobody may write to the memory, or free it, while it is copied or on the bus.
            for tile in copied:
                wait(tile.copies)
            device.synchronize()
