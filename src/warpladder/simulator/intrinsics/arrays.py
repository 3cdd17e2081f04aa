"""Shared, local and constant arrays, and the methods of arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from warpladder.device.numba_target import NumbaNotImplementedError, as_dtype, types
from warpladder.errors import UnsupportedKernelError
from warpladder.simulator.execution import access
from warpladder.simulator.frontend.lowering import allocates
from warpladder.simulator.intrinsics.call import Call, Handlers, emit
from warpladder.simulator.machine.builder import Builder
from warpladder.simulator.machine.memory import (
    Buffer,
    BufferChoice,
    View,
    contiguous_strides,
    poison,
)
from warpladder.simulator.machine.values import UNSET

__all__ = ["HANDLERS"]


def _shape_of(call: Call, t: Builder) -> tuple[int, ...]:
    argument = call.arguments[0]
    value = t.template[argument.slot]
    if value is UNSET or value is None:
        literal = getattr(argument.type, "literal_value", None)
        if literal is None:
            t.refuse("an array whose shape is not a constant")
        value = literal
    return tuple(int(v) for v in value) if isinstance(value, tuple) else (int(value),)


def _element_dtype(call: Call, t: Builder) -> np.dtype[Any]:
    kind = call.signature.return_type.dtype
    try:
        dtype: np.dtype[Any] = np.dtype(as_dtype(kind))
    except NumbaNotImplementedError:
        t.refuse(f"an array of {kind}")
    if dtype.kind not in "biufcV":
        t.refuse_uncompiled(f"an array of {kind}", "take numbers or records")
    return dtype


def _require_elements(t: Builder, shape: tuple[int, ...]) -> None:
    if min(shape, default=1) <= 0:
        t.refuse_uncompiled(f"an array of shape {shape}", "give it elements")


def _alignment(call: Call, t: Builder, dtype: np.dtype[Any]) -> int:
    natural = max(dtype.alignment, 1)
    if len(call.arguments) < 3 or isinstance(
        call.arguments[2].type, types.NoneType | types.Omitted
    ):
        return natural
    value = int(t.template[call.arguments[2].slot])
    if value <= 0 or value & (value - 1):
        raise ValueError(f"Alignment must be a power of two, but was {value}")
    if value % 8 and value not in (1, 2, 4):
        raise ValueError(f"Alignment must be a multiple of the pointer size, but was {value}")
    return max(natural, value)


def _name_of(call: Call) -> str:
    name = call.target.name.split(".")[0]
    return "array" if name.startswith("$") else name


def _shared_array(t: Builder, call: Call) -> None:
    shape, dtype = _shape_of(call, t), _element_dtype(call, t)
    t.shared_itemsizes.add(dtype.itemsize)
    name = _name_of(call)
    dynamic = shape == (0,)
    if not dynamic:
        _require_elements(t, shape)
    if dynamic:
        t.dynamic_shared = True
        start = -1
    else:
        # One allocation for each place in the source, however often its function is inlined.
        key = (call.scope.function, call.site, call.target.name)
        size = int(np.prod(shape)) * dtype.itemsize
        if key not in t.shared_arrays:
            alignment = _alignment(call, t, dtype)
            begin = -(-t.shared_bytes // alignment) * alignment
            t.shared_arrays[key] = (begin, size)
            t.shared_bytes = begin + size
        start = t.shared_arrays[key][0]

    def make(frame: Any) -> View:
        buffer = frame.batch.shared_memory()
        launch = frame.launch
        first = launch.dynamic_start if dynamic else start
        extents = (launch.shared_dynamic // dtype.itemsize,) if dynamic else shape
        unit = dtype.itemsize
        whole = buffer.instance_bytes % unit == 0 and first % unit == 0
        unit = unit if whole else 1
        scale = dtype.itemsize // unit
        offset: Any = first // unit
        if frame.batch.blocks > 1:
            offset = frame.lanes.slot * np.int64(buffer.instance_bytes // unit) + np.int64(offset)
        strides = tuple(scale * step for step in contiguous_strides(extents))
        return View(buffer, dtype, offset, extents, strides, unit, name)

    emit(t, call, make, [])


def _local_array(t: Builder, call: Call) -> None:
    shape, dtype = _shape_of(call, t), _element_dtype(call, t)
    _alignment(call, t, dtype)
    _require_elements(t, shape)
    name = _name_of(call)
    elements = int(np.prod(shape))
    t.local_bytes += elements * dtype.itemsize
    key = object()

    def make(frame: Any) -> View:
        batch = frame.batch
        if key not in batch.storage:
            # Element by element, all threads side by side, as local memory is interleaved.
            raw: NDArray[np.uint8] = np.empty(
                elements * batch.places * dtype.itemsize, dtype=np.uint8
            )
            poison(raw)
            batch.storage[key] = buffer = Buffer(raw, "local", name)
            if dtype.names is None:
                buffer.rows = raw.view(dtype).reshape(-1, batch.places)
            frame.launch.adopt(buffer, dtype.itemsize)
        strides = tuple(step * batch.places for step in contiguous_strides(shape))
        return View(
            batch.storage[key], dtype, frame.lanes.place, shape, strides, dtype.itemsize, name
        )

    emit(t, call, make, [])


def _const_array_like(t: Builder, call: Call) -> None:
    (argument,) = call.arguments
    wanted, name = call.signature.return_type, call.target.name
    if call.scope.assignments[name] == 1:
        # It is known to be constant then.
        call.scope.slots[name] = t.converted(argument, wanted)
    else:
        t.copy(argument, t.operand(call.scope, call.target).slot, wanted)


def _array_view(t: Builder, call: Call) -> None:
    wanted = np.dtype(as_dtype(call.signature.return_type.dtype))
    t.shared_itemsizes.add(wanted.itemsize)
    t.viewed_itemsizes.add(wanted.itemsize)
    site = t.site

    def reinterpret(frame: Any, view: View) -> View:
        del frame
        if "local" in _spaces(view) and wanted.itemsize != view.dtype.itemsize:
            # The bytes of two elements are no neighbours there.
            raise UnsupportedKernelError(
                f"a local array of {view.dtype} viewed as {wanted}, of another size "
                f"({site.filename}, line {site.line}): make it of {wanted}"
            )
        base = view.in_bytes()
        extents = list(base.shape)
        if extents and wanted.itemsize != view.dtype.itemsize:
            extents[-1] = extents[-1] * view.dtype.itemsize // wanted.itemsize
            steps = (*base.strides[:-1], wanted.itemsize)
        else:
            steps = base.strides
        return replace(base, dtype=wanted, shape=tuple(extents), strides=steps)

    emit(t, call, reinterpret, [call.receiver])


def _array_reshape(t: Builder, call: Call) -> None:
    if call.this is None or call.this.type.layout != "C":
        t.refuse("reshape() of an array that is not C-contiguous")
    packed = len(call.arguments) == 1 and isinstance(call.arguments[0].type, types.BaseTuple)
    slots = [a.slot if packed else t.converted(a, types.intp) for a in call.arguments]
    site = t.site

    def reshape(frame: Any, view: View, *parts: Any) -> View:
        wanted = [int(part) for part in (parts[0] if packed else parts)]
        if -1 in wanted and len(view.shape):
            rest = int(np.prod([part for part in wanted if part != -1]))
            wanted[wanted.index(-1)] = int(view.size) // rest if rest else 0
        if int(np.prod(wanted)) != int(view.size) or min(wanted, default=0) < 0:
            frame.launch.faults.reshape(frame.lanes, view, wanted, site)
        extents = tuple(wanted)
        strides = _scaled(frame, view, contiguous_strides(extents))
        return replace(view, shape=extents, strides=strides)

    emit(t, call, reshape, [call.receiver, *slots])


def _scaled(frame: Any, view: View, strides: tuple[int, ...]) -> tuple[Any, ...]:
    """Return strides in elements as those of the view: in local memory they lie apart."""
    element = view.dtype.itemsize // view.unit
    steps = [element * (frame.batch.places if s == "local" else 1) for s in _spaces(view)]
    apart: Any = steps[0]
    if isinstance(view.buffer, BufferChoice):
        apart = np.array(steps)[view.buffer.which]
    return tuple(step * apart for step in strides)


def _spaces(view: View) -> list[str]:
    buffer = view.buffer
    reached = buffer.buffers if isinstance(buffer, BufferChoice) else (buffer,)
    return [one.space for one in reached]


def _array_ravel(t: Builder, call: Call) -> None:
    if not allocates():
        t.refuse_uncompiled("ravel()", "use reshape(x.size)")
    if call.this is None or call.this.type.layout != "C":
        t.refuse("ravel() of an array that is not C-contiguous")

    def ravel(frame: Any, view: View) -> View:
        return replace(view, shape=(int(view.size),), strides=_scaled(frame, view, (1,)))

    emit(t, call, ravel, [call.receiver])


def _array_transpose(t: Builder, call: Call) -> None:
    if call.arguments:
        t.refuse("transpose() with axes")

    emit(t, call, lambda _, view: view.transposed(), [call.receiver])


def _array_item(t: Builder, call: Call) -> None:
    site = t.site

    def item(frame: Any, view: View) -> Any:
        return access.load(frame, view, (np.int64(0),) * len(view.shape), site)

    emit(t, call, item, [call.receiver])


HANDLERS: Handlers = {
    cuda.shared.array: _shared_array,
    cuda.local.array: _local_array,
    cuda.const.array_like: _const_array_like,
    (types.Array, "view"): _array_view,
    "array.view": _array_view,
    "array.reshape": _array_reshape,
    "array.ravel": _array_ravel,
    "array.transpose": _array_transpose,
    "array.item": _array_item,
}
