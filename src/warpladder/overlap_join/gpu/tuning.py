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

from warpladder.device.grids import round_up
from warpladder.overlap_join.gpu_counters.counting import MOST_WORDS_OF_A_THREAD
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
#: What things take on an H200, in picoseconds: a counter cleared and scanned, a list fetched, an id
#: of a candidate looked up, a signature's word compared, an addition.
_SCAN, _LIST, _LOOK, _COMPARE, _ADD = 0.1, 75.0, 3.0, 1.0, 0.45
_MOST_FOLDED = 256
_MOST_WORDS = 8


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
        As in `counting.Shape`.
    words
        Of signatures.
    """

    counters: int
    fold: int = 1
    threads: int = 1024
    resident: int = 2
    lanes: int = 16
    in_flight: int = 4
    words: int = 0


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
        Whether each pair is met once: then smaller blocks meet fewer pairs twice.
    """
    words = _words_worth_while(likeness)
    in_words = likeness.of_commonest[max(len(likeness.of_commonest) - 32 * words, 0) :].sum()
    # Of a list, how many postings come from one right row.
    met = (likeness.shared - (in_words if words else 0)) / max(likeness.size, 1)
    threads = min(1024, gpu.max_threads_per_block)
    unit = _AT_ONCE * _IN_WORD * threads
    for resident in (2, 1):
        each = gpu.shared_bytes_per_multiprocessor // resident
        room = min(each - gpu.shared_bytes_reserved_per_block, gpu.shared_bytes_per_block_optin)
        most = (room - BESIDE) // unit * unit
        # Postings of 16 bits where lists are long anyway.
        most = min(most, 1 << 16) if resident == 2 else min(most, MOST_WORDS_OF_A_THREAD * threads)
        if met * most >= 32 or rows <= most:
            break
    wanted = math.ceil(rows / 8) if halves and met * rows / 8 >= 64 else rows
    counters = round_up(max(min(most, wanted), 1), unit)
    list_length = met * min(counters, rows)
    lanes = 32 if list_length >= 24 else 16 if list_length >= 10 else 8
    return Tuning(
        counters, threads=threads, resident=resident, lanes=lanes,
        in_flight=4 if lanes == 32 else 8, words=words,
    )  # fmt: skip


def folds_to_try(tuning: Tuning, rows: int, likeness: Likeness, least: int) -> list[Tuning]:
    """Return foldings that may pay, the best first; none if folding nothing is best.

    ``least`` is how many ids a row of average size has to share.
    """
    if tuning.words:
        return []
    costs = {}
    most = min(-(-rows // tuning.counters), _MOST_FOLDED)
    for fold in range(1, most + 1):
        folded = min(fold * tuning.counters, rows)
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
    return replace(tuning, fold=fold, lanes=32 if list_length >= 24 else tuning.lanes)


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
