"""What the engine has to know of every row before it counts: its least, and its signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda

from warpladder.device.grids import WARP, blocks_for
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.measures import least_shared

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.overlap_join.measures import Rule

__all__ = ["Prepared", "prepare_rows"]

_THREADS = 256


class Prepared(NamedTuple):
    """What is known of rows, on the device.

    Attributes
    ----------
    lengths
        How many of a row's ids have lists; the rest is in its signature: int32.
    leasts
        How many ids a row shares at least with any row with which it counts: int32.
    signatures
        A bit for each of the commonest ids that a row has: uint32, shape (words, rows).
    """

    lengths: Any
    leasts: Any
    signatures: Any


@cached
@cuda.jit
def look_at_rows(starts, items, rows, listed, measure, threshold, lengths, leasts, signatures):
    """Note of each row what `Prepared` has; a thread for each."""
    row = cuda.grid(1)
    while row < rows:
        begin, end = starts[row], starts[row + 1]
        leasts[row] = least_shared(measure, threshold, end - begin)
        for word in range(signatures.shape[0]):
            signatures[word, row] = 0
        # Ids ascend, and the commonest have the highest numbers.
        while end > begin and items[end - 1] >= listed:
            bit = items[end - 1] - listed
            signatures[bit // WARP, row] |= 1 << (bit % WARP)
            end -= 1
        lengths[row] = end - begin
        row += cuda.gridsize(1)


def prepare_rows(
    device: Device, starts: Any, items: Any, rule: Rule, listed: int, words: int
) -> Prepared:
    """Return what is to be known of rows.

    Parameters
    ----------
    device
        Where they are.
    starts, items
        Where rows begin, and where the last ends: int64; and their ids: int32.
    rule
        Which pairs count.
    listed
        From this id on ids have bits in place of lists: at most 32 for each word.
    words
        Of a signature.
    """
    rows = starts.shape[0] - 1
    lengths, leasts = device.empty(rows, np.int32), device.empty(rows, np.int32)
    # Of no words there is still an array, which kernels take for one.
    signatures = device.empty((words, rows) if words else (0, 1), np.uint32)
    if rows:
        at_most = 16 * device.properties.multiprocessors
        device.launch(
            look_at_rows, min(blocks_for(rows, _THREADS), at_most), _THREADS, starts, items, rows,
            listed, *rule, lengths, leasts, signatures,
        )  # fmt: skip
    return Prepared(lengths, leasts, signatures)
