"""A `Part` on a device: which kernels accumulate it, and what is left to the host.

Kernels leave a state for each row; the host makes of it the state that the CPU engine would hand
on, by the part's own merge.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.workspace import Workspace
from warpladder.reduction.gpu.compensated import COMPENSATED_PIECE, compensated_on_device
from warpladder.reduction.gpu.custom import custom_states
from warpladder.reduction.gpu.exact import exact_kernel
from warpladder.reduction.gpu.folds import folds_on_device
from warpladder.reduction.gpu.layout import THREADS, Field, Matrix
from warpladder.reduction.gpu.walk import LARGEST_PIECE, OnDevice, across, along, join, pieces_of
from warpladder.reduction.parts import CompensatedPart, CustomPart, ExactPart, FoldPart, Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["Collect", "start"]

_MOST_BLOCKS = 1 << 20
_STATES = 1024
# For four blocks on a multiprocessor. Only merging, at the end of a piece, spills some; on an H200
# five statistics of 2^28 float32 take 273 us, and 296 with the registers the compiler would take.
_REGISTERS = 64

#: Brings the states of a matrix's rows that kernels on a stream leave on the device.
Collect = Callable[[], Any]


def start(
    device: Device,
    part: Part,
    matrix: Matrix,
    workspace: Workspace,
    first: int = 0,
    stream: Any = None,
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
    workspace
        In which no other states of this part are waiting to be collected.
    first
        What the first column counts as, where indices are kept.
    stream
        After which states can be collected.

    Returns
    -------
    callable
        Gives the states of the rows, of the host.
    """
    return _WAYS[type(part)](device, part, matrix, workspace, first, stream)


def _walked(
    device: Device, part: Part, matrix: Matrix, workspace: Workspace, first: int, stream: Any
) -> Collect:
    """Launch the kernels for such rows."""
    values, mask, count, length = matrix
    dtype, reduce_along, reduce_across, join_pieces, largest = _kernels(part)
    own, each, size = pieces_of(count, length, values.pitch, values.step, largest)
    marks = mask or Field(values.data, 0, 0, 0)
    # Of one size for most arrays of one row, so that they are kept.
    enough = count + max(count * each, _STATES if count == 1 else 0)
    states, joined = workspace.divided(device, part, count, enough, dtype)
    given = (
        values.data, values.place, marks.data, marks.place, (count, length, each, size), first,
        states,
    )  # fmt: skip
    if own:
        blocks = min(-(-count * each // THREADS), _MOST_BLOCKS)
        device.launch(reduce_across, blocks, THREADS, *given, stream=stream)
        if each > 1:
            blocks = min(count, _MOST_BLOCKS)
            device.launch(join_pieces, blocks, THREADS, states, count, each, stream=stream)
    else:
        tickets = workspace.zeros(device, "tickets", count, np.int32)
        blocks = min(count * each, _MOST_BLOCKS)
        device.launch(reduce_along, blocks, THREADS, *given, tickets, stream=stream)

    def collect() -> Any:
        found = _fetched(device, joined, stream)
        states = part.new(len(found))
        for name in states.dtype.names:
            states[name] = found[name]
        if "whole_low" not in states.dtype.names:
            return states
        # Merging settles what is to be carried.
        settled = part.new(len(found))
        part.merge(settled, states)
        return settled

    return collect


def _custom(
    device: Device, part: CustomPart, matrix: Matrix, _: Workspace, __: int, stream: Any
) -> Collect:
    there, pieces = custom_states(device, part, matrix, stream)

    def collect() -> Any:
        """Merge the states of neighbouring pieces of each row, in their order."""
        by_row = _fetched(device, there, stream).reshape(-1, pieces)
        whole = part.new(len(by_row))
        for piece in range(pieces):
            part.merge(whole, np.ascontiguousarray(by_row[:, piece]))
        return whole

    return collect


def _fetched(device: Device, there: Any, stream: Any) -> NDArray[Any]:
    """Return what a stream leaves in an array, without waiting for other streams."""
    host = device.to_host(there, stream=stream)
    if stream is not None:
        stream.synchronize()
    return host


def _exact(
    device: Device, part: ExactPart, matrix: Matrix, workspace: Workspace, _: int, stream: Any
) -> Collect:
    values, mask, count, length = matrix
    marks = mask or Field(values.data, 0, 0, 0)
    _, each, size = pieces_of(count, length, 0, 1)
    tickets = workspace.zeros(device, "tickets", count, np.int32)
    there = {}
    for term, limbs in part.new(count).items():
        sums = workspace.zeros(device, ("sums", limbs.shape[1]), limbs.shape, np.int64)
        there[term] = workspace.empty(device, (part, term), limbs.shape, np.int64)
        kernel = exact_kernel(part.spec_of(term), limbs.shape[1])
        device.launch(
            kernel, min(count * each, _MOST_BLOCKS), THREADS,
            values.data, values.place, marks.data, marks.place, (count, length, each, size),
            sums, tickets, there[term], stream=stream,
        )  # fmt: skip

    def collect() -> Any:
        states = part.new(count)
        part.merge(states, {term: _fetched(device, limbs, stream) for term, limbs in there.items()})
        return states

    return collect


@cache
def _kernels(part: Part) -> tuple[np.dtype[Any], Any, Any, Any, int]:
    """Return the dtype of states, `walk.along`, `across` and `join`, and the largest piece."""
    make, registers, largest = _WALKED[type(part)]
    there = make(part.spec)
    return there.dtype, along(there, registers), across(there), join(there), largest


#: What makes the device functions, the registers of a thread, and the largest piece of a row.
_WALKED: dict[type[Part], tuple[Callable[..., OnDevice], int | None, int]] = {
    FoldPart: (folds_on_device, _REGISTERS, LARGEST_PIECE),
    CompensatedPart: (compensated_on_device, None, COMPENSATED_PIECE),
}
_WAYS: dict[type[Part], Callable[..., Collect]] = {
    **dict.fromkeys(_WALKED, _walked),
    ExactPart: _exact,
    CustomPart: _custom,
}
