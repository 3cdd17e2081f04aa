"""The library call: `overlap_join`, and what it does before any work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from warpladder.call import (
    Progress,
    Target,
    check_progress,
    joined,
    naming_memory,
    target_for,
)
from warpladder.device.environment import require_compiler
from warpladder.device.host_memory import host_memory, in_words
from warpladder.errors import InputError, InputTypeError, TooLargeError
from warpladder.overlap_join.coding import coded
from warpladder.overlap_join.forms import Join
from warpladder.overlap_join.gathered import gathered
from warpladder.overlap_join.intake import as_sets
from warpladder.overlap_join.measures import Rule, as_rule
from warpladder.overlap_join.plan import (
    Plan,
    Way,
    choose_way,
    ids_of,
    memory_of,
    most_pairs_of,
    seconds_of,
    updates_of,
)
from warpladder.overlap_join.result import OverlapCounts, Overlaps, Side
from warpladder.overlap_join.sample import expected_pairs_of
from warpladder.overlap_join.top import BestOfEach

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.formats.sets import Sets
    from warpladder.overlap_join.forms import Engine

__all__ = ["Prepared", "overlap_join", "plan", "prepare"]

# Below so many seconds on the CPU, data are joined before they are on a GPU.
_NOT_WORTH_A_GPU = 0.05
# A pair in the result: its right row and how many ids it shares.
_PAIR_BYTES = 8
# Where the result may take so much of the memory at hand, it is estimated before.
_WORTH_ESTIMATING = 0.25

Measure = Literal["count", "jaccard", "cosine", "dice", "containment"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A join about to be done.

    Attributes
    ----------
    join
        What is to be found.
    plan
        What it will take.
    """

    join: Join
    plan: Plan
    _way: Way
    _target: Target
    _most: int | None

    def engine(self) -> Engine:
        """Return what does it, with its index."""
        if self._target.device is None:
            from warpladder.overlap_join.cpu import CpuEngine

            engine: Engine = CpuEngine(self.join, self._way)
        else:
            from warpladder.overlap_join.gpu.engine import GpuEngine

            engine = GpuEngine(self.join, self._target.device)
        return engine if self._most is None else BestOfEach(engine, self.join, self._most)


@overload
def overlap_join(
    rows: Any, threshold: float = ..., *, other: Any = ..., measure: Measure = ...,
    top_k: int | None = ..., max_frequency: float | None = ..., count_only: Literal[False] = ...,
    device: Literal["auto", "cpu", "cuda"] | Device = ..., progress: Progress | None = ...,
) -> Overlaps: ...  # fmt: skip


@overload
def overlap_join(
    rows: Any, threshold: float = ..., *, other: Any = ..., measure: Measure = ...,
    top_k: int | None = ..., max_frequency: float | None = ..., count_only: Literal[True],
    device: Literal["auto", "cpu", "cuda"] | Device = ..., progress: Progress | None = ...,
) -> OverlapCounts: ...  # fmt: skip


