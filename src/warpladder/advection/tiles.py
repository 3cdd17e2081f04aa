"""A tile of cells in strips, and the many steps it takes while it stays in the cache.

A tile has ``lanes`` strips of ``length`` cells. Cell c lies in strip ``c // length`` at place
``c % length``, and cells at one place are neighbours in memory: one vector. Before the strips and
behind them there is a margin for the cells that neighbouring strips have there; shifted by one lane
they are the tile's own, so one copy fills it. The outer strips have no neighbour there: what they
are given means nothing, and with each step it reaches further into the tile. So tiles overlap by as
much as that is after all steps of a pass (the *halo*), and what is wrong is never kept.

Where the cells themselves end, the boundary decides instead. It changes few cells in the few steps
of a sweep: those within reach. They are worked out one by one, step by step, with their ghosts, and
take the place of what the sweep has made of them.
"""

from __future__ import annotations

import numpy as np
from numba import literally

from warpladder.advection.vectors import cell_at, group_of, reach_in, reach_of, sweep, weights_of
from warpladder.device.subroutines import subroutine

__all__ = ["COPY", "GIVEN", "PERIODIC", "margin_of", "tile_steps"]

#: What lies beyond an end, in compiled code.
COPY, GIVEN, PERIODIC = 0, 1, 2


def margin_of(code: int, lanes: int, depth: int) -> int:
    """Return how many vectors a tile needs before its strips, and behind them.

    They are for the cells of neighbouring strips, and for the rest of the last square of cells.
    """
    return max(depth * sum(reach_of(code)) + group_of(code), lanes)


# Rules are literals in compiled code, so that each is compiled by itself, and all functions are
# global: with compiled functions among the variables of a scope no process would find in the cache
# on disk what another one compiled.


@subroutine
def _next(place, lane, length):
    """Return where the next cell is; a division for each would take longer than the rest."""
    place += 1
    return (0, lane + 1) if place == length else (place, lane)


@subroutine
def _left_end(tile, strips, kind, values, weights, step, row, new, depth, lanes, code):
    """Return the row that has what the first cells are after a sweep, behind their ghosts."""
    (before, behind), (length, margin) = reach_in(literally(code)), strips
    seen = depth * (before + behind)
    place, lane = 0, 0
    for c in range(seen):
        row[before + c] = tile[(margin + place) * lanes + lane]
        place, lane = _next(place, lane, length)
    for level in range(depth):
        ghost = values[step + level] if kind == GIVEN else row[before]
        for g in range(before):
            row[g] = ghost
        for i in range(before, before + seen - (level + 1) * behind):
            new[i] = cell_at(row, i, weights, literally(code))
        row, new = new, row
    return row


@subroutine
def _right_end(tile, n, strips, kind, values, weights, step, row, new, depth, lanes, code):
    """Return the row that has what the last cells are after a sweep, before their ghosts."""
    (before, behind), (length, margin) = reach_in(literally(code)), strips
    seen = depth * (before + behind)
    place, lane = (n - seen) % length, (n - seen) // length
    for i in range(seen):
        row[i] = tile[(margin + place) * lanes + lane]
        place, lane = _next(place, lane, length)
    for level in range(depth):
        ghost = values[step + level] if kind == GIVEN else row[seen - 1]
        for g in range(behind):
            row[seen + g] = ghost
        for i in range((level + 1) * before, seen):
            new[i] = cell_at(row, i, weights, literally(code))
        row, new = new, row
    return row


@subroutine
def tile_steps(
    tile, n, strips, group, ends, kinds, given, weights, first, steps, at_once,
    code, lanes, depth,
):  # fmt: skip
    """Take steps of the cells of a tile, a multiple of ``at_once``: ``depth``, or one.

    The first n cells count; there are more than a boundary changes and depends on in a sweep.
    ``strips`` are their length and the margin; ``ends`` says whether the first of the cells is the
    first there is, and whether the last is the last.
    """
    weights_ = weights_of(weights, literally(code))
    (before, behind), (length, margin) = reach_in(literally(code)), strips
    at_left, at_right = ends
    lost_left, lost_right = at_once * before, at_once * behind
    seen = lost_left + lost_right
    row, last_row = np.empty((2, before + seen + behind), tile.dtype)
    new, last_new = np.empty((2, before + seen + behind), tile.dtype)
    firsts, lasts = row, last_row
    start, end = margin * lanes, (margin + length) * lanes
    begin = start - lost_left * lanes
    vectors = (lost_left + length + lost_right + group - 1) // group * group
    for step in range(first, first + steps, at_once):
        if at_left:
            firsts = _left_end(
                tile, strips, kinds[0], given[0], weights_, step, row, new,
                at_once, lanes, literally(code),
            )  # fmt: skip
        if at_right:
            lasts = _right_end(
                tile, n, strips, kinds[1], given[1], weights_, step, last_row, last_new,
                at_once, lanes, literally(code),
            )  # fmt: skip
        # One lane further: what a strip has before it is the end of the strip before.
        for i in range(begin, start):
            tile[i] = tile[i + length * lanes - 1]
        for i in range(end, end + lost_right * lanes):
            tile[i] = tile[i - length * lanes + 1]
        if at_once == 1:
            sweep(tile, begin, vectors, weights_, literally(code), literally(lanes), 1)
        else:
            sweep(
                tile, begin, vectors, weights_, literally(code), literally(lanes), literally(depth)
            )
        if at_left:
            place, lane = 0, 0
            for c in range(lost_left):
                tile[(margin + place) * lanes + lane] = firsts[before + c]
                place, lane = _next(place, lane, length)
        if at_right:
            place, lane = (n - lost_right) % length, (n - lost_right) // length
            for i in range(seen - lost_right, seen):
                tile[(margin + place) * lanes + lane] = lasts[i]
                place, lane = _next(place, lane, length)
