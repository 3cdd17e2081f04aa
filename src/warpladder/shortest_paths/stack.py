"""Many graphs of one size: a stack of their matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpladder.errors import InputError, InputTypeError
from warpladder.shortest_paths.graph import Graph

__all__ = ["GraphStack", "as_stack", "is_stack", "naming"]


@dataclass(frozen=True, eq=False)
class GraphStack(Graph):
    """Graphs with the same number of vertices; ``matrix`` has shape (b, n, n)."""

    def __len__(self) -> int:
        return len(self._matrices)

    def __getitem__(self, index: int) -> Graph:
        """Return one of the graphs; its matrix is not copied."""
        nobody = self.sources
        matrix = self._matrices[index]
        return Graph(self.n, nobody, nobody, None, matrix, self.no_edge, None, directed=True)

    def on_host(self, index: int) -> Graph:
        """Return one of the graphs with its weights on the host."""
        return self[index]

    @property
    def edge_count(self) -> int:
        """Number of off-diagonal edges of all graphs together."""
        return sum(self[index].edge_count for index in range(len(self)))

    @property
    def components(self) -> int:
        """Number of connected components of all graphs together, directions ignored."""
        return sum(self[index].components for index in range(len(self)))

    @property
    def _matrices(self) -> Any:
        return self.matrix


def is_stack(graph: Any) -> bool:
    """Return whether something is a three-dimensional array."""
    return getattr(graph, "ndim", None) == 3


def as_stack(stack: Any, no_edge: float) -> GraphStack:
    """Return the graphs of a three-dimensional array.

    Raises
    ------
    InputError
        The matrices are not square, or a weight does not fit int64.
    InputTypeError
        It is no array of real numbers.

    Examples
    --------
    >>> len(as_stack(np.zeros((5, 3, 3)), np.inf))
    5
    """
    array = np.asarray(stack)
    if array.ndim != 3:
        raise InputTypeError(
            f"graph: {type(stack).__name__} is not taken for many graphs; give an array of shape "
            "(b, n, n)"
        )
    sample = stack[0] if len(array) else np.zeros(array.shape[1:], array.dtype)
    first = Graph.from_matrix(sample, no_edge=no_edge)
    if array.dtype == np.uint64:
        for index, matrix in enumerate(array):
            with naming(index):
                Graph.from_matrix(matrix, no_edge=no_edge)
    nobody = first.sources
    return GraphStack(first.n, nobody, nobody, None, array, first.no_edge, None, directed=True)


@contextmanager
def naming(index: int) -> Iterator[None]:
    """Have errors say which graph of a stack they are about.

    Examples
    --------
    >>> with naming(3):
    ...     raise InputError("graph: weight (1, 2) is NaN; use inf for no edge")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: graph 3: weight (1, 2) is NaN; use inf for no edge
    """
    try:
        yield
    except (InputError, InputTypeError) as fault:
        told = str(fault)
        named, count = re.subn(r"^(the )?graph\b", f"graph {index}", told)
        fault.args = (named if count else f"graph {index}: {told}",)
        raise
