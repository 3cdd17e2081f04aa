"""The best of each row: the k pairs that are most alike, of those an engine finds for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpladder.overlap_join.forms import Counted, Found
from warpladder.overlap_join.gathered import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warpladder.overlap_join.forms import Engine, Join

__all__ = ["BestOfEach"]


class BestOfEach:
    """An engine that keeps of each left row's pairs the best; see `forms.Engine`.

    Of pairs equally good the one whose right row comes first is better. The best stand first.

    Parameters
    ----------
    engine
        Finds the pairs; of rows joined with themselves, from both of their rows.
    join
        What it finds.
    most
        How many pairs of each row are kept.
    """

    def __init__(self, engine: Engine, join: Join, most: int) -> None:
        self._engine = engine
        self._join = join
        self._most = most

    def found(self, first: int, last: int, advanced: Callable[[int], None]) -> Iterator[Found]:
        """Yield the best pairs of left rows, in order."""
        for piece in self._engine.found(first, last, advanced):
            yield self._best(piece)

    def counted(self, first: int, last: int, advanced: Callable[[int], None]) -> Counted:
        """Count the best pairs of left rows, and those of each row."""
        of_left = np.zeros(len(self._join.left), np.int64)
        of_right = np.zeros(len(self._join.right), np.int64)
        for piece in self.found(first, last, advanced):
            of_left[piece.first : piece.first + len(piece.counts)] = piece.counts
            of_right += np.bincount(piece.right, minlength=len(of_right))
        return Counted(int(of_left.sum()), of_left, of_right)

    def _best(self, piece: Found) -> Found:
        left = np.repeat(np.arange(len(piece.counts)), piece.counts)
        alike = values(self._join.rule, *piece, self._join.left.starts, self._join.right.starts)
        order = np.lexsort((piece.right, -alike, left))
        begins = np.cumsum(piece.counts) - piece.counts
        # Left rows stay where they are, so what stands so far behind the first is known.
        kept = order[np.arange(len(order)) - begins[left] < self._most]
        counts = np.minimum(piece.counts, self._most)
        return Found(piece.first, counts, piece.right[kept], piece.shared[kept])
