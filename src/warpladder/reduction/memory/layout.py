"""Where the elements lie: any array, axis and mask as the rows of a matrix, cut into tiles.

A reduction over some axes is one of every row of a matrix: its rows are the axes that stay, its
columns those that go. `ArrayRows` cuts it into *tiles* that accumulators can run along in memory.
Where the array lies so already, tiles are its own memory; else each is copied to a buffer when its
turn comes, row by row or as lines that lie across, which also settles byte order, strides and masks
that broadcast. Some rows that would be copied are gone through as they lie (`runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.memory.copies import Buffers, as_stored, copied, lent, step_of
from warpladder.reduction.memory.spans import Span, spans_of
from warpladder.reduction.memory.tile import NO_MASK, Rows, Tile, as_one_tile, pitch_of
from warpladder.reduction.memory.turn import Turn, are_together

__all__ = [
    "CACHED_BYTES",
    "COLUMNS_ACROSS",
    "COPIED_COLUMNS",
    "MOST_ROWS_ACROSS",
    "NO_MASK",
    "PARALLEL_FROM",
    "SHORT",
    "TILE_BYTES",
    "ArrayRows",
    "Rows",
    "Span",
    "Tile",
    "most_of_one_tile",
]

TILE_BYTES = 16 << 20
"""Bytes up to which an array is one tile: to wake other threads would take as long as to add it
(`benchmarks/choices.py`: `one-tile`)."""

PARALLEL_FROM = 4
"""Tiles from which other threads help; a larger array is cut into so many at least."""

# To deal out a tile takes 0.015 ms and more where Python does it, to add the least of them 0.05 to
# 0.12.
_LARGEST_TILE_BYTES, _TILES = 32 << 20, 16
# Tiles of fewer bytes are no more than so many: the least of 8 x 2,000,000 int8 over axis 0, which
# only a first call still cuts into tiles, took 0.41 ms so in place of 0.6.
_SMALL_TILE, _FEW_TILES = 2 << 20, 8
SHORT = 32
"""Elements that rows have which are short."""

# By how much less tiles of them have.
_SHORT_SHARE = 8
CACHED_BYTES = 1 << 20
"""What is copied, or gone through more than once, should stay in the caches meanwhile
(`benchmarks/choices.py`: `masked-copies`)."""

# Bytes of a panel up to which a tile for each of several takes longer than to copy them together
# (`benchmarks/choices.py`: `panels-copied-together`).
_SMALL_PANEL = 1 << 17

COPIED_COLUMNS = 1024
"""Columns in a tile that has to be copied against the order of memory (`benchmarks/choices.py`:
`columns-copied`)."""

MOST_ROWS_ACROSS, COLUMNS_ACROSS = 1 << 18, 1 << 20
"""Sides of a tile that lies across, at the most."""

_ROWS_ACROSS = 4096


def most_of_one_tile(length: int) -> int:
    """Return of how many bytes one tile is made, where rows of a length do not lie across.

    Of short rows each takes some ns, however many bytes it has.
    """
    return TILE_BYTES // (_SHORT_SHARE if 0 < length < SHORT else 1)


class ArrayRows:
    """An array as a matrix, perhaps with a mask.

    Parameters
    ----------
    values
        The array.
    axes
        The axes to reduce over, counted from 0.
    where
        The mask, broadcast to the array's shape, or None.
    dtype
        What elements are converted to when they are not of it.
    ordered
        Whether the order of elements matters; if not, they are taken as they lie.
    passes
        How often each tile is gone through.
    across
        Whether tiles may lie across.

    Attributes
    ----------
    turn
        What was done to the array: the axes of rows came to be the first.
    """

    def __init__(
        self,
        values: NDArray[Any],
        axes: Sequence[int],
        where: NDArray[np.bool_] | None,
        dtype: np.dtype[Any],
        *,
        ordered: bool,
        passes: int = 1,
        across: bool = False,
    ) -> None:
        going, backwards = list(axes), list[int]()
        self._stacks = False
        if not ordered:
            backwards = [axis for axis in going if values.strides[axis] < 0]
            going.sort(key=lambda axis: -abs(values.strides[axis]))
        staying = [axis for axis in range(values.ndim) if axis not in going]
        self.turn = Turn(backwards, staying + going)
        self._values = self.turn(values)
        self._where = None if where is None else self.turn(where)
        self._kept = len(staying)
        self._dtype = dtype
        self.count = prod(self._values.shape[: self._kept])
        self.length = prod(self._values.shape[self._kept :])
        self.itemsize = dtype.itemsize
        self._whole = self._as_it_lies()
        self._is_across = self._whole is None and self._runs_across()
        self._together = self._rows_together() if across and self._is_across else 1
        # Rows that do not touch would be a tile each.
        self._may_lie_across = self._together > 1 and where is None
        # Elements next to each other in a column are apart in memory; what is broadcast is not.
        self._are_alone = across and self._is_across and self._together == 1 and where is None
        self._are_alone &= all(
            step or n < 2 for n, step in zip(values.shape, values.strides, strict=True)
        )
        self._lines = self._as_lines(self._values) if self._may_lie_across else None
        self._copies_lines = False
        is_copied = self._whole is None and not self._may_lie_across
        whole = TILE_BYTES if self._may_lie_across else most_of_one_tile(self.length)
        least = whole if values.nbytes <= whole else whole // PARALLEL_FROM
        tile = max(values.nbytes // _TILES, least, min(values.nbytes // _FEW_TILES, _SMALL_TILE))
        tile = min(tile, _LARGEST_TILE_BYTES)
        self._tile_bytes = CACHED_BYTES if is_copied or passes > 1 else tile

    @property
    def whole(self) -> Tile | None:
        """All of it as one tile, where rows lie as they should."""
        return self._whole

    @property
    def copied_shape(self) -> tuple[int, ...]:
        """The shape of a copy of all rows; of three axes, as of lines, the second goes."""
        if self._copies_lines:
            return self.count // self._together, self.length, self._together
        return self.count, self.length

    def allow_stacks(self) -> None:
        """Let tiles that lie across have more than one panel, and be copied so."""
        if not self._may_lie_across:
            return
        self._stacks = self._line_pitch() is not None
        lines = self._values.shape[self._kept :], self._values.strides[self._kept :]
        are_apart = step_of(*lines) is None or not self._is_plain() or self._has_small_panels()
        self._copies_lines = are_apart and not self._stacks
        if self._copies_lines:
            self._tile_bytes = CACHED_BYTES

    def row_spans(self, most: int = 0) -> Iterator[Span]:
        """Yield the runs of rows that make tiles, in order; or of ``most`` rows each."""
        shape = self._values.shape[: self._kept] if self._whole is None else (self.count,)
        return spans_of(shape, most or self._tile_shape()[0])

    def column_spans(self) -> list[Span]:
        """Return the runs of columns that make tiles, in order."""
        shape = self._values.shape[self._kept :] if self._whole is None else (self.length,)
        return list(spans_of(shape, self._tile_shape()[1]))

    def tile(self, rows: Span, columns: Span, buffers: Buffers | None) -> Tile:
        """See `Rows`."""
        tile = self.in_memory(rows, columns)
        if tile is not None:
            return tile
        tile = self.copied_tile(self._values, rows, columns, buffers)
        if self._where is not None:
            marks = self._where[rows.slices + columns.slices]
            mask = copied(marks, self._kept, np.dtype(np.bool_), "mask", buffers)
            tile = tile._replace(mask=mask)
        return tile

    def copied_tile(
        self, values: NDArray[Any], rows: Span, columns: Span, buffers: Buffers | None
    ) -> Tile:
        """Return a copy of the elements of a tile out of what lies as these rows do."""
        count, length = rows.end - rows.begin, columns.end - columns.begin
        part, dtype = values[rows.slices + columns.slices], values.dtype.newbyteorder("=")
        if not self._copies_lines:
            data = as_stored(copied(part, self._kept, dtype, "data", buffers))
            return Tile(data, NO_MASK, count, length, length)
        data = as_stored(copied(part.transpose(self.order_of_lines), None, dtype, "data", buffers))
        # Of large panels a tile has a part.
        side = min(count, self._together)
        return Tile(data, NO_MASK, count, length, side, side)

    @property
    def order_of_lines(self) -> list[int]:
        """The order in which the axes of rows and columns make lines, panel by panel."""
        inner, together = self._kept, 1
        while together < self._together:
            inner -= 1
            together *= self._values.shape[inner]
        axes = [*range(self._values.ndim)]
        return axes[:inner] + axes[self._kept :] + axes[inner : self._kept]

    def is_scattered(self) -> bool:
        """Tell whether a copy of the array as it lies makes fewer tiles than the array does.

        Its rows lie side by side in several small panels that are apart, or alone.
        """
        # Of axes apart it would have as many.
        if not are_together(self._values, range(self._kept, self._values.ndim)):
            return False
        if self._are_alone:
            return True
        is_apart = self._may_lie_across and self._line_pitch() is None
        return is_apart and self._has_small_panels() and self._values.dtype.isnative

    def moved(self) -> Callable[[NDArray[Any]], Rows] | None:
        """Return what makes a matrix that lies as this one does of other memory.

        It is called with the elements as they lie there. It is None where tiles are converted,
        beside a mask or backwards. No element is read.
        """
        begin, places = _address(self._values), {}
        for rows, columns in product(self.row_spans(), self.column_spans()):
            tile = self.in_memory(rows, columns)
            if tile is None:
                is_plain = min(self._values.strides) >= 0 and self._is_plain()
                return partial(_Moved, self, {}) if is_plain else None
            before = (_address(tile.data) - begin) // self._dtype.itemsize
            places[rows.begin, columns.begin] = slice(before, before + tile.data.size), tile[2:]
        return partial(_Moved, self, places)

    def lying_in(self, data: NDArray[Any]) -> NDArray[Any]:
        """Return elements of other memory as these lie."""
        return np.ndarray(self._values.shape, data.dtype, data, 0, self._values.strides)

    def in_memory(self, rows: Span, columns: Span) -> Tile | None:
        """Return a tile of the array's own memory, None where it does not lie so."""
        count, length = rows.end - rows.begin, columns.end - columns.begin
        if self._whole is not None:
            data, mask, _, _, pitch, _ = self._whole
            begin, end = rows.begin * pitch + columns.begin, (rows.end - 1) * pitch + columns.end
            return Tile(data[begin:end], mask[begin:end], count, length, pitch)
        if self._stacks and count % self._together == 0 and length == self.length:
            line = self._line_pitch()
            assert line is not None  # noqa: S101 - or there would be no stacks
            part = self._values[rows.slices + columns.slices]
            extent = (count // self._together * length - 1) * line + self._together
            return Tile(lent(part, extent), NO_MASK, count, length, line, self._together)
        if self._lines is not None:
            # To find out how a part lies takes 0.01 ms, as long as to add a quarter of a tile.
            begin = columns.begin * self._lines.pitch + rows.begin
            data = self._lines.data[begin:]
            return Tile(data, NO_MASK, count, length, self._lines.pitch, count)
        if self._copies_lines or not self._may_lie_across:
            return None
        tile = self._as_lines(self._values[rows.slices + columns.slices])
        return tile and tile._replace(rows=count, length=length, across=count)

    def copied_part(self, rows: tuple[slice, ...]) -> tuple[NDArray[Any], int] | None:
        """Return rows that would be copied, unless converted too, and how many axes are rows."""
        is_copied = self._whole is None and not self._may_lie_across
        return (self._values[rows], self._kept) if is_copied and self._is_plain() else None

    def _is_plain(self) -> bool:
        """Tell whether elements are as they should be, and all count."""
        values = self._values
        return values.dtype == self._dtype and values.flags.aligned and self._where is None

    def _has_small_panels(self) -> bool:
        """Tell whether there are several panels so small that a tile for each takes longer."""
        size = self._together * self.length * self._dtype.itemsize
        return size <= _SMALL_PANEL and self.count > self._together

    def _tile_shape(self) -> tuple[int, int]:
        elements = self._tile_bytes // self._dtype.itemsize
        if self._may_lie_across:
            elements = max(min(elements, MOST_ROWS_ACROSS * self.length), 1)
            panel = max(self._together * self.length, 1)
            if (self._stacks or self._copies_lines) and panel <= elements:
                most = elements // panel
                if self._copies_lines:
                    # No panel is left alone, whose lines would touch as others' do not.
                    panels = self.count // self._together
                    most = -(-panels // -(-panels // most))
                return most * self._together, self.length
            # All of a column where that leaves enough side by side: it is merged with nothing.
            rows = max(elements // max(self.length, 1), _ROWS_ACROSS)
            rows = max(min(self._together, rows), 1)
            return rows, min(elements // rows, COLUMNS_ACROSS)
        columns = max(min(self.length, elements), 1)
        if self._is_across:
            # Or each line of memory would be fetched again for every row.
            columns = min(columns, COPIED_COLUMNS)
        return elements // columns, columns

    def _rows_together(self) -> int:
        """Return how many rows have their first elements one after the other in memory."""
        together = 1
        sides = zip(self._values.shape, self._values.strides, strict=True)
        for n, stride in reversed(list(sides)[: self._kept]):
            if n > 1 and stride != together * self._dtype.itemsize:
                break
            together *= n
        return together

    def _as_lines(self, values: NDArray[Any]) -> Tile | None:
        """Return the lines of memory that a part of the array makes as the rows of a tile."""
        lines = values.transpose(*range(self._kept, values.ndim), *range(self._kept))
        return as_one_tile(lines, values.ndim - self._kept, self._dtype)

    def _line_pitch(self) -> int | None:
        """Return the distance of lines where panels follow one another as `Tile` says."""
        size = self._dtype.itemsize
        if not self._is_plain():
            return None
        shape, strides = self._values.shape, self._values.strides
        pitch = step_of(shape[self._kept :], strides[self._kept :], self._together * size)
        if pitch is None or pitch < 0 or pitch % size:
            return None
        outer, inner = self._kept, 1
        while outer and inner < self._together:
            outer -= 1
            inner *= shape[outer]
        panel = self.length * pitch
        return pitch // size if step_of(shape[:outer], strides[:outer], panel) == panel else None

    def _runs_across(self) -> bool:
        """Tell whether elements of a column lie closer together than those of a row."""
        sides = zip(self._values.shape, self._values.strides, strict=True)
        steps = [abs(stride) if n > 1 else np.inf for n, stride in sides]
        return min(steps[: self._kept], default=np.inf) < min(steps[self._kept :], default=np.inf)

    def _as_it_lies(self) -> Tile | None:
        """Return the whole matrix as one tile of the array's own memory, where it is that."""
        values = self._values
        if (
            values.flags.carray
            and values.dtype == self._dtype
            and values.size
            and self._where is None
        ):
            return Tile(lent(values, values.size), NO_MASK, self.count, self.length, self.length)
        tile = as_one_tile(self._values, self._kept, self._dtype)
        if tile is None or self._where is None:
            return tile
        if pitch_of(self._where, self._kept) != tile.pitch:
            return None
        # A mask of booleans stays one.
        mask = lent(self._where, tile.data.size).view(np.bool_)
        return tile._replace(mask=mask)


class _Moved:
    """A matrix that lies as another one does, in other memory; without places tiles are copied."""

    def __init__(
        self, other: ArrayRows, places: dict[tuple[int, int], tuple[slice, Any]], data: NDArray[Any]
    ) -> None:
        self.count, self.length = other.count, other.length
        self.row_spans, self.column_spans = other.row_spans, other.column_spans
        self._places, self._data = places, data
        self._copied_tile = other.copied_tile
        if not places:
            self._values = other.lying_in(data)

    def tile(self, rows: Span, columns: Span, buffers: Buffers | None) -> Tile:
        """See `Rows`."""
        if self._places:
            part, lies = self._places[rows.begin, columns.begin]
            return Tile(self._data[part], NO_MASK, *lies)
        return self._copied_tile(self._values, rows, columns, buffers)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
