"""Calls on numbers that make one tile: the same plan, loops and finish, with fewer steps around.

A thousand numbers are reduced in a tenth of a microsecond; to look at every option, to lay out
tiles and to finish arrays of one result take thirty, as long as to add a megabyte. What is here
serves arrays as they lie that make one tile, so that the bits are those of the long way, to which
it leaves all that is rare. Of more than one tile `many` remembers how it is cut, of what lies
otherwise `views`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.answers import are_axes, are_names, axes_of, shape_left
from warpladder.reduction.cpu.apart import LEAST_APART, lies_apart
from warpladder.reduction.cpu.finishers import number_maker, one_field
from warpladder.reduction.cpu.shared_rows import together_for
from warpladder.reduction.loops.anywhere import is_turned
from warpladder.reduction.loops.truths import plain_truths
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.at_hand import Lent, states_at_hand, views_of_one
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.plan import Plan, check_mask_leaves_some
from warpladder.reduction.shortcuts.along import answer_along, is_index
from warpladder.reduction.shortcuts.many import way_of_many
from warpladder.reduction.shortcuts.one_row import one_row
from warpladder.reduction.shortcuts.several import (
    MOST_ALONE,
    answer_of_several,
    each_alone,
    may_go_alone,
    several_along,
    several_beside_mask,
)
from warpladder.reduction.shortcuts.steps import goes_in_steps, has_short_rows, way_in_steps
from warpladder.reduction.shortcuts.ways import (
    Asked,
    Way,
    answering,
    long_way,
    loop_of,
    most_of_one_tile,
    plan_of,
    remembered,
)

__all__ = ["MOST_COPIED", "answer", "answer_of_few", "answer_to", "known_ways"]

MOST_COPIED = 1 << 18
"""Bytes up to which rows in runs are copied all the same (`benchmarks/choices.py`: `runs-copied`).
"""

known_ways: dict[tuple[Asked, int], Way] = {}
"""What `answer` has found for the fast accuracy, by operation and by the id of a dtype of which
there is one object: to look there takes 0.1 us, to ask `answer` again 0.22."""


def answer_of_few(
    values: NDArray[Any],
    op: Asked,
    axis: Any,
    marks: NDArray[np.bool_],
    accuracy: str,
    ddof: int,
    keepdims: bool,
) -> Any:
    """Return the result for a C-contiguous array, None where it is not here.

    Parameters
    ----------
    values
        The array, aligned and writable.
    op, axis, accuracy, keepdims
        As for `reduce`, not checked yet.
    marks
        A mask that lies as the array does, `NO_MASK` where there is none.
    ddof
        0 or 1.
    """
    masked = marks is not NO_MASK
    if not (axis is None or type(axis) is int or are_axes(axis)):
        return None
    way = answer_to(op, values.dtype, values.shape, axis, accuracy, masked, keepdims)
    return way(values, marks, ddof)


@remembered
def answer_to(
    op: Asked,
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
    if axes is None or not size or not values.isnative or values.hasobject:
        return long_way
    if type(axis) is tuple and plan_of(op, values, accuracy, masked).ordered:
        return long_way
    way: Way | None = None
    if are_names(op) and masked:
        return several_beside_mask(op, values, shape, axes, accuracy, keepdims=keepdims)
    if are_names(op) and (len(axes) < ndim or (keepdims and ndim)):
        way = several_along(op, values, shape, axes, accuracy, keepdims=keepdims)
    elif len(axes) == ndim:
        way = _answer_flat(op, values, shape, accuracy, masked, keepdims)
    else:
        joined, left = _joined(shape, axes), shape_left(shape, axes, keepdims=keepdims)
        if joined is not None:
            way = answer_along(op, values, *joined, accuracy, masked, left)
        elif not masked and (steps := _in_steps(op, values, shape, axes, accuracy, left)):
            return steps
        elif size * values.itemsize <= MOST_COPIED:
            # `views` takes it.
            return long_way
    if way is not None and not are_names(op):
        return way
    plan = plan_of(op, values, accuracy, masked)
    many = way_of_many(plan, answering(op, plan), values, shape, axes, keepdims=keepdims)
    found = _first(way, many) or long_way
    if not are_names(op) or (len(axes) == ndim and not keepdims):
        # One result of each `answer` has seen to.
        return found
    if size * values.itemsize > MOST_ALONE or not may_go_alone(op, plan, values, accuracy):
        return found

    def ways() -> list[Way]:
        return [answer_to(one, values, shape, axis, accuracy, masked, keepdims) for one in op]

    return each_alone(found, ways, answering(op, plan))


def _in_steps(
    op: Asked,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    accuracy: str,
    left: tuple[int, ...],
) -> Way | None:
    """Return the way over axes that are apart, one group after the other, if there is one."""

    def way_over(
        asked: Asked, kind: np.dtype[Any], sides: tuple[int, ...], group: tuple[int, ...]
    ) -> Way:
        return answer_to(asked, kind, sides, group, accuracy, False, False)

    plan = plan_of(op, values, accuracy, False)
    return way_in_steps(op, plan, values, shape, axes, left, way_over)


def _answer_of_several(
    op: tuple[str, ...], values: np.dtype[Any], accuracy: str, plan: Plan
) -> Way:
    """Return `answer` of several operations: few elements are gone through once for each."""
    together, most = answer_of_several(op, values, accuracy), MOST_ALONE // values.itemsize
    if not may_go_alone(op, plan, values, accuracy):
        return together

    def ways() -> list[Way]:
        return [answer(one, values, accuracy, False) for one in op]

    alone = each_alone(together, ways, answering(op, plan))

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        return (alone if array.size <= most else together)(array, marks, ddof)

    return run


def _joined(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[tuple[int, ...], int] | None:
    """Return a shape of which one axis is what axes next to each other are of another.

    It is None where some that are longer than one element have others between them.
    """
    long = [axis for axis in axes if shape[axis] > 1] or [axes[0]]
    first, last = long[0], long[-1]
    if any(shape[axis] > 1 for axis in range(first, last) if axis not in axes):
        return None
    outer, inner = shape[:first], shape[last + 1 :]
    return (*outer, prod(shape[first : last + 1]), *inner), first


def _first(way: Way | None, other: Way | None) -> Way | None:
    """Return the one way there is, or what goes the other where the first is a long one."""
    if way is None or other is None:
        return way or other

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        found = way(array, marks, ddof)
        return other(array, marks, ddof) if found is None else found

    return run


def _answer_flat(
    op: Asked,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    accuracy: str,
    masked: bool,
    keepdims: bool,
) -> Way | None:
    """Return the way to the result over all axes, None where it is not one tile."""
    size, ndim = prod(shape), len(shape)
    plan = plan_of(op, values, accuracy, masked)
    if size * values.itemsize > most_of_one_tile(plan, size):
        return None
    way = answer(op, values, accuracy, masked)
    left = (1,) * ndim
    return _kept(way, left) if keepdims and ndim else way


def _kept(way: Way, shape: tuple[int, ...]) -> Way:
    """Return the way to an array of a shape that has the one result of another."""

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        found = way(array, marks, ddof)
        return None if found is None else np.asarray(found).reshape(shape)

    return run


@remembered
def answer(op: Asked, values: np.dtype[Any], accuracy: str, masked: bool) -> Way:
    """Return the way to the one result of each operation asked for on an array that is one tile.

    What lies otherwise than C-contiguous, or is more than a tile, has none here, but for one row
    whose elements lie apart (`lies_apart`), and few elements of several axes (`boxes`), from the
    third call on; nor have numbers that are not in this machine's byte order.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    if not values.isnative or values.hasobject:
        return long_way
    plan = plan_of(op, values, accuracy, masked)
    if are_names(op):
        return long_way if masked else _answer_of_several(op, values, accuracy, plan)
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
    loop, together = loop_of(op, values, accuracy, masked), together_for(part)
    one = None if masked else one_row(part, is_ordered=plan.ordered)
    fold, given = (one.fold, one.given) if one else (None, 0)
    by_rows, is_place = goes_in_steps(op, plan), is_index(plan)
    least_shared = most + 1 if together is None else together.least_of_one
    least_apart = least_shared if together is None else min(least_shared, LEAST_APART)
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
        share, fold_it = fold_shared if n >= least_shared else None, fold
        if fold is None or not is_stored or array.ndim != 1 or n >= least_apart:
            if array.flags.carray:
                row = array if array.ndim == 1 else array.ravel()
            elif (
                one is None
                or not is_stored
                or (by_rows and has_short_rows(array))
                or (is_place and is_turned(array))
            ):
                return None
            elif array.ndim != 1:
                fold_it, share = one.folder_of_box(array.nbytes, array.ndim), None
                if fold_it is None:
                    return None
            elif lies_apart(array):
                share = None
                if together and one and one.takes_apart() and together.pays_apart(array):
                    share = together.folds_apart
            elif n >= least_shared:
                return None
        if not is_stored:
            row = as_stored(row)
            if plan.counts_truths:
                row = plain_truths(row)
        if fold_it is None:
            kept = fold_beside_mask(row, marks)
        else:
            try:
                kept = ready.pop()
            except IndexError:
                kept = take()
            is_done = share is not None and share(row, NO_MASK, kept[-1], kept)
            if is_done is None:
                # A thread may write into these still.
                kept = take()
            if not (is_done or fold_it(given, kept[-1], row)):
                ready.append(kept)
                if one and array.ndim == 1 and lies_apart(array):
                    one.allow_apart()
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
