"""The indices of an element or a slice, and what is stored there."""

from __future__ import annotations

from typing import Any

from warpladder.device.numba_target import types
from warpladder.simulator.execution import access
from warpladder.simulator.frontend.lowering import allocates
from warpladder.simulator.machine.builder import Builder, Operand

__all__ = ["index_slots", "store_element"]


def index_slots(t: Builder, index: Operand) -> tuple[list[int], bool]:
    """Return one variable per index, and whether all of them are integers."""
    if isinstance(index.type, types.BaseTuple):
        parts = []
        for number, part in enumerate(index.type.types):
            if index.slot in t.fixed:
                parts.append(Operand(t.new_slot(t.template[index.slot][number]), part))
                continue
            parts.append(Operand(t.part(index.slot, number), part))
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


def store_element(
    t: Builder, container: Operand, indices: list[int], basic: bool, value: Operand
) -> None:
    """Emit ``container[indices] = value``."""
    if isinstance(value.type, types.Array) and not allocates():
        t.refuse_uncompiled("an array put into another", "assign its elements in a loop")
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
        access.store_region(frame, region, v[source], site)

    t.emit(run if whole else run_region, (view, source, *indices))
