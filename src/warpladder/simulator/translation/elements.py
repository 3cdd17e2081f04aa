"""Elements of arrays, tuples and records: ``x[i]`` read and assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.numba_target import ir, types
from warpladder.errors import UnsupportedKernelError
from warpladder.simulator.execution import access
from warpladder.simulator.machine.builder import Operand, Scope
from warpladder.simulator.machine.memory import View
from warpladder.simulator.machine.program import Site
from warpladder.simulator.machine.values import UNSET, merge, take
from warpladder.simulator.translation.attributes import record_field, store_field

if TYPE_CHECKING:
    from warpladder.simulator.translation.translator import Translator

__all__ = [
    "getitem",
    "index_slots",
    "select_item",
    "set_item",
    "static_getitem",
    "store_element",
    "store_region",
]


def getitem(t: Translator, scope: Scope, target: Any, expr: Any) -> None:
    """Translate ``target = container[index]``."""
    _get_item(t, scope, target, expr, t.operand(scope, expr.index))


def static_getitem(t: Translator, scope: Scope, target: Any, expr: Any) -> None:
    """Translate ``target = container[constant]``."""
    container = t.operand(scope, expr.value)
    if isinstance(container.type, types.BaseTuple):
        _tuple_item(t, scope, target, container, expr.index)
    elif isinstance(container.type, types.Record) or isinstance(expr.index, str):
        record_field(t, scope, target, container, expr.index)
    elif expr.index_var is not None:
        _get_item(t, scope, target, expr, t.operand(scope, expr.index_var))
    else:
        index = Operand(t.new_slot(np.int64(expr.index)), types.intp)
        _get_item(t, scope, target, expr, index)


def _tuple_item(t: Translator, scope: Scope, target: Any, container: Operand, index: Any) -> None:
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

    def run(frame: Any) -> None:
        frame.variables[raw] = frame.variables[source][index]

    t.emit(run, (source,), (raw,), counted=False)
    done()


def _get_item(t: Translator, scope: Scope, target: Any, expr: Any, index: Operand) -> None:
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
            v[raw] = select_item(frame, v[source], v[number])

        t.emit(choose, (source, number), (raw,))
        done()
        return
    if not isinstance(container.type, types.Array):
        t.refuse(f"indexing of {container.type}")
    indices, basic = index_slots(t, index)
    view = container.slot
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


def index_slots(t: Translator, index: Operand) -> tuple[list[int], bool]:
    """Return one variable per index, and whether all of them are integers."""
    if isinstance(index.type, types.BaseTuple):
        parts = []
        for number, part in enumerate(index.type.types):
            if index.slot in t.fixed:
                parts.append(Operand(t.new_slot(t.template[index.slot][number]), part))
                continue
            slot = t.new_slot()

            def run(frame: Any, slot: int = slot, number: int = number) -> None:
                frame.variables[slot] = frame.variables[index.slot][number]

            t.emit(run, (index.slot,), (slot,), counted=False)
            parts.append(Operand(slot, part))
    else:
        parts = [index]
    slots, basic = [], True
    for part in parts:
        plain = types.unliteral(part.type)
        if isinstance(plain, types.Integer):
            slots.append(t.converted(part, types.intp if plain.signed else types.uintp))
        elif isinstance(plain, types.Boolean | types.IntEnumMember | types.Float):
            slots.append(t.converted(part, types.intp))
        elif isinstance(plain, types.SliceType | types.NoneType | types.EllipsisType):
            slots.append(part.slot)
            basic = False
        else:
            t.refuse(f"an index of type {part.type}")
    return slots, basic


def set_item(t: Translator, scope: Scope, statement: Any) -> None:
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


def store_element(
    t: Translator, container: Operand, indices: list[int], basic: bool, value: Operand
) -> None:
    """Emit ``container[indices] = value``."""
    view, site = container.slot, t.site
    whole = basic and len(indices) == container.type.ndim
    source = (
        value.slot
        if isinstance(value.type, types.Array | types.Record | types.BaseTuple)
        else t.converted(value, container.type.dtype)
    )

    def run(frame: Any) -> None:
        v = frame.variables
        access.store(frame, v[view], tuple([v[i] for i in indices]), v[source], site)

    def run_region(frame: Any) -> None:
        v = frame.variables
        region = access.slice_view(
            frame, v[view], tuple([v[i] for i in indices]), site, access.STORE
        )
        store_region(frame, region, v[source], site)

    t.emit(run if whole else run_region, (view, source, *indices))


def select_item(frame: Any, items: tuple[Any, ...], number: Any) -> Any:
    """Return ``items[number]`` of a tuple, each thread its own."""
    wrapped = np.where(number < 0, number + len(items), number)
    if wrapped.ndim == 0:
        return items[int(wrapped)]
    if all(isinstance(item, np.ndarray | np.generic) for item in items):
        table = np.stack([frame.spread(item) for item in items])
        return table[wrapped, np.arange(frame.count)]
    chosen: Any = UNSET
    for which in np.unique(wrapped):
        where = np.flatnonzero(wrapped == which)
        chosen = merge(chosen, take(items[int(which)], where), where, frame.count, False)
    return chosen


def store_region(frame: Any, region: View, value: Any, site: Site) -> None:
    """Write to every element of a view: one value, or the elements of another view."""
    if any(isinstance(extent, np.ndarray) for extent in region.shape):
        raise UnsupportedKernelError(
            f"assignment to a slice whose length differs between threads ({site.filename}, "
            f"line {site.line})"
        )
    shape = tuple(int(extent) for extent in region.shape)
    for index in np.ndindex(*shape):
        item = value
        if isinstance(value, View):
            trailing = index[len(index) - len(value.shape) :]
            own = tuple(0 if e == 1 else i for i, e in zip(trailing, value.shape, strict=True))
            item = access.load(frame, value, own, site)
        elif isinstance(value, tuple):
            item = value[index[-1]]
        if isinstance(item, np.ndarray | np.generic) and item.dtype != region.dtype:
            item = item.astype(region.dtype)
        access.store(frame, region, index, item, site)
