"""A `Part` on a device: which kernels accumulate it, and what is left to the host.

Kernels leave a state for each row; the host makes of it the state that the CPU engine would hand
on, by the part's own merge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.reduction.exact import ExactSpec
from warpladder.reduction.gpu.compensated import compensated_accumulator
from warpladder.reduction.gpu.custom import custom_states
from warpladder.reduction.gpu.exact import exact_kernel
from warpladder.reduction.gpu.folds import fold_accumulator
from warpladder.reduction.gpu.layout import THREADS, Field, Matrix
from warpladder.reduction.gpu.walk import Accumulator, across, along, join, pieces_of
from warpladder.reduction.parts import CompensatedPart, CustomPart, ExactPart, FoldPart, Part
from warpladder.reduction.rungs.tuned import reduce_with

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["Collect", "plain_state", "start"]

_MOST_BLOCKS = 1 << 20

#: Brings the states of a matrix's rows that kernels on a stream leave on the device.
Collect = Callable[[], Any]


def start(
    device: Device, part: Part, matrix: Matrix, first: int = 0, stream: Any = None
) -> Collect:
    """Put on a stream what accumulates a part of a matrix.

    Parameters
    ----------
    device
        Where.
    part
        What.
    matrix
        On the device; has a mask where the part is masked, and is not empty.
    first
        What the first column counts as, where indices are kept.
    stream
        After which states can be collected.

    Returns
    -------
    callable
        Gives the states of the rows, of the host.
    """
    if isinstance(part, FoldPart):
        return _fold(device, part, matrix, first, stream)
    if isinstance(part, CompensatedPart):
        accumulator = compensated_accumulator(part.spec)
        there = _walk(device, accumulator, matrix, first, stream)
        return lambda: _whole(part, _pairs(_fetched(device, there, stream)))
    if isinstance(part, ExactPart):
        return _exact(device, part, matrix, stream)
    assert isinstance(part, CustomPart)  # noqa: S101 - there are these four
    states, runs = custom_states(device, part, matrix, stream)
    return lambda: _combined(part, _fetched(device, states, stream), runs)


def _fold(device: Device, part: FoldPart, matrix: Matrix, first: int, stream: Any) -> Collect:
    there = _walk(device, fold_accumulator(part.spec), matrix, first, stream)

    def collect() -> Any:
        found = _fetched(device, there, stream)
        states = part.new(len(found))
        for name in states.dtype.names:
            states[name] = found[name]
        return _whole(part, states)

    return collect


def _fetched(device: Device, there: Any, stream: Any) -> NDArray[Any]:
    """Return what a stream leaves in an array, without waiting for other streams."""
    host = device.to_host(there, stream=stream)
    if stream is not None:
        stream.synchronize()
    return host


def _pairs(states: NDArray[Any]) -> NDArray[np.float64]:
    return np.stack([states["high"], states["low"]], axis=1)


def _spec(part: ExactPart, term: str) -> ExactSpec:
    return ExactSpec(part.values, term, part.masked, part.skip_nan)


def _exact(device: Device, part: ExactPart, matrix: Matrix, stream: Any) -> Collect:
    values = matrix.values
    marks = matrix.mask or Field(values.data, 0, 0, 0)
    _, each, length = pieces_of(matrix.rows, matrix.length, 0, 1)
    shape = (matrix.rows, matrix.length, each, length)
    blocks = min(matrix.rows * each, _MOST_BLOCKS)
    there = {}
    for term, limbs in part.new(matrix.rows).items():
        there[term] = device.to_device(limbs, stream=stream)
        device.launch(
            exact_kernel(_spec(part, term), limbs.shape[1]), blocks, THREADS,
            values.data, values.place, marks.data, marks.place, shape, there[term], stream=stream,
        )  # fmt: skip

    def collect() -> Any:
        states = part.new(matrix.rows)
        part.merge(states, {term: _fetched(device, limbs, stream) for term, limbs in there.items()})
        return states

    return collect


def _walk(device: Device, accumulator: Accumulator, matrix: Matrix, first: int, stream: Any) -> Any:
    """Launch the kernels for such rows; return the states of the rows, on the device."""
    values, mask, count, length = matrix
    own, each, size = pieces_of(count, length, values.pitch, values.step)
    states = device.empty(count * each, accumulator.dtype)
    marks = mask or Field(values.data, 0, 0, 0)
    blocks = -(-count * each // THREADS) if own else count * each
    device.launch(
        (across if own else along)(accumulator), min(blocks, _MOST_BLOCKS), THREADS,
        values.data, values.place, marks.data, marks.place, (count, length, each, size), first,
        states, stream=stream,
    )  # fmt: skip
    if each == 1:
        return states
    joined = device.empty(count, accumulator.dtype)
    blocks = min(count, _MOST_BLOCKS)
    device.launch(join(accumulator), blocks, THREADS, states, each, joined, stream=stream)
    return joined


def _whole(part: Part, states: NDArray[Any]) -> Any:
    """Return states as the part itself makes them, which also settles carries."""
    whole = part.new(len(states))
    part.merge(whole, states)
    return whole


def _combined(part: Part, states: NDArray[Any], pieces: int) -> Any:
    """Merge the states of neighbouring pieces of each row, in their order."""
    by_row = states.reshape(-1, pieces)
    whole = part.new(len(by_row))
    for piece in range(pieces):
        part.merge(whole, np.ascontiguousarray(by_row[:, piece]))
    return whole


# ---- the top rung of the ladder ---------------------------------------------------------------


@cuda.jit(device=True)
def plus(a, b):
    """Return the sum of integers modulo 2^64."""
    return a + np.int64(b)


@cuda.jit(device=True)
def times(a, b):
    """Return the product of integers modulo 2^64."""
    return a * np.int64(b)


@cuda.jit(device=True)
def lesser(a, b):
    """Return the smaller of two numbers, NaN where one is; -0.0 is smaller than 0.0."""
    if a != a:  # noqa: PLR0124 - NaN is not itself
        return a
    return b if b != b else min(a, b)  # noqa: PLR0124 - likewise


@cuda.jit(device=True)
def greater(a, b):
    """Return the larger of two numbers, NaN where one is; 0.0 is larger than -0.0."""
    if a != a:  # noqa: PLR0124 - likewise
        return a
    return b if b != b else max(a, b)  # noqa: PLR0124 - likewise


_PLAIN = {"total": plus, "product": times, "low": lesser, "high": greater}
#: In which type extrema of a dtype are found; that of the shuffles of a warp.
_EXTREMES = {
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int32"),
    "uint32": "int64",
    "int64": "int64",
    "float32": "float32",
    "float64": "float64",
}


def plain_state(device: Device, part: Part, matrix: Matrix) -> Any:
    """Return the states of a part that the kernel of the rung `tuned` answers, None for others.

    These are one sum or product of integers, or one extremum, of one row that lies together: then
    the order of elements changes no bit, and one launch does it.
    """
    values, mask, count, length = matrix
    if not isinstance(part, FoldPart) or mask is not None or count != 1 or values.step != 1:
        return None
    spec = part.spec
    field, *others = spec.folds
    if others or spec.skip_nan or field not in _PLAIN:
        return None
    if field in {"total", "product"}:
        if spec.sums != "int64":
            return None
        neutral: Any = np.int64(field == "product")
    else:
        if spec.values not in _EXTREMES:
            return None
        neutral = _worst(np.dtype(_EXTREMES[spec.values]), is_low=field == "low")
    data = values.data
    if values.offset or data.size != length:
        data = data[values.offset : values.offset + length]
    state = part.new(1)
    state["count"] = length
    state[field] = reduce_with(device, data, _PLAIN[field], neutral)
    return state


def _worst(dtype: np.dtype[Any], *, is_low: bool) -> Any:
    if dtype.kind == "f":
        return dtype.type(np.inf if is_low else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if is_low else limits.min)
