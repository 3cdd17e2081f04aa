"""How much work left rows are: into which parts they are cut by it, and how far a run is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpladder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warpladder.call import Progress
    from warpladder.overlap_join.forms import Join

__all__ = ["as_fraction", "part_of_rows", "row_work", "shares_of_work"]


def row_work(join: Join) -> NDArray[np.float64]:
    """Return about how much work each left row is, in updates of a counter.

    It depends on the rows alone, so that parts made on different machines fit together. Ids count
    as if each were as frequent as any other; a row that meets only those behind it has the less to
    do the later it stands.
    """
    lengths = np.diff(join.left.starts).astype(np.float64)
    others = float(join.right.size)
    if join.is_self and not join.both_ways:
        behind = others - join.left.starts[1:]
    else:
        behind = np.full(len(lengths), others)
    # A row costs something even if it meets none.
    work: NDArray[np.float64] = lengths * behind / max(join.left.universe, 1) + lengths + 1
    return work


def part_of_rows(work: NDArray[np.float64], part: tuple[int, int]) -> tuple[int, int]:
    """Return the left rows of one of several parts of about equal work: the first, and the end.

    Parameters
    ----------
    work
        Of each left row.
    part
        Which of how many, counted from 1.

    Raises
    ------
    InputError
        There is no such part.

    Examples
    --------
    >>> work = np.array([9.0, 5, 3, 1])
    >>> part_of_rows(work, (1, 2)), part_of_rows(work, (2, 2))
    ((0, 1), (1, 4))
    """
    number, count = part
    if count < 1:
        raise InputError(f"part={number}/{count}: parts are numbered from 1, so there is none")
    if not 1 <= number <= count:
        raise InputError(f"part={number}/{count}: parts are numbered from 1 to {count}")
    first, last = shares_of_work(work, 0, len(work), np.array([number - 1, number]), count).tolist()
    return first, last


def shares_of_work(
    work: NDArray[np.float64], first: int, last: int, shares: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return before which rows shares of the work of some are done.

    Parameters
    ----------
    work
        Of each left row.
    first, last
        Which rows.
    shares
        How many shares are to be done, ascending.
    count
        How many shares there are.
    """
    done = np.cumsum(work[first:last])
    total = done[-1] if len(done) else 0.0
    # The row with which a share is reached belongs to it.
    ends = first + np.searchsorted(done, total * shares / count, side="left") + 1
    ends = np.where(shares == 0, first, np.where(shares == count, last, ends))
    return np.minimum(ends, last).astype(np.int64)


def as_fraction(
    progress: Progress | None, work: NDArray[np.float64], rows: tuple[int, int, int]
) -> Callable[[int], None]:
    """Return what takes numbers of left rows done and tells the fraction of the work.

    Parameters
    ----------
    progress
        Called with the fraction; None where nobody asks.
    work
        Of each left row.
    rows
        The first left row, the one to begin with, where others did those before it, and the end.
    """
    first, begin, last = rows
    # Of no work there is no fraction.
    if progress is None or first == last:
        return lambda _: None
    done = np.concatenate(([0.0], np.cumsum(work[first:last])))
    place = begin - first

    def advanced(count: int) -> None:
        nonlocal place
        place = min(place + count, last - first)
        progress(float(done[place] / done[-1]))

    return advanced
