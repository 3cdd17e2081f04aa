"""The operations: what each has to accumulate, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from warpladder.errors import InputError, InputTypeError
from warpladder.formats.values import REAL_NUMBERS
from warpladder.reduction.custom import AssociativeOp
from warpladder.reduction.loops.states import Fields
from warpladder.reduction.rules import MOST_IN_TWO_WORDS

__all__ = [
    "LEAST_VARIANCE",
    "OPS",
    "Field",
    "Op",
    "Operation",
    "Request",
    "Sums",
    "parse_ops",
    "result_dtype",
]

Operation = str | np.ufunc | AssociativeOp
"""What stands for one operation. (To make this union takes longer than to look into it.)"""

LEAST_VARIANCE = float(np.finfo(np.float64).tiny)
"""A smaller one has lost digits."""


class Sums(NamedTuple):
    """Fields of one reduction for every row, with the counts of elements and ``ddof``.

    Or those of one row, as plain numbers. One number is the count that all rows have.
    """

    fields: Fields
    counts: Any
    ddof: float


@dataclass(frozen=True)
class Field:
    """Finishes what is one field as it stands."""

    name: str

    def __call__(self, sums: Sums) -> Any:
        """Return the field."""
        return sums.fields[self.name]


def _mean(sums: Sums) -> Any:
    fields = sums.fields
    if "mean" in fields:
        return fields["mean"]
    if "whole_low" in fields:
        high, counts = fields["whole_high"], sums.counts
        if not isinstance(counts, int) or counts > MOST_IN_TWO_WORDS:
            high = fields["whole_top"] * 2.0**32 + high
        # In place, which for a megabyte of sums is half of the time.
        means = high * 2.0**32
        means += fields["whole_low"]
        means /= counts
        return means
    return fields["total"] / sums.counts


def _var(sums: Sums) -> Any:
    free = sums.counts - sums.ddof
    free = np.maximum(free, 0) if isinstance(free, np.ndarray) else max(free, 0)
    return sums.fields["deviation"] / free


def _std(sums: Sums) -> Any:
    variances = _var(sums)
    deviations = np.sqrt(variances)
    if "spread" in sums.fields:
        # Where the square does not fit, its root may.
        lost = ~((variances > LEAST_VARIANCE) & (variances < np.inf))
        counts = np.broadcast_to(sums.counts, lost.shape)[lost]
        free = np.maximum(counts - sums.ddof, 0)
        deviations[lost] = sums.fields["spread"][lost] * np.sqrt(counts / free)
    return deviations


def _logsumexp(sums: Sums) -> Any:
    peak = sums.fields["peak"]
    if not isinstance(peak, np.ndarray):
        return peak if isinf(peak) else peak + float(np.log(sums.fields["scaled"]))
    infinite, found = np.isinf(peak), peak + np.log(sums.fields["scaled"])
    return np.where(infinite, peak, found) if np.count_nonzero(infinite) else found


def _all(sums: Sums) -> Any:
    return sums.fields["nonzero"] == sums.counts


def _ptp(sums: Sums) -> Any:
    low, high = sums.fields["low"], sums.fields["high"]
    if not isinstance(low, np.ndarray):
        return high - low
    if low.dtype.kind != "f":
        # Modulo the range of its dtype a difference that is not below 0 is what it is.
        return np.subtract(high, low).view(f"u{low.itemsize}")
    # Rounded to float64 first, it is that of a shorter dtype all the same, of half the digits.
    return high.astype(np.float64, copy=False) - low.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An operation; two are the same where they are one object, which is quick to see.

    Attributes
    ----------
    needs
        Folds for floats, names out of `states.FOLDS`.
    finish
        Makes the results of them: an array, or a number of plain numbers.
    result
        Kind of its dtype: ``sum`` (small integers widen), ``real`` (integers become float64),
        ``element``, ``range`` (likewise, where it fits), ``index`` or ``truth``.
    needs_of_integers
        Folds for integers, where they differ.
    is_defined_for_nothing
        Whether no elements have a result.
    can_reproduce
        Whether ``accuracy="reproducible"`` can be promised.
    takes_initial
        Whether a number may come before the elements.
    takes
        Kinds of dtypes for whose elements it is defined.
    remedy
        What to do with others.
    """

    needs: tuple[str, ...]
    finish: Callable[[Sums], Any]
    result: Literal["sum", "real", "element", "range", "index", "truth"]
    needs_of_integers: tuple[str, ...] | None = None
    is_defined_for_nothing: bool = True
    can_reproduce: bool = True
    takes_initial: bool = False
    takes: str = "biuf"
    remedy: str = ""

    @property
    def is_extreme(self) -> bool:
        """Whether it is NaN where NaNs do not count and there is nothing else."""
        return self.result in {"element", "range"}

    @property
    def is_place(self) -> bool:
        """Whether it is where an element is."""
        return self.result == "index" and not self.is_defined_for_nothing

    def folds(self, *, of_integers: bool) -> tuple[str, ...]:
        """Return what is to be accumulated."""
        if of_integers and self.needs_of_integers is not None:
            return self.needs_of_integers
        return self.needs


_Extremum = partial(Op, is_defined_for_nothing=False)

