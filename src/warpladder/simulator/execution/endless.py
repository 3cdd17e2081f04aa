"""Loops that go round without end although they change memory: noticed by what steers them.

How long threads stay in a loop is decided by a few variables (`machine.loops`): where these are
what they were, and all threads are where they were, the next turn ends no sooner than the last one.
So ``while i < n`` without a step of ``i`` never ends, whatever it adds up or stores. Only what it
does on its way may end it, as an index that walks out of an array, and so it is left alone for some
thousand turns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.execution.state import BatchState
from warpladder.simulator.machine.program import Block, Site
from warpladder.simulator.machine.values import kept, same

__all__ = ["EndlessWatch"]

#: Steps without a turn of others before the state is first kept for comparison.
_FIRST_LOOK = 2048
#: The share of steps behind which states are compared, since that takes as long as a step of one
#: warp does, and how many there are at least.
_SHARE, _LEAST_WATCHED = 8, 256
#: Turns of a loop with the same state that are enough, and steps, where a turn has many.
_TURNS, _FEWEST_TURNS, _STEPS = 4096, 16, 1 << 18


class _Seen(NamedTuple):
    """Where all threads were behind a block of operations, and what steers its loop."""

    block: Block
    converged: int | None
    counters: NDArray[np.int32]
    values: tuple[Any, ...]


class EndlessWatch:
    """What steers the threads of a batch, beside what did some steps ago.

    Attributes
    ----------
    sites
        The source lines of the loop that goes round.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin anew: others have had their turn."""
        self._steps, self._next_look, self._until, self._turns = 0, _FIRST_LOOK, 0, 0
        self._last, self._telling = 0, 0
        self._seen: _Seen | None = None
        self.sites: set[Site] = set()

    def goes_round(self, batch: BatchState, block: Block) -> bool:
        """Take note of a step; return whether a loop has gone round often enough."""
        self._steps = steps = self._steps + 1
        if self._seen is None:
            if steps >= self._next_look and block.steering is not None:
                values = tuple(kept(batch.environment[slot]) for slot in block.steering)
                self._seen = _Seen(block, batch.converged, batch.counters.copy(), values)
                self._last, self._telling, self._turns = steps, 0, 0
                self._until = steps + max(steps // _SHARE, _LEAST_WATCHED)
            return False
        if self._turns == 1:
            self.sites.update(block.sites)
        if block is self._seen.block and self._is_there_again(batch, block, self._seen):
            self._turns += 1
            # The next turn takes as many steps, unless it is another way round.
            self._until = max(self._until, steps + 2 * (steps - self._last) + _LEAST_WATCHED)
            self._last = steps
            return self._turns >= _TURNS or (
                self._turns >= _FEWEST_TURNS and steps >= self._next_look + _STEPS
            )
        if steps > self._until:
            self._seen, self._next_look = None, 2 * steps
            self.sites.clear()
        return False

    def _is_there_again(self, batch: BatchState, block: Block, seen: _Seen) -> bool:
        if seen.converged != batch.converged:
            return False
        environment, slots = batch.environment, block.steering or ()
        # Mostly the variable that last told two steps apart does so again.
        for place in (self._telling, *range(len(slots))) if slots else ():
            if not same(seen.values[place], environment[slots[place]]):
                self._telling = place
                return False
        return np.array_equal(seen.counters, batch.counters)
