"""How the host code of the ladder lays rows out in the device's memory, and starts its kernels.

IM keeps every row in an allocation of its own, behind an array of pointers (`rows_apart`): first
the id of the row, then the ids that it has, then zeros. Ids count from 1, so that 0 stands for
none. The other layout is one matrix, without the ids of the rows (`flat_rows`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.grids import WARP, round_up
from warpladder.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device, Grid
    from warpladder.overlap_join.forms import Rows

__all__ = [
    "MAX_THREADS",
    "ApartRows",
    "FlatRows",
    "count_pairs",
    "flat_rows",
    "rows_apart",
    "threads_for",
]

#: The most threads that a block has.
MAX_THREADS = 1024
#: Ids that the kernels of the ladder take in one step, at most.
_STEP = 4
#: Allocations begin at multiples of so many numbers: 256 bytes.
_ALLOCATION = 64


class ApartRows(NamedTuple):
    """Rows that lie apart, on the device.

    Attributes
    ----------
    heap
        The memory in which they lie.
    at
        Where in it each row begins: with its id, behind which stand the ids that it has.
    room
        How many of them a row has room for; zeros fill it up.
    """

    heap: Any
    at: Any
    room: int


class FlatRows(NamedTuple):
    """Rows of one matrix, on the device.

    Attributes
    ----------
    ids
        All rows, one behind the other; zeros fill them up.
    width
        Of a row: whole warps.
    room
        How many of its ids are not filler in every row.
    """

    ids: Any
    width: int
    room: int


def rows_apart(device: Device, rows: Rows) -> ApartRows:
    """Put rows on the device as IM does, each by itself."""
    n, room = len(rows), _room(rows)
    pitch = round_up(1 + room, _ALLOCATION)
    heap = np.zeros((n, pitch), np.int32)
    heap[:, 0] = np.arange(1, n + 1)
    _fill(heap[:, 1:], rows)
    at = pitch * np.arange(n)
    return ApartRows(device.to_device(heap.reshape(-1)), device.to_device(at), room)


def flat_rows(device: Device, rows: Rows) -> FlatRows:
    """Put rows on the device as one matrix, in which each begins at a line of 128 bytes."""
    room = _room(rows)
    width = round_up(room, WARP)
    ids = np.zeros((len(rows), width), np.int32)
    _fill(ids, rows)
    return FlatRows(device.to_device(ids.reshape(-1)), width, room)


def _room(rows: Rows) -> int:
    longest = int(np.diff(rows.starts).max(initial=0))
    return round_up(max(longest, 1), _STEP)


def _fill(matrix: NDArray[np.int32], rows: Rows) -> None:
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    matrix[owner, np.arange(owner.size) - rows.starts[owner]] = rows.items + 1


def threads_for(room: int) -> int:
    """Return the threads of a block that has one for each id of a row: whole warps.

    Raises
    ------
    InputError
        A block cannot have so many.

    Examples
    --------
    >>> threads_for(1000)
    1024
    """
    if room > MAX_THREADS:
        raise InputError(
            f"a row has room for {room} ids: a block has a thread for each, at most {MAX_THREADS}"
        )
    return round_up(room, WARP)


def count_pairs(
    device: Device, kernel: Any, n: int, grid: Grid, block: Grid, *layout: Any
) -> NDArray[np.int32]:
    """Return the matrix of shared ids that one launch of a kernel leaves in one of zeros.

    ``kernel(*layout, shared)`` is not launched where there are no rows: CUDA refuses a grid of
    no blocks.
    """
    shared = device.full((n, n), 0, np.int32)
    if n:
        device.launch(kernel, grid, block, *layout, shared)
    return device.to_host(shared)
