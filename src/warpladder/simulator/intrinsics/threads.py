"""Where a thread is: ``threadIdx`` and its like, ``grid`` and ``gridsize``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from warpladder.simulator.intrinsics.call import Call, Handlers, emit
from warpladder.simulator.machine.builder import Builder

__all__ = ["HANDLERS", "ThreadIndex", "emit_index"]


class ThreadIndex:
    """One of ``threadIdx``, ``blockIdx``, ``blockDim``, ``gridDim``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ThreadIndex) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def along(self, frame: Any, axis: int) -> Any:
        """Return its value along an axis."""
        match self.name:
            case "threadIdx":
                return frame.lanes.thread[axis]
            case "blockIdx":
                return frame.lanes.block[axis]
            case "blockDim":
                return np.int32(frame.batch.geometry.block[axis])
            case _:
                return np.int32(frame.batch.geometry.grid[axis])

    def as_value(self, t: Builder) -> int:
        """Return a variable with all three, for where it is printed or handed on."""
        slot = t.new_slot()
        emit_index(t, slot, lambda frame: tuple(self.along(frame, axis) for axis in range(3)))
        return slot


def emit_index(t: Builder, slot: int, index_of: Callable[[Any], Any]) -> None:
    """Emit ``slot = index_of(frame)``."""

    def run(frame: Any) -> None:
        frame.variables[slot] = index_of(frame)

    t.emit(run, (), (slot,))


def _grid(t: Builder, call: Call) -> None:
    axes = call.arguments[0].type.literal_value
    emit(t, call, lambda frame: _per_axis(frame, axes, _global_index), [])


def _gridsize(t: Builder, call: Call) -> None:
    axes = call.arguments[0].type.literal_value

    def extent(frame: Any, axis: int) -> Any:
        geometry = frame.batch.geometry
        return np.int64(geometry.grid[axis] * geometry.block[axis])

    emit(t, call, lambda frame: _per_axis(frame, axes, extent), [])


def _per_axis(frame: Any, axes: int, index: Any) -> Any:
    parts = tuple(index(frame, axis) for axis in range(axes))
    return parts[0] if axes == 1 else parts


def _global_index(frame: Any, axis: int) -> Any:
    lanes, width = frame.lanes, np.int64(frame.batch.geometry.block[axis])
    return lanes.block[axis].astype(np.int64) * width + lanes.thread[axis]


HANDLERS: Handlers = {cuda.grid: _grid, cuda.gridsize: _gridsize}
