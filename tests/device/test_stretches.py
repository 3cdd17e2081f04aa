"""Stretches are the slices they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, njit
from numba.core.errors import TypingError

from warpladder.device.stretches import copy_block, copy_stretch, on_stack, row_stretch, stretch

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@njit
def _double(numbers, begin, end):
    part = stretch(numbers, begin, end)
    for i in range(part.size):
        part[i] *= 2
    return part.size, part.sum()


@njit
def _double_in_row(matrix, row, begin, end):
    part = row_stretch(matrix, row, begin, end)
    for j in range(part.size):
        part[j] *= 2


@njit
def _copy(source, target, begin):
    copy_stretch(source, stretch(target, begin, target.size))


@njit
def _copy_of_matrix(source, i0, j0, target, i1, j1, height, width):
    copy_block(source, i0, j0, target, i1, j1, height, width)


@pytest.mark.parametrize("dtype", ["i2", "f4", "i8"])
def test_stretches_are_views(dtype):
    for begin, end in ((0, 12), (3, 4), (5, 5), (12, 12), (2, 11)):
        numbers = np.arange(12, dtype=dtype)
        expected = numbers.copy()
        expected[begin:end] *= 2
        assert _double(numbers, begin, end) == (end - begin, expected[begin:end].sum())
        np.testing.assert_array_equal(numbers, expected)


def test_stretches_of_rows_are_views():
    matrix = np.arange(35).reshape(5, 7)
    expected = matrix.copy()
    for row, begin, end in ((0, 0, 7), (4, 2, 6), (2, 3, 3), (3, 6, 7)):
        _double_in_row(matrix, row, begin, end)
        expected[row, begin:end] *= 2
        np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
def test_copies(dtype):
    for size in (0, 1, 31, 100):
        source, target = np.arange(1, size + 1, dtype=dtype), np.zeros(110, dtype)
        expected = target.copy()
        expected[7 : 7 + size] = source
        _copy(source, target, 7)
        np.testing.assert_array_equal(target, expected)


def test_copies_of_blocks():
    source, target = np.arange(1, 36).reshape(5, 7), np.zeros((6, 9), np.int64)
    expected = target.copy()
    for i0, j0, i1, j1, height, width in (
        (1, 2, 0, 3, 4, 5),
        (0, 0, 1, 1, 5, 7),
        (4, 6, 5, 8, 1, 1),
    ):
        _copy_of_matrix(source, i0, j0, target, i1, j1, height, width)
        expected[i1 : i1 + height, j1 : j1 + width] = source[i0 : i0 + height, j0 : j0 + width]
        np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64])
def test_what_is_on_the_stack_is_an_array(dtype):
    @njit(_nrt=False)
    def turned(numbers):
        first, last = on_stack(100, dtype), on_stack(100, np.float64)
        for i in range(100):
            first[i], last[i] = numbers[i], numbers[i]
        for i in range(100):
            numbers[i] = first[99 - i]
        return first.size, last[7], first.ctypes.data % 64, last.ctypes.data % 64

    numbers = np.arange(100).astype(dtype)
    assert turned(numbers) == (100, 7.0, 0, 0)
    np.testing.assert_array_equal(numbers, np.arange(100)[::-1])


def test_how_large_it_is_has_to_be_known():
    with pytest.raises(TypingError, match="size of what is on the stack"):
        njit(lambda size: on_stack(size, np.float64).size)(3)
