"""The block scheduler: batch after batch of a launch, and those that wait for others again."""

from __future__ import annotations

import numpy as np

from warpladder.simulator.execution.batch import Batch
from warpladder.simulator.execution.launch import Launch

__all__ = ["run"]

#: Threads that run as one batch: large enough that NumPy's cost per call does not show, small
#: enough that a variable of theirs stays in the L2 cache.
BATCH_THREADS = 1 << 15

#: Shared memory and local arrays that a batch takes, unless a single block takes more.
BATCH_BYTES = 256 << 20

#: Steps after which threads that find the same values at the same places over and over, while no
#: memory changes, are taken to wait for ever although something in them changes: a counter, say.
IDLE_STEPS = 1 << 17


def run(launch: Launch) -> None:
    """Run all blocks of a launch to their end.

    Raises
    ------
    KernelFaultError
        A check failed.
    Exception
        What the kernel raised, in debug mode.
    """
    with np.errstate(all="ignore"):
        _run_batches(launch)
    if launch.errors:
        ident, ending = min(launch.errors, key=lambda error: error[0])
        raise launch.faults.user_exception(ident, ending)


def _run_batches(launch: Launch) -> None:
    """Start batch after batch; those that wait for others stay, and are tried again."""
    per_batch = 1 if launch.one_warp_at_a_time else _blocks_per_batch(launch)
    total, most = launch.geometry.blocks, max(1, launch.resident_blocks())
    #: The first block of each batch, and how many blocks it has.
    left = launch.arrange(
        [(first, min(per_batch, total - first)) for first in range(0, total, per_batch)]
    )
    waiting: list[Batch] = []
    while left or waiting:
        resident = sum(batch.blocks for batch in waiting)
        if left and resident < most:
            first, blocks = left.pop(0)
            if resident + blocks > most:
                # As many as a device would let in beside those that wait.
                fit = most - resident
                left.insert(0, (first + fit, blocks - fit))
                blocks = fit
            batch = Batch(launch, first, blocks)
            if batch.run() != "done":
                waiting.append(batch)
            continue
        before = launch.changes
        passed = [batch for batch in waiting if batch.at_grid_barrier or batch.run() != "done"]
        progress = len(passed) < len(waiting) or launch.changes != before
        waiting = passed
        if not left and waiting and all(batch.at_grid_barrier for batch in waiting):
            _release_grid(launch, waiting)
        elif not progress:
            _judge(launch, waiting, resident if left else None)


def _release_grid(launch: Launch, waiting: list[Batch]) -> None:
    if launch.checks.sync:
        launch.faults.grid_barrier(sum(batch.waiting_threads() for batch in waiting))
    for batch in waiting:
        batch.release_grid()
    if launch.monitor is not None:
        launch.monitor.grid_barrier()
    launch.changes += 1


def _judge(launch: Launch, waiting: list[Batch], resident: int | None) -> None:
    """Decide whether a whole round without a change proves that nothing will ever change."""
    spinning = [batch for batch in waiting if not batch.at_grid_barrier]
    if all(batch.spin.proven or batch.spin.idle_steps > IDLE_STEPS for batch in spinning):
        sites = sorted({site for batch in waiting for site in batch.sites()})
        there = spinning[0].threads_left()
        launch.faults.livelock(sites, there, resident, launch.properties.name)


def _blocks_per_batch(launch: Launch) -> int:
    threads = launch.geometry.threads_per_block
    by_threads = max(1, BATCH_THREADS // threads)
    size = launch.shared_bytes_aligned + threads * launch.program.local_bytes
    by_memory = max(1, BATCH_BYTES // max(size, 1))
    return max(1, min(by_threads, by_memory, launch.resident_blocks()))
