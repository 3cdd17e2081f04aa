"""Tiles and phases of blocked Floyd-Warshall: what each launch of a round reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.lab.launches import launched
from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import BLUE, FAINT, INK, ORANGE, SKY, SMALL, canvas, caption
from warpladder.simulator.checks.recorder import Access, LaunchRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["IDLE", "READ", "READ_BY_ONE", "WRITTEN", "WRITTEN_BY_ONE", "draw", "map_of", "side_of"]

#: What happens to a tile: nothing, read, written; and the same by the one block picked out.
IDLE, READ, WRITTEN, READ_BY_ONE, WRITTEN_BY_ONE = range(5)
_NAVY = "#00324f"
_MOST_BLOCKS = 4096


def _accesses(record: LaunchRecord) -> list[Access]:
    """Return what goes to the matrix that is written.

    Raises
    ------
    InputError
        No matrix is.
    """
    every = [
        event
        for event in record.events
        if isinstance(event, Access) and len(event.array.shape) == 2 and min(event.array.shape) > 1
    ]
    names = [event.array.name for event in every if event.verb == "store"]
    if not names:
        raise InputError(f"{record.kernel} stores to no matrix")
    return [event for event in every if event.array.name == max(set(names), key=names.count)]


def side_of(record: LaunchRecord) -> int:
    """Return the side of the square tile that one block of a launch writes all of."""
    rows: list[int] = []
    for event in _accesses(record):
        part = event.of(0, record.geometry.threads_per_block)
        if part is not None and event.verb == "store":
            rows += part.indices()[0].tolist()
    return max(rows) - min(rows) + 1


def map_of(record: LaunchRecord, side: int) -> NDArray[np.int64]:
    """Return what a launch does to each tile of its matrix; the last block is picked out.

    A tile is read or written where any of its cells is: some kernels write what got shorter only.
    """
    accesses = _accesses(record)
    size, chosen = record.geometry.threads_per_block, record.blocks - 1
    rows, columns = accesses[0].array.shape
    table = np.zeros((-(-rows // side), -(-columns // side)), dtype=np.int64)
    for event in accesses:
        is_load = event.verb == "load"
        for kind, part in (
            (READ if is_load else WRITTEN, event),
            (READ_BY_ONE if is_load else WRITTEN_BY_ONE,
             event.of(chosen * size, (chosen + 1) * size)),
        ):  # fmt: skip
            if part is not None:
                row, column = part.indices()
                # Each class covers the ones before it.
                np.maximum.at(table, (row // side, column // side), kind)
    return table


def _size(scene: Scene) -> int:
    """Return a size at which every kernel of the rung is launched."""
    if scene.asked_n is not None:
        return scene.asked_n
    wanted = {kernel.py_func.__name__ for kernel in scene.rung.kernels}
    n = scene.n
    while {one.kernel.py_func.__name__ for one in launched(scene.path, n)} != wanted:
        n *= 2
    return n


def draw(scene: Scene) -> Figure:
    """Draw the matrix once for each kernel of the second round, or the only one."""
    n = _size(scene)
    rounds = len(launched(scene.path, n)) // len(scene.rung.kernels)
    records = scene.recorded(
        n=n, blocks=_MOST_BLOCKS, spaces=("global",), after=1 if rounds > 1 else 0, counters=False
    ).records
    # The first phase has one block, which writes all of its tile.
    side = side_of(records[0])
    figure = canvas(5.3 / len(records) + 1.0)
    caption(
        figure,
        f"{scene.path}: the phases of a round, n = {n}",
        f"The matrix in tiles of {side} x {side}, once for each launch: what its blocks write is "
        "blue, what they read besides is pale blue. Of one block it is dark and orange.",
    )
    panels = figure.subplots(1, len(records), squeeze=False)[0]
    for axes, record in zip(panels, records, strict=True):
        _draw_map(axes, record, side)
    return figure


def _draw_map(axes: Axes, record: LaunchRecord, side: int) -> None:
    from matplotlib.colors import ListedColormap

    table = map_of(record, side)
    colours = [""] * 5
    for kind, colour in (
        (IDLE, FAINT), (READ, SKY), (WRITTEN, BLUE), (READ_BY_ONE, ORANGE), (WRITTEN_BY_ONE, _NAVY),
    ):  # fmt: skip
        colours[kind] = colour
    rows, columns = (side * count for count in table.shape)
    axes.imshow(
        table, cmap=ListedColormap(colours), vmin=0, vmax=4, interpolation="nearest",
        extent=(0, columns, rows, 0),
    )  # fmt: skip
    for lines, extent in ((axes.axvline, columns), (axes.axhline, rows)):
        for at in range(side, extent, side):
            lines(at, color="white", linewidth=0.8)
    axes.set_xticks([0, columns])
    axes.set_yticks([0, rows])
    axes.tick_params(labelsize=SMALL, length=0)
    for edge in axes.spines.values():
        edge.set_visible(False)
    blocks = record.geometry.blocks
    axes.set_title(
        f"{record.kernel}\n{blocks} block{'s' * (blocks > 1)}",
        fontsize=SMALL + 0.5, color=INK,
    )  # fmt: skip
