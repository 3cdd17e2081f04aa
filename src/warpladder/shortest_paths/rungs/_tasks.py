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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.device.environment import worker_count
from warpladder.rung import AWKWARD_SIZES, Task, Work
from warpladder.shortest_paths.dense import NO_HOP, inner_no_path
from warpladder.shortest_paths.gpu_tiles.relaxing import relaxation

__all__ = [
    "DISTANCES",
    "DISTANCES_BY_ONE_CORE",
    "DISTANCES_BY_ONE_THREAD",
    "DISTANCES_BY_TILES",
    "DISTANCES_FLOAT32",
    "DISTANCES_FLOAT64",
    "DISTANCES_INT16",
    "DISTANCES_IN_DEEP_ROUNDS",
    "DISTANCES_IN_RESIDENT_TILES",
    "DISTANCES_IN_SMALL_TILES",
    "DISTANCES_OVERLAPPED",
    "DISTANCES_UNDIRECTED",
    "LENGTHS_ALONG_HOPS",
    "LENGTHS_ALONG_HOPS_BY_TILES",
    "NEXT_HOPS",
    "Weights",
    "first_hops",
    "lengths_by_hops",
]

#: A vertex has about so many outgoing edges: enough for long detours, too few to reach everything.
_DEGREE = 4
_LONGEST_EDGE = 99
#: Weights of floating-point graphs are multiples of one over this.
_FRACTIONS = 16
#: The oracle's: what stays in a core's cache, and from where on several of them are worth while.
_ROWS_AT_A_TIME, _SPREAD_FROM = 64, 512


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


def _make_undirected(n: int, seed: int) -> Weights:
    """Let the edges of a digraph lead both ways; the first vertex has none."""
    matrix, no_path = DISTANCES.make(n, seed)
    both_ways = np.minimum(matrix, matrix.T)
    both_ways[:1, 1:] = both_ways[1:, :1] = no_path
    return Weights(both_ways, no_path)


# A verification asks for the same answer again and again, and the plain oracle takes its time.
@lru_cache(maxsize=4)
def _closed(raw: bytes, n: int, dtype: str) -> tuple[NDArray[Any], NDArray[np.int32]]:
    dist = np.frombuffer(raw, dtype).reshape(n, n).copy()
    hops = np.where(dist < inner_no_path(dtype), np.arange(n, dtype=np.int32), np.int32(NO_HOP))

    def relax(rows: slice, k: int) -> None:
        through = dist[rows, k, None] + dist[k]
        shorter = through < dist[rows]
        np.copyto(dist[rows], through, where=shorter)
        np.copyto(hops[rows], np.broadcast_to(hops[rows, k, None], through.shape), where=shorter)

    # Row k and column k stay as they are in step k, so that rows need not wait for one another.
    parts = [slice(first, first + _ROWS_AT_A_TIME) for first in range(0, n, _ROWS_AT_A_TIME)]
    with ThreadPoolExecutor(worker_count()) as pool:
        spread = pool.map if n >= _SPREAD_FROM else map
        for k in range(n):
            list(spread(relax, parts, repeat(k)))
    return dist, hops


def _oracle(problem: Weights) -> NDArray[Any]:
    return _oracle_with_hops(problem)[0]


def _oracle_with_hops(problem: Weights) -> tuple[NDArray[Any], NDArray[np.int32]]:
    matrix = problem.matrix
    if matrix.dtype.kind == "i":
        dist, hops = _closed(matrix.tobytes(), len(matrix), matrix.dtype.name)
        return dist.copy(), hops.copy()
    # Their multiples of 1/16 are integers, whose answer is known already where the weights are the
    # same but for the dtype.
    absent = matrix == np.inf
    no_path = inner_no_path(np.int32)
    sixteenths = np.where(absent, no_path, np.where(absent, 0, matrix) * _FRACTIONS)
    sums, hops = _closed(sixteenths.astype(np.int32).tobytes(), len(matrix), "int32")
    dist = sums.astype(matrix.dtype) / matrix.dtype.type(_FRACTIONS)
    dist[sums == no_path] = np.inf
    return dist, hops.copy()


def _work(problem: Weights) -> Work:
    n, dtype = len(problem.matrix), problem.matrix.dtype.name
    return Work(n**3, 2 * problem.matrix.nbytes, dtype)


def _work_with_hops(problem: Weights) -> Work:
    # Hops of 4 bytes need not be read: the first ones follow from the weights.
    operations, moved, dtype = _work(problem)
    return Work(operations, moved + 4 * problem.matrix.size, dtype)


