"""What the reduction ladder computes: the sum of an array, and the oracles.

Integers are drawn from all that int32 holds, so nearly every sum leaves that range. It then wraps:
the answer is the int32 that equals the true sum modulo 2**32, the same in whatever order the
elements are added. (In C, where the source adds, overflow of signed integers is undefined.)

Floating-point numbers lie in [-1, 1). Their sum depends on the order; the oracle adds in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.rung import Task, Work

__all__ = ["SUM", "SUM_FLOAT32", "Numbers"]


class Numbers(NamedTuple):
    """An array to be added up."""

    values: NDArray[Any]


def _integers(n: int, seed: int) -> Numbers:
    span = np.iinfo(np.int32)
    rng = np.random.default_rng(seed)
    return Numbers(rng.integers(span.min, span.max, n, np.int32, endpoint=True))


def _floats(n: int, seed: int) -> Numbers:
    return Numbers(2 * np.random.default_rng(seed).random(n, np.float32) - np.float32(1))


def _sum_of_integers(problem: Numbers) -> NDArray[np.int32]:
    # Below 2**31 elements the true sum fits 64 bits; the conversion keeps the low 32 of them.
    return np.array([problem.values.sum(dtype=np.int64)]).astype(np.int32)


def _sum_of_floats(problem: Numbers) -> NDArray[np.float32]:
    return np.array([problem.values.sum(dtype=np.float64)]).astype(np.float32)


def _work(problem: Numbers) -> Work:
    return Work(problem.values.size, problem.values.nbytes)


#: One warp and its neighbours, one block of 1024 and its neighbours, and many blocks.
_SIZES = (0, 1, 2, 31, 32, 33, 97, 1023, 1025, (1 << 16) + 7)

SUM = Task(
    name="the sum of n integers modulo 2**32, int32",
    make=_integers,
    oracle=_sum_of_integers,
    work=_work,
    unit="additions",
    # 256 MiB: several times what the caches of any GPU hold.
    default_n=1 << 26,
    sizes=_SIZES,
)

SUM_FLOAT32 = Task(
    name="the sum of n numbers, float32",
    make=_floats,
    oracle=_sum_of_floats,
    work=_work,
    unit="additions",
    default_n=1 << 26,
    sizes=_SIZES,
)
