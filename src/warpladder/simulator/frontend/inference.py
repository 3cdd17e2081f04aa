"""Numba's front end, stopped after type inference: the only file that touches Numba's internals.

A `@cuda.jit` function goes through Numba's own passes (bytecode to IR, SSA, typing) and comes out
as basic blocks whose variables all have a type. What is taken from Numba here: the compiler class
and its pass list, the flags, the CUDA target's typing context, and two methods of its dispatcher
that resolve calls of device functions. `tests/simulator/test_frontend.py` says so when one moves.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from warpladder.device.compile_errors import defined_at, keep_place
from warpladder.device.numba_target import (
    CUDACompiler,
    CUDADispatcher,
    CUDAFlags,
    FunctionPass,
    PassManager,
    PreLowerStripPhis,
    Purpose,
    as_dtype,
    compile_extra,
    cuda_target,
    fold_arguments,
    pysignature,
    register_pass,
    sigutils,
    target_override,
    typeof,
    types,
    typing,
)
from warpladder.errors import InputTypeError, UnsupportedKernelError

__all__ = [
    "TypedFunction",
    "argument_type",
    "as_dispatcher",
    "fold_call",
    "overload_dispatcher",
    "typed_function",
]


@dataclass(frozen=True, slots=True, eq=False)
class TypedFunction:
    """A function after type inference.

    Attributes
    ----------
    name, filename
        Of the Python function.
    blocks
        Numba IR basic blocks by label.
    types
        Numba type of every variable by name.
    signatures
        Signature of every call and operator by its IR expression.
    arguments, result
        Types that it was specialised for, and of what it returns.
    debug
        Whether the author asked for errors to be raised (``debug=True``).
    """

    name: str
    filename: str
    blocks: dict[int, Any]
    types: dict[str, Any]
    signatures: dict[Any, Any]
    arguments: tuple[Any, ...]
    result: Any
    debug: bool


@register_pass(mutates_CFG=False, analysis_only=True)
class _KeepTypedIR(FunctionPass):  # type: ignore[misc]
    """The last pass: hands out the typed IR in place of compiled code."""

    _name = "warpladder_keep_typed_ir"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.cr = state
        return False


class _TypingCompiler(CUDACompiler):  # type: ignore[misc]
    """Numba's CUDA compiler without what follows type inference."""

    def define_pipelines(self) -> list[Any]:
        (full,) = super().define_pipelines()
        manager = PassManager("warpladder_typing")
        for implementation, description in full.passes:
            manager.passes.append((implementation, description))
            if implementation is PreLowerStripPhis:
                break
        manager.add_pass(_KeepTypedIR, "keep the typed IR")
        manager.finalize()
        return [manager]


def as_dispatcher(function: Any) -> Any:
    """Return ``function`` as one of numba-cuda's dispatchers: itself, or a plain one wrapped."""
    return function if isinstance(function, CUDADispatcher) else CUDADispatcher(function, {})


def argument_type(value: Any) -> Any:
    """Return the Numba type of a kernel argument."""
    return typeof(value, Purpose.argument)


_lock = threading.RLock()
_typed: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], TypedFunction]]
_typed = weakref.WeakKeyDictionary()
_in_progress: list[tuple[Any, tuple[Any, ...]]] = []


def typed_function(dispatcher: Any, arguments: tuple[Any, ...]) -> TypedFunction:
    """Return ``dispatcher``'s function, typed for arguments of these types.

    Raises
    ------
    UnsupportedKernelError
        A device function calls itself.
    numba.core.errors.TypingError
        Numba cannot type it: the message is Numba's, as on a GPU.
    """
    with _lock:
        variants = _typed.setdefault(dispatcher, {})
        if arguments not in variants:
            if (dispatcher, arguments) in _in_progress:
                raise UnsupportedKernelError(
                    f"{defined_at(dispatcher.py_func)} calls itself: the simulator runs no "
                    "recursive device functions; write it as a loop"
                )
            _in_progress.append((dispatcher, arguments))
            try:
                variants[arguments] = _infer(dispatcher, arguments)
            except Exception as fault:
                keep_place(fault)
                raise
            finally:
                _in_progress.pop()
        return variants[arguments]


