"""The answer: distances between all pairs, and the paths behind them."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError, InputTypeError, MissingExtraError
from warpladder.flags import as_flag
from warpladder.shortest_paths.dense import NO_HOP, outer_no_path
from warpladder.shortest_paths.graph import Graph

__all__ = ["SCIPY_NO_PREDECESSOR", "ShortestPaths"]

SCIPY_NO_PREDECESSOR = -9999
"""What SciPy writes where a pair has no predecessor."""


@dataclass(frozen=True, eq=False)
class ShortestPaths:
    """Shortest paths between all pairs of vertices.

    Attributes
    ----------
    dist_matrix
        Shape (n, n); entry (i, j) is the length of a shortest path from i to j, `unreachable` where
        there is none and `unbounded` where a negative cycle lies on the way. On the GPU, as an
        array of the same library, where the weights were there.
    next_hops
        Shape (n, n), int32; the vertex to step to from i on the way to j, i itself on the diagonal
        and -1 where there is no path. None unless asked for.
    graph
        The graph that was asked about.
    method
        ``"floyd-warshall"``, ``"dijkstra"`` or ``"breadth-first"``; ``"loaded"`` where a file had
        the answer.
    why
        Why this method, device and dtype, for people.
    """

    dist_matrix: NDArray[Any]
    next_hops: NDArray[np.int32] | None
    graph: Graph = field(repr=False)
    method: str
    why: str

    @cached_property
    def _dist(self) -> NDArray[Any]:
        """The distances on the host; what lives on a GPU is copied on first use."""
        return _on_host(self.dist_matrix)

    @cached_property
    def _links(self) -> NDArray[np.int32] | None:
        return None if self.next_hops is None else _on_host(self.next_hops)

    @property
    def unreachable(self) -> Any:
        """Entry of `dist_matrix` without a path: infinity, or the largest integer of the dtype."""
        return outer_no_path(self._dist.dtype)

    @property
    def unbounded(self) -> Any:
        """Entry of `dist_matrix` without a minimum: -inf, or the least integer of the dtype."""
        dtype = self._dist.dtype
        return dtype.type(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min)

    @cached_property
    def predecessors(self) -> NDArray[np.int32]:
        """Vertex before j on the path from i; -9999, as in SciPy, where there is none or i = j.

        Shape (n, n), int32, derived from the next hops on first use in O(n^2). Each row is a tree.

        Raises
        ------
        InputError
            The paths were not asked for (``next_hops=True``).
        TooLargeError
            They would not fit the memory that this process may still take.
        """
        from warpladder.shortest_paths.paths import predecessors_from_hops

        result = predecessors_from_hops(self._dist, self._hops("predecessors"))
        result[result == NO_HOP] = SCIPY_NO_PREDECESSOR
        return result

    def distance(self, source: Hashable, target: Hashable) -> float:
        """Return the distance between two vertices, by label or index; inf where there is no path.

        Raises
        ------
        UnknownVertexError
            There is no such vertex.
        """
        return self._plain(self._dist[self.graph.vertex(source), self.graph.vertex(target)])

    def path(self, source: Hashable, target: Hashable) -> list[Any]:
        """Return the labels along a shortest path, both ends included; empty where there is none.

        There is none where no path leads, nor where a negative cycle that was marked makes ever
        shorter ones: `unbounded` says which.

        Raises
        ------
        InputError
            The paths were not asked for (``next_hops=True``).
        UnknownVertexError
            There is no such vertex.
        """
        return self.paths([(source, target)])[0]

    def paths(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> list[list[Any]]:
        """Return a shortest path for each pair (source, target), as `path` does for one.

        Raises
        ------
        InputError, UnknownVertexError
            As for `path`; or something is no pair.
        InputTypeError
            They cannot be iterated over.
        """
        from warpladder.shortest_paths.paths import walk_pairs

        hops = self._hops("paths")
        if not isinstance(pairs, Iterable):
            told = f"pairs: {pairs!r} is not iterable; give pairs (source, target), or use path()"
            raise InputTypeError(told)
        ends = [(self.graph.vertex(u), self.graph.vertex(v)) for u, v in map(_as_pair, pairs)]
        walks = walk_pairs(hops, np.array(ends, np.int64).reshape(-1, 2))
        return [[self.graph.label(vertex) for vertex in walk.tolist()] for walk in walks]

    def eccentricity(self, *, reachable_only: bool = False) -> NDArray[Any]:
        """Return for each vertex the distance to the vertex farthest from it, shape (n,).

        Infinity where some vertex cannot be reached, unless ``reachable_only`` leaves those out.
        """
        return self._with_infinities(self._farthest(reachable_only))

    def diameter(self, *, reachable_only: bool = False) -> float:
        """Return the largest eccentricity.

        Raises
        ------
        InputError
            The graph has no vertices.
        """
        return self._plain(self._eccentricities(reachable_only).max())

    def radius(self, *, reachable_only: bool = False) -> float:
        """Return the smallest eccentricity.

        Raises
        ------
        InputError
            The graph has no vertices.
        """
        return self._plain(self._eccentricities(reachable_only).min())

    def to_pandas(self) -> Any:
        """Return the distances as a DataFrame with the labels on both axes.

        Integer distances become nullable integers, with ``<NA>`` where there is no path; where some
        are unbounded, floating-point numbers. `shortest_paths` does not take ``<NA>`` for "no
        edge", as it may be any gap: give it ``frame.fillna(-1)`` and ``no_edge=-1``, say.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_pandas()", "pandas", "pandas") from None
        labels = list(self.graph.labels or range(self.graph.n))
        dist = self._dist
        if dist.dtype.kind == "i" and not (dist == self.unbounded).any():
            frame = pd.DataFrame(dist, index=labels, columns=labels)
            return frame.astype(dist.dtype.name.capitalize()).mask(dist == self.unreachable)
        return pd.DataFrame(self._with_infinities(dist), index=labels, columns=labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the distances to a file, whole or not at all; its extension says the format.

        ``.npz`` has the arrays ``dist_matrix``; ``next_hops``, if they are known; and ``labels``,
        if vertices have any: `load` reads it. ``.csv`` and ``.parquet`` hold distances and labels,
        ``.npy`` distances alone. Labels that are not all integers are kept as text. Integers that
        stand for "no minimum" are written as -inf, all others then as float64.

        Raises
        ------
        InputError
            The extension is not known, the file cannot be written, it would not tell two labels
            apart, or float64 would round a distance.
        MissingExtraError
            The extension needs a library that is not installed.
        """
        from warpladder.formats.distances import holds_next_hops, write_distances

        dist, no_path = self._dist, self.unreachable
        if (dist == self.unbounded).any():
            # Whoever reads the file must not take the integer that stands for -inf for a distance.
            dist, no_path = self._with_infinities(self._dist), math.inf
            with np.errstate(invalid="ignore"):
                rounded = np.isfinite(dist) & (dist.astype(self._dist.dtype) != self._dist)
            if rounded.any():
                raise InputError(
                    f"cannot write {path}: beside -inf, for pairs without a minimum, distances are "
                    f"float64, which rounds {self._dist[rounded][0]}; keep dist_matrix itself"
                )
        hops = self._links if holds_next_hops(path) else None
        write_distances(path, dist, self.graph.labels, no_path=no_path, next_hops=hops)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ShortestPaths:
        """Return an answer that `save` or ``warpladder paths -o`` has written as ``.npz``.

        Its graph has the edges that the next hops take; without next hops, one for each distance.

        Raises
        ------
        FileFormatError
            The file is not whole, or is no such answer.

        Examples
        --------
        >>> import tempfile, pathlib, warpladder as wl
        >>> roads = wl.Graph.from_edges(["A", "B"], ["B", "C"], [4, 7])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "answer.npz")
        ...     wl.shortest_paths(roads, next_hops=True).save(file)
        ...     wl.ShortestPaths.load(file).path("A", "C")
        ['A', 'B', 'C']
        """
        from warpladder.formats.files import as_path
        from warpladder.shortest_paths.stored import read_answer

        return cls(*read_answer(path), "loaded", f"read from {as_path(path)}")

    def with_infinities(self) -> NDArray[Any]:
        """Return the distances with true infinities: as float64 where an integer dtype has none.

        An integer matrix without special entries, and any floating-point one, is returned as it is.

        Raises
        ------
        TooLargeError
            They would not fit the memory that this process may still take.
        """
        return self._with_infinities(self._dist)

    def _with_infinities(self, values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype.kind == "f":
            return values
        no_path, no_bound = values == self.unreachable, values == self.unbounded
        if not (no_path.any() or no_bound.any()):
            return values
        require_memory(8 * values.size, "with_infinities: distances as float64")
        result = values.astype(np.float64)
        result[no_path], result[no_bound] = np.inf, -np.inf
        return result

    def _hops(self, wanted: str) -> NDArray[np.int32]:
        if self._links is None:
            raise InputError(
                f"{wanted} need the next hops: call shortest_paths(..., next_hops=True)"
            )
        return self._links

    def _plain(self, value: Any) -> float:
        """Return an entry of the matrix as a number of Python, with true infinities."""
        if value == self.unreachable:
            return math.inf
        return -math.inf if value == self.unbounded else value.item()

    def _farthest(self, reachable_only: bool) -> NDArray[Any]:
        """Return the largest entry of each row, which as an integer is exact."""
        dist = self._dist
        taken = dist != self.unreachable if as_flag("reachable_only", reachable_only) else True
        farthest: NDArray[Any] = np.max(dist, axis=1, where=taken, initial=self.unbounded)
        return farthest

    def _eccentricities(self, reachable_only: bool) -> NDArray[Any]:
        if not self.graph.n:
            raise InputError("graph: it has no vertices, so no diameter and no radius")
        return self._farthest(reachable_only)


def _as_pair(given: Any) -> tuple[Hashable, Hashable]:
    try:
        source, target = given
        # Of a label two letters could be labels, and who comes first in a set is chance.
        is_pair = not isinstance(given, str | bytes | set | frozenset)
    except (TypeError, ValueError):
        is_pair = False
    if not is_pair:
        raise InputError(f"pairs: {given!r} is no pair (source, target)")
    return source, target


def _on_host(array: Any) -> NDArray[Any]:
    if isinstance(array, np.ndarray):
        return array
    from warpladder.device.foreign import to_numpy

    return to_numpy(array)
