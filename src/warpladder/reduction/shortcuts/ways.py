"""What short ways through `reduce` are made of, whose plan and bits are those of the long one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.call import check_option
from warpladder.device.subroutines import entry_for
from warpladder.reduction.answers import naming
from warpladder.reduction.intake import check_dtype
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import NO_MASK
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import ACCURACIES, Plan, make_plan

__all__ = [
    "Asked",
    "Into",
    "Unrounded",
    "Way",
    "answering",
    "as_plain_dtype",
    "asked_into",
    "long_way",
    "loop_of",
    "most_of_one_tile",
    "plan_of",
    "remembered",
]


class Into(NamedTuple):
    """An operation whose results are to have a dtype.

    Dtypes that are equal may have scalars of their own, but are of types that differ.
    """

    op: str | np.ufunc
    dtype: np.dtype[Any]
    kind: type


class Unrounded(NamedTuple):
    """A sum of floats that is wanted as float64, in which it is kept, before it is rounded."""

    op: str | np.ufunc | Into


Asked = str | np.ufunc | tuple[str, ...] | Into | Unrounded
"""One operation, or the names of several."""

Way = Callable[[NDArray[Any], NDArray[np.bool_], int], Any]
"""Called with an array, the marks that say which elements count (`NO_MASK` for all), and ``ddof``;
returns the result, None where the long way has to be gone."""

# 1, 1.0 and True are equal, and so are some dtypes of different scalars: none stands for another.
remembered = lru_cache(maxsize=1024, typed=True)


def asked_into(op: Asked, dtype: Any) -> Into | None:
    """Return an operation whose results are floats of a dtype, None where it is the long way's.

    So are integers, which wrap where they do not fit; see `afterwards`.
    """
    try:
        return _asked_into(op, dtype)
    except TypeError:
        # It cannot be looked up.
        return None


@remembered
def _asked_into(op: Asked, dtype: Any) -> Into | None:
    if isinstance(op, tuple):
        return None
    plain = as_plain_dtype(dtype)
    return Into(op, plain, type(plain)) if plain is not None and plain.char in "efd" else None


def as_plain_dtype(dtype: Any) -> np.dtype[Any] | None:
    """Return one of NumPy's own dtypes, in this machine's byte order; None for what is not plain.

    Examples
    --------
    >>> as_plain_dtype("i2"), as_plain_dtype(">i2"), as_plain_dtype("f8, f8")
    (dtype('int16'), None, None)
    """
    is_type = type(dtype) is type and (issubclass(dtype, np.generic) or dtype in {float, int, bool})
    if is_type or type(dtype) is str:
        try:
            dtype = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):
            return None
    return dtype if isinstance(dtype, np.dtype) and dtype.isbuiltin == 1 else None


def long_way(_array: NDArray[Any], _marks: NDArray[np.bool_], _ddof: int) -> None:
    """Take the long way."""


def plan_of(op: Asked, values: np.dtype[Any], accuracy: str, masked: bool) -> Plan:
    """Return the plan of an operation.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    if isinstance(op, Unrounded):
        plan = plan_of(op.op, values, accuracy, masked)
        return replace(plan, dtypes=(np.dtype(np.float64),))
    op, into = op[:2] if isinstance(op, Into) else (op, None)
    requests = parse_ops(op)
    check_option("accuracy", accuracy, ACCURACIES)
    check_dtype(values, "values")
    return make_plan(requests, values, into, accuracy, masked)


def answering(op: Asked, plan: Plan) -> Callable[[list[Any]], Any]:
    """Return what makes of results what is answered for operations."""
    # One has no name in its answer.
    return naming(plan.requests, op if type(op) is tuple else "")


@remembered
def loop_of(op: Asked, values: np.dtype[Any], accuracy: str, masked: bool) -> Callable[..., Any]:
    """Return the loop over rows of a plan that is plain."""
    # Kept for all shapes: to find it takes 0.1 ms.
    part = plan_of(op, values, accuracy, masked).parts[0]
    sample = as_stored(np.empty(0, values))
    return entry_for(part.loop, sample, NO_MASK, 1, 1, 1, 0, part.new(1))


def most_of_one_tile(plan: Plan, length: int) -> int:
    """Return up to how many bytes an array is one tile of rows of a length."""
    # What is gone through more than once is cut to fit the caches.
    return layout.most_of_one_tile(length) if len(plan.parts) == 1 else layout.CACHED_BYTES
