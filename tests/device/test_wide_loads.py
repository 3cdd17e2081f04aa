"""Loads and stores of 16 bytes: what they move, what they count, what is refused."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from numba import cuda

from choosing import large
from warpladder.device.numba_target import types
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes, store_16_bytes
from warpladder.errors import InputTypeError, KernelFaultError
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.simulator import SimulatedDevice

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float32", "int64", "uint64", "float64")
needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")


def kernel_for(count):
    @cuda.jit
    def copy(source, target, first):
        i = count * cuda.grid(1)
        numbers = load_16_bytes(source, first + i)
        place = i
        for number in numbers:
            target[place] = number
            place += 1

    return copy


def run(source, first=0, threads=32, device=None):
    count = WIDE_BYTES // source.dtype.itemsize
    device = device or SimulatedDevice()
    target = device.empty(count * threads, source.dtype)
    device.launch(kernel_for(count), 1, threads, device.to_device(source), target, first)
    return device.to_host(target)


@cache
def moving_kernel(count):
    """Move 16 bytes from each row of a matrix to another, one column further on."""

    @cuda.jit
    def move(source, target, first, shift):
        i = cuda.grid(1)
        if i < source.shape[0]:
            numbers = load_16_bytes(source, (i, first))
            store_16_bytes(target, (i, first + shift * count), numbers)

    return move


def move(source, first=0, shift=1, device=None):
    device = device or SimulatedDevice()
    target = device.to_device(np.zeros_like(source))
    kernel = moving_kernel(WIDE_BYTES // source.dtype.itemsize)
    device.launch(kernel, 1, 32, device.to_device(source), target, first, shift)
    return device.to_host(target)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_a_matrix_are_moved(dtype):
    bits = np.random.default_rng(0).integers(0, 255, (20, 64)).astype(np.uint8)
    numbers = bits.view(dtype)
    count = WIDE_BYTES // numbers.dtype.itemsize
    moved = move(numbers, first=count, shift=2)
    expected = np.zeros_like(bits)
    expected[:, 48:64] = bits[:, 16:32]
    assert moved.tobytes() == expected.tobytes()


def test_what_is_stored_is_converted_and_may_be_the_same_for_all():
    @cuda.jit
    def fill(numbers):
        store_16_bytes(numbers, 4 * cuda.threadIdx.x, (1, 2.5, cuda.threadIdx.x, True))

    device = SimulatedDevice()
    for threads in (1, 3):
        numbers = device.empty(4 * threads, np.float32)
        device.launch(fill, 1, threads, numbers)
        expected = [[1, 2.5, thread, 1] for thread in range(threads)]
        assert device.to_host(numbers).reshape(-1, 4).tolist() == expected


def test_a_warp_of_stores_to_as_many_rows_is_one_request():
    device = SimulatedDevice()
    move(np.zeros((32, 8), np.int32), device=device)
    counters = device.counters
    assert (counters.global_store_requests, counters.global_store_sectors) == (1, 32)


def test_stores_are_checked_as_loads_are():
    numbers = np.zeros((32, 16), np.int32)
    with pytest.raises(KernelFaultError, match=r"memcheck: .*no multiple of 16 bytes"):
        move(numbers, first=2)
    with pytest.raises(KernelFaultError, match="out of bounds"):
        move(numbers, first=12)
    with pytest.raises(KernelFaultError, match="out of bounds"):
        move(numbers, first=-4)


def test_stores_that_race_are_reported():
    @cuda.jit
    def race(numbers, total):
        if cuda.threadIdx.x == 0:
            store_16_bytes(numbers, 0, (1, 2, 3, 4))
        if cuda.threadIdx.x == 32:
            total[0] = numbers[3]

    device = SimulatedDevice()
    numbers = device.to_device(np.zeros(4, np.int32))
    with pytest.raises(KernelFaultError, match="racecheck"):
        device.launch(race, 1, 64, numbers, device.empty(1, np.int32))


def test_what_is_stored_counts_as_written():
    @cuda.jit
    def fill(numbers, total):
        store_16_bytes(numbers, 0, (1, 2, 3, 4))
        total[0] = numbers[0] + numbers[3]

    device = SimulatedDevice()
    total = device.empty(1, np.int32)
    device.launch(fill, 1, 1, device.empty(4, np.int32), total)
    assert device.to_host(total) == [5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_arrives(dtype):
    numbers = np.random.default_rng(0).integers(0, 255, 1024).astype(np.uint8).view(dtype)
    whole = 32 * WIDE_BYTES // numbers.dtype.itemsize
    assert run(numbers).tobytes() == numbers[:whole].tobytes()
    assert run(numbers, first=whole // 2).tobytes() == numbers[whole // 2 :][:whole].tobytes()


def test_a_single_thread_too():
    numbers = np.arange(8, dtype=np.int32)
    assert run(numbers, first=4, threads=1).tolist() == [4, 5, 6, 7]


def test_a_warp_is_one_request_of_16_sectors():
    device = SimulatedDevice()
    run(np.zeros(128, np.int32), device=device)
    counters = device.counters
    assert (counters.global_load_requests, counters.global_load_sectors) == (1, 16)
    assert counters.load_utilisation_32 == 100


@pytest.mark.parametrize("first", [1, 2, 3])
def test_memcheck_reports_a_load_that_is_not_aligned(first):
    with pytest.raises(KernelFaultError, match=r"memcheck: .*no multiple of 16 bytes"):
        run(np.zeros(200, np.int32), first=first)


@pytest.mark.parametrize("first", [-4, 4, 128, 2**40])
def test_a_load_beyond_either_end_is_a_fault(first):
    with pytest.raises(KernelFaultError, match="out of bounds"):
        run(np.zeros(128, np.int32), first=first)


def test_elements_that_nobody_has_written_are_reported():
    device = SimulatedDevice()
    source = device.empty(128, np.int32)
    source[:127] = np.zeros(127, np.int32)
    with pytest.raises(KernelFaultError, match="initcheck"):
        device.launch(kernel_for(4), 1, 32, source, device.empty(128, np.int32), 0)


def test_races_are_seen_through_any_of_the_elements():
    @cuda.jit
    def race(numbers, total):
        if cuda.threadIdx.x == 0:
            numbers[3] = 7
        if cuda.threadIdx.x == 32:
            total[0] = load_16_bytes(numbers, 0)[3]

    device = SimulatedDevice()
    numbers = device.to_device(np.zeros(4, np.int32))
    with pytest.raises(KernelFaultError, match="racecheck"):
        device.launch(race, 1, 64, numbers, device.empty(1, np.int32))


def test_the_address_is_that_of_the_first_element():
    @cuda.jit
    def ask(numbers, out):
        out[0] = address_of(numbers) % 512

    device = SimulatedDevice()
    numbers = device.to_device(np.zeros(64, np.int32))
    out = device.empty(1, np.int64)
    for first in (0, 1, 5):
        device.launch(ask, 1, 1, numbers[first:], out)
        assert device.to_host(out) == [4 * first]


@needs_tools
@pytest.mark.parametrize("name", ["int8", *large("float32", "float16", "int64")])
def test_the_compiler_makes_one_instruction_of_it(name):
    array = types.Array(getattr(types, name), 1, "C")
    copy = kernel_for(128 // array.dtype.bitwidth)
    sass = compile_kernel(copy, (array, array, types.int64), (9, 0)).sass
    assert re.findall(r"\bLD[GL]?\b[.\w]*", sass) == ["LDG.E.128"]


@needs_tools
@pytest.mark.parametrize("name", ["int64", *large("float16", "int8", "float32")])
def test_of_a_matrix_it_makes_one_of_each(name):
    matrix = types.Array(getattr(types, name), 2, "C")
    move = moving_kernel(128 // matrix.dtype.bitwidth)
    sass = compile_kernel(move, (matrix, matrix, types.int64, types.int64), (9, 0)).sass
    assert re.findall(r"\b(?:LD|ST)[GL]?\.[.\w]*", sass) == ["LDG.E.128", "STG.E.128"]


@needs_tools
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (types.Array(types.int32, 2, "C"), "no contiguous array of one dimension"),
        (types.Array(types.int32, 1, "A"), "no contiguous array of one dimension"),
        (types.Array(types.complex64, 1, "C"), "no plain numbers"),
        (types.int32, "no contiguous array"),
    ],
)
def test_other_arrays_are_refused_when_a_kernel_is_compiled(kind, said):
    @cuda.jit
    def add_two(source, target):
        numbers = load_16_bytes(source, 0)
        target[0] = numbers[0]

    with pytest.raises(InputTypeError, match=f"load_16_bytes: .*{said}"):
        compile_kernel(add_two, (kind, types.Array(types.int32, 1, "C")))


@needs_tools
@pytest.mark.parametrize(
    ("index", "elements", "said"),
    [
        ((0, 0, 0), (1, 2, 3, 4), "no index of"),
        ((0.5, 0), (1, 2, 3, 4), "no index of"),
        (0, (1, 2, 3, 4), "takes an index for each"),
        ((0, 0), (1, 2), "no tuple of the 4 elements"),
        ((0, 0), 1, "no tuple of the 4 elements"),
    ],
)
def test_stores_of_something_else_are_refused_when_a_kernel_is_compiled(index, elements, said):
    @cuda.jit
    def fill(matrix):
        store_16_bytes(matrix, index, elements)

    with pytest.raises(InputTypeError, match=f"store_16_bytes: .*{said}"):
        compile_kernel(fill, (types.Array(types.int32, 2, "C"),))


@needs_tools
def test_stores_into_what_is_read_only_are_refused_when_a_kernel_is_compiled():
    @cuda.jit
    def fill(numbers):
        store_16_bytes(numbers, 0, (1, 2, 3, 4))

    frozen = types.Array(types.int32, 1, "C", readonly=True)
    with pytest.raises(InputTypeError, match=r"store_16_bytes: .* is read-only"):
        compile_kernel(fill, (frozen,))
