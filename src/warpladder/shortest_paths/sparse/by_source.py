"""Dijkstra's algorithm for 32 sources at a time, compiled.

Each vertex has a row of lanes, its distances from the sources of a batch as far as they are known.
A vertex that some source has come nearer to since it was visited last waits in a heap, under the
least of the distances that changed. The first of the heap is visited: its arcs are relaxed, in all
lanes at once.

That least distance is final, as in Dijkstra's algorithm, so that no vertex is visited more often
than there are lanes. Mostly it takes two to five visits: ways from sources that are close to each
other soon run together, and what a visit finds for one lane it finds for others. What it finds too
early is found again, later and better; in the end each distance is the least over all paths of the
sum that rounds from the source on, whatever the order of the visits, and so the same bits as from
each source alone: rounding never makes a longer sum the smaller.

The heap has four children to a node and knows where each vertex is in it, so that a vertex is in it
once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.device.team import finish_task, is_aborted, next_task, report_progress
from warpladder.shortest_paths.dense import NO_HOP
from warpladder.shortest_paths.sparse.lanes import LANES, ROOT, relax, relax_with_hops

__all__ = ["COUNTED", "search_by_source", "search_some"]

COUNTED = ("visits", "arcs", "changes", "waiting")
"""What searches count: visits of vertices, arcs relaxed, those that changed a lane; and the sum
over visits of how many vertices wait in the heap."""

_OUTSIDE = -1
# Vertices of which all lanes are written together: two lines of the first-level cache each.
_SQUARE = 16


@cached
@njit(nogil=True)
def search_by_source(arcs, order, carry, none, dist, no_path, hops, longest, worker, state):
    """Search from all vertices, as one worker of a team.

    Parameters
    ----------
    arcs
        Where the arcs of each vertex start, their ends and weights; these have the dtype of lanes.
    order
        All vertices, a batch in each row; the last row may end with -1.
    carry
        True for next hops, else None.
    none
        Of the dtype of lanes: what no distance reaches.
    dist
        Receives distances, shape (n, n), C-contiguous, ``no_path`` where there is none.
    hops
        Receives next hops, unless empty.
    longest
        Receives the longest distance at ``worker``, of the dtype of lanes.
    """
    n = dist.shape[0]
    room = _room(n, carry, none)
    counted = np.zeros(len(COUNTED), np.int64)
    number = next_task(state)
    while number < order.shape[0] and not is_aborted(state):
        sources = order[number]
        _search(arcs, sources, carry, none, room, counted)
        own = _write(room[0], sources, none, dist, no_path)
        longest[worker] = max(longest[worker], own)
        if carry is not None:
            _write_hops(room[0], room[1], sources, none, hops)
        report_progress(state, finish_task(state) + 1)
        number = next_task(state)


@cached
@njit(nogil=True)
def search_some(arcs, order, none):
    """Search from some batches for the sake of what it counts; return that."""
    room = _room(arcs[0].size - 1, None, none)
    counted = np.zeros(len(COUNTED), np.int64)
    for number in range(order.shape[0]):
        _search(arcs, order[number], None, none, room, counted)
    return counted


@subroutine
def _room(n, carry, none):
    """Return rows of lanes of distances and of next hops, and an empty heap for n vertices."""
    near = np.full((n, LANES), none)
    hops = np.empty((n if carry is not None else 0, LANES), np.int32)
    keys = np.full(n, none)
    vertices = np.empty(n, np.int32)
    places = np.full(n, _OUTSIDE, np.int32)
    return near, hops, keys, vertices, places


@subroutine
def _search(arcs, sources, carry, none, room, counted):
    starts, ends, weights = arcs
    near, hops, keys, vertices, places = room
    near[:] = none
    size = 0
    for lane in range(LANES):
        s = sources[lane]
        if s >= 0:
            near[s, lane] = 0
            if carry is not None:
                hops[s, lane] = ROOT
            size = _bring_up(keys, vertices, places, size, s, near[s, lane])
    visits = relaxed = changes = waiting = 0
    while size:
        waiting += size
        u = np.int64(vertices[0])
        size = _drop_first(keys, vertices, places, size)
        visits += 1
        relaxed += starts[u + 1] - starts[u]
        for arc in range(starts[u], starts[u + 1]):
            v = np.int64(ends[arc])
            if carry is not None:
                least = relax_with_hops(near, hops, u, weights[arc], v, none)
            else:
                least = relax(near, hops, u, weights[arc], v, none)
            if least < none:
                changes += 1
                size = _bring_up(keys, vertices, places, size, v, least)
    counted[0] += visits
    counted[1] += relaxed
    counted[2] += changes
    counted[3] += waiting


@subroutine(counted=False)
def _bring_up(keys, vertices, places, size, vertex, key):
    """Put a vertex into the heap, or nearer to its front; return the size of the heap."""
    place = np.int64(places[vertex])
    if place == _OUTSIDE:
        place = size
        size += 1
    elif keys[place] <= key:
        return size
    while place > 0:
        above = (place - 1) >> 2
        if keys[above] <= key:
            break
        keys[place] = keys[above]
        vertices[place] = vertices[above]
        places[vertices[place]] = place
        place = above
    keys[place] = key
    vertices[place] = vertex
    places[vertex] = place
    return size


@subroutine(counted=False)
def _drop_first(keys, vertices, places, size):
    """Take the first vertex out of the heap; return the size of the heap."""
    places[vertices[0]] = _OUTSIDE
    size -= 1
    if not size:
        return size
    key, vertex = keys[size], vertices[size]
    place = 0
    while True:
        first = 4 * place + 1
        if first >= size:
            break
        least = first
        for child in range(first + 1, min(first + 4, size)):
            least = child if keys[child] < keys[least] else least
        if keys[least] >= key:
            break
        keys[place] = keys[least]
        vertices[place] = vertices[least]
        places[vertices[place]] = place
        place = least
    keys[place] = key
    vertices[place] = vertex
    places[vertex] = place
    return size


@subroutine
def _write(near, sources, none, dist, no_path):
    """Write the rows of some sources; return the longest distance."""
    n = near.shape[0]
    longest = np.zeros(1, near.dtype)[0]
    for low in range(0, n, _SQUARE):
        high = min(low + _SQUARE, n)
        for lane in range(LANES):
            if sources[lane] < 0:
                break
            row = dist[sources[lane]]
            for v in range(low, high):
                distance = near[v, lane]
                if distance < none:
                    row[v] = distance
                    longest = max(longest, distance)
                else:
                    row[v] = no_path
    return longest


@subroutine
def _write_hops(near, room, sources, none, hops):
    """Write the next hops of some sources."""
    n = near.shape[0]
    for low in range(0, n, _SQUARE):
        high = min(low + _SQUARE, n)
        for lane in range(LANES):
            if sources[lane] < 0:
                break
            row = hops[sources[lane]]
            for v in range(low, high):
                row[v] = room[v, lane] if near[v, lane] < none else NO_HOP
    for lane in range(LANES):
        if sources[lane] >= 0:
            hops[sources[lane], sources[lane]] = sources[lane]
