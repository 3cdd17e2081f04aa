"""Many graphs of one size, as one array of their matrices."""

from __future__ import annotations

from dataclasses import dataclass

from warpladder.shortest_paths.forms import Dense, Matrix
from warpladder.shortest_paths.graph import Graph

__all__ = ["Batch"]


@dataclass(frozen=True, eq=False)
class Batch(Dense):
    """Graphs with the same number of vertices; ``weights`` has shape (b, n, n)."""

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, index: int) -> Graph:
        """Return one of the graphs, which knows its number; its matrix is not copied."""
        number = range(len(self))[index]
        return Graph(Matrix(self.weights[number], self.no_edge), number=number)

    @property
    def edge_count(self) -> int:
        """Number of off-diagonal edges of all graphs together."""
        return sum(self[index].edge_count for index in range(len(self)))

    @property
    def components(self) -> int:
        """Number of connected components of all graphs together, directions ignored."""
        return sum(self[index].components for index in range(len(self)))
