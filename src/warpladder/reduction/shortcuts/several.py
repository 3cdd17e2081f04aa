"""Several operations on numbers that make one tile: what is done for them is found once.

Of one row the loop that has been through it is read: to finish an array of one number for each
operation takes as long as to add 100 kB. Few numbers are soon gone through once for each operation,
by its own short way (`each_alone`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.answers import naming, shape_left
from warpladder.reduction.cpu.finishers import finisher, number_maker
from warpladder.reduction.cpu.runs import takes_runs
from warpladder.reduction.cpu.shared_rows import complete_together, together_for
from warpladder.reduction.loops.cuts import is_exact
from warpladder.reduction.loops.truths import plain_truths
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.at_hand import states_at_hand
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.memory.turn import Turn
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.passes import rows_of
from warpladder.reduction.plan import Plan, check_mask_leaves_some
from warpladder.reduction.shortcuts.many import stand_in
from warpladder.reduction.shortcuts.ways import Way, long_way, loop_of, plan_of

__all__ = [
    "MOST_ALONE",
    "answer_of_several",
    "each_alone",
    "may_go_alone",
    "several_along",
    "several_beside_mask",
]

MOST_ALONE = 1 << 19
"""Bytes up to which operations go one by one where that leaves the same bits
(`benchmarks/choices.py`: `operations-alone`)."""

# Who calls less often is spared the compiling of loops for each.
_CALLS_TOGETHER = 32


def may_go_alone(op: tuple[str, ...], plan: Plan, values: np.dtype[Any], accuracy: str) -> bool:
    """Tell whether each operation has by itself the bits that it has beside the others.

    So it has where none rounds, or all are made of the same sums. Of zeros of both signs extrema
    are any.
    """
    rounds = any(not (isinstance(part, FoldPart) and is_exact(part.spec)) for part in plan.parts)
    return not rounds or all(
        plan_of(one, values, accuracy, masked=False).parts == plan.parts for one in op
    )


def each_alone(
    together: Way, ways_of_each: Callable[[], Sequence[Way]], answer: Callable[[list[Any]], Any]
) -> Way:
    """Return a way that is soon that of each operation, whose results one answer is made of.

    At first, and where one of these is a long one, it is that of all ``together``.
    """
    calls, ways = 0, list[Way]()

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        nonlocal calls
        if calls < _CALLS_TOGETHER:
            calls += 1
            return together(array, marks, ddof)
        if not ways:
            # Another thread may find the same.
            ways[:] = ways_of_each()
        if long_way in ways:
            return together(array, marks, ddof)
        found = [way(array, marks, ddof) for way in ways]
        return together(array, marks, ddof) if any(one is None for one in found) else answer(found)

    return run


def answer_of_several(op: tuple[str, ...], values: np.dtype[Any], accuracy: str) -> Way:
    """Return the way to the one result of each operation on an array that is one tile.

    It is the long one where one loop does not do for all of them.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    plan = plan_of(op, values, accuracy, masked=False)
    numbers = [number_maker(plan.of([which])) for which in range(len(op))]
    if None in numbers:
        return long_way
    part, record = plan.parts[0], naming(plan.requests, op)
    loop, together = loop_of(op, values, accuracy, masked=False), together_for(part)
    most = layout.TILE_BYTES // values.itemsize
    if together is not None:
        # Threads that stand by are the long way's.
        most = min(most, together.least_of_one - 1)
    take, ready = states_at_hand(part.new(1), lambda _, __: ())
    kinds = [dtype.type for dtype in plan.dtypes]
    makers = [(number, kind) for number, kind in zip(numbers, kinds, strict=True) if number]

    def run(array: NDArray[Any], _marks: NDArray[np.bool_], ddof: int) -> Any:
        n = array.size
        if not 0 < n <= most or not array.flags.carray:
            return None
        row = as_stored(array.ravel())
        if plan.counts_truths:
            row = plain_truths(row)
        kept = take()
        loop(row, NO_MASK, 1, n, n, 0, kept[1])
        state, found = kept[1].item(), []
        ready.append(kept)
        for number, kind in makers:
            result = number(state, ddof)
            if result is None:
                return None
            found.append(kind(result))
        return record(found)

    return run


def several_along(
    op: tuple[str, ...],
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    accuracy: str,
    *,
    keepdims: bool,
) -> Way | None:
    """Return the way to the results of each row of a C-contiguous array, None where it is long.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    plan = plan_of(op, values, accuracy, masked=False)
    rows = rows_of(stand_in(values, shape), axes, None, plan, on_gpu=False)
    in_runs = takes_runs(plan, rows)
    # As what accumulates does.
    rows.allow_stacks()
    spans, columns, moved = list(rows.row_spans()), rows.column_spans(), rows.moved()
    if in_runs or moved is None or not len(spans) == len(columns) == 1:
        return None
    left, record = shape_left(shape, axes, keepdims=keepdims), naming(plan.requests, op)
    finish = finisher(plan, rows.length)

    def run(array: NDArray[Any], _marks: NDArray[np.bool_], ddof: int) -> Any:
        tile = moved(as_stored(array.reshape(-1))).tile(spans[0], columns[0], None)
        found = finish(complete_together(plan, tile, 0), rows.count, ddof)
        return record([one.reshape(left)[()] for one in found])

    return run


def several_beside_mask(
    op: tuple[str, ...],
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    accuracy: str,
    *,
    keepdims: bool,
) -> Way:
    """Return the way to the results of each row of a C-contiguous array beside a mask.

    It is a long one where they make more than one tile that is copied.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    if prod(shape) * values.itemsize > layout.CACHED_BYTES:
        return long_way
    plan = plan_of(op, values, accuracy, masked=True)
    if plan.ordered and 1 < len(axes) < len(shape):
        # There may be no such thing.
        return long_way
    length = prod(shape[axis] for axis in axes)
    rows = prod(shape) // length
    turn = Turn((), [*(axis for axis in range(len(shape)) if axis not in axes), *axes])
    left, record = shape_left(shape, axes, keepdims=keepdims), naming(plan.requests, op)

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        data, mask = turn(array).reshape(-1), turn(marks).reshape(-1)
        states = plan.complete(Tile(as_stored(data), mask, rows, length, length), 0)
        found = plan.finish(states, rows, length, ddof)
        check_mask_leaves_some(plan, found, lambda: marks, axes)
        return record([one.reshape(left)[()] for one in found])

    return run
