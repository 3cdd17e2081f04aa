"""Large tiles whose distances carry, in their lowest bits, the vertex that they lead through.

A distance that leaves eight bits to spare is multiplied by 256. To the sums through the vertices of
a tile of the diagonal tags 1 to 128 are added, one addition for each operand and none for each
relaxation: the least of these sums is the shortest way, and of equally short ones that by the first
vertex. What was known before has tag 0, so that it stays where nothing is shorter. After 128
vertices a tag that is not 0 is the vertex that the cell improved through last: it is noted, and the
tag is taken off.

A note is not a next hop. To go from i to j through k is to begin as one goes from i to k, of which
there may be a note, too. That cell was as it is now when k led to j: had it improved later, so
would have (i, j). So from note to note one goes back in time, along row i, and comes to an edge.
That holds as sums are exact; notes are in the end the same for both directions of an undirected
graph.
"""

from __future__ import annotations

from numba import cuda, int32, uint32, uint64

from warpladder.device.grids import EVERYBODY
from warpladder.shortest_paths.dense import NO_HOP
from warpladder.shortest_paths.gpu_tiles.four_cells import load_four
from warpladder.shortest_paths.gpu_tiles.large import (
    CELLS,
    DEPTH,
    LEFT,
    RIGHT,
    THREADS,
    TILE,
    cell_of,
    load_cells,
    load_left,
    place_of,
    relax_slab,
    relax_step,
    store_cells,
)

__all__ = ["BITS", "MOST", "NOTED", "close_tile", "earlier_note", "relax_tile"]

#: Of a tag: 0, or one of the 128 vertices of a tile.
BITS = 8
#: Where it is in a number.
TAGS = (1 << BITS) - 1
#: What stands for "no path", above all distances: twice it, with a tag, fits 32 bits.
MOST = (1 << (30 - BITS)) - 1
#: The note of vertex 0; of others it is less by as much. What is not noted is -1.
NOTED = NO_HOP - 1
#: That are followed before a cell takes over what it came to.
NOTES_AT_A_TIME = 8

_PUBLISHED = (2, TILE)


@cuda.jit(device=True)
def load_tagged_right(rights, right, first, column, tag, t):
    """Do as `large.load_right`, and tag the first row with ``tag``, the next with one more."""
    below, j = t >> 5, (t & 31) << 2
    upper = load_four(rights, first + below, column + j)
    lower = load_four(rights, first + below + 8, column + j)
    for u in range(4):
        right[below, j + u] = upper[u] + tag + below
        right[below + 8, j + u] = lower[u] + tag + below + 8


@cuda.jit(device=True)
def note_vertices(best, notes, row, column, first, y, x):
    """Note through which vertices cells improved, and take their tags off.

    ``first`` is the vertex that has tag 1.
    """
    row = cuda.shfl_sync(EVERYBODY, int32(row), 0)
    column = cuda.shfl_sync(EVERYBODY, int32(column), 0)
    last = NOTED + 1 - first
    # 64 bits, as addresses have: the compiler adds numbers of columns up only if none can wrap.
    j = uint64(column + (x << 2))
    for r in range(8):
        i = uint64(row + cell_of(y, r))
        for c in range(0, 8, 4):
            if (best[r, c] | best[r, c + 1] | best[r, c + 2] | best[r, c + 3]) & TAGS:
                for u in range(4):
                    tag = best[r, c + u] & TAGS
                    if tag:
                        notes[i, j + uint64(cell_of(0, c + u))] = last - tag
                    best[r, c + u] -= tag


@cuda.jit(device=True)
def relax_tile(dist, notes, row, column, pivot, depth):
    """Relax the tile that begins at (row, column) through ``depth`` tiles from ``pivot`` on."""
    left = cuda.shared.array(LEFT, dist.dtype, 16)
    right = cuda.shared.array(RIGHT, dist.dtype, 16)
    best = cuda.local.array(CELLS, dist.dtype)
    # The mask tells the compiler that no index is negative.
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = place_of(t)
    load_cells(best, dist, row, column, y, x)
    for corner in range(pivot * TILE, (pivot + depth) * TILE, TILE):
        for first in range(0, TILE, DEPTH):
            load_left(dist, left, row, corner + first, t)
            load_tagged_right(dist, right, corner + first, column, first + 1, t)
            cuda.syncthreads()
            relax_slab(best, left, right, y, x)
            cuda.syncthreads()
        note_vertices(best, notes, row, column, corner, y, x)
    store_cells(best, dist, row, column, y, x)


@cuda.jit(device=True)
def relax_through_owned(best, rows, columns, y, x, r):
    """Relax a tile of the diagonal through the 16 vertices that are number ``r`` at some place."""
    for place in range(16):
        now = place & 1
        if y == place:
            for c in range(8):
                rows[now, cell_of(x, c)] = (best[r, c] & ~TAGS) + (r << 4) + place + 1
        if x == place:
            for c in range(8):
                columns[now, cell_of(y, c)] = best[c, r] & ~TAGS
        # Two buffers in turn: what is written next was read before the barrier of this step.
        cuda.syncthreads()
        relax_step(best, columns, rows, now, y, x)


@cuda.jit(device=True)
def vertex_of(tag):
    """Return which vertex of a tile of the diagonal has a tag: they tell the order in time."""
    return cell_of((tag - 1) & 15, (tag - 1) >> 4)


@cuda.jit(device=True)
def close_tile(dist, notes, corner):
    """Close the tile of the diagonal whose first cell is (corner, corner)."""
    rows = cuda.shared.array(_PUBLISHED, dist.dtype, 16)
    columns = cuda.shared.array(_PUBLISHED, dist.dtype, 16)
    best = cuda.local.array(CELLS, dist.dtype)
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = place_of(t)
    load_cells(best, dist, corner, corner, y, x)
    # One by one: a register cannot be chosen by a number that is not known when compiling.
    relax_through_owned(best, rows, columns, y, x, 0)
    relax_through_owned(best, rows, columns, y, x, 1)
    relax_through_owned(best, rows, columns, y, x, 2)
    relax_through_owned(best, rows, columns, y, x, 3)
    relax_through_owned(best, rows, columns, y, x, 4)
    relax_through_owned(best, rows, columns, y, x, 5)
    relax_through_owned(best, rows, columns, y, x, 6)
    relax_through_owned(best, rows, columns, y, x, 7)
    for r in range(8):
        i = uint32(corner + cell_of(y, r))
        for c in range(8):
            tag = best[r, c] & TAGS
            if tag:
                notes[i, uint32(corner + cell_of(x, c))] = NOTED - corner - vertex_of(tag)
            best[r, c] -= tag
    store_cells(best, dist, corner, corner, y, x)


@cuda.jit(device=True)
def earlier_note(notes, i, note):
    """Return the note that one comes to from another one in row ``i``, some notes back in time.

    And whether there are more behind it.
    """
    for _ in range(NOTES_AT_A_TIME):
        before = notes[i, NOTED - note]
        if before > NOTED:
            return note, False
        note = before
    return note, notes[i, NOTED - note] <= NOTED
