"""Calls on numbers that make one tile: the same plan, loops and finish, with fewer steps around.

A thousand numbers are reduced in a tenth of a microsecond; to look at every option, to lay out
tiles and to finish arrays of one result take thirty, as long as to add a megabyte. What is here
serves arrays as they lie that make one tile, so that the bits are those of the long way, to which
it leaves all that is rare. Of more than one tile `many` remembers how it is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.call import check_option
from warpladder.device.subroutines import entry_for
from warpladder.reduction import layout
from warpladder.reduction.answers import are_axes, axes_of
from warpladder.reduction.at_hand import Lent, states_at_hand, views_of_one
from warpladder.reduction.columns import column_kernel
from warpladder.reduction.copies import FEW, as_stored, copied
from warpladder.reduction.finishers import array_maker, number_maker, one_field
from warpladder.reduction.intake import check_dtype
from warpladder.reduction.layout import NO_MASK, Tile
from warpladder.reduction.line_results import leaving_results, way_across
from warpladder.reduction.lines import turns
from warpladder.reduction.many import way_of_many
from warpladder.reduction.one_row import one_row
from warpladder.reduction.ops import Op, parse_ops
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import ACCURACIES, Plan, check_mask_leaves_some, make_plan
from warpladder.reduction.shared_rows import together_for
from warpladder.reduction.truths import plain_truths

__all__ = ["answer", "answer_of_few", "known_ways"]

Way = Callable[[NDArray[Any], NDArray[np.bool_], int], Any]
"""Called with an array, the marks that say which elements count (`NO_MASK` for all), and ``ddof``;
returns the result, None where the long way has to be gone."""

known_ways: dict[tuple[str | np.ufunc, int], Way] = {}
"""What `answer` has found for the fast accuracy, by operation and by the id of a dtype of which
there is one object: to look there takes 0.1 us, to ask `answer` again 0.22."""

# Of more rows it does not matter how their states are made.
_FEW_ROWS = 256

# 1, 1.0 and True are equal, and so are some dtypes of different scalars: none stands for another.
_remembered = lru_cache(maxsize=1024, typed=True)


def answer_of_few(
    values: NDArray[Any],
    op: str | np.ufunc,
    axis: Any,
    where: Any,
    accuracy: str,
    ddof: int,
    keepdims: bool,
) -> Any:
    """Return the result for a C-contiguous array, None where it is not here.

    Parameters
    ----------
    values
        The array, aligned and writable.
    op, axis, where, accuracy
        As for `reduce`, not checked yet.
    ddof
        0 or 1.
    keepdims
        As for `reduce`.
    """
    shape, marks = values.shape, NO_MASK
    if where is not None:
        if (
            type(where) is not np.ndarray
            or where.dtype.char != "?"
            or where.shape != shape
            or not where.flags.carray
        ):
            return None
        marks = where
    if not (axis is None or type(axis) is int or are_axes(axis)):
        return None
    way = _answer_to(op, values.dtype, shape, axis, accuracy, where is not None, keepdims)
    return way(values, marks, ddof)


def _long_way(_array: NDArray[Any], _marks: NDArray[np.bool_], _ddof: int) -> None:
    """Take the long way."""


@_remembered
def _answer_to(
    op: str | np.ufunc,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axis: int | tuple[int, ...] | None,
    accuracy: str,
    masked: bool,
    keepdims: bool,
) -> Way:
    """Return the way to the result over an axis, several, or all, of arrays of a shape."""
    size, ndim = prod(shape), len(shape)
    axes = axes_of(axis, ndim)
    if axes is None or not (values.isnative and size):
        return _long_way
    if type(axis) is tuple and _plan(op, values, accuracy, masked).ordered:
        return _long_way
    way: Way | None = None
    if len(axes) == 1 < ndim:
        way = _answer_along(op, values, shape, axes[0], accuracy, masked, keepdims)
    elif len(axes) == ndim:
        way = _answer_flat(op, values, shape, accuracy, masked, keepdims)
    if way is None:
        plan = _plan(op, values, accuracy, masked)
        way = way_of_many(plan, values, shape, axes, keepdims=keepdims)
    return way or _long_way


def _answer_flat(
    op: str | np.ufunc,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    accuracy: str,
    masked: bool,
    keepdims: bool,
) -> Way | None:
    """Return the way to the result over all axes, None where it is not one tile."""
    size, ndim = prod(shape), len(shape)
    plan = _plan(op, values, accuracy, masked)
    if size * values.itemsize > _most_of_one_tile(plan, size):
        return None
    way = answer(op, values, accuracy, masked)
    left = (1,) * ndim
    return _kept(way, left) if keepdims and ndim else way


def _most_of_one_tile(plan: Plan, length: int) -> int:
    """Return up to how many bytes an array is one tile of rows of a length."""
    # What is gone through more than once is cut to fit the caches.
    return layout.most_of_one_tile(length) if len(plan.parts) == 1 else layout.CACHED_BYTES


def _kept(way: Way, shape: tuple[int, ...]) -> Way:
    """Return the way to an array of a shape that has the one result of another."""

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        found = way(array, marks, ddof)
        return None if found is None else np.asarray(found).reshape(shape)

    return run


def _plan(op: str | np.ufunc, values: np.dtype[Any], accuracy: str, masked: bool) -> Plan:
    requests = parse_ops(op)
    check_option("accuracy", accuracy, ACCURACIES)
    check_dtype(values, "values")
    return make_plan(requests, values, None, accuracy, masked)


@_remembered
def _loop(
    op: str | np.ufunc, values: np.dtype[Any], accuracy: str, masked: bool
) -> Callable[..., Any]:
    """Return the loop over rows of a plan that is plain."""
    # Kept for all shapes: to find it takes 0.1 ms.
    part = _plan(op, values, accuracy, masked).parts[0]
    sample = as_stored(np.empty(0, values))
    return entry_for(part.loop, sample, NO_MASK, 1, 1, 1, 0, part.new(1))


@_remembered
def answer(op: str | np.ufunc, values: np.dtype[Any], accuracy: str, masked: bool) -> Way:
    """Return the way to the one result of an operation on an array that is one tile.

    What lies otherwise than C-contiguous, or is more than a tile, has none here; nor have numbers
    that are not in this machine's byte order.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    if not values.isnative:
        return _long_way
    plan = _plan(op, values, accuracy, masked)
    most = layout.TILE_BYTES // values.itemsize

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        n = array.size
        if n > most or not array.flags.carray:
            return None
        states = plan.new(1)
        plan.add(Tile(as_stored(array.ravel()), marks.ravel(), 1, n, n), 0, states)
        results = plan.finish(states, 1, n, ddof)
        if masked:
            check_mask_leaves_some(plan, results, marks.ravel, (0,))
        return results[0][0]

    number = number_maker(plan)
    if number is None:
        return run
    part, is_stored = plan.parts[0], values.char not in "e?"
    loop, together = _loop(op, values, accuracy, masked), together_for(part)
    fold, given, _ = (None, 0, None) if masked else one_row(part)
    least_shared = most + 1 if together is None else together.least_of_one
    fold_shared: Any = None if together is None else together.folds_one
    field, finished, rare = one_field(plan)
    take, ready = states_at_hand(part.new(1), views_of_one(field, plan.dtypes[0]))
    # Of two words at the most, one may be twice here.
    one_word, other_word = (rare * 2)[:2] or (0, 0)

    def fold_beside_mask(row: NDArray[Any], marks: NDArray[np.bool_]) -> Lent:
        n, mask, kept = row.size, marks.ravel(), take()
        is_done = n >= least_shared and fold_shared(row, mask, kept[-1], kept)
        if is_done is None:
            kept = take()
        if not is_done:
            loop(row, mask, 1, n, n, 0, kept[1])
        return kept

    def run_fast(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        n, row = array.size, array
        if n > most:
            return None
        if fold is None or not is_stored or n >= least_shared or array.ndim != 1:
            if not array.flags.carray:
                return None
            row = array if array.ndim == 1 else array.ravel()
        if not is_stored:
            row = as_stored(row)
            if plan.counts_truths:
                row = plain_truths(row)
        if fold is None:
            kept = fold_beside_mask(row, marks)
        else:
            try:
                kept = ready.pop()
            except IndexError:
                kept = take()
            is_done = n >= least_shared and fold_shared(row, NO_MASK, kept[-1], kept)
            if is_done is None:
                # A thread may write into these still.
                kept = take()
            if not (is_done or fold(given, kept[-1], row)):
                ready.append(kept)
                return None
        _, states, found, place, words, _ = kept
        if field is None or not n or (rare and (words[one_word] or words[other_word])):
            result = number(states.item(), ddof)
        elif finished is None:
            result = found[0]
            ready.append(kept)
            return result
        else:
            result = finished(found.item())
        if result is not None:
            # A NumPy scalar is made so in 0.08 us, of a plain number in 0.2.
            place[0] = result
            result = place[0]
        ready.append(kept)
        return run(array, marks, ddof) if result is None else result

    if accuracy == "fast" and not masked and values.isbuiltin == 1:
        known_ways[op, id(values)] = run_fast
    return run_fast


def _answer_along(
    op: str | np.ufunc,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axis: int,
    accuracy: str,
    masked: bool,
    keepdims: bool,
) -> Way | None:
    """Return the way to the results over one of several axes, None where it is not one tile."""
    plan = _plan(op, values, accuracy, masked)
    length = shape[axis]
    # Rows of one element lie one after the other, whichever axis that is.
    side = prod(shape[axis + 1 :]) if length > 1 else 1
    rows = prod(shape) // length
    left = shape[:axis] + (1,) * keepdims + shape[axis + 1 :]
    size = rows * length * values.itemsize
    is_index = _is_index(plan) and size <= layout.CACHED_BYTES
    # An index is the same however it is found; a few columns are copied in less time than looked
    # through side by side, with an index for each number.
    is_few = is_index and side < layout.SHORT
    is_across = side > 1 and plan.takes_columns and not is_few
    is_copied = side > 1 and not is_across
    if length > layout.COLUMNS_ACROSS and side > 1:
        return None
    if is_copied and length > layout.COPIED_COLUMNS and not is_few:
        return None
    # Of rows that lie across none takes a time of its own.
    most = layout.CACHED_BYTES if is_copied else _most_of_one_tile(plan, 0 if is_across else length)
    if size > most:
        return None
    pitch, width = (side, side) if is_across else (length, 0)
    make, part = array_maker(plan), plan.parts[0]
    is_stored = values.char not in "e?"
    loop = seek = together = None
    is_turned = isinstance(part, FoldPart) and turns(part.spec, rows, length)
    if is_across or is_turned:
        plan = leaving_results(plan)
        part = plan.parts[0]
    if plan.is_plain and not is_across and not is_turned:
        loop = _loop(op, values, accuracy, masked)
        together = together_for(part)
        if together is not None and not together.takes(rows, length):
            together = None
    elif is_across and is_index:
        # An index is the same however lines are joined, which takes longer than few numbers.
        seek = column_kernel(part.spec)

    def row_by_row(array: NDArray[Any]) -> NDArray[Any]:
        if not is_copied:
            return array.ravel()
        turned = array.reshape(-1, length, side).transpose(0, 2, 1)
        return turned.ravel() if array.size < FEW else copied(turned, 2, array.dtype, "", {})

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
        found = None if make is None else make(states[0])
        if found is None:
            (found,) = plan.finish(states, rows, length, ddof)
            if masked:
                check_mask_leaves_some(plan, [found], lambda: marks, (axis,))
        return found.reshape(left)

    if loop is not None and together is None and not is_copied and rows <= _FEW_ROWS:
        field, finished, _ = one_field(plan)
        if field is not None and finished is None and is_stored:
            return _way_to_field(loop, part.new(rows), length, field, left)
    direct = way_across(plan, rows, length, side) if is_across and is_stored else None
    if direct is None:
        # The fields of more rows would be more memory than the elements.
        return None if is_across and rows > layout.MOST_ROWS_ACROSS else run

    is_flat = len(left) == 1

    def run_across(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        found = direct(array.ravel())
        if found is None:
            return run(array, marks, ddof)
        return found if is_flat else found.reshape(left)

    return run_across


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
        loop(array.ravel(), NO_MASK, rows, length, length, 0, states)
        result = found.copy()
        ready.append(kept)
        return result.reshape(left)

    return way


def _is_index(plan: Plan) -> bool:
    """Tell whether all that is made of the states is the index of an extremum."""
    op = plan.requests[0].op
    is_extremum = isinstance(op, Op) and op.result == "index" and not op.is_defined_for_nothing
    return is_extremum and plan.is_plain
