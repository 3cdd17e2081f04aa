"""Schemes: of which neighbours a cell's next value is made, how exactly, and up to which speed.

With the Courant number c = velocity dt / dx, a step carries the solution by c cells. A linear
scheme finds it between the cells by a weighted mean of neighbours; which ones, and how many, sets
its order. Upwind schemes look where the solution comes from: in the mirror, where the velocity is
negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.forms import LIMITERS, Limited, Stencil
from warpladder.advection.intake import as_numbers
from warpladder.errors import InputError, InputTypeError

__all__ = ["SCHEMES", "Scheme", "amplification", "as_scheme", "check_own", "rule_of"]

_Weights = Callable[[NDArray[np.float64]], tuple[Any, ...]]

_FARTHEST, _FEWEST, _MOST = 4, 2, 5
# Of weights that a user has typed or worked out, as float64s.
_SLACK = 1e-9
# Weights of one's own whose sums, and those of what they carry, are numbers.
_LARGEST = 2.0**1000
# Waves at which the growth of one's own weights is looked at, from the longest to the shortest.
_WAVES = 2049


@dataclass(frozen=True, slots=True, eq=False)
class Scheme:
    """A scheme.

    Attributes
    ----------
    name
        For people, and as `warpladder.advect` takes it.
    order
        With which power of dx errors vanish where the solution is smooth; of own weights None,
        where it depends on the Courant number.
    limit
        The largest stable absolute Courant number; None for own weights, of which the growth of
        waves is looked at.
    offsets
        Of the neighbours, ascending, for a velocity that is not negative.
    weights
        Theirs, as a function of Courant numbers; None for a scheme with a limiter.
    is_upwind
        Whether a negative velocity is computed in the mirror, with the absolute Courant number.
    """

    name: str
    order: int | None
    limit: float | None
    offsets: tuple[int, ...]
    weights: _Weights | None
    is_upwind: bool


def _lax_friedrichs(c: NDArray[np.float64]) -> tuple[Any, ...]:
    return (1 + c) / 2, (1 - c) / 2


def _upwind(c: NDArray[np.float64]) -> tuple[Any, ...]:
    return c, 1 - c


def _lax_wendroff(c: NDArray[np.float64]) -> tuple[Any, ...]:
    return c * (1 + c) / 2, (1 - c) * (1 + c), -c * (1 - c) / 2


def _beam_warming(c: NDArray[np.float64]) -> tuple[Any, ...]:
    return -c * (1 - c) / 2, c * (2 - c), (1 - c) * (2 - c) / 2


def _fromm(c: NDArray[np.float64]) -> tuple[Any, ...]:
    # The mean of the two above.
    return -c * (1 - c) / 4, c * (5 - c) / 4, (1 - c) * (4 + c) / 4, -c * (1 - c) / 4


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("lax-friedrichs", 1, 1.0, (-1, 1), _lax_friedrichs, is_upwind=False),
        Scheme("upwind", 1, 1.0, (-1, 0), _upwind, is_upwind=True),
        Scheme("lax-wendroff", 2, 1.0, (-1, 0, 1), _lax_wendroff, is_upwind=False),
        Scheme("beam-warming", 2, 2.0, (-2, -1, 0), _beam_warming, is_upwind=True),
        Scheme("fromm", 2, 1.0, (-2, -1, 0, 1), _fromm, is_upwind=True),
        *(Scheme(name, 2, 1.0, (-2, -1, 0, 1), None, is_upwind=True) for name in LIMITERS),
    )
}
"""Those that have names: linear ones, and second order with a limiter (TVD)."""


def as_scheme(scheme: Any) -> Scheme:
    """Return a scheme by its name, or one of weights of the user's own.

    Parameters
    ----------
    scheme
        A name in `SCHEMES`; or a mapping of 2 to 5 offsets within -4 to 4 to their weights, each a
        number, an array with one for each system, or a function of the Courant number.

    Examples
    --------
    >>> as_scheme("fromm").order
    2
    >>> as_scheme({-1: lambda c: c, 0: lambda c: 1 - c}).offsets
    (-1, 0)
    """
    if isinstance(scheme, Mapping):
        return _own(scheme)
    if isinstance(scheme, str) and scheme in SCHEMES:
        return SCHEMES[scheme]
    raise InputError(
        f"scheme={scheme!r} is not known; use one of {', '.join(SCHEMES)}, or a mapping of offsets "
        "to weights, as {-1: 0.75, 1: 0.25}"
    )


def _own(given: Mapping[Any, Any]) -> Scheme:
    if not all(isinstance(o, int | np.integer) and not isinstance(o, bool) for o in given):
        raise InputTypeError(f"scheme: the offsets {[*given]} must be whole numbers of cells")
    offsets = tuple(sorted(int(offset) for offset in given))
    if not _FEWEST <= len(offsets) <= _MOST or max(map(abs, offsets)) > _FARTHEST:
        raise InputError(
            f"scheme: the offsets {[*offsets]} must be {_FEWEST} to {_MOST}, from "
            f"-{_FARTHEST} to {_FARTHEST}"
        )

    # Copies: a run goes on with these weights, whatever becomes of the caller's.
    weights = partial(
        _own_weights,
        {o: given[o] if callable(given[o]) else as_numbers(given[o]).copy() for o in offsets},
    )
    return Scheme("own weights", None, None, offsets, weights, is_upwind=False)


def _own_weights(given: dict[int, Any], c: NDArray[np.float64]) -> tuple[Any, ...]:
    return tuple(_numbers(offset, weight, c) for offset, weight in given.items())


def _numbers(offset: int, weight: Any, c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of one neighbour, one for each system."""
    # One at a time: a function may decide by comparing.
    found = as_numbers([weight(float(one)) for one in c] if callable(weight) else weight)
    # Of objects, as fractions are, NumPy makes floats; of text, too, which was hardly meant, and of
    # None, which a function without a return has, NaN.
    is_made = found.dtype.kind == "O" and None not in found.ravel().tolist()
    casting: Any = "unsafe" if is_made else "same_kind"
    try:
        numbers = np.broadcast_to(found.astype(np.float64, casting=casting), c.shape)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"scheme: the weight at offset {offset} must be a number, one for each of "
            f"{len(c)} systems, or a function of the Courant number that returns one"
        ) from None
    if not (np.abs(numbers) < _LARGEST).all():
        raise InputError(
            f"scheme: the weight at offset {offset} is not finite, or too large for sums of weights"
        )
    return numbers


