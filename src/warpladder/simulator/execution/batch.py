"""Running a program for a batch of blocks at once, every thread with its own program counter.

Threads at the same block of operations run together, as one vector operation each. Of all blocks
that some thread could go on with, the first in program order is run: threads that parted at a
branch wait for each other where the paths meet, as they do on a GPU. As long as all threads of the
batch go the same way there is one program counter and nothing is gathered or scattered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.execution.barriers import arrive, release
from warpladder.simulator.execution.endless import EndlessWatch
from warpladder.simulator.execution.frame import Frame
from warpladder.simulator.execution.launch import Launch
from warpladder.simulator.execution.spinning import SpinWatch
from warpladder.simulator.execution.state import AT_BLOCK, EXITED, SPINNING, BatchState
from warpladder.simulator.machine.program import Block, Branch, Exit, Jump, Sync
from warpladder.simulator.machine.values import merge, take

__all__ = ["Batch"]

#: Steps for which threads that wait by reading memory are left alone while others go on. To wake
#: them at each change of memory took four fifths of the time where one block works for many.
_NAP = 1024


class Batch(BatchState):
    """Runs the threads of a batch, step by step."""

    def __init__(self, launch: Launch, first_block: int, blocks: int) -> None:
        super().__init__(launch, first_block, blocks)
        #: What a step of some of the threads works with. It may have thousands of places, of which
        #: a step touches few; those are set back after it. A fresh list for each step took a fifth
        #: of the time of `register-tiles`.
        self._variables = list(self.program.template)
        self.spin, self.endless = SpinWatch(self), EndlessWatch()
        #: Steps since those who spin were last woken, and whether memory has changed since.
        self._rested, self._has_news = 0, False

    # ---- running -----------------------------------------------------------------------------

    def run(self) -> str:
        """Run until ``"done"``, ``"grid"`` (waiting at a grid barrier) or ``"stuck"``."""
        blocks = self.program.blocks
        self._wake()
        self.endless.restart()
        while True:
            self._rested += 1
            self._has_news |= self.spin.changed(self)
            if self._has_news and self._rested >= _NAP:
                self._wake()
            if self.converged is not None:
                if self.converged >= AT_BLOCK:
                    return "done" if self.converged >= EXITED else "grid"
                if self._run_together():
                    self._nobody_else()
                    return "stuck"
                continue
            chosen = self._choose()
            if chosen is None:
                event = release(self)
                if event == "stuck" and self._has_news:
                    self._wake()
                elif event:
                    return event
                continue
            low, where = chosen
            if where is None:
                self.converge(low)
                continue
            block = blocks[low]
            self._step(block, where)
            if self.spin.give_up(self, where, block) and self._nobody_else():
                return "stuck"
            self._check_end(where, block)

    def _run_together(self) -> bool:
        """Run all threads until they part or wait; return whether they would repeat themselves.

        They work on the variables themselves: of what only some threads see there is nothing.
        """
        blocks, template = self.program.blocks, self.program.template
        environment, spin, monitor = self.environment, self.spin, self.launch.monitor
        counting = monitor is not None and monitor.counting
        frame = Frame(self, environment, None, self.count)
        while (order := self.converged) is not None and order < AT_BLOCK:
            spin.changed(self)
            block = blocks[order]
            for operation in block.operations:
                operation(frame)
            if counting:
                monitor.block_done(frame, block)  # type: ignore[union-attr]
            if isinstance(block.terminator, Jump):
                self.converged = block.terminator.target.order
            else:
                self._leave(block, frame)
            for slot in block.passing:
                environment[slot] = template[slot]
            if spin.give_up(self, None, block):
                return True
            self._check_end(None, block)
        return False

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
        if len(where) + self.gone == self.count:
            self.compact(where)
            self.spin.restart(self)
            self.endless.restart()
            return low, None
        return low, where

    def _step(self, block: Block, where: NDArray[np.intp]) -> None:
        """Run a block of operations for some of the threads."""
        variables, environment, owned = self._variables, self.environment, self.owned
        for slot in block.live_in:
            variables[slot] = take(environment[slot], where)
        frame = Frame(self, variables, where, len(where))
        for operation in block.operations:
            operation(frame)
        monitor = self.launch.monitor
        if monitor is not None and monitor.counting:
            monitor.block_done(frame, block)
        for slot in block.live_out:
            merged = merge(environment[slot], variables[slot], where, self.count, slot in owned)
            environment[slot] = merged
            if isinstance(merged, np.ndarray):
                owned.add(slot)
            else:
                owned.discard(slot)
        self._leave(block, frame)
        template = self.program.template
        for slot in block.touched:
            variables[slot] = template[slot]

    def _leave(self, block: Block, frame: Frame) -> None:
        where, ending = frame.where, block.terminator
        if isinstance(ending, Jump):
            self.go(where, ending.target.order)
        elif isinstance(ending, Branch):
            decided = frame.variables[ending.condition]
            if self.launch.monitor is not None and not ending.guard:
                self.launch.monitor.branch(frame, decided, ending.site)
            if isinstance(decided, np.ndarray):
                yes = int(np.count_nonzero(decided))
                if 0 < yes < frame.count:
                    self._part(ending, decided, where)
                    return
                decided = yes
            self.go(where, ending.taken.order if decided else ending.other.order)
        elif isinstance(ending, Sync):
            arrive(self, ending, frame)
        elif isinstance(ending, Exit):
            self._exit(ending, frame)

    def _part(self, ending: Branch, decided: NDArray[Any], where: NDArray[np.intp] | None) -> None:
        """Let some threads go one way and some the other."""
        counters = np.where(decided, np.int32(ending.taken.order), np.int32(ending.other.order))
        if where is None:
            self.diverge()
            self.counters = counters
        else:
            self.counters[where] = counters

    def _exit(self, ending: Exit, frame: Frame) -> None:
        if ending.raises is not None:
            self.launch.raised(ending, int(frame.lanes.ident[0]))
        if frame.where is not None:
            # Those who are left may come to a barrier that these will not reach.
            self.exited += np.bincount(frame.lanes.slot, minlength=self.blocks)
            self.gone += frame.count
        self.go(frame.where, EXITED)

    # ---- threads that wait for others by reading memory --------------------------------------

    def _nobody_else(self) -> bool:
        """Let others run in place of the threads that spin; return whether there are none."""
        ran = self.spin.ran
        self.spin.restart(self)
        self.endless.restart()
        if self.converged is not None or ran is None:
            return True
        self.counters[ran & (self.counters < AT_BLOCK)] |= SPINNING
        return False

    def _check_end(self, where: NDArray[np.intp] | None, block: Block) -> None:
        """End the launch where the loop that threads are in never ends."""
        if self.endless.goes_round(self, block):
            at_work = self.lanes.ident if where is None else self.lanes.ident[where]
            self.launch.faults.endless_loop(sorted(self.endless.sites), at_work)

    def _wake(self) -> None:
        self._rested, self._has_news = 0, False
        if self.converged is None:
            spinning = (self.counters & SPINNING) != 0
            if np.count_nonzero(spinning):
                self.counters[spinning] &= ~np.int32(SPINNING)
                if self.turns:
                    self.new_round()
