"""Arrays that come one after another, reduced as one: as if flat, or as if joined by `axis` 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.call import Progress
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.answers import shape_left
from warpladder.reduction.cpu.cascade import Cascade
from warpladder.reduction.cpu.engine import accumulate
from warpladder.reduction.intake import as_array, as_axes, check_axes_of_indices
from warpladder.reduction.memory.layout import Rows, Span
from warpladder.reduction.passes import Accumulate, reduce_rows, rows_of
from warpladder.reduction.plan import Plan

__all__ = ["Chunks"]


class Chunks:
    """Chunks of one dtype, and how to reduce them.

    Parameters
    ----------
    chunks
        Whatever yields arrays.
    run
        What accumulates.
    plan_for
        Gives the plan for elements of a dtype.
    asked
        The dtype that was asked for, if any.
    ddof
        As for `warpladder.reduce`.
    progress
        Called with the fraction done, where the chunks know it.
    """

    def __init__(
        self,
        chunks: Iterable[Any],
        run: Accumulate,
        plan_for: Callable[[np.dtype[Any]], Plan],
        asked: np.dtype[Any] | None,
        ddof: float,
        progress: Progress | None,
    ) -> None:
        self._chunks, self._run, self._plan_for = chunks, run, plan_for
        self._asked, self._ddof, self._progress = asked, ddof, progress
        dtype = getattr(chunks, "dtype", None)
        self._dtype = dtype if isinstance(dtype, np.dtype) else None
        if self._dtype is not None:
            # What cannot be had is refused before anything is read.
            plan_for(self._dtype)

    def flat(self) -> tuple[Plan, list[NDArray[Any]]]:
        """Return the plan and its results, one number each, of all elements in their order."""
        cascade: Cascade | None = None
        length = 0
        for array in self._arrays(lambda array: array.size > 0):
            if cascade is None:
                plan = self._plan_for(array.dtype.newbyteorder("="))
                cascade = Cascade(plan)
            cascade.push(self._states(plan, self._rows(array, range(array.ndim), plan), length))
            length += array.size
        if cascade is None:
            plan = self._plan_for(self._dtype_of_nothing)
            return plan, plan.finish(plan.new(1), 1, 0, self._ddof)
        states = cascade.drain()
        assert states is not None  # noqa: S101 - one was pushed above
        return plan, plan.finish(states, 1, length, self._ddof)

    def joined(
        self, axis: Any, *, keepdims: bool
    ) -> tuple[Plan, list[NDArray[Any]], tuple[int, ...]]:
        """Return the plan, its results in a row, and their shape, of chunks joined along axis 0."""
        counted = self._alike(self._arrays(lambda array: array.shape[:1] != (0,)))
        first = next(counted, None)
        if first is None:
            # Nothing but the empty array that would have been left out tells the shape.
            rest = () if self._rest is None else self._rest
            first = np.empty((0, *rest), self._dtype_of_nothing)
        axes = as_axes(axis, first.ndim)
        plan = self._plan_for(first.dtype.newbyteorder("="))
        check_axes_of_indices(plan.requests, axes, first.ndim)
        if 0 in axes:
            results = self._through(plan, first, counted, axes)
            return plan, results, shape_left(first.shape, axes, keepdims=keepdims)
        height, results = self._one_by_one(plan, first, counted, axes)
        return plan, results, shape_left((height, *first.shape[1:]), axes, keepdims=keepdims)

    def _through(
        self, plan: Plan, first: NDArray[Any], others: Iterator[NDArray[Any]], axes: tuple[int, ...]
    ) -> list[NDArray[Any]]:
        """Reduce rows that go through all chunks: each chunk adds to the states of all rows."""
        cascade = Cascade(plan)
        length = 0
        each = prod(first.shape[axis] for axis in axes if axis)
        count = prod(n for axis, n in enumerate(first.shape) if axis not in axes)
        array: NDArray[Any] | None = first
        while array is not None:
            cascade.push(self._states(plan, self._rows(array, axes, plan), length))
            length += len(array) * each
            array = next(others, None)
        states = cascade.drain()
        assert states is not None  # noqa: S101 - that of the first
        return plan.finish(states, count, length, self._ddof)

    def _one_by_one(
        self, plan: Plan, first: NDArray[Any], others: Iterator[NDArray[Any]], axes: tuple[int, ...]
    ) -> tuple[int, list[NDArray[Any]]]:
        """Reduce rows that each lie in one chunk; return the length of the first axis, too."""
        found: list[list[NDArray[Any]]] = []
        height = 0
        array: NDArray[Any] | None = first
        while array is not None:
            found.append(
                reduce_rows(self._run, plan, self._rows(array, axes, plan), self._ddof, None)
            )
            height += len(array)
            array = next(others, None)
        return height, [np.concatenate(parts) for parts in zip(*found, strict=True)]

    @property
    def _dtype_of_nothing(self) -> np.dtype[Any]:
        return self._asked or self._dtype or np.dtype(np.float64)

    def _arrays(self, counts: Callable[[NDArray[Any]], bool]) -> Iterator[NDArray[Any]]:
        """Yield the chunks that count; of the others only the first dtype and shape are kept."""
        self._rest: tuple[int, ...] | None = None
        dtype: np.dtype[Any] | None = None
        for number, chunk in enumerate(self._chunks):
            array = as_array(chunk, f"values: chunk {number}")
            if isinstance(array, np.ma.MaskedArray) or np.ma.getmask(array) is not np.ma.nomask:
                raise InputTypeError(
                    f"values: chunk {number} is a masked array; give its .compressed() instead"
                )
            own = array.dtype.newbyteorder("=")
            if not counts(array):
                # Of whatever dtype: an empty list is an array of float64.
                self._dtype = self._dtype or own
                self._rest = array.shape[1:] if self._rest is None else self._rest
                continue
            dtype = dtype or own
            if own != dtype:
                raise InputTypeError(
                    f"values: chunk {number} is of {own}, those before of {dtype}; "
                    "make them one dtype with .astype()"
                )
            yield array
            if self._progress is not None and hasattr(self._chunks, "done"):
                self._progress(self._chunks.done)

    @staticmethod
    def _alike(arrays: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Yield arrays that can be joined along their first axis."""
        shape: tuple[int, ...] | None = None
        for array in arrays:
            if not array.ndim:
                raise InputError("axis: chunks that are single numbers cannot be joined along it")
            shape = array.shape if shape is None else shape
            if array.shape[1:] != shape[1:]:
                raise InputError(
                    f"axis: chunks are joined along their first; one of shape {array.shape} does "
                    f"not go with the first, of shape {shape}"
                )
            yield array

    def _rows(self, array: NDArray[Any], axes: Any, plan: Plan) -> Rows:
        return rows_of(array, axes, None, plan, on_gpu=self._run is not accumulate)

    def _states(self, plan: Plan, rows: Any, first: int) -> list[Any]:
        """Return the states of all rows of a chunk whose columns count from ``first``."""
        runs: list[tuple[Span, list[Any]]] = []
        self._run(plan, rows, partial(_keep, plan, runs), first=first)
        if len(runs) == 1:
            return runs[0][1]
        whole = plan.new(rows.count)
        for span, states in runs:
            for kept, found in zip(whole, states, strict=True):
                pairs = ((kept[key], found[key]) for key in kept) if isinstance(kept, dict) else (
                    (kept, found),
                )  # fmt: skip
                for target, source in pairs:
                    target[span.begin : span.end] = source
        return whole


def _keep(plan: Plan, runs: list[tuple[Span, list[Any]]], span: Span, states: list[Any]) -> None:
    runs.append((span, plan.mergeable(states)))
