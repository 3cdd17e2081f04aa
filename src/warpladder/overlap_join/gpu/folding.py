"""Pairs counted where several right rows have one counter, and how many of them are best.

A counter of several rows is a filter: where it has not come to what a left row needs, none of its
rows has. Counters that have are candidates. They are written out like pairs, and each of their rows
is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from warpladder.overlap_join.gpu.counting import Counts, Launcher, Pairs, Stretch, meeting_of
from warpladder.overlap_join.gpu.tuning import checking_share, folds_to_try
from warpladder.overlap_join.gpu_counters.checking import THREADS, check_candidates
from warpladder.overlap_join.measures import least_shared

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.overlap_join.forms import Join
    from warpladder.overlap_join.gpu.index import Block, Blocks
    from warpladder.overlap_join.gpu.tuning import Tuning
    from warpladder.overlap_join.gpu_counters.sampling import Likeness

__all__ = ["Folding", "best_folding"]

_BLOCKS_PER_MULTIPROCESSOR = 16
#: Left rows at a time, of which each has a run of candidates in every part of a block at most; and
#: candidates.
_MOST_ROWS, _RUNS_OF_A_ROW, _MOST_CANDIDATES = 1 << 20, 4, 1 << 26
#: Left rows for which a folding is tried, and the share of all time that candidates may take then.
_TRIED, _MOST_SHARE = 2048, 0.5


class Folding:
    """Counts pairs with so many rows to a counter as the tuning says, which may be one.

    Parameters
    ----------
    device, join, tuning
        Where, what, and how it is divided.
    places
        How many candidates there is room for, if that is enough for one left row.
    """

    def __init__(self, device: Device, join: Join, tuning: Tuning, places: int) -> None:
        self.tuning = tuning
        self._device, self._join = device, join
        self._places = max(min(places, _MOST_CANDIDATES), tuning.counters)
        self._launcher = Launcher(device, join, tuning)
        self._rows = _MOST_ROWS
        # Kept from block to block: allocating it takes longer than to count a few rows.
        self._room: Pairs | None = None

    def tuned(self, tuning: Tuning) -> Folding:
        """Return the same with another tuning."""
        return Folding(self._device, self._join, tuning, self._places)

    def candidates_of_each(self, stretch: Stretch, block: Block) -> float:
        """Return how many candidates a left row has in a block."""
        taken = self.candidates(stretch, block).taken
        return int(self._device.to_host(taken)[0]) / len(stretch.left)

    def count(self, stretch: Stretch, block: Block, counts: Counts) -> None:
        """Add the pairs of left rows with a block to the counts."""
        if self.tuning.fold == 1:
            self._launcher.count(stretch, block, counts)
            return
        first = 0
        while first < len(stretch.left):
            last = min(first + self._rows, len(stretch.left))
            some = stretch.rows(first, last)
            room = self.candidates(some, block)
            found, runs = (int(number) for number in self._device.to_host(room.taken))
            if found > self._places:
                self._rows = max(int(0.8 * (last - first) * self._places / found), 1)
                continue
            if runs:
                self._check(some, block, room, runs, counts, first)
            first = last

    def candidates(self, stretch: Stretch, block: Block) -> Pairs:
        """Return the counters of a block that have come to what left rows need."""
        device = self._device
        if self._room is None:
            most_runs = _RUNS_OF_A_ROW * min(_MOST_ROWS, len(self._join.left))
            self._room = Pairs(
                device.empty(self._places, np.int32),
                device.empty(self._places, np.int32),
                device.empty(2, np.int64),
                device.empty(most_runs, np.int64),
                device.empty(most_runs, np.uint32),
                0,
                0,
            )
        device.to_device(np.zeros(2, np.int64), out=self._room.taken)
        self._launcher.count(stretch, block, self._room)
        return self._room

    def _check(
        self, stretch: Stretch, block: Block, room: Pairs, runs: int, counts: Counts, first: int
    ) -> None:
        device, left, right = self._device, stretch.left, block.part
        blocks = min(runs, _BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors)
        device.launch(
            check_candidates, blocks, THREADS, runs, room.run_begins, room.run_lengths,
            room.right, room.shared, self.tuning.row_counters, self.tuning.fold,
            left.starts, left.items, right.starts, right.items,
            meeting_of(self._join), left.first - right.first, right.first, *self._join.rule,
            counts.of_left[first : first + len(left)], counts.of_right,
        )  # fmt: skip


def best_folding(
    plain: Folding,
    join: Join,
    likeness: Likeness,
    tried: Stretch,
    blocks_of: Callable[[Tuning], Blocks],
) -> Folding:
    """Return the folding that costs least, by what is reckoned and by trying it.

    Parameters
    ----------
    plain
        With one row to a counter.
    join
        What is to be found.
    likeness
        Of rows of both sides.
    tried
        Left rows to try it on.
    blocks_of
        Returns the right side in blocks.
    """
    least = least_shared(*join.rule, round(likeness.size))
    for tuning in folds_to_try(plain.tuning, len(join.right), likeness, least):
        folding = plain.tuned(tuning)
        some = tried.rows(0, min(len(tried.left), _TRIED))
        blocks = blocks_of(tuning)
        # Of rows that meet only later ones, those in the middle meet all of the last block.
        found = folding.candidates_of_each(some, blocks.block(len(blocks) - 1))
        if checking_share(tuning, likeness, found) <= _MOST_SHARE:
            return folding
    return plain
