"""Racecheck: whom it remembers of several who read, and what lanes learn of each other's locks."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, int32
from simulating import SCHEDULES, run

from warpladder.errors import KernelFaultError


def zeros(n):
    return np.zeros(n, np.int32)


# --- who writes may be ordered after the last that read, and not after others ---------------------


@cuda.jit
def scales_by_the_last(x):
    i = cuda.grid(1)
    if i < x.size:
        most = x[x.size - 1]
        cuda.syncthreads()
        x[i] = x[i] / most


@cuda.jit
def writes_what_other_warps_read(x, out):
    shared = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        shared[0] = x[0]
    cuda.syncthreads()
    value = shared[0]
    cuda.syncwarp()
    if t == 224:
        shared[0] = value + 1
    out[t] = value


@cuda.jit
def the_last_block_writes_what_others_read(x, count, out):
    out[cuda.grid(1)] = x[0]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
        x[0] += 1


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "arguments"),
    [
        (scales_by_the_last, 4, 32, lambda: [np.arange(1.0, 129)]),
        (writes_what_other_warps_read, 1, 256, lambda: [zeros(1), zeros(256)]),
        (
            the_last_block_writes_what_others_read,
            *(4, 32, lambda: [np.ones(1, np.int32), zeros(1), zeros(128)]),
        ),
    ],
)
def test_readers_of_another_warp_or_block_race(kernel, grid, block, arguments):
    with pytest.raises(KernelFaultError, match=r"racecheck: .* load"):
        run(kernel, grid, block, *arguments(), checks=True)


# --- what a lane has seen of a lock, those that it meets have seen --------------------------------


@cuda.jit(device=True)
def hand_over(data, flag):
    """Let the first thread of a block write for whoever finds the flag raised."""
    if cuda.threadIdx.x == 0:
        flag[0] = 0
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        data[0] = 7
        cuda.threadfence()
        cuda.atomic.exch(flag, 0, 1)


@cuda.jit
def hands_over(out):
    data, flag = cuda.shared.array(1, int32), cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    hand_over(data, flag)
    if t >= 32:
        if t == 32:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence()
        cuda.syncwarp()
        out[t] = data[0]


@cuda.jit
def takes_turns_by_warps(lock, count):
    lane = cuda.laneid
    if lane == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
    cuda.syncwarp()
    count[lane] += 1
    cuda.threadfence()
    cuda.syncwarp()
    if lane == 0:
        cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def passes_rows_on(x, out):
    """One warp fills two rows by turns, the other empties them."""
    full, rows = cuda.shared.array(2, int32), cuda.shared.array((2, 32), int32)
    t = cuda.threadIdx.x
    lane = t % 32
    if t < 2:
        full[t] = 0
    cuda.syncthreads()
    for k in range(4):
        side = k & 1
        wanted = 0 if t < 32 else 1
        if lane == 0:
            while cuda.atomic.add(full, side, 0) != wanted:
                pass
            cuda.threadfence_block()
        cuda.syncwarp()
        if t < 32:
            rows[side, lane] = x[k * 32 + lane]
        else:
            out[k * 32 + lane] = rows[side, 31 - lane]
        cuda.threadfence_block()
        cuda.syncwarp()
        if lane == 0:
            cuda.atomic.exch(full, side, 1 - wanted)


@cuda.jit
def takes_turns_after_a_shuffle(lock, count):
    lane, warp, ready = cuda.laneid, cuda.grid(1) // 32, 0
    if lane == 0:
        while cuda.atomic.add(lock, 0, 0) != warp:
            pass
        cuda.threadfence()
        ready = 1
    ready = cuda.shfl_sync(0xFFFFFFFF, ready, 0)
    cuda.syncwarp()
    count[lane] += ready
    cuda.threadfence()
    cuda.syncwarp()
    if lane == 0:
        cuda.atomic.exch(lock, 0, warp + 1)


@cuda.jit
def halves_take_turns(lock, count):
    t = cuda.threadIdx.x
    mask = 0xFFFF if t % 32 < 16 else 0xFFFF0000
    if t % 16 == 0:
        while cuda.atomic.add(lock, 0, 0) != t // 16:
            pass
        cuda.threadfence()
    cuda.syncwarp(mask)
    count[t % 16] += 1
    cuda.threadfence()
    cuda.syncwarp(mask)
    if t % 16 == 0:
        cuda.atomic.add(lock, 0, 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_see_what_one_of_them_has_waited_for(schedule):
    out = zeros(64)
    run(hands_over, 1, 64, out, schedule=schedule, checks=True)
    assert out.tolist() == [0] * 32 + [7] * 32
    for launch in ((1, 96), (3, 32)):
        count = zeros(32)
        run(takes_turns_by_warps, *launch, zeros(1), count, schedule=schedule, checks=True)
        assert count.tolist() == [3] * 32
    for kernel, launch, counts in (
        (takes_turns_after_a_shuffle, (1, 96), [3] * 32),
        (takes_turns_after_a_shuffle, (3, 32), [3] * 32),
        (halves_take_turns, (1, 96), [6] * 16),
    ):
        count = zeros(len(counts))
        run(kernel, *launch, zeros(1), count, schedule=schedule, checks=True)
        assert count.tolist() == counts
    x, out = np.arange(128, dtype=np.int32), zeros(128)
    run(passes_rows_on, 1, 64, x, out, schedule=schedule, checks=True)
    np.testing.assert_array_equal(out, x.reshape(4, 32)[:, ::-1].ravel())


@cuda.jit
def reads_without_meeting(out):
    data, flag = cuda.shared.array(1, int32), cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    hand_over(data, flag)
    if t >= 32:
        if t == 32:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        if t < 48:
            cuda.syncwarp(0xFFFF)
        out[t] = data[0]


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_lanes_that_it_has_not_met_race(schedule):
    with pytest.raises(KernelFaultError, match=r"racecheck: .*thread \((4[89]|5\d|6\d),0,0\)"):
        run(reads_without_meeting, 1, 64, zeros(64), schedule=schedule, checks=True)
