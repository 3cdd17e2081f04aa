"""The tables that every graph reader returns: edges, or a whole matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["DenseTable", "EdgeTable"]


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """Edges as read from a file, before anything is made of them.

    Attributes
    ----------
    sources, targets
        Vertex indices, shape (m,), int64, each in ``range(n)``.
    weights
        Shape (m,), int64 or float64 (or the dtype a binary file stores); None where the file has
        none.
    n
        Number of vertices, isolated ones included.
    labels
        One label per vertex, or None where vertices have no names but their indices.
    directed
        False where each edge stands for both directions.
    weight_column
        The name of the column that the weights come from, its number from 0 where it has none; None
        where there are no weights or the format has one place for them.
    remark
        What the file says of paths that edges do not; empty where that is nothing.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[Any] | None
    n: int
    labels: Sequence[Any] | None
    directed: bool
    weight_column: str | int | None = None
    remark: str = ""

    def with_both_directions(self) -> EdgeTable:
        """Return the same graph as a directed table: an undirected edge becomes two.

        Examples
        --------
        >>> table = EdgeTable(np.array([0]), np.array([1]), None, 2, None, directed=False)
        >>> table.with_both_directions().targets.tolist()
        [1, 0]
        """
        if self.directed:
            return self
        back = self.sources != self.targets
        return EdgeTable(
            np.concatenate((self.sources, self.targets[back])),
            np.concatenate((self.targets, self.sources[back])),
            None if self.weights is None else np.concatenate((self.weights, self.weights[back])),
            self.n,
            self.labels,
            directed=True,
            weight_column=self.weight_column,
            remark=self.remark,
        )


@dataclass(frozen=True, slots=True)
class DenseTable:
    """A matrix of weights as read from a file, one row and one column per vertex.

    Attributes
    ----------
    matrix
        Shape (n, n), in the dtype the file stores; ``matrix[i, j]`` is the weight from i to j.
    labels
        One label per vertex, or None where vertices have no names but their indices.
    """

    matrix: NDArray[Any]
    labels: Sequence[Any] | None
