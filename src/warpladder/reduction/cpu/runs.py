"""Rows whose elements lie in runs, as those of each channel of images do, gone through as they lie.

Of an array of images x channels x height x width, reduced over all axes but that of channels, a row
has one run of height x width elements in each image. To copy rows first takes longer than to reduce
them. Each row is folded as it lies instead (`apart`), with the bits of a copy. Elements that lie
alone, as every second of a row, are runs of one.

By two cores of a Xeon sums of float32, 32 x 64 x 28 x 28 over all axes but the second, take 0.36 ms
in place of 1.3 (NumPy 0.45), the largest of 8 x 3 x 256 x 256 0.16 in place of 1.1 (NumPy 0.24).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.device.addresses import address
from warpladder.device.environment import worker_count
from warpladder.device.native import address_of
from warpladder.device.standby import MOST_PIECES
from warpladder.device.subroutines import entry_for
from warpladder.device.words import WORD_BYTES
from warpladder.reduction.cpu.apart import (
    LEAST_SHARED,
    ONE_GROUP,
    goes_in_place,
    loop_of_stretches,
    stretch_of,
)
from warpladder.reduction.cpu.cascade import Taker
from warpladder.reduction.cpu.jobs import Job
from warpladder.reduction.cpu.run_kernel import (
    DATA,
    UNITS,
    fold_alone,
    fold_piece,
    fold_together,
)
from warpladder.reduction.loops.cuts import may_be_cut
from warpladder.reduction.memory.copies import Buffers, lent, step_of
from warpladder.reduction.memory.layout import PARALLEL_FROM, SHORT, TILE_BYTES, ArrayRows, Span
from warpladder.reduction.memory.levels import Levels, levels_of, words_of
from warpladder.reduction.memory.singles import bytes_of_one
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.together import Together

__all__ = ["InRuns", "alike", "takes_runs"]

# Bytes of what is dealt out to a thread (`benchmarks/choices.py`: `runs-dealt-out`).
_DEALT_OUT = 1 << 22
# Bytes of a row and of a run from which it pays (`benchmarks/choices.py`: `shortest-rows-in-runs`,
# `shortest-runs`).
_LEAST_ROW, _LEAST_RUN = 1 << 9, 1 << 3
# Elements of rows that lie in groups from which it pays, unless they lie alone
# (`benchmarks/choices.py`: `rows-in-groups-of-runs`).
_LEAST_OF_LEVELS = 1 << 8
# Bytes of runs side by side that are gone through before those further on: as far as one stream of
# memory goes (`benchmarks/choices.py`: `runs-abreast`).
_ABREAST = 1 << 15


class _Runs(NamedTuple):
    """How elements of rows lie.

    Rows lie as `levels` tells, neighbours ``pitch`` elements apart. Where there are no ``levels``,
    element i of one is its ``i // run * skip + i % run``-th in memory; else so lie the runs of a
    group only, and groups as they tell. Where there is one group its size says nothing.
    """

    data: NDArray[Any]
    rows: int
    length: int
    pitch: int
    row_levels: Levels
    run: int
    skip: int
    group: int
    levels: Levels


def takes_runs(plan: Plan, rows: ArrayRows, *, evenly: bool = False) -> bool:
    """Tell whether rows lie in runs, as `InRuns` takes them; perhaps all rows and runs evenly."""
    part = plan.parts[0]
    if len(plan.parts) > 1 or plan.counts_truths or not isinstance(part, FoldPart):
        return False
    # What ends early in a stretch may go on in the next.
    copied = rows.copied_part(()) if may_be_cut(part.spec._replace(until="")) else None
    found = None if copied is None else _as_runs(*copied)
    return found is not None and not (evenly and (found.levels or len(found.row_levels) > 1))


class InRuns(Job):
    """The rows of a matrix that lie in runs: all at once, or many dealt out to several threads.

    Their columns are cut as for copies, and merged as those are.
    """

    def __init__(self, plan: Plan, rows: ArrayRows, take: Taker, first: int) -> None:
        size = rows.count * rows.length * rows.itemsize
        most = rows.count if size <= TILE_BYTES else max(rows.count * _DEALT_OUT // size, 1)
        spans = list(rows.row_spans(most))
        super().__init__(plan, rows, spans, [Span(0, rows.length)], take, first)
        # Each thread that is dealt out some does them alone.
        shares = len(spans) < PARALLEL_FROM
        self._ways = {span.begin: _Way(plan, rows, span, first, shares=shares) for span in spans}

    def _states_of(self, span: Span, columns: Span, buffers: Buffers) -> list[Any]:  # noqa: ARG002 - see `Job`
        way = self._ways[span.begin]
        return [way(way.data)]


def alike(plan: Plan, rows: ArrayRows) -> Callable[[NDArray[Any], Taker], None] | None:
    """Return what goes through matrices that lie as one does, all at once, in other memory.

    It is called with their elements as they lie there. It is None for what is dealt out.
    """
    if rows.count * rows.length * rows.itemsize > TILE_BYTES:
        return None
    (span,) = rows.row_spans(rows.count)
    way = _Way(plan, rows, span, 0, shares=True)
    # Of a matrix that nobody is to read.
    del way.data

    def run(data: NDArray[Any], take: Taker) -> None:
        take(span, [way(data)])

    return run


class _Way:
    """What is called with the elements of some rows, as they lie in memory; returns their states.

    Attributes
    ----------
    data
        The elements of the rows that it was made of.
    """

    def __init__(
        self, plan: Plan, rows: ArrayRows, span: Span, first: int, *, shares: bool
    ) -> None:
        copied, (part,) = rows.copied_part(span.slices), plan.parts
        assert isinstance(part, FoldPart)  # noqa: S101 - see `takes_runs`
        tile = copied and _as_runs(*copied)
        assert tile is not None  # noqa: S101 - some rows lie as all do
        self.data, self._rows = tile.data, tile.rows
        itemsize = tile.data.itemsize
        of_one = itemsize if tile.run > 1 else bytes_of_one(tile.skip * itemsize)
        size = tile.rows * tile.length * of_one
        pays = shares and size >= LEAST_SHARED
        ends = [span.end for span in rows.column_spans()]
        abreast = _rows_abreast(part, tile)
        if abreast:
            ends = ends[-1:]
        elif pays and (not tile.levels or _are_even(ends)):
            ends = _cut_finer(ends, stretch_of(part), tile.rows)
        self._size, self._ends, self._units = size, np.array(ends), tile.rows * len(ends)
        new = part.new(1)
        self._levels, self._row_levels = map(
            np.array, map(words_of, (tile.levels, tile.row_levels))
        )
        self._kind, self._words = new.dtype, new.itemsize // WORD_BYTES
        self._given = np.array([
            *(loop_of_stretches(part), 0, tile.rows, tile.pitch * itemsize),
            *(self._row_levels.ctypes.data, tile.run, tile.skip * itemsize, tile.group),
            *(self._levels.ctypes.data,),
            *(first, self._ends.ctypes.data, self._ends.size, 0, abreast, 0),
        ])  # fmt: skip
        self._together = together_in_runs(part) if pays and self._units > 1 else None

    def __call__(self, data: NDArray[Any]) -> NDArray[Any]:
        if self._together is not None:
            given, units = self._describe(data)
            if self._together(address(given), self._size, (data, given, self, units)):
                return self._states_in(units)
        # Others may be at work still with what they were given.
        given, units = self._describe(data)
        fold_alone(address(given))
        return self._states_in(units)

    def _states_in(self, units: NDArray[np.int64]) -> NDArray[Any]:
        """Return the states of rows, which merging has left where those of the first units were."""
        states: NDArray[Any] = units.view(self._kind)
        return states[: self._rows]

    def _describe(self, data: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what loops are given, and room for the states of all units."""
        given, units = self._given.copy(), np.empty(self._units * self._words, np.int64)
        given[DATA], given[UNITS] = address(data), address(units)
        return given, units


