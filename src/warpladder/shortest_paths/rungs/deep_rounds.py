"""Overlapped panels, and rounds that take two tiles of the diagonal.

Idea: in a round a block loads its tile, relaxes each cell through 128 vertices and stores it. While
it loads and stores, only the other block of its multiprocessor relaxes. So let a round take several
tiles of the diagonal, and load and store the rest once for all of these. First their rows and
columns are relaxed, tile of the diagonal by tile of the diagonal: close it, relax its panels, and
through it the rows and columns of the other tiles of the round. These are the rounds of
`overlapped-panels`, for these rows and columns alone; they leave in them the shortest ways through
all vertices of the round. Then the rest is relaxed through 256 vertices in one go, which may be
done in any order, as its operands are not written meanwhile. The next round's rows and columns go
first, as before.

Race-free for the reasons told in `overlapped-panels`, with "row and column p" read as those of a
round: the rest writes none of this round's or the next one's, the urgent stream only the next
one's. Within a launch through tile p nobody writes row and column p, unless they are the panels:
there each block reads but its own tile and (p, p).

Below: nine instructions in ten of the inner loop relaxed, but a block was not always in its loop.

Expect: as many relaxations as before. With t tiles in a row and g in a round, a tile of the rows
and columns of a round is stored g times, and one of the rest once: together
t / g (g t**2 - (g - 1) (t - g)**2) where there were t**3, a half of them as n grows. To relax
through one tile of the diagonal takes three tiles from memory, through two of them five. Counted
are sectors, and each of the four tiles that are closed at n = 512 counts as four, for it is read
and written cell by cell: stores 68 where there were 76, loads 188 where there were 196. The way of
the urgent stream is longer: beside the next round's rows and columns, a tile of the diagonal had
two launches, and has three. So expect nothing where the rest is done sooner than that.

Found: at n = 2048 it is so. On an NVIDIA H100 80GB HBM3 (2026-11-25), this takes 1.87 ms and
`overlapped-panels` 1.5 ms: with 16 tiles in a row the rest is 144 tiles, which are done in one go.
Larger matrices gain, some by rounds of four; `gpu/close.py` tells which, and how much.

Source: beyond

Question: What would be left of the rest, and of the overlap, if a round took all tiles of the
diagonal?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda

from warpladder.device.grids import round_up
from warpladder.device.kernel_cache import cached
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE, TWO_BLOCKS, relax_tile
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_IN_DEEP_ROUNDS
from warpladder.shortest_paths.rungs.overlapped_panels import overlap_rounds
from warpladder.shortest_paths.rungs.register_tiles import MAX_N, close_diagonal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device, Grid
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = [
    "RUNG",
    "SINGLES",
    "DeepRounds",
    "Operands",
    "Tiles",
    "run",
    "tile_of_cross",
    "tile_of_rest",
]

#: Tiles of the diagonal in a round.
DEPTH = 2


@cuda.jit(device=True)
def tile_of_cross(pivot, depth, cross):
    """Return the row and column of tiles that a block of `relax_deep_cross` takes; -1, -1 for none.

    Block (x, y) has a tile of row ``cross`` + y, or with y in the second half one of a column. One
    row and column alone may be the pivot's: these are the panels. Among several they are left out.
    """
    crosses = cuda.gridDim.y >> 1
    other, mine = cuda.blockIdx.x, cuda.blockIdx.y
    if other >= pivot:
        other += depth
    in_row = mine < crosses
    if not in_row:
        mine -= crosses
    mine += cross
    is_panel = crosses > 1 and pivot <= mine < pivot + depth
    is_in_a_row = not in_row and cross <= other and other < cross + crosses
    if is_panel or is_in_a_row:
        return -1, -1
    return (mine, other) if in_row else (other, mine)


@cuda.jit(device=True)
def tile_of_rest(pivot, skipped):
    """Return the row and column of tiles that a block of `relax_deep_rest` takes."""
    row, column = cuda.blockIdx.y, cuda.blockIdx.x
    if row >= pivot:
        row += skipped
    if column >= pivot:
        column += skipped
    return row, column


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_deep_cross(dist, pivot, depth, cross):
    """Relax rows and columns from tile ``cross`` on through ``depth`` tiles from ``pivot`` on."""
    row, column = tile_of_cross(pivot, depth, cross)
    if row >= 0:
        pivots = pivot * TILE, pivot * TILE, depth * TILE
        relax_tile(dist, dist, dist, row * TILE, column * TILE, pivots)


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_deep_rest(dist, pivot, depth, skipped):
    """Relax all tiles but those of ``skipped`` rows and columns from ``pivot`` on."""
    row, column = tile_of_rest(pivot, skipped)
    pivots = pivot * TILE, pivot * TILE, depth * TILE
    relax_tile(dist, dist, dist, row * TILE, column * TILE, pivots)


class Tiles(NamedTuple):
    """How tiles are closed and relaxed: three kernels, the threads of their blocks, and the blocks.

    The kernels are `close_diagonal`, `relax_deep_cross` and `relax_deep_rest`, or do as they do.
    The blocks of the second by the number of other tiles, and of how many rows and columns; of the
    third by the rows of a square.
    """

    diagonal: Any
    cross: Any
    rest: Any
    threads: int
    threads_of_diagonal: int = THREADS
    blocks_of_cross: Callable[[int, int], Grid] = lambda others, crosses: (others, 2 * crosses)
    blocks_of_rest: Callable[[int], Grid] = lambda rows: (rows, rows)


SINGLES = Tiles(close_diagonal, relax_deep_cross, relax_deep_rest, THREADS)


class Operands(NamedTuple):
    """What the three kernels of `Tiles` take before their numbers: the matrix, in their views."""

    diagonal: tuple[Any, ...]
    cross: tuple[Any, ...]
    rest: tuple[Any, ...]


class DeepRounds:
    """Rounds of ``depth`` tiles of the diagonal, of a matrix with ``side`` tiles in a row."""

    def __init__(
        self, device: Device, side: int, operands: Operands, tiles: Tiles, depth: int
    ) -> None:
        self.device, self.side, self.operands = device, side, operands
        self.tiles, self.depth = tiles, depth
        self.count = -(-side // depth)

    def _of(self, number: int) -> range:
        """Return the tiles of the diagonal that a round takes; none in one that there is not."""
        first = number * self.depth
        return range(first, max(first, min(first + self.depth, self.side)))

    def _cross(self, pivots: range, crosses: range, stream: Any) -> None:
        if others := self.side - len(pivots):
            blocks = self.tiles.blocks_of_cross(others, len(crosses))
            numbers = pivots.start, len(pivots), crosses.start
            self.device.launch(
                self.tiles.cross, blocks, self.tiles.threads, *self.operands.cross, *numbers,
                stream=stream,
            )  # fmt: skip

    def reach(self, number: int, stream: Any) -> None:
        """Relax rows and columns through all tiles of the round before."""
        self._cross(self._of(number - 1), self._of(number), stream)

    def close(self, number: int, stream: Any) -> None:
        """Close each tile, and relax all rows and columns of the round through it."""
        together = self._of(number)
        for pivot in together:
            alone = range(pivot, pivot + 1)
            threads = self.tiles.threads_of_diagonal
            self.device.launch(
                self.tiles.diagonal, 1, threads, *self.operands.diagonal, pivot, stream=stream
            )
            self._cross(alone, alone, stream)
            if len(together) > 1:
                self._cross(alone, together, stream)

    def rest(self, number: int, stream: Any) -> None:
        """Relax the tiles that are in neither these rows and columns nor the next ones."""
        own = self._of(number)
        skipped = len(own) + len(self._of(number + 1))
        if rows := self.side - skipped:
            blocks = self.tiles.blocks_of_rest(rows)
            numbers = own.start, len(own), skipped
            self.device.launch(
                self.tiles.rest, blocks, self.tiles.threads, *self.operands.rest, *numbers,
                stream=stream,
            )  # fmt: skip


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    if n:
        operands = Operands((dist,), (dist,), (dist,))
        overlap_rounds(device, DeepRounds(device, side // TILE, operands, SINGLES, DEPTH), None)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="deep-rounds",
    title="Overlapped panels; rounds of two tiles of the diagonal",
    source="beyond",
    run=run,
    task=DISTANCES_IN_DEEP_ROUNDS,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock"),
    kernels=(close_diagonal, relax_deep_cross, relax_deep_rest),
    predicts=(
        Prediction(
            "global_store_sectors",
            "==",
            Ratio(56 + 12, 64 + 12),
            512,
            "eight of sixteen tiles are stored half as often, four closed cell by cell",
            than="overlapped-panels",
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(176 + 12, 184 + 12),
            512,
            "these load five tiles once, not three twice",
            than="overlapped-panels",
        ),
    ),
    found=(
        Found(
            "NVIDIA H100 80GB HBM3",
            "2026-11-25",
            2048,
            (("deep-rounds", 1.87), ("overlapped-panels", 1.5)),
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=MAX_N,
)
