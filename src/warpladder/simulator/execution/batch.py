"""Running a program for a batch of blocks at once, every thread with its own program counter.

Threads at the same block of operations run together, as one vector operation each. Of all blocks
that some thread could go on with, the first in program order is run: threads that parted at a
branch wait for each other where the paths meet, as they do on a GPU. As long as all threads of the
batch go the same way there is one program counter and nothing is gathered or scattered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.clocks import WarpClocks
from warpladder.simulator.execution.barriers import (
    AT_BLOCK,
    AT_GRID,
    EXITED,
    SPINNING,
    arrive,
    release,
)
from warpladder.simulator.execution.spinning import SpinWatch
from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry, Lanes
from warpladder.simulator.machine.memory import Buffer, View, poison
from warpladder.simulator.machine.program import (
    Block,
    Branch,
    Exit,
    Jump,
    Program,
    Site,
    Sync,
)
from warpladder.simulator.machine.values import merge, take

if TYPE_CHECKING:
    from warpladder.simulator.execution.launch import Launch

__all__ = ["Batch", "Frame"]


class Frame:
    """What the operations of one block of the program see: the active threads and their variables.

    Attributes
    ----------
    variables
        Values by variable; varying ones have ``count`` elements.
    count
        Number of active threads.
    where
        Their positions in the batch, None when all of it is active.
    batch, launch
        What they belong to.
    """

    __slots__ = ("_lanes", "batch", "count", "launch", "variables", "where")

    def __init__(
        self, batch: Batch, variables: list[Any], where: NDArray[np.intp] | None, count: int
    ) -> None:
        self.batch = batch
        self.launch = batch.launch
        self.variables = variables
        self.where = where
        self.count = count
        self._lanes: Lanes | None = None

    @property
    def lanes(self) -> Lanes:
        """The indices of the active threads."""
        if self._lanes is None:
            self._lanes = (
                self.batch.lanes if self.where is None else self.batch.lanes.take(self.where)
            )
        return self._lanes

    def reader(self, site: Site, view: View) -> tuple[Site, str, int, int]:
        """Return what tells a read from others: where it stands, of what, and by whom."""
        first = self.batch.lanes.ident[0 if self.where is None else self.where[0]]
        return site, view.name, int(first), self.count

    def narrowed(self, where: NDArray[np.intp]) -> Frame:
        """Return a frame of the threads at positions ``where`` of this one, without variables."""
        positions = where if self.where is None else self.where[where]
        return Frame(self.batch, [], positions, len(where))

    def spread(self, value: Any) -> NDArray[Any]:
        """Return a scalar value with one element per active thread."""
        return value if isinstance(value, np.ndarray) else np.full(self.count, value)


class Batch:
    """Consecutive blocks of a launch, and how far their threads have come."""

    def __init__(self, launch: Launch, first_block: int, blocks: int) -> None:
        self.launch = launch
        self.program: Program = launch.program
        self.geometry: Geometry = launch.geometry
        self.blocks = blocks
        self.first_block = first_block
        self.lanes = Lanes(launch.geometry, first_block, blocks)
        self.count = self.lanes.count
        self.environment = list(self.program.template)
        for slot, value in zip(self.program.arguments, launch.arguments, strict=True):
            self.environment[slot] = value
        self.owned = [False] * len(self.environment)
        #: What one step works with. It may have thousands of places, of which a step touches few;
        #: those are set back after it. A fresh list for each step took a fifth of the time of
        #: `register-tiles`.
        self._variables = list(self.program.template)
        #: One program counter for all threads, or None where `counters` has one for each.
        self.converged: int | None = 0
        self.counters = np.zeros(0, dtype=np.int32)
        #: Threads of each block that have exited while others run.
        self.exited = np.zeros(blocks, dtype=np.int64)
        #: Masks of threads that wait at a warp barrier, predicates of those at a block barrier.
        self.masks = np.zeros(0, dtype=np.int64)
        self.predicates = np.zeros(0, dtype=np.int64)
        self.block_epoch = np.zeros(blocks, dtype=np.int64)
        self.warp_clocks = WarpClocks(self.lanes.warps)
        #: Places for lanes in rows of whole warps.
        self.places = self.lanes.warps * WARP_SIZE
        #: Shared memory of the blocks, and local arrays, from their first use on.
        self.storage: dict[Any, Buffer] = {}
        self.spin = SpinWatch(self)
        #: Under the `warps` schedule: the warps in the order of their turns, and whose turn it is.
        self.turns: list[tuple[int, int]] = []
        self._turn = 0
        if launch.one_warp_at_a_time:
            self._diverge(0)
            self.new_round()

    # ---- running -----------------------------------------------------------------------------

    def run(self) -> str:
        """Run until ``"done"``, ``"grid"`` (waiting at a grid barrier) or ``"stuck"``."""
        blocks = self.program.blocks
        where: NDArray[np.intp] | None
        self._wake()
        while True:
            if self.spin.changed(self):
                self._wake()
            if self.converged is not None:
                if self.converged >= AT_BLOCK:
                    if self.converged >= EXITED:
                        return "done"
                    return "grid"
                where, block = None, blocks[self.converged]
                self._step(block, None)
            else:
                chosen = self._choose()
                if chosen is None:
                    event = release(self)
                    if event:
                        return event
                    continue
                low, where = chosen
                if where is None:
                    self.converged = low
                    continue
                block = blocks[low]
                self._step(block, where)
            if self.spin.give_up(self, where, block) and self._nobody_else():
                return "stuck"

    def _choose(self) -> tuple[int, NDArray[np.intp] | None] | None:
        """Return the block to run next and who runs it (None: everyone), or None if nobody can."""
        if self.turns:
            while self._turn < len(self.turns):
                first, last = self.turns[self._turn]
                part = self.counters[first:last]
                low = int(part.min())
                if low < AT_BLOCK:
                    return low, first + np.flatnonzero(part == low)
                self._turn += 1
            return None
        low = int(self.counters.min())
        if low >= AT_BLOCK:
            return None
        where = np.flatnonzero(self.counters == low)
        if len(where) == self.count:
            return low, None
        if len(where) + np.count_nonzero(self.counters == EXITED) == self.count:
            self._compact(where)
            return low, None
        return low, where

    def _step(self, block: Block, where: NDArray[np.intp] | None) -> None:
        variables = self._variables
        environment, owned = self.environment, self.owned
        if where is None:
            for slot in block.live_in:
                variables[slot] = environment[slot]
                owned[slot] = False
            frame = Frame(self, variables, None, self.count)
        else:
            for slot in block.live_in:
                variables[slot] = take(environment[slot], where)
            frame = Frame(self, variables, where, len(where))
        for operation in block.operations:
            operation(frame)
        monitor = self.launch.monitor
        if monitor is not None and monitor.counting:
            monitor.block_done(frame, block)
        if where is None:
            for slot in block.live_out:
                environment[slot] = variables[slot]
                owned[slot] = False
        else:
            for slot in block.live_out:
                environment[slot] = merge(
                    environment[slot], variables[slot], where, self.count, owned[slot]
                )
                owned[slot] = isinstance(environment[slot], np.ndarray)
        self._leave(block, frame)
        template = self.program.template
        for slot in block.touched:
            variables[slot] = template[slot]

    def _leave(self, block: Block, frame: Frame) -> None:
        where = frame.where
        match block.terminator:
            case Jump(target):
                self.go(where, target.order)
            case Branch(condition, taken, other, site, guard):
                decided = frame.variables[condition]
                if self.launch.monitor is not None and not guard:
                    self.launch.monitor.branch(frame, decided, site)
                if not isinstance(decided, np.ndarray):
                    self.go(where, taken.order if decided else other.order)
                    return
                yes = int(np.count_nonzero(decided))
                if yes in (0, frame.count):
                    self.go(where, taken.order if yes else other.order)
                    return
                counters = np.where(decided, taken.order, other.order).astype(np.int32)
                if where is None:
                    self._diverge(0)
                    self.counters = counters
                else:
                    self.counters[where] = counters
            case Exit() as ending:
                self._exit(ending, frame)
            case Sync() as sync:
                arrive(self, sync, frame)

    def go(self, where: NDArray[np.intp] | None, counter: int) -> None:
        """Set the program counter of the threads at ``where``, or of all."""
        if where is None:
            self.converged = counter
        else:
            self.counters[where] = counter

    def _diverge(self, counter: int) -> None:
        self.converged = None
        self.counters = np.full(self.count, counter, dtype=np.int32)
        self.masks = np.zeros(self.count, dtype=np.int64)
        self.predicates = np.zeros(self.count, dtype=np.int64)

    def _exit(self, ending: Exit, frame: Frame) -> None:
        if ending.raises is not None:
            self.launch.raised(ending, frame)
        if frame.where is not None:
            # Those who are left may come to a barrier that these will not reach.
            self.exited += np.bincount(frame.lanes.slot, minlength=self.blocks)
        self.go(frame.where, EXITED)

    def _compact(self, where: NDArray[np.intp]) -> None:
        """Forget threads that have exited: those at ``where`` are all that are left."""
        self.lanes = self.lanes.take(where)
        self.count = len(where)
        self.environment = [take(value, where) for value in self.environment]
        self.owned = [False] * len(self.owned)
        self.counters = self.counters[where]
        self.spin.restart(self)

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

    # ---- waiting -----------------------------------------------------------------------------

    def ballot(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, per warp, a mask of the batch's threads that are ``chosen``."""
        bits = np.zeros(self.lanes.warps, dtype=np.int64)
        np.bitwise_or.at(bits, self.lanes.warp[chosen], np.int64(1) << self.lanes.lane[chosen])
        return bits

    def ballot_of(self, lanes: Lanes) -> NDArray[np.int64]:
        """Return, per warp, a mask of ``lanes``."""
        bits = np.zeros(self.lanes.warps, dtype=np.int64)
        np.bitwise_or.at(bits, lanes.warp, np.int64(1) << lanes.lane)
        return bits

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
        """Let the threads through that wait at the grid barrier."""
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
        self._turn = 0

    # ---- threads that wait for others by reading memory --------------------------------------

    def _nobody_else(self) -> bool:
        """Let others run in place of the threads that spin; return whether there are none."""
        ran = self.spin.ran
        self.spin.restart(self)
        if self.converged is not None or ran is None:
            return True
        self.counters[ran & (self.counters < AT_BLOCK)] |= SPINNING
        return False

    def _wake(self) -> None:
        if self.converged is None:
            spinning = (self.counters & SPINNING) != 0
            if spinning.any():
                self.counters[spinning] &= ~np.int32(SPINNING)
                if self.turns:
                    self.new_round()

    def barrier_site(self, order: int) -> Site:
        """Return where the barrier stands behind which the program goes on at ``order``."""
        return next(sync.site for sync in self.barriers_before(np.array([order])))

    def alive_lanes(self) -> NDArray[np.int64]:
        """Return, per warp, a mask of the threads that have not exited."""
        if self.converged is not None:
            return self.ballot_of(self.lanes)
        return self.ballot(self.counters != EXITED)

    def waiting_threads(self) -> int:
        """Return how many threads wait at a grid barrier."""
        if self.converged is not None:
            return self.count
        return int(np.count_nonzero(self.counters & AT_GRID))

    def spinning_sites(self) -> list[Any]:
        """Return the source lines at which threads are, for the report of a livelock."""
        if self.converged is not None:
            orders = [self.converged]
        else:
            alive = self.counters[self.counters != EXITED]
            orders = sorted({int(order) & (AT_BLOCK - 1) for order in alive})
        sites = [site for order in orders for site in self.program.blocks[order].sites]
        return sorted(set(sites))
