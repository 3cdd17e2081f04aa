"""The tiles of a matrix as a job for several threads, and what comes of them merged in order.

Either tiles are dealt out, each to one thread, or one after the other is shared by all who stand by
(`shared_rows`, `shared_lines`), with the same bits. Both at once keep more threads busy than there
are cores: sums of 4096 x 4096 float32 over the first axis took 3.0 ms so on two cores of an EPYC,
of 8 x 2,000,000 3.6, and 2.6 and 2.6 dealt out.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.device.crew import in_background
from warpladder.device.environment import worker_count
from warpladder.reduction.cpu.cascade import Cascade, Taker
from warpladder.reduction.cpu.shared_rows import complete_together
from warpladder.reduction.memory.copies import Buffers
from warpladder.reduction.memory.layout import PARALLEL_FROM, Rows, Span, Tile
from warpladder.reduction.plan import Plan
from warpladder.reduction.together import Together

__all__ = ["Job", "Piece", "Sheet", "pieces_of", "work_at"]


def work_at(
    job: Job, progress: Callable[[float], None] | None, together: Together | None = None
) -> None:
    """Do a job, with the help of other threads where it is long.

    They are dealt out tiles, unless those who stand by are there to share each: both would be in
    each other's way.
    """
    buffers: Buffers = {}
    helpers, most = 0, worker_count() - 1 if job.total >= PARALLEL_FROM else 0
    job.shares = together is not None
    began = perf_counter()
    try:
        while job.left:
            if most and not helpers and (together is None or not together.is_attended()):
                helpers = min(most, job.left)
                job.shares = False
                for _ in range(helpers):
                    in_background(job.run_all)
            job.run_one(buffers)
            if progress is not None:
                progress(job.done / job.total)
        patience = (perf_counter() - began) / max(job.done, 1) * (helpers + 1)
        job.finish(buffers, patience)
    finally:
        # Also where this thread was interrupted.
        job.stop()
    if progress is not None and job.total:
        progress(1.0)


class Job:
    """The tiles of a matrix, dealt out one by one, and what has come of them."""

    def __init__(
        self,
        plan: Plan,
        rows: Rows,
        runs: list[Span],
        columns: list[Span],
        take: Taker,
        first: int,
    ) -> None:
        self._plan, self._rows, self._take, self._first = plan, rows, take, first
        self._runs, self._columns = runs, columns
        self._found: dict[int, Any] = {}
        self._changed = Condition()
        self._is_over = self.shares = False
        self.total = self.left = self._needed = len(self._runs) * max(len(self._columns), 1)

    @property
    def done(self) -> int:
        """Number of tiles that are accumulated."""
        return len(self._found)

    def run_all(self) -> None:
        """Accumulate tiles as long as there are any."""
        buffers: Buffers = {}
        while self.run_one(buffers):
            pass

    def run_one(self, buffers: Buffers) -> bool:
        """Accumulate the next tile; return whether there was one."""
        with self._changed:
            if not self.left:
                return False
            number = self.total - self.left
            self.left -= 1
        self._accumulate(number, buffers)
        return True

    def stop(self) -> None:
        """Deal out no more tiles, and take nothing more of those that are being worked at."""
        with self._changed:
            self.left, self._is_over = 0, True

    def finish(self, buffers: Buffers, patience: float) -> None:
        """Merge what has come of all tiles, once the others have finished theirs.

        Who shares the machine may hold up a thread for many times as long as its tile takes. After
        ``patience`` seconds such a tile is done again here; the states will be the same.
        """
        number = 0
        while number < self._needed:
            if number not in self._found:
                with self._changed:
                    self._changed.wait_for(lambda: number in self._found, patience)  # noqa: B023 - asked at once
            if number not in self._found:
                self._repeat(number, buffers)
            number += 1
        self._conclude()

    def _conclude(self) -> None:
        """Merge the states of all tiles."""
        width = len(self._columns)
        if width < 2:
            return
        for run, span in enumerate(self._runs):
            cascade = Cascade(self._plan)
            for number in range(run * width, min((run + 1) * width, self._needed)):
                cascade.push(self._found[number])
            states = cascade.drain()
            if states is not None:
                self._take(span, states)

    def _repeat(self, number: int, buffers: Buffers) -> None:
        """Accumulate a tile that another thread is at."""
        self._accumulate(number, buffers)

    def _accumulate(self, number: int, buffers: Buffers) -> None:
        run, column = divmod(number, max(len(self._columns), 1))
        span = self._runs[run]
        is_settled = False
        if not self._columns:
            states = self._plan.new(span.end - span.begin)
        else:
            states = self._states_of(span, self._columns[column], buffers)
        if len(self._columns) > 1:
            is_settled = len(self._runs) == 1 and self._plan.is_settled(states)
        with self._changed:
            if self._is_over or number in self._found:
                # Done again by another thread: what was taken then is the caller's by now.
                return
            if len(self._columns) < 2:
                self._take(span, states)
                states = []
            self._found[number] = states
            if is_settled:
                # No tile after this one changes the answer.
                self.left, self._needed = 0, min(self._needed, number + 1)
            self._changed.notify()

    def _states_of(self, span: Span, columns: Span, buffers: Buffers) -> list[Any]:
        """Return what serves as states of the rows of a tile."""
        tile = self._rows.tile(span, columns, buffers)
        begin = self._first + columns.begin
        if self.shares:
            return complete_together(self._plan, tile, begin)
        return self._plan.alone.complete(tile, begin)


class Piece(NamedTuple):
    """A tile of a `Sheet`: where its elements are, how they lie, and which states are its."""

    elements: slice
    lies: tuple[int, int, int, int]
    states: slice


def pieces_of(
    count: int, pitch: int, runs: list[Span], columns: list[Span], first: int
) -> list[Piece]:
    """Return the tiles of a `Sheet` of so many rows."""
    return [
        Piece(
            slice(run.begin * pitch + column.begin, (run.end - 1) * pitch + column.end),
            (run.end - run.begin, column.end - column.begin, pitch, first + column.begin),
            # Those of each run of columns together: rows are merged all at once.
            slice(place * count + run.begin, place * count + run.end),
        )
        for run in runs
        for place, column in enumerate(columns)
    ]


class Sheet(Job):
    """Tiles that lie in memory as a loop takes them: all that it is called with is made at first.

    Where tiles are shared, each has other states.

    While a tile of megabytes goes through a core, what Python works with leaves its caches: of 16
    tiles of 4 MB each took 0.036 ms beside its loop. Where so little is left to do it takes 0.001.
    """

    def __init__(
        self,
        plan: Plan,
        rows: Rows,
        runs: list[Span],
        columns: list[Span],
        take: Taker,
        pieces: list[Piece],
        data: NDArray[Any],
        mask: NDArray[np.bool_],
    ) -> None:
        super().__init__(plan, rows, runs, columns, take, 0)
        (self._part,) = plan.parts
        self._loop, self._settles = self._part.loop, len(runs) == 1 and len(columns) > 1
        states = self._states = self._part.new(len(columns) * rows.count)
        self._calls = [
            (data[part], mask[part], *lies, states[place]) for part, lies, place in pieces
        ]

    def _repeat(self, number: int, buffers: Buffers) -> None:  # noqa: ARG002 - see `Job`
        """Accumulate a tile that another thread is at, whose states are not to be touched."""
        *given, states = self._calls[number]
        self._call(number, (*given, self._part.new(len(states))))

    def _accumulate(self, number: int, buffers: Buffers) -> None:  # noqa: ARG002 - see `Job`
        given = self._calls[number]
        if not self.shares:
            self._call(number, given)
            return
        data, mask, rows, length, pitch, first, _ = given
        tile = Tile(data, mask, rows, length, pitch)
        self._keep(number, *complete_together(self._plan, tile, first))

    def _call(self, number: int, given: tuple[Any, ...]) -> None:
        self._loop(*given)
        self._keep(number, given[-1])

    def _keep(self, number: int, states: Any) -> None:
        is_settled = self._settles and self._part.is_settled(states)
        with self._changed:
            if self._is_over or number in self._found:
                return
            self._found[number] = states
            if is_settled:
                self.left, self._needed = 0, min(self._needed, number + 1)
            self._changed.notify()

    def _conclude(self) -> None:
        """Merge the states of all rows, run by run of columns."""
        width, count, states = len(self._columns), self._rows.count, self._states
        # Not all that is found: where an answer was settled early, others may still be at tiles.
        needed = range(self._needed)
        elsewhere = [n for n in needed if self._found[n] is not self._calls[n][-1]]
        if elsewhere:
            # Shared, or done again: whoever is at it still may write into the old ones.
            states = states.copy()
            for number in elsewhere:
                run, place = divmod(number, width)
                span, at = self._runs[run], place * count
                states[at + span.begin : at + span.end] = self._found[number]
        cascade = Cascade(self._plan)
        # Where an answer is settled early, there is one run of rows.
        for place in range(min(width, self._needed)):
            cascade.push([states[place * count : (place + 1) * count]])
        merged = cascade.drain()
        assert merged is not None  # noqa: S101 - there is a column
        self._take(Span(0, count), merged)
