"""Calls on few numbers: the same plan, loops and finish, with the fewest steps around them.

A thousand numbers are reduced in a tenth of a microsecond; to look at every option, to lay out
tiles and to finish arrays of one result take thirty. What is here serves arrays as they lie that
make one tile, so that the bits are those of the long way, to which it leaves all that is rare.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.call import check_option
from warpladder.reduction import layout
from warpladder.reduction.intake import check_dtype
from warpladder.reduction.layout import NO_MASK, Tile, as_stored
from warpladder.reduction.ops import Field, Op, Sums, parse_ops
from warpladder.reduction.plan import ACCURACIES, Plan, check_mask_leaves_some, make_plan

__all__ = ["answer", "answer_of_few"]


def answer_of_few(
    values: NDArray[Any], op: str | np.ufunc, axis: Any, where: Any, accuracy: str, ddof: int
) -> Any:
    """Return the result for a C-contiguous array with an axis or a mask, None where it is not here.

    Parameters
    ----------
    values
        The array, aligned, writable and in this machine's byte order.
    op, axis, where, accuracy
        As for `reduce`, not checked yet.
    ddof
        0 or 1.
    """
    # However it lies and whatever is asked, that is one tile.
    if not 0 < values.nbytes <= min(layout.CACHED_BYTES, layout.TILE_BYTES // layout.SHORT_SHARE):
        return None
    if where is not None:
        is_plain = (
            axis is None
            and type(where) is np.ndarray
            and where.dtype.char == "?"
            and where.shape == values.shape
            and where.flags.carray
        )
        if not is_plain:
            return None
        return answer(op, values.dtype, accuracy, True)(values, where.ravel(), ddof)
    ndim = values.ndim
    if type(axis) is not int or not -ndim <= axis < ndim:
        return None
    if ndim == 1:
        return answer(op, values.dtype, accuracy, False)(values, NO_MASK, ddof)
    return _answer_along(op, values.dtype, accuracy)(values, axis % ndim, ddof)


def _plan(op: str | np.ufunc, values: np.dtype[Any], accuracy: str, masked: bool) -> Plan:
    requests = parse_ops(op)
    check_option("accuracy", accuracy, ACCURACIES)
    check_dtype(values, "values")
    return make_plan(requests, values, None, accuracy, masked)


@cache
def answer(
    op: str | np.ufunc, values: np.dtype[Any], accuracy: str, masked: bool
) -> Callable[[NDArray[Any], NDArray[np.bool_], int], Any]:
    """Return the way to the one result of an operation on a C-contiguous array that is one tile.

    It is called with the array, the marks that say which elements count (`NO_MASK` for all) and
    ``ddof``.

    Raises
    ------
    InputError, InputTypeError
        As `reduce` does.
    """
    plan = _plan(op, values, accuracy, masked)

    def run(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        n = array.size
        states = plan.new(1)
        plan.add(Tile(as_stored(array.ravel()), marks, 1, n, n), 0, states)
        results = plan.finish(states, 1, n, ddof)
        if masked:
            check_mask_leaves_some(plan, results, lambda: marks, (0,))
        return results[0][0]

    number = _number_maker(plan)
    if number is None:
        return run
    part = plan.parts[0]
    loop, first, is_stored = part.loop, part.new(1), values.char not in "e?"
    raw = first.tobytes()
    # To make a state takes as long as to add some thousand numbers. Each call takes one that lies
    # ready, so that calls in several threads have one each.
    ready: list[tuple[bytearray, NDArray[Any]]] = []

    def run_fast(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        n = array.size
        try:
            memory, states = ready.pop()
            memory[:] = raw
        except IndexError:
            memory = bytearray(raw)
            states = np.frombuffer(memory, first.dtype)
        row = array.ravel()
        loop(row if is_stored else as_stored(row), marks, 1, n, n, 0, states)
        state = states.item()
        ready.append((memory, states))
        result = number(state, ddof)
        return run(array, marks, ddof) if result is None else result

    return run_fast


@cache
def _answer_along(
    op: str | np.ufunc, values: np.dtype[Any], accuracy: str
) -> Callable[[NDArray[Any], int, int], Any]:
    """Return the way to the results over one of several axes, counted from 0."""
    plan = _plan(op, values, accuracy, False)
    kept = _kept_field(plan)
    dtype, rounds = plan.dtypes[0], plan.may_round

    def run(array: NDArray[Any], axis: int, ddof: int) -> Any:
        shape = array.shape
        length, side = shape[axis], prod(shape[axis + 1 :])
        left = shape[:axis] + shape[axis + 1 :]
        rows = array.size // length
        if side == 1:
            tile = Tile(as_stored(array.ravel()), NO_MASK, rows, length, length)
        elif length == 1 or (length > layout.COPIED_COLUMNS and not plan.takes_columns):
            return None
        elif plan.takes_columns:
            tile = Tile(as_stored(array.ravel()), NO_MASK, rows, length, side, side)
        else:
            panels = array.reshape(-1, length, side).transpose(0, 2, 1)
            tile = Tile(as_stored(panels.ravel()), NO_MASK, rows, length, length)
        states = plan.complete(tile, 0)
        if kept is not None:
            # Half the time of `Plan.finish`: no row is without elements here.
            with np.errstate(all="ignore") if rounds else nullcontext():
                found: NDArray[Any] = states[0][kept].astype(dtype).reshape(left)
                return found
        return plan.finish(states, rows, length, ddof)[0].reshape(left)

    return run


def _kept_field(plan: Plan) -> str | None:
    """Return the field that is the result of every row that has elements, None if there is none."""
    op, part = plan.requests[0].op, plan.parts[0]
    if not plan.is_plain or part.skip_nan or not isinstance(op, Op):
        return None
    finish = op.finish
    if not isinstance(finish, Field) or finish.name not in part.new(1).dtype.names:
        return None
    # One of floats has a power of two beside it.
    is_split = finish.name == "product" and plan.dtypes[0].kind == "f"
    return None if is_split else finish.name


def _number_maker(plan: Plan) -> Callable[[tuple[Any, ...], int], Any] | None:
    """Return what makes the result of a row's state and ``ddof``, as `Plan.finish` does.

    The state comes as a tuple of plain numbers, and what a plain number cannot be it returns None
    for: results that do not fit their dtype, divisions by zero, rows without elements. It is None
    itself for plans of several operations or parts, and for few others.
    """
    op, part = plan.requests[0].op, plan.parts[0]
    if not plan.is_plain or plan.counts_truths or not isinstance(op, Op) or not op.takes_numbers:
        return None
    dtype, finish, numbers = plan.dtypes[0], op.finish, part.numbers
    names = part.new(1).dtype.names
    kind, is_float = dtype.type, dtype.kind == "f"
    most = float(np.finfo(dtype).max) if is_float else 0.0
    # Sums are modulo 2^64, kept with a sign.
    modulus = 2**64 if kind is np.uint64 else 0
    counted = names.index("count")
    read = part.reader(finish.name) if isinstance(finish, Field) else None

    def number(state: tuple[Any, ...], ddof: int) -> Any:
        count = state[counted]
        if not count:
            return None
        if read is not None:
            result = read(state)
        else:
            fields = numbers(state)
            if fields is None:
                return None
            try:
                result = finish(Sums(fields, count, ddof))
            except ZeroDivisionError:
                return None
        if result is None:
            return None
        if is_float:
            return kind(result) if -most <= result <= most else None
        return kind(result % modulus if modulus else result)

    return number
