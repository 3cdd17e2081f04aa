"""A batch: consecutive blocks of a launch that run at once, and how far their threads have come."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.clocks import Clocks
from warpladder.simulator.execution.launch import Launch
from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry, Lanes
from warpladder.simulator.machine.memory import Buffer, poison
from warpladder.simulator.machine.program import Program, Site, Sync
from warpladder.simulator.machine.values import take

__all__ = ["AT_BLOCK", "AT_GRID", "AT_JOIN", "AT_WARP", "EXITED", "SPINNING", "BatchState"]

# A program counter is a block's order; added to it, what the thread waits for before going on.
AT_BLOCK, AT_WARP, AT_GRID, SPINNING = 1 << 20, 1 << 21, 1 << 22, 1 << 23
EXITED = 1 << 24
# Wait for the lanes of a warp that a shuffle, vote or match names.
AT_JOIN = 1 << 25


class BatchState:
    """Where the threads of a batch are, and what they have: all that a step changes."""

    def __init__(self, launch: Launch, first_block: int, blocks: int) -> None:
        self.launch = launch
        self.program: Program = launch.program
        self.geometry: Geometry = launch.geometry
        self.blocks = blocks
        self.lanes = Lanes(launch.geometry, first_block, blocks)
        self.count = self.lanes.count
        self.environment = list(self.program.template)
        for slot, value in zip(self.program.arguments, launch.arguments, strict=True):
            self.environment[slot] = value
        #: Variables whose arrays no other variable refers to: they may be changed in place.
        self.owned: set[int] = set()
        #: One program counter for all threads, or None where `counters` has one for each.
        self.converged: int | None = 0
        self.counters = np.zeros(0, dtype=np.int32)
        #: Threads of each block that have exited while others run.
        self.exited = np.zeros(blocks, dtype=np.int64)
        #: How many of the threads that are still counted have exited.
        self.gone = 0
        #: Masks of threads that wait at a warp barrier, predicates of those at a block barrier.
        self.masks = np.zeros(0, dtype=np.int64)
        self.predicates = np.zeros(0, dtype=np.int64)
        self.clocks = Clocks(blocks, self.lanes.warps)
        #: Places for lanes in rows of whole warps.
        self.places = self.lanes.warps * WARP_SIZE
        #: Shared memory of the blocks, and local arrays, from their first use on.
        self.storage: dict[Any, Buffer] = {}
        #: Under the `warps` schedule: the warps in the order of their turns, and whose turn it is.
        self.turns: list[tuple[int, int]] = []
        self.turn = 0
        if launch.one_warp_at_a_time:
            self.diverge()
            self.new_round()

    def go(self, where: NDArray[np.intp] | None, counter: int) -> None:
        """Set the program counter of the threads at ``where``, or of all."""
        if where is None:
            self.converged = counter
        else:
            self.counters[where] = counter

    def diverge(self) -> None:
        """Give each thread a program counter of its own, at the first block of operations."""
        self.converged = None
        self.counters = np.zeros(self.count, dtype=np.int32)
        self.masks = np.zeros(self.count, dtype=np.int64)
        self.predicates = np.zeros(self.count, dtype=np.int64)

    def converge(self, counter: int) -> None:
        """Give all threads one program counter."""
        self.converged = counter
        self.owned.clear()

    def compact(self, where: NDArray[np.intp]) -> None:
        """Forget threads that have exited: those at ``where`` are all that are left."""
        self.lanes = self.lanes.take(where)
        self.count = len(where)
        self.environment = [take(value, where) for value in self.environment]
        self.owned.clear()
        self.counters = self.counters[where]
        self.gone = 0

    def shared_memory(self) -> Buffer:
        """Return the shared memory of all blocks of the batch, one after the other."""
        if "shared" not in self.storage:
            size = self.launch.shared_bytes_aligned
            raw = np.empty(self.blocks * size, dtype=np.uint8)
            poison(raw)
            buffer = Buffer(raw, "shared", "shared memory", instance_bytes=size)
            self.launch.adopt(buffer, math.gcd(*self.program.shared.itemsizes) or 1)
            self.storage["shared"] = buffer
        return self.storage["shared"]

    def barriers_before(self, orders: NDArray[Any]) -> Iterator[Sync]:
        """Yield the barriers behind which the program goes on at one of these orders."""
        wanted = set(orders.tolist())
        for block in self.program.blocks:
            ending = block.terminator
            if isinstance(ending, Sync) and ending.target.order in wanted:
                yield ending

    @property
    def at_grid_barrier(self) -> bool:
        """Whether those of its threads that are left wait at a grid barrier."""
        if self.converged is not None:
            return (self.converged & AT_GRID) != 0
        waits = (self.counters & AT_GRID) != 0
        return bool(waits.any() and (waits | (self.counters == EXITED)).all())

    def release_grid(self) -> None:
        """Let the threads through that wait at the grid barrier: it is one of each block, too."""
        self.clocks.pass_barrier()
        if self.converged is not None:
            self.converged &= ~AT_GRID
            return
        self.counters[(self.counters & AT_GRID) != 0] &= ~np.int32(AT_GRID)
        if self.turns:
            self.new_round()

    def new_round(self) -> None:
        """Give every warp a turn, in the order that the schedule says."""
        warp = self.lanes.warp
        edges = np.flatnonzero(np.diff(warp)) + 1
        spans = list(zip([0, *edges.tolist()], [*edges.tolist(), self.count], strict=True))
        self.turns = self.launch.arrange(spans)
        self.turn = 0

    def barrier_before(self, order: int) -> Sync:
        """Return the barrier behind which the program goes on at ``order``."""
        return next(self.barriers_before(np.array([order])))

    def barrier_site(self, order: int) -> Site:
        """Return where that stands."""
        return self.barrier_before(order).site

    def alive_lanes(self) -> NDArray[np.int64]:
        """Return, per warp, a mask of the threads that have not exited."""
        if self.converged is not None:
            return self.lanes.ballot()
        return self.lanes.ballot(self.counters != EXITED)

    def waiting_threads(self) -> int:
        """Return how many threads wait at a grid barrier."""
        if self.converged is not None:
            return self.count
        return int(np.count_nonzero(self.counters & AT_GRID))

    def threads_left(self) -> NDArray[np.int64]:
        """Return the numbers of the threads that have not exited."""
        idents: NDArray[np.int64] = self.lanes.ident
        return idents if self.converged is not None else idents[self.counters != EXITED]

    def sites(self) -> list[Site]:
        """Return the source lines at which threads are."""
        if self.converged is not None:
            orders = [self.converged]
        else:
            alive = self.counters[self.counters != EXITED]
            orders = sorted({int(order) & (AT_BLOCK - 1) for order in alive})
        sites = [site for order in orders for site in self.program.blocks[order].sites]
        return sorted(set(sites))
