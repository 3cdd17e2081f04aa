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
