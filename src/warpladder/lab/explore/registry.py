"""The explorations by name: the one place that lists them, each imported when it is asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import cast

from warpladder.errors import InputError
from warpladder.lab.explore.exploration import Exploration

__all__ = ["EXPLORATIONS", "explorations", "find_exploration"]

#: In the order in which to read them: what is right, what memory costs, what it is worth.
EXPLORATIONS = (
    "order",
    "barrier",
    "pitch",
    "columns",
    "multiples",
    "crossover",
    "growth",
    "scaling",
)


def explorations() -> list[Exploration]:
    """Return every exploration, in the order in which to read them."""
    return [find_exploration(name) for name in EXPLORATIONS]


def find_exploration(name: str) -> Exploration:
    """Return the exploration of this name.

    Raises
    ------
    InputError
        There is none of this name; the message lists those there are.

    Examples
    --------
    >>> find_exploration("barriers")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: no exploration 'barriers'; did you mean barrier? They are: ...
    """
    if name not in EXPLORATIONS:
        close = get_close_matches(name, EXPLORATIONS, n=1)
        guess = f"; did you mean {close[0]}?" if close else "."
        raise InputError(f"no exploration {name!r}{guess} They are: {', '.join(EXPLORATIONS)}")
    module = import_module(f"warpladder.lab.explore.{name}")
    return cast("Exploration", module.EXPLORATION)