def overlap_join(
    rows: Any,
    threshold: float = 2,
    *,
    other: Any = None,
    measure: Measure = "count",
    top_k: int | None = None,
    max_frequency: float | None = None,
    count_only: bool = False,
    device: Literal["auto", "cpu", "cuda"] | Device = "auto",
    progress: Progress | None = None,
) -> Overlaps | OverlapCounts:
    """Find all pairs of rows that share ids: exactly, every pair, at the speed of the hardware.

    Parameters
    ----------
    rows
        Rows of ids: a list of sets, a mapping from the row's own id to its set, an array with a set
        in each row, a sparse matrix, a data frame or an Arrow table, `Sets` that `read_sets` has
        read, or a file. Ids are integers of 64 bits or strings; what a row has twice counts once.
    threshold
        How alike two rows must be at the least: the number of ids they share, from 1 on; with
        another measure a fraction above 0 and up to 1.
    other
        Other rows, of the same forms: then each of ``rows`` is joined with each of these. By
        default ``rows`` are joined with themselves, each pair once.
    measure
        With o ids shared by rows of a and b ids: ``"count"``, o; ``"jaccard"``, o / (a + b - o);
        ``"cosine"``, o / sqrt(a b); ``"dice"``, 2 o / (a + b); ``"containment"``, o / min(a, b).
        The float64 of it is compared with the threshold: 3 of 10 are at least 0.3.
    top_k
        Keep for each row only the so many rows that are most alike, the best first, of equals the
        first ones. Of rows joined with themselves a pair may then stand twice, from each of its
        rows.
    max_frequency
        Leave out ids that more rows than this have, or more than this share of all rows where it is
        below 1. This changes the answer, and the sizes that fractions refer to.
    count_only
        Count the pairs, and those of each row, without keeping them.
    device
        ``"cpu"``; ``"cuda"``, the first GPU; ``"auto"``, a GPU where there is one and work enough;
        or a `warpladder.device.base.Device`.
    progress
        Called now and then, in the calling thread, with the fraction done; what it raises passes
        through.

    Returns
    -------
    Overlaps or OverlapCounts
        Pairs in the order of the left rows, and for each of these of the right ones, left before
        right: arrays ``left``, ``right`` (row ids; positions, where rows have none) and ``shared``.
        With ``count_only`` their number, and that of each row.

    Raises
    ------
    InputError
        An argument has a value that cannot be used; a file does not follow its format
        (`FileFormatError`).
    InputTypeError
        An argument is of a kind that is not taken.
    TooLargeError
        The pairs to be expected do not fit the memory at hand; ``count_only``, a higher threshold
        or writing them to a file in pieces (``warpladder overlap``) go on from there.
    DeviceError
        The device is not there, or NUMBA_DISABLE_JIT is set.

    Notes
    -----
    Cost: with f rows for an id, the sum over ids of f (f - 1) / 2 updates of counters, some 10^9 a
    second on a core, less those of the few ids that most rows have, which go as bits; at worst a
    look at n^2 / 128 words. For rows that share little, lists are walked instead; for thresholds
    high beside the rows, only a few ids of each are looked at [1]_ [2]_. ``overlap_join.plan``,
    with the same arguments, says what would be done, and what it takes. All of it is exact on
    either device.

    Rows without ids are like none. Memory: the ids, twice, and 8 bytes a pair.

    References
    ----------
    .. [1] Bayardo, Ma, Srikant, "Scaling up all pairs similarity search", 2007.
    .. [2] Mann, Augsten, Bouros, "An empirical evaluation of set similarity join techniques", 2016.

    Examples
    --------
    >>> import warpladder as wl
    >>> rows = {1: [2, 5, 6, 10, 11], 2: [5, 10, 11, 15], 3: [6, 10, 11, 17], 4: [3, 10, 12, 17]}
    >>> alike = wl.overlap_join(rows, 2)
    >>> alike.groups()
    {1: [2, 3], 2: [1, 3], 3: [1, 2, 4], 4: [3]}
    >>> list(wl.overlap_join(rows, 0.4, measure="jaccard"))
    [(1, 2, 3), (1, 3, 3)]
    >>> wl.overlap_join(rows, 1, count_only=True).degrees
    array([3, 3, 3, 3])
    """
    check_progress(progress)
    if not isinstance(count_only, (bool, np.bool_)):
        raise InputTypeError(f"count_only={count_only!r} must be True or False")
    rule, most, share = _as_options(threshold, measure, top_k, max_frequency)
    sides = _as_sides(rows, other)
    prepared = _prepare(sides, rule, most, share, device, count_only=bool(count_only))
    join, planned = prepared.join, prepared.plan
    advanced = _as_fraction(progress, join)
    left, right = (Side(sets.ids, coded_.starts) for sets, coded_ in
                   ((sides[0], join.left), (sides[-1], join.right)))  # fmt: skip
    with naming_memory("rows", "what finds its pairs"):
        engine = prepared.engine()
        if count_only:
            counted = engine.counted(0, len(join.left), advanced)
            degrees = counted.of_left
            if join.is_self and not join.both_ways:
                degrees = degrees + counted.of_right
            return OverlapCounts(
                counted.pairs,
                degrees,
                None if join.is_self else counted.of_right,
                sides[0].ids,
                None if join.is_self else sides[1].ids,
                rule,
                planned.why,
            )
        pairs = gathered(engine.found(0, len(join.left), advanced), len(join.left))
    return Overlaps(
        *pairs, (left, left if join.is_self else right), rule, join.both_ways, planned.why
    )


def plan(
    rows: Any,
    threshold: float = 2,
    *,
    other: Any = None,
    measure: Measure = "count",
    top_k: int | None = None,
    max_frequency: float | None = None,
    count_only: bool = False,
    device: Literal["auto", "cpu", "cuda"] | Device = "auto",
) -> Plan:
    """Say what `overlap_join` would do for the same arguments, and what it takes.

    Cost: that of reading and coding the rows, and a sample of their pairs.

    Examples
    --------
    >>> import warpladder as wl
    >>> wl.overlap_join.plan([{1, 2, 3}, {2, 3, 4}, {3, 4, 5}], 2).updates
    5
    """
    rule, most, share = _as_options(threshold, measure, top_k, max_frequency)
    sides = _as_sides(rows, other)
    return _prepare(
        sides, rule, most, share, device, count_only=count_only, is_refused=False, is_estimated=True
    ).plan


def prepare(
    rows: Sets,
    *,
    other: Sets | None = None,
    threshold: float = 2,
    measure: str = "count",
    top_k: int | None = None,
    max_frequency: float | None = None,
    both_ways: bool = False,
    device: Any = "auto",
    memory: int | None = None,
) -> Prepared:
    """Return a join about to be done whose pairs are to be taken in pieces.

    Parameters
    ----------
    rows, other, threshold, measure, top_k, max_frequency, device
        As for `overlap_join`.
    both_ways
        Whether pairs of rows joined with themselves are wanted from both of their rows.
    memory
        How many bytes of the host it may take.

    Raises
    ------
    TooLargeError
        It takes more than that.
    """
    rule, most, share = _as_options(threshold, measure, top_k, max_frequency)
    sides = (rows,) if other is None else (rows, other)
    return _prepare(
        sides, rule, most, share, device,
        count_only=True, both_ways=both_ways, memory=memory, is_estimated=True,
    )  # fmt: skip


