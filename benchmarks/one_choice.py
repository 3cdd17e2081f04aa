"""What a choice is: a constant of the engine, with calls on both sides of it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from reduction_cells import Cell

__all__ = ["CUT", "FORTRAN", "SECOND", "Choice", "flat", "over"]

CUT, SECOND, FORTRAN = "edges cut off", "every second", "in Fortran order"
#: More than any size is.
_HUGE = 1 << 40


class Choice(NamedTuple):
    """A constant, what is chosen by it, and calls on both sides.

    Attributes
    ----------
    name
        By which comments in the source call it.
    modules
        Those of the package that read the constant; it stands in, or comes to, the first.
    attribute
        Its name there.
    between
        What is chosen between.
    below, above
        Calls that the constant is larger than, and that it is not.
    least, most
        What it is in place of itself, so that calls below, and above, go the other way. Of a
        constant that is no bound, but a size, two other sizes.
    is_compiled
        Whether compiled functions read it, which are kept on disk without it: those that are
        compiled with another value need a folder of their own.
    """

    name: str
    modules: tuple[str, ...]
    attribute: str
    between: str
    below: tuple[Cell, ...]
    above: tuple[Cell, ...]
    least: int = 0
    most: int = _HUGE
    is_compiled: bool = False

    @property
    def constant(self) -> str:
        """The constant with the end of its module's name."""
        return f"{self.modules[0].rpartition('.')[2]}.{self.attribute}"

    def imported(self) -> Iterator[ModuleType]:
        """Yield the modules."""
        for module in self.modules:
            yield importlib.import_module(f"warpladder.reduction.{module}")

    @property
    def value(self) -> Any:
        """What the constant is."""
        return getattr(next(self.imported()), self.attribute)

    def cells(self, side: str) -> tuple[Cell, ...]:
        """Return the calls of a side, "below" or "above"."""
        return self.below if side == "below" else self.above

    def other_value(self, side: str) -> int:
        """Return what the constant is where calls of a side go the other way."""
        return self.least if side == "below" else self.most


def flat(operation: str, dtype: str, size: int, layout: str = "") -> Cell:
    """Return a call on all of some numbers."""
    return Cell(operation, dtype, (size,), None, layout=layout)


def over(
    axis: int | tuple[int, ...] | None,
    operation: str,
    dtype: str,
    *shape: int,
    layout: str = "",
    option: str = "",
) -> Cell:
    """Return a call over some axes, or all of them, of an array of a shape."""
    return Cell(operation, dtype, shape, axis, option, layout)
