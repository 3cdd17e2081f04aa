"""Advection, from a launch for each step to many steps in registers.

A cell's new value is made of two neighbours by two operations, and a plain step moves 8 bytes for
them: memory decides, whatever a kernel does within a step.

So first the steps one by one, a launch for each. The plain kernel reads every cell twice. A tile in
shared memory reads it once, and loses: the cache had the second reading already. Four cells for a
thread make that up, with fewer halos, barriers and single loads. Neighbours by shuffles need
neither shared memory nor a barrier, and show what the seams between warps cost. None of them gets
below 8 bytes.

Then many steps between two visits to memory. A tile goes wrong from its ends inwards, one cell a
step, so tiles overlap, and what is computed twice is the price. Now shared memory decides, with
three words for a cell and step; so the cells move into registers, a strip to each lane, and only
the ends of strips are exchanged. There the operations themselves decide. At the top strips and
steps are as long as pay.
"""

from __future__ import annotations

from warpladder.advection.rungs import (
    cell_per_thread,
    cells_per_thread,
    register_strips,
    sequential_cpu,
    steps_per_tile,
    tile_with_halo,
    tuned,
    warp_shuffle,
)
from warpladder.advection.wrong import fragile_last_block, halo_without_barrier, stale_halo
from warpladder.rung import Ladder

__all__ = ["LADDER"]

LADDER = Ladder(
    name="advection",
    title="Many steps of a wave on a line of cells",
    rungs=(
        sequential_cpu.RUNG,
        # A launch for each step: how often a cell is loaded, and where neighbours meet.
        cell_per_thread.RUNG,
        tile_with_halo.RUNG,
        cells_per_thread.RUNG,
        warp_shuffle.RUNG,
        # Many steps between two visits to memory.
        steps_per_tile.RUNG,
        register_strips.RUNG,
        # And as many of them, of as many cells, as pay.
        tuned.RUNG,
    ),
    wrong=(
        fragile_last_block.WRONG,
        halo_without_barrier.WRONG,
        stale_halo.WRONG,
    ),
)