def _infer(dispatcher: Any, arguments: tuple[Any, ...]) -> TypedFunction:
    options = dispatcher.targetoptions
    with _typing_only(), target_override():
        state = compile_extra(
            typingctx=cuda_target.typing_context,
            targetctx=cuda_target.target_context,
            func=dispatcher.py_func,
            args=arguments,
            return_type=None,
            flags=_flags(bool(options.get("debug")), bool(options.get("fastmath"))),
            locals={},
            pipeline_class=_TypingCompiler,
        )
    return TypedFunction(
        name=dispatcher.py_func.__qualname__,
        filename=dispatcher.py_func.__code__.co_filename,
        blocks=state.func_ir.blocks,
        types=state.typemap,
        signatures=state.calltypes,
        arguments=arguments,
        result=state.return_type,
        debug=bool(options.get("debug")),
    )


def _flags(debug: bool, fastmath: bool) -> Any:
    flags = CUDAFlags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "python" if debug else "numpy"
    flags.fastmath = fastmath
    # Typing does not depend on it; the launcher holds kernels to the limits of the real one.
    flags.compute_capability = (9, 0)
    return flags


def _typed_call_template(dispatcher: Any, args: Any, kws: Any) -> tuple[Any, ...]:
    """Resolve a call of a device function by typing it, where Numba would compile it."""
    _, folded = dispatcher.fold_argument_types(args, kws)
    if dispatcher in _declared:
        signatures = [
            typing.signature(wanted or typed_function(dispatcher, arguments).result, *arguments)
            for arguments, wanted in _declared[dispatcher]
        ]
    elif dispatcher._can_compile:
        arguments = tuple(folded)
        signatures = [typing.signature(typed_function(dispatcher, arguments).result, *arguments)]
    else:
        signatures = dispatcher.nopython_signatures
    name = dispatcher.py_func.__name__
    template = typing.make_concrete_template(
        f"CallTemplate({name})", key=name, signatures=signatures
    )
    return template, pysignature(dispatcher.py_func), folded, {}


@contextlib.contextmanager
def _typing_only() -> Iterator[None]:
    """Keep Numba from compiling device functions, which needs a GPU to compile for."""
    with _lock:
        saved = CUDADispatcher.get_call_template, CUDADispatcher.get_overload
        CUDADispatcher.get_call_template = _typed_call_template
        CUDADispatcher.get_overload = lambda self, _: self
        try:
            yield
        finally:
            CUDADispatcher.get_call_template, CUDADispatcher.get_overload = saved


def fold_call(
    signature: Any, arguments: list[Any], keywords: dict[str, Any], default: Callable[[Any], Any]
) -> list[Any]:
    """Return a call's arguments in the order of the function's parameters.

    ``default(value)`` makes an argument of a parameter's default.
    """
    if signature.pysig is None:
        return [*arguments, *keywords.values()]
    folded = fold_arguments(
        signature.pysig,
        arguments,
        keywords,
        lambda _index, _parameter, value: value,
        lambda _index, parameter, _value: default(parameter.default),
        lambda _index, _parameter, values: list(values),
    )
    return list(folded)


