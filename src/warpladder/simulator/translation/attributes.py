"""Attributes: of modules, arrays, records, complex numbers, vectors and thread indices."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import Dim3, as_dtype, types
from warpladder.simulator.frontend.overloads import overload_attribute
from warpladder.simulator.intrinsics.threads import ThreadIndex, emit_index
from warpladder.simulator.machine.builder import Builder, Scope
from warpladder.simulator.machine.memory import View, as_values
from warpladder.simulator.machine.values import constant, scalar_dtype
from warpladder.simulator.translation.inlining import Inliner
from warpladder.simulator.translation.records import record_field

__all__ = ["attribute_of_object", "get_attribute"]

_AXES = {"x": 0, "y": 1, "z": 2}
_PARTS = ("real", "imag")
_INDICES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def get_attribute(t: Inliner, scope: Scope, target: Any, expr: Any) -> None:
    """Translate ``target = value.attr``."""
    kind, name = scope.type_of(expr.value), expr.attr
    target_type = scope.type_of(target)
    if isinstance(kind, types.Module | types.EnumClass | types.IntEnumClass):
        attribute_of_object(t, scope, target, scope.objects[expr.value.name], name)
        return
    if expr.value.name in scope.objects and not isinstance(target_type, types.BoundFunction):
        found = scope.objects[expr.value.name]
        if isinstance(found, ThreadIndex):
            axis = _AXES[name]
            emit_index(t, t.operand(scope, target).slot, lambda frame: found.along(frame, axis))
            return
        if scalar_dtype(target_type) is None:
            t.bind(scope, target.name, getattr(found, name))
            return
        scope.slots[target.name] = t.new_slot(constant(getattr(found, name), target_type))
        return
    if isinstance(target_type, types.DType):
        t.bind(scope, target.name, np.dtype(as_dtype(target_type.dtype)))
        return
    source = t.operand(scope, expr.value)
    if isinstance(target_type, types.BoundFunction):
        scope.slots[target.name] = source.slot
        return
    if isinstance(kind, types.Record):
        record_field(t, scope, target, source, name)
        return
    if isinstance(kind, types.Array) and name == "imag" and not _has_parts(kind):
        # Zeros, for which a kernel would have to allocate.
        t.refuse_uncompiled(f"the imaginary part of an array of {kind.dtype}", "it is zero")
    computed = _computed(kind, name)
    if isinstance(kind, types.Array) and _has_parts(kind) and name in _PARTS:
        # What the checks have to tell apart.
        part = np.dtype(as_dtype(kind.dtype)).itemsize // 2
        t.shared_itemsizes.add(part)
        t.viewed_itemsizes.add(part)
    if computed is not None:
        raw, done = t.into(scope, target, _produced(kind, name, target_type))
        t.apply(computed, [source.slot], raw)
        done()
        return
    if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Record):
        record_field(t, scope, target, source, name)
        return
    if isinstance(kind, types.EnumMember | types.IntEnumMember) and name == "value":
        t.copy(source._replace(type=kind.dtype), t.operand(scope, target).slot, target_type)
        return
    found = overload_attribute(kind, name)
    if found is not None:
        dispatcher, signature = found
        t.call_python(scope, target, dispatcher, [source], signature)
        return
    t.refuse(f"the attribute {name} of {kind}")


def attribute_of_object(t: Builder, scope: Scope, target: Any, owner: Any, name: str) -> None:
    """Translate ``target = owner.name`` of a module or class."""
    target_type = scope.type_of(target)
    if owner is cuda or getattr(owner, "__name__", "") == "numba.cuda":
        if name in _INDICES:
            t.bind(scope, target.name, ThreadIndex(name))
            return
        if name == "laneid":
            slot = t.operand(scope, target).slot
            emit_index(t, slot, lambda frame: frame.lanes.lane.astype(np.int32))
            return
        if name == "warpsize":
            scope.slots[target.name] = t.new_slot(np.int32(32))
            return
    value = getattr(owner, name)
    if scalar_dtype(target_type) is not None and not isinstance(value, type | ModuleType):
        scope.slots[target.name] = t.new_slot(constant(value, target_type))
        return
    if isinstance(value, np.ndarray | tuple):
        t.assign_constant(scope, target.name, value, target_type, once=True)
        return
    t.bind(scope, target.name, value)


def _has_parts(kind: Any) -> bool:
    return isinstance(kind.dtype, types.Complex)


def _produced(kind: Any, name: str, target_type: Any) -> Any:
    if isinstance(kind, types.Complex):
        return kind.underlying_float
    return target_type if name in ("T", "real", "imag", "flat") else types.unliteral(target_type)


def _computed(kind: Any, name: str) -> Any:
    """Return the attribute as a function of the value, None if it is not one of these."""
    if isinstance(kind, types.Array):
        return _ARRAY.get(name)
    if isinstance(kind, Dim3):
        return lambda parts: parts[_AXES[name]]
    if isinstance(kind, types.Complex):
        return {"real": lambda z: z.real, "imag": lambda z: z.imag}.get(name)
    if isinstance(kind, types.Number):
        return {"real": lambda x: x, "imag": np.zeros_like}.get(name)
    if isinstance(kind, types.BaseTuple) and name in getattr(kind, "fields", ()):
        number = kind.fields.index(name)
        return lambda items: items[number]
    if hasattr(kind, "attr_names") and name in kind.attr_names:
        place = list(kind.attr_names).index(name)
        return lambda items: items[place]
    return None


def _part(name: str) -> Any:
    def get(view: View) -> View:
        if view.dtype.kind != "c":
            return view
        half = view.dtype.itemsize // 2
        base = view.in_bytes()
        shift = half if name == "imag" else 0
        return replace(base, dtype=np.dtype(f"f{half}"), offset=base.offset + shift)

    return get


_ARRAY = {
    "shape": lambda view: view.extents,
    "strides": lambda view: as_values(view.in_bytes().strides),
    "size": lambda view: view.size,
    "ndim": lambda view: np.int64(len(view.shape)),
    "itemsize": lambda view: np.int64(view.dtype.itemsize),
    "nbytes": lambda view: view.size * np.int64(view.dtype.itemsize),
    "T": View.transposed,
    "real": _part("real"),
    "imag": _part("imag"),
}
