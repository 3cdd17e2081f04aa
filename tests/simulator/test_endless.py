"""Loops that never end although they change memory, and such as only look like it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda, float32

from choosing import large
from warpladder.errors import KernelFaultError
from warpladder.simulator import simulate

SCHEDULES = ("lockstep", "warps", "warps-reverse")


def no_step(a, out, n):
    i = cuda.grid(1)
    while i < n:
        out[i] = a[i] + 1


def no_halving(a, out, n):
    shared, t = cuda.shared.array(64, float32), cuda.threadIdx.x
    shared[t] = a[t]
    cuda.syncthreads()
    width = n // 2
    while width > 0:
        if t < width:
            shared[t] += shared[t + width]
        cuda.syncthreads()
    out[t] = shared[0]


def no_step_of_a_local_sum(a, out, n):
    i, total = cuda.grid(1), float32(0)
    while i < n:
        if a[i] > 3:
            total += a[i]
    out[cuda.grid(1)] = total


def in_an_inner_loop_of_one_thread(a, out, n):
    if cuda.grid(1) == 37:
        for k in range(3):
            j = 0
            while j < n:
                out[k] += a[j]
    out[cuda.grid(1)] = 1


def a_vote_that_never_changes(a, out, n):
    while cuda.syncthreads_or(n):
        out[cuda.grid(1)] += a[0]


#: The `while` and what it does, in lines from that of the kernel on.
ENDLESS = {
    no_step: (2, 3),
    no_halving: (5, 8),
    no_step_of_a_local_sum: (2, 3),
    in_an_inner_loop_of_one_thread: (4, 5),
    a_vote_that_never_changes: (1, 2),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel", ENDLESS, ids=lambda kernel: kernel.__name__)
def test_a_loop_without_an_end_is_told_with_its_lines(kernel: Any, schedule: str) -> None:
    given = np.arange(64, dtype=np.float32), np.zeros(64, np.float32), np.int64(64)
    with pytest.raises(KernelFaultError, match="without end") as caught:
        simulate(kernel, schedule=schedule)[1, 64](*given)
    assert caught.value.check == "livelock"
    message = str(caught.value)
    for line in ENDLESS[kernel]:
        assert f"test_endless.py line {kernel.__code__.co_firstlineno + line}" in message
    thread = 37 if kernel is in_an_inner_loop_of_one_thread else 0
    if schedule == "lockstep":
        assert f"block (0,0,0), thread ({thread},0,0)" in message


def ends_late(a, out, n):
    """A counter that memory decides on stays as it is for thousands of turns."""
    i, turns = cuda.grid(1), 0
    while i < n:
        turns += 1
        if a[0] < turns:
            i += 64
    out[cuda.grid(1)] = turns


def ends_by_a_number_that_turns_seldom(a, out, n):
    i, turns = cuda.grid(1), 0
    while i < n:
        turns += 1
        if turns == 6000:
            i = n
    out[cuda.grid(1)] = turns


def ends_by_a_carry(a, out, n):
    i, low, high = cuda.grid(1), 0, 0
    while high < 2:
        low += 1
        if low == 5000:
            low = 0
            high += 1
    out[i] = low + high + a[0] + n


def has_a_long_loop_inside_one_that_ends_otherwise(a, out, n):
    t = cuda.grid(1)
    while True:
        for _ in range(9000):
            out[t] += 1
        if n != 7:
            break
        out[t] = 0


def has_long_loops_beside_ways_back(a, out, n):
    t, i = cuda.grid(1), 0
    while i < 3:
        j = 0
        while True:
            j += 1
            if j == 9000:
                break
            if a[t] > 1:
                out[t] += 0.5
        if n == 64:
            i += 1
            continue
        for _ in range(9000):
            out[t] += 1
        i += 2


def has_loops_of_fewer_variables_behind(a, out, n):
    t, high, low = cuda.grid(1), 0, 0
    while high < 2:
        low += 1
        if low == 9000:
            low = 0
            high += 1
    for _ in range(60_000):
        high += 1
    out[t] = high


def ends_by_a_count_or_by_memory(a, out, n):
    """Stores seldom, finds the same in memory all the time, and ends by its own count."""
    t, j = cuda.grid(1), 0
    while True:
        j += 1
        if j % 6 == 0 and n == 64:
            out[t] += 0.5
        if a[t] < 0 or j == 60_000:
            break


def counts_up_to_what_memory_holds(a, out, n):
    t, j = cuda.grid(1), 0
    while a[t] * 5 > j:
        j += 1
    out[t] = j


def waits_and_counts(a, out, n):
    """Another block writes what these wait for, when they have stored thousands of times."""
    if cuda.blockIdx.x == 0:
        while out[63] == 0:
            cuda.atomic.add(out, 0, 1)
    elif cuda.threadIdx.x == 0:
        total = a[0]
        for k in range(8000):
            total += k
        out[63] = n
        out[1] = total


@pytest.mark.parametrize("schedule", ["lockstep", *large("warps", "warps-reverse")])
@pytest.mark.parametrize(
    ("kernel", "first"),
    [
        (ends_late, 9001),
        (ends_by_a_number_that_turns_seldom, 6000),
        (ends_by_a_carry, 9066),
        (has_a_long_loop_inside_one_that_ends_otherwise, 9000),
        (has_long_loops_beside_ways_back, 13498.5),
        (has_loops_of_fewer_variables_behind, 60_002),
        (ends_by_a_count_or_by_memory, 5000),
        (counts_up_to_what_memory_holds, 45_000),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_loop_that_ends_late_is_none(kernel: Any, first: int, schedule: str) -> None:
    out = np.zeros(64, np.float32)
    kernel_there = simulate(kernel, schedule=schedule)
    kernel_there[1, 64](np.full(64, 9000, np.float32), out, np.int64(64))
    assert out[0] == first


def test_who_waits_ever_longer_for_what_nobody_writes_is_told() -> None:
    """The pause grows, but no turn of it decides whether the next one comes."""

    def backs_off(out, n):
        pause, tries = 1, 0
        while cuda.atomic.add(out, 63, 0) == 0:
            for _ in range(pause):
                tries += 1
            pause = min(2 * pause, n)
        out[0] = tries

    with pytest.raises(KernelFaultError, match=r"livelock: .* written by nobody"):
        simulate(backs_off)[1, 32](np.zeros(64, np.float32), np.int64(64))


def test_others_may_end_a_loop_by_a_way_to_its_exit() -> None:
    def waits(a, out, n):
        if cuda.blockIdx.x == 0:
            while True:
                cuda.atomic.add(out, 0, 1)
                if cuda.atomic.add(out, 63, 0) > 0 and n == 64:
                    break
        elif cuda.threadIdx.x == 0:
            for k in range(8000):
                out[1] = a[0] + k
            out[63] = n

    out = np.zeros(64, np.float32)
    simulate(waits)[2, 32](np.zeros(64, np.float32), out, np.int64(64))
    assert out[63] == 64


def test_others_may_end_a_loop_that_stores_meanwhile() -> None:
    out = np.zeros(64, np.float32)
    simulate(waits_and_counts)[2, 32](np.zeros(64, np.float32), out, np.int64(64))
    assert out[63] == 64
    assert out[0] > 0


def test_an_index_that_walks_out_of_its_array_is_told_as_that() -> None:
    def walks(out, n):
        k = 0
        while n > 0:
            out[k] = 1
            k += 1

    with pytest.raises(KernelFaultError, match=r"store of out\[64\] is out of bounds"):
        simulate(walks)[1, 32](np.zeros(64, np.float32), np.int64(64))
