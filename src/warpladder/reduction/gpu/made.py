"""What a kernel makes of a row's state, by operation: what `ops` makes of fields of all rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda

from warpladder.reduction.loops.limbs import nearest
from warpladder.reduction.loops.ranges import MOST
from warpladder.reduction.ops import LEAST_VARIANCE
from warpladder.reduction.parts import CompensatedPart, ExactPart
from warpladder.reduction.rules import SCALE

__all__ = ["maker"]


def maker(name: str, part: Any) -> Any:
    """Return the device function ``made(states, i, length, option)`` of an operation on a part."""
    if isinstance(part, ExactPart):
        return _mean_of_exact if name == "mean" else _exact_sum
    return _of_compensated(name) if isinstance(part, CompensatedPart) else _MADE[name](part)


@cuda.jit(device=True)
def _exact_sum(states, i, length, option):
    return nearest(states)


@cuda.jit(device=True)
def _mean_of_exact(states, i, length, option):
    return nearest(states) / np.float64(length)


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
