"""What the primer computes: each problem with its record, its oracle and its work.

The tasks are small on purpose: what matters is how a kernel reaches the answer. All arithmetic is
integer, or single float operations that IEEE 754 rounds in one way only and that no compiler may
fuse, so every rung equals its oracle bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.rung import AWKWARD_SIZES, Task, Work

__all__ = [
    "BRANCH_BY_THREAD",
    "BRANCH_BY_WARP",
    "COMMON_IDS",
    "COUNT_SYMBOLS",
    "LARGER_OF_PAIR",
    "LEVELS",
    "MATRIX_ADD",
    "QUANTISE",
    "READ_ALIGNED",
    "READ_MISALIGNED",
    "READ_PERMUTED",
    "READ_SCATTERED",
    "READ_STRIDED",
    "ROUNDS",
    "RUN",
    "SCRAMBLE",
    "STRIDE",
    "SYMBOLS",
    "THRESHOLDS",
    "TRANSLATION",
    "VECTOR_ADD",
    "Addends",
    "Cloud",
    "Reading",
    "Rows",
    "Samples",
    "Texts",
    "Values",
    "Words",
    "floats",
]

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]


def floats(shape: int | tuple[int, ...], seed: int) -> Floats:
    """Return numbers from [1, 2): positive, and no two neighbours are likely to be equal."""
    return np.float32(1) + np.random.default_rng(seed).random(shape, dtype=np.float32)


# --- addition -------------------------------------------------------------------------------------


class Addends(NamedTuple):
    """Two arrays of one shape."""

    a: Floats
    b: Floats


def _add(problem: Addends) -> Floats:
    return problem.a + problem.b


def _add_work(problem: Addends) -> Work:
    return Work(problem.a.size, 12 * problem.a.size)


VECTOR_ADD = Task(
    name="add two vectors of n numbers",
    make=lambda n, seed: Addends(*floats((2, n), seed)),
    oracle=_add,
    work=_add_work,
    unit="additions",
    default_n=1 << 24,
    # Several blocks, and several steps of a grid-stride loop: of 132 warps from 5,000 on, by four
    # elements from 13,001 on, where one of these steps ends at n; of as many threads as 132
    # multiprocessors hold, from 300,007 on.
    sizes=(*AWKWARD_SIZES, 1000, 5000, 13_001, 300_007),
)

MATRIX_ADD = Task(
    name="add two n x n matrices",
    make=lambda n, seed: Addends(*floats((2, n, n), seed)),
    oracle=_add,
    work=_add_work,
    unit="additions",
    size_word="rows",
    default_n=4096,
    # GR's matrix.
    sizes=(*AWKWARD_SIZES, 10),
)


# --- one of two formulas per element --------------------------------------------------------------


class Values(NamedTuple):
    """A vector."""

    values: Floats


def _one_of_two(first: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> Callable[..., Floats]:
    def oracle(problem: Values) -> Floats:
        values = problem.values
        one = np.float32(1)
        takes_first = first(np.arange(values.size))
        return np.where(takes_first, np.sqrt(np.sqrt(values)), one / (one + values))

    return oracle


def _values(n: int, seed: int) -> Values:
    return Values(floats(n, seed))


def _values_work(problem: Values) -> Work:
    return Work(problem.values.size, 8 * problem.values.size)


BRANCH_BY_THREAD = Task(
    name="fourth root of even elements, 1 / (1 + v) of odd ones",
    make=_values,
    oracle=_one_of_two(lambda i: i % 2 == 0),
    work=_values_work,
    unit="elements",
    default_n=1 << 24,
)

BRANCH_BY_WARP = Task(
    name="fourth root of even runs of 32 elements, 1 / (1 + v) of odd ones",
    make=_values,
    oracle=_one_of_two(lambda i: (i // 32) % 2 == 0),
    work=_values_work,
    unit="elements",
    default_n=1 << 24,
)


# --- access patterns ------------------------------------------------------------------------------

#: Elements from one read to the next in the strided pattern: a line of 128 bytes.
STRIDE = 32


class Reading(NamedTuple):
    """How many elements are read, and the array that they are read from."""

    n: int
    source: Floats


def _reading(n: int, seed: int) -> Reading:
    # One size for all patterns, so that they can be compared on one problem.
    return Reading(n, floats(STRIDE * n + 96, seed))


def _read_task(name: str, position: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Task:
    def oracle(problem: Reading) -> Floats:
        return problem.source[position(np.arange(problem.n))]

    return Task(
        name=name,
        make=_reading,
        oracle=oracle,
        work=lambda problem: Work(problem.n, 8 * problem.n),
        unit="elements",
        default_n=1 << 22,
    )


READ_ALIGNED = _read_task("read neighbouring elements", lambda i: i)
READ_PERMUTED = _read_task(
    "read each run of 32 elements out of order", lambda i: i - i % 32 + (5 * i + 3) % 32
)
READ_MISALIGNED = _read_task("read neighbouring elements from the second one on", lambda i: i + 1)
READ_SCATTERED = _read_task(
    "read runs of 16 elements, 48 apart, from the 26th element on",
    lambda i: 48 * (i // 16) + i % 16 + 25,
)
READ_STRIDED = _read_task(f"read every {STRIDE}nd element", lambda i: STRIDE * i)


# --- points ---------------------------------------------------------------------------------------


class Cloud(NamedTuple):
    """Points in space, one to a row, and the way that they are to be moved."""

    points: Floats
    shift: Floats


def _cloud(n: int, seed: int) -> Cloud:
    rows = floats((n + 1, 3), seed)
    return Cloud(rows[:n], rows[n])


TRANSLATION = Task(
    name="move n points in space",
    make=_cloud,
    oracle=lambda problem: problem.points + problem.shift,
    work=lambda problem: Work(problem.points.size, 8 * problem.points.size),
    unit="additions",
    size_word="points",
    default_n=1 << 23,
)


# --- storage of a thread, of a block, and of constants --------------------------------------------

#: Kinds of symbols, and how many symbols one thread counts. With fewer kinds some compilers keep an
#: array of counters in registers and select among them; `local-array` would then be none.
SYMBOLS = 8
RUN = 16


class Texts(NamedTuple):
    """One text to a column: ``symbols[k, i]`` is symbol k of text i."""

    symbols: Integers


def _count_symbols(problem: Texts) -> Integers:
    kinds = np.arange(SYMBOLS)[:, None, None]
    counts: Integers = (problem.symbols == kinds).sum(axis=1, dtype=np.int32)
    return counts


COUNT_SYMBOLS = Task(
    name=f"count each of {SYMBOLS} symbols in n texts of {RUN}",
    make=lambda n, seed: Texts(
        np.random.default_rng(seed).integers(0, SYMBOLS, (RUN, n), dtype=np.int32)
    ),
    oracle=_count_symbols,
    work=lambda problem: Work(
        problem.symbols.size, 4 * (problem.symbols.size + SYMBOLS * problem.symbols.shape[1])
    ),
    unit="symbols",
    size_word="texts",
    default_n=1 << 21,
)


def _larger_of_pair(problem: Values) -> Floats:
    n = problem.values.size
    padded = np.append(problem.values, np.full(n % 2, -np.inf, np.float32))
    return np.repeat(padded.reshape(-1, 2).max(axis=1), 2)[:n]


LARGER_OF_PAIR = Task(
    name="put the larger of each pair of neighbours in both places",
    make=_values,
    oracle=_larger_of_pair,
    work=lambda problem: Work(problem.values.size // 2, 8 * problem.values.size),
    unit="comparisons",
    default_n=1 << 24,
)

#: Thresholds of the quantiser: as many as a warp has threads, strictly inside [1, 2).
LEVELS = 32
THRESHOLDS: Floats = (1 + (np.arange(LEVELS) + 0.5) / LEVELS).astype(np.float32)


class Samples(NamedTuple):
    """Numbers from [1, 2) that are to be quantised."""

    samples: Floats


def _samples(n: int, seed: int) -> Samples:
    # One in eight is a threshold, which it reaches.
    samples = floats(n, seed)
    samples[3::8] = THRESHOLDS[np.arange(samples[3::8].size) % LEVELS]
    return Samples(samples)


QUANTISE = Task(
    name=f"count which of {LEVELS} thresholds each of n samples reaches",
    make=_samples,
    oracle=lambda problem: np.searchsorted(THRESHOLDS, problem.samples, side="right").astype(
        np.int32
    ),
    work=lambda problem: Work(LEVELS * problem.samples.size, 8 * problem.samples.size),
    unit="comparisons",
    size_word="samples",
    default_n=1 << 22,
)


# --- counting together ----------------------------------------------------------------------------


class Rows(NamedTuple):
    """Two rows of ids; no id occurs twice in a row."""

    row: Integers
    other: Integers


def _rows(n: int, seed: int) -> Rows:
    # Every third id of the first row, and no other, is in the second one: atomics can be counted
    # by hand.
    rng = np.random.default_rng(seed)
    ids = rng.permutation(2 * n).astype(np.int32)
    row, fresh = ids[:n], ids[n:]
    shared = np.arange(n) % 3 == 0
    return Rows(row, rng.permutation(np.where(shared, row, fresh)))


COMMON_IDS = Task(
    name="count the ids that two rows of n have in common",
    make=_rows,
    oracle=lambda problem: np.array(
        [np.intersect1d(problem.row, problem.other).size], dtype=np.int32
    ),
    work=lambda problem: Work(problem.row.size**2, 8 * problem.row.size + 4),
    unit="comparisons",
    size_word="ids",
    default_n=1 << 14,
)


# --- pipelines ------------------------------------------------------------------------------------

#: Steps of xorshift per word: about as long on the GPU as the word's way over the bus.
ROUNDS = 128


class Words(NamedTuple):
    """32-bit words, none of them 0."""

    words: NDArray[np.uint32]


#: Words that stay in a core's cache from the first step to the last.
_IN_CACHE = 1 << 15


def _scramble(problem: Words) -> Any:
    words = problem.words.copy()

    def advance(first: int) -> None:
        part = words[first : first + _IN_CACHE]
        for _ in range(ROUNDS):
            part ^= part << np.uint32(13)
            part ^= part >> np.uint32(17)
            part ^= part << np.uint32(5)

    with ThreadPoolExecutor() as pool:
        list(pool.map(advance, range(0, words.size, _IN_CACHE)))
    return words


SCRAMBLE = Task(
    name=f"advance n random number generators by {ROUNDS} steps",
    make=lambda n, seed: Words(
        np.random.default_rng(seed).integers(1, 1 << 32, n, dtype=np.uint32)
    ),
    oracle=_scramble,
    work=lambda problem: Work(ROUNDS * problem.words.size, 8 * problem.words.size),
    unit="steps",
    ceiling="pcie",
    default_n=1 << 26,
    # All of the pipelines' chunks.
    sizes=(*AWKWARD_SIZES, 1000),
)
