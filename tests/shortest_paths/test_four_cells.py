"""Four neighbouring cells at a time: what is loaded and stored, in kernels and outside."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from warpladder.errors import WarpladderError
from warpladder.shortest_paths.gpu_tiles.four_cells import load_four, store_four
from warpladder.simulator import SimulatedDevice


@cuda.jit
def turn_over(matrix):
    i = cuda.threadIdx.x
    a, b, c, d = load_four(matrix, i, 4)
    store_four(matrix, i, 0, (d, c, b, a))


def expected(matrix):
    turned = matrix.copy()
    turned[:, :4] = matrix[:, 7:3:-1]
    return turned


@pytest.mark.parametrize(
    ("dtype", "requests"), [("int32", 1), ("float32", 1), ("int64", 2), ("float64", 2)]
)
def test_in_kernels(dtype, requests):
    matrix = np.arange(32 * 8).reshape(32, 8).astype(dtype)
    device = SimulatedDevice()
    there = device.to_device(matrix)
    device.launch(turn_over, 1, 32, there)
    assert (device.to_host(there) == expected(matrix)).all()
    counters = device.counters
    assert (counters.global_load_requests, counters.global_store_requests) == (requests, requests)


def test_outside_of_kernels():
    matrix = np.arange(16).reshape(2, 8)
    cells = load_four(matrix, 1, 4)
    assert cells == (12, 13, 14, 15)
    store_four(matrix, 0, 0, cells)
    assert matrix[0].tolist() == [12, 13, 14, 15, 4, 5, 6, 7]


def test_numbers_of_other_sizes_are_refused():
    device = SimulatedDevice()
    with pytest.raises(WarpladderError, match="turn_over"):
        device.launch(turn_over, 1, 1, device.to_device(np.zeros((1, 8), np.int16)))
