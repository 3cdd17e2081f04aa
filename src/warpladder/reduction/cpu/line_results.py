"""Results made by the loop over lines itself, a strip at a time, in place of fields for NumPy.

Where few lines are added, what is kept of each row is as much memory as the elements: a sum of 3 x
131,072 float32 left a megabyte of float64, of which NumPy then made results, and the mean of int8
took four such passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.lines.deviations import (
    takes_deviations,
    way_to_deviations,
    way_to_deviations_in_panels,
    way_to_deviations_in_small_panels,
    way_to_joined_deviations,
    way_to_short_deviations,
)
from warpladder.reduction.lines.line_kernel import (
    FIELDS,
    MEANS,
    ROOTS,
    SUMS,
    is_extreme_of_some,
    results_type,
)
from warpladder.reduction.lines.lines import Lines, Moments, Range, join_lines, takes_lines, turns
from warpladder.reduction.lines.shared_lines import Found
from warpladder.reduction.loops.columns import lines_joined
from warpladder.reduction.loops.states import FoldSpec
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.memory.levels import Levels, Panels
from warpladder.reduction.ops import OPS, Field, Op, Sums
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.quiet import quietly

__all__ = ["leaving_results", "way_across", "way_in_panels", "way_in_small_panels", "way_turned"]

# So many are gone through in less time than others take to be joined (`benchmarks/choices.py`:
# `few-lines`, `few-lines-of-floats`). Of zeros of two signs which one is an extremum hangs on that;
# beside other operations they are joined from 128 on.
_FEW_LINES, _FEW_LINES_OF_FLOATS = 2048, 128

_Results = Callable[[NDArray[Any], int], NDArray[Any] | None]
"""Called with all elements of rows, and ``ddof``."""

_NO_TOP = np.zeros(1, np.int64)
_WAYS = {"total": SUMS, "product": SUMS, "absolute": SUMS, "root": ROOTS}


@dataclass(frozen=True)
class _ResultsPart(FoldPart):
    """A part whose complete tiles are answered by results, under that name, where they can be."""

    how: int

    def complete(self, tile: Tile, first: int) -> Any:
        """See `Part`."""
        found = None
        if tile.across or turns(self.spec, tile.rows, tile.length):
            found = self.by_lines.results(tile, self.how)
        return super().complete(tile, first) if found is None else {"result": found}


@dataclass(frozen=True)
class _DeviationsPart(FoldPart):
    """A part that leaves of complete tiles no means, where their loop need not."""

    @cached_property
    def by_lines(self) -> Any:
        """See `FoldPart`."""
        return Moments(self.spec, are_all=False)


def leaving_results(plan: Plan) -> Plan:
    """Return a plan for tiles of whole rows of which nothing is asked but results.

    It is the same one where its loops leave no fewer fields. `finishers.array_maker` takes results
    for what they are.
    """
    part, op = plan.parts[0], plan.requests[0].op
    is_fold = plan.is_plain and type(part) is FoldPart
    if not (is_fold and isinstance(op, Op) and takes_lines(part.spec)):
        return plan
    if takes_deviations(part.spec):
        return replace(plan, parts=(_DeviationsPart(part.spec),))
    how = MEANS if op is OPS["mean"] else FIELDS
    if isinstance(op.finish, Field):
        how = _WAYS.get(op.finish.name, FIELDS)
    made = results_type(part.spec) if how != FIELDS else None
    if made is None or not _are_alike(np.dtype(made), plan.dtypes[0]):
        return plan
    return replace(plan, parts=(_ResultsPart(part.spec, how),))


def way_across(plan: Plan, rows: int, length: int, side: int, pitch: int = 0) -> _Results | None:
    """Return the way from all elements of rows, of which ``side`` lie abreast, to their results.

    Lines begin ``pitch`` elements apart, 0 where one follows the other.

    It is that of `leaving_results` with nothing around its loop, and of extrema, their ranges and
    truths; None where there is none, and returns None where fields are to be made first.
    """
    part, op, dtype = plan.parts[0], plan.requests[0].op, plan.dtypes[0]
    if isinstance(part, _DeviationsPart) and isinstance(op, Op):
        return _way_to_spread(op, part, dtype, rows, length, side, pitch)
    return _way_by(plan, lambda each, how: _way(each, how, dtype, rows, length, side, pitch))


def way_turned(plan: Plan, levels: Levels, length: int, step: int = 1) -> _Results | None:
    """Return the way from rows that `lines.turns` to their results, as `way_across`.

    They have a length, and neighbours in them are ``step`` elements apart. It is called with an
    array whose first element is that of the first row.

    NaNs that are to be skipped in deviations take records.
    """
    part, op, dtype = plan.parts[0], plan.requests[0].op, plan.dtypes[0]
    if not (isinstance(part, _DeviationsPart) and isinstance(op, Op)):
        return _way_by(plan, lambda each, how: _way_of_rows(each, how, dtype, levels, length, step))
    if part.skip_nan:
        return None
    find = way_to_short_deviations(part.spec, levels, length, step=step, shares=part.shares)
    return _way_from_deviations(op, dtype, length, find)


def way_in_panels(plan: Plan, panels: Panels, length: int) -> _Results | None:
    """Return the way from rows of a length that lie across in panels, as `way_turned`."""
    part, op, dtype = plan.parts[0], plan.requests[0].op, plan.dtypes[0]
    if isinstance(part, _DeviationsPart) and isinstance(op, Op):
        find = way_to_deviations_in_panels(part.spec, panels, length, shares=part.shares)
        return None if find is None else _way_from_deviations(op, dtype, length, find)
    return _way_by(
        plan,
        lambda each, how: _way_to_found(
            each, how, dtype, each.folder_of_panels(panels, length, how)
        ),
    )


def way_in_small_panels(plan: Plan, panels: int, length: int, side: int) -> _Results | None:
    """Return the way from rows that lie across in small panels, end to end, as `way_turned`."""
    part, op, dtype = plan.parts[0], plan.requests[0].op, plan.dtypes[0]
    lies = panels, length, side
    if isinstance(part, _DeviationsPart) and isinstance(op, Op):
        find = way_to_deviations_in_small_panels(part.spec, *lies, shares=part.shares)
        return None if find is None else _way_from_deviations(op, dtype, length, find)
    return _way_by(
        plan,
        lambda each, how: _way_to_found(each, how, dtype, each.folder_of_small_panels(*lies, how)),
    )


def _way_by(plan: Plan, way_of: Callable[[Lines, int], _Results | None]) -> _Results | None:
    """Return the way by one loop, or one for each extremum, of which ``way_of`` is that."""
    part, op, dtype = plan.parts[0], plan.requests[0].op, plan.dtypes[0]
    if not (plan.is_plain and isinstance(part, FoldPart)):
        return None
    by_lines = part.by_lines
    if isinstance(by_lines, Range) and op is OPS["ptp"]:
        # A range that is wanted as another dtype is converted, and may not fit there.
        is_own = dtype == np.dtype(part.spec.values)
        low, high = (way_of(each, FIELDS) for each in by_lines.each)
        return _way_to_range(low, high, dtype) if is_own and low and high else None
    if not isinstance(by_lines, Lines):
        return None
    if isinstance(part, _ResultsPart):
        return way_of(by_lines, part.how)
    return way_of(by_lines, FIELDS) if _is_left(op, part, dtype) else None


def _way_to_spread(
    op: Op, part: FoldPart, dtype: np.dtype[Any], rows: int, length: int, side: int, pitch: int
) -> _Results | None:
    """Return `way_across` for variances and their roots."""
    if rows > layout.MOST_ROWS_ACROSS:
        # Of the last of several tiles lines may be joined.
        return None
    find = way_to_deviations(part.spec, rows, length, pitch or side, side)
    if find is None and rows == side and pitch in {0, side}:
        find = way_to_joined_deviations(part.spec, part.rare, rows, length)
    return None if find is None else _way_from_deviations(op, dtype, length, find)


def _way_from_deviations(
    op: Op,
    dtype: np.dtype[Any],
    length: int,
    find: Callable[[NDArray[Any]], NDArray[np.float64] | None],
) -> _Results:
    """Return the way to variances, or their roots, from sums of squared deviations."""
    is_root = op is OPS["std"]

    def finished(deviation: NDArray[Any], free: int) -> NDArray[Any]:
        found: NDArray[Any] = np.divide(deviation, free, deviation)
        if is_root:
            np.sqrt(found, found)
        return found.astype(dtype, copy=False)

    def way(data: NDArray[Any], ddof: int) -> NDArray[Any] | None:
        deviation = find(data)
        return None if deviation is None else quietly(finished, deviation, length - ddof)

    return way


def _way(
    lines: Lines, how: int, dtype: np.dtype[Any], rows: int, length: int, side: int, pitch: int
) -> _Results | None:
    """Return `way_across` by one loop, which leaves results, or fields that are results."""
    spec, pitch = lines.spec, pitch or side
    joined = lines_joined(Tile(lines.none, NO_MASK, rows, length, pitch, side))
    few = _FEW_LINES_OF_FLOATS if np.dtype(spec.values).kind == "f" else _FEW_LINES
    if joined > 1 and (length > few or _rounds(spec)):
        return _way_joined(lines, how, dtype, rows, length, joined)
    loop, room, together = lines.loop, lines.room, lines.together
    if together is not None and not together.takes(rows * length):
        together = None

    def find(data: NDArray[Any]) -> Found:
        found = None
        if together is not None:
            found = together(data, rows, length, pitch, side, how)
        if found is None:
            found = room(rows, 1, how)
            loop(data, rows, length, pitch, side, rows, *found, how)
        return found

    return _way_to_found(lines, how, dtype, find)


def _way_of_rows(
    lines: Lines, how: int, dtype: np.dtype[Any], levels: Levels, length: int, step: int
) -> _Results:
    """Return `way_turned` by one loop."""
    return _way_to_found(lines, how, dtype, lines.folder_of_rows(levels, length, how, step))


def _way_to_found(
    lines: Lines, how: int, dtype: np.dtype[Any], find: Callable[[NDArray[Any]], Found]
) -> _Results:
    """Return the way to what is found that is the results, by what the loop leaves."""
    place, may_leave = 0 if how == FIELDS else -1, lines.may_leave
    is_of_some = is_extreme_of_some(lines.spec)

    def way(data: NDArray[Any], ddof: int) -> NDArray[Any] | None:  # noqa: ARG001 - see `_Results`
        found = find(data)
        if may_leave and np.count_nonzero(found[1]):
            return None
        if is_of_some and np.count_nonzero(found[2]):
            return None
        result = found[place]
        return result if result.dtype is dtype else result.view(dtype)

    return way


def _way_to_range(to_low: _Results, to_high: _Results, dtype: np.dtype[Any]) -> _Results:
    """Return the way to ranges by those to either extremum; integers may not hold them."""

    def way(data: NDArray[Any], ddof: int) -> NDArray[Any] | None:
        low = to_low(data, ddof)
        high = None if low is None else to_high(data, ddof)
        if low is None or high is None:
            return None
        # Integers are subtracted modulo the range of their dtype.
        found: NDArray[Any] = quietly(np.subtract, high, low, high)
        return None if dtype.kind == "i" and found.min() < 0 else found

    return way


def _way_joined(
    lines: Lines, how: int, dtype: np.dtype[Any], rows: int, length: int, joined: int
) -> _Results | None:
    """Return `way_across` where so many lines are taken as one.

    A float64 sum of 32 x 32 over its first axis takes 4 us so, and 8 through fields; of 1,000 x 3,
    where some lines are left over, 7 and 17, the least 9 and 18.
    """
    spec, loop, room, may_leave = lines.spec, lines.loop, lines.room, lines.may_leave
    wide, fewer, over = rows * joined, length // joined, length % joined
    is_of_some = is_extreme_of_some(spec)
    if spec.skip_nan and (how == MEANS or not (is_of_some or spec.folds == {"total"})):
        return None
    if over and may_leave and spec.folds == {"product"}:
        # What is left over may leave its range when it is joined.
        return None
    is_sum, is_whole = spec.folds <= {"total", "absolute", "square"}, spec.folds == {"whole"}

    def way(data: NDArray[Any], ddof: int) -> NDArray[Any] | None:  # noqa: ARG001 - see `_Results`
        found = room(wide, 1, FIELDS)
        loop(data, wide, fewer, wide, wide, rows, *found, FIELDS)
        result = found[0][:rows]
        if over:
            later = room(rows, 1, FIELDS)
            loop(data[fewer * wide :], rows, over, rows, rows, rows, *later, FIELDS)
            if may_leave and later[1][0]:
                return None
            if is_sum:
                quietly(np.add, result, later[0], result)
            else:
                join_lines(spec, [one[:rows] for one in found[:3]], later[:3])
        if (may_leave and found[1][0]) or (is_of_some and np.count_nonzero(found[2][:rows])):
            return None
        if is_whole:
            words = {"whole_low": result, "whole_high": found[1][:rows], "whole_top": _NO_TOP}
            result = OPS["mean"].finish(Sums(words, length, 0))
        elif how == MEANS:
            result = result / length
        elif how == ROOTS:
            result = np.sqrt(result)
        elif result.dtype.itemsize == dtype.itemsize:
            # A view would keep what was joined.
            result = result.copy()
            return result if result.dtype is dtype else result.view(dtype)
        return quietly(result.astype, dtype)

    return way


def _rounds(spec: FoldSpec) -> bool:
    """Tell whether bits depend on the order of elements."""
    exact = {"low", "high", "nonzero", "whole"}
    return not spec.folds <= (exact | {"total", "product"} if spec.sums == "int64" else exact)


def _is_left(op: Any, part: FoldPart, dtype: np.dtype[Any]) -> bool:
    """Tell whether what is left for each row is the result, bit by bit."""
    if not (isinstance(op, Op) and isinstance(op.finish, Field)):
        return part.spec.folds == {"nonzero"} and part.spec.until != ""
    # Sums that are not to be rounded, to the elements' dtype for one, are left as they are kept.
    is_sum = part.spec.folds == {"total"} and part.new(1).dtype["total"] == dtype
    return is_sum or part.spec.folds <= {"low", "high", "nonzero"}


def _are_alike(made: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Tell whether one is the other bit by bit, as integers are modulo 2^64."""
    kinds = {made.kind, wanted.kind}
    return made.itemsize == wanted.itemsize and (len(kinds) == 1 or kinds == {"i", "u"})
