"""Counters against numbers counted by hand, and what they must not depend on.

A warp of 32 threads; a sector has 32 bytes, a line 128; shared memory has 32 banks of 4-byte words.
"""

from __future__ import annotations

from dataclasses import asdict, fields

import numpy as np
import pytest
from numba import cuda, float32, float64, int32
from simulating import SCHEDULES, counted, line_of, run

from warpladder.device.numba_target import types
from warpladder.simulator import Counters, SimulatedDevice


# Numba's names for them, spelled out: a dtype given as an argument is no constant.
@cuda.jit
def strided_load(source, out, stride, offset):
    i = cuda.grid(1)
    out[i] = source[i * stride + offset]


@cuda.jit
def strided_store(target, stride, offset):
    i = cuda.grid(1)
    target[i * stride + offset] = 1


# --- global memory --------------------------------------------------------------------------------


def traffic(size, stride, offset, threads=32):
    """Return sectors and lines of the elements that the threads reach, each as a set."""
    begins = [(t * stride + offset) * size for t in range(threads)]
    touched = {begin + byte for begin in begins for byte in range(size)}
    return len({byte // 32 for byte in touched}), len({byte // 128 for byte in touched})


@pytest.mark.parametrize(
    ("stride", "sectors", "lines"),
    [
        (1, 4, 1),
        (2, 8, 2),
        (4, 16, 4),
        (8, 32, 8),
        (16, 32, 16),
        (32, 32, 32),
        (0, 1, 1),
        (3, 12, 3),
    ],
)
def test_strided_loads_of_four_bytes(stride, sectors, lines):
    source, out = np.zeros(1024, np.float32), np.zeros(32, np.float32)
    counters = counted(strided_load, 1, 32, source, out, stride, 0)
    assert counters.global_load_requests == 1
    assert counters.global_load_sectors == sectors
    assert counters.global_load_lines == lines
    assert counters.global_load_sectors_per_request == sectors
    assert counters.global_load_lines_per_request == lines
    used = 128 if stride else 4
    assert counters.global_load_bytes == used
    assert counters.load_utilisation_32 == pytest.approx(100 * used / (32 * sectors))
    assert counters.load_utilisation_128 == pytest.approx(100 * used / (128 * lines))
    # 32 neighbouring floats.
    assert (counters.global_store_requests, counters.global_store_sectors) == (1, 4)
    assert (counters.global_store_lines, counters.global_store_bytes) == (1, 128)
    assert counters.global_bytes_moved == 32 * (sectors + 4)


@pytest.mark.parametrize(
    ("offset", "sectors", "lines"),
    [(0, 4, 1), (1, 5, 2), (7, 5, 2), (8, 4, 2), (16, 4, 2), (31, 5, 2), (32, 4, 1), (33, 5, 2)],
)
def test_misaligned_loads(offset, sectors, lines):
    source, out = np.zeros(128, np.float32), np.zeros(32, np.float32)
    counters = counted(strided_load, 1, 32, source, out, 1, offset)
    assert (counters.global_load_sectors, counters.global_load_lines) == (sectors, lines)
    assert counters.global_load_bytes == 128


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.int16, np.float64])
@pytest.mark.parametrize(("stride", "offset"), [(1, 0), (1, 3), (2, 0), (7, 1), (32, 5)])
def test_elements_of_other_sizes(dtype, stride, offset):
    size = np.dtype(dtype).itemsize
    sectors, lines = traffic(size, stride, offset)
    counters = counted(strided_store, 1, 32, np.zeros(1024, dtype), stride, offset)
    assert counters.global_store_requests == 1
    assert counters.global_store_sectors == sectors
    assert counters.global_store_lines == lines
    assert counters.global_store_bytes == 32 * size
    assert counters.global_load_requests == 0


@pytest.mark.parametrize(("stride", "offset"), [(1, 0), (1, 3), (2, 0), (7, 1)])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_stored_part_by_part(dtype, stride, offset):
    """As an H200 counts them: half of what a store of neighbours moves is of use."""
    part = np.dtype(dtype).itemsize // 2
    moved = [traffic(part, 2 * stride, 2 * offset + which) for which in range(2)]
    counters = counted(strided_store, 1, 32, np.zeros(1024, dtype), stride, offset)
    assert counters.global_store_requests == 2
    assert counters.global_store_sectors == sum(sectors for sectors, _ in moved)
    assert counters.global_store_lines == sum(lines for _, lines in moved)
    assert counters.global_store_bytes == 32 * 2 * part


