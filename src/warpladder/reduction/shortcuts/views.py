"""Calls on arrays that do not lie as `few` takes them: how such a one is taken is found once.

They have their edges cut off, are turned or mirrored, in Fortran order, read-only, in another byte
order, or axes that stay lie between axes that go; one row whose elements lie apart, as every
second, is soon `few`'s. Which tiles such an array makes, how to copy it and how to put results in
order is 0.1 ms of Python, in which NumPy adds 100,000 numbers; it all depends on shape and strides
alone. So it is found once, by the rules of the long way, when an array lies so for the second time;
what is left to do is to turn it, perhaps to copy it, and to go a short way. Bits are those of the
long way, to which what is rare is left.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.answers import are_axes, are_names, axes_of, shape_left
from warpladder.reduction.cpu.apart import LEAST_SHARED
from warpladder.reduction.cpu.in_groups import way_in_groups
from warpladder.reduction.cpu.line_results import leaving_results, way_across, way_in_panels
from warpladder.reduction.cpu.runs import takes_runs
from warpladder.reduction.lines.shared_lines import lines_by_one_thread
from warpladder.reduction.loops.anywhere import EXTREMA, way_to_place_anywhere
from warpladder.reduction.loops.columns import lines_joined
from warpladder.reduction.memory.copies import FEW, copied, copier, lent
from warpladder.reduction.memory.layout import NO_MASK, SHORT, TILE_BYTES, ArrayRows, Tile
from warpladder.reduction.memory.levels import Panels
from warpladder.reduction.memory.turn import Turn, back_of, by_memory
from warpladder.reduction.passes import is_copied_first, laid_out
from warpladder.reduction.plan import Plan
from warpladder.reduction.shortcuts.along import is_index
from warpladder.reduction.shortcuts.few import MOST_COPIED, answer_to
from warpladder.reduction.shortcuts.many import stand_in, way_through
from warpladder.reduction.shortcuts.several import MOST_ALONE, each_alone, may_go_alone
from warpladder.reduction.shortcuts.steps import (
    ends_in_gaps,
    goes_in_steps,
    way_by_groups,
    way_in_steps,
)
from warpladder.reduction.shortcuts.ways import Asked, Way, answering, long_way, plan_of, remembered

__all__ = ["answer_of_view"]

_Lies = tuple[tuple[int, ...], tuple[int, ...], bool]
"""Shape, strides, and whether elements are aligned."""

_View = Callable[[NDArray[Any], int], Any]
"""Called with an array and ``ddof``; returns the result of each row, or the one that there is; None
where the long way has to be gone."""

# Up to so many elements of rows all of a box is gone through run by run (`benchmarks/choices.py`:
# `brief-rows-of-boxes`).
_BRIEF = 128

# To find a way takes as long as the long one. Parts of ever other shapes are met once.
_met: set[_Lies] = set()
_MOST_MET = 4096


def answer_of_view(
    values: NDArray[Any],
    op: Asked,
    axis: Any,
    accuracy: str,
    ddof: int,
    keepdims: bool,
) -> Any:
    """Return the result for an array that lies anyhow, None where it is not here.

    Nor is it the first time that an array lies so.

    Parameters
    ----------
    values
        The array.
    op, axis, accuracy, keepdims
        As for `reduce`, not checked yet.
    ddof
        0 or 1.
    """
    if not (axis is None or type(axis) is int or are_axes(axis)):
        return None
    lies = values.shape, values.strides, values.flags.aligned
    if lies not in _met:
        if len(_met) >= _MOST_MET:
            _met.clear()
        _met.add(lies)
        return None
    return _way_to(op, values.dtype, lies, axis, accuracy, keepdims)(values, ddof)


def _long_way(_array: NDArray[Any], _ddof: int) -> None:
    """Take the long way."""


@remembered
def _way_to(
    op: Asked,
    values: np.dtype[Any],
    lies: _Lies,
    axis: int | tuple[int, ...] | None,
    accuracy: str,
    keepdims: bool,
) -> _View:
    """Return the way to the result for arrays of a shape and strides, aligned or not."""
    shape, strides, is_aligned = lies
    axes = axes_of(axis, len(shape))
    if axes is None or not prod(shape) or values.hasobject:
        return _long_way
    whole = stand_in(values, shape, strides, is_aligned=is_aligned)
    steps = _in_steps(op, whole, axes, accuracy, shape_left(shape, axes, keepdims=keepdims))
    if steps is not None:
        return lambda array, ddof: steps(array, NO_MASK, ddof)
    if len(axes) == len(shape) and isinstance(op, str) and op in EXTREMA:
        of_extremum = _way_to(EXTREMA[op], values, lies, None, accuracy, False)
        place = way_to_place_anywhere(whole, of_extremum, op)
        if place is not None and of_extremum is not _long_way:
            return _shaped(place, shape_left(shape, axes, keepdims=keepdims))
    way = _way_of_rows(op, whole, axes, accuracy)
    if way is None:
        return _long_way
    order = by_memory(whole, axes)
    is_one = not are_names(op)
    back, turned = back_of(order, axes), [shape[one] for one in order.order if one not in axes]
    left = shape_left(shape, axes, keepdims=keepdims)

    def put_in_order(found: Any) -> Any:
        if back:
            found = back(found.reshape(turned)).reshape(-1)
        return np.asarray(found).reshape(left)

    def run(array: NDArray[Any], ddof: int) -> Any:
        found = way(array, ddof)
        if found is None or not left:
            return found
        return put_in_order(found) if is_one else type(found)(*map(put_in_order, found))

    native = values.newbyteorder("=")
    plan = plan_of(op, native, accuracy, masked=False)
    if not are_names(op) or whole.nbytes > MOST_ALONE:
        return run
    if not may_go_alone(op, plan, native, accuracy):
        return run

    def ways() -> list[Way]:
        return [_as_way(_way_to(one, values, lies, axis, accuracy, keepdims)) for one in op]

    alone = each_alone(_as_way(run), ways, answering(op, plan))
    return lambda array, ddof: alone(array, NO_MASK, ddof)


def _as_way(view: _View) -> Way:
    return long_way if view is _long_way else lambda array, _marks, ddof: view(array, ddof)


def _in_steps(
    op: Asked, whole: NDArray[Any], axes: tuple[int, ...], accuracy: str, left: tuple[int, ...]
) -> Way | None:
    """Return the way over axes that are apart, one group after the other, where it takes less.

    Of few elements and of runs that are equally far apart it does not, nor of so many that their
    copies are many tiles. In us, at once and so, the least of 997 x 2 x 2 x 288 int32 with its
    edges cut off, over (0, 3): 810 and 340; `any` of 13 x 5 x 49 x 282 float64 over (0, 2) 750 and
    540.
    """
    native = whole.dtype.isnative and whole.flags.aligned
    if are_names(op) or not native or whole.nbytes > TILE_BYTES:
        return None
    strides = [step for n, step in zip(whole.shape, whole.strides, strict=True) if n > 1]
    if min(strides, default=0) <= 0 or sorted(strides, reverse=True) != strides:
        return None
    plan = plan_of(op, whole.dtype, accuracy, masked=False)
    by_rows = goes_in_steps(op, plan) and ends_in_gaps(whole, axes)
    if plan.ordered or not (by_rows or whole.nbytes > MOST_COPIED):
        return None

    def way_over(
        asked: Asked, kind: np.dtype[Any], sides: tuple[int, ...], group: tuple[int, ...]
    ) -> Way:
        if sides != whole.shape:
            return answer_to(asked, kind, sides, group, accuracy, False, False)
        return _as_way(_way_to(op, kind, (sides, whole.strides, True), group, accuracy, False))

    lies = whole.dtype, whole.shape
    # Of rows that are neither turned nor long each takes a time of its own.
    are_brief = SHORT <= whole.shape[-1] < _BRIEF and len(axes) == whole.ndim
    if by_rows and not are_brief:
        return way_by_groups(op, plan, *lies, axes[-1:], axes[:-1], left, way_over)
    # Of others steps take less: the least of 997 x 2 x 2 x 288 int32, edges cut off, over (0, 3) 70
    # us, run by run 176.
    if takes_runs(plan, laid_out(whole, axes, None, plan, on_gpu=False), evenly=True):
        return None
    return way_in_steps(op, plan, *lies, axes, left, way_over)


def _shaped(way: _View, left: tuple[int, ...]) -> _View:
    """Return a way to one result as it is to be shaped."""

    def run(array: NDArray[Any], ddof: int) -> Any:
        found = way(array, ddof)
        # An index of () makes a scalar of an array of no dimensions, and leaves others alone.
        return None if found is None else np.asarray(found).reshape(left)[()]

    return run


class _Laid(NamedTuple):
    """What is known of how an array lies."""

    plan: Plan
    #: What makes an answer of the results of the operations.
    answer: Callable[[list[Any]], Any]
    #: What lies as the array does, its rows in the order of memory, and with their axes first.
    whole: NDArray[Any]
    turned: NDArray[Any]
    #: What was done to it.
    turn: Turn
    rows: ArrayRows
    #: How many axes are rows.
    kept: int
    #: Its rows if they make one tile of its memory, and whether they make one that is a copy.
    tile: Tile | None
    is_copied: bool


def _way_of_rows(
    op: Asked, whole: NDArray[Any], axes: tuple[int, ...], accuracy: str
) -> _View | None:
    """Return the way to the results of rows in the order of memory, for what lies as ``whole``."""
    native = whole.dtype.newbyteorder("=")
    plan = plan_of(op, native, accuracy, masked=False)
    if plan.ordered and 1 < len(axes) < whole.ndim:
        # There may be no such thing.
        return None
    order = by_memory(whole, axes)
    in_order = order(whole)
    rows = laid_out(in_order, axes, None, plan, on_gpu=False)
    turn, is_copied_whole = order.then(rows.turn), is_copied_first(rows, in_order)
    if is_copied_whole:
        if not whole.dtype.isnative:
            return None
        # No copy lies backwards: what the long way goes through is in the order it was given.
        turn = order.then(Turn((), rows.turn.order))
    # As what accumulates does, which may cut more into one tile then.
    rows.allow_stacks()
    runs, columns = list(rows.row_spans()), rows.column_spans()
    is_one_tile = len(runs) == len(columns) == 1
    tile = rows.in_memory(runs[0], columns[0]) if is_one_tile else None
    kept = whole.ndim - len(axes)
    laid = _Laid(
        plan,
        answering(op, plan),
        whole,
        turn(whole),
        turn,
        rows,
        kept,
        tile,
        is_one_tile and tile is None,
    )

    def short_way(shape: tuple[int, ...], along: tuple[int, ...]) -> Way:
        one = None if not kept else along[0] if len(along) == 1 else along
        return answer_to(op, native, shape, one, accuracy, False, False)

    def short_way_of_copy(shape: tuple[int, ...], along: tuple[int, ...]) -> Way:
        way = short_way(shape, along)
        # Of less nothing is shared.
        return lines_by_one_thread(way) if whole.nbytes >= LEAST_SHARED else way

    by_rows = _way_of_copy(laid, short_way_of_copy, takes_runs(plan, rows))
    if is_copied_whole and len(rows.copied_shape) > 2:
        # Lines of a copy of all may touch, where those copied panel by panel do not.
        by_rows = None
    if any(not step and n > 1 for n, step in zip(whole.shape, whole.strides, strict=True)):
        # What is broadcast has no order in memory.
        return by_rows
    in_groups = way_in_groups(plan, laid.turned, kept, rows, is_copied_whole=is_copied_whole)
    if in_groups is not None:
        return lambda array, ddof: in_groups(turn(array), ddof)
    as_it_lies = _way_as_it_lies(laid, short_way, short_way_of_copy, is_copied_whole)
    return as_it_lies or by_rows or _way_in_place(laid)


def _way_as_it_lies(
    laid: _Laid,
    short_way: Callable[[tuple[int, ...], tuple[int, ...]], Way],
    short_way_of_copy: Callable[[tuple[int, ...], tuple[int, ...]], Way],
    is_copied_whole: bool,
) -> _View | None:
    """Return the way of what is C-contiguous if its axes are put in order, or a copy of it."""
    # All axes in the order of memory, those of rows wherever they are among the others.
    nest = sorted(range(laid.turned.ndim), key=lambda axis: -abs(laid.turned.strides[axis]))
    along = tuple(place for place, axis in enumerate(nest) if axis >= laid.kept)
    going = [nest[place] for place in along]
    if not laid.whole.dtype.isnative or going != sorted(going):
        return None
    dense = laid.turn.then(Turn((), nest))
    lies = dense(laid.whole)
    if lies.flags.carray:
        way = short_way(lies.shape, along)
        if way is long_way:
            return None
        return lambda array, ddof: way(_writable(dense(array)), NO_MASK, ddof)
    # Lines that touch are joined in other vectors than lines that do not. Of places that is no
    # matter.
    is_taken = laid.tile is not None and (not laid.tile.across or is_index(laid.plan))
    is_few = is_taken and laid.whole.size <= FEW
    if is_copied_whole or is_few:
        way = short_way_of_copy(lies.shape, along)
        copy_of = copier(lies, lies.dtype)
        return lambda array, ddof: way(copy_of(dense(array)), NO_MASK, ddof)
    return None


def _way_of_copy(
    laid: _Laid,
    short_way: Callable[[tuple[int, ...], tuple[int, ...]], Way],
    is_in_runs: bool,
) -> _View | None:
    """Return the way of what is copied row by row, or as lines, and makes one tile."""
    whole, rows, kept = laid.whole, laid.rows, laid.kept
    sides = zip(laid.turned.shape, laid.turned.strides, strict=True)
    steps = [abs(step) if n > 1 else inf for n, step in sides]
    of_rows, along = min(steps[:kept], default=inf), min(steps[kept:], default=inf)
    is_alone = min(of_rows, along) > whole.itemsize
    is_large = whole.size > FEW if is_alone else whole.nbytes > MOST_COPIED
    if not laid.is_copied or (is_in_runs and is_large):
        return None
    native, shape, turn = whole.dtype.newbyteorder("="), rows.copied_shape[not kept :], laid.turn
    way = short_way(shape, (1,))
    if len(shape) > 2:
        turn = turn.then(Turn((), rows.order_of_lines))
        copy_of = copier(turn(whole), native)
        return lambda array, ddof: way(copy_of(turn(array)).reshape(shape), NO_MASK, ddof)
    if along <= of_rows or whole.size < FEW:
        # `copied` has these copied by NumPy, and takes some us around it.
        return lambda array, ddof: way(
            turn(array).astype(native, "C").reshape(shape), NO_MASK, ddof
        )

    def run(array: NDArray[Any], ddof: int) -> Any:
        data = copied(turn(array), kept, native, "data", None)
        return way(data.reshape(shape), NO_MASK, ddof)

    return run


def _way_in_place(laid: _Laid) -> _View | None:
    """Return the way of what is gone through as it lies."""
    plan, tile, turn = laid.plan, laid.tile, laid.turn
    through = way_through(plan, laid.rows)
    if through is None:
        return None
    sides = zip(laid.turned.shape, laid.turned.strides, strict=True)
    extent = sum((n - 1) * step for n, step in sides) // laid.whole.itemsize + 1
    direct: _View | None = None
    if tile is not None and tile.rows == tile.across and laid.whole.dtype.char not in "e?":
        lies = tile.rows, tile.length, tile.across, tile.pitch
        across = way_across(leaving_results(plan), *lies)
        if across is not None and laid.whole.size <= FEW and lines_joined(tile) == 1:
            # What is found by its address needs not be lent, for 0.7 us.
            panel = Panels(((1, 0),), tile.across, tile.pitch)
            direct = way_in_panels(leaving_results(plan), panel, tile.length)
        elif across is not None:
            direct = _lending(across, extent)

    def run(array: NDArray[Any], ddof: int) -> Any:
        lying = turn(array)
        found = None if direct is None else direct(lying, ddof)
        results = through(lent(lying, extent), ddof) if found is None else [found]
        return laid.answer(results if laid.kept else [result[0] for result in results])

    return run


def _lending(across: _View, extent: int) -> _View:
    """Return what hands the elements that an array has in its memory on, one after the other."""
    return lambda lying, ddof: across(lent(lying, extent), ddof)


def _writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array, or what is called writable in its place."""
    if array.flags.writeable:
        return array
    return lent(array, array.size).view(array.dtype).reshape(array.shape)
