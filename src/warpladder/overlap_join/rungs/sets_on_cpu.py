"""Rows as sets on one CPU core: every two of them merged.

Idea: two rows whose ids are in order share what a merge of them meets twice. Walk along both: where
the two ids differ, step on behind the smaller one; where they are the same, count it and step on
behind both. A row is compared with those behind it only, for what i shares with j, j shares with i.

Below: nothing; this is the ground.

Expect: n (n - 1) / 2 merges, each of at most as many steps as both rows have ids together: twice
the rows take four times as long. Which row steps on depends on the data, so a core guesses and is
often wrong: a step takes several clocks. IM's kernels on the GPU do not merge. They compare every
id of a row with every id of the other: with 1,000 ids to a row 500 times as many comparisons.
IM's own table leaves out that its rows 3 and 4 share two ids as well.

Source: IM problem statement

Question: Two rows have 1,000 ids each. How many steps does their merge take if all ids are the
same, and how many at the most if none is?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.rungs._tasks import SHARED_IDS_BY_ONE_THREAD
from warpladder.rung import Bound, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "run"]


@cached
@njit
def merge_all(starts, items, shared):
    """Count the ids that every two rows share."""
    n = len(starts) - 1
    for i in range(n):
        for j in range(i + 1, n):
            a, b = starts[i], starts[j]
            count = 0
            while a < starts[i + 1] and b < starts[j + 1]:
                left, right = items[a], items[b]
                count += left == right
                a += left <= right
                b += right <= left
            shared[i, j] = count
            shared[j, i] = count


def run(device: None, problem: Problem) -> NDArray[np.int32]:  # noqa: ARG001 - one signature
    """Return how many ids each two rows share."""
    rows = problem.rows
    shared = np.zeros((len(rows), len(rows)), np.int32)
    merge_all(rows.starts, rows.items, shared)
    return shared


RUNG = Rung(
    name="sets-on-cpu",
    title="Every two rows merged on one CPU core",
    source="IM problem statement",
    run=run,
    task=SHARED_IDS_BY_ONE_THREAD,
    bound=Bound("latency", "n**2 / 2 merges of two rows, a step of a merge behind the other"),
    on="cpu",
)
