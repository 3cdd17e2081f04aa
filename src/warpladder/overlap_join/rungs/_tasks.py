"""What the overlap-join ladder computes: rows of ids, what each two share, and the oracles.

The answer that IM's kernels leave is a matrix: how many ids rows i and j have in common, the same
in both halves, 0 on the diagonal. Rows that are related are read from it by the threshold. A kernel
that counts pairs and keeps no matrix leaves for each row the number of rows that it is related to,
which follows from the same matrix.

Ids are drawn so that some are common and most are rare, as in data. The k-th id of a row comes from
the k-th of as many stretches of the universe as a full row has ids. The stretches grow, from 3 ids
on: each id of the shortest stretch is in a third of the rows. So no id comes twice in a row, and a
full row has as many ids as IM's.

Every eighth row is short: rows 3, 11, 19, ... have the commonest 0, 3, 6, ... ids of a full one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.overlap_join.forms import Rows
from warpladder.rung import AWKWARD_SIZES, Task, Work

__all__ = [
    "PARTNERS",
    "SHARED_IDS",
    "SHARED_IDS_BY_ONE_THREAD",
    "SHARED_IDS_BY_TILES",
    "SHARED_IDS_ROW_BY_ROW",
    "Problem",
    "shape_of",
]

#: Ids of the shortest stretch.
_SHORTEST = 3
#: One row in so many is short; which one; and by how many ids they grow.
_SHORT_EVERY, _FIRST_SHORT, _LONGER_BY = 8, 3, 3


#: One row more than a tile has, and more ids than it goes through at a time: 16 words of them.
_MANY_IDS_AT = 65


class Problem(NamedTuple):
    """Rows of ids, and how many of them two rows must share to be related."""

    rows: Rows
    threshold: int


class Shape(NamedTuple):
    """Ids of a full row, ids there are, and a threshold that about half of the pairs reach."""

    ids: int
    universe: int
    threshold: int


def shape_of(n: int) -> Shape:
    """Return the shape of a problem of n rows.

    From 1,000 rows on it is IM's: 1,000 ids to a row. Below are the sizes at which kernels are
    verified on the simulator, to which every comparison is an effort: up to 16 rows they have 36
    ids, more than a warp has threads, and then 8.

    Examples
    --------
    >>> shape_of(4000)
    Shape(ids=1000, universe=50000, threshold=37)
    """
    if n >= 1000:
        return Shape(1000, 50_000, 37)
    if n == _MANY_IDS_AT:
        return Shape(8, 520, 2)
    return Shape(36, 180, 8) if n <= 16 else Shape(8, 40, 2)


def _make(n: int, seed: int) -> Problem:
    full, universe, threshold = shape_of(n)
    rng = np.random.default_rng(seed)
    place = np.arange(full + 1)
    edges = _SHORTEST * place + (universe - _SHORTEST * full) * place**2 // full**2
    picked = (edges[:-1] + rng.random((n, full), np.float32) * np.diff(edges)).astype(np.int32)
    # The longest stretch first: codes that begin with the rarest ids.
    ids = universe - 1 - picked[:, ::-1]
    lengths = np.full(n, full)
    short = lengths[_FIRST_SHORT::_SHORT_EVERY]
    short[:] = _LONGER_BY * np.arange(short.size) % (full + 1)
    kept = np.arange(full) >= full - lengths[:, None]
    return Problem(Rows(np.append(0, lengths.cumsum()), ids[kept], universe), threshold)


# A verification asks for the same answer again and again.
@lru_cache(maxsize=4)
def _counted(starts: bytes, items: bytes) -> NDArray[np.int32]:
    first, ids = np.frombuffer(starts, np.int64), np.frombuffer(items, np.int32)
    n = first.size - 1
    owner = np.repeat(np.arange(n), np.diff(first))
    order = np.argsort(ids, kind="stable")
    with_id = np.split(owner[order], np.flatnonzero(np.diff(ids[order])) + 1)
    rank = np.unique(ids, return_inverse=True)[1]
    shared = np.zeros((n, n), np.int32)

    def count(i: int) -> None:
        lists = [with_id[k] for k in rank[first[i] : first[i + 1]]]
        if lists:
            shared[i] = np.bincount(np.concatenate(lists), minlength=n)

    with ThreadPoolExecutor(worker_count()) as pool:
        list(pool.map(count, range(n)))
    np.fill_diagonal(shared, 0)
    return shared


def _shared(problem: Problem) -> NDArray[np.int32]:
    return _counted(problem.rows.starts.tobytes(), problem.rows.items.tobytes()).copy()


def _partners(problem: Problem) -> NDArray[np.int32]:
    related = _shared(problem) >= problem.threshold
    partners: NDArray[np.int32] = related.sum(axis=1, dtype=np.int32)
    return partners


def _updates(problem: Problem) -> int:
    rows_with = np.bincount(problem.rows.items, minlength=1)
    return int((rows_with * (rows_with - 1) // 2).sum())


def _work(problem: Problem) -> Work:
    n = len(problem.rows)
    return Work(_updates(problem), problem.rows.items.nbytes + 4 * n * n)


def _work_of_partners(problem: Problem) -> Work:
    return Work(_updates(problem), problem.rows.items.nbytes + 4 * len(problem.rows))


SHARED_IDS = Task(
    name="count the ids that each two of n rows share",
    make=_make,
    oracle=_shared,
    work=_work,
    # An id that d rows have is shared by d (d - 1) / 2 pairs: so often the answer grows by one.
    unit="updates",
    size_word="rows",
    # Of IM's sizes the largest that most kernels of the ladder do in seconds.
    default_n=4000,
    # And a few rows, for which blocks of a thread for each id have two warps. The pairs of 130 rows
    # are many blocks already.
    sizes=tuple(sorted((*(n for n in AWKWARD_SIZES if n < 257), 13))),
)

#: Where a pair is compared by one thread.
SHARED_IDS_BY_ONE_THREAD = replace(SHARED_IDS, default_n=1000)
#: And by one in a warp, a launch for every row: seconds on the simulator, half a minute on a GPU.
SHARED_IDS_ROW_BY_ROW = replace(
    SHARED_IDS_BY_ONE_THREAD, sizes=tuple(n for n in AWKWARD_SIZES if n < 97)
)
#: Tiles are of 64 rows.
SHARED_IDS_BY_TILES = replace(SHARED_IDS, sizes=(*SHARED_IDS.sizes, 64, _MANY_IDS_AT))

PARTNERS = replace(
    SHARED_IDS,
    name="count the rows with which each of n rows shares as many ids as are asked for",
    oracle=_partners,
    work=_work_of_partners,
)
