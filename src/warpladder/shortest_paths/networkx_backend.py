"""NetworkX's Floyd-Warshall functions, run by `shortest_paths`.

NetworkX finds this module through its entry points: ``nx.floyd_warshall_numpy(graph,
backend="warpladder")``, or ``NETWORKX_BACKEND_PRIORITY=warpladder`` for all calls it can take.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpladder.shortest_paths.result import ShortestPaths

__all__ = ["Backend", "get_info"]

_Weight = str | Callable[..., Any]

_FUNCTIONS = (
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
)


def get_info() -> dict[str, Any]:
    """Describe the backend to NetworkX; imports nothing."""
    return {
        "backend_name": "warpladder",
        "project": "warpladder",
        "package": "warpladder",
        "short_summary": "All-pairs shortest paths at the limit of the CPU.",
        "functions": {name: {} for name in _FUNCTIONS},
    }


class _Wrapped:
    """A NetworkX graph on its way through this backend."""

    __networkx_backend__ = "warpladder"

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def is_directed(self) -> bool:
        """Return what the graph says; NetworkX asks before it dispatches."""
        return bool(self.graph.is_directed())

    def is_multigraph(self) -> bool:
        """Return what the graph says; NetworkX asks before it dispatches."""
        return bool(self.graph.is_multigraph())


class Backend:
    """The functions, under NetworkX's names and with NetworkX's answers."""

    @staticmethod
    def convert_from_nx(graph: Any, *_: Any, **__: Any) -> Any:
        """Take a graph as it is: `shortest_paths` reads it directly."""
        return graph if isinstance(graph, _Wrapped) else _Wrapped(graph)

    @staticmethod
    def convert_to_nx(result: Any, *_: Any, **__: Any) -> Any:
        """Give a graph back; other results are NetworkX's own kinds already."""
        return result.graph if isinstance(result, _Wrapped) else result

    @staticmethod
    def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
        """Return whether a call can be answered, or why it is left to NetworkX."""
        names = ("G", "nodelist", "weight") if name == "floyd_warshall_numpy" else ("G", "weight")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        return _obstacle(name, given.get("weight")) or True

    @staticmethod
    def floyd_warshall_numpy(
        graph: Any, nodelist: Sequence[Hashable] | None = None, weight: _Weight = "weight"
    ) -> Any:
        """Return the matrix of distances in float64, as NetworkX does, in order of ``nodelist``."""
        import networkx as nx
        import numpy as np

        known = Backend.convert_to_nx(graph)
        if nodelist is not None:
            if not (len(nodelist) == len(known) == len(set(nodelist))):
                raise nx.NetworkXError("nodelist must name every node of the graph once")
            if strange := set(nodelist) - set(known):
                raise nx.NetworkXError(f"Nodes {strange} in nodelist is not in G")
        answer = _solve("floyd_warshall_numpy", known, weight)
        dist = answer.with_infinities().astype(np.float64)
        if nodelist is None:
            return dist
        # Not `vertex`, which takes an index or another spelling of a label, too.
        order = [answer.graph.index_of[label] for label in nodelist]
        return dist[np.ix_(order, order)]

    @staticmethod
    def floyd_warshall(graph: Any, weight: _Weight = "weight") -> dict[Any, dict[Any, Any]]:
        """Return distances as dictionaries by source and target."""
        return _by_label(_solve("floyd_warshall", Backend.convert_to_nx(graph), weight))

    @staticmethod
    def floyd_warshall_predecessor_and_distance(
        graph: Any, weight: _Weight = "weight"
    ) -> tuple[dict[Any, dict[Any, Any]], dict[Any, dict[Any, Any]]]:
        """Return predecessors, of what is reached or an edge leads to, and distances, as dicts."""
        from warpladder.shortest_paths.intake import networkx_edges

        asked = Backend.convert_to_nx(graph)
        name = "floyd_warshall_predecessor_and_distance"
        answer = _solve(name, asked, weight, next_hops=True)
        labels = answer.graph.labels or ()
        predecessors = {
            source: {labels[j]: labels[via] for j, via in enumerate(row) if via >= 0}
            for source, row in zip(labels, answer.predecessors.tolist(), strict=True)
        }
        dist = _by_label(answer)
        edges, directed = networkx_edges(asked, weight)
        # On no path, but NetworkX begins with the edges: loops and infinite ones stay.
        arcs = [(u, v) for u, v, _ in edges]
        for u, v in arcs if directed else [*arcs, *((v, u) for u, v in arcs)]:
            if u == v or dist[u][v] == math.inf:
                predecessors[u][v] = u
        return {u: row for u, row in predecessors.items() if row}, dist


def _obstacle(name: str, weight: Any) -> str:
    """Return why a call of one of NetworkX's functions is left to it, or nothing."""
    import networkx as nx

    if not callable(weight):
        return ""
    # Else it looks for an attribute of that key, which no edge has, so that each of them counts 1.
    version = re.match(r"(\d+)\.(\d+)", nx.__version__)
    if version and (int(version[1]), int(version[2])) >= (3, 7) and name != "floyd_warshall_numpy":
        return ""
    return (
        f"weight: {name} of NetworkX {nx.__version__} takes no function, and counts every edge 1; "
        "give each edge an attribute of what the function returns, and its key as weight"
    )


def _solve(name: str, graph: Any, weight: _Weight, *, next_hops: bool = False) -> ShortestPaths:
    import networkx as nx

    from warpladder.errors import InputError, InputTypeError, NegativeCycleError
    from warpladder.shortest_paths.api import shortest_paths
    from warpladder.shortest_paths.intake import from_networkx

    if obstacle := _obstacle(name, weight):
        # NetworkX does not ask `can_run` where this backend alone was asked for.
        raise NotImplementedError(obstacle)
    try:
        known = from_networkx(graph, weight)
        # NetworkX's matrices are float64, whatever floats of NumPy the weights are.
        is_float = known.weights is not None and known.weights.dtype.kind == "f"
        return shortest_paths(known, dtype="float64" if is_float else None, next_hops=next_hops)
    except NegativeCycleError as fault:
        # What the fault says to do is an argument that NetworkX's functions lack.
        raise nx.NetworkXUnbounded(f"{fault}, in warpladder.shortest_paths") from None
    except (InputError, InputTypeError) as fault:
        # Fractions, NaN, or integers that 64 bits or floats beside them do not hold, say. NetworkX
        # then answers itself, unless this backend alone was asked for.
        raise NotImplementedError(str(fault)) from fault


def _by_label(answer: ShortestPaths) -> dict[Any, dict[Any, Any]]:
    """Return distances as numbers of Python: integers stay such, only "no path" is inf."""
    labels = answer.graph.labels or ()
    none = answer.unreachable.item()
    rows = answer.dist_matrix.tolist()
    if isinstance(none, int):
        rows = [[math.inf if value == none else value for value in row] for row in rows]
    for vertex, row in enumerate(rows):
        row[vertex] = 0
    return {
        source: dict(zip(labels, row, strict=True))
        for source, row in zip(labels, rows, strict=True)
    }