def overload_dispatcher(
    function: Any, signature: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Return the dispatcher of the Python code behind an overloaded function, or None.

    Such are functions and methods that numba-cuda (or a user) gives by ``@overload``. Their author
    chooses the code by the types of the call as it is written: ``arguments`` and ``keywords``, with
    no ``*arguments`` packed and no default filled in, as they are in the ``signature``.
    """
    with _typing_only(), target_override():
        context = cuda_target.typing_context
        if isinstance(function, types.BoundFunction):
            written = getattr(function.template, "_overload_func", None)
            if written is None:
                return None
            this = function.this
            function = context.resolve_value_type(written)
            signature = function.get_call_type(context, (this, *arguments), keywords)
        else:
            # Resolved anew: since it was typed, a GPU may have compiled it and left its own key.
            with contextlib.suppress(AttributeError):
                function.get_call_type(context, arguments, keywords)
        try:
            implementation = function.get_impl_key(signature)
        except (KeyError, AttributeError):
            return None
    return implementation if isinstance(implementation, CUDADispatcher) else None


def overload_attribute(kind: Any, name: str) -> tuple[Any, Any] | None:
    """Return dispatcher and signature of an attribute given by ``@overload_attribute``, or None."""
    with _typing_only(), target_override():
        context = cuda_target.typing_context
        for template in context._get_attribute_templates(kind):
            if getattr(template, "_attr", None) != name:
                continue
            function = template._get_function_type(context, kind)
            signature = template._get_signature(context, function, (kind,), {})
            implementation = function.get_impl_key(signature)
            if isinstance(implementation, CUDADispatcher):
                return implementation, signature
    return None


def normalize_signature(signature: Any) -> tuple[Any, ...]:
    """Return the argument types of a signature given as text, a Numba signature or a tuple."""
    arguments, _ = sigutils.normalize_signature(signature)
    return tuple(arguments)


def own_signatures(dispatcher: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the signatures that a kernel was compiled for ahead; none for one that is lazy."""
    return () if dispatcher._can_compile else tuple(dispatcher.overloads)


def signature_types(
    dispatcher: Any, given: tuple[Any, ...], signatures: tuple[tuple[Any, ...], ...]
) -> tuple[Any, ...]:
    """Return the types for which a kernel is specialised when called with ``given`` ones.

    A kernel without signatures of its own takes the types as they are, with defaults and
    ``*arguments`` folded; one with signatures takes the closest that they convert to.

    Raises
    ------
    TypeError
        No signature fits.
    """
    if not signatures:
        _, folded = dispatcher.fold_argument_types(given, {})
        return tuple(folded)
    if given in signatures:
        return given
    ranked = sorted(
        (cost, position)
        for position, candidate in enumerate(signatures)
        if (cost := _conversion_cost(given, candidate)) is not None
    )
    if not ranked:
        raise InputTypeError(
            f"{dispatcher.py_func.__name__}: No matching definition for argument type(s) "
            f"{', '.join(map(str, given))}; there are "
            f"{'; '.join(', '.join(map(str, candidate)) for candidate in signatures)}"
        )
    return signatures[ranked[0][1]]


def _conversion_cost(given: tuple[Any, ...], declared: tuple[Any, ...]) -> list[int] | None:
    """Return how many conversions of each kind a call needs, worst first; None if impossible."""
    if len(given) != len(declared):
        return None
    context = cuda_target.typing_context
    kinds = []
    for one, wanted in zip(given, declared, strict=True):
        if isinstance(one, types.Array) and isinstance(wanted, types.Array):
            # A kernel compiled ahead is given an array's address and reads what it declared.
            sizes = as_dtype(one.dtype).itemsize, as_dtype(wanted.dtype).itemsize
            if one.ndim != wanted.ndim or sizes[0] != sizes[1]:
                return None
            kinds.append(0 if one.dtype == wanted.dtype else 4)
            continue
        conversion = context.can_convert(one, wanted)
        if conversion is None:
            return None
        kinds.append(int(conversion))
    return [kinds.count(kind) for kind in (4, 3, 2, 1)]


def is_signature(value: Any) -> bool:
    """Whether ``value`` is a Numba signature, or a list of them."""
    return isinstance(value, list) or bool(sigutils.is_signature(value))


_declared: weakref.WeakKeyDictionary[Any, list[tuple[tuple[Any, ...], Any]]]
_declared = weakref.WeakKeyDictionary()


def declare_signatures(dispatcher: Any, signatures: list[Any]) -> None:
    """Let a device function take only these signatures: arguments are converted to them."""
    _declared[dispatcher] = [sigutils.normalize_signature(one) for one in signatures]
