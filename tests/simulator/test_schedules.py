"""Schedules: what is right is right under each, and what lacks a barrier is not."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, int32
from simulating import SCHEDULES, run

from warpladder.simulator import SimulatedDevice, simulate
from warpladder.simulator.execution import scheduler

VALUES = np.random.default_rng(17).integers(0, 1000, 4 * 128).astype(np.int32)


@cuda.jit
def tree_sum(values, sums):
    tile = cuda.shared.array(128, int32)
    i = cuda.threadIdx.x
    tile[i] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if i < step:
            tile[i] += tile[i + step]
        cuda.syncthreads()
        step //= 2
    if i == 0:
        sums[cuda.blockIdx.x] = tile[0]


@cuda.jit
def tree_sum_without_barriers(values, sums):
    tile = cuda.shared.array(128, int32)
    i = cuda.threadIdx.x
    tile[i] = values[cuda.grid(1)]
    step = 64
    while step > 0:
        if i < step:
            tile[i] += tile[i + step]
        step //= 2
    if i == 0:
        sums[cuda.blockIdx.x] = tile[0]


@cuda.jit
def mirror(values, out):
    tile = cuda.shared.array(128, int32)
    i = cuda.threadIdx.x
    tile[i] = values[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[127 - i]


@cuda.jit
def mirror_without_barrier(values, out):
    tile = cuda.shared.array(128, int32)
    i = cuda.threadIdx.x
    tile[i] = values[cuda.grid(1)]
    out[cuda.grid(1)] = tile[127 - i]


def test_a_batch_has_room_for_its_local_arrays(monkeypatch):
    @cuda.jit
    def kernel(out):
        own = cuda.local.array(10, int32)
        own[cuda.threadIdx.x % 10] = 1
        out[cuda.grid(1)] = own[cuda.threadIdx.x % 10]

    class Noted(scheduler.Batch):
        def __init__(self, launch, first, blocks):
            batches.append(blocks)
            super().__init__(launch, first, blocks)

    batches, out = [], np.zeros(5 * 64)
    monkeypatch.setattr(scheduler, "Batch", Noted)
    monkeypatch.setattr(scheduler, "BATCH_BYTES", 2 * 64 * 40)
    run(kernel, 5, 64, out)
    assert out.all()
    assert batches == [2, 2, 1]


def sums_of(kernel, **options):
    sums = np.zeros(4, np.int32)
    run(kernel, 4, 128, VALUES, sums, **options)
    return sums


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_its_barriers_a_sum_is_right_in_every_order(schedule, seed):
    sums = sums_of(tree_sum, schedule=schedule, seed=seed)
    assert np.array_equal(sums, VALUES.reshape(4, 128).sum(axis=1))


@pytest.mark.parametrize("schedule", ["warps", "warps-random"])
def test_without_barriers_a_sum_is_wrong_warp_by_warp(schedule):
    expected = VALUES.reshape(4, 128).sum(axis=1)
    sums = sums_of(tree_sum_without_barriers, schedule=schedule, checks=False)
    assert (sums != expected).any()
    # Threads in step happen to hide the fault: this is what the other schedules are for.
    assert np.array_equal(sums_of(tree_sum_without_barriers, checks=False), expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_missing_barrier_between_warps(schedule):
    expected = VALUES.reshape(4, 128)[:, ::-1].ravel()
    out = np.zeros_like(VALUES)
    run(mirror, 4, 128, VALUES, out, schedule=schedule)
    assert np.array_equal(out, expected)
    out = np.zeros_like(VALUES)
    run(mirror_without_barrier, 4, 128, VALUES, out, schedule=schedule, checks=False)
    assert np.array_equal(out, expected) == (schedule == "lockstep")


@cuda.jit
def last_warp(values, sums):
    """RD's unrolled last warp, which since Volta needs a syncwarp between its steps."""
    tile = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    tile[i] = values[i]
    tile[i + 32] = values[i + 32]
    if i < 16:
        tile[i] += tile[i + 16]
    if i < 8:
        tile[i] += tile[i + 8]
    sums[i] = tile[i]


