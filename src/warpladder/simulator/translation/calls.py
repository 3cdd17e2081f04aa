"""What a call does: looked up by what Numba resolved it to.

In turn: an intrinsic (`warpladder.simulator.intrinsics.table`), a function of scalars
(`warpladder.simulator.intrinsics.mathematics`), a device function or an overload written in
Python, which is inlined. Anything else is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.numba_target import cuda_target, pysignature, types
from warpladder.errors import UnsupportedKernelError
from warpladder.simulator.execution import access
from warpladder.simulator.frontend.overloads import fold_call, overload_dispatcher
from warpladder.simulator.intrinsics.call import Call
from warpladder.simulator.intrinsics.mathematics import fast_function, scalar_function
from warpladder.simulator.intrinsics.table import HANDLERS
from warpladder.simulator.machine.builder import Builder, Operand, Scope
from warpladder.simulator.machine.values import scalar_dtype
from warpladder.simulator.translation.inlining import Inliner
from warpladder.simulator.translation.uncompiled import require_code, require_ufunc_code

__all__ = ["call", "call_operator"]


def call(t: Inliner, scope: Scope, target: Any, expr: Any) -> None:
    """Translate ``target = expr``, a call."""
    function = scope.type_of(expr.func)
    signature = scope.function.signatures[expr]
    operands = [t.operand(scope, argument) for argument in expr.args]
    if expr.vararg is not None:
        operands += t.unpacked(t.operand(scope, expr.vararg))
    keywords = {name: t.operand(scope, argument) for name, argument in expr.kws}
    arguments = _in_order(t, signature, operands, keywords)
    made = Call(scope, target, arguments, signature, None, t.site)

    if isinstance(function, types.BoundFunction):
        made.this = t.operand(scope, expr.func)._replace(type=function.this)
    key = _key_of(function)
    if _hashable(key) and key in HANDLERS:
        HANDLERS[key](t, made)
        return
    if isinstance(function, types.Dispatcher):
        t.call_python(scope, target, key, arguments, signature)
        return
    if isinstance(function, types.NumberClass | types.TypeRef) or key in (
        int,
        float,
        bool,
        complex,
    ):
        _construct(t, made)
        return
    if isinstance(function, types.ExceptionClass):
        known = tuple(t.template[argument.slot] for argument in arguments)
        t.bind(scope, target.name, (function.exc_class, known))
        return
    if key is tuple and len(arguments) == 1:
        t.copy(arguments[0], t.operand(scope, target).slot, scope.type_of(target))
        return
    if key is str and isinstance(arguments[0].type, types.Integer | types.Boolean):
        t.refuse(
            f"text made of {arguments[0].type}, by str() or an f-string; print() takes numbers"
        )
    if isinstance(key, np.ufunc):
        require_ufunc_code(t, key, signature)
        if len(arguments) > key.nin:
            _ufunc_into_arrays(t, made, key)
            return
    if isinstance(signature.return_type, types.BaseTuple) and isinstance(
        function, types.NamedTupleClass
    ):
        _pack(t, made)
        return
    if hasattr(signature.return_type, "num_elements") and hasattr(
        signature.return_type, "attr_names"
    ):
        _pack_vector(t, made)
        return
    computed = scalar_function(key, signature)
    if computed is not None:
        if getattr(key, "__module__", "") == "numba.cuda.stubs":
            require_code(t, key, signature)
        if scope.function.fastmath:
            computed = fast_function(key, signature) or computed
        t.compute(scope, target, computed, arguments, signature)
        return
    kind = arguments[0].type if arguments else None
    # Numba's own target makes a tuple of arguments, which nobody has written.
    are_packed = isinstance(kind, types.StarArgTuple | types.StarArgUniTuple)
    if key in (min, max) and isinstance(kind, types.IterableType) and not are_packed:
        t.refuse(f"{key.__name__}() of {kind}: write it as a loop")
    dispatcher = overload_dispatcher(
        function,
        signature,
        tuple(operand.type for operand in operands),
        {name: operand.type for name, operand in keywords.items()},
    )
    if dispatcher is not None:
        this = [] if made.this is None else [made.this]
        if signature.pysig is None:
            # Of code that Numba puts into its callers by itself.
            own = signature.replace(pysig=pysignature(dispatcher.py_func))
            arguments = _in_order(t, own, [*this, *operands], keywords)
        else:
            arguments = [*this, *arguments]
        t.call_python(scope, target, dispatcher, arguments, signature)
        return
    # A function of another language, which is linked to the kernel, has a name of its own.
    name = getattr(key, "__name__", None) or getattr(key, "name", key) or function
    t.refuse("try/except" if "try_block" in str(name) else f"a call of {name}")


def call_operator(
    t: Inliner,
    scope: Scope,
    target: Any,
    function: Any,
    operands: list[Operand],
    signature: Any,
) -> None:
    """Translate an operator that is not one of scalars: one with an overload, say."""
    resolved = cuda_target.typing_context.resolve_value_type(function)
    dispatcher = overload_dispatcher(resolved, signature, signature.args, {})
    if dispatcher is None:
        kinds = ", ".join(str(operand.type) for operand in operands)
        t.refuse(f"the operator {function.__name__} on {kinds}")
    t.call_python(scope, target, dispatcher, operands, signature)


def _in_order(
    t: Builder, signature: Any, operands: list[Operand], keywords: dict[str, Operand]
) -> list[Operand]:
    """Return a call's arguments in the order of the parameters, with defaults and tuples made."""
    folded = fold_call(signature, operands, keywords, lambda value: _default(t, value))
    return [_packed(t, part) if isinstance(part, list) else part for part in folded]


