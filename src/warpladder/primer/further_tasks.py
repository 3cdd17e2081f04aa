"""What the primer computes where threads exchange data, and where something may go wrong.

The tasks of the first rungs stand in `warpladder.primer.tasks`; what is said there holds here, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.primer.tasks import Floats, Integers, Values, floats
from warpladder.rung import AWKWARD_SIZES, Task, Work

__all__ = [
    "CHANNELS",
    "FRAMES",
    "PIECE",
    "REVERSAL",
    "REVERSED",
    "ROOTS",
    "SIDE",
    "TRANSPOSITION",
    "Tiles",
]


def _copy_work(problem: Values) -> Work:
    return Work(problem.values.size, 8 * problem.values.size)


# --- threads of a block exchange elements ---------------------------------------------------------

#: Elements in a run that is reversed, and frames of two channels in a piece that is taken apart.
REVERSED = 256
FRAMES = 256
#: Numbers in such a piece: one for each channel of a frame.
PIECE = 2 * FRAMES


def _values(n: int, seed: int) -> Values:
    return Values(floats(n, seed))


def _reverse_runs(problem: Values) -> Floats:
    runs = np.split(problem.values, range(REVERSED, problem.values.size, REVERSED))
    return np.concatenate([run[::-1] for run in runs])


REVERSAL = Task(
    name=f"reverse each run of {REVERSED} numbers",
    make=_values,
    oracle=_reverse_runs,
    work=_copy_work,
    unit="numbers",
    default_n=1 << 24,
    # Runs of which the last one is full, and is not.
    sizes=(*AWKWARD_SIZES, 512, 1000),
)


def _separate(problem: Values) -> Floats:
    pieces = np.split(problem.values, range(PIECE, problem.values.size, PIECE))
    return np.concatenate([part for piece in pieces for part in (piece[::2], piece[1::2])])


CHANNELS = Task(
    name=f"take the two channels of each {FRAMES} frames apart",
    make=_values,
    oracle=_separate,
    work=_copy_work,
    unit="numbers",
    default_n=1 << 24,
    sizes=(*AWKWARD_SIZES, 511, 513, 1024),
)

#: Rows and columns of a tile: as many as a warp has threads.
SIDE = 32


class Tiles(NamedTuple):
    """Square matrices, all of one size: ``tiles[k]`` is number k."""

    tiles: Floats


TRANSPOSITION = Task(
    name=f"transpose n matrices of {SIDE} x {SIDE}",
    make=lambda n, seed: Tiles(floats((n, SIDE, SIDE), seed)),
    oracle=lambda problem: np.ascontiguousarray(problem.tiles.transpose(0, 2, 1)),
    work=lambda problem: Work(problem.tiles.size, 8 * problem.tiles.size),
    unit="numbers",
    size_word="matrices",
    default_n=1 << 14,
    sizes=(0, 1, 2, 3, 7),
)


# --- numbers of which some are refused ------------------------------------------------------------


def _some_negative(n: int, seed: int) -> Values:
    # One number in 32 has no root, so that each warp meets one and atomics can be counted by hand.
    values = floats(n, seed)
    values[17::32] *= -1
    # And the root of one is 0, which is none of these.
    values[5::32] = 0
    return Values(values)


def _roots(problem: Values) -> tuple[Floats, Integers]:
    has_none = problem.values < 0
    roots = np.sqrt(np.where(has_none, np.float32(np.nan), problem.values))
    first: NDArray[Any] = np.flatnonzero(has_none)[:1]
    return roots, np.append(first, problem.values.size)[:1].astype(np.int32)


ROOTS = Task(
    name="square roots of n numbers, and the place of the first that has none (n if all have)",
    make=_some_negative,
    oracle=_roots,
    work=_copy_work,
    unit="roots",
    default_n=1 << 24,
)
