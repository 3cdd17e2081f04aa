"""In how many rows ids are, told by classes of ids that are in as many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Occurring"]


class Occurring(NamedTuple):
    """In how many rows ids are, in the order of their codes.

    A plan needs no more, and has a few hundred classes to look at instead of all ids.

    Attributes
    ----------
    rows
        In how many rows each id of a class is: int64.
    ids
        How many ids a class has: int64; None where each is a class of its own.
    """

    rows: NDArray[np.int64]
    ids: NDArray[np.int64] | None = None

    @property
    def listed(self) -> NDArray[np.int64]:
        """How often rows list the ids of each class."""
        return self.rows if self.ids is None else self.rows * self.ids

    @property
    def of_each(self) -> NDArray[np.int64]:
        """In how many rows each id is."""
        return self.rows if self.ids is None else np.repeat(self.rows, self.ids)

    @property
    def universe(self) -> int:
        """How many ids there are."""
        return int(len(self.rows) if self.ids is None else self.ids.sum())

    @property
    def alone(self) -> int:
        """How many of the first classes have ids that are in one row at most."""
        are_shared = self.rows > 1
        return int(are_shared.argmax()) if are_shared.any() else len(self.rows)

    def behind(self, classes: int) -> Occurring:
        """Return all but so many of the first classes."""
        return Occurring(self.rows[classes:], None if self.ids is None else self.ids[classes:])

    def number(self, chosen: NDArray[np.bool_]) -> int:
        """Return how many ids some classes have."""
        return int(np.count_nonzero(chosen) if self.ids is None else self.ids[chosen].sum())

    def hottest(self, most: int) -> NDArray[np.int64]:
        """Return in how many rows each of the last ids is, up to so many of them, the last first.

        Examples
        --------
        >>> Occurring(np.array([1, 2, 7]), np.array([40, 3, 1])).hottest(3)
        array([7, 2, 2])
        """
        last_first = self.rows[::-1]
        if self.ids is None:
            return last_first[:most]
        behind = np.cumsum(self.ids[::-1])
        # The class that has the last of them, too.
        classes = int(np.searchsorted(behind, most)) + 1
        return np.repeat(last_first[:classes], self.ids[::-1][:classes])[:most]

    def sums_of_hottest(
        self, values: NDArray[Any], numbers: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the sums over so many of the last ids, ascending numbers, of a value by classes.

        Examples
        --------
        >>> classes = Occurring(np.array([1, 2, 7]), np.array([40, 3, 1]))
        >>> classes.sums_of_hottest(classes.rows, np.array([0, 1, 3, 4]))
        array([ 0.,  7., 11., 13.])
        """
        if self.ids is None:
            all_sums = np.zeros(int(numbers[-1]) + 1)
            np.cumsum(values[::-1][: numbers[-1]], out=all_sums[1:])
            return all_sums[numbers]
        ids = np.concatenate([[0], np.cumsum(self.ids[::-1])])
        sums = np.concatenate([[0.0], np.cumsum((values * self.ids)[::-1], dtype=np.float64)])
        # Within a class each id adds the same.
        between: NDArray[np.float64] = np.interp(numbers, ids, sums)
        return between
