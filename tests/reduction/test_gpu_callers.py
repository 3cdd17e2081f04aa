"""A caller's operation on a GPU: in order, however rows lie; simulated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.simulator import SimulatedDevice


def compose(a: Any, b: Any) -> Any:
    """Compose maps x -> m x + c modulo 97, as m * 97 + c: associative, not commutative."""
    m, c = a // 97, a % 97
    return m * (b // 97) % 97 * 97 + (c * (b // 97) + b % 97) % 97


COMPOSED = wl.AssociativeOp(compose, identity=97)


def host(found: Any) -> Any:
    return found.copy_to_host() if hasattr(found, "copy_to_host") else found


def maps(*shape: int) -> Any:
    return np.random.default_rng(shape).integers(0, 97 * 97, shape)


def composed(values: Any, axis: Any) -> Any:
    """Compose one after the other, with NumPy alone."""
    axes = tuple(range(values.ndim)) if axis is None else np.atleast_1d(axis)
    rows = np.moveaxis(values, tuple(axes), range(-len(axes), 0))
    rows = rows.reshape(*rows.shape[: values.ndim - len(axes)], -1)
    found = np.full(rows.shape[:-1], 97)
    for k in range(rows.shape[-1]):
        found = compose(found, rows[..., k])
    return found


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        # Of one element; runs of whole loads and the rest; several pieces, of rows that are aligned
        # and are not.
        ((1,), None),
        ((33,), None),
        ((9001,), None),
        # Several rows at a block; side by side, one for each thread, by several threads, pieces.
        ((70, 70), 1),
        ((3, 300), 0),
        ((300, 40), 0),
        ((9001, 33), 0),
        *large(
            *(((n,), None) for n in (2, 31, 32, 63, 64, 65, 5000)),
            ((3, 9001), 1),
            ((5, 1), 1),
            ((70, 70), 0),
            ((257, 3), 1),
            ((20, 30, 40), 1),
            ((20, 30, 40), (0, 2)),
        ),
    ],
)
def test_elements_are_combined_in_their_order(
    strict_gpu: SimulatedDevice, shape: tuple[int, ...], axis: Any
) -> None:
    values = maps(*shape)
    expected = composed(values, axis)
    for dtype in ("i8",) if values.size > 1000 else ("i8", "u2", "i4"):
        there = strict_gpu.to_device(values.astype(dtype))
        found = wl.reduce(there, COMPOSED, axis=axis, dtype="i8", device=strict_gpu)
        np.testing.assert_array_equal(host(found), expected)


def test_parts_of_arrays_and_masks(gpu: SimulatedDevice) -> None:
    values = maps(20, 71, 6)
    there, here = gpu.to_device(values)[::-1, 1:, ::2], values[::-1, 1:, ::2]
    for axis in (None, 1, (0, 2)):
        found = wl.reduce(there, COMPOSED, axis=axis, device=gpu)
        np.testing.assert_array_equal(host(found), composed(here, axis))
    mask = np.random.default_rng(0).random(here.shape) < 0.5
    mask[:, 3] = False
    of_mask = np.where(mask, here, 97)
    for axis in (None, 0, (0, 2)):
        found = wl.reduce(there, COMPOSED, axis=axis, where=mask, device=gpu)
        np.testing.assert_array_equal(host(found), composed(of_mask, axis))


def test_rows_beside_those_of_other_operations(gpu: SimulatedDevice) -> None:
    values = maps(9, 50)
    found = wl.reduce(gpu.to_device(values), (COMPOSED, "sum"), axis=1, device=gpu)
    np.testing.assert_array_equal(host(found.compose), composed(values, 1))
    np.testing.assert_array_equal(host(found.sum), values.sum(axis=1))


def test_arrays_of_the_host(gpu: SimulatedDevice) -> None:
    values = maps(500)
    assert wl.reduce(values, COMPOSED, device=gpu) == composed(values, None)


@pytest.mark.parametrize("dtype", ["bool", *large("i1", "u8", "f4", "f8")])
def test_every_dtype_keeps_its_own(gpu: SimulatedDevice, dtype: str) -> None:
    """Integers wrap in the dtype in which is reduced; an odd number of truths is true."""
    values = np.random.default_rng(5).integers(0, 100, (40, 30)).astype(dtype)
    op = wl.AssociativeOp((lambda a, b: a != b) if dtype == "bool" else (lambda a, b: a + b), 0)
    expected = np.bitwise_xor.reduce(values) if dtype == "bool" else values.sum(0, dtype=dtype)
    found = host(wl.reduce(gpu.to_device(values), op, axis=0, device=gpu))
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_callers_operation_on_elements_at_several_distances(gpu: SimulatedDevice) -> None:
    # That does not commute: the last of two.
    last = wl.AssociativeOp(lambda a, b: a if b == 0 else b, 0.0, name="last")
    values = np.arange(1.0, 481.0).reshape(6, 8, 10)
    there = gpu.to_device(values)[:, 1:, 1:-1]
    here = values[:, 1:, 1:-1]
    found = wl.reduce(there, last, axis=(0, 2), device=gpu)
    np.testing.assert_array_equal(host(found), here[-1, :, -1])
    assert wl.reduce(there, last, device=gpu) == here[-1, -1, -1]


def test_an_operation_that_numba_knows_itself(gpu: SimulatedDevice) -> None:
    values = np.array([[1, 4], [8, 1]])
    found = wl.reduce(gpu.to_device(values), wl.AssociativeOp(np.bitwise_or, 0), axis=1, device=gpu)
    assert host(found).tolist() == [5, 9]


def test_an_operation_that_no_gpu_has(gpu: SimulatedDevice) -> None:
    """A CPU has it; of what neither has the CPU's compiler tells first."""
    there, gcd = gpu.to_device(np.arange(6).reshape(2, 3)), wl.AssociativeOp(math.gcd, 0)
    for op in (gcd, (gcd, "sum")):
        for axis in (None, 0):
            with pytest.raises(errors.InputError, match=r"op gcd: Numba .* for int64 on a GPU: "):
                wl.reduce(there, op, axis=axis, device=gpu)
    op = wl.AssociativeOp(lambda a, b: a.no_such_thing + b, identity=0, name="broken")
    with pytest.raises(errors.InputError, match="op broken: Numba cannot compile it for int64: "):
        wl.reduce(there, op, device=gpu)
