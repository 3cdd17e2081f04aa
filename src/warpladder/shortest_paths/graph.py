"""A graph as the caller gave it: edges or a matrix, with the names of its vertices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warpladder.errors import (
    DistanceOverflowError,
    InputError,
    InputTypeError,
    UnknownVertexError,
)
from warpladder.flags import as_flag
from warpladder.formats.missing import is_missing, refuse_missing
from warpladder.shortest_paths.dtypes import beyond_int64, distance_dtype, exact_array_of
from warpladder.shortest_paths.edge_ends import (
    check_labels,
    number_labels,
    one_dimensional,
    refuse_arrow_scalar,
    refuse_fine_times,
    refuse_masked,
)
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.frames import frame_labels, is_frame, refuse_gaps
from warpladder.shortest_paths.no_edge import absent_value

__all__ = ["Graph", "check_size"]

_NOT_LISTED = Edges(0, np.empty(0, np.int64), np.empty(0, np.int64), None, directed=True)


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A weighted graph whose vertices are numbered 0 .. n-1 and may have labels.

    Made by `Graph.from_edges`, `Graph.from_matrix` or `warpladder.read_graph`.

    Attributes
    ----------
    given
        The edges, or the matrix of weights.
    labels
        One per vertex, or None where vertices are known by their index.
    number
        Which of a batch of graphs it is; None for one on its own.
    remark
        What the file that it was read from says of paths that edges do not, as that none goes
        through the zones of a TNTP network; `ShortestPaths.why` ends with it.
    """

    given: Edges | Matrix
    labels: Sequence[Hashable] | None = None
    number: int | None = None
    remark: str = ""

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, no_edge={self.no_edge!r}, directed={self.directed})"

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.given.n

    @property
    def sources(self) -> NDArray[np.int64]:
        """Where the edges begin, shape (m,); empty for a graph given as a matrix."""
        return self._edges.sources

    @property
    def targets(self) -> NDArray[np.int64]:
        """Where they end, shape (m,)."""
        return self._edges.targets

    @property
    def weights(self) -> NDArray[Any] | None:
        """Their weights, shape (m,), or None where every edge counts 1."""
        return self._edges.weights

    @property
    def directed(self) -> bool:
        """False where each edge stands for both directions."""
        return self._edges.directed

    @property
    def matrix(self) -> NDArray[Any] | None:
        """The weights as a dense matrix, shape (n, n), or None for a graph given by edges."""
        return self.given.weights if isinstance(self.given, Matrix) else None

    @property
    def no_edge(self) -> Any:
        """The value in `matrix` that means "no edge", of its dtype; infinity always does."""
        return self.given.no_edge if isinstance(self.given, Matrix) else None

    @property
    def edge_count(self) -> int:
        """Number of edges: as given, less infinite ones, or the off-diagonal edges of a matrix."""
        return self.given.edge_count

    @property
    def components(self) -> int:
        """Number of connected components, directions ignored."""
        return self.given.components

    @property
    def _edges(self) -> Edges:
        return self.given if isinstance(self.given, Edges) else _NOT_LISTED

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
        """Make a graph from its edges, which are copied.

        Parameters
        ----------
        sources, targets
            Ends of each edge, shape (m,): vertex indices, which are integers, or labels (strings or
            any other hashable objects).
        weights
            Shape (m,), real; every edge counts 1 where it is None. An infinite weight is no edge,
            and is left out; its ends stay vertices. Of parallel edges the lightest counts.
        n
            Number of vertices; by default as many as the edges or ``labels`` name.
        labels
            One label per vertex, in the order of their indices; by default the labels in the edges
            in the order they first appear. Ends that are all integers are indices all the
            same, in arrays of objects, too; only if one in a list or such an array is beyond int64
            are they labels.
        directed
            Whether an edge leads from source to target only.

        Raises
        ------
        InputError
            Lengths differ, an end is missing (None or NaN), an index is out of range, a weight is
            NaN or -inf, labels repeat or one is missing.
        InputTypeError
            Weights are not real numbers, all ends are whole numbers but not all integers, an entry
            is masked, a weight is null or NA, ``n`` is no integer, or ``directed`` is neither True
            nor False.

        Examples
        --------
        >>> graph = Graph.from_edges(["A", "B", "A"], ["B", "C", "C"], [4, 7, 13])
        >>> graph.n, graph.edge_count, list(graph.labels)
        (3, 3, ['A', 'B', 'C'])
        """
        u, v = one_dimensional(sources, "sources"), one_dimensional(targets, "targets")
        if u.size != v.size:
            raise InputError(
                f"sources has {u.size} entries and targets {v.size}; each edge needs both"
            )
        names = _as_labels(labels)
        if u.size == 0:
            u, v = np.empty((2, 0), np.int64)
        elif all(end.dtype.kind in "iu" for end in (u, v)):
            for end, name in ((u, "sources"), (v, "targets")):
                if end.max() > np.iinfo(np.int64).max:
                    raise InputError(
                        f"{name}: {end.max()} is no vertex index, which fits int64; if these are "
                        f"labels, give {name}.astype(object)"
                    )
            u, v = u.astype(np.int64), v.astype(np.int64)
        else:
            for end, name in ((u, "sources"), (v, "targets")):
                check_labels(end, name, listed=names is not None)
            u, v, names = number_labels(u, v, names)
        if isinstance(n, bool) or not (n is None or isinstance(n, Integral)):
            raise InputTypeError(f"n must be an integer, not {type(n).__name__}")
        if n is not None and n < 0:
            raise InputError(f"n={n} must not be negative")
        if n is None:
            last = int(max(u.max(initial=-1), v.max(initial=-1)))
            n = last + 1 if names is None else len(names)
        # One of NumPy's would overflow where it is squared.
        n = int(n)
        if names is not None and len(names) != n:
            if labels is None:
                raise InputError(
                    f"the edges name {len(names)} vertices, and n = {n}; give labels= for all"
                )
            raise InputError(f"labels has {len(names)} entries for n = {n} vertices")
        for end, name in ((u, "sources"), (v, "targets")):
            outside = np.flatnonzero((end < 0) | (end >= n))
            if outside.size:
                within = f"the vertices 0 .. {n - 1}" if n else "a graph without vertices"
                raise InputError(
                    f"{name}[{outside[0]}] is {end[outside[0]]}, outside {within}; "
                    f"give {'n=' if names is None else 'labels='} if there are more"
                )
        checked = _check_weights(weights, u.size)
        if checked is not None and checked.max(initial=0) == np.inf:
            finite = checked != np.inf
            u, v, checked = u[finite], v[finite], checked[finite]
        edges = Edges(n, u, v, checked, as_flag("directed", directed))
        check_size(edges, "weights")
        return cls(edges, names)

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
        refuse_gaps(matrix)
        array = exact_array_of(matrix, "graph", "a matrix of weights")
        if array.size == 0 and array.ndim < 2:
            array = array.reshape(0, 0).astype(np.float64)
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise InputError(
                f"graph: a matrix of weights must be square, this has shape {array.shape}"
            )
        distance_dtype(array.dtype, "graph")
        given = Matrix(array, absent_value(array.dtype, no_edge))
        check_size(given, "graph")
        names = _as_labels(frame_labels(matrix) if labels is None and is_frame(matrix) else labels)
        if names is not None and len(names) != len(array):
            raise InputError(f"labels has {len(names)} entries for n = {len(array)} vertices")
        return cls(given, names)

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
        index = self._labelled(label)
        if index is None and isinstance(label, Integral) and not isinstance(label, bool):
            # A file's vertex 7 may be the text "7".
            index = self._labelled(str(label))
            if index is None and not self._has_numeric_labels and 0 <= label < self.n:
                index = int(label)
        if index is not None:
            return index
        raise UnknownVertexError(f"no vertex {label!r}; {self._known_vertices()}")

    def _labelled(self, label: Hashable) -> int | None:
        """Return the index of the vertex with a label, None where there is none."""
        if isinstance(self.labels, range):
            # A file of a few bytes may number more vertices than memory has room for.
            if not isinstance(label, Integral | float) or label != label // 1:
                return None
            number = int(label)
            return self.labels.index(number) if number in self.labels else None
        try:
            return self.index_of.get(label)
        except TypeError:
            return None

    @cached_property
    def _has_numeric_labels(self) -> bool:
        """Whether a number could be a label, so that it must not be taken for an index."""
        return any(map(_is_number, self.labels or ()))

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


