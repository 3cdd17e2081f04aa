"""Panels drawn side by side into a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpladder.formats.pictures import check_picture, new_figure, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from warpladder.lab.explore.exploration import Panel

__all__ = ["draw", "draw_panel"]

_COLOURS = ("#c8553d", "#588b8b", "#7d6b91", "#c9a227", "#444444", "#8fb339")
_GREY = "#777777"
_MARKERS = "osD^vP"
#: Lines of more points have no marker at each.
_MOST_MARKED = 50


def draw(panels: Sequence[Panel], path: Path, caption: str) -> None:
    """Draw panels side by side, whole or not at all.

    Parameters
    ----------
    panels
        At least one.
    path
        The picture; see `check_picture`.
    caption
        What stands above them all.

    Raises
    ------
    InputError, MissingExtraError
        As `check_picture`.
    """
    check_picture(path)
    figure = new_figure(6.4 * len(panels), 4.4)
    figure.suptitle(caption, fontsize=11)
    for place, panel in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), place)
        draw_panel(axes, panel)
    save_picture(figure, path)


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw one panel into axes of whatever figure."""
    if panel.categories:
        _bars(axes, panel)
    else:
        _curves(axes, panel)
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(visible=True, axis="y" if panel.categories else "both", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9)


def _curves(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if panel.log_base:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=panel.log_base)
    measured = "-" if panel.connected else "none"
    kinds = [[one for one in panel.series if one.model == is_model] for is_model in (False, True)]
    # A model of each series has its colour; one for all has none.
    shared = len(kinds[1]) < len(kinds[0])
    for is_model, kind in enumerate(kinds):
        for number, series in enumerate(kind):
            points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
            crowded = panel.connected and len(points) > _MOST_MARKED
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                marker="" if is_model or crowded else _MARKERS[number % len(_MARKERS)],
                linestyle="--" if is_model else measured,
                color=_GREY if is_model and shared else _COLOURS[number % len(_COLOURS)],
                # Where points fall together, the smaller ones do not hide the larger.
                markersize=5 if panel.connected else max(9 - 2 * number, 3),
                linewidth=1.3,
                label=series.name,
            )
    if panel.log_base:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif all(y is None or y >= 0 for series in panel.series for y in series.y):
        axes.set_ylim(bottom=0)


def _bars(axes: Axes, panel: Panel) -> None:
    width = 0.8 / len(panel.series)
    for number, series in enumerate(panel.series):
        shift = (number + 0.5) * width - 0.4
        axes.bar(
            [x + shift for x, y in zip(series.x, series.y, strict=True) if y is not None],
            [y for y in series.y if y is not None],
            width,
            color=_COLOURS[number % len(_COLOURS)],
            label=series.name,
        )
    axes.set_xticks(range(len(panel.categories)), panel.categories)
    # Room for a line of the legend for each series, above the bars.
    axes.margins(y=0.08 * (1 + len(panel.series)))
