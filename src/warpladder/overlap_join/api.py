"""The library call: `overlap_join`, and its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, overload

from warpladder.call import Progress, check_progress, naming_memory
from warpladder.flags import as_flag
from warpladder.overlap_join.gathered import gathered
from warpladder.overlap_join.intake import as_sets
from warpladder.overlap_join.plan import Plan
from warpladder.overlap_join.prepared import as_options, prepared_for
from warpladder.overlap_join.result import OverlapCounts, Overlaps, Side
from warpladder.overlap_join.work import as_fraction, row_work

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.formats.sets import Sets

__all__ = ["overlap_join", "plan"]

Measure = Literal["count", "jaccard", "cosine", "dice", "containment"]


class _OverlapJoin(Protocol):
    """`overlap_join` with its plan, for type checkers."""

    plan: Callable[..., Plan]

    @overload
    def __call__(
        self, rows: Any, threshold: float = ..., *, other: Any = ..., measure: Measure = ...,
        top_k: int | None = ..., max_frequency: float | None = ...,
        count_only: Literal[False] = ..., device: Literal["auto", "cpu", "cuda"] | Device = ...,
        progress: Progress | None = ...,
    ) -> Overlaps: ...  # fmt: skip

    @overload
    def __call__(
        self, rows: Any, threshold: float = ..., *, other: Any = ..., measure: Measure = ...,
        top_k: int | None = ..., max_frequency: float | None = ..., count_only: Literal[True],
        device: Literal["auto", "cpu", "cuda"] | Device = ..., progress: Progress | None = ...,
    ) -> OverlapCounts: ...  # fmt: skip

    @overload
    def __call__(
        self, rows: Any, threshold: float = ..., *, other: Any = ..., measure: Measure = ...,
        top_k: int | None = ..., max_frequency: float | None = ..., count_only: bool,
        device: Literal["auto", "cpu", "cuda"] | Device = ..., progress: Progress | None = ...,
    ) -> Overlaps | OverlapCounts: ...  # fmt: skip


def _planned(function: Callable[..., Any]) -> _OverlapJoin:
    return cast(_OverlapJoin, function)


@_planned
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

    Rows without ids are like none. Memory: the ids, up to four times, and 8 bytes a pair.

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
    only_counted = as_flag("count_only", count_only)
    rule, most, share = as_options(threshold, measure, top_k, max_frequency)
    sides = _as_sides(rows, other)
    prepared = prepared_for(sides, rule, most, share, device, count_only=only_counted)
    join, planned = prepared.join, prepared.plan
    n = len(join.left)
    advanced = as_fraction(progress, row_work(join), (0, 0, n))
    left, right = (Side(sets.ids, coded_.starts) for sets, coded_ in
                   ((sides[0], join.left), (sides[-1], join.right)))  # fmt: skip
    with naming_memory("rows", "what finds its pairs"):
        engine = prepared.engine()
        if only_counted:
            counted = engine.counted(0, n, advanced)
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
        pairs = gathered(engine.found(0, n, advanced), n)
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
    rule, most, share = as_options(threshold, measure, top_k, max_frequency)
    sides = _as_sides(rows, other)
    return prepared_for(
        sides, rule, most, share, device, count_only=count_only, is_refused=False, is_estimated=True
    ).plan


def _as_sides(rows: Any, other: Any) -> tuple[Sets, ...]:
    first = as_sets(rows, "rows")
    return (first,) if other is None else (first, as_sets(other, "other"))


overlap_join.plan = plan
