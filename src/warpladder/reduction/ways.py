"""What short ways through `reduce` are made of, whose plan and bits are those of the long one."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.call import check_option
from warpladder.device.subroutines import entry_for
from warpladder.reduction import layout
from warpladder.reduction.copies import as_stored
from warpladder.reduction.intake import check_dtype
from warpladder.reduction.layout import NO_MASK
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import ACCURACIES, Plan, make_plan

__all__ = [
    "Asked",
    "Into",
    "Way",
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


Asked = str | np.ufunc | tuple[str, ...] | Into
"""One operation, or the names of several."""

Way = Callable[[NDArray[Any], NDArray[np.bool_], int], Any]
"""Called with an array, the marks that say which elements count (`NO_MASK` for all), and ``ddof``;
returns the result, None where the long way has to be gone."""

# 1, 1.0 and True are equal, and so are some dtypes of different scalars: none stands for another.
remembered = lru_cache(maxsize=1024, typed=True)


def asked_into(op: Asked, dtype: Any) -> Into | None:
    """Return an operation whose results are floats of a dtype, None where it is the long way's.

    So are integers, which wrap where they do not fit.
    """
    if isinstance(op, tuple):
        return None
    is_type = type(dtype) is type and (issubclass(dtype, np.generic) or dtype in {float, int, bool})
    if is_type or type(dtype) is str:
        try:
            dtype = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):
            return None
    is_known = isinstance(dtype, np.dtype) and dtype.isbuiltin == 1 and dtype.char in "efd"
    return Into(op, dtype, type(dtype)) if is_known else None


def long_way(_array: NDArray[Any], _marks: NDArray[np.bool_], _ddof: int) -> None:
    """Take the long way."""


def plan_of(op: Asked, values: np.dtype[Any], accuracy: str, masked: bool) -> Plan:
    """Return the plan of an operation.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    op, into = op[:2] if isinstance(op, Into) else (op, None)
    requests = parse_ops(op)
    check_option("accuracy", accuracy, ACCURACIES)
    check_dtype(values, "values")
    return make_plan(requests, values, into, accuracy, masked)


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
