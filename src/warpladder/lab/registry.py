"""The ladders by name: the one place that lists them, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, cast

from warpladder.errors import InputError
from warpladder.rung import Ladder, Rung

__all__ = ["LADDERS", "find_ladder", "find_rung", "ladders", "look_up"]

#: Where each ladder stands, as ``module:attribute``, in the order in which to learn them.
LADDERS: dict[str, str] = {
    "primer": "warpladder.primer.ladder:LADDER",
    "reduction": "warpladder.reduction.ladder:LADDER",
    "advection": "warpladder.advection.ladder:LADDER",
    "overlap-join": "warpladder.overlap_join.ladder:LADDER",
    "shortest-paths": "warpladder.shortest_paths.ladder:LADDER",
}


def ladders() -> list[Ladder]:
    """Return every ladder, in the order in which to learn them."""
    return [find_ladder(name) for name in LADDERS]


def find_ladder(name: str) -> Ladder:
    """Return the ladder of this name.

    Raises
    ------
    InputError
        There is none of this name; the message lists those there are.

    Examples
    --------
    >>> find_ladder("prime")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: no ladder 'prime'; did you mean primer? The ladders: primer, ...
    """
    return cast("Ladder", look_up("ladder", name, LADDERS, "The ladders"))


def find_rung(path: str) -> tuple[Ladder, Rung]:
    """Return the rung called ``ladder/rung``, a wrong one too, and its ladder.

    Raises
    ------
    InputError
        There is no such ladder or rung, or the path is not of this form.

    Examples
    --------
    >>> find_rung("primer")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: 'primer' must be LADDER/RUNG; ...
    """
    ladder_name, slash, name = path.partition("/")
    if not slash:
        raise InputError(
            f"{path!r} must be LADDER/RUNG; `warpladder ladders` lists the rungs of every ladder"
        )
    ladder = find_ladder(ladder_name)
    rung = ladder.find(name)
    if rung is None:
        known = [rung.name for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))]
        raise InputError(_unknown("rung", name, known, f"The rungs of {ladder_name}"))
    return ladder, rung


def look_up(kind: str, name: str, places: Mapping[str, str], heading: str) -> Any:
    """Return what stands at the place listed for a name, as ``module:attribute``.

    Raises
    ------
    InputError
        Nothing is listed for it; the message lists those there are, behind ``heading``.
    """
    if name not in places:
        raise InputError(_unknown(kind, name, places, heading))
    module, attribute = places[name].split(":")
    return getattr(import_module(module), attribute)


def _unknown(kind: str, name: str, known: Iterable[str], heading: str) -> str:
    names = list(known)
    close = get_close_matches(name, names, n=1)
    guess = f"; did you mean {close[0]}?" if close else "."
    return f"no {kind} {name!r}{guess} {heading}: {', '.join(names)}"
