"""What writers of pairs of rows take, and what they give: bytes to put one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from warpladder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["PairBlock", "PairEncoder", "RowIds", "ids_of", "not_in_utf8"]

RowIds = Any
"""The ids of the rows of one side: int64, or an object array of strings; None for positions."""


class PairBlock(NamedTuple):
    """The pairs of neighbouring left rows, in the order of these.

    Attributes
    ----------
    first
        The first of the left rows.
    counts
        How many pairs each left row has: int64.
    right
        The position of the right row of every pair: int32.
    shared
        How many ids the two have in common: int32.
    value
        How alike they are, float64; None where that is ``shared``.
    """

    first: int
    counts: NDArray[np.int64]
    right: NDArray[np.int32]
    shared: NDArray[np.int32]
    value: NDArray[np.float64] | None = None

    @property
    def left(self) -> NDArray[np.int64]:
        """The position of the left row of every pair."""
        rows = np.arange(self.first, self.first + len(self.counts))
        return np.repeat(rows, self.counts)


class PairEncoder(Protocol):
    """A format. A file is its head, what it makes of each block, and its tail.

    It keeps nothing between calls, so a file can be gone on with by another process: what that must
    know of a block beside its bytes is a note, which the tail is made of.
    """

    def head(self) -> bytes:
        """Return what a file begins with."""

    def body(self, block: PairBlock, offset: int) -> tuple[bytes, str]:
        """Return the bytes of a block that begins at an offset of the file, and a note of it."""

    def tail(self, notes: Sequence[str], offset: int) -> bytes:
        """Return what a file ends with, given the notes of its blocks."""


def ids_of(ids: RowIds, positions: NDArray[Any]) -> NDArray[Any]:
    """Return the ids of the rows at some positions.

    Examples
    --------
    >>> ids_of(None, np.array([2, 0])), ids_of(np.array([70, 80, 90]), np.array([2, 0]))
    (array([2, 0]), array([90, 70]))
    """
    found: NDArray[Any] = positions.astype(np.int64) if ids is None else ids[positions]
    return found


def not_in_utf8(text: str) -> InputError:
    """Return the error about a row id that no file holds."""
    return InputError(f"the row id {text!r} holds what UTF-8 cannot; give the row another id")
