"""All rounds in one launch, on tiles of 64 x 64.

Idea: keep the grid on the GPU from the first round to the last. Its blocks meet at a barrier
between phases, of which a round has two: the block that relaxes the *next* tile on the diagonal
closes it right away, while the others are still at theirs. Tiles are small, so that there are
enough of them for all multiprocessors when the matrix is not large; a thread has 4 x 4 cells.

Why nothing races. Operands come to shared memory in slabs, some of their vertices at a time. A tile
of the panels is one of its own operands: it is read before the last barrier of its slabs, and
written after it. Tiles of the rest read the panels, which nobody writes in that phase; the tile on
the diagonal that is closed meanwhile is read in the next.

Below: a round was three launches, each waiting for the slowest block of the one before. While one
multiprocessor closed the tile on the diagonal, all others stood still. And the host spends some
time on every launch.

Expect: one launch, and twice the shared loads of `register-tiles`: 8 loads feed 16 relaxations
where 16 fed 64, and each warp reads twice, for two numbers, where its tile is. That is the price of
small tiles, and why large matrices are left to large ones: they fill the GPU anyhow, and their
launches are few beside the work in each.

Source: beyond

Question: How often does the grid meet for n = 512, and how many launches does `register-tiles` take
for as many vertices?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import round_up
from warpladder.device.kernel_cache import cached
from warpladder.device.occupancy import occupancy
from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.gpu_tiles.small import (
    CELLS,
    THREADS,
    TILE,
    close_tile,
    load_tile,
    relax_tile,
    store_tile,
)
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_IN_SMALL_TILES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["KERNEL_WITH_HOPS", "RUNG", "close_at_once", "run"]


@cuda.jit(device=True)
def meet(arrived, meeting):
    """Return when every block of the grid has come to this meeting; the first has number 1.

    It is what `this_grid().sync()` does, which is a call here: registers would have to be saved.
    """
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(arrived, 0, 1)
        # Adding nothing is how to read atomically.
        while cuda.atomic.add(arrived, 0, 0) < meeting * cuda.gridDim.x:
            pass
        cuda.threadfence()
    cuda.syncthreads()


@cuda.jit(device=True)
def tiles_in(turn, side):
    """Return how many tiles a turn has to do."""
    others = side // TILE - 1
    if turn < 0:
        return int32(1)
    return int32(others * others if turn & 1 else 2 * others)


@cuda.jit(device=True)
def place_in(turn, number, side):
    """Return the first cell of a turn's tile; in odd turns number 0 is the next on the diagonal."""
    others = int32(side // TILE - 1)
    pivot = int32(turn >> 1)
    if turn < 0:
        return int32(0), int32(0)
    if turn & 1:
        place = int32((pivot * others + pivot + number) % (others * others))
        row = int32(place // others)
        column = int32(place - row * others)
        return int32((row + (row >= pivot)) * TILE), int32((column + (column >= pivot)) * TILE)
    in_row = number < others
    other = int32(number if in_row else number - others)
    other = int32((other + (other >= pivot)) * TILE)
    corner = int32(pivot * TILE)
    return (corner, other) if in_row else (other, corner)


@cuda.jit(device=True)
def step_in(turn):
    """Return how far it is to a block's next tile; block 0 does but one where others help."""
    blocks = int32(cuda.gridDim.x)
    if blocks == 1 or not turn & 1:
        return blocks
    return int32(blocks - 1 if cuda.blockIdx.x else 0x40000000)


def _kernel(carry: bool, slab: int, registers: int) -> Any:
    """Return the kernel with or without next hops, for so many registers in a thread."""
    # Four numbers more than a tile has rows: threads that transpose 4 x 8 entries meet 32 banks.
    left_shape = (slab, TILE + 4)
    right_shape = (slab, TILE)

    @cached
    @cuda.jit(max_registers=registers)
    def close_in_one_launch(dist, hops, no_path, arrived):
        """Take all vertices as intermediates, in place."""
        left = cuda.shared.array(left_shape, dist.dtype, 16)
        right = cuda.shared.array(right_shape, dist.dtype, 16)
        corner = cuda.shared.array(2, int32)
        best = cuda.local.array(CELLS, dist.dtype)
        hop = cuda.local.array(CELLS, int32)
        # Panels in even turns, the rest in odd ones; before all that, in turn -1, the first tile is
        # closed. One loop for all of them, what is not needed from tile to tile found anew, the
        # tile's corner in shared memory: every copy of the code, and every number that is kept,
        # costs registers, and without all this there were not enough.
        turn = int32(-1)
        while turn < 2 * (dist.shape[0] // TILE):
            number = int32(cuda.blockIdx.x)
            while number < tiles_in(turn, dist.shape[0]):
                if cuda.threadIdx.x == 0:
                    corner[0], corner[1] = place_in(turn, number, dist.shape[0])
                cuda.syncthreads()
                row, column = corner[0], corner[1]
                closes = number == 0 and turn & 1 and (turn >> 1) + 2 <= dist.shape[0] // TILE
                load_tile(best, hop, dist, hops, row, column, carry and closes)
                pivot, depth = int32((turn >> 1) * TILE), int32(TILE if turn >= 0 else 0)
                relax_tile(
                    best, hop, dist, hops, dist, left, right, slab, row, column,
                    (pivot, pivot, depth), no_path, carry,
                )  # fmt: skip
                if closes:
                    close_tile(best, hop, carry)
                store_tile(best, hop, dist, hops, corner[0], corner[1], carry)
                cuda.syncthreads()
                number = int32(number + step_in(turn))
            turn = int32(turn + 1)
            meet(arrived, turn + 1)

    return close_in_one_launch


#: By bytes of a number and whether next hops are carried: the kernel, the vertices in its slabs,
#: the registers of its threads. With 128 two blocks are resident on a multiprocessor. Three would
#: fit where numbers have 4 bytes, and take longer: 1.51 ms against 1.33 at n = 2048. There slabs of
#: 64 vertices are as good as those of 32, at 1024 better: 0.425 ms against 0.457 (H200, int32).
_VARIANTS = {
    (4, False): (_kernel(carry=False, slab=64, registers=128), 64, 128),
    (8, False): (_kernel(carry=False, slab=32, registers=128), 32, 128),
    (4, True): (_kernel(carry=True, slab=64, registers=128), 64, 128),
    (8, True): (_kernel(carry=True, slab=32, registers=255), 32, 255),
}

KERNEL, KERNEL_WITH_HOPS = _VARIANTS[4, False][0], _VARIANTS[4, True][0]


def close_at_once(device: Device, dist: Any, hops: Any, no_path: Any) -> None:
    """Take all vertices as intermediates, in place and in one launch.

    Parameters
    ----------
    device
        Where the arrays are.
    dist
        Shape (m, m), m a multiple of `TILE`, of 4 or 8 bytes.
    hops
        Next hops of the same shape, int32, or None where they are not wanted.
    no_path
        Not less than any distance, and twice it fits the dtype.
    """
    size = dist.dtype.itemsize
    kernel, slab, registers = _VARIANTS[size, hops is not None]
    tiles = dist.shape[0] // TILE
    shared = (slab * (2 * TILE + 4) + 4 * TILE) * size + 2 * TILE * 4
    resident = occupancy(
        device.properties, THREADS, registers_per_thread=registers, shared_bytes=shared
    ).blocks_per_multiprocessor
    blocks = min(resident * device.properties.multiprocessors, max((tiles - 1) ** 2, 1))
    arrived = device.full((1, 1), 0, np.int32)
    # Where no next hops are wanted, any matrix of them will do.
    links = arrived if hops is None else hops
    device.launch(kernel, blocks, THREADS, dist, links, no_path, arrived[0], cooperative=True)


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    if n:
        close_at_once(device, dist, None, problem.no_path)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="one-launch",
    title="All rounds in one launch, 64 x 64 tiles, 4 x 4 cells in each thread's registers",
    source="beyond",
    run=run,
    task=DISTANCES_IN_SMALL_TILES,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock; 2 n / 64 barriers"),
    kernels=(KERNEL,),
    predicts=(
        Prediction("launches", "==", 1, 128, "the grid stays from the first round to the last"),
        Prediction(
            "shared_load_requests",
            "==",
            2 + 7 * 8 * 4 / 16_384,
            128,
            "8 loads feed 16 relaxations, where 16 fed 64; 8 warps read the corners of 7 tiles",
            than="register-tiles",
        ),
    ),
)
