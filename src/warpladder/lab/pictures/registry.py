"""The kinds of pictures: the one place that lists them, and says which of them a rung has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from warpladder.errors import InputError
from warpladder.lab.registry import find_rung
from warpladder.rung import Ladder, Rung

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "Kind", "draw_picture", "favourite_of", "kinds_of"]


class Kind(NamedTuple):
    """A kind of picture.

    Attributes
    ----------
    name, shows
        What it is called, and what is to be seen, in one line.
    module
        Where ``draw(scene)`` stands.
    has
        Whether a rung of a ladder, one with kernels, can be drawn so.
    favourites
        How the paths of rungs begin whose picture this is unless another is asked for.
    """

    name: str
    shows: str
    module: str
    has: Callable[[Ladder, Rung], bool]
    favourites: tuple[str, ...] = ()


def _always(ladder: Ladder, rung: Rung) -> bool:
    del ladder, rung
    return True


def _adds_in_blocks(ladder: Ladder, rung: Rung) -> bool:
    return ladder.name == "reduction" and "threads" in inspect.signature(rung.run).parameters


#: Kernels of a round of blocked Floyd-Warshall, at the least: diagonal, panels, rest.
_PHASES = 3

#: The first whose favourite a rung is is drawn; where there is none, lanes are.
KINDS: tuple[Kind, ...] = (
    Kind(
        "lanes",
        "which lane of a warp touches which sector or bank in a line of the kernel",
        "warpladder.lab.pictures.lanes",
        _always,
    ),
    Kind(
        "divergence",
        "the lanes at work over a warp's life, and in which line",
        "warpladder.lab.pictures.divergence",
        _always,
        ("primer/divergence", "overlap-join/unrolled", "overlap-join/upper-triangle"),
    ),
    Kind(
        "warps",
        "how a block is cut into warps",
        "warpladder.lab.pictures.warps",
        _always,
        ("primer/matrix-add-warp-rows",),
    ),
    Kind(
        "grid",
        "grid, blocks and threads over data",
        "warpladder.lab.pictures.grid",
        _always,
        ("primer/vector-add", "primer/matrix-add", "reduction/grid-stride"),
    ),
    Kind(
        "memory",
        "the memory hierarchy, and what is moved at each level",
        "warpladder.lab.pictures.hierarchy",
        _always,
        ("primer/local-array", "primer/registers", "primer/constant"),
    ),
    Kind(
        "layout",
        "records in memory, as an array of structures or a structure of arrays",
        "warpladder.lab.pictures.layout",
        lambda ladder, rung: ladder.name == "primer" and rung.name.startswith("translation"),
        ("primer/translation",),
    ),
    Kind(
        "timeline",
        "which copies and kernels run at the same time",
        "warpladder.lab.pictures.timeline",
        lambda _, rung: rung.bound.by == "pcie",
        ("primer/pipeline",),
    ),
    Kind(
        "tree",
        "the reduction tree of a block, step by step",
        "warpladder.lab.pictures.tree",
        _adds_in_blocks,
        ("reduction/",),
    ),
    Kind(
        "phases",
        "the tiles and phases of blocked Floyd-Warshall",
        "warpladder.lab.pictures.phases",
        lambda ladder, rung: ladder.name == "shortest-paths" and len(rung.kernels) >= _PHASES,
        (
            "shortest-paths/blocked",
            "shortest-paths/register-tiles",
            "shortest-paths/overlapped",
            "shortest-paths/half-tiles",
        ),
    ),
    Kind(
        "halo",
        "halos, and many steps on a tile",
        "warpladder.lab.pictures.halo",
        lambda ladder, _: ladder.name == "advection",
        ("advection/",),
    ),
    Kind(
        "counters",
        "what a row of the join adds to the counters of the others, and its signature",
        "warpladder.lab.pictures.counters",
        lambda _, rung: rung.name in {"inverted-index", "signatures"},
        ("overlap-join/inverted-index", "overlap-join/signatures"),
    ),
)


def kinds_of(ladder: Ladder, rung: Rung) -> list[Kind]:
    """Return the kinds of pictures that a rung has; none where it has no kernel to be recorded."""
    if rung.on != "device" or not rung.kernels:
        return []
    return [kind for kind in KINDS if kind.has(ladder, rung)]


def favourite_of(ladder: Ladder, rung: Rung) -> Kind:
    """Return the kind that fits a rung best.

    Raises
    ------
    InputError
        The rung has no kernel to be recorded.
    """
    kinds = kinds_of(ladder, rung)
    path = f"{ladder.name}/{rung.name}"
    if not kinds:
        known = {"cpu": "runs on the CPU", "gpu": "calls a library"}
        where = known.get(rung.on, "launches nothing")
        raise InputError(
            f"{path} {where} and has no kernel to be recorded; `warpladder ladders {ladder.name}` "
            "lists the rungs that have one"
        )
    favourites = [kind for kind in kinds if path.startswith(kind.favourites)]
    return favourites[0] if favourites else kinds[0]


def draw_picture(
    path: str, kind: str | None = None, *, n: int | None = None, line: int | None = None
) -> Figure:
    """Return a picture of a rung, drawn from a run of its kernels on the simulator.

    Parameters
    ----------
    path
        ``LADDER/RUNG``; a wrong rung, too.
    kind
        One of `kinds_of`; by default the one that fits the rung best, and lanes for a line.
    n
        Problem size, by default one that suits the rung.
    line
        Of the source: for lanes, by default the line with the most traffic.

    Raises
    ------
    InputError
        There is no such rung, it has no such picture, or nothing happens in that line.
    MissingExtraError
        matplotlib is not installed.

    Examples
    --------
    >>> draw_picture("primer/strided-access", "timeline")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: kind='timeline': primer/strided-access has lanes, divergence, ...
    """
    from warpladder.lab.pictures.scene import Scene

    ladder, rung = find_rung(path)
    chosen = favourite_of(ladder, rung)
    if kind is not None or line is not None:
        wanted, kinds = kind or "lanes", kinds_of(ladder, rung)
        named = [one for one in kinds if one.name == wanted]
        if not named:
            names = ", ".join(one.name for one in kinds)
            raise InputError(f"kind={wanted!r}: {path} has {names}")
        chosen = named[0]
    if line is not None and chosen.name != "lanes":
        raise InputError(f"line={line}: a picture of lanes takes a line, {chosen.name} does not")
    figure: Figure = import_module(chosen.module).draw(Scene(ladder, rung, n, line))
    return figure
