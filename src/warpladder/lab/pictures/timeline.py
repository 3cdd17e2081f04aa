"""Pipelines on a time line: which copies and kernels run at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpladder.lab.pictures.queues import Queues, placed
from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    INK,
    LINE,
    ORANGE,
    SKY,
    SMALL,
    box,
    canvas,
    caption,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

_ENGINES = {"up": "copies in", "kernel": "kernels", "down": "copies out"}
_FILLS = {"up": (SKY, INK), "kernel": (BLUE, "white"), "down": (ORANGE, INK)}


def draw(scene: Scene) -> Figure:
    """Draw the three engines of a GPU, and when each is at work."""
    queues = Queues.of(scene)
    order = placed(queues.operations)
    end = max(one.end for one in order)
    total = sum(one.operation.size for one in order)
    figure = canvas(2.35)
    caption(
        figure,
        f"{scene.path}: what runs at the same time, n = {scene.n}",
        f"A box is an operation as the host code asked for it, the number its stream. It begins "
        f"when its stream, its engine and what the host waited for allow it. Its length is bytes, "
        f"not time: {total:,} bytes of work one after the other, {end:,} as they overlap here.",
    )
    axes = figure.subplots()
    for row, engine in enumerate(_ENGINES):
        y = -row - 1.0
        box(axes, 0, y + 0.08, width=end, height=0.84, fill=FAINT, edge="none")
        fill, ink = _FILLS[engine]
        for operation, begin, stop in order:
            if operation.engine == engine:
                box(
                    axes, begin, y + 0.08, str(operation.stream), width=stop - begin, height=0.84,
                    fill=fill, ink=ink, edge="white", size=SMALL + 1, linewidth=1,
                )  # fmt: skip
    axes.set_xlim(0, end)
    axes.set_ylim(-3, 0.02)
    axes.set_yticks([-0.5, -1.5, -2.5], list(_ENGINES.values()))
    axes.tick_params(axis="y", labelsize=SMALL + 1, length=0, labelcolor=INK)
    axes.tick_params(axis="x", labelsize=SMALL, length=2, color=LINE, labelcolor=LINE)
    axes.set_xlabel("bytes that have come this far", fontsize=SMALL, color=LINE)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure
