"""What the engines take and give: coded rows, and the pairs found for a stretch of left rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.overlap_join.measures import Rule

__all__ = ["Counted", "Engine", "Found", "Join", "Rows", "parts_of_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Sets of ids, coded from 0 on, the rarest id first.

    Attributes
    ----------
    starts
        Where each row begins in ``items``, and the end of the last: int64, one more than rows.
    items
        The codes of each row, int32, distinct and ascending: a row begins with its rarest id.
    universe
        How many codes there are, those of the other side of a join included.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    universe: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def size(self) -> int:
        """How many ids the rows list, which `items` need not be there for."""
        return int(self.starts[-1])


def parts_of_rows(starts: NDArray[np.int64], parts: int) -> list[int]:
    """Return where rows are cut into so many parts of about as many ids each.

    Examples
    --------
    >>> import numpy as np
    >>> parts_of_rows(np.array([0, 4, 5, 6, 8]), 2)
    [0, 1, 4]
    """
    inner = starts.searchsorted([starts[-1] * part // parts for part in range(1, parts)])
    return [0, *inner.tolist(), len(starts) - 1]


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """What is to be found.

    Attributes
    ----------
    left, right
        The two sides; the same object where rows are joined with themselves.
    rule
        Which pairs count.
    both_ways
        Where rows are joined with themselves: whether a pair is found from each of its rows, or
        only from the one that stands before the other.
    """

    left: Rows
    right: Rows
    rule: Rule
    both_ways: bool = False

    @property
    def is_self(self) -> bool:
        """Whether rows are joined with themselves, so that none meets itself."""
        return self.left is self.right


class Found(NamedTuple):
    """The pairs of neighbouring left rows, by left row and then by right row.

    Attributes
    ----------
    first
        The first of the left rows.
    counts
        How many pairs each left row has: int64.
    right
        The position of the right row of every pair, int32, ascending for each left row.
    shared
        How many ids the two have in common: int32.
    """

    first: int
    counts: NDArray[np.int64]
    right: NDArray[np.int32]
    shared: NDArray[np.int32]


class Counted(NamedTuple):
    """Pairs counted, not kept.

    Attributes
    ----------
    pairs
        How many.
    of_left, of_right
        In how many each row of either side is: int64. Of rows joined with themselves the sum of the
        two is in how many a row is.
    """

    pairs: int
    of_left: NDArray[np.int64]
    of_right: NDArray[np.int64]


class Engine(Protocol):
    """What finds or counts the pairs of one join; made for it, index and all.

    ``first`` and ``last`` bound the left rows. ``advanced`` is called now and then, in the calling
    thread, with how many left rows are done since the last call; what it raises passes through, and
    no thread goes on.
    """

    def found(self, first: int, last: int, advanced: Callable[[int], None]) -> Iterator[Found]:
        """Yield the pairs, the left rows in order, in pieces that fit the memory planned."""

    def counted(self, first: int, last: int, advanced: Callable[[int], None]) -> Counted:
        """Count the pairs, and those of each row."""
