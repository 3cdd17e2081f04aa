"""A graph as the caller gave it: edges or a matrix, with the names of its vertices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from warpladder.errors import InputError, InputTypeError, UnknownVertexError
from warpladder.shortest_paths.frames import frame_labels, is_frame
from warpladder.shortest_paths.no_edge import absent_value, is_absent
from warpladder.shortest_paths.rounding import refuse_rounded

__all__ = ["Graph", "asked_dtype", "distance_dtype"]

_KEPT = ("int16", "int32", "int64", "float32", "float64")
_TAKEN_AS = {
    "bool": "int16", "int8": "int16", "uint8": "int16", "uint16": "int32", "uint32": "int64",
    "uint64": "int64", "float16": "float32",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted graph whose vertices are numbered 0 .. n-1 and may have labels.

    Made by `Graph.from_edges`, `Graph.from_matrix` or `warpladder.read_graph`.

    Attributes
    ----------
    n
        Number of vertices.
    sources, targets
        Ends of the edges, shape (m,); empty for a graph given as a matrix.
    weights
        Their weights, shape (m,), or None where every edge counts 1.
    matrix
        The weights as a dense matrix, shape (n, n), or None for a graph given by edges.
    no_edge
        The value in ``matrix`` that means "no edge", of its dtype; infinity always does.
    labels
        One per vertex, or None where vertices are known by their index.
    directed
        False where each edge stands for both directions.
    """

    n: int
    sources: NDArray[np.int64] = field(repr=False)
    targets: NDArray[np.int64] = field(repr=False)
    weights: NDArray[Any] | None = field(repr=False)
    matrix: NDArray[Any] | None = field(repr=False)
    no_edge: Any
    labels: Sequence[Hashable] | None = field(repr=False)
    directed: bool

    @classmethod
    def from_edges(
        cls,
        sources: ArrayLike,
        targets: ArrayLike,
        weights: ArrayLike | None = None,
        n: int | None = None,
        labels: Sequence[Hashable] | None = None,
        directed: bool = True,
    ) -> Graph:
        """Make a graph from its edges.

        Parameters
        ----------
        sources, targets
            Ends of each edge, shape (m,): vertex indices, or labels (strings or any other hashable
            objects).
        weights
            Shape (m,), real; every edge counts 1 where it is None. An infinite weight is no edge.
            Of parallel edges the lightest counts.
        n
            Number of vertices; by default as many as the edges or ``labels`` name.
        labels
            One label per vertex, in the order of their indices; by default the labels in the edges
            in the order they first appear.
        directed
            Whether an edge leads from source to target only.

        Raises
        ------
        InputError
            Lengths differ, an index is out of range, a weight is NaN or -inf, labels repeat.
        InputTypeError
            Weights are not real numbers.

        Examples
        --------
        >>> graph = Graph.from_edges(["A", "B", "A"], ["B", "C", "C"], [4, 7, 13])
        >>> graph.n, graph.edge_count, list(graph.labels)
        (3, 3, ['A', 'B', 'C'])
        """
        ends = [
            _one_dimensional(values, name)
            for values, name in ((sources, "sources"), (targets, "targets"))
        ]
        if ends[0].size != ends[1].size:
            raise InputError(
                f"sources has {ends[0].size} entries and targets {ends[1].size}; "
                "each edge needs both"
            )
        names = _as_labels(labels)
        if ends[0].size == 0:
            u, v = np.empty((2, 0), np.int64)
        elif all(end.dtype.kind in "iu" for end in ends):
            for end, name in zip(ends, ("sources", "targets"), strict=True):
                if end.max() > np.iinfo(np.int64).max:
                    raise InputError(f"{name}: {end.max()} is no vertex index")
            u, v = (end.astype(np.int64) for end in ends)
        else:
            for end, name in zip(ends, ("sources", "targets"), strict=True):
                _check_labels(end, name, listed=names is not None)
            u, v, names = _number_labels(ends[0], ends[1], names)
        if n is not None and not isinstance(n, Integral):
            raise InputTypeError(f"n must be an integer, not {type(n).__name__}")
        if n is not None and n < 0:
            raise InputError(f"n={n} must not be negative")
        if n is None:
            n = (
                len(names)
                if names is not None
                else int(max(u.max(initial=-1), v.max(initial=-1))) + 1
            )
        if names is not None and len(names) != n:
            raise InputError(f"labels has {len(names)} entries for n = {n} vertices")
        for end, name in ((u, "sources"), (v, "targets")):
            outside = np.flatnonzero((end < 0) | (end >= n))
            if outside.size:
                raise InputError(
                    f"{name}[{outside[0]}] is {end[outside[0]]}, outside the vertices "
                    f"0 .. {n - 1}; give n= if there are more"
                )
        return cls(n, u, v, _check_weights(weights, u.size), None, None, names, directed)

    @classmethod
    def from_matrix(
        cls,
        matrix: ArrayLike,
        *,
        no_edge: float = np.inf,
        labels: Sequence[Hashable] | None = None,
    ) -> Graph:
        """Make a graph from a dense matrix of weights; it is kept as it is, without a copy.

        Parameters
        ----------
        matrix
            Shape (n, n), real; entry (i, j) is the weight of the edge from i to j. The diagonal
            counts as 0 unless it is negative.
        no_edge
            The value that means "no edge", as `shortest_paths` takes it. A 0 is an edge of weight
            0, but in a boolean matrix False is no edge.
        labels
            One label per vertex; by default those of a pandas DataFrame, which has them on both
            axes in the same order.

        Examples
        --------
        >>> Graph.from_matrix([[0, 4], [0, 0]], no_edge=0).edge_count
        1
        """
        if isinstance(matrix, np.ma.MaskedArray):
            raise InputTypeError(
                "graph: masked arrays are not taken; fill them first, as in matrix.filled(np.inf)"
            )
        array = np.asarray(matrix)
        refuse_rounded(matrix, array, "graph")
        if array.size == 0 and array.ndim < 2:
            array = array.reshape(0, 0).astype(np.float64)
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise InputError(
                f"graph: a matrix of weights must be square, this has shape {array.shape}"
            )
        distance_dtype(array.dtype, "graph")
        absent = absent_value(array.dtype, no_edge)
        _check_size(array, "graph", absent)
        names = _as_labels(frame_labels(matrix) if labels is None and is_frame(matrix) else labels)
        if names is not None and len(names) != len(array):
            raise InputError(f"labels has {len(names)} entries for n = {len(array)} vertices")
        empty = np.empty(0, np.int64)
        return cls(len(array), empty, empty, None, array, absent, names, directed=True)

    @property
    def edge_count(self) -> int:
        """Number of edges: as given, or the off-diagonal edges of a matrix."""
        if self.matrix is None:
            return int(self.sources.size)
        present = self.present
        return int(np.count_nonzero(present) - np.count_nonzero(present.diagonal()))

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where ``matrix`` has an edge, shape (n, n)."""
        assert self.matrix is not None  # noqa: S101 - only asked of graphs given as a matrix
        return ~is_absent(self.matrix, self.no_edge)

    @property
    def components(self) -> int:
        """Number of connected components, directions ignored."""
        from warpladder.shortest_paths.components import count_components

        if self.matrix is None:
            return count_components(self.n, self.sources, self.targets)
        return count_components(self.n, *np.nonzero(self.present))

    @cached_property
    def index_of(self) -> Mapping[Hashable, int]:
        """Vertex index by label; empty where vertices have no labels."""
        return {label: index for index, label in enumerate(self.labels or ())}

    def vertex(self, label: Hashable) -> int:
        """Return the index of a vertex, by its label or by its index.

        An index is taken where vertices have no labels or none of the labels is a number.

        Raises
        ------
        UnknownVertexError
            There is no such vertex.
        """
        try:
            index = self.index_of.get(label)
        except TypeError:
            index = None
        if index is None and isinstance(label, Integral) and not isinstance(label, bool):
            # A file's vertex 7 may be the text "7".
            index = self.index_of.get(str(label))
            if index is None and not self._has_numeric_labels and 0 <= label < self.n:
                index = int(label)
        if index is not None:
            return index
        raise UnknownVertexError(f"no vertex {label!r}; {self._known_vertices()}")

    @cached_property
    def _has_numeric_labels(self) -> bool:
        """Whether a number could be a label, so that it must not be taken for an index."""
        return any(
            isinstance(label, Integral) or (isinstance(label, str) and label.isdecimal())
            for label in self.labels or ()
        )

    def label(self, index: int) -> Hashable:
        """Return the label of a vertex, or its index where vertices have none."""
        return index if self.labels is None else self.labels[index]

    def _known_vertices(self) -> str:
        if self.n == 0:
            return "the graph has none"
        if self.labels is None:
            return f"vertices are 0 .. {self.n - 1}"
        shown = ", ".join(map(repr, self.labels[:5]))
        return f"the {self.n} labels begin {shown}" if self.n > 5 else f"labels are {shown}"


def distance_dtype(dtype: DTypeLike, name: str) -> np.dtype[Any]:
    """Return the dtype in which distances of such weights are computed.

    Examples
    --------
    >>> distance_dtype("uint8", "graph")
    dtype('int16')
    """
    try:
        asked = np.dtype(dtype).newbyteorder("=").name
    except TypeError:
        asked = ""
    if asked not in {*_KEPT, *_TAKEN_AS}:
        kept = ", ".join(_KEPT)
        raise InputTypeError(f"{name}: dtype {dtype!s} is not taken; convert to one of {kept}")
    return np.dtype(_TAKEN_AS.get(asked, asked))


def asked_dtype(dtype: DTypeLike | None) -> np.dtype[Any] | None:
    """Return the dtype that a caller wants distances in; None where any will do.

    Raises
    ------
    InputTypeError
        It is none that distances are computed in: they would come in another one.
    """
    if dtype is None:
        return None
    taken = distance_dtype(dtype, "dtype")
    asked = np.dtype(dtype).name
    if taken.name != asked:
        raise InputTypeError(
            f"dtype={asked!r}: distances are computed in {', '.join(_KEPT)}; take one of these"
        )
    return taken


def _one_dimensional(values: ArrayLike, name: str) -> NDArray[Any]:
    if isinstance(values, list | tuple) and not all(isinstance(v, Integral) for v in values):
        # As objects, or labels of mixed types would all become text and tuples a second dimension.
        array = np.empty(len(values), object)
        array[:] = values
        return array
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, this has shape {array.shape}")
    return array


def _check_labels(labels: NDArray[Any], name: str, *, listed: bool) -> None:
    """Refuse what cannot be told apart, and indices that would be taken for labels."""
    values = labels.tolist()
    for index, label in enumerate(values):
        try:
            hash(label)
        except TypeError:
            raise InputTypeError(
                f"{name}[{index}] is a {type(label).__name__}, which is neither a vertex index nor "
                "hashable, as labels must be"
            ) from None
    if not listed and all(isinstance(label, float) and label.is_integer() for label in values):
        # As labels they would be numbered in the order in which they come.
        raise InputTypeError(
            f"{name}: vertex indices must be integers, these are floats; convert them as in "
            f"{name}.astype(int), or give labels= if they are names"
        )


def _number_labels(
    sources: NDArray[Any], targets: NDArray[Any], labels: Sequence[Hashable] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Hashable]]:
    known = {label: index for index, label in enumerate(labels or ())}
    ends = np.empty((sources.size, 2), np.int64)
    for edge, pair in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        for side, label in enumerate(pair):
            if labels is not None and label not in known:
                raise InputError(f"edge {edge} names {label!r}, which labels does not list")
            ends[edge, side] = known.setdefault(label, len(known))
    return ends[:, 0].copy(), ends[:, 1].copy(), list(known)


def _as_labels(labels: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """Return labels as a list without repetition, a range as it is."""
    if labels is None or isinstance(labels, range):
        return labels
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InputTypeError(f"labels must be a sequence, not {type(labels).__name__}")
    labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    seen: set[Hashable] = set()
    for label in labels:
        try:
            is_known = label in seen
        except TypeError:
            raise InputTypeError(f"labels: {label!r} is not hashable") from None
        if is_known:
            raise InputError(f"labels: {label!r} appears twice")
        seen.add(label)
    return labels


def _check_weights(weights: ArrayLike | None, m: int) -> NDArray[Any] | None:
    if weights is None:
        return None
    array = np.asarray(weights)
    if array.shape != (m,):
        raise InputError(
            f"weights has shape {array.shape}; one weight for each of the {m} edges is needed"
        )
    refuse_rounded(weights, array, "weights")
    if m == 0 and array.dtype == np.float64 and not isinstance(weights, np.ndarray):
        return None
    distance_dtype(array.dtype, "weights")
    _check_size(array, "weights", np.uint64(2**64 - 1))
    if array.dtype.kind == "f":
        wrong = np.flatnonzero(np.isnan(array) | (array == -np.inf))
        if wrong.size:
            raise InputError(
                f"weights[{wrong[0]}] is {array[wrong[0]]}; "
                "a weight must be a number (inf: no edge)"
            )
    return array


def _check_size(array: NDArray[Any], name: str, absent: Any) -> None:
    """Refuse weights, all but what means "no edge", that int64 does not hold."""
    if array.dtype == np.uint64 and array.size:
        largest = array.max(where=array != absent, initial=0)
        if largest > np.iinfo(np.int64).max:
            raise InputError(
                f"{name}: {largest} does not fit int64, in which distances are computed"
            )
