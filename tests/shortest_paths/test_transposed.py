"""Parts of a matrix where rows and columns change places, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, njit

from warpladder.shortest_paths.cpu_tiles.transposed import are_mirrored, mirror_rows, transpose

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

DTYPES = ("int16", "int32", "int64", "float32", "float64")


@njit
def transposed_part(matrix, i0, i1, j0, j1):
    transpose(matrix, i0, i1, j0, j1)


@njit
def mirrored_rows(matrix, i0, i1, low):
    mirror_rows(matrix, i0, i1, low)


def numbers(n, dtype):
    return np.random.default_rng(n).integers(-99, 99, (n, n)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "part",
    # Nothing, less than a square, squares and no more, all remainders, several blocks.
    [
        (5, 5, 0, 3), (20, 27, 0, 7), (40, 56, 8, 32), (33, 60, 2, 31),
        (130, 290, 0, 129), (0, 129, 140, 300),
    ],
)  # fmt: skip
def test_a_part_goes_to_the_other_side(part, dtype):
    matrix = numbers(300, dtype)
    i0, i1, j0, j1 = part
    expected = matrix.copy()
    expected[j0:j1, i0:i1] = matrix[i0:i1, j0:j1].T
    transposed_part(matrix, *part)
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [(0, 0, 0), (0, 1, 0), (0, 77, 0), (31, 64, 0), (64, 171, 50)])
def test_rows_are_mirrored_as_far_as_the_diagonal(rows, dtype):
    matrix = numbers(171, dtype)
    i0, i1, low = rows
    expected = matrix.copy()
    for row in range(i0, i1):
        expected[low:row, row] = matrix[row, low:row]
    mirrored_rows(matrix, i0, i1, low)
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("bits", ["u2", "u4", "u8"])
def test_every_number_that_is_not_mirrored_is_seen(bits):
    n, first, last = 300, 11, 291
    matrix = numbers(n, bits)
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    assert are_mirrored(matrix, 0, n)
    # By fives and threes, so that every place in a square and every block is met.
    places = [(row, column) for row in range(0, n, 5) for column in range(0, row, 3)]
    for row, column in (*places, (first, 0), (last - 1, last - 2), (last, 0), (first - 1, 0)):
        matrix[row, column] ^= 1
        assert are_mirrored(matrix, first, last) is not (first <= row < last)
        matrix[row, column] ^= 1