def _work_undirected(problem: Weights) -> Work:
    # Each pair of vertices once.
    n = len(problem.matrix)
    return _work(problem)._replace(operations=n * n * (n + 1) // 2)


def first_hops(problem: Weights) -> NDArray[np.int32]:
    """Return the next hops before any detour: the target where there is an edge, else -1."""
    n = len(problem.matrix)
    return np.where(problem.matrix < problem.no_path, np.arange(n), NO_HOP).astype(np.int32)


def lengths_by_hops(problem: Weights, dist: NDArray[Any], hops: NDArray[np.int32]) -> NDArray[Any]:
    """Return for every pair the length of its first step and the distance from there on.

    ``no_path`` where there is no step. All steps are longer than 0. So if that is the distance of
    every pair, each step leaves less to go, and to follow the hops is as long as the distance says.
    """
    n = len(problem.matrix)
    vertices = np.arange(n)
    # Not to move is a step only for who is there.
    moves = (hops != vertices[:, None]) | np.eye(n, dtype=np.bool_)
    known = (hops >= 0) & (hops < n) & moves
    first = np.where(known, hops, 0)
    lengths: NDArray[Any] = problem.matrix[vertices[:, None], first] + dist[first, vertices]
    return np.where(known, lengths, dist.dtype.type(problem.no_path))


DISTANCES = Task(
    name="shortest distances between all pairs of n vertices, int32",
    make=_maker(np.int32),
    oracle=_oracle,
    work=_work,
    unit="relaxations",
    size_word="vertices",
    ceiling=relaxation,
    # CF's size.
    default_n=2048,
    sizes=AWKWARD_SIZES,
    # Nothing is different at 130, and of all that the simulator does it were the half.
    simulated=tuple(n for n in AWKWARD_SIZES if n < 130),
)

# Two tiles of 32 in a row, with and without something behind them.
DISTANCES_IN_SHARED_TILES = replace(
    DISTANCES, sizes=(*AWKWARD_SIZES, 64, 65), simulated=(0, 1, 31, 32, 33, 64, 65, 97)
)

# A core takes seconds for CF's size.
DISTANCES_BY_ONE_CORE = replace(DISTANCES, default_n=1024)

# A single thread takes minutes where thousands take a moment, on a GPU as on the simulator.
DISTANCES_BY_ONE_THREAD = replace(DISTANCES, default_n=128, sizes=(0, 1, 2, 3, 17), simulated=None)

# The simulator takes long over blocks that spin at n barriers.
DISTANCES_BY_SPINNING = replace(
    DISTANCES,
    sizes=tuple(n for n in AWKWARD_SIZES if n < 130),
    simulated=(0, 1, 2, 31, 32, 33, 61),
)

# To tiles of 128 all sizes up to theirs are one tile, and 130 is four; the simulator is slow there.
_ONE_TILE, _FOUR_TILES = (0, 1, 33, 128), (130,)

DISTANCES_BY_TILES = replace(
    DISTANCES, sizes=_ONE_TILE + _FOUR_TILES, simulated=(0, 33, *_FOUR_TILES)
)

# With three tiles in a row there are some beside those of two rows and columns.
DISTANCES_OVERLAPPED = replace(DISTANCES, sizes=(0, 128, 260), simulated=(0, 260))

# With four tiles in a row the second round of two has no fewer, with three it has one, and with
# five there is a third round, and tiles beside those of two rounds.
DISTANCES_IN_DEEP_ROUNDS = replace(DISTANCES, sizes=(0, 128, 260, 520), simulated=(0, 260))

# With three tiles in a row there are two beside the pivot, opposite each other in a ring; with four
# none of the three is opposite another.
DISTANCES_UNDIRECTED = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices of an undirected graph, int32",
    make=_make_undirected,
    work=_work_undirected,
    sizes=(0, 1, 33, 128, 130, 260, 385),
    simulated=(0, 260),
)

DISTANCES_FLOAT32 = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, float32",
    make=_maker(np.float32),
    sizes=(0, 33, *_FOUR_TILES),
    simulated=(0, *_FOUR_TILES),
)

DISTANCES_FLOAT64 = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, float64",
    make=_maker(np.float64),
    sizes=_ONE_TILE,
    simulated=(0, 33, 128),
)

DISTANCES_INT16 = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, int16",
    make=_maker(np.int16),
    sizes=(0, 1, 33, *_FOUR_TILES),
    simulated=(0, *_FOUR_TILES),
)

# To tiles of 64.
DISTANCES_IN_SMALL_TILES = replace(DISTANCES, sizes=(0, 1, 33, 64, 65, 130), simulated=(0, 33, 65))

# Four tiles in a row have every kind of tile; nine, some that are neither in the pivot's row nor in
# its column. The simulator takes long over blocks that wait for one another.
DISTANCES_IN_RESIDENT_TILES = replace(DISTANCES, sizes=(0, 1, 33, 128, 130, 260), simulated=(0, 33))

LENGTHS_ALONG_HOPS = replace(
    DISTANCES_IN_SMALL_TILES,
    name="shortest distances between all pairs of n vertices, and a path for each",
    oracle=lambda problem: (_oracle(problem), _oracle(problem)),
    work=_work_with_hops,
    # Of paths that are equally short a kernel may take any.
    compared=lambda problem, found: (found[0], lengths_by_hops(problem, *found)),
)

LENGTHS_ALONG_HOPS_BY_TILES = replace(
    LENGTHS_ALONG_HOPS, sizes=(*_ONE_TILE, 130, 260), simulated=(0, 33, 130)
)

NEXT_HOPS = replace(
    DISTANCES,
    name="shortest distances between all pairs of n vertices, and the first step of each path",
    oracle=_oracle_with_hops,
    work=_work_with_hops,
)
