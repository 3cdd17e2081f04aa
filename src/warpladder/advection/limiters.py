"""Limiters: how steep a scheme of second order may take the solution to be between two cells.

Of two neighbouring differences a limiter makes one slope. Where the signs differ there is an
extremum, and the slope is zero: so no new extremum comes up, and total variation never grows
(Harten 1983). Everywhere else they differ in how steep they dare to be (Sweby 1984), from minmod,
the flattest, to superbee, which turns a smooth hill into steps.

Stated once for CPU and GPU: a compiler of either makes functions of these. They are written with
comparisons, not with ``min`` and ``max``, so that every compiler and vector unit gives the same
bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpladder.advection.forms import LIMITERS

__all__ = ["slope_of"]


def slope_of(limiter: str, number: type, compiled: Callable[[Any], Any]) -> Any:
    """Return the compiled function of two differences that a limiter is.

    Parameters
    ----------
    limiter
        One of `LIMITERS`.
    number
        The cells' type, ``numpy.float32`` or ``numpy.float64``: constants are of this type, or
        compilers would go on in float64.
    compiled
        What makes a function of a Python function: `numba.njit`, or `numba.cuda.jit` for a device.

    Examples
    --------
    >>> import numpy as np
    >>> for limiter in LIMITERS:
    ...     slope = slope_of(limiter, np.float64, lambda function: function)
    ...     print(limiter, slope(1.0, 3.0), slope(-1.0, 3.0))
    minmod 1.0 0.0
    superbee 2.0 0.0
    van-leer 1.5 0.0
    mc 2.0 0.0
    """
    zero, half = number(0), number(0.5)

    @compiled
    def minmod(a: Any, b: Any) -> Any:
        if a > zero and b > zero:
            return a if a < b else b  # noqa: FURB136 - see above
        if a < zero and b < zero:
            return a if a > b else b  # noqa: FURB136 - see above
        return zero

    @compiled
    def superbee(a: Any, b: Any) -> Any:
        one, other = minmod(a + a, b), minmod(a, b + b)
        # Both have one sign, or both are zero.
        return one if abs(one) > abs(other) else other

    @compiled
    def van_leer(a: Any, b: Any) -> Any:
        if (a > zero and b > zero) or (a < zero and b < zero):
            # Not 2ab / (a + b): the product may overflow where the slope does not.
            return (a + a) * (b / (a + b))
        return zero

    @compiled
    def mc(a: Any, b: Any) -> Any:
        return minmod(minmod(a + a, b + b), (a + b) * half)

    return dict(zip(LIMITERS, (minmod, superbee, van_leer, mc), strict=True))[limiter]
