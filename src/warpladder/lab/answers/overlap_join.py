"""Answers to the questions of the overlap-join ladder."""

from __future__ import annotations

from warpladder.lab.answers.record import Answer
from warpladder.rung import Prediction

__all__ = ["ANSWERS"]

ANSWERS = {
    "sets-on-cpu": Answer(
        """1,000 if all are the same, for each step goes on in both rows. And at most 1,999 if none
        is: each step goes on in one row, and the merge ends with the first row that does."""
    ),
    "row-against-chunk": Answer(
        """A 31st. A launch has one warp then, and 31 of its threads compare at a time what 31 warps
        of one thread compared before. That is as good as the next rung, but for its 32 launches."""
    ),
    "pair-per-thread": Answer(
        """4,032, all but the diagonal of 64 x 64, and 2,016 would be enough: the count of (i, j) is
        that of (j, i).""",
        (Prediction("global_store_bytes", "==", 4 * 4032, 64, "4 bytes for each pair"),),
    ),
    "upper-triangle": Answer(
        """316: the warps of four columns of warps have pairs in the first 31, 63, 95 and 127 rows.
        That is 62 %, where it was 73 %, and the part goes to a half."""
    ),
    "unrolled": Answer(
        """40 places, three of them fillers, which are ten steps: 11 branches with the one that
        leaves. One id at a time has 37 steps and 38 branches."""
    ),
    "atomics": Answer(
        """4: each of 2 warps adds at 2 places. That is the number of atomic requests, since a warp
        asks for all its additions at once; it is served in 20 passes because they meet.""",
        (Prediction("atomic_requests", "==", 4, 2, "2 warps with finds, 2 places"),),
    ),
    "shared-flags": Answer("""10: each of them halves the number of sums, and 2**10 is 1,024."""),
    "flat-rows": Answer(
        """28 of 64 places, 44 %, and 24 of 1,024, 2 %: it is less than a warp's places in any
        row."""
    ),
    "ballot-count": Answer(
        """4 ballots, one for each 32 of 128 places, and 404 requests: each time one for the ids of
        the warp's own row, and one for each of 100 ids of the other."""
    ),
    "bitmap-tiles": Answer(
        """From 32,001 on: it has a bit for each id that there is, and 4,000 bytes are 32,000 bits.
        With 50,000 it takes more room, and is still compared 32 ids at a time."""
    ),
    "inverted-index": Answer(
        """7,998,000, all pairs that there are, and nothing: every count grows by one. It is one
        addition for each pair all the same, so the commonest ids are the dearest."""
    ),
    "signatures": Answer(
        """None: all 40 have bits. There is no list to go along, and no counter to add to for an id;
        what is left for a pair is two ANDs and two counts of bits, whatever the two rows share."""
    ),
    "id-per-thread": Answer(
        """No: one counts at row i and column j, the other at row j and column i. It is the threads
        of one block that race, those that add with one another and with thread 0, which clears."""
    ),
    "sum-without-barrier": Answer(
        """By 4, as many ids as the second warp has; and by 968 with 1,000, all but those of the
        first warp."""
    ),
    "fillers-return": Answer(
        """24 of 1,024. None does where all rows have the same length and that is a multiple of 32:
        then there are no fillers."""
    ),
}
