"""Sets come in chunks, from whatever has them, and are put together once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.formats.set_numbering import IntegerNumbers, WordNumbers, grouped
from warpladder.formats.sets import Sets

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["RepeatedIdError", "SetsBuilder"]

_INT32 = np.iinfo(np.int32)
# Of the large blocks that hold what came: more than malloc keeps for itself when they are freed.
_LARGEST_SLAB = 1 << 24


class RepeatedIdError(Exception):
    """Two rows have one id; whoever knows where rows come from says so in its words.

    Attributes
    ----------
    id
        The id.
    first, second
        Which rows have it, counted from 0.
    """

    def __init__(self, id: Any, first: int, second: int) -> None:  # noqa: A002 - what it is
        self.id, self.first, self.second = id, first, second
        super().__init__(f"rows {first} and {second} are both {id!r}")


class SetsBuilder:
    """Rows and their items, or pairs of a row and an item, put together to `Sets`.

    Memory is that of the result, and of one slab of it. Of pairs, which are moved to the rows of
    theirs, it is three times that.

    Parameters
    ----------
    has_ids
        Whether rows have ids.
    has_words
        Whether items are words.
    is_paired
        Whether pairs come, each with the id of its row: the ids repeat.

    Attributes
    ----------
    words
        The words so far and their numbers.
    has_words
        As given; it may be told later.

    Examples
    --------
    >>> builder = SetsBuilder(has_ids=True)
    >>> builder.add(np.array([7, 8]), np.array([2, 5, 6]), np.array([3, 0]))
    >>> builder.sets().starts.tolist()
    [0, 3, 3]
    """

    def __init__(self, *, has_ids: bool, has_words: bool = False, is_paired: bool = False) -> None:
        self._has_ids, self.has_words, self._is_paired = has_ids, has_words, is_paired
        self.words = WordNumbers()
        self._items = _Integers()
        self._lengths = _Integers()
        self._ids = _Integers()
        self._names: list[str] = []
        self._rows: IntegerNumbers | WordNumbers | None = None

    def add(
        self,
        ids: NDArray[np.int64] | list[str] | None,
        items: NDArray[Any] | list[str],
        lengths: NDArray[Any] | None = None,
    ) -> None:
        """Take some rows: their ids, all their items, and how many each has; pairs have no lengths.

        Items that are words come as such, or as their numbers in `words`.
        """
        self._items.add(self.words.of(items) if isinstance(items, list) else items)
        if self._is_paired and ids is not None:
            self._lengths.add(self._numbers_of(ids))
            return
        if lengths is not None:
            self._lengths.add(lengths)
        if isinstance(ids, list):
            self._names += ids
        elif ids is not None:
            self._ids.add(ids)

    def sets(self, *, merge: bool = False) -> Sets:
        """Return all that came, and keep nothing of it.

        Raises
        ------
        RepeatedIdError
            Two rows have one id, and they are not to be merged.
        """
        words = self.words.known() if self.has_words else None
        items = self._items.whole()
        if self._is_paired:
            numbers = self._lengths.whole(np.int32)
            rows = self._rows or IntegerNumbers()
            starts, items = grouped(
                numbers, np.broadcast_to(np.int32(1), len(numbers)), items, len(rows)
            )
            return Sets(starts, items, words, rows.known())
        lengths = self._lengths.whole(np.int32)
        ids: NDArray[Any] | None = None
        if self._has_ids:
            ids = self._ids.whole(np.int64)
            if self._names:
                ids, self._names = np.array(self._names, np.object_), []
            if not _ascends(ids):
                numbers = self._numbers_of(ids.tolist() if ids.dtype == object else ids)
                if len(self._rows or ()) < len(ids):
                    return self._merged(ids, numbers, lengths, items, words, merge=merge)
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        return Sets(starts, items, words, ids)

    def _merged(
        self,
        ids: NDArray[Any],
        numbers: NDArray[np.int32],
        lengths: NDArray[Any],
        items: NDArray[Any],
        words: NDArray[np.object_] | None,
        *,
        merge: bool,
    ) -> Sets:
        if not merge:
            # Before the first that repeats, each row has its own number.
            second = int(np.argmax(numbers != np.arange(len(numbers))))
            raise RepeatedIdError(
                ids[second : second + 1].tolist()[0], int(numbers[second]), second
            )
        known = self._rows
        assert known is not None  # noqa: S101 - ids have just been numbered
        starts, items = grouped(numbers, lengths, items, len(known))
        return Sets(starts, items, words, known.known())

    def _numbers_of(self, ids: NDArray[np.int64] | list[str]) -> NDArray[np.int32]:
        if self._rows is None:
            self._rows = WordNumbers() if isinstance(ids, list) else IntegerNumbers()
        return self._rows.of(ids)  # type: ignore[arg-type]  # all ids are of one kind


def _ascends(ids: NDArray[Any]) -> bool:
    """Tell whether ids grow from row to row, so that none stands twice."""
    return ids.dtype != object and bool((ids[1:] > ids[:-1]).all())


class _Integers:
    """Integers that come in chunks: 32 bits each while all of them fit, else 64."""

    def __init__(self) -> None:
        self._slabs: list[NDArray[Any]] = []
        self._free = self._count = 0
        self._dtype: np.dtype[Any] = np.dtype(np.int32)

    def add(self, chunk: NDArray[Any]) -> None:
        if not (chunk.dtype == np.int32 or _fits_int32(chunk)):
            self._begin(np.dtype(np.int64))
        while len(chunk):
            if not self._free:
                self._begin(self._dtype, len(chunk))
            slab = self._slabs[-1]
            taken = min(self._free, len(chunk))
            begin = len(slab) - self._free
            slab[begin : begin + taken] = chunk[:taken]
            chunk = chunk[taken:]
            self._free -= taken
            self._count += taken

    def _begin(self, dtype: np.dtype[Any], length: int = 0) -> None:
        """Begin a new slab, the one before being full or too narrow."""
        if dtype != self._dtype and self._slabs:
            last = self._slabs[-1]
            self._slabs[-1] = last[: len(last) - self._free]
            self._free = 0
        self._dtype = dtype
        if length:
            self._free = min(max(length, self._count), _LARGEST_SLAB)
            self._slabs.append(np.empty(self._free, dtype))

    def whole(self, dtype: DTypeLike | None = None) -> NDArray[Any]:
        """Return all of them in one array; what came is let go piece by piece."""
        whole = np.empty(self._count, dtype or self._dtype)
        self._slabs.reverse()
        done = 0
        while self._slabs:
            slab = self._slabs.pop()
            used = len(slab) - (0 if self._slabs else self._free)
            whole[done : done + used] = slab[:used]
            done += used
        self._free = self._count = 0
        return whole


def _fits_int32(chunk: NDArray[Any]) -> bool:
    if not len(chunk):
        return True
    return bool(chunk.min() >= _INT32.min and chunk.max() <= _INT32.max)
