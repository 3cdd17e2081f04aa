"""The functions of `warpladder.device.wide_loads`: a wide load is one access of 16 bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from warpladder.device.numba_target import types
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
from warpladder.simulator.execution import access
from warpladder.simulator.intrinsics.call import Call, Handlers, emit
from warpladder.simulator.machine.builder import Builder
from warpladder.simulator.machine.memory import Buffer, View

__all__ = ["HANDLERS"]

_WIDE = np.dtype(f"V{WIDE_BYTES}")


def _load_16_bytes(t: Builder, call: Call) -> None:
    array, index = call.arguments
    site, count = t.site, call.signature.return_type.count

    def run(frame: Any, view: View, index: Any) -> tuple[Any, ...]:
        # Unsigned, so that an index below zero is one out of bounds.
        first = np.asarray(index).astype(np.uint64)[()]
        access.locate(frame, view, (first + np.uint64(count - 1),), site, access.LOAD)
        position = access.locate(frame, view, (first,), site, access.LOAD)
        wide = replace(view.in_bytes(), dtype=_WIDE)
        loaded = access.load_at(frame, wide, position * view.unit, site)
        elements = np.ascontiguousarray(loaded).view(view.dtype).reshape(-1, count)
        if np.ndim(loaded) == 0:
            return tuple(elements[0])
        return tuple(np.ascontiguousarray(column) for column in elements.T)

    emit(t, call, run, [array.slot, t.converted(index, types.intp)], memory=True)


def _address_of(t: Builder, call: Call) -> None:
    def run(frame: Any, view: View) -> Any:
        del frame
        if isinstance(view.buffer, Buffer):
            start: Any = np.int64(view.buffer.address)
        else:
            start = np.array([buffer.address for buffer in view.buffer.buffers])[view.buffer.which]
        return start + view.offset * np.int64(view.unit)

    emit(t, call, run, [call.arguments[0].slot])


HANDLERS: Handlers = {
    load_16_bytes: _load_16_bytes,
    address_of: _address_of,
}
