"""What a join will take, known before any of it is done: updates, pairs, memory, time, and the way.

There are four ways on the CPU, and what each costs follows from how often each id occurs:

* `slicing` adds masks of all rows, 1,024 at a time: cheap where ids are in so many rows that a mask
  of them has a few bits for each 1,024. Where a few hundred such ids make most updates, and their
  masks stay in the cache, a row meets all right rows at once, and the others' lists are cheap too;
* `counting` updates counters and looks at all of them: cheap where rows share much, so that lists
  are long beside the number of rows;
* `gathering` walks lists alone: for sparse rows, whose counters would mostly be looked at in vain;
* `prefixes` lists rows for a few of their ids and compares candidates: for high thresholds.

The constants are measured on one core of an AMD EPYC with AVX-512. They decide between ways whose
times are far apart, and say seconds from minutes; they promise no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warpladder.call import joined
from warpladder.device.environment import worker_count
from warpladder.device.host_memory import in_words
from warpladder.overlap_join.groups import GROUP, MASKS_AT_ONCE, memory_of_scratch
from warpladder.overlap_join.index import BLOCK_BITS, LONGEST_LIST
from warpladder.overlap_join.lanes import LANES
from warpladder.overlap_join.masks import are_met_at_once, memory_of_masks
from warpladder.overlap_join.occurring import Occurring
from warpladder.overlap_join.prefixes import prefix_frequency, prefix_lengths
from warpladder.overlap_join.slices import AT_ONCE, ROWS, WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Join

__all__ = [
    "Plan",
    "Way",
    "choose_way",
    "ids_of",
    "memory_of",
    "most_pairs_of",
    "seconds_of",
    "updates_of",
]

# Nanoseconds, on one core: an update of a counter in a list, the look at 64 counters, the same for
# each eight hot ids, and the start of a list.
_COUNTED, _LOOK, _SIGNED, _LIST = 0.5, 2.5, 2.0, 12.0
# For 1,024 rows: adding a mask; comparing counts with a threshold, and noting what is a pair; going
# through one more segment of masks; and a mask fetched for a group of rows. A row met in a list,
# with sorting it; and making a mask.
_MASK, _PANEL, _SEGMENT, _FETCHED, _LISTED, _MARKED = 2.0, 10.0, 10.0, 10.0, 12.0, 60.0
# The same where a row meets all panels at once, measured on a Xeon with AVX-512: adding a mask,
# what else is done for 1,024 rows, a row met in a list, and the start of a list.
_MASK_MET, _PANEL_MET, _MET, _LIST_MET = 4.0, 55.0, 2.0, 8.0
# A row met twice in lists, with the start of a list, and a left row.
_GATHERED, _GATHERED_LIST, _GATHERED_ROW = 4.0, 25.0, 100.0
# A row met in lists of prefixes: seen before, or compared.
_MATCHED = 100.0
# An id coded, and listed.
_CODED = 60.0
_MOST_HOT_BYTES = 4
# Bytes of masks at most; an id in fewer than one of so many rows takes less time as a list.
_MOST_MASKS, _SCARCE = 1 << 30, 4096
# Below so many masks, each number of them is tried.
_TRIED = MASKS_AT_ONCE
# The ids looked at to tell that prefixes would leave too many candidates.
_CAPPED = 4096


@dataclass(frozen=True, slots=True)
class Way:
    """How the CPU finds pairs.

    Attributes
    ----------
    name
        ``slicing``, ``counting``, ``gathering`` or ``prefixes``.
    hot_bytes
        For counting: signatures take the ``8 * hot_bytes`` hottest ids.
    seconds
        Of one core, about.
    why
        For people.
    lone
        Of all but prefixes: so many of the first ids are in one row only, and need no list.
    masks
        For slicing: so many of the last, and hottest, ids have masks.
    at_once
        For slicing: whether a row meets all panels at once, and lists are not sorted.
    """

    name: str
    hot_bytes: int
    seconds: float
    why: str
    lone: int = 0
    masks: int = 0
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a join will take.

    Attributes
    ----------
    rows, other_rows
        How many rows there are; ``other_rows`` is None where rows are joined with themselves.
    ids
        How many ids the rows list, of both sides together, and `universe` how many different ones.
    universe
        How many different ids there are.
    updates
        Over all pairs of rows, how many ids they share: what brute force by lists would count. For
        rows joined with themselves, the sum of f (f - 1) / 2 over ids that f rows have.
    expected_pairs
        How many pairs there will be, from a sample of the rows; exact where that is all rows. With
        ``top_k`` rather more: that many of each row, or all pairs if these are fewer.
    most_pairs
        There cannot be more.
    memory
        Bytes of the host at most, without the rows as they were given; the result included, unless
        pairs are only counted.
    result_memory
        Bytes of the result.
    seconds
        About how long it takes on the CPU, once compiled; None on a GPU, where that is not known.
    engine
        ``"cpu"`` or the name of the GPU.
    method
        Of the engine: ``slicing``, ``counting``, ``gathering`` or ``prefixes``.
    why
        Why this engine and this method.
    """

    rows: int
    other_rows: int | None
    ids: int
    universe: int
    updates: int
    expected_pairs: int
    most_pairs: int
    memory: int
    result_memory: int
    seconds: float | None
    engine: str
    method: str
    why: str

    def __str__(self) -> str:
        """Return it in a few lines, for people."""
        rows = f"{self.rows:,}"
        if self.other_rows is not None:
            rows += f" with {self.other_rows:,}"
        return "\n".join(
            (
                f"rows      {rows}, {self.ids:,} ids of {self.universe:,}",
                f"updates   {self.updates:,}",
                f"pairs     about {self.expected_pairs:,}, at most {self.most_pairs:,}",
                f"memory    {in_words(self.memory)}",
                f"time      {_in_time(self.seconds)}",
                f"engine    {self.engine}, {self.method}: {self.why}",
            )
        )


