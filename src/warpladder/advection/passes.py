"""All steps of all systems, as one worker of a team: passes over tiles, or rows step by step."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import literally, njit

from warpladder.advection.rows import from_strips, into_strips, step_row, steps_in_strips
from warpladder.advection.tiles import PERIODIC, tile_steps
from warpladder.advection.vectors import reach_in, transpose
from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.subroutines import subroutine
from warpladder.device.team import barrier, enter, is_aborted, next_task, report_progress

__all__ = ["rows_advanced", "tiles_advanced"]


@subroutine
def _load(cells, s, periodic, tile, strips, square, lanes):
    """Bring cells from s on into a tile, square by square: a stretch of each strip at a time."""
    length, margin = strips
    n = len(cells)
    inside = s >= 0 and s + lanes * length + lanes <= n
    for p in range(0, length, lanes):
        for lane in range(lanes):
            c = s + lane * length + p
            row = square[lane * lanes : (lane + 1) * lanes]
            if inside:
                stretch = cells[c : c + lanes]
                for k in range(lanes):
                    row[k] = stretch[k]
            elif periodic:
                for k in range(lanes):
                    row[k] = cells[(c + k) % n]
            else:
                for k in range(lanes):
                    row[k] = cells[min(c + k, n - 1)]
        transpose(square, 0, tile, (margin + p) * lanes, literally(lanes))


@subroutine
def _store(tile, strips, s, first, last, cells, square, lanes):
    """Put those of a tile's cells that it answers for where they belong."""
    length, margin = strips
    for p in range(0, length, lanes):
        transpose(tile, (margin + p) * lanes, square, 0, literally(lanes))
        for lane in range(lanes):
            c = s + lane * length + p
            row = square[lane * lanes : (lane + 1) * lanes]
            if c >= first and c + lanes <= last and p + lanes <= length:
                stretch = cells[c : c + lanes]
                for k in range(lanes):
                    stretch[k] = row[k]
            else:
                for k in range(max(first - c, 0), min(lanes, length - p, last - c)):
                    cells[c + k] = row[k]


@subroutine
def _aligned(size, like, lanes):
    """Return zeros that begin where a vector does: one in two lines of the cache is slow."""
    room = np.zeros(size + lanes, like.dtype)
    begin = -(room.ctypes.data // room.itemsize) % lanes
    return room[begin : begin + size]


@subroutine
def _advance_tiles(
    state, worker, phi, x, y, rule, kinds, left, right, plan, steps, code, lanes, depth
):
    """Take all steps, as one worker of a team; a pass is a phase."""
    weights, group, margin = rule
    before, _ = reach_in(literally(code))
    tiles, kept, length, in_pass = plan
    strips = (length, margin)
    systems, n = phi.shape
    periodic = kinds[0] == PERIODIC
    tile = _aligned((length + 2 * margin) * lanes, phi, lanes)
    square = _aligned(lanes * lanes, phi, lanes)
    done = enter(state, worker)
    if done < 0:
        return
    cells, new = phi, x
    if done:
        cells, new = (x, y) if done % 2 else (y, x)
    for first in range(done * in_pass, steps, in_pass):
        now = min(in_pass, steps - first)
        whole = now // depth * depth
        task = next_task(state)
        while task < systems * tiles and not is_aborted(state):
            system, number = task // tiles, task % tiles
            k0 = number * kept
            k1 = min(k0 + kept, n)
            s = k0 - in_pass * before
            if not periodic:
                # Where the cells end in a tile, they end with it, if they fill it.
                s = max(min(s, n - lanes * length), 0)
            _load(cells[system], s, periodic, tile, strips, square, literally(lanes))
            here = min(lanes * length, n - s)
            ends = (not periodic and s == 0, not periodic and s + here == n)
            given = (left[system], right[system])
            for begin, count, at_once in (
                (first, whole, depth),
                # What is left of a sweep, step by step.
                (first + whole, now - whole, 1),
            ):
                tile_steps(
                    tile, here, strips, group, ends, kinds, given, weights[system],
                    begin, count, at_once, literally(code), literally(lanes), literally(depth),
                )  # fmt: skip
            _store(tile, strips, s, k0, k1, new[system], square, literally(lanes))
            report_progress(state, first + now * task // (systems * tiles))
            task = next_task(state)
        cells, new = new, y if first == 0 else cells
        report_progress(state, first + now)
        if not barrier(state):
            return


@cache
def tiles_advanced(code: int, lanes: int, depth: int) -> Any:
    """Return `_advance_tiles` for a rule; calling it does not look at literals again."""

    @cached
    @njit(nogil=True)
    def advance(state, worker, phi, x, y, rule, kinds, left, right, plan, steps):
        _advance_tiles(
            state, worker, phi, x, y, rule, kinds, left, right, plan, steps, code, lanes, depth
        )

    return advance


@cache
def rows_advanced(code: int, lanes: int, *, in_strips: bool) -> Any:
    """Return what takes all steps of systems that are not cut into tiles, one after the other.

    Either way is compiled without the other: no rule is compiled for what it does not take.
    """

    @cached
    @njit(nogil=True)
    @specialised
    def advance(state, phi, result, weights, kinds, left, right, strips, steps, in_pass):
        before, behind = reach_in(code)
        systems, n = phi.shape
        if in_strips:
            margin = before + behind
            tile = _aligned((strips[0] + 2 * margin) * lanes, phi, lanes)
        else:
            a = np.empty(before + n + behind, phi.dtype)
            b = np.empty_like(a)
        system = next_task(state)
        while system < systems:
            if in_strips:
                into_strips(phi[system], tile, margin, strips, lanes)
            else:
                for i in range(n):
                    a[before + i] = phi[system, i]
            given = (left[system], right[system])
            for first in range(0, steps, in_pass):
                now = min(in_pass, steps - first)
                if in_strips:
                    steps_in_strips(
                        tile, margin, strips, kinds, given, weights[system], first, now, code, lanes
                    )
                elif step_row(a, b, n, kinds, given, weights[system], first, now, code):
                    a, b = b, a
                if is_aborted(state):
                    return
            if in_strips:
                from_strips(tile, margin, strips, result[system], lanes)
            else:
                for i in range(n):
                    result[system, i] = a[before + i]
            report_progress(state, (system + 1) * steps // systems)
            system = next_task(state)

    return advance
