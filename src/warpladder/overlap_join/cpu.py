"""The CPU engine: stretches of left rows, dealt out to kept threads one by one.

The four ways of finding pairs (`slicing`, `counting`, `gathering`, `prefixes`) are each one
compiled function that visits some left rows; here they get their index, each thread its own scratch
memory, and stretches of about equal work. Stretches are dealt out in order; what is found is handed
on in order, too, whichever is ready first.

Nobody knows before how much a stretch finds. One that finds more than a thread has room for ends
where the room does; what is left of it is dealt out next, and stretches are cut shorter for a
while. So what waits to be handed on is bounded, however alike rows are.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import wait
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.crew import in_background
from warpladder.device.environment import worker_count
from warpladder.overlap_join import counting, gathering, groups, prefixes, slicing
from warpladder.overlap_join.counting import ALL, LATER, OTHERS, Side, side_of
from warpladder.overlap_join.forms import Counted, Found
from warpladder.overlap_join.index import BLOCK_BITS, ONE_BLOCK, build_index
from warpladder.overlap_join.listing import listed_rows
from warpladder.overlap_join.masks import masks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Join
    from warpladder.overlap_join.masks import Masks
    from warpladder.overlap_join.plan import Way

__all__ = ["CpuEngine"]

# Seconds of one core that a stretch takes: long beside dealing it out, 0.1 ms, and short enough
# that Ctrl-C need not be waited for, and that what a stretch finds takes tens of MB.
_STRETCH = 0.03
# The same where masks in the cache are to be met by many rows.
_SLICED_STRETCH = 0.25
# At least so many stretches for each thread, so that all end at about the same time.
_STRETCHES_PER_WORKER = 8
_LEAST_KEPT = 1 << 20


class _Kept(NamedTuple):
    """Where a thread keeps the pairs of a stretch until they are handed on."""

    right: NDArray[np.int32]
    shared: NDArray[np.int32]


class CpuEngine:
    """Finds or counts the pairs of one join on all cores; see `forms.Engine`.

    Parameters
    ----------
    join
        What is to be found.
    way
        The way, as `plan.choose_way` has chosen it.
    """

    def __init__(self, join: Join, way: Way) -> None:
        self._join = join
        self._seconds = way.seconds
        self._stretch = _STRETCH
        self._which = ALL if not join.is_self else OTHERS if join.both_ways else LATER
        self._rule = tuple(join.rule)
        listed = listed_rows(join, way)
        if listed is not None:
            self._index, masks = listed
            self._left = self._right = Side(
                join.left.starts, np.empty(0, np.int32), np.empty(0, np.uint8), len(join.left)
            )
            self._slice(masks)
            return
        self._left = side_of(join.left, way.hot_bytes)
        self._right = self._left if join.is_self else side_of(join.right, way.hot_bytes)
        right = join.right
        whole = np.diff(right.starts)
        if way.name == "counting":
            cold = right.universe - 8 * way.hot_bytes
            self._index = build_index(
                right,
                (min(way.lone, cold), cold),
                whole,
                BLOCK_BITS,
                with_behind=self._which == LATER,
            )
            self._visit: Any = counting.visit_rows
            self._given: tuple[Any, ...] = (cold,)
            self._new_scratch: Callable[[int], Any] = lambda _: counting.new_scratch(self._right)
        elif way.name == "slicing":
            cold = right.universe - way.masks
            self._index = build_index(
                right, (min(way.lone, cold), cold), whole, ONE_BLOCK,
                with_behind=self._which == LATER,
            )  # fmt: skip
            masks = masks_of(join.left, self._index, right, way.masks, at_once=way.at_once)
            self._slice(masks)
        elif way.name == "gathering":
            self._index = build_index(
                right, (min(way.lone, right.universe), right.universe), whole, ONE_BLOCK,
                with_behind=self._which == LATER,
            )  # fmt: skip
            self._visit = gathering.gather_rows
            self._given = ()
            self._new_scratch = lambda _: gathering.new_scratch(right)
        else:
            short = prefixes.prefix_lengths(right, join.rule)
            self._index = build_index(right, (0, right.universe), short, ONE_BLOCK)
            own = short if join.is_self else prefixes.prefix_lengths(join.left, join.rule)
            self._visit = prefixes.match_rows
            self._given = (own,)
            self._new_scratch = lambda _: prefixes.new_scratch(right)

    def _slice(self, masks: Masks) -> None:
        left, rule = self._join.left, self._join.rule
        self._stretch = _SLICED_STRETCH
        self._visit = slicing.slice_rows
        self._given = (masks,)
        self._new_scratch = lambda kept: groups.new_scratch(left, rule, masks, kept)

    def found(self, first: int, last: int, advanced: Callable[[int], None]) -> Iterator[Found]:
        """Yield the pairs of left rows, in order."""
        none = np.zeros(0, np.int64)
        free: deque[tuple[Any, _Kept]] = deque()
        size = max(_LEAST_KEPT, len(self._join.right))

        def find(begin: int, end: int) -> tuple[int, Found]:
            scratch, kept = free.pop() if free else (
                self._new_scratch(size),
                _Kept(np.empty(size, np.int32), np.empty(size, np.int32)),
            )  # fmt: skip
            counts = np.empty(end - begin, np.int64)
            behind, pairs = self._call(begin, end, scratch, (none, none), (counts, *kept))
            right, shared = (array[:pairs].copy() for array in kept)
            free.append((scratch, kept))
            return behind, Found(begin, counts[: behind - begin], right, shared)

        for begin, behind, piece in self._in_order(find, first, last):
            yield piece
            advanced(behind - begin)

    def counted(self, first: int, last: int, advanced: Callable[[int], None]) -> Counted:
        """Count the pairs of left rows, and those of each row."""
        of_left = np.zeros(len(self._join.left), np.int64)
        free: deque[tuple[Any, NDArray[np.int64]]] = deque()

        def count(begin: int, end: int) -> tuple[int, int]:
            scratch, of_right = free.pop() if free else (
                self._new_scratch(0), np.zeros(len(self._join.right), np.int64)
            )  # fmt: skip
            visited = self._call(begin, end, scratch, (of_left, of_right), None)
            free.append((scratch, of_right))
            return visited

        total = 0
        for begin, behind, pairs in self._in_order(count, first, last):
            total += pairs
            advanced(behind - begin)
        of_right = np.zeros(len(self._join.right), np.int64)
        for _, counted in free:
            of_right += counted
        return Counted(total, of_left, of_right)

    def _call(self, begin: int, end: int, scratch: Any, degrees: Any, out: Any) -> tuple[int, int]:
        behind, pairs = self._visit(
            self._left, self._right, self._index, *self._given, self._which, self._rule,
            begin, end, scratch, degrees, out,
        )  # fmt: skip
        return int(behind), int(pairs)

    def _in_order(
        self, visit: Callable[[int, int], tuple[int, Any]], first: int, last: int
    ) -> Iterator[tuple[int, int, Any]]:
        """Let kept threads visit stretches of rows; yield each with what came of it, in order.

        A visit says before which row it has ended, which may be within its stretch.
        """
        stretches: deque[tuple[int, int, Future[Any] | None]] = deque(
            (begin, end, None) for begin, end in pairwise(self._bounds(first, last))
        )
        # One more than there are threads, so that none waits for its next.
        ahead = worker_count() + 1
        most_rows = last - first
        try:
            while stretches:
                place = 0
                while place < min(ahead, len(stretches)):
                    begin, end, visited = stretches[place]
                    if visited is None:
                        if end - begin > most_rows:
                            stretches.insert(place + 1, (begin + most_rows, end, None))
                            end = begin + most_rows
                        stretches[place] = begin, end, in_background(visit, begin, end)
                    place += 1
                begin, end, visited = stretches[0]
                assert visited is not None  # noqa: S101 - it was just begun
                behind, found = visited.result()
                stretches.popleft()
                if behind < end:
                    # Less than what found room, since rows that follow may find more.
                    most_rows = max(1, (behind - begin) * 7 // 8)
                    stretches.appendleft((behind, end, None))
                else:
                    most_rows = min(most_rows + most_rows // 16 + 1, last - first)
                yield begin, behind, found
        finally:
            wait([visited for *_, visited in stretches if visited is not None])

    def _bounds(self, first: int, last: int) -> list[int]:
        """Cut rows into stretches of about equal work."""
        workers = worker_count()
        rows = last - first
        share = rows / max(1, len(self._join.left))
        stretches = max(self._seconds * share / self._stretch, _STRETCHES_PER_WORKER * workers)
        stretches = max(1, min(int(stretches), rows))
        # Where only later rows are met, the first row meets all and the last none.
        parts = np.arange(stretches + 1) / stretches
        if self._which == LATER and first == 0 and last == len(self._join.left):
            parts = 1 - np.sqrt(1 - parts)
        bounds: list[int] = np.unique((first + parts * rows).astype(np.int64)).tolist()
        bounds[-1] = last
        return bounds
