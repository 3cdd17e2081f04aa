"""Pairs found or counted on a GPU: the engine that `overlap_join` calls where there is one.

Right rows go in blocks, left rows in stretches. An index is made of a block, on the device, and
left rows are counted against it. To count pairs there is one stretch, if all rows fit the memory of
the device. To find them there are as many as their pairs need: room for pairs is bounded, a stretch
that finds more is done again with fewer rows, and the next one is chosen by what the last one
found. The pairs of a stretch are brought into order on the device and cross the bus through
page-locked memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.grids import WARP, blocks_for
from warpladder.overlap_join.forms import Counted, Found
from warpladder.overlap_join.gpu.counting import Counts, Launcher, Pairs, Stretch, parts_for
from warpladder.overlap_join.gpu.folding import Folding, best_folding
from warpladder.overlap_join.gpu.index import Blocks
from warpladder.overlap_join.gpu.sides import Side, fetch
from warpladder.overlap_join.gpu.tuning import Tuning, tuning_for
from warpladder.overlap_join.gpu_counters.prefix import running_sums
from warpladder.overlap_join.gpu_counters.rows import prepare_rows
from warpladder.overlap_join.gpu_counters.runs import copy_runs
from warpladder.overlap_join.gpu_counters.sampling import likeness_of

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.overlap_join.forms import Join

__all__ = ["GpuEngine"]

#: Of the free memory, what rows may take to stay on the device, and what indexes may after that.
_ROWS_SHARE, _INDEX_SHARE = 0.6, 0.5
#: Where they do not stay, what a stretch of left rows may take.
_STRETCH_SHARE = 0.1
#: Places for pairs at most; bytes for right row and count, before and after they are in order.
_MOST_PLACES, _PLACE_BYTES = 1 << 27, 16
#: Entries of the table of runs at most.
_MOST_RUNS = 1 << 24
_THREADS, _BLOCKS_PER_MULTIPROCESSOR = 256, 16


class GpuEngine:
    """Finds or counts the pairs of one join on one device; see `forms.Engine`.

    Parameters
    ----------
    join
        What is to be found. Rows may be in arrays of the device.
    device
        Where.
    tuning
        How the join is divided; by default as suits the device and a sample of the rows.
    places
        How many pairs there is room for on the device, those of one row at least; by default as
        its memory allows.
    stays
        Whether all rows stay on the device; by default where its memory allows.

    Examples
    --------
    >>> from warpladder.overlap_join.forms import Join, Rows
    >>> from warpladder.overlap_join.measures import Rule
    >>> from warpladder.simulator import SimulatedDevice
    >>> rows = Rows(np.array([0, 3, 5, 7]), np.array([0, 1, 2, 1, 2, 0, 2], np.int32), 3)
    >>> engine = GpuEngine(Join(rows, rows, Rule(0, 2.0)), SimulatedDevice(checks=False))
    >>> counted = engine.counted(0, 3, lambda done: None)
    >>> counted.pairs, counted.of_left + counted.of_right
    (2, array([2, 1, 1]))
    """

    def __init__(
        self,
        join: Join,
        device: Device,
        *,
        tuning: Tuning | None = None,
        places: int | None = None,
        stays: bool | None = None,
    ) -> None:
        self._join, self._device = join, device
        sides = (join.left,) if join.is_self else (join.left, join.right)
        free = device.free_bytes()
        if stays is None:
            needed = sum(rows.items.nbytes + rows.starts.nbytes for rows in sides)
            stays = needed <= _ROWS_SHARE * free
        self._stays = stays
        self._left = Side(device, join.left, stays=stays)
        self._right = self._left if join.is_self else Side(device, join.right, stays=stays)
        self._universe = max(join.left.universe, join.right.universe)
        free = device.free_bytes()
        self._room = int(_INDEX_SHARE * free)
        self._stretch_items = int(_STRETCH_SHARE * free) // join.left.items.dtype.itemsize
        most = min(_MOST_PLACES, int((1 - _INDEX_SHARE) * free) // 2 // _PLACE_BYTES)
        most = min(most, len(self._left) * len(self._right))
        # The pairs of one left row must fit.
        self._places = max(places or most, len(self._right), 1)
        self._is_tuned = tuning is not None
        self._tuning = tuning or self._tuned()
        self._counting: Folding | None = None
        self._known: dict[Tuning, Blocks] = {}

    @property
    def tuning(self) -> Tuning:
        """How the join is divided; for counting it is found out when that is first asked for."""
        return self._tuning if self._counting is None else self._counting.tuning

    def found(self, first: int, last: int, advanced: Callable[[int], None]) -> Iterator[Found]:
        """Yield the pairs, the left rows in order, in pieces that fit the memory planned.

        Raises
        ------
        TooLargeError
            The device has not the memory for a block's index.
        """
        device, blocks = self._device, self._blocks(self._tuning)
        launcher = Launcher(device, self._join, self._tuning)
        parts = parts_for(int(np.diff(self._left.starts).max(initial=0)))
        columns = parts * len(blocks)
        most_rows = max(_MOST_RUNS // max(columns, 1), 1)
        given, ordered = (
            [device.empty((self._places, 1), np.int32) for _ in range(2)] for _ in range(2)
        )
        rows = most_rows
        while first < last:
            stretch = self._stretch(first, min(first + rows, last))
            rows = len(stretch.left)
            runs = rows * columns
            room = Pairs(
                given[0][:, 0],
                given[1][:, 0],
                device.full(2, 0, np.int64),
                device.full(runs, 0, np.int64),
                device.full(runs, 0, np.uint32),
                parts,
                columns,
            )
            for number in range(len(blocks)):
                launcher.count(stretch, blocks.block(number), room)
            wanted = int(device.to_host(room.taken)[0])
            if wanted > self._places:
                rows = max(int(0.8 * rows * self._places / wanted), 1)
                continue
            yield self._in_order(first, rows, room, ordered, wanted)
            advanced(rows)
            first += rows
            rows = min(most_rows, int(rows * min(0.8 * self._places / max(wanted, 1), 8.0)) + 1)

    def counted(self, first: int, last: int, advanced: Callable[[int], None]) -> Counted:
        """Count the pairs, and those of each row.

        Raises
        ------
        TooLargeError
            The device has not the memory for a block's index.
        """
        device = self._device
        folding = self._counting = self._counting or self._folding(first, last)
        blocks = self._blocks(folding.tuning)
        of_left = np.zeros(len(self._left), np.int64)
        of_right = device.full(len(self._right), 0, np.int32)
        told, done, steps = 0, 0, max((last - first) * len(blocks), 1)
        begin = first
        while begin < last:
            stretch = self._stretch(begin, last)
            rows = len(stretch.left)
            counts = Counts(device.full(rows, 0, np.int32), of_right)
            for number in range(len(blocks)):
                folding.count(stretch, blocks.block(number), counts)
                done += rows
                advanced((last - first) * done // steps - told)
                told = (last - first) * done // steps
            of_left[begin : begin + rows] = device.to_host(counts.of_left)
            begin += rows
        advanced(last - first - told)
        return Counted(int(of_left.sum()), of_left, device.to_host(of_right).astype(np.int64))

    def _in_order(
        self, first: int, rows: int, room: Pairs, ordered: list[Any], wanted: int
    ) -> Found:
        """Return the pairs of a stretch, run by run."""
        if wanted == 0:
            nothing = np.zeros(0, np.int32)
            return Found(first, np.zeros(rows, np.int64), nothing, nothing)
        device, runs = self._device, rows * room.columns
        ends = device.empty(runs, np.uint32)
        running_sums(device, room.run_lengths, ends)
        blocks = min(
            blocks_for(runs * WARP, _THREADS),
            _BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors,
        )
        device.launch(
            copy_runs, blocks, _THREADS, room.run_begins, room.run_lengths, ends, room.right,
            room.shared, *(each[:, 0] for each in ordered),
        )  # fmt: skip
        up_to = device.to_host(ends[room.columns - 1 :: room.columns]).astype(np.int64)
        right, shared = (fetch(device, each, wanted) for each in ordered)
        return Found(first, np.diff(up_to, prepend=0), right, shared)

    def _tuned(self) -> Tuning:
        """Return how the join is divided, by a sample of its rows where they are at hand."""
        left, right = self._samples()
        self._likeness = likeness_of(
            self._device, left, right, self._universe, is_self=self._join.is_self
        )
        halves = self._join.is_self and not self._join.both_ways
        return tuning_for(self._device.properties, len(self._right), self._likeness, halves=halves)

    def _samples(self) -> list[tuple[Any, Any]]:
        """Return the rows of both sides, or as many as may be on the device."""
        found = []
        for side in (self._left, self._right):
            part = side.part(0, len(side) if self._stays else self._fitting(side, 0, len(side)))
            found.append((part.starts, part.items))
        return found

    def _folding(self, first: int, last: int) -> Folding:
        """Return how pairs are counted: one row to a counter, or several."""
        plain = Folding(self._device, self._join, self._tuning, self._places)
        if self._is_tuned or first == last or len(self._right) == 0:
            return plain
        middle = self._stretch((first + last) // 2, last)
        return best_folding(plain, self._join, self._likeness, middle, self._blocks)

    def _stretch(self, first: int, last: int) -> Stretch:
        """Return left rows from ``first`` on, as many as may be on the device at a time."""
        if not self._stays:
            last = self._fitting(self._left, first, last)
        left = self._left.part(first, last)
        listed = max(self._universe - WARP * self._tuning.words, 0)
        prepared = prepare_rows(
            self._device, left.starts, left.items, self._join.rule, listed, self._tuning.words
        )
        return Stretch(left, np.diff(self._left.starts[first : last + 1]), prepared)

    def _fitting(self, side: Side, first: int, last: int) -> int:
        """Return how far rows go that may be on the device together, one at least."""
        most = side.starts[first] + self._stretch_items
        fitting = int(side.starts.searchsorted(most, side="right")) - 1
        return min(max(fitting, first + 1), last)

    def _blocks(self, tuning: Tuning) -> Blocks:
        """Return the right side in blocks, with the indexes that are made already."""
        if tuning not in self._known:
            # Those of another division are not needed at the same time.
            self._known = {
                tuning: Blocks(
                    self._device, self._right, self._join.rule, self._universe, tuning, self._room
                )
            }
        return self._known[tuning]
