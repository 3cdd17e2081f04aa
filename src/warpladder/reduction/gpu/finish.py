"""Results made on the device: what `ops` makes of the fields of all rows, for one row.

The thread that has a row's last state makes the results of it. So they need not go to the host and
back, and whoever asked for them need not wait. Where numbers may have to be refused once they are
seen, kernels note that beside the results, and whoever asked waits for the note. Results that
several kernels have a part in are left to the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.specialised import specialised
from warpladder.reduction.gpu.made import maker
from warpladder.reduction.loops.limbs import nearest
from warpladder.reduction.ops import Op
from warpladder.reduction.parts import CompensatedPart, CustomPart, ExactPart, FoldPart
from warpladder.reduction.rules import times

if TYPE_CHECKING:
    from warpladder.reduction.ops import Request
    from warpladder.reduction.plan import Plan

__all__ = [
    "finished_there",
    "leave_limbs",
    "leave_results",
    "leave_states",
    "option_of",
    "refuses_when_seen",
]

# A kernel takes integers of 64 bits with a sign.
_MOST = np.iinfo(np.int64).max
_ONE_EXACT_SUM = ({"total"}, {"absolute"})


def finished_there(plan: Plan) -> bool:
    """Tell whether a device makes the results of a plan, for rows that are not empty.

    Not a range of int64 wanted as a float, which 64 bits may not hold, nor one of floats wanted as
    an integer, nor a compensated or exact sum, or operation of the caller's, that a number comes
    before, nor what is made of several exact sums or of roots of them.
    """
    if len(plan.parts) != 1:
        return False
    (part,) = plan.parts
    if plan.initial is not None and not (isinstance(part, FoldPart) and _fits_an_option(plan)):
        return False
    if isinstance(part, ExactPart):
        return part.wanted in _ONE_EXACT_SUM
    if isinstance(part, CustomPart):
        return True
    if not isinstance(part, FoldPart | CompensatedPart):
        return False
    return all(
        isinstance(request.op, Op) and _refusal(request, dtype, plan) != "unknown"
        for request, dtype in _results_of(plan)
    )


def _fits_an_option(plan: Plan) -> bool:
    """Tell whether a kernel can be given what comes before the elements, see `option_of`."""
    first = plan.initial
    is_long = first.dtype.kind != "f" and first > _MOST
    return not is_long or all(dtype.kind == "u" for dtype in plan.dtypes)


def refuses_when_seen(plan: Plan) -> bool:
    """Tell whether a result may be refused: what is of nothing, a range that does not fit."""
    return any(_refusal(request, dtype, plan) for request, dtype in _results_of(plan))


def _results_of(plan: Plan) -> Iterator[tuple[Request, np.dtype[Any]]]:
    return zip(plan.requests, plan.dtypes, strict=True)


def _refusal(request: Request, dtype: np.dtype[Any], plan: Plan) -> str:
    """Return why a result may be refused, "" if it may not, or that a kernel cannot tell."""
    op, part = request.op, plan.parts[0]
    if isinstance(part, ExactPart):
        # Of what does not fit float64 the host makes the mean all the same.
        return "mean" if part.spec.values == "float64" and request.name == "mean" else ""
    if not isinstance(op, Op) or not isinstance(part, FoldPart):
        return ""
    refused = _refused_range(op, np.dtype(part.spec.values), dtype)
    # A mask may leave nothing, and so may NaNs that are skipped, which for other extrema are NaN.
    is_of_what_is_left = plan.masked and plan.initial is None and not op.is_defined_for_nothing
    if is_of_what_is_left or (request.skip_nan and op.result == "index"):
        return "unknown" if refused else "nothing"
    return refused


def _refused_range(op: Op, elements: np.dtype[Any], dtype: np.dtype[Any]) -> str:
    if op.result != "range" or elements.kind == dtype.kind == "f":
        return ""
    if elements.kind == "f":
        return "unknown"
    if dtype.kind == "f":
        return "unknown" if elements == np.int64 else ""
    span = int(np.iinfo(elements).max) - int(np.iinfo(elements).min)
    return "range" if span > np.iinfo(dtype).max else ""


@cuda.jit(device=True)
def leave_states(results, row, states, i, length, option):
    """Leave the state of a row as it is, in the only result."""
    results[0][row] = states[i]


@cuda.jit(device=True)
def leave_limbs(results, row, states, i, length, option):
    """Leave the limbs of an exact sum as they are, in the only result."""
    for k in range(states.size):
        results[0][row, k] = states[k]


def option_of(plan: Plan, ddof: float) -> int | float:
    """Return what kernels are given beside arrays: what comes before the elements, or ``ddof``."""
    if plan.initial is None:
        return float(ddof)
    first = plan.initial.item()
    # Of unsigned results a larger one has the same bits.
    return first - (1 << 64) if isinstance(first, int) and first > _MOST else first


def leave_results(plan: Plan) -> Any:
    """Return ``leave(results, row, states, i, length, option)`` for a plan.

    ``results`` are arrays, one for each operation, ``option`` is what `option_of` says. Where
    results may be refused one more array follows, and its only element is not 0 once one is.
    """
    # Whatever the number is that comes before, the kernel is one.
    return _leave_results(replace(plan, initial=None if plan.initial is None else True))


@cache
def _leave_results(plan: Plan) -> Any:
    part = plan.parts[0]
    if isinstance(part, CustomPart):
        # The only result is a number of the same dtype.
        return leave_states
    leave: Any = _leave_nothing
    for number in reversed(range(len(plan.requests))):
        request = plan.requests[number]
        # What is no float has no NaN to skip, but keeps the name.
        name = request.name.removeprefix("nan")
        may_be_none = request.skip_nan and isinstance(request.op, Op) and request.op.is_extreme
        made = maker(name, part)
        dtype = plan.dtypes[number]
        leave = _leaving(number, made, dtype, may_be_none, leave)
        refusal = _refusal(request, dtype, plan)
        if refusal == "mean":
            leave = _noting_lost_means(len(plan.requests), leave)
        elif refusal:
            most = np.iinfo(dtype).max if refusal == "range" else None
            leave = _noting(len(plan.requests), most, leave)
    return leave if plan.initial is None else _beginning(part, leave)


@cuda.jit(device=True)
def _leave_nothing(results, row, states, i, length, option):
    pass


def _leaving(number: int, made: Any, dtype: np.dtype[Any], may_be_none: bool, rest: Any) -> Any:
    is_half = dtype.type is np.float16

    @cuda.jit(device=True)
    @specialised
    def leave(results, row, states, i, length, option):
        result = made(states, i, length, option)
        if may_be_none and states[i].count == 0:
            results[number][row] = math.nan
        elif is_half:
            results[number][row] = _half_of(result)
        else:
            results[number][row] = result
        rest(results, row, states, i, length, option)

    return leave


def _beginning(part: Any, rest: Any) -> Any:
    """Let a number come before the elements of a row: what `FoldPart.begin` does."""
    spec, kind = part.spec, np.dtype(part.spec.values).kind
    wide: Any = {"f": np.float64, "u": np.uint64}.get(kind, np.int64)
    number: Any = np.int64 if spec.sums == "int64" else np.float64
    has_total, has_product, has_low, has_high = (
        name in spec.folds for name in ("total", "product", "low", "high")
    )
    is_whole = spec.sums == "int64"

    @cuda.jit(device=True)
    @specialised
    def leave(results, row, states, i, length, option):
        state = states[i]
        extreme = wide(option)
        # NaN, which no comparison finds, is the extremum wherever it is.
        if has_low and (state.count == 0 or not state.low <= extreme) and state.low == state.low:
            state.low = extreme
        if (
            has_high
            and (state.count == 0 or not state.high >= extreme)
            and state.high == state.high
        ):
            state.high = extreme
        if has_total:
            state.total += number(option)
        if has_product and is_whole:
            state.product *= number(option)
        if has_product and not is_whole:
            state.product, state.exponent = times(state.product, state.exponent, number(option), 0)
        state.count += 1
        rest(results, row, states, i, length, option)

    return leave


def _noting(note: int, most: int | None, rest: Any) -> Any:
    """Note a range above ``most``, or where that is None a result of nothing."""
    is_of_nothing = most is None
    largest = np.uint64(0 if most is None else most)

    @cuda.jit(device=True)
    @specialised
    def leave(results, row, states, i, length, option):
        state = states[i]
        if is_of_nothing:
            if state.count == 0:
                results[note][0] = 1
        elif np.uint64(state.high) - np.uint64(state.low) > largest:
            # Without a sign: a compiler may take it that others do not wrap, and an H200 found no
            # difference of int64 that was below 0.
            results[note][0] = 1
        rest(results, row, states, i, length, option)

    return leave


def _noting_lost_means(note: int, rest: Any) -> Any:
    """Note the mean of an exact sum that does not fit float64."""

    @cuda.jit(device=True)
    def leave(results, row, states, i, length, option):
        if states[states.size - 1] == 0 and math.isinf(nearest(states)):
            results[note][0] = 1
        rest(results, row, states, i, length, option)

    return leave


@cuda.jit(device=True)
def _half_of(number):
    """Return a float64 as float16, rounded once.

    There is an instruction for float32 alone. On the way there what is cut off is marked in the
    last bit, which is below what float16 has, so that no number looks like the middle of two.
    """
    cell = cuda.local.array(1, np.float32)
    bits = cell.view(np.int32)
    cell[0] = np.float32(number)
    back = np.float64(cell[0])
    if back != number and not math.isnan(number):
        if abs(back) > abs(number):
            bits[0] -= 1
        bits[0] |= 1
    return np.float16(cell[0])
