"""Atomic operations: what memory holds after them, and what each thread found before its own.

Threads take turns in an order that no test relies on: the old values must be those of *some* order.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np
import pytest
from numba import cuda, float64, int32
from simulating import SCHEDULES, run

from choosing import only
from warpladder.errors import KernelFaultError

INTEGERS = [np.int32, np.int64, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64]


KERNEL = """
@cuda.jit
def kernel(memory, places, values, old):
    i = cuda.grid(1)
    if i < values.size:
        old[i] = cuda.atomic.{name}(memory, places[i], values[i])
"""


def kernel_of(name):
    """Return a kernel in which every thread does one atomic operation at ``places[i]``."""
    namespace = {"cuda": cuda}
    exec(KERNEL.format(name=name), namespace)  # noqa: S102 - Numba wants the name spelled out
    return namespace["kernel"]


FOLDS = {
    "add": operator.add,
    "sub": operator.sub,
    "and_": operator.and_,
    "or_": operator.or_,
    "xor": operator.xor,
    "max": max,
    "min": min,
    "nanmax": max,
    "nanmin": min,
}
KERNELS = {name: kernel_of(name) for name in (*FOLDS, "inc", "dec", "exch")}


def is_some_order(fold, start, values, old, end):
    """Whether the threads can have taken turns such that each found its ``old``.

    Follows the values from the start: whoever found the present one goes next. Among several, one
    that changes nothing goes first; otherwise any will do, as what is left then is the same.
    """
    left = sorted(zip(old.tolist(), values.tolist(), strict=True))
    by_old = {key: [v for _, v in group] for key, group in itertools.groupby(left, lambda p: p[0])}
    now = start
    for _ in range(len(left)):
        waiting = by_old.get(now)
        if not waiting:
            return False
        stays = [v for v in waiting if fold(now, v) == now]
        value = stays[0] if stays else waiting[0]
        waiting.remove(value)
        now = fold(now, value)
    return now == end


# Below and above the number of threads at one address from which on turns are taken otherwise.
@pytest.mark.parametrize(
    ("threads", "name", "dtype"),
    # One block that is not full, for some dtypes; several.
    only(
        lambda threads, _, dtype: threads == 300 or dtype in {np.int64, np.float32},
        [40, 300],
        FOLDS,
        [*INTEGERS, *FLOATS],
        where=lambda _, name, dtype: (
            name in {"max", "min", "nanmax", "nanmin"}
            if dtype in FLOATS
            else not name.startswith("nan")
        ),
    ),
)
def test_many_threads_at_one_address_take_turns(name, dtype, threads):
    fold = FOLDS[name]
    # Distinct partial results for add, sub and xor, so that there is one order only.
    rng = np.random.default_rng(threads)
    values = (rng.permutation(threads) + 1).astype(dtype)
    if name == "xor":
        values = values ^ (values + 1).astype(dtype) ^ dtype(1 << 20)
    start = dtype(10**6) if name in ("sub", "min", "nanmin", "and_") else dtype(5)
    memory = np.array([dtype(7), start, dtype(9)])
    old = np.zeros(threads, dtype)
    run(KERNELS[name], -(-threads // 64), 64, memory, np.full(threads, 1), values, old)
    total = functools.reduce(fold, values.tolist(), start.item())
    assert memory.tolist() == [7, total, 9]
    if name == "xor":
        assert len(set(old.tolist())) > threads // 4
    else:
        assert is_some_order(fold, start.item(), values, old, total)


@pytest.mark.parametrize("threads", [40, 300])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["add", "sub"])
def test_floating_point_sums_that_are_exact(name, dtype, threads):
    values = np.random.default_rng(2).integers(1, 64, threads).astype(dtype) / 8
    memory, old = np.zeros(1, dtype), np.zeros(threads, dtype)
    run(KERNELS[name], -(-threads // 64), 64, memory, np.zeros(threads, int), values, old)
    sign = 1 if name == "add" else -1
    assert memory[0] == sign * values.sum()
    # Each thread's step leads from one old value to the next, and the last one to the sum.
    after = old + sign * values
    assert sorted([*old.tolist(), memory[0]]) == sorted([0.0, *after.tolist()])


@pytest.mark.parametrize("threads", [64, 3000])
def test_addresses_do_not_disturb_each_other(threads):
    rng = np.random.default_rng(9)
    places, values = rng.integers(0, 23, threads), rng.integers(0, 99, threads)
    memory, old = np.zeros(23, np.int64), np.zeros(threads, np.int64)
    run(KERNELS["add"], -(-threads // 64), 64, memory, places, values, old)
    assert np.array_equal(memory, np.bincount(places, weights=values, minlength=23))
    assert all(
        is_some_order(operator.add, 0, values[places == k], old[places == k], memory[k])
        for k in range(23)
    )


@pytest.mark.parametrize("threads", [40, 300])
def test_subtraction_from_unsigned_numbers_wraps(threads):
    memory, old = np.array([5], np.uint32), np.zeros(threads, np.uint32)
    values = np.full(threads, 2, np.uint32)
    run(KERNELS["sub"], -(-threads // 64), 64, memory, np.zeros(threads, int), values, old)
    assert memory[0] == (5 - 2 * threads) % 2**32


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("threads", [32, 200])
def test_exchange_passes_every_value_on_once(dtype, threads):
    memory, old = np.array([1000], dtype), np.zeros(threads, dtype)
    values = np.arange(threads, dtype=dtype)
    run(KERNELS["exch"], 1, threads, memory, np.zeros(threads, int), values, old)
    assert sorted([*old.tolist(), memory[0].item()]) == [*range(threads), 1000]


@pytest.mark.parametrize("threads", [20, 100])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_increment_wraps_at_its_limit(threads, dtype):
    # From 3: 3, 4, ..., 7, 0, 1, ..., 7, 0, ...
    memory, old = np.array([3], dtype), np.zeros(threads, dtype)
    values = np.full(threads, 7, dtype)
    run(KERNELS["inc"], 1, threads, memory, np.zeros(threads, int), values, old)
    assert sorted(old.tolist()) == sorted((3 + k) % 8 for k in range(threads))
    assert memory[0] == (3 + threads) % 8


@pytest.mark.parametrize("threads", [20, 100])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_decrement_wraps_at_zero(threads, dtype):
    memory, old = np.array([3], dtype), np.zeros(threads, dtype)
    values = np.full(threads, 7, dtype)
    run(KERNELS["dec"], 1, threads, memory, np.zeros(threads, int), values, old)
    assert sorted(old.tolist()) == sorted((3 - k) % 8 for k in range(threads))
    assert memory[0] == (3 - threads) % 8


@pytest.mark.parametrize(("name", "limit_gives"), [("inc", 0), ("dec", 7)])
def test_a_number_beyond_the_limit_wraps_at_once(name, limit_gives):
    memory, old = np.array([50], np.uint32), np.zeros(1, np.uint32)
    run(KERNELS[name], 1, 1, memory, np.zeros(1, int), np.array([7], np.uint32), old)
    assert (memory[0], old[0]) == (limit_gives, 50)


# The documentation of numba-cuda: max and min are NaN-sticky in memory and ignore a NaN that comes;
# nanmax and nanmin replace a NaN in memory.
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("threads", [3, 90])
@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("max", 1.0, 5.0),
        ("min", 1.0, -2.0),
        ("max", math.nan, math.nan),
        ("min", math.nan, math.nan),
        ("nanmax", 1.0, 5.0),
        ("nanmin", 1.0, -2.0),
        ("nanmax", math.nan, 5.0),
        ("nanmin", math.nan, -2.0),
    ],
)
def test_nan_in_maximum_and_minimum(name, start, end, threads, dtype):
    values = np.array([math.nan, 5.0, -2.0] * (threads // 3), dtype)
    memory, old = np.array([start], dtype), np.zeros(threads, dtype)
    run(KERNELS[name], 1, threads, memory, np.zeros(threads, int), values, old)
    assert np.array_equal(memory, [end], equal_nan=True)


def test_only_nan_comes():
    for name, start in itertools.product(("max", "min", "nanmax", "nanmin"), (1.5, math.nan)):
        memory, old = np.array([start]), np.zeros(4)
        run(KERNELS[name], 1, 4, memory, np.zeros(4, int), np.full(4, math.nan), old)
        assert np.array_equal(memory, [start], equal_nan=True), name


@pytest.mark.parametrize("name", ["max", "min", "nanmax", "nanmin"])
def test_of_zeros_that_in_place_stays(name):
    # Many, since NumPy's maximum of a few zeros is not that of a vector of them.
    memory, old = np.array([0.0, -0.0] * 32), np.zeros(64)
    run(KERNELS[name], 1, 64, memory, np.arange(64), -memory, old)
    assert np.signbit(memory).tolist() == [False, True] * 32


def test_two_dimensional_indices_and_negative_ones():
    @cuda.jit
    def kernel(table, keys):
        i = cuda.grid(1)
        cuda.atomic.add(table, (keys[i, 0], keys[i, 1]), 1)
        cuda.atomic.max(table, (i % 4, -1), i)

    keys = np.random.default_rng(3).integers(0, 4, (96, 2))
    table = np.zeros((4, 6), np.int32)
    run(kernel, 3, 32, table, keys)
    expected = np.zeros((4, 6), np.int32)
    np.add.at(expected, (keys[:, 0], keys[:, 1]), 1)
    expected[:, 5] = [92, 93, 94, 95]
    assert np.array_equal(table, expected)


def test_an_index_out_of_bounds_is_a_fault():
    with pytest.raises(KernelFaultError, match=r"atomic of memory\[3\] is out of bounds"):
        run(KERNELS["add"], 1, 2, np.zeros(3), np.array([0, 3]), np.ones(2), np.zeros(2))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_shared_arrays(schedule):
    @cuda.jit
    def kernel(keys, counts, sums):
        bins = cuda.shared.array(8, int32)
        total = cuda.shared.array(1, float64)
        i = cuda.threadIdx.x
        if i < 8:
            bins[i] = 0
        if i == 8:
            total[0] = 0
        cuda.syncthreads()
        cuda.atomic.add(bins, keys[cuda.grid(1)], 1)
        cuda.atomic.add(total, 0, keys[cuda.grid(1)] / 4)
        cuda.syncthreads()
        if i < 8:
            counts[cuda.blockIdx.x, i] = bins[i]
        if i == 0:
            sums[cuda.blockIdx.x] = total[0]

    keys = np.random.default_rng(6).integers(0, 8, 4 * 96)
    counts, sums = np.zeros((4, 8), np.int32), np.zeros(4)
    run(kernel, 4, 96, keys, counts, sums, schedule=schedule)
    rows = keys.reshape(4, 96)
    assert counts.tolist() == [np.bincount(row, minlength=8).tolist() for row in rows]
    assert np.array_equal(sums, rows.sum(axis=1) / 4)


def test_the_fields_of_records():
    dtype = np.dtype([("count", "i4"), ("weight", "f4")], align=True)

    @cuda.jit
    def kernel(records, keys):
        i = cuda.grid(1)
        cuda.atomic.add(records.count, keys[i], 1)
        cuda.atomic.add(records.weight, keys[i], 0.5)

    keys = np.random.default_rng(1).integers(0, 5, 64)
    records = np.zeros(5, dtype)
    run(kernel, 2, 32, records, keys)
    assert np.array_equal(records["count"], np.bincount(keys, minlength=5))
    assert np.array_equal(records["weight"], np.bincount(keys, minlength=5) / 2)


# --- compare and swap -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("threads", [32, 200])
def test_compare_and_swap_lets_one_thread_win(dtype, threads):
    @cuda.jit
    def kernel(memory, old):
        i = cuda.grid(1)
        old[i] = cuda.atomic.cas(memory, 1, 0, i + 1)

    memory, old = np.array([0, 0, 4], dtype), np.full(threads, 99, dtype)
    run(kernel, 1, threads, memory, old)
    (winner,) = np.flatnonzero(old == 0)
    assert memory.tolist() == [0, winner + 1, 4]
    assert set(old.tolist()) == {0, winner + 1}


def test_compare_and_swap_by_its_older_name():
    @cuda.jit
    def kernel(memory, old):
        i = cuda.grid(1)
        old[i] = cuda.atomic.compare_and_swap(memory[i:], 7, i)

    memory, old = np.array([7, 8, 7, 9], np.int32), np.zeros(4, np.int32)
    run(kernel, 1, 4, memory, old)
    assert old.tolist() == [7, 8, 7, 9]
    assert memory.tolist() == [0, 8, 2, 9]


@cuda.jit
def product_by_cas(memory, values):
    i = cuda.grid(1)
    expected = memory[0]
    done = False
    while not done:
        found = cuda.atomic.cas(memory, 0, expected, expected * values[i] % 1009)
        done = found == expected
        expected = found


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("grid", [1, 3])
def test_an_operation_of_ones_own_by_compare_and_swap(grid, schedule):
    values = np.random.default_rng(2).integers(2, 1009, grid * 40)
    memory = np.ones(1, np.int64)
    # The first look at the memory is not atomic, and does not have to be.
    run(product_by_cas, grid, 40, memory, values, schedule=schedule, checks=["memcheck"])
    assert memory[0] == functools.reduce(lambda a, b: a * b % 1009, values.tolist(), 1)


@cuda.jit
def locked_sum(lock, total, values):
    i = cuda.grid(1)
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            total[0] = total[0] * 3 % 65537 + values[i]
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            done = True


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("shape", [(1, 32), (1, 96), (4, 1), (3, 33)], ids=str)
def test_a_spin_lock_keeps_threads_apart(shape, schedule):
    threads = shape[0] * shape[1]
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    run(
        locked_sum, *shape, lock, total, np.ones(threads, np.int64), schedule=schedule, checks=False
    )
    expected = 0
    for _ in range(threads):
        expected = expected * 3 % 65537 + 1
    assert (lock[0], total[0]) == (0, expected)
