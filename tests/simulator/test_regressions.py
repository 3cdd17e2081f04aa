"""Kernels that the simulator once got wrong, each as small as it goes.

Found by reviewers and while its other tests were written.
"""

from __future__ import annotations

import cmath
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numba import cuda, float64, int32
from simulating import run

from warpladder.errors import KernelFaultError
from warpladder.simulator import SimulatedDevice, simulate


def in_time(program: str, seconds: int = 60) -> subprocess.CompletedProcess[str]:
    """Run a program that may never end."""
    head = "import numpy as np\nfrom numba import cuda\nfrom warpladder.simulator import simulate\n"
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program)],
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip


def test_threads_end_where_none_is_taken_for_a_number():
    """As by an exception: what follows is not done, nor what the number was for."""

    @cuda.jit(device=True)
    def root(x):
        if x >= 0:
            return math.sqrt(x)
        return None

    @cuda.jit
    def stored(values, out):
        i = cuda.grid(1)
        out[i] = root(values[i])

    @cuda.jit
    def added(values, out):
        i = cuda.grid(1)
        found = root(values[i])
        out[i] = 5
        for _ in range(2):
            out[i] += found

    @cuda.jit
    def chosen(values, out):
        i = cuda.grid(1)
        out[i] = i if values[i] > 0 else None

    @cuda.jit
    def looked_at(values, out):
        i = cuda.grid(1)
        found = root(values[i])
        out[i] = -7 if found is None else found + 1

    values = np.array([4.0, -4.0, 9.0])
    for kernel, expected in (
        (stored, [2, -1, 3]),
        (added, [9, 5, 11]),
        (chosen, [0, -1, 2]),
        (looked_at, [3, -7, 4]),
    ):
        for options in ({}, {"checks": True}, {"schedule": "warps"}):
            out = np.full(3, -1.0)
            simulate(kernel, **options)[1, 3](values, out)
            assert out.tolist() == expected


def test_none_is_told_from_a_number():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        value = None
        if i % 2:
            value = i
        out[i] = -7 if value is None else value

    out = np.zeros(6, np.int64)
    run(kernel, 1, 6, out)
    assert out.tolist() == [-7, 1, -7, 3, -7, 5]


def test_threads_that_spin_let_others_run_and_end_in_a_livelock_where_they_never_do():
    done = in_time("""
        @cuda.jit
        def count_spins(flag, out):
            if cuda.blockIdx.x == 0:
                spins = 0
                while cuda.atomic.add(flag, 0, 0) == 0:
                    spins += 1
                out[0] = 1
            else:
                cuda.atomic.exch(flag, 0, 1)

        out = np.zeros(1)
        simulate(count_spins, schedule="warps")[2, 1](np.zeros(1, np.int32), out)
        assert out[0] == 1

        # One waits, and is woken though the other never rests.
        @cuda.jit
        def wait(counter, flag):
            if cuda.blockIdx.x == 0:
                while cuda.atomic.add(counter, 0, 0) < 100:
                    pass
                cuda.atomic.exch(flag, 0, 1)
            else:
                while cuda.atomic.add(flag, 0, 0) == 0:
                    cuda.atomic.add(counter, 0, 1)

        counter = np.zeros(1, np.int32)
        simulate(wait)[2, 1](counter, np.zeros(1, np.int32))
        assert counter[0] >= 100

        # A lock within a warp, for which all others wait.
        @cuda.jit
        def lock(lock, total):
            spins = 0
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                spins += 1
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)

        total = np.zeros(1)
        simulate(lock)[1, 32](np.zeros(1, np.int32), total)
        assert total[0] == 32
        print("all have ended")

        from warpladder.simulator.execution import scheduler

        scheduler.IDLE_STEPS = 1 << 12  # the real bound takes seconds

        @cuda.jit
        def count_for_ever(flag):
            spins = 0
            while flag[0] == 0:
                spins += 1
            flag[1] = spins

        simulate(count_for_ever)[1, 32](np.zeros(2))
    """)
    assert done.stdout == "all have ended\n", done.stderr
    assert "livelock" in done.stderr