def _key_of(function: Any) -> Any:
    """Return what the table of intrinsics knows a function by."""
    if isinstance(function, types.Dispatcher):
        # Of Numba's own target: votes and shuffles are device functions there.
        return function.dispatcher
    key = getattr(function, "typing_key", None)
    if isinstance(function, types.BoundFunction) and isinstance(key, tuple) and len(key) == 2:
        kinds = type(function.this).__mro__
        of_kinds = ((kind, key[1]) for kind in kinds if (kind, key[1]) in HANDLERS)
        return key if key in HANDLERS else next(of_kinds, key)
    return key


def _hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return key is not None


def _default(t: Builder, value: Any) -> Operand:
    return Operand(t.new_slot(value), types.Omitted(value))


def _packed(t: Builder, parts: list[Operand]) -> Operand:
    """Return the tuple that a function with ``*arguments`` receives."""
    slot, slots = t.new_slot(), [part.slot for part in parts]

    def run(frame: Any) -> None:
        frame.variables[slot] = tuple([frame.variables[part] for part in slots])

    t.emit(run, slots, (slot,), counted=False)
    return Operand(slot, types.StarArgTuple.from_types([part.type for part in parts]))


def _construct(t: Builder, made: Call) -> None:
    """``float32(x)``, ``int(x)``, ``complex(a, b)``, ``float("inf")``."""
    produced = made.signature.return_type
    if len(made.arguments) == 1 and isinstance(made.arguments[0].type, types.StringLiteral):
        _construct_from_text(t, made, made.arguments[0].type.literal_value)
        return
    if len(made.arguments) == 1:
        (argument,) = made.arguments
        dtype = scalar_dtype(produced)
        if dtype is None:
            t.refuse(f"a conversion to {produced}")
        if t.conversion(argument.type, produced) is None:
            raw, done = t.into(made.scope, made.target, produced)
            t.copy(argument, raw, produced)
            done()
            return
        t.compute(made.scope, made.target, lambda value: value, made.arguments, produced(produced))
        return
    if scalar_dtype(produced) is None or len(made.arguments) != 2:
        t.refuse(f"a conversion to {produced}")

    dtype = scalar_dtype(produced)

    def compose(real: Any, imaginary: Any) -> Any:
        value = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
        value.real, value.imag = real, imaginary
        return value[()]

    part = produced.underlying_float
    t.compute(made.scope, made.target, compose, made.arguments, produced(part, part))


def _construct_from_text(t: Builder, made: Call, text: str) -> None:
    """Give the value that Numba, too, finds by Python's rules when it compiles."""
    convert = float if isinstance(made.signature.return_type, types.Float) else bool
    try:
        value = convert(text)
    except ValueError:
        t.refuse(f"float({text!r}), which is no number")
    scope, name = made.scope, made.target.name
    t.assign_constant(scope, name, value, scope.type_of(made.target), scope.assignments[name] == 1)


def _pack(t: Builder, made: Call) -> None:
    wanted = made.signature.return_type.types
    slots = [t.converted(o, w) for o, w in zip(made.arguments, wanted, strict=True)]
    result, done = t.into(made.scope, made.target, made.signature.return_type)
    t.apply(lambda *values: tuple(values), slots, result) if slots else None
    done()


def _pack_vector(t: Builder, made: Call) -> None:
    """Make a vector (``float32x4``) of scalars and shorter vectors."""
    kind = made.signature.return_type
    slots: list[int] = []
    for operand in made.arguments:
        if hasattr(operand.type, "attr_names"):
            part = operand.type.base_type
            parts = [
                Operand(t.part(operand.slot, k), part) for k in range(operand.type.num_elements)
            ]
        else:
            parts = [operand]
        slots += [t.converted(part, kind.base_type) for part in parts]
    if len(slots) == 1:
        slots = slots * kind.num_elements
    result, done = t.into(made.scope, made.target, kind)
    t.apply(lambda *values: tuple(values) if len(slots) > 1 else (values[0],), slots, result)
    done()


def _ufunc_into_arrays(t: Builder, made: Call, ufunc: np.ufunc) -> None:
    """``np.add(a, b, out)``: each thread goes over all elements, as the GPU does."""
    slots = [argument.slot for argument in made.arguments]
    kinds = [argument.type for argument in made.arguments]
    site = t.site

    def run(frame: Any) -> None:
        values = [frame.variables[slot] for slot in slots]
        inputs, outputs = values[: ufunc.nin], values[ufunc.nin :]
        if any(isinstance(extent, np.ndarray) for extent in outputs[0].shape):
            raise UnsupportedKernelError(
                f"{ufunc.__name__} into slices whose length differs between threads "
                f"({site.filename}, line {site.line})"
            )
        for index in np.ndindex(*(int(extent) for extent in outputs[0].shape)):
            items = [
                access.load_broadcast(frame, value, index, site)
                if isinstance(kind, types.Array)
                else value
                for value, kind in zip(inputs, kinds, strict=False)
            ]
            results = ufunc(*items)
            for output, result in zip(
                outputs, results if isinstance(results, tuple) else (results,), strict=True
            ):
                written = np.asarray(result).astype(output.dtype)[()]
                access.store(frame, output, index, written, site)

    t.emit(run, slots)
    made.scope.slots[made.target.name] = slots[-1]
