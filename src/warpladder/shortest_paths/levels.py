"""The breadth-first searches of `hop_counts`, compiled: 512 of them at a time, level by level.

A vertex has three masks with a bit for each search: which have *reached* it, which have it in their
*front*, the vertices reached on the last level, and which have *found* it on the one at hand. One
level of all searches is one pass over arcs::

    found[v] = (OR of fronts[u] over arcs u -> v) and not reached[v]

either *pushed* along the arcs that leave the fronts, or, once these are most of the graph, *pulled*
by the vertices that some search has not reached yet, each of which stops at the arc that completes
its mask. Between levels the masks in ``found`` and those that come to be in it are zeros.

Distances are kept as binary digits: plane d has bit s of vertex v where digit d of the distance is
set. So a level costs a mask for each of its digits instead of a number for each search, and only
when the searches are over are the digits turned into numbers, in tiles that stay in the first-level
cache, and every row of the answer is written once, from front to back. What is farther than eight
digits can say is written number by number: where levels are many, few searches meet in a vertex.

Source: Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann, Vo, "The More the Merrier:
Efficient Multi-Source Graph Traversal", 2014; pulling: Beamer, Asanovic, Patterson,
"Direction-Optimizing Breadth-First Search", 2012.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warpladder.device.bits import lowest
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.device.team import finish_task, is_aborted, next_task, report_progress
from warpladder.shortest_paths.masks import (
    BITS,
    SIDE,
    WORDS,
    add_mask,
    gather,
    is_full,
    levels_into,
    settle,
    write_square,
)

__all__ = ["PLANES", "search_team"]

PLANES = 8
"""Binary digits of a level, before the answer is written."""

_DEEPEST = 254
_FAR = 255
_EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)
# Vertices of a tile: a line of the cache, or two, of a row of distances. Its own rows are a line
# longer than the mask has bits, so that a column does not fall into one set of the cache.
_TILE = 64
_TILE_WIDTH = BITS + 64
# Pulling reads an arc faster than pushing writes one, and stops early. Power grid, 4,941 vertices:
# 52 ms at 1, 41 at 2, 44 at 4 (two cores); made like email-Enron: 2.0 s at 1, 1.9 at 2 and at 8.
# The machine was noisy: from 2 on nothing could be told apart.
_PUSHED_AS_PULLED = 2


@cached
@njit(nogil=True)
def search_team(arcs, order, dist, step, no_path, batch, deepest, worker, state):
    """Search from all vertices, as one worker of a team.

    Parameters
    ----------
    arcs
        Where the arcs of each vertex start, their ends; the same of the arcs into each vertex.
    order
        All vertices, int32: neighbours in it are searched from together.
    dist
        Receives the distances, shape (n, n), C-contiguous.
    step, no_path
        Length of an arc, and what stands where there is no path, of the dtype of ``dist``.
    batch
        How many searches go together, at most `masks.BITS`.
    deepest
        Receives at ``worker`` the last level on which a vertex was found, int64.
    """
    n = dist.shape[0]
    batches = (n + batch - 1) // batch
    masks = np.zeros((3, n, WORDS), np.uint64)
    planes = np.empty((PLANES, n, WORDS), np.uint64)
    lists = np.empty((3, n), np.int32)
    tile = np.empty((_TILE, _TILE_WIDTH), np.uint8)
    number = next_task(state)
    while number < batches and not is_aborted(state):
        sources = order[number * batch : min((number + 1) * batch, n)]
        level = _search(arcs, sources, masks, planes, lists, tile, dist, step, no_path, state)
        deepest[worker] = max(deepest[worker], level)
        report_progress(state, finish_task(state) + 1)
        number = next_task(state)


@subroutine
def _search(arcs, sources, masks, planes, lists, tile, dist, step, no_path, state):
    """Fill the rows of some sources; return the last level on which a vertex was found."""
    starts, ends, into_starts, into = arcs
    fronts, found, reached = masks[0], masks[1], masks[2]
    front, following, unfinished = lists[0], lists[1], lists[2]
    n = dist.shape[0]
    _begin(sources, fronts, reached)
    size = sources.size
    for k in range(size):
        front[k] = sources[k]
    leaving = _arcs_of(starts, front, size)
    for v in range(n):
        unfinished[v] = v
    left, entering = n, into.size
    digits = level = 0
    written = False
    while not is_aborted(state):
        if level == 0 and leaving >= n:
            count = _push_sources(starts, ends, sources, found, reached, following)
        elif leaving <= _PUSHED_AS_PULLED * entering:
            count = _push(starts, ends, front, size, fronts, found, reached, following)
        else:
            count, left, entering = _pull(
                into_starts, into, unfinished, left, fronts, found, reached, following
            )
        for k in range(size):
            fronts[front[k]] = 0
        if not count:
            break
        level += 1
        if level > _DEEPEST:
            if not written:
                _write(planes, digits, reached, dist, sources, step, no_path, tile)
                written = True
            _write_level(found, following, count, dist, sources, level * step)
        else:
            if level >> digits:
                planes[digits] = 0
                digits += 1
            for digit in range(digits):
                if level >> digit & 1:
                    for k in range(count):
                        add_mask(found, following[k], planes[digit], following[k])
        fronts, found = found, fronts
        front, following = following, front
        size, leaving = count, _arcs_of(starts, front, count)
    if not written:
        _write(planes, digits, reached, dist, sources, step, no_path, tile)
    return level


@subroutine
def _begin(sources, fronts, reached):
    """Put each source into its front; the bits beyond them count as reached everywhere."""
    beyond = np.empty(WORDS, np.uint64)
    for word in range(WORDS):
        bits = min(max(sources.size - 64 * word, 0), 64)
        beyond[word] = _EVERY << np.uint64(bits) if bits < 64 else np.uint64(0)
    for v in range(reached.shape[0]):
        for word in range(WORDS):
            reached[v, word] = beyond[word]
    for s in range(sources.size):
        bit = np.uint64(1) << np.uint64(s & 63)
        fronts[sources[s], s >> 6] |= bit
        reached[sources[s], s >> 6] |= bit


@subroutine
def _arcs_of(starts, vertices, count):
    """Return how many arcs the first vertices of a list have."""
    arcs = 0
    for k in range(count):
        arcs += starts[vertices[k] + 1] - starts[vertices[k]]
    return arcs


@subroutine
def _push(starts, ends, front, size, fronts, found, reached, following):
    """Take a level along the arcs out of the fronts; list whom it finds, return how many."""
    touched = 0
    for k in range(size):
        u = front[k]
        for arc in range(starts[u], starts[u + 1]):
            v = ends[arc]
            if add_mask(fronts, u, found, v):
                following[touched] = v
                touched += 1
    count = 0
    for k in range(touched):
        v = following[k]
        if settle(found, reached, v):
            following[count] = v
            count += 1
    return count


@subroutine
def _push_sources(starts, ends, sources, found, reached, following):
    """Do so on the first level, where a front is one bit: of dense graphs that is most of it all.

    Nobody notes who is touched, so every vertex is asked: they should be no more than the arcs.
    """
    for s in range(sources.size):
        u, word, bit = sources[s], s >> 6, np.uint64(1) << np.uint64(s & 63)
        for arc in range(starts[u], starts[u + 1]):
            found[ends[arc], word] |= bit
    count = 0
    for v in range(found.shape[0]):
        if settle(found, reached, v):
            following[count] = v
            count += 1
    return count


@subroutine
def _pull(into_starts, into, unfinished, left, fronts, found, reached, following):
    """Take a level along the arcs into unfinished vertices; list whom it finds.

    Return how many they are, how many vertices were unfinished, and the arcs into these.
    """
    count = kept = entering = 0
    for k in range(left):
        v = unfinished[k]
        if is_full(reached, v):
            continue
        unfinished[kept] = v
        kept += 1
        first, last = into_starts[v], into_starts[v + 1]
        entering += last - first
        if gather(fronts, into, first, last, found, reached, v):
            following[count] = v
            count += 1
    return count, kept, entering


@subroutine
def _write(planes, digits, reached, dist, sources, step, no_path, tile):
    """Write the rows of some sources, tile by tile."""
    n = dist.shape[0]
    rows = sources.size // SIDE * SIDE
    for low in range(0, n, _TILE):
        high = min(low + _TILE, n)
        for v in range(low, high):
            levels_into(planes, digits, reached, v, tile, v - low)
        squares = low + (high - low) // SIDE * SIDE
        for s in range(0, rows, SIDE):
            for v in range(low, squares, SIDE):
                write_square(tile, v - low, s, dist, sources, v, step, no_path)
        for s in range(sources.size):
            row = dist[sources[s]]
            for v in range(squares if s < rows else low, high):
                level = tile[v - low, s]
                row[v] = no_path if level == _FAR else level * step


@subroutine
def _write_level(found, vertices, count, dist, sources, length):
    """Write a distance for each bit of the masks of some vertices."""
    for k in range(count):
        v = vertices[k]
        for word in range(WORDS):
            bits = found[v, word]
            while bits:
                dist[sources[64 * word + lowest(bits)], v] = length
                bits &= bits - np.uint64(1)
