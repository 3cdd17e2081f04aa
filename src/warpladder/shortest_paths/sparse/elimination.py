"""Vertices taken out of a graph one after another, so that few arcs tell all distances.

To take a vertex out, each way through it from one neighbour to another becomes an arc of their own,
as long as the two that it replaces. Distances among the vertices that are left stay the same. What
a vertex had as neighbours when it was taken out is kept: `sweeps` finds all distances from that.

Vertices with the fewest neighbours go first: the fewer they are, the fewer arcs arise. A path or a
tree gets no new arcs at all, the power grid of the western United States, 4,941 vertices with
13,188 arcs, ends with 12,307 neighbours; a grid of 70 by 70 has 83,000. A random graph of 5,000
vertices and 25,000 edges would fill up as soon as a third of it is gone; there it is given up.
Towards the end, where few vertices have many neighbours each, `crowded` goes on with matrices.

Source: Parter, "The Use of Linear Graphs in Gauss Elimination", 1961; Planken, de Weerdt, van der
Krogt, "Computing All-Pairs Shortest Paths by Leveraging Low Treewidth", 2012.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.sparse.arcs import Arcs
from warpladder.shortest_paths.sparse.crowded import is_crowd, take_crowd_out

__all__ = ["Eliminated", "eliminate", "steps_dtype"]

# Longer than any way, and twice that is a number of int32. In steps of int32 it stays as it is.
_NONE = int(inner_no_path(np.int32))
# How many neighbours more than the fewest of all a vertex may have that is taken out next: each
# round looks at all that are left. Power grid, by lists alone: 64 rounds with 0, 35 with 1, 21 with
# 2, and 12,100, 12,600 and 13,300 neighbours.
_SLACK = 1


class Eliminated(NamedTuple):
    """What is left of a graph of which all vertices have been taken out.

    Attributes
    ----------
    order
        The vertices in the order in which they were taken out, shape (n,), int32.
    places
        Where each vertex is in it, likewise.
    starts
        Where the neighbours that each had then start, in this order, shape (n + 1,), int64.
    later
        The neighbours, by their places in the order, shape (f,), int32.
    out, back
        How many steps it is to each of them, and from there: int16 if that holds all distances,
        else int32; `dense.inner_no_path` where there is no way.
    """

    order: NDArray[np.int32]
    places: NDArray[np.int32]
    starts: NDArray[np.int64]
    later: NDArray[np.int32]
    out: NDArray[Any]
    back: NDArray[Any]


def eliminate(arcs: Arcs, most: int, most_steps: int) -> Eliminated | None:
    """Take all vertices out of a graph whose arcs all count one step.

    Parameters
    ----------
    arcs
        Of the graph.
    most
        With more neighbours than this it is given up, and None returned.
    most_steps
        Likewise with more steps on the way, pairs of neighbours that are looked at.

    Examples
    --------
    >>> starts, ends = np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0], "int32")
    >>> gone = eliminate(Arcs(starts, ends, starts, ends), 10, 10)
    >>> gone.order.tolist(), gone.starts.tolist(), gone.later.tolist(), gone.out.tolist()
    ([1, 0, 2], [0, 1, 2, 2], [1, 2], [1, 1])
    """
    n = arcs.starts.size - 1
    found = _eliminate(*arcs, most, most_steps, inner_no_path(steps_dtype(n)))
    return Eliminated(*found) if found[0].size == n else None


def steps_dtype(n: int) -> np.dtype[Any]:
    """Return the dtype in which the steps between n vertices are counted.

    Examples
    --------
    >>> steps_dtype(16_383), steps_dtype(16_384)
    (dtype('int16'), dtype('int32'))
    """
    # No way takes n steps.
    return np.dtype(np.int16 if n <= inner_no_path(np.int16) else np.int32)


@cached
@njit(nogil=True)
def _eliminate(
    starts: Any, ends: Any, into_starts: Any, into: Any, most: Any, most_steps: Any, none: Any
) -> Any:
    """Return the fields of `Eliminated`, of no vertices where it is given up."""
    order, begins, sizes, lists = _take_all_out(starts, ends, into_starts, into, most, most_steps)
    if order.size < sizes.size:
        order = order[:0]
    places, first, later, out, back = _by_places(order, begins, sizes, lists, none)
    return order, places, first, later, out, back


@cached
@njit(nogil=True)
def _take_all_out(starts: Any, ends: Any, into_starts: Any, into: Any, most: Any, most_steps: Any):
    """Return the vertices as they were taken out, all or some, and what `_by_places` needs."""
    n = starts.size - 1
    room = 2 * (ends.size + into.size + most)
    lists = (np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
    begins, sizes = np.empty(n, np.int64), np.empty(n, np.int64)
    places = np.zeros(n, np.int64)
    taken = _list_neighbours(starts, ends, into_starts, into, lists, begins, sizes, places)
    rooms = sizes.copy()
    order = np.empty(n, np.int32)
    remaining = np.arange(n)
    count = kept = steps = 0
    left = n
    while left:
        fewest = n
        for k in range(left):
            fewest = min(fewest, sizes[remaining[k]])
        # What is left will keep about as many at least, if it is not in small pieces.
        if kept + fewest * (left - fewest) > most:
            return order[:count], begins, sizes, lists
        if is_crowd(left, fewest):
            limits = most - kept, most_steps - steps
            count += take_crowd_out(
                remaining[:left], lists, begins, sizes, places, _NONE, order[count:], taken, limits
            )
            break
        still = 0
        for k in range(left):
            v = remaining[k]
            if sizes[v] > fewest + _SLACK:
                remaining[still] = v
                still += 1
                continue
            order[count] = v
            count += 1
            kept += sizes[v]
            steps += sizes[v] ** 2
            taken = _take_out(v, lists, begins, sizes, rooms, places, taken)
            if kept > most or steps > most_steps or taken < 0:
                return order[: count - 1], begins, sizes, lists
        left = still
    return order[:count], begins, sizes, lists


@subroutine
def _list_neighbours(starts, ends, into_starts, into, lists, begins, sizes, places):
    """List the neighbours of each vertex, those of the next behind them; return the end."""
    neighbours, out, back = lists
    end = 0
    for v in range(sizes.size):
        begins[v] = end
        for arc in range(starts[v], starts[v + 1]):
            neighbours[end], out[end], back[end] = ends[arc], 1, _NONE
            places[ends[arc]] = end
            end += 1
        for arc in range(into_starts[v], into_starts[v + 1]):
            u = into[arc]
            place = places[u]
            if begins[v] <= place < end and neighbours[place] == u:
                back[place] = 1
            else:
                neighbours[end], out[end], back[end] = u, _NONE, 1
                end += 1
        sizes[v] = end - begins[v]
    return end


@subroutine
def _take_out(v, lists, begins, sizes, rooms, places, taken):
    """Join all neighbours of a vertex with each other instead of with it.

    Return how much of the lists is taken then, -1 where there is no more room.
    """
    neighbours, out, back = lists
    first, last = begins[v], begins[v] + sizes[v]
    for own in range(first, last):
        i = np.int64(neighbours[own])
        most = sizes[i] + sizes[v] - 2
        if most > rooms[i]:
            if taken + 2 * most > neighbours.size:
                return -1
            for k in range(sizes[i]):
                for part in lists:
                    part[taken + k] = part[begins[i] + k]
            begins[i], rooms[i] = taken, 2 * most
            taken += 2 * most
        low = begins[i]
        high = low + sizes[i] - 1
        for place in range(low, high + 1):
            places[neighbours[place]] = place
        # The last one takes the place of v.
        hole = places[v]
        for part in lists:
            part[hole] = part[high]
        places[neighbours[hole]] = hole
        for other in range(first, last):
            j = neighbours[other]
            if other == own:
                continue
            there = min(back[own] + out[other], _NONE)
            home = min(back[other] + out[own], _NONE)
            place = places[j]
            if low <= place < high and neighbours[place] == j:
                out[place], back[place] = min(out[place], there), min(back[place], home)
            else:
                neighbours[high], out[high], back[high] = j, there, home
                high += 1
        sizes[i] = high - low
    return taken


@cached
@njit(nogil=True)
def _by_places(order: Any, begins: Any, sizes: Any, lists: Any, none: Any) -> Any:
    """Return the fields of `Eliminated` after the first; steps have the dtype of ``none``."""
    n = order.size
    places = np.empty(n, np.int32)
    starts = np.zeros(n + 1, np.int64)
    for place in range(n):
        places[order[place]] = place
        starts[place + 1] = starts[place] + sizes[order[place]]
    later = np.empty(starts[n], np.int32)
    out, back = np.full(starts[n], none), np.full(starts[n], none)
    for place in range(n):
        first = begins[order[place]]
        for k in range(starts[place + 1] - starts[place]):
            arc = starts[place] + k
            later[arc] = places[lists[0][first + k]]
            out[arc] = min(lists[1][first + k], none)
            back[arc] = min(lists[2][first + k], none)
    return places, starts, later, out, back
