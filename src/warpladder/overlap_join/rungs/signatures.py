"""The commonest ids as bits beside the lists: what most rows have is not worth a list.

Idea: an id that half of all rows have makes a list of half of all rows, and each of its rows goes
along all of it. A bit says the same: each row gets a *signature*, a word in which each of the 32
commonest ids has a bit. When a row's counters are scanned, the bits that its signature has in
common with another's are added to that one's counter. The lists of these ids are gone.

Below: an addition for each id that two rows share, however common it is.

Ids are numbered from the rarest to the commonest, so those that have bits are the last of each row:
nothing has to be looked up.

Expect: as many words to be read and counted as there are pairs, whatever they share, against the
additions for 32 ids. By the rates of an H200 that pays where two rows share more than two of these
32 on average, and it does not pay where all ids are rare. Here, at n = 4,000, the 32 commonest make
23 of 275 million additions, one in twelve and 2.9 for each pair: there is little to save, and
little to lose. At n = 64 there are 40 ids, and only the 8 rarest keep lists: 62 of 469 entries. Of
the atomic requests not even half are left.

The library's call takes signatures where a sample of the rows says that they pay.

Found: on an NVIDIA H200 (2026-11-23), with 1000 rows, this takes 0.544 ms and `inverted-index`
0.316 ms. With bits to be added, counters of 8 bits might overflow where a row has more than 255
ids. So all rows of 1,000 ids are counted with wide counters here, twice, for either half of the
rows; what the bits alone cost is not known. More rows are not measured.

Source: beyond

Question: At n = 64 there are 40 ids, and one word has bits for 32 of them. How many ids keep lists
with signatures of two words, and what is left to do for a pair?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpladder.overlap_join.rungs._counting import kernels_with, partners_with
from warpladder.overlap_join.rungs._tasks import PARTNERS
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "run"]


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return with how many others each row shares as many ids as are asked for."""
    return partners_with(device, problem, words=1)


RUNG = Rung(
    name="signatures",
    title="The 32 commonest ids as bits, the others as lists",
    source="beyond",
    run=run,
    task=PARTNERS,
    bound=Bound("shared", "an addition for each rarer id that two rows share, a word a pair"),
    kernels=kernels_with(1),
    predicts=(
        Prediction(
            "atomic_requests",
            "<",
            Ratio(1, 2),
            64,
            "62 of 469 entries are still on lists",
            than="inverted-index",
        ),
        Prediction(
            "barriers",
            "==",
            1,
            64,
            "each row is counted, scanned and left as before",
            than="inverted-index",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200", "2026-11-23", 1000, (("signatures", 0.544), ("inverted-index", 0.316))
        ),
    ),
)
