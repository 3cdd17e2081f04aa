"""Running a program for a batch of blocks at once, every thread with its own program counter.

Threads at the same block of operations run together, as one vector operation each. Of all blocks
that some thread could go on with, the first in program order is run: threads that parted at a
branch wait for each other where the paths meet, as they do on a GPU. As long as all threads of the
batch go the same way there is one program counter and nothing is gathered or scattered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.execution.barriers import arrive, release
from warpladder.simulator.execution.frame import Frame
from warpladder.simulator.execution.launch import Launch
from warpladder.simulator.execution.spinning import SpinWatch
from warpladder.simulator.execution.state import AT_BLOCK, EXITED, SPINNING, BatchState
from warpladder.simulator.machine.program import Block, Branch, Exit, Jump, Sync
from warpladder.simulator.machine.values import merge, take

__all__ = ["Batch"]


class Batch(BatchState):
    """Runs the threads of a batch, step by step."""

    def __init__(self, launch: Launch, first_block: int, blocks: int) -> None:
        super().__init__(launch, first_block, blocks)
        #: What one step works with. It may have thousands of places, of which a step touches few;
        #: those are set back after it. A fresh list for each step took a fifth of the time of
        #: `register-tiles`.
        self._variables = list(self.program.template)
        self.spin = SpinWatch(self)

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
            while self.turn < len(self.turns):
                first, last = self.turns[self.turn]
                part = self.counters[first:last]
                low = int(part.min())
                if low < AT_BLOCK:
                    return low, first + (part == low).nonzero()[0]
                self.turn += 1
            return None
        low = int(self.counters.min())
        if low >= AT_BLOCK:
            return None
        where = (self.counters == low).nonzero()[0]
        if len(where) == self.count:
            return low, None
        if len(where) + np.count_nonzero(self.counters == EXITED) == self.count:
            self.compact(where)
            self.spin.restart(self)
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
                    self.diverge()
                    self.counters = counters
                else:
                    self.counters[where] = counters
            case Exit() as ending:
                self._exit(ending, frame)
            case Sync() as sync:
                arrive(self, sync, frame)

    def _exit(self, ending: Exit, frame: Frame) -> None:
        if ending.raises is not None:
            self.launch.raised(ending, int(frame.lanes.ident[0]))
        if frame.where is not None:
            # Those who are left may come to a barrier that these will not reach.
            self.exited += np.bincount(frame.lanes.slot, minlength=self.blocks)
        self.go(frame.where, EXITED)

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
