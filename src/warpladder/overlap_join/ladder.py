"""The overlap join, from merging every two rows to counting only what they share.

Which rows have ids in common? The source compares every id of a row with every id of each other
row.

First the comparisons, with a thread for each pair: a row against all others, one thread to a block;
all pairs in one launch and whole warps; each pair once; four comparisons to a step of the loop. The
threads of a warp then read from 31 rows at a time, and that limits.

So a thread takes an id in place of a pair, its warp compares with one row, and the question is how
threads count together: by atomic additions, for which they queue; by flags in shared memory, which
one thread adds; the same with rows in one matrix; by ballots, which need no memory and nobody to
wait for.

Then fewer comparisons: 32 ids in a word, and the words of many rows in a tile, as in a product of
matrices. And last none at all: an index leads from each id to the rows that have it, so that only
what is shared costs anything; and ids that most rows have are turned back into bits.
"""

from __future__ import annotations

from warpladder.overlap_join.rungs import (
    atomics,
    ballot_count,
    bitmap_tiles,
    flat_rows,
    inverted_index,
    pair_per_thread,
    row_against_chunk,
    sets_on_cpu,
    shared_flags,
    signatures,
    unrolled,
    upper_triangle,
)
from warpladder.overlap_join.wrong import fillers_return, id_per_thread, sum_without_barrier
from warpladder.rung import Ladder

__all__ = ["LADDER"]

LADDER = Ladder(
    name="overlap-join",
    title="The ids that each two of many rows share",
    rungs=(
        sets_on_cpu.RUNG,
        # A thread for each pair: how many at a time, each once, fewer branches.
        row_against_chunk.RUNG,
        pair_per_thread.RUNG,
        upper_triangle.RUNG,
        unrolled.RUNG,
        # A thread for each id of a pair, and how they count together.
        atomics.RUNG,
        shared_flags.RUNG,
        flat_rows.RUNG,
        ballot_count.RUNG,
        # Words of 32 ids.
        bitmap_tiles.RUNG,
        # Only what is shared.
        inverted_index.RUNG,
        signatures.RUNG,
    ),
    wrong=(
        id_per_thread.WRONG,
        sum_without_barrier.WRONG,
        fillers_return.WRONG,
    ),
)
