"""Register tiles, and the next round's panels while the others are still at this one's.

Idea: nothing in round p + 1 can begin before its tile on the diagonal is closed and its panels are
relaxed: 2 t - 1 of t x t tiles, on a GPU that is mostly idle meanwhile. But these tiles need only
round p's panels. So do them first, on a stream of their own: relax row and column p + 1 through p,
close the tile on the diagonal, relax the panels. Meanwhile the other stream relaxes all other tiles
through p. Blocks of an urgent stream go before those of others when a multiprocessor has room.

Why nothing races. Round p relaxes the rest through row and column p and writes neither these nor
row and column p + 1, which the urgent stream reads and writes; in those, tiles (p, p + 1) and
(p + 1, p) are panels of round p, which the rest has no use for. The urgent stream waits for the
rest of round p - 1, the other one for the panels of round p.

Below: while one block closed the tile on the diagonal, and two rows of tiles were relaxed through
it, the rest waited.

Expect: the same loads; from three tiles in a row on, a launch more for each round but the last,
that of the tiles done before the others. The simulator runs one launch after another, so what is
saved shows on a GPU only.

Source: beyond

Question: What part of all tiles are the diagonal and the panels of one round at n = 512, and what
part at n = 4,096? For which of the two does it matter more that nobody waits for them?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.grids import round_up
from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE
from warpladder.shortest_paths.rungs import register_tiles, register_tiles_int16
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_OVERLAPPED
from warpladder.shortest_paths.rungs.register_tiles import close_diagonal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device, Grid
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "Tiles", "close_overlapped", "overlap_rounds", "run"]

#: What is ahead of the GPU when the host waits for it: enough to keep it busy, little enough that
#: progress and Ctrl-C come soon.
_ROUNDS_AHEAD = 8


class Tiles(NamedTuple):
    """How tiles are relaxed: two kernels, the threads of their blocks, and the blocks.

    Those of row and column ``cross`` by the number of other rows; of a square by its rows.
    """

    cross: Any
    rest: Any
    threads: int
    blocks_of_cross: Callable[[int], Grid] = lambda others: (others, 2)
    blocks_of_rest: Callable[[int], Grid] = lambda rows: (rows, rows)


_SINGLES = Tiles(register_tiles.relax_cross, register_tiles.relax_rest, THREADS)
_PAIRS = Tiles(
    register_tiles_int16.relax_cross, register_tiles_int16.relax_rest, register_tiles_int16.THREADS
)


def close_overlapped(
    device: Device, dist: Any, progress: Callable[[float], None] | None = None
) -> None:
    """Replace weights by distances, in place, in rounds that overlap.

    Parameters
    ----------
    device
        Where the matrix is.
    dist
        Shape (m, m), m a multiple of `TILE`; numbers of 4 bytes, or int16, which go in pairs.
    progress
        Called now and then with the fraction done.
    """
    if dist.dtype == np.int16:
        overlap_rounds(device, dist, (dist.view(np.int32),), _PAIRS, progress)
    else:
        overlap_rounds(device, dist, (dist,), _SINGLES, progress)


def overlap_rounds(
    device: Device,
    dist: Any,
    operands: tuple[Any, ...],
    tiles: Tiles,
    progress: Callable[[float], None] | None,
) -> None:
    """Do the same with these kernels: panels take all ``operands``, the rest the first of them."""
    count = dist.shape[0] // TILE
    others = count - 1
    urgent, usual = device.stream(urgent=True), device.stream()
    ready = device.event()
    done = [device.event() for _ in range(_ROUNDS_AHEAD)]

    def relax_cross(pivot: int, cross: int) -> None:
        blocks = tiles.blocks_of_cross(others)
        device.launch(tiles.cross, blocks, tiles.threads, *operands, pivot, cross, stream=urgent)

    def relax_rest(pivot: int, skipped: int) -> None:
        blocks = tiles.blocks_of_rest(count - skipped)
        device.launch(tiles.rest, blocks, tiles.threads, operands[0], pivot, skipped, stream=usual)

    def close_and_relax_panels(pivot: int) -> None:
        device.launch(close_diagonal, 1, THREADS, dist, pivot, stream=urgent)
        if others:
            relax_cross(pivot, pivot)
        ready.record(urgent)

    close_and_relax_panels(0)
    for pivot in range(others):
        usual.wait(ready)
        if pivot >= _ROUNDS_AHEAD:
            done[pivot % _ROUNDS_AHEAD].synchronize()
            if progress:
                progress((pivot - _ROUNDS_AHEAD) / count)
        if pivot:
            urgent.wait(done[(pivot - 1) % _ROUNDS_AHEAD])
        relax_cross(pivot, pivot + 1)
        close_and_relax_panels(pivot + 1)
        if count > 2:
            relax_rest(pivot, 2)
        done[pivot % _ROUNDS_AHEAD].record(usual)
    usual.wait(ready)
    if others:
        relax_rest(others, 1)
    device.synchronize()


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    if n:
        close_overlapped(device, dist)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="overlapped-panels",
    title="Register tiles; the next round's panels beside this round's rest",
    source="beyond",
    run=run,
    task=DISTANCES_OVERLAPPED,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock"),
    kernels=register_tiles.KERNELS,
    predicts=(
        Prediction(
            "global_load_sectors",
            "==",
            1,
            256,
            "the same tiles are read, in another order",
            than="register-tiles",
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=register_tiles.MAX_N,
)
