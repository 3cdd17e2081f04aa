"""The number that comes before all elements: `numpy.sum`'s ``initial``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.custom import AssociativeOp, fits, is_real
from warpladder.reduction.ops import OPS, Op, Request

__all__ = ["as_initial"]


def as_initial(
    initial: Any, requests: Sequence[Request], dtypes: Sequence[np.dtype[Any]]
) -> NDArray[Any]:
    """Return what comes before the elements as an array without dimensions.

    NumPy casts it, and of 2.5 for integers makes 2 without a word; here it has to fit.

    Parameters
    ----------
    initial
        What the caller gave.
    requests
        The operations.
    dtypes
        Of their results.

    Raises
    ------
    InputError, InputTypeError
        It has no meaning for an operation, or is no number of the dtype of its result.

    Examples
    --------
    >>> from warpladder.reduction.ops import parse_ops
    >>> as_initial(3.0, parse_ops("max"), [np.dtype("int8")])
    array(3)
    """
    if not is_real(initial):
        raise InputTypeError(f"initial={initial!r} is no real number of 64 bits")
    given = np.asarray(initial)
    for request, dtype in zip(requests, dtypes, strict=True):
        if isinstance(request.op, Op) and not request.op.takes_initial:
            able = ", ".join(name for name, op in OPS.items() if op.takes_initial)
            raise InputError(
                f"initial={initial!r} has no meaning for {request.name}; leave it out, or ask for "
                f"{able} alone, which take one"
            )
        if not fits(given, dtype):
            remedy = "give another"
            if isinstance(request.op, AssociativeOp) or request.op.result == "sum":
                remedy += ", or a wider dtype="
            raise InputError(
                f"initial={initial!r} is no {dtype.name}, as {request.name} is; {remedy}"
            )
        if request.skip_nan and np.isnan(given):
            raise InputError(f"initial=nan: {request.name} skips NaNs; leave it out")
    # A whole number among integers: 2.0^63 is no int64 on the way to uint64.
    return given if any(dtype.kind == "f" for dtype in dtypes) else np.asarray(int(given))
