"""Reduction trees step by step: which elements each step adds to which."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warpladder.errors import InputError
from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    SKY,
    SMALL,
    bare,
    box,
    canvas,
    caption,
)
from warpladder.simulator.checks.recorder import Access, Exchange, LaunchRecord
from warpladder.simulator.machine.program import Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Step", "draw", "needed_of", "steps_of"]

#: Threads of a block: 32 places side by side can be told apart.
THREADS = 32
#: From row to row, and where the labels end.
_ROW, _RIGHT = 2.3, 37.5

#: A place: an array's name, and the element; lanes of a warp that keep a value are one, too.
Place = tuple[str, int]
_KEPT = "registers"


@dataclass(frozen=True, slots=True)
class Step:
    """One line, executed once by a block: what goes where.

    Attributes
    ----------
    site
        The line.
    moves
        Of each place that gets a value: the places of which it was made.
    is_fresh
        Whether what registers kept before is forgotten.
    """

    site: Site
    moves: dict[Place, tuple[Place, ...]]
    is_fresh: bool = False

    @property
    def target(self) -> str:
        """The array that gets values."""
        return next(iter(self.moves))[0]


def steps_of(record: LaunchRecord) -> list[Step]:
    """Return the stores and shuffles of the first block, each with what went into it.

    That is what a thread has loaded since it stored last, or else what it keeps in a register. A
    shuffle gives a lane what another one keeps, which is taken to be added to its own. The last
    step stores the block's result: to global memory from which nothing was loaded.
    """
    size = record.geometry.threads_per_block
    loaded: dict[int, list[Place]] = {}
    names: set[str] = set()
    has_kept = False
    site_of_load = Site("", 0)
    steps: list[Step] = []
    for event in record.events:
        threads = event.threads[: np.searchsorted(event.threads, size)].tolist()
        if isinstance(event, Exchange) and event.sources is not None:
            has_kept = True
            kept = {(_KEPT, thread): tuple(dict.fromkeys(loaded[thread])) for thread in loaded}
            steps.append(Step(site_of_load, kept, is_fresh=True))
            loaded.clear()
            steps.append(Step(event.site, _moves_of_shuffle(threads, event.sources.tolist())))
        elif isinstance(event, Access) and event.array.space in ("global", "shared"):
            places = _places(event, len(threads))
            if event.verb == "load":
                site_of_load = event.site
                names.add(event.array.name)
                for thread, own in zip(threads, places, strict=True):
                    loaded.setdefault(thread, []).extend(own)
            else:
                moves: dict[Place, tuple[Place, ...]] = {}
                for thread, own in zip(threads, places, strict=True):
                    kept_by = [(_KEPT, thread)] if has_kept else []
                    sources = tuple(dict.fromkeys(loaded.pop(thread, kept_by)))
                    moves.update(dict.fromkeys(own, sources))
                steps.append(Step(event.site, moves))
                if event.array.space == "global" and event.array.name not in names:
                    break
    return [step for step in steps if step.moves]


def _places(access: Access, count: int) -> list[list[Place]]:
    """Return the elements that each thread goes to: several, where it loads many at once."""
    array = access.array
    first = array.first if array.space == "global" else 0
    step = min((abs(one) for one in array.strides if one), default=array.itemsize)
    each = max(array.itemsize // step, 1)
    return [
        [(array.name, (address - first) // step + k) for k in range(each)]
        for address in access.addresses[:count].tolist()
    ]


def _moves_of_shuffle(threads: list[int], sources: list[int]) -> dict[Place, tuple[Place, ...]]:
    """Return what goes where; a lane that asks beyond its warp keeps its own."""
    return {
        (_KEPT, thread): ((_KEPT, thread), (_KEPT, thread // 32 * 32 + source))
        for thread, source in zip(threads, sources, strict=False)
        if 0 <= source < 32 and source != thread % 32
    }


def needed_of(steps: list[Step]) -> list[set[Place]]:
    """Return, after each step, the places on whose values the last step's result depends."""
    alive = set(steps[-1].moves)
    found: list[set[Place]] = []
    for step in reversed(steps):
        found.append(alive)
        made = alive & set(step.moves)
        kept = {place for place in alive - made if not (step.is_fresh and place[0] == _KEPT)}
        alive = kept | {source for place in made for source in step.moves[place]}
    return found[::-1]


