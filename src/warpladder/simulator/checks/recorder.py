"""What single warps did, in order: which lanes were active, and which address each asked for.

Counters are sums over a launch; a picture shows one warp. A `Recorder` is given to a
`SimulatedDevice` and keeps, of the first blocks of some launches, every event that the monitor is
told of. Without one, nothing of this file is imported, and no instruction looks for it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.monitor import ActiveThreads, Monitor
from warpladder.simulator.checks.options import Checks
from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.program import BLOCK, Block, Program, Site, Sync

__all__ = ["Access", "Array", "Barrier", "Exchange", "LaunchRecord", "Ran", "Recorder"]


class Array(NamedTuple):
    """An array as a kernel sees it.

    Attributes
    ----------
    name, space
        The kernel's name for it; ``"global"``, ``"shared"``, ``"local"`` or ``"constant"``.
    itemsize
        Bytes of an element.
    first
        Address of its first element.
    shape, strides
        Extents, and bytes from element to element; empty where threads have different ones.
    """

    name: str
    space: str
    itemsize: int
    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Access:
    """One memory instruction.

    Attributes
    ----------
    site, verb
        Where it stands; ``"load"``, ``"store"`` or ``"atomic"``.
    array
        What it goes to.
    threads
        Who carried it out: linear indices in the grid, ascending.
    addresses
        The byte at which each one's element begins; of shared memory, from the start of its
        block's own.
    values
        What each one is about to find there, or to write, or to add or compare with, of an atomic
        operation; None of packed records.
    """

    site: Site
    verb: str
    array: Array
    threads: NDArray[np.int64]
    addresses: NDArray[np.int64]
    values: NDArray[Any] | None = None

    def of(self, first: int, last: int) -> Access | None:
        """Return what threads ``first`` to ``last - 1`` did of it; None where that is nothing."""
        low, high = np.searchsorted(self.threads, (first, last))
        if low == high:
            return None
        part = slice(int(low), int(high))
        return replace(
            self,
            threads=self.threads[part],
            addresses=self.addresses[part],
            values=None if self.values is None else self.values[part],
        )

    def indices(self) -> tuple[NDArray[np.int64], ...]:
        """Return each thread's index into the array, one array of numbers for each axis."""
        array = self.array
        # From the lowest byte on: along an axis that runs backwards, that is its last element's.
        backwards = [
            step * (size - 1)
            for step, size in zip(array.strides, array.shape, strict=True)
            if step < 0
        ]
        rest = self.addresses - array.first - sum(backwards)
        found: dict[int, NDArray[np.int64]] = {}
        for axis in sorted(range(len(array.shape)), key=lambda axis: -abs(array.strides[axis])):
            step = array.strides[axis]
            along = rest // abs(step) if step else np.zeros_like(rest)
            rest = rest - along * abs(step)
            found[axis] = array.shape[axis] - 1 - along if step < 0 else along
        return tuple(found[axis] for axis in range(len(self.array.shape)))


