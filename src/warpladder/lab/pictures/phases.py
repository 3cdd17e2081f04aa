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

__all__ = ["IDLE", "READ", "READ_BY_ONE", "WRITTEN", "WRITTEN_BY_ONE", "draw", "map_of"]

#: What happens to a cell: nothing, read, written; and the same by the one block picked out.
IDLE, READ, WRITTEN, READ_BY_ONE, WRITTEN_BY_ONE = range(5)
_NAVY = "#00324f"
_MOST_BLOCKS = 4096


def map_of(record: LaunchRecord) -> NDArray[np.int64]:
    """Return what a launch does to each cell of its matrix; one block is picked out.

    Raises
    ------
    InputError
        It stores to no matrix.
    """
    accesses = [
        event
        for event in record.events
        if isinstance(event, Access) and len(event.array.shape) == 2 and min(event.array.shape) > 1
    ]
    names = [event.array.name for event in accesses if event.verb == "store"]
    if not names:
        raise InputError(f"{record.kernel} stores to no matrix")
    name = max(set(names), key=names.count)
    own = [event for event in accesses if event.array.name == name]
    chosen = record.blocks - 1
    size = record.geometry.threads_per_block
    table = np.zeros(own[0].array.shape, dtype=np.int64)
    # Each class covers the ones before it.
    for verb, whole, of_one in (("load", READ, READ_BY_ONE), ("store", WRITTEN, WRITTEN_BY_ONE)):
        for kind in (whole, of_one):
            for event in own:
                if event.verb == verb:
                    part = event if kind == whole else event.of(chosen * size, (chosen + 1) * size)
                    if part is not None:
                        places = part.indices()
                        table[places] = np.maximum(table[places], kind)
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
    run = scene.recorded(n=n, blocks=_MOST_BLOCKS, spaces=("global",), after=1 if rounds > 1 else 0)
    records = run.records
    figure = canvas(5.3 / len(records) + 1.0)
    caption(
        figure,
        f"{scene.path}: the phases of a round, n = {n}",
        "The matrix, once for each launch: what its blocks write is blue, what they read besides "
        "is pale blue. Of one block it is dark and orange.",
    )
    panels = figure.subplots(1, len(records), squeeze=False)[0]
    for axes, record in zip(panels, records, strict=True):
        _draw_map(axes, record)
    return figure


def _draw_map(axes: Axes, record: LaunchRecord) -> None:
    from matplotlib.colors import ListedColormap

    table = map_of(record)
    colours = [""] * 5
    for kind, colour in (
        (IDLE, FAINT), (READ, SKY), (WRITTEN, BLUE), (READ_BY_ONE, ORANGE), (WRITTEN_BY_ONE, _NAVY),
    ):  # fmt: skip
        colours[kind] = colour
    rows, columns = table.shape
    axes.imshow(
        table, cmap=ListedColormap(colours), vmin=0, vmax=4, interpolation="nearest",
        extent=(0, columns, rows, 0),
    )  # fmt: skip
    tall, wide = (len(np.unique(part)) for part in np.nonzero(table == WRITTEN_BY_ONE))
    for lines, step, extent in ((axes.axvline, wide, columns), (axes.axhline, tall, rows)):
        for at in range(step, extent, step):
            lines(at, color="white", linewidth=0.8)
    axes.set_xticks([0, columns])
    axes.set_yticks([0, rows])
    axes.tick_params(labelsize=SMALL, length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    blocks = record.geometry.blocks
    axes.set_title(
        f"{record.kernel}\n{blocks} block{'s' * (blocks > 1)}, tiles of {tall} x {wide}",
        fontsize=SMALL + 0.5, color=INK,
    )  # fmt: skip
