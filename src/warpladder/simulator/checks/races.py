"""Racecheck: two accesses of different threads to one place, one of them a write, unordered.

Accesses are ordered by a block barrier between them (same block), by a ``syncwarp`` whose mask
names both threads or a chain of such (same warp), by a grid barrier, or by a fence behind the first
of them, followed by an atomic operation in the writer's block and, after that, an atomic operation
in the reader's block (in the same block: of the reader itself, or of a lane that it has met since);
a fence for the block alone does that within it. The last rule takes any atomic for the meeting
point, not the same one only, and any thread's fence for all of the block: it can miss a race, never
invent one. Atomic operations do not race with each other.

For each place the last plain write is remembered, with a second thread where several wrote the
same, the last atomic operation, and of the reads, and the writes of what was there already, the
last one, the last of another thread than that, of another warp and of another block: who is ordered
after one of these may not be after the others. What is missed are threads of which a ``syncwarp``
for a part of the warp has left out others than those. In global memory a write of what is there
already races with nobody who reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.checks.clocks import Clocks
from warpladder.simulator.checks.moments import Moments
from warpladder.simulator.checks.releases import Releases
from warpladder.simulator.checks.rewrites import bits_of, writes_that_change
from warpladder.simulator.checks.shadow import Shadow, several
from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry, Lanes
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.program import Site

__all__ = ["RaceChecker"]

Found = tuple[int, tuple[str, Site, int], tuple[str, Site, int], str]


_WRITES = (("writer", "store"), ("writer_beside", "store"))
_REWRITES = tuple((kind, "store") for kind in several("rewriter"))
_READS = tuple((kind, "load") for kind in several("reader"))
#: Of atomic operations the last alone: whose own that is comes after all others, as the last block
#: that puts a ticket back, and as nobody can tell from one that happens to be the last.
_ATOMICS = (("atomic", "atomic"),)
#: With which accesses of the past one of each kind may race, and how their verbs are called.
_OPPONENTS = {
    "load": (*_WRITES, *_ATOMICS),
    "atomic": (*_WRITES, *_READS, *_REWRITES),
    "store": (*_WRITES, *_ATOMICS, *_READS, *_REWRITES),
}


class _Now:
    """The threads of one access, and its moment."""

    __slots__ = ("_last", "clocks", "ident", "lanes", "moment", "site")

    def __init__(self, checker: RaceChecker, clocks: Clocks, lanes: Lanes, site: int) -> None:
        self.ident, self.lanes, self.clocks, self.site = lanes.ident, lanes, clocks, site
        number = checker.moments.number
        epoch, time = clocks.common
        clock, clocks_of = checker.releases.common_clock, checker.releases.clock
        if time is None:
            epochs = clocks.epoch[lanes.slot] if epoch is None else epoch
            releases = clocks_of[self.blocks] if clock is None else clock
            self.moment = number(site, epochs, clocks.now[lanes.warp, lanes.lane], releases)
        elif epoch is None or clock is None:
            batch = slice(lanes.first_block, lanes.first_block + len(clocks.epoch))
            self.moment = number(site, clocks.epoch, time, clocks_of[batch])[lanes.slot]
        else:
            self.moment = number(site, epoch, time, clock)
        self._last: NDArray[np.int64] | None = None

    @property
    def last(self) -> NDArray[np.int64]:
        """As places remember it."""
        if self._last is None:
            self._last = self.ident << 32 | self.moment
        return self._last

    @property
    def blocks(self) -> NDArray[np.int64]:
        """The block of each thread in the grid."""
        numbers: NDArray[np.int64] = self.lanes.slot + self.lanes.first_block
        return numbers


class RaceChecker:
    """The memory of past accesses in one launch, and of its fences."""

    def __init__(self, geometry: Geometry, *, report_same_value: bool) -> None:
        self.geometry = geometry
        self.report_same_value = report_same_value
        self.moments = Moments()
        self.releases = Releases(geometry)
        self._sites: list[Site] = []
        self._site_numbers: dict[Site, int] = {}
        self._watched: list[Buffer] = []

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
            places = max(1, len(buffer.raw) // buffer.granule)
            buffer.shadow = Shadow(places, self.geometry.threads_per_block)
            self._watched.append(buffer)
        if buffer.space == "shared":
            buffer.shadow.begin(clocks.common[0])
        now = _Now(self, clocks, lanes, self._number(site))
        at = position
        if not isinstance(at, np.ndarray) or at.ndim == 0:
            at = np.full(lanes.count, position)
        first = at if view.unit == buffer.granule else at * view.unit // buffer.granule
        changed = None
        if verb == "store" and not self.report_same_value:
            changed = writes_that_change(buffer, view, at, value)
        for step in range(max(1, view.dtype.itemsize // buffer.granule)):
            in_shared = buffer.space == "shared"
            found = self._check(buffer.shadow, first + step, now, verb, changed, value, in_shared)
            if found is not None:
                k, past, verb_before, remark = found
                before = verb_before, self._sites[int(past[1])], int(past[0])
                return int(at[k]), (verb, site, int(now.ident[k])), before, remark
        if verb == "atomic":
            self.releases.synchronise(lanes)
        return None

    def _number(self, site: Site) -> int:
        number = self._site_numbers.get(site)
        if number is None:
            number = self._site_numbers[site] = len(self._sites)
            self._sites.append(site)
        return number

    def _check(
        self,
        shadow: Shadow,
        place: NDArray[np.int64],
        now: _Now,
        verb: str,
        changed: NDArray[np.bool_] | None,
        value: Any,
        in_shared: bool,
    ) -> tuple[int, tuple[int, int], str, str] | None:
        if changed is not None and np.count_nonzero(changed) < len(changed):
            found = self._rewrite(shadow, place, now, ~changed, in_shared)
            if found is not None or not np.count_nonzero(changed):
                return found
        if verb != "load":
            shadow.settle_reads()
        opponents = _OPPONENTS[verb]
        if in_shared and verb == "load" and shadow.rewriter is not None:
            opponents += _REWRITES
        for kind, verb_before in opponents:
            past: NDArray[np.int64] | None = getattr(shadow, kind)
            if past is None:
                continue
            bad = self._unordered(past, place, now)
            if changed is not None:
                bad &= changed
            if np.count_nonzero(bad):
                return self._met(past, place, bad, verb_before)
        if verb == "load":
            shadow.read(place, now.ident, now.moment)
        elif verb == "atomic":
            shadow.made("atomic")[place] = now.last
        else:
            return self._record_writes(shadow, place, now, changed, value)
        return None

    def _rewrite(
        self,
        shadow: Shadow,
        place: NDArray[np.int64],
        now: _Now,
        same: NDArray[np.bool_],
        in_shared: bool,
    ) -> tuple[int, tuple[int, int], str, str] | None:
        """Note stores of what is there already: with which other stores nobody can tell.

        In global memory whoever reads may do so before or after them, too: steps of Floyd-Warshall
        write rows and columns as they are while others read them. In shared memory such a reader
        has missed a barrier, and the same numbers are chance, mostly zeros or ones.
        """
        if in_shared:
            shadow.settle_reads()
        for kind, verb in (*_ATOMICS, *_READS) if in_shared else _ATOMICS:
            past: NDArray[np.int64] | None = getattr(shadow, kind)
            if past is None:
                continue
            bad = self._unordered(past, place, now)
            bad &= same
            if np.count_nonzero(bad):
                return self._met(past, place, bad, verb)
        shadow.note("rewriter", place[same], now.ident[same], now.last[same])
        return None

    def _met(
        self, past: NDArray[np.int64], place: NDArray[np.int64], bad: NDArray[np.bool_], verb: str
    ) -> tuple[int, tuple[int, int], str, str]:
        """Return the first of the bad accesses, and the past one that it races with."""
        k = int(np.flatnonzero(bad)[0])
        ident, moment = divmod(int(past[place[k]]), 1 << 32)
        return k, (ident, int(self.moments.table[moment, Moments.SITE])), verb, ""

    def _unordered(
        self, past: NDArray[np.int64], place: NDArray[np.int64], now: _Now
    ) -> NDArray[np.bool_]:
        """Return which threads' accesses nothing keeps apart from the past one at their place."""
        last = past[place]
        before = last >> 32
        bad: NDArray[np.bool_] = before != now.ident
        bad &= before >= 0
        if not np.count_nonzero(bad):
            return bad
        who = np.flatnonzero(bad)
        bad[who] = ~self._ordered(last[who], now, who)
        return bad

    def _ordered(
        self, last: NDArray[np.int64], now: _Now, who: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Return whether the accesses of threads now come after the last ones at their places.

        ``who`` are positions among the threads of now; the last accesses are those of others.
        """
        tpb = self.geometry.threads_per_block
        before = last >> 32
        was = self.moments.table[last & 0xFFFFFFFF]
        one = not isinstance(now.moment, np.ndarray)
        mine = self.moments.table[now.moment if one else now.moment[who]]
        ident = now.ident[who]
        block_before = before // tpb
        same_block = block_before == ident // tpb
        ordered: NDArray[np.bool_] = same_block & (
            was[:, Moments.EPOCH] != mine[..., Moments.EPOCH]
        )
        near = np.flatnonzero(same_block & ~ordered)
        if len(near):
            rank, rank_before = ident[near] % tpb, before[near] % tpb
            same_warp = rank // WARP_SIZE == rank_before // WARP_SIZE
            near, other = near[same_warp], rank_before[same_warp] % WARP_SIZE
            lanes = now.lanes
            known = now.clocks.known(lanes.warp[who[near]], lanes.lane[who[near]], other)
            ordered[near] = was[near, Moments.TIME] <= known
        undecided = np.flatnonzero(~ordered)
        if len(undecided):
            thread = who[undecided]
            ordered[undecided] = self.releases.are_visible(
                block_before[undecided], was[undecided, Moments.CLOCK],
                ident[undecided], now.blocks[thread],
            )  # fmt: skip
        return ordered

    def _record_writes(
        self,
        shadow: Shadow,
        place: NDArray[np.int64],
        now: _Now,
        changed: NDArray[np.bool_] | None,
        value: Any,
    ) -> tuple[int, tuple[int, int], str, str] | None:
        pick = slice(None) if changed is None else changed
        writer = shadow.made("writer")
        writer[place[pick]] = now.last[pick]
        if shadow.writer_beside is not None:
            shadow.writer_beside[place[pick]] = -1
        met = writer[place] != now.last
        if changed is not None:
            met &= changed
        if not np.count_nonzero(met):
            return None
        # Several threads write one place in one instruction: benign if all write the same.
        values = np.broadcast_to(np.asarray(value), (len(place),))
        winner = np.zeros(int(place.max()) + 1 - int(place.min()), dtype=np.int64)
        winner[place - place.min()] = np.arange(len(place))
        by = winner[place - place.min()]
        differs = met & (bits_of(values) != bits_of(values[by]))
        if self.report_same_value:
            differs = met
        if not differs.any():
            shadow.made("writer_beside")[place[met]] = now.last[met]
            return None
        k = int(np.flatnonzero(differs)[0])
        same = bits_of(values[[k]]) == bits_of(values[[by[k]]])
        remark = ", both writing the same value" if same else ""
        return k, (int(now.ident[by[k]]), now.site), "store", remark