def draw(scene: Scene) -> Figure:
    """Draw what a block of 32 threads does to its part of the data, a row for each step."""
    if "threads" not in inspect.signature(scene.rung.run).parameters:
        raise InputError(f"{scene.path} has blocks of one size alone; its tree cannot be drawn")
    n = 2 * THREADS
    if scene.asked_n not in {None, n}:
        raise InputError(
            f"n={scene.asked_n}: a tree is drawn of {n} numbers on blocks of {THREADS} threads; "
            "leave --n out, or ask for another --kind"
        )
    record = scene.recorded(n=n, blocks=1, threads=THREADS).records[0]
    steps = steps_of(record)
    if not steps:
        raise InputError(f"{scene.path}: {record.kernel} stores nothing")
    figure = canvas(0.19 * (_ROW * len(steps) + 1.6) + 0.75)
    caption(
        figure,
        f"{scene.path}: the tree of a block, n = {n} on blocks of {THREADS} threads",
        "Above are the places that were read; each row below is a line, run once: lines show what "
        "went into what. The sum depends on the dark places; pale ones are written for nothing.",
    )
    axes = figure.subplots()
    bare(axes, -0.2, _RIGHT, -_ROW * len(steps) - 0.1, 1.1)
    _draw_steps(axes, steps)
    return figure


def _draw_steps(axes: Axes, steps: list[Step]) -> None:
    needed = needed_of(steps)
    sources = {source for places in steps[0].moves.values() for source in places}
    live = {source for place in needed[0] & set(steps[0].moves) for source in steps[0].moves[place]}
    width = _row(axes, 0.0, sources, live)
    _label(axes, 0.0, ", ".join(sorted({name for name, _ in sources})), "")
    for number, (step, made) in enumerate(zip(steps, needed, strict=True)):
        above, y = -_ROW * number, -_ROW * (number + 1)
        own = _row(axes, y, set(step.moves), {one for one in made if one[0] == step.target})
        for place, places in step.moves.items():
            for _, source in places:
                if source < 32 * width:
                    is_needed = place in made
                    axes.plot(
                        [(source + 0.5) / width, (place[1] + 0.5) / own], [above, y + 1.0],
                        color=INK if is_needed else GREY, zorder=0.6 if is_needed else 0.5,
                        linewidth=0.8 if is_needed else 0.5,
                    )  # fmt: skip
        _label(axes, y, step.target, f"line {step.site.line}")
        width = own


def _label(axes: Axes, y: float, name: str, line: str) -> None:
    text = "\n".join(part for part in (name, line) if part)
    axes.text(32.4, y + 0.5, text, fontsize=SMALL - 0.5, va="center", color=INK, linespacing=1.05)


def _row(axes: Axes, y: float, written: set[Place], needed: set[Place]) -> float:
    """Draw a row of places; return how many of them stand in the width of a lane."""
    at_hand, dark = ({at for _, at in places} for places in (written, needed))
    width = max(1, -(-(max(at_hand | dark) + 1) // 32))
    for at in range(32 * width):
        is_dark = at in dark
        fill = BLUE if is_dark else SKY if at in at_hand else FAINT
        ink = "white" if is_dark else INK if at in at_hand else GREY
        box(
            axes, at / width, y, str(at) if at % width == 0 and width <= 2 else "",
            width=1 / width, fill=fill, ink=ink, edge="white",
            size=SMALL if width == 1 else SMALL - 2,
        )  # fmt: skip
    return width
