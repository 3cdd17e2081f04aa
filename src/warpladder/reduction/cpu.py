"""The CPU engine: tiles dealt out to all cores, what comes of them merged in order.

Which tiles there are depends on the array alone, and so does the order in which their states are
merged, pairwise: a result has the same bits on any number of cores. Work: one pass over memory, and
less where the answer is settled before its end. Bound: the bandwidth of memory from 32 MB on, that
of caches below.
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
from warpladder.reduction.copies import Buffers
from warpladder.reduction.layout import NO_MASK, PARALLEL_FROM, ArrayRows, Rows, Span
from warpladder.reduction.line_results import leaving_results
from warpladder.reduction.lines import turns
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.shared_rows import complete_together
from warpladder.reduction.together import Together

__all__ = ["Cascade", "Taker", "accumulate", "accumulator_for"]

# Tiles that are remembered, of larger arrays than that Python would matter.
_MOST_KEPT = 1 << 10
# Threads from which on tiles up to so many bytes that lie across are shared one by one: who has
# tiles of its own waits for the interpreter between them. Sums of 64 x 100,000 and of 4096 x 4096
# float32 over the first axis took 0.47 and 1.25 ms by 8 cores of a Xeon so, 0.9 and 1.7 dealt out;
# by 4 cores no less, nor sums of 256 MB.
_SHARED_FROM, _SHARED_UP_TO = 6, 8 << 20
# Kept at once for a `_Sheet`, in the second-level cache.
_MOST_STATES = 1 << 14

#: Takes a run of rows that is complete, with the states of the plan's parts.
Taker = Callable[[Span, list[Any]], None]


class Cascade:
    """States of neighbouring stretches, merged pairwise as they come."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._levels: list[tuple[int, list[Any]]] = []

    def push(self, states: list[Any]) -> None:
        """Add the states of the stretch that follows."""
        weight = 1
        while self._levels and self._levels[-1][0] == weight:
            earlier = self._levels.pop()[1]
            states, weight = self._plan.merged(earlier, states), 2 * weight
        self._levels.append((weight, states))

    def drain(self) -> list[Any] | None:
        """Return the states of all stretches, None where there was none."""
        if not self._levels:
            return None
        states = self._levels.pop()[1]
        while self._levels:
            earlier = self._levels.pop()[1]
            states = self._plan.merged(earlier, states)
        return states


