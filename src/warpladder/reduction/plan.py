"""From the operations asked for to the accumulators that answer them in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import require_compiler
from warpladder.errors import InputError
from warpladder.reduction.custom import AssociativeOp
from warpladder.reduction.initial import as_initial
from warpladder.reduction.loops.compensated import CompensatedSpec
from warpladder.reduction.loops.exact import ExactSpec
from warpladder.reduction.loops.first_truths import seeks_truths
from warpladder.reduction.loops.states import BLOCK, INDEXED_BLOCK, LARGE_BLOCK, Fields, FoldSpec
from warpladder.reduction.loops.truths import with_plain_truths
from warpladder.reduction.memory.layout import Tile
from warpladder.reduction.ops import OPS, Op, Request, Sums, result_dtype
from warpladder.reduction.part import Part
from warpladder.reduction.parts import CompensatedPart, CustomPart, ExactPart, FoldPart
from warpladder.reduction.quiet import quietly

__all__ = ["ACCURACIES", "Plan", "check_mask_leaves_some", "make_plan"]

ACCURACIES = ("fast", "pairwise", "compensated", "reproducible")

# Elements per block where rounding errors shall be small: each lane of a vector adds few of them.
_SMALL_BLOCK = 512
# What accuracy is about; all other folds are exact, or products and exponentials.
_SUMS = frozenset({"total", "absolute", "square", "moments"})
# What asks of booleans only whether they are true.
_ANY_TRUTH = frozenset({"any", "all", "count_nonzero", "min", "max"})


@dataclass(frozen=True)
class Plan:
    """How to answer some operations for values of a dtype.

    Attributes
    ----------
    requests
        The operations.
    dtypes
        Of their results.
    parts
        The accumulators.
    ordered
        Whether the order of elements matters.
    counts_truths
        Whether values are booleans, and it matters to the CPU's loops that a true one is 1.
    masked
        Whether a mask says which elements count.
    initial
        What comes before the elements, if anything does.
    """

    requests: tuple[Request, ...]
    dtypes: tuple[np.dtype[Any], ...]
    parts: tuple[Part, ...]
    ordered: bool
    counts_truths: bool = False
    masked: bool = False
    initial: Any = None

    def starting_at(self, initial: Any) -> Plan:
        """Return the plan for elements that a number comes before.

        Raises
        ------
        InputError, InputTypeError
            It has no meaning for an operation, or is no number of the dtype of its result.
        """
        return replace(self, initial=as_initial(initial, self.requests, self.dtypes))

    @property
    def takes_columns(self) -> bool:
        """Whether all parts take tiles that lie across."""
        return all(part.takes_columns for part in self.parts)

    def new(self, rows: int) -> list[Any]:
        """Return the parts' states of rows that have seen no element."""
        return [part.new(rows) for part in self.parts]

    def add(self, tile: Tile, first: int, states: Sequence[Any]) -> None:
        """Add a tile to the states of its rows."""
        if self.counts_truths:
            tile = with_plain_truths(tile)
        for part, state in zip(self.parts, states, strict=True):
            part.add(tile, first, state)

    def complete(self, tile: Tile, first: int) -> list[Any]:
        """Return what to `finish`, or to make `mergeable`, of the rows of a tile."""
        if self.counts_truths:
            tile = with_plain_truths(tile)
        if self.is_plain:
            return [self.parts[0].complete(tile, first)]
        return [part.states_of(tile, first) for part in self.parts]

    @cached_property
    def alone(self) -> Plan:
        """The plan whose `complete` leaves who stands by to others."""
        return replace(self, parts=tuple(part.alone() for part in self.parts))

    def of(self, which: Sequence[int]) -> Plan:
        """Return the plan that finishes some of the operations of what is accumulated for all."""
        requests = tuple(self.requests[each] for each in which)
        return replace(self, requests=requests, dtypes=tuple(self.dtypes[each] for each in which))

    def mergeable(self, found: Sequence[Any]) -> list[Any]:
        """Return as states what `complete` has found."""
        return [part.mergeable(each) for part, each in zip(self.parts, found, strict=True)]

    def is_settled(self, states: Sequence[Any]) -> bool:
        """Return whether these are of one row, whose answer is the same whatever follows."""
        return self.parts[0].is_settled(states[0])

    def merged(self, found: Sequence[Any], later: Sequence[Any]) -> list[Any]:
        """Return what `complete` has found of elements and of those that follow, as of all.

        Both are used up; it may serve as states, or be found.
        """
        return [
            part.merged(each, other)
            for part, each, other in zip(self.parts, found, later, strict=True)
        ]

    def finish(
        self, states: Sequence[Any], rows: int, length: int, ddof: float
    ) -> list[NDArray[Any]]:
        """Return the results, one number per row, of the states of rows of a length.

        Raises
        ------
        InputError
            An operation is not defined for a row without elements.
        """
        if self.initial is not None:
            pairs = zip(self.parts, states, strict=True)
            states = [quietly(part.begin, state, self.initial) for part, state in pairs]
        if self.is_plain:
            # A third of the time, which is that of adding some thousand numbers.
            if self.may_round:
                return [quietly(self._finish_plain, states[0], length, ddof)]
            return [self._finish_plain(states[0], length, ddof)]
        # What does not fit a float dtype becomes an infinity, what is 0 / 0 a NaN: as documented.
        return quietly(self._finish_all, states, rows, length, ddof)

    def _finish_all(
        self, states: Sequence[Any], rows: int, length: int, ddof: float
    ) -> list[NDArray[Any]]:
        counts: dict[bool, NDArray[np.int64]] = {}
        for part, state in zip(self.parts, states, strict=True):
            if (found := part.counts(state)) is not None:
                counts[part.skip_nan] = found
        if False not in counts:
            counts[False] = np.full(rows, length)
        fields: dict[bool, Fields] = {False: {}, True: {}}
        results = []
        for part, state in zip(self.parts, states, strict=True):
            fields[part.skip_nan] |= part.fields(state, counts[part.skip_nan])
        for request, dtype in zip(self.requests, self.dtypes, strict=True):
            if isinstance(request.op, Op):
                sums = Sums(fields[request.skip_nan], counts[request.skip_nan], ddof)
                results.append(_finish(request, request.op, dtype, sums, length, self.masked))
            else:
                results.append(fields[False][f"op {request.name}"].astype(dtype))
        return results

    @cached_property
    def is_plain(self) -> bool:
        """Whether one operation is answered by the states of one part, which count elements."""
        is_alone = len(self.parts) == len(self.requests) == 1 and self.parts[0].loop is not None
        return is_alone and isinstance(self.requests[0].op, Op)

    @cached_property
    def may_round(self) -> bool:
        """Whether results are more than elements, indices, truths and whole numbers."""
        op = self.requests[0].op
        return self.dtypes[0].kind == "f" and not (isinstance(op, Op) and op.result == "element")

    @cached_property
    def _counts_all(self) -> bool:
        """Whether rows count all their elements, and nothing before them."""
        return not self.masked and self.initial is None and not self.parts[0].skip_nan

    def _finish_plain(self, states: Any, length: int, ddof: float) -> NDArray[Any]:
        """Do what `finish` does for a plain plan."""
        (part,), (request,), (dtype,) = self.parts, self.requests, self.dtypes
        op = request.op
        assert isinstance(op, Op)  # noqa: S101 - or it would not be plain
        # One number in place of one for each row takes 2 us off the variances of 32 rows.
        counts: Any = length if self._counts_all else part.counts(states)
        sums = Sums(part.fields(states, counts), counts, ddof)
        return _finish(request, op, dtype, sums, length, self.masked)


