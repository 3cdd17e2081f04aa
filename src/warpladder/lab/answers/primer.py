"""Answers to the questions of the primer."""

from __future__ import annotations

from warpladder.lab.answers.record import Answer
from warpladder.rung import Prediction

__all__ = ["ANSWERS"]

ANSWERS = {
    "vector-add-cpu": Answer(
        """2 thousand million: each addition moves 12 bytes. A core that adds twice as fast changes
        nothing, it only waits for memory more of the time. What helps is more bytes a second, and
        those are the first thing that a GPU has."""
    ),
    "vector-add-one-thread": Answer(
        """The copy home, and with it the copy of the sum back to the device that would follow. The
        memory stays as it is, and the next kernel is launched with the same array."""
    ),
    "vector-add-one-block": Answer(
        """Four: three are full, and the fourth has a single thread. Each instruction is issued four
        times for 97 threads: 24.25 of 32.""",
        (
            Prediction("global_store_requests", "==", 4, 97, "four warps store once each"),
            Prediction("threads_per_instruction", "==", 24.25, 97, "97 threads in 4 warps"),
        ),
    ),
    "vector-add-grid": Answer(
        """40, and again one. Five blocks of 8 warps ask. The first warp of the fifth block is
        split, one thread in and 31 out; the seven behind it are all out, and so of one mind. That
        leaves 39 of 40 branches uniform, 97.5 %.""",
        (
            Prediction("branches", "==", 40, 1025, "5 blocks x 8 warps ask once each"),
            Prediction("branch_uniformity", "==", 97.5, 1025, "one warp of 40 is split"),
        ),
    ),
    "device-memory": Answer(
        """Three launches load 24,000 bytes and store 12,000; one kernel loads 12,000 and stores
        4,000. Each vector more costs the first way another reading and writing of the sum."""
    ),
    "vector-add-grid-stride": Answer(
        """16: its threads would read every fourth element, 32 out of 128 neighbours, and those are
        512 bytes. Each of its four loads would take the same 16 sectors and use a quarter of them.
        What is best for one thread, to walk along memory, is not best for a warp."""
    ),
    "matrix-add-2d": Answer(
        """4, whichever of the three. At n = 64 every row begins at a sector, and 8 columns are 32
        bytes: one whole sector in each of 4 rows. 16 columns are two in each of 2 rows, 32 columns
        are four of one row. Fewer than 8 columns leave a part of each sector unused."""
    ),
    "matrix-add-warp-rows": Answer(
        """2,560: a grid of 2 x 5 blocks of 256 threads. Each of 33 rows is stored by two warps, by
        one 32 elements and by the other a single one: 66 requests, of 16.5 elements on average.""",
        (
            Prediction("global_store_requests", "==", 66, 33, "two warps to each of 33 rows"),
            Prediction("global_store_bytes", "==", 4356, 33, "1,089 elements of 4 bytes"),
        ),
    ),
    "divergence-by-thread": Answer(
        """No, as many. A formula is issued to the warp as soon as one of its threads takes it, and
        how many threads are active then makes no difference."""
    ),
    "divergence-by-warp": Answer(
        """In the last two. A warp is 32 neighbours, the first of which has a multiple of 32 for its
        number; so it is of one mind where kinds change at multiples of 32 only. Runs of 8 or of 16
        split every warp, just as single elements do."""
    ),
    "access-aligned": Answer(
        """2 lines, which are 8 sectors, and all 256 bytes of them: larger numbers take more
        sectors, but waste nothing."""
    ),
    "access-permuted": Answer(
        """8 elements, 0, 4, 8 and so on, each asked for by four threads, and still 4 sectors: two
        of the elements lie in each. So 32 of 128 bytes are used. Threads that ask for the same
        element share it."""
    ),
    "access-misaligned": Answer(
        """By 8, 16 or 24 elements, or a line more: a multiple of a sector that is none of a
        line."""
    ),
    "access-scattered": Answer(
        """4 sectors, and 3 lines as before. Both halves begin at a sector now: bytes 96 to 159 are
        two whole sectors on either side of a border between lines, bytes 288 to 351 two inside a
        line. In sectors all is used that is moved, in lines still a third."""
    ),
    "strided-access": Answer(
        """8 and 32. With a stride of 2, the 32 elements lie over 256 bytes, of which half are used.
        With a stride of 8 each has a sector to itself, and no larger stride takes more."""
    ),
    "translation-aos": Answer(
        """16, and a quarter: the x of 32 points lie over 512 bytes. The y and the z use two more
        quarters, if a cache keeps the sectors for them; the last one is moved for nobody."""
    ),
    "translation-soa": Answer(
        """96 and 32: for each of 8 warps 12 sectors, or 4. From an array of structures the y and
        the z come along, whether or not anybody wants them, and no cache can make up for that."""
    ),
    "local-array": Answer(
        """The one that counts: its index is a symbol, known only when the kernel runs. The indices
        of the other two go through a loop of a length that is known; where a compiler writes the
        loop out, each of them is a constant, which can name a register."""
    ),
    "registers": Answer(
        """Here each kind is another comparison and another addition for every symbol. With an array
        a symbol costs a load, an addition and a store, however many kinds there are. So registers
        win while kinds are few; for hundreds of them there are neither registers nor time."""
    ),
    "shared-reverse": Answer(
        """All 256 pass it, for a barrier waits for every thread of the block; 232 write. If the
        barrier stood inside the guard, 24 threads would never come to it, and what then happens is
        undefined. GPUs of today count threads that have ended as arrived, so that it works as often
        as it is tried; nothing says that the next one will.""",
        (
            Prediction("barriers", "==", 32, 1000, "8 warps of each of 4 blocks, full or not"),
            Prediction("global_store_bytes", "==", 4000, 1000, "1000 threads write 4 bytes"),
        ),
    ),
    "bank-stride-two": Answer(
        """One: 3 and 32 have no factor in common, so that 32 words with that stride lie in 32
        different banks. It is powers of two that meet; every odd stride is as good as a stride of
        one."""
    ),
    "bank-stride-32": Answer(
        """In bank c, whatever the row. With 31 columns it is word 31 r + c, in bank (c - r) mod 32,
        which is another one in each row: no two words of a column share a bank."""
    ),
    "bank-padding": Answer(
        """Not quite. Word (r, c) lies in bank (2 r + c) mod 32 then: a column meets 16 banks, each
        of them twice, and takes two wavefronts. Any odd number of columns would do."""
    ),
    "two-arrays-in-dynamic-shared": Answer(
        """8, one for each: 32 neighbouring words lie in 32 banks. The pairs are others then, so it
        is another answer; but where any pairs will do, as in a sum, these are the ones to take."""
    ),
    "constant-per-thread": Answer(
        """512: each request names two addresses, which are served one after the other. It matters
        how many addresses a warp names, not how many of its threads name each."""
    ),
    "constant-broadcast": Answer(
        """One, 4 of whose 32 bytes are used: global memory, too, hands a word to all who ask for
        it. What constant memory adds is a cache of its own, from which other data do not drive the
        table."""
    ),
    "shared-flags": Answer(
        """3. Then 32 threads have a count of three flags each, and those are brought together by
        steps that halve their number: in shared memory, as `warpladder explain
        reduction/sequential-shared` shows, or from register to register, as in `warpladder explain
        reduction/warp-shuffle`."""
    ),
    "atomic-count": Answer(
        """7 requests and 67 passes. Six full warps and one with 8 ids have finds, and the last warp
        of the block has no ids. Every third of 200 ids, from the first one on, are 67, and all of
        them meet at one address.""",
        (
            Prediction("atomic_requests", "==", 7, 200, "7 warps have finds"),
            Prediction("atomic_passes", "==", 67, 200, "each find is an addition of its own"),
        ),
    ),
    "few-warps": Answer(
        """2.4 million bytes, as 4 TB/s times 600 ns says. There are 132 times 256, which is 33,792:
        about one part in seventy, so that memory has nothing to do for most of the time."""
    ),
    "independent-loads": Answer(
        """The store needs its sum, and the sum needs its loads. A warp issues its instructions in
        order, so the loads behind that store are not asked for before the numbers in front of it
        have come: four waits, as before."""
    ),
    "occupancy-grid": Answer(
        """Two, with a quarter of the warps that there are places for. A block takes 101 KiB, one of
        them for the driver, and 228 KiB hold that twice; the registers would have let 8 blocks
        in."""
    ),
    "asynchronous-launch": Answer(
        """How long it takes to put a kernel into a queue: some microseconds, whatever the kernel
        does. If the queue is full, the launch waits, and the program measures an earlier kernel."""
    ),
    "error-word": Answer(
        """The place of whichever thread stored last. Warps run in any order, so that two runs need
        not agree, and none of them need name the first place; the race check tells both threads.
        An atomic minimum does not depend on the order."""
    ),
    "pipeline-pageable": Answer(
        """For those that send from the same memory again and again, or bring results into it: they
        lock it once. Others keep a small piece locked and copy through that, several threads at a
        time, which is what the driver does with one."""
    ),
    "pipeline-default-stream": Answer(
        """No. The default stream waits for all streams before each copy, and they wait for it: the
        kernel of one chunk still stands between the copies of its neighbours. Each kernel would
        run alone, as before."""
    ),
    "pipeline-serial": Answer(
        """10 ms, the sum of the three. And no less than 4 ms, the longest of them, for each of the
        engines has its own work to do."""
    ),
    "pipeline-two-way": Answer(
        """8.25 ms: 4 ms until all words are there, 0.25 ms for the first chunk's kernel, and 8
        downloads of 0.5 ms, behind which the other kernels hide."""
    ),
    "pipeline-three-way": Answer(
        """4.75 ms: 0.5 ms until the first chunk is there, 0.25 ms for its kernel, and 8 downloads
        of 0.5 ms, behind which all else hides. That is 0.75 ms above the least. Smaller chunks save
        more of these, but each chunk takes two copies and a launch, which cost some microseconds
        each, however short they are: 24,000 of them cost far more than there is to save."""
    ),
    "kernels-in-turn": Answer(
        """It is better: one launch less, and blocks of one grid need no second stream to stand
        beside each other. Two kernels are for two kinds of work, or for work that comes at
        different times."""
    ),
    "kernels-side-by-side": Answer(
        """From 1,056 on, 132 times 8: then every place is taken, and blocks of the second kernel
        begin as blocks of the first end. With fewer, as many as there are places left run beside
        them."""
    ),
    "vector-add-no-guard": Answer(
        """For multiples of 256, where the last block is full: then every thread has an element. A
        test with 1,024 elements says nothing of 1,000."""
    ),
    "unfilled-sum": Answer(
        """The first. It writes every element of the sum, and so the second reads what somebody has
        written, however wrong that is. A check of unwritten memory names the place where a value
        comes from, not those to which it spreads."""
    ),
    "reverse-without-barrier": Answer(
        """Yes, on every GPU since Volta: the threads of a warp may be apart, and `cuda.syncwarp()`
        is the least that makes them meet. Older GPUs moved a warp as one, and much code relied on
        that; `warpladder explain reduction/last-warp-without-sync` shows what became of it."""
    ),
    "racy-increment": Answer(
        """3 and 1. The threads of a warp load the same old count and store the same new one, so
        that a warp adds 1, however many of its threads do. One after the other, three warps add 3.
        In lockstep all of them load the same 0."""
    ),
    "flags-without-barrier": Answer(
        """32, and that is right: the others have left their flags when thread 0 adds them up. In
        forward order it is 11. So a right result under one order says nothing of the other orders;
        the race check does not depend on a bad one."""
    ),
    "early-read": Answer(
        """Behind the last copy and in front of the line that reads: then all that was put on the
        stream is done. Another stream would not do, for streams know nothing of each other; the
        device as a whole would, as it waits for all of them."""
    ),
}
