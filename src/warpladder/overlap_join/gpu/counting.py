"""The launches that count a stretch of left rows against a block of right rows.

Every row is tried with counters of 8 bits, and those that need more, by the kernel's list, once
more with wider ones. Of these fewer fit shared memory: the block is gone through in 2 or 4 parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.occupancy import occupancy
from warpladder.overlap_join.gpu.tuning import BESIDE
from warpladder.overlap_join.gpu_counters.counting import (
    ALL,
    BOTH_WAYS,
    LATER,
    Shape,
    counting_kernel,
)
from warpladder.overlap_join.gpu_counters.lists import posting_type
from warpladder.overlap_join.gpu_counters.packed import layout_of
from warpladder.overlap_join.gpu_counters.rows import Prepared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.forms import Join
    from warpladder.overlap_join.gpu.index import Block
    from warpladder.overlap_join.gpu.sides import Part
    from warpladder.overlap_join.gpu.tuning import Tuning

__all__ = ["Counts", "Launcher", "Pairs", "Stretch", "meeting_of", "parts_for"]

#: Where more than this share of rows needs wider counters, the others are not tried either.
_MANY_AGAIN = 0.5


class Pairs(NamedTuple):
    """Room for pairs, on the device, and the table of their runs.

    Attributes
    ----------
    right, shared
        Of each pair the right row, and how many ids it shares; or the counter and the left row,
        where several rows are folded into one: int32.
    taken
        How many places are asked for, of which there may be fewer, and how many runs there are
        where they stand in no order: int64.
    run_begins, run_lengths
        Where the run of each left row and part of a block stands, and how long it is.
    parts, columns
        Columns of the table, for each block and in all; 0 where runs stand in no order.
    """

    right: Any
    shared: Any
    taken: Any
    run_begins: Any
    run_lengths: Any
    parts: int
    columns: int


class Stretch(NamedTuple):
    """Neighbouring left rows on the device.

    Attributes
    ----------
    left
        The rows.
    sizes
        How many ids each has, on the host.
    prepared
        What is known of them on the device.
    """

    left: Part
    sizes: NDArray[np.int64]
    prepared: Prepared

    def rows(self, first: int, last: int) -> Stretch:
        """Return some of them, counted from the first; they must have no signatures."""
        lengths, leasts, signatures = self.prepared
        some = Prepared(lengths[first:last], leasts[first:last], signatures)
        return Stretch(self.left.rows(first, last), self.sizes[first:last], some)


class Counts(NamedTuple):
    """How many pairs each left row of a stretch has, and each right row of all: int32."""

    of_left: Any
    of_right: Any


def meeting_of(join: Join) -> int:
    """Return which right rows a left row meets, as the kernel takes it."""
    if not join.is_self:
        return ALL
    return BOTH_WAYS if join.both_ways else LATER


def parts_for(longest: int) -> int:
    """Return into how many parts a block may have to be divided, for rows up to so long.

    Examples
    --------
    >>> parts_for(255), parts_for(256), parts_for(65_536)
    (1, 2, 4)
    """
    return _bits_for(longest) // 8


def _bits_for(most: int) -> int:
    return next(bits for bits in (8, 16, 32) if most <= layout_of(bits).most)


class Launcher:
    """Counts left rows against blocks of right rows, for one join on one device."""

    def __init__(self, device: Device, join: Join, tuning: Tuning) -> None:
        self._device, self._join, self._tuning = device, join, tuning
        self._meeting = meeting_of(join)
        self._all_again = False
        # Kernels take arrays for what they do not use, too.
        self._none = device.empty(0, np.int32)
        self._one_count = device.full(1, 0, np.int64)
        self._no_table = device.empty(0, np.int64), device.empty(0, np.uint32)

    def count(self, stretch: Stretch, block: Block, into: Counts | Pairs) -> None:
        """Count what left rows share with those of a block.

        Parameters
        ----------
        stretch
            The left rows.
        block
            The right rows.
        into
            What is made: counts to be added to, or room for pairs.
        """
        left = stretch.left
        rows = len(left)
        if self._meeting == LATER:
            rows = min(rows, block.part.first + len(block.part) - left.first)
        if rows <= 0 or len(block.part) == 0:
            return
        again = np.arange(rows, dtype=np.int32)
        if not self._all_again:
            device = self._device
            found, count = device.empty(rows, np.int32), device.full(1, 0, np.int32)
            self._launch(8, 0, rows, self._none, stretch, block, into, found, count)
            many = int(device.to_host(count)[0])
            self._all_again = many > _MANY_AGAIN * rows
            again = device.to_host(found[:many])
        if not again.size:
            return
        largest = stretch.sizes[again] * self._tuning.fold
        for bits in (16, 32):
            these = again[(largest <= layout_of(16).most) == (bits == 16)]
            if these.size:
                which = self._device.to_device(these)
                for part in range(bits // 8):
                    self._launch(
                        bits, part, these.size, which, stretch, block, into, self._none, self._none
                    )

    def _launch(
        self,
        bits: int,
        part: int,
        rows: int,
        which: Any,
        stretch: Stretch,
        block: Block,
        into: Counts | Pairs,
        again: Any,
        again_count: Any,
    ) -> None:
        tuning, left = self._tuning, stretch.left
        words = tuning.counters // layout_of(8).in_word
        low = part * words * layout_of(bits).in_word
        right_rows = len(block.part)
        if low >= min(right_rows, tuning.row_counters):
            return
        keeps = isinstance(into, Pairs)
        is_narrow = posting_type(tuning.counters) == np.uint16
        at_once = 1 if words // tuning.threads % 4 else 4
        shape = Shape(
            bits, tuning.threads, tuning.resident, tuning.lanes, tuning.in_flight, is_narrow,
            at_once, tuning.words, keeps,
        )  # fmt: skip
        self._device.launch(
            counting_kernel(shape), min(rows, self._resident_blocks(words)), tuning.threads,
            rows, which, left.starts, left.items, *stretch.prepared,
            *block.lists, block.part.starts, block.signatures,
            low, words, tuning.row_counters, tuning.fold, self._meeting,
            left.first - block.part.first, block.part.first if tuning.fold == 1 else 0,
            *self._join.rule, *self._places(into, block, part), again, again_count,
            shared_bytes=4 * words,
        )  # fmt: skip

    def _places(self, into: Counts | Pairs, block: Block, part: int) -> tuple[Any, ...]:
        """Return the kernel's arguments for what is made."""
        if isinstance(into, Counts):
            return (*into, self._none, self._none, self._one_count, *self._no_table, 0, 0)
        column = block.number * into.parts + part
        return (
            self._none, self._none, into.right, into.shared, into.taken, into.run_begins,
            into.run_lengths, column, into.columns,
        )  # fmt: skip

    def _resident_blocks(self, words: int) -> int:
        """Return how many blocks the device has places for at a time."""
        gpu, tuning = self._device.properties, self._tuning
        each = occupancy(gpu, tuning.threads, shared_bytes=4 * words + BESIDE)
        return gpu.multiprocessors * min(each.blocks_per_multiprocessor, tuning.resident)
