"""What the shortest-paths ladder computes: random digraphs, their distances, the oracles.

"No path" is half the largest value of an integer type, so that the sum of two of them still fits
and no kernel has to ask before it adds; it is infinity for floating-point numbers. All weights are
positive, so a sum with "no path" in it is never less than "no path", which therefore stays exactly
what it was.

Integers add exactly. Floating-point weights are multiples of 1/16: as long as a path is shorter
than 2**20, which (n - 1) * 99 / 16 is up to 169,000 vertices, float32 holds every sum of them
exactly. Kernels that add in different orders must therefore agree bit for bit, in every dtype.

A shortest path passes no vertex twice, so it has at most n - 1 edges. Integer weights are at most
("no path" - 1) / (n - 1), rounded down: no distance reaches "no path". For int32 that is no limit;
for int16 weights go up to 99 at n = 166, to 8 at n = 2048 and to 2 at n = 8192, and from n = 16,384
on there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.lab.rung import Task, Work
from warpladder.shortest_paths.dense import NO_HOP, inner_no_path

__all__ = [
    "DISTANCES",
    "DISTANCES_BY_ONE_THREAD",
    "DISTANCES_BY_TILES",
    "DISTANCES_FLOAT32",
    "DISTANCES_FLOAT64",
    "DISTANCES_INT16",
    "DISTANCES_IN_SMALL_TILES",
    "DISTANCES_OVERLAPPED",
    "LENGTHS_ALONG_HOPS",
    "NEXT_HOPS",
    "Weights",
    "first_hops",
    "walk_lengths",
]

#: A vertex has about so many outgoing edges: enough for long detours, too few to reach everything.
_DEGREE = 4
_LONGEST_EDGE = 99
#: Weights of floating-point graphs are multiples of one over this.
_FRACTIONS = 16


class Weights(NamedTuple):
    """A digraph: its matrix of weights, 0 on the diagonal, ``no_path`` where there is no edge."""

    matrix: NDArray[Any]
    no_path: float


def _maker(dtype: DTypeLike) -> Callable[[int, int], Weights]:
    def make(n: int, seed: int) -> Weights:
        rng = np.random.default_rng(seed)
        no_path = inner_no_path(dtype)
        longest = _LONGEST_EDGE
        if no_path.dtype.kind == "i":
            longest = min(longest, (no_path.item() - 1) // max(n - 1, 1))
        lengths = rng.integers(1, longest, (n, n), np.uint8, endpoint=True)
        matrix = lengths.astype(dtype)
        if matrix.dtype.kind == "f":
            matrix /= _FRACTIONS
        matrix[rng.random((n, n), np.float32) * n >= _DEGREE] = no_path
        # No edge leads to the first vertex, so that there are pairs without a path at every size.
        matrix[:, :1] = no_path
        np.fill_diagonal(matrix, 0)
        return Weights(matrix, no_path.item())

    return make


# A verification asks for the same answer again and again, and the plain oracle takes its time.
@lru_cache(maxsize=4)
def _closed(raw: bytes, n: int, dtype: str) -> tuple[NDArray[Any], NDArray[np.int32]]:
    dist = np.frombuffer(raw, dtype).reshape(n, n).copy()
    hops = np.where(dist < inner_no_path(dtype), np.arange(n, dtype=np.int32), np.int32(NO_HOP))
    for k in range(n):
        through = dist[:, k, None] + dist[k]
        shorter = through < dist
        np.copyto(dist, through, where=shorter)
        np.copyto(hops, np.broadcast_to(hops[:, k, None], (n, n)), where=shorter)
    return dist, hops


def _oracle(problem: Weights) -> NDArray[Any]:
    matrix = problem.matrix
    return _closed(matrix.tobytes(), len(matrix), matrix.dtype.name)[0].copy()


def _oracle_with_hops(problem: Weights) -> tuple[NDArray[Any], NDArray[np.int32]]:
    matrix = problem.matrix
    dist, hops = _closed(matrix.tobytes(), len(matrix), matrix.dtype.name)
    return dist.copy(), hops.copy()


def _work(problem: Weights) -> Work:
    n = len(problem.matrix)
    return Work(n**3, 2 * problem.matrix.nbytes)


def _work_with_hops(problem: Weights) -> Work:
    n = len(problem.matrix)
    # Hops of 4 bytes need not be read: the first ones follow from the weights.
    return Work(n**3, 2 * problem.matrix.nbytes + 4 * n * n)


def first_hops(problem: Weights) -> NDArray[np.int32]:
    """Return the next hops before any detour: the target where there is an edge, else -1."""
    n = len(problem.matrix)
    return np.where(problem.matrix < problem.no_path, np.arange(n), NO_HOP).astype(np.int32)


def walk_lengths(problem: Weights, hops: NDArray[np.int32]) -> NDArray[Any]:
    """Return the length of the path that next hops lead along, for every pair.

    Paths that do not end within n steps come out as ``no_path``, like those that do not begin.
    """
    n = len(problem.matrix)
    targets = np.broadcast_to(np.arange(n), (n, n))
    at = np.broadcast_to(np.arange(n)[:, None], (n, n)).copy()
    lengths = np.zeros_like(problem.matrix)
    for _ in range(n):
        walking = (at != targets) & (at >= 0)
        if not walking.any():
            break
        following = np.where(walking, hops[at, targets], at)
        lengths[walking] += problem.matrix[at[walking], following[walking]]
        at = following
    return np.where(at == targets, lengths, lengths.dtype.type(problem.no_path))


DISTANCES = Task(
    name="shortest distances between all pairs of n vertices, int32",
    make=_maker(np.int32),
    oracle=_oracle,
    work=_work,
    unit="relaxations",
    # CF's size.
    default_n=2048,
    # Around warps (32), blocks (256 cells: 16 x 16) and tiles (32, 64, 128), and primes.
    sizes=(0, 1, 2, 31, 32, 33, 61, 64, 65, 97, 130),
)

# A single thread takes minutes where thousands take a moment, on a GPU as on the simulator.
DISTANCES_BY_ONE_THREAD = replace(DISTANCES, default_n=256, sizes=(0, 1, 2, 3, 16, 17))

# To tiles of 128 all sizes up to theirs are one tile, and 130 is four; the simulator is slow there.
_ONE_TILE, _FOUR_TILES = (0, 1, 33, 128), (130,)

DISTANCES_BY_TILES = replace(DISTANCES, sizes=_ONE_TILE + _FOUR_TILES)

# With three tiles in a row there are some beside those of two rows and columns.
DISTANCES_OVERLAPPED = replace(DISTANCES, sizes=(0, 128, 260))

DISTANCES_FLOAT32 = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, float32",
    make=_maker(np.float32),
    sizes=(0, 33, *_FOUR_TILES),
)

DISTANCES_FLOAT64 = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, float64",
    make=_maker(np.float64),
    sizes=_ONE_TILE,
)

DISTANCES_INT16 = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, int16",
    make=_maker(np.int16),
    sizes=(0, 1, 33, *_FOUR_TILES),
)

# To tiles of 64.
DISTANCES_IN_SMALL_TILES = replace(DISTANCES, sizes=(0, 1, 33, 64, 65, 130))

LENGTHS_ALONG_HOPS = replace(
    DISTANCES_IN_SMALL_TILES,
    name="shortest distances between all pairs of n vertices, and a path for each",
    oracle=lambda problem: (_oracle(problem), _oracle(problem)),
    work=_work_with_hops,
)

NEXT_HOPS = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, and the first step of each path",
    oracle=_oracle_with_hops,
    work=_work_with_hops,
)
