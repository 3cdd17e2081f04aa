"""A join before any work: its options checked, its rows coded, its plan, and what refuses it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.call import Target, joined, naming_memory, target_for
from warpladder.device.environment import require_compiler
from warpladder.device.host_memory import host_memory, in_words
from warpladder.errors import InputError, TooLargeError
from warpladder.overlap_join.coding import coded
from warpladder.overlap_join.forms import Join
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
from warpladder.overlap_join.sample import expected_pairs_of
from warpladder.overlap_join.top import BestOfEach

if TYPE_CHECKING:
    from warpladder.formats.sets import Sets
    from warpladder.overlap_join.forms import Engine

__all__ = ["Prepared", "as_options", "prepare", "prepared_for"]

# Below so many seconds on the CPU, data are joined before they are on a GPU.
_NOT_WORTH_A_GPU = 0.05
# A pair in the result: its right row and how many ids it shares.
_PAIR_BYTES = 8
# Where the result may take so much of the memory at hand, it is estimated before.
_WORTH_ESTIMATING = 0.25


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
    rule, most, share = as_options(threshold, measure, top_k, max_frequency)
    sides = (rows,) if other is None else (rows, other)
    return prepared_for(
        sides, rule, most, share, device,
        count_only=True, both_ways=both_ways, memory=memory, is_estimated=True,
    )  # fmt: skip


def prepared_for(
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
    """Return a join about to be done.

    Parameters
    ----------
    sides, rule, most, share, device
        The rows, and the options as `as_options` returns them.
    count_only
        Whether pairs are not all kept in memory.
    both_ways
        Whether pairs of rows joined with themselves are wanted from both of their rows.
    memory
        How many bytes it may take, if they are limited.
    is_refused
        Whether a join that does not fit the memory at hand is.
    is_estimated
        Whether the pairs to be expected are looked for in any case.

    Raises
    ------
    TooLargeError
        It does not fit.
    """
    require_compiler()
    stop = share
    if share is not None and share < 1:
        stop = _rows_of_share(share, sum(map(len, sides)))
    with naming_memory("rows", "its ids as codes"):
        codes = coded(sides[0], sides[1] if len(sides) > 1 else None, stop)
    join = Join(codes.left, codes.right, rule, both_ways or (most is not None and len(sides) == 1))
    way = choose_way(join, codes.occurring)
    seconds = seconds_of(way, join)
    target = target_for(
        device,
        too_small="" if seconds > _NOT_WORTH_A_GPU else "too little work for a GPU",
    )
    updates = updates_of(join, codes.occurring)
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
        seconds=seconds if target.device is None else None,
        engine="cpu" if target.device is None else target.device.properties.name,
        method=way.name if target.device is None else "counting",
        why=joined(target.remark, way.why if target.device is None else ""),
    )
    if memory is not None and needed > memory:
        raise TooLargeError(
            f"memory={memory:,} bytes: joining the rows takes more, {in_words(needed)}"
        )
    if is_refused and limit is not None and needed > limit.available:
        if count_only:
            raise TooLargeError(
                f"rows: joining them takes {in_words(needed)}; {limit}; join fewer at a time"
            )
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


def as_options(
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
            raise InputError(
                f"top_k={top_k!r:.60} must be a whole number from 1 on; leave it out for all pairs"
            )
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
            "below 1; leave it out to count every id"
        )
    return rule, most, share
