"""A ladder of your own: transposing a matrix.

This file works as it stands. Change it bit by bit, and look after each change at what the commands
say: another task, another kernel, another prediction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import cuda, float32

from warpladder.rung import Bound, Ladder, Prediction, Ratio, Rung, Task, Work, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

# --- the task: what is computed, and an oracle that knows the answer without any kernel -----------


class Matrix(NamedTuple):
    """A problem: any record of arrays and numbers."""

    values: NDArray[np.float32]


def make(n: int, seed: int) -> Matrix:
    """Return a problem of size n; the same for the same seed."""
    return Matrix(np.random.default_rng(seed).random((n, n), dtype=np.float32))


def transposed(problem: Matrix) -> NDArray[np.float32]:
    """Return the answer, by NumPy."""
    return np.ascontiguousarray(problem.values.T)


TRANSPOSE = Task(
    name="transpose an n x n matrix",
    make=make,
    oracle=transposed,
    # Nothing is computed; every element is read once and written once.
    work=lambda problem: Work(problem.values.size, 2 * problem.values.nbytes),
    unit="elements",
    size_word="rows",
    default_n=4096,
    # Where mistakes show: none, one, a tile of 32 and its neighbours, several tiles.
    sizes=(0, 1, 2, 31, 32, 33, 70),
)

TILE = 32


# --- the first rung ------------------------------------------------------------------------------


@cuda.jit
def copy_elements(matrix, out, n):
    """Let each thread carry one element to its new place."""
    column, row = cuda.grid(2)
    if row < n and column < n:
        out[column, row] = matrix[row, column]


def run_element_per_thread(device: Device, problem: Matrix) -> NDArray[np.float32]:
    """Transpose with a thread for each element.

    Idea: thread (x, y) reads row y, column x, and writes it to row x, column y.

    Expect: the threads of a warp stand side by side in x. They read neighbours, 4 sectors for 32
    numbers of 4 bytes; but they write down a column, to 32 sectors.
    """
    return launch(device, copy_elements, problem)


ELEMENT_PER_THREAD = Rung(
    name="element-per-thread",
    title="A thread for each element: reads in rows, writes in columns",
    source="beyond",
    run=run_element_per_thread,
    task=TRANSPOSE,
    bound=Bound("dram", "(4 + 32) n**2 bytes over the memory bandwidth"),
    kernels=(copy_elements,),
    predicts=(
        Prediction("global_load_sectors_per_request", "==", 4, 64, "32 neighbours in a row"),
        Prediction("global_store_sectors_per_request", "==", 32, 64, "32 places in a column"),
    ),
)


# --- the second rung, better by one idea ----------------------------------------------------------


@cuda.jit
def copy_tiles(matrix, out, n):
    """Let each block turn a tile around in shared memory."""
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
    if row < n and column < n:
        tile[y, x] = matrix[row, column]
    cuda.syncthreads()
    # The tile's place in the answer: rows and columns of blocks changed over.
    row, column = cuda.blockIdx.x * TILE + y, cuda.blockIdx.y * TILE + x
    if row < n and column < n:
        out[row, column] = tile[x, y]


def run_through_a_tile(device: Device, problem: Matrix) -> NDArray[np.float32]:
    """Transpose through tiles in shared memory.

    Idea: a block reads a tile in rows, keeps it in shared memory, and writes it in rows of the
    answer. What runs down a column runs down one in shared memory, where that costs no sectors.

    Below: a warp wrote to 32 rows, one number to each.

    Expect: 4 sectors for a store where it was 32. But a column of the tile lies in one bank, so the
    32 threads of a warp are served one after the other. A tile of TILE + 1 columns mends that: try
    it, and say in a third rung what you expect.
    """
    return launch(device, copy_tiles, problem)


THROUGH_A_TILE = Rung(
    name="through-a-tile",
    title="A tile in shared memory: reads and writes in rows",
    source="beyond",
    run=run_through_a_tile,
    task=TRANSPOSE,
    bound=Bound("dram", "8 n**2 bytes over the memory bandwidth"),
    kernels=(copy_tiles,),
    predicts=(
        Prediction(
            "global_store_sectors",
            "==",
            Ratio(1, 8),
            64,
            "4 sectors for each request where it was 32",
            # A rung of another ladder is called "reduction/tuned".
            than="element-per-thread",
        ),
        Prediction("shared_load_wavefronts", "==", 32 * 128, 64, "128 warps, 32 rows in one bank"),
    ),
)


# --- the wrong rung: what happens without the barrier ---------------------------------------------


@cuda.jit
def copy_tiles_at_once(matrix, out, n):
    """Read what others may not have written yet."""
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
    if row < n and column < n:
        tile[y, x] = matrix[row, column]
    row, column = cuda.blockIdx.x * TILE + y, cuda.blockIdx.y * TILE + x
    if row < n and column < n:
        out[row, column] = tile[x, y]


def run_without_barrier(device: Device, problem: Matrix) -> NDArray[np.float32]:
    """Transpose through tiles, without waiting.

    Idea: as `through-a-tile`, with its barrier left out.

    Fault: a warp reads what other warps are to write, and some of them come later.

    Mended by: `through-a-tile`.
    """
    return launch(device, copy_tiles_at_once, problem)


WITHOUT_BARRIER = WrongRung(
    rung=Rung(
        name="tile-without-barrier",
        title="The tile without its barrier",
        source="beyond",
        run=run_without_barrier,
        task=TRANSPOSE,
        bound=Bound("dram", "8 n**2 bytes over the memory bandwidth"),
        kernels=(copy_tiles_at_once,),
    ),
    caught_by="racecheck",
    n=33,
    visible_under=("warps",),
)


def launch(device: Device, kernel: object, problem: Matrix) -> NDArray[np.float32]:
    """Return what a kernel leaves that has a block of 32 x 32 threads for each tile."""
    n = len(problem.values)
    matrix, out = device.to_device(problem.values), device.empty((n, n), np.float32)
    tiles = -(-n // TILE)
    if tiles:  # A grid has at least one block.
        device.launch(kernel, (tiles, tiles), (TILE, TILE), matrix, out, n)
    return device.to_host(out)


LADDER = Ladder(
    name="my_ladder",
    title="Transposing a matrix",
    rungs=(ELEMENT_PER_THREAD, THROUGH_A_TILE),
    wrong=(WITHOUT_BARRIER,),
)
