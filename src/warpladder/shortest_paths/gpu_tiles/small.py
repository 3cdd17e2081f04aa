"""Tiles of 64 x 64 for 256 threads, 4 x 4 cells in each: what `one-launch` does with them.

A tile's operands come through shared memory in *slabs* of so many intermediate vertices, the left
one transposed, so that a thread finds its 4 rows and its 4 columns as neighbours: one 16-byte load
each for numbers of 4 bytes. All functions take ``carry``, whether next hops are wanted, which the
compiler knows when it comes here; what hangs on it costs nothing where they are not. The engine
takes these tiles for large matrices, too, and those beyond its memory.
"""

from __future__ import annotations

from numba import cuda, int32, uint32

from warpladder.shortest_paths.gpu_tiles.four_cells import load_four, store_four
from warpladder.shortest_paths.gpu_tiles.large import place_of
from warpladder.shortest_paths.gpu_tiles.relaxing import lesser

__all__ = [
    "CELLS",
    "SLABS_AND_REGISTERS",
    "THREADS",
    "TILE",
    "VERTICES",
    "close_tile",
    "load_tile",
    "relax_tile",
    "relaxing",
    "store_tile",
]

TILE, THREADS = 64, 256
CELLS = (4, 4)
PUBLISHED = (2, TILE)
#: What is carried where both ends of a path want their next hop: the vertex that it goes through.
VERTICES = 2


@cuda.jit(device=True)
def relax_step(best, left, right, k, y, x):
    """Relax the thread's cells through row ``k`` of both operands."""
    a = cuda.local.array(4, best.dtype)
    b = cuda.local.array(4, best.dtype)
    through = cuda.local.array(1, best.dtype)
    for r in range(4):
        a[r] = left[k, (y << 2) + r]
    for c in range(4):
        b[c] = right[k, (x << 2) + c]
    for r in range(4):
        to_k = a[r]
        for c in range(4):
            # Numba adds integers in 64 bits; a cell of an array drops what a register would.
            through[0] = to_k + b[c]
            best[r, c] = lesser(best[r, c], through[0])


@cuda.jit(device=True)
def relax_group(best, left, right, k, y, x):
    """Relax the thread's cells through the eight vertices from ``k`` on."""
    relax_step(best, left, right, k, y, x)
    relax_step(best, left, right, k + 1, y, x)
    relax_step(best, left, right, k + 2, y, x)
    relax_step(best, left, right, k + 3, y, x)
    relax_step(best, left, right, k + 4, y, x)
    relax_step(best, left, right, k + 5, y, x)
    relax_step(best, left, right, k + 6, y, x)
    relax_step(best, left, right, k + 7, y, x)


@cuda.jit(device=True)
def relax_slab_in_groups(best, group, left, right, slab, y, x, no_path):
    """Relax the thread's cells, and note in which group of eight vertices each improved last."""
    least = cuda.local.array(CELLS, best.dtype)
    for r in range(4):
        for c in range(4):
            group[r, c] = -1
    for first in range(0, slab, 8):
        k = first & (slab - 8)
        for r in range(4):
            for c in range(4):
                least[r, c] = no_path
        relax_group(least, left, right, k, y, x)
        for r in range(4):
            for c in range(4):
                if least[r, c] < best[r, c]:
                    best[r, c] = least[r, c]
                    group[r, c] = k


@cuda.jit(device=True)
def find_hops(best, hop, group, left, right, left_hops, row, first, y, x, r, carry):
    """Look up the first steps of the cells of row ``r`` that improved in this slab.

    With `VERTICES` note the vertex that each of them improved through instead.
    """
    through = cuda.local.array(1, best.dtype)
    i = (y << 2) + r
    for c in range(4):
        if group[r, c] >= 0:
            found = group[r, c]
            for k in range(1, 8):
                through[0] = left[group[r, c] + k, i] + right[group[r, c] + k, (x << 2) + c]
                if through[0] == best[r, c]:
                    found = group[r, c] + k
            if carry == VERTICES:
                hop[r, c] = first + found
            else:
                hop[r, c] = left_hops[uint32(row + i), uint32(first + found)]


