"""What an operation is given: the threads that carry it out, and their variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.clocks import Clocks
from warpladder.simulator.execution.state import BatchState
from warpladder.simulator.machine.lanes import Lanes
from warpladder.simulator.machine.memory import View
from warpladder.simulator.machine.program import Site

__all__ = ["Frame"]


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
    row
        The place of each thread, where they are 0, 1, 2 and so on: all threads of whole warps.
    """

    __slots__ = ("_lanes", "batch", "count", "launch", "row", "variables", "where")

    def __init__(
        self, batch: BatchState, variables: list[Any], where: NDArray[np.intp] | None, count: int
    ) -> None:
        self.batch = batch
        self.launch = batch.launch
        self.variables = variables
        self.where = where
        self.count = count
        everyone = where is None and count == batch.places
        self.row: Any = batch.lanes.place if everyone else None
        self._lanes: Lanes | None = None

    @property
    def lanes(self) -> Lanes:
        """The indices of the active threads."""
        if self._lanes is None:
            self._lanes = (
                self.batch.lanes if self.where is None else self.batch.lanes.take(self.where)
            )
        return self._lanes

    @property
    def clocks(self) -> Clocks:
        """What barriers order among the blocks of the batch."""
        return self.batch.clocks

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
