"""How a block is cut into warps: 32 threads that follow each other, along x first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    ORANGE,
    SKY,
    SMALL,
    bare,
    box,
    canvas,
    caption,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from warpladder.simulator.machine.lanes import Geometry

__all__ = ["draw", "lane_of"]

_FILLS = ((BLUE, "white"), (SKY, INK), (ORANGE, INK), (FAINT, INK))
_MOST_WARPS = 8
_MOST_ROWS = 8


def lane_of(geometry: Geometry, x: int, y: int) -> tuple[int, int]:
    """Return the warp and the lane of thread (x, y) of a block."""
    return divmod(y * geometry.block[0] + x, 32)


def draw(scene: Scene) -> Figure:
    """Draw the block of the rung's first launch, as it is written and as it is run."""
    record = max(scene.run.records, key=lambda record: record.geometry.threads_per_block)
    geometry = record.geometry
    _, depth, layers = geometry.block
    warps = geometry.warps_per_block
    is_flat = depth * layers == 1
    rows = min(warps, _MOST_WARPS)
    block_rows = 0 if is_flat else min(depth * layers, _MOST_ROWS)
    heights = [block_rows + 2.0] * (not is_flat) + [rows + 2.0]
    figure = canvas(0.19 * sum(heights) + 0.6)
    extents = " x ".join(str(extent) for extent in geometry.block[: 1 if is_flat else 2])
    idle = 32 * warps - geometry.threads_per_block
    caption(
        figure,
        f"{scene.path}: a block of {record.kernel} has {extents} threads, "
        f"{'1 warp' if warps == 1 else f'{warps} warps'}",
        "Threads are numbered along x first; 32 that follow each other make a warp. "
        + (f"{idle} lanes of the last warp have no thread." if idle else "No lane stays empty."),
    )
    panels = figure.subplots(
        len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
    )[:, 0]
    if not is_flat:
        _draw_block(panels[0], geometry, block_rows)
    _draw_warps(panels[-1], geometry, rows)
    return figure


def _draw_block(axes: Axes, geometry: Geometry, rows: int) -> None:
    """Draw the threads where the block has them: x to the right, y downwards."""
    width, depth = geometry.block[0], geometry.block[1] * geometry.block[2]
    bare(axes, -2.6, 32.3, -rows - 0.9, 1.1)
    columns = min(width, 32)
    cell = min(32 / columns, 3.0)
    axes.text(0, 0.6, "the block, as the kernel has it", fontsize=SMALL + 1, color=INK, va="center")
    for row in range(rows):
        axes.text(-0.3, -row - 0.5, f"y = {row}", fontsize=SMALL, ha="right", va="center")
        for x in range(columns):
            warp, _ = lane_of(geometry, x, row)
            fill, ink = _FILLS[warp % len(_FILLS)]
            text = f"{x},{row}" if cell >= 1.9 else str(x)
            box(axes, x * cell, -row - 1, text, width=cell, fill=fill, ink=ink, edge="white")
    if depth > rows or width > columns:
        axes.text(0, -rows - 0.5, "\u2026", fontsize=SMALL + 2, color=INK, va="center")


def _draw_warps(axes: Axes, geometry: Geometry, rows: int) -> None:
    """Draw the warps below each other, with the threads that are in them."""
    bare(axes, -2.6, 32.3, -rows - 0.9, 1.1)
    width, depth, layers = geometry.block
    axes.text(0, 0.6, "the warps, as they run", fontsize=SMALL + 1, color=INK, va="center")
    for row in range(rows):
        # Of many warps the first ones and the last.
        more = geometry.warps_per_block - rows
        warp = row if row < rows - 1 or not more else geometry.warps_per_block - 1
        fill, ink = _FILLS[warp % len(_FILLS)]
        axes.text(-0.3, -row - 0.5, f"warp {warp}", fontsize=SMALL, ha="right", va="center")
        for lane in range(32):
            rank = 32 * warp + lane
            if rank >= geometry.threads_per_block:
                box(axes, lane, -row - 1, fill="white", edge=GREY, linestyle=":")
                continue
            text = str(rank) if depth * layers == 1 else f"{rank % width},{rank // width}"
            size = SMALL if len(text) < 4 else SMALL - 1.5
            box(axes, lane, -row - 1, text, fill=fill, ink=ink, edge="white", size=size)
    if geometry.warps_per_block > rows:
        skipped = geometry.warps_per_block - rows
        axes.text(
            0, -rows - 0.5, f"{skipped} warps between the last two are left out", fontsize=SMALL,
            va="center", color=INK,
        )  # fmt: skip
