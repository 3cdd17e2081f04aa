"""One launch of a kernel: its arguments in memory, its shared memory, its checks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.properties import DeviceProperties
from warpladder.simulator.checks.faults import Faults
from warpladder.simulator.checks.options import Checks
from warpladder.simulator.execution.limits import resident_blocks
from warpladder.simulator.execution.reads import ReadLog
from warpladder.simulator.execution.schedule import Schedule
from warpladder.simulator.machine.lanes import Geometry
from warpladder.simulator.machine.memory import Buffer
from warpladder.simulator.machine.program import Exit, Program

if TYPE_CHECKING:
    from warpladder.simulator.checks.monitor import Monitor

__all__ = ["Launch"]


class Launch:
    """What is known of a kernel that is running, to all of its threads.

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
        monitor: Monitor | None,
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
        self.faults = Faults(program.name, geometry)
        self.changes = 0
        #: Set while a batch suspects some of its threads to spin: is told what reads find.
        self.watch: ReadLog | None = None
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

    def raised(self, ending: Exit, ident: int) -> None:
        """Note that threads ended with an exception, the first of them ``ident``."""
        # In debug mode the first is raised on the host; else the threads just end.
        if self.program.debug:
            self.errors.append((ident, ending))

    def resident_blocks(self) -> int:
        """Return how many blocks the device holds at a time."""
        return resident_blocks(self.properties, self.geometry.threads_per_block, self.shared_bytes)