def test_warp_synchronous_code_is_found_by_racecheck():
    with pytest.raises(Exception, match=r"racecheck.*tile"):
        run(last_warp, 1, 32, VALUES[:64].copy(), np.zeros(32, np.int32))


# --- orders ---------------------------------------------------------------------------------------


@cuda.jit
def order_of_warps(ticket, order):
    if cuda.laneid == 0:
        warp = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // 32
        order[cuda.atomic.add(ticket, 0, 1)] = warp


def taken(schedule, seed=0):
    order = np.zeros(24, np.int64)
    run(order_of_warps, 6, 128, np.zeros(1, np.int32), order, schedule=schedule, seed=seed)
    return order.tolist()


def test_forward_and_reverse():
    assert taken("lockstep") == taken("warps") == list(range(24))
    assert taken("warps-reverse") == list(range(24))[::-1]


def test_random_orders_follow_their_seed():
    orders = [taken("warps-random", seed) for seed in (1, 2, 3)]
    assert [taken("warps-random", seed) for seed in (1, 2, 3)] == orders
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == list(range(24)) for order in orders)


def test_a_seed_gives_the_same_wrong_result_again():
    first, again, other = (
        sums_of(tree_sum_without_barriers, schedule="warps-random", seed=seed, checks=False)
        for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_launch_is_repeatable_on_one_kernel():
    kernel = simulate(order_of_warps, schedule="warps-random", seed=4)
    orders = np.zeros((2, 24), np.int64)
    for order in orders:
        kernel[6, 128](np.zeros(1, np.int32), order)
    assert np.array_equal(*orders)


def test_warps_stop_at_barriers_only():
    @cuda.jit
    def kernel(ticket, order):
        warp = cuda.threadIdx.x // 32
        if cuda.laneid == 0:
            order[cuda.atomic.add(ticket, 0, 1)] = warp
            order[cuda.atomic.add(ticket, 0, 1)] = 10 + warp
        cuda.syncthreads()
        if cuda.laneid == 0:
            order[cuda.atomic.add(ticket, 0, 1)] = 20 + warp

    for schedule, warps in (("warps", (0, 1, 2)), ("warps-reverse", (2, 1, 0))):
        order = np.zeros(9, np.int64)
        run(kernel, 1, 96, np.zeros(1, np.int32), order, schedule=schedule)
        before = [number for warp in warps for number in (warp, 10 + warp)]
        assert order.tolist() == [*before, *(20 + warp for warp in warps)]


# --- right kernels --------------------------------------------------------------------------------


@cuda.jit
def matmul(a, b, c):
    left = cuda.shared.array((8, 8), int32)
    right = cuda.shared.array((8, 8), int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = 0
    for k in range(0, a.shape[1], 8):
        left[y, x] = a[row, k + x] if row < a.shape[0] and k + x < a.shape[1] else 0
        right[y, x] = b[k + y, column] if k + y < b.shape[0] and column < b.shape[1] else 0
        cuda.syncthreads()
        for j in range(8):
            total += left[y, j] * right[j, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_product_of_matrices(schedule):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (13, 21)), rng.integers(-9, 9, (21, 18))
    c = np.zeros((13, 18), np.int64)
    run(matmul, (3, 2), (8, 8), a, b, c, schedule=schedule)
    assert np.array_equal(c, a @ b)


@cuda.jit
def locked(lock, total):
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            total[0] = 2 * total[0] + 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            done = True


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_device_takes_schedule_and_seed(schedule):
    device = SimulatedDevice(schedule=schedule, seed=3, checks=False)
    lock, total = device.full(1, 0, np.int32), device.full(1, 0, np.int64)
    device.launch(locked, 3, 17, lock, total)
    assert device.to_host(total)[0] == 2**51 - 1
