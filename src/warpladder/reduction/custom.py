"""Reductions with an operation of the caller's, compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from inspect import isfunction
from keyword import iskeyword
from typing import Any

import numpy as np
from numba import njit, types
from numba.np.numpy_support import as_dtype, from_dtype
from numpy.typing import NDArray

from warpladder.device.compile_errors import compile_reason
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.loops.blocks import chosen
from warpladder.reduction.quiet import quietly

__all__ = [
    "AssociativeOp",
    "custom_kernel",
    "custom_states",
    "fits",
    "is_real",
    "merge_custom",
    "reason_of",
]

_CHAINS = 8
_BLOCK = 4096


@dataclass(frozen=True)
class AssociativeOp:
    """An operation to reduce with, for ``reduce(values, AssociativeOp(...))``.

    Parameters
    ----------
    function
        ``function(a, b)`` of two numbers, compilable by Numba. It has to be associative: elements
        are combined in their order, but in groups. It need not be commutative. What it returns has
        to fit the dtype in which is reduced: no float for integers, no complex number. Integers
        beyond it wrap.
    identity
        The number e with ``function(e, a) == a == function(a, e)``: the result for no elements. It
        has to be of the dtype in which is reduced; floats may be rounded.
    name
        What the result is called among several; by default the function's name.

    Raises
    ------
    InputError, InputTypeError
        A part cannot be used. By `warpladder.reduce`: the function cannot be compiled, returns what
        does not fit, or, on a CPU, raises something itself.

    Examples
    --------
    >>> import math, warpladder as wl
    >>> gcd = wl.AssociativeOp(lambda a, b: math.gcd(a, b), identity=0, name="gcd")
    >>> wl.reduce([12, 18, 30], gcd)
    np.int64(6)
    """

    function: Callable[[Any, Any], Any]
    identity: Any = field(compare=False)
    name: str = ""
    #: By which identities are told apart: 0.0, -0.0 and 0 are equal numbers.
    _identity_bits: tuple[str, bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the parts, and find a name."""
        if not callable(self.function):
            kind = type(self.function).__name__
            raise InputTypeError(f"function: a function of two numbers is needed, not {kind}")
        if not is_real(self.identity):
            raise InputTypeError(f"identity={self.identity!r} is no real number of 64 bits")
        if isinstance(self.identity, np.ndarray):
            object.__setattr__(self, "identity", self.identity[()])
        given = np.asarray(self.identity)
        object.__setattr__(self, "_identity_bits", (given.dtype.str, given.tobytes()))
        try:
            hash(self.function)
        except TypeError:
            kind = type(self.function).__name__
            raise InputTypeError(f"function: a {kind} has no hash; give a plain function") from None
        if not isinstance(self.name, str):
            raise InputTypeError(f"name={self.name!r} is no text")
        if self.name and (
            not self.name.isidentifier() or iskeyword(self.name) or self.name.startswith("_")
        ):
            raise InputError(f"name={self.name!r} cannot be the name of a field; use letters")
        if not self.name:
            name = getattr(self.function, "__name__", "")
            object.__setattr__(
                self, "name", name if name.isidentifier() and not name.startswith("_") else "custom"
            )


def custom_states(op: AssociativeOp, dtype: np.dtype[Any], rows: int) -> NDArray[Any]:
    """Return the states of ``rows`` reductions of nothing: the identity in the dtype.

    Raises
    ------
    InputError
        The operation cannot be compiled for the dtype, or it or its identity do not fit it.
    """
    _check(op, dtype)
    given = np.asarray(op.identity)
    if not fits(given, dtype):
        raise InputError(
            f"op {op.name}: the identity {op.identity!r} is no {dtype.name}; give another or dtype="
        )
    return np.full(rows, given.astype(dtype))


