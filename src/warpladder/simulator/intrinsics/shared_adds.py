"""The functions of `warpladder.device.shared_adds`: atomic additions by some of the threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.numba_target import types
from warpladder.device.shared_adds import add_where, count_byte, shared_address
from warpladder.simulator.execution.atomics import ATOMICS, atomic
from warpladder.simulator.intrinsics.call import Call, Handlers, emit
from warpladder.simulator.machine.builder import Builder
from warpladder.simulator.machine.memory import View
from warpladder.simulator.machine.values import take

__all__ = ["HANDLERS"]


def _add_where(t: Builder, call: Call) -> None:
    condition, array, _, index, value = call.arguments
    operands = [
        t.converted(condition, types.boolean),
        array.slot,
        t.converted(index, types.uint32),
        t.converted(value, array.type.dtype),
    ]
    site = t.site

    def run(frame: Any, condition: Any, view: View, index: Any, value: Any) -> None:
        where = np.flatnonzero(frame.spread(condition))
        if not where.size:
            return
        some = frame if where.size == frame.count else frame.narrowed(where)
        if some is not frame:
            view, index, value = take((view, index, value), where)
        atomic(some, view, (index,), ATOMICS["add"], (value,), site)

    emit(t, call, run, operands, memory=True)


def _count_byte(t: Builder, call: Call) -> None:
    array, _, index, which = call.arguments
    operands = [array.slot, t.converted(index, types.int32), t.converted(which, types.int32)]
    site = t.site

    def run(frame: Any, view: View, index: Any, which: Any) -> None:
        one = np.uint32(1) << (np.uint32(8) * (which.astype(np.uint32) & np.uint32(3)))
        atomic(frame, view, (index >> 2,), ATOMICS["add"], (one,), site)

    emit(t, call, run, operands, memory=True)


def _shared_address(t: Builder, call: Call) -> None:
    # What is added to is found by the array itself.
    emit(t, call, lambda _frame, _view: np.int32(0), [call.arguments[0].slot])


HANDLERS: Handlers = {
    add_where: _add_where,
    count_byte: _count_byte,
    shared_address: _shared_address,
}
