"""Answers to the questions of the shortest-paths ladder."""

from __future__ import annotations

from warpladder.lab.answers.record import Answer
from warpladder.rung import Prediction, Ratio

__all__ = ["ANSWERS"]

ANSWERS = {
    "sequential-cpu": Answer(
        """The loops over i and j may: within a step of k all cells are independent. The one over k
        must be outside: a cell that is through with all k before the others have begun has asked
        for ways that were not known yet."""
    ),
    "one-thread": Answer(
        """811,008: three for each of 270,336 threads, if none of the loads of a thread waits for
        another. That is what the rungs above have to make use of."""
    ),
    "launch-per-k": Answer(
        """126 and 72,576. A row is two warps, and the two of row k are stopped by the guard; each
        of the other 126 loads 4 + 4 + 1 sectors, in each of 64 steps.""",
        (
            Prediction("global_store_requests", "==", 64 * 126, 64, "all warps but 2, 64 times"),
            Prediction("global_load_sectors", "==", 72_576, 64, "64 steps x 126 warps x 9 sectors"),
        ),
    ),
    "consecutive-cells": Answer(
        """8: the lanes are 8 bytes apart, and 32 of them lie over 256 bytes. From 8 cells on, 32
        bytes, each lane has a sector to itself; runs of 16 are no worse in this."""
    ),
    "strided-cells": Answer(
        """That of `dist[k, j]`: cells that are eight rows apart lie in the same column. A thread
        that knew it could keep the number in a register. `pivot-in-register` turns this round and
        keeps `dist[i, k]`."""
    ),
    "row-blocks": Answer(
        """4 have columns, three of them full and the fourth with one thread; all 8 come to the
        barrier, in each of 97 rows and 97 steps.""",
        (
            Prediction("barriers", "==", 97 * 97 * 8, 97, "8 warps of each block"),
            Prediction(
                "global_load_requests", "==", 97 * 97 * 9, 97, "the pivot, and two for 4 warps"
            ),
        ),
    ),
    "padded-rows": Answer(
        """94 %, 31 numbers to a row of 33, and 1.5 %, 31 to a row of 2,017: at most 31 either way,
        which is much of a short row and nothing of a long one."""
    ),
    "column-blocks": Answer(
        """This one: then it is the cells of a column that lie side by side, and `row-blocks` that
        has each lane in a sector of its own. Which of the two is right follows from how the data
        lie, not from the algorithm."""
    ),
    "pitched-rows": Answer(
        """504 sectors: 3,123 in a step of `row-blocks`, 2,619 in one here. After six steps of 97
        the copies have paid."""
    ),
    "flag-barrier": Answer(
        """278,784, 528 for each of 528 blocks, and again as long as one is behind. With a counter
        it would be 528 additions, and one word that all of them watch."""
    ),
    "grid-sync": Answer("""About 2.5 us: 5.2 ms more over 2,048 steps whose loads are the same."""),
    "pivot-in-run": Answer(
        """The last one: four lanes whose run ends with a row read the entry of the row behind it,
        in which they have no cell. Without it a warp would make 33 of them.""",
        (
            Prediction(
                "global_load_requests",
                "==",
                Ratio(34, 48),
                128,
                "1 + 2 * 16 + 1 for a warp's runs where it was 3 * 16",
                than="consecutive-cells",
                tolerance=1e-9,
            ),
        ),
    ),
    "pivot-in-register": Answer(
        """5 and 6: one for the pivot entry and two for each of two warps' pieces, where it was
        three for each. As rows grow it saves one load in three, and no more.""",
        (
            Prediction(
                "global_load_requests",
                "==",
                Ratio(5, 6),
                64,
                "1 + 2 * 2 to a row where it was 3 * 2",
                than="grid-sync",
                tolerance=1e-9,
            ),
        ),
    ),
    "next-hops": Answer(
        """Look for a neighbour h of i with weight[i, h] + dist[h, j] == dist[i, j]: up to n
        additions and comparisons for each step of the path. Hops cost a matrix and a store for each
        improvement instead, and then a step is one load."""
    ),
    "blocked-shared": Answer(
        """2,560: 2 rounds of a tile on the diagonal and of 2 + 1 others that load three tiles each
        are 20 tiles of 128 sectors.""",
        (Prediction("global_load_sectors", "==", 2560, 64, "2 rounds of 10 tiles of 128 sectors"),),
    ),
    "register-tiles": Answer(
        """A half: 8 loads feed 16 relaxations, where here 16 feed 64, a quarter each. With 16 x 16
        cells it would be an eighth, but 256 best values do not fit into the 255 registers that a
        thread may have."""
    ),
    "overlapped-panels": Answer(
        """7 of 16 tiles, 44 %, and 63 of 1,024, 6 %. It matters for the small ones: there nearly
        half of the work is of the kind that the rest would have to wait for."""
    ),
    "deep-rounds": Answer(
        """Nothing of either. All tiles would be in the rows and columns of the round and be stored
        for each tile of the diagonal, as in rounds of one, but one launch after another."""
    ),
    "register-tiles-float32": Answer(
        """64 still. The four schedulers of a multiprocessor start an instruction for 32 lanes each
        in a clock, 128 in all, and a relaxation is two instructions: there are no slots left. Only
        fewer instructions would help, as for int32 the one that does both."""
    ),
    "register-tiles-float64": Answer(
        """Two and one: 256 threads of 128 registers are half of 65,536, and of 255, which are given
        out as 256, all of them."""
    ),
    "register-tiles-int16": Answer(
        """To 15/27: 24 of 27 tiles take half of their loads and 3 take all. As n grows the diagonal
        counts for less and less, and it goes to a half."""
    ),
    "half-tiles": Answer(
        """5/8, as t is 4: t**2 (t + 1) / 2 of t**3 is (t + 1) / (2 t), which goes to a half. The
        tiles on the diagonal have no twin."""
    ),
    "one-launch": Answer(
        """17 times, twice in each of 8 rounds of 64 vertices and once before them, when the first
        tile has been closed. And 12 launches, three for each of 4 rounds of 128 vertices.""",
        (
            Prediction(
                "atomic_requests",
                "==",
                6,
                64,
                "one block, 2 + 1 meetings, at each an addition and a look",
            ),
        ),
    ),
    "one-launch-next-hops": Answer(
        """Whichever comes first in its search, and it does not: both ways are equally short, and
        the hop is right as long as following it is as long as the distance says. An oracle that
        names one path would have to have the same taste, so the task compares lengths."""
    ),
    "tagged-distances": Answer(
        """What was known before needs a tag, too, and the least: there are 129. With 257 of them it
        takes nine bits, which leave 21 for a distance: it has to be below 2**21 - 1 = 2,097,151,
        half as long as with eight."""
    ),
    "resident-tiles": Answer(
        """2,048: there are 264 places, and 16 tiles in a row are 256. With 17 they would be 289. So
        8 places are left free."""
    ),
    "small-n-one-block": Answer(
        """110 and 156: 48 KiB are 12,288 numbers of 4 bytes, and 110 * 110 are 12,100; of 2 bytes
        they are 24,576, and 156 * 156 are 24,336."""
    ),
    "batch-of-blocks": Answer(
        """16: 64**3 relaxations for 64 * 64 numbers of 4 bytes. So 50 GB/s feed 0.8 million million
        relaxations a second, and the bus limits by far. Graphs that are on the GPU already are
        another matter."""
    ),
    "return-before-barrier": Answer(
        """Warps 4 to 7 as a whole, and warp 3 but for its first thread. For multiples of 256 nobody
        leaves, so that a test with 256 or 1,024 vertices sees nothing."""
    ),
    "pivot-without-barrier": Answer(
        """In forward order the warp of thread 0 runs first, and has fetched the pivot when the
        others read it. In reverse order they have read before. Nothing but luck puts it first on a
        GPU."""
    ),
    "cleared-flags": Answer(
        """The third, with flags read once into a register, and distances that arrive after the flag
        that announces them: that takes atomics and fences. Nobody can miss a flag that only grows,
        nor take it for that of another meeting."""
    ),
    "steps-without-barrier": Answer(
        """Up to 5: 25 cells, and thread t takes cell t. Under every schedule of the simulator the
        result is right then; but among the threads of a warp, too, an order is promised only by
        `syncwarp`, and the race check reports it."""
    ),
}
