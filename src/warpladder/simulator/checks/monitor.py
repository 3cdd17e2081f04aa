"""Watches a launch: counts what a GPU would do, and hands accesses to the checks."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.clocks import Clocks
from warpladder.simulator.checks.counters import Counters
from warpladder.simulator.checks.faults import Faults
from warpladder.simulator.checks.options import Checks
from warpladder.simulator.checks.races import RaceChecker
from warpladder.simulator.checks.traffic import (
    atomic_passes,
    constant_wavefronts,
    cost,
    global_traffic,
    shared_wavefronts,
)
from warpladder.simulator.machine.lanes import Geometry, Lanes
from warpladder.simulator.machine.memory import PART, Buffer, View
from warpladder.simulator.machine.program import BLOCK, WARP, Block, Program, Site, Sync

__all__ = ["Monitor"]

#: After so many questions whether memory has been written: is all of it, so that none is needed?
_LOOKS = 64

#: By the bytes of an element: its flags when all of them have been written, as one number.
_ALL_WRITTEN = {size: np.ones(size, np.uint8).view(f"u{size}")[0] for size in (1, 2, 4, 8)}


@cache
def _numbers_in(dtype: np.dtype[Any]) -> NDArray[np.intp]:
    """Return which bytes of an element are of numbers: nobody writes what only fills a record."""
    if dtype.names is None:
        return np.arange(dtype.itemsize)
    found = []
    for field in (dtype.fields or {}).values():
        element, extents = field[0].subdtype or (field[0], ())
        starts = field[1] + element.itemsize * np.arange(math.prod(extents))
        found.append((starts[:, None] + _numbers_in(element)).ravel())
    return np.concatenate(found)


class ActiveThreads(Protocol):
    """The threads that carry out an instruction, as `execution` has them."""

    @property
    def count(self) -> int:
        """How many they are."""

    @property
    def lanes(self) -> Lanes:
        """Which they are."""

    @property
    def clocks(self) -> Clocks:
        """What barriers order among the blocks that they are of."""


class Monitor:
    """The counters and checks of one launch."""

    def __init__(
        self, program: Program, geometry: Geometry, checks: Checks, counting: bool
    ) -> None:
        self.program = program
        self.faults = Faults(program.name, geometry)
        self.checks = checks
        self.counting = counting
        self.races = (
            RaceChecker(geometry, report_same_value=checks.same_value)
            if checks.race or checks.same_value
            else None
        )
        #: How often it was asked whether memory has been written.
        self._looks = 0
        self._lines: dict[Site, Counters] = {}
        #: Per block of the program: how many warps and threads have run it.
        self._runs: dict[int, list[int]] = {}

    # ---- what the machine tells --------------------------------------------------------------

    def adopt(self, buffer: Buffer, granule: int, *, written: bool = True) -> None:
        """Watch a buffer, whose accesses are told apart by ``granule`` bytes."""
        buffer.granule = max(granule, 1)
        buffer.shadow = None
        if not written and self.checks.init:
            buffer.written = np.zeros(len(buffer.raw), dtype=bool)

    def access(
        self,
        threads: ActiveThreads,
        buffer: Buffer,
        view: View,
        position: Any,
        where: NDArray[np.intp] | None,
        verb: str,
        site: Site,
        value: Any = None,
    ) -> None:
        """Take note of one memory instruction, before it is carried out."""
        if self.races is not None and buffer.space in ("global", "shared"):
            lanes = _lanes(threads, where)
            fault = self.races.access(
                threads.clocks, lanes, buffer, view, position, verb, site, value
            )
            if fault is not None:
                first, later, earlier, remark = fault
                self.faults.race(view, self._element(view, first), later, earlier, remark)
        if self.checks.memory and view.unit == 1:
            self._check_alignment(threads, view, position, site, verb)
        if self.checks.init and buffer.written is not None:
            self._check_written(threads, where, buffer, view, position, verb, site)
        if self.counting:
            self._count_access(_lanes(threads, where), buffer, view, position, verb, site)

    def local(self, threads: ActiveThreads, buffer: Buffer, verb: str, site: Site) -> bool:
        """Take note of an access to local memory; return False where its positions are wanted."""
        if buffer.written is not None:
            return False
        if self.counting:
            self._count_local(threads.lanes.row_count, verb, site)
        return True

    def branch(self, threads: ActiveThreads, decided: Any, site: Site) -> None:
        """Take note of a conditional branch."""
        if not self.counting:
            return
        rows = threads.lanes.row_count
        counters = self._line(site)
        counters.branches += rows
        if isinstance(decided, np.ndarray) and 0 < np.count_nonzero(decided) < len(decided):
            row, _ = threads.lanes.rows()
            yes = np.bincount(row, weights=decided, minlength=rows)
            everyone = np.bincount(row, minlength=rows)
            rows = int(np.count_nonzero((yes == 0) | (yes == everyone)))
        counters.uniform_branches += rows

    def block_done(self, threads: ActiveThreads, block: Block) -> None:
        """Take note of the instructions of a block of the program."""
        if block.instructions:
            run = self._runs.setdefault(block.order, [0, 0])
            run[0] += threads.lanes.row_count
            run[1] += threads.count

    def arrive(self, threads: ActiveThreads, sync: Sync) -> None:
        """Take note of threads that come to a barrier."""
        if not self.counting:
            return
        warps = threads.lanes.row_count
        if sync.scope == BLOCK:
            self._line(sync.site).barriers += warps
        elif sync.scope == WARP:
            self._line(sync.site).warp_syncs += warps

    def exchange(self, threads: ActiveThreads, site: Site, sources: Any = None) -> None:
        """Take note of a shuffle, vote or match; of a shuffle, from which lane each takes."""
        del sources
        if self.counting:
            self._line(site).shuffles += threads.lanes.row_count

    def fence(self, threads: ActiveThreads, *, within: bool) -> None:
        """Take note of a memory fence, for the whole device or ``within`` the block."""
        if self.races is not None:
            self.races.releases.fence(threads.lanes, within=within)

    def grid_barrier(self) -> None:
        """Take note of a grid barrier: it keeps everything before apart from everything after."""
        if self.races is not None:
            self.races.grid_barrier()

    def result(self) -> tuple[Counters, dict[tuple[str, int], Counters]]:
        """Return the counters of the launch, summed and by source line."""
        for block in self.program.blocks:
            warps, threads = self._runs.get(block.order, (0, 0))
            for site, number in block.instructions.items():
                if warps:
                    counters = self._line(site)
                    counters.warp_instructions += number * warps
                    counters.thread_instructions += number * threads
        self._runs.clear()
        total = Counters(launches=1)
        lines: dict[tuple[str, int], Counters] = {}
        for site, counters in self._lines.items():
            total.add(counters)
            lines.setdefault((site.filename, site.line), Counters()).add(counters)
        return total, lines

    def _line(self, site: Site) -> Counters:
        counters = self._lines.get(site)
        if counters is None:
            counters = self._lines[site] = Counters()
        return counters

    # ---- checks ------------------------------------------------------------------------------

    def _check_alignment(
        self, threads: ActiveThreads, view: View, position: Any, site: Site, verb: str
    ) -> None:
        # Fields of packed records are accessed byte by byte.
        size = view.dtype.itemsize
        if "." in view.name.replace(PART, "") or size & (size - 1) or view.dtype.names is not None:
            return
        off = np.asarray(position) % size != 0
        if off.any():
            first = int(np.flatnonzero(off)[0]) if off.ndim else 0
            self.faults.misaligned(threads.lanes, view, first, site, verb)

    def _check_written(
        self,
        threads: ActiveThreads,
        where: NDArray[np.intp] | None,
        buffer: Buffer,
        view: View,
        position: Any,
        verb: str,
        site: Site,
    ) -> None:
        written: Any = buffer.written
        self._looks += 1
        if self._looks % _LOOKS == 0 and written.all():
            buffer.written = None
            return
        size = view.dtype.itemsize
        everything: Any = True
        if view.unit != size or view.dtype.names:
            begin = np.asarray(position * view.unit)[..., None]
            table, places = written, begin + _numbers_in(view.dtype)
        elif size in _ALL_WRITTEN:
            # An element's flags as one number: this runs at every access.
            everything = _ALL_WRITTEN[size]
            table, places = written[: len(written) // size * size].view(everything.dtype), position
        else:
            table, places = written[: len(written) // size * size].reshape(-1, size), position
        if verb != "store":
            fresh = table[places] != everything
            if everything is True:
                fresh = fresh.any(axis=-1)
            if np.count_nonzero(fresh):
                first = int(np.flatnonzero(fresh)[0]) if np.ndim(fresh) else 0
                ident = int(np.atleast_1d(_lanes(threads, where).ident)[first])
                place = int(np.atleast_1d(position)[first])
                self.faults.uninitialised(view, self._element(view, place), ident, site)
        if verb != "load":
            table[places] = everything

    def _element(self, view: View, position: int) -> str:
        """Return the index of an element in words, ``[3, 4]``, from its position."""
        if not isinstance(view.buffer, Buffer):
            return ""
        offset = view.offset
        if view.buffer.space == "shared" and view.buffer.instance_bytes:
            position %= view.buffer.instance_bytes // view.unit
            offset = np.min(offset) % (view.buffer.instance_bytes // view.unit)
        elif view.buffer.space == "local" or isinstance(offset, np.ndarray):
            return ""
        rest = int(position) - int(offset)
        if any(isinstance(part, np.ndarray) for part in (*view.shape, *view.strides)):
            return ""
        steps = [int(step) for step in view.strides]
        lasts = [int(extent) - 1 for extent in view.shape]
        # Counted from the first place in memory, where an axis that runs backwards has its last.
        rest -= sum(step * last for step, last in zip(steps, lasts, strict=True) if step < 0)
        place: dict[int, int] = {}
        for axis in sorted(range(len(steps)), key=lambda axis: -abs(steps[axis])):
            size = abs(steps[axis])
            place[axis], rest = divmod(rest, size) if size else (0, rest)
            if steps[axis] < 0:
                place[axis] = lasts[axis] - place[axis]
        index = [str(place[axis]) for axis in range(len(steps))]
        return f"[{', '.join(index)}]" if index else ""

    # ---- counting ----------------------------------------------------------------------------

    def _count_local(self, rows: int, verb: str, site: Site) -> None:
        counters = self._line(site)
        if verb == "load":
            counters.local_load_requests += rows
        else:
            counters.local_store_requests += rows

    def _count_access(
        self, lanes: Lanes, buffer: Buffer, view: View, position: Any, verb: str, site: Site
    ) -> None:
        rows, size = lanes.row_count, view.dtype.itemsize
        if buffer.space == "local" and verb != "atomic":
            self._count_local(rows, verb, site)
            return
        counters = self._line(site)
        address = np.asarray(position) * view.unit + buffer.address
        if verb == "atomic":
            (passes,) = cost(atomic_passes, lanes, address, size)
            counters.count("atomic", requests=rows, threads=lanes.count, passes=passes)
        elif buffer.space == "constant":
            (wavefronts,) = cost(constant_wavefronts, lanes, address, size)
            counters.count("constant", requests=rows, wavefronts=wavefronts)
        elif buffer.space == "shared":
            wavefronts, ideal = cost(shared_wavefronts, lanes, address, size)
            counters.count(
                f"shared_{verb}", requests=rows, wavefronts=wavefronts, ideal_wavefronts=ideal
            )
        else:
            # Numba loads and stores the two parts of a complex number one by one.
            parts = 2 if view.dtype.kind == "c" else 1
            for shift in range(0, size, size // parts):
                sectors, lines, used = cost(global_traffic, lanes, address + shift, size // parts)
                counters.count(
                    f"global_{verb}", requests=rows, sectors=sectors, lines=lines, bytes=used
                )


def _lanes(threads: ActiveThreads, where: NDArray[np.intp] | None) -> Lanes:
    """Return who accesses memory; not needed for most accesses, and dear."""
    return threads.lanes if where is None else threads.lanes.take(where)
