"""Distances in graphs whose edges all have the same length, on a GPU: breadth-first searches.

What a kernel does is told in `level_kernels`, how they are launched in `level_launches`. Here is
what `shortest_paths` calls, and the estimate by which it decides.

Rows of the answer are made on the device as far as that has memory for them, else in bands, each of
which goes to the host before the next. Next hops compare rows of all neighbours: they are found on
the device where that holds all rows.

Work: ``n / 128`` times as many visits of vertices and arcs as there are levels. Traffic: ``n^2``
numbers, each written once and brought to the host, which takes longer than all else: of a graph
like email-Enron, 36,692 vertices, on an H200 15 ms of kernels in a call of 860.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from warpladder.device.host_memory import require_memory
from warpladder.errors import TooLargeError
from warpladder.shortest_paths.gpu.engine import BYTES_PER_SECOND
from warpladder.shortest_paths.gpu.level_launches import (
    LevelSearches,
    find_next_hops,
    kernel_seconds,
)
from warpladder.shortest_paths.gpu.transfer import download
from warpladder.shortest_paths.sparse.arcs import Arcs, arcs_of
from warpladder.shortest_paths.sparse.level_hops import hops_from_levels
from warpladder.shortest_paths.sparse.orders import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.forms import Edges, Matrix

__all__ = ["GpuSearches", "hop_counts", "least_seconds"]

# To list an arc that is given, on the host.
_LISTED_SECONDS = 30e-9
# Of a call, however small: 453 vertices took an H200 0.9 ms more than the rest tells.
_CALL_SECONDS = 0.9e-3


@dataclass(frozen=True, slots=True)
class GpuSearches:
    """A graph made ready for `hop_counts`.

    Attributes
    ----------
    device
        The GPU.
    given
        The graph as it is given.
    length
        Of every arc.
    arcs
        Its arcs.
    order
        The vertices in the order in which they are searched from.
    depth
        About how many levels there are.
    longest
        How many steps an arc has, as on the CPU: one.
    """

    device: Device
    given: Edges | Matrix
    length: float
    arcs: Arcs
    order: NDArray[np.int32]
    depth: float
    longest: ClassVar[int] = 1

    @classmethod
    def of(cls, device: Device, given: Edges | Matrix, length: float) -> Self:
        """Return a graph made ready whose edges all have one length."""
        arcs = arcs_of(given)
        return cls(device, given, length, arcs, *in_order(arcs))

    def seconds(self, dtype: np.dtype[Any], *, next_hops: bool = False) -> float:
        """Estimate the time of `hop_counts`."""
        n, m = self.given.n, self.arcs.ends.size
        return _seconds(self.device, n, m, self.depth, dtype, next_hops=next_hops)


def least_seconds(device: Device, given: Edges | Matrix, dtype: np.dtype[Any]) -> float:
    """Estimate the time to make a graph ready and answer, if no vertex is far from another."""
    n, m = given.n, given.edge_count
    return m * _LISTED_SECONDS + _seconds(device, n, m, 1, dtype, next_hops=False)


def _seconds(
    device: Device, n: int, m: int, depth: float, dtype: np.dtype[Any], *, next_hops: bool
) -> float:
    brought = n * n * (dtype.itemsize + 4 * next_hops) / BYTES_PER_SECOND
    return _CALL_SECONDS + kernel_seconds(device, n, m, depth, next_hops=next_hops) + brought


def hop_counts(
    searches: GpuSearches,
    dtype: np.dtype[Any],
    *,
    next_hops: bool,
    progress: Callable[[float], None] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int32] | None, str]:
    """Return distances; next hops, if wanted; and what there is to say of how they were found.

    Parameters
    ----------
    searches
        The graph; multiples of its length are exact in a floating-point ``dtype``.
    dtype
        Of the distances.
    next_hops
        Whether next hops are wanted.
    progress
        Called between launches with the fraction done.

    Raises
    ------
    DoesNotFitError
        A distance does not fit an integer dtype.
    TooLargeError
        The host has no memory for the answer, or the GPU none for one block of searches.

    Notes
    -----
    The same bits as from the CPU's `warpladder.shortest_paths.sparse.hop_counts.hop_counts`, next
    hops included.
    """
    device, arcs, n = searches.device, searches.arcs, searches.given.n
    require_memory(
        n * n * (dtype.itemsize + 4 * next_hops), f"graph: all distances between {n:,} vertices"
    )
    dist = np.empty((n, n), dtype)
    hops = np.empty((n, n), np.int32) if next_hops else None
    if n == 0:
        return dist, hops, ""
    # Next hops take about as long as the searches.
    share = 2 if next_hops else 1
    tell = None if progress is None else lambda done: progress(done / share)
    later = None if progress is None else lambda done: progress((1 + done) / 2)
    step = dtype.type(searches.length)
    team = LevelSearches(device, arcs, searches.order, searches.length, dtype)
    there, remark = _brought(device, team, dist, tell)
    # Masks are as large as many rows.
    del team
    if hops is None:
        return dist, None, remark
    if there is not None:
        try:
            find_next_hops(device, arcs, there, step.item(), hops, later)
        except TooLargeError:
            there = None
        else:
            return dist, hops, remark
    remark = f"{remark or 'not enough memory beside the distances'}: next hops on the CPU"
    return dist, hops_from_levels(arcs.starts, arcs.ends, step, dist, later), remark


def _brought(
    device: Device,
    team: LevelSearches,
    dist: NDArray[Any],
    progress: Callable[[float], None] | None,
) -> tuple[Any, str]:
    """Fill the distances; return them on the device, if all are there, and what there is to say."""
    n, band = len(dist), team.layout.band
    there = device.empty((band, n), dist.dtype)
    for first in range(0, n, band):
        last = min(first + band, n)
        team.fill(first, last, there, progress)
        download(device, there, dist[first:last])
    if band < n:
        return None, f"{band:,} rows at a time, for want of its memory"
    return there, ""
