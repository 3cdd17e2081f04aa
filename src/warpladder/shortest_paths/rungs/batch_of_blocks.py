"""Many small graphs in one launch: a block for each.

Idea: what fills a GPU with small graphs is many of them, and they need nothing from one another. So
each block takes a graph of its own. Up to 64 vertices that is one tile: the block takes it into
registers, closes it there and writes it back. Larger graphs are closed in three phases over tiles
as ever, all by the same block.

Why nothing races. Graphs share nothing. Within a block `syncthreads` is all that a phase has to
wait for: whatever any thread of the block wrote before it, to global memory too, all of them see
after it. Only where blocks share a matrix does it take a barrier of the grid, as in `one-launch`.

Graphs lie one behind the other as they came, with no vertices to fill them up: the bus between host
and GPU is the narrowest place, and 33 vertices in a tile of 64 would send four numbers for one. The
block adds those vertices itself, in registers; or on the way to a copy in whole tiles, where there
is more than one. It writes down the first hops there too, and computes int16 as int32.

Below: `small-n-one-block` kept one multiprocessor busy and left all others free, and each
relaxation waited for three loads from shared memory.

Expect: one launch for all graphs. Each number crosses once in each direction: at 64 vertices 128
requests to load and 128 to store, and 16 KiB both ways. The 256 threads meet at a barrier for each
of 64 vertices, but while they wait, the multiprocessor has three other graphs to go on with.

Source: beyond

Question: How many relaxations does a graph of 64 vertices take for each byte that comes over the
bus? Suppose that the bus brings 50 GB/s and that the GPU does 15 million million relaxations a
second: which of the two limits?
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32

from warpladder.device.grids import round_up
from warpladder.device.kernel_cache import cached
from warpladder.rung import Bound, Prediction, Rung, Task, Work
from warpladder.shortest_paths.dense import NO_HOP
from warpladder.shortest_paths.gpu_tiles.large import place_of
from warpladder.shortest_paths.gpu_tiles.small import (
    CELLS,
    THREADS,
    TILE,
    close_tile,
    load_tile,
    relax_tile,
    store_tile,
)
from warpladder.shortest_paths.rungs._tasks import DISTANCES, Weights

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from warpladder.device.base import Device

__all__ = [
    "RUNG",
    "bytes_per_graph",
    "close_graphs",
    "close_in_many_tiles",
    "close_in_one_tile",
    "run",
]

#: What a number is computed as.
_COMPUTED_AS = {
    "int16": int32, "int32": int32, "int64": int64, "float32": float32, "float64": float64,
}  # fmt: skip
#: By bytes of a number and whether next hops are carried: registers of a thread where a graph is
#: one tile. Four blocks, three or two are then resident on a multiprocessor.
_ONE_TILE = {(4, False): 64, (8, False): 128, (4, True): 80, (8, True): 128}
#: Where it is more: the vertices in a slab, and registers. Two blocks are resident, or one.
_MANY_TILES = {
    (4, False): (32, 128),
    (8, False): (32, 168),
    (4, True): (64, 128),
    (8, True): (32, 255),
}


@cuda.jit(device=True)
def first_hop(weight, j, no_path):
    """Return the next hop before any detour: the target where there is an edge."""
    return j if weight < no_path else NO_HOP


@cache
def close_in_one_tile(number: Any, *, carry: bool) -> Any:
    """Return the kernel for graphs of at most 64 vertices, computed as ``number``."""

    @cached
    @cuda.jit(max_registers=_ONE_TILE[number.bitwidth // 8, carry])
    def close_single_tiles(dist, hops, no_path):
        """Replace weights by distances and write next hops; a block for each graph."""
        best = cuda.local.array(CELLS, number)
        hop = cuda.local.array(CELLS, int32)
        graph, links = dist[cuda.blockIdx.x], hops[cuda.blockIdx.x]
        n = graph.shape[0]
        y, x = place_of(cuda.threadIdx.x & (THREADS - 1))
        for r in range(4):
            for c in range(4):
                i, j = (y << 2) + r, (x << 2) + c
                best[r, c] = 0 if i == j else no_path
                if i < n and j < n:
                    best[r, c] = graph[i, j]
                if carry:
                    hop[r, c] = first_hop(best[r, c], j, no_path)
        close_tile(best, hop, carry)
        for r in range(4):
            for c in range(4):
                i, j = (y << 2) + r, (x << 2) + c
                if i < n and j < n:
                    graph[i, j] = best[r, c]
                    if carry:
                        links[i, j] = hop[r, c]

    return close_single_tiles


@cache
def close_in_many_tiles(number: Any, *, carry: bool) -> Any:
    """Return the kernel for graphs of any size, computed as ``number``."""
    slab, registers = _MANY_TILES[number.bitwidth // 8, carry]
    # Four numbers more than a tile has rows: threads that transpose 4 x 8 entries meet 32 banks.
    left_shape = (slab, TILE + 4)
    right_shape = (slab, TILE)

    @cached
    @cuda.jit(max_registers=registers)
    def close_tiled_graphs(dist, hops, padded_dist, padded_hops, no_path):
        """Replace weights by distances and write next hops; a block for each graph."""
        left = cuda.shared.array(left_shape, number, 16)
        right = cuda.shared.array(right_shape, number, 16)
        best = cuda.local.array(CELLS, number)
        hop = cuda.local.array(CELLS, int32)
        t, block = cuda.threadIdx.x, cuda.blockIdx.x
        graph, links = dist[block], hops[block]
        tiled, tiled_links = padded_dist[block], padded_hops[block]
        n, side = graph.shape[0], tiled.shape[0]
        for i in range(t >> 6, side, THREADS >> 6):
            for j in range(t & 63, side, 64):
                tiled[i, j] = 0 if i == j else no_path
                if i < n and j < n:
                    tiled[i, j] = graph[i, j]
                if carry:
                    tiled_links[i, j] = first_hop(tiled[i, j], j, no_path)
        cuda.syncthreads()

        # Counted in 32 bits: longer numbers take registers from the tiles.
        tiles = side // TILE
        for pivot in range(uint32(tiles)):
            pivots = pivot * TILE, pivot * TILE, TILE
            # From the tile on the diagonal on, every tile comes after those that it needs.
            for turn in range(uint32(tiles * tiles)):
                below = uint32(turn) // uint32(tiles)
                row = uint32(uint32(pivot + below) % uint32(tiles)) * TILE
                column = uint32(uint32(pivot + turn - below * tiles) % uint32(tiles)) * TILE
                load_tile(best, hop, tiled, tiled_links, row, column, carry and turn == 0)
                if turn == 0:
                    close_tile(best, hop, carry)
                else:
                    relax_tile(
                        best, hop, tiled, tiled_links, tiled, left, right, slab, row, column,
                        pivots, no_path, carry,
                    )  # fmt: skip
                store_tile(best, hop, tiled, tiled_links, row, column, carry)
                cuda.syncthreads()

        for i in range(t >> 6, n, THREADS >> 6):
            for j in range(t & 63, n, 64):
                graph[i, j] = tiled[i, j]
                if carry:
                    links[i, j] = tiled_links[i, j]

    return close_tiled_graphs


def close_graphs(device: Device, dist: Any, hops: Any, no_path: Any) -> None:
    """Replace weights by distances, in place and in one launch.

    Parameters
    ----------
    device
        Where the arrays are.
    dist
        Shape (b, n, n), 0 on the diagonals.
    hops
        Receives next hops, of the same shape; None where they are not wanted.
    no_path
        Not less than any distance, and twice it fits what a number is computed as.

    Notes
    -----
    The launch may still be at work on return. Above 64 vertices it takes memory for as many
    matrices again, of a side that is a multiple of 64.
    """
    graphs, n, _ = dist.shape
    number, carry = _COMPUTED_AS[dist.dtype.name], hops is not None
    links = hops if carry else device.empty((graphs, 1, 1), np.int32)
    if n <= TILE:
        device.launch(close_in_one_tile(number, carry=carry), graphs, THREADS, dist, links, no_path)
        return
    shape = (graphs, round_up(n, TILE), round_up(n, TILE))
    padded_dist = device.empty(shape, np.dtype(number.name))
    padded_hops = device.empty(shape, np.int32) if carry else links
    kernel = close_in_many_tiles(number, carry=carry)
    device.launch(kernel, graphs, THREADS, dist, links, padded_dist, padded_hops, no_path)


def bytes_per_graph(n: int, dist: DTypeLike, hops: DTypeLike | None) -> int:
    """Return how much memory of the device `close_graphs` takes for each graph.

    Examples
    --------
    >>> bytes_per_graph(64, "int16", None), bytes_per_graph(65, "int16", None)
    (8192, 73986)
    """
    side = round_up(n, TILE) if n > TILE else 0
    computed = _COMPUTED_AS[np.dtype(dist).name].bitwidth // 8
    taken: int = n**2 * np.dtype(dist).itemsize + side**2 * computed
    if hops is not None:
        taken += n**2 * np.dtype(hops).itemsize + side**2 * 4
    return taken


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances, for matrices of shape (b, n, n)."""
    dist = device.to_device(problem.matrix)
    if len(problem.matrix):
        close_graphs(device, dist, None, problem.no_path)
    return device.to_host(dist)


