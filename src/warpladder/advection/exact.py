"""The exact solution: the initial one, carried along.

phi(x, t) = phi(x - u t, 0) inside, and what the boundary let in behind it. On the cells' own grid
it is known where they have moved by whole cells; elsewhere only a function of x knows what is
between. Cell i is at x = i dx. On a ring cell n is cell 0 again; at other ends the ghosts are at
-dx and n dx.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.boundaries import Side, value_at
from warpladder.advection.intake import as_numbers
from warpladder.advection.setup import Setup
from warpladder.errors import InputError, InputTypeError

__all__ = ["Errors", "errors_of", "exact_solution", "plain", "values_of", "whole_cells"]

# Cells by which the solution has moved, so near a whole number, are whole: by the first part of
# them where they are few, by the second of a cell where they are many.
_SLACK, _MOST_SLACK = 1e-9, 1e-6
# And what rounding a Courant number may add, as a part of the cells moved.
_ROUNDING = 2.0**-50
# Where both are more, what is left over is as likely to be meant as to come from rounding.
_TELLING = 1e-3


class Errors(NamedTuple):
    """Norms of the difference from the exact solution, each a number or one for each system.

    Attributes
    ----------
    l1
        dx times the sum of absolute differences.
    l2
        The root of dx times the sum of their squares.
    linf
        The largest.
    """

    l1: Any
    l2: Any
    linf: Any


def errors_of(setup: Setup, computed: NDArray[Any], exact: NDArray[np.float64]) -> Errors:
    """Return the norms of a difference, of arrays whose last axis is that of cells."""
    dx = setup.course.dx
    # Of cells that are infinite, which the numbers tell, and of squares that vanish.
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        difference = np.abs(computed.astype(np.float64) - exact)
        return Errors(
            plain(dx * difference.sum(axis=-1)),
            plain(np.sqrt(dx * np.square(difference).sum(axis=-1))),
            plain(difference.max(axis=-1)),
        )


def plain(numbers: Any) -> Any:
    """Return a number as Python's own, and an array of them as it is."""
    return numbers if np.ndim(numbers) else float(numbers)


def whole_cells(courant: float, steps: int) -> int | None:
    """Return by how many cells so many steps move the solution, None where they are not whole.

    Examples
    --------
    >>> whole_cells(0.3, 10), whole_cells(0.5, 10**9), whole_cells(0.5, 10**9 + 1)
    (3, 500000000, None)
    """
    # A product of floats is whole whatever it stands for, where it is large enough.
    moved = Fraction(courant) * steps
    nearest = round(moved)
    cells = abs(nearest)
    slack = min(_SLACK * max(cells, 1), _MOST_SLACK) + _ROUNDING * cells
    # Where that is no small part of a cell, only a Courant number without rounding tells.
    is_whole = abs(moved - nearest) <= (slack if slack <= _TELLING else 0)
    return nearest if is_whole else None


def values_of(initial: Callable[[Any], Any], x: NDArray[np.float64]) -> NDArray[Any]:
    """Return what a function that callers give for the start has at each x.

    Raises
    ------
    InputTypeError
        That is no number for each.
    """
    returned = initial(x)
    values = as_numbers(returned)
    if values.dtype.kind not in "biuf" or values.shape not in {(), x.shape}:
        raise InputTypeError(
            f"initial: of an array of {len(x)} x it returned {values.dtype} of shape "
            f"{values.shape}; an array of as many numbers is needed"
        )
    return np.broadcast_to(values, x.shape)


def exact_solution(
    setup: Setup,
    initial: NDArray[Any] | Callable[[Any], Any],
    steps: int,
    system: int | None = None,
) -> NDArray[np.float64]:
    """Return the exact solution after so many steps, shape (systems, cells), in float64.

    Parameters
    ----------
    setup
        With a named boundary at the end where the solution comes in.
    initial
        The cells at the start, (systems, cells); or a function of an array of x.
    steps
        Since the start.
    system
        Of which alone; by default of all.

    Raises
    ------
    InputError
        The cells have not moved by whole cells, and there is no function.
    InputTypeError
        The function returns something else than a number for each x.
    """
    whole, n = np.arange(setup.cells), setup.cells
    asked = range(setup.systems) if system is None else [system]
    found = np.empty((len(asked), n))
    for row, number in zip(found, asked, strict=True):
        c = float(setup.course.courant[number])
        moved = whole_cells(c, steps)
        if callable(initial) and moved is not None and not _is_rounded(c, steps, moved):
            moved = None
        if moved is not None:
            # Which may be more than an array's integers are: they are those within a ring, too,
            # and beyond an end all places are alike.
            moved = moved % n if setup.boundary.is_periodic else max(-n, min(moved, n))
        elif not callable(initial):
            raise InputError(
                f"initial: the solution has moved by {c * steps:.12g} cells, and what lies "
                "between cells only a function knows; give exact(initial=...) a function of x"
            )
        # A function that jumps at a cell is asked there, not an error of rounding beside it.
        feet = whole - (c * steps if moved is None else moved)
        row[:] = _of_system(setup, initial, number, steps, feet)
    return found


def _is_rounded(courant: float, steps: int, moved: int) -> bool:
    """Return whether rounding alone keeps steps from moving by so many cells."""
    return abs(Fraction(courant) * steps - moved) <= Fraction(_ROUNDING) * abs(moved)


def _of_system(
    setup: Setup, initial: Any, system: int, steps: int, feet: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the solution where characteristics begin at ``feet``, in cells."""
    n, dx = setup.cells, setup.course.dx

    def at(places: NDArray[Any]) -> NDArray[np.float64]:
        found = values_of(initial, places * dx) if callable(initial) else initial[system, places]
        return found.astype(np.float64)

    if setup.boundary.is_periodic:
        return at(feet % n)
    c = float(setup.course.courant[system])
    inside = np.clip(feet, 0, n - 1)
    found = at(inside)
    left, right = setup.boundary.sides(mirrored=c < 0)
    entered, side = (feet < 0, left) if c >= 0 else (feet > n - 1, right)
    if side.kind != "copy":
        # How many cells each has come from the ghost.
        come = np.arange(n) + 1 if c >= 0 else n - np.arange(n)
        for i in np.flatnonzero(entered):
            found[i] = _let_in(side, (steps - come[i] / abs(c)) * setup.course.dt, system)
    return found


def _let_in(side: Side, time: float, system: int) -> float:
    value = np.asarray(value_at(side, max(time, 0.0), np.array([system])))
    return float(value.reshape(-1)[0])
