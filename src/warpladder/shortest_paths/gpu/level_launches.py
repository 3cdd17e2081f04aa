"""The launches of `hop_counts`: how many searches go together, which rows they fill, next hops.

A launch cannot be interrupted, so none is given more than about 0.1 s of work: a round of searches
is taken some levels further at a time, and between two launches the host asks who is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.grids import WARP, blocks_for
from warpladder.errors import TooLargeError
from warpladder.shortest_paths.dense import inner_no_path, outer_no_path
from warpladder.shortest_paths.gpu.kernels import THREADS
from warpladder.shortest_paths.gpu.level_kernels import (
    DIGITS,
    SOURCES,
    WORDS,
    begin_searches,
    search_levels,
    write_distances,
    write_next_hops,
)
from warpladder.shortest_paths.gpu.out_of_core import room
from warpladder.shortest_paths.gpu.transfer import download
from warpladder.shortest_paths.sparse.arcs import Arcs
from warpladder.shortest_paths.widening import DoesNotFitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["Layout", "LevelSearches", "find_next_hops", "kernel_seconds", "layout_for"]

# Blocks of searches on a multiprocessor. All levels of a graph like email-Enron, 36,692 vertices,
# take an H200 10.2 ms so, 15.7 with two blocks of 512 threads, 18.3 with four of 256, which have
# twice and four times the masks in the second-level cache; 15.2 with one of 512.
_RESIDENT = 1
_THREADS_OF_SEARCHES = 1024
# Vertices with more arcs than this are taken by a warp, so that each of its threads has some.
_ARCS_OF_A_HUB = WARP
# H200: a level of a block, a vertex and an arc of it, an arc of one behind the first 128; on one
# multiprocessor a number that is written, and one compared for next hops. Seven graphs take 0.8 to
# 1.4 times as long as told; one of 453 vertices 2.4 times, half of all edges 0.5 times. All with so
# many levels were thin, with two to four arcs to a vertex.
_LEVEL_SECONDS = 1.7e-6
_VERTEX_SECONDS = 0.8e-9
_ARC_SECONDS = 0.6e-9
_LATE_ARC_SECONDS = 0.1e-9
_WRITTEN_SECONDS = 7e-10
_COMPARED_SECONDS = 3e-10
_SECONDS_OF_A_LAUNCH = 0.1
# Kernels count them in 32 bits.
_MOST_ARCS = np.iinfo(np.int32).max
# On a multiprocessor, for kernels whose blocks go over parts of rows: as many as `engine` takes.
_BLOCKS_OF_ROWS = 32


class Layout(NamedTuple):
    """How the searches are divided.

    Attributes
    ----------
    blocks
        How many blocks are at work at a time.
    batch
        How many searches each of them has.
    band
        How many rows of the answer are on the device at a time.
    """

    blocks: int
    batch: int
    band: int


def kernel_seconds(
    device: Device, n: int, m: int, depth: float, *, next_hops: bool = False
) -> float:
    """Estimate the time of the kernels, for n vertices and m arcs with so many levels."""
    multiprocessors = device.properties.multiprocessors
    rounds = blocks_for(n, SOURCES * _RESIDENT * multiprocessors)
    compared = n * m * _COMPARED_SECONDS if next_hops else 0.0
    spread = (n * n * _WRITTEN_SECONDS + compared) / multiprocessors
    early, late = min(1 + depth, SOURCES), max(1 + depth - SOURCES, 0.0)
    arcs = m * (early * _ARC_SECONDS + late * _LATE_ARC_SECONDS)
    levels = (1 + depth) * _level_seconds(n, 0) + arcs
    return rounds * levels + spread


def _level_seconds(n: int, m: int) -> float:
    return _LEVEL_SECONDS + n * _VERTEX_SECONDS + m * _ARC_SECONDS


def layout_for(device: Device, n: int, dtype: np.dtype[Any]) -> Layout:
    """Return how searches from n vertices are divided, for the memory that is free.

    Raises
    ------
    TooLargeError
        Not even one block finds room.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> layout_for(SimulatedDevice((9, 0)), 36_692, np.dtype(np.int32))
    Layout(blocks=132, batch=93, band=36692)
    """
    free, row = room(device), n * dtype.itemsize
    masks = 4 * WORDS * n * _masks_of_a_block(n)
    fitting = free // (masks + SOURCES * row)
    if not fitting:
        raise TooLargeError(
            f"graph: {SOURCES} searches over {n:,} vertices need {masks + SOURCES * row:,} bytes, "
            f"of which {device.properties.name} has {free:,}"
        )
    blocks = min(fitting, _RESIDENT * device.properties.multiprocessors, blocks_for(n, WARP))
    # As many rounds as full blocks take, but the same for all: nobody waits for one that is full.
    batch = blocks_for(n, blocks * blocks_for(n, SOURCES * blocks))
    rows = (free - blocks * masks) // row
    return Layout(blocks, batch, n if rows >= n else rows - rows % (blocks * batch))


def _masks_of_a_block(n: int) -> int:
    """Return how many masks a vertex has: digits for all levels, of which the n-th finds nobody."""
    return DIGITS + n.bit_length()


class LevelSearches:
    """Searches from all vertices of a graph that is on the device.

    Parameters
    ----------
    device
        Where.
    arcs
        Of the graph, at least one vertex.
    order
        The vertices in the order in which neighbours are near.
    length
        Of an arc.
    dtype
        Of the distances.

    Attributes
    ----------
    layout
        How they are divided.
    """

    def __init__(
        self, device: Device, arcs: Arcs, order: NDArray[np.int32], length: float,
        dtype: np.dtype[Any],
    ) -> None:  # fmt: skip
        n, m = order.size, arcs.into.size
        self._device, self._n, self._length, self._dtype = device, n, length, dtype
        names, starts, into = _numbered_anew(arcs, order)
        places = np.empty(n, np.int32)
        places[names] = np.arange(n, dtype=np.int32)
        self._hubs = int((np.diff(starts) > _ARCS_OF_A_HUB).sum())
        self._starts, self._into = device.to_device(starts), device.to_device(places[into])
        self._places = device.to_device(places)
        self.layout = layout_for(device, n, dtype)
        # Where all rows are there each has its place; a band has those of neighbouring numbers.
        sources = order if self.layout.band == n else np.arange(n, dtype=np.int32)
        self._rows, self._sources = device.to_device(sources), device.to_device(places[sources])
        blocks = self.layout.blocks
        self._masks = device.empty((blocks, _masks_of_a_block(n), n, WORDS), np.uint32)
        self._state = device.empty((2, blocks), np.int32)
        self._most = max(1, int(_SECONDS_OF_A_LAUNCH / _level_seconds(n, m)))

    def fill(
        self, first: int, last: int, dist: Any, progress: Callable[[float], None] | None = None
    ) -> None:
        """Write rows of distances; what writes the last ones may still be at work on return.

        Parameters
        ----------
        first, last
            Which rows: all, or a band.
        dist
            On the device; receives them.
        progress
            Called between launches with the fraction of all rows that is done.

        Raises
        ------
        DoesNotFitError
            A distance does not fit an integer dtype.
        """
        device, dtype, (blocks, batch, _) = self._device, self._dtype, self.layout
        step, no_path = dtype.type(self._length).item(), outer_no_path(dtype).item()
        for begin in range(first, last, blocks * batch):
            count = blocks_for(min(last - begin, blocks * batch), batch)
            farthest = self._search(begin, count) * self._length
            if dtype.kind == "i" and farthest >= inner_no_path(dtype):
                raise DoesNotFitError(f"there is a distance of {farthest}")
            device.launch(
                write_distances, _BLOCKS_OF_ROWS * device.properties.multiprocessors, THREADS,
                self._masks, self._places, self._rows, begin, batch, count, self._state,
                step, no_path, first, dist,
            )  # fmt: skip
            if progress:
                progress(min(begin + blocks * batch, last) / self._n)

    def _search(self, begin: int, count: int) -> int:
        """Search with some blocks until nobody is found; return the last level of all."""
        launch, masks, state = self._device.launch, self._masks, self._state
        launch(
            begin_searches, count, _THREADS_OF_SEARCHES,
            masks, self._sources, begin, self.layout.batch, state,
        )  # fmt: skip
        while True:
            launch(
                search_levels, count, _THREADS_OF_SEARCHES,
                masks, self._starts, self._into, self._hubs, self._most, state,
            )  # fmt: skip
            levels, are_done = self._device.to_host(state)[:, :count]
            if are_done.all():
                return int(levels.max())


def _numbered_anew(
    arcs: Arcs, order: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the vertices sorted by the arcs into them, where these start, and their other ends.

    Threads of a warp then have about as many arcs. Vertices that have as many stay in ``order``, so
    that neighbours are near.
    """
    m = arcs.into.size
    if m > _MOST_ARCS:
        raise TooLargeError(f"graph: {m:,} arcs are more than 32 bits count")
    entering = np.diff(arcs.into_starts)
    names = order[np.argsort(-entering[order], kind="stable")]
    starts = np.zeros(names.size + 1, np.int64)
    np.cumsum(entering[names], out=starts[1:])
    given = np.arange(m) + np.repeat(arcs.into_starts[names] - starts[:-1], entering[names])
    return names, starts.astype(np.int32), arcs.into[given]


