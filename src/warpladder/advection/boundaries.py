"""What lies beyond the ends of the cells: specifications of callers, and the edges of engines.

A boundary acts by ghosts, cells before the first one and behind the last, that are set anew in each
step: copies of the cell at the end (``"neumann"``, GR's choice, whose derivative is zero, and
``"outflow"``, the same ghosts where the solution leaves), a value (``"dirichlet"``), a function of
time (``"inflow"``), or the cells of the other end (``"periodic"``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.forms import Edge
from warpladder.advection.intake import as_numbers
from warpladder.errors import InputError, InputTypeError

__all__ = ["Boundary", "Side", "as_boundary", "edge_of"]

_COPIES = ("neumann", "outflow")
_KNOWN = (
    'use "neumann", "periodic", "outflow", ("dirichlet", value), ("inflow", function of time), or '
    "a pair of these for the left and the right end"
)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """What lies beyond one end.

    Attributes
    ----------
    kind
        ``"copy"``, ``"value"``, ``"function"`` or ``"periodic"``.
    value
        Of each system, float64; or the function of time that returns it, or one number for all.
        None of the other kinds.
    """

    kind: str
    value: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """What lies beyond both ends.

    Attributes
    ----------
    left, right
        Where the velocity is not negative.
    follows_velocity
        Whether they change places where it is negative: an inflow is where the solution comes from.
    name
        For people.
    """

    left: Side
    right: Side
    follows_velocity: bool
    name: str

    @property
    def is_periodic(self) -> bool:
        """Whether the cells form a ring."""
        return self.left.kind == "periodic"

    def is_like(self, other: Boundary) -> bool:
        """Return whether both are the same, but for what functions of time return."""
        return self.follows_velocity == other.follows_velocity and all(
            mine.kind == its.kind
            and (mine.kind != "value" or np.array_equal(mine.value, its.value, equal_nan=True))
            for mine, its in ((self.left, other.left), (self.right, other.right))
        )

    def sides(self, *, mirrored: bool) -> tuple[Side, Side]:
        """Return what lies left and right of systems whose velocities have one sign."""
        if mirrored and self.follows_velocity:
            return self.right, self.left
        return self.left, self.right


def as_boundary(given: Any, systems: int) -> Boundary:
    """Return what callers call a boundary.

    Examples
    --------
    >>> as_boundary(("dirichlet", 2), 1).right
    Side(kind='value', value=array([2.]))
    >>> as_boundary((("inflow", np.cos), "outflow"), 1).name
    'inflow on the left, outflow on the right'
    """
    if isinstance(given, tuple | list) and len(given) == 2 and not _is_valued(given):
        left, right = (_as_side(one, systems) for one in given)
        if (left.kind == "periodic") != (right.kind == "periodic"):
            raise InputError('boundary: "periodic" joins both ends; give it alone')
        name = f"{_name(given[0])} on the left, {_name(given[1])} on the right"
        return Boundary(left, right, follows_velocity=False, name=name)
    side = _as_side(given, systems)
    if side.kind == "function":
        return Boundary(side, Side("copy"), follows_velocity=True, name="inflow and outflow")
    return Boundary(side, side, follows_velocity=False, name=_name(given))


def edge_of(
    side: Side, systems: NDArray[np.int64], first: int, steps: int, dt: float, dtype: np.dtype[Any]
) -> Edge:
    """Return an edge of some systems for some steps, the first of which is ``first``.

    The function of an inflow is asked for the time before each step, one at a time, so that its
    values do not depend on how a run is divided.
    """
    if side.kind in {"copy", "periodic"}:
        return Edge("copy" if side.kind == "copy" else "periodic")
    if side.kind == "value":
        value = np.empty(len(systems), dtype)
        _put(side.value[systems], value, "")
        return Edge("given", np.broadcast_to(value, (steps, len(systems))))
    values, is_wide = np.empty((steps, len(systems)), dtype), dtype.itemsize == 8
    for step in range(steps):
        time = (first + step) * dt
        if is_wide:
            # These hold whatever it is; not to look takes half of the time.
            values[step] = value_at(side, time, systems)
        else:
            _put(value_at(side, time, systems), values[step], f" at time {time}")
    return Edge("given", values)


def value_at(side: Side, time: float, systems: NDArray[np.int64]) -> Any:
    """Return what a side has at a time: a number, or one for each of some systems."""
    found = side.value if side.kind == "value" else side.value(time)
    return found[systems] if found.ndim else found


def _put(found: NDArray[Any], values: NDArray[Any], when: str) -> None:
    """Make numbers of the cells' dtype of what is beyond an end."""
    try:
        with np.errstate(over="raise", under="ignore"):
            values[...] = found
    except FloatingPointError:
        raise InputError(
            f"boundary: {found} beyond an end{when} is no number of {values.dtype}, as the cells "
            "are; give them as float64, or another value"
        ) from None


def _let_in(function: Callable[[float], Any], systems: int, time: float) -> NDArray[Any]:
    """Return what the function of an inflow has for all systems at a time."""
    returned = function(time)
    found = as_numbers(returned)
    if found.dtype.kind not in "iuf" or found.ndim > 1:
        raise InputTypeError(
            f"boundary: the function of an inflow returned {returned!r} at time {time}; a number "
            "is needed, or one for each system"
        )
    if found.shape not in {(), (systems,)}:
        raise InputError(
            f"boundary: the function of an inflow returned {len(found)} numbers at time {time}; "
            f"one is needed, or one for each of {systems} systems"
        )
    return found


def _is_valued(given: tuple[Any, ...] | list[Any]) -> bool:
    return isinstance(given[0], str) and given[0] in {"dirichlet", "inflow"}


def _as_side(given: Any, systems: int) -> Side:
    if isinstance(given, str):
        if given in _COPIES:
            return Side("copy")
        if given == "periodic":
            return Side("periodic")
    elif isinstance(given, tuple | list) and len(given) == 2 and _is_valued(given):
        kind, value = given
        if kind == "inflow":
            return _inflow(value, systems)
        return _dirichlet(value, systems)
    raise InputError(f"boundary={given!r} is not known; {_KNOWN}")


def _inflow(function: Callable[[float], Any], systems: int) -> Side:
    if not callable(function):
        raise InputTypeError(
            f"boundary: an inflow is a function of time, not {function!r}; a constant one is "
            '("dirichlet", value)'
        )
    return Side("function", partial(_let_in, function, systems))


def _dirichlet(value: Any, systems: int) -> Side:
    numbers = as_numbers(value)
    if numbers.dtype.kind not in "iuf" or numbers.shape not in {(), (systems,)}:
        raise InputTypeError(
            f'boundary: the value of "dirichlet" must be a number, or one for each of {systems} '
            f"systems, not {value!r}"
        )
    return Side("value", np.broadcast_to(numbers.astype(np.float64), systems))


def _name(given: Any) -> str:
    return given if isinstance(given, str) else str(given[0])
