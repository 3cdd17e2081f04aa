"""Waves that go around a ring of cells, by schemes as textbooks have them.

After as many cells as the ring has, the exact solution is where it began, whatever its shape: so
what is left of a wave can be compared with the wave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.advection.forms import Edge, Limited, Problem, Stencil
from warpladder.advection.plain import PlainEngine
from warpladder.advection.schemes import SCHEMES

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["LINEAR", "advance", "hill", "square", "stencil_of"]

#: Those whose cells are sums of neighbours; the others have a limiter.
LINEAR = tuple(name for name, scheme in SCHEMES.items() if scheme.weights)


def stencil_of(scheme: str, courant: float, dtype: DTypeLike = np.float64) -> Stencil:
    """Return a linear scheme with its weights, each rounded by itself.

    (The library's calls round them together, so that they add up to 1: see `schemes`.)

    Examples
    --------
    >>> stencil_of("upwind", 0.25).weights
    array([[0.25, 0.75]])
    """
    found = SCHEMES[scheme]
    assert found.weights is not None  # noqa: S101 - it is linear
    weights = np.stack(found.weights(np.array([courant])), axis=1)
    return Stencil(found.offsets, weights.astype(dtype))


def advance(
    scheme: str, phi: NDArray[Any], courant: float, steps: int, first: int = 0
) -> NDArray[Any]:
    """Return the cells after so many steps on a ring, in their own dtype.

    Examples
    --------
    >>> advance("upwind", np.array([1.0, 2.0, 3.0]), 1.0, 1)
    array([3., 1., 2.])
    """
    dtype = phi.dtype
    rule: Stencil | Limited
    if scheme in LINEAR:
        rule = stencil_of(scheme, courant, dtype)
    else:
        correction = courant * (1 - courant) / 2
        rule = Limited(scheme, np.array([courant], dtype), np.array([correction], dtype))
    ring = Problem(rule, Edge("periodic"), Edge("periodic"))
    moved = PlainEngine().advance(ring, phi[None], first, steps, lambda _steps: None)
    found: NDArray[Any] = moved[0]
    return found


def hill(n: int) -> NDArray[np.float64]:
    """Return a Gaussian hill in the middle, a fortieth of the ring its standard deviation."""
    return np.exp(-(((np.arange(n) - n / 2) / (n / 40)) ** 2) / 2)


def square(n: int) -> NDArray[np.float64]:
    """Return 1 on the second quarter of the ring, a cell at least, and 0 elsewhere."""
    place = np.arange(n)
    return ((n // 4 <= place) & (place < max(n // 2, 1))).astype(np.float64)
