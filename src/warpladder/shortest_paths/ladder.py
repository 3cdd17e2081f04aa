"""Shortest paths between all pairs, from three nested loops to the limit of the hardware.

Floyd-Warshall does ``n**3`` relaxations ``c = min(c, a + b)``, in n steps that must not overlap.
First the steps: who does a cell, and in which order a warp reads. Then the barrier between steps:
the end of a launch, flags, the grid's own. Then the traffic: many steps on what is on the chip.
"""

from __future__ import annotations

from warpladder.rung import Ladder
from warpladder.shortest_paths.rungs import (
    batch_of_blocks,
    blocked_shared,
    column_blocks,
    consecutive_cells,
    flag_barrier,
    grid_sync,
    half_tiles,
    launch_per_k,
    next_hops,
    one_launch,
    one_launch_next_hops,
    one_thread,
    overlapped_panels,
    padded_rows,
    pitched_rows,
    pivot_in_register,
    pivot_in_run,
    register_tiles,
    register_tiles_float32,
    register_tiles_float64,
    register_tiles_int16,
    row_blocks,
    sequential_cpu,
    small_n_one_block,
    strided_cells,
)
from warpladder.shortest_paths.wrong import (
    cleared_flags,
    pivot_without_barrier,
    return_before_barrier,
    steps_without_barrier,
)

__all__ = ["LADDER"]

LADDER = Ladder(
    name="shortest-paths",
    title="Shortest paths between all pairs of vertices",
    rungs=(
        # The loops, moved to the GPU.
        sequential_cpu.RUNG,
        one_thread.RUNG,
        # A launch per step: how many threads, and which cells each takes.
        launch_per_k.RUNG,
        consecutive_cells.RUNG,
        strided_cells.RUNG,
        # Blocks that share an entry; where rows begin in memory.
        row_blocks.RUNG,
        padded_rows.RUNG,
        column_blocks.RUNG,
        pitched_rows.RUNG,
        # One launch: a barrier for the whole grid.
        flag_barrier.RUNG,
        grid_sync.RUNG,
        # What a thread keeps, and what it may carry along.
        pivot_in_run.RUNG,
        pivot_in_register.RUNG,
        next_hops.RUNG,
        # Many steps on one tile.
        blocked_shared.RUNG,
        register_tiles.RUNG,
        overlapped_panels.RUNG,
        register_tiles_float32.RUNG,
        register_tiles_float64.RUNG,
        register_tiles_int16.RUNG,
        half_tiles.RUNG,
        # Many rounds in one launch, and the paths.
        one_launch.RUNG,
        one_launch_next_hops.RUNG,
        # And where there is little to do.
        small_n_one_block.RUNG,
        batch_of_blocks.RUNG,
    ),
    wrong=(
        return_before_barrier.WRONG,
        pivot_without_barrier.WRONG,
        cleared_flags.WRONG,
        steps_without_barrier.WRONG,
    ),
)
