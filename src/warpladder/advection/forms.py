"""What the engines take: the rule by which a cell changes, and what lies beyond the ends.

**One formula, the same bits everywhere.** A linear scheme is a sum over neighbours at ascending
offsets: one product, and then one fused multiply-add for each further neighbour::

    new = w[0] * phi[i + o[0]]
    new = fma(w[k], phi[i + o[k]], new)      for k = 1, 2, ...

Every engine, rung, vector width and device computes this and nothing else, so that all of them give
identical bits. A fused multiply-add is rounded once; without it the same sum takes two instructions
a neighbour, and on hardware that lacks it a library does it more slowly, with the same bits.
Lax-Friedrichs is two instructions a cell in this form, where GR's ``0.5 * ((r + l) - c * (r - l))``
is five.

A scheme with a limiter is written in differences, the cell's upwind neighbours first::

    d0, d1, d2 = phi[i-1] - phi[i-2], phi[i] - phi[i-1], phi[i+1] - phi[i]
    new = fma(-k, slope(d1, d2) - slope(d0, d1), fma(-c, d1, phi[i]))

with c the Courant number and k = c (1 - c) / 2. For a negative velocity the same is done in the
mirror: offsets change sign, and c is positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LIMITED_OFFSETS", "LIMITERS", "Edge", "Engine", "Limited", "Problem", "Stencil"]

LIMITERS = ("minmod", "superbee", "van-leer", "mc")
"""The limiters, in the order of their numbers in compiled code."""

LIMITED_OFFSETS = (-2, -1, 0, 1)
"""Neighbours that a scheme with a limiter reads, where the velocity is positive."""


@dataclass(frozen=True, slots=True, eq=False)
class Stencil:
    """A linear scheme.

    Attributes
    ----------
    offsets
        Of the neighbours read, ascending and distinct.
    weights
        Of each system and neighbour, shape (systems, neighbours), in the dtype of the cells.
    """

    offsets: tuple[int, ...]
    weights: NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Limited:
    """A scheme with a limiter, of second order where the solution is smooth.

    Attributes
    ----------
    limiter
        One of `LIMITERS`.
    courant
        Of each system, the absolute value c, in the dtype of the cells.
    correction
        Of each system, k = c (1 - c) / 2, worked out in float64 and rounded once.
    mirrored
        Whether the velocities are negative.
    """

    limiter: str
    courant: NDArray[np.floating]
    correction: NDArray[np.floating]
    mirrored: bool = False

    @property
    def offsets(self) -> tuple[int, ...]:
        """Of the neighbours read, ascending."""
        if self.mirrored:
            return tuple(-offset for offset in reversed(LIMITED_OFFSETS))
        return LIMITED_OFFSETS


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """What lies beyond one end of the cells.

    Attributes
    ----------
    kind
        ``"copy"``: the ghosts have the value of the cell at the end (homogeneous Neumann, outflow).
        ``"given"``: they have ``values``. ``"periodic"``: the cells of the other end; then both
        edges are.
    values
        Of each step from the first on, and of each system: shape (steps, systems), in the dtype of
        the cells. All ghosts of a step have the same value. Of other kinds it is None.
    """

    kind: Literal["copy", "given", "periodic"]
    values: NDArray[np.floating] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is computed: so many steps of systems of cells that know nothing of each other.

    Attributes
    ----------
    rule
        How a cell changes in a step.
    left, right
        What lies before the first cell and behind the last one.
    """

    rule: Stencil | Limited
    left: Edge
    right: Edge


class Engine(Protocol):
    """What advances cells.

    ``phi`` has shape (systems, cells), is C-contiguous, float32 or float64 in the native order of
    bytes, with at least one cell. It is the state before step ``first``, counted as `Edge.values`
    are, and is left as it is; what comes back is a new array.

    ``advanced`` is called now and then, in the calling thread, with how many steps are done since
    the last call, which may be a fraction; what it raises passes through, and no thread goes on.
    """

    def advance(
        self,
        problem: Problem,
        phi: NDArray[np.floating],
        first: int,
        steps: int,
        advanced: Callable[[float], None],
    ) -> NDArray[np.floating]:
        """Return the cells after so many steps."""
