"""Tiles of 128 x 128 in registers by quarters of 64 x 64, which 64 vertices lead through.

A thread has 8 x 8 cells of a tile as in `large`: 4 x 4 of each quarter. Operands lie in shared
memory, a row for each of 64 vertices: left the column of the matrix, transposed, for the tile's 128
rows; right the row, for its 128 columns. Which vertex has which row does not matter as long as it
is the same for both.
"""

from __future__ import annotations

from numba import cuda

from warpladder.shortest_paths.gpu_tiles.four_cells import load_four, store_four
from warpladder.shortest_paths.gpu_tiles.large import TILE
from warpladder.shortest_paths.gpu_tiles.relaxing import lesser

__all__ = [
    "PITCH",
    "QUARTER",
    "VERTICES",
    "bring_panels",
    "bring_quarter",
    "publish_columns",
    "publish_rows",
    "put",
    "relax",
    "relax_two",
    "take",
    "write_as_columns",
    "write_as_rows",
]

#: That are taken at a time: as many as a quarter has rows.
VERTICES = TILE // 2
#: From a row of operands to the next. Four numbers more than the operands have: threads that write
#: rows side by side meet 32 banks.
PITCH = 2 * TILE + 4
#: Of a thread in a quarter.
QUARTER = (4, 4)


@cuda.jit(device=True)
def relax_step(cells, operands, left, right, top, rows, first, columns):
    """Relax ``rows`` x ``columns`` of a thread's cells, from (top, first) on, through a vertex."""
    a = cuda.local.array(8, cells.dtype)
    b = cuda.local.array(8, cells.dtype)
    through = cuda.local.array(1, cells.dtype)
    for r in range(rows):
        a[r] = operands[left + ((r >> 2) << 6) + (r & 3)]
    for c in range(columns):
        b[c] = operands[right + ((c >> 2) << 6) + (c & 3)]
    for r in range(rows):
        to_k = a[r]
        for c in range(columns):
            # Numba adds integers in 64 bits; a cell of an array drops what a register would.
            through[0] = to_k + b[c]
            cells[top + r, first + c] = lesser(cells[top + r, first + c], through[0])


@cuda.jit(device=True)
def relax(cells, operands, left, right, top, rows, first, columns):
    """Relax some of a thread's cells through all vertices.

    ``left`` and ``right`` are where the first operands are in a row. The numbers of cells have to
    be known when compiling: a register cannot be chosen by one that is not.
    """
    for step in range(0, VERTICES, 4):
        # The mask tells the compiler that no index is negative.
        k = (step & (VERTICES - 4)) * PITCH
        one, two, three = k + PITCH, k + 2 * PITCH, k + 3 * PITCH
        relax_step(cells, operands, k + left, k + right, top, rows, first, columns)
        relax_step(cells, operands, one + left, one + right, top, rows, first, columns)
        relax_step(cells, operands, two + left, two + right, top, rows, first, columns)
        relax_step(cells, operands, three + left, three + right, top, rows, first, columns)


@cuda.jit(device=True)
def relax_two(one, other, operands, y, x):
    """Relax two quarters, the second one by operands that lie 64 further on."""
    for step in range(0, VERTICES, 4):
        k = (step & (VERTICES - 4)) * PITCH
        for u in range(4):
            left, right = k + u * PITCH + (y << 2), k + u * PITCH + TILE + (x << 2)
            relax_step(one, operands, left, right, 0, 4, 0, 4)
            relax_step(other, operands, left + VERTICES, right + VERTICES, 0, 4, 0, 4)


@cuda.jit(device=True)
def take(cells, best, lower, right):
    """Copy a quarter of a thread's cells: the lower one or not, the right one or not."""
    for r in range(4):
        for c in range(4):
            above = best[r, c + 4] if right else best[r, c]
            below = best[r + 4, c + 4] if right else best[r + 4, c]
            cells[r, c] = below if lower else above


@cuda.jit(device=True)
def put(cells, best, lower, right):
    """Copy a quarter back."""
    for r in range(4):
        for c in range(4):
            if lower:
                if right:
                    best[r + 4, c + 4] = cells[r, c]
                else:
                    best[r + 4, c] = cells[r, c]
            elif right:
                best[r, c + 4] = cells[r, c]
            else:
                best[r, c] = cells[r, c]


@cuda.jit(device=True)
def row_of(place, number):
    """Return the row of operands for one of the four vertices that threads at a place have.

    Threads side by side so write rows side by side, also where they have columns.
    """
    return (number << 4) + place


@cuda.jit(device=True)
def write_four(operands, at, cells):
    """Write four operands."""
    for u in range(4):
        operands[at + u] = cells[u]


@cuda.jit(device=True)
def write_as_rows(operands, cells, place, y, x):
    """Make a quarter's rows operands, from a place in each row of these on."""
    for r in range(4):
        at = row_of(y, r) * PITCH + place + (x << 2)
        write_four(operands, at, (cells[r, 0], cells[r, 1], cells[r, 2], cells[r, 3]))


@cuda.jit(device=True)
def write_as_columns(operands, cells, place, y, x):
    """Make a quarter's columns operands."""
    for c in range(4):
        at = row_of(x, c) * PITCH + place + (y << 2)
        write_four(operands, at, (cells[0, c], cells[1, c], cells[2, c], cells[3, c]))


@cuda.jit(device=True)
def bring_panels(operands, row_panels, column_panels, first, row, column, t):
    """Make the vertices from ``first`` on operands of the tile whose first cell is given."""
    k, j = t >> 5, (t & 31) << 2
    for part in range(VERTICES // 8):
        at = ((part << 3) + k) * PITCH + j
        left = load_four(column_panels, first + (part << 3) + k, row + j)
        right = load_four(row_panels, first + (part << 3) + k, column + j)
        write_four(operands, at, left)
        write_four(operands, at + TILE, right)


@cuda.jit(device=True)
def bring_quarter(operands, panels, first, along, place, t):
    """Make 64 x 64 cells of panels operands, from a place in each row of these on."""
    k, j = t >> 4, (t & 15) << 2
    for part in range(VERTICES // 16):
        vertex = k + (part << 4)
        cells = load_four(panels, first + vertex, along + j)
        at = row_of(vertex >> 2, vertex & 3) * PITCH + place + j
        write_four(operands, at, cells)


@cuda.jit(device=True)
def publish_rows(row_panels, cells, row, column, y, x):
    """Write a quarter to the panels, from (row, column) on."""
    for r in range(4):
        four = cells[r, 0], cells[r, 1], cells[r, 2], cells[r, 3]
        store_four(row_panels, row + (y << 2) + r, column + (x << 2), four)


@cuda.jit(device=True)
def publish_columns(column_panels, cells, row, column, y, x):
    """Write a quarter to the panels, transposed."""
    for c in range(4):
        four = cells[0, c], cells[1, c], cells[2, c], cells[3, c]
        store_four(column_panels, column + (x << 2) + c, row + (y << 2), four)
