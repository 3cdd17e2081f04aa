"""Whole calls drawn at random: each answer is that of its row alone, made from exact numbers.

A loop that ends early, a way of walking that suits one layout, what is remembered from one call to
the next: each is tested by itself elsewhere. Here they meet, with rows short and long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import warpladder as wl
from warpladder.errors import InputError

#: What is compiled for a set takes seconds, so that there are few. In the first one the search for
#: the least byte stops where there is none below, beside sums that go on; from 16,385 numbers on
#: such sums once stopped, too.
SETS = [
    ("int8", ("min", "var"), "reproducible"),
    ("bool", ("mean", "all"), "reproducible"),
    ("uint8", ("argmin", "any", "count_nonzero"), "fast"),
    ("int16", ("sum", "max"), "fast"),
    ("uint16", ("ptp", "argmax"), "fast"),
    ("int32", ("std", "max"), "fast"),
    ("int64", ("sum", "var"), "fast"),
    ("uint64", "max", "fast"),
    ("float16", ("min", "any"), "fast"),
    ("float32", ("nanmax", "nanargmax"), "fast"),
    ("float64", ("ptp", "argmin", "count_nonzero"), "fast"),
    ("float64", "nansum", "reproducible"),
]

#: Operations that say nothing of a row without elements.
OF_SOME = {"min", "max", "ptp", "argmin", "argmax"}
#: One number, less than a warp, a warp and one more, a block of rows, several tiles.
LENGTHS = (1, 2, 7, 31, 33, 100, 257, 4096, 5000)
LONG = (16_384, 16_385, 40_000, 131_072)
MOST = 1 << 18
#: Exact variances are finished row by row in Python; 5,000 are several blocks of rows.
MOST_EXACT = 5000


class Drawn(NamedTuple):
    """An array, what is asked of it, and where its masks and values come from."""

    shape: tuple[int, ...]
    layout: str
    axis: int | tuple[int, ...] | None
    kept: float | None
    ddof: int
    keepdims: bool
    seed: int


@st.composite
def calls(draw: Callable[..., Any], *, places: bool) -> Drawn:
    """Draw a call; where places are asked for, over one axis or all."""
    shape = draw(
        st.one_of(
            st.lists(st.sampled_from(LENGTHS), min_size=1, max_size=3),
            st.sampled_from(LONG).map(lambda n: [n]),
            st.tuples(st.sampled_from([1, 2, 3, 8]), st.sampled_from(LONG)).map(list),
        ).filter(lambda shape: math.prod(shape) <= MOST)
    )
    axes = [None, *range(-len(shape), len(shape))]
    if not places:
        axes += [(0,), (len(shape) - 1, 0)][: len(shape)]
    return Drawn(
        tuple(shape),
        draw(st.sampled_from(["C", "F", "every other", "backwards", "read-only", "repeated"])),
        draw(st.sampled_from(axes)),
        draw(st.sampled_from([None, None, 0.5, 0.97, 0.03])),
        draw(st.sampled_from([0, 1])),
        draw(st.booleans()),
        draw(st.integers(0, 2**32 - 1)),
    )


def values_of(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return few different numbers or many, with the ends of their range among them or not."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < rng.choice([0.5, 0.999, 0.001])
    if kind == "f":
        drawn = (rng.standard_normal(shape) * rng.choice([1, 1000])).astype(dtype)
        strange = rng.choice([math.nan, math.nan, math.inf, -math.inf, 0.0])
        drawn[rng.random(shape) < rng.choice([0, 0.001, 0.9])] = strange
        return drawn
    ends = np.iinfo(dtype)
    low, high = [(ends.min, ends.max), (0, 3), (ends.max - 2, ends.max)][rng.integers(3)]
    return rng.integers(low, high, shape, dtype, endpoint=True)


def laid_out(drawn: NDArray[Any], layout: str) -> NDArray[Any]:
    """Return the same numbers, or those of its first row again and again."""
    if layout == "F":
        return np.asfortranarray(drawn)
    if layout == "every other":
        wide = np.zeros((*drawn.shape[:-1], 2 * drawn.shape[-1]), drawn.dtype)
        wide[..., ::2] = drawn
        return wide[..., ::2]
    if layout == "backwards":
        return np.ascontiguousarray(drawn[::-1])[::-1]
    if layout == "repeated":
        return np.broadcast_to(drawn[:1], drawn.shape)
    if layout == "read-only":
        drawn.flags.writeable = False
    return drawn


def rows_of(array: NDArray[Any], axis: int | tuple[int, ...] | None) -> NDArray[Any]:
    """Return what is reduced together as rows of a matrix, in the order of elements."""
    dims = array.ndim
    given = range(dims) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    reduced = sorted({one % dims for one in given})
    others = [one for one in range(dims) if one not in reduced]
    length = math.prod(array.shape[one] for one in reduced)
    return np.transpose(array, (*others, *reduced)).reshape(-1, length)


def exact(op: str, row: NDArray[Any], at: NDArray[Any], ddof: int) -> Any:
    """Return the answer of one row, of which these elements stand at those places."""
    if op.startswith("nan"):
        is_number = ~np.isnan(row)
        op, row, at = op.removeprefix("nan"), row[is_number], at[is_number]
    if op in {"any", "all", "count_nonzero"}:
        return getattr(np, op)(row)
    if op in {"argmin", "argmax"}:
        return at[getattr(row, op)()]
    if op in {"min", "max"}:
        return getattr(row, op)() if row.size else math.nan
    if row.dtype.kind == "f":
        return row.max() - row.min() if op == "ptp" else sum_of_floats(row)
    numbers = [int(number) for number in row]
    n, total = len(numbers), sum(numbers)
    if op == "ptp":
        return max(numbers) - min(numbers)
    if op == "sum":
        return total
    if n <= (ddof if op in {"var", "std"} else 0):
        return None
    if op == "mean":
        return float(Fraction(total, n))
    variance = float(Fraction(n * sum(v * v for v in numbers) - total**2, n * (n - ddof)))
    return math.sqrt(variance) if op == "std" else variance


def sum_of_floats(row: NDArray[Any]) -> float:
    """Return the exact sum, rounded once; NaN and infinities as they are added."""
    return math.fsum(row.tolist()) if np.isfinite(row).all() else float(row.sum(dtype="f8"))


def agrees(op: str, found: Any, expected: Any) -> bool:
    """Whether a result is the expected one: the same, or a rounded one of the exact."""
    if expected is None:
        return not math.isfinite(found)
    if op in {"var", "std", "mean"}:
        return bool(found == pytest.approx(expected, rel=1e-13))
    if np.asarray(found).dtype.kind in "iu":
        bits = 8 * np.asarray(found).itemsize
        return (int(found) - int(expected)) % 2**bits == 0
    return bool(np.array_equal(found, expected, equal_nan=True))


def is_refused(ops: tuple[str, ...], rows: NDArray[Any], kept: NDArray[np.bool_]) -> bool:
    """Whether there is a row of which an operation says nothing."""
    # The largest of NaNs alone is NaN; it has no place.
    some = kept & ~np.isnan(rows) if "nanargmax" in ops else kept
    names = {one.removeprefix("nan") for one in ops}
    return bool(names & OF_SOME) and not some.any(axis=1).all()


@pytest.mark.large
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("dtype", "op", "accuracy"), SETS)
@settings(max_examples=60)
@given(data=st.data())
def test_each_row_has_its_own_answer(
    dtype: str, op: str | tuple[str, ...], accuracy: str, data: st.DataObject
) -> None:
    ops = (op,) if isinstance(op, str) else op
    drawn = data.draw(calls(places=any("arg" in one for one in ops)))
    options: dict[str, Any] = {"axis": drawn.axis, "keepdims": drawn.keepdims}
    if accuracy != "fast":
        options["accuracy"] = accuracy
    if {"var", "std"} & {*ops}:
        options["ddof"] = drawn.ddof
        rows = rows_of(np.empty(drawn.shape, np.bool_), drawn.axis)
        assume(accuracy == "fast" or len(rows) <= MOST_EXACT)
    rng = np.random.default_rng(drawn.seed)
    # The second call goes by what the first one has left, with other numbers.
    for _ in range(2):
        array = laid_out(values_of(rng, dtype, drawn.shape), drawn.layout)
        mask = None if drawn.kept is None else rng.random(drawn.shape) < drawn.kept
        if mask is not None:
            options["where"] = mask
        rows = rows_of(array, drawn.axis)
        kept = rows_of(np.ones(drawn.shape, np.bool_) if mask is None else mask, drawn.axis)
        if is_refused(ops, rows, kept):
            with pytest.raises(InputError, match="is not defined where"):
                wl.reduce(array, op, **options)
            continue
        answer = wl.reduce(array, op, **options)
        results = (answer,) if isinstance(op, str) else tuple(answer)
        some = sorted({0, len(rows) - 1, *rng.integers(0, len(rows), 6).tolist()})
        for one, result in zip(ops, results, strict=True):
            found = np.asarray(result)
            assert found.ndim == (array.ndim if drawn.keepdims else found.ndim)
            found = found.reshape(-1)
            assert found.size == len(rows)
            for row in some:
                expected = exact(one, rows[row][kept[row]], np.flatnonzero(kept[row]), drawn.ddof)
                assert agrees(one, found[row], expected), (one, row, found[row], expected)
