"""The operations: what each has to accumulate, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.formats.values import REAL_NUMBERS
from warpladder.reduction.custom import AssociativeOp
from warpladder.reduction.parts import Fields

__all__ = ["OPS", "Op", "Request", "Sums", "parse_ops", "result_dtype"]

# Less has lost digits.
_LEAST_VARIANCE = float(np.finfo(np.float64).tiny)


class Sums(NamedTuple):
    """Fields of one reduction for every row, with the counts of elements and ``ddof``."""

    fields: Fields
    counts: NDArray[np.int64]
    ddof: float


def _field(name: str) -> Callable[[Sums], NDArray[Any]]:
    return lambda sums: sums.fields[name]


def _mean(sums: Sums) -> NDArray[Any]:
    fields = sums.fields
    if "mean" in fields:
        return fields["mean"]
    if "whole_low" in fields:
        return np.asarray((fields["whole_high"] * 2.0**32 + fields["whole_low"]) / sums.counts)
    return np.asarray(fields["total"] / sums.counts)


def _var(sums: Sums) -> NDArray[Any]:
    free = np.maximum(sums.counts - sums.ddof, 0)
    return np.asarray(sums.fields["deviation"] / free)


def _std(sums: Sums) -> NDArray[Any]:
    variances = _var(sums)
    deviations = np.asarray(np.sqrt(variances))
    if "spread" in sums.fields:
        # Where the square does not fit, its root may.
        lost = ~((variances > _LEAST_VARIANCE) & (variances < np.inf))
        counts = sums.counts[lost]
        free = np.maximum(counts - sums.ddof, 0)
        deviations[lost] = sums.fields["spread"][lost] * np.sqrt(counts / free)
    return deviations


def _logsumexp(sums: Sums) -> NDArray[Any]:
    peak = sums.fields["peak"]
    return np.where(np.isinf(peak), peak, peak + np.log(sums.fields["scaled"]))


def _all(sums: Sums) -> NDArray[Any]:
    return np.asarray(sums.fields["nonzero"] == sums.counts)


@dataclass(frozen=True, slots=True)
class Op:
    """An operation.

    Attributes
    ----------
    needs
        Folds for floats, names out of `states.FOLDS`.
    finish
        Makes the result of them.
    result
        Kind of its dtype: ``sum`` (small integers widen), ``real`` (integers become float64),
        ``element``, ``index`` or ``truth``.
    needs_of_integers
        Folds for integers, where they differ.
    is_defined_for_nothing
        Whether no elements have a result.
    can_reproduce
        Whether ``accuracy="reproducible"`` can be promised.
    """

    needs: tuple[str, ...]
    finish: Callable[[Sums], NDArray[Any]]
    result: Literal["sum", "real", "element", "index", "truth"]
    needs_of_integers: tuple[str, ...] | None = None
    is_defined_for_nothing: bool = True
    can_reproduce: bool = True

    def folds(self, *, of_integers: bool) -> tuple[str, ...]:
        """Return what is to be accumulated."""
        if of_integers and self.needs_of_integers is not None:
            return self.needs_of_integers
        return self.needs


OPS: dict[str, Op] = {
    "sum": Op(("total",), _field("total"), "sum"),
    "prod": Op(("product",), _field("product"), "sum", can_reproduce=False),
    "min": Op(("low",), _field("low"), "element", is_defined_for_nothing=False),
    "max": Op(("high",), _field("high"), "element", is_defined_for_nothing=False),
    "argmin": Op(("low", "low_at"), _field("low_at"), "index", is_defined_for_nothing=False),
    "argmax": Op(("high", "high_at"), _field("high_at"), "index", is_defined_for_nothing=False),
    "mean": Op(("total",), _mean, "real", ("whole",)),
    "var": Op(("moments",), _var, "real"),
    "std": Op(("moments",), _std, "real"),
    "any": Op(("nonzero",), lambda sums: sums.fields["nonzero"] > 0, "truth"),
    "all": Op(("nonzero",), _all, "truth"),
    "count_nonzero": Op(("nonzero",), _field("nonzero"), "index"),
    "logsumexp": Op(("exponential",), _logsumexp, "real", can_reproduce=False),
    "l1": Op(("absolute",), _field("absolute"), "real"),
    "l2": Op(("square",), _field("root"), "real"),
}
"""Every operation by its name; those that may meet NaN have a ``nan`` variant that skips it."""

_WITHOUT_NAN_VARIANT = ("any", "all", "count_nonzero")


class Request(NamedTuple):
    """One operation as asked for: its name, what it is, and whether NaNs do not count."""

    name: str
    op: Op | AssociativeOp
    skip_nan: bool


def parse_ops(asked: object) -> tuple[Request, ...]:
    """Return the operations asked for.

    Raises
    ------
    InputError, InputTypeError
        One is not known, or there are none, or a name stands twice.

    Examples
    --------
    >>> [(r.name, r.skip_nan) for r in parse_ops(("sum", "nanmin"))]
    [('sum', False), ('nanmin', True)]
    """
    if isinstance(asked, str | AssociativeOp):
        asked = (asked,)
    if not isinstance(asked, tuple | list):
        raise InputTypeError(
            f"op: a name, an AssociativeOp or a tuple of these is needed, not "
            f"{type(asked).__name__}; a function of yours goes into "
            "warpladder.AssociativeOp(function, identity)"
        )
    requests = tuple(_parse(one) for one in asked)
    names = [request.name for request in requests]
    if not names:
        raise InputError("op: at least one operation is needed")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"op: {twice!r} is asked for twice")
    return requests


def _parse(asked: object) -> Request:
    if isinstance(asked, AssociativeOp):
        return Request(asked.name, asked, skip_nan=False)
    if not isinstance(asked, str):
        raise InputTypeError(
            f"op: {asked!r} is no name of an operation; a function of yours goes into "
            "warpladder.AssociativeOp(function, identity)"
        )
    skips = asked.startswith("nan")
    name = asked.removeprefix("nan")
    if name not in OPS or (skips and name in _WITHOUT_NAN_VARIANT):
        with_nan = ", ".join(other for other in OPS if other not in _WITHOUT_NAN_VARIANT)
        raise InputError(
            f"op={asked!r} is not known; use one of {', '.join(OPS)}, with 'nan' before it to skip "
            f"NaNs ({with_nan}), or an AssociativeOp"
        )
    return Request(asked, OPS[name], skips)


def result_dtype(request: Request, values: np.dtype[Any], asked: DTypeLike | None) -> np.dtype[Any]:
    """Return the dtype of an operation's result for values of a dtype.

    Raises
    ------
    InputError
        ``asked`` cannot be taken.
    """
    op = request.op
    if isinstance(op, AssociativeOp):
        return values if asked is None else _asked_dtype(request, values, asked)
    if op.result == "element":
        return values
    if op.result in {"index", "truth"}:
        return np.dtype(np.intp if op.result == "index" else np.bool_)
    if asked is not None:
        return _asked_dtype(request, values, asked)
    if values.kind == "f":
        return values
    if op.result == "real":
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if values.kind == "u" else np.int64)


def _asked_dtype(request: Request, values: np.dtype[Any], asked: DTypeLike) -> np.dtype[Any]:
    dtype = np.dtype(asked)
    is_real = values.kind == "f" or (isinstance(request.op, Op) and request.op.result == "real")
    kinds = "f" if is_real else "iuf"
    if isinstance(request.op, AssociativeOp) and values.kind == "b":
        kinds += "b"
    if dtype.char not in REAL_NUMBERS or dtype.kind not in kinds:
        takes = "float16, float32 or float64" if is_real else "an integer or float dtype"
        raise InputError(
            f"dtype={dtype.name} cannot hold {request.name} of {values.name}; use {takes}"
        )
    return dtype
