"""Kernels are timed with a cold cache and without the host, on a GPU whose clock is known."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import FakeGpu, FakeKernel

from warpladder.lab.gpu_timing import ColdCache, CopyWatch, Stopwatch, event_times_ms

NOTHING = FakeKernel(lambda *_: None)


@pytest.fixture
def gpu():
    return FakeGpu()


@pytest.fixture
def watch(gpu):
    cache = ColdCache(gpu)
    gpu.flushed_at.clear()
    return Stopwatch(gpu, cache)


def launch(watch, times=1):
    for _ in range(times):
        watch.launch(NOTHING, 1, 32)


def test_kernels_count_and_neither_copies_nor_the_cache_do(gpu, watch):
    array = watch.to_device(np.ones(3))
    launch(watch, 3)
    watch.to_host(array)
    launch(watch)
    assert watch.seconds() == pytest.approx(4 * 2e-3)
    assert gpu.now_ms > 4 * 2 + 2 * 5


def test_the_cache_is_cold_and_the_gpu_busy_for_as_long_as_64_launches_take(gpu, watch):
    launch(watch, 2)
    assert len(gpu.flushed_at) * 0.25 >= 64 * 0.1
    assert max(gpu.flushed_at) <= gpu.now_ms - 2 * 2


def test_after_64_launches_the_host_gets_ahead_once_more(gpu, watch):
    launch(watch, 64)
    once = len(gpu.flushed_at)
    launch(watch)
    assert len(gpu.flushed_at) == 2 * once
    assert watch.seconds() == pytest.approx(65 * 2e-3)


def test_arrays_filled_in_between_do_not_count(gpu, watch):
    launch(watch)
    flushed = len(gpu.flushed_at)
    watch.full(3, 0, np.int32)
    launch(watch)
    assert len(gpu.flushed_at) == 2 * flushed


def test_nothing_launched_takes_no_time(watch):
    assert watch.seconds() == 0


def test_the_rest_is_the_devices_own(gpu, watch):
    assert watch.properties is gpu.properties
    assert watch.free_bytes() == gpu.free_bytes()


def test_the_cache_is_written_with_an_eighth_of_little_memory(gpu):
    taken = []
    gpu.empty = lambda size, dtype: taken.append(size * np.dtype(dtype).itemsize)
    ColdCache(gpu)
    assert taken == [gpu.free_bytes() // 8]


def test_copies_count_where_a_rung_is_about_them(gpu):
    watch = CopyWatch(gpu)
    assert watch.seconds() == 0
    gpu.now_ms += 100
    array = watch.to_device(np.ones(3))
    watch.to_device(np.ones(3))
    launch(watch)
    watch.to_host(array)
    gpu.now_ms += 100
    assert watch.seconds() == pytest.approx(3 * 5e-3 + 2e-3)


def test_events_surround_the_work_and_the_first_run_does_not_count(gpu):
    prepared = []

    def work():
        gpu.launch(NOTHING, 1, 32)
        gpu.now_ms += 10 * (not prepared[1:])

    times = event_times_ms(gpu, work, 3, before=lambda: prepared.append(gpu.to_device(np.ones(1))))
    assert times == pytest.approx([2, 2, 2])
    assert len(prepared) == 4
