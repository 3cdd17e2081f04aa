"""Halos, and many steps on a tile: which cells a block loads, keeps right, and stores.

A tile goes wrong from its ends inwards, by a cell a step, because nobody tells it what its
neighbours do. That is worked out here from what was recorded: a cell is right after a step if both
its neighbours were read, and were right before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.lab.launches import launched
from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    INK,
    LINE,
    ORANGE,
    SKY,
    SMALL,
    canvas,
    caption,
)
from warpladder.simulator.checks.recorder import Access, Barrier, LaunchRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NO_CELL", "RIGHT", "WRONG", "Tile", "draw", "tiles_of"]

NO_CELL, WRONG, RIGHT = range(3)
#: Cells to either side of where two blocks meet; so many in all are drawn one by one.
_LEAST_HALF, _MOST_CELLS_TOLD_APART = 24, 80


@dataclass(slots=True)
class Tile:
    """What a block does with its cells.

    Attributes
    ----------
    loaded, stored
        Of all cells: whether the block loads and stores them.
    steps
        After each step in shared memory, what is known of each cell; empty where cells do not go
        through shared memory more than once.
    """

    loaded: NDArray[np.bool_]
    stored: NDArray[np.bool_]
    steps: list[NDArray[np.int64]] = field(default_factory=list)


def tiles_of(record: LaunchRecord) -> list[Tile]:
    """Return what each recorded block does.

    Raises
    ------
    InputError
        It does not go from one line of cells to another.
    """
    lines = [
        event.array
        for event in record.events
        if isinstance(event, Access) and event.array.space == "global"
        and len(event.array.shape) == 1 and event.verb == "store"
    ]  # fmt: skip
    if not lines:
        raise InputError(
            f"{record.kernel} stores to no line of cells; ask for another --n, with which another "
            "kernel may be launched, or for another --kind"
        )
    target = max(set(lines), key=lines.count)
    size = record.geometry.threads_per_block
    return [
        _tile(record, block * size, (block + 1) * size, target.name, target.shape[0])
        for block in range(record.blocks)
    ]


def _tile(record: LaunchRecord, first: int, last: int, target: str, cells: int) -> Tile:
    tile = Tile(np.zeros(cells, dtype=bool), np.zeros(cells, dtype=bool))
    follow = _Follow(cells)
    for event in record.events:
        if isinstance(event, Barrier):
            if np.searchsorted(event.threads, first) < np.searchsorted(event.threads, last):
                follow.step_ends()
            continue
        part = event.of(first, last) if isinstance(event, Access) else None
        if part is None or len(part.array.shape) not in (1, 2):
            continue
        index = part.indices()[-1]
        if part.array.space == "shared":
            follow.shared(part, index)
        elif part.array.space == "global" and part.array.shape == (cells,):
            if part.array.name == target and part.verb == "store":
                tile.stored[index] = True
            elif part.verb == "load":
                tile.loaded[index] = True
                follow.loaded(part, index)
    follow.step_ends()
    if len(follow.states) > 1:
        tile.steps = follow.states
    return tile


class _Follow:
    """Follows the cells of a block through the buffers of its shared memory."""

    def __init__(self, cells: int) -> None:
        self.states: list[NDArray[np.int64]] = []
        self._cells = cells
        #: Of a thread: the cells and places that it has read since it stored last.
        self._cell_of_thread: dict[int, int] = {}
        self._read: dict[int, list[int]] = {}
        #: Of a place of the tile: which cell it holds.
        self._cell: dict[int, int] = {}
        self._now: dict[int, bool] = {}
        self._next: dict[int, bool] = {}

    def loaded(self, part: Access, index: NDArray[np.int64]) -> None:
        """Take note of cells that come from global memory."""
        for thread, cell in zip(part.threads.tolist(), index.tolist(), strict=True):
            self._cell_of_thread[thread] = cell

    def shared(self, part: Access, index: NDArray[np.int64]) -> None:
        """Take note of places of the tile that are read or written."""
        pairs = zip(part.threads.tolist(), index.tolist(), strict=True)
        if part.verb == "load":
            for thread, place in pairs:
                self._read.setdefault(thread, []).append(place)
            return
        for thread, place in pairs:
            read = self._read.pop(thread, [])
            if thread in self._cell_of_thread:
                self._cell[place] = self._cell_of_thread.pop(thread)
                self._next[place] = True
            elif read:
                self._next[place] = self._is_right(place, read)

    def _is_right(self, place: int, read: list[int]) -> bool:
        """Return whether both neighbours of a place were read, and were right."""
        cell = self._cell.get(place)
        if cell is None:
            return False
        left = max(cell - 1, 0)
        right = min(cell + 1, self._cells - 1)
        seen = {self._cell.get(one) for one in read if self._now.get(one, False)}
        return {left, right} <= seen

    def step_ends(self) -> None:
        """Make what was written the state that the next step reads."""
        if self._next:
            state = np.full(self._cells, NO_CELL, dtype=np.int64)
            for place, is_right in self._next.items():
                if place in self._cell:
                    state[self._cell[place]] = RIGHT if is_right else WRONG
            self.states.append(state)
            self._now, self._next = self._next, {}


def draw(scene: Scene) -> Figure:
    """Draw the cells about the place where the first two blocks meet, a band for each."""
    n = scene.n if scene.asked_n is not None else _size(scene)
    record = scene.recorded(n=n, blocks=2).records[0]
    tiles = tiles_of(record)
    steps = max(len(tile.steps) for tile in tiles)
    figure = canvas(len(tiles) * (0.75 + 0.04 * steps) + 1.2)
    counts = " and ".join(
        f"{int(tile.loaded.sum()):,} cells and stores {int(tile.stored.sum()):,}" for tile in tiles
    )
    caption(
        figure,
        f"{scene.path}: where {'two blocks meet' if len(tiles) > 1 else 'a block ends'}, n = {n}",
        f"A band for each block: above the cells that it loads, below those that it stores; it "
        f"loads {counts}. "
        + ("Between, step by step, the cells of its tile that are still right (pale blue) and "
           "those that have gone wrong (orange)." if steps else ""),
    )  # fmt: skip
    panels = figure.subplots(len(tiles), 1, squeeze=False, sharex=True)[:, 0]
    left, right = _part_shown(tiles)
    for number, (axes, tile) in enumerate(zip(panels, tiles, strict=True)):
        _draw_tile(axes, tile, number)
        axes.set_xlim(left, right)
        if right - left <= _MOST_CELLS_TOLD_APART:
            for cell in range(left, right):
                axes.axvline(cell, color="white", linewidth=0.4)
    panels[-1].set_xlabel("cell", fontsize=SMALL, color=LINE)
    return figure


def _size(scene: Scene) -> int:
    """Return a size at which there are two blocks."""
    n = scene.n
    while launched(scene.path, n)[0].blocks < 2:
        n *= 2
    return n


def _part_shown(tiles: list[Tile]) -> tuple[int, int]:
    """Return the first and the last cell to show: what blocks share is in the middle."""
    cells = len(tiles[0].loaded)
    if len(tiles) == 1:
        return 0, cells
    shared = int(np.count_nonzero(tiles[0].loaded & tiles[1].loaded))
    middle = int(np.flatnonzero(tiles[0].stored)[-1]) + 1
    half = max(_LEAST_HALF, 2 * shared)
    return max(middle - half, 0), min(middle + half, cells)


def _draw_tile(axes: Axes, tile: Tile, number: int) -> None:
    from matplotlib.colors import ListedColormap

    cells = len(tile.loaded)
    each = max(1, len(tile.steps) // 5)
    rows = [
        *[np.where(tile.loaded, 3, 0)] * each,
        *tile.steps,
        *[np.where(tile.stored, 4, 0)] * each,
    ]
    colours = [""] * 5
    for kind, colour in ((NO_CELL, FAINT), (WRONG, ORANGE), (RIGHT, SKY), (3, LINE), (4, BLUE)):
        colours[kind] = colour
    axes.imshow(
        np.array(rows), aspect="auto", cmap=ListedColormap(colours), vmin=0, vmax=4,
        interpolation="nearest", extent=(0, cells, len(rows), 0),
    )  # fmt: skip
    ticks, labels = [each / 2, len(rows) - each / 2], ["loaded", "stored"]
    if len(tile.steps) > 1:
        ticks.insert(1, len(rows) / 2)
        labels.insert(1, f"{len(tile.steps) - 1} steps")
    axes.set_yticks(ticks, labels)
    axes.tick_params(labelsize=SMALL, length=0, labelcolor=INK)
    axes.set_title(f"block {number}", fontsize=SMALL + 0.5, loc="left", color=INK, pad=2)
    for side in axes.spines.values():
        side.set_visible(False)
