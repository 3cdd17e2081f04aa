"""An answer that was written to a file, as an answer again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats.distances import read_distances
from warpladder.formats.files import as_path
from warpladder.shortest_paths.dense import NO_HOP
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.paths import leads_in_circles

if TYPE_CHECKING:
    import os

__all__ = ["read_answer"]


def read_answer(
    path: str | os.PathLike[str],
) -> tuple[NDArray[Any], NDArray[np.int32] | None, Graph]:
    """Return distances, next hops (None where the file has none) and a graph that has them."""
    path = as_path(path)
    dist, hops, labels = read_distances(path)
    if hops is not None:
        for is_wrong, where in ((_breaks_off, "nowhere"), (leads_in_circles, "in a circle")):
            if is_wrong(hops):
                found = f"some that lead {where}"
                raise FileFormatError(path, None, "next_hops that arrive", found)
    try:
        if hops is None:
            return dist, hops, Graph.from_matrix(dist, labels=labels)
        return dist, hops, _graph_of(dist, hops, labels)
    except (InputError, InputTypeError) as error:
        raise type(error)(f"{path}: {error}") from error


def _breaks_off(hops: NDArray[np.int32]) -> bool:
    """Return whether some next hop leads to a vertex that knows none itself."""
    after = np.take_along_axis(hops, np.maximum(hops, 0), axis=0)
    arrived = hops == np.arange(len(hops))
    return bool(((hops != NO_HOP) & ~arrived & (after == NO_HOP)).any())


def _graph_of(dist: NDArray[Any], hops: NDArray[np.int32], labels: list[Any] | None) -> Graph:
    """Return the graph of the edges that next hops take; the distances are their weights."""
    n = len(hops)
    vertices = np.broadcast_to(np.arange(n)[:, None], hops.shape)
    is_step = (hops != NO_HOP) & (hops != vertices)
    is_edge = np.zeros(hops.shape, np.bool_)
    is_edge[vertices[is_step], hops[is_step]] = True
    sources, targets = np.nonzero(is_edge)
    return Graph.from_edges(sources, targets, dist[is_edge], n=n, labels=labels)
