"""CUDA's built-in functions: thread indices, barriers, fences, atomics."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import GridGroup, types
from warpladder.simulator.execution.atomics import ATOMICS, atomic
from warpladder.simulator.machine.memory import View
from warpladder.simulator.machine.program import BLOCK, GRID, WARP
from warpladder.simulator.translation.calls import Call, emit, handles, nothing
from warpladder.simulator.translation.elements import index_slots

if TYPE_CHECKING:
    from warpladder.simulator.translation.translator import Translator

__all__: list[str] = []


# ---- thread indices --------------------------------------------------------------------------


@handles(cuda.grid)
def _grid(t: Translator, call: Call) -> None:
    axes = call.arguments[0].type.literal_value
    emit(t, call, lambda frame: _per_axis(frame, axes, _global_index), [])


@handles(cuda.gridsize)
def _gridsize(t: Translator, call: Call) -> None:
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


@handles("complex.conjugate", "number.conjugate")
def _conjugate(t: Translator, call: Call) -> None:
    emit(t, call, lambda _, value: np.conjugate(value), [call.receiver])


# ---- barriers and fences ---------------------------------------------------------------------


@handles(cuda.syncthreads)
def _syncthreads(t: Translator, call: Call) -> None:
    t.barrier(BLOCK)
    nothing(t, call)


def _reducing(reduce: Any) -> Any:
    def handler(t: Translator, call: Call) -> None:
        predicate = t.converted(call.arguments[0], types.int32)
        raw, done = t.into(call.scope, call.target, call.signature.return_type)
        t.barrier(BLOCK, predicate=predicate, reduce=reduce, result=raw)
        done()

    return handler


handles(cuda.syncthreads_count)(_reducing(lambda hits_of: hits_of[0].astype(np.int32)))
handles(cuda.syncthreads_and)(
    _reducing(lambda hits_of: (hits_of[0] == hits_of[1]).astype(np.int32))
)
handles(cuda.syncthreads_or)(_reducing(lambda hits_of: (hits_of[0] > 0).astype(np.int32)))


@handles(cuda.syncwarp)
def _syncwarp(t: Translator, call: Call) -> None:
    if call.arguments:
        mask = t.converted(call.arguments[0], types.int64)
    else:
        mask = t.new_slot(np.int64(0xFFFFFFFF))
    t.barrier(WARP, mask=mask)
    nothing(t, call)


@handles(cuda.cg.this_grid)
def _this_grid(t: Translator, call: Call) -> None:
    t.cooperative = True
    nothing(t, call)


@handles((GridGroup, "sync"))
def _grid_sync(t: Translator, call: Call) -> None:
    t.cooperative = True
    t.barrier(GRID)
    call.scope.slots[call.target.name] = t.new_slot(np.int32(0))


@handles(cuda.threadfence, cuda.threadfence_system)
def _fence(t: Translator, call: Call) -> None:
    def run(frame: Any) -> None:
        if frame.launch.monitor is not None:
            frame.launch.monitor.fence(frame)

    t.emit(run)
    nothing(t, call)


def _do_nothing(frame: Any) -> None:
    """Stand for an instruction without an effect here: it is counted."""
    del frame


@handles(cuda.threadfence_block)
def _fence_block(t: Translator, call: Call) -> None:
    t.emit(_do_nothing)
    nothing(t, call)


@handles(cuda.nanosleep, builtins.breakpoint)
def _pause(t: Translator, call: Call) -> None:
    t.emit(_do_nothing)
    nothing(t, call)


# ---- atomics ---------------------------------------------------------------------------------


def _atomic_handler(name: str) -> Any:
    update = ATOMICS[name]

    def handler(t: Translator, call: Call) -> None:
        array, index, *values = call.arguments
        indices, basic = index_slots(t, index)
        _emit_atomic(t, call, array, indices, basic, values, update)

    return handler


def _emit_atomic(
    t: Translator, call: Call, array: Any, indices: list[int], basic: bool, values: Any, update: Any
) -> None:
    if not basic or len(indices) != array.type.ndim:
        t.refuse("an atomic operation on a slice")
    operands = [t.converted(value, array.type.dtype) for value in values]
    view, site, count = array.slot, t.site, len(indices)

    def run(frame: Any, target: View, *rest: Any) -> Any:
        return atomic(frame, target, rest[:count], update, rest[count:], site)

    emit(t, call, run, [view, *indices, *operands], memory=True)


for _name in ATOMICS:
    handles(getattr(cuda.atomic, _name))(_atomic_handler(_name))


@handles(cuda.atomic.compare_and_swap)
def _compare_and_swap(t: Translator, call: Call) -> None:
    array, *values = call.arguments
    zero = t.new_slot(np.int64(0))
    _emit_atomic(t, call, array, [zero], True, values, ATOMICS["cas"])
