"""Racecheck: two accesses of different threads to one place, one of them a write, unordered.

Accesses are ordered by a block barrier between them (same block), by a ``syncwarp`` whose mask
names both threads or a chain of such (same warp), by a grid barrier, or by a fence followed by an
atomic operation in the writer's block and, after that, an atomic operation in the reader's block
(in the same block: of the reader itself). The last rule takes any atomic for the meeting point, not
the same one only: it can miss a race, never invent one.
Atomic operations do not race with each other.

For each place the last plain write, the last atomic operation and the last two readers are
remembered: of a race that involves a thread from before those, another pair is reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.clocks import Clocks
from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry, Lanes
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.program import Site

__all__ = ["RaceChecker"]

Found = tuple[int, tuple[str, Site, int], tuple[str, Site, int], str]


class _Past:
    """The last access of one kind to every place of a buffer."""

    __slots__ = ("block_epoch", "clock", "ident", "lane_clock", "site")

    def __init__(self, places: int) -> None:
        self.ident = np.full(places, -1, dtype=np.int32)
        self.block_epoch = np.zeros(places, dtype=np.int32)
        self.lane_clock = np.zeros(places, dtype=np.int32)
        self.clock = np.zeros(places, dtype=np.int32)
        self.site = np.zeros(places, dtype=np.int32)

    def record(self, place: NDArray[Any], now: _Now, pick: Any = slice(None)) -> None:
        self.ident[place] = now.ident[pick]
        self.block_epoch[place] = now.block_epoch[pick]
        self.lane_clock[place] = now.lane_clock[pick]
        self.clock[place] = now.clock[pick]
        self.site[place] = now.site

    def copy_from(self, other: _Past, place: NDArray[Any]) -> None:
        for name in self.__slots__:
            getattr(self, name)[place] = getattr(other, name)[place]


class _Shadow:
    """What is remembered of one buffer."""

    __slots__ = ("atomic", "reader", "reader_before", "writer")

    def __init__(self, places: int) -> None:
        self.writer = _Past(places)
        self.atomic = _Past(places)
        self.reader = _Past(places)
        self.reader_before = _Past(places)


class _Now:
    """The threads of one access, and their clocks."""

    __slots__ = (
        "block_epoch",
        "clock",
        "clocks",
        "ident",
        "lane",
        "lane_clock",
        "own_seen",
        "seen",
        "site",
        "warp",
    )  # fmt: skip

    def __init__(self, checker: RaceChecker, clocks: Clocks, lanes: Lanes, site: int) -> None:
        self.ident = lanes.ident
        self.block_epoch = clocks.epoch[lanes.slot]
        self.clocks, self.warp, self.lane = clocks, lanes.warp, lanes.lane
        self.lane_clock = clocks.now[lanes.warp, lanes.lane]
        blocks = lanes.slot + lanes.first_block
        self.clock = checker.clock[blocks]
        self.seen = checker.seen[blocks]
        self.own_seen = checker.own_seen[self.ident] if checker.own_seen is not None else self.seen
        self.site = site


class RaceChecker:
    """The memory of past accesses in one launch.

    Every block has a clock that advances when it *releases*: performs an atomic operation after a
    fence. What it did up to then is visible to blocks that perform an atomic operation later.
    """

    def __init__(self, geometry: Geometry, *, report_same_value: bool) -> None:
        self.geometry = geometry
        self.report_same_value = report_same_value
        self.clock = np.zeros(geometry.blocks, dtype=np.int32)
        self.fenced = np.zeros(geometry.blocks, dtype=bool)
        #: Number of the last release that each block has seen.
        self.seen = np.zeros(geometry.blocks, dtype=np.int64)
        #: The same for each thread by its own atomic operations, from the first release on.
        self.own_seen: NDArray[np.int64] | None = None
        #: Number of each release, by clock and block.
        self.released: dict[int, NDArray[np.int64]] = {}
        self._releases = 0
        self._sites: list[Site] = []
        self._site_numbers: dict[Site, int] = {}
        self._watched: list[Buffer] = []

    def fence(self, lanes: Lanes) -> None:
        """Note that blocks have executed a memory fence."""
        self.fenced[np.unique(lanes.slot) + lanes.first_block] = True

    def grid_barrier(self) -> None:
        """Forget everything: a grid barrier orders it before what comes."""
        for buffer in self._watched:
            if buffer.space == "global":
                buffer.shadow = None
        self._watched = [buffer for buffer in self._watched if buffer.shadow is not None]

    def access(
        self,
        clocks: Clocks,
        lanes: Lanes,
        buffer: Buffer,
        view: View,
        position: Any,
        verb: str,
        site: Site,
        value: Any,
    ) -> Found | None:
        """Record an access; return the race that it makes, if any."""
        if buffer.shadow is None:
            buffer.shadow = _Shadow(max(1, len(buffer.raw) // buffer.granule))
            self._watched.append(buffer)
        now = _Now(self, clocks, lanes, self._number(site))
        at = np.broadcast_to(np.asarray(position), (lanes.count,))
        first = at * view.unit // buffer.granule
        changed = None
        if verb == "store" and not self.report_same_value:
            changed = _changed(buffer, view, at, value)
            if not changed.any():
                return None
        for step in range(max(1, view.dtype.itemsize // buffer.granule)):
            found = self._check(buffer.shadow, first + step, now, verb, changed, value)
            if found is not None:
                k, past, verb_before, remark = found
                before = verb_before, self._sites[int(past[1])], int(past[0])
                return int(at[k]), (verb, site, int(now.ident[k])), before, remark
        if verb == "atomic":
            self._synchronise(lanes)
        return None

    def _number(self, site: Site) -> int:
        number = self._site_numbers.get(site)
        if number is None:
            number = self._site_numbers[site] = len(self._sites)
            self._sites.append(site)
        return number

    def _check(
        self,
        shadow: _Shadow,
        place: NDArray[np.int64],
        now: _Now,
        verb: str,
        changed: NDArray[np.bool_] | None,
        value: Any,
    ) -> tuple[int, tuple[int, int], str, str] | None:
        opponents = {
            "load": ((shadow.writer, "store"), (shadow.atomic, "atomic")),
            "atomic": (
                (shadow.writer, "store"),
                (shadow.reader, "load"),
                (shadow.reader_before, "load"),
            ),
            "store": (
                (shadow.writer, "store"),
                (shadow.atomic, "atomic"),
                (shadow.reader, "load"),
                (shadow.reader_before, "load"),
            ),
        }[verb]
        for past, verb_before in opponents:
            bad = self._unordered(past, place, now)
            if changed is not None:
                bad &= changed
            if bad.any():
                k = int(np.flatnonzero(bad)[0])
                spot = place[k]
                return k, (past.ident[spot], past.site[spot]), verb_before, ""
        if verb == "load":
            self._record_reads(shadow, place, now)
        elif verb == "atomic":
            shadow.atomic.record(place, now)
        else:
            return self._record_writes(shadow, place, now, changed, value)
        return None

    def _unordered(self, past: _Past, place: NDArray[np.int64], now: _Now) -> NDArray[np.bool_]:
        """Return which threads' accesses nothing keeps apart from the past one at their place."""
        before = past.ident[place]
        bad: NDArray[np.bool_] = (before >= 0) & (before != now.ident)
        if not bad.any():
            return bad
        tpb = self.geometry.threads_per_block
        block, block_before = now.ident // tpb, before // tpb
        same_block = block == block_before
        same_warp = same_block & (now.ident % tpb // WARP_SIZE == before % tpb // WARP_SIZE)
        ordered: NDArray[np.bool_] = same_block & (past.block_epoch[place] != now.block_epoch)
        near = np.flatnonzero(bad & same_warp & ~ordered)
        if len(near):
            other = before[near] % tpb % WARP_SIZE
            known = now.clocks.known(now.warp[near], now.lane[near], other)
            ordered[near] = past.lane_clock[place[near]] <= known
        undecided = np.flatnonzero(bad & ~ordered)
        if len(undecided) and self._releases:
            seen = np.where(same_block, now.own_seen, now.seen)
            ordered[undecided] = self._visible(
                block_before[undecided], past.clock[place[undecided]], seen[undecided]
            )
        return bad & ~ordered

    def _visible(
        self, blocks: NDArray[Any], clocks: NDArray[Any], seen: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether what blocks did at these clocks was released and then seen."""
        result = np.zeros(len(blocks), dtype=bool)
        for clock in np.unique(clocks):
            times = self.released.get(int(clock))
            if times is not None:
                here = clocks == clock
                time = times[blocks[here]]
                result[here] = (time > 0) & (time <= seen[here])
        return result

    def _synchronise(self, lanes: Lanes) -> None:
        """Release, where a fence came before, and acquire: in the order of the threads."""
        blocks = np.unique(lanes.slot) + lanes.first_block
        releasing = blocks[self.fenced[blocks]]
        numbers = self._releases + np.cumsum(self.fenced[blocks])
        if len(releasing):
            for clock in np.unique(self.clock[releasing]):
                times = self.released.setdefault(
                    int(clock), np.zeros(self.geometry.blocks, dtype=np.int64)
                )
                mine = self.fenced[blocks] & (self.clock[blocks] == clock)
                times[blocks[mine]] = numbers[mine]
            self.clock[releasing] += 1
            self.fenced[releasing] = False
            self._releases += len(releasing)
        self.seen[blocks] = numbers
        if self._releases:
            if self.own_seen is None:
                threads = self.geometry.blocks * self.geometry.threads_per_block
                self.own_seen = np.zeros(threads, dtype=np.int64)
            self.own_seen[lanes.ident] = numbers[
                np.searchsorted(blocks, lanes.slot + lanes.first_block)
            ]

    def _record_reads(self, shadow: _Shadow, place: NDArray[np.int64], now: _Now) -> None:
        others = place[shadow.reader.ident[place] != now.ident]
        shadow.reader_before.copy_from(shadow.reader, others)
        shadow.reader.record(place, now)
        outdone = shadow.reader.ident[place] != now.ident
        if outdone.any():
            shadow.reader_before.record(place[outdone], now, outdone)

    def _record_writes(
        self,
        shadow: _Shadow,
        place: NDArray[np.int64],
        now: _Now,
        changed: NDArray[np.bool_] | None,
        value: Any,
    ) -> tuple[int, tuple[int, int], str, str] | None:
        pick = slice(None) if changed is None else changed
        shadow.writer.record(place[pick], now, pick)
        met = shadow.writer.ident[place] != now.ident
        if changed is not None:
            met &= changed
        if not met.any():
            return None
        # Several threads write one place in one instruction: benign if all write the same.
        values = np.broadcast_to(np.asarray(value), (len(place),))
        winner = np.zeros(int(place.max()) + 1 - int(place.min()), dtype=np.int64)
        winner[place - place.min()] = np.arange(len(place))
        by = winner[place - place.min()]
        differs = met & (_bits(values) != _bits(values[by]))
        if self.report_same_value:
            differs = met
        if not differs.any():
            return None
        k = int(np.flatnonzero(differs)[0])
        same = _bits(values[[k]]) == _bits(values[[by[k]]])
        remark = ", both writing the same value" if same else ""
        return k, (int(now.ident[by[k]]), now.site), "store", remark


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as integers, so that NaN equals NaN and 0.0 differs from -0.0."""
    if values.dtype.kind == "V":
        return values
    if values.dtype.kind == "c":
        parts = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize // 2}").reshape(-1, 2)
        joined: NDArray[Any] = parts[:, 0] ^ (parts[:, 1] * np.array(31, dtype=parts.dtype))
        return joined
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _changed(buffer: Buffer, view: View, at: NDArray[np.int64], value: Any) -> NDArray[np.bool_]:
    """Return which writes change what is in memory."""
    dtype = view.dtype
    everything = np.ones(len(at), dtype=bool)
    if dtype.names is not None:
        return everything
    if view.unit != dtype.itemsize:
        return everything
    old = buffer.typed(dtype)[at]
    new = np.broadcast_to(np.asarray(value, dtype=dtype), at.shape)
    differs: NDArray[np.bool_] = _bits(old) != _bits(new)
    return differs
