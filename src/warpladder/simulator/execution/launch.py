"""One launch of a kernel: its arguments in memory, its blocks in batches, its schedule."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from warpladder.device.occupancy import occupancy
from warpladder.device.properties import DeviceProperties
from warpladder.simulator.checks.faults import Faults
from warpladder.simulator.execution.batch import Batch, Frame
from warpladder.simulator.execution.spinning import SpinWatch
from warpladder.simulator.machine.lanes import Geometry
from warpladder.simulator.machine.memory import Buffer
from warpladder.simulator.machine.options import Checks, Schedule
from warpladder.simulator.machine.program import Exit, Program

__all__ = ["Launch"]

#: Threads that run as one batch: large enough that NumPy's cost per call does not show, small
#: enough that a variable of theirs stays in the L2 cache.
BATCH_THREADS = 1 << 15

#: Steps after which threads that find the same values at the same places over and over, while no
#: memory changes, are taken to wait for ever although something in them changes: a counter, say.
IDLE_STEPS = 1 << 17


class Launch:
    """A kernel that is running.

    Attributes
    ----------
    program, geometry, arguments
        What runs, on how many blocks and threads, with which values.
    shared_dynamic
        Dynamic shared memory of a block, in bytes.
    changes
        Counts stores and atomics that changed memory: who spins looks at this.
    """

    def __init__(
        self,
        program: Program,
        geometry: Geometry,
        arguments: list[Any],
        *,
        properties: DeviceProperties,
        shared_dynamic: int,
        schedule: Schedule,
        checks: Checks,
        monitor: Any,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.program = program
        self.geometry = geometry
        self.arguments = arguments
        self.properties = properties
        self.shared_dynamic = shared_dynamic
        self.schedule = schedule
        self.checks = checks
        self.monitor = monitor
        self.changes = 0
        #: Set while a batch suspects some of its threads to spin: is told what reads find.
        self.watch: SpinWatch | None = None
        self.errors: list[tuple[int, Exit]] = []
        self.one_warp_at_a_time = schedule.by_warps
        self._random = np.random.default_rng(schedule.seed)
        self.say = say or (lambda line: print(line, file=sys.stdout))  # noqa: T201 - print's
        static = program.shared.static_bytes
        #: Dynamic shared memory begins behind the static one, on 16 bytes.
        self.dynamic_start = -(-static // 16) * 16
        self.shared_bytes = static + shared_dynamic
        # A whole number of turns through the banks, so that every block's memory begins at bank 0.
        self.shared_bytes_aligned = -(-(self.dynamic_start + shared_dynamic) // 128) * 128

    @property
    def faults(self) -> Faults:
        """What reports faults: made when it is asked for, as a launch that knew it would be a ring.

        Arrays in a ring of objects stay until the garbage collector comes by, which looks at the
        number of objects and not at their bytes.
        """
        return Faults(self)

    def adopt(self, buffer: Buffer, granule: int) -> None:
        """Have accesses to a buffer watched that comes into being with the launch."""
        if self.monitor is not None:
            self.monitor.adopt(buffer, granule, written=False)

    def arrange(self, items: list[Any]) -> list[Any]:
        """Return items in the order in which the schedule takes them."""
        if self.schedule.order == "reverse":
            return items[::-1]
        if self.schedule.order == "random":
            return [items[k] for k in self._random.permutation(len(items))]
        return items

    def raised(self, ending: Exit, frame: Frame) -> None:
        """Note that threads ended with an exception."""
        # In debug mode the first is raised on the host; else the threads just end.
        if self.program.debug:
            self.errors.append((int(frame.lanes.ident[0]), ending))

    # ---- running -----------------------------------------------------------------------------

    def run(self) -> None:
        """Run all blocks to their end.

        Raises
        ------
        KernelFaultError
            A check failed.
        Exception
            What the kernel raised, in debug mode.
        """
        with np.errstate(all="ignore"):
            self._run_batches()
        if self.errors:
            ident, ending = min(self.errors, key=lambda error: error[0])
            raise self.faults.user_exception(ident, ending)

    def _run_batches(self) -> None:
        """Start batch after batch; those that wait for others stay, and are tried again."""
        per_batch = 1 if self.one_warp_at_a_time else self._blocks_per_batch()
        total = self.geometry.blocks
        firsts = self.arrange(list(range(0, total, per_batch)))
        waiting: list[Batch] = []
        while firsts or waiting:
            resident = sum(batch.blocks for batch in waiting)
            if firsts and (not waiting or resident + per_batch <= self.resident_blocks()):
                first = firsts.pop(0)
                batch = Batch(self, first, min(per_batch, total - first))
                if batch.run() != "done":
                    waiting.append(batch)
                continue
            before = self.changes
            passed = [batch for batch in waiting if batch.at_grid_barrier or batch.run() != "done"]
            progress = len(passed) < len(waiting) or self.changes != before
            waiting = passed
            if not firsts and waiting and all(batch.at_grid_barrier for batch in waiting):
                self._release_grid(waiting)
            elif not progress:
                self._judge(waiting, resident if firsts else None)

    def _release_grid(self, waiting: list[Batch]) -> None:
        if self.checks.sync:
            self.faults.grid_barrier(waiting, self.geometry.blocks)
        for batch in waiting:
            batch.release_grid()
        if self.monitor is not None:
            self.monitor.grid_barrier()
        self.changes += 1

    def _judge(self, waiting: list[Batch], resident: int | None) -> None:
        """Decide whether a whole round without a change proves that nothing will ever change."""
        spinning = [batch for batch in waiting if not batch.at_grid_barrier]
        if all(batch.spin.proven or batch.spin.idle_steps > IDLE_STEPS for batch in spinning):
            self.faults.livelock(waiting, resident=resident)

    def _blocks_per_batch(self) -> int:
        by_threads = max(1, BATCH_THREADS // self.geometry.threads_per_block)
        by_memory = max(1, (256 << 20) // max(self.shared_bytes_aligned, 1))
        return max(1, min(by_threads, by_memory, self.resident_blocks()))

    def resident_blocks(self) -> int:
        """Return how many blocks the device holds at a time, registers left out of account."""
        fits = occupancy(
            self.properties, self.geometry.threads_per_block, shared_bytes=self.shared_bytes
        )
        return fits.blocks_per_multiprocessor * self.properties.multiprocessors
