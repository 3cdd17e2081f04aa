"""Atomic operations: ``cuda.atomic``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import types
from warpladder.simulator.execution.atomics import ATOMICS, atomic
from warpladder.simulator.intrinsics.call import Call, Handlers, emit
from warpladder.simulator.intrinsics.indexing import index_slots
from warpladder.simulator.machine.builder import Builder
from warpladder.simulator.machine.memory import View

__all__ = ["HANDLERS"]


def _atomic_handler(name: str) -> Any:
    update = ATOMICS[name]

    def handler(t: Builder, call: Call) -> None:
        array, index, *values = call.arguments
        if isinstance(index.type, types.BaseTuple) and len(index.type) == 1:
            t.refuse_uncompiled("an atomic operation at (i,)", "give it the index itself")
        if any(isinstance(value.type, types.NoneType) for value in values):
            t.refuse_uncompiled("an atomic operation with None", "give it a number")
        indices, basic = index_slots(t, index)
        _emit_atomic(t, call, array, indices, basic, values, update)

    return handler


def _emit_atomic(
    t: Builder, call: Call, array: Any, indices: list[int], basic: bool, values: Any, update: Any
) -> None:
    if not basic or len(indices) != array.type.ndim:
        t.refuse("an atomic operation on a slice")
    operands = [t.converted(value, array.type.dtype) for value in values]
    view, site, count = array.slot, t.site, len(indices)

    def run(frame: Any, target: View, *rest: Any) -> Any:
        return atomic(frame, target, rest[:count], update, rest[count:], site)

    emit(t, call, run, [view, *indices, *operands], memory=True)


def _compare_and_swap(t: Builder, call: Call) -> None:
    array, *values = call.arguments
    zero = t.new_slot(np.int64(0))
    _emit_atomic(t, call, array, [zero], True, values, ATOMICS["cas"])


HANDLERS: Handlers = {
    **{getattr(cuda.atomic, name): _atomic_handler(name) for name in ATOMICS},
    cuda.atomic.compare_and_swap: _compare_and_swap,
}
