"""One cell's step, as `warpladder.advection.forms` writes it: device functions for kernels.

Each is made for one rule, so that offsets are constants to the compiler: ``cell(cells, at,
numbers)`` returns the new value of the cell at the place ``at`` of an array that has its
neighbours, too. ``numbers`` are those of the system, as `numbers_of` lays them out.

A multiprocessor reads two registers a clock for each lane, and a fused multiply-add wants three. So
numbers that all systems share are given to a kernel with its launch, where they take no register to
read: a step of two neighbours then reads three for two operations, not five. Systems that differ
read theirs from an array, into registers.

The compiler may not make more fused multiply-adds of a formula than are written. A stencil gives it
no chance: its one product is the summand of the first of them. A limiter's slope may be a product,
and a product less another number would become one operation. So that addition is libdevice's,
which is left as it is.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from warpladder.advection.forms import Limited
from warpladder.advection.limiters import slope_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.advection.forms import Stencil

__all__ = ["ADD", "Form", "cell_of", "form_of", "number_of", "numbers_of", "shared_by_all"]

#: What a cell's step depends on and a kernel is made for: offsets, and of a scheme with a limiter
#: its name.
Form = tuple[tuple[int, ...], str | None]

#: Addition that is left as it is.
ADD = {"float32": libdevice.fadd_rn, "float64": libdevice.dadd_rn}


def form_of(rule: Stencil | Limited) -> Form:
    """Return what a kernel is made for."""
    return rule.offsets, rule.limiter if isinstance(rule, Limited) else None


def numbers_of(rule: Stencil | Limited) -> NDArray[Any]:
    """Return the numbers of each system, a row each: weights, or Courant number and correction."""
    if isinstance(rule, Limited):
        return np.ascontiguousarray(np.stack([rule.courant, rule.correction], axis=1))
    return np.ascontiguousarray(rule.weights)


def shared_by_all(numbers: NDArray[Any]) -> tuple[Any, ...] | None:
    """Return the numbers of every system, None where systems differ by a bit.

    Examples
    --------
    >>> shared_by_all(np.array([[0.5, 0.25], [0.5, 0.25]], np.float32))
    (np.float32(0.5), np.float32(0.25))
    >>> shared_by_all(np.array([[0.5, 0.25], [0.5, 0.75]]))
    """
    if not len(numbers) or numbers.tobytes() != numbers[0].tobytes() * len(numbers):
        return None
    return tuple(numbers[0])


@cache
def number_of(*, alike: bool) -> Any:
    """Return the device function ``number(numbers, system, which)``.

    ``numbers`` are a tuple where systems are alike, else an array, (systems, numbers).
    """

    @cuda.jit(device=True)
    def of_all(numbers: Any, _system: Any, which: Any) -> Any:
        return numbers[which]

    @cuda.jit(device=True)
    def of_system(numbers: Any, system: Any, which: Any) -> Any:
        return numbers[system, which]

    return of_all if alike else of_system


@cache
def cell_of(form: Form, dtype: str) -> Any:
    """Return the device function of a cell's step."""
    offsets, limiter = form
    if limiter is None:
        return _sum_of(offsets)
    return _limited(limiter, dtype, mirrored=offsets[-1] > 1)


def _sum_of(offsets: tuple[int, ...]) -> Any:
    first = offsets[0]

    @cuda.jit(device=True)
    def product(cells: Any, at: Any, numbers: Any) -> Any:
        return numbers[0] * cells[at + first]

    total = product
    for which, offset in enumerate(offsets[1:], 1):
        total = _added(total, which, offset)
    return total


def _added(before: Any, which: int, offset: int) -> Any:
    @cuda.jit(device=True)
    def total(cells: Any, at: Any, numbers: Any) -> Any:
        return cuda.fma(numbers[which], cells[at + offset], before(cells, at, numbers))

    return total


def _limited(limiter: str, dtype: str, *, mirrored: bool) -> Any:
    slope = slope_of(limiter, np.dtype(dtype).type, cuda.jit(device=True))
    add = ADD[dtype]
    side = -1 if mirrored else 1

    @cuda.jit(device=True)
    def cell(cells: Any, at: Any, numbers: Any) -> Any:
        far, near = cells[at - 2 * side], cells[at - side]
        here, next_ = cells[at], cells[at + side]
        d0, d1, d2 = near - far, here - near, next_ - here
        bend = add(slope(d1, d2), -slope(d0, d1))
        return cuda.fma(-numbers[1], bend, cuda.fma(-numbers[0], d1, here))

    return cell
