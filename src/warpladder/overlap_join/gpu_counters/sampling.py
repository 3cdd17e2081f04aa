"""How alike rows are, from some of them: how often their ids occur, and what two of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda, int32, int64

from warpladder.device.grids import WARP, blocks_for
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.gpu_counters.prefix import sum_warp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["COMMONEST", "Likeness", "likeness_of"]

#: Of so many of the commonest ids it is said how often they occur.
COMMONEST = 256
_MOST_ROWS, _THREADS = 4096, 256


class Likeness(NamedTuple):
    """What two rows, one of each side, are like on average.

    Attributes
    ----------
    size
        Ids of a left row.
    shared
        Ids that they have in common.
    of_commonest
        For each of the commonest ids, the commonest last, the share of pairs that have it in
        common.
    """

    size: float
    shared: float
    of_commonest: NDArray[np.float64]


@cached
@cuda.jit
def count_in_some(starts, items, rows, step, seen):
    """Count the ids of every ``step``-th row."""
    lane = cuda.threadIdx.x % WARP
    which = cuda.grid(1) // WARP
    while which < rows:
        row = which * step
        i = starts[row] + lane
        while i < starts[row + 1]:
            cuda.atomic.add(seen, items[i], 1)
            i += WARP
        which += cuda.gridsize(1) // WARP


@cached
@cuda.jit
def add_up_seen(starts, items, rows, step, seen, sums):
    """Add up how often the ids of every ``step``-th row were seen, and how many they are."""
    lane = cuda.threadIdx.x % WARP
    which = cuda.grid(1) // WARP
    while which < rows:
        row = which * step
        total = int32(0)
        i = starts[row] + lane
        while i < starts[row + 1]:
            total = int32(total + seen[items[i]])
            i += WARP
        total = sum_warp(total)
        if lane == 0:
            cuda.atomic.add(sums, 0, int64(total))
            cuda.atomic.add(sums, 1, starts[row + 1] - starts[row])
        which += cuda.gridsize(1) // WARP


def likeness_of(
    device: Device, left: tuple[Any, Any], right: tuple[Any, Any], universe: int, *, is_self: bool
) -> Likeness:
    """Return how alike rows are, from up to 4,096 of each side.

    Parameters
    ----------
    device
        Where they are.
    left, right
        Where rows begin, and their ids.
    universe
        How many ids there are.
    is_self
        Whether both are the same, so that no row is compared with itself.
    """
    seen = [device.full(max(universe, 1), 0, np.int32) for _ in range(1 if is_self else 2)]
    sums = device.full(2, 0, np.int64)
    counted = []
    for (starts, items), of_side in zip((right, left), seen, strict=False):
        rows = starts.shape[0] - 1
        some = min(rows, _MOST_ROWS)
        counted.append(some)
        if some:
            blocks = blocks_for(some * WARP, _THREADS)
            device.launch(
                count_in_some, blocks, _THREADS, starts, items, some, rows // some, of_side
            )
    if min(counted) == 0:
        return Likeness(0.0, 0.0, np.zeros(0))
    starts, items = left
    rows, some = starts.shape[0] - 1, counted[-1]
    device.launch(
        add_up_seen, blocks_for(some * WARP, _THREADS), _THREADS, starts, items, some,
        rows // some, seen[0], sums,
    )  # fmt: skip
    met, ids = (int(number) for number in device.to_host(sums))
    last = [device.to_host(each[max(universe - COMMONEST, 0) :]) for each in seen]
    shares = [each / some for each, some in zip(last, counted, strict=True)]
    pairs = counted[0] * (counted[-1] - is_self)
    return Likeness(ids / some, (met - ids * is_self) / max(pairs, 1), shares[0] * shares[-1])
