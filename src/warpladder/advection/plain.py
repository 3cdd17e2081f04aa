"""The plain loop, one step over all cells at a time: what every other engine equals bit for bit.

Also the engine for systems so small that cutting them into tiles does not pay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.advection.forms import Edge, Limited, Problem
from warpladder.advection.limiters import slope_of
from warpladder.device.arithmetic import fma
from warpladder.device.kernel_cache import cached

__all__ = ["PlainEngine", "given_values"]

_KINDS = {"copy": 0, "given": 1, "periodic": 2}
_GIVEN, _PERIODIC = 1, 2
#: Cells times steps between two reports of progress.
_REPORT_EVERY = 1 << 26


def given_values(edge: Edge, first: int, steps: int, systems: int, dtype: Any) -> NDArray[Any]:
    """Return an edge's values for some steps, (steps, systems); no row where it has none."""
    if edge.values is None:
        return np.empty((0, systems), dtype)
    values = np.broadcast_to(edge.values[first : first + steps], (steps, systems))
    return np.ascontiguousarray(values)


@cached
@njit(nogil=True)
def _fill_ghosts(
    cells: Any, n: Any, before: Any, behind: Any, left: Any, right: Any, a: Any, b: Any
) -> None:
    """Set the ghosts of one system for a step; ``a`` and ``b`` are the values given, if any."""
    for ghost in range(before):
        place = before - 1 - ghost
        if left == _GIVEN:
            cells[place] = a
        else:
            cells[place] = (
                cells[before + (n - 1 - ghost) % n] if left == _PERIODIC else cells[before]
            )
    for ghost in range(behind):
        place = before + n + ghost
        if right == _GIVEN:
            cells[place] = b
        else:
            cells[place] = (
                cells[before + ghost % n] if right == _PERIODIC else cells[before + n - 1]
            )


@cached
@njit(nogil=True)
def _stencil_step(cells: Any, new: Any, n: Any, before: Any, offsets: Any, weights: Any) -> None:
    for i in range(before, before + n):
        value = weights[0] * cells[i + offsets[0]]
        for k in range(1, len(offsets)):
            value = fma(weights[k], cells[i + offsets[k]], value)
        new[i] = value


@cache
def _limited_step(limiter: str, dtype: str) -> Any:
    """Return the compiled step of a scheme with a limiter."""
    slope = slope_of(limiter, np.dtype(dtype).type, njit)

    @njit(nogil=True)
    def step(cells: Any, new: Any, n: Any, before: Any, side: Any, courant: Any, k: Any) -> None:
        # `side` is the direction from a cell to its downwind neighbour.
        for i in range(before, before + n):
            far, near, here, next_ = (
                cells[i - 2 * side], cells[i - side], cells[i], cells[i + side],
            )  # fmt: skip
            d0, d1, d2 = near - far, here - near, next_ - here
            new[i] = fma(-k, slope(d1, d2) - slope(d0, d1), fma(-courant, d1, here))

    return step


class PlainEngine:
    """One step after the other, one system after the other, in one thread."""

    def advance(
        self,
        problem: Problem,
        phi: NDArray[Any],
        first: int,
        steps: int,
        advanced: Callable[[float], None],
    ) -> NDArray[Any]:
        """Return the cells after so many steps, as `forms.Engine` says."""
        rule = problem.rule
        systems, n = phi.shape
        before, behind = max(-rule.offsets[0], 0), max(rule.offsets[-1], 0)
        left = given_values(problem.left, first, steps, systems, phi.dtype)
        right = given_values(problem.right, first, steps, systems, phi.dtype)
        kinds = _KINDS[problem.left.kind], _KINDS[problem.right.kind]
        offsets = np.array(rule.offsets)
        result = np.empty_like(phi)
        every = max(_REPORT_EVERY // n, 1)
        for system in range(systems):
            cells = np.empty(before + n + behind, phi.dtype)
            new = np.empty_like(cells)
            cells[before : before + n] = phi[system]
            for step in range(steps):
                a = left[step, system] if len(left) else phi.dtype.type(0)
                b = right[step, system] if len(right) else phi.dtype.type(0)
                _fill_ghosts(cells, n, before, behind, *kinds, a, b)
                if isinstance(rule, Limited):
                    _limited_step(rule.limiter, str(phi.dtype))(
                        cells, new, n, before, -1 if rule.mirrored else 1,
                        rule.courant[system], rule.correction[system],
                    )  # fmt: skip
                else:
                    _stencil_step(cells, new, n, before, offsets, rule.weights[system])
                cells, new = new, cells
                if (step + 1) % every == 0:
                    advanced(every / systems)
            result[system] = cells[before : before + n]
        return result
