"""Half of the register tiles, where edges lead both ways.

Idea: the matrix of an undirected graph is symmetric and stays so in every round, for ``a + b`` is
``b + a``: tile (j, i) is tile (i, j) transposed. So relax only the tiles on and below the diagonal.
A tile of the panels is below the diagonal in the pivot's row where it is left of it, in the pivot's
column where it is not; its block copies it, transposed, to the other side. Then the rest finds a
whole row and a whole column as before, and relaxes with the same `relax_tile` as `register-tiles`.
What is above the diagonal serves for nothing else. The last launch copies all that is below it.

The rest are the pairs of ``m`` tiles that are not the pivot. Block (x, y) takes tile x and the one
that is y further on, in a ring, which makes each pair once for y up to ``m / 2``; where m is even,
those at ``m / 2`` are opposite each other, and only the first half of the blocks has something to
do. A transposed tile goes through shared memory, 32 x 32 cells at a time, in rows of 33 words: the
lanes of a warp write a row and read a column, and meet 32 banks.

Race-free for the reasons told in `register-tiles`; a block writes the mirror image of its tile
after a barrier behind the tile itself, and no other block reads or writes it in this launch.

Below: every distance between two vertices of an undirected graph was found twice.

Expect: with t tiles in a row, t on the diagonal are closed, t (t - 1) of the panels relaxed and
t**2 (t - 1) / 2 of the rest: together t**2 (t + 1) / 2 where there were t**3, 6 of 8 at n = 256 and
52 % at 4,096. A tile takes as many relaxations as before, with 16,384 shared loads; to transpose
one takes 512, t (t - 1) times in the rounds and half as often in the end, without bank conflicts:
those that are counted come from slabs of operands, as in `register-tiles`, for four tiles that are
relaxed at n = 256 where it were six. That is one launch more. A digraph is refused.

Found: half of the work is not half of the time at this size. On an NVIDIA H100 80GB HBM3
(2026-11-25), at n = 2048, this takes 1.55 ms, `register-tiles` 1.74 ms and `overlapped-panels`
1.5 ms. With 16 tiles in a row the rest of a round is 120 tiles in place of 225. There are 132
multiprocessors with places for two each, so that either is done in one go.

Source: beyond

Question: What part of the tiles is relaxed at n = 512, and where does it go as n grows?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, uint32

from warpladder.device.grids import WARP, round_up
from warpladder.device.kernel_cache import cached
from warpladder.errors import InputError
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE, TWO_BLOCKS, relax_tile
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_UNDIRECTED
from warpladder.shortest_paths.rungs.register_tiles import MAX_N, close_diagonal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = [
    "RUNG",
    "grid_of_pairs",
    "mirror_all",
    "mirror_tile",
    "pair_of",
    "run",
]

SQUARE = (WARP, WARP + 1)


@cuda.jit(device=True)
def mirror_tile(dist, row, column, side, threads):
    """Copy the tile whose first cell is (row, column) to (column, row), transposed.

    By all ``threads`` of a block, a power of two; ``side`` is a multiple of 32.
    """
    square = cuda.shared.array(SQUARE, dist.dtype)
    # The mask tells the compiler that no index is negative.
    t = cuda.threadIdx.x & (threads - 1)
    y, x = t >> 5, t & 31
    for i in range(row, row + side, WARP):
        for j in range(column, column + side, WARP):
            for r in range(y, WARP, threads // WARP):
                square[r, x] = dist[uint32(i + r), uint32(j + x)]
            cuda.syncthreads()
            for c in range(y, WARP, threads // WARP):
                dist[uint32(j + c), uint32(i + x)] = square[x, c]
            cuda.syncthreads()


@cuda.jit(device=True)
def pair_of(one, further, others):
    """Return the greater and the lesser of two places in a ring; -1, -1 for a pair made before."""
    if 2 * further == others and one >= further:
        return -1, -1
    other = one + further
    if other >= others:
        other -= others
    return max(one, other), min(one, other)


def grid_of_pairs(others: int) -> tuple[int, int]:
    """Return the blocks that make all pairs of places in a ring by `pair_of`."""
    return others, others // 2 + 1


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_half_of_cross(dist, pivot, cross):
    """Relax the tiles of row and column ``cross`` on and below the diagonal.

    With ``cross`` = ``pivot`` these are the panels, which are mirrored.
    """
    other = cuda.blockIdx.x
    if other >= pivot:
        other += 1
    row, column = max(cross, other) * TILE, min(cross, other) * TILE
    relax_tile(dist, dist, dist, row, column, (pivot * TILE, pivot * TILE, TILE))
    if cross == pivot:
        cuda.syncthreads()
        mirror_tile(dist, row, column, TILE, THREADS)


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_half_of_rest(dist, pivot, skipped):
    """Relax the tiles on and below the diagonal but those of ``skipped`` rows and columns.

    These are from ``pivot`` on.
    """
    row, column = pair_of(cuda.blockIdx.x, cuda.blockIdx.y, cuda.gridDim.x)
    if row < 0:
        return
    if row >= pivot:
        row += skipped
    if column >= pivot:
        column += skipped
    pivots = pivot * TILE, pivot * TILE, TILE
    relax_tile(dist, dist, dist, row * TILE, column * TILE, pivots)


@cached
@cuda.jit
def mirror_all(dist):
    """Copy all tiles below the diagonal to the other side of it."""
    if cuda.blockIdx.x < cuda.blockIdx.y:
        mirror_tile(dist, cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE, TILE, THREADS)


def refuse_digraph(matrix: NDArray[Any]) -> None:
    """Raise for a matrix that is not symmetric."""
    unlike = np.argwhere(matrix != matrix.T)
    if unlike.size:
        i, j = unlike[0].tolist()
        raise InputError(
            f"problem: the graph is directed, as its weight ({i}, {j}) is {matrix[i, j]} and "
            f"({j}, {i}) is {matrix[j, i]}; use register-tiles"
        )


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    refuse_digraph(problem.matrix)
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    count = side // TILE
    others = count - 1
    for pivot in range(count):
        device.launch(close_diagonal, 1, THREADS, dist, pivot)
        if others:
            device.launch(relax_half_of_cross, others, THREADS, dist, pivot, pivot)
            device.launch(relax_half_of_rest, grid_of_pairs(others), THREADS, dist, pivot, 1)
    if count > 1:
        device.launch(mirror_all, (count, count), THREADS, dist)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="half-tiles",
    title="Register tiles on and below the diagonal, for graphs whose edges lead both ways",
    source="beyond",
    run=run,
    task=DISTANCES_UNDIRECTED,
    bound=Bound("issue", "n**2 (n + 1) / 2 relaxations at 64 per multiprocessor and clock"),
    kernels=(close_diagonal, relax_half_of_cross, relax_half_of_rest, mirror_all),
    predicts=(
        Prediction(
            "shared_load_requests",
            "==",
            Ratio(6 * 32 + 3, 8 * 32),
            256,
            "six tiles of eight are relaxed, and three copied, by a 32nd of the loads each",
            than="register-tiles",
        ),
        Prediction(
            "shared_bank_conflicts",
            "==",
            Ratio(4, 6),
            256,
            "four tiles take in slabs of operands, not six; rows of 33 words have none",
            than="register-tiles",
        ),
        Prediction("launches", "==", 7, 256, "three for each of two rounds, and the mirror image"),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=MAX_N,
    found=(
        Found(
            "NVIDIA H100 80GB HBM3",
            "2026-11-25",
            2048,
            (("half-tiles", 1.55), ("register-tiles", 1.74), ("overlapped-panels", 1.5)),
        ),
    ),
)
