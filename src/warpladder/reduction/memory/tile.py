"""Rows in memory as loops take them, and what engines cut into such."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.memory.copies import Buffers, lent, step_of
from warpladder.reduction.memory.spans import Span

__all__ = ["NO_MASK", "Rows", "Tile", "as_one_tile", "pitch_of"]

NO_MASK: NDArray[np.bool_] = np.empty(0, np.bool_)


class Tile(NamedTuple):
    """Rows in memory.

    Element i of row k is ``data[k * pitch + i]``. Where ``across`` is not 0, so many rows lie side
    by side in a panel, and element i of row k of panel p is ``data[(p * length + i) * pitch + k]``.
    """

    data: NDArray[Any]
    mask: NDArray[np.bool_]
    rows: int
    length: int
    pitch: int
    across: int = 0


class Rows(Protocol):
    """What an engine reduces: a matrix of which it can have tiles."""

    @property
    def count(self) -> int:
        """Number of rows."""

    @property
    def length(self) -> int:
        """Number of columns."""

    def row_spans(self) -> Iterator[Span]:
        """Yield the runs of rows that make tiles, in order."""

    def column_spans(self) -> list[Span]:
        """Return the runs of columns that make tiles, in order."""

    def tile(self, rows: Span, columns: Span, buffers: Buffers | None) -> Tile:
        """Return a tile; a copy goes to buffers, which the next call may use again.

        Where there are none it is the caller's, and who stands by may help.
        """


def as_one_tile(values: NDArray[Any], kept: int, dtype: np.dtype[Any]) -> Tile | None:
    """Return an array whose first axes are rows as one tile of its own memory, where it is that."""
    if values.dtype != dtype or not values.flags.aligned or not values.size:
        return None
    pitch = pitch_of(values, kept)
    if pitch is None:
        return None
    count, length = prod(values.shape[:kept]), prod(values.shape[kept:])
    data = lent(values, (count - 1) * pitch + length)
    return Tile(data, NO_MASK, count, length, pitch)


def pitch_of(array: NDArray[Any], kept: int) -> int | None:
    """Return how far each row lies behind the last; None where rows are not contiguous."""
    size = array.itemsize
    step = step_of(array.shape[kept:], array.strides[kept:], size)
    length = prod(array.shape[kept:])
    pitch = step_of(array.shape[:kept], array.strides[:kept], length * size)
    if step != size or pitch is None or pitch < 0 or pitch % size:
        return None
    return pitch // size
