"""Exercises of the overlap join: ballots, and a tile of counts in registers."""

from __future__ import annotations

from warpladder.lab.exercises.exercise import Exercise

__all__ = ["EXERCISES"]

EXERCISES = (
    Exercise(
        rung="overlap-join/ballot-count",
        idea="a ballot",
        asks="""
            The 32 threads of a warp have looked for 32 ids, and each knows in `found` whether it
            was there. As it stands, every thread counts for itself, and lane 0 writes only its
            own. Let the warp vote, and count the votes: without shared memory, without atomics.
        """,
        cut="""
            count += cuda.popc(cuda.ballot_sync(EVERYBODY, found != 0))
        """,
        put="""
            count += found != 0
        """,
        hints=(
            "`cuda.ballot_sync(EVERYBODY, yes)` gives every thread a word with a bit for each.",
            "`cuda.popc(word)` counts the bits of a word that are set.",
            "So the warp's count grows by `cuda.popc` of the ballot on `found != 0`.",
        ),
    ),
    Exercise(
        rung="overlap-join/bitmap-tiles",
        idea="a tile of counts in registers",
        asks="""
            Each thread has 4 x 4 counts in registers. As it stands, each of the 16 takes two words
            from shared memory: 32 loads for 16 counts. The answers are right; the counters show
            the waste. Load each word once: the 4 words of the columns into `others`, which stays
            in registers, and each word of a row when its turn comes: 8 loads.
        """,
        cut="""
            for c in range(CELLS):
                others[c] = right[k, x + c * SIDE]
            for r in range(CELLS):
                one = left[k, y + r * SIDE]
                for c in range(CELLS):
                    counts[r, c] += cuda.popc(one & others[c])
        """,
        put="""
            for r in range(CELLS):
                for c in range(CELLS):
                    counts[r, c] += cuda.popc(left[k, y + r * SIDE] & right[k, x + c * SIDE])
        """,
        hints=(
            "`right[k, x + c * SIDE]` does not depend on r: it need not be read in that loop.",
            "Before the two loops, one over c fills `others[c]`.",
            "`left[k, y + r * SIDE]` does not depend on c: read it once, above the inner loop.",
        ),
    ),
)