def _prepare(
    sides: tuple[Sets, ...],
    rule: Rule,
    most: int | None,
    share: float | None,
    device: Any,
    *,
    count_only: bool,
    both_ways: bool = False,
    memory: int | None = None,
    is_refused: bool = True,
    is_estimated: bool = False,
) -> Prepared:
    require_compiler()
    stop = share
    if share is not None and share < 1:
        stop = _rows_of_share(share, sum(map(len, sides)))
    with naming_memory("rows", "its ids as codes"):
        codes = coded(sides[0], sides[1] if len(sides) > 1 else None, stop)
    join = Join(codes.left, codes.right, rule, both_ways or (most is not None and len(sides) == 1))
    way = choose_way(join, codes.frequency)
    seconds = seconds_of(way, join)
    target = target_for(
        device,
        too_small="" if seconds > _NOT_WORTH_A_GPU else f"joined on the CPU in {seconds:.2g} s",
    )
    updates = updates_of(join, codes)
    at_most = most_pairs_of(join, updates)
    if most is not None:
        at_most = min(at_most, most * len(join.left))
    limit = host_memory()
    expected = at_most
    if is_estimated or (
        not count_only
        and limit is not None
        and at_most * _PAIR_BYTES > _WORTH_ESTIMATING * limit.available
    ):
        expected = min(at_most, expected_pairs_of(join))
    result = 8 * len(join.left) + (0 if count_only else _PAIR_BYTES * expected)
    needed = memory_of(join, way, at_most) + result
    planned = Plan(
        rows=len(join.left),
        other_rows=None if join.is_self else len(join.right),
        ids=ids_of(join),
        universe=join.left.universe,
        updates=updates,
        expected_pairs=expected,
        most_pairs=at_most,
        memory=needed,
        result_memory=result,
        seconds=seconds,
        engine="cpu" if target.device is None else target.device.properties.name,
        method=way.name if target.device is None else "counting",
        why=joined(target.remark, way.why if target.device is None else ""),
    )
    if memory is not None and needed > memory:
        raise TooLargeError(
            f"rows: joining them takes {in_words(needed)} of memory, more than the "
            f"{in_words(memory)} that are allowed"
        )
    if is_refused and limit is not None and needed > limit.available:
        raise TooLargeError(
            f"rows: about {expected:,} pairs are to be expected, with which the join takes "
            f"{in_words(needed)}; {limit}; count_only=True counts them, a higher threshold leaves "
            "fewer, and `warpladder overlap ROWS -o PAIRS` writes them in pieces"
        )
    return Prepared(join, planned, way, target, most)


def _rows_of_share(share: float, rows: int) -> int:
    """Return the most rows that are no more than a share of all, compared as their quotient is."""
    most = round(share * rows)
    return most if most <= 0 or most / rows <= share else most - 1


def _as_options(
    threshold: Any, measure: Any, top_k: Any, max_frequency: Any
) -> tuple[Rule, int | None, float | None]:
    """Return the options, checked."""
    rule = as_rule(measure, threshold)
    most = None
    if top_k is not None:
        try:
            most = index(top_k)
        except TypeError:
            most = 0
        if isinstance(top_k, (bool, np.bool_)) or most < 1:
            raise InputError(f"top_k={top_k!r:.60} must be a whole number from 1 on, or None")
        # There are never more rows, and arrays compare with no larger number.
        most = min(most, np.iinfo(np.int32).max)
    if max_frequency is None:
        return rule, most, None
    try:
        share = float(max_frequency)
    except (TypeError, ValueError, OverflowError):
        share = 0.0
    if isinstance(max_frequency, (bool, np.bool_, str, bytes)) or not share > 0:
        raise InputError(
            f"max_frequency={max_frequency!r} must be a number of rows from 1 on, a share of them "
            "below 1, or None"
        )
    return rule, most, share


def _as_sides(rows: Any, other: Any) -> tuple[Sets, ...]:
    first = as_sets(rows, "rows")
    return (first,) if other is None else (first, as_sets(other, "other"))


def _as_fraction(progress: Progress | None, join: Join) -> Callable[[int], None]:
    """Return what takes numbers of left rows done and tells the fraction of the work."""
    if progress is None:
        return lambda _: None
    rows, done = len(join.left), 0

    def advanced(count: int) -> None:
        nonlocal done
        done += count
        left = 1 - done / rows
        # Where rows meet only those behind them, the first have most to do.
        progress(1 - left * left if join.is_self and not join.both_ways else 1 - left)

    return advanced


overlap_join.plan = plan  # type: ignore[attr-defined]  # a function has no field for it
