"""Exercises of reduction: the tree of a block, fewer blocks, shuffles, one launch."""

from __future__ import annotations

from warpladder.lab.exercises.exercise import Exercise

__all__ = ["EXERCISES"]

EXERCISES = (
    Exercise(
        rung="reduction/sequential-shared",
        idea="a tree in shared memory",
        asks="""
            The elements of a block lie in `shared`, one for each thread. Add them up in steps: in
            each, the upper half of what is left is added to the lower half, until the sum is in
            `shared[0]`. Threads are to take neighbouring places, so that their banks differ.

            `width`, how many are left, is 256 at first, so that it is even in every step. Numba
            computes in 64 bits unless told otherwise; `uint32(...)` keeps indices short.
        """,
        cut="""
            while width > 1:
                pairs = uint32(width // 2)
                width = uint32(width - pairs)
                if t < pairs:
                    shared[t] += shared[t + width]
                cuda.syncthreads()
        """,
        put="",
        hints=(
            "A loop that goes on while more than one is left; `width // 2` pairs in each step.",
            "Thread t takes pair t, if there is one: places t and t + (what is left after it).",
            (
                "The next step reads what this one wrote: a barrier, which all threads must "
                "reach, so it stands in the loop but not below `if t < pairs`."
            ),
        ),
    ),
    Exercise(
        rung="reduction/first-add-during-load",
        idea="first addition while loading",
        asks="""
            The host starts half as many blocks as before: each is to take twice as many elements
            as it has threads. As it stands, half of the array is left out. Let each thread leave
            the sum of two elements, a block size apart, as far as there are two.
        """,
        cut="""
            if i + cuda.blockDim.x < n:
                shared[t] = data[i] + data[i + cuda.blockDim.x]
            elif i < n:
                shared[t] = data[i]
            else:
                shared[t] = 0
        """,
        put="""
            shared[t] = data[i] if i < n else 0
        """,
        hints=(
            "The second element of this thread is `data[i + cuda.blockDim.x]`.",
            "Why not data[i + 1]? The threads of a warp would read every second element.",
            "There are three cases: both elements are there, only the first, none.",
        ),
    ),
    Exercise(
        rung="reduction/warp-shuffle",
        idea="warp shuffles",
        asks="""
            Let the 32 threads of a warp add up their totals without memory: by `shfl_down_sync` a
            thread reads a register of the thread so many places higher. In the end thread 0 of the
            warp has the sum of all 32 in `total[0]`; what the others have does not matter.
        """,
        cut="""
            places = WARP // 2
            while places:
                total[0] += cuda.shfl_down_sync(EVERYBODY, total[0], places)
                places //= 2
        """,
        put="",
        hints=(
            "First 16 places: then the lower 16 threads have the sums of two. Then 8, 4, 2, 1.",
            (
                "`cuda.shfl_down_sync(EVERYBODY, value, places)` returns the value of the "
                "thread so many places higher. EVERYBODY says that all 32 take part."
            ),
            "A loop that halves `places`, from WARP // 2 down to 1, and adds to `total[0]`.",
        ),
    ),
    Exercise(
        rung="reduction/last-block-finish",
        idea="tickets and a fence: the last block finishes",
        asks="""
            Each block leaves its sum in `partial`. The block that is the last one to do so is to
            add up all of them, in the same launch: it has to find out that it is. Let thread 0 of
            each block draw a ticket, `tickets[0]`, which counts from 0, and note in `last[0]`
            whether it is that of the last block.

            Whoever sees the last ticket must see every sum, so between the two writes there is a
            fence, `cuda.threadfence()`, and another one behind the ticket.
        """,
        cut="""
            partial[cuda.blockIdx.x] = mine
            cuda.threadfence()
            last[0] = cuda.atomic.add(tickets, 0, 1) == cuda.gridDim.x - 1
            cuda.threadfence()
        """,
        put="""
            partial[cuda.blockIdx.x] = mine
            last[0] = 0
        """,
        hints=(
            "`cuda.atomic.add` returns the value from before: the number on the ticket.",
            "There are `cuda.gridDim.x` blocks, so the last ticket is one less.",
            "The order is: leave the sum, fence, draw the ticket, fence.",
        ),
    ),
)
