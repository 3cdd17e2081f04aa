"""How a join is divided for a GPU: rows in a block, their counters, and how lists are fetched.

Two things cost time. Lists are fetched from anywhere in memory, which takes as long for one of a
few rows as for one of many: so a block should have many rows. And every counter is cleared and read
for every left row: so there should be few of them.

Where rows share little, both go together: several right rows are *folded* into one counter. It
then says how much they share with the left row all together. Only where that is enough are they
looked at one by one. The more are folded, the more often that happens by chance. How often is
reckoned as if ids fell on rows at random (a Poisson distribution), and the engine tries it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from warpladder.device.grids import WARP, round_up
from warpladder.device.wide_loads import WIDE_BYTES
from warpladder.overlap_join.gpu_counters.counting import MOST_WORDS_OF_A_THREAD
from warpladder.overlap_join.gpu_counters.lists import SPARE, posting_type
from warpladder.overlap_join.gpu_counters.packed import layout_of
from warpladder.overlap_join.gpu_counters.sampling import Likeness

if TYPE_CHECKING:
    from warpladder.device.properties import DeviceProperties

__all__ = ["BESIDE", "Tuning", "checking_share", "folds_to_try", "tuning_for"]

#: Shared memory that the kernel needs beside the counters, in bytes.
BESIDE = 256
_IN_WORD = layout_of(8).in_word
#: Words that a thread scans together.
_AT_ONCE = 4
#: What things take on an H200, in picoseconds, as far as it was told apart: a counter cleared and
#: scanned, a list fetched, an id of a candidate looked up, a signature's word compared, an addition
#: with its posting fetched.
_SCAN, _LIST, _LOOK, _COMPARE, _ADD = 0.1, 75.0, 10.0, 1.0, 1.0
_MOST_FOLDED = 256
#: Counters whose postings have 16 bits; lists that are long enough for small blocks; and into how
#: many blocks rows are divided at least that meet each other, if lists are.
_NARROW, _LONG_LIST, _FEWEST_BLOCKS = 1 << 16, 24, 4
_MOST_WORDS = 8
_FEWEST_LANES = 4


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a join is divided.

    Attributes
    ----------
    counters
        Of a block of right rows, of 8 bits: a multiple of what a block of threads takes at once.
    fold
        Right rows to a counter.
    threads, resident, lanes, in_flight
        As in `counting.Shape`; the threads of a block are a power of two, for the kernel takes the
        number of each from the lower bits of its index.
    words
        Of signatures.

    Raises
    ------
    ValueError
        The threads are no power of two.
    """

    counters: int
    fold: int = 1
    threads: int = 1024
    resident: int = 2
    lanes: int = 16
    in_flight: int = 4
    words: int = 0

    @property
    def row_counters(self) -> int:
        """How many of the counters stand for rows; the last ones take what fills up lists."""
        return self.counters - SPARE

    def __post_init__(self) -> None:
        """Refuse what the kernel would count wrongly."""
        if self.threads < WARP or self.threads & (self.threads - 1):
            raise ValueError(f"threads={self.threads}: not a power of two from {WARP} on")


