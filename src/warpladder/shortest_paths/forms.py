"""The forms in which a graph is given: its edges, or a matrix of weights, here or on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from warpladder.device.foreign import is_on_gpu, to_numpy
from warpladder.shortest_paths.no_edge import is_absent

__all__ = ["Dense", "Edges", "Matrix"]


@dataclass(frozen=True, eq=False)
class Edges:
    """A graph of n vertices by its edges.

    Attributes
    ----------
    n
        Number of vertices.
    sources, targets
        Ends of the edges, shape (m,).
    weights
        Their weights, shape (m,), or None where every edge counts 1.
    directed
        False where each edge stands for both directions.
    """

    n: int
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[Any] | None
    directed: bool

    @property
    def edge_count(self) -> int:
        """Number of edges, as given."""
        return int(self.sources.size)

    @property
    def components(self) -> int:
        """Number of connected components, directions ignored."""
        from warpladder.shortest_paths.structure.components import count_components

        return count_components(self.n, self.sources, self.targets)

    def counted(self, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """Return which of the edges ``[first, last)`` count: no infinite one, no idle loop.

        A loop is idle that is not negative; one of NaN counts, to be refused.
        """
        part = slice(first, last)
        counted: NDArray[np.bool_] = self.sources[part] != self.targets[part]
        if self.weights is not None:
            counted |= ~(self.weights[part] >= 0)
            counted &= self.weights[part] != np.inf
        return counted


@dataclass(frozen=True, eq=False)
class Dense:
    """Weights of all pairs of vertices: of one graph (`Matrix`), or of each of many (`Batch`).

    Attributes
    ----------
    weights
        Shape (..., n, n), NumPy's or any library's array on a GPU.
    no_edge
        The value in them that means "no edge", of their dtype; infinity always does.
    """

    weights: Any
    no_edge: Any

    @property
    def n(self) -> int:
        """Number of vertices."""
        return int(self.weights.shape[-1])

    @property
    def is_on_gpu(self) -> bool:
        """Whether the weights are on a GPU."""
        return is_on_gpu(self.weights)

    @cached_property
    def on_host(self) -> Self:
        """The same with its weights on the host, copied there on first use."""
        return type(self)(to_numpy(self.weights), self.no_edge) if self.is_on_gpu else self

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where there is an edge, on the host."""
        return ~is_absent(self.on_host.weights, self.no_edge)

    def counted(self, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """Return where there is an edge that counts, in ``weights[first:last]`` on the host.

        On the diagonal only what is negative counts, and NaN, to be refused.
        """
        part = self.on_host.weights[first:last]
        found = ~is_absent(part, self.no_edge)
        # The first axis of one graph is that of its rows, of many it is theirs.
        rows = np.arange(len(part) if part.ndim == 2 else self.n)
        own = (..., rows, rows + (first if part.ndim == 2 else 0))
        found[own] &= ~(part[own] >= 0)
        return found


@dataclass(frozen=True, eq=False)
class Matrix(Dense):
    """A graph by its dense matrix of weights, shape (n, n)."""

    @property
    def edge_count(self) -> int:
        """Number of off-diagonal edges."""
        present = self.present
        return int(np.count_nonzero(present) - np.count_nonzero(present.diagonal()))

    @property
    def components(self) -> int:
        """Number of connected components, directions ignored."""
        from warpladder.shortest_paths.structure.components import count_components

        return count_components(self.n, *np.nonzero(self.present))
