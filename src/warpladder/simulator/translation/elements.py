"""Elements of arrays, tuples and records: ``x[i]`` read and assigned."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from warpladder.device.numba_target import ir, types
from warpladder.simulator.execution import access
from warpladder.simulator.frontend.lowering import has_code
from warpladder.simulator.intrinsics.indexing import index_slots, store_element
from warpladder.simulator.machine.builder import Builder, Operand, Scope
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.values import select_item
from warpladder.simulator.translation.attributes import attribute_of_object
from warpladder.simulator.translation.records import record_field, store_field

__all__ = ["getitem", "set_item", "static_getitem", "unpacked"]


#: Of constant memory, on every GPU.
_CONSTANT_BYTES = 65536


def getitem(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    """Translate ``target = container[index]``."""
    _get_item(t, scope, target, expr, t.operand(scope, expr.index))


def static_getitem(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    """Translate ``target = container[constant]``."""
    if isinstance(scope.type_of(expr.value), types.EnumClass | types.IntEnumClass):
        attribute_of_object(t, scope, target, scope.objects[expr.value.name], expr.index)
        return
    container = t.operand(scope, expr.value)
    # Numba takes `cuda.threadIdx.x` for a constant, a property.
    if isinstance(container.type, types.BaseTuple) and isinstance(expr.index, int | slice):
        _tuple_item(t, scope, target, container, expr.index)
    elif isinstance(container.type, types.Record) or isinstance(expr.index, str):
        record_field(t, scope, target, container, expr.index)
    elif expr.index_var is not None:
        _get_item(t, scope, target, expr, t.operand(scope, expr.index_var))
    else:
        index = Operand(t.new_slot(np.int64(expr.index)), types.intp)
        _get_item(t, scope, target, expr, index)


def _tuple_item(t: Builder, scope: Scope, target: Any, container: Operand, index: Any) -> None:
    source = container.slot
    if isinstance(index, slice):
        produced: Any = types.Tuple(container.type.types[index])
    else:
        produced = container.type.types[index]
    if source in t.fixed and scope.assignments[target.name] == 1:
        part = Operand(t.new_slot(t.template[source][index]), produced)
        scope.slots[target.name] = t.converted(part, scope.type_of(target))
        return
    raw, done = t.into(scope, target, produced)
    t.part(source, index, raw)
    done()


def _get_item(t: Builder, scope: Scope, target: Any, expr: Any, index: Operand) -> None:
    container = t.operand(scope, expr.value)
    site = t.site
    if isinstance(container.type, types.BaseTuple):
        wanted = scope.function.signatures[expr].args[0]
        raw, done = t.into(scope, target, wanted.dtype)
        source, number = t.converted(container, wanted), t.converted(index, types.intp)
        length = len(container.type.types)
        t.guard(
            lambda n: (n < -length) | (n >= length), [number], IndexError,
            "tuple index out of range",
        )  # fmt: skip

        def choose(frame: Any) -> None:
            v = frame.variables
            v[raw] = select_item(v[source], v[number], frame.count)

        t.emit(choose, (source, number), (raw,))
        done()
        return
    if not isinstance(container.type, types.Array):
        t.refuse(f"indexing of {container.type}")
    indices, basic = index_slots(t, index)
    if not has_code(operator.getitem, scope.function.signatures[expr]):
        # Of indices that stand alone these two; within a tuple they have code.
        t.refuse_uncompiled("x[...] or x[None]", "use x itself, or x[:] with indices")
    view = container.slot
    _note_constant(t, view, indices)
    if basic and len(indices) == container.type.ndim:
        raw, done = t.into(scope, target, container.type.dtype)

        def run(frame: Any) -> None:
            v = frame.variables
            v[raw] = access.load(frame, v[view], tuple([v[i] for i in indices]), site)

    else:
        raw, done = t.into(scope, target, scope.type_of(target))

        def run(frame: Any) -> None:
            v = frame.variables
            v[raw] = access.slice_view(frame, v[view], tuple([v[i] for i in indices]), site)

    t.emit(run, (view, *indices), (raw,), memory=True)
    done()


def unpacked(t: Builder, scope: Scope, target: Any, array: Operand, count: int) -> None:
    """Translate ``a, b, c = array``: elements of one dimension, or the parts along the first."""
    view, site = array.slot, t.site
    read = access.load if array.type.ndim == 1 else access.slice_view
    t.guard(
        lambda given: given.shape[0] != count, [view], ValueError,
        f"an array to be unpacked into {count} has another length",
    )  # fmt: skip

    def reader(number: int, result: int) -> Callable[[Any], None]:
        def run(frame: Any) -> None:
            v = frame.variables
            v[result] = read(frame, v[view], (np.int64(number),), site)

        return run

    results = [t.new_slot() for _ in range(count)]
    for number, result in enumerate(results):
        t.emit(reader(number, result), (view,), (result,), memory=True)
    t.pack(results, t.operand(scope, target).slot)


def _note_constant(t: Builder, view: int, indices: list[int]) -> None:
    """Refuse more constant arrays than fit where a GPU has them.

    What is read at constant places alone is no array once it is compiled. Whether several reads of
    one share a copy is the compiler's choice: it counts once.
    """
    array = t.template[view]
    if not isinstance(array, View) or t.fixed.issuperset(indices):
        return
    buffer = array.buffer
    if not isinstance(buffer, Buffer) or buffer.space != "constant":
        return
    raw = buffer.raw
    if all(known.tobytes() != raw.tobytes() for known in t.constants_read):
        t.constants_read.append(raw)
    size = sum(len(known) for known in t.constants_read)
    if size > _CONSTANT_BYTES:
        t.refuse_uncompiled(
            f"constant arrays of {size} bytes, more than {_CONSTANT_BYTES}",
            "pass them as arguments",
        )


def set_item(t: Builder, scope: Scope, statement: Any) -> None:
    """Translate ``container[index] = value``."""
    container = t.operand(scope, statement.target)
    if not isinstance(container.type, types.Array):
        if isinstance(container.type, types.Record):
            value = t.operand(scope, statement.value)
            store_field(t, container, statement.index, value)
            return
        t.refuse(f"assignment to an element of {container.type}")
    if isinstance(statement, ir.StaticSetItem) and statement.index_var is None:
        index = Operand(t.new_slot(np.int64(statement.index)), types.intp)
    else:
        name = statement.index_var if isinstance(statement, ir.StaticSetItem) else statement.index
        index = t.operand(scope, name)
    value = t.operand(scope, statement.value)
    indices, basic = index_slots(t, index)
    store_element(t, container, indices, basic, value)
