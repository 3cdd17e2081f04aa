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
from warpladder.reduction.loops.ranges import MOST
from warpladder.reduction.ops import LEAST_VARIANCE, Op
from warpladder.reduction.parts import CompensatedPart, FoldPart
from warpladder.reduction.rules import SCALE, times

if TYPE_CHECKING:
    from warpladder.reduction.ops import Request
    from warpladder.reduction.plan import Plan

__all__ = ["finished_there", "leave_results", "leave_states", "option_of", "refuses_when_seen"]


def finished_there(plan: Plan) -> bool:
    """Tell whether a device makes the results of a plan, for rows that are not empty.

    Not a range of int64 wanted as a float, which 64 bits may not hold, nor one of floats wanted as
    an integer, nor a compensated sum that a number comes before.
    """
    kinds: Any = FoldPart if plan.initial is not None else FoldPart | CompensatedPart
    if len(plan.parts) != 1 or not isinstance(plan.parts[0], kinds):
        return False
    return all(
        isinstance(request.op, Op) and _refusal(request, dtype, plan) != "unknown"
        for request, dtype in _results_of(plan)
    )


def refuses_when_seen(plan: Plan) -> bool:
    """Tell whether a result may be refused: what is of nothing, a range that does not fit."""
    return any(_refusal(request, dtype, plan) for request, dtype in _results_of(plan))


def _results_of(plan: Plan) -> Iterator[tuple[Request, np.dtype[Any]]]:
    return zip(plan.requests, plan.dtypes, strict=True)


def _refusal(request: Request, dtype: np.dtype[Any], plan: Plan) -> str:
    """Return why a result may be refused, "" if it may not, or that a kernel cannot tell."""
    op, part = request.op, plan.parts[0]
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


def option_of(plan: Plan, ddof: float) -> int | float:
    """Return what kernels are given beside arrays: what comes before the elements, or ``ddof``."""
    if plan.initial is None:
        return float(ddof)
    first = plan.initial.item()
    # A kernel takes integers of 64 bits with a sign.
    return (int(first) + (1 << 63)) % (1 << 64) - (1 << 63) if isinstance(first, int) else first


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
    leave: Any = _leave_nothing
    for number in reversed(range(len(plan.requests))):
        request = plan.requests[number]
        # What is no float has no NaN to skip, but keeps the name.
        name = request.name.removeprefix("nan")
        may_be_none = request.skip_nan and isinstance(request.op, Op) and request.op.is_extreme
        made = _of_compensated(name) if isinstance(part, CompensatedPart) else _MADE[name](part)
        dtype = plan.dtypes[number]
        leave = _leaving(number, made, dtype, may_be_none, leave)
        refusal = _refusal(request, dtype, plan)
        if refusal:
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


def _of_compensated(name: str) -> Any:
    is_mean = name == "mean"

    @cuda.jit(device=True)
    def total(states, i, length, option):
        state = states[i]
        result = state.high
        # The error of a sum that has overflowed is NaN and says nothing.
        if math.isfinite(state.high) and math.isfinite(state.low):
            result = state.high + state.low
        return result / np.float64(length) if is_mean else result

    return total


def _plain(field: str) -> Any:
    """Return what makes the device function that gives one field."""
    takers = {
        "total": lambda states, i, length, option: states[i].total,
        "low": lambda states, i, length, option: states[i].low,
        "high": lambda states, i, length, option: states[i].high,
        "low_at": lambda states, i, length, option: states[i].low_at,
        "high_at": lambda states, i, length, option: states[i].high_at,
        "absolute": lambda states, i, length, option: states[i].absolute,
        "nonzero": lambda states, i, length, option: states[i].nonzero,
    }
    taker = cuda.jit(device=True)(takers[field])
    return lambda _: taker


@cuda.jit(device=True)
def _any(states, i, length, option):
    state = states[i]
    return state.nonzero > 0


@cuda.jit(device=True)
def _all(states, i, length, option):
    state = states[i]
    return state.nonzero == state.count


@cuda.jit(device=True)
def _ptp(states, i, length, option):
    state = states[i]
    return state.high - state.low


@cuda.jit(device=True)
def _mean(states, i, length, option):
    state = states[i]
    return state.total / np.float64(state.count)


@cuda.jit(device=True)
def _mean_of_whole(states, i, length, option):
    state = states[i]
    high = np.float64(state.whole_top) * 2.0**32 + np.float64(state.whole_high)
    return (high * 2.0**32 + np.float64(state.whole_low)) / np.float64(state.count)


@cuda.jit(device=True)
def _whole_product(states, i, length, option):
    state = states[i]
    return state.product


@cuda.jit(device=True)
def _real_product(states, i, length, option):
    state = states[i]
    return math.ldexp(state.product, int(min(max(state.exponent, -MOST), MOST)))


@cuda.jit(device=True)
def _root_of(tiny, middle, huge):
    """Return what `ranges.root_of` does."""
    root = math.sqrt(middle)
    if tiny != 0 or huge != 0:
        high = math.sqrt(huge) * SCALE
        if math.isnan(root + high):
            return math.nan
        return math.hypot(math.hypot(math.sqrt(tiny) / SCALE, root), high)
    return root


@cuda.jit(device=True)
def _l2(states, i, length, option):
    state = states[i]
    return _root_of(state.tiny_square, state.square, state.huge_square)


@cuda.jit(device=True)
def _divisor(count, option):
    return max(np.float64(count) - option, 0.0)


@cuda.jit(device=True)
def _var(states, i, length, option):
    state = states[i]
    deviation = state.deviation
    if state.tiny_deviation != 0 or state.huge_deviation != 0:
        deviation = (
            state.tiny_deviation / SCALE / SCALE + deviation + state.huge_deviation * SCALE * SCALE
        )
    return deviation / _divisor(state.count, option)


@cuda.jit(device=True)
def _std(states, i, length, option):
    state = states[i]
    variance = _var(states, i, length, option)
    is_lost = not (LEAST_VARIANCE < variance < math.inf)
    if is_lost and (state.tiny_deviation != 0 or state.huge_deviation != 0):
        n = np.float64(state.count)
        spread = _root_of(state.tiny_deviation / n, state.deviation / n, state.huge_deviation / n)
        return spread * math.sqrt(n / _divisor(state.count, option))
    return math.sqrt(variance)


@cuda.jit(device=True)
def _logsumexp(states, i, length, option):
    state = states[i]
    if math.isinf(state.peak):
        return state.peak
    return state.peak + math.log(state.scaled)


#: By operation, what makes the device function ``made(states, i, length, option)`` for a part.
_MADE: dict[str, Any] = {
    "sum": _plain("total"),
    "prod": lambda part: _whole_product if part.spec.sums == "int64" else _real_product,
    "min": _plain("low"),
    "max": _plain("high"),
    "ptp": lambda _: _ptp,
    "argmin": _plain("low_at"),
    "argmax": _plain("high_at"),
    "mean": lambda part: _mean_of_whole if "whole" in part.spec.folds else _mean,
    "var": lambda _: _var,
    "std": lambda _: _std,
    "any": lambda _: _any,
    "all": lambda _: _all,
    "count_nonzero": _plain("nonzero"),
    "logsumexp": lambda _: _logsumexp,
    "l1": _plain("absolute"),
    "l2": lambda _: _l2,
}