def _rows_abreast(part: FoldPart, tile: _Runs) -> int:
    """Return how many rows are gone through side by side at the least, 0 where each is alone."""
    row = tile.pitch * np.dtype(part.spec.values).itemsize
    if (
        tile.levels
        or len(tile.row_levels) > 1
        or not (0 < tile.pitch < tile.skip and goes_in_place(part, tile.run))
    ):
        return 0
    # Of fewer rows than cores some would have nothing to do.
    return -(-_ABREAST // row) if tile.rows >= MOST_PIECES else 0


def _are_even(ends: list[int]) -> bool:
    """Tell whether all cuts but the last have the same size."""
    return all(end == n * ends[0] for n, end in enumerate(ends[:-1], 1))


def _cut_finer(ends: list[int], stretch: int, rows: int) -> list[int]:
    """Return the ends of more cuts of rows, if there are too few to be dealt out.

    Each has a power of two of stretches, of which there are as many in each cut but the last: so
    the same states are merged with each other.
    """
    stretches = ends[0] // stretch
    is_even = ends[0] % stretch == 0 and stretches & (stretches - 1) == 0
    if 2 * rows > MOST_PIECES or (len(ends) > 1 and not is_even):
        return ends
    cut = stretch
    while rows * -(-ends[-1] // cut) > MOST_PIECES:
        cut *= 2
    return [*range(cut, ends[-1], cut), ends[-1]] if cut < ends[0] else ends


def _as_runs(part: NDArray[Any], kept: int) -> _Runs | None:
    """Return an array whose first axes are rows as runs, where it pays."""
    size = part.itemsize
    sides = [*zip(part.shape[kept:], part.strides[kept:], strict=True)]
    run, inner = 1, len(sides)
    while inner and (sides[inner - 1][0] == 1 or sides[inner - 1][1] == run * size):
        inner -= 1
        run *= sides[inner][0]
    outer, group, skip = _in_steps(sides[:inner], run * size)
    levels: Levels | None = ()
    if outer:
        groups = slice(kept, kept + outer)
        levels = levels_of(part.shape[groups], part.strides[groups], size)
    row_levels = _levels_of_rows(part.shape[:kept], part.strides[:kept], size)
    rows = prod(part.shape[:kept])
    length = prod(part.shape[kept:])
    is_short = (run > 1 and run * size < _LEAST_RUN) or length < SHORT or length * size < _LEAST_ROW
    is_short |= outer > 0 and group * run < SHORT
    is_in_groups = row_levels is not None and len(row_levels) > 1
    is_short |= is_in_groups and (run == 1 or length < _LEAST_OF_LEVELS)
    if is_short or levels is None or not part.size or row_levels is None:
        return None
    if skip < 0 or skip % size:
        return None
    skip, (_, pitch) = skip // size, row_levels[-1]
    if run == 1 and rows > 1 and pitch < skip:
        # Each line of memory would be fetched for every row.
        return None
    extent = sum((n - 1) * step for n, step in (*row_levels, *levels))
    data = lent(part, extent + (group - 1) * skip + run)
    group = group if levels else ONE_GROUP[0]
    return _Runs(data, rows, length, pitch, row_levels, run, skip, group, levels)


def _levels_of_rows(sides: tuple[int, ...], steps: tuple[int, ...], size: int) -> Levels | None:
    """Return `levels_of` rows, which may be one, or the same again and again."""
    pitch = step_of(sides, steps, size)
    if pitch is None:
        return levels_of(sides, steps, size)
    return ((prod(sides), pitch // size),) if pitch >= 0 and pitch % size == 0 else None


def _in_steps(sides: list[tuple[int, int]], default: int) -> tuple[int, int, int]:
    """Return how many axes are left before the last ones, of which neighbours lie in equal steps.

    With it come how many elements these have, and the step, a default where they have one.
    """
    left, count, step = len(sides), 1, default
    for n, stride in reversed(sides):
        if n > 1:
            if count > 1 and stride != count * step:
                break
            step = stride if count == 1 else step
            count *= n
        left -= 1
    return left, count, step


class RunsTogether(Together):
    """What goes through rows in runs together with who stands by."""

    def __call__(self, given: int, size: int, kept: Any) -> bool:
        """Fold what is described at an address, of so many bytes; tell whether it was done."""
        team = self._team(size)
        return team is not None and self._shares(team, size, self._fold, (given,), kept)

    def _make_ready(self) -> None:
        """See `Together`."""
        self._same = address_of(fold_piece, 1, 1)
        self._fold = entry_for(fold_together, 1, 1, 1, 1)


# Of each loop its own: how long others are waited for hangs on how fast it is.
@cache
def together_in_runs(part: FoldPart) -> RunsTogether | None:  # noqa: ARG001 - see above
    """Return what folds runs together with others, None where there is no other thread."""
    workers = worker_count()
    return RunsTogether(workers) if workers > 1 else None
