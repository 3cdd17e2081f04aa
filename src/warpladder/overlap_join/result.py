"""The answer: pairs of rows that share ids, or how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import MissingExtraError
from warpladder.formats.pair_blocks import PairBlock, ids_of, not_in_utf8
from warpladder.overlap_join.gathered import Pairs, both_ways, values
from warpladder.overlap_join.measures import Rule

if TYPE_CHECKING:
    import os

__all__ = ["OverlapCounts", "Overlaps", "Side"]

# Pairs that are made Python's at once.
_AT_ONCE = 1 << 16
# Pairs that are written at once: the row groups of Parquet.
PAIRS_OF_A_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The rows of one side of a join.

    Attributes
    ----------
    ids
        Their own ids, int64 or an object array of strings; None where they go by positions.
    starts
        Where the ids in each begin, and the end of the last, each id counted once: int64.
    """

    ids: NDArray[Any] | None
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, eq=False, repr=False)
class Overlaps:
    """Pairs of rows that are alike enough, in the order of the left rows.

    Of rows joined with themselves, each pair stands once, left before right. With ``top_k`` it may
    stand twice: of each left row its best, the best first.

    ``len()`` is the number of pairs; iterating yields them as (left, right, shared).

    Attributes
    ----------
    starts
        Where the pairs of each left row begin, and the end of the last: shape (n + 1,), int64.
    positions
        The position of the right row of every pair, int32.
    shared
        How many ids the two rows have in common, int32.
    sides
        The left rows and the right ones; twice the same object where rows are joined with
        themselves.
    rule
        The measure and the threshold.
    is_both_ways
        Whether each row's pairs are all there, and not only those with rows behind it.
    why
        Why this engine and device, for people.

    Examples
    --------
    >>> import warpladder as wl
    >>> rows = {1: {2, 5, 6, 10, 11}, 2: {5, 10, 11, 15}, 3: {6, 10, 11, 17}, 4: {3, 10, 12, 17}}
    >>> alike = wl.overlap_join(rows, threshold=2)
    >>> alike
    Overlaps(4 pairs of 4 rows, count >= 2)
    >>> alike.left, alike.right, alike.shared
    (array([1, 1, 2, 3]), array([2, 3, 3, 4]), array([3, 3, 2, 2], dtype=int32))
    >>> alike.groups()
    {1: [2, 3], 2: [1, 3], 3: [1, 2, 4], 4: [3]}
    """

    starts: NDArray[np.int64]
    positions: NDArray[np.int32]
    shared: NDArray[np.int32]
    sides: tuple[Side, Side]
    rule: Rule
    is_both_ways: bool
    why: str

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[tuple[Any, Any, int]]:
        for block in self._blocks(_AT_ONCE):
            columns = (
                ids_of(self.sides[0].ids, block.left),
                ids_of(self.sides[1].ids, block.right),
                block.shared,
            )
            yield from zip(*(column.tolist() for column in columns), strict=True)

    def __repr__(self) -> str:
        return f"Overlaps({len(self):,} pairs of {_rows(*self.sides)}, {_told(self.rule)})"

    @property
    def is_self_join(self) -> bool:
        """Whether rows are joined with themselves."""
        return self.sides[0] is self.sides[1]

    @cached_property
    def left(self) -> NDArray[Any]:
        """The id of the left row of every pair; of rows without ids its position, int64."""
        rows = np.arange(len(self.sides[0]))
        return np.repeat(ids_of(self.sides[0].ids, rows), np.diff(self.starts))

    @cached_property
    def right(self) -> NDArray[Any]:
        """The id of the right row of every pair; of rows without ids its position, int64."""
        return ids_of(self.sides[1].ids, self.positions)

    @cached_property
    def value(self) -> NDArray[Any]:
        """How alike the two are by the measure, float64; `shared` where that is the count."""
        counted = self._values(0, np.diff(self.starts), self.positions, self.shared)
        return self.shared if counted is None else counted

    def groups(self) -> dict[Any, list[Any]]:
        """Return for each row with any the ids of the rows it is paired with, in their order.

        Of rows joined with themselves a pair stands with both of its rows. With ``top_k`` the
        best come first.
        """
        pairs = self._of_both_ways()
        lefts = ids_of(self.sides[0].ids, np.arange(len(self.sides[0])))
        rights = ids_of(self.sides[1].ids, pairs.right).tolist()
        has_any = np.flatnonzero(np.diff(pairs.starts))
        bounds = zip(
            lefts[has_any].tolist(),
            pairs.starts[has_any].tolist(),
            pairs.starts[has_any + 1].tolist(),
            strict=True,
        )
        return {left: rights[begin:end] for left, begin, end in bounds}

    def to_csr(self) -> Any:
        """Return the numbers of shared ids as a `scipy.sparse.csr_array`.

        Shape (left rows, right rows), int32. Of rows joined with themselves it has entries above
        the diagonal alone, but with ``top_k``.

        Raises
        ------
        MissingExtraError
            SciPy is not installed.
        """
        try:
            from scipy.sparse import csr_array
        except ImportError:
            raise MissingExtraError("to_csr()", "scipy", "sparse") from None
        shape = (len(self.sides[0]), len(self.sides[1]))
        # A copy: SciPy sorts rows in place where it needs them so, and the best stand first here.
        return csr_array((self.shared, self.positions, self.starts), shape=shape, copy=True)

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` of ``left``, ``right``, ``shared``; and ``value``, if not equal.

        Raises
        ------
        InputError
            A row id holds what UTF-8 cannot.
        MissingExtraError
            pyarrow is not installed.
        """
        from warpladder.formats.pair_tables import table_of

        return table_of(self._block(0, len(self.sides[0])), self.sides[0].ids, self.sides[1].ids)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` of the same columns as `to_arrow`.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_pandas()", "pandas", "pandas") from None
        columns = {"left": self.left, "right": self.right, "shared": self.shared}
        if self._has_values:
            columns["value"] = self.value
        try:
            return pd.DataFrame(columns)
        except UnicodeEncodeError as fault:
            raise not_in_utf8(fault.object) from None

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:  # noqa: A002 - as users call it
        """Write the pairs to a file, whole or not at all.

        Parameters
        ----------
        path
            Its extension says the format: ``.txt``, a line a row with the rows it is paired with,
            as ``1 {2, 3}``; ``.csv`` and ``.tsv``, tables of left, right, shared and, of another
            measure than the count, value; ``.jsonl``; ``.pairs``, lines without a heading; with
            ``.gz`` behind these, packed; ``.parquet`` and ``.arrows`` (extra ``parquet``).
        format
            The format, where the extension is another: ``grouped``, ``csv``, ``tsv``, ``jsonl``,
            ``pairs``, ``parquet`` or ``arrow``.

        Raises
        ------
        InputError
            There is no such format, it cannot hold an id, or the file cannot be written.
        MissingExtraError
            The format needs a package that is not installed.

        Examples
        --------
        >>> import tempfile, pathlib, warpladder as wl
        >>> alike = wl.overlap_join([{1, 2, 3}, {2, 3, 4}, {3, 4, 5}], threshold=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "alike.csv")
        ...     alike.write(file)
        ...     print(file.read_text(), end="")
        left,right,shared
        0,1,2
        1,2,2
        """
        from warpladder.formats.atomic import atomic_write
        from warpladder.formats.files import as_path
        from warpladder.formats.pairs import (
            check_pair_target,
            pair_encoder,
            pair_format,
            write_pairs,
        )

        name = pair_format(path, format)
        check_pair_target(path, name)
        left, right = (side.ids for side in self.sides)
        encoder = pair_encoder(name, left, right, with_value=self._has_values)
        pairs = self
        if name == "grouped" and not self.is_both_ways:
            pairs = Overlaps(*self._of_both_ways(), self.sides, self.rule, True, self.why)
        with atomic_write(as_path(path)) as file:
            write_pairs(file, encoder, pairs._blocks(PAIRS_OF_A_BLOCK))

    @property
    def _has_values(self) -> bool:
        return self.rule.name != "count"

    def _of_both_ways(self) -> Pairs:
        pairs = Pairs(self.starts, self.positions, self.shared)
        return pairs if self.is_both_ways or not self.is_self_join else both_ways(pairs)

    def _blocks(self, size: int) -> Iterator[PairBlock]:
        """Yield the pairs in blocks of about as many, the pairs of a left row together."""
        first, rows = 0, len(self.sides[0])
        while first < rows:
            last = int(np.searchsorted(self.starts, self.starts[first] + size, side="right")) - 1
            last = max(last, first + 1)
            yield self._block(first, last)
            first = last

    def _block(self, first: int, last: int) -> PairBlock:
        """Return the pairs of some left rows."""
        counts = np.diff(self.starts[first : last + 1])
        part = slice(self.starts[first], self.starts[last])
        found = (first, counts, self.positions[part], self.shared[part])
        return PairBlock(*found, self._values(*found))

    def _values(
        self,
        first: int,
        counts: NDArray[np.int64],
        right: NDArray[np.int32],
        shared: NDArray[np.int32],
    ) -> NDArray[np.float64] | None:
        if not self._has_values:
            return None
        left_starts, right_starts = (side.starts for side in self.sides)
        return values(self.rule, first, counts, right, shared, left_starts, right_starts)