def _finish(
    request: Request, op: Op, dtype: np.dtype[Any], sums: Sums, length: int, masked: bool
) -> NDArray[Any]:
    found: NDArray[Any] = op.finish(sums)
    # A view would keep all states, or be of memory that is used again.
    result = found.astype(dtype, copy=found.base is not None)
    if not op.is_defined_for_nothing and found.size and not _all_have_some(sums.counts):
        if not (length and request.skip_nan and op.is_extreme):
            raise InputError(_undefined(request, length, masked))
        result[sums.counts == 0] = np.nan
    if op.result == "range" and dtype.kind in "iu" and np.count_nonzero(found > _largest(dtype)):
        largest = int(found.max())
        enough = np.min_scalar_type(largest).name
        raise InputError(
            f"values: {request.name} is {largest}, which {dtype.name} cannot hold; give "
            f"dtype='{enough}'"
        )
    return result


def _all_have_some(counts: NDArray[np.int64] | int) -> bool:
    """Tell whether no row is without elements that count."""
    return counts > 0 if isinstance(counts, int) else np.count_nonzero(counts) == len(counts)


@cache
def _largest(dtype: np.dtype[Any]) -> int:
    return np.iinfo(dtype).max


def check_mask_leaves_some(
    plan: Plan,
    results: Sequence[NDArray[Any]],
    marks: Callable[[], NDArray[np.bool_]],
    axes: Sequence[int],
) -> None:
    """Refuse an extremum of no elements as NumPy does, also where NaNs do not count.

    The states know how many numbers there are, not whether NaNs were there beside them. The mask,
    which ``marks`` returns, is looked through only where a NaN came of that.

    Raises
    ------
    InputError
        The mask leaves no element of a row.
    """
    for request, result in zip(plan.requests, results, strict=True):
        is_extremum = isinstance(request.op, Op) and request.op.is_extreme
        if (
            request.skip_nan
            and is_extremum
            and np.isnan(result).any()
            and not marks().any(axis=tuple(axes)).all()
        ):
            raise InputError(_undefined(request._replace(skip_nan=False), 1, masked=True))


