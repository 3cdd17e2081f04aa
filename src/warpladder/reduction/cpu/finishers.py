"""What makes results of states as `Plan.finish` does, with fewer steps, where that is all there is.

To finish arrays of one result takes as long as to add 100 kB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.cpu.line_results import leaving_results
from warpladder.reduction.ops import Field, Op, Sums
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.quiet import quietly

__all__ = ["array_maker", "finisher", "number_maker", "one_field"]

# Fields of which results are made that are not one of them.
_FINISHED = frozenset({
    *("nonzero", "total", "whole_low", "whole_high", "whole_top"),
    *("deviation", "low", "high", "peak", "scaled"),
})  # fmt: skip


def finisher(plan: Plan, length: int) -> Callable[[Sequence[Any], int, int], list[NDArray[Any]]]:
    """Return what does what `Plan.finish` does for rows of a length that is not 0.

    It is called with their states, how many they are, and ``ddof``.
    """
    plans = [plan.of([which]) for which in range(len(plan.requests))]
    # Warnings are kept off once, for all.
    makers = [array_maker(each, length, is_quiet=True) for each in plans]
    slow = [which for which, make in enumerate(makers) if make is None]
    rest, may_round = plan.of(slow), any(each.may_round for each in plans)

    def make_all(states: Any, ddof: int) -> list[NDArray[Any] | None]:
        return [None if make is None else make(states, ddof) for make in makers]

    def finish(states: Sequence[Any], rows: int, ddof: int) -> list[NDArray[Any]]:
        given = states[0], ddof
        found = quietly(make_all, *given) if may_round else make_all(*given)
        late, whole = slow, rest
        if sum(one is None for one in found) > len(slow):
            late, whole = list(range(len(found))), plan
        if late:
            for which, result in zip(late, whole.finish(states, rows, length, ddof), strict=True):
                found[which] = result
        return [result for result in found if result is not None]

    return finish


def array_maker(
    plan: Plan, length: int, *, is_quiet: bool = False
) -> Callable[..., NDArray[Any] | None] | None:
    """Return what makes the results of rows of a length that is not 0, in half the time.

    It is called with their states, with ``ddof``, and perhaps with an array ``into`` which the
    results go. It is None for plans of which more is asked, and returns None where numbers came
    near the ends of their range or results do not fit. What `leaving_results` has made is taken as
    it is. NumPy gives no warnings; where it
    ``is_quiet`` the caller keeps them off.
    """
    plain = _plain_maker(plan, length, is_quiet=is_quiet)
    if leaving_results(plan) is plan:
        return plain
    dtype = plan.dtypes[0]

    def make(states: Any, ddof: int, into: NDArray[Any] | None = None) -> NDArray[Any] | None:
        if not (isinstance(states, dict) and "result" in states):
            return None if plain is None else plain(states, ddof, into)
        result: NDArray[Any] = states["result"].view(dtype)
        if into is None:
            return result
        into[...] = result
        return into

    return make


def _plain_maker(
    plan: Plan, length: int, *, is_quiet: bool
) -> Callable[..., NDArray[Any] | None] | None:
    """Return `array_maker` for fields."""
    op, part, dtype = plan.requests[0].op, plan.parts[0], plan.dtypes[0]
    if not (plan.is_plain and isinstance(part, FoldPart) and isinstance(op, Op)):
        return None
    if plan.masked or part.skip_nan:
        return None
    finish, kind = op.finish, part.new(1).dtype
    rare, rounds = part.rare if dtype.kind == "f" else (), plan.may_round
    if isinstance(finish, Field):
        rounds &= kind["square" if finish.name == "root" else finish.name] != dtype
    found_in = _finds(finish, kind.names or (), length)
    largest = np.iinfo(dtype).max if op.result == "range" and dtype.kind != "f" else None

    def make_loudly(
        states: Any, ddof: int, into: NDArray[Any] | None = None
    ) -> NDArray[Any] | None:
        for other in rare:
            if np.count_nonzero(states[other]):
                return None
        found: NDArray[Any] = found_in(states, ddof)
        if largest is not None and np.count_nonzero(found > largest):
            return None
        if into is None:
            # A view would keep all states, and dtypes that are equal have scalars of their own. To
            # copy a megabyte takes as long as to reduce three.
            must = found.base is not None or found.dtype is not dtype
            return found.astype(dtype, copy=must)
        into[...] = found
        return into

    def make(states: Any, ddof: int, into: NDArray[Any] | None = None) -> NDArray[Any] | None:
        return quietly(make_loudly, states, ddof, into)

    return make if rounds and not is_quiet else make_loudly


def _finds(
    finish: Callable[[Sums], Any], names: Sequence[str], length: int
) -> Callable[[Any, int], NDArray[Any]]:
    """Return what finds in the states of rows of a length, and ``ddof``, what results are made of.

    They have these fields, of which none is rare.
    """
    if isinstance(finish, Field) and finish.name != "root":
        name = finish.name
        return lambda states, _ddof: states[name]
    if isinstance(finish, Field):
        return lambda states, _ddof: _root(states["square"])
    read = _FINISHED.intersection(names)
    return lambda states, ddof: finish(Sums({name: states[name] for name in read}, length, ddof))


def _root(squares: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = np.sqrt(squares, None if squares.base is not None else squares)
    return found


def one_field(plan: Plan) -> tuple[str | None, Callable[[Any], Any] | None, tuple[int, ...]]:
    """Return the field of which results of any elements are made, None where it takes more.

    With it comes what makes a plain number of it, as `number_maker` says; None where the field is
    the result bit by bit. Last come the words of a state that must be 0 for that, two at the most.
    To read one field takes a quarter of the time that all take.
    """
    op, part, dtype = plan.requests[0].op, plan.parts[0], plan.dtypes[0]
    nothing = None, None, ()
    if not (isinstance(part, FoldPart) and isinstance(op, Op) and isinstance(op.finish, Field)):
        return nothing
    kind = part.new(1).dtype
    offsets = [kind.fields[name][1] for name in part.rare]
    if plan.masked or part.skip_nan or len(offsets) > 2 or any(at % 8 for at in offsets):
        return nothing
    checked, rare = _checker(op, dtype), tuple(at // 8 for at in offsets)
    if op.finish.name == "root":
        most = float(np.finfo(dtype).max)

        def root(square: float) -> float | None:
            result = sqrt(square)
            # Most are large enough for any dtype.
            return result if 1 <= result <= most else checked(result)

        return "square", root, rare
    # Dtypes that are equal may have scalars of their own.
    stands = kind[op.finish.name].type is dtype.type and not rare
    return op.finish.name, None if stands else checked, rare


def number_maker(plan: Plan) -> Callable[[tuple[Any, ...], int], Any] | None:
    """Return what makes the result of a row's state and ``ddof``, as `Plan.finish` does.

    The state comes as a tuple of plain numbers, the result as one, and what a plain number cannot
    be it returns None for: results that do not fit their dtype, divisions by zero, rows without
    elements. It is None itself for plans of several operations or parts, and for few others.
    """
    op, part = plan.requests[0].op, plan.parts[0]
    if not plan.is_plain or not isinstance(op, Op):
        return None
    finish, numbers, checked = op.finish, part.numbers, _checker(op, plan.dtypes[0])
    names = part.new(1).dtype.names
    counted = names.index("count")
    read = part.reader(finish.name) if isinstance(finish, Field) else None

    def number(state: tuple[Any, ...], ddof: int) -> Any:
        count = state[counted]
        if not count:
            return None
        if read is not None:
            result = read(state)
        else:
            fields = numbers(state)
            if fields is None:
                return None
            try:
                result = finish(Sums(fields, count, ddof))
            except ZeroDivisionError:
                return None
        return None if result is None else checked(result)

    return number


def _checker(op: Op, dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return what makes a plain number one that a dtype holds, or None of it."""
    is_float = dtype.kind == "f"
    most = float(np.finfo(dtype).max) if is_float else 0.0
    # What is rounded below this is said to underflow.
    least = float(np.finfo(dtype).tiny) if is_float and dtype.itemsize < 8 else 0.0
    # A sum or product wraps, a range is refused where its dtype does not hold it.
    largest = np.iinfo(dtype).max if op.result == "range" and not is_float else inf
    # Sums are modulo 2^64, kept with a sign.
    modulus = 2**64 if dtype.type is np.uint64 else 0

    def checked(result: Any) -> Any:
        if is_float:
            is_small = -least < result < least and result
            return result if -most <= result <= most and not is_small else None
        if result > largest:
            return None
        return result % modulus if modulus else result

    return checked
