"""Numba's front end, stopped after type inference.

A `@cuda.jit` function goes through Numba's own passes (bytecode to IR, SSA, typing) and comes out
as basic blocks whose variables all have a type. What is taken from Numba here: the compiler class
and its pass list, the flags, the CUDA target's typing context and its method that resolves calls,
what it does to the IR between passes, and two methods of its dispatcher that resolve calls of
device functions.
`tests/simulator/test_frontend.py` says so when one moves.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from warpladder.device.compile_errors import defined_at, keep_place
from warpladder.device.numba_target import (
    CUDACompiler,
    CUDADispatcher,
    CUDAFlags,
    FunctionPass,
    PassManager,
    PostProcessor,
    PreLowerStripPhis,
    VariableLifetime,
    canonicalize_cfg,
    compile_extra,
    cuda_target,
    pysignature,
    register_pass,
    sigutils,
    target_override,
    types,
    typing,
)
from warpladder.errors import UnsupportedKernelError

__all__ = ["TypedFunction", "declare_signatures", "typed_function", "typing_only"]


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
    fastmath
        Whether the author lets floats be computed with less care.
    """

    name: str
    filename: str
    blocks: dict[int, Any]
    types: dict[str, Any]
    signatures: dict[Any, Any]
    arguments: tuple[Any, ...]
    result: Any
    debug: bool
    fastmath: bool


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
    with typing_only(), target_override():
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
        fastmath=bool(options.get("fastmath")),
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


_Context: Any = type(cuda_target.typing_context)
_resolve = _Context.resolve_function_type
_resolved: dict[tuple[Any, tuple[Any, ...]], Any] = {}


def _resolve_once(context: Any, function: Any, arguments: Any, named: Any) -> Any:
    """Resolve a call; of an operator or a function with numbers alone once for the same types.

    Numba tries all that is registered for an operator at every place where it stands, several times
    over. A file of tests whose kernels are 641 functions took 43 s of CPU time instead of 52.
    """
    if named or not isinstance(function, types.Function):
        return _resolve(context, function, arguments, named)
    if not all(isinstance(one, (types.Number, types.Boolean)) for one in arguments):
        return _resolve(context, function, arguments, named)
    call = function, tuple(arguments)
    if call not in _resolved:
        _resolved[call] = _resolve(context, function, arguments, named)
    return _resolved[call]


_postprocess = PostProcessor.run


def _postprocess_in(thread: int) -> Any:
    """Return what stands for `PostProcessor.run`: lifetimes are found when a pass asks for them.

    Numba finds after each of six passes how long every variable lives, and one of them asks. Tests
    whose kernels are 1009 functions took 26.4 s of CPU time in the front end and take 21.4; the
    longest kernel, `count_in_shared`, 1.0 s and 0.6. What other threads compile meanwhile is left
    alone.
    """

    def run(post: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = post.func_ir
        if emit_dels or function.is_generator or threading.get_ident() != thread:
            _postprocess(post, emit_dels, extend_lifetimes)
            return
        function.blocks = canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)
        function.generator_info = None

    return run


@contextlib.contextmanager
def typing_only() -> Iterator[None]:
    """Keep Numba from compiling device functions, which needs a GPU to compile for."""
    with _lock:
        saved = (
            CUDADispatcher.get_call_template,
            CUDADispatcher.get_overload,
            _Context.resolve_function_type,
            PostProcessor.run,
        )
        CUDADispatcher.get_call_template = _typed_call_template
        CUDADispatcher.get_overload = lambda self, _: self
        _Context.resolve_function_type = _resolve_once
        PostProcessor.run = _postprocess_in(threading.get_ident())
        try:
            yield
        finally:
            (
                CUDADispatcher.get_call_template,
                CUDADispatcher.get_overload,
                _Context.resolve_function_type,
                PostProcessor.run,
            ) = saved


_declared: weakref.WeakKeyDictionary[Any, list[tuple[tuple[Any, ...], Any]]]
_declared = weakref.WeakKeyDictionary()


def declare_signatures(dispatcher: Any, signatures: list[Any]) -> None:
    """Let a device function take only these signatures: arguments are converted to them."""
    _declared[dispatcher] = [sigutils.normalize_signature(one) for one in signatures]
    results = (
        (arguments, wanted or typed_function(dispatcher, arguments).result)
        for arguments, wanted in _declared[dispatcher]
    )
    # Where ufuncs made by `vectorize` look for the type of their results. In a dictionary of its
    # own: a dispatcher takes care that what is compiled in the first one goes when it does.
    dispatcher.overloads = {
        arguments: SimpleNamespace(signature=typing.signature(result, *arguments))
        for arguments, result in results
    }