def _undefined(request: Request, length: int, masked: bool) -> str:
    if not length:
        return f"values: {request.name} of no elements is not defined; the array or axis is empty"
    if request.skip_nan and masked:
        return f"where: {request.name} is not defined where the mask leaves no element but NaNs"
    if request.skip_nan:
        return f"values: {request.name} is not defined where there are only NaNs"
    return f"where: {request.name} is not defined where the mask leaves no element"


# Typed, or what NumPy calls int64 and longlong, which are equal, would get each other's results.
@lru_cache(maxsize=None, typed=True)
def make_plan(
    requests: tuple[Request, ...],
    values: np.dtype[Any],
    dtype: np.dtype[Any] | None,
    accuracy: str,
    masked: bool,
) -> Plan:
    """Return the plan for some operations on values of a dtype.

    Raises
    ------
    InputError
        The operations cannot be had with this dtype or accuracy.
    DeviceError
        Numba is told to compile nothing.

    Examples
    --------
    >>> from warpladder.reduction.ops import parse_ops
    >>> plan = make_plan(parse_ops(("sum", "max")), np.dtype("int8"), None, "fast", False)
    >>> plan.dtypes, len(plan.parts)
    ((dtype('int64'), dtype('int8')), 1)
    """
    require_compiler()
    if values.kind != "f":
        # What is no float has no NaN to skip.
        requests = tuple(request._replace(skip_nan=False) for request in requests)
    dtypes = tuple(result_dtype(request, values, dtype) for request in requests)
    ops = [(request, request.op) for request in requests if isinstance(request.op, Op)]
    _check_dtype_is_used(requests, dtype)
    if accuracy == "reproducible":
        _check_reproducible(requests, values, dtype)
    parts: list[Part] = []
    for skip_nan in (False, True):
        needs: set[str] = set()
        for request, op in ops:
            if request.skip_nan is skip_nan:
                needs.update(op.folds(of_integers=values.kind != "f"))
        if needs:
            parts += _parts(needs, values, dtype, accuracy, masked, skip_nan)
    for request, result in zip(requests, dtypes, strict=True):
        if isinstance(request.op, AssociativeOp):
            if np.float16 in {values.type, result.type}:
                raise InputError(
                    f"op {request.name}: Numba has no float16; use values.astype('float32')"
                )
            parts.append(CustomPart(request.op, result, masked))
    if len(parts) == 1:
        parts = [parts[0].answering(frozenset(request.name for request in requests))]
    ordered = any(not isinstance(r.op, Op) or r.op.is_place for r in requests)
    counts_truths = values.kind == "b" and not (
        _ANY_TRUTH.issuperset(r.name for r in requests)
        or all(isinstance(part, FoldPart) and seeks_truths(part.spec) for part in parts)
    )
    return Plan(requests, dtypes, tuple(parts), ordered, counts_truths, masked)


