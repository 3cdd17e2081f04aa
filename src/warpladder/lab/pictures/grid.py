"""Grid, blocks and threads over data: which block has which element, and which thread of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    INK,
    LINE,
    ORANGE,
    SKY,
    SMALL,
    bare,
    box,
    canvas,
    caption,
)
from warpladder.lab.text import extent
from warpladder.simulator.checks.recorder import Access, LaunchRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Owners", "draw", "owners_of"]

_FILLS = ((BLUE, "white"), (SKY, INK), (ORANGE, INK), (FAINT, INK))
_ROW, _MOST_ROWS = 32, 24
_MOST_BLOCKS = 64


class Owners(NamedTuple):
    """Who touches which element of an array.

    Attributes
    ----------
    record, name, verb
        In which launch, which array, and how.
    shape
        Of the array.
    thread
        Linear index in the grid of the first thread that touches each element; -1 for none.
    """

    record: LaunchRecord
    name: str
    verb: str
    shape: tuple[int, ...]
    thread: NDArray[np.int64]


def owners_of(record: LaunchRecord) -> Owners:
    """Return who touches the array of global memory that most of is stored to, or else loaded.

    Raises
    ------
    InputError
        No array of one or two dimensions is touched.
    """
    found: dict[tuple[str, str], Owners] = {}
    for event in record.events:
        if not isinstance(event, Access) or event.array.space != "global":
            continue
        array = event.array
        if not 1 <= len(array.shape) <= 2 or 0 in array.shape:
            continue
        verb = "loads" if event.verb == "load" else "stores"
        key = (verb, array.name)
        if key not in found or found[key].shape != array.shape:
            nobody = np.full(array.shape, -1, dtype=np.int64)
            found[key] = Owners(record, array.name, verb, array.shape, nobody)
        places = event.indices()
        # Written from the last on, so that the first of those who meet stays.
        fresh = found[key].thread[places] < 0
        chosen = tuple(part[fresh][::-1] for part in places)
        found[key].thread[chosen] = event.threads[fresh][::-1]
    if not found:
        raise InputError(f"{record.kernel} touches no array of one or two dimensions")

    most = max(int((one.thread >= 0).sum()) for one in found.values())
    # What a kernel stores says whose element it is; what it loads may be asked for by many.
    return max(
        (one for one in found.values() if 2 * int((one.thread >= 0).sum()) >= most),
        key=lambda one: (one.verb == "stores", int((one.thread >= 0).sum())),
    )


def draw(scene: Scene) -> Figure:
    """Draw the elements of an array, and in each the block and the thread that has it."""
    # The blocks of one launch, as many as there is room for.
    records = scene.recorded(blocks=_MOST_BLOCKS, spaces=("global",)).records
    owners = max(
        map(owners_of, records), key=lambda owners: int(np.count_nonzero(owners.thread >= 0))
    )
    geometry = owners.record.geometry
    table, is_line = _table(owners)
    rows, columns = table.shape
    cell = min(32 / columns, 1.9)
    per_block = geometry.threads_per_block
    figure = canvas(0.17 * rows * cell + 1.15)
    grid, block = (extent(size) for size in (geometry.grid, geometry.block))
    idle = per_block * owners.record.blocks - len(np.unique(owners.thread[owners.thread >= 0]))
    caption(
        figure,
        f"{scene.path}: {owners.record.kernel} on {grid} block{'s' * (geometry.blocks > 1)} "
        f"of {block} threads, n = {scene.n}",
        f"The elements of {owners.name}"
        + (", in rows of 32" if is_line else "")
        + f": each colour is a block, the number the thread that {owners.verb} it"
        + (", as threadIdx.x,y." if per_block != geometry.block[0] else ".")
        + (f" {idle:,} threads have none." if idle else ""),
    )
    axes = figure.subplots()
    bare(axes, -2.2, 32.2, -rows * cell - 0.3, 0.9)
    for (row, column), ident in np.ndenumerate(table):
        if ident == -2:
            continue
        x, y = column * cell, -(row + 1) * cell
        if ident < 0:
            box(axes, x, y, width=cell, height=cell, fill="white", edge=FAINT)
            continue
        number, rank = divmod(int(ident), per_block)
        fill, ink = _FILLS[_colour(number, geometry.grid[0])]
        wide = geometry.block[0]
        text = str(rank) if per_block == wide else f"{rank % wide},{rank // wide}"
        small = SMALL - 1.5 * (len(text) > 2 and cell < 1.5)
        box(
            axes, x, y, text if cell > 0.95 else "", width=cell, height=cell, fill=fill, ink=ink,
            edge="white", size=small, linewidth=0.6 if cell > 0.95 else 0.2,
        )  # fmt: skip
    for row in range(0, rows, max(1, round(1 / cell))):
        start = row * _ROW if is_line else row
        axes.text(
            -0.25, -(row + 0.5) * cell, str(start), fontsize=SMALL - 0.5, color=LINE, ha="right",
            va="center",
        )  # fmt: skip
    left_out = int(np.prod(owners.shape)) - int((table > -2).sum())
    if left_out:
        shown = int((table > -2).sum())
        text = f"the first {shown:,} of {shown + left_out:,} elements"
        axes.text(0, 0.45, text, color=LINE, fontsize=SMALL, va="center")
    return figure


def _colour(number: int, grid_width: int) -> int:
    """Return a block's colour: neighbours in a row of blocks, and below each other, differ."""
    row, column = divmod(number, grid_width)
    return (column % 2 + 2 * (row % 2)) if row or grid_width > 1 else 0


def _table(owners: Owners) -> tuple[NDArray[np.int64], bool]:
    """Return the part of the array that is drawn, and whether it is one line cut into rows."""
    if len(owners.shape) == 2 and owners.shape[0] > 1:
        return owners.thread[:_ROW, :_ROW], False
    line = owners.thread.reshape(-1)[: _ROW * _MOST_ROWS]
    full = np.full(-(-len(line) // _ROW) * _ROW, -2, dtype=np.int64)
    full[: len(line)] = line
    return full.reshape(-1, _ROW), True
