"""What is done for a graph unless something else is asked for: the dtype and the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.foreign import numpy_dtype
from warpladder.errors import InputError
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.dtypes import distance_dtype
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.sparse.whole_lengths import MOST_STEPS, WholeLengths, whole_lengths

if TYPE_CHECKING:
    from warpladder.call import Target
    from warpladder.device.base import Device
    from warpladder.shortest_paths.gpu.hop_counts import GpuSearches
    from warpladder.shortest_paths.sparse.dijkstra import SourceSearches
    from warpladder.shortest_paths.sparse.hop_counts import Searches

__all__ = ["Method", "choose_method", "default_dtype", "searches_for"]

# Below this Floyd-Warshall takes some milliseconds.
_SPARSE_FROM = 512
# Below this nothing is gained: Floyd-Warshall takes 0.1 ms.
_SEARCHED_FROM = 64
# The arcs of a matrix are listed twice, beside the distances.
_ARC_BYTES = 8
_LITTLE_MEMORY = 1 << 26
_CALLED = {"floyd-warshall": "Floyd-Warshall", "breadth-first": "breadth-first searches"}


class Method(NamedTuple):
    """Floyd-Warshall, Dijkstra or breadth-first searches, and why these, for people.

    For the latter two with the graph made ready for them.
    """

    name: str
    why: str
    ready: Searches | GpuSearches | SourceSearches | None = None


def default_dtype(given: Edges | Matrix | Batch) -> np.dtype[Any]:
    """Return the dtype in which `shortest_paths` computes unless another is asked for.

    Examples
    --------
    >>> from warpladder.shortest_paths.graph import Graph
    >>> default_dtype(Graph.from_edges([0, 1], [1, 2]).given)
    dtype('int16')
    """
    if given.weights is not None:
        return distance_dtype(numpy_dtype(given.weights), "graph")
    # Without weights no distance exceeds n - 1.
    return np.dtype(np.int16 if given.n <= inner_no_path(np.int16) else np.int32)


def searches_for(
    given: Edges | Matrix,
    dtype: np.dtype[Any],
    asked: str,
    seconds: Callable[[int, np.dtype[Any]], float],
    target: Target,
    *,
    overwrite: bool,
    next_hops: bool,
) -> Searches | GpuSearches | None:
    """Return a graph made ready for breadth-first searches, where they take the least time.

    None where the lengths of its edges are no few whole steps, where another method is asked for or
    surely faster, or where arcs would take more memory than a matrix that may be used up.

    Parameters
    ----------
    given
        The graph.
    dtype
        Of the distances.
    asked
        The method that the caller wants, or ``"auto"``.
    seconds
        Estimates the time of Floyd-Warshall.
    target
        Where the call runs. A GPU that nobody asked for leaves the searches to the CPU where that
        takes less time.
    overwrite
        Whether a matrix may be used up for the distances.
    next_hops
        Whether they are wanted.
    """
    if asked not in {"auto", "breadth-first"}:
        return None
    if asked == "auto" and given.n < _SEARCHED_FROM:
        return None
    if asked == "auto" and isinstance(given, Matrix):
        # One core takes 6 ns to look at an entry, an H200 2.5 to close 24,000 vertices.
        if target.device is not None and target.is_asked:
            return None
        if overwrite or not _arcs_are_few(given, dtype):
            return None
    lengths = whole_lengths(given, dtype, few=asked == "auto")
    if lengths is None:
        return None
    most = seconds(given.n, dtype) if asked == "auto" else np.inf
    ways: list[Searches | GpuSearches | None] = []
    if target.device is None or not target.is_asked:
        ways.append(_on_cpu(given, dtype, lengths, most))
    several = lengths.longest > 1
    if several and asked != "auto" and not ways:
        raise InputError(
            'method="breadth-first": edges of several lengths are searched on the CPU alone; use '
            'device="cpu"'
        )
    if target.device is not None and not several:
        ways.append(_on_gpu(target.device, given, dtype, lengths.step, most))
    ready = [way for way in ways if way is not None]
    if len(ready) < 2:
        return ready[0] if ready else None
    return min(ready, key=lambda way: way.seconds(dtype, next_hops=next_hops))


def _on_cpu(
    given: Edges | Matrix, dtype: np.dtype[Any], lengths: WholeLengths, most: float
) -> Searches | None:
    """Return a graph made ready for the CPU, unless that surely takes so many seconds."""
    from warpladder.shortest_paths.sparse.hop_counts import Searches, least_seconds

    is_slower = least_seconds(given, lengths.longest, dtype) >= most
    return None if is_slower else Searches.of(given, lengths)


def _on_gpu(
    device: Device, given: Edges | Matrix, dtype: np.dtype[Any], length: float, most: float
) -> GpuSearches | None:
    """Return a graph made ready for a GPU, unless that surely takes so many seconds."""
    from warpladder.shortest_paths.gpu.hop_counts import GpuSearches, least_seconds

    is_slower = least_seconds(device, given, dtype) >= most
    return None if is_slower else GpuSearches.of(device, given, length)


def choose_method(
    given: Edges | Matrix,
    dtype: np.dtype[Any],
    asked: str,
    seconds: Callable[[int, np.dtype[Any]], float],
    searches: Searches | GpuSearches | None = None,
    *,
    next_hops: bool = False,
) -> Method:
    """Return the method that is asked for, if it can answer, or for ``"auto"`` the fastest one.

    ``seconds`` estimates the time of Floyd-Warshall; ``searches`` is what `searches_for` found.
    """
    if asked == "floyd-warshall":
        return Method(asked, "")
    if asked == "dijkstra":
        return Method(asked, "as asked", _made_for_dijkstra(given, dtype))
    if asked == "breadth-first":
        if searches is None:
            raise InputError(
                f'method="breadth-first": the edges are not all of 1 to {MOST_STEPS} steps of one '
                f'length above 0 whose multiples {dtype.name} holds; use "auto"'
            )
        return Method(asked, "as asked", searches)
    by_blocks = seconds(given.n, dtype)
    sparse = given if isinstance(given, Edges) and given.n >= _SPARSE_FROM else None
    if searches is not None:
        by_levels = searches.seconds(dtype, next_hops=next_hops)
        if by_levels < by_blocks:
            lengths = "of one length" if searches.longest == 1 else "a few whole steps long"
            told = f"estimated {_in_words(by_levels)}, Floyd-Warshall {_in_words(by_blocks)}"
            searched = Method("breadth-first", f"all edges are {lengths}; {told}", searches)
            if searches.longest == 1 or sparse is None:
                return searched
            return _or_dijkstra(sparse, dtype, searched, by_levels, next_hops=next_hops)
    if sparse is None:
        return Method("floyd-warshall", "")
    closed = Method("floyd-warshall", f"estimated {_in_words(by_blocks)}")
    return _or_dijkstra(sparse, dtype, closed, by_blocks, next_hops=next_hops)


def _or_dijkstra(
    given: Edges, dtype: np.dtype[Any], other: Method, taken: float, *, next_hops: bool
) -> Method:
    """Return Dijkstra's algorithm, or another method that takes so many seconds."""
    from warpladder.shortest_paths.sparse.dijkstra import SourceSearches, least_seconds, obstacle

    at_least = least_seconds(given, dtype)
    if taken <= at_least:
        told = f"{other.why}, Dijkstra from every vertex at least {_in_words(at_least)}"
        return other._replace(why=told)
    if against := obstacle(given, dtype):
        return other._replace(why=f"{other.why}, Dijkstra might be faster but {against}")
    made = SourceSearches.of(given, dtype)
    by_source = made.seconds(dtype, next_hops=next_hops)
    if taken <= by_source:
        told = f"{other.why}, Dijkstra from every vertex {_in_words(by_source)}"
        return other._replace(why=told)
    told = f"estimated {_in_words(by_source)}, {_CALLED[other.name]} {_in_words(taken)}"
    return Method("dijkstra", told, made)


def _made_for_dijkstra(given: Edges | Matrix, dtype: np.dtype[Any]) -> SourceSearches:
    from warpladder.shortest_paths.sparse.dijkstra import SourceSearches, obstacle

    against = "the graph is a dense matrix" if isinstance(given, Matrix) else obstacle(given, dtype)
    if isinstance(given, Matrix) or against:
        raise InputError(f'method="dijkstra": {against}; use "floyd-warshall"')
    return SourceSearches.of(given, dtype)


def _arcs_are_few(given: Matrix, dtype: np.dtype[Any]) -> bool:
    """Return whether arcs take less memory than distances, or so little that nobody asks."""
    most = max(given.n**2 * dtype.itemsize, _LITTLE_MEMORY)
    return given.n**2 * _ARC_BYTES <= most or given.edge_count * _ARC_BYTES <= most


def _in_words(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1e3 * seconds:.0f} ms" if seconds >= 0.1 else f"{1e3 * seconds:.2g} ms"