def test_an_atomic_operation_on_a_field_that_is_not_aligned():
    dtype = np.dtype([("tag", "i1"), ("count", "i4")])

    @cuda.jit
    def kernel(records):
        cuda.atomic.add(records.count, 1, 5)

    records = np.zeros(4, dtype)
    try:
        simulate(kernel)[1, 1](records)
    except KernelFaultError as fault:
        # What a GPU says.
        assert "no multiple of 4 bytes" in str(fault)  # noqa: PT017 - either will do
    else:
        assert records["count"].tolist() == [0, 5, 0, 0]


def test_a_global_tuple_indexed_by_each_thread():
    weights = (2, 5, 11)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = weights[i % 3]

    out = np.zeros(6)
    run(kernel, 1, 6, out)
    assert out.tolist() == [2, 5, 11] * 2


def test_a_tuple_indexed_by_the_thread_index_itself():
    weights = (3, 5, 7)

    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = weights[cuda.threadIdx.x] + (1.5, 2.5, 3.5)[cuda.threadIdx.x]

    out = np.zeros(3)
    run(kernel, 1, 3, out)
    assert out.tolist() == [4.5, 7.5, 10.5]


def test_a_tuple_of_numbers_and_computed_ones_indexed_by_each_thread():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        weights = (3, 10 * i, 4)
        out[i] = weights[i % 3]

    out = np.zeros(6)
    run(kernel, 1, 6, out)
    assert out.tolist() == [3, 10, 4, 3, 40, 4]


