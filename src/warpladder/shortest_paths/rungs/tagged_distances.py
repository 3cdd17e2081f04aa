"""Next hops in the lowest bits of the distances.

Idea: the minimum of two numbers keeps one of them whole. So let each number bring along what is to
be remembered. Few distances of int32 need all of their bits: multiplied by 256, one that is below
four million leaves eight for a tag. To what leads from the k-th vertex of a tile to j, tag k + 1
is added when it comes into shared memory. Then the minimum of the sums through all 128 vertices
tells in its lowest bits which of them it leads through, and a relaxation is as many instructions as
without next hops: for int32 one (VIADDMNMX). What was known has tag 0, so it stays unless a sum is
shorter, and of sums that are equally short the first stays.

After the 128 vertices of a tile of the diagonal each thread looks at its tags. Where there is one
it stores the vertex, and takes the tag off. That is not yet the next hop; it is a vertex on the
way. To go to j, go to the vertex noted, to which one goes by the vertex noted there, until there is
none, for an edge leads there. So in the end a block goes along each row. As there may be as many
notes on the way as vertices, each cell follows some and takes over what it comes to, again and
again: then those who come by skip what it has skipped.

In the tile on the diagonal all cells change in every step, so the operands' tags are taken off when
they are published. Tags are given there in the order in which vertices are taken.

Race-free for the reasons told in `overlapped-panels`: notes are written where distances are, by the
same thread, and read in the end alone, a part of a row before any of it is written.

Below: `one-launch-next-hops` looked again where a cell improved, in tiles of 64 x 64, and took
three instructions more for every eight relaxations of a cell.

Expect: the shared loads of `overlapped-panels`; two launches more, which make room for tags and
read the notes. Looking at tags takes some instructions for every 128 relaxations of a cell.

Found: it takes an eighth longer than without next hops. On an NVIDIA H200 (2026-11-27), at n =
2048, this takes 1.67 ms, `overlapped-panels` 1.48 ms, and `one-launch-next-hops` 2.24 ms.

Source: beyond

Question: Seven bits would tell 128 vertices apart. Why are there eight, and how long may paths be
if two tiles of the diagonal, 256 vertices, are to have tags of their own?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import round_up
from warpladder.device.kernel_cache import cached
from warpladder.errors import InputError
from warpladder.rung import Bound, Found, Prediction, Rung
from warpladder.shortest_paths.dense import NO_HOP
from warpladder.shortest_paths.gpu_tiles import tagged
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE, TWO_BLOCKS
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import LENGTHS_ALONG_HOPS_BY_TILES
from warpladder.shortest_paths.rungs.deep_rounds import (
    DeepRounds,
    Operands,
    Tiles,
    tile_of_cross,
    tile_of_rest,
)
from warpladder.shortest_paths.rungs.overlapped_panels import overlap_rounds
from warpladder.shortest_paths.rungs.register_tiles import MAX_N

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "TAGGED", "close_with_tags", "run"]

#: Of a row that a thread reads before it writes.
_CELLS = 4


@cached
@cuda.jit
def make_room(dist, notes, least):
    """Make room for tags, with nothing noted; what is not less than ``least`` is no path."""
    for i in range(cuda.blockIdx.x, dist.shape[0], cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, dist.shape[1], cuda.blockDim.x):
            dist[i, j] = min(dist[i, j], least) << tagged.BITS
            notes[i, j] = NO_HOP


@cuda.jit(device=True)
def go_back(notes, i):
    """Have each cell of row ``i`` that goes through a vertex note the first vertex of its path."""
    note = cuda.local.array(_CELLS, int32)
    n = notes.shape[1]
    go_on = 1
    while go_on:
        go_on = 0
        # As often for every thread, or some would not come to the barriers.
        for first in range(cuda.threadIdx.x, n + cuda.threadIdx.x, _CELLS * THREADS):
            for u in range(_CELLS):
                j = first + u * THREADS
                note[u] = notes[i, j] if j < n else NO_HOP
                if note[u] <= tagged.NOTED:
                    note[u], are_more = tagged.earlier_note(notes, i, note[u])
                    if are_more:
                        go_on = 1
            cuda.syncthreads()
            for u in range(_CELLS):
                j = first + u * THREADS
                if j < n:
                    notes[i, j] = note[u]
            cuda.syncthreads()
        go_on = cuda.syncthreads_or(go_on)


@cached
@cuda.jit
def read_notes(dist, notes, least, no_path):
    """Make distances of what has room for tags, and next hops of notes, in place."""
    for i in range(cuda.blockIdx.x, dist.shape[0], cuda.gridDim.x):
        go_back(notes, i)
        for j in range(cuda.threadIdx.x, dist.shape[1], THREADS):
            known, note = dist[i, j] >> tagged.BITS, notes[i, j]
            dist[i, j] = known if known < least else no_path
            hop = tagged.NOTED - note if note <= tagged.NOTED else j
            notes[i, j] = hop if known < least else NO_HOP


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def close_tagged_diagonal(dist, notes, pivot):
    """Close tile ``pivot`` of the diagonal."""
    tagged.close_tile(dist, notes, pivot * TILE)


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_tagged_cross(dist, notes, pivot, depth, cross):
    """Do as `relax_deep_cross`, and note what improved."""
    row, column = tile_of_cross(pivot, depth, cross)
    if row >= 0:
        tagged.relax_tile(dist, notes, row * TILE, column * TILE, pivot, depth)


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_tagged_rest(dist, notes, pivot, depth, skipped):
    """Do as `relax_deep_rest`, and note what improved."""
    row, column = tile_of_rest(pivot, skipped)
    tagged.relax_tile(dist, notes, row * TILE, column * TILE, pivot, depth)


TAGGED = Tiles(close_tagged_diagonal, relax_tagged_cross, relax_tagged_rest, THREADS)


def close_with_tags(
    device: Device, dist: Any, hops: Any, no_path: int, close: Callable[[Operands], None]
) -> None:
    """Replace weights by distances, and what is in ``hops`` by next hops.

    Parameters
    ----------
    device
        Where the arrays are.
    dist
        Shape (m, m), m a multiple of `TILE`, int32; none is negative, and all distances are below
        `tagged.MOST` and ``no_path``.
    hops
        Of the same shape, int32.
    no_path
        Where there is no edge, and then where there is no path.
    close
        Launches the rounds of `Tiles` on the operands that it is given.
    """
    least = min(no_path, tagged.MOST)
    blocks = min(dist.shape[0], 32 * device.properties.multiprocessors)
    device.launch(make_room, blocks, THREADS, dist, hops, least)
    given = dist, hops
    close(Operands(given, given, given))
    device.launch(read_notes, blocks, THREADS, dist, hops, least, no_path)


def run(device: Device, problem: Weights) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distances and the next hops."""
    weights = problem.matrix
    n = len(weights)
    if weights.min(initial=0) < 0:
        raise InputError("problem: a weight is below 0; use one-launch-next-hops")
    longest = int(weights.max(axis=1, where=weights < problem.no_path, initial=0).sum(dtype=int))
    if longest >= tagged.MOST:
        raise InputError(
            f"problem: paths may be as long as {longest:,}, and only distances below "
            f"{tagged.MOST:,} leave room for tags; use one-launch-next-hops"
        )
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    hops = device.empty((side, side), np.int32)

    def close(operands: Operands) -> None:
        overlap_rounds(device, DeepRounds(device, side // TILE, operands, TAGGED, 1), None)

    if n:
        close_with_tags(device, dist, hops, int(problem.no_path), close)
    both = device.to_host(dist)[:n, :n], device.to_host(hops)[:n, :n]
    return np.ascontiguousarray(both[0]), np.ascontiguousarray(both[1])


RUNG = Rung(
    name="tagged-distances",
    title="Next hops in the lowest bits of the distances",
    source="beyond",
    run=run,
    task=LENGTHS_ALONG_HOPS_BY_TILES,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock"),
    kernels=(make_room, close_tagged_diagonal, relax_tagged_cross, relax_tagged_rest, read_notes),
    predicts=(
        Prediction(
            "shared_load_requests",
            "==",
            1,
            260,
            "a relaxation takes what it takes without next hops",
            than="overlapped-panels",
        ),
        Prediction(
            "launches", "==", 13, 260, "eleven as in `overlapped-panels`, and two around them"
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=MAX_N,
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-27",
            2048,
            (
                ("tagged-distances", 1.67),
                ("overlapped-panels", 1.48),
                ("one-launch-next-hops", 2.24),
            ),
        ),
    ),
)