def _in_time(seconds: float | None) -> str:
    if seconds is None:
        return "not known on a GPU"
    if seconds < 1:
        return "less than a second"
    if seconds < 120:
        return f"about {seconds:.0f} s"
    if seconds < 7200:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:,.0f} h"


def updates_of(join: Join, occurring: Occurring) -> int:
    """Return how many ids all pairs of rows share."""
    if join.is_self:
        listed = occurring.listed
        return (_product(listed, occurring.rows) - int(listed.sum())) // 2
    return _product(np.bincount(join.left.items, minlength=join.left.universe), occurring.rows)


def _product(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Return the sum of products, which 64 bits may not hold."""
    if int(a.sum()) * int(b.max(initial=0)) > np.iinfo(np.int64).max:
        return int(np.dot(a.astype(object), b))
    return int(np.dot(a, b))


def choose_way(join: Join, occurring: Occurring) -> Way:
    """Return the way that takes the least time on the CPU.

    ``occurring`` tells in how many right rows ids are.
    """
    # Of rows joined with themselves no two share what is in one row only.
    shared = occurring.behind(occurring.alone) if join.is_self else occurring
    universe = join.right.universe
    lone = universe - shared.universe
    n, m = len(join.left), len(join.right)
    both = 0.5 if join.is_self and not join.both_ways else 1.0
    own = shared if join.is_self else Occurring(
        np.bincount(join.left.items, minlength=join.left.universe)
    )  # fmt: skip
    lists = float(join.left.size)
    total = _product(own.listed, shared.rows) * both

    looks = n * float(m) * both / LANES
    blocks = max(1, -(-m >> BLOCK_BITS)) * both if m >> BLOCK_BITS else 1.0
    counting = []
    own_hottest, hottest = (one.hottest(8 * _MOST_HOT_BYTES) for one in (own, shared))
    for hot_bytes in range(min(_MOST_HOT_BYTES, universe // 8) + 1):
        hot = slice(8 * hot_bytes)
        updates = total - _product(own_hottest[hot], hottest[hot]) * both
        counting.append(
            updates * _COUNTED + looks * (_LOOK + hot_bytes * _SIGNED) + lists * blocks * _LIST
        )
    hot_bytes = int(np.argmin(counting))
    bits = f"the {8 * hot_bytes} hottest ids as bits" if hot_bytes else ""
    gathering = total * _GATHERED + lists * _GATHERED_LIST + n * _GATHERED_ROW
    slicing, masks, at_once = _slicing_of(join, own, shared, total)
    others = min(slicing, counting[hot_bytes], gathering)
    matching = _matching_of(join, shared, total, others)
    ways = [
        Way(
            "counting",
            hot_bytes,
            counting[hot_bytes] * 1e-9,
            joined("rows share much", bits),
            lone,
        ),
        Way(
            "slicing",
            0,
            slicing * 1e-9,
            f"rows share much; the {masks:,} hottest ids as masks" if masks else "rows share some",
            min(lone, universe - masks),
            masks,
            at_once,
        ),
        Way("gathering", 0, gathering * 1e-9, "rows share little", lone),
        Way("prefixes", 0, matching * 1e-9, "the threshold leaves few candidates"),
    ]
    if _may_overflow(join):
        ways = ways[1:]
    if shared.rows.max(initial=0) > LONGEST_LIST:
        ways = [way for way in ways if way.name != "gathering"]
    return min(ways, key=lambda way: way.seconds)


def _slicing_of(
    join: Join, own: Occurring, occurring: Occurring, total: float
) -> tuple[float, int, bool]:
    """Return how many nanoseconds slicing takes, how many ids have masks, `Way.at_once`.

    Of ids that rows may share ``own`` and ``occurring`` tell in how many left and right rows they
    are; ``total`` is how many updates all take.
    """
    n, panels = len(join.left), max(1, -(-len(join.right) // ROWS))
    both = 0.5 if join.is_self and not join.both_ways else 1.0
    common = occurring.number(occurring.rows > len(join.right) / _SCARCE)
    most = min(common, _MOST_MASKS // (8 * WORDS * panels))
    # So many are tried: of thousands, it matters little whether a few more have masks.
    every, some = np.arange(min(most, _TRIED)), np.arange(_TRIED, most, MASKS_AT_ONCE // 8)
    hot = np.concatenate((every, some, [most]))
    masks = own.sums_of_hottest(own.rows, hot)
    updates = own.sums_of_hottest(own.rows.astype(np.float64) * occurring.rows, hot)
    # Masks are added eight at a time, of which some are empty, and in segments of so many ids.
    segments = -(-hot // MASKS_AT_ONCE)
    added = masks + n * (AT_ONCE // 2) * segments
    listed, lists = total - both * updates, float(join.left.size) - masks
    in_chunks = (
        both * panels * (added * _MASK + n * (_PANEL + _SEGMENT * segments))
        + both * panels * hot * (n / GROUP) * _FETCHED
        + listed * _LISTED
        + lists * _LIST
    )
    at_once = (
        both * panels * (added * _MASK_MET + n * _PANEL_MET) + listed * _MET + lists * _LIST_MET
    )
    at_once[~(are_met_at_once(panels, hot) & (lists > 0))] = math.inf
    costs = np.minimum(in_chunks, at_once) + hot * (panels * _MARKED)
    if occurring.rows.max(initial=0) > LONGEST_LIST:
        # What stands before the masked ones has lists.
        longest = np.concatenate(([0], np.maximum.accumulate(occurring.of_each)))[::-1]
        costs[longest[hot] > LONGEST_LIST] = math.inf
    best = int(np.argmin(costs))
    return float(costs[best]), int(hot[best]), bool(at_once[best] < in_chunks[best])


def _matching_of(join: Join, occurring: Occurring, total: float, others: float) -> float:
    """Return how many nanoseconds it takes to match prefixes, infinity if more than ``others``.

    ``occurring`` is of ids that rows may share, ``total`` how many updates these take.
    """
    both = 0.5 if join.is_self and not join.both_ways else 1.0
    prefixes = prefix_lengths(join.right, join.rule)
    if join.is_self:
        # There are the fewest where prefixes have all ids equally often.
        fewest = float(prefixes.sum()) ** 2 / max(1, join.right.universe) * both
        if fewest * _MATCHED > others:
            return math.inf
        # Prefixes leave out so many ids at the most; were these of the hottest only, until all are
        # equally frequent, so many candidates would still be left.
        left_out = join.right.size - int(prefixes.sum())
        # They may not ascend where rows have ids twice, or some are left out.
        rows = occurring.rows
        is_ascending = bool((rows[1:] >= rows[:-1]).all())
        ascending = occurring if is_ascending else Occurring(np.sort(occurring.of_each))
        hottest = ascending.hottest(_CAPPED).astype(np.float64)
        above = np.cumsum(hottest) - hottest * np.arange(1, len(hottest) + 1)
        enough = int(np.searchsorted(above, left_out))
        if enough < len(hottest):
            capped = np.minimum(hottest, hottest[enough])
            spared = float(np.dot(hottest, hottest) - np.dot(capped, capped)) * both
            if (total - spared) * _MATCHED > others:
                return math.inf
    short = prefix_frequency(join.right, prefixes)
    own_short = short if join.is_self else prefix_frequency(
        join.left, prefix_lengths(join.left, join.rule)
    )  # fmt: skip
    candidates = float(np.dot(own_short.astype(np.float64), short)) * both
    lists = float(own_short.sum())
    return candidates * _MATCHED + lists * _GATHERED_LIST + len(join.left) * _GATHERED_ROW


def _may_overflow(join: Join) -> bool:
    """Tell whether two rows may share more ids than counters of 16 bits hold."""
    longest = [int(np.diff(rows.starts).max(initial=0)) for rows in (join.left, join.right)]
    return min(longest) > np.iinfo(np.uint16).max


def seconds_of(way: Way, join: Join) -> float:
    """Return about how many seconds a way takes on all cores, with the index."""
    return (way.seconds + ids_of(join) * _CODED * 1e-9) / worker_count()


def ids_of(join: Join) -> int:
    """Return how many ids the rows list."""
    return join.left.size + (0 if join.is_self else join.right.size)


def most_pairs_of(join: Join, updates: int) -> int:
    """Return how many pairs there can be at most."""
    n, m = len(join.left), len(join.right)
    every = n * m if not join.is_self else n * (n - 1) // (1 if join.both_ways else 2)
    # Each pair takes as many updates as its rows share, which is once at the least.
    each = int(join.rule.threshold) if join.rule.name == "count" else 1
    return min(every, updates * (2 if join.both_ways else 1) // each)


def memory_of(join: Join, way: Way, most_pairs: int) -> int:
    """Return how many bytes the CPU engine takes at most, with the coded rows.

    Parameters
    ----------
    join, way
        What is done, and how.
    most_pairs
        How many pairs there can be.
    """
    n, m, workers = len(join.left), len(join.right), worker_count()
    blocks = -(-m >> BLOCK_BITS) if way.name == "counting" else 1
    coded = 4 * ids_of(join) + 8 * (n + m)
    index = (2 if way.name == "counting" else 4) * join.right.size
    starts = 8 * join.right.universe * blocks * (1 + workers)
    # Of each id, where the rows behind its own begin in its list.
    behind = 8 * ids_of(join) if way.name != "prefixes" and join.is_self else 0
    pairs = max(m, 1 << 20)
    room = 8 * pairs
    # Of the stretches ahead, begun and cut, what is found and not taken yet.
    waiting = min(2 * (workers + 1) * room, 8 * most_pairs)
    known = way.hot_bytes * (n + m) + memory_of_masks(m, way.masks)
    each = {"counting": 9 * m, "slicing": memory_of_scratch(m, way.masks, pairs)}.get(
        way.name, 8 * m
    )
    # Rows listed as they were given: two tables of up to two places an id, and copies of lists,
    # eight rows or fewer for each id.
    given = 24 * ids_of(join) + 24 * n * workers if way.at_once else 0
    return given + coded + index + starts + behind + known + workers * (room + each) + waiting
