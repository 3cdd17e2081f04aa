"""The course of a run: velocity, distances of cells and of steps, and the Courant number they make.

With c = velocity dt / dx one of the four follows from the others. Callers give what they know; what
is missing, or too much, is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.intake import as_numbers, as_whole
from warpladder.advection.schemes import Scheme, check_own
from warpladder.errors import InputError, InputTypeError

__all__ = ["MOST_STEPS", "Course", "as_course", "as_steps", "check_stable"]

# Of quotients of numbers that were rounded themselves: t_end / dt, velocity dt / dx.
_SLACK = 1e-12
# A Courant number so near a whole one, in units in its last place, is meant to be that.
_UNITS = 4
MOST_STEPS = 2**53
"""Times are steps times dt in float64, which tells no single steps beyond."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """How the solution moves over the cells.

    Attributes
    ----------
    courant, velocity
        Of each system, float64, with their signs.
    dx, dt
        From cell to cell, and from step to step.
    """

    courant: NDArray[np.float64]
    velocity: NDArray[np.float64]
    dx: float
    dt: float


def as_course(
    systems: int,
    *,
    courant: Any,
    velocity: Any,
    dx: Any,
    dt: Any,
    steps: Any,
    t_end: Any,
) -> tuple[Course, int]:
    """Return the course of a run and its number of steps, from what is given of both.

    Raises
    ------
    InputError
        Something is missing, or does not go with the rest; the message says what to give.
    InputTypeError
        Something is no number.

    Examples
    --------
    >>> course, steps = as_course(
    ...     1, courant=0.5, velocity=2.0, dx=0.1, dt=None, steps=None, t_end=1.01
    ... )
    >>> steps, round(course.dt * steps, 12), course.courant
    (41, 1.01, array([0.49268293]))
    """
    given = _as_numbers("courant", courant, systems)
    known = _as_numbers("velocity", velocity, systems)
    dx, dt = _as_length("dx", dx), _as_length("dt", dt)
    steps = None if steps is None else as_steps(steps)
    t_end = None if t_end is None else _as_number("t_end", t_end)
    if t_end is not None and t_end < 0:
        raise InputError(
            f"t_end={t_end!r} is before the start, which is at 0; to go back, give the velocity "
            "with the other sign"
        )
    if known is None:
        if given is None:
            raise InputError(
                "courant=None: give the Courant number, or velocity and dx with dt or with the "
                "courant to be reached"
            )
        dx, dt = dx or 1.0, dt or 1.0
        with np.errstate(over="ignore", under="ignore"):
            velocity = given * dx / dt
        return _finite(given, velocity, dx, dt), _whole_steps(steps, t_end, dt)
    if dx is None:
        raise InputError("dx=None: beside a velocity dx is needed, the distance of two cells")
    if given is not None and dt is not None:
        raise InputError(
            f"courant={courant!r} does not go with velocity, dx and dt, which make one; leave out "
            "one of the four"
        )
    if given is not None:
        dt = _longest_dt(courant, known, dx)
        if t_end is not None and steps is None:
            steps = math.ceil(_countable(t_end, dt) * (1 - _SLACK))
            # Never longer, where that is what rounding makes of it: longer may not be stable.
            dt, t_end = min(dt, t_end / steps) if steps else dt, None
    elif dt is None:
        dt, t_end = _dt_of_both(steps, t_end), None
    with np.errstate(over="ignore", under="ignore"):
        made = known * dt / dx
    return _finite(made, known, dx, dt), _whole_steps(steps, t_end, dt)


def check_stable(scheme: Scheme, course: Course) -> None:
    """Refuse a Courant number with which errors grow until nothing else is left.

    Raises
    ------
    InputError
        The message states it, and the largest stable dt.
    """
    if scheme.limit is None:
        check_own(scheme, course.courant)
        return
    worst = int(np.argmax(np.abs(course.courant)))
    c, most = float(course.courant[worst]), scheme.limit
    if abs(c) <= most:
        return
    whose = f" of system {worst}" if len(course.courant) > 1 else ""
    # With all digits: with fewer, it may be the largest that is stable, and that dt may not be.
    raise InputError(
        f"courant={c!r}{whose}: {scheme.name} is stable up to {most:g} only; the largest stable "
        f"dt is {course.dt * most / abs(c)!r}; allow_unstable=True computes it all the same"
    )


def _finite(
    courant: NDArray[np.float64], velocity: NDArray[np.float64], dx: float, dt: float
) -> Course:
    """Return the course, of numbers each of which float64 has."""
    if not (0 < dt < math.inf and np.isfinite(courant).all() and np.isfinite(velocity).all()):
        raise InputError(
            f"dt={dt!r}: with dx={dx!r} this makes a Courant number or a velocity that float64 "
            "does not have; give numbers nearer to 1"
        )
    return Course(_snapped(courant), velocity, dx, dt)


def _countable(t_end: float, dt: float) -> float:
    """Return how many steps end there, not yet whole."""
    found = t_end / dt
    if found > MOST_STEPS:
        raise InputError(
            f"t_end={t_end!r} is {found:.10g} steps of dt={dt!r}, and no more than "
            f"{MOST_STEPS:,} can be told apart; give an earlier one, or longer steps"
        )
    return found


def _dt_of_both(steps: int | None, t_end: float | None) -> float:
    """Return the length of so many steps to an end."""
    if not steps or not t_end:
        raise InputError(
            "dt=None: give dt; or courant, for the dt that reaches it; or both steps and t_end"
        )
    return t_end / steps


def _longest_dt(courant: Any, velocity: NDArray[np.float64], dx: float) -> float:
    """Return the dt with which the fastest system has a Courant number."""
    target = _as_number("courant", courant) if np.ndim(courant) == 0 else math.nan
    if not target > 0:
        raise InputError(
            f"courant={courant!r}: beside a velocity it is the one to be reached by the fastest "
            "system; it must be one number above 0"
        )
    fastest = float(np.abs(velocity).max())
    if not fastest:
        raise InputError("velocity=0: nothing moves, so that courant makes no dt; give dt")
    dt = target * dx / fastest
    if not 0 < dt < math.inf:
        raise InputError(
            f"courant={courant!r}: with dx={dx!r} and the largest velocity, {fastest!r}, it makes "
            f"dt={dt!r}; give numbers nearer to 1"
        )
    return dt


def _whole_steps(steps: int | None, t_end: float | None, dt: float) -> int:
    if steps is None and t_end is None:
        raise InputError("steps=None: give steps, or t_end")
    if t_end is None:
        assert steps is not None  # noqa: S101 - one of them is given
        return steps
    if steps is not None:
        raise InputError(
            f"t_end={t_end!r} does not go with steps={steps} of dt={dt!r}; leave out one of them"
        )
    found = _countable(t_end, dt)
    nearest = round(found)
    if abs(found - nearest) > _SLACK * max(nearest, 1):
        below = math.floor(found)
        raise InputError(
            f"t_end={t_end!r} is {found:.10g} steps of dt={dt!r}; the nearest whole ones are "
            f"t_end={below * dt!r} and t_end={(below + 1) * dt!r}, and dt={t_end / (below + 1)!r} "
            f"hits it in {below + 1} steps"
        )
    return nearest


def _snapped(courant: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Courant numbers, whole ones where only rounding keeps them from being whole."""
    whole = np.rint(courant)
    return np.where(np.abs(courant - whole) <= _UNITS * np.spacing(np.abs(whole)), whole, courant)


