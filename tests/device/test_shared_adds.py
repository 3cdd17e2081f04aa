"""Additions in shared memory whose result nobody asks for: what they add, and what they take."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import cuda, uint32

from warpladder.device.numba_target import types
from warpladder.device.shared_adds import add_where, count_byte, shared_address
from warpladder.errors import InputTypeError
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.simulator import SimulatedDevice

WORDS = 8
needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")


@cuda.jit
def count_bytes(places, others, counts):
    """Count each place; of ``others`` the two lowest bits are the same."""
    counters = cuda.shared.array(WORDS, uint32)
    i = cuda.threadIdx.x
    if i < WORDS:
        counters[i] = 0
    cuda.syncthreads()
    count_byte(counters, shared_address(counters), places[i], others[i])
    cuda.syncthreads()
    if i < WORDS:
        counts[i] = counters[i]


def counted(places, others=None):
    device = SimulatedDevice()
    places = np.asarray(places, np.uint32)
    counts = device.empty(WORDS, np.uint32)
    given = [device.to_device(each) for each in (places, places if others is None else others)]
    device.launch(count_bytes, 1, places.size, *given, counts)
    return device.to_host(counts).view(np.uint8)


def test_each_byte_is_counted_by_itself():
    places = np.random.default_rng(0).integers(0, 4 * WORDS, 250)
    assert np.array_equal(counted(places), np.bincount(places, minlength=4 * WORDS))


def test_only_the_two_lowest_bits_choose_the_byte_of_a_word():
    places = np.arange(4 * WORDS, dtype=np.uint32)
    others = (places & 3) | np.uint32(0xABCDEF0C)
    assert counted(places, others).tolist() == [1] * 32


def test_a_full_byte_is_carried_on_and_the_last_one_lost():
    assert counted([4] * 256).tolist()[:8] == [0, 0, 0, 0, 0, 1, 0, 0]
    assert not counted([7] * 256).any()


def test_other_arrays_are_refused():
    @cuda.jit
    def count_in_bytes():
        counters = cuda.shared.array(4, types.uint8)
        count_byte(counters, shared_address(counters), 0, 0)

    with pytest.raises(InputTypeError, match="count_byte: elements of type uint8 are no 32-bit"):
        SimulatedDevice().launch(count_in_bytes, 1, 1)


@cuda.jit
def count_unasked(numbers):
    counters = cuda.shared.array(1024, uint32)
    base = shared_address(counters)
    for k in range(8):
        number = numbers[8 * cuda.threadIdx.x + k]
        count_byte(counters, base, number, number)


@cuda.jit
def count_asked(numbers):
    counters = cuda.shared.array(1024, uint32)
    base = shared_address(counters)
    for k in range(8):
        number = numbers[8 * cuda.threadIdx.x + k]
        one = uint32(uint32(1) << uint32((number & 3) * 8))
        add_where(number < 4000, counters, base, uint32(number >> 2), one)


@needs_tools
def test_what_is_asked_first_is_a_branch():
    """What the module says of sm_90, and why the lists of the overlap join are filled up."""
    arguments = (types.Array(types.uint32, 1, "C"),)
    found = {}
    for kernel in (count_unasked, count_asked):
        sass = compile_kernel(kernel, arguments, (9, 0)).sass
        found[kernel] = len(re.findall("ATOMS.ADD", sass)), len(re.findall("BSSY", sass))
        assert ("PRMT.B4E" in sass) == (kernel is count_unasked)
    assert found[count_unasked] == (8, 0)
    additions, branches = found[count_asked]
    assert additions == 8
    assert branches >= 7
