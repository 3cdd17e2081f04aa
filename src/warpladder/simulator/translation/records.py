"""Fields of records, read and assigned."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.numba_target import as_dtype, types
from warpladder.simulator.execution import access
from warpladder.simulator.frontend.lowering import is_aligned
from warpladder.simulator.machine.builder import Builder, Operand, Scope
from warpladder.simulator.machine.values import scalar_dtype

__all__ = ["record_field", "store_attribute", "store_field"]


def record_field(t: Builder, scope: Scope, target: Any, source: Operand, name: Any) -> None:
    """Translate ``target = record.name``; of an array of records, the array of that field."""
    slot, site = source.slot, t.site
    whole = not isinstance(source.type, types.Array)
    record = source.type if whole else source.type.dtype
    if isinstance(name, int | np.integer):
        name = list(record.fields)[int(name)]
    if whole:
        _note_field(t, record, name)
    raw, done = t.into(scope, target, record.typeof(name) if whole else scope.type_of(target))
    nested = isinstance(record.typeof(name), types.NestedArray | types.Record)

    def run(frame: Any) -> None:
        v = frame.variables
        part = access.field(v[slot], name)
        if nested or not whole:
            v[raw] = part
        else:
            v[raw] = access.load(frame, part, (), site)

    t.emit(run, (slot,), (raw,), memory=True)
    done()


def store_field(t: Builder, record: Operand, name: Any, value: Operand) -> None:
    """Translate ``record[name] = value``."""
    if not isinstance(record.type, types.Record):
        t.refuse(f"assignment to the attribute {name} of {record.type}")
    if isinstance(name, int | np.integer):
        name = list(record.type.fields)[int(name)]
    slot, site = record.slot, t.site
    wanted = record.type.typeof(name)
    _note_field(t, record.type, name)
    source = t.converted(value, wanted) if scalar_dtype(wanted) is not None else value.slot

    def run(frame: Any) -> None:
        v = frame.variables
        part = access.field(v[slot], name)
        if part.shape:
            access.store_region(frame, part, v[source], site)
        else:
            access.store(frame, part, (), v[source], site)

    t.emit(run, (slot, source))


def store_attribute(t: Builder, record: Operand, name: str, value: Operand) -> None:
    """Translate ``record.name = value``, which takes less than ``record["name"] = value``."""
    wanted = record.type.typeof(name) if isinstance(record.type, types.Record) else None
    if isinstance(wanted, types.NestedArray) and value.type != wanted:
        t.refuse_uncompiled(
            f"{value.type} as the array {name} of a record", f'use ["{name}"], or its elements'
        )
    store_field(t, record, name, value)


def _note_field(t: Builder, record: Any, name: str) -> None:
    """Refuse a field that is not aligned; else note what the checks have to tell apart.

    That are its numbers: other threads may have those beside it.
    """
    if not is_aligned(record, name):
        t.refuse_uncompiled(
            f"the field {name}, {record.offset(name)} bytes into its record and not aligned",
            "take a dtype with align=True",
        )
    kind = record.typeof(name)
    if not isinstance(kind, types.Record):
        element = kind.dtype if isinstance(kind, types.NestedArray) else kind
        t.shared_itemsizes.add(np.dtype(as_dtype(element)).itemsize)
