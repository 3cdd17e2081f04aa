"""The graphs of Hochberg's module, on which its spot checks are worked.

The first is whole: its matrix stands in the text. The second was a figure, which our copy of the
text lacks; what the text tells of it is how its last step goes, and that step is a graph of its
own: the distances to the four predecessors of B, which the text gives, stand in it as edges.
"""

from __future__ import annotations

from warpladder.shortest_paths.graph import Graph

__all__ = ["graph1", "graph2_end"]

_GRAPH1 = (
    *(("A", "B", 4), ("A", "D", 5), ("A", "E", 5)),
    *(("B", "C", 7), ("B", "D", 3)),
    ("C", "F", 4),
    *(("D", "A", 7), ("D", "C", 3), ("D", "E", 4), ("D", "F", 3)),
    *(("E", "A", 2), ("E", "D", 6)),
    *(("F", "D", 2), ("F", "E", 1)),
)
_GRAPH2_END = (
    # How far it is from A: answers to smaller problems, not edges of the figure.
    *(("A", "W", 76), ("A", "X", 63), ("A", "Y", 52), ("A", "Z", 85)),
    *(("W", "B", 29), ("X", "B", 46), ("Y", "B", 50), ("Z", "B", 28)),
)


def graph1() -> Graph:
    """Make Hochberg's graph of six vertices and fourteen edges, A to F.

    Notes
    -----
    It is the one of HB's figure 1.2, of its file ``graph1.txt`` and of its spot checks 2 to 4.

    Examples
    --------
    >>> graph = graph1()
    >>> graph.n, graph.edge_count
    (6, 14)

    Spot check 3 asks what cannot be reached by way of A to E. By way of all six it can:

    >>> from warpladder import shortest_paths
    >>> shortest_paths(graph).distance("C", "B")
    11
    """
    return _labelled(_GRAPH1)


def graph2_end() -> Graph:
    """Make the last step of Hochberg's acyclic graph: from A by way of W, X, Y or Z to B.

    Notes
    -----
    The text on dynamic programming reckons it: by way of W it is 105, X 109, Y 102, Z 113.

    Examples
    --------
    >>> from warpladder import shortest_paths
    >>> answer = shortest_paths(graph2_end(), next_hops=True)
    >>> answer.distance("A", "B"), answer.path("A", "B")
    (102, ['A', 'Y', 'B'])
    """
    return _labelled(_GRAPH2_END)


def _labelled(edges: tuple[tuple[str, str, int], ...]) -> Graph:
    sources, targets, weights = zip(*edges, strict=True)
    # By name, as HB prints them and as files are read.
    labels = sorted({*sources, *targets})
    return Graph.from_edges(list(sources), list(targets), list(weights), labels=labels)
