"""Compiled functions that only compiled functions call, without what is made for other callers.

Numba makes two more functions of each that it compiles, one that Python calls and one for C, and
optimises all three; and it compiles a version of its own for each constant that a caller passes,
since the type of a literal 0 is not that of a number. Neither is of any use inside an engine, where
a few dozen small functions end up in one. Nor is machine code made of them: who calls one takes in
what LLVM has made of it so far, and has all in machine code of its own. So the first call of
`shortest_paths` on a matrix of float32 compiles for 4.4 to 4.6 s of CPU time instead of 11.2 to
11.6, of which 1.0 is machine code that nobody would call.

Numba also counts a reference to each array that a function gets, and lets go of it at the end: 10
ns and more for an atomic addition and a subtraction, unless it sees that nothing depends on them.
In loops over bytes, where a subroutine takes a few nanoseconds, that is half of the time: lines of
two numbers are scanned in 160 ns instead of 300. Nothing is lost: whoever calls it holds the
arrays.

What is Numba's own affair stands here only; `tests/device/test_subroutines.py` fails first when a
new Numba moves it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from numba import config, njit, typeof, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import ForceLiteralArg

from warpladder.device.compiler_flags import compare_what_is_set

__all__ = ["PartOfOthers", "constants_as_numbers", "entry_for", "subroutine"]


class _NoMachineCode:
    """What makes code, but has no place for the surroundings of a function in machine code."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        """Let go of surroundings; what needs them says `subroutine`."""


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that others take in, of which LLVM never makes machine code."""

    @property
    def codegen(self) -> Any:
        """See `numba.core.codegen.CodeLibrary`."""
        return _NoMachineCode(self._codegen)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class PartOfOthers(Compiler):  # type: ignore[misc]
    """What compiles functions for compiled callers alone; `numba.njit` takes it as a pipeline."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        if library is None:
            library = _LinkedLibrary(targetctx.codegen(), "part_of_others")
        super().__init__(typingctx, targetctx, library, *others)


def subroutine(
    function: Callable[..., Any] | None = None, *, counted: bool = True, **options: Any
) -> Any:
    """Compile a function for compiled callers alone; to call it from Python is a `TypeError`.

    It may raise exceptions of constants, but none of what is known at run time only, nor print:
    that takes what Numba keeps with machine code of its own.

    Parameters
    ----------
    function
        The function; without one, as where there are options, what takes it is returned.
    counted
        Whether references to arrays are counted. What makes arrays needs that; what takes some and
        is called for every few bytes is faster without.
    options
        As for `numba.njit`, which is given ``nogil`` in any case.

    Examples
    --------
    ::

        @subroutine
        def first(numbers):
            return numbers[0]
    """
    if function is None:
        return partial(subroutine, counted=counted, **options)
    if config.DISABLE_JIT:
        return function
    if not counted:
        options["_nrt"] = False
    name = function.__qualname__
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher: Any = njit(nogil=True, pipeline_class=PartOfOthers, **options)(function)
    compare_what_is_set(dispatcher)

    def keep(compiled: Any) -> None:
        # Not among what calls from Python find: there is nothing that they could jump to.
        dispatcher.overloads[tuple(compiled.signature.args)] = compiled

    def refuse(*_arguments: Any, **_named: Any) -> NoReturn:
        raise TypeError(
            f"{name} is compiled for compiled functions alone: from Python call its .py_func"
        )

    dispatcher.add_overload, dispatcher._compile_for_args = keep, refuse
    return constants_as_numbers(dispatcher)


def entry_for(dispatcher: Any, *arguments: Any) -> Callable[..., Any]:
    """Return a compiled function for arguments of the types of these, at which it does not look.

    Whoever calls it sees to it that arrays have that dtype and layout, and numbers that kind: what
    is otherwise is read as if it were so, wherever that is in memory. To find out of what types
    seven arguments are takes 0.36 us of a call's 0.62.

    Examples
    --------
    >>> from numba import njit
    >>> entry_for(njit(lambda number: 2 * number), 1)(21)
    42
    """
    return dispatcher.compile(tuple(map(typeof, arguments)))  # type: ignore[no-any-return]


def constants_as_numbers(dispatcher: Any) -> Any:
    """Let compiled callers that pass a constant share the version for numbers of its type.

    What has to know a constant, to make a vector of so many lanes, still has its own for each.
    """
    if config.DISABLE_JIT:
        return dispatcher
    resolve = dispatcher.get_call_template

    def resolve_numbers(arguments: Any, named: Any) -> Any:
        numbers = tuple(map(types.unliteral, arguments))
        named_numbers = {name: types.unliteral(kind) for name, kind in named.items()}
        try:
            return resolve(numbers, named_numbers)
        except ForceLiteralArg:
            return resolve(arguments, named)

    dispatcher.get_call_template = resolve_numbers
    return dispatcher
