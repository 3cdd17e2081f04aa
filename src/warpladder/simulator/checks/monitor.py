"""Watches a launch: counts what a GPU would do, and hands accesses to the checks."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.clocks import Clocks
from warpladder.simulator.checks.counters import Counters
from warpladder.simulator.checks.faults import Faults
from warpladder.simulator.checks.options import Checks
from warpladder.simulator.checks.races import RaceChecker
from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry, Lanes
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.program import BLOCK, WARP, Block, Program, Site, Sync

__all__ = ["Monitor"]

_NOBODY = -1

#: After so many questions whether memory has been written: is all of it, so that none is needed?
_LOOKS = 64

#: By the bytes of an element: its flags when all of them have been written, as one number.
_ALL_WRITTEN = {size: np.ones(size, np.uint8).view(f"u{size}")[0] for size in (1, 2, 4, 8)}


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

    def branch(self, threads: ActiveThreads, decided: Any, site: Site) -> None:
        """Take note of a conditional branch."""
        if not self.counting:
            return
        row, rows = threads.lanes.rows()
        counters = self._line(site)
        counters.branches += rows
        if not isinstance(decided, np.ndarray):
            counters.uniform_branches += rows
            return
        yes = np.bincount(row, weights=decided, minlength=rows)
        everyone = np.bincount(row, minlength=rows)
        counters.uniform_branches += int(np.count_nonzero((yes == 0) | (yes == everyone)))

    def block_done(self, threads: ActiveThreads, block: Block) -> None:
        """Take note of the instructions of a block of the program."""
        if block.instructions:
            run = self._runs.setdefault(block.order, [0, 0])
            run[0] += threads.lanes.rows()[1]
            run[1] += threads.count

    def arrive(self, threads: ActiveThreads, sync: Sync) -> None:
        """Take note of threads that come to a barrier."""
        if not self.counting:
            return
        warps = threads.lanes.rows()[1]
        if sync.scope == BLOCK:
            self._line(sync.site).barriers += warps
        elif sync.scope == WARP:
            self._line(sync.site).warp_syncs += warps

    def exchange(self, threads: ActiveThreads, site: Site, sources: Any = None) -> None:
        """Take note of a shuffle, vote or match; of a shuffle, from which lane each takes."""
        del sources
        if self.counting:
            self._line(site).shuffles += threads.lanes.rows()[1]

    def fence(self, threads: ActiveThreads) -> None:
        """Take note of a memory fence for the whole device."""
        if self.races is not None:
            self.races.fence(threads.lanes)

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
        if "." in view.name or size & (size - 1) or view.dtype.names is not None:
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
        if view.unit != size:
            table, places = written, np.asarray(position * view.unit)[..., None] + np.arange(size)
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
            if fresh.any():
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
        index = []
        order = sorted(range(len(view.strides)), key=lambda axis: -abs(int(view.strides[axis])))
        place: dict[int, int] = {}
        for axis in order:
            step = int(view.strides[axis])
            place[axis], rest = divmod(rest, step) if step else (0, rest)
        index = [str(place[axis]) for axis in range(len(view.strides))]
        return f"[{', '.join(index)}]" if index else ""

    # ---- counting ----------------------------------------------------------------------------

    def _count_access(
        self, lanes: Lanes, buffer: Buffer, view: View, position: Any, verb: str, site: Site
    ) -> None:
        counters = self._line(site)
        row, rows = lanes.rows()
        size = view.dtype.itemsize
        if buffer.space == "local" and verb != "atomic":
            counters.count(f"local_{verb}", requests=rows)
            return
        address = np.asarray(position) * view.unit + buffer.address
        if verb == "atomic":
            self._count_atomic(counters, row, rows, lanes, address)
            return
        if address.ndim == 0:
            table = np.full((rows, 1), int(address), dtype=np.int64)
        else:
            table = np.full((rows, WARP_SIZE), _NOBODY, dtype=np.int64)
            table[row, lanes.lane] = address
        if buffer.space == "constant":
            table.sort(axis=1)
            counters.count("constant", requests=rows, wavefronts=_distinct(table))
        elif buffer.space == "shared":
            wavefronts, ideal = shared_wavefronts(table, size)
            counters.count(
                f"shared_{verb}", requests=rows, wavefronts=wavefronts, ideal_wavefronts=ideal
            )
        else:
            sectors, lines, used = global_traffic(table, size)
            counters.count(
                f"global_{verb}", requests=rows, sectors=sectors, lines=lines, bytes=used
            )

    def _count_atomic(
        self,
        counters: Counters,
        row: NDArray[np.int64],
        rows: int,
        lanes: Lanes,
        address: NDArray[np.int64],
    ) -> None:
        table = np.full((rows, WARP_SIZE), _NOBODY, dtype=np.int64)
        table[row, lanes.lane] = address
        table.sort(axis=1)
        place = np.arange(WARP_SIZE)
        begins = np.where(table[:, 1:] != table[:, :-1], place[1:], 0)
        so_far = np.broadcast_to(place, table.shape).copy()
        so_far[:, 1:] -= np.maximum.accumulate(begins, axis=1)
        passes = int(np.where(table == _NOBODY, 0, so_far + 1).max(axis=1).sum())
        counters.count("atomic", requests=rows, threads=len(row), passes=passes)


def _lanes(threads: ActiveThreads, where: NDArray[np.intp] | None) -> Lanes:
    """Return who accesses memory; not needed for most accesses, and dear."""
    return threads.lanes if where is None else threads.lanes.take(where)


def _distinct(ordered: NDArray[np.int64]) -> int:
    """Count the distinct values of sorted rows, summed over the rows; nobody's place counts not."""
    changes = np.count_nonzero(ordered[:, 1:] != ordered[:, :-1])
    return int(changes + np.count_nonzero(ordered[:, 0] != _NOBODY))