def _is_number(label: Hashable) -> bool:
    """Tell whether a label is a number or the text of one, which a table's 7.0 may be."""
    if not isinstance(label, str):
        return isinstance(label, Number)
    try:
        float(label)
    except ValueError:
        return False
    # NAN is an airport.
    return any(map(str.isdecimal, label))


def _as_labels(labels: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """Return labels as a list without repetition, a range as it is."""
    if labels is None or isinstance(labels, range):
        return labels
    # Sets have no order in which labels could be the vertices'.
    if isinstance(labels, str | bytes | set | frozenset) or not isinstance(labels, Iterable):
        raise InputTypeError(f"labels must be a sequence, not {type(labels).__name__}")
    if isinstance(labels, np.ndarray):
        if labels.ndim != 1:
            raise InputError(f"labels must be one-dimensional, this has shape {labels.shape}")
        if np.ma.is_masked(labels):
            raise InputTypeError("labels: masked entries are not taken; give every vertex a name")
        refuse_fine_times(labels, "labels")
        labels = labels.tolist()
    # One by one pyarrow would give scalars of its own.
    labels = labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)
    seen: set[Hashable] = set()
    for index, label in enumerate(labels):
        try:
            is_known = label in seen
        except TypeError:
            raise InputTypeError(f"labels: {label!r} is not hashable") from None
        refuse_arrow_scalar(label, "labels")
        if is_missing(label):
            raise InputError(f"labels[{index}] is {label!r}; give the vertex a name")
        if is_known:
            raise InputError(f"labels: {label!r} appears twice")
        seen.add(label)
    return labels


