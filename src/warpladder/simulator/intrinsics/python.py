"""Python's own functions that kernels use: ``range``, ``len``, ``zip``, ``print`` and others."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import Dim3, types
from warpladder.simulator.execution import access
from warpladder.simulator.intrinsics.call import Call, Handlers, emit, nothing
from warpladder.simulator.intrinsics.indexing import index_slots, store_element
from warpladder.simulator.intrinsics.iterators import counter, make_iterator
from warpladder.simulator.machine.builder import Builder, Operand
from warpladder.simulator.machine.values import constant

__all__ = ["HANDLERS", "emit_print"]


def _range(t: Builder, call: Call) -> None:
    wanted = call.signature.return_type.dtype
    zero, one = t.new_slot(constant(0, wanted)), t.new_slot(constant(1, wanted))
    slots = [t.converted(argument, wanted) for argument in call.arguments]
    if len(slots) == 3:
        message = "range() arg 3 must not be zero"
        t.guard(lambda step: step == 0, [slots[2]], ValueError, message)
    bounds = {1: lambda: [zero, *slots, one], 2: lambda: [*slots, one], 3: lambda: slots}
    emit(t, call, lambda _, *parts: tuple(parts), bounds[len(slots)]())


def _enumerate(t: Builder, call: Call) -> None:
    counted, *start = call.arguments
    begin = t.converted(start[0], types.intp) if start else t.new_slot(np.int64(0))
    endless = t.new_slot(np.int64(2**62))
    one = t.new_slot(np.int64(1))
    parts = [counter(t, [begin, endless, one]), make_iterator(t, counted)]
    call.scope.slots[call.target.name] = t.new_slot(parts)


def _zip(t: Builder, call: Call) -> None:
    parts = [make_iterator(t, argument) for argument in call.arguments]
    call.scope.slots[call.target.name] = t.new_slot(parts)


def _iter(t: Builder, call: Call) -> None:
    t.bind(call.scope, call.target.name, make_iterator(t, call.arguments[0]))


def _len(t: Builder, call: Call) -> None:
    (argument,) = call.arguments
    if isinstance(argument.type, types.BaseTuple | types.StringLiteral):
        known = argument.type
        length = len(known.types if isinstance(known, types.BaseTuple) else known.literal_value)
        call.scope.slots[call.target.name] = t.new_slot(np.int64(length))
        return
    if not isinstance(argument.type, types.Array):
        t.refuse(f"len() of {argument.type}")
    emit(t, call, lambda _, view: view.extents[0], [argument.slot])


def _slice(t: Builder, call: Call) -> None:
    slots = [
        argument.slot
        if isinstance(argument.type, types.NoneType)
        else t.converted(argument, types.intp)
        for argument in call.arguments
    ]
    none = t.new_slot(None)
    if len(slots) == 1:
        slots = [none, slots[0]]
    if len(slots) == 2:
        slots = [*slots, none]
    elif not isinstance(call.arguments[2].type, types.NoneType):
        message = "slice step cannot be zero"
        t.guard(lambda step: step == 0, [slots[2]], ValueError, message)
    emit(t, call, lambda _, *parts: tuple(parts), slots)


def _getitem(t: Builder, call: Call) -> None:
    array, index = call.arguments
    indices, basic = index_slots(t, index)
    if not isinstance(array.type, types.Array) or not basic:
        t.refuse("operator.getitem on this")
    site = t.site
    emit(t, call, lambda f, view, *where: access.load(f, view, where, site), [array.slot, *indices])


def _setitem(t: Builder, call: Call) -> None:
    array, index, value = call.arguments
    indices, basic = index_slots(t, index)
    store_element(t, array, indices, basic, value)
    nothing(t, call)


def _print(t: Builder, call: Call) -> None:
    emit_print(t, call.arguments)
    nothing(t, call)


#: That is what CUDA's ``vprintf`` takes.
_MOST_PRINTED = 32


def emit_print(t: Builder, operands: list[Operand]) -> None:
    """Emit a ``print``: a line for each thread, in the order of the threads."""
    for operand in operands:
        if not _printable(operand.type):
            t.refuse(
                f"print() of {operand.type}: kernels print numbers, constant text and tuples "
                "of numbers"
            )
    count = sum(_printed_values(operand.type) for operand in operands)
    if count > _MOST_PRINTED:
        t.refuse(
            f"print() of {count} values, in place of which a GPU prints their formats: print at "
            f"most {_MOST_PRINTED} at a time"
        )
    slots = [operand.slot for operand in operands]

    def run(frame: Any) -> None:
        values = [frame.variables[slot] for slot in slots]
        for thread in range(frame.count):
            frame.launch.say(" ".join(_shown(_own(value, thread)) for value in values))

    t.emit(run, slots)


def _printed_values(kind: Any) -> int:
    if isinstance(kind, types.Tuple | types.UniTuple):
        return sum(map(_printed_values, kind.types))
    return 3 if isinstance(kind, Dim3) else 1


def _printable(kind: Any) -> bool:
    if isinstance(kind, types.Tuple | types.UniTuple):
        return all(
            _printable(part) and not isinstance(part, types.StringLiteral) for part in kind.types
        )
    return isinstance(
        kind, types.Integer | types.Float | types.Boolean | types.StringLiteral | Dim3
    )


def _shown(value: Any) -> str:
    """Format as device ``printf`` does for Numba: integers as they are, floats with six places."""
    if isinstance(value, tuple):
        parts = [_shown(part) for part in value]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if isinstance(value, np.floating):
        return f"{float(value):f}"
    return str(value)


def _own(value: Any, thread: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_own(part, thread) for part in value)
    return value[thread] if isinstance(value, np.ndarray) else value


def _conjugate(t: Builder, call: Call) -> None:
    emit(t, call, lambda _, value: np.conjugate(value), [call.receiver])


#: What also says how caches are to keep it, in newer releases of numba-cuda.
_HINTED: Handlers = {
    **dict.fromkeys(("ldca", "ldcg", "ldcs", "ldcv", "ldlu"), _getitem),
    **dict.fromkeys(("stcg", "stcs", "stwb", "stwt"), _setitem),
}

HANDLERS: Handlers = {
    **{getattr(cuda, name): _HINTED[name] for name in _HINTED if hasattr(cuda, name)},
    builtins.range: _range,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.iter: _iter,
    builtins.len: _len,
    builtins.slice: _slice,
    operator.getitem: _getitem,
    operator.setitem: _setitem,
    builtins.print: _print,
    "complex.conjugate": _conjugate,
    "number.conjugate": _conjugate,
}
