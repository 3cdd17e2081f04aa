"""Compiled helpers that count no references to the arrays they take.

Numba counts a reference to each array that a function gets, and lets go of it at the end: 10 ns and
more for an atomic addition and a subtraction, unless it sees that nothing depends on them. In loops
over bytes, where helpers take a few nanoseconds, that is half of the time: lines of two numbers are
scanned in 160 ns instead of 300. Nothing is lost: whoever calls a helper holds the arrays.

The option that says so begins with an underscore in Numba; `tests/device/test_uncounted.py` fails
first when a new Numba moves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["uncounted"]


def uncounted(function: Callable[..., Any]) -> Any:
    """Compile a function that takes arrays and makes none, to be called by compiled code alone.

    Examples
    --------
    ::

        @uncounted
        def first(array):
            return array[0]
    """
    return njit(nogil=True, _nrt=False)(function)
