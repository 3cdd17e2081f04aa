"""What users of PyTorch and of CuPy write for each operation of `reduce`.

Functions are looked up when they are asked for: one that is missing is missing for its cases only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

import cupy
import torch

__all__ = ["OfTorch", "of_cupy", "of_torch", "own_max_of_cupy", "with_option"]

_INTEGERS = "int8", "int32"
_NAMES = {
    "sum": "sum",
    "prod": "prod",
    "min": "amin",
    "max": "amax",
    "argmin": "argmin",
    "argmax": "argmax",
    "mean": "mean",
    "var": "var",
    "std": "std",
    "any": "any",
    "all": "all",
    "count_nonzero": "count_nonzero",
    "logsumexp": "logsumexp",
    "l1": "linalg.vector_norm",
    "l2": "linalg.vector_norm",
    "nansum": "nansum",
    "nanmean": "nanmean",
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "var": {"correction": 0},
    "std": {"correction": 0},
    "l1": {"ord": 1},
}
#: What NaNs are replaced by where PyTorch has no function that skips them.
_FILLS = {
    "nanprod": 1.0,
    "nanmin": inf,
    "nanmax": -inf,
    "nanargmin": inf,
    "nanargmax": -inf,
    "nanlogsumexp": -inf,
    "nanl1": 0.0,
    "nanl2": 0.0,
}
_NOT_OF_CUPY = ("logsumexp", "l1", "l2", "nanptp", "nanlogsumexp", "nanl1", "nanl2")


class OfTorch(NamedTuple):
    """What PyTorch is called for; where it has no one function, in which steps it is done."""

    call: Callable[..., Any]
    steps: str = ""


def of_torch(op: str, dtype: str) -> OfTorch:
    """Return what is called with an array, and with ``dim`` for an axis.

    Raises
    ------
    AttributeError
        This PyTorch has no such function.
    """
    if op in _FILLS:
        plain = op.removeprefix("nan")
        return OfTorch(partial(_filled, _plain(plain), _FILLS[op]), f"masked_fill, {_NAMES[plain]}")
    match op:
        case "ptp":
            return OfTorch(_ptp, "aminmax, subtraction")
        case "nanptp":
            return OfTorch(_nanptp, "masked_fill, amin and amax, subtraction")
        case "nanvar":
            return OfTorch(_nanvar, "nanmean of squares of what is off nanmean")
        case "nanstd":
            return OfTorch(_nanstd, "nanmean of squares of what is off nanmean, sqrt")
    if dtype in _INTEGERS and op == "mean":
        return OfTorch(partial(torch.mean, dtype=torch.float64))
    if dtype in _INTEGERS and op in {"var", "std"}:
        return OfTorch(partial(_as_double, _plain(op)), f"double, {op}")
    return OfTorch(_plain(op))


def with_option(of: OfTorch, op: str, option: str, asked: Mapping[str, Any]) -> OfTorch:
    """Return what is called where ours is ``asked`` for something else besides."""
    call = of.call
    match option:
        case "masked" if op == "mean":
            return OfTorch(partial(_mean_of_masked, asked["where"]), "where, sum, by sum")
        case "masked":
            fill = -inf if op == "max" else 0.0
            masked = partial(_masked, call, asked["where"], fill)
            return OfTorch(masked, f"where, {_NAMES[op]}")
        case "from 1" if op == "max":
            return OfTorch(lambda values, **along: call(values, **along).clamp(1), "amax, clamp")
        case "from 1":
            return OfTorch(lambda values, **along: call(values, **along) + 1, "sum, addition")
        case "into float64":
            return OfTorch(partial(call, dtype=torch.float64))
        case "out":
            return OfTorch(partial(_into, call, asked["out"]))
        case "exact":
            return OfTorch(partial(_as_double, call), f"double, {_NAMES[op]}")
    return of


def of_cupy(op: str) -> Callable[..., Any] | None:
    """Return what is called with an array and its axis, None where CuPy has no one function."""
    return None if op in _NOT_OF_CUPY else getattr(cupy, op, None)


def own_max_of_cupy() -> Callable[..., Any]:
    """Return the largest number as an operation of the user's own, of CuPy."""
    kernel: Callable[..., Any] = cupy.ReductionKernel(
        "T x", "T y", "x", "a > b ? a : b", "y = a", "-INFINITY", "own_max"
    )
    return kernel


def _plain(op: str) -> Callable[..., Any]:
    function: Callable[..., Any] = attrgetter(_NAMES[op])(torch)
    return partial(function, **_OPTIONS[op]) if op in _OPTIONS else function


def _masked(plain: Callable[..., Any], mask: Any, fill: float, values: Any, **along: Any) -> Any:
    return plain(torch.where(mask, values, fill), **along)


def _mean_of_masked(mask: Any, values: Any, **along: Any) -> Any:
    return torch.where(mask, values, 0.0).sum(**along) / mask.sum(**along)


def _into(plain: Callable[..., Any], out: Any, values: Any, **along: Any) -> Any:
    # Without an axis there is no such argument.
    return plain(values, **({"dim": tuple(range(values.ndim))} | along), out=out)


def _filled(plain: Callable[..., Any], fill: float, values: Any, **along: Any) -> Any:
    return plain(values.masked_fill(values.isnan(), fill), **along)


def _as_double(plain: Callable[..., Any], values: Any, **along: Any) -> Any:
    return plain(values.double(), **along)


def _ptp(values: Any, **along: Any) -> Any:
    low, high = torch.aminmax(values, **along)
    return high - low


def _nanptp(values: Any, **along: Any) -> Any:
    missing = values.isnan()
    high = torch.amax(values.masked_fill(missing, -inf), **along)
    return high - torch.amin(values.masked_fill(missing, inf), **along)


def _nanvar(values: Any, dim: int) -> Any:
    off = values - torch.nanmean(values, dim=dim, keepdim=True)
    return torch.nanmean(off * off, dim=dim)


def _nanstd(values: Any, dim: int) -> Any:
    return _nanvar(values, dim).sqrt()
