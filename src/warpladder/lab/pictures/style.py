"""What all pictures look like: flat, few colours, told apart by eyes of any kind and in grey.

The colours are Okabe and Ito's, which colour-blind people tell apart; those used side by side
differ in lightness, too. Sizes are chosen for a width of 600 pixels.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from warpladder.formats.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "FAINT",
    "GREY",
    "INK",
    "LINE",
    "ORANGE",
    "SKY",
    "SMALL",
    "TEXT",
    "WIDTH",
    "bare",
    "box",
    "canvas",
    "caption",
    "lane_row",
]

BLUE, ORANGE, SKY = "#0072b2", "#e69f00", "#9fd3f0"
INK, LINE, GREY, FAINT = "#222222", "#8c8c8c", "#c4c4c4", "#efefef"

#: Inches; points of text that is read and of text that stands in small boxes.
WIDTH = 6.0
TEXT, SMALL = 8.5, 6.5
#: Inches that matplotlib leaves above what stands at the top.
_PAD = 0.042
#: Characters of `TEXT` that fit into a picture's width, and of bold ones.
_LETTERS, _BOLD_LETTERS = 86, 74


def canvas(height: float) -> Figure:
    """Return an empty figure, as wide as all pictures."""
    return new_figure(WIDTH, height)


def bare(axes: Axes, left: float, right: float, bottom: float, top: float) -> None:
    """Take away the frame; leave room for what is drawn between these."""
    axes.set_axis_off()
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)


def caption(figure: Figure, heading: str, text: str) -> None:
    """Write above a picture what it shows, below that what is to be seen in it."""
    above = [
        line
        for part in heading.split("\n")
        for line in textwrap.wrap(part, _BOLD_LETTERS, break_on_hyphens=False)
    ]
    below = textwrap.wrap(text, _LETTERS, break_on_hyphens=False)
    options: dict[str, Any] = {
        "x": 0.012, "ha": "left", "va": "top", "fontsize": TEXT, "color": INK,
    }  # fmt: skip
    # The layout makes room for this one, which has empty lines where the other stands.
    figure.suptitle("\n".join([*("" for _ in above), *below]), **options)
    top = 1 - _PAD / figure.get_figheight()
    figure.text(s="\n".join(above), y=top, weight="bold", **options)


def box(
    axes: Axes,
    x: float,
    y: float,
    text: str = "",
    *,
    width: float = 1,
    height: float = 1,
    fill: str = "white",
    edge: str = LINE,
    ink: str = INK,
    size: float = SMALL,
    **options: Any,
) -> None:
    """Draw a rectangle from its lower left corner, with a word in it."""
    from matplotlib.patches import Rectangle

    options = {"linewidth": 0.6} | options
    drawn: list[Artist] = [
        axes.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, **options))
    ]
    if text:
        drawn.append(
            axes.text(
                x + width / 2, y + height / 2, text, ha="center", va="center_baseline",
                fontsize=size, color=ink, zorder=options.get("zorder", 1) + 0.1,
            )
        )  # fmt: skip
    for one in drawn:
        # It stands within the axes: to ask each of a thousand how far it reaches takes seconds.
        one.set_in_layout(False)


def lane_row(axes: Axes, y: float, active: set[int], height: float = 1) -> None:
    """Draw the 32 lanes of a warp side by side, one unit each, those at work filled."""
    for lane in range(32):
        at_work = lane in active
        box(
            axes, lane, y, str(lane), height=height,
            fill=BLUE if at_work else "white",
            edge="white" if at_work else GREY, ink="white" if at_work else LINE,
        )  # fmt: skip