def _check_weights(weights: ArrayLike | None, m: int) -> NDArray[Any] | None:
    if weights is None:
        return None
    refuse_missing(weights, "weights", "leave these edges out, or fill them")
    refuse_masked(weights, "weights")
    array = exact_array_of(weights, "weights", "one weight for each edge")
    if array.shape != (m,):
        raise InputError(
            f"weights has shape {array.shape}; one weight for each of the {m} edges is needed"
        )
    if m == 0 and array.dtype == np.float64 and not isinstance(weights, np.ndarray):
        return None
    distance_dtype(array.dtype, "weights")
    if array.dtype.kind == "f":
        wrong = np.flatnonzero(np.isnan(array) | (array == -np.inf))
        if wrong.size:
            raise InputError(
                f"weights[{wrong[0]}] is {array[wrong[0]]}; "
                "a weight must be a number (inf: no edge)"
            )
    return array.copy()


def check_size(given: Edges | Matrix, name: str, number: int | None = None) -> None:
    """Refuse weights that count and that int64 does not hold.

    ``number`` is of the graph they are of, in a batch.
    """
    weights, most = given.weights, np.iinfo(np.int64).max
    # Most have none as large, and where they count takes longer to tell.
    if weights is not None and weights.dtype == np.uint64 and weights.max(initial=0) > most:
        largest = weights.max(where=given.counted(), initial=0)
        if largest > most:
            raise DistanceOverflowError(beyond_int64(name, largest), graph=number)
