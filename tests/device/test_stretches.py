"""Stretches are the slices they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, njit

from warpladder.device.stretches import copy_block, copy_stretch, row_stretch, stretch

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