def find_next_hops(
    device: Device,
    arcs: Arcs,
    dist: Any,
    step: Any,
    hops: NDArray[np.int32],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Bring next hops to the host, as many rows at a time as a launch may take and memory holds.

    Parameters
    ----------
    device
        The GPU.
    arcs
        Of the graph.
    dist
        All distances, on the device.
    step
        The length of an arc.
    hops
        Receives them.
    progress
        Called between launches with the fraction done.

    Raises
    ------
    TooLargeError
        The device does not hold a row and the arcs beside the distances.
    """
    n, multiprocessors = len(hops), device.properties.multiprocessors
    starts, ends = device.to_device(arcs.starts.astype(np.int32)), device.to_device(arcs.ends)
    row_seconds = (n + arcs.ends.size) * _COMPARED_SECONDS / multiprocessors
    at_a_time = min(n, int(_SECONDS_OF_A_LAUNCH / row_seconds), room(device) // (4 * n))
    band = device.empty((max(at_a_time, 1), n), np.int32)
    for first in range(0, n, band.shape[0]):
        some = hops[first : first + band.shape[0]]
        there = band[: len(some)]
        device.launch(
            write_next_hops, _BLOCKS_OF_ROWS * multiprocessors, THREADS,
            starts, ends, dist, step, outer_no_path(dist.dtype).item(), first, there,
        )  # fmt: skip
        download(device, there, some)
        if progress:
            progress((first + len(some)) / n)