@dataclass(frozen=True, eq=False, repr=False)
class OverlapCounts:
    """How many pairs of rows are alike enough.

    Attributes
    ----------
    pairs
        How many.
    degrees
        In how many pairs each left row is, shape (n,), int64; of rows joined with themselves, from
        either side, but with ``top_k``: then how many it has.
    other_degrees
        In how many each right row is; None where rows are joined with themselves.
    ids, other_ids
        The rows' own ids; None where they go by positions.
    rule
        The measure and the threshold.
    why
        Why this engine and device, for people.

    Examples
    --------
    >>> import warpladder as wl
    >>> counts = wl.overlap_join([{1, 2, 3}, {2, 3, 4}, {3, 4, 5}], threshold=2, count_only=True)
    >>> counts
    OverlapCounts(2 pairs of 3 rows, count >= 2)
    >>> counts.pairs, counts.degrees
    (2, array([1, 2, 1]))
    """

    pairs: int
    degrees: NDArray[np.int64]
    other_degrees: NDArray[np.int64] | None
    ids: NDArray[Any] | None
    other_ids: NDArray[Any] | None
    rule: Rule
    why: str

    def __repr__(self) -> str:
        right = self.degrees if self.other_degrees is None else self.other_degrees
        rows = _rows(self.degrees, right)
        return f"OverlapCounts({self.pairs:,} pairs of {rows}, {_told(self.rule)})"


def _rows(left: Any, right: Any) -> str:
    """Say how many rows are joined."""
    others = "" if left is right else f" and {len(right):,} others"
    return f"{len(left):,} rows{others}"


def _told(rule: Rule) -> str:
    return f"{rule.name} >= {rule.threshold:.10g}"
