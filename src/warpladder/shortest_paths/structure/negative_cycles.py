"""Whether there is a cycle of negative weight, and if not, how negative a path can be.

Bellman-Ford from an imagined vertex with an edge of weight 0 to every other: each vertex gets a
*potential*, the least weight of any path that ends there. Only rows of vertices whose potential
fell are looked at again, and after each round the parents are searched for a cycle, so a negative
one is found as soon as it closes.

No cycle has edges between strong components: for floating-point weights, which are rounded when
potentials are added, those are left out, so that potentials are no larger than they must be. In a
graph without cycles they are all 0.

Sums are carried far beyond the weights' own precision: 64-bit integers for integers, pairs of
doubles (106 bits) for floating-point weights, and a cycle found there is confirmed with a correctly
rounded sum. Rounding so invents no negative cycle, and hides one only in a strong component where
weights differ by more than 106 bits in size.

Source: Bellman (1958), Ford (1956); Cherkassky & Goldberg, "Negative-cycle detection algorithms"
(1999).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.structure.cycles import vertex_on_cycle
from warpladder.shortest_paths.structure.strong_components import strong_components
from warpladder.shortest_paths.widening import DoesNotFitError

__all__ = ["BELOW_DISTANCES", "Cycle", "Potentials", "find_negative_cycle"]

BELOW_DISTANCES = -(2**61)
"""No integer dtype holds a distance so low; two such numbers still add up in 64 bits."""
# What `_settle` returns for a path of such a weight.
_TOO_LOW = -2


@dataclass(frozen=True, slots=True)
class Cycle:
    """Vertices of a cycle in order, and its weight."""

    vertices: list[int]
    weight: float


@dataclass(frozen=True, slots=True)
class Potentials:
    """For each vertex the least weight of a path that ends there, as the sum of two numbers.

    Attributes
    ----------
    high, low
        Shape (n,); ``low`` is zero for integer weights.
    component
        Shape (n,); only paths between vertices of the same number count, those of a strong
        component, or for integer weights all.
    """

    high: NDArray[Any]
    low: NDArray[np.float64]
    component: NDArray[np.int64]

    @property
    def floor(self) -> float:
        """Least weight of any path that counts, at most 0."""
        least: float = self.high.min(initial=0).item()
        return least


def find_negative_cycle(
    dist: NDArray[Any], component: NDArray[np.int64] | None = None
) -> tuple[Cycle | None, Potentials]:
    """Return a negative cycle or None, and the potentials, which are final where there is none.

    Parameters
    ----------
    dist
        Weights prepared by `dense.import_weights`. Integer weights must be above
        `BELOW_DISTANCES`.
    component
        As `Potentials` has it, where an earlier call for this graph has found it, whatever vertices
        have lost all edges since.

    Raises
    ------
    DoesNotFitError
        There is a path of integer weights down to `BELOW_DISTANCES`, found before any cycle.

    Examples
    --------
    >>> cycle, _ = find_negative_cycle(np.array([[0, 2], [-3, 0]], dtype="int32"))
    >>> cycle
    Cycle(vertices=[1, 0], weight=-1)
    """
    n = len(dist)
    is_integer = dist.dtype.kind == "i"
    parents = np.full(n, -1)
    if component is None:
        component = np.zeros(n, np.int64) if is_integer else strong_components(dist)
    high = np.zeros(n, np.int64 if is_integer else np.float64)
    potentials = Potentials(high, np.zeros(n), component)
    remainders = None if is_integer else potentials.low
    no_path = inner_no_path(dist.dtype)
    searched = component
    while (start := _settle(dist, no_path, searched, high, remainders, parents)) >= 0:
        vertices = [start]
        while (vertex := int(parents[vertices[-1]])) != start:
            vertices.append(vertex)
        vertices.reverse()
        ends = zip(vertices, vertices[1:] + vertices[:1], strict=True)
        edges = [dist[u, v].item() for u, v in ends]
        weight = sum(edges) if is_integer else math.fsum(edges)
        if weight < 0:
            return Cycle(vertices, weight), potentials
        # Only rounding has closed it, and would again and again: other components are left.
        given_up = searched == searched[start]
        searched = np.where(given_up, -1 - np.arange(n), searched)
        parents[given_up] = -1
    if start == _TOO_LOW:
        raise DoesNotFitError(f"there is a path of weight {high.min()} or less")
    return None, potentials


@cached
@njit(nogil=True)
def _settle(
    dist: Any, no_path: Any, component: Any, potentials: Any, remainders: Any, parents: Any
) -> Any:
    """Lower potentials until nothing changes (-1) or the parents close a cycle (a vertex on it).

    Or, of integers, until a path is too light for any distance (`_TOO_LOW`): without a cycle the
    parents of a vertex are a path, and its weight is the vertex's potential or less.
    """
    n = dist.shape[0]
    fell = np.ones(n, np.bool_)
    changed = True
    while changed:
        changed = False
        for u in range(n):
            if not fell[u]:
                continue
            fell[u] = False
            row = dist[u]
            for v in range(n):
                weight = row[v]
                if weight == no_path or component[v] != component[u]:
                    continue
                if remainders is None:
                    candidate = potentials[u] + weight
                    if candidate >= potentials[v]:
                        continue
                    potentials[v] = candidate
                    if candidate <= BELOW_DISTANCES:
                        parents[v] = u
                        vertex = vertex_on_cycle(parents, -1)
                        return vertex if vertex >= 0 else _TOO_LOW
                else:
                    total, rest = _add_to_pair(potentials[u], remainders[u], float(weight))
                    if total > potentials[v] or (total == potentials[v] and rest >= remainders[v]):
                        continue
                    potentials[v] = total
                    remainders[v] = rest
                parents[v] = u
                fell[v] = True
                changed = True
        if changed:
            vertex = vertex_on_cycle(parents, -1)
            if vertex >= 0:
                return vertex
    return -1


@subroutine
def _add_to_pair(high: Any, low: Any, value: Any) -> Any:
    """Add a double to a pair of doubles without losing bits (Knuth's two-sum, renormalised)."""
    total = high + value
    part = total - high
    error = (high - (total - part)) + (value - part) + low
    result = total + error
    return result, error - (result - total)
