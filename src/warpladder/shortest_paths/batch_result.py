"""The answer for many graphs at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import index as as_index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.foreign import numpy_dtype
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.dense import outer_no_path
from warpladder.shortest_paths.result import ShortestPaths

__all__ = ["ShortestPathsBatch"]


@dataclass(frozen=True, eq=False)
class ShortestPathsBatch:
    """Shortest paths between all pairs of vertices in each of b graphs.

    ``batch[i]`` is the answer for graph i as a `ShortestPaths` on the same memory; a batch has a
    length and can be iterated over.

    Attributes
    ----------
    dist_matrix
        Shape (b, n, n); see `ShortestPaths.dist_matrix`. One dtype for all graphs. On the GPU, as
        an array of the same library, where the weights were there.
    next_hops
        Shape (b, n, n), int32; see `ShortestPaths.next_hops`. None unless asked for.
    graphs
        The graphs that were asked about.
    method
        ``"floyd-warshall"``.
    why
        Why this device and dtype, for people.
    """

    dist_matrix: NDArray[Any]
    next_hops: NDArray[np.int32] | None
    graphs: Batch = field(repr=False)
    method: str
    why: str

    @property
    def unreachable(self) -> Any:
        """Entry of `dist_matrix` without a path: infinity, or the largest integer of the dtype."""
        return outer_no_path(numpy_dtype(self.dist_matrix))

    def __len__(self) -> int:
        return len(self.dist_matrix)

    def __getitem__(self, index: int) -> ShortestPaths:
        # Whatever else arrays take as an index would be no matrix.
        at = as_index(index)
        hops = None if self.next_hops is None else self.next_hops[at]
        return ShortestPaths(self.dist_matrix[at], hops, self.graphs[at], self.method, self.why)

    def __iter__(self) -> Iterator[ShortestPaths]:
        return map(self.__getitem__, range(len(self)))
