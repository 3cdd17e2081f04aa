"""A `Part` on a device: which kernels accumulate it, and what is left to the host.

Kernels leave a state for each row; the host makes of it the state that the CPU engine would hand
on, by the part's own merge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.grids import WARP
from warpladder.device.workspace import Workspace
from warpladder.reduction.gpu.compensated import COMPENSATED_PIECE, compensated_on_device
from warpladder.reduction.gpu.custom import explaining, in_order
from warpladder.reduction.gpu.exact import exact_kernel
from warpladder.reduction.gpu.finish import leave_limbs, leave_states
from warpladder.reduction.gpu.folds import folds_on_device
from warpladder.reduction.gpu.layout import THREADS, Matrix
from warpladder.reduction.gpu.pieces import LARGEST_PIECE, Pieces, pieces_of
from warpladder.reduction.gpu.routes import across_rows, along_rows
from warpladder.reduction.gpu.side_by_side import across
from warpladder.reduction.gpu.walk import OnDevice, along, batch_size
from warpladder.reduction.part import Part
from warpladder.reduction.parts import CompensatedPart, CustomPart, ExactPart, FoldPart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["Collect", "Walk", "start", "walk_over"]

# Where rows have a thread each, a sum of 8 x 2,000,000 float16 takes an H100 14.1 us in as many
# blocks as there are strips, and 12.8 in about so many, which take several; one of float32 25.1.
_MOST_BLOCKS = 4096
# For four blocks on a multiprocessor; on an H200 five statistics of 2^28 float32 took 273 us, and
# 296 with the registers the compiler would take. Products spill some on 9.0, and float16 with a
# mask.
_REGISTERS = 64
# A thread that goes across rows has less to do for each element: it should spill nothing. States of
# more than this would with as few registers.
_SMALL_STATE = 24

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


class Walk(NamedTuple):
    """A kernel that goes over a matrix, its grid, and all arguments but what is left where.

    Those are the results, a tuple of arrays, and an option: see `walk.along`.
    """

    kernel: Any
    blocks: int
    given: tuple[Any, ...]


def walk_over(
    device: Device, part: Part, matrix: Matrix, workspace: Workspace, leave: Any, first: int = 0
) -> Walk:
    """Return the launch that accumulates a part of a matrix, and leaves of each row what it says.

    Parameters
    ----------
    device, part, matrix, workspace, first
        As for `start`; a part that is walked over, or of one sum of exact numbers.
    leave
        As for `walk.along`.
    """
    if isinstance(part, ExactPart):
        (term,) = part.terms
        return _exact_walk(device, part, term, matrix, workspace, leave)
    if isinstance(part, CustomPart):
        values = matrix.values.data.dtype.name
        pieces, given = _divided(
            device, part, matrix, workspace, part.dtype, batch_size(values), LARGEST_PIECE
        )
        by = "across" if pieces.is_across else "warps" if pieces.threads >= WARP else "lanes"
        kernel = in_order(
            part, values, leave, matrix.levels,
            threads_at_row=by, split=pieces.each > 1,
        )  # fmt: skip
        return Walk(kernel, min(pieces.items(matrix.rows), _MOST_BLOCKS), given)
    levels = matrix.levels
    make, registers, largest = _WALKED[type(part)]
    there = make(part.spec)
    pieces, given = _divided(
        device, part, matrix, workspace, there.dtype, there.size, largest, first
    )
    is_across, each, _, threads = pieces
    if is_across:
        is_small = there.dtype.itemsize <= _SMALL_STATE
        alone, split = threads == THREADS and each == 1, each > 1
        route = across_rows(there, levels)
        few = registers if is_small else None
        kernel = across(there, leave, route, few, alone=alone, split=split)
    else:
        shared = threads < THREADS
        route = along_rows(there, levels, lean=shared)
        kernel = along(there, leave, route, registers, shared=shared, split=each > 1)
    return Walk(kernel, min(pieces.items(matrix.rows), _MOST_BLOCKS), given)


def _divided(
    device: Device,
    part: Part,
    matrix: Matrix,
    workspace: Workspace,
    states: np.dtype[Any],
    batch: int,
    largest: int,
    first: int = 0,
) -> tuple[Pieces, tuple[Any, ...]]:
    """Return how rows are divided, and what kernels are given that go over them so.

    Room for the ``states`` of pieces among it.
    """
    values, mask, count, length, inner, *_ = matrix
    is_across, each, size, threads = pieces = pieces_of(
        count, length, values.pitch, values.step, batch, largest
    )
    marks = mask or values
    groups = pieces.groups(count)
    left = groups * each * (threads if is_across else 1) if each > 1 else 1
    return pieces, (
        values.data, values.place, marks.data, marks.place,
        (count, inner, length, each, size, threads.bit_length() - 1), first,
        workspace.empty(device, part, left, states),
        workspace.zeros(device, "tickets", groups if each > 1 else 1, np.int32),
    )  # fmt: skip


def _walked(
    device: Device, part: Part, matrix: Matrix, workspace: Workspace, first: int, stream: Any
) -> Collect:
    """Launch the kernel for such rows."""
    kernel, blocks, given = walk_over(device, part, matrix, workspace, leave_states, first)
    states = workspace.empty(device, (part, "rows"), matrix.rows, given[-2].dtype)
    launch = explaining(part, device.launch)
    launch(kernel, blocks, THREADS, *given, (states,), 0.0, stream=stream)

    def collect() -> Any:
        found = _fetched(device, states, stream)
        if isinstance(part, CustomPart):
            return found
        of_rows = part.new(len(found))
        for name in found.dtype.fields or ():
            of_rows[name] = found[name]
        if "whole_low" not in of_rows.dtype.names:
            return of_rows
        # Merging settles what is to be carried.
        settled = part.new(len(found))
        part.merge(settled, of_rows)
        return settled

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
    there = {}
    for term, limbs in part.new(matrix.rows).items():
        kernel, blocks, given = _exact_walk(device, part, term, matrix, workspace, leave_limbs)
        there[term] = workspace.empty(device, (part, term), limbs.shape, np.int64)
        device.launch(kernel, blocks, THREADS, *given, (there[term],), 0.0, stream=stream)

    def collect() -> Any:
        states = part.new(matrix.rows)
        part.merge(states, {term: _fetched(device, limbs, stream) for term, limbs in there.items()})
        return states

    return collect


def _exact_walk(
    device: Device, part: ExactPart, term: str, matrix: Matrix, workspace: Workspace, leave: Any
) -> Walk:
    """Return what `walk_over` does for one of the sums of exact numbers."""
    values, mask, count, length, inner, _, levels, _ = matrix
    marks = mask or values
    # By a batch of one element no row is short enough to share a block.
    pieces = pieces_of(count, max(length, THREADS), 1, 1, batch=1)
    each, size = pieces.each, pieces.length
    limbs, split = part.limbs_of(term), each > 1
    # Half a kilobyte for each: rows of one piece do without.
    sums = workspace.zeros(device, ("sums", limbs), (count if split else 1, limbs), np.int64)
    given = (
        values.data, values.place, marks.data, marks.place, (count, inner, length, each, size), 0,
        sums, workspace.zeros(device, "tickets", count if split else 1, np.int32),
    )  # fmt: skip
    kernel = exact_kernel(part.spec_of(term), limbs, levels, leave, split=split)
    return Walk(kernel, min(count * each, _MOST_BLOCKS), given)


#: What makes the device functions, the registers of a thread, and the largest piece of a row.
_WALKED: dict[type[Part], tuple[Callable[..., OnDevice], int | None, int]] = {
    FoldPart: (folds_on_device, _REGISTERS, LARGEST_PIECE),
    CompensatedPart: (compensated_on_device, None, COMPENSATED_PIECE),
}
_WAYS: dict[type[Part], Callable[..., Collect]] = {
    **dict.fromkeys((*_WALKED, CustomPart), _walked),
    ExactPart: _exact,
}