def check_own(scheme: Scheme, courant: NDArray[np.float64]) -> None:
    """Refuse own weights that solve another equation, or that let a wave grow.

    Raises
    ------
    InputError
        They do not sum to 1, so that a constant does not stay one; they carry the solution by
        another distance than the Courant number says; or a wave grows (von Neumann).
    """
    weights = _table(scheme, courant)
    override = "allow_unstable=True computes it all the same"
    # Systems that are alike are looked at once.
    _, firsts = np.unique(np.column_stack((weights, courant)), axis=0, return_index=True)
    for number in sorted(firsts.tolist()):
        row, c = weights[number], courant[number]
        whose = f" of system {number}" if len(courant) > 1 else ""
        size = 1 + float(np.abs(row).sum())
        total = fsum(row)
        if abs(total - 1) > _SLACK * size:
            raise InputError(
                f"scheme: the weights{whose} sum to {total:.10g}, not 1, so that a constant would "
                f"not stay one; {override}"
            )
        # Not the negative of it: nobody is to be told of -0.
        carried = 0.0 - fsum(row * np.array(scheme.offsets))
        if abs(carried - c) > _SLACK * size:
            raise InputError(
                f"scheme: the weights{whose} carry the solution by {carried:.10g} cells a step, "
                f"and the Courant number is {c:.10g}; give courant={carried:.10g} or other "
                f"weights; {override}"
            )
        most = float(np.abs(amplification(scheme.offsets, row)).max())
        if most > 1 + _SLACK * size:
            raise InputError(
                f"scheme: with the weights{whose} a wave grows by a factor of {most:.10g} a step; "
                f"{override}"
            )


def amplification(offsets: tuple[int, ...], weights: NDArray[Any]) -> NDArray[np.complex128]:
    """Return by what a step multiplies waves, from the longest to the shortest: the symbol.

    Examples
    --------
    >>> amplification((-1, 0), np.array([0.5, 0.5]))[[0, -1]].round(12) + 0
    array([1.+0.j, 0.+0.j])
    """
    angles = np.linspace(0, np.pi, _WAVES)
    waves = np.exp(1j * np.multiply.outer(angles, np.array(offsets)))
    found: NDArray[np.complex128] = waves @ weights.astype(np.float64)
    return found


def rule_of(
    scheme: Scheme, courant: NDArray[np.float64], dtype: np.dtype[Any], *, mirrored: bool
) -> Stencil | Limited:
    """Return what engines take, for systems of one sign where the scheme is upwind.

    Examples
    --------
    >>> rule_of(SCHEMES["upwind"], np.array([-0.25]), np.dtype("f4"), mirrored=True)
    Stencil(offsets=(0, 1), weights=array([[0.75, 0.25]], dtype=float32))
    """
    c = np.abs(courant) if scheme.is_upwind else courant
    # What is computed though it is unstable may have weights beyond the dtype.
    with np.errstate(all="ignore"):
        if scheme.weights is None:
            correction = (c * (1 - c) / 2).astype(dtype)
            return Limited(scheme.name, c.astype(dtype), correction, mirrored=mirrored)
        weights = _rounded(_table(scheme, c), dtype)
    if scheme.is_upwind and mirrored:
        offsets = tuple(-offset for offset in reversed(scheme.offsets))
        return Stencil(offsets, np.ascontiguousarray(weights[:, ::-1]))
    return Stencil(scheme.offsets, weights)


def _table(scheme: Scheme, courant: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of a linear scheme in float64, shape (systems, neighbours)."""
    assert scheme.weights is not None  # noqa: S101 - callers look
    columns = scheme.weights(courant)
    return np.stack([np.broadcast_to(column, courant.shape) for column in columns], axis=1)


def _rounded(weights: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Round weights to multiples of one unit, so that those that sum to 1 do so exactly.

    Each rounded by itself, they would sum to something like 1 + 2^-25 in float32, and the mean of
    all cells would grow by that factor in every step: by 0.3 % in 10^5 steps of Lax-Friedrichs,
    where now it changes by 10^-6 or so. (What is left is how sums are rounded; upwind, at c = 0.7,
    has 3e-4 of that.) What is lost is that small weights have the unit of the largest.
    """
    _, exponents = np.frexp(np.abs(weights).max(axis=1, keepdims=True))
    units = np.ldexp(np.finfo(dtype).eps / 2, exponents)
    # Whole numbers below 2^53; as integers they are added without rounding.
    counts = np.rint(weights / units).astype(np.int64)
    missing = (1 / units[:, 0]).astype(np.int64) - counts.sum(axis=1)
    rows = np.arange(len(counts))
    counts[rows, np.abs(counts).argmax(axis=1)] += missing
    is_mean = np.abs(weights.sum(axis=1, keepdims=True) - 1) <= _SLACK
    return np.where(is_mean, counts * units, weights).astype(dtype)
