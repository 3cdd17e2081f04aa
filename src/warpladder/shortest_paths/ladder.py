"""Shortest paths between all pairs, from three nested loops to the limit of the hardware.

Floyd-Warshall does ``n**3`` relaxations ``c = min(c, a + b)``, in n steps that must not overlap.

First the steps, with a launch for each: who does a cell, and in which order a warp reads. A thread
for every cell; as many threads as the GPU holds, each with a run of cells, and the same cells dealt
out so that a warp reads neighbours; blocks that share an entry of their row, on rows that begin
where a line of memory does, and on columns, to see what that costs.

Then the barrier between steps. The end of a launch is one; flags in memory are another, within one
launch; the grid's own is the third. Neither of the latter wins by itself, for each step still reads
the whole matrix. A thread that stays in its row keeps an entry in a register; and next hops are
carried along, which make paths of distances.

Then the traffic: many steps on a tile that is on the chip. Tiles in shared memory divide what is
read by their width; tiles in registers divide the loads from shared memory. Then nearly every
instruction is a relaxation, and the type of the numbers decides: floats, doubles, two int16 in a
word. Rounds overlap, and take several tiles of the diagonal at a time; of a symmetric matrix half
is enough; all rounds fit into one launch, and hops with them; and then a matrix that fits into the
registers may as well stay there. At the end come graphs so small that one block does it all, and
many of these.
"""

from __future__ import annotations

from warpladder.rung import Ladder
from warpladder.shortest_paths.rungs import (
    batch_of_blocks,
    blocked_shared,
    column_blocks,
    consecutive_cells,
    deep_rounds,
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
    resident_tiles,
    row_blocks,
    sequential_cpu,
    small_n_one_block,
    strided_cells,
    tagged_distances,
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
        deep_rounds.RUNG,
        register_tiles_float32.RUNG,
        register_tiles_float64.RUNG,
        register_tiles_int16.RUNG,
        half_tiles.RUNG,
        # Many rounds in one launch, and the paths.
        one_launch.RUNG,
        one_launch_next_hops.RUNG,
        tagged_distances.RUNG,
        resident_tiles.RUNG,
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
