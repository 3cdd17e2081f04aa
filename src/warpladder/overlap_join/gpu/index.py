"""Blocks of right rows, each with its inverted index, kept as long as there is room for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.overlap_join.gpu_counters.lists import Lists, build_lists, most_postings
from warpladder.overlap_join.gpu_counters.rows import prepare_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.gpu.sides import Part, Side
    from warpladder.overlap_join.gpu.tuning import Tuning
    from warpladder.overlap_join.measures import Rule

__all__ = ["Block", "Blocks", "bounds_of_blocks"]


class Block(NamedTuple):
    """Some right rows, ready to be counted against.

    Attributes
    ----------
    number
        Which of the blocks it is.
    part
        The rows.
    lists
        Their index.
    signatures
        Bits of their commonest ids: uint32, shape (words, rows).
    """

    number: int
    part: Part
    lists: Lists
    signatures: Any


class Blocks:
    """The right side in blocks.

    Parameters
    ----------
    device, side, rule
        Where, of which rows, and what for.
    universe
        How many codes there are.
    tuning
        How many rows a block has, and counters.
    room
        Bytes that indexes may take to be kept for the next stretch of left rows.
    """

    def __init__(
        self, device: Device, side: Side, rule: Rule, universe: int, tuning: Tuning, room: int
    ) -> None:
        self._device, self._side, self._rule = device, side, rule
        self._listed = max(universe - 32 * tuning.words, 0)
        self._words, self._counters = tuning.words, tuning.row_counters
        self._room = room
        self._kept: dict[int, Block] = {}
        most = most_postings(self._listed)
        self.bounds = bounds_of_blocks(side.starts, self._counters * tuning.fold, most)

    def __len__(self) -> int:
        return len(self.bounds)

    def block(self, number: int) -> Block:
        """Return a block, made where it is not kept."""
        if number in self._kept:
            return self._kept[number]
        part = self._side.part(*self.bounds[number])
        lists = build_lists(
            self._device, part.starts, part.items, part.span, self._listed, self._counters
        )
        prepared = prepare_rows(
            self._device, part.starts, part.items, self._rule, self._listed, self._words
        )
        block = Block(number, part, lists, prepared.signatures)
        taken = lists.ends.nbytes + lists.postings.nbytes + part.starts.nbytes
        if taken <= self._room:
            self._room -= taken
            self._kept[number] = block
        return block


def bounds_of_blocks(
    starts: NDArray[np.int64], most_rows: int, most_ids: int
) -> list[tuple[int, int]]:
    """Return the first row of each block, and the one behind its last.

    A block has no more rows than that, and no more ids, but for those of one row.

    Examples
    --------
    >>> import numpy as np
    >>> bounds_of_blocks(np.array([0, 4, 4, 5, 9]), 2, 100)
    [(0, 2), (2, 4)]
    """
    bounds = []
    first, rows = 0, len(starts) - 1
    while first < rows:
        last = int(starts.searchsorted(int(starts[first]) + most_ids, side="right")) - 1
        last = max(min(last, first + most_rows, rows), first + 1)
        bounds.append((first, last))
        first = last
    return bounds