OPS: dict[str, Op] = {
    "sum": Op(("total",), Field("total"), "sum", takes_initial=True),
    "prod": Op(("product",), Field("product"), "sum", can_reproduce=False, takes_initial=True),
    "min": _Extremum(("low",), Field("low"), "element", takes_initial=True),
    "max": _Extremum(("high",), Field("high"), "element", takes_initial=True),
    "ptp": _Extremum(
        ("low", "high"),
        _ptp,
        "range",
        takes="iuf",
        remedy="use .astype('uint8')",
    ),
    "argmin": _Extremum(("low", "low_at"), Field("low_at"), "index"),
    "argmax": _Extremum(("high", "high_at"), Field("high_at"), "index"),
    "mean": Op(("total",), _mean, "real", ("whole",)),
    "var": Op(("moments",), _var, "real"),
    "std": Op(("moments",), _std, "real"),
    "any": Op(("nonzero",), lambda sums: sums.fields["nonzero"] > 0, "truth"),
    "all": Op(("nonzero",), _all, "truth"),
    "count_nonzero": Op(("nonzero",), Field("nonzero"), "index"),
    "logsumexp": Op(("exponential",), _logsumexp, "real", can_reproduce=False),
    "l1": Op(("absolute",), Field("absolute"), "real"),
    "l2": Op(("square",), Field("root"), "real"),
}
"""Every operation by its name; those that may meet NaN have a ``nan`` variant that skips it."""

_WITHOUT_NAN_VARIANT = ("any", "all", "count_nonzero")

# NumPy's functions of two numbers that reduce to the same.
_UFUNCS: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.minimum: "min",
    np.maximum: "max",
    np.fmin: "nanmin",
    np.fmax: "nanmax",
    np.logical_and: "all",
    np.logical_or: "any",
    np.logaddexp: "logsumexp",
}


class Request(NamedTuple):
    """One operation as asked for: its name, what it is, and whether NaNs do not count."""

    name: str
    op: Op | AssociativeOp
    skip_nan: bool


def _of_truths(ufunc: np.ufunc, name: str, identity: str) -> Request:
    """Return what a ufunc is of booleans; of integers it takes an operation of the caller's."""
    remedy = (
        f"as numpy.{ufunc.__name__} it is of booleans; of integers use "
        f"AssociativeOp(numpy.{ufunc.__name__}, identity), with the identity {identity}"
    )
    return Request(name, replace(OPS[name], takes="b", remedy=remedy), skip_nan=False)


_UFUNCS_OF_TRUTHS = {
    np.bitwise_and: _of_truths(np.bitwise_and, "all", "-1, or of unsigned integers the largest"),
    np.bitwise_or: _of_truths(np.bitwise_or, "any", "0"),
}


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
    if isinstance(asked, Operation):
        asked = (asked,)
    if not isinstance(asked, tuple | list):
        raise InputTypeError(
            f"op: a name, a NumPy ufunc, an AssociativeOp or a tuple of these is needed, not "
            f"{type(asked).__name__}; a function of yours goes into "
            "warpladder.AssociativeOp(function, identity)"
        )
    requests = tuple(_parse(one) for one in asked)
    names = [request.name for request in requests]
    if not names:
        raise InputError("op: at least one operation is needed")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        is_own = any(r.name == twice and isinstance(r.op, AssociativeOp) for r in requests)
        remedy = "; give AssociativeOp a name= of its own" if is_own else ""
        raise InputError(f"op: {twice!r} is asked for twice{remedy}")
    return requests


def _parse(asked: object) -> Request:
    if isinstance(asked, AssociativeOp):
        return Request(asked.name, asked, skip_nan=False)
    if isinstance(asked, np.ufunc):
        return _of_ufunc(asked)
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
            f"NaNs ({with_nan})"
        )
    return Request(asked, OPS[name], skips)


def _of_ufunc(asked: np.ufunc) -> Request:
    if asked in _UFUNCS_OF_TRUTHS:
        return _UFUNCS_OF_TRUTHS[asked]
    if asked not in _UFUNCS:
        known = ", ".join(one.__name__ for one in (*_UFUNCS, *_UFUNCS_OF_TRUTHS))
        raise InputError(
            f"op: the ufunc {asked.__name__} stands for no operation; use one of {known}, or, "
            "where it is associative, AssociativeOp(ufunc, identity)"
        )
    return _parse(_UFUNCS[asked])


def result_dtype(request: Request, values: np.dtype[Any], asked: DTypeLike | None) -> np.dtype[Any]:
    """Return the dtype of an operation's result for values of a dtype.

    Raises
    ------
    InputError
        ``asked`` cannot be taken, or the operation is not defined for such values.
    """
    op = request.op
    if isinstance(op, AssociativeOp):
        return values if asked is None else _asked_dtype(request, values, asked)
    if values.kind not in op.takes:
        raise InputError(f"op {request.name} is not defined for {values.name}; {op.remedy}")
    if op.result == "element":
        return values
    if op.result in {"index", "truth"}:
        return np.dtype(np.intp if op.result == "index" else np.bool_)
    if asked is not None:
        return _asked_dtype(request, values, asked)
    if values.kind == "f" or op.result == "range":
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