@cuda.jit(device=True)
def load_slab(lefts, rights, left, right, slab, row, column, first_left, first_right, t):
    """Bring columns ``first_left...`` of a tile's rows, transposed, and rows of its columns."""
    for part in range(slab // 4):
        # Eight entries of a row are a sector: a warp reads four full sectors of four rows.
        i = ((part & 1) << 5) + (t >> 3)
        k = ((part >> 1) << 3) + (t & 7)
        left[k, i] = lefts[uint32(row + i), uint32(first_left + k)]
    for part in range(slab // 4):
        k = (part << 2) + (t >> 6)
        right[k, t & 63] = rights[uint32(first_right + k), uint32(column + (t & 63))]


@cuda.jit(device=True)
def relax_tile(
    best, hop, lefts, left_hops, rights, left, right, slab, row, column, pivots, no_path, carry
):
    """Relax the tile whose first cell is (row, column) through those of two matrices beside it.

    ``pivots`` are the first column in ``lefts``, the first row in ``rights``, and how many of them;
    ``left`` and ``right`` are their places in shared memory.
    """
    first_left, first_right, depth = pivots
    group = cuda.local.array(CELLS, int32)
    # The mask tells the compiler that no index is negative.
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = place_of(t)
    # From one count to the other, which costs no register where the two are the same.
    apart = first_right - first_left
    for first in range(first_left, first_left + depth, slab):
        load_slab(lefts, rights, left, right, slab, row, column, first, first + apart, t)
        cuda.syncthreads()
        if carry:
            relax_slab_in_groups(best, group, left, right, slab, y, x, no_path)
            find_hops(best, hop, group, left, right, left_hops, row, first, y, x, 0, carry)
            find_hops(best, hop, group, left, right, left_hops, row, first, y, x, 1, carry)
            find_hops(best, hop, group, left, right, left_hops, row, first, y, x, 2, carry)
            find_hops(best, hop, group, left, right, left_hops, row, first, y, x, 3, carry)
        else:
            for k in range(0, slab, 8):
                relax_group(best, left, right, k & (slab - 8), y, x)
        cuda.syncthreads()


@cuda.jit(device=True)
def load_cells(cells, matrix, row, column):
    """Take a tile's cells into registers."""
    y, x = place_of(cuda.threadIdx.x & (THREADS - 1))
    for r in range(4):
        four = load_four(matrix, row + (y << 2) + r, column + (x << 2))
        for c in range(4):
            cells[r, c] = four[c]


@cuda.jit(device=True)
def load_tile(best, hop, dist, hops, row, column, carry):
    """Take a tile's distances into registers, and its next hops where they are wanted."""
    load_cells(best, dist, row, column)
    if carry:
        # One by one: four at a time take registers that the kernel for many graphs has not, which
        # then spills.
        y, x = place_of(cuda.threadIdx.x & (THREADS - 1))
        for r in range(4):
            for c in range(4):
                hop[r, c] = hops[uint32(row + (y << 2) + r), uint32(column + (x << 2) + c)]


@cuda.jit(device=True)
def store_tile(best, hop, dist, hops, row, column, carry):
    """Write a tile's cells; with next hops those that improved, for of others no hop is known."""
    y, x = place_of(cuda.threadIdx.x & (THREADS - 1))
    if carry:
        # A row of them before any is written: a load behind a store would have to wait for it, as
        # the compiler cannot know that they are of different cells.
        for r in range(4):
            i = uint32(row + (y << 2) + r)
            known = load_four(dist, i, column + (x << 2))
            for c in range(4):
                if best[r, c] < known[c]:
                    j = uint32(column + (x << 2) + c)
                    dist[i, j] = best[r, c]
                    hops[i, j] = hop[r, c]
    else:
        for r in range(4):
            cells = best[r, 0], best[r, 1], best[r, 2], best[r, 3]
            store_four(dist, row + (y << 2) + r, column + (x << 2), cells)


@cuda.jit(device=True)
def store_both_ways(best, vertex, dist, hops, row, column):
    """Write the cells of a tile that improved through a vertex, with the next hops there and back.

    Those back are cells of the tile's mirror image, which no block relaxes. A tile of the diagonal
    is its own mirror image: there each cell writes its own.
    """
    there = cuda.local.array(CELLS, int32)
    back = cuda.local.array(CELLS, int32)
    y, x = place_of(cuda.threadIdx.x & (THREADS - 1))
    for r in range(4):
        i = uint32(row + (y << 2) + r)
        known = load_four(dist, i, column + (x << 2))
        for c in range(4):
            there[r, c] = -1
            if best[r, c] < known[c]:
                there[r, c] = hops[i, uint32(vertex[r, c])]
                back[r, c] = hops[uint32(column + (x << 2) + c), uint32(vertex[r, c])]
    # A tile of the round's own rows or columns is where its next hops are looked up.
    cuda.syncthreads()
    for r in range(4):
        i = uint32(row + (y << 2) + r)
        for c in range(4):
            if there[r, c] >= 0:
                j = uint32(column + (x << 2) + c)
                dist[i, j] = best[r, c]
                hops[i, j] = there[r, c]
                if row != column:
                    hops[j, i] = back[r, c]


@cuda.jit(device=True)
def relax_through_owned(best, hop, rows, columns, steps, y, x, number, carry):
    """Relax a tile of the diagonal through the 16 vertices that are ``number`` of some place."""
    a = cuda.local.array(4, best.dtype)
    b = cuda.local.array(4, best.dtype)
    step = cuda.local.array(4, int32)
    through = cuda.local.array(1, best.dtype)
    for place in range(16):
        now = place & 1
        if y == place:
            for c in range(4):
                rows[now, (x << 2) + c] = best[number, c]
        if x == place:
            for r in range(4):
                columns[now, (y << 2) + r] = best[r, number]
                if carry:
                    steps[now, (y << 2) + r] = hop[r, number]
        # Two buffers in turn: what is written next was read before the barrier of this step.
        cuda.syncthreads()
        for r in range(4):
            a[r] = columns[now, (y << 2) + r]
            b[r] = rows[now, (x << 2) + r]
            if carry:
                step[r] = steps[now, (y << 2) + r]
        for r in range(4):
            for c in range(4):
                through[0] = a[r] + b[c]
                if carry:
                    if through[0] < best[r, c]:
                        best[r, c] = through[0]
                        hop[r, c] = step[r]
                else:
                    best[r, c] = lesser(best[r, c], through[0])


@cuda.jit(device=True)
def close_tile(best, hop, carry):
    """Close a tile of the diagonal, in registers. Vertices may come in any order."""
    rows = cuda.shared.array(PUBLISHED, best.dtype, 16)
    columns = cuda.shared.array(PUBLISHED, best.dtype, 16)
    steps = cuda.shared.array(PUBLISHED, int32, 16)
    y, x = place_of(cuda.threadIdx.x & (THREADS - 1))
    # One by one: a register cannot be chosen by a number that is not known when compiling.
    relax_through_owned(best, hop, rows, columns, steps, y, x, 0, carry)
    relax_through_owned(best, hop, rows, columns, steps, y, x, 1, carry)
    relax_through_owned(best, hop, rows, columns, steps, y, x, 2, carry)
    relax_through_owned(best, hop, rows, columns, steps, y, x, 3, carry)


#: By bytes of a number and whether next hops are carried: the vertices in a slab, and the registers
#: of a thread that `relaxing` was measured with, in `one-launch`.
SLABS_AND_REGISTERS = {(8, False): (32, 128), (4, True): (64, 128), (8, True): (32, 255)}


def relaxing(carry: int, slab: int):
    """Return a function for kernels that loads a tile, relaxes it by slabs and stores it.

    With `VERTICES` it stores both ways, and the left next hops are those of the whole matrix.
    """
    # Four numbers more than a tile has rows: threads that transpose 4 x 8 entries meet 32 banks.
    left_shape = (slab, TILE + 4)
    right_shape = (slab, TILE)

    @cuda.jit(device=True)
    def relax(target, hops, lefts, left_hops, rights, row, column, pivots, no_path):
        left = cuda.shared.array(left_shape, target.dtype, 16)
        right = cuda.shared.array(right_shape, target.dtype, 16)
        best = cuda.local.array(CELLS, target.dtype)
        hop = cuda.local.array(CELLS, int32)
        load_tile(best, hop, target, hops, row, column, False)
        relax_tile(
            best, hop, lefts, left_hops, rights, left, right, slab, row, column, pivots, no_path,
            carry,
        )  # fmt: skip
        if carry == VERTICES:
            store_both_ways(best, hop, target, hops, row, column)
        else:
            store_tile(best, hop, target, hops, row, column, carry)

    return relax
