"""Rows that the first cache holds, or that take few steps: one step after the other.

A row is cut into as many strips as a vector has lanes, as a tile is (`tiles`), so that a step has
neighbours at hand as other vectors. Nothing is lost at the ends of strips, since each step takes
what lies there from the strips beside, and the row's own ghosts from wherever they are (`vectors`).
Strips are of one length, whatever the number of cells: where it does not divide them, some overlap
by a cell, which is worked out in both, alike.

A row that is too short for that is stepped as it lies, and so is one that takes so few steps that
the way into strips and out of them would take longer.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import literally

from warpladder.advection.tiles import COPY, GIVEN, PERIODIC
from warpladder.advection.vectors import (
    cell_at,
    edge_cells,
    reach_in,
    reach_of,
    step_strips,
    weights_of,
)
from warpladder.device.subroutines import subroutine

__all__ = [
    "AS_IT_LIES",
    "Strips",
    "from_strips",
    "into_strips",
    "step_row",
    "steps_in_strips",
    "strips_of",
]


class Strips(NamedTuple):
    """How a row is cut into strips.

    Attributes
    ----------
    length
        Cells of a strip.
    apart
        Cells from the first one of a strip to the first one of the next.
    farther
        The next one is a cell farther from each of so many strips, the first ones.
    """

    length: int
    apart: int
    farther: int


AS_IT_LIES = Strips(0, 0, 0)
"""A row that is not cut."""


def strips_of(n: int, code: int, lanes: int) -> Strips:
    """Return how a row of n cells is cut, so that strips see no farther than the ones beside.

    Examples
    --------
    >>> from warpladder.advection.vectors import code_of
    >>> strips_of(33, code_of((-1, 1)), 16)
    Strips(length=3, apart=2, farther=0)
    >>> strips_of(15, code_of((-1, 1)), 16) == AS_IT_LIES
    True
    """
    length = -(-n // lanes)
    apart, farther = divmod(n - length, lanes - 1)
    return Strips(length, apart, farther) if apart >= max(reach_of(code)) else AS_IT_LIES


@subroutine
def into_strips(row, tile, margin, strips, lanes):
    """Put the cells of a row where they belong, behind a margin of so many vectors."""
    length, apart, farther = strips
    cells = tile[margin * lanes : (margin + length) * lanes]
    for lane in range(lanes):
        first = lane * apart + min(lane, farther)
        strip = row[first : first + length]
        for place in range(length):
            cells[place * lanes + lane] = strip[place]


@subroutine
def from_strips(tile, margin, strips, row, lanes):
    """Put them back."""
    length, apart, farther = strips
    cells = tile[margin * lanes : (margin + length) * lanes]
    for lane in range(lanes):
        first = lane * apart + min(lane, farther)
        strip = row[first : first + length]
        for place in range(length):
            strip[place] = cells[place * lanes + lane]


@subroutine
def steps_in_strips(tile, margin, strips, kinds, given, weights, first, steps, code, lanes):
    """Take steps of a row in strips, in place."""
    weights_ = weights_of(weights, literally(code))
    left, right = kinds
    first_cell, last_cell = margin * lanes, (margin + strips[0]) * lanes - 1
    for step in range(first, first + steps):
        if left == GIVEN:
            lefts = edge_cells(given[0], step, 0, 0, literally(code))
        elif left == COPY:
            lefts = edge_cells(tile, first_cell, 0, 0, literally(code))
        else:
            lefts = edge_cells(tile, last_cell, -lanes, 0, literally(code))
        if right == GIVEN:
            rights = edge_cells(given[1], step, 0, 1, literally(code))
        elif right == COPY:
            rights = edge_cells(tile, last_cell, 0, 1, literally(code))
        else:
            rights = edge_cells(tile, first_cell, lanes, 1, literally(code))
        step_strips(
            tile, first_cell, strips, lefts, rights, weights_, literally(code), literally(lanes)
        )


@subroutine
def step_row(cells, new, n, kinds, given, weights, first, steps, code):
    """Take steps of a row of n cells between ghosts; return whether they end up in ``new``."""
    weights_ = weights_of(weights, literally(code))
    (before, behind), (left, right) = reach_in(literally(code)), kinds
    # A view, so that it is plain that no index is negative; else the loop is not made of vectors.
    inner, new_inner = cells[before : before + n], new[before : before + n]
    # A ghost is a copy of the same cell in every step, or given.
    left_source = before + n - 1 if left == PERIODIC else before
    right_source = before if right == PERIODIC else before + n - 1
    apart = 1 if left == PERIODIC else 0
    for step in range(first, first + steps):
        if left == GIVEN:
            for ghost in range(before):
                cells[ghost] = given[0][step]
        else:
            for ghost in range(before):
                cells[before - 1 - ghost] = cells[left_source - apart * ghost]
        if right == GIVEN:
            for ghost in range(behind):
                cells[before + n + ghost] = given[1][step]
        else:
            for ghost in range(behind):
                cells[before + n + ghost] = cells[right_source + apart * ghost]
        for i in range(n):
            new_inner[i] = cell_at(cells, before + i, weights_, literally(code))
        cells, new = new, cells
        inner, new_inner = new_inner, inner
    return steps % 2 == 1
