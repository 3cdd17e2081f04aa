"""Loads of 16 bytes: what they bring, what they count, what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import cuda

from warpladder.device.numba_target import types
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
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
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
def test_the_compiler_makes_one_instruction_of_it(name):
    array = types.Array(getattr(types, name), 1, "C")
    copy = kernel_for(128 // array.dtype.bitwidth)
    sass = compile_kernel(copy, (array, array, types.int64), (9, 0)).sass
    assert re.findall(r"\bLD[GL]?\b[.\w]*", sass) == ["LDG.E.128"]


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
