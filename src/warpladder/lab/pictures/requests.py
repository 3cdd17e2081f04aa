"""One execution of a line by one warp: which requests it makes, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.lab.pictures.scene import Run, Scene
from warpladder.simulator.checks.recorder import Access, Exchange, LaunchRecord, Ran
from warpladder.simulator.checks.traffic import global_traffic, shared_wavefronts
from warpladder.simulator.machine.program import Site

__all__ = ["Execution", "Request", "busiest", "executions_of"]

_SECTOR, _WAVEFRONT = 32, 128


@dataclass(frozen=True, slots=True)
class Request:
    """What one warp asks of global or shared memory in one instruction.

    Attributes
    ----------
    access
        What was recorded of it.
    lanes
        The lane of each of its threads.
    """

    access: Access
    lanes: NDArray[np.int64]

    @property
    def table(self) -> NDArray[np.int64]:
        """The address for each of 32 lanes, -1 where none is active."""
        row = np.full((1, 32), -1, dtype=np.int64)
        row[0, self.lanes] = self.access.addresses
        return row

    @property
    def sectors(self) -> int:
        """How many 32-byte sectors hold what was asked for."""
        return global_traffic(self.table, self.access.array.itemsize)[0]

    @property
    def used(self) -> int:
        """Distinct bytes asked for."""
        return global_traffic(self.table, self.access.array.itemsize)[2]

    @property
    def wavefronts(self) -> tuple[int, int]:
        """Passes through shared memory, and what they were without bank conflicts."""
        return shared_wavefronts(self.table, self.access.array.itemsize)

    @property
    def cost(self) -> int:
        """Bytes that move: whole sectors, or a word of each bank for every wavefront."""
        if self.access.array.space == "shared":
            return _WAVEFRONT * self.wavefronts[0]
        return _SECTOR * self.sectors


@dataclass(frozen=True, slots=True)
class Execution:
    """A line, executed once by a warp.

    Attributes
    ----------
    site, record
        Where, and in which launch.
    warp
        Its number in the launch.
    requests
        At least one, in order.
    """

    site: Site
    record: LaunchRecord
    warp: int
    requests: tuple[Request, ...]

    @property
    def cost(self) -> int:
        """Bytes that move for it."""
        return sum(request.cost for request in self.requests)

    @property
    def where(self) -> str:
        """The warp in words."""
        block, warp = divmod(self.warp, self.record.geometry.warps_per_block)
        return f"warp {warp} of block {block}"


def executions_of(record: LaunchRecord, warp: int) -> list[Execution]:
    """Return every execution of a line by a warp that went to global or shared memory."""
    first, last = record.warp(warp)
    found: list[Execution] = []
    site: Site | None = None
    pending: list[Request] = []

    def close() -> None:
        if site is not None and pending:
            found.append(Execution(site, record, warp, tuple(pending)))
        pending.clear()

    for event in record.events:
        if isinstance(event, Ran | Exchange):
            # What follows is another execution, of the same line perhaps.
            if np.searchsorted(event.threads, first) < np.searchsorted(event.threads, last):
                close()
            continue
        part = event.of(first, last) if isinstance(event, Access) else None
        if part is None or part.array.space not in ("global", "shared"):
            continue
        if part.site != site:
            close()
            site = part.site
        pending.append(Request(part, (part.threads - first) % 32))
    close()
    return found


def busiest(scene: Scene, run: Run) -> Execution:
    """Return the execution to show: of the line asked for, or of that with the most traffic.

    Of a line's executions it is the one that moves the most bytes, of several the first.

    Raises
    ------
    InputError
        No warp that was recorded reads or writes memory in that line; the message has those where
        one does.
    """
    every = [
        execution
        for record in run.records
        for warp in range(record.warps)
        for execution in executions_of(record, warp)
    ]
    traffic: dict[Site, int] = {}
    for execution in every:
        traffic[execution.site] = traffic.get(execution.site, 0) + execution.cost
    if not traffic:
        raise InputError(f"{scene.path} reads and writes no memory at n = {scene.n}")
    if scene.line is None:
        chosen = max(traffic, key=lambda site: traffic[site])
    else:
        own = [site for site in traffic if site.line == scene.line]
        own.sort(key=lambda site: str(Path(site.filename).resolve()) not in scene.files)
        if not own:
            lines = ", ".join(str(line) for line in sorted({site.line for site in traffic}))
            raise InputError(
                f"line={scene.line}: nothing is read or written there at n = {scene.n}; lines of "
                f"{scene.path} where something is: {lines}"
            )
        chosen = own[0]
    return max(
        (execution for execution in every if execution.site == chosen),
        key=lambda execution: execution.cost,
    )
