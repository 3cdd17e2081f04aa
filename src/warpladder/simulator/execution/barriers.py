"""Barriers: who arrives has to wait for whom, and who is let through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.execution.frame import Frame
from warpladder.simulator.execution.state import (
    AT_BLOCK,
    AT_GRID,
    AT_JOIN,
    AT_WARP,
    EXITED,
    SPINNING,
    BatchState,
)
from warpladder.simulator.machine.lanes import Lanes
from warpladder.simulator.machine.program import BLOCK, GRID, WARP, Sync
from warpladder.simulator.machine.values import merge

__all__ = ["arrive", "release"]

_WAITS = {BLOCK: AT_BLOCK, WARP: AT_WARP, GRID: AT_GRID}


def arrive(batch: BatchState, sync: Sync, frame: Frame) -> None:
    """Take threads to a barrier: they pass, or wait."""
    monitor = batch.launch.monitor
    if monitor is not None and not sync.join:
        monitor.arrive(frame, sync)
    if sync.scope == WARP:
        _arrive_at_warp(batch, sync, frame)
        return
    if sync.scope == BLOCK and frame.where is None:
        _pass_block_barrier(batch, sync, frame)
        return
    waits = sync.target.order + _WAITS[sync.scope]
    if sync.predicate is not None:
        batch.predicates[frame.where] = frame.variables[sync.predicate]
    batch.go(frame.where, waits)


def _pass_block_barrier(batch: BatchState, sync: Sync, frame: Frame) -> None:
    """Everyone who is left is here: nobody has to wait."""
    if batch.launch.checks.sync and batch.exited.any():
        batch.launch.faults.barrier_after_exit(frame.lanes, sync.site, batch.exited)
    batch.clocks.pass_barrier()
    if sync.result is not None and sync.reduce is not None:
        values = frame.spread(frame.variables[sync.predicate])  # type: ignore[index]
        slots = frame.spread(frame.lanes.slot)
        batch.environment[sync.result] = sync.reduce(_per_block(values, slots, batch.blocks))[slots]
    batch.converged = sync.target.order


def _arrive_at_warp(batch: BatchState, sync: Sync, frame: Frame) -> None:
    mask = frame.spread(frame.variables[sync.mask]).astype(np.int64) & 0xFFFFFFFF  # type: ignore[index]
    lanes = frame.lanes
    if batch.launch.checks.sync:
        batch.launch.faults.own_lane_in_mask(sync.site, lanes, mask)
    if frame.where is None:
        _pass_warp_barrier(batch, sync, lanes, mask)
        batch.converged = sync.target.order
        return
    absent = batch.lanes.ballot(batch.counters != EXITED) & ~lanes.ballot()
    late = (mask & absent[lanes.warp]) != 0
    if not late.any():
        _pass_warp_barrier(batch, sync, lanes, mask)
        batch.counters[frame.where] = sync.target.order
        return
    batch.counters[frame.where] = sync.target.order + np.where(
        late, AT_JOIN if sync.join else AT_WARP, 0
    )
    if not late.all():
        here = np.flatnonzero(~late)
        _pass_warp_barrier(batch, sync, lanes.take(here), mask[here])
    batch.masks[frame.where] = mask


def _pass_warp_barrier(
    batch: BatchState, sync: Sync, lanes: Lanes, mask: NDArray[np.int64]
) -> None:
    """Everyone whom these threads wait for is here."""
    if batch.launch.checks.sync:
        batch.launch.faults.different_masks(lanes, mask, lambda _: sync.site)
    if not sync.join:
        _synchronise_warps(batch, lanes, mask)


def _synchronise_warps(batch: BatchState, lanes: Lanes, mask: NDArray[np.int64]) -> None:
    if lanes.count and (batch.launch.checks.race or batch.launch.checks.same_value):
        batch.clocks.meet(lanes, mask, batch.alive_lanes())
        monitor = batch.launch.monitor
        if monitor is not None and monitor.races is not None:
            monitor.races.releases.meet(lanes, mask)


def release(batch: BatchState) -> str | None:
    """Nobody can go on: let through those whose barrier is complete, or say what is awaited."""
    if _release_warps(batch) or _release_blocks(batch):
        if batch.turns:
            batch.new_round()
        return None
    waiting = batch.counters & ~np.int32(AT_BLOCK - 1)
    if (batch.counters == EXITED).all():
        return "done"
    if ((waiting == AT_GRID) | (waiting == EXITED)).all():
        return "grid"
    if (waiting & SPINNING).any():
        return "stuck"
    return batch.launch.faults.deadlock(batch.sites(), batch.threads_left())


def _release_warps(batch: BatchState) -> bool:
    waiting = (batch.counters & (AT_WARP | AT_JOIN)) != 0
    if not waiting.any():
        return False
    here = batch.lanes.ballot(waiting)
    alive = batch.lanes.ballot(batch.counters != EXITED)
    warps = batch.lanes.warp
    missing = batch.masks & alive[warps] & ~here[warps]
    free = waiting & (missing == 0)
    # Who waits with one that is held is so, too; other lanes of the warp need not wait for them.
    while True:
        held = batch.lanes.ballot(waiting & ~free)
        kept = free & ((batch.masks & held[warps]) != 0)
        if not kept.any():
            break
        free &= ~kept
    if not free.any():
        return False
    _check_released(batch, free)
    synchronised = np.flatnonzero(free & ((batch.counters & AT_WARP) != 0))
    _synchronise_warps(batch, batch.lanes.take(synchronised), batch.masks[synchronised])
    batch.counters[free] &= ~np.int32(AT_WARP | AT_JOIN)
    return True


def _check_released(batch: BatchState, free: NDArray[np.bool_]) -> None:
    if not batch.launch.checks.sync:
        return
    where = np.flatnonzero(free)
    orders = batch.counters[where] & (AT_BLOCK - 1)
    batch.launch.faults.different_masks(
        batch.lanes.take(where),
        batch.masks[where],
        lambda k: batch.barrier_site(int(orders[k])),
    )


def _release_blocks(batch: BatchState) -> bool:
    waiting = (batch.counters & AT_BLOCK) != 0
    if not waiting.any():
        return False
    slot = batch.lanes.slot
    exited = batch.counters == EXITED
    held = np.zeros(batch.blocks, dtype=bool)
    held[slot[~waiting & ~exited]] = True
    free = waiting & ~held[slot]
    if not free.any():
        return False
    if batch.launch.checks.sync:
        batch.launch.faults.divergent_barrier(
            batch.lanes, free, batch.counters & (AT_BLOCK - 1), batch.barrier_before, batch.exited
        )
    batch.clocks.pass_barrier(np.unique(slot[free]))
    batch.counters[free] &= ~np.int32(AT_BLOCK)
    _reduce_predicates(batch, free)
    return True


def _reduce_predicates(batch: BatchState, free: NDArray[np.bool_]) -> None:
    for sync in batch.barriers_before(np.unique(batch.counters[free])):
        if sync.result is None or sync.reduce is None:
            continue
        where = np.flatnonzero(free & (batch.counters == sync.target.order))
        slots = batch.lanes.slot[np.flatnonzero(free)]
        table = sync.reduce(_per_block(batch.predicates[np.flatnonzero(free)], slots, batch.blocks))
        old = batch.environment[sync.result]
        batch.environment[sync.result] = merge(
            old, table[batch.lanes.slot[where]], where, batch.count, False
        )


def _per_block(
    values: NDArray[Any], slots: NDArray[Any], blocks: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return, per block, how many predicates are non-zero, and how many there are."""
    hits = np.bincount(slots, weights=(values != 0), minlength=blocks).astype(np.int64)
    return hits, np.bincount(slots, minlength=blocks)
