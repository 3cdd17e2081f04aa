"""Answers to the questions of the reduction ladder."""

from __future__ import annotations

from warpladder.lab.answers.record import Answer
from warpladder.rung import Prediction

__all__ = ["ANSWERS"]

ANSWERS = {
    "sequential-cpu": Answer(
        """0.224 ms: 2**30 bytes over 4.8 million million a second. An addition for every 4 bytes is
        nothing beside that, so this is what the rungs above are measured against."""
    ),
    "interleaved-global": Answer(
        """In the sixth, of stride 32: every 64th thread is at work, which is one in every second
        warp, so 4 warps of 8. In the five steps before, all 8 take part, with 16, 8, 4, 2 and 1 of
        their threads."""
    ),
    "interleaved-shared": Answer(
        """32 threads, four in each of 8 warps; one warp would hold them all. The step is issued
        eight times where once would do. `indexed-shared` gives the pairs to neighbours."""
    ),
    "indexed-global": Answer(
        """In the third, of stride 4: 32 threads read words 8 apart, each in a sector of its own.
        After that there are 16 pairs, then 8: one request of 16 threads, then of 8, and no more
        than a sector for each thread."""
    ),
    "indexed-shared": Answer(
        """In banks 0 to 7, which is one wavefront: their words are 32 t, which stand at 33 t. The
        conflicts of all other steps are gone as well. Padding mends what the choice of pairs has
        spoilt, for a longer computation of each place; the next rungs choose other pairs."""
    ),
    "sequential-global": Answer(
        """32, the data: the first step reads each of them. The other 37 hold sums which the block
        itself has written just before, and which need not have left the chip."""
    ),
    "sequential-shared": Answer(
        """1.5: in one step after the other 4, 2, 1, 1, 1, 1, 1 and 1 of them, 12 in all. And 8 come
        to every barrier. The next rungs give a block more to do before the tree begins, and take
        the barriers away where one warp is left."""
    ),
    "first-add-during-load": Answer(
        """5: blocks of 2,048 elements are 4, and one more adds what these leave. `grid-stride` goes
        on in this way, as far as it helps."""
    ),
    "last-warp-unrolled": Answer(
        """6 and 11. Here it is one after loading and one after each of the steps that leave 512,
        256, 128, 64 and 32 sums; there it is one after each of all ten steps."""
    ),
    "fully-unrolled": Answer(
        """25: 4 for loading, 4 for each of the two steps that leave 64 and 32 sums, 4 to find the
        first warp, 5 in it, and 4 at the end."""
    ),
    "grid-stride": Answer(
        """993 at the most, and then the tree of a block of 256 takes 8 steps. So all that the rungs
        before have improved, the tree, is now less than a hundredth of the additions that a thread
        is there for."""
    ),
    "wide-loads": Answer(
        """17 requests and 257 sectors. 511 groups are 16 requests, the last of them for 31 threads,
        and lie in 256 sectors. Three threads of the first warp read the three numbers left, from
        the sector in which the last group ends.""",
        (
            Prediction("global_load_requests", "==", 17, 2047, "511 groups, and three numbers"),
            Prediction("global_load_sectors", "==", 257, 2047, "the last sector is read twice"),
        ),
    ),
    "warp-shuffle": Answer(
        """Its own total, so that its sum is wrong from then on. But nobody asks for it later. A
        step of so many places has to be right for the first so many threads alone: 0 to 15 take
        from 16 to 31, then 0 to 7 from 8 to 15, and at last thread 0 from thread 1."""
    ),
    "cub-library": Answer(
        """For the first two: additions modulo 2**32 and the choice of the larger one give the same
        in any order. Each addition of floats is rounded, so that two orders may differ in the last
        bits; `tuned-float32` says by how much."""
    ),
    "host-finish": Answer(
        """1 KiB, a 256th: 256 blocks leave a number of 4 bytes each, one for every 256 of the
        array."""
    ),
    "last-block-finish": Answer(
        """All tickets are drawn by then: no other block touches the counter any more, and the next
        launch begins when this one has ended. Tickets are drawn by many blocks at the same time."""
    ),
    "tuned": Answer(
        """16 KiB, where nearly 25 KiB are needed: memory would be used to two thirds. Twice as many
        threads would do, or two loads for each."""
    ),
    "tuned-float32": Answer(
        """16,434 (2**26 / 4096 + 50) and 67,108,864: some four thousand times fewer, and so is the
        bound of the error."""
    ),
    "one-word-finish": Answer(
        """32,767, for one of the 16 bits is the sign. 40 for each of 132 multiprocessors are 5,280,
        far fewer."""
    ),
    "step-without-barrier": Answer(
        """Under every schedule of the simulator its sum is right, and on a GPU mostly, too. But
        CUDA promises no order among the threads of a warp either, unless `syncwarp` asks for it.
        The race check reports it as before: `last-warp-without-sync` is this case."""
    ),
    "last-warp-without-sync": Answer(
        """The last one. After the step of distance 1 only thread 0 reads, and what it reads it has
        written itself. Each of the other four stands between the thread that makes a sum and the
        one that adds it."""
    ),
    "powers-of-two-only": Answer(
        """64. Of the last three sums the third is lost, and it holds what threads 2, 5, 8 and so on
        have loaded: two elements for each of 32 threads."""
    ),
    "sums-in-place": Answer(
        """Elements 0 to 4, which are all read by the first block. Up to n = 256 nothing can go
        wrong: there is one block, which writes when it has read everything."""
    ),
    "finish-without-fence": Answer(
        """The first one puts the sum of a block before its ticket, in the eyes of whoever sees the
        ticket. The second one puts the last block's loads of all sums behind its ticket: served
        earlier, they might bring what stood in those places before."""
    ),
}
