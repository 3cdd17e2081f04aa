"""Barriers of a block and of the grid, and threads that wait for others by reading memory."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numba import cuda, int32, int64
from simulating import SCHEDULES, line_of, run

from warpladder.errors import KernelFaultError, LaunchError
from warpladder.simulator import SimulatedDevice, simulate

# --- barriers of a block --------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("threads", [1, 32, 50, 96])
def test_barriers_that_count(threads, schedule):
    @cuda.jit
    def kernel(chosen, out):
        i = cuda.grid(1)
        out[i, 0] = cuda.syncthreads_count(chosen[i])
        out[i, 1] = cuda.syncthreads_and(chosen[i])
        out[i, 2] = cuda.syncthreads_or(chosen[i])

    rng = np.random.default_rng(threads)
    # Block by block: none, all, some; a predicate is true where it is not 0.
    chosen = np.stack([np.zeros(threads), np.ones(threads), rng.integers(-1, 3, threads)])
    chosen = chosen.astype(np.int32)
    out = np.full((3 * threads, 3), -1)
    run(kernel, 3, threads, chosen.ravel(), out, schedule=schedule)
    for block, row in enumerate(chosen):
        hits = np.count_nonzero(row)
        expected = [hits, int(hits == threads), int(hits > 0)]
        found = out.reshape(3, threads, 3)[block]
        # `and` and `or` are true as any number that is not 0.
        assert (found[:, 0] == expected[0]).all()
        assert ((found[:, 1:] != 0) == expected[1:]).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_count_after_threads_parted(schedule):
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        total = 0
        for k in range(i % 5):
            total += k
        count = cuda.syncthreads_count(int32(total > 2))
        out[i] = 100 * count + total

    out = np.zeros(64, np.int64)
    run(kernel, 1, 64, out, schedule=schedule)
    totals = [sum(range(i % 5)) for i in range(64)]
    assert out.tolist() == [100 * sum(t > 2 for t in totals) + t for t in totals]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_in_a_device_function_in_a_loop(schedule):
    @cuda.jit(device=True)
    def shifted(tile, value):
        i = cuda.threadIdx.x
        cuda.syncthreads()
        tile[i] = value
        cuda.syncthreads()
        return tile[(i + 1) % cuda.blockDim.x]

    @cuda.jit
    def kernel(values, rounds):
        tile = cuda.shared.array(80, int64)
        i = cuda.grid(1)
        value = values[i]
        for _ in range(rounds):
            value = shifted(tile, value) + 1
        values[i] = value

    values = np.random.default_rng(3).integers(0, 99, (2, 80))
    expected = np.roll(values, -7, axis=1) + 7
    run(kernel, 2, 80, values.reshape(-1), 7, schedule=schedule)
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_blocks_may_pass_different_numbers_of_barriers(schedule):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(40, int32)
        i = cuda.threadIdx.x
        tile[i] = 0
        for k in range(cuda.blockIdx.x):
            cuda.syncthreads()
            if i == k:
                tile[39 - i] += 1 + k
        cuda.syncthreads()
        out[cuda.blockIdx.x, i] = tile[i]

    out = np.zeros((5, 40), np.int64)
    run(kernel, 5, 40, out, schedule=schedule)
    expected = [[40 - i if 40 - i <= block else 0 for i in range(40)] for block in range(5)]
    assert out.tolist() == expected


# --- barriers of the grid -------------------------------------------------------------------------


@cuda.jit
def grid_shift(front, back, rounds):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(rounds):
        back[i] = front[(i + 1) % front.size] + 1
        grid.sync()
        front, back = back, front


# 40,960 threads are more than one batch; the grid is what 132 multiprocessors hold.
@pytest.mark.parametrize(("grid", "block"), [(1, 32), (7, 33), (160, 256)])
def test_grid_barriers(grid, block):
    size = grid * block
    front = np.random.default_rng(1).integers(0, 99, size)
    expected = np.roll(front, -3) + 3
    back = np.zeros_like(front)
    run(grid_shift, grid, block, front, back, 3, cooperative=True)
    assert np.array_equal(back, expected)


@pytest.mark.parametrize("schedule", SCHEDULES[1:])
def test_grid_barriers_by_warps(schedule):
    front = np.arange(4 * 48)
    expected = np.roll(front, -2) + 2
    back = np.zeros_like(front)
    run(grid_shift, 4, 48, front, back, 2, schedule=schedule, cooperative=True)
    assert np.array_equal(front, expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_grid_barrier_is_one_of_each_block(schedule):
    @cuda.jit
    def kernel(out):
        row = cuda.shared.array(48, np.int32)
        i = cuda.threadIdx.x
        for k in range(3):
            row[i] = i + k
            cuda.cg.this_grid().sync()
            out[cuda.grid(1)] += row[(i + 1) % 48]
            cuda.cg.this_grid().sync()

    out = np.zeros(4 * 48, np.int64)
    run(kernel, 4, 48, out, schedule=schedule, cooperative=True)
    assert np.array_equal(out, np.tile(3 * np.roll(np.arange(48), -1) + 3, 4))


def test_a_grid_barrier_that_some_threads_never_reach():
    @cuda.jit
    def kernel(out):
        if cuda.blockIdx.x == 1:
            return
        cuda.cg.this_grid().sync()
        out[0] = 1

    with pytest.raises(KernelFaultError, match="64 of the grid's 96 threads wait at a grid"):
        run(kernel, 3, 32, np.zeros(1))


def test_a_cooperative_launch_must_be_resident_as_a_whole():
    # A multiprocessor of 9.0 holds 2048 threads: 2 blocks of 1024.
    device = SimulatedDevice((9, 0), multiprocessors=3)
    front, back = device.full(7 * 1024, 1, np.int64), device.full(7 * 1024, 0, np.int64)
    device.launch(grid_shift, 6, 1024, front, back, 1, cooperative=True)
    with pytest.raises(LaunchError, match="at most 6 blocks of 1024 threads"):
        device.launch(grid_shift, 7, 1024, front, back, 1, cooperative=True)


def test_any_kernel_can_be_launched_cooperatively():
    @cuda.jit
    def kernel(values):
        values[cuda.grid(1)] += 1

    device = SimulatedDevice(multiprocessors=1)
    values = device.full(4096, 0, np.int32)
    device.launch(kernel, 2, 1024, values, cooperative=True)
    assert device.to_host(values).sum() == 2048
    with pytest.raises(LaunchError, match="a cooperative launch of 4 blocks; at most 2"):
        device.launch(kernel, 4, 1024, values, cooperative=True)


# --- waiting by reading memory --------------------------------------------------------------------


@cuda.jit
def counted_rounds(arrived, front, back, rounds):
    """Shift by one in every round; an epoch counter stands for the grid barrier."""
    i = cuda.grid(1)
    for k in range(rounds):
        back[i] = front[(i + 1) % front.size] + 1
        cuda.threadfence()
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(arrived, 0, 1)
            while cuda.atomic.add(arrived, 0, 0) < (k + 1) * cuda.gridDim.x:
                pass
        cuda.syncthreads()
        front, back = back, front


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_of_flags_across_blocks(schedule):
    front = np.random.default_rng(5).integers(0, 99, 5 * 40)
    back, arrived = np.zeros_like(front), np.zeros(1, np.int32)
    expected = np.roll(front, -3) + 3
    run(counted_rounds, 5, 40, arrived, front, back, 3, schedule=schedule)
    assert np.array_equal(back, expected)
    assert arrived[0] == 15


def test_a_barrier_of_flags_across_batches():
    # 160 blocks of 256 threads are two batches.
    front = np.random.default_rng(5).integers(0, 99, 160 * 256)
    back, arrived = np.zeros_like(front), np.zeros(1, np.int32)
    expected = np.roll(front, -2) + 2
    run(counted_rounds, 160, 256, arrived, front, back, 2)
    assert np.array_equal(front, expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_chain_of_blocks_each_waiting_for_the_one_before(schedule):
    @cuda.jit
    def kernel(ready, totals, values):
        block = cuda.blockIdx.x
        if cuda.threadIdx.x == 0:
            before = 0
            if block > 0:
                while cuda.atomic.add(ready, block - 1, 0) == 0:
                    pass
                cuda.threadfence()
                before = totals[block - 1]
            totals[block] = before + values[block]
            cuda.threadfence()
            cuda.atomic.exch(ready, block, 1)

    values = np.arange(1, 13)
    totals, ready = np.zeros(12, np.int64), np.zeros(12, np.int32)
    run(kernel, 12, 64, ready, totals, values, schedule=schedule)
    assert np.array_equal(totals, np.cumsum(values))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_reverse_chain_waits_for_blocks_that_start_later(schedule):
    @cuda.jit
    def kernel(ready, order):
        block = cuda.blockIdx.x
        if cuda.threadIdx.x == 0:
            if block + 1 < cuda.gridDim.x:
                while cuda.atomic.add(ready, block + 1, 0) == 0:
                    pass
            order[block] = cuda.atomic.add(ready, cuda.gridDim.x, 1)
            cuda.atomic.exch(ready, block, 1)

    ready, order = np.zeros(10, np.int32), np.zeros(9, np.int64)
    run(kernel, 9, 32, ready, order, schedule=schedule)
    assert order.tolist() == list(range(9))[::-1]


@cuda.jit
def waits_for_ever(flag, out):
    while flag[0] == 0:  # spins here
        pass
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("checks", [True, False])
def test_a_flag_that_nobody_sets(schedule, checks):
    begin = time.perf_counter()
    with pytest.raises(KernelFaultError, match="written by nobody") as caught:
        run(waits_for_ever, 3, 64, np.zeros(1), np.zeros(192), schedule=schedule, checks=checks)
    # No limit of speed: only that it does not hang for long.
    assert time.perf_counter() - begin < 20
    assert caught.value.check == "livelock"
    assert "waits_for_ever" in str(caught.value)
    assert "test_barriers.py line" in str(caught.value)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_loop_without_an_end(schedule):
    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = 1
        while True:  # for ever
            pass

    with pytest.raises(KernelFaultError, match="without end") as caught:
        run(kernel, 1, 40, np.zeros(40), schedule=schedule)
    line = line_of(kernel, "# for ever")
    assert any(f"near test_barriers.py line {k}:" in str(caught.value) for k in (line, line + 1))


def test_a_lock_that_its_holder_never_gives_back():
    @cuda.jit
    def kernel(lock, total):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        total[0] += 1

    with pytest.raises(KernelFaultError, match="without end") as caught:
        simulate(kernel)[1, 2](np.zeros(1, np.int32), np.zeros(1))
    assert caught.value.check == "livelock"


def test_a_flag_that_is_set_is_no_livelock():
    @cuda.jit
    def kernel(flag, out):
        i = cuda.grid(1)
        if i == cuda.gridsize(1) - 1:
            for k in range(2000):
                out[i] = k
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
        else:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            out[i] = -1

    out = np.zeros(64, np.int64)
    run(kernel, 2, 32, np.zeros(1, np.int32), out)
    assert out.tolist() == [-1] * 63 + [1999]


@cuda.jit
def all_wait_for_all(arrived):
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(arrived, 0, 1)
        while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
            pass
    cuda.syncthreads()


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_blocks_that_wait_for_blocks_which_cannot_be_resident(schedule, monkeypatch):
    monkeypatch.setattr("warpladder.simulator.execution.scheduler.BATCH_THREADS", 1024)
    device = SimulatedDevice(multiprocessors=1, schedule=schedule)
    arrived = device.full(1, 0, np.int32)
    # One multiprocessor of 9.0 holds two blocks of 1024 threads.
    device.launch(all_wait_for_all, 2, 1024, arrived)
    assert device.to_host(arrived)[0] == 2
    arrived = device.full(1, 0, np.int32)
    with pytest.raises(KernelFaultError, match=r"2 of the grid's 3 blocks are resident") as caught:
        device.launch(all_wait_for_all, 3, 1024, arrived)
    assert caught.value.check == "livelock"


def test_a_device_is_filled_though_batches_do_not_divide_what_it_holds(monkeypatch):
    monkeypatch.setattr("warpladder.simulator.execution.scheduler.BATCH_THREADS", 4096)
    # Six blocks of 1024 threads, in batches of four.
    device = SimulatedDevice(multiprocessors=3)
    front, back = device.full(6144, 1, np.int64), device.full(6144, 0, np.int64)
    device.launch(grid_shift, 6, 1024, front, back, 1, cooperative=True)
    assert (device.to_host(back) == 2).all()
    arrived = device.full(1, 0, np.int32)
    device.launch(all_wait_for_all, 6, 1024, arrived)
    assert device.to_host(arrived)[0] == 6
    with pytest.raises(KernelFaultError, match=r"6 of the grid's 7 blocks are resident"):
        device.launch(all_wait_for_all, 7, 1024, device.full(1, 0, np.int32))
