"""Convergence: how fast errors vanish as the grid is refined, as an order that is observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.course import Course
from warpladder.advection.exact import Errors, errors_of, exact_solution, values_of
from warpladder.advection.intake import Cells, as_whole
from warpladder.advection.running import Engines, run
from warpladder.advection.setup import Setup, cells_at
from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError, InputTypeError

__all__ = ["Convergence", "as_grids", "converged", "sampled"]

# Cell-steps of the finest: an hour of the CPU's engine, of 3e8 to 1e9 a second on two cores.
_MOST_WORK = 1 << 40
# Of the finest: its start, two on the way, and the exact solution and differences in float64.
_STATES = 5


@dataclass(frozen=True, slots=True)
class Convergence:
    """Errors on grids each of which has twice the cells of the one before.

    Attributes
    ----------
    cells
        Of each grid.
    errors
        On each, the largest of all systems.
    scheme
        The scheme's name.

    Examples
    --------
    >>> table = Convergence((100, 200), (Errors(4.0, 4.0, 8.0), Errors(1.0, 2.0, 2.0)), "fromm")
    >>> table.orders
    (Errors(l1=2.0, l2=1.0, linf=2.0),)
    """

    cells: tuple[int, ...]
    errors: tuple[Errors, ...]
    scheme: str

    @property
    def orders(self) -> tuple[Errors, ...]:
        """The power of dx with which the errors fell from each grid to the next."""
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.log2(np.array(self.errors))
            return tuple(Errors(*row.tolist()) for row in table[:-1] - table[1:])

    def __str__(self) -> str:
        """Return a table, for people."""
        heads = (f"{norm:>11}{'order':>7}" for norm in ("L1", "L2", "Linf"))
        lines = [f"{self.scheme:>14}{''.join(heads)}"]
        for row, (cells, errors) in enumerate(zip(self.cells, self.errors, strict=True)):
            orders = self.orders[row - 1] if row else (None, None, None)
            columns = (
                f"{error:11.3g}{'-' if order is None else f'{order:.2f}':>7}"
                for error, order in zip(errors, orders, strict=True)
            )
            lines.append(f"{cells:14,}{''.join(columns)}")
        return "\n".join(lines)


def as_grids(given: Any, cells: int, steps: int, method: str) -> int:
    """Return a number of grids.

    Parameters
    ----------
    given
        What the caller wants.
    cells
        Of all systems together, on the first grid.
    steps, method
        That are taken there, and how.

    Raises
    ------
    InputError, InputTypeError
        It shows no order, or means endless work, or is no whole number.
    """
    grids = as_whole("grids", given)
    if grids < 2:
        raise InputError(
            f"grids={grids}: an order is seen from one grid to the next; give two grids or more"
        )
    # A jump takes no longer for more steps.
    work, times = (cells, "twice") if method == "jump" else (cells * max(steps, 1), "four times")
    doublings = max((_MOST_WORK // work).bit_length() - 1, 0)
    most = 1 + (doublings if method == "jump" else doublings // 2)
    if grids > most:
        fitting = f"at most {most}, or " if most > 1 else ""
        raise InputError(
            f"grids={grids}: each takes {times} the work of the one before, the last more than an "
            f"hour; give {fitting}fewer cells or steps"
        )
    return grids


def converged(
    setup: Setup, engines: Engines, initial: Callable[[Any], Any], steps: int, grids: int
) -> Convergence:
    """Run the same problem on finer and finer grids, each with half the dx and dt.

    Raises
    ------
    InputError
        There are fewer than two grids, or too many, or no steps.
    InputTypeError
        ``initial`` is no function, or ``grids`` no whole number.
    TooLargeError
        Memory does not hold the finest.
    """
    if not callable(initial):
        raise InputTypeError("initial: finer grids need a function of x, not cells")
    grids = as_grids(grids, setup.systems * setup.cells, steps, setup.method)
    if not steps:
        raise InputError(f"grids={grids}: errors are seen after at least one step; take some")
    course = setup.course
    state = setup.systems * setup.cells * setup.dtype.itemsize << (grids - 1)
    require_memory(_STATES * state, "grids: the cells of the finest")
    sizes, errors = [], []
    for factor in (2**level for level in range(grids)):
        finer = replace(
            setup,
            cells=setup.cells * factor,
            course=Course(course.courant, course.velocity, course.dx / factor, course.dt / factor),
        )
        start = sampled(finer, initial)
        ran = run(
            finer, replace(engines, device=None), Cells(start, start, is_single=False), 0,
            steps * factor, None, None, None,
        )  # fmt: skip
        found = errors_of(
            finer,
            ran.phi.reshape(finer.systems, finer.cells),
            exact_solution(finer, initial, steps * factor),
        )
        sizes.append(finer.cells)
        errors.append(Errors(*(float(np.max(norm)) for norm in found)))
    return Convergence(tuple(sizes), tuple(errors), setup.scheme.name)


def sampled(setup: Setup, initial: Callable[[Any], Any]) -> NDArray[Any]:
    """Return a function's values in the cells, (systems, cells)."""
    values = values_of(initial, cells_at(setup))
    return np.ascontiguousarray(np.broadcast_to(values, (setup.systems, setup.cells)), setup.dtype)