def _as_numbers(name: str, given: Any, systems: int) -> NDArray[np.float64] | None:
    """Return one number for each system; None where none is given."""
    if given is None:
        return None
    numbers = as_numbers(given)
    if numbers.dtype.kind not in "iuf":
        raise InputTypeError(f"{name}={given!r} must be a number, or one for each system")
    if numbers.shape not in {(), (systems,)}:
        raise InputError(
            f"{name}: its shape is {numbers.shape}; one number is needed, or one for each of "
            f"{systems} systems"
        )
    if not np.isfinite(numbers).all():
        raise InputError(f"{name}={given!r} must be finite")
    return np.broadcast_to(numbers.astype(np.float64), systems)


def _as_number(name: str, given: Any) -> float:
    # An array without dimensions is a number, as it is for a Courant number alone.
    if hasattr(given, "item") and np.ndim(given) == 0:
        given = given.item()
    if not isinstance(given, Real) or isinstance(given, bool):
        raise InputTypeError(f"{name}={given!r} must be a number")
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name}={given!r} must be finite")
    return number


def _as_length(name: str, given: Any) -> float | None:
    if given is None:
        return None
    length = _as_number(name, given)
    if length <= 0:
        raise InputError(f"{name}={given!r} must be above 0")
    return length


def as_steps(given: Any) -> int:
    """Return a number of steps.

    Raises
    ------
    InputError, InputTypeError
        It is below 0, too large to tell single steps, or no whole number.
    """
    steps = as_whole("steps", given)
    if steps < 0:
        raise InputError(f"steps={steps} must not be below 0")
    if steps > MOST_STEPS:
        # Not quoted: Python does not print integers of thousands of digits.
        raise InputError(
            f"steps: there are more than {MOST_STEPS:,}, and float64 does not tell times of single "
            "steps beyond that; give fewer"
        )
    return steps