def accumulate(
    plan: Plan,
    rows: Rows,
    take: Taker,
    *,
    first: int = 0,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Accumulate every row of a matrix.

    Parameters
    ----------
    plan
        The accumulators.
    rows
        The matrix.
    take
        Called once for each run of rows, from any thread, in any order, one at a time.
    first
        What the first column counts as, where indices are kept.
    progress
        Called now and then, in the calling thread, with the fraction done.
    """
    if isinstance(rows, ArrayRows):
        rows.allow_stacks()
    runs = list(rows.row_spans())
    # No row has columns, of which there may be more than memory has room for.
    columns = rows.column_spans() if runs else []
    if len(runs) == len(columns) == 1:
        # To deal out one tile as if there were many takes 0.006 ms, as long as to add 0.5 MB.
        take(runs[0], complete_together(plan, rows.tile(runs[0], columns[0], {}), first))
        if progress is not None:
            progress(1.0)
        return
    whole = rows.whole if isinstance(rows, ArrayRows) else None
    if whole is not None and _is_sheet(plan, rows, columns):
        pieces = _pieces(rows.count, whole.pitch, runs, columns, first)
        job: _Job = _Sheet(plan, rows, runs, columns, take, pieces, whole.data, whole.mask)
    else:
        job = _Job(plan, rows, runs, columns, take, first)
    _work_at(job, progress, _tiles_shared(plan, rows, runs, columns))


def accumulator_for(
    plan: Plan, lies_alike: ArrayRows
) -> Callable[[NDArray[Any], Taker], None] | None:
    """Return `accumulate` for matrices that lie as one does in other memory.

    It is called with their elements as they lie there, and with what takes runs of rows. How they
    are cut is found here, and no element read. It is None where tiles would be copied.
    """
    lies_alike.allow_stacks()
    columns, runs = lies_alike.column_spans(), list(lies_alike.row_spans())
    whole = lies_alike.whole
    if len(runs) * len(columns) > _MOST_KEPT:
        return None
    if len(columns) == 1:
        plan = leaving_results(plan)
    if whole is not None and _is_sheet(plan, lies_alike, columns):
        pieces = _pieces(lies_alike.count, whole.pitch, runs, columns, 0)

        def run_sheet(data: NDArray[Any], take: Taker) -> None:
            job = _Sheet(plan, lies_alike, runs, columns, take, pieces, data, NO_MASK)
            _work_at(job, None)

        return run_sheet
    moved, together = lies_alike.moved(), _tiles_shared(plan, lies_alike, runs, columns)
    if moved is None:
        return None

    def run(data: NDArray[Any], take: Taker) -> None:
        _work_at(_Job(plan, moved(data), runs, columns, take, 0), None, together)

    return run


def _tiles_shared(plan: Plan, rows: Rows, runs: list[Span], columns: list[Span]) -> Together | None:
    """Return what goes through each tile together with who stands by, None where nothing does."""
    part = plan.parts[0]
    if not (plan.is_plain and isinstance(part, FoldPart) and isinstance(rows, ArrayRows)):
        return None
    if not (runs and columns) or worker_count() < _SHARED_FROM:
        return None
    tile = rows.in_memory(runs[0], columns[0])
    if tile is None or not tile.across or part.by_lines is None:
        return None
    is_small = tile.rows * tile.length * tile.data.itemsize <= _SHARED_UP_TO
    found: Together | None = part.by_lines.sharing(tile) if is_small else None
    return found


def _work_at(
    job: _Job, progress: Callable[[float], None] | None, together: Together | None = None
) -> None:
    """Do a job, with the help of other threads where it is long.

    They are dealt out tiles, unless those who stand by are there to share each: both would be in
    each other's way.
    """
    buffers: Buffers = {}
    helpers, most = 0, min(worker_count() - 1, job.left) if job.total >= PARALLEL_FROM else 0
    began = perf_counter()
    try:
        while job.left:
            if helpers < most and (together is None or not together.is_attended()):
                helpers = most
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


class _Job:
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
        self._is_over, self.shares = False, True
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
            columns = self._columns[column]
            tile = self._rows.tile(span, columns, buffers)
            plan = self._plan if self.shares else self._plan.alone
            states = plan.complete(tile, self._first + columns.begin)
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


class _Piece(NamedTuple):
    """A tile of a `_Sheet`: where its elements begin, how they lie, and which states are its."""

    tail: slice
    lies: tuple[int, int, int, int]
    states: slice


def _is_sheet(plan: Plan, rows: Rows, columns: list[Span]) -> bool:
    """Tell whether all that is done with a tile is to call one loop, and states are not many."""
    part = plan.parts[0]
    is_one_loop = len(plan.parts) == 1 and part.loop is not None
    if isinstance(part, FoldPart) and len(columns) == 1:
        is_one_loop &= not turns(part.spec, rows.count, columns[0].end - columns[0].begin)
    are_few = len(columns) * rows.count <= _MOST_STATES
    return is_one_loop and are_few and not plan.counts_truths


def _pieces(
    count: int, pitch: int, runs: list[Span], columns: list[Span], first: int
) -> list[_Piece]:
    """Return the tiles of a `_Sheet` of so many rows."""
    return [
        _Piece(
            slice(run.begin * pitch + column.begin, None),
            (run.end - run.begin, column.end - column.begin, pitch, first + column.begin),
            # Those of each run of columns together: rows are merged all at once.
            slice(place * count + run.begin, place * count + run.end),
        )
        for run in runs
        for place, column in enumerate(columns)
    ]


class _Sheet(_Job):
    """Tiles that lie in memory as a loop takes them: all that it is called with is made at first.

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
        pieces: list[_Piece],
        data: NDArray[Any],
        mask: NDArray[np.bool_],
    ) -> None:
        super().__init__(plan, rows, runs, columns, take, 0)
        (self._part,) = plan.parts
        self._loop, self._settles = self._part.loop, len(runs) == 1 and len(columns) > 1
        states = self._states = self._part.new(len(columns) * rows.count)
        self._calls = [
            (data[tail], mask[tail], *lies, states[place]) for tail, lies, place in pieces
        ]

    def _repeat(self, number: int, buffers: Buffers) -> None:  # noqa: ARG002 - see `_Job`
        """Accumulate a tile that another thread is at, whose states are not to be touched."""
        *given, states = self._calls[number]
        self._call(number, (*given, self._part.new(len(states))))

    def _accumulate(self, number: int, buffers: Buffers) -> None:  # noqa: ARG002 - see `_Job`
        self._call(number, self._calls[number])

    def _call(self, number: int, given: tuple[Any, ...]) -> None:
        self._loop(*given)
        states = given[-1]
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
        repeated = [n for n in needed if self._found[n] is not self._calls[n][-1]]
        if repeated:
            # Whoever is at it still may write into the old ones.
            states = states.copy()
            for number in repeated:
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
