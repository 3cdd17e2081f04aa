"""Reductions with an operation of the caller's, compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import isfunction
from keyword import iskeyword
from typing import Any

import numpy as np
from numba import njit
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.blocks import chosen

__all__ = ["AssociativeOp", "custom_kernel", "custom_states", "merge_custom"]

_CHAINS = 8
_BLOCK = 4096


@dataclass(frozen=True)
class AssociativeOp:
    """An operation to reduce with, for ``reduce(values, AssociativeOp(...))``.

    Parameters
    ----------
    function
        ``function(a, b)`` of two numbers, compilable by Numba. It has to be associative: elements
        are combined in their order, but in groups. It need not be commutative.
    identity
        The number e with ``function(e, a) == a == function(a, e)``: the result for no elements.
    name
        What the result is called among several; by default the function's name.

    Examples
    --------
    >>> import math, warpladder as wl
    >>> gcd = wl.AssociativeOp(lambda a, b: math.gcd(a, b), identity=0, name="gcd")
    >>> wl.reduce([12, 18, 30], gcd)
    np.int64(6)
    """

    function: Callable[[Any, Any], Any]
    identity: Any
    name: str = ""

    def __post_init__(self) -> None:
        """Check the parts, and find a name."""
        if not callable(self.function):
            kind = type(self.function).__name__
            raise InputTypeError(f"function: a function of two numbers is needed, not {kind}")
        if np.ndim(self.identity) != 0 or np.asarray(self.identity).dtype.kind not in "biuf":
            raise InputTypeError(f"identity={self.identity!r} is no real number")
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
    """Return the states of ``rows`` reductions of nothing: the identity in the dtype."""
    value = np.asarray(op.identity).astype(dtype)
    if value != op.identity and op.identity == op.identity:
        raise InputError(
            f"op {op.name}: the identity {op.identity!r} is no {dtype.name}; give dtype="
        )
    return np.full(rows, value)


@cache
def _compiled(function: Callable[[Any, Any], Any]) -> Any:
    # What Numba has compiled already, or knows itself, as max, is taken as it is.
    return njit(nogil=True)(function) if isfunction(function) else function


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
        except NumbaError as fault:
            first = str(fault).strip().splitlines()
            raise InputError(
                f"op {op.name}: Numba cannot compile it for {args[-1].dtype.name}: {first[-1]}"
            ) from fault

    return call
