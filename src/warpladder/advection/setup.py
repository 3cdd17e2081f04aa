"""What is computed, apart from what the cells hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.boundaries import Boundary
from warpladder.advection.course import Course
from warpladder.advection.intake import as_whole
from warpladder.advection.schemes import Scheme
from warpladder.errors import InputError

__all__ = ["Setup", "as_system", "cells_at", "times_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """A run but for its state: the same for each of its steps.

    Attributes
    ----------
    scheme, boundary, course
        As their modules say.
    method
        ``"steps"`` or ``"jump"``.
    systems, cells
        The shape.
    dtype
        Of the cells.
    is_single
        Whether results have no axis of systems.
    """

    scheme: Scheme
    boundary: Boundary
    course: Course
    method: str
    systems: int
    cells: int
    dtype: np.dtype[Any]
    is_single: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the cells as the caller has them."""
        return (self.cells,) if self.is_single else (self.systems, self.cells)


def as_system(given: Any, setup: Setup) -> int:
    """Return the number of a system, counted from the end where it is below 0.

    Raises
    ------
    InputError, InputTypeError
        It is not there, or no whole number.
    """
    number, count = as_whole("system", given), setup.systems
    if not -count <= number < count:
        raise InputError(f"system={number} is not there; the last of {count:,} is {count - 1}")
    return number % count


def cells_at(setup: Setup) -> NDArray[np.float64]:
    """Return the x of the cells."""
    return np.arange(setup.cells, dtype=np.float64) * np.float64(setup.course.dx)


def times_of(setup: Setup, steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the times after some steps."""
    return steps.astype(np.float64) * np.float64(setup.course.dt)
