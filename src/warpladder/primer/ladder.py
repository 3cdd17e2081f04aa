"""The primer, from top to bottom: the ideas on which every other ladder rests.

One small kernel for each idea, in the order in which they are needed: threads, blocks and grids;
warps that must agree; where the threads of a warp read; which memory holds what; how threads count
together; and how copies hide behind kernels.
"""

from __future__ import annotations

from warpladder.primer.rungs import (
    access_aligned,
    access_misaligned,
    access_permuted,
    access_scattered,
    atomic_count,
    constant_broadcast,
    constant_per_thread,
    divergence_by_thread,
    divergence_by_warp,
    local_array,
    matrix_add_2d,
    matrix_add_warp_rows,
    pipeline_serial,
    pipeline_three_way,
    pipeline_two_way,
    registers,
    shared_flags,
    strided_access,
    translation_aos,
    translation_soa,
    two_arrays_in_dynamic_shared,
    vector_add_cpu,
    vector_add_grid,
    vector_add_grid_stride,
    vector_add_one_block,
)
from warpladder.primer.wrong import flags_without_barrier, racy_increment, vector_add_no_guard
from warpladder.rung import Ladder

__all__ = ["LADDER"]

LADDER = Ladder(
    name="primer",
    title="The ideas on which every other ladder rests",
    rungs=(
        # A loop becomes threads: one block, many blocks, a grid as large as the GPU.
        vector_add_cpu.RUNG,
        vector_add_one_block.RUNG,
        vector_add_grid.RUNG,
        vector_add_grid_stride.RUNG,
        # Two dimensions, and what they do to warps.
        matrix_add_2d.RUNG,
        matrix_add_warp_rows.RUNG,
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
        # What a thread has for itself, what a block shares, what all read.
        local_array.RUNG,
        registers.RUNG,
        two_arrays_in_dynamic_shared.RUNG,
        constant_per_thread.RUNG,
        constant_broadcast.RUNG,
        # Counting together.
        shared_flags.RUNG,
        atomic_count.RUNG,
        # Copies beside kernels.
        pipeline_serial.RUNG,
        pipeline_two_way.RUNG,
        pipeline_three_way.RUNG,
    ),
    wrong=(
        vector_add_no_guard.WRONG,
        racy_increment.WRONG,
        flags_without_barrier.WRONG,
    ),
)
