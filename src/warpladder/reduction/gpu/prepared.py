"""Reductions that are bound to a layout: to call one again is little more than a launch.

Arrays of one dtype, shape and strides on one GPU need the same kernel with the same numbers. What
has been found out for the first of them is kept, so that calling for the next costs reading its
address, making room for the results and the driver's time. The results are made by the kernel, on
the stream of whoever calls; nothing waits for them but where they may be refused once they are
seen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.foreign import like
from warpladder.device.libraries import library_of
from warpladder.device.workspace import Workspace
from warpladder.reduction.gpu.custom import explaining
from warpladder.reduction.gpu.finish import leave_results, option_of, refuses_when_seen
from warpladder.reduction.gpu.layout import THREADS, Matrix
from warpladder.reduction.gpu.parts import walk_over

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.device.libraries import Library
    from warpladder.reduction.plan import Plan

__all__ = ["Answer", "Bound", "Call", "memory_of", "results_like"]

Call = Callable[..., Any]
"""Reduces an array, on a stream; with a mask and arrays for results, or None, if bound to options.

Gives None where results are to be refused.
"""
Answer = Callable[[list[Any]], Any]
"""Makes what a caller is given of the results, one for each operation."""

# Arrays among the arguments of a kernel: values, mask, states of pieces, tickets; then results.
_VALUES, _MASK, _RESULTS = 0, 1, 4


class Bound:
    """The reduction of arrays laid out alike.

    Calls on several streams at a time need one of these for each: they share what pieces of rows
    leave.

    Parameters
    ----------
    device
        Where the arrays are.
    plan
        What to find; `finish.finished_there` holds for it.
    matrix
        Such an array as a matrix: not empty.
    ddof
        As for `warpladder.reduce`.
    workspace
        For what is needed beside the results, by default one of its own.
    """

    def __init__(
        self,
        device: Device,
        plan: Plan,
        matrix: Matrix,
        ddof: float,
        workspace: Workspace | None = None,
    ) -> None:
        self.device = device
        self.dtypes = plan.dtypes
        workspace = workspace or Workspace()
        walk = walk_over(device, plan.parts[0], matrix, workspace, leave_results(plan))
        self._lock = threading.Lock()
        # For one row memory that the kernel and the host both reach.
        self._cells = [
            workspace.mapped(device, ("cell", number), dtype)
            for number, dtype in enumerate(plan.dtypes)
            if matrix.rows == 1
        ]
        self._places = [memory_of(there) for _, there in self._cells]
        samples = tuple(there for _, there in self._cells) or tuple(
            device.empty(matrix.rows, dtype) for dtype in plan.dtypes
        )
        self._note = None
        if refuses_when_seen(plan):
            self._note, there = workspace.mapped(device, "note", np.dtype(np.int64))
            self._noted = memory_of(there)
            samples = *samples, there
        part = plan.parts[0]
        launch = explaining(part, device.bind)(
            walk.kernel, walk.blocks, THREADS, *walk.given, samples, option_of(plan, ddof),
            moving=(_VALUES, _MASK, *range(_RESULTS, _RESULTS + len(samples))),
        )  # fmt: skip
        self._launch = explaining(part, launch)
        # Of a mask, those marks; without one, which the kernel then does not read, the values.
        self._marks = memory_of(matrix.mask.data) if matrix.mask else None
        self._bytes_below = matrix.below * matrix.values.data.dtype.itemsize
        self._mask_below = matrix.mask_below
        self._extents = [
            field.data.size * field.data.dtype.itemsize
            for field in (matrix.values, matrix.mask)
            if field is not None
        ]

    def memory(self, library: Library, values: Any) -> Any:
        """Return the memory of an array laid out as that one, as a launch takes it."""
        first = library.memory(values)
        return first - self._bytes_below if self._bytes_below else first

    def into(
        self,
        memory: Any,
        results: Sequence[Any],
        stream: Any = 0,
        waits: bool = False,
        marks: Any = None,
    ) -> bool:
        """Put on a stream what leaves the results in memory; wait for it where asked to.

        Return whether they stand; where they may not, this waits. ``marks`` are those of another
        mask than the one that this was bound with.
        """
        marks = self._marks_for(memory, marks)
        if self._note is None:
            self._launch((memory, marks, *results), stream, waits)
            return True
        with self._lock:
            return self._launched((memory, marks, *results, self._noted), stream)

    def _launched(self, arrays: tuple[Any, ...], stream: Any) -> bool:
        """Launch and wait; return whether the results stand."""
        note = self._note
        if note is not None:
            note[0] = 0
        self._launch(arrays, stream, True)
        return note is None or not note[0]

    def _marks_for(self, memory: Any, marks: Any) -> Any:
        if marks is not None:
            return marks
        return memory if self._marks is None else self._marks

    def numbers(self, memory: Any, stream: Any = 0, marks: Any = None) -> list[Any] | None:
        """Return the results of the only row, as numbers of the host; waits for the stream.

        None where one is to be refused; ``marks`` as for `into`.
        """
        marks = self._marks_for(memory, marks)
        noted = () if self._note is None else (self._noted,)
        with self._lock:
            stand = self._launched((memory, marks, *self._places, *noted), stream)
            return [cell[0] for cell, _ in self._cells] if stand else None

    def for_numbers(self, library: Library, answer: Answer) -> Call:
        """Return a function of such an array and a stream, which calls `numbers`."""

        def call(values: Any, stream: Any, _: Any = None, __: Any = None) -> Any:
            found = self.numbers(self.memory(library, values), stream)
            return None if found is None else answer(found)

        return call

    def for_options(self, library: Library, shape: tuple[int, ...], answer: Answer) -> Call:
        """Return a function of such an array, a stream, a mask and arrays for results, or None.

        It gives None, too, where results would go into memory that is read, or into each other's.
        """
        makers = [library.maker(shape, dtype) for dtype in self.dtypes]

        def call(values: Any, stream: Any, where: Any, out: Any) -> Any:
            first, marks = self.memory(library, values), None
            if where is not None:
                marks = library.memory(where)
                marks = marks - self._mask_below if self._mask_below else marks
            if out is None and not shape:
                found = self.numbers(first, stream, marks)
                return None if found is None else answer(found)
            if out is None:
                results = [make(values) for make in makers]
            else:
                results = list(out) if isinstance(out, tuple) else [out]
            places = [library.memory(result) for result in results]
            if out is not None and self._share_memory([first, marks], places, prod(shape)):
                return None
            return answer(results) if self.into(first, places, stream, False, marks) else None

        return call

    def _share_memory(self, read: Sequence[Any], places: Sequence[Any], count: int) -> bool:
        """Tell whether memory for so many results each is also read, or that of other results."""
        used = list(zip(read, self._extents, strict=False))
        for place, dtype in zip(places, self.dtypes, strict=True):
            extent = count * dtype.itemsize
            for begin, other in used:
                if not isinstance(begin, int):
                    # Of the simulated device there are no addresses.
                    if place.buffer is begin.buffer:
                        return True
                elif place < begin + other and begin < place + extent:
                    return True
            used.append((place, extent))
        return False

    def for_arrays(self, library: Library, shape: tuple[int, ...], answer: Answer) -> Call:
        """Return a function of such an array and a stream, for new arrays of its library.

        All that the function needs is at hand in it: between two calls the processor's caches serve
        something else, and what then has to be looked up in objects and classes takes as long as
        the launch.
        """
        memory, below, marks, launch = library.memory, self._bytes_below, self._marks, self._launch
        makers = [library.maker(shape, dtype) for dtype in self.dtypes]
        if self._note is not None:

            def call_and_wait(values: Any, stream: Any, _: Any = None, __: Any = None) -> Any:
                results = [make(values) for make in makers]
                stand = self.into(self.memory(library, values), [*map(memory, results)], stream)
                return answer(results) if stand else None

            return call_and_wait

        def call(values: Any, stream: Any, _: Any = None, __: Any = None) -> Any:
            results = [make(values) for make in makers]
            first = memory(values) - below if below else memory(values)
            places = map(memory, results)
            launch((first, first if marks is None else marks, *places), stream)
            return answer(results)

        return call


def results_like(
    device: Device, values: Any, shape: tuple[int, ...], dtypes: Sequence[np.dtype[Any]]
) -> tuple[list[Any], list[Any]]:
    """Return new arrays of the library of ``values``, and their memory as a launch takes it."""
    library = library_of(values)
    if library is not None:
        arrays = [library.maker(shape, dtype)(values) for dtype in dtypes]
        return arrays, [library.memory(array) for array in arrays]
    there = [device.empty(prod(shape), dtype) for dtype in dtypes]
    shaped = [like(array.reshape(shape), values) for array in there]
    return shaped, [memory_of(array) for array in there]


def memory_of(array: Any) -> Any:
    """Return what a bound launch is given for an array of the device: flat, or its address."""
    return array.address if hasattr(array, "address") else array.reshape(-1)
