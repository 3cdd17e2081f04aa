"""The breadth-first searches of `hop_counts`, compiled: 512 of them at a time, level by level.

A vertex has three masks with a bit for each search: which have *reached* it, which have it in their
*front*, the vertices reached on the last level, and which have *found* it on the one at hand. One
level of all searches is one pass over arcs::

    found[v] = (OR of fronts[u] over arcs u -> v) and not reached[v]

either *pushed* along the arcs that leave the fronts, or, once these are most of the graph, *pulled*
by the vertices that some search has not reached yet, each of which stops at the arc that completes
its mask. Before a level the masks in ``found`` are made zeros.

Where edges have whole lengths an arc of k steps is taken on the k-th level after the one on which
its vertex was found. So the one at hand and as many fronts are kept as the longest arc has steps,
in turn, and on each level those arcs count that are as long as their vertex's front is old. An arc
is passed as often as before, and more levels have less of them each: distances that differ are not
found together.

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
from warpladder.shortest_paths.sparse.masks import (
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
# An arc that is pulled is read, one that is pushed is read and written. On one core of a Xeon, ms
# of a batch at 2, 0.5 and 0.25: made like email-Enron 18, 8.1 and 8.2, random, 5,000 vertices 1.9,
# 0.83 and 0.84, power grid 3.7, 2.6 and 2.8, grid of 100 by 100 6.8, 6.8 and 8.6; with edges of up
# to five steps: 83, 31 and 29 (Enron), 71, 70 and 36 (grid).
_PUSHED_AS_PULLED = 0.5
_PUSHED_AS_PULLED_OF_STEPS = 0.25


@cached
@njit(nogil=True)
def search_team(arcs, order, dist, step, no_path, batch, deepest, worker, state):
    """Search from all vertices, as one worker of a team.

    Parameters
    ----------
    arcs
        Where the arcs of each vertex and length start, their ends; where those into each vertex
        start, their ends and lengths in steps, None where all have one step: as `SteppedArcs` says.
    order
        All vertices, int32: neighbours in it are searched from together.
    dist
        Receives the distances, shape (n, n), C-contiguous.
    step, no_path
        Length of a step, and what stands where there is no path, of the dtype of ``dist``.
    batch
        How many searches go together, at most `masks.BITS`.
    deepest
        Receives at ``worker`` the last level on which a vertex was found, int64.
    """
    n = dist.shape[0]
    batches = (n + batch - 1) // batch
    kept = (arcs[0].size - 1) // max(n, 1) + 1
    fronts = np.zeros((kept, n, WORDS), np.uint64)
    reached = np.empty((n, WORDS), np.uint64)
    planes = np.empty((PLANES, n, WORDS), np.uint64)
    listed = np.empty((kept, n), np.int32)
    unfinished = np.empty(n, np.int32)
    room = fronts, reached, planes, listed, unfinished, np.empty((_TILE, _TILE_WIDTH), np.uint8)
    number = next_task(state)
    while number < batches and not is_aborted(state):
        sources = order[number * batch : min((number + 1) * batch, n)]
        level = _search(arcs, sources, room, dist, step, no_path, state)
        deepest[worker] = max(deepest[worker], level)
        report_progress(state, finish_task(state) + 1)
        number = next_task(state)


@subroutine
def _search(arcs, sources, room, dist, step, no_path, state):
    """Fill the rows of some sources; return the last level on which a vertex was found."""
    starts, ends, into_starts, into, steps = arcs
    fronts, reached, planes, listed, unfinished, tile = room
    n, kept = dist.shape[0], fronts.shape[0]
    longest = kept - 1
    # Of each front: its vertices, and the arcs that leave them.
    sizes, leaving = np.zeros(kept, np.int64), np.zeros(kept, np.int64)
    # Where the front is that is so many levels old.
    places = np.empty(kept, np.int64)
    _begin(sources, fronts[0], reached)
    sizes[0] = sources.size
    listed[0, : sources.size] = sources
    leaving[0] = _arcs_of(starts, longest, listed[0], sources.size)
    for v in range(n):
        unfinished[v] = v
    left, entering = n, into.size
    digits = level = last = 0
    written = False
    while level - last < longest and not is_aborted(state):
        level += 1
        place = level % kept
        found, following = fronts[place], listed[place]
        for k in range(sizes[place]):
            found[following[k]] = 0
        sizes[place] = leaving[place] = 0
        # Of several lengths, about as many have each.
        pushed = leaving.sum() / longest
        if steps is None and level == 1 and pushed >= n:
            count = _push_sources(starts, ends, sources, found, reached, following)
        elif pushed <= entering * (
            _PUSHED_AS_PULLED if steps is None else _PUSHED_AS_PULLED_OF_STEPS
        ):
            count = _push(starts, ends, level, fronts, listed, sizes, reached)
        else:
            for age in range(1, kept):
                places[age] = (level - age) % kept * n
            count, left, entering = _pull(
                into_starts, into, steps, places, unfinished, left, fronts, found, reached,
                following,
            )  # fmt: skip
        sizes[place] = count
        leaving[place] = _arcs_of(starts, longest, following, count)
        if not count:
            continue
        last = level
        if level > _DEEPEST:
            if not written:
                _write(planes, digits, reached, dist, sources, step, no_path, tile)
                written = True
            _write_level(found, following, count, dist, sources, level * step)
        else:
            while level >> digits:
                planes[digits] = 0
                digits += 1
            for digit in range(digits):
                if level >> digit & 1:
                    for k in range(count):
                        add_mask(found, following[k], planes[digit], following[k])
    if not written:
        _write(planes, digits, reached, dist, sources, step, no_path, tile)
    for place in range(kept):
        for k in range(sizes[place]):
            fronts[place, listed[place, k]] = 0
    return last


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
def _arcs_of(starts, longest, vertices, count):
    """Return how many arcs the first vertices of a list have."""
    arcs = 0
    for k in range(count):
        first = vertices[k] * longest
        arcs += starts[first + longest] - starts[first]
    return arcs


@subroutine
def _push(starts, ends, level, fronts, listed, sizes, reached):
    """Take a level along the arcs out of the fronts; list whom it finds, return how many."""
    kept = fronts.shape[0]
    longest = kept - 1
    found, following = fronts[level % kept], listed[level % kept]
    touched = 0
    for age in range(1, min(longest, level) + 1):
        place = (level - age) % kept
        front = fronts[place]
        for k in range(sizes[place]):
            u = np.int64(listed[place, k])
            first = u * longest + age - 1
            for arc in range(starts[first], starts[first + 1]):
                v = ends[arc]
                if add_mask(front, u, found, v):
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
def _pull(
    into_starts, into, steps, places, unfinished, left, fronts, found, reached, following
):  # fmt: skip
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
        if gather(fronts, places, into, steps, first, last, found, reached, v):
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
