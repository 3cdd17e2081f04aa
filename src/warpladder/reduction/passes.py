"""One pass over what there is: a plan run over the rows of a matrix, or over chunks in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.call import Progress
from warpladder.errors import InputTypeError
from warpladder.reduction.cpu import Cascade, accumulate
from warpladder.reduction.intake import as_array
from warpladder.reduction.layout import ArrayRows, Rows, Span
from warpladder.reduction.plan import Plan

__all__ = ["Accumulate", "reduce_chunks", "reduce_rows", "rows_of"]

Accumulate = Callable[..., None]
"""`cpu.accumulate`, or what does so on a GPU."""


def reduce_rows(
    run: Accumulate, plan: Plan, rows: Rows, ddof: float, progress: Progress | None
) -> list[NDArray[Any]]:
    """Return the results, one number for each row."""
    results = [np.empty(rows.count, dtype) for dtype in plan.dtypes]

    def take(span: Span, states: list[Any]) -> None:
        found = plan.finish(states, span.end - span.begin, rows.length, ddof)
        for result, part in zip(results, found, strict=True):
            result[span.begin : span.end] = part

    run(plan, rows, take, progress=progress)
    return results


def reduce_chunks(
    run: Accumulate,
    chunks: Iterable[Any],
    plan_for: Callable[[np.dtype[Any]], Plan],
    asked: np.dtype[Any] | None,
    ddof: float,
    progress: Progress | None,
) -> list[NDArray[Any]]:
    """Return the results, one number each, for chunks of one dtype in their order."""
    dtype = getattr(chunks, "dtype", None)
    dtype = dtype if isinstance(dtype, np.dtype) else None
    if dtype is not None:
        # What cannot be had is refused before anything is read.
        plan_for(dtype)
    cascade: Cascade | None = None
    length = 0
    for number, chunk in enumerate(chunks):
        array = as_array(chunk, f"values: chunk {number}")
        if isinstance(array, np.ma.MaskedArray):
            raise InputTypeError(
                f"values: chunk {number} is a masked array; give its .compressed() instead"
            )
        own = array.dtype.newbyteorder("=")
        if not array.size:
            # Of whatever dtype: an empty list is an array of float64.
            dtype = dtype or own
            continue
        if cascade is None:
            dtype, plan = own, plan_for(own)
            cascade = Cascade(plan)
        elif own != dtype:
            raise InputTypeError(
                f"values: chunk {number} is of {own}, those before of {dtype}; "
                "make them one dtype with .astype()"
            )
        rows = rows_of(array, range(array.ndim), None, plan, on_gpu=run is not accumulate)
        # A chunk is one row: it is taken once, complete.
        found: list[list[Any]] = []
        run(plan, rows, partial(_keep, found), first=length)
        cascade.push(found[0])
        length += array.size
        if progress is not None and hasattr(chunks, "done"):
            progress(chunks.done)
    if cascade is None:
        plan = plan_for(asked or dtype or np.dtype(np.float64))
        return plan.finish(plan.new(1), 1, 0, ddof)
    states = cascade.drain()
    assert states is not None  # noqa: S101 - one was pushed above
    return plan.finish(states, 1, length, ddof)


def _keep(found: list[list[Any]], _: Span, states: list[Any]) -> None:
    found.append(states)


def rows_of(
    array: NDArray[Any],
    axes: Sequence[int],
    mask: NDArray[np.bool_] | None,
    plan: Plan,
    *,
    on_gpu: bool,
) -> ArrayRows:
    """Return an array as the matrix that a plan wants."""
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