@dataclass(frozen=True, slots=True)
class Ran:
    """Instructions without a branch between them: how many each line has, and who ran them."""

    instructions: dict[Site, int]
    threads: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Barrier:
    """Threads that came to a barrier of their block."""

    site: Site
    threads: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A shuffle, vote or match; ``sources`` has the lane each one asked, of a shuffle alone."""

    site: Site
    threads: NDArray[np.int64]
    sources: NDArray[np.int64] | None


Event = Access | Ran | Barrier | Exchange


@dataclass(slots=True)
class LaunchRecord:
    """What the recorded blocks of one launch did.

    Attributes
    ----------
    kernel, geometry
        What was launched.
    number
        How many launches, of any kernel, came before it.
    blocks
        So many blocks, the first ones, are recorded.
    events
        In the order in which the simulator ran them. Accesses come before the `Ran` that counts
        them among its instructions.
    is_cut
        Whether more happened than was kept.
    """

    kernel: str
    geometry: Geometry
    number: int
    blocks: int
    events: list[Event] = field(default_factory=list)
    is_cut: bool = False

    def warp(self, number: int) -> tuple[int, int]:
        """Return the first thread of a warp and the one behind its last, counted over the grid."""
        block, warp = divmod(number, self.geometry.warps_per_block)
        begin = block * self.geometry.threads_per_block
        end = begin + self.geometry.threads_per_block
        return begin + warp * WARP_SIZE, min(begin + (warp + 1) * WARP_SIZE, end)

    @property
    def warps(self) -> int:
        """How many warps are recorded."""
        return self.blocks * self.geometry.warps_per_block


class Recorder:
    """Keeps what happens in launches.

    Parameters
    ----------
    blocks
        How many of a launch, the first ones.
    launches
        How many of each kernel.
    after
        How many launches of each kernel pass before.
    spaces
        Where given, only what goes to these memories is kept, and nothing else: ``("global",)``.
    most
        Threads of a launch's events at most, summed: what comes later is not kept.

    Attributes
    ----------
    records
        In the order of launches.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.simulator import SimulatedDevice
    >>> from warpladder.simulator.checks.recorder import Access, Recorder
    >>> @cuda.jit
    ... def backwards(out):
    ...     out[31 - cuda.threadIdx.x] = 0
    >>> recorder = Recorder()
    >>> device = SimulatedDevice(recorder=recorder)
    >>> device.launch(backwards, 1, 32, device.empty(32, np.int32))
    >>> store = next(event for event in recorder.records[0].events if isinstance(event, Access))
    >>> store.indices()[0][:4]
    array([31, 30, 29, 28])
    """

    def __init__(
        self,
        *,
        blocks: int = 4,
        launches: int = 1,
        after: int = 0,
        spaces: Collection[str] = (),
        most: int = 2_000_000,
    ) -> None:
        self.records: list[LaunchRecord] = []
        self._blocks, self._launches, self._after = blocks, launches, after
        self._spaces, self._most = frozenset(spaces), most
        self._seen: dict[str, int] = {}
        self._last = ""

    def monitor(
        self, program: Program, geometry: Geometry, checks: Checks, counting: bool
    ) -> Monitor:
        """Return the monitor of a launch: one that keeps what it is told, where that is wanted."""
        number = sum(self._seen.values())
        before = self._seen.get(program.name, 0)
        self._seen[program.name] = before + 1
        if not self._after <= before < self._after + self._launches:
            return Monitor(program, geometry, checks, counting)
        blocks = min(self._blocks, geometry.blocks)
        record = LaunchRecord(program.name.rpartition(".")[2], geometry, number, blocks)
        self._last = program.name
        self.records.append(record)
        return _RecordingMonitor(
            program, geometry, checks, counting, record, self._spaces, self._most
        )

    def forget_idle(self) -> str | None:
        """Forget the last launch if it touched no memory; return which kernel's it was.

        Host functions launch over no elements to have a kernel compiled. It counts as not made.
        """
        if self._spaces or not self.records:
            return None
        last = self.records[-1]
        if any(isinstance(event, Access) for event in last.events):
            return None
        self.records.pop()
        self._seen[self._last] -= 1
        return last.kernel


class _RecordingMonitor(Monitor):
    """Counts and checks as any other, and keeps what it is told of the first blocks."""

    def __init__(
        self,
        program: Program,
        geometry: Geometry,
        checks: Checks,
        counting: bool,
        record: LaunchRecord,
        spaces: frozenset[str],
        most: int,
    ) -> None:
        super().__init__(program, geometry, checks, counting)
        self._record = record
        self._limit = record.blocks * geometry.threads_per_block
        self._spaces, self._left = spaces, most

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
        super().access(threads, buffer, view, position, where, verb, site, value)
        if self._spaces and buffer.space not in self._spaces:
            return
        idents = self._wanted(threads, where)
        if idents is None:
            return
        count = len(threads.lanes.ident) if where is None else len(where)
        if verb == "load":
            whole = view.unit == view.dtype.itemsize
            value = buffer.typed(view.dtype)[position] if whole else None
        self._keep(
            Access(
                site,
                verb,
                _array(buffer, view),
                idents,
                _first(_addresses(buffer, position, view.unit), count, len(idents)),
                None if value is None else _first(value, count, len(idents)),
            )
        )

    def local(self, threads: ActiveThreads, buffer: Buffer, verb: str, site: Site) -> bool:
        del threads, buffer, verb, site
        return False

    def block_done(self, threads: ActiveThreads, block: Block) -> None:
        super().block_done(threads, block)
        is_wanted = block.instructions and not self._spaces
        idents = self._wanted(threads) if is_wanted else None
        if idents is not None:
            self._keep(Ran(block.instructions, idents))

    def arrive(self, threads: ActiveThreads, sync: Sync) -> None:
        super().arrive(threads, sync)
        is_wanted = sync.scope == BLOCK and not self._spaces
        idents = self._wanted(threads) if is_wanted else None
        if idents is not None:
            self._keep(Barrier(sync.site, idents))

    def exchange(self, threads: ActiveThreads, site: Site, sources: Any = None) -> None:
        super().exchange(threads, site, sources)
        idents = None if self._spaces else self._wanted(threads)
        if idents is not None:
            kept = None if sources is None else np.array(sources[: len(idents)], dtype=np.int64)
            self._keep(Exchange(site, idents, kept))

    def _wanted(
        self, threads: ActiveThreads, where: NDArray[np.intp] | None = None
    ) -> NDArray[np.int64] | None:
        """Return those of the threads that are recorded, None for none; they come first."""
        lanes = threads.lanes
        if lanes.first_block >= self._record.blocks or self._record.is_cut:
            return None
        idents = np.atleast_1d(lanes.ident if where is None else lanes.ident[where])
        kept: NDArray[np.int64] = idents[: np.searchsorted(idents, self._limit)]
        return kept if len(kept) else None

    def _keep(self, event: Event) -> None:
        self._left -= len(event.threads)
        if self._left < 0:
            self._record.is_cut = True
        else:
            self._record.events.append(event)


def _addresses(buffer: Buffer, position: Any, unit: int) -> NDArray[np.int64]:
    """Return where elements begin; in shared memory, from the start of the block's own."""
    address: NDArray[np.int64] = np.asarray(position, dtype=np.int64) * unit + buffer.address
    if buffer.space == "shared" and buffer.instance_bytes:
        return address % buffer.instance_bytes
    return address


def _array(buffer: Buffer, view: View) -> Array:
    varies = any(isinstance(part, np.ndarray) for part in (*view.shape, *view.strides))
    return Array(
        view.name,
        buffer.space,
        view.dtype.itemsize,
        int(_addresses(buffer, view.offset, view.unit).flat[0]),
        () if varies else tuple(map(int, view.shape)),
        () if varies else tuple(int(step) * view.unit for step in view.strides),
    )


def _first(value: Any, count: int, wanted: int) -> NDArray[Any]:
    """Return a copy of the values of the first threads, of one value for all of them, too."""
    return np.array(np.broadcast_to(value, (count,))[:wanted])
