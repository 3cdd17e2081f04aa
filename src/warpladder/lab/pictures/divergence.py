"""Divergence in time: which lanes of a warp are active, instruction by instruction.

Threads that part at a branch take turns: while one side runs, the lanes of the other are idle. The
warp drawn is the one that idles most, of those recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warpladder.lab.pictures.scene import Scene, text_of
from warpladder.lab.pictures.style import BLUE, FAINT, INK, LINE, ORANGE, SMALL, canvas, caption
from warpladder.simulator.checks.recorder import LaunchRecord, Ran
from warpladder.simulator.machine.program import Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["Life", "draw", "idlest", "life_of"]

_MOST_LINES = 24
_TEXT_LETTERS = 42


@dataclass(frozen=True, slots=True)
class Life:
    """What a warp ran, instruction by instruction.

    Attributes
    ----------
    record, warp
        Of which launch, and its number in it.
    sites
        The line of each instruction.
    active
        Of each instruction, which of 32 lanes carried it out, shape (instructions, 32).
    lanes
        How many lanes have a thread.
    """

    record: LaunchRecord
    warp: int
    sites: list[Site]
    active: NDArray[np.bool_]
    lanes: int

    @property
    def threads_per_instruction(self) -> float:
        """Active lanes of an instruction on average."""
        return float(self.active.sum() / len(self.active))


def life_of(record: LaunchRecord, warp: int) -> Life:
    """Return what a warp ran."""
    first, last = record.warp(warp)
    sites: list[Site] = []
    rows: list[NDArray[np.bool_]] = []
    for event in record.events:
        if not isinstance(event, Ran):
            continue
        low, high = np.searchsorted(event.threads, (first, last))
        if low == high:
            continue
        row = np.zeros(32, dtype=bool)
        row[event.threads[low:high] - first] = True
        for site, number in event.instructions.items():
            sites += [site] * number
            rows += [row] * number
    active = np.array(rows, dtype=bool).reshape(-1, 32)
    return Life(record, warp, sites, active, last - first)


def idlest(records: list[LaunchRecord]) -> Life:
    """Return the life of the warp whose lanes wait most, of several the first."""
    best = (-1, records[0], 0)
    for record in records:
        tpb, per_block = record.geometry.threads_per_block, record.geometry.warps_per_block
        idle = np.zeros(record.warps, dtype=np.int64)
        spans = [record.warp(warp) for warp in range(record.warps)]
        sizes = np.array([last - first for first, last in spans])
        for event in record.events:
            if isinstance(event, Ran):
                block, rank = np.divmod(event.threads, tpb)
                active = np.bincount(block * per_block + rank // 32, minlength=record.warps)
                waits = np.where(active > 0, sizes - active, 0)
                idle += waits * sum(event.instructions.values())
        warp = int(idle.argmax())
        if idle[warp] > best[0]:
            best = (int(idle[warp]), record, warp)
    return life_of(best[1], best[2])


def draw(scene: Scene) -> Figure:
    """Draw the life of a warp: its lanes above, the lines of its kernel below."""
    life = idlest(scene.run.records)
    lines = _lines_shown(life)
    figure = canvas(1.9 + 0.165 * len(lines) + 0.5)
    block, warp = divmod(life.warp, life.record.geometry.warps_per_block)
    kept = " as far as it was recorded" if life.record.is_cut else ""
    caption(
        figure,
        f"{scene.path}: warp {warp} of block {block} of {life.record.kernel}, n = {scene.n}{kept}",
        f"{len(life.sites):,} instructions, on average {life.threads_per_instruction:.1f} of 32 "
        "lanes at work. Blue: all lanes that have a thread run the line; orange: some of them, the "
        "others wait.",
    )
    above, below = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [1.4, 0.165 * len(lines) + 0.1]}
    )
    _draw_lanes(above, life)
    _draw_lines(below, life, lines)
    return figure


def _lines_shown(life: Life) -> list[Site]:
    """Return the lines that were run, in order of the source; of many the most run."""
    runs: dict[Site, int] = {}
    for site in life.sites:
        runs[site] = runs.get(site, 0) + 1
    kept = sorted(runs, key=lambda site: -runs[site])[:_MOST_LINES]
    return sorted(kept)


def _shades(life: Life) -> NDArray[np.int64]:
    """Return for each instruction 2 where all threads of the warp run it, else 1."""
    return np.where(life.active.sum(axis=1) == life.lanes, 2, 1)


def _draw_lanes(axes: Axes, life: Life) -> None:
    from matplotlib.colors import ListedColormap

    image = np.where(life.active, _shades(life)[:, None], 0).T
    axes.imshow(
        image, aspect="auto", cmap=ListedColormap([FAINT, ORANGE, BLUE]), vmin=0, vmax=2,
        extent=(0, len(life.sites), 32, 0), interpolation="nearest",
    )  # fmt: skip
    axes.set_yticks([0.5, 7.5, 15.5, 23.5, 31.5], ["lane 0", "7", "15", "23", "31"])
    axes.tick_params(labelsize=SMALL, length=0, labelbottom=False)
    if len(life.sites) <= 120:
        axes.set_xticks(np.arange(len(life.sites) + 1), minor=True)
        axes.set_yticks(np.arange(33), minor=True)
        axes.grid(which="minor", color="white", linewidth=0.4)
        axes.tick_params(which="minor", length=0)
    _no_frame(axes)


def _draw_lines(axes: Axes, life: Life, lines: list[Site]) -> None:
    shades = _shades(life)
    numbers = {site: row for row, site in enumerate(lines)}
    rows = np.array([numbers.get(site, -1) for site in life.sites])
    for row in range(len(lines)):
        for shade, colour in ((1, ORANGE), (2, BLUE)):
            axes.broken_barh(
                _spans((rows == row) & (shades == shade)), (row + 0.12, 0.76), color=colour,
                linewidth=0,
            )  # fmt: skip
        axes.axhline(row + 1, color=FAINT, linewidth=0.8, zorder=0)
    labels = []
    for site in lines:
        text = text_of(site)
        if len(text) > _TEXT_LETTERS:
            text = text[: _TEXT_LETTERS - 1] + "\u2026"
        labels.append(f"{text}  {site.line}")
    axes.set_yticks([row + 0.5 for row in range(len(lines))], labels, family="monospace")
    axes.set_ylim(len(lines), 0)
    axes.set_xlim(0, len(life.sites))
    axes.tick_params(axis="y", labelsize=SMALL - 0.5, length=0, labelcolor=INK)
    axes.tick_params(axis="x", labelsize=SMALL, length=2, color=LINE)
    axes.set_xlabel("instructions of the warp, one after the other", fontsize=SMALL, color=LINE)
    _no_frame(axes)


def _spans(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where runs of chosen places begin, and how long they are."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False])).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    return [(int(begin), int(end - begin)) for begin, end in zip(begins, ends, strict=True)]


def _no_frame(axes: Axes) -> None:
    for side in axes.spines.values():
        side.set_visible(False)