@pytest.mark.parametrize("threads", [1, 8, 9, 31, 33, 64, 70])
def test_partial_warps(threads):
    counters = counted(strided_store, 1, threads, np.zeros(128, np.float32), 1, 0)
    warps = -(-threads // 32)
    assert counters.global_store_requests == warps
    # 8 floats to a sector, and a warp's 32 are a line of their own.
    assert counters.global_store_sectors == -(-threads // 8)
    assert counters.global_store_lines == warps
    assert counters.global_store_bytes == 4 * threads


def test_only_active_threads_make_requests():
    @cuda.jit
    def kernel(target):
        i = cuda.grid(1)
        if i % 32 < 8 and i < 64:
            target[i] = 1

    counters = counted(kernel, 1, 128, np.zeros(128, np.float32))
    assert (counters.global_store_requests, counters.global_store_sectors) == (2, 2)
    assert counters.global_store_bytes == 64


def test_fields_of_packed_records_may_lie_across_sectors():
    dtype = np.dtype([("tag", "i1"), ("weight", "f8")])
    records = np.zeros(32, dtype)

    @cuda.jit
    def kernel(records):
        records.weight[cuda.grid(1)] = 1

    counters = counted(kernel, 1, 32, records)
    # 9-byte records from byte 1 on: bytes 1 to 287, all of the first 9 sectors and 3 lines.
    assert (counters.global_store_sectors, counters.global_store_lines) == (9, 3)
    assert counters.global_store_bytes == 256


def test_arrays_do_not_share_a_line():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i] = a[i] if i % 2 else b[i]

    a, b, out = np.zeros(3, np.float32), np.zeros(3, np.float32), np.zeros(3, np.float32)
    counters = counted(kernel, 1, 3, a, b, out)
    assert counters.global_load_requests == 2
    assert counters.global_load_sectors == 2


def test_slices_of_device_arrays_keep_their_alignment():
    device = SimulatedDevice()
    base = device.full(256, 0, np.float32)
    device.launch(strided_store, 1, 32, base[3:], 1, 0)
    assert device.counters.global_store_sectors == 5
    device.reset_counters()
    device.launch(strided_store, 1, 32, base[64:], 1, 0)
    assert device.counters.global_store_sectors == 4


# --- shared memory --------------------------------------------------------------------------------


@cuda.jit
def shared_float32(stride, offset):
    tile = cuda.shared.array(2048, float32)
    tile[cuda.threadIdx.x * stride + offset] = 1


@cuda.jit
def shared_float64(stride, offset):
    tile = cuda.shared.array(2048, float64)
    tile[cuda.threadIdx.x * stride + offset] = 1


@cuda.jit
def shared_complex128(stride, offset):
    tile = cuda.shared.array(2048, types.complex128)
    tile[cuda.threadIdx.x * stride + offset] = 1


@pytest.mark.parametrize("stride", range(1, 33))
def test_bank_conflicts_of_four_byte_words(stride):
    counters = counted(shared_float32, 1, 32, stride, 0)
    degree = int(np.gcd(stride, 32))
    assert counters.shared_store_requests == 1
    assert counters.shared_store_wavefronts == degree
    assert counters.shared_store_ideal_wavefronts == 1
    assert counters.shared_store_conflict_degree == degree
    assert counters.shared_bank_conflicts == degree - 1


@pytest.mark.parametrize(("width", "degree"), [(32, 32), (33, 1), (34, 2), (36, 4)])
def test_padding_a_tile_of_which_columns_are_read(width, degree):
    # Column 0 of rows of that many words: words 0, width, 2 width, ...
    counters = counted(shared_float32, 1, 32, width, 0)
    assert counters.shared_store_wavefronts == degree


def test_a_word_that_all_read_is_broadcast():
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        tile[i] = i
        tile[i + 32] = i
        cuda.syncthreads()
        # All one word; two words of two banks; two words of one bank.
        out[i] = tile[5] + tile[7 + i % 2] + tile[32 * (i % 2)]

    lines = run(kernel, 1, 32, np.zeros(32, np.float32), counters=True).lines
    counters = lines[__file__, line_of(kernel, "out[i] =")]
    assert counters.shared_load_requests == 3
    assert counters.shared_load_ideal_wavefronts == 3
    assert counters.shared_load_wavefronts == 1 + 1 + 2


def test_words_narrower_than_a_bank_share_it():
    @cuda.jit
    def kernel(stride):
        tile = cuda.shared.array(4096, types.int8)
        tile[cuda.threadIdx.x * stride] = 1

    # 1 and 4: at most one word to a bank; 128 bytes: one bank, 32 words.
    for stride, degree in ((1, 1), (2, 1), (4, 1), (8, 2), (128, 32)):
        assert counted(kernel, 1, 32, stride).shared_store_wavefronts == degree


@pytest.mark.parametrize(("stride", "wavefronts"), [(1, 2), (2, 4), (4, 8), (16, 32), (17, 2)])
def test_elements_of_eight_bytes_go_half_a_warp_at_a_time(stride, wavefronts):
    # Element k lies in banks 2k and 2k + 1: sixteen of them fill the banks once.
    # Stride 16: 32 words apart, all of a half in one pair of banks: 16 each.
    counters = counted(shared_float64, 1, 32, stride, 0)
    assert counters.shared_store_ideal_wavefronts == 2
    assert counters.shared_store_wavefronts == wavefronts


@pytest.mark.parametrize(("stride", "wavefronts"), [(1, 4), (2, 8), (8, 32), (9, 4)])
def test_elements_of_sixteen_bytes_go_a_quarter_at_a_time(stride, wavefronts):
    counters = counted(shared_complex128, 1, 32, stride, 0)
    assert counters.shared_store_ideal_wavefronts == 4
    assert counters.shared_store_wavefronts == wavefronts


def test_parts_of_a_warp_are_served_one_after_the_other_whatever_their_banks():
    @cuda.jit
    def doubles(places):
        tile = cuda.shared.array(512, float64)
        tile[places[cuda.threadIdx.x]] = 1

    @cuda.jit
    def quadruples(places):
        tile = cuda.shared.array(256, types.complex128)
        tile[places[cuda.threadIdx.x]] = 1

    i = np.arange(32)
    # Each half in a pair of banks of its own, 16 threads deep: 16 and then 16.
    assert counted(doubles, 1, 32, 16 * i + i // 16).shared_store_wavefronts == 32
    # Each quarter in four banks of its own, 8 threads deep.
    assert counted(quadruples, 1, 32, 8 * i + i // 8).shared_store_wavefronts == 32


def test_every_block_begins_at_bank_zero():
    @cuda.jit
    def kernel():
        tile = cuda.shared.array(40, float32)
        tile[cuda.threadIdx.x] = 1

    counters = counted(kernel, 5, 40)
    # Per block a full warp and one of 8 threads.
    assert counters.shared_store_requests == counters.shared_store_wavefronts == 10


# --- other memory ---------------------------------------------------------------------------------

TABLE = np.arange(32, dtype=np.float32)


def test_constant_memory_serves_one_address_at_a_time():
    @cuda.jit
    def kernel(out, divisor):
        table = cuda.const.array_like(TABLE)
        i = cuda.threadIdx.x
        out[i] = table[i // divisor]

    for divisor, wavefronts in ((32, 1), (16, 2), (1, 32)):
        counters = counted(kernel, 1, 32, np.zeros(32), divisor)
        assert (counters.constant_requests, counters.constant_wavefronts) == (1, wavefronts)


def test_local_arrays_have_their_own_counters():
    @cuda.jit
    def kernel(out):
        scratch = cuda.local.array(4, float32)
        i = cuda.threadIdx.x
        for k in range(4):
            scratch[k] = k
        out[i] = scratch[i % 4]

    counters = counted(kernel, 1, 64, np.zeros(64))
    assert (counters.local_store_requests, counters.local_load_requests) == (8, 2)
    assert counters.global_load_requests == counters.shared_load_requests == 0


# --- atomics --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threads", "places", "requests", "passes"),
    [
        (32, lambda i: i, 1, 1),
        (32, lambda i: 0 * i, 1, 32),
        (32, lambda i: i // 4, 1, 4),
        (32, lambda i: np.minimum(i, 29), 1, 3),
        # A full warp at one address, then one of 8 threads at two.
        (40, lambda i: np.where(i < 32, 0, i % 2), 2, 32 + 4),
    ],
)
def test_atomics_take_a_pass_for_each_thread_at_the_busiest_address(
    threads, places, requests, passes
):
    @cuda.jit
    def kernel(memory, where):
        i = cuda.grid(1)
        cuda.atomic.add(memory, where[i], 1)

    where = places(np.arange(threads))
    counters = counted(kernel, 1, threads, np.zeros(32, np.int32), where)
    assert counters.atomic_requests == requests
    assert counters.atomic_threads == threads
    assert counters.atomic_passes == passes
    assert counters.atomic_serialisation == passes / requests


# --- control --------------------------------------------------------------------------------------


@cuda.jit
def branches(out, divisor):
    i = cuda.grid(1)
    if i // divisor % 2:  # the branch
        out[i] = 1


@pytest.mark.parametrize(
    ("divisor", "uniform"), [(1, 0), (16, 0), (32, 4), (48, 3), (64, 4), (1000, 4)]
)
def test_a_branch_is_uniform_where_a_warp_goes_one_way(divisor, uniform):
    report = run(branches, 2, 64, np.zeros(128), divisor, counters=True)
    assert report.counters.branches == 4
    assert report.counters.uniform_branches == uniform
    assert report.counters.branch_uniformity == 25 * uniform
    at_branch = report.lines[__file__, line_of(branches, "# the branch")]
    assert (at_branch.branches, at_branch.uniform_branches) == (4, uniform)


def test_branches_of_a_loop_with_different_trip_counts():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        total = 0
        for _ in range(i % 4):
            total += 1
        out[i] = total

    counters = counted(kernel, 1, 32, np.zeros(32))
    # Asked after 0, 1, 2 and 3 rounds: of those that are there, each time some leave; those of the
    # last time all do.
    assert (counters.branches, counters.uniform_branches) == (4, 1)


def test_threads_per_instruction():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i % 32 < 8:
            out[i] = 2 * i + 1  # eight
        else:
            out[i] = 3 * i - 1  # others

    report = run(kernel, 1, 64, np.zeros(64), counters=True)
    eight = report.lines[__file__, line_of(kernel, "# eight")]
    others = report.lines[__file__, line_of(kernel, "# others")]
    assert eight.threads_per_instruction == 8
    assert others.threads_per_instruction == 24
    # The same operations, once per warp each.
    assert eight.warp_instructions == others.warp_instructions >= 2 * 3
    assert 16 < report.counters.threads_per_instruction < 32


@pytest.mark.parametrize("threads", [32, 64, 40, 1])
def test_threads_per_instruction_of_straight_code(threads):
    counters = counted(strided_store, 3, threads, np.zeros(256), 1, 0)
    warps = -(-threads // 32)
    assert counters.threads_per_instruction == threads / warps
    assert counters.warp_instructions % (3 * warps) == 0


def test_barriers_and_exchanges_are_counted_per_warp():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        total = i
        for _ in range(3):
            cuda.syncthreads()
        for _ in range(2):
            cuda.syncwarp()
        total += cuda.shfl_up_sync(0xFFFFFFFF, total, 1)
        total += cuda.ballot_sync(0xFFFFFFFF, total > 5)
        out[i] = total

    counters = counted(kernel, 2, 70, np.zeros(140))
    # 2 blocks of 3 warps.
    assert counters.barriers == 18
    assert counters.warp_syncs == 12
    assert counters.shuffles == 12


# --- lines, launches, what counters must not depend on --------------------------------------------


@cuda.jit
def mixed(source, counts, out):
    tile = cuda.shared.array(64, int32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = source[i] + source[i // 2]  # two loads
    cuda.syncthreads()
    cuda.atomic.add(counts, tile[t] % 4, 1)  # atomic
    total = 0
    for k in range(t % 3):
        total += tile[(t + k) % 64]  # shared loads
    if total > 20:
        out[i] = total  # store


def launched(**options):
    source = np.arange(640) % 17
    return run(
        mixed, 10, 64, source, np.zeros(4, np.int32), np.zeros(640), counters=True, **options
    )


def test_the_lines_sum_up_to_the_kernel():
    report = launched()
    total = Counters(launches=1)
    for counters in report.lines.values():
        total.add(counters)
    assert asdict(total) == asdict(report.counters)
    assert all(getattr(report.counters, field.name) >= 0 for field in fields(Counters))


def test_each_line_has_what_it_does():
    lines = launched().lines
    at = {
        text: lines[__file__, line_of(mixed, f"# {text}")]
        for text in ("two loads", "atomic", "shared loads", "store")
    }
    assert at["two loads"].global_load_requests == 2 * 20
    assert at["two loads"].shared_store_requests == 20
    assert at["atomic"].atomic_requests == 20
    assert at["atomic"].shared_load_requests == 20
    assert at["shared loads"].shared_load_requests == 2 * 20
    assert at["store"].global_store_requests > 0
    for text, counters in at.items():
        assert (counters.global_load_requests > 0) == (text == "two loads")
        assert (counters.atomic_requests > 0) == (text == "atomic")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("batch", [1, 64, 200, 1 << 20])
def test_counters_depend_neither_on_batches_nor_on_the_schedule(schedule, batch, monkeypatch):
    expected = asdict(launched().counters)
    monkeypatch.setattr("warpladder.simulator.execution.scheduler.BATCH_THREADS", batch)
    assert asdict(launched(schedule=schedule, seed=batch).counters) == expected


def test_a_device_adds_up_its_launches():
    device = SimulatedDevice()
    target = device.full(64, 0, np.float32)
    for threads in (32, 64):
        device.launch(strided_store, 1, threads, target, 1, 0)
    assert device.counters.launches == 2
    assert device.counters.global_store_requests == 3
    (store_line,) = (
        counters for counters in device.line_counters.values() if counters.global_store_requests
    )
    assert store_line.global_store_sectors == 12
    assert [report.block for report in device.launches] == [(32, 1, 1), (64, 1, 1)]
    assert device.launches[0].kernel == "strided_store"
    device.reset_counters()
    assert asdict(device.counters) == asdict(Counters())


def test_nothing_is_counted_where_that_was_not_asked_for():
    report = run(strided_store, 1, 32, np.zeros(32), 1, 0, counters=False)
    assert asdict(report.counters) == asdict(Counters())
    assert report.lines == {}
