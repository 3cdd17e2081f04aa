"""All of an array of several axes by one call: however it lies, the bits of a copy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.shortcuts import one_row

CASES = [
    ("f4", "sum"), ("f8", "mean"), ("i1", "max"),
    *large(
        ("i8", "argmin"), ("u2", "count_nonzero"),
        ("f8", "sum"), ("f4", "l2"), ("f8", "l1"), ("f4", "argmax"), ("f8", "ptp"), ("i4", "any"),
        ("u1", "sum"), ("i8", "mean"), ("i8", "prod"), ("f4", "var"), ("i4", "std"), ("i2", "min"),
        ("f4", "nanmax"), ("u2", "all"), ("f4", "logsumexp"), ("f8", "nansum"), ("u8", "argmax"),
    ),
]  # fmt: skip
# Of one element, around vectors and what is long for a run, each axis the longest.
SHAPES = (
    *((1, 1), (1, 3), (2, 1), (7, 8), (31, 33), (3, 64), (2, 67), (200, 3), (128, 128)),
    *((2, 3, 5), (50, 2, 3), (3, 50, 2), (1, 9, 70), (20, 1, 20), (4, 5, 129)),
    *((2, 3, 4, 5), (40, 2, 3, 4), (2, 40, 3, 4), (2, 3, 40, 4), (3, 2, 2, 100), (1, 1, 6, 7)),
)


def numbers(dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    rng = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(shape) * 3).astype(dtype)
    return rng.integers(0, 9, shape).astype(dtype)


def layouts(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the same numbers, lying otherwise; others are between them."""
    shape, axes = values.shape, tuple(range(values.ndim))
    cut = np.full([n + 2 for n in shape], 77, values.dtype)[(slice(1, -1),) * values.ndim]
    every_second = np.full((*shape[:-1], 2 * shape[-1]), 77, values.dtype)[..., ::2]
    every_third = np.full([3 * n for n in shape], 77, values.dtype)[
        (slice(2, None, 3),) * len(axes)
    ]
    mirrored = np.full(shape, 77, values.dtype)[(slice(None, None, -1),) * len(axes)]
    turned = np.full((shape[-1], *shape[:-1]), 77, values.dtype).transpose((*axes[1:], 0))
    backwards = np.full([n + 1 for n in shape[::-1]], 77, values.dtype)[..., 1:]
    backwards = backwards[(slice(1, None),) * (len(axes) - 1)].T[:, ::-1]
    laid = [cut, every_second, every_third, mirrored, turned, backwards, np.asfortranarray(values)]
    for one in laid:
        one[...] = values
    laid.append(cut.view())
    laid[-1].flags.writeable = False
    return laid


def in_memory(array: NDArray[Any], *, is_ordered: bool) -> NDArray[Any]:
    """Return a copy whose elements are in the order in which they are to be gone through."""
    if is_ordered:
        return array.reshape(-1)
    steps = [step if n > 1 else 0 for n, step in zip(array.shape, array.strides, strict=True)]
    array = array[tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)]
    order = sorted(range(array.ndim), key=lambda axis: -abs(steps[axis]))
    return array.transpose(order).reshape(-1)


@pytest.mark.parametrize(("dtype", "op"), CASES)
def test_bits_are_those_of_a_copy(longer_ways: list[Any], dtype: str, op: str) -> None:
    for axes in (2, 3, 4):
        for _ in range(2):
            wl.reduce(np.asfortranarray(numbers(dtype, (2, 3, 4, 5)[:axes])), op)
    longer_ways.clear()
    for shape in SHAPES:
        values = numbers(dtype, shape)
        if op.startswith("nan"):
            values[..., 1::3] = np.nan
        for array in layouts(values):
            copy = in_memory(array, is_ordered=op.startswith("arg"))
            found = wl.reduce(array, op)
            expected = wl.reduce(copy, op)
            assert (found.tobytes(), found.dtype) == (expected.tobytes(), expected.dtype)
    # One axis in place of several is no box.
    assert not [array for array in longer_ways if array.ndim > 1]


def test_of_equal_extrema_the_first_in_the_order_of_indices() -> None:
    for shape, _ in product(((5, 7), (3, 4, 5), (2, 3, 4, 5)), range(3)):
        values = np.zeros(shape, "f4")
        values.reshape(-1)[[7, 19]] = 5
        for array in layouts(values):
            assert wl.reduce(array, "argmax") == 7


def test_what_it_takes_is_compiled_at_the_second_call(longer_ways: list[Any]) -> None:
    part = make_plan(parse_ops("l1"), np.dtype("u2"), None, "fast", masked=False).parts[0]
    known, array = one_row.one_row(part), np.asfortranarray(numbers("u2", (5, 6, 7)))
    # As if no test had asked before.
    one_row._asked.discard((part, 3))
    known.boxes[3] = None
    for took, takes in ((False, False), (False, True), (True, True)):
        longer_ways.clear()
        assert wl.reduce(array, "l1") == array.sum()
        assert (not longer_ways, known.boxes[3] is not None) == (took, takes)


def odd(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers at an odd address."""
    laid = np.empty(values.nbytes + 1, "u1")[1:].view(values.dtype).reshape(values.shape)
    laid[...] = values
    return laid.T


def between_bytes(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers as a field of records that others cannot lie between."""
    laid = np.empty(values.shape, [("one", values.dtype), ("other", "u1")])
    laid["one"] = values
    return laid["one"]


@pytest.mark.parametrize(
    "array",
    [
        odd(numbers("f8", (9, 8))),
        between_bytes(numbers("f8", (9, 8))),
        np.asfortranarray(numbers("f8", (2, 3, 2, 3, 2))),
        np.asfortranarray(numbers("f8", (2, (1 << 15) + 1))),
        np.asfortranarray(numbers("f8", (9, 8))).astype(">f8"),
        np.asfortranarray(numbers("f8", (9, 8))).astype("f2"),
    ],
    ids=["odd", "between bytes", "five axes", "many", "swapped", "float16"],
)
def test_what_lies_otherwise_goes_a_longer_way(longer_ways: list[Any], array: Any) -> None:
    for _ in range(4):
        longer_ways.clear()
        found = wl.reduce(array, "max")
        assert (found, len(longer_ways)) == (array.max(), 1)


def test_what_is_broadcast() -> None:
    array = np.broadcast_to(numbers("i4", (4, 1, 5)), (3, 4, 6, 5))
    for _ in range(4):
        assert wl.reduce(array, "sum") == array.sum()
        assert wl.reduce(array, "argmax") == array.argmax()


def test_of_nothing() -> None:
    array = np.asfortranarray(numbers("f8", (6, 4)))[:, 4:]
    for _ in range(4):
        assert wl.reduce(array, "sum") == 0
        with pytest.raises(wl.InputError, match="empty"):
            wl.reduce(array, "max")
