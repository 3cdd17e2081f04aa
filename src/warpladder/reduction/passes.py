"""One pass over what there is: a plan run over the rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.call import Progress, target_for
from warpladder.device.host_memory import require_memory
from warpladder.reduction.cpu.engine import accumulate
from warpladder.reduction.memory.halves import HALF, slabs_of, widened
from warpladder.reduction.memory.layout import TILE_BYTES, ArrayRows, Rows, Span
from warpladder.reduction.memory.turn import back_of, by_memory
from warpladder.reduction.plan import Plan

__all__ = [
    "Accumulate",
    "engine_for",
    "is_copied_first",
    "laid_out",
    "reduce_array",
    "reduce_rows",
    "rows_of",
]

Accumulate = Callable[..., None]
"""`cpu.engine.accumulate`, or what does so on a GPU."""


def engine_for(asked: Any) -> Accumulate:
    """Return what accumulates matrices of the host, on the device that is asked for."""
    # A GPU reads its own memory at ten times a CPU's rate, and the host's at a third of it.
    why = "an array of the host takes longer to cross the bus than to be reduced"
    device = target_for(asked, too_small=why).device
    if device is None:
        return accumulate
    from warpladder.reduction.gpu import stream

    return partial(stream.accumulate, device)


def reduce_rows(
    run: Accumulate, plan: Plan, rows: Rows, ddof: float, progress: Progress | None
) -> list[NDArray[Any]]:
    """Return the results, one number for each row.

    Raises
    ------
    TooLargeError
        Memory does not hold them.
    """
    results = _new_results(rows.count, plan)

    def take(span: Span, states: list[Any]) -> None:
        found = plan.finish(states, span.end - span.begin, rows.length, ddof)
        for result, part in zip(results, found, strict=True):
            result[span.begin : span.end] = part

    run(plan, rows, take, progress=progress)
    return results


def _new_results(rows: int, plan: Plan) -> list[NDArray[Any]]:
    require_memory(rows * sum(dtype.itemsize for dtype in plan.dtypes), "values: the results")
    return [np.empty(rows, dtype) for dtype in plan.dtypes]


def reduce_array(
    run: Accumulate,
    plan: Plan,
    array: NDArray[Any],
    axes: Sequence[int],
    mask: NDArray[np.bool_] | None,
    ddof: float,
    progress: Progress | None,
) -> list[NDArray[Any]]:
    """Return the results for an array, in C order of the axes that stay.

    Rows are gone through in the order of memory, whatever the order of these axes, and results put
    in theirs afterwards: of 128 x 128 x 128 float64 in Fortran order, over any axis, copying what
    lies against the order of memory took five to eight times as long as NumPy. Float16s for which
    the plan wants float32s are widened, a slab after the other.
    """
    if array.dtype == HALF and plan.parts[0].elements != HALF:
        return _reduce_halves(run, plan, array, axes, ddof, progress)
    turn = by_memory(array, axes)
    marks = None if mask is None else turn(mask)
    rows = rows_of(turn(array), axes, marks, plan, on_gpu=run is not accumulate)
    results = reduce_rows(run, plan, rows, ddof, progress)
    if not turn:
        return results
    back = back_of(turn, axes)
    shape = [array.shape[axis] for axis in turn.order if axis not in axes]
    return [back(result.reshape(shape)).reshape(-1) for result in results]


def _reduce_halves(
    run: Accumulate,
    plan: Plan,
    array: NDArray[np.float16],
    axes: Sequence[int],
    ddof: float,
    progress: Progress | None,
) -> list[NDArray[Any]]:
    """Return the results for float16s by a plan for float32s."""
    staying = array.ndim - len(axes)
    count = prod(array.shape[axis] for axis in range(array.ndim) if axis not in axes)
    results = _new_results(count, plan)
    for span, part in slabs_of(array, axes):
        going = range(staying, array.ndim)
        found = reduce_array(run, plan, widened(part), going, None, ddof, None)
        for result, some in zip(results, found, strict=True):
            result[span.begin : span.end] = some
        if progress is not None:
            progress(span.end / count)
    return results


def rows_of(
    array: NDArray[Any],
    axes: Sequence[int],
    mask: NDArray[np.bool_] | None,
    plan: Plan,
    *,
    on_gpu: bool,
) -> ArrayRows:
    """Return an array as the matrix that a plan wants.

    Rows that lie side by side in small panels, as those of part of a cube, or alone, are all copied
    together and make one tile: sums of 100 x 100 x 90 float32 out of 200 x 200 x 100 take 0.9 ms
    over the first axis by two cores of a Xeon, in tiles of their own 4.6.
    """
    rows = laid_out(array, axes, mask, plan, on_gpu=on_gpu)
    if on_gpu or not is_copied_first(rows, array):
        return rows
    return laid_out(np.array(array, order="K"), axes, mask, plan, on_gpu=on_gpu)


def is_copied_first(rows: ArrayRows, array: NDArray[Any]) -> bool:
    """Tell whether an array is to be copied as it lies, so that its rows make one tile."""
    return array.nbytes <= TILE_BYTES and rows.is_scattered()


def laid_out(
    array: NDArray[Any],
    axes: Sequence[int],
    mask: NDArray[np.bool_] | None,
    plan: Plan,
    *,
    on_gpu: bool,
) -> ArrayRows:
    """Return an array as a matrix of which no element is read."""
    return ArrayRows(
        array,
        axes,
        mask,
        array.dtype.newbyteorder("="),
        ordered=plan.ordered,
        # Where tiles go over a bus, they are as large as they may be, and lie as they do here.
        passes=1 if on_gpu else len(plan.parts),
        across=on_gpu or plan.takes_columns,
    )
