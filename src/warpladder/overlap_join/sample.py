"""How many pairs a join will have, told from a sample of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpladder.overlap_join.cpu import CpuEngine
from warpladder.overlap_join.forms import Join, Rows
from warpladder.overlap_join.measures import least_shared
from warpladder.overlap_join.occurring import Occurring
from warpladder.overlap_join.plan import choose_way, ids_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["expected_pairs_of"]

_SAMPLED_IDS = 1 << 24
_SAMPLED_ROWS = 512


def expected_pairs_of(join: Join) -> int:
    """Return about how many pairs there will be; exactly, where there are few rows.

    Some left rows meet some right rows, evenly taken; what they find stands for all.
    """
    n, m = len(join.left), len(join.right)
    if not (n and m):
        return 0
    lefts = (
        np.arange(n)
        if ids_of(join) <= _SAMPLED_IDS
        else np.arange(0, n, -(-ids_of(join) // _SAMPLED_IDS))
    )
    rights = np.arange(0, m, -(-m // _SAMPLED_ROWS))
    part = Join(_taken(join.left, lefts), _taken(join.right, rights), join.rule)
    occurring = Occurring(np.bincount(part.right.items, minlength=part.right.universe))
    engine = CpuEngine(part, choose_way(part, occurring))
    found = engine.counted(0, len(lefts), lambda _: None).pairs
    if not join.is_self:
        return round(found * (n / len(lefts)) * (m / len(rights)))
    # Each row that is in both samples has met itself.
    lengths = np.diff(join.left.starts)
    both = np.intersect1d(lefts, rights, assume_unique=True)
    found -= sum(
        int(least_shared(*join.rule, int(size)) <= size) for size in lengths[both].tolist()
    )
    pairs = len(lefts) * len(rights) - len(both)
    expected = found * (n * (n - 1) / max(1, pairs))
    return round(expected if join.both_ways else expected / 2)


def _taken(rows: Rows, which: NDArray[np.int64]) -> Rows:
    """Return some of the rows, which are not the same rows even if they are all."""
    if len(which) == len(rows):
        return Rows(rows.starts, rows.items, rows.universe)
    lengths = np.diff(rows.starts)[which]
    starts = np.zeros(len(which) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    places = np.arange(starts[-1]) + np.repeat(rows.starts[which] - starts[:-1], lengths)
    return Rows(starts, rows.items[places], rows.universe)
