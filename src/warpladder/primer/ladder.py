"""The primer, from top to bottom: the ideas on which every other ladder rests.

One small kernel for each idea, in the order in which they are needed; no rung uses a word that an
earlier one has not told.

* Threads, blocks and grids; warps, which move together; the memory of the device.
* Warps that must agree, and where the threads of a warp read: sectors and lines.
* Two dimensions; grids as large as the GPU.
* What a thread has for itself, what a block shares, what threads count together, the banks of
  shared memory, constants.
* Latency, and what hides it.
* What the host does meanwhile: launches that return at once, errors that come late, copies and
  kernels that overlap.
"""

from __future__ import annotations

from warpladder.primer.rungs import (
    access_aligned,
    access_misaligned,
    access_permuted,
    access_scattered,
    asynchronous_launch,
    atomic_count,
    bank_padding,
    bank_stride_32,
    bank_stride_two,
    constant_broadcast,
    constant_per_thread,
    device_memory,
    divergence_by_thread,
    divergence_by_warp,
    error_word,
    few_warps,
    independent_loads,
    kernels_in_turn,
    kernels_side_by_side,
    local_array,
    matrix_add_2d,
    matrix_add_warp_rows,
    occupancy_grid,
    pipeline_default_stream,
    pipeline_pageable,
    pipeline_serial,
    pipeline_three_way,
    pipeline_two_way,
    registers,
    shared_flags,
    shared_reverse,
    strided_access,
    translation_aos,
    translation_soa,
    two_arrays_in_dynamic_shared,
    vector_add_cpu,
    vector_add_grid,
    vector_add_grid_stride,
    vector_add_one_block,
    vector_add_one_thread,
)
from warpladder.primer.wrong import (
    early_read,
    flags_without_barrier,
    racy_increment,
    reverse_without_barrier,
    unfilled_sum,
    vector_add_no_guard,
)
from warpladder.rung import Ladder

__all__ = ["LADDER"]

LADDER = Ladder(
    name="primer",
    title="The ideas on which every other ladder rests",
    rungs=(
        # A loop goes to the GPU, and becomes threads: one, one block of them, many blocks.
        vector_add_cpu.RUNG,
        vector_add_one_thread.RUNG,
        vector_add_one_block.RUNG,
        vector_add_grid.RUNG,
        # What is in the GPU's memory stays there.
        device_memory.RUNG,
        # A warp has one stream of instructions.
        divergence_by_thread.RUNG,
        divergence_by_warp.RUNG,
        # Where the threads of a warp read, from best to worst.
        access_aligned.RUNG,
        access_permuted.RUNG,
        access_misaligned.RUNG,
        access_scattered.RUNG,
        strided_access.RUNG,
        # The same, decided by how the data are stored.
        translation_aos.RUNG,
        translation_soa.RUNG,
        # Two dimensions, and what they do to warps.
        matrix_add_2d.RUNG,
        matrix_add_warp_rows.RUNG,
        # A grid as large as the GPU.
        vector_add_grid_stride.RUNG,
        # What a thread has for itself.
        local_array.RUNG,
        registers.RUNG,
        # What a block shares, and counting together.
        shared_reverse.RUNG,
        shared_flags.RUNG,
        atomic_count.RUNG,
        # Shared memory has banks.
        bank_stride_two.RUNG,
        bank_stride_32.RUNG,
        bank_padding.RUNG,
        two_arrays_in_dynamic_shared.RUNG,
        # What all read.
        constant_per_thread.RUNG,
        constant_broadcast.RUNG,
        # What a warp waits for, and two ways to hide it.
        few_warps.RUNG,
        independent_loads.RUNG,
        occupancy_grid.RUNG,
        # Host and device at the same time, and what goes wrong meanwhile.
        asynchronous_launch.RUNG,
        error_word.RUNG,
        # Copies beside kernels.
        pipeline_pageable.RUNG,
        pipeline_serial.RUNG,
        pipeline_default_stream.RUNG,
        pipeline_two_way.RUNG,
        pipeline_three_way.RUNG,
        # Kernels beside kernels.
        kernels_in_turn.RUNG,
        kernels_side_by_side.RUNG,
    ),
    wrong=(
        vector_add_no_guard.WRONG,
        unfilled_sum.WRONG,
        reverse_without_barrier.WRONG,
        racy_increment.WRONG,
        flags_without_barrier.WRONG,
        early_read.WRONG,
    ),
)
