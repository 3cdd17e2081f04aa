"""Reduction, from one loop to the bandwidth of memory.

A sum needs every element once and n additions: nothing to compute, everything to read. What keeps a
kernel from reading as fast as memory can, and how that is found and taken away, is the story.

First the tree by which a block adds up. It is the same tree six times, and each time one thing is
mended that the counters show: numbers are read from memory at every step (so they go to shared
memory); threads at work are spread thinly over all warps (so the pairs are numbered, and whole
warps work or rest); what a warp reads lies apart (so other pairs are chosen, neighbours).

Then what surrounds the tree. Half of the threads rest from the first step on: so each begins with
two elements. All warps wait at barriers that concern one: so the last warp goes on alone. A loop
asks what is known when the kernel is compiled: so the steps are written out.

Then memory alone, for all of this was small beside it: threads that add many elements in registers
before they meet at all, 16 bytes to a load, warps that add by shuffles; and the library, with which
to compare oneself. Then the end of the sum: who adds what the blocks leave, and how that is known.
At the top all of it together, for any operation; for floating-point numbers, where the order shows;
and for integers, where it does not, with the sum and the ticket in one word.
"""

from __future__ import annotations

from warpladder.reduction.rungs import (
    cub_library,
    first_add_during_load,
    fully_unrolled,
    grid_stride,
    host_finish,
    indexed_global,
    indexed_shared,
    interleaved_global,
    interleaved_shared,
    last_block_finish,
    last_warp_unrolled,
    one_word_finish,
    sequential_cpu,
    sequential_global,
    sequential_shared,
    tuned,
    tuned_float32,
    warp_shuffle,
    wide_loads,
)
from warpladder.reduction.wrong import (
    finish_without_fence,
    last_warp_without_sync,
    powers_of_two_only,
    step_without_barrier,
    sums_in_place,
)
from warpladder.rung import Ladder

__all__ = ["LADDER"]

LADDER = Ladder(
    name="reduction",
    title="The sum of an array",
    rungs=(
        sequential_cpu.RUNG,
        # The tree of a block: which threads work, and what a warp reads.
        interleaved_global.RUNG,
        interleaved_shared.RUNG,
        indexed_global.RUNG,
        indexed_shared.RUNG,
        sequential_global.RUNG,
        sequential_shared.RUNG,
        # Fewer blocks, fewer barriers, fewer branches.
        first_add_during_load.RUNG,
        last_warp_unrolled.RUNG,
        fully_unrolled.RUNG,
        # Many elements per thread: memory is what limits.
        grid_stride.RUNG,
        wide_loads.RUNG,
        warp_shuffle.RUNG,
        cub_library.RUNG,
        # Who adds up what the blocks leave.
        host_finish.RUNG,
        last_block_finish.RUNG,
        # And all of it together.
        tuned.RUNG,
        tuned_float32.RUNG,
        # Where order does not matter: sums of integers.
        one_word_finish.RUNG,
    ),
    wrong=(
        step_without_barrier.WRONG,
        last_warp_without_sync.WRONG,
        powers_of_two_only.WRONG,
        sums_in_place.WRONG,
        finish_without_fence.WRONG,
    ),
)
