"""Calls on arrays that make one tile, over one of several axes; see `few`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.cpu.column_places import way_to_column_places
from warpladder.reduction.cpu.finishers import array_maker, one_field
from warpladder.reduction.cpu.line_results import (
    leaving_results,
    way_across,
    way_in_small_panels,
    way_turned,
)
from warpladder.reduction.cpu.shared_rows import together_for
from warpladder.reduction.cpu.short_places import way_to_places_in_small_panels, way_to_short_places
from warpladder.reduction.lines.by_lines import MOST_TURNED
from warpladder.reduction.lines.lines import count_turned, turns
from warpladder.reduction.loops.columns import column_kernel, lines_joined
from warpladder.reduction.loops.cuts import is_exact
from warpladder.reduction.loops.first_truths import seeks_truths
from warpladder.reduction.loops.truths import plain_truths
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.at_hand import states_at_hand
from warpladder.reduction.memory.copies import FEW, as_stored, copied
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.memory.levels import Panels
from warpladder.reduction.ops import Op
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.passes import rows_of
from warpladder.reduction.plan import Plan, check_mask_leaves_some
from warpladder.reduction.shortcuts.many import stand_in
from warpladder.reduction.shortcuts.ways import Asked, Way, loop_of, most_of_one_tile, plan_of

__all__ = ["answer_along", "is_index"]

# Of more rows it does not matter how their states are made (`benchmarks/choices.py`:
# `states-at-hand`); of booleans, of which few may be looked at, it does up to these.
_FEW_ROWS, _FEW_TRUTHS = 1024, 4096
# Bytes of lines, and of panels, up to which these are turned, and from how many on
# (`benchmarks/choices.py`: `widest-lines-of-panels`, `largest-panels-turned`,
# `fewest-panels-turned`).
_WIDEST, _LARGEST_PANEL, _LEAST_PANELS = 1 << 7, 1 << 11, 64


def answer_along(
    op: Asked,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axis: int,
    accuracy: str,
    masked: bool,
    left: tuple[int, ...],
) -> Way | None:
    """Return the way to the results over one of several axes, None where it is not one tile.

    Results are given the shape ``left``; arrays and masks may come in any that has their elements
    in the same order.
    """
    plan = plan_of(op, values, accuracy, masked)
    length = shape[axis]
    # Rows of one element lie one after the other, whichever axis that is.
    side = prod(shape[axis + 1 :]) if length > 1 else 1
    rows = prod(shape) // length
    size = rows * length * values.itemsize
    if side == 1 and size <= MOST_TURNED:
        places = way_to_short_places(plan, ((rows, length),), length)
        if places is not None:
            return lambda array, _marks, ddof: places(array, ddof).reshape(left)
    elif size <= MOST_TURNED:
        in_panels = None if masked else _way_in_small_panels(plan, values, rows, length, side)
        if in_panels is not None:

            def run_in_panels(array: NDArray[Any], _marks: Any, ddof: int) -> Any:
                found = in_panels(array.ravel(), ddof)
                # Numbers near the ends of their range are the long way's.
                return None if found is None else found.reshape(left)

            return run_in_panels
        panels = Panels(((rows // side, length * side),), side, side)
        of_columns = way_to_column_places(plan, panels, length)
        if of_columns is not None:
            return lambda array, _marks, _ddof: of_columns(array).reshape(left)
    are_places = is_index(plan) and size <= layout.CACHED_BYTES
    # An index is the same however it is found; a few columns are copied in less time than looked
    # through side by side, with an index for each number.
    is_few = are_places and side < layout.SHORT
    is_across = side > 1 and plan.takes_columns and not is_few
    is_copied = side > 1 and not is_across
    if length > layout.COLUMNS_ACROSS and side > 1:
        return None
    if is_copied and length > layout.COPIED_COLUMNS and not is_few:
        return None
    part, is_stored = plan.parts[0], values.char not in "e?"
    is_turned = isinstance(part, FoldPart) and turns(part.spec, rows, length)
    # Of rows that lie across none takes a time of its own.
    most = layout.CACHED_BYTES if is_copied else most_of_one_tile(plan, 0 if is_across else length)
    is_large, begin, rest = size > most, rows, None
    if is_large:
        if side > 1 or masked or not (is_turned and is_stored and size <= MOST_TURNED):
            return None
        lying = rows_of(stand_in(values, shape), (axis,), None, plan, on_gpu=False)
        begin = count_turned(part.spec, lying) if isinstance(part, FoldPart) else 0
        if begin < rows:
            # An array of so few rows has the bits of a last tile of them.
            few = rows - begin, length
            if begin and not turns(part.spec, *few):
                rest = answer_along(op, values, few, 1, accuracy, masked, few[:1])
            if rest is None:
                return None
    pitch, width = (side, side) if is_across else (length, 0)
    seeks = isinstance(part, FoldPart) and seeks_truths(part.spec)
    make = array_maker(plan, length)
    loop = seek = together = None
    if is_across or is_turned:
        plan = leaving_results(plan)
        part = plan.parts[0]
    if plan.is_plain and not is_across and not is_turned:
        loop = loop_of(op, values, accuracy, masked)
        together = together_for(part)
        # Booleans are looked through as far as the first that is sought.
        if together is not None and (seeks or not together.takes(rows, length)):
            together = None
    elif is_across and are_places:
        # An index is the same however lines are joined, which takes longer than few numbers.
        seek = column_kernel(part.spec)

    def row_by_row(array: NDArray[Any]) -> NDArray[Any]:
        if not is_copied:
            return array.ravel()
        turned = array.reshape(-1, length, side).transpose(0, 2, 1)
        return turned.ravel() if array.size < FEW else copied(turned, 2, array.dtype, "", None)

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        data = row_by_row(array)
        if not is_stored:
            data = as_stored(data)
            if plan.counts_truths:
                data = plain_truths(data)
        mask = row_by_row(marks) if masked else marks
        shared = None if together is None else together(Tile(data, mask, rows, length, pitch), 0)
        if shared is not None:
            states = [shared]
        elif loop is not None:
            states = [part.new(rows)]
            loop(data, mask, rows, length, pitch, 0, states[0])
        elif seek is not None:
            states = [part.new(rows)]
            seek(data, rows, length, pitch, width, 0, states[0])
        else:
            tile = Tile(data, mask, rows, length, pitch, width)
            states = [part.complete(tile, 0)] if plan.is_plain else plan.complete(tile, 0)
        found = None if make is None else make(states[0], ddof)
        if found is None:
            (found,) = plan.finish(states, rows, length, ddof)
            if masked:
                check_mask_leaves_some(plan, [found], lambda: marks.reshape(shape), (axis,))
        return found.reshape(left)

    is_lone = together is None and not is_copied and (is_stored or seeks)
    if loop is not None and is_lone and rows <= (_FEW_TRUTHS if seeks else _FEW_ROWS):
        field, finished, _ = one_field(plan)
        if field is not None and finished is None:
            return _way_to_field(loop, part.new(rows), length, field, left)
        if make is not None:
            return _way_at_hand(loop, part.new(rows), length, make, left, run)
    direct = None
    if is_across and is_stored:
        direct = way_across(plan, rows, length, side)
    elif is_turned and is_stored and not masked:
        direct = way_turned(plan, ((rows, length),), length)
    if direct is None:
        # The fields of more rows would be more memory than the elements.
        return None if is_large or (is_across and rows > layout.MOST_ROWS_ACROSS) else run
    if rest is not None:
        direct = _with_rest(direct, rest, begin, length)
    is_flat = len(left) == 1

    def run_across(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        found = direct(array.ravel(), ddof)
        if found is None:
            # Of several tiles not all may hold numbers near the ends of their range.
            return None if is_large else run(array, marks, ddof)
        return found if is_flat else found.reshape(left)

    return run_across


def _way_in_small_panels(
    plan: Plan, values: np.dtype[Any], rows: int, length: int, side: int
) -> Callable[[NDArray[Any], int], NDArray[Any] | None] | None:
    """Return the way to results of rows of which ``side`` lie abreast in panels that are small.

    Panels lie end to end. It is None where there is none, or another takes less.
    """
    part, panels, of_line = plan.parts[0], rows // side, side * values.itemsize
    is_stored = values.char not in "e?"
    is_taken = is_stored and of_line <= _WIDEST and of_line * length <= _LARGEST_PANEL
    if not (is_taken and panels >= _LEAST_PANELS and isinstance(part, FoldPart)):
        return None
    if is_index(plan):
        return way_to_places_in_small_panels(plan, panels, length, side)
    if not is_exact(part.spec):
        lying = rows_of(stand_in(values, (panels, length, side)), (1,), None, plan, on_gpu=False)
        lying.allow_stacks()
        # Lines of a panel that makes a tile by itself may be joined, which leaves other bits.
        lone = Tile(np.empty(0), NO_MASK, side, length, side, side)
        sizes = {span.end - span.begin for span in lying.row_spans()}
        if side in sizes and lines_joined(lone) > 1:
            return None
    return way_in_small_panels(leaving_results(plan), panels, length, side)


def _with_rest(
    direct: Callable[[NDArray[Any], int], NDArray[Any] | None], rest: Way, begin: int, length: int
) -> Callable[[NDArray[Any], int], NDArray[Any] | None]:
    """Return the way to results of which those from one row on are found by another way."""

    def way(data: NDArray[Any], ddof: int) -> NDArray[Any] | None:
        found = direct(data, ddof)
        if found is not None:
            late = rest(data[begin * length :], NO_MASK, ddof)
            if late is None:
                return None
            found[begin:] = late
        return found

    return way


def _way_to_field(
    loop: Callable[..., Any],
    first: NDArray[Any],
    length: int,
    field: str,
    left: tuple[int, ...],
) -> Way:
    """Return the way to a field of the states of rows of a length, which is the result as it is."""
    rows = len(first)
    take, ready = states_at_hand(first, lambda _, states: (states[field],))

    def way(array: NDArray[Any], _marks: NDArray[np.bool_], _ddof: int) -> Any:
        kept = _, states, found = take()
        loop(as_stored(array.ravel()), NO_MASK, rows, length, length, 0, states)
        result = found.copy()
        ready.append(kept)
        return result.reshape(left)

    return way


def _way_at_hand(
    loop: Callable[..., Any],
    first: NDArray[Any],
    length: int,
    make: Callable[..., NDArray[Any] | None],
    left: tuple[int, ...],
    otherwise: Way,
) -> Way:
    """Return the way to what is made of the states of rows of a length, which lie ready.

    Where nothing can be made of them so, it goes ``otherwise``.
    """
    rows = len(first)
    take, ready = states_at_hand(first, lambda _, __: ())

    def way(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        kept = _, states = take()
        loop(as_stored(array.ravel()), NO_MASK, rows, length, length, 0, states)
        result = make(states, ddof)
        ready.append(kept)
        return otherwise(array, marks, ddof) if result is None else result.reshape(left)

    return way


def is_index(plan: Plan) -> bool:
    """Tell whether all that is made of the states is the index of an extremum."""
    op = plan.requests[0].op
    return isinstance(op, Op) and op.is_place and plan.is_plain
