"""What is recorded of single warps, against values worked out by hand; and it changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, int32

from warpladder.simulator import SimulatedDevice
from warpladder.simulator.checks.recorder import Access, Barrier, Exchange, Ran, Recorder

LANES = np.arange(32)


@cuda.jit
def gather(source, out, stride):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = source[i * stride]


@cuda.jit
def columns(out):
    tile = cuda.shared.array((32, 32), float32)
    t = cuda.threadIdx.x
    tile[t, 1] = t
    cuda.syncthreads()
    out[cuda.blockIdx.x, t] = tile[31 - t, 1]


@cuda.jit
def halves(values):
    t = cuda.threadIdx.x
    value = values[t]
    if t % 4 == 0:
        value += 1
    values[t] = value + cuda.shfl_down_sync(0xFFFFFFFF, value, 16)


@cuda.jit
def count(counters, places):
    counters[0, 0] = 0
    cuda.atomic.add(counters, (1, places[cuda.threadIdx.x]), int32(3))


def record_of(kernel, grid, block, *arguments, **options):
    recorder = Recorder(**options)
    device = SimulatedDevice(recorder=recorder)

    def there(argument):
        return device.to_device(argument) if isinstance(argument, np.ndarray) else argument

    device.launch(kernel, grid, block, *map(there, arguments))
    return recorder.records[0]


def accesses(record, verb=None, space=None):
    return [
        event
        for event in record.events
        if isinstance(event, Access)
        and verb in (None, event.verb)
        and space in (None, event.array.space)
    ]


@pytest.mark.parametrize("stride", [1, 2, 31, 32, 33])
def test_addresses_of_global_memory(stride):
    source = np.arange(40 * stride, dtype=np.float64)
    record = record_of(gather, 2, 32, source, np.zeros(33), stride)
    load, store = accesses(record)
    assert (load.verb, load.array.name, load.array.itemsize) == ("load", "source", 8)
    # A single thread of the second warp passes the guard.
    np.testing.assert_array_equal(load.threads, np.arange(33))
    np.testing.assert_array_equal(load.addresses - load.array.first, 8 * stride * np.arange(33))
    np.testing.assert_array_equal(load.indices()[0], stride * np.arange(33))
    np.testing.assert_array_equal(load.values, source[::stride][:33])
    assert (store.verb, store.array.name) == ("store", "out")
    assert load.site == store.site
    second = store.of(32, 64)
    assert (second.threads.tolist(), second.indices()[0].tolist()) == ([32], [32])
    assert store.of(33, 64) is None


def test_shared_memory_is_that_of_the_block():
    record = record_of(columns, 3, 32, np.zeros((3, 32), np.float32))
    store, load = accesses(record, space="shared")
    # A row has 128 bytes; the blocks of a batch lie behind each other, each begins at 0.
    np.testing.assert_array_equal(store.addresses, np.tile(128 * LANES + 4, 3))
    np.testing.assert_array_equal(load.addresses, np.tile(128 * (31 - LANES) + 4, 3))
    rows, of_row = store.indices()
    np.testing.assert_array_equal(rows, np.tile(LANES, 3))
    assert set(of_row.tolist()) == {1}
    np.testing.assert_array_equal(store.values[32:64], LANES)


def test_what_runs_which_lanes_and_who_waits():
    record = record_of(halves, 1, 32, np.arange(32, dtype=np.int32))
    runs = [event.threads.tolist() for event in record.events if isinstance(event, Ran)]
    everybody = list(range(32))
    assert runs[0] == everybody
    assert list(range(0, 32, 4)) in runs
    assert runs[-1] == everybody
    (exchange,) = (event for event in record.events if isinstance(event, Exchange))
    # As it was asked for: lanes beyond the warp's end do not give anything.
    np.testing.assert_array_equal(exchange.sources, LANES + 16)
    assert not [event for event in record.events if isinstance(event, Barrier)]


def test_a_barrier_and_a_vote_are_events():
    record = record_of(columns, 1, 32, np.zeros((1, 32), np.float32))
    (barrier,) = (event for event in record.events if isinstance(event, Barrier))
    assert len(barrier.threads) == 32
    kinds = [type(event).__name__ for event in record.events]
    stored = next(k for k, event in enumerate(record.events) if isinstance(event, Access))
    assert kinds.index("Barrier") > stored


def test_atomics_and_one_place_for_all():
    places = LANES[::-1] // 4
    record = record_of(count, 1, 32, np.zeros((2, 8), np.int32), places)
    store = accesses(record, "store")[0]
    assert [part.tolist() for part in store.indices()] == [[0] * 32, [0] * 32]
    (atomic,) = accesses(record, "atomic")
    assert [part.tolist() for part in atomic.indices()] == [[1] * 32, places.tolist()]
    assert atomic.values.tolist() == [3] * 32


def test_only_so_much_is_kept():
    zeros = np.zeros(256), np.zeros(256)
    record = record_of(gather, 4, 64, *zeros, 1, blocks=2)
    assert record.blocks == 2
    assert record.warps == 4
    assert max(int(event.threads[-1]) for event in record.events) == 127
    assert not record.is_cut
    assert record_of(gather, 4, 64, *zeros, 1, most=100).is_cut
    assert record_of(gather, 4, 64, *zeros, 1, most=100).events == []
    only = record_of(columns, 1, 32, np.zeros((1, 32), np.float32), spaces=("global",))
    assert [event.array.name for event in only.events] == ["out"]


def test_blocks_that_run_later_and_part_filled_warps():
    # More blocks than run together, of 33 threads each: a warp, and one of a single thread.
    record = record_of(gather, 2000, 33, np.zeros(66000), np.zeros(66000), 1, blocks=1500)
    seen = np.concatenate([event.threads for event in accesses(record, "load")])
    np.testing.assert_array_equal(np.sort(seen), np.arange(1500 * 33))
    assert record.warp(0) == (0, 32)
    assert record.warp(1) == (32, 33)
    assert record.warp(2) == (33, 65)


def test_launches_are_chosen_by_kernel():
    recorder = Recorder(launches=2, after=1)
    device = SimulatedDevice(recorder=recorder)
    source, out = device.to_device(np.zeros(32)), device.empty(32, np.float64)
    for _ in range(4):
        device.launch(gather, 1, 32, source, out, 1)
        device.launch(halves, 1, 32, device.to_device(LANES))
    assert [(record.kernel, record.number) for record in recorder.records] == [
        ("gather", 2), ("halves", 3), ("gather", 4), ("halves", 5),
    ]  # fmt: skip


@pytest.mark.parametrize("schedule", ["lockstep", "warps-random"])
def test_counters_and_results_are_the_same(schedule):
    seen = []
    for recorder in (None, Recorder()):
        device = SimulatedDevice(schedule=schedule, recorder=recorder)
        values = device.to_device(np.arange(32))
        device.launch(halves, 1, 32, values)
        seen.append((device.counters, device.line_counters, device.to_host(values).tolist()))
    assert seen[0] == seen[1]


def test_without_counters_the_same_is_recorded():
    seen = []
    for counters in (True, False):
        recorder = Recorder(blocks=2)
        device = SimulatedDevice(checks=False, counters=counters, recorder=recorder)
        device.launch(gather, 2, 32, np.arange(256), np.zeros(64, np.int64), 4)
        (record,) = recorder.records
        seen.append([(one.verb, one.indices()[0].tolist()) for one in accesses(record)])
    assert seen[0] == seen[1]
    assert len(seen[1]) > 1
    assert device.counters.launches == 0


def test_indices_into_an_array_that_runs_backwards():
    @cuda.jit
    def copy(source, out):
        row, column = cuda.threadIdx.y, cuda.threadIdx.x
        out[row, column] = source[row, column]

    recorder = Recorder()
    device = SimulatedDevice(recorder=recorder)
    source = device.to_device(np.arange(12.0).reshape(3, 4))
    device.launch(copy, 1, (4, 3), source[::-1, ::-1], device.empty((3, 4), np.float64))
    load = next(event for event in recorder.records[0].events if isinstance(event, Access))
    rows, columns = load.indices()
    np.testing.assert_array_equal(rows, np.repeat(np.arange(3), 4))
    np.testing.assert_array_equal(columns, np.tile(np.arange(4), 3))