def fits(number: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype can hold a number; a finite float may be rounded, but stays finite."""
    value = quietly(number.astype, dtype)
    if dtype.kind == "f":
        return bool(np.isfinite(value) == np.isfinite(number))
    # Of 2^63 as a float int64 makes its largest number or its least.
    return bool(np.isfinite(number)) and int(value) == int(number) == number


def is_real(number: object) -> bool:
    """Return whether something is one real number of at most 64 bits."""
    if not isinstance(number, int | float | np.generic | np.ndarray) or np.ma.is_masked(number):
        return False
    return np.ndim(number) == 0 and np.asarray(number).dtype.kind in "biuf"


@cache
def _compiled(function: Callable[[Any, Any], Any]) -> Any:
    # What Numba has compiled already, or knows itself, as max, is taken as it is.
    return njit(nogil=True)(function) if isfunction(function) else function


@cache
def _returned(function: Callable[[Any, Any], Any], dtype: np.dtype[Any]) -> Any:
    """Return what Numba finds the function to return for two numbers of a dtype."""
    combine = _compiled(function)

    @njit(nogil=True)
    def call(a, b):  # type: ignore[no-untyped-def]
        return combine(a, b)

    number = from_dtype(dtype)
    call.compile((number, number))
    return types.unliteral(call.nopython_signatures[0].return_type)


def reason_of(fault: BaseException) -> str:
    """Return why Numba cannot compile an operation, in one line."""
    why = compile_reason(fault, "@numba.njit")
    # That is what it is called among ours.
    kind = why.removeprefix("kernels cannot use combine, which is of type ")
    return why if kind == why else f"it is {kind}; give a function made with def or lambda"


def _check(op: AssociativeOp, dtype: np.dtype[Any]) -> None:
    """Refuse an operation that cannot be compiled, or whose results do not fit the dtype.

    Kept among integers, a float would lose its fraction without a word.
    """
    try:
        returned = _returned(op.function, dtype)
    except Exception as fault:  # Numba lets through what its own checks of an operation raise
        raise InputError(
            f"op {op.name}: Numba cannot compile it for {dtype.name}: {reason_of(fault)}"
        ) from fault
    signatures = getattr(op.function, "signatures", ())
    if signatures and not any(_takes(signature, dtype) for signature in signatures):
        raise InputError(
            f"op {op.name}: Numba has compiled it for {signatures[0]} alone, which would cut off "
            f"what {dtype.name} has more; decorate it without a signature"
        )
    if not isinstance(returned, types.Boolean | types.Integer | types.Float):
        raise InputError(
            f"op {op.name}: Numba cannot compile it for {dtype.name}: it returns {returned}, which "
            "is no real number"
        )
    if _rank(as_dtype(returned)) > _rank(dtype):
        raise InputError(
            f"op {op.name}: it returns {returned} for {dtype.name}; give dtype='{returned}'"
        )


def _takes(signature: tuple[Any, ...], dtype: np.dtype[Any]) -> bool:
    """Return whether what is compiled for some types takes numbers of a dtype as they are."""
    are_numbers = all(isinstance(kind, types.Boolean | types.Number) for kind in signature)
    return are_numbers and all(np.can_cast(dtype, as_dtype(kind)) for kind in signature)


def _rank(dtype: np.dtype[Any]) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2}[dtype.kind]


@cache
def _kernels(function: Callable[[Any, Any], Any], dtype: str, masked: bool) -> tuple[Any, Any]:
    combine = _compiled(function)
    number = np.dtype(dtype).type

    @njit(nogil=True)
    def fold(data, mask, rows, length, pitch, states):  # type: ignore[no-untyped-def]
        buffer = np.empty(min(_BLOCK, length) if masked else 0, data.dtype)
        chains = np.empty(_CHAINS, states.dtype)
        for k in range(rows):
            for begin in range(k * pitch, k * pitch + length, _BLOCK):
                end = min(begin + _BLOCK, k * pitch + length)
                block = data[begin:end]
                if masked:
                    block = chosen(block, mask[begin:end], buffer)
                # Chains of neighbours that do not wait for each other, combined in order.
                part = block.size // _CHAINS
                if part > 1:
                    for j in range(_CHAINS):
                        chains[j] = number(block[j * part])
                    for i in range(1, part):
                        for j in range(_CHAINS):
                            chains[j] = combine(chains[j], number(block[j * part + i]))
                    for j in range(_CHAINS):
                        states[k] = combine(states[k], chains[j])
                for i in range(part * _CHAINS if part > 1 else 0, block.size):
                    states[k] = combine(states[k], number(block[i]))

    @njit(nogil=True)
    def merge(states, later):  # type: ignore[no-untyped-def]
        for k in range(states.size):
            states[k] = combine(states[k], later[k])

    return fold, merge


def custom_kernel(op: AssociativeOp, dtype: np.dtype[Any], masked: bool) -> Any:
    """Return the compiled loop ``fold(data, mask, rows, length, pitch, states)``."""
    return _explaining(op, _kernels(op.function, dtype.name, masked)[0])


def merge_custom(op: AssociativeOp, dtype: np.dtype[Any]) -> Any:
    """Return the compiled ``merge(states, later)``."""
    return _explaining(op, _kernels(op.function, dtype.name, False)[1])


def _explaining(op: AssociativeOp, kernel: Any) -> Any:
    def call(*args: Any) -> None:
        try:
            kernel(*args)
        except Exception as fault:  # whatever the operation raises
            raise InputError(f"op {op.name}: it raised {type(fault).__name__}: {fault}") from fault

    return call
