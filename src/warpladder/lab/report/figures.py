"""Plots as SVG that stand in a page: they take its colours, in the light and in the dark."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.formats.pictures import new_figure
from warpladder.lab.explore.exploration import Panel, Series
from warpladder.lab.explore.plot import draw_panel
from warpladder.lab.recorded import common_size
from warpladder.lab.text import three_digits

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Plot", "climb_plot", "evidence_plot", "panel_plot"]

#: Inches; 360 units of the drawing, so that a phone shows letters in their own size.
_WIDTH = 5.0
_LINE = 0.27
#: Colours of a drawing that follow the page instead. matplotlib writes black text without a colour.
_FROM_THE_PAGE = {
    "#000000": "var(--ink)",
    "#444444": "var(--quiet)",
    "#777777": "var(--quiet)",
    "#dddddd": "var(--line)",
    "#cccccc": "var(--line)",
    "#ffffff": "var(--ground)",
}
_ORANGE, _TEAL, _VIOLET, _GOLD = "#c8553d", "#588b8b", "#7d6b91", "#c9a227"


class Plot(NamedTuple):
    """A drawing as SVG, what it shows in words for who cannot see it, and its caption."""

    svg: Markup
    alt: str
    caption: str


def panel_plot(document: Mapping[str, Any], number: int) -> Plot:
    """Return a panel of an exploration; ``number`` tells drawings of a page apart."""
    series = tuple(
        Series(one["name"], tuple(one["x"]), tuple(one["y"]), one["model"])
        for one in document["series"]
    )
    panel = Panel(**{**document, "series": series, "categories": tuple(document["categories"])})
    figure = new_figure(_WIDTH, 3.6)
    axes = figure.add_subplot()
    draw_panel(axes, panel)
    # It is the caption, which a narrow screen can break.
    axes.set_title("", loc="left")
    names = ", ".join(one.name for one in series)
    alt = f"{panel.title}: {panel.y_label} against {panel.x_label}; {names}."
    return Plot(_svg(figure, number), alt, panel.title)


def climb_plot(
    times: Sequence[tuple[str, int, float]],
    where: str,
    number: int,
    tasks: Mapping[str, str] | None = None,
) -> Plot | None:
    """Return the climb: the time of each rung at the size at which most were timed.

    Parameters
    ----------
    times
        The name of a rung, the size, seconds; in the order of the ladder.
    where
        On what, with which date: the end of the caption.
    number
        Tells drawings of a page apart.
    tasks
        What each rung computes: a line joins neighbours that compute the same. By default all do.

    Returns
    -------
    None where fewer than two rungs were timed at one size.
    """
    n = common_size(size for _, size, _ in times)
    chosen = [(name, seconds) for name, size, seconds in times if size == n]
    if len(chosen) < 2:
        return None
    figure = new_figure(_WIDTH, 1.0 + _LINE * len(chosen))
    axes = figure.add_subplot()
    places = range(len(chosen))
    for _, alike in groupby(places, lambda place: (tasks or {}).get(chosen[place][0])):
        joined = list(alike)
        line = [1e3 * chosen[place][1] for place in joined]
        axes.plot(line, joined, color="#cccccc", lw=1, zorder=1)
    axes.scatter([1e3 * seconds for _, seconds in chosen], places, s=36, color=_ORANGE, zorder=2)
    axes.set_xscale("log")
    axes.set_xlabel("kernels, ms (left is faster)", fontsize=10)
    _rows(axes, [name for name, _ in chosen])
    slowest, fastest = (pick(chosen, key=lambda one: one[1]) for pick in (max, min))
    alt = (
        f"Times of {len(chosen)} rungs for n = {n:,} on a logarithmic axis: the slowest is "
        f"{slowest[0]} with {three_digits(1e3 * slowest[1])} ms, the fastest {fastest[0]} with "
        f"{three_digits(1e3 * fastest[1])} ms. All of them stand in the table."
    )
    return Plot(_svg(figure, number), alt, f"Kernels of each rung for n = {n:,}: {where}.")


def evidence_plot(rungs: Sequence[Mapping[str, Any]], number: int) -> Plot | None:
    """Return what share of a GPU's work each rung puts to use, as counted; None where none was."""
    counted = [
        (rung["rung"], _shares(rung["explained"]))
        for rung in rungs
        if rung["explained"] and any(kernel["launches"] for kernel in rung["explained"]["kernels"])
    ]
    if not counted:
        return None
    figure = new_figure(_WIDTH, 1.5 + _LINE * len(counted))
    axes = figure.add_subplot()
    styles = zip(_SHARES, "osD^", (_ORANGE, _TEAL, _VIOLET, _GOLD), (64, 40, 22, 14), strict=True)
    for key, marker, colour, area in styles:
        seen = [place for place, (_, one) in enumerate(counted) if not math.isnan(one[key])]
        shares = [counted[place][1][key] for place in seen]
        axes.scatter(shares, seen, s=area, marker=marker, color=colour, label=key)
    axes.set_xlim(-3, 103)
    axes.set_xlabel("percent; right is best", fontsize=10)
    _rows(axes, [name for name, _ in counted])
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=10)
    told = "; ".join(f"{name} {_lowest(shares)}" for name, shares in counted)
    alt = f"The least of these shares for each rung: {told}."
    return Plot(_svg(figure, number), alt, "What of its work each rung puts to use, as counted.")


_SHARES = ("bytes moved", "threads of a warp", "uniform branches", "passes without conflict")


def _shares(explained: Mapping[str, Any]) -> dict[str, float]:
    """Return percentages over all kernels of a rung; NaN where there was nothing to count."""
    total: Counter[str] = Counter()
    for kernel in explained["kernels"]:
        total.update(kernel["counters"])

    def percent(part: float, whole: float) -> float:
        return 100 * part / whole if whole else math.nan

    sectors = total["global_load_sectors"] + total["global_store_sectors"]
    wavefronts = total["shared_load_wavefronts"] + total["shared_store_wavefronts"]
    ideal = total["shared_load_ideal_wavefronts"] + total["shared_store_ideal_wavefronts"]
    shares = (
        percent(total["global_load_bytes"] + total["global_store_bytes"], 32 * sectors),
        percent(total["thread_instructions"], 32 * total["warp_instructions"]),
        percent(total["uniform_branches"], total["branches"]),
        percent(ideal, wavefronts),
    )
    return dict(zip(_SHARES, shares, strict=True))


def _lowest(shares: Mapping[str, float]) -> str:
    known = {name: share for name, share in shares.items() if not math.isnan(share)}
    name = min(known, key=lambda key: known[key])
    return f"{known[name]:.0f} % ({name})"


def _rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the places 0, 1, 2, ... from the top, with a line for the eye along each."""
    axes.set_yticks(range(len(names)), names, fontsize=10)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=True, axis="both", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=10)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _svg(figure: Figure, number: int) -> Markup:
    """Return the drawing as an element of HTML, with names of its own and the page's colours."""
    from markupsafe import Markup
    from matplotlib import rc_context

    written = io.StringIO()
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    # Letters stay letters; names within the drawing are the same each time.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "report"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    svg = written.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="d{number}-', svg)
    svg = re.sub(r'xlink:href="#', f'href="#d{number}-', svg)
    svg = re.sub(r"url\(#", f"url(#d{number}-", svg)
    for colour, named in _FROM_THE_PAGE.items():
        svg = svg.replace(colour, named)
    svg = svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
    return Markup(svg)  # noqa: S704 - matplotlib escapes what is written into a drawing