def global_traffic(table: NDArray[np.int64], size: int) -> tuple[int, int, int]:
    """Return sectors, lines and distinct bytes of requests to global memory.

    ``table`` has a row per request and the address of each thread's element, -1 where none is
    active; an element has ``size`` bytes.
    """
    ordered = np.sort(table, axis=1)
    used = _distinct(ordered) * size
    if size & (size - 1) == 0 and size <= 32 and not np.any((ordered & (size - 1))[ordered >= 0]):
        return _distinct(ordered >> 5), _distinct(ordered >> 7), used
    # Elements that may lie across a boundary: all sectors from the first byte to the last.
    pieces = [
        np.where(ordered >= 0, np.minimum(ordered + step, ordered + size - 1), _NOBODY)
        for step in range(0, size + 31, 32)
    ]
    spread = np.sort(np.concatenate(pieces, axis=1), axis=1)
    return _distinct(spread >> 5), _distinct(spread >> 7), used


def shared_wavefronts(table: NDArray[np.int64], size: int) -> tuple[int, int]:
    """Return the wavefronts of requests to shared memory, and what they were without conflicts.

    A wavefront serves one 4-byte word from each of 32 banks to any number of threads. Elements of 8
    bytes are served half a warp at a time, of 16 bytes a quarter at a time, unless one wavefront
    holds all words of the warp.
    """
    words_each = max(1, size // 4)
    parts = min(words_each, 4) if table.shape[1] == WARP_SIZE else 1
    first = np.where(table >= 0, table >> 2, _NOBODY)
    whole = np.concatenate(
        [np.where(first >= 0, first + k, _NOBODY) for k in range(words_each)], axis=1
    )
    deepest, distinct = _bank_depth(whole)
    ideal = np.maximum(1, -(-distinct // WARP_SIZE))
    if parts == 1:
        return int(deepest.sum()), int(ideal.sum())
    width = WARP_SIZE // parts
    pieces = np.stack(
        [
            np.concatenate(
                [
                    np.where(piece >= 0, piece + k, _NOBODY)
                    for k in range(words_each)
                    for piece in (first[:, part * width : (part + 1) * width],)
                ],
                axis=1,
            )
            for part in range(parts)
        ]
    )
    split = sum(_bank_depth(piece)[0] for piece in pieces)
    return int(np.where(deepest == 1, 1, split).sum()), int(ideal.sum())


def _bank_depth(words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return per request the most distinct words that one bank has to give, and all of them."""
    rows = len(words)
    ordered = np.sort(words, axis=1)
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered != _NOBODY
    row, column = np.nonzero(new)
    banks = ordered[row, column] & (WARP_SIZE - 1)
    depth = np.bincount(row * WARP_SIZE + banks, minlength=rows * WARP_SIZE)
    return depth.reshape(rows, WARP_SIZE).max(axis=1), np.bincount(row, minlength=rows)
