"""The explorations by name: the one place that lists them, each imported when it is asked for."""

from __future__ import annotations

from typing import cast

from warpladder.lab.explore.exploration import Exploration
from warpladder.lab.registry import look_up

__all__ = ["EXPLORATIONS", "explorations", "find_exploration"]

#: Where each stands, as ``module:attribute``, by computation; within one in the order in which to
#: read them: what is right, what memory costs, what it is worth.
EXPLORATIONS = {
    name: f"warpladder.lab.explore.{computation}.{name.replace('-', '_')}:EXPLORATION"
    for computation, names in {
        "shortest_paths": (
            *("subproblems", "order", "barrier", "pitch", "columns", "versions", "next-hops"),
            *("multiples", "crossover", "growth", "cycles", "scaling"),
        ),
        "reduction": ("block-size",),
        "overlap_join": ("blocks", "updates", "concurrency"),
        "advection": ("diffusion", "schemes", "precision", "halo"),
    }.items()
    for name in names
}


def explorations() -> list[Exploration]:
    """Return every exploration, in the order in which to read them."""
    return [find_exploration(name) for name in EXPLORATIONS]


def find_exploration(name: str) -> Exploration:
    """Return the exploration of this name.

    Raises
    ------
    InputError
        There is none of this name; the message has the nearest.

    Examples
    --------
    >>> find_exploration("barriers")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: no exploration 'barriers'; did you mean barrier? ...
    """
    return cast("Exploration", look_up("exploration", name, EXPLORATIONS, "explore"))