def _parts(
    needs: set[str],
    values: np.dtype[Any],
    dtype: np.dtype[Any] | None,
    accuracy: str,
    masked: bool,
    skip_nan: bool,
) -> list[Part]:
    """Divide the folds that are needed among accumulators of the accuracy asked for."""
    if needs <= {"low", "high"} or (values.kind != "f" and not needs & {"total", "product"}):
        # Extrema are elements, whatever is made of them, and of integers all else but these is made
        # alike: one loop does for all.
        dtype = None
    is_real = values.kind == "f" or (dtype is not None and dtype.kind == "f")
    is_single = (
        values.kind == "f" and values.itemsize <= 4 and (dtype is None or dtype.itemsize <= 4)
    )
    parts: list[Part] = []
    sums = needs & (_SUMS if is_real else _SUMS - {"total"})
    if accuracy == "reproducible" and sums:
        parts.append(ExactPart(frozenset(sums), ExactSpec(values.name, "value", masked, skip_nan)))
        needs = needs - sums
    elif accuracy == "compensated" and not is_single:
        for fold in sorted(sums & {"total", "absolute"}):
            is_absolute = fold == "absolute"
            parts.append(
                CompensatedPart(CompensatedSpec(values.name, is_absolute, masked, skip_nan))
            )
            needs = needs - {fold}
    if needs or masked or skip_nan:
        compute = "int64" if not is_real else "float64"
        # Float32 leaves room below its last bit; added in float64 it has no need of compensation.
        if is_single and accuracy in {"fast", "pairwise"}:
            compute = "float32"
        # Float16 is widened block by block, which is to stay in the first-level cache.
        block = BLOCK if values.type is np.float16 else LARGE_BLOCK
        if needs & (sums | {"product", "exponential"}):
            block = BLOCK if accuracy == "fast" else _SMALL_BLOCK
        if needs & {"low_at", "high_at"}:
            block = min(block, INDEXED_BLOCK)
        spec = FoldSpec(frozenset(needs), values.name, compute, masked, skip_nan, block)
        # For an extremum it takes to see one number, for what other parts make to count all.
        are_seen = spec.is_of_extrema and not parts
        parts.append(FoldPart(spec._replace(counted=not are_seen)))
    return parts


def _check_dtype_is_used(requests: tuple[Request, ...], dtype: np.dtype[Any] | None) -> None:
    if dtype is not None and all(
        isinstance(r.op, Op) and r.op.result not in {"sum", "real", "range"} for r in requests
    ):
        names = ", ".join(request.name for request in requests)
        raise InputError(f"dtype={dtype.name} has no meaning for {names}; leave it out")


def _check_reproducible(
    requests: tuple[Request, ...], values: np.dtype[Any], dtype: np.dtype[Any] | None
) -> None:
    """Refuse what rounds in an order that is not fixed."""
    is_exact = values.kind != "f" and (dtype is None or dtype.kind != "f")
    for request in requests:
        rounds = not isinstance(request.op, Op) or not request.op.can_reproduce
        if rounds and not (is_exact and request.op is not OPS["logsumexp"]):
            raise InputError(
                f'accuracy="reproducible" cannot be had for {request.name}, whose rounding depends '
                'on the order; use "fast" for it'
            )
