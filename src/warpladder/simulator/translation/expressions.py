"""Expressions of Numba's IR: operators, tuples, iterators; the others are handed on."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from warpladder.device.numba_target import types
from warpladder.simulator.intrinsics.iterators import make_iterator
from warpladder.simulator.intrinsics.mathematics import fast_function
from warpladder.simulator.intrinsics.operators import operator_function
from warpladder.simulator.machine.builder import Builder, Operand, Scope
from warpladder.simulator.translation import elements
from warpladder.simulator.translation.attributes import get_attribute
from warpladder.simulator.translation.calls import call, call_operator
from warpladder.simulator.translation.inlining import Inliner

__all__ = ["translate_expression"]

_DIVISIONS = (
    operator.truediv, operator.floordiv, operator.mod,
    operator.itruediv, operator.ifloordiv, operator.imod,
)  # fmt: skip


_CONTAINERS = {
    "build_list": "a list",
    "build_set": "a set",
    "build_map": "a dictionary",
    "yield": "a generator",
}


def translate_expression(t: Inliner, scope: Scope, target: Any, expr: Any) -> None:
    """Translate ``target = expr``."""
    handler = _EXPRESSIONS.get(expr.op)
    if handler is None:
        t.refuse(_CONTAINERS.get(expr.op, f"the expression {expr}"))
    handler(t, scope, target, expr)


def _binop(t: Inliner, scope: Scope, target: Any, expr: Any) -> None:
    operands = [t.operand(scope, expr.lhs), t.operand(scope, expr.rhs)]
    _apply_operator(t, scope, target, expr, expr.fn, operands)


def _unary(t: Inliner, scope: Scope, target: Any, expr: Any) -> None:
    _apply_operator(t, scope, target, expr, expr.fn, [t.operand(scope, expr.value)])


def _apply_operator(
    t: Inliner, scope: Scope, target: Any, expr: Any, function: Any, operands: list[Operand]
) -> None:
    signature = scope.function.signatures[expr]
    if function not in (operator.is_, operator.is_not):
        operands = [_present(t, operand) for operand in operands]
        plain = [getattr(k, "type", k) if _optional(k) else k for k in signature.args]
        signature = signature.replace(args=tuple(plain))
    if function is operator.itruediv and isinstance(signature.return_type, types.Integer):
        # Typed as an integer and computed as a float, which then goes where an integer should.
        t.refuse_uncompiled("a /= b of integers", "write a = a / b, or a //= b")
    computed = operator_function(function, signature)
    if computed is None:
        call_operator(t, scope, target, function, operands, signature)
        return
    if scope.function.fastmath:
        computed = fast_function(function, signature) or computed
    fault = _division_fault(scope, function, signature)
    if fault:
        t.guard(lambda b: b == 0, [operands[1].slot], ZeroDivisionError, fault)
    t.compute(scope, target, computed, operands, signature)


def _division_fault(scope: Scope, function: Any, signature: Any) -> str:
    """Return what a division by zero raises; nothing where it has a result."""
    if function not in _DIVISIONS:
        return ""
    if isinstance(signature.return_type, types.Complex):
        # Python code within Numba, which raises whatever the error model.
        return "complex division by zero"
    # What NVVM has in place of a division of float32 raises nothing.
    fast = scope.function.fastmath and function is operator.truediv
    fast = fast and signature.return_type == types.float32
    return "division by zero" if scope.function.debug and not fast else ""


def _optional(kind: Any) -> bool:
    return isinstance(kind, types.Optional)


def _present(t: Builder, operand: Operand) -> Operand:
    """Return the value of one that may be None: an operator takes it to be there."""
    if not _optional(operand.type):
        return operand
    return Operand(t.converted(operand, operand.type.type), operand.type.type)


def _cast(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    if expr.value.name in scope.objects:
        t.bind(scope, target.name, scope.objects[expr.value.name])
        return
    source = t.operand(scope, expr.value)
    t.copy(source, t.operand(scope, target).slot, scope.type_of(target))


def _null(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    """Leave a variable unset on the paths that do not assign it."""
    del expr
    t.operand(scope, target)


def _build_tuple(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    target_type = scope.type_of(target)
    operands = [t.operand(scope, item) for item in expr.items]
    wanted = getattr(target_type, "types", [operand.type for operand in operands])
    slots = [t.converted(o, w) for o, w in zip(operands, wanted, strict=True)]
    if scope.assignments[target.name] == 1 and t.fixed.issuperset(slots):
        scope.slots[target.name] = t.new_slot(tuple(t.template[slot] for slot in slots))
        return
    t.pack(slots, t.operand(scope, target).slot)


def _exhaust_iter(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    source = t.operand(scope, expr.value)
    if isinstance(source.type, types.Array):
        elements.unpacked(t, scope, target, source, expr.count)
        return
    if not isinstance(source.type, types.BaseTuple):
        t.refuse(f"unpacking of {source.type}")
    t.copy(source, t.operand(scope, target).slot, scope.type_of(target))


def _pick(t: Builder, scope: Scope, target: Any, expr: Any, number: int) -> None:
    pair = t.operand(scope, expr.value)
    part = (pair.type.first_type, pair.type.second_type)[number]
    known = t.packed.get(pair.slot)
    is_new = target.name not in scope.slots and scope.assignments[target.name] == 1
    if known is not None and is_new and t.conversion(part, scope.type_of(target)) is None:
        # It changes when its variable does, and never else.
        scope.slots[target.name] = known[number]
        return
    raw, done = t.into(scope, target, part)
    t.part(pair.slot, number, raw)
    done()


def _getiter(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    known = scope.objects.get(expr.value.name)
    if known is None:
        known = make_iterator(t, t.operand(scope, expr.value))
    t.bind(scope, target.name, known)


def _iternext(t: Builder, scope: Scope, target: Any, expr: Any) -> None:
    iterator = scope.objects.get(expr.value.name)
    if iterator is None:
        t.refuse("an iterator that is itself computed")
    iterator.advance(t, t.operand(scope, target).slot)


_EXPRESSIONS: dict[str, Callable[[Inliner, Scope, Any, Any], None]] = {
    "binop": _binop,
    "inplace_binop": _binop,
    "unary": _unary,
    "cast": _cast,
    "null": _null,
    "undef": _null,
    "build_tuple": _build_tuple,
    "exhaust_iter": _exhaust_iter,
    "pair_first": partial(_pick, number=0),
    "pair_second": partial(_pick, number=1),
    "getiter": _getiter,
    "iternext": _iternext,
    "getattr": get_attribute,
    "call": call,
    "getitem": elements.getitem,
    "typed_getitem": elements.getitem,
    "static_getitem": elements.static_getitem,
}
