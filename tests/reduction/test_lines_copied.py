"""Rows that lie side by side, of which lines are apart: lines are copied, panel by panel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large, only
from warpladder.reduction.memory import copies, layout
from warpladder.reduction.shortcuts import few, views

OPS = (
    *("sum", "max", "argmin", "var", "all", "l2", "mean", "std", "any", "ptp", "prod"),
    *("count_nonzero", "logsumexp"),
)
DTYPES = ("f4", "i4", "f8", "i1", "u2", "f2", "i8", "?")
# Each is a loop of its own.
CHOSEN = {("sum", "f4"), ("argmin", "f4"), ("var", "f4"), ("max", "f4")}
CASES = only(lambda *case: case in CHOSEN, OPS, DTYPES)


def forget() -> None:
    few.known_ways.clear()
    for remembered in (few.answer, few.answer_to, views._way_to):
        remembered.cache_clear()


def numbers(dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    rng = np.random.default_rng(math.prod(shape))
    if dtype == "?":
        return rng.random(shape) < 0.9
    drawn = rng.standard_normal(shape) * 3 + 4
    return (abs(drawn) if dtype[0] == "u" else drawn).astype(dtype)


def times(values: NDArray[Any], op: str, axis: Any) -> NDArray[Any]:
    """Return what is found the long way, and see that the short ones leave the same bits."""
    forget()
    first = wl.reduce(values, op, axis=axis)
    for _ in range(2):
        again = wl.reduce(values, op, axis=axis)
        assert again.dtype == first.dtype
        assert again.shape == first.shape
        assert again.tobytes() == first.tobytes()
    return first


def taken(op: str, dtype: str, axes: int) -> bool:
    """Tell whether there is such an operation."""
    return not (op in {"ptp", "argmin"} and dtype == "?") and (op != "argmin" or axes == 1)


def nearly(found: NDArray[Any], values: NDArray[Any], op: str, axis: Any) -> bool:
    wide = values.astype("f8") if values.dtype.kind == "f" else values
    if op == "l2":
        expected = np.sqrt((wide.astype("f8") ** 2).sum(axis=axis))
    elif op == "logsumexp":
        expected = np.log(np.exp(wide.astype("f8") - 200).sum(axis=axis)) + 200
    else:
        expected = getattr(np, op)(wide, axis=axis)
    with np.errstate(over="ignore"):
        expected = expected.astype(found.dtype)
    tolerance = {"f2": 1e-2, "f4": 1e-4}.get(values.dtype.str[1:], 1e-12)
    return bool(np.allclose(found, expected, rtol=tolerance, equal_nan=True))


@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_axes_with_others_between_them(op: str, dtype: str) -> None:
    for shape, axes in (
        ((5, 7, 3, 33), (0, 2)),
        ((2, 9, 31, 2, 3), (0, 2, 3)),
        ((7, 2, 5), (0, 1)),
    ):
        if not taken(op, dtype, len(axes)):
            continue
        whole = numbers(dtype, tuple(n + 2 for n in shape))
        part = whole[tuple(slice(1, -1) for _ in shape)]
        for values in (part, part.copy(), part[::-1], np.asfortranarray(part)):
            assert nearly(times(values, op, axes), values, op, axes)
        # The lines of a copy are the same ones.
        order = [*(axis for axis in range(part.ndim - 1) if axis not in axes), *axes, part.ndim - 1]
        sides = -1, math.prod(shape[axis] for axis in axes), shape[-1]
        lines = np.ascontiguousarray(part.transpose(order)).reshape(sides)
        expected = wl.reduce(lines, op, axis=1)
        assert times(part.copy(), op, axes).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_gaps_byte_order_and_odd_addresses_change_no_bits(op: str, dtype: str) -> None:
    if not taken(op, dtype, 1):
        return
    values = numbers(dtype, (41, 130))
    expected = wl.reduce(values, op, axis=0)
    with_gaps = np.repeat(values, 2, axis=1)[:, ::2]
    odd = np.empty(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    odd[...] = values
    for other in (with_gaps, odd, values.astype(values.dtype.newbyteorder())):
        found = times(other, op, 0)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("op", ["sum", "max", *large(("var",), ("all",))])
def test_many_tiles_of_lines(op: str) -> None:
    for shape, axes in (((6, 40, 31, 70), (0, 2)), ((3, 5, 11, 9001), (0, 2))):
        values = numbers("f4", shape)
        assert nearly(times(values, op, axes), values, op, axes)
        part = numbers("f4", (*shape[:-1], shape[-1] + 3))[..., 2:-1]
        assert nearly(times(part, op, axes), part, op, axes)


def test_places_in_more_small_panels_than_are_copied_at_once() -> None:
    part = numbers("f4", (90, 1000, 52))[:, :, 1:-1]
    assert part.nbytes > layout.TILE_BYTES
    found = times(part, "argmax", 0)
    np.testing.assert_array_equal(found, part.argmax(0))


def test_panels_do_not_make_tiles_of_their_own() -> None:
    values = numbers("i4", (8, 15, 3, 84))
    rows = layout.ArrayRows(values, (0, 2), None, values.dtype, ordered=False, across=True)
    assert not rows.is_scattered()
    rows.allow_stacks()
    (span,), (columns,) = rows.row_spans(), rows.column_spans()
    tile = rows.tile(span, columns, {})
    assert tile[2:] == (15 * 84, 24, 84, 84)
    assert rows.copied_shape == (15, 24, 84)
    lines = rows.turn(values).transpose(rows.order_of_lines)
    np.testing.assert_array_equal(tile.data, lines.ravel())
    # Not that of others, which are cut to fit the caches.
    large_one = numbers("i4", (8, 150, 3, 840))
    rows = layout.ArrayRows(large_one, (0, 2), None, values.dtype, ordered=False, across=True)
    rows.allow_stacks()
    sizes = [(span.end - span.begin) * 24 * 4 for span in rows.row_spans()]
    assert sum(sizes) == large_one.nbytes
    assert max(sizes) <= layout.CACHED_BYTES
    assert len(sizes) < 15


@pytest.mark.parametrize("side", [1, 2, 3, 4, 7, 12, 13])
@pytest.mark.parametrize("dtype", ["i1", "f4", ">f8"])
def test_copies_in_order(dtype: str, side: int) -> None:
    for lines in (1, 5, 2000):
        whole = np.arange(3 * (lines + 2) * (side + 2)).reshape(3, lines + 2, side + 2)
        part = whole.astype(dtype)[:, 1:-1, 1:-1]
        copy = copies.copier(part, part.dtype.newbyteorder("="))(part)
        assert copy.flags.c_contiguous
        assert copy.dtype.isnative
        np.testing.assert_array_equal(copy, part)
        found = copies.copied(part, None, part.dtype.newbyteorder("="), "data", {})
        np.testing.assert_array_equal(found, part.ravel())


def test_axes_next_to_each_other_are_one() -> None:
    assert few._joined((5, 6, 18, 9), (0, 1)) == ((30, 18, 9), 0)
    assert few._joined((5, 6, 18, 9), (2,)) == ((5, 6, 18, 9), 2)
    assert few._joined((5, 1, 18, 9), (0, 2)) == ((90, 9), 0)
    assert few._joined((5, 6, 1, 9), (0, 2)) == ((5, 6, 1, 9), 0)
    assert few._joined((5, 6, 18, 9), (0, 2)) is None
    assert few._joined((1, 6, 1), (0, 2)) == ((1, 6, 1), 0)


@pytest.mark.parametrize("dtype", ["f4", *large("f8")])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_of_one_element_and_masks(keepdims: bool, dtype: str) -> None:
    values = numbers(dtype, (4, 1, 6, 5, 1))
    rtol = 1e-5 if dtype == "f4" else 1e-7
    marks = values > 2
    for axes in ((0, 1), (1, 2), (1, 4), (0, 4), (2, 3, 4), (0, 1, 2, 3)):
        for op in ("sum", "max", "all", "var"):
            expected = getattr(np, op)(values, axis=axes, keepdims=keepdims)
            for _ in range(3):
                found = wl.reduce(values, op, axis=axes, keepdims=keepdims)
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol)
        expected = values.sum(axis=axes, keepdims=keepdims, where=marks)
        for _ in range(3):
            found = wl.reduce(values, axis=axes, keepdims=keepdims, where=marks)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol)
        gone = np.zeros_like(marks)
        with pytest.raises(wl.InputError, match="where: max is not defined"):
            wl.reduce(values, "max", axis=axes, keepdims=keepdims, where=gone)


def test_a_mask_that_leaves_nothing_but_nans_is_looked_at_by_rows() -> None:
    values, marks = np.full((3, 4, 5), np.nan), np.zeros((3, 4, 5), bool)
    marks[0, 0] = True
    values[0, 0, 1:] = 7
    for _ in range(3):
        found = wl.reduce(values, "nanmax", axis=(0, 1), where=marks)
        np.testing.assert_array_equal(found, [np.nan, 7, 7, 7, 7])
