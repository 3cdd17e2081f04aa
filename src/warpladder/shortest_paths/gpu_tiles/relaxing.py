"""Relaxations ``c = min(c, a + b)``, the operation that all kernels of the ladder are about."""

from __future__ import annotations

import numba
from numba import cuda, float64

from warpladder.device.instructions import relax_pairs
from warpladder.device.numba_target import overload
from warpladder.rung import Inner

__all__ = ["lesser", "relaxation"]


def lesser(a, b):
    """Return the lesser of two numbers, neither of them NaN."""
    return min(a, b)


@overload(lesser)
def _lesser_in_kernels(a, b):
    if a == b == float64:
        # There is no instruction for this minimum, and what `min` does about NaN costs five more.
        def lesser_double(a, b):
            if b < a:
                return b
            return a

        return lesser_double
    return lambda a, b: min(a, b)  # noqa: PLW0108 - Numba wants a function of these names


def relaxation(dtype: str) -> Inner:
    """Return the relaxation of numbers of this dtype; int16 goes in pairs."""
    if dtype == "int16":
        return Inner(relax_pairs, "int32", at_once=2)
    kind = getattr(numba, dtype)

    @cuda.jit(device=True)
    def relax(best, a, b):
        # Numba adds integers in 64 bits.
        return lesser(best, kind(a + b))

    return Inner(relax, dtype)
