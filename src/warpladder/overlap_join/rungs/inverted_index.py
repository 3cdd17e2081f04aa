"""An inverted index, and a row's counters in shared memory: only what is shared is touched.

Idea: turn the rows around. For every id there is a list of the rows that have it; an entry of such
a list is a *posting*. To compare a row with all others, go along the lists of its ids and add one
to a counter of every row found there. What two rows do not share costs nothing at all. The counters
are many and are hit at random, so they belong into shared memory: a block of threads takes a row,
has one counter for each other row, four of 8 bits to a word, and adds atomically. Then it reads
them all, four at a time, and counts those that have come to the threshold.

The index is made on the device, too. How often is each id there, running sums of that, and then
each row is written into the lists of its ids: a counting sort.

Threads wait for an id, with it for where its list begins, and with that for the list. So each asks
for the ids of two rounds ahead and the lists' beginnings of one ahead, and takes 16 bytes of a list
at a time, eight postings. So that nothing has to be asked of a posting, lists begin at multiples of
16 bytes and are filled up with the numbers of counters that stand for no row: asked first, each
addition would be a branch of its own, and take more than twice as many instructions. A narrow
counter may overflow; its row is found out, since its counters then do not add up to the number of
additions, and done again with wider ones. The file `gpu_counters/counting.py` says how.

No matrix is kept: the answer is the number of rows that each is related to. For 14 million rows the
matrix would have 98 million million pairs.

Below: a bit for each id that there is, in every row, mostly zeros: at n = 4,000, with 50,000 ids,
12.5 thousand million words to be ANDed and counted, for 275 million ids that pairs have in common.

Expect: at n = 4,000 twice 275 million additions, since each row meets those before it, too, and 16
million counters to scan. Shared memory of an H200 took 2.26 million million additions a second at
random where they were measured alone, so that is a quarter of a millisecond, where counting bits
alone takes 16 popc per clock and multiprocessor, three milliseconds. The larger the universe, the
more. At n = 64 three rows have no ids, or too few, and are passed by: 8 warps of each block meet
once when counters are cleared, and three times for each of 61 rows. Every id is counted once for
its list, in 15 warps.

Source: beyond

Question: How many pairs share an id that each of 4,000 rows has, and what does it tell about which
of them are alike?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpladder.overlap_join.rungs._counting import kernels_with, partners_with
from warpladder.overlap_join.rungs._tasks import PARTNERS
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "run"]


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return with how many others each row shares as many ids as are asked for."""
    return partners_with(device, problem, words=0)


RUNG = Rung(
    name="inverted-index",
    title="Lists of rows for each id, narrow counters in shared memory",
    source="beyond",
    run=run,
    task=PARTNERS,
    bound=Bound("shared", "an addition for each id that two rows share, at random places"),
    kernels=kernels_with(0),
    predicts=(
        Prediction(
            "barriers",
            "==",
            8 * (64 + 3 * 61) + 8 + 3 + 8,
            64,
            "8 warps of 64 blocks at the start, three times for each of 61 rows; the running sums",
        ),
        Prediction(
            "shared_bank_conflicts",
            "==",
            0,
            64,
            "each warp scans neighbouring words; additions that meet take turns as atomics",
        ),
    ),
)
