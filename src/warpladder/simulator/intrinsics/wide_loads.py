"""The functions of `warpladder.device.wide_loads`: a wide access is one of 16 bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from warpladder.device.wide_loads import (
    WIDE_BYTES,
    address_of,
    load_16_bytes,
    store_16_bytes,
)
from warpladder.simulator.execution import access
from warpladder.simulator.intrinsics.call import Call, Handlers, emit
from warpladder.simulator.intrinsics.indexing import index_slots
from warpladder.simulator.machine.builder import Builder, Operand
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.program import Site

__all__ = ["HANDLERS"]

_WIDE = np.dtype(f"V{WIDE_BYTES}")


def _load_16_bytes(t: Builder, call: Call) -> None:
    array, index = call.arguments
    site, count = t.site, call.signature.return_type.count

    def run(frame: Any, view: View, *indices: Any) -> tuple[Any, ...]:
        wide, position = _wide_at(frame, view, indices, count, site, access.LOAD)
        loaded = access.load_at(frame, wide, position, site)
        elements = np.ascontiguousarray(loaded).view(view.dtype).reshape(-1, count)
        if np.ndim(loaded) == 0:
            return tuple(elements[0])
        return tuple(np.ascontiguousarray(column) for column in elements.T)

    emit(t, call, run, [array.slot, *_indices(t, index)], memory=True)


def _store_16_bytes(t: Builder, call: Call) -> None:
    array, index, elements = call.arguments
    site, dtype = t.site, array.type.dtype
    parts = [Operand(t.part(elements.slot, k), kind) for k, kind in enumerate(elements.type.types)]
    indices = _indices(t, index)

    def run(frame: Any, view: View, *rest: Any) -> None:
        at, values = rest[: len(indices)], rest[len(indices) :]
        wide, position = _wide_at(frame, view, at, len(values), site, access.STORE)
        columns = [np.asarray(value, view.dtype) for value in values]
        rows = np.stack(np.broadcast_arrays(*columns), axis=-1)
        access.store_at(frame, wide, position, rows.view(_WIDE)[..., 0][()], site)

    emit(
        t, call, run, [array.slot, *indices, *(t.converted(part, dtype) for part in parts)],
        memory=True,
    )  # fmt: skip


def _indices(t: Builder, index: Operand) -> list[int]:
    slots, _ = index_slots(t, index)
    return slots


def _wide_at(
    frame: Any, view: View, indices: tuple[Any, ...], count: int, site: Site, verb: str
) -> tuple[View, Any]:
    """Return the array in pieces of 16 bytes, counted in bytes, and where the one asked for is."""
    # Unsigned, so that an index below zero is one out of bounds.
    *rows, first = (np.asarray(index).astype(np.uint64)[()] for index in indices)
    access.locate(frame, view, (*rows, first + np.uint64(count - 1)), site, verb)
    position = access.locate(frame, view, (*rows, first), site, verb)
    return replace(view.in_bytes(), dtype=_WIDE), position * view.unit


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
    store_16_bytes: _store_16_bytes,
    address_of: _address_of,
}
