"""Graphs to try things on: cycles, random graphs, lattices and scale-free networks.

Vertices are numbered from 0 and have no labels. No graph has self-loops, nor two edges between the
same two vertices in the same direction. The same arguments and the same seed give the same graph.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.shortest_paths.generator_arguments import (
    check_real,
    constant_weights,
    generator_for,
    integer,
    random_weights,
    require_room,
)
from warpladder.shortest_paths.graph import Graph

__all__ = ["cycle", "grid", "random_graph", "scale_free"]

# Pairs of vertices are numbered up to n * n, which must fit int64.
_LARGEST_N = 2**31 - 1


def cycle(n: int, *, directed: bool = True, weight: float = 1) -> Graph:
    """Make a cycle: an edge from every vertex to the next, and from the last to the first.

    Parameters
    ----------
    n
        Number of vertices, and of edges: at least 2, or 3 where the cycle is undirected.
    directed
        Whether one can go round in one direction only.
    weight
        Weight of every edge: int or float, below 0 only where the cycle is directed (and then it
        has no shortest paths: each round makes them shorter).

    Raises
    ------
    InputError
        There are too few vertices, or the weight is not finite or not to be had.
    InputTypeError
        An argument is not a number.
    TooLargeError
        The edges would not fit the memory that this process may still take.

    Notes
    -----
    Costs O(n). Hochberg's module on Floyd-Warshall has programs that make both kinds of cycles. The
    undirected one is a good test: only after all n steps of the algorithm is every path there.

    Examples
    --------
    >>> ring = cycle(4)
    >>> ring.sources, ring.targets
    (array([0, 1, 2, 3]), array([1, 2, 3, 0]))
    >>> cycle(10, directed=False, weight=2.5).weights.sum()
    np.float64(25.0)
    """
    n = integer(n, "n", least=2, most=_LARGEST_N)
    if n == 2 and not directed:
        raise InputError(
            "n=2 is too small for an undirected cycle; give at least 3, or directed=True"
        )
    require_room(n)
    sources = np.arange(n)
    return Graph.from_edges(
        sources, (sources + 1) % n, constant_weights(weight, n, directed), n=n, directed=directed
    )


def random_graph(
    n: int,
    *,
    density: float | None = None,
    edges: int | None = None,
    directed: bool = True,
    weights: tuple[int, int] | None = None,
    seed: int | np.random.Generator = 0,
) -> Graph:
    """Make a graph of edges drawn at random, every set of that many edges being equally likely.

    Parameters
    ----------
    n
        Number of vertices; some may stay without an edge.
    density
        Share of the possible edges that are there, from 0 to 1; their number is rounded. There are
        n * (n - 1) possible edges, half as many in an undirected graph.
    edges
        Number of edges, in place of ``density``.
    directed
        Whether an edge leads one way only.
    weights
        Lowest and highest weight, both included, between which integers are drawn; None for edges
        without weights. Only directed graphs may have weights below 0 (and then negative cycles).
    seed
        A number not below 0, or a NumPy Generator to draw from.

    Raises
    ------
    InputError
        An argument is out of range, or not exactly one of ``density`` and ``edges`` is given.
    InputTypeError
        An argument is of a kind that is not taken.
    TooLargeError
        The edges would not fit the memory that this process may still take.

    Notes
    -----
    Costs O(m log m) time and O(m) memory for m edges, however many vertices there are.

    Examples
    --------
    >>> graph = random_graph(1000, edges=5000, weights=(-3, 9), seed=7)
    >>> graph.edge_count, graph.weights.min(), graph.weights.max()
    (5000, np.int32(-3), np.int32(9))
    >>> random_graph(100, density=0.5, directed=False).edge_count
    2475
    """
    n = integer(n, "n", least=1, most=_LARGEST_N)
    possible = n * (n - 1) if directed else n * (n - 1) // 2
    count = _edge_count(density, edges, possible, n, directed=directed)
    require_room(count)
    generator = generator_for(seed)
    numbers = _distinct_numbers(generator, count, possible)
    sources, targets = _pairs(numbers, n, directed=directed)
    drawn = random_weights(weights, count, directed, generator)
    return Graph.from_edges(sources, targets, drawn, n=n, directed=directed)


def grid(
    rows: int,
    columns: int,
    *,
    directed: bool = False,
    weights: tuple[int, int] | None = None,
    seed: int | np.random.Generator = 0,
) -> Graph:
    """Make a lattice, like the streets of a planned town: each vertex has up to four neighbours.

    Parameters
    ----------
    rows, columns
        Its size; the vertex in row r and column c is number ``r * columns + c``.
    directed
        False for one edge between neighbours, True for two in opposite directions, each with a
        weight of its own.
    weights
        Lowest and highest weight, both included, between which integers are drawn; None for edges
        without weights. Only directed graphs may have weights below 0 (and then negative cycles).
    seed
        A number not below 0, or a NumPy Generator to draw from.

    Raises
    ------
    InputError
        An argument is out of range.
    InputTypeError
        An argument is of a kind that is not taken.
    TooLargeError
        The edges would not fit the memory that this process may still take.

    Notes
    -----
    Costs O(n) for n = rows * columns vertices. There are 2 * n - rows - columns pairs of
    neighbours.

    Examples
    --------
    >>> town = grid(2, 3, weights=None)
    >>> list(zip(town.sources.tolist(), town.targets.tolist()))
    [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
    >>> grid(2, 3, directed=True).edge_count
    14
    """
    rows = integer(rows, "rows", least=1, most=_LARGEST_N)
    columns = integer(columns, "columns", least=1, most=_LARGEST_N)
    if rows * columns > _LARGEST_N:
        raise InputError(
            f"rows={rows} times columns={columns} is more than {_LARGEST_N} vertices; "
            "make one of them smaller"
        )
    require_room((2 * rows * columns - rows - columns) * (2 if directed else 1))
    vertex = np.arange(rows * columns).reshape(rows, columns)
    sources = np.concatenate((vertex[:, :-1].ravel(), vertex[:-1].ravel()))
    targets = np.concatenate((vertex[:, 1:].ravel(), vertex[1:].ravel()))
    return _with_weights(vertex.size, sources, targets, directed, weights, generator_for(seed))


def scale_free(
    n: int,
    *,
    edges_per_vertex: int,
    directed: bool = False,
    weights: tuple[int, int] | None = None,
    seed: int | np.random.Generator = 0,
) -> Graph:
    """Make a connected network of few hubs and many vertices of low degree, like flights or links.

    It grows by preferential attachment: vertices join one by one, and each picks its neighbours
    among those before it with chances in proportion to the edges they already have.

    Parameters
    ----------
    n
        Number of vertices, at least 2.
    edges_per_vertex
        Edges that a vertex brings along, from 1 to n - 1. The first ``edges_per_vertex + 1``
        vertices are all joined to each other.
    directed
        False for one edge between neighbours, True for two in opposite directions, each with a
        weight of its own.
    weights
        Lowest and highest weight, both included, between which integers are drawn; None for edges
        without weights. Only directed graphs may have weights below 0 (and then negative cycles).
    seed
        A number not below 0, or a NumPy Generator to draw from.

    Raises
    ------
    InputError
        An argument is out of range.
    InputTypeError
        An argument is of a kind that is not taken.
    TooLargeError
        The edges would not fit the memory that this process may still take.

    Notes
    -----
    Costs O(m) time and memory for the m = k * (k + 1) / 2 + (n - k - 1) * k pairs of neighbours,
    k being ``edges_per_vertex``. The share of vertices with degree d falls off like d ** -3.

    References
    ----------
    A.-L. Barabási and R. Albert, "Emergence of Scaling in Random Networks", Science 286 (1999),
    509-512.

    Examples
    --------
    >>> network = scale_free(1000, edges_per_vertex=2, seed=1)
    >>> network.edge_count, network.components
    (1997, 1)
    >>> degrees = np.bincount(np.concatenate((network.sources, network.targets)))
    >>> bool(degrees.max() > 10 * np.median(degrees))
    True
    """
    n = integer(n, "n", least=2, most=_LARGEST_N)
    joining = integer(edges_per_vertex, "edges_per_vertex", least=1, most=n - 1, limit="n - 1")
    require_room(n * joining)
    generator = generator_for(seed)
    sources, targets = np.triu_indices(joining + 1, 1)
    # Every edge stands here with both its ends, so that a vertex is drawn as often as it has edges.
    ends = np.concatenate((sources, targets, np.empty(2 * joining * (n - joining - 1), np.int64)))
    filled = 2 * sources.size
    for vertex in range(joining + 1, n):
        picked: set[int] = set()
        while len(picked) < joining:
            picked.update(ends[generator.integers(filled, size=joining - len(picked))].tolist())
        ends[filled : filled + joining] = sorted(picked)
        ends[filled + joining : filled + 2 * joining] = vertex
        filled += 2 * joining
    joined = ends[2 * sources.size :].reshape(-1, 2, joining)
    sources = np.concatenate((sources, joined[:, 0].ravel()))
    targets = np.concatenate((targets, joined[:, 1].ravel()))
    return _with_weights(n, sources, targets, directed, weights, generator)


def _with_weights(
    n: int,
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    directed: bool,
    weights: tuple[int, int] | None,
    generator: np.random.Generator,
) -> Graph:
    """Make a graph of pairs of neighbours: one edge for each, or two where it is directed."""
    if directed:
        sources, targets = np.concatenate((sources, targets)), np.concatenate((targets, sources))
    drawn = random_weights(weights, sources.size, directed, generator)
    return Graph.from_edges(sources, targets, drawn, n=n, directed=directed)


def _edge_count(
    density: float | None, edges: int | None, possible: int, n: int, *, directed: bool
) -> int:
    if (density is None) == (edges is None):
        raise InputError("density, edges: give exactly one of them")
    if edges is not None:
        kind = "a directed" if directed else "an undirected"
        limit = f"the possible edges of {kind} graph with n={n}"
        return integer(edges, "edges", least=0, most=possible, limit=limit)
    check_real(density, "density")
    if density is None or not 0 <= density <= 1:
        raise InputError(
            f"density={density} must be from 0 to 1, the share of the possible edges that are there"
        )
    return round(float(density) * possible)


def _distinct_numbers(generator: np.random.Generator, count: int, limit: int) -> NDArray[np.int64]:
    """Draw `count` different numbers from ``range(limit)``; returned in ascending order.

    Examples
    --------
    >>> _distinct_numbers(np.random.default_rng(0), 5, 5)
    array([0, 1, 2, 3, 4])
    """
    if count > limit // 2:
        is_drawn = np.ones(limit, np.bool_)
        is_drawn[_distinct_numbers(generator, limit - count, limit)] = False
        return np.flatnonzero(is_drawn)
    drawn = np.empty(0, np.int64)
    while drawn.size < count:
        # So many draws hit `count` different numbers on average; the rest is for bad luck.
        draws = math.ceil(-limit * math.log1p(-count / limit)) + 5 * math.isqrt(count)
        # np.unique hashes since NumPy 2.3, which takes ten times as long as sorting.
        drawn = np.sort(generator.integers(limit, size=draws))
        drawn = drawn[np.diff(drawn, prepend=-1) > 0]
    surplus = generator.choice(drawn.size, drawn.size - count, replace=False, shuffle=False)
    return np.delete(drawn, surplus)


def _pairs(
    numbers: NDArray[np.int64], n: int, *, directed: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of different vertices that have these numbers, in ascending order.

    Examples
    --------
    >>> _pairs(np.arange(6), 4, directed=False)
    (array([0, 0, 0, 1, 1, 2]), array([1, 2, 3, 2, 3, 3]))
    """
    if numbers.size == 0:
        return numbers, numbers
    if directed:
        sources, targets = np.divmod(numbers, n - 1)
        return sources, targets + (targets >= sources)
    # Every pair lies some steps apart on a ring of all vertices. Counted by these steps, then by
    # the vertex where they begin, pairs are numbered 0, 1, 2, ... with no square root to undo.
    steps, begin = np.divmod(numbers, n)
    end = (begin + steps + 1) % n
    in_order = np.sort(np.minimum(begin, end) * n + np.maximum(begin, end))
    sources, targets = np.divmod(in_order, n)
    return sources, targets