def _make(count: int, seed: int) -> Weights:
    graphs = [DISTANCES.make(TILE, seed + index) for index in range(max(count, 1))]
    return Weights(np.stack([graph.matrix for graph in graphs])[:count], graphs[0].no_path)


def _oracle(problem: Weights) -> NDArray[Any]:
    dist = problem.matrix.copy()
    for k in range(TILE):
        np.minimum(dist, dist[:, :, k, None] + dist[:, None, k, :], out=dist)
    return dist


RUNG = Rung(
    name="batch-of-blocks",
    title="Many small graphs in one launch, a block for each",
    source="beyond",
    run=run,
    task=Task(
        name="shortest distances between all pairs of 64 vertices in each of n graphs, int32",
        make=_make,
        oracle=_oracle,
        work=lambda problem: Work(
            TILE * problem.matrix.size, 2 * problem.matrix.nbytes, problem.matrix.dtype.name
        ),
        unit="relaxations",
        default_n=8192,
        sizes=(0, 1, 2, 7),
    ),
    bound=Bound("issue", "64**3 relaxations for each graph at 64 per multiprocessor and clock"),
    kernels=(close_in_one_tile(int32, carry=False),),
    predicts=(
        Prediction("launches", "==", 1, 7, "a block for each graph"),
        Prediction("global_load_requests", "==", 7 * 128, 7, "4096 numbers, 32 at a time, once"),
        Prediction("global_load_bytes", "==", 7 * 16384, 7, "4096 numbers of 4 bytes, once"),
        Prediction("global_store_bytes", "==", 7 * 16384, 7, "and back, once"),
        Prediction("barriers", "==", 7 * 8 * 64, 7, "8 warps meet for each of 64 vertices"),
    ),
)
