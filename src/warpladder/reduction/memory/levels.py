"""How rows lie that are no regular matrix: side by side in groups, these in groups of groups."""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import Any, NamedTuple

from warpladder.device.subroutines import subroutine
from warpladder.device.words import read_at

__all__ = [
    "LEVEL_WORDS",
    "MOST_LEVELS",
    "Levels",
    "Panels",
    "levels_of",
    "place_of_row",
    "rows_of",
    "words_of",
]

Levels = tuple[tuple[int, int], ...]
"""How many rows there are side by side, or groups of them, and how many elements apart each begins:
the rows last."""


class Panels(NamedTuple):
    """Rows that lie across: panels lie like rows, each of ``side`` rows in lines so far apart.

    Neighbours in a line are ``step`` elements apart.
    """

    levels: Levels
    side: int
    pitch: int
    step: int = 1


MOST_LEVELS = 3
"""Groups in groups, rows the last of them."""

LEVEL_WORDS = 2 * MOST_LEVELS
"""Words in which levels stand for compiled code: the rows first."""


def levels_of(sides: tuple[int, ...], steps: tuple[int, ...], itemsize: int) -> Levels | None:
    """Return how rows lie that are so many, and so many bytes apart, along some axes.

    It is None where they lie otherwise than they are taken.

    Examples
    --------
    >>> levels_of((2, 3, 4), (400, 100, 8), 4), levels_of((2, 3, 4), (96, 32, 8), 4)
    (((2, 100), (3, 25), (4, 2)), ((24, 2),))
    """
    levels: list[tuple[int, int]] = []
    for side, step in zip(sides, steps, strict=True):
        if step % itemsize or (step <= 0 and side > 1):
            return None
        if levels and levels[-1][1] == side * step // itemsize:
            levels[-1] = levels[-1][0] * side, step // itemsize
        elif side > 1:
            levels.append((side, step // itemsize))
    return tuple(levels) if 0 < len(levels) <= MOST_LEVELS else None


def rows_of(levels: Levels) -> int:
    """Return how many rows there are."""
    return prod(side for side, _ in levels)


def words_of(levels: Levels) -> list[int]:
    """Return levels as they stand for compiled code.

    Examples
    --------
    >>> words_of(((2, 100), (3, 25)))
    [3, 25, 2, 100, 1, 0]
    """
    return [*chain.from_iterable(reversed(levels)), *[1, 0] * (MOST_LEVELS - len(levels))]


@subroutine
def place_of_row(levels: Any, row: Any) -> Any:
    """Return how many elements behind the first row another begins; levels are at an address."""
    place = 0
    for level in range(MOST_LEVELS):
        side, pitch = read_at(levels, 2 * level), read_at(levels, 2 * level + 1)
        place += row % side * pitch
        row //= side
    return place
