"""Compiled functions called by address: Numba still hands over arguments as is thought here."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, njit

from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.words import place_of

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@njit
def scale(numbers, factor, begin):
    for at in range(begin, numbers.size):
        numbers[at] *= factor


@njit
def scale_at(address, data, itemsize, factor, begin, times):
    for _ in range(times):
        numbers = array_at(place_of(data), data.size // itemsize, itemsize)
        call_at(address, (*numbers, factor, begin))


@pytest.mark.parametrize("dtype", ["i2", "f4", "i8"])
def test_one_caller_does_for_all_dtypes(dtype):
    numbers = np.arange(5, dtype=dtype)
    address = address_of(scale, numbers, 1, 1)
    scale_at(address, numbers.view(np.uint8), numbers.itemsize, 3, 2, 1)
    assert numbers.tolist() == [0, 1, 6, 9, 12]


def test_records_are_arrays_too():
    @njit
    def name(rows, at):
        rows[at].found = rows[at].number + 1

    @njit
    def name_at(address, data, count, itemsize):
        call_at(address, (*array_at(place_of(data), count, itemsize), 2))

    rows = np.zeros(3, [("number", "f8"), ("found", "i8")])
    rows["number"] = 5, 6, 7
    name_at(address_of(name, rows, 1), rows.view(np.uint8), 3, rows.itemsize)
    assert rows["found"].tolist() == [0, 0, 8]


def test_calls_in_a_loop_leave_the_stack_as_it_is():
    """A million of them would need 16 MB of it."""
    numbers = np.zeros(1)
    scale_at(address_of(scale, numbers, 1, 1), numbers.view(np.uint8), 8, 1, 0, 1_000_000)
    assert numbers[0] == 0
