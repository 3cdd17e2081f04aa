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
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from warpladder.device.grids import round_up
from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_OVERLAPPED
from warpladder.shortest_paths.rungs.register_tiles import (
    KERNELS,
    MAX_N,
    close_diagonal,
    relax_cross,
    relax_rest,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "Rounds", "overlap_rounds", "run"]

#: What is ahead of the GPU when the host waits for it: enough to keep it busy, little enough that
#: progress and Ctrl-C come soon. The engine's rounds take 0.02 s for 24,000 vertices on an H100.
_ROUNDS_AHEAD = 8


class Rounds(Protocol):
    """What is launched in each of ``count`` rounds."""

    count: int

    def reach(self, number: int, stream: Any) -> None:
        """Relax the rows and columns that a round takes through the round before."""

    def close(self, number: int, stream: Any) -> None:
        """Close their tiles on the diagonal, and relax their panels."""

    def rest(self, number: int, stream: Any) -> None:
        """Relax the rest, but not the next round's rows and columns."""


def overlap_rounds(
    device: Device, rounds: Rounds, progress: Callable[[float], None] | None
) -> None:
    """Launch rounds so that each begins beside the rest of the one before."""
    urgent, usual = device.stream(urgent=True), device.stream()
    ready = device.event()
    done = [device.event() for _ in range(_ROUNDS_AHEAD)]
    rounds.close(0, urgent)
    ready.record(urgent)
    for number in range(rounds.count - 1):
        usual.wait(ready)
        if number >= _ROUNDS_AHEAD:
            done[number % _ROUNDS_AHEAD].synchronize()
            if progress:
                progress((number - _ROUNDS_AHEAD) / rounds.count)
        if number:
            urgent.wait(done[(number - 1) % _ROUNDS_AHEAD])
        rounds.reach(number + 1, urgent)
        rounds.close(number + 1, urgent)
        ready.record(urgent)
        rounds.rest(number, usual)
        done[number % _ROUNDS_AHEAD].record(usual)
    usual.wait(ready)
    rounds.rest(rounds.count - 1, usual)
    device.synchronize()


class _OfOneTile:
    """Rounds of one tile of the diagonal each."""

    def __init__(self, device: Device, dist: Any) -> None:
        self.device, self.dist = device, dist
        self.count = dist.shape[0] // TILE

    def _cross(self, pivot: int, cross: int, stream: Any) -> None:
        if others := self.count - 1:
            blocks = others, 2
            self.device.launch(relax_cross, blocks, THREADS, self.dist, pivot, cross, stream=stream)

    def reach(self, number: int, stream: Any) -> None:
        """Relax row and column through the tile before."""
        self._cross(number - 1, number, stream)

    def close(self, number: int, stream: Any) -> None:
        """Close the tile, and relax its panels."""
        self.device.launch(close_diagonal, 1, THREADS, self.dist, number, stream=stream)
        self._cross(number, number, stream)

    def rest(self, number: int, stream: Any) -> None:
        """Relax the tiles that are in neither this row and column nor the next."""
        skipped = min(2, self.count - number)
        if rows := self.count - skipped:
            blocks = rows, rows
            self.device.launch(
                relax_rest, blocks, THREADS, self.dist, number, skipped, stream=stream
            )


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    if n:
        overlap_rounds(device, _OfOneTile(device, dist), None)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="overlapped-panels",
    title="Register tiles; the next round's panels beside this round's rest",
    source="beyond",
    run=run,
    task=DISTANCES_OVERLAPPED,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock"),
    kernels=KERNELS,
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
    max_n=MAX_N,
)
