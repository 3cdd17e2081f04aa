"""The end of an elimination, compiled: few vertices are left, each with many neighbours.

Lists of neighbours then cost more than a matrix of steps among all that are left, with a bit beside
it for each pair that has some: to take a vertex out is to relax the rows of its neighbours by way
of its own row, in vectors, and to join their bits.
"""

from __future__ import annotations

import numpy as np

from warpladder.device.bits import how_many, lowest
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.sparse.strips import ROW_BYTES, relax_from

__all__ = ["is_crowd", "take_crowd_out"]

_FEW_OF_MANY = 64
# More, and the matrix takes more than 64 MB.
_MOST = 4096

_LANES = ROW_BYTES // 4
# A row of a strip that is relaxed takes this share of the time of a step of `elimination`.
_ROWS_PER_STEP = 3


@subroutine
def is_crowd(left, fewest):
    """Return whether a matrix is faster for so many vertices, with so many neighbours each.

    Grid of 70 by 70, and 5,000 points in Delaunay's triangles, on one core of an EPYC with AVX-512:
    8 and 11 ms with 16 or 64 times as many vertices, 12 and 17 with 256; by lists alone 27 and 28.
    """
    return left <= min(_FEW_OF_MANY * fewest, _MOST)


@subroutine
def take_crowd_out(crowd, lists, begins, sizes, places, none, order, taken, limits):
    """Take vertices out as `elimination` does; return how many were, all if within the limits.

    Parameters
    ----------
    crowd
        The vertices that are left.
    lists, begins, sizes
        Neighbours, steps there and back; where those of a vertex begin, and how many they are.
    places
        Room for a number for each vertex of the graph.
    none
        Steps where there is no way.
    order
        Receives the vertices in the order in which they were taken out.
    taken
        Where the lists have room.
    limits
        How many neighbours may be kept, and how many steps made.
    """
    neighbours, out, back = lists
    left = crowd.size
    rows = (left + _LANES - 1) // _LANES
    near = np.full((left * rows, _LANES), none, np.int32)
    bits = np.zeros((left, (left + 63) // 64), np.uint64)
    is_left = np.zeros(bits.shape[1], np.uint64)
    for a in range(left):
        places[crowd[a]] = a
        is_left[a >> 6] |= np.uint64(1) << np.uint64(a & 63)
    degrees = np.empty(left, np.int64)
    for a in range(left):
        v = crowd[a]
        degrees[a] = sizes[v]
        for k in range(begins[v], begins[v] + sizes[v]):
            b = places[neighbours[k]]
            near[a * rows + b // _LANES, b % _LANES] = out[k]
            bits[a, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    most, most_steps = limits
    kept = relaxed = 0
    for count in range(left):
        a = _fewest(degrees)
        is_left[a >> 6] &= ~(np.uint64(1) << np.uint64(a & 63))
        kept += degrees[a]
        relaxed += degrees[a] * rows
        if kept > most or relaxed > _ROWS_PER_STEP * most_steps or taken + degrees[a] > out.size:
            return count
        v = crowd[a]
        order[count] = v
        begins[v], sizes[v] = taken, degrees[a]
        degrees[a] = left + 1
        for word in range(is_left.size):
            others = bits[a, word] & is_left[word]
            while others:
                b = 64 * word + lowest(others)
                others &= others - np.uint64(1)
                there, home = (
                    near[b * rows + a // _LANES, a % _LANES],
                    near[a * rows + b // _LANES, b % _LANES],
                )
                neighbours[taken], out[taken], back[taken] = crowd[b], home, there
                taken += 1
                if there < none:
                    for row in range(rows):
                        relax_from(near, a * rows + row, there, b * rows + row)
                degrees[b] = _joined(bits, a, b, is_left)
    return left


@subroutine
def _fewest(degrees):
    """Return the first of those that have the least degree."""
    first = 0
    for a in range(degrees.size):
        if degrees[a] < degrees[first]:
            first = a
    return first


@subroutine
def _joined(bits, a, b, is_left):
    """Add the neighbours of one vertex to those of another; return how many it has then."""
    count = 0
    for word in range(is_left.size):
        bits[b, word] |= bits[a, word]
        count += how_many(bits[b, word] & is_left[word])
    # It has become a neighbour of itself.
    return count - 1
