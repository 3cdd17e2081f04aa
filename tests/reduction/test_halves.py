"""Float16s whose rows do not run along memory: they are reduced as the float32s that they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.errors import InputTypeError, TooLargeError
from warpladder.reduction.memory import halves
from warpladder.reduction.memory.halves import are_better_wide, slabs_of, widened
from warpladder.reduction.shortcuts import in_floats

OPS = [
    *("sum", "max", "argmin", "std", "any", "nanmean"),
    *large("prod", "min", "ptp", "argmax", "mean", "var", "all", "count_nonzero", "logsumexp"),
    *large("l1", "l2", "nansum", "nanmax", "nanvar"),
]
SHAPES = [
    ((33, 32), 0),
    ((17, 7, 19), 1),
    *large(((3, 40, 50), 0), ((2, 1), 0), ((16, 31), 1), ((5, 4, 3, 2), (1, 3)), ((1000, 1), 0)),
]


def numbers(*shape: int, seed: int = 0) -> NDArray[np.float16]:
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(np.float16)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_results_are_those_of_float32s_rounded_once(op: str, shape: Any, axis: Any) -> None:
    if op.startswith("arg") and isinstance(axis, tuple):
        pytest.skip("a place is along one axis")
    array = numbers(*shape)
    found = wl.reduce(array, op, axis=axis)
    # Wide enough that nothing is rounded twice.
    wide = wl.reduce(array.astype(np.float64), op, axis=axis)
    with np.errstate(over="ignore"):
        expected = wide.astype(np.float16) if wide.dtype == np.float64 else wide
    assert found.dtype == expected.dtype
    if found.dtype == np.float16:
        # Float32 may be to the other side of the middle of two.
        np.testing.assert_allclose(found, expected, rtol=2.0**-10, atol=6e-8)
    else:
        np.testing.assert_array_equal(found, expected)
    long = wl.reduce(array, op, axis=axis, progress=lambda _: None)
    np.testing.assert_array_equal(found, long)


def test_a_sum_is_rounded_once() -> None:
    """2048 + 1 + 2^-14 is just above the middle of two float16s; as a float32 it is that middle."""
    array = np.zeros((640, 4096), np.float16)
    # In two blocks, each of which has its sum as a float32.
    array[0], array[600], array[601] = 2048, 1, 2.0**-14
    np.testing.assert_array_equal(wl.reduce(array[:, :64], axis=0), np.full(64, 2050))
    both = wl.reduce(array, ("sum", "max"), axis=0)
    np.testing.assert_array_equal(both.sum, np.full(4096, 2050))
    np.testing.assert_array_equal(both.max, np.full(4096, 2048))
    assert {one.dtype for one in both} == {np.dtype(np.float16)}


@pytest.mark.parametrize("op", ["sum", "max", "argmin", ("mean", "ptp")], ids=str)
@pytest.mark.parametrize(
    "lie",
    [
        lambda a: a.transpose(2, 0, 1),
        lambda a: a[::-1, :, ::2],
        lambda a: a[1:, 2:-1, 3:],
        np.asfortranarray,
        lambda a: np.broadcast_to(a[:, :1], a.shape),
    ],
    ids=["turned", "backwards", "cut", "Fortran", "broadcast"],
)
def test_bits_hang_neither_on_slabs_nor_on_the_way(
    op: Any, lie: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = lie(numbers(40, 50, 60, seed=1))
    for axis in range(3):
        found = wl.reduce(array, op, axis=axis)
        expected = wl.reduce(array, op, axis=axis, progress=lambda _: None)
        np.testing.assert_array_equal(found, expected)
        with monkeypatch.context() as patch:
            # Rows are whole in each slab, and no longer than a block.
            patch.setattr(halves, "SLAB", 40_000)
            patch.setattr(in_floats, "SLAB", 40_000)
            told: list[float] = []
            sliced = wl.reduce(array, op, axis=axis, progress=told.append)
            # Several operations leave so few rows as they are.
            if type(op) is str and are_better_wide.__wrapped__(array.shape, array.strides, (axis,)):
                assert len(told) > 1
            assert told[-1] == 1.0
            assert told == sorted(told)
        np.testing.assert_array_equal(found, sliced)


def test_options_are_those_of_any_array() -> None:
    array = numbers(20, 30, seed=2)
    wide = array.astype(np.float64)
    total = wl.reduce(array, axis=0, dtype="float64", keepdims=True, initial=2.5)
    np.testing.assert_allclose(total, wide.sum(0, keepdims=True) + 2.5, rtol=1e-14)
    assert total.dtype == np.float64
    high = wl.reduce(array, "max", axis=0, initial=1.0)
    np.testing.assert_array_equal(high, array.max(0, initial=np.float16(1)))
    assert high.dtype == np.float16
    out = np.empty(30, np.float16)
    assert wl.reduce(array, "min", axis=0, out=out) is out
    np.testing.assert_array_equal(out, array.min(0))
    exact = wl.reduce(array, axis=0, accuracy="reproducible")
    np.testing.assert_array_equal(exact, wide.sum(0).astype(np.float16))


@pytest.mark.parametrize("op", ["sum", "max", "any"])
def test_specials_are_what_they_are(op: str) -> None:
    array = np.array([[np.nan, 6e4, -0.0, 6e-8], [1, 6e4, 0.0, 6e-8], [0, -np.inf, 0, 0]], "f2")
    array = np.repeat(array, 16, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = getattr(np, op)(array.astype(np.float64), axis=0)
        expected = expected if op == "any" else expected.astype(np.float16)
    np.testing.assert_array_equal(wl.reduce(array, op, axis=0), expected)


def test_every_float16_is_widened_exactly() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for array in (every, every.reshape(256, 256).T, every[::-3], every.reshape(16, 16, -1)[:, 1:]):
        wide = widened(array)
        assert wide.shape == array.shape
        np.testing.assert_array_equal(wide, array.astype(np.float32))
        is_number = ~np.isnan(wide)
        np.testing.assert_array_equal(np.signbit(wide[is_number]), np.signbit(array[is_number]))


def test_arrays_that_no_loop_may_write_or_that_lie_between_bytes_are_widened() -> None:
    fixed = numbers(8, 100)
    fixed.flags.writeable = False
    between = np.frombuffer(b"\0" + fixed.tobytes(), np.uint8)[1:].view(np.float16).reshape(8, 100)
    assert not between.flags.aligned
    for array in (fixed, between):
        np.testing.assert_array_equal(widened(array), fixed.astype(np.float32))
        np.testing.assert_array_equal(wl.reduce(array, "max", axis=0), fixed.max(0))


def test_rows_that_are_long_stay_as_they_are() -> None:
    def are(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
        return are_better_wide(shape, np.empty(shape, np.float16).strides, axes)

    assert are((1000, 100), (0,))
    assert are((1000, 31), (1,))
    assert not are((1000, 32), (1,))
    assert not are((1000, 15), (0,))
    # A slab would have part of each line of memory.
    assert not are((1 << 15, 1 << 9), (0,))
    assert not are((0, 100), (0,))
    # Several slabs, and a loop along each row is as fast.
    assert are((2049, 2000), (0,))
    assert not are((2049, 2100), (0,))
    spans = [span[:2] for span, _ in slabs_of(np.empty((1 << 12, 1 << 11), np.float16), (0,))]
    assert spans == [(0, 1024), (1024, 2048)]


def test_results_that_memory_does_not_hold_are_refused() -> None:
    huge = np.broadcast_to(np.float16(1), (2, 10**13))
    with pytest.raises(TooLargeError, match="values: the results"):
        wl.reduce(huge, axis=0)


@pytest.mark.parametrize("axis", [("a",), (1.0,), (None,), (True,), "a", True], ids=repr)
def test_what_is_no_axis_is_refused_as_for_any_array(axis: Any) -> None:
    with pytest.raises(InputTypeError, match="must be None, an integer or a tuple of integers"):
        wl.reduce(numbers(40, 50), axis=axis)


def test_other_byte_order_and_masks_go_their_own_way() -> None:
    array = numbers(5, 70, seed=3)
    np.testing.assert_array_equal(wl.reduce(array.astype(">f2"), "max", axis=0), array.max(0))
    mask = array > 0
    found = wl.reduce(array, axis=0, where=mask)
    np.testing.assert_allclose(found, array.sum(0, where=mask, dtype="f8"), rtol=2.0**-10)
