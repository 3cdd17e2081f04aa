"""One pass over what there is: a plan run over the rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.call import Progress
from warpladder.reduction.layout import ArrayRows, Rows, Span
from warpladder.reduction.plan import Plan

__all__ = ["Accumulate", "reduce_rows", "rows_of"]

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