def tuning_for(gpu: DeviceProperties, rows: int, likeness: Likeness, *, halves: bool) -> Tuning:
    """Return how a join is best divided while nothing is folded.

    Parameters
    ----------
    gpu
        What runs it.
    rows
        On the right.
    likeness
        Of rows of both sides.
    halves
        Whether each pair is met once. In the block that they are in themselves rows meet those
        before them, too: so there should be several.
    """
    words = _words_worth_while(likeness)
    in_words = likeness.of_commonest[max(len(likeness.of_commonest) - 32 * words, 0) :].sum()
    # Of a list, how many postings come from one right row.
    met = (likeness.shared - (in_words if words else 0)) / max(likeness.size, 1)
    wanted = math.ceil(rows / _FEWEST_BLOCKS) if halves else rows
    if met * wanted < _LONG_LIST:
        wanted = rows
    narrow = min(wanted, _NARROW - SPARE)
    if met * narrow >= _LONG_LIST or rows <= narrow:
        # Two blocks of 1,024 take longer: 0.450 s to 0.417 for 500,000 rows of 1,000 ids (H200).
        threads, resident, in_flight, most = 512, 3, 1, narrow
    else:
        threads, resident, in_flight, most = 1024, 1, 4, wanted
    if threads * resident > gpu.max_threads_per_multiprocessor:
        threads = 512
        resident = gpu.max_threads_per_multiprocessor // threads
    unit = _AT_ONCE * _IN_WORD * threads
    each = gpu.shared_bytes_per_multiprocessor // resident - gpu.shared_bytes_reserved_per_block
    room = min(each, gpu.shared_bytes_per_block_optin) - BESIDE
    room = min(room, MOST_WORDS_OF_A_THREAD * _IN_WORD * threads)
    counters = min(round_up(most + SPARE, unit), max(room // unit, 1) * unit)
    return Tuning(
        counters, threads=threads, resident=resident, words=words,
        **_fetching(met * counters, counters, in_flight),
    )  # fmt: skip


def _fetching(length: float, counters: int, in_flight: int) -> dict[str, int]:
    """Return how many threads take a list of this length together, and how many lists at a time.

    They take it in loads of 16 bytes.
    """
    # What rows share beside the commonest ids is a difference of estimates, and may be below zero.
    loads: float = 1 + max(length, 0.0) * np.dtype(posting_type(counters)).itemsize / WIDE_BYTES
    if loads > WARP:
        lanes = 16
    elif counters > _NARROW:
        lanes = max(1 << (math.ceil(loads) - 1).bit_length(), 8)
    else:
        # Two loads to a thread, about: with more threads most would wait for those that have one.
        # Of 500,000 rows lists take 17 loads, and 8 threads are faster than 16 (0.417 s to 0.423)
        # and than 4 (0.432).
        lanes = 1 << max(round(math.log2(loads / 2)), 2)
        if lanes == _FEWEST_LANES < loads:
            # Of 2,000,000 rows they take 5. A load to each of 8 threads, of two lists: 2.00 s to
            # 2.02 for all rows and the index; two lists of 4 threads take 2.23, one of 8 2.12.
            lanes, in_flight = 2 * lanes, 2 * in_flight
    return {"lanes": lanes, "in_flight": in_flight}


def folds_to_try(tuning: Tuning, rows: int, likeness: Likeness, least: int) -> list[Tuning]:
    """Return foldings that may pay, the best first; none if folding nothing is best.

    ``least`` is how many ids a row of average size has to share.
    """
    if tuning.words:
        return []
    costs = {}
    most = min(-(-rows // tuning.row_counters), _MOST_FOLDED)
    for fold in range(1, most + 1):
        folded = min(fold * tuning.row_counters, rows)
        chance = _chance_of(least, likeness.shared * fold)
        by_row = (tuning.counters * _SCAN + likeness.size * _LIST) / folded
        check = chance * likeness.size * _LOOK if fold > 1 else 0.0
        costs[fold] = by_row + likeness.shared * _ADD + check
    fold = min(costs, key=costs.__getitem__)
    found = []
    while fold > 1:
        found.append(_folded(tuning, fold, likeness))
        fold = min(fold * 3 // 4, fold - 1)
    return found


def checking_share(tuning: Tuning, likeness: Likeness, candidates: float) -> float:
    """Return the share of all time that it takes to look at so many candidates of a left row."""
    rest = tuning.counters * _SCAN + likeness.size * _LIST
    check = candidates * tuning.fold * likeness.size * _LOOK
    return check / (check + rest + likeness.shared * tuning.counters * tuning.fold * _ADD)


def _folded(tuning: Tuning, fold: int, likeness: Likeness) -> Tuning:
    list_length = likeness.shared / max(likeness.size, 1) * tuning.counters * fold
    fetching = _fetching(list_length, tuning.counters, tuning.in_flight)
    return replace(tuning, fold=fold, **fetching)


def _words_worth_while(likeness: Likeness) -> int:
    """Return how many words of the commonest ids cost less than their lists."""
    saved = likeness.of_commonest[::-1]
    words = 0
    while words < _MOST_WORDS and len(saved) > 32 * words:
        if saved[32 * words : 32 * (words + 1)].sum() * _ADD < _COMPARE:
            break
        words += 1
    return words


def _chance_of(least: int, mean: float) -> float:
    """Return how likely a Poisson variable is to be at least so large."""
    term, below = math.exp(-mean), 0.0
    for k in range(min(least, 1000)):
        below += term
        term *= mean / (k + 1)
    return max(1 - below, term)
