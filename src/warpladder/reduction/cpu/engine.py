"""The CPU engine: how a matrix is cut into tiles, and who goes through them; `jobs` does it.

Which tiles there are depends on the array alone, and so does the order in which their states are
merged, pairwise: a result has the same bits on any number of cores. Work: one pass over memory, and
less where the answer is settled before its end. Bound: the bandwidth of memory from 32 MB on, that
of caches below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.reduction.cpu.cascade import Taker
from warpladder.reduction.cpu.jobs import Job, Sheet, pieces_of, work_at
from warpladder.reduction.cpu.line_results import leaving_results
from warpladder.reduction.cpu.runs import InRuns, alike, takes_runs
from warpladder.reduction.cpu.shared_rows import complete_together, together_for
from warpladder.reduction.lines.lines import turns
from warpladder.reduction.memory.layout import NO_MASK, PARALLEL_FROM, ArrayRows, Rows, Span
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.together import Together

__all__ = ["accumulate", "accumulator_for"]

# Tiles that are remembered, of larger arrays than that Python would matter.
_MOST_KEPT = 1 << 10
# Threads from which on tiles up to so many bytes are shared one by one, where they lie across
# (`benchmarks/choices.py`: `tiles-of-lines-shared`) and where they do not: who has tiles of its own
# waits for the interpreter between them.
_LINES_SHARED_FROM, _ROWS_SHARED_FROM, _SHARED_UP_TO = 6, 9, 8 << 20
# Kept at once for a `Sheet`, in the second-level cache (`benchmarks/choices.py`:
# `states-of-a-sheet`).
_MOST_STATES = 1 << 14


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
    if isinstance(rows, ArrayRows) and takes_runs(plan, rows):
        work_at(InRuns(plan, rows, take, first), progress)
        return
    runs = list(rows.row_spans())
    # No row has columns, of which there may be more than memory has room for.
    columns = rows.column_spans() if runs else []
    if len(runs) == len(columns) == 1:
        # To deal out one tile as if there were many takes 0.006 ms, as long as to add 0.5 MB.
        take(runs[0], complete_together(plan, rows.tile(runs[0], columns[0], None), first))
        if progress is not None:
            progress(1.0)
        return
    whole = rows.whole if isinstance(rows, ArrayRows) else None
    if whole is not None and _is_sheet(plan, rows, columns):
        pieces = pieces_of(rows.count, whole.pitch, runs, columns, first)
        job: Job = Sheet(plan, rows, runs, columns, take, pieces, whole.data, whole.mask)
    else:
        job = Job(plan, rows, runs, columns, take, first)
    work_at(job, progress, _tiles_shared(plan, rows, runs, columns))


def accumulator_for(
    plan: Plan, lies_alike: ArrayRows
) -> Callable[[NDArray[Any], Taker], None] | None:
    """Return `accumulate` for matrices that lie as one does in other memory.

    It is called with their elements as they lie there, and with what takes runs of rows. How they
    are cut is found here, and no element read. It is None where tiles would be converted.
    """
    if takes_runs(plan, lies_alike):
        return alike(plan, lies_alike)
    lies_alike.allow_stacks()
    columns, runs = lies_alike.column_spans(), list(lies_alike.row_spans())
    whole = lies_alike.whole
    if len(runs) * len(columns) > _MOST_KEPT:
        return None
    if len(columns) == 1:
        plan = leaving_results(plan)
    moved = lies_alike.moved()
    if moved is not None and len(runs) == len(columns) == 1:

        def run_one(data: NDArray[Any], take: Taker) -> None:
            tile = moved(data).tile(runs[0], columns[0], None)
            take(runs[0], complete_together(plan, tile, 0))

        return run_one
    together = _tiles_shared(plan, lies_alike, runs, columns)
    if whole is not None and _is_sheet(plan, lies_alike, columns):
        pieces = pieces_of(lies_alike.count, whole.pitch, runs, columns, 0)

        def run_sheet(data: NDArray[Any], take: Taker) -> None:
            job = Sheet(plan, lies_alike, runs, columns, take, pieces, data, NO_MASK)
            work_at(job, None, together)

        return run_sheet
    if moved is None:
        return None

    def run(data: NDArray[Any], take: Taker) -> None:
        work_at(Job(plan, moved(data), runs, columns, take, 0), None, together)

    return run


def _tiles_shared(plan: Plan, rows: Rows, runs: list[Span], columns: list[Span]) -> Together | None:
    """Return what goes through each tile together with who stands by, None where nothing does."""
    part, workers = plan.parts[0], worker_count()
    if not (plan.is_plain and isinstance(part, FoldPart) and isinstance(rows, ArrayRows)):
        return None
    # Of fewer tiles nobody is dealt out any.
    least = _LINES_SHARED_FROM if len(runs) * len(columns) >= PARALLEL_FROM else 2
    if not (runs and columns) or workers < least or plan.counts_truths:
        return None
    tile = rows.in_memory(runs[0], columns[0])
    if tile is None or tile.rows * tile.length * tile.data.itemsize > _SHARED_UP_TO:
        return None
    if tile.across:
        found: Together | None = part.by_lines and part.by_lines.sharing(tile)
        return found
    together = together_for(part) if workers >= _ROWS_SHARED_FROM else None
    return together if together and together.takes(tile.rows, tile.length) else None


def _is_sheet(plan: Plan, rows: Rows, columns: list[Span]) -> bool:
    """Tell whether all that is done with a tile is to call one loop, and states are not many."""
    part = plan.parts[0]
    is_one_loop = len(plan.parts) == 1 and part.loop is not None
    if isinstance(part, FoldPart) and len(columns) == 1:
        is_one_loop &= not turns(part.spec, rows.count, columns[0].end - columns[0].begin)
    are_few = len(columns) * rows.count <= _MOST_STATES
    return is_one_loop and are_few and not plan.counts_truths