def test_the_logarithm_of_a_complex_number_to_a_base():
    @cuda.jit
    def kernel(values, bases, out):
        i = cuda.grid(1)
        base = bases[i]
        out[i, 0] = cmath.log(values[i], base)
        out[i, 1] = cmath.log(values[i], 2 + 0j)
        out[i, 2] = base

    values, bases = np.array([8 + 0j, 1j]), np.array([2 + 0j, 3 + 1j])
    out = np.zeros((2, 3), complex)
    run(kernel, 1, 2, values, bases, out)
    wanted = [[cmath.log(v, b), cmath.log(v, 2), b] for v, b in zip(values, bases, strict=True)]
    assert np.allclose(out, wanted, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_powers_by_function_are_those_by_operator(dtype):
    @cuda.jit
    def kernel(bases, exponents, powers, operated):
        i = cuda.grid(1)
        powers[i] = pow(bases[i], exponents[i])
        operated[i] = bases[i] ** exponents[i]

    bases = np.array([3, -2, -1, 7], dtype)
    powers, operated = np.zeros((2, 4))
    run(kernel, 1, 4, bases, np.array([-1, 3, -3, 5]), powers, operated)
    assert np.array_equal(powers, operated)
    assert powers[1:].tolist() == [-8, -1, 7**5]


def test_the_conjugate_of_a_complex_number():
    @cuda.jit
    def kernel(values):
        values[0] = values[0].conjugate()

    values = np.array([1 + 2j])
    run(kernel, 1, 1, values)
    assert values[0] == 1 - 2j


def test_fma_of_a_product_beyond_the_range_and_infinity():
    @cuda.jit
    def kernel(values):
        values[3] = cuda.fma(values[0], values[1], values[2])

    # The product is finite, though no float64: it does not cancel with the infinity.
    values = np.array([1e308, 10, -math.inf, 0])
    run(kernel, 1, 1, values)
    assert values[3] == -math.inf


def test_fma_beyond_the_range_is_infinite():
    @cuda.jit
    def kernel(values):
        values[2] = cuda.fma(values[0], values[1], values[0])

    values = np.array([-1e308, 10, 0])
    run(kernel, 1, 1, values)
    assert values[2] == -math.inf


def test_a_read_of_which_only_the_first_half_was_written():
    @cuda.jit
    def kernel(out):
        words = cuda.shared.array(0, int32)
        doubles = cuda.shared.array(0, float64)
        words[0] = 1
        out[0] = doubles[0]

    with pytest.raises(KernelFaultError, match="initcheck"):
        run(kernel, 1, 1, np.zeros(1), shared=8)


def test_blocks_of_one_batch_are_not_more_than_the_device_holds():
    @cuda.jit
    def all_wait_for_all(arrived):
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(arrived, 0, 1)
            while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
                pass

    # One multiprocessor of 9.0 holds two blocks of 1024 threads: the third never starts.
    device = SimulatedDevice(multiprocessors=1)
    with pytest.raises(KernelFaultError, match="blocks are resident"):
        device.launch(all_wait_for_all, 3, 1024, device.full(1, 0, np.int32))


def test_writes_through_arguments_that_share_memory():
    @cuda.jit
    def kernel(part, whole):
        i = cuda.grid(1)
        whole[i] = i + 1 + 0 * part[i // 2]

    base = np.zeros(8)
    # checks=False: the kernel itself races; what counts is that no write is lost.
    run(kernel, 1, 8, base[::2], base, checks=False)
    assert base.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


MIXED = {
    "+": (lambda a, b: a + b, 2**53 + 3),
    "-": (lambda a, b: a - b, 2**53 - 1),
    "*": (lambda a, b: a * b, 2 * (2**53 + 1)),
    "//": (lambda a, b: a // b, 2**52),
    "%": (lambda a, b: a % b, 1),
    "&": (lambda a, b: a & b, 0),
    "|": (lambda a, b: a | b, 2**53 + 3),
    "^": (lambda a, b: a ^ b, 2**53 + 3),
    "<<": (lambda a, b: a << b, 2**55 + 4),
    ">>": (lambda a, b: a >> b, 2**51),
}


@pytest.mark.parametrize("symbol", MIXED)
@pytest.mark.parametrize("dtypes", [(np.uint64, np.int64), (np.int64, np.uint64)])
def test_signed_and_unsigned_integers_are_not_made_floats(symbol, dtypes):
    # Numba types all of these (int64, uint64) -> int64; NumPy computes them in float64.
    function, expected = MIXED[symbol]
    device_function = cuda.jit(device=True)(function)

    @cuda.jit
    def kernel(a, b, out):
        out[0] = device_function(a[0], b[0])

    out = np.zeros(1, np.int64)
    run(kernel, 1, 1, np.array([2**53 + 1], dtypes[0]), np.array([2], dtypes[1]), out)
    assert out[0] == expected


def test_the_quotient_of_an_integer_and_zero_of_the_other_sign():
    @cuda.jit
    def kernel(a, b, out):
        out[0] = a[0] // b[0]

    out = np.full(1, 9)
    run(kernel, 1, 1, np.array([2], np.uint8), np.array([0], np.int8), out)
    assert out[0] == 0


def test_the_least_integer_divided_by_minus_one():
    # numba-cuda's int_divmod_signed: "We return 0, 0 instead".
    @cuda.jit
    def kernel(values):
        values[1] = values[0] // values[2]
        values[3] = values[0] % values[2]

    values = np.array([-(2**63), 7, -1, 7])
    run(kernel, 1, 1, values)
    assert values[1] == 0
    assert values[3] == 0


def test_powers_with_huge_exponents_end():
    @cuda.jit
    def kernel(bases, exponents, out):
        i = cuda.grid(1)
        out[i] = bases[i] ** exponents[i]

    exponents = np.array([-(2**63), 70_000, 62, -1], dtype=np.int64)
    out = np.zeros(4, dtype=np.int64)
    run(kernel, 1, 4, np.array([1, 1, 2, -1], dtype=np.int64), exponents, out)
    assert out[1:].tolist() == [1, 2**62, -1]


def test_a_root_as_a_power_is_cs_pow():
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = values[i] ** 0.5

    out = np.ones(3)
    run(kernel, 1, 3, np.array([-np.inf, -0.0, 4.0]), out)
    assert out.tolist() == [np.inf, 0.0, 2.0]
    assert not np.signbit(out[1])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool"])
def test_numpy_functions_of_small_integers_are_never_float16(dtype):
    @cuda.jit
    def kernel(values, out):
        out[0] = np.sin(values[0])

    values = np.array([1], dtype)
    out = np.zeros(1)
    run(kernel, 1, 1, values, out)
    assert out[0] in (np.sin(np.float32(1)), np.sin(1.0))


def test_a_view_of_other_items_is_no_race():
    @cuda.jit
    def kernel(words, out):
        bytes_ = words.view(np.uint8)
        i = cuda.grid(1)
        bytes_[i] = i
        shared = cuda.shared.array(8, int32)
        parts = shared.view(np.uint8)
        parts[i] = i + 1
        cuda.syncthreads()
        out[i] = parts[31 - i]

    words, out = np.zeros(8, np.int32), np.zeros(32, np.int64)
    simulate(kernel, checks=True)[1, 32](words, out)
    assert words.view(np.uint8).tolist() == list(range(32))
    assert out.tolist() == list(range(32, 0, -1))


def test_a_long_loop_that_reads_one_place_keeps_its_warp_together():
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        total = 0
        if i % 2 == 0:
            for _ in range(600):
                total += values[0]
        out[i] = total
        cuda.syncthreads()

    kernel_ = simulate(kernel, counters=True)
    kernel_[2, 32](np.ones(1, np.int64), np.zeros(64, np.int64))
    counters = kernel_.report.counters
    assert (counters.barriers, counters.global_store_requests) == (2, 2)


def test_complex_numbers_with_one_infinite_part():
    @cuda.jit
    def kernel(parts, out):
        out[0] = complex(parts[0], parts[1])

    out = np.zeros(1, np.complex128)
    run(kernel, 1, 1, np.array([1.0, np.inf]), out)
    assert (out[0].real, out[0].imag) == (1.0, np.inf)


def test_a_device_function_with_star_arguments():
    @cuda.jit(device=True)
    def total(first, *rest):
        for one in rest:
            first += one
        return first

    @cuda.jit
    def kernel(out):
        out[0] = total(1, 2, 3)

    out = np.zeros(1, np.int64)
    run(kernel, 1, 1, out)
    assert out[0] == 6


def test_the_quotient_that_does_not_fit_is_zero_in_divmod_too():
    @cuda.jit
    def kernel(a, b, out):
        out[0], out[1] = divmod(a[0], b[0])

    out = np.ones(2, np.int64)
    run(kernel, 1, 1, np.array([-(2**63)]), np.array([-1]), out)
    assert out.tolist() == [0, 0]


@pytest.mark.parametrize("checks", [False, True])
def test_whole_records_are_copied_from_the_array_that_each_thread_chose(checks):
    @cuda.jit
    def kernel(one, other, target):
        i = cuda.grid(1)
        chosen = one[i] if i % 2 else other[i]
        target[i] = chosen

    dtype = np.dtype([("tag", "i4"), ("weight", "f8")], align=True)
    one, other, target = (np.zeros(8, dtype) for _ in range(3))
    one["tag"], other["weight"] = np.arange(8), np.arange(8) / 2
    simulate(kernel, checks=checks)[1, 8](one, other, target)
    odd = np.arange(8) % 2 == 1
    assert target["tag"].tolist() == np.where(odd, np.arange(8), 0).tolist()
    assert target["weight"].tolist() == np.where(odd, 0, np.arange(8) / 2).tolist()


def test_threads_that_write_different_records_to_one_place_race():
    @cuda.jit
    def kernel(records, target):
        target[0] = records[cuda.grid(1)]

    dtype = np.dtype([("tag", "i4"), ("weight", "f8")], align=True)
    records = np.zeros(4, dtype)
    records["tag"] = np.arange(4)
    with pytest.raises(KernelFaultError, match="racecheck"):
        simulate(kernel, checks=True)[1, 4](records, np.zeros(1, dtype))
    records["tag"] = 5
    target = np.zeros(1, dtype)
    simulate(kernel, checks=True)[1, 4](records, target)
    assert target["tag"][0] == 5


@pytest.mark.parametrize("part", [slice(2, None), slice(65, 1, -1)], ids=["whole", "reversed"])
def test_parts_of_one_array_of_the_host_do_not_meet_on_the_device(part):
    @cuda.jit
    def kernel(source, target):
        i = cuda.grid(1)
        target[i] = source[i]

    numbers = np.arange(66)
    run(kernel, 2, 32, numbers[:64], numbers[part], schedule="warps")
    assert numbers[part].tolist() == list(range(64))
    assert numbers[:2].tolist() == [0, 1]


@pytest.mark.parametrize(("fastmath", "dtype"), [(True, "f4"), (True, "f8"), (False, "f4")])
def test_a_fast_division_of_float32_raises_nothing(fastmath, dtype):
    @cuda.jit(debug=True, opt=False, fastmath=fastmath)
    def kernel(values):
        values[0] = values[1] / values[2]

    values = np.array([0, 1, 0], dtype)
    if fastmath and dtype == "f4":
        run(kernel, 1, 1, values)
        assert values[0] == np.inf
    else:
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            run(kernel, 1, 1, values)
