"""The whole matrix in registers, and signals in place of barriers.

Idea: 2,048 x 2,048 numbers of 4 bytes are 16 MiB, and the registers of an H200 hold twice that. So
each block takes one tile of 128 x 128 and keeps it from the first vertex to the last: 64 cells in
each thread. What a round needs of others goes through memory: 64 rows of the matrix, the *row
panel*, as they are when these 64 vertices have been taken, and 64 columns, transposed, each at a
place of its own for each round. And nobody waits for everybody: a block that has written its part
of a panel says so by a flag, and who needs that part waits for this flag.

A tile on the diagonal needs nobody in its own two rounds. It closes a quarter, takes the two beside
it through that, which are its parts of the panels, and what is left through these; and again from
the other corner. The tiles in its row wait for the closed quarter and then take their own 64 rows
through it, those in its column their columns. All others wait for both panels and relax.

Why nothing races. A panel is written once, before its flag, and read after it: a fence on either
side puts that in order. No part of it was read before in this launch, so that no cache has what
was there earlier. Flags are raised once. All blocks are resident, for the launch is cooperative:
who is waited for is at work.

Below: in `one-launch` all blocks met twice a round, each time waiting for the last of them; most
had nothing to do while the panels were relaxed. A tile was read and written in every round.

Expect: one launch. A tile off the pivot's row and column loads 16 numbers from shared memory for 64
relaxations, as in `register-tiles`; and the matrix is read from memory once and written once, with
its panels written once each and read by whoever needs them.

Found: on an NVIDIA H100 80GB HBM3 (2026-11-25), at n = 2048, it takes 0.942 ms and `one-launch`
1.17 ms. What is left of waiting is for the diagonal: its tiles are closed one after another, each
by one block, while others have nothing to do once they have caught up.

Source: beyond

Question: How many vertices may a graph have for a GPU of 132 multiprocessors that hold two of these
blocks each, and how many places are left free?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.grids import round_up
from warpladder.device.kernel_cache import cached
from warpladder.device.occupancy import occupancy
from warpladder.errors import TooLargeError
from warpladder.rung import Bound, Found, Prediction, Rung
from warpladder.shortest_paths.gpu_tiles import small
from warpladder.shortest_paths.gpu_tiles.four_cells import load_four, store_four
from warpladder.shortest_paths.gpu_tiles.large import (
    CELLS,
    THREADS,
    TILE,
    TWO_BLOCKS,
    cell_of,
    place_of,
)
from warpladder.shortest_paths.gpu_tiles.quarters import (
    PITCH,
    QUARTER,
    VERTICES,
    bring_panels,
    bring_quarter,
    publish_columns,
    publish_rows,
    put,
    relax,
    relax_two,
    take,
    write_as_columns,
    write_as_rows,
)
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_IN_RESIDENT_TILES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_resident", "most_tiles", "run"]


@cuda.jit(device=True)
def flag_of_row(half_round, tile, side):
    """Return which flag says that a tile has written its part of the row panel."""
    return half_round * (2 * side + 1) + tile


@cuda.jit(device=True)
def flag_of_column(half_round, tile, side):
    """Return which flag says the same of the column panel."""
    return half_round * (2 * side + 1) + side + tile


@cuda.jit(device=True)
def flag_of_corner(half_round, side):
    """Return which flag says that the quarter on the diagonal is closed."""
    return half_round * (2 * side + 1) + 2 * side


@cuda.jit(device=True)
def wait_for(flags, number):
    """Let the first thread wait for a flag; the others have to wait for it at a barrier."""
    if cuda.threadIdx.x == 0:
        # Adding nothing is how to read atomically.
        while cuda.atomic.add(flags, number, 0) == 0:
            pass
        cuda.threadfence()


@cuda.jit(device=True)
def raise_flag(flags, number):
    """Say that what the block has written is there, after a barrier behind it."""
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.exch(flags, number, 1)


@cuda.jit(device=True)
def close_diagonal(best, operands, row_panels, column_panels, flags, tile, side, y, x):
    """Take a tile on the diagonal through its own vertices."""
    one = cuda.local.array(QUARTER, best.dtype)
    other = cuda.local.array(QUARTER, best.dtype)
    corner = tile * TILE
    for half in range(2):
        lower = half == 1
        first = corner + half * VERTICES
        beside = corner + VERTICES - half * VERTICES
        take(one, best, lower, lower)
        small.close_tile(one, one, False)
        publish_rows(row_panels, one, first, first, y, x)
        publish_columns(column_panels, one, first, first, y, x)
        cuda.syncthreads()
        raise_flag(flags, flag_of_corner(2 * tile + half, side))
        put(one, best, lower, lower)
        write_as_columns(operands, one, 0, y, x)
        write_as_rows(operands, one, TILE + VERTICES, y, x)
        take(one, best, lower, not lower)
        write_as_rows(operands, one, TILE, y, x)
        take(other, best, not lower, lower)
        write_as_columns(operands, other, VERTICES, y, x)
        cuda.syncthreads()
        relax_two(one, other, operands, y, x)
        publish_rows(row_panels, one, first, beside, y, x)
        publish_columns(column_panels, other, beside, first, y, x)
        cuda.syncthreads()
        raise_flag(flags, flag_of_row(2 * tile + half, tile, side))
        raise_flag(flags, flag_of_column(2 * tile + half, tile, side))
        put(one, best, lower, not lower)
        put(other, best, not lower, lower)
        write_as_rows(operands, one, TILE, y, x)
        write_as_columns(operands, other, 0, y, x)
        cuda.syncthreads()
        take(one, best, not lower, not lower)
        relax(one, operands, y << 2, TILE + (x << 2), 0, 4, 0, 4)
        put(one, best, not lower, not lower)
        cuda.syncthreads()


@cuda.jit(device=True)
def relax_in_row(best, operands, row_panels, column_panels, flags, tile, along, side, t, y, x):
    """Take a tile in the pivot's row through the pivot's vertices: its own rows, then the others.

    First the upper half, which is a part of the panel, and the lower one through it; then the
    lower half as a part of the panel, and the upper one through that.
    """
    cells = cuda.local.array(QUARTER, best.dtype)
    for step in range(4):
        half, is_panel = step >> 1, step & 1 == 0
        is_lower = 1 <= step <= 2
        lower = half == 1
        first, target = tile * TILE + half * VERTICES, VERTICES if is_lower else 0
        take(cells, best, lower, False)
        write_as_rows(operands, cells, TILE, y, x)
        take(cells, best, lower, True)
        write_as_rows(operands, cells, TILE + VERTICES, y, x)
        corner, column = (
            flag_of_corner(2 * tile + half, side),
            flag_of_column(2 * tile + half, tile, side),
        )
        wait_for(flags, corner if is_panel else column)
        cuda.syncthreads()
        bring_quarter(operands, column_panels, first, tile * TILE + target, target, t)
        cuda.syncthreads()
        if is_lower:
            relax(best, operands, VERTICES + (y << 2), TILE + (x << 2), 4, 4, 0, 8)
        else:
            relax(best, operands, y << 2, TILE + (x << 2), 0, 4, 0, 8)
        if is_panel:
            take(cells, best, lower, False)
            publish_rows(row_panels, cells, first, along * TILE, y, x)
            take(cells, best, lower, True)
            publish_rows(row_panels, cells, first, along * TILE + VERTICES, y, x)
        cuda.syncthreads()
        if is_panel:
            raise_flag(flags, flag_of_row(2 * tile + half, along, side))


@cuda.jit(device=True)
def relax_in_column(best, operands, row_panels, column_panels, flags, tile, down, side, t, y, x):
    """Take a tile in the pivot's column through the pivot's vertices, as those in its row."""
    cells = cuda.local.array(QUARTER, best.dtype)
    for step in range(4):
        half, is_panel = step >> 1, step & 1 == 0
        is_right = 1 <= step <= 2
        right = half == 1
        first, target = tile * TILE + half * VERTICES, VERTICES if is_right else 0
        take(cells, best, False, right)
        write_as_columns(operands, cells, 0, y, x)
        take(cells, best, True, right)
        write_as_columns(operands, cells, VERTICES, y, x)
        corner, row = (
            flag_of_corner(2 * tile + half, side),
            flag_of_row(2 * tile + half, tile, side),
        )
        wait_for(flags, corner if is_panel else row)
        cuda.syncthreads()
        bring_quarter(operands, row_panels, first, tile * TILE + target, TILE + target, t)
        cuda.syncthreads()
        if is_right:
            relax(best, operands, y << 2, TILE + VERTICES + (x << 2), 0, 8, 4, 4)
        else:
            relax(best, operands, y << 2, TILE + (x << 2), 0, 8, 0, 4)
        if is_panel:
            take(cells, best, False, right)
            publish_columns(column_panels, cells, down * TILE, first, y, x)
            take(cells, best, True, right)
            publish_columns(column_panels, cells, down * TILE + VERTICES, first, y, x)
        cuda.syncthreads()
        if is_panel:
            raise_flag(flags, flag_of_column(2 * tile + half, down, side))


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def close_in_registers(dist, row_panels, column_panels, flags, side):
    """Replace weights by distances, in place; a block for each of ``side`` x ``side`` tiles."""
    operands = cuda.shared.array(0, dist.dtype, 16)
    best = cuda.local.array(CELLS, dist.dtype)
    # The mask tells the compiler that no index is negative.
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = place_of(t)
    down = cuda.blockIdx.x // side
    along = cuda.blockIdx.x - down * side
    row, column = down * TILE, along * TILE
    for r in range(8):
        for c in range(0, 8, 4):
            cells = load_four(dist, row + cell_of(y, r), column + cell_of(x, c))
            for u in range(4):
                best[r, c + u] = cells[u]
    for tile in range(side):
        if down == tile and along == tile:
            close_diagonal(best, operands, row_panels, column_panels, flags, tile, side, y, x)
        elif down == tile:
            relax_in_row(
                best, operands, row_panels, column_panels, flags, tile, along, side, t, y, x
            )
        elif along == tile:
            relax_in_column(
                best, operands, row_panels, column_panels, flags, tile, down, side, t, y, x
            )
        else:
            for half_round in range(2 * tile, 2 * tile + 2):
                wait_for(flags, flag_of_row(half_round, along, side))
                wait_for(flags, flag_of_column(half_round, down, side))
                cuda.syncthreads()
                first = half_round * VERTICES
                bring_panels(operands, row_panels, column_panels, first, row, column, t)
                cuda.syncthreads()
                relax(best, operands, y << 2, TILE + (x << 2), 0, 8, 0, 8)
                cuda.syncthreads()
    for r in range(8):
        for c in range(0, 8, 4):
            cells = best[r, c], best[r, c + 1], best[r, c + 2], best[r, c + 3]
            store_four(dist, row + cell_of(y, r), column + cell_of(x, c), cells)


def _shared_bytes(itemsize: int) -> int:
    return VERTICES * PITCH * itemsize


def most_tiles(device: Device) -> int:
    """Return how many tiles the registers of a device hold at a time, of numbers of 4 bytes."""
    # What closing a tile of the diagonal has beside the operands.
    published = 4 * small.TILE * 4 + 2 * small.TILE * 4
    shared = _shared_bytes(4) + published
    if shared > device.properties.shared_bytes_per_block_optin:
        return 0
    resident = occupancy(
        device.properties, THREADS, registers_per_thread=TWO_BLOCKS, shared_bytes=shared
    ).blocks_per_multiprocessor
    return resident * device.properties.multiprocessors


def close_resident(device: Device, dist: Any) -> None:
    """Replace weights by distances, in place and in one launch.

    Parameters
    ----------
    device
        Where the matrix is.
    dist
        Shape (m, m), m a multiple of `TILE`, of 4 bytes; not more than `most_tiles`. At most 0 on
        the diagonal.
    """
    side = dist.shape[0] // TILE
    row_panels, column_panels = (device.empty(dist.shape, dist.dtype) for _ in range(2))
    flags = device.full(2 * side * (2 * side + 1), 0, np.int32)
    device.launch(
        close_in_registers, side**2, THREADS, dist, row_panels, column_panels, flags, side,
        shared_bytes=_shared_bytes(dist.dtype.itemsize), cooperative=True,
    )  # fmt: skip


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    if (side // TILE) ** 2 > most_tiles(device):
        raise TooLargeError(
            f"problem: {n:,} vertices are {(side // TILE) ** 2} tiles, and the registers of "
            f"{device.properties.name} hold {most_tiles(device)}; use overlapped-panels"
        )
    dist = device.to_device(padded(problem, side, side))
    if n:
        close_resident(device, dist)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="resident-tiles",
    title="The whole matrix in registers, flags in place of barriers",
    source="beyond",
    run=run,
    task=DISTANCES_IN_RESIDENT_TILES,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock"),
    kernels=(close_in_registers,),
    predicts=(Prediction("launches", "==", 1, 128, "tiles stay from the first round to the last"),),
    limits="the registers of an H200 hold 16 x 16 tiles of 128 x 128",
    max_n=2048,
    found=(
        Found(
            "NVIDIA H100 80GB HBM3",
            "2026-11-25",
            2048,
            (("resident-tiles", 0.942), ("one-launch", 1.17)),
        ),
    ),
)
