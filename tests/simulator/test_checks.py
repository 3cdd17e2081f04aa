"""The checks: each fault is found and its report names the place; right kernels pass them all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import complex128, cuda, float32, float64, from_dtype, int32
from simulating import SCHEDULES, line_of, run

from warpladder.errors import InputError, InputTypeError, KernelFaultError, LaunchError
from warpladder.simulator import SimulatedDevice, simulate


def fault_of(kernel, grid, block, *arguments, **options):
    """Return the fault that one launch ends with."""
    with pytest.raises(KernelFaultError) as caught:
        run(kernel, grid, block, *arguments, **options)
    return caught.value


# --- memcheck -------------------------------------------------------------------------------------


@cuda.jit
def loads_beyond(source, out):
    i = cuda.grid(1)
    out[i] = source[i + 3]  # beyond


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
@pytest.mark.parametrize("checks", [True, False, ["racecheck"]], ids=str)
def test_an_index_out_of_bounds_is_a_fault_whatever_is_checked(checks, schedule):
    fault = fault_of(
        loads_beyond, 2, 20, np.zeros(33), np.zeros(40), checks=checks, schedule=schedule
    )
    assert fault.check == "memcheck"
    assert "load of source[33] is out of bounds" in str(fault)


def test_an_index_out_of_bounds_names_everything():
    fault = fault_of(loads_beyond, 2, 20, np.zeros(33), np.zeros(40))
    assert fault.check == "memcheck"
    line = line_of(loads_beyond, "# beyond")
    # 30 + 3 = 33 is the first beyond the end: thread 10 of block 1; and nine more.
    assert str(fault) == (
        f"memcheck: loads_beyond (test_checks.py, line {line}): load of source[33] is out of "
        "bounds of axis 0 (shape (33,)), by block (1,0,0), thread (10,0,0), and 9 more threads"
    )


def test_the_axis_and_all_indices_are_named():
    @cuda.jit
    def kernel(matrix):
        x, y = cuda.grid(2)
        matrix[x, y + 2] = 1

    fault = fault_of(kernel, (1, 3), (2, 3), np.zeros((2, 10)))
    assert "store of matrix[0, 10] is out of bounds of axis 1 (shape (2, 10))" in str(fault)
    assert "by block (0,2,0), thread (0,2,0), and 1 more threads" in str(fault)


@pytest.mark.parametrize(("index", "inside"), [(-1, True), (-5, True), (-6, False), (5, False)])
def test_negative_indices_count_from_the_end(index, inside):
    @cuda.jit
    def kernel(values, where):
        values[where] = 1

    values = np.zeros(5)
    if inside:
        run(kernel, 1, 1, values, index)
        assert values[index] == 1
        assert values.sum() == 1
    else:
        fault = fault_of(kernel, 1, 1, values, index)
        assert f"values[{index}] is out of bounds" in str(fault)


def test_unsigned_indices_do_not_count_from_the_end():
    @cuda.jit
    def kernel(values, where):
        values[where[0]] = 1

    fault = fault_of(kernel, 1, 1, np.zeros(5), np.array([2**64 - 1], np.uint64))
    assert "out of bounds" in str(fault)


@pytest.mark.parametrize(("name", "space"), [("scratch", "local"), ("tile", "shared")])
def test_local_and_shared_arrays_are_told_by_their_names(name, space):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(8, int32)
        scratch = cuda.local.array(8, int32)
        i = cuda.threadIdx.x
        if out[0] == 0:
            tile[i] = 1
        else:
            scratch[i] = 1

    out = np.array([0 if space == "shared" else 1])
    fault = fault_of(kernel, 3, 9, out)
    assert f"store of {space} array {name}[8] is out of bounds" in str(fault)
    assert "thread (8,0,0)" in str(fault)


@pytest.mark.parametrize("index", [3, -4, 77])
def test_an_index_beyond_a_tuple_raises_in_debug_mode_as_numba_has_it(index):
    def function(values, where):
        parts = (values[0], values[1], values[2])
        values[3] = parts[where[cuda.grid(1)]]

    values, where = np.array([4.0, 5, 6, 7]), np.array([index])
    run(function, 1, 1, values, np.array([-3]))
    assert values[3] == 4
    # Without debug mode the thread ends in silence.
    run(function, 1, 1, values, where)
    assert values[3] == 4
    with pytest.raises(IndexError, match="tuple index out of range"):
        run(cuda.jit(debug=True, opt=False)(function), 1, 1, values, where)


def test_a_view_of_wider_elements_that_is_not_aligned():
    @cuda.jit
    def kernel(raw, start, out):
        wide = raw[start : start + 16].view(np.float64)
        out[cuda.grid(1)] = wide[cuda.grid(1)]

    raw, out = np.arange(64, dtype=np.uint8), np.zeros(2)
    run(kernel, 1, 2, raw, 8, out)
    assert np.array_equal(out, raw[8:24].view(np.float64))
    fault = fault_of(kernel, 1, 2, raw, 4, out)
    assert fault.check == "memcheck"
    assert "no multiple of 8 bytes, by block (0,0,0), thread (0,0,0)" in str(fault)


def test_nothing_is_written_before_a_fault_is_raised():
    @cuda.jit
    def kernel(values):
        values[cuda.grid(1)] = 1

    values = np.zeros(5)
    fault_of(kernel, 1, 8, values)
    assert (values == 0).all()


# --- racecheck ------------------------------------------------------------------------------------


@cuda.jit
def shared_raw(values, out):
    tile = cuda.shared.array(64, float64)
    i = cuda.threadIdx.x
    tile[i] = values[i]  # first
    out[i] = tile[63 - i]  # second


@cuda.jit
def shared_war(values, out):
    tile = cuda.shared.array(64, float64)
    i = cuda.threadIdx.x
    tile[i] = values[i]
    cuda.syncthreads()
    out[i] = tile[63 - i]  # first
    tile[i] = -1  # second


@cuda.jit
def shared_waw(values, out):
    tile = cuda.shared.array(64, float64)
    i = cuda.threadIdx.x
    tile[i] = values[i]  # first
    tile[63 - i] = out[i]  # second


@cuda.jit
def global_raw(values, out):
    i = cuda.grid(1)
    out[i] = values[i] + 1  # first
    values[i] = out[63 - i]  # second


@cuda.jit
def global_war(values, out):
    i = cuda.grid(1)
    out[i] = values[63 - i]  # first
    values[i] = -1  # second


@cuda.jit
def global_waw(values, out):
    i = cuda.grid(1)
    out[i] = values[i]  # first
    out[63 - i] = -values[i]  # second


RACES = [
    (shared_raw, "load", "store"),
    (shared_war, "store", "load"),
    (shared_waw, "store", "store"),
    (global_raw, "load", "store"),
    (global_war, "store", "load"),
    (global_waw, "store", "store"),
]


@pytest.mark.parametrize(("kernel", "later", "earlier"), RACES, ids=lambda part: str(part)[:20])
def test_a_race_names_both_lines_and_both_threads(kernel, later, earlier):
    values = np.arange(1.0, 65)
    fault = fault_of(kernel, 1, 64, values, np.zeros(64))
    assert fault.check == "racecheck"
    first, second = line_of(kernel, "# first"), line_of(kernel, "# second")
    text = str(fault)
    assert f"{later} at test_checks.py line {second} by" in text
    assert f"{earlier} at test_checks.py line {first} by" in text
    assert "block (0,0,0), thread (0,0,0)" in text
    assert "block (0,0,0), thread (63,0,0)" in text
    assert kernel.py_func.__name__ in text


@pytest.mark.parametrize(("kernel", "later", "earlier"), RACES, ids=lambda part: str(part)[:20])
@pytest.mark.parametrize("schedule", SCHEDULES[1:])
def test_races_are_found_under_every_schedule(kernel, later, earlier, schedule):
    fault = fault_of(
        kernel, 1, 64, np.arange(1.0, 65), np.zeros(64), schedule=schedule, checks="racecheck"
    )
    assert fault.check == "racecheck"


@pytest.mark.parametrize("kernel", [global_raw, global_war, global_waw], ids=lambda k: k.__name__)
def test_races_between_blocks(kernel):
    text = str(fault_of(kernel, 2, 32, np.arange(1.0, 65), np.zeros(64)))
    assert "block (0,0,0), thread (0,0,0)" in text
    assert "block (1,0,0), thread (31,0,0)" in text


def test_a_block_barrier_does_not_order_blocks():
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        values[i] = i + 1
        cuda.syncthreads()
        out[i] = values[63 - i]

    run(kernel, 1, 64, np.zeros(64), np.zeros(64))
    fault = fault_of(kernel, 2, 32, np.zeros(64), np.zeros(64))
    assert fault.check == "racecheck"


def test_threads_of_a_warp_race_without_syncwarp():
    @cuda.jit
    def kernel(values, out, with_barrier):
        i = cuda.threadIdx.x
        values[i] = i + 1
        if with_barrier:
            cuda.syncwarp()
        out[i] = values[31 - i]

    run(kernel, 1, 32, np.zeros(32), np.zeros(32), True)
    fault = fault_of(kernel, 1, 32, np.zeros(32), np.zeros(32), False)
    assert fault.check == "racecheck"


def test_syncwarp_does_not_order_warps():
    @cuda.jit
    def kernel(values, out):
        i = cuda.threadIdx.x
        values[i] = i + 1
        cuda.syncwarp()
        out[i] = values[63 - i]

    assert fault_of(kernel, 1, 64, np.zeros(64), np.zeros(64)).check == "racecheck"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_halves_of_a_warp_that_synchronise_apart_race(schedule):
    @cuda.jit
    def kernel(values, out, distance):
        i = cuda.threadIdx.x
        values[i] = i + 1
        if i % 32 < 16:
            cuda.syncwarp(0x0000FFFF)
        else:
            cuda.syncwarp(0xFFFF0000)
        out[i] = values[i ^ distance]

    out = np.zeros(64)
    run(kernel, 1, 64, np.zeros(64), out, 15, schedule=schedule)
    assert out.tolist() == [(i ^ 15) + 1 for i in range(64)]
    fault = fault_of(kernel, 1, 64, np.zeros(64), out, 16, schedule=schedule)
    assert fault.check == "racecheck"


@cuda.jit
def one_writes_one_reads(masks, writer, written, reader, read, place, out):
    i = cuda.threadIdx.x
    for step in range(masks.shape[0]):
        if i == writer and step == written:
            place[0] = 1
        if i == reader and step == read:
            out[0] = place[0]
        cuda.syncwarp(masks[step, i])


PARTITIONS = st.lists(st.lists(st.integers(0, 3), min_size=32, max_size=32), min_size=1, max_size=6)


@given(PARTITIONS, st.permutations(range(32)), st.data(), st.sampled_from(SCHEDULES))
@settings(max_examples=60)
def test_a_chain_of_warp_barriers_orders_those_whom_it_joins(groups, lanes, data, schedule):
    masks = np.array(
        [[sum(1 << j for j in range(32) if row[j] == row[i]) for i in range(32)] for row in groups]
    )
    writer, reader = lanes[:2]
    written, read = (data.draw(st.integers(0, len(groups) - 1)) for _ in range(2))
    # Who has heard of the earlier access, directly or from others, before the later one.
    heard = {writer if written <= read else reader}
    for row in groups[min(written, read) : max(written, read)]:
        heard |= {lane for lane in range(32) if row[lane] in {row[known] for known in heard}}
    arguments = masks, writer, written, reader, read, np.zeros(1), np.zeros(1)
    if writer in heard and reader in heard:
        run(one_writes_one_reads, 1, 32, *arguments, schedule=schedule)
        assert arguments[-1][0] == (written < read)
    else:
        assert fault_of(one_writes_one_reads, 1, 32, *arguments, schedule=schedule).check == (
            "racecheck"
        )


def test_an_atomic_and_a_plain_access_race():
    @cuda.jit
    def kernel(values):
        i = cuda.threadIdx.x
        if i < 32:
            cuda.atomic.add(values, 0, 1)
        else:
            values[0] = 50 + i

    fault = fault_of(kernel, 1, 33, np.zeros(1))
    assert fault.check == "racecheck"
    assert "atomic at" in str(fault)
    assert "values[0]" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_store_of_what_is_there_races_with_what_changes_it(schedule):
    @cuda.jit
    def kernel(total, clears, by_atomics):
        i = cuda.threadIdx.x
        if i == clears:
            total[0] = 0
        elif i % 32 == 0:
            if by_atomics:
                cuda.atomic.add(total, 0, 1)
            else:
                total[0] = 1

    for clears in (0, 32):
        for by_atomics in (True, False):
            fault = fault_of(kernel, 1, 64, np.zeros(1), clears, by_atomics, schedule=schedule)
            assert fault.check == "racecheck"


def test_the_unsynchronised_sum_is_found():
    @cuda.jit
    def kernel(values, total):
        total[0] += values[cuda.grid(1)]

    fault = fault_of(kernel, 2, 32, np.ones(64), np.zeros(1))
    assert "total[0]" in str(fault)


def test_two_threads_that_write_different_values_in_one_instruction():
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        values[i // 2] = i

    fault = fault_of(kernel, 1, 2, np.full(1, 9.0))
    assert "thread (0,0,0)" in str(fault)
    assert "thread (1,0,0)" in str(fault)


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array[::-1],
        lambda array: array[:, ::-1],
        lambda array: array[::-1, ::-1],
        lambda array: array.T[::-1],
        lambda array: array[::-2, ::3],
    ],
)
def test_the_element_of_a_reversed_array_is_named_by_its_indices(view):
    @cuda.jit
    def kernel(values):
        values[0, 1] = cuda.threadIdx.x

    device = SimulatedDevice()
    values = view(device.to_device(np.full((4, 6), 9.0)))
    with pytest.raises(KernelFaultError, match=r"values\[0, 1\]: store"):
        device.launch(kernel, 1, 2, values)


def test_the_element_is_named_by_its_indices():
    @cuda.jit
    def kernel(matrix):
        i = cuda.grid(1)
        matrix[3, 4] = i

    assert "matrix[3, 4]" in str(fault_of(kernel, 1, 2, np.full((5, 6), 9.0)))


def test_the_same_value_from_many_threads_is_reported_on_request_only():
    @cuda.jit
    def kernel(found, values):
        if values[cuda.grid(1)] > 2:
            found[0] = 1

    found = np.zeros(1)
    run(kernel, 2, 32, found, np.arange(64))
    assert found[0] == 1
    fault = fault_of(kernel, 2, 32, np.zeros(1), np.arange(64), checks=("racecheck", "same-value"))
    assert fault.check == "racecheck"
    assert "same value" in str(fault) or "store at" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_numbers_that_are_all_the_same_hide_no_missing_barrier(value, schedule):
    @cuda.jit
    def sums_of_tiles(values, sums):
        tile, t, total = cuda.shared.array(64, float64), cuda.threadIdx.x, 0.0
        for k in range(3):
            tile[t] = values[k * 64 + t]  # stored
            cuda.syncthreads()
            for j in range(64):
                total += tile[j]  # read
        sums[t] = total

    given = np.full(192, value), np.zeros(64)
    fault = fault_of(sums_of_tiles, 1, 64, *given, schedule=schedule, checks=["racecheck"])
    for end in ("# stored", "# read"):
        assert f"line {line_of(sums_of_tiles.py_func, end)}" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_flags_that_all_raise_before_a_barrier_are_no_race(schedule):
    @cuda.jit
    def some(values, found):
        flag, t = cuda.shared.array(1, int32), cuda.threadIdx.x
        if t == 0:
            flag[0] = 0
        cuda.syncthreads()
        if values[cuda.grid(1)] > 2:
            flag[0] = 1
        cuda.syncthreads()
        if t == 0:
            found[cuda.blockIdx.x] = flag[0]

    found = np.zeros(2)
    run(some, 2, 64, np.arange(128), found, schedule=schedule)
    assert found.tolist() == [1, 1]


def test_parts_of_arrays_are_told_from_arrays():
    @cuda.jit(device=True)
    def item(row, i):
        return row[i]

    @cuda.jit
    def kernel(matrix, out):
        tile = cuda.shared.array((2, 8), float64)
        part = matrix[1:3]
        out[0] = item(part[1], 7) if out[1] else tile[1][9]

    rows = np.zeros((4, 5))
    fault = fault_of(kernel, 1, 1, rows, np.ones(2))
    assert "load of matrix[...][7] is out of bounds of axis 0 (shape (5,))" in str(fault)
    fault = fault_of(kernel, 1, 1, rows, np.zeros(2))
    assert "load of shared array tile[...][9] is out of bounds" in str(fault)


def test_checks_that_were_not_asked_for_stay_silent():
    run(global_waw, 1, 64, np.arange(64.0), np.zeros(64), checks=["memcheck", "initcheck"])
    run(global_waw, 1, 64, np.arange(64.0), np.zeros(64), checks=False)


# --- what racecheck must let pass -----------------------------------------------------------------


@cuda.jit
def tree_reduction(values, sums):
    tile = cuda.shared.array(128, float64)
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
def shuffle_reduction(values, sums):
    partial = cuda.shared.array(4, float64)
    i = cuda.threadIdx.x
    total = values[cuda.grid(1)]
    for k in range(5):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, 16 >> k)
    if i % 32 == 0:
        partial[i // 32] = total
    cuda.syncthreads()
    if i == 0:
        sums[cuda.blockIdx.x] = partial[0] + partial[1] + partial[2] + partial[3]


@cuda.jit
def atomic_sum(values, sums):
    cuda.atomic.add(sums, cuda.blockIdx.x, values[cuda.grid(1)])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "kernel", [tree_reduction, shuffle_reduction, atomic_sum], ids=lambda k: k.__name__
)
def test_reductions_pass(kernel, schedule):
    values, sums = np.arange(384.0), np.zeros(3)
    run(kernel, 3, 128, values, sums, schedule=schedule)
    assert np.array_equal(sums, values.reshape(3, 128).sum(axis=1))


@cuda.jit
def last_block_reduction(values, partial, finished, total):
    last = cuda.shared.array(1, int32)
    i = cuda.threadIdx.x
    if i == 0:
        block_sum = 0.0
        for k in range(32):
            block_sum += values[cuda.blockIdx.x * 32 + k]
        partial[cuda.blockIdx.x] = block_sum
        cuda.threadfence()
        before = cuda.atomic.add(finished, 0, 1)
        last[0] = before == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and i == 0:
        cuda.threadfence()
        everything = 0.0
        for k in range(cuda.gridDim.x):
            everything += partial[k]
        total[0] = everything


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_last_block_may_read_what_the_others_wrote(schedule):
    values, total = np.arange(7 * 32.0), np.zeros(1)
    run(last_block_reduction, 7, 32, values, np.zeros(7), np.zeros(1, np.int32), total,
        schedule=schedule)  # fmt: skip
    assert total[0] == values.sum()


def test_without_its_fence_the_last_block_races():
    @cuda.jit
    def kernel(partial, finished, total):
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x] = 1 + cuda.blockIdx.x
            before = cuda.atomic.add(finished, 0, 1)
            if before == cuda.gridDim.x - 1:
                for k in range(cuda.gridDim.x):
                    total[0] += partial[k]

    fault = fault_of(kernel, 4, 32, np.zeros(4), np.zeros(1, np.int32), np.zeros(1))
    assert fault.check == "racecheck"
    assert "partial" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_fence_before_what_is_written_does_not_pass_that_on(schedule):
    @cuda.jit
    def kernel(values, out, flag):
        i = cuda.threadIdx.x
        if cuda.blockIdx.x == 0:
            cuda.threadfence()
            values[i] = i
            cuda.syncthreads()
            if i == 0:
                cuda.atomic.exch(flag, 0, 1)
        else:
            if i == 0:
                while cuda.atomic.add(flag, 0, 0) == 0:
                    pass
            cuda.syncthreads()
            out[i] = values[i]

    arrays = np.zeros(32), np.zeros(32), np.zeros(1, np.int32)
    fault = fault_of(kernel, 2, 32, *arrays, schedule=schedule)
    assert fault.check == "racecheck"
    assert "values" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_lock_of_a_block_with_fences_for_the_block_passes(schedule):
    @cuda.jit
    def kernel(sums):
        lock = cuda.shared.array(1, int32)
        total = cuda.shared.array(1, int32)
        if cuda.threadIdx.x == 0:
            lock[0] = total[0] = 0
        cuda.syncthreads()
        if cuda.laneid == 0:
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            cuda.threadfence_block()
            total[0] += cuda.threadIdx.x
            cuda.threadfence_block()
            cuda.atomic.exch(lock, 0, 0)
        cuda.syncthreads()
        sums[cuda.blockIdx.x] = total[0]

    sums = np.zeros(2)
    run(kernel, 2, 128, sums, schedule=schedule)
    assert sums.tolist() == [192, 192]


@cuda.jit
def announced_twice(values, finished, total, to_all):
    if cuda.threadIdx.x == 0:
        values[cuda.blockIdx.x] = 1 + cuda.blockIdx.x
        cuda.threadfence_block()
        cuda.atomic.add(finished, 0, 1)
        if to_all:
            cuda.threadfence()
        if cuda.atomic.add(finished, 1, 1) == cuda.gridDim.x - 1:
            for k in range(cuda.gridDim.x):
                total[0] += values[k]


def test_a_fence_for_the_block_keeps_no_other_block_apart():
    arguments = np.zeros(4), np.zeros(2, np.int32), np.zeros(1), False
    fault = fault_of(announced_twice, 4, 32, *arguments)
    assert fault.check == "racecheck"
    assert "values" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_fence_for_the_device_passes_on_what_one_for_the_block_did(schedule):
    arguments = np.zeros(4), np.zeros(2, np.int32), np.zeros(1), True
    run(announced_twice, 4, 32, *arguments, schedule=schedule)
    assert arguments[2][0] == 10


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_double_buffering_passes(schedule):
    @cuda.jit
    def kernel(values, rounds):
        front = cuda.shared.array(96, float64)
        back = cuda.shared.array(96, float64)
        i = cuda.threadIdx.x
        front[i] = values[cuda.grid(1)]
        cuda.syncthreads()
        for _ in range(rounds):
            back[i] = front[(i + 1) % 96]
            cuda.syncthreads()
            front, back = back, front
        values[cuda.grid(1)] = front[i]

    values = np.arange(192.0)
    run(kernel, 2, 96, values, 5, schedule=schedule)
    assert np.array_equal(values, np.roll(np.arange(192.0).reshape(2, 96), -5, axis=1).ravel())


def test_real_and_imaginary_parts_are_told_apart():
    @cuda.jit
    def kernel(values, out):
        shared = cuda.shared.array(16, complex128)
        i = cuda.threadIdx.x
        if i < 16:
            values.real[i] = shared.real[i] = i
        else:
            values.imag[i - 16] = shared.imag[i - 16] = i
        cuda.syncthreads()
        out[i] = shared[i % 16]

    @cuda.jit
    def reads_the_whole(values, out):
        i = cuda.threadIdx.x
        if i < 16:
            values.real[i] = i + 1
        else:
            out[i] = values[i - 16]

    values, out = np.zeros(16, complex), np.zeros(32, complex)
    run(kernel, 1, 32, values, out)
    assert np.array_equal(values, np.arange(16) + 1j * np.arange(16, 32))
    assert np.array_equal(out, np.tile(values, 2))
    assert fault_of(reads_the_whole, 1, 32, values, out).check == "racecheck"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_histogram_passes(schedule):
    @cuda.jit
    def kernel(keys, counts):
        bins = cuda.shared.array(16, int32)
        i = cuda.threadIdx.x
        if i < 16:
            bins[i] = 0
        cuda.syncthreads()
        cuda.atomic.add(bins, keys[cuda.grid(1)], 1)
        cuda.syncthreads()
        if i < 16:
            cuda.atomic.add(counts, i, bins[i])

    keys = np.random.default_rng(0).integers(0, 16, 5 * 64)
    counts = np.zeros(16, np.int32)
    run(kernel, 5, 64, keys, counts, schedule=schedule)
    assert np.array_equal(counts, np.bincount(keys, minlength=16))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_of_flags_with_fences_passes(schedule):
    @cuda.jit
    def kernel(values, out, arrived):
        i = cuda.grid(1)
        values[i] = i + 1
        cuda.threadfence()
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(arrived, 0, 1)
            while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
                pass
            cuda.threadfence()
        cuda.syncthreads()
        out[i] = values[values.size - 1 - i]

    out = np.zeros(128)
    run(kernel, 4, 32, np.zeros(128), out, np.zeros(1, np.int32), schedule=schedule)
    assert np.array_equal(out, np.arange(128.0)[::-1] + 1)


# --- initcheck ------------------------------------------------------------------------------------


def test_an_array_that_is_only_brought_out_has_nothing_on_the_device():
    @cuda.jit
    def counts_up(values):
        values[cuda.grid(1)] += 1

    @cuda.jit
    def writes_the_first(values):
        values[0] = 7

    values = np.zeros(2)
    assert fault_of(counts_up, 1, 2, cuda.Out(values)).check == "initcheck"
    run(counts_up, 1, 2, cuda.InOut(values))
    assert values.tolist() == [1, 1]
    run(writes_the_first, 1, 1, cuda.Out(values))
    assert values[0] == 7
    assert np.isnan(values[1])


def test_shared_memory_that_nobody_wrote():
    @cuda.jit
    def kernel(out, written):
        tile = cuda.shared.array((4, 8), float32)
        i = cuda.threadIdx.x
        if i < written:
            tile[i // 8, i % 8] = i
        cuda.syncthreads()
        out[i] = tile[i // 8, i % 8]  # read

    out = np.zeros(32)
    run(kernel, 2, 32, out, 32)
    assert out.tolist() == list(range(32))
    fault = fault_of(kernel, 2, 32, out, 20)
    assert fault.check == "initcheck"
    assert f"line {line_of(kernel, '# read')}" in str(fault)
    assert "shared array tile[2, 4]" in str(fault)
    assert "thread (20,0,0)" in str(fault)


def test_shared_memory_of_one_block_is_not_that_of_another():
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(1, float32)
        if cuda.blockIdx.x == 0:
            tile[0] = 1
        out[cuda.blockIdx.x] = tile[0]

    assert "block (1,0,0)" in str(fault_of(kernel, 3, 1, np.zeros(3)))


def test_local_arrays_that_were_not_written():
    @cuda.jit
    def kernel(out, written):
        scratch = cuda.local.array(4, float64)
        i = cuda.grid(1)
        for k in range(written[i]):
            scratch[k] = k
        out[i] = scratch[2]

    run(kernel, 1, 3, np.zeros(3), np.array([3, 4, 3]))
    fault = fault_of(kernel, 1, 3, np.zeros(3), np.array([3, 2, 3]))
    assert fault.check == "initcheck"
    assert "local array scratch" in str(fault)
    assert "thread (1,0,0)" in str(fault)


def test_arrays_of_the_device_that_were_not_written():
    @cuda.jit
    def fill(values, count):
        i = cuda.grid(1)
        if i < count:
            values[i] = i

    @cuda.jit
    def read(values, out):
        out[cuda.grid(1)] = values[cuda.grid(1)]

    device = SimulatedDevice()
    values, out = device.empty(64, np.int32), device.empty(64, np.int32)
    device.launch(fill, 2, 32, values, 50)
    device.launch(read, 1, 50, values, out)
    with pytest.raises(KernelFaultError, match=r"values\[50\] is read before anyone") as caught:
        device.launch(read, 2, 32, values, out)
    assert caught.value.check == "initcheck"
    device.launch(fill, 2, 32, values, 64)
    device.launch(read, 2, 32, values, out)
    assert device.to_host(out).tolist() == list(range(64))


def test_an_atomic_operation_reads():
    @cuda.jit
    def kernel(out):
        bins = cuda.shared.array(4, int32)
        cuda.atomic.add(bins, cuda.threadIdx.x, 1)
        out[cuda.threadIdx.x] = bins[cuda.threadIdx.x]

    assert fault_of(kernel, 1, 4, np.zeros(4)).check == "initcheck"


# --- synccheck ------------------------------------------------------------------------------------


@cuda.jit
def returns_early(values):
    i = cuda.grid(1)
    if i >= values.size:
        return
    values[i] += 1
    cuda.syncthreads()  # barrier
    values[i] += 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_return_before_a_barrier(schedule):
    values = np.zeros(64)
    run(returns_early, 2, 32, values, schedule=schedule)
    assert (values == 2).all()
    fault = fault_of(returns_early, 2, 32, np.zeros(50), schedule=schedule)
    assert fault.check == "synccheck"
    assert f"line {line_of(returns_early, '# barrier')}" in str(fault)
    assert "14 threads of block (1,0,0) have returned" in str(fault)


def test_without_the_check_threads_that_returned_are_not_waited_for():
    values = np.zeros(50)
    run(returns_early, 2, 32, values, checks=False)
    assert (values == 2).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_in_one_branch_only(schedule):
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        if i % 2:
            cuda.syncthreads()  # inside
        values[i] = 1
        cuda.syncthreads()  # behind

    fault = fault_of(kernel, 1, 32, np.zeros(32), schedule=schedule)
    assert fault.check == "synccheck"
    inside, behind = line_of(kernel, "# inside"), line_of(kernel, "# behind")
    assert f"test_checks.py line {inside}" in str(fault)
    assert f"test_checks.py line {behind}" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_different_barriers_in_the_two_branches(schedule):
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        if i < 32:
            cuda.syncthreads()
        else:
            cuda.syncthreads()
        values[i] = 1

    fault = fault_of(kernel, 1, 64, np.zeros(64), schedule=schedule)
    assert "wait at different barriers" in str(fault)
    # A branch that all threads of a block take the same way is no fault.
    run(kernel, 2, 32, np.zeros(64), schedule=schedule)


def test_barriers_in_a_loop_with_divergent_trip_counts():
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        for _ in range(1 + i // 16):
            cuda.syncthreads()
        values[i] = 1

    assert fault_of(kernel, 1, 32, np.zeros(32)).check == "synccheck"


def test_a_mask_without_the_calling_lane():
    @cuda.jit
    def shuffles(out):
        i = cuda.grid(1)
        out[i] = cuda.shfl_sync(0x0000FFFF, i, 0)

    @cuda.jit
    def waits(out):
        cuda.syncwarp(0x0000FFFF)
        out[cuda.grid(1)] = 1

    for kernel in (shuffles, waits):
        fault = fault_of(kernel, 1, 32, np.zeros(32))
        assert fault.check == "synccheck"
        assert "mask 0x0000ffff does not name the calling lane 16" in str(fault)
        assert "thread (16,0,0)" in str(fault)


def test_a_mask_that_names_lanes_in_the_other_branch():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < 20:
            out[i] = cuda.shfl_down_sync(0xFFFFFFFF, i, 1)
        else:
            out[i] = cuda.shfl_sync(0xFFFFFFFF, i, 25)

    fault = fault_of(kernel, 1, 32, np.zeros(32))
    assert fault.check == "synccheck"
    assert "mask 0xffffffff names lane 31, which is not there" in str(fault)
    assert "thread (0,0,0)" in str(fault)


def test_a_mask_that_names_lanes_which_wait_elsewhere():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < 20:
            out[i] = cuda.shfl_down_sync(0xFFFFFFFF, i, 1)  # here
        cuda.syncthreads()  # there

    fault = fault_of(kernel, 1, 32, np.zeros(32))
    assert fault.check == "synccheck"
    assert f"test_checks.py line {line_of(kernel, '# here')}" in str(fault).replace(
        ", line", " line"
    )


def test_a_mask_may_name_lanes_that_have_returned():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i >= 20:
            return
        out[i] = cuda.ballot_sync(0xFFFFFFFF, 1)

    out = np.zeros(32, np.int64)
    run(kernel, 1, 32, out)
    assert out.tolist() == [0xFFFFF] * 20 + [0] * 12


def test_a_full_mask_is_right_where_the_other_threads_do_not_exist():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = cuda.ballot_sync(0xFFFFFFFF, i % 2)

    out = np.zeros(20, np.int64)
    run(kernel, 1, 20, out)
    assert (out == 0xAAAAA).all()


@cuda.jit
def neighbour(mask, values, operand, out):
    i = cuda.grid(1)
    if mask >> (i % 32) & 1 and i < values.size:
        out[i] = cuda.shfl_sync(mask, values[i], operand)


@cuda.jit
def below(mask, values, operand, out):
    i = cuda.grid(1)
    if mask >> (i % 32) & 1 and i < values.size:
        out[i] = cuda.shfl_up_sync(mask, values[i], operand)


@cuda.jit
def above(mask, values, operand, out):
    i = cuda.grid(1)
    if mask >> (i % 32) & 1 and i < values.size:
        out[i] = cuda.shfl_down_sync(mask, values[i], operand)


@cuda.jit
def across(mask, values, operand, out):
    i = cuda.grid(1)
    if mask >> (i % 32) & 1 and i < values.size:
        out[i] = cuda.shfl_xor_sync(mask, values[i], operand)


OUTSIDE = "which mask 0x{:08x} does not name"
ABSENT = "which has returned or never was"
HALF, FULL = 0xFFFF, 0xFFFFFFFF


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("kernel", "mask", "threads", "size", "operand", "reader", "source", "why"),
    [
        (neighbour, HALF, 64, 64, 16, 0, 16, OUTSIDE),
        (below, 0xFFFF0000, 64, 64, 1, 16, 15, OUTSIDE),
        (above, HALF, 64, 64, 1, 15, 16, OUTSIDE),
        (across, HALF, 64, 64, 16, 0, 16, OUTSIDE),
        # A block of 20 threads, and of 32 of which 12 have left.
        (neighbour, FULL, 20, 20, 31, 0, 31, ABSENT),
        (above, FULL, 20, 20, 4, 16, 20, ABSENT),
        (across, FULL, 20, 20, 4, 16, 20, ABSENT),
        (above, FULL, 52, 52, 1, 19, 20, ABSENT),
    ],
)
def test_a_shuffle_from_a_lane_that_gives_nothing(
    kernel, mask, threads, size, operand, reader, source, why, schedule
):
    launch = 1, threads, mask, np.arange(size), operand, np.zeros(threads)
    fault = fault_of(kernel, *launch, schedule=schedule)
    assert fault.check == "synccheck"
    assert f"lane {reader} reads lane {source}, {why.format(mask)}" in str(fault)
    assert f"{kernel.__name__} (test_checks.py, line {line_of(kernel, '_sync(')})" in str(fault)
    run(kernel, *launch, schedule=schedule, checks=("memcheck", "racecheck", "initcheck"))


def test_a_shuffle_from_a_lane_that_has_returned():
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        if i >= 20:
            return
        values[i] = cuda.shfl_down_sync(0xFFFFFFFF, values[i], 3)

    values = np.arange(32)
    assert "lane 17 reads lane 20, which has returned" in str(fault_of(kernel, 1, 32, values))
    run(kernel, 1, 32, values, checks=False)
    assert values.tolist() == [*range(3, 20), 17, 18, 19, *range(20, 32)]


@pytest.mark.parametrize("kernel", [below, above])
def test_beyond_the_end_of_the_warp_a_thread_keeps_its_own(kernel):
    values, out = np.arange(64), np.zeros(64, np.int64)
    run(kernel, 1, 64, FULL, values, 31, out)
    kept = np.arange(64) % 32 > 0 if kernel is above else np.arange(64) % 32 < 31
    assert (out[kept] == values[kept]).all()
    # A lane of the mask's edge that reads beyond the warp reads itself, which its mask names.
    run(kernel, 1, 32, 0x80000000 if kernel is above else 1, values, 1, out)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_that_meet_with_different_masks(schedule):
    @cuda.jit
    def votes(masks, out):
        i = cuda.grid(1)
        out[i] = cuda.ballot_sync(masks[i], True)

    @cuda.jit
    def waits(masks, out):
        i = cuda.grid(1)
        cuda.syncwarp(masks[i])
        out[i] = i

    apart = np.where(np.arange(32) < 16, 0xFFFF, 0xFFFF0000)
    mixed = np.where(np.arange(32) < 16, 0xFFFFFFFF, 0xFFFF0000)
    for kernel in (votes, waits):
        run(kernel, 1, 32, apart, np.zeros(32), schedule=schedule)
        run(kernel, 1, 32, mixed, np.zeros(32), schedule=schedule, checks=False)
        fault = fault_of(kernel, 1, 32, mixed, np.zeros(32), schedule=schedule)
        assert fault.check == "synccheck"
        assert "thread (0,0,0) names lane 16, which meets it with mask 0xffff0000" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_that_meet_with_different_masks_in_two_branches(schedule):
    @cuda.jit
    def kernel(out, other):
        i = cuda.grid(1)
        if i < 16:
            cuda.syncwarp(0xFFFFFFFF)
        else:
            cuda.syncwarp(other)
        out[i] = i

    run(kernel, 1, 32, np.zeros(32), 0xFFFFFFFF, schedule=schedule)
    fault = fault_of(kernel, 1, 32, np.zeros(32), 0xFFFFFFFE, schedule=schedule)
    assert fault.check == "synccheck"
    assert "names lane 16, which meets it with mask 0xfffffffe" in str(fault)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_shuffle_from_the_other_half_in_the_same_instruction(schedule):
    @cuda.jit
    def kernel(masks, out, distance):
        i = cuda.grid(1)
        out[i] = cuda.shfl_xor_sync(masks[i], i, distance)

    masks, out = np.where(np.arange(32) < 16, 0xFFFF, 0xFFFF0000), np.zeros(32, np.int64)
    run(kernel, 1, 32, masks, out, 15, schedule=schedule)
    assert out.tolist() == [i ^ 15 for i in range(32)]
    fault = fault_of(kernel, 1, 32, masks, out, 16, schedule=schedule)
    assert "lane 0 reads lane 16, which mask 0x0000ffff does not name" in str(fault)


# --- launch limits --------------------------------------------------------------------------------


@cuda.jit
def touches(values):
    values[0] = 1


@pytest.mark.parametrize("block", [1024, (32, 32), (16, 1, 64), (1, 1024, 1)], ids=str)
def test_blocks_as_large_as_they_come(block):
    values = np.zeros(1)
    run(touches, 1, block, values, checks=False)
    assert values[0] == 1


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (1, 1025, r"blockDim.x = 1025 is more than 1024"),
        (1, (32, 33), "1056 threads per block are more than 1024"),
        (1, (1, 1025), r"blockDim.y = 1025 is more than 1024"),
        (1, (1, 1, 65), r"blockDim.z = 65 is more than 64"),
        ((1, 65536), 1, r"gridDim.y = 65536 is more than 65535"),
        ((1, 1, 65536), 1, r"gridDim.z = 65536 is more than 65535"),
        (2**31, 1, r"gridDim.x = 2147483648 is more than 2147483647"),
        (0, 1, "is empty"),
        (1, 0, "is empty"),
        ((2, -1), 1, "is empty"),
        ((1, 1, 1, 1), 1, "1 to 3 dimensions"),
        (1, (), "1 to 3 dimensions"),
        (1.5, 1, "not made of whole numbers"),
        # What NumPy's ceil gives: Numba takes no float, either.
        (np.ceil(1.5), 1, r"the grid .*2\.0.* is not made of whole numbers"),
        (1, (1, 2.0), r"the block \(1, 2\.0\) is not made of whole numbers"),
        ("2", 1, "not made of whole numbers"),
        (np.array([2, 1]), 1, r"the grid array\(\[2, 1\]\) is not made of whole numbers"),
    ],
)
def test_launches_that_are_refused(grid, block, message):
    values = np.zeros(1)
    with pytest.raises(LaunchError, match=message):
        simulate(touches)[grid, block](values)
    assert values[0] == 0


def test_arguments_by_name_are_refused():
    with pytest.raises(InputTypeError, match="by position only; values was given by name"):
        simulate(touches)[1, 1](values=np.zeros(1))
    with pytest.raises(InputTypeError, match="by position only"):
        simulate(touches).forall(1)(values=np.zeros(1))


def test_an_integer_beyond_64_bits_is_told():
    with pytest.raises(InputTypeError, match="argument 0 is of type int and of more than 64 bits"):
        simulate(touches)[1, 1](2**70)


def test_a_launch_without_a_block_is_refused():
    with pytest.raises(LaunchError, match="takes the grid and the block"):
        simulate(touches)[1]
    with pytest.raises(LaunchError, match="5 values were given"):
        simulate(touches)[1, 1, 0, 0, 0]


@cuda.jit
def static_48k(values):
    tile = cuda.shared.array(12288, float32)
    tile[0] = 1
    values[0] = tile[0]


@cuda.jit
def static_beyond_48k(values):
    tile = cuda.shared.array(12289, float32)
    tile[0] = 1
    values[0] = tile[0]


def test_static_shared_memory_ends_at_48_kib():
    values = np.zeros(1)
    run(static_48k, 1, 1, values)
    assert values[0] == 1
    with pytest.raises(LaunchError, match="49156 bytes are more than 49152; take dynamic"):
        run(static_beyond_48k, 1, 1, values)


@cuda.jit
def dynamic(values):
    tile = cuda.shared.array(0, float32)
    tile[tile.size - 1] = 1
    values[0] = tile.size


# What a block may opt in to, by the CUDA programming guide's table of compute capabilities.
@pytest.mark.parametrize(
    ("capability", "kib"), [((7, 5), 64), ((8, 0), 163), ((8, 6), 99), ((9, 0), 227)], ids=str
)
def test_dynamic_shared_memory_by_compute_capability(capability, kib):
    values = np.zeros(1)
    run(dynamic, 1, 1, values, shared=kib * 1024, compute_capability=capability)
    assert values[0] == kib * 256
    with pytest.raises(LaunchError, match="bytes of shared memory per block are more than"):
        run(dynamic, 1, 1, values, shared=kib * 1024 + 4, compute_capability=capability)


def test_numbas_launch_asks_for_no_more_dynamic_shared_memory_than_48_kib():
    values = np.zeros(1)
    simulate(dynamic)[1, 1, 0, 48 * 1024](values)
    assert values[0] == 12288
    with pytest.raises(LaunchError, match=r"49156 bytes .* 49152 for which Numba's launch asks"):
        simulate(dynamic)[1, 1, 0, 48 * 1024 + 4](values)
    with pytest.raises(LaunchError, match="for which Numba's launch asks"):
        simulate(dynamic).forall(1, tpb=1, sharedmem=64 * 1024)(values)


def test_static_and_dynamic_shared_memory_count_together():
    @cuda.jit
    def kernel(values):
        fixed = cuda.shared.array(256, float32)
        tile = cuda.shared.array(0, float32)
        fixed[0] = tile.size
        values[0] = fixed[0]

    values = np.zeros(1)
    report = run(kernel, 1, 1, values, shared=226 * 1024)
    assert values[0] == 226 * 256
    assert report.shared_bytes == 227 * 1024
    with pytest.raises(LaunchError):
        run(kernel, 1, 1, values, shared=227 * 1024)


def test_negative_shared_memory_is_refused():
    with pytest.raises(LaunchError, match="shared_bytes=-4 is negative"):
        run(dynamic, 1, 1, np.zeros(1), shared=-4)


# --- options and arguments ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "fast"}, "schedule='fast' is not known; use one of lockstep, warps"),
        ({"checks": ["memcheck", "spellcheck"]}, "spellcheck is not known; use True, False or any"),
        ({"checks": "typo"}, "typo is not known"),
        ({"compute_capability": (1, 0)}, r"compute_capability=1\.0 is not known"),
        ({"signature": "void(nothing)"}, "is not a Numba signature"),
        ({"seed": -1}, "seed=-1 must not be below 0"),
    ],
)
def test_options_that_are_not_known(options, message):
    with pytest.raises(InputError, match=message):
        simulate(touches, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checks": 5}, "checks=5 is not taken; use True, False or any of memcheck, racecheck"),
        ({"checks": [5, "memcheck"]}, r"checks=\[5, 'memcheck'\] is not taken"),
        ({"seed": "a"}, "seed='a' must be a whole number"),
        ({"seed": 0.5}, r"seed=0\.5 must be a whole number"),
        ({"counters": 5}, "counters=5 must be True or False"),
    ],
)
def test_options_of_other_kinds(options, message):
    for make in (lambda **them: simulate(touches, **them), SimulatedDevice):
        with pytest.raises(InputTypeError, match=message):
            make(**options)


def test_one_check_may_be_named_alone():
    assert fault_of(shared_raw, 1, 64, np.arange(64.0), np.zeros(64), checks="racecheck")
    run(shared_raw, 1, 64, np.arange(64.0), np.zeros(64), checks="initcheck")


@pytest.mark.parametrize("kernel", [3, "touches", None, np.add, len, SimulatedDevice])
def test_what_is_no_kernel(kernel):
    with pytest.raises(InputTypeError, match=r"pass a @cuda\.jit kernel or a function"):
        simulate(kernel)


@pytest.mark.parametrize(
    "argument", [{"a": 1}, object(), 1j.conjugate], ids=lambda value: type(value).__name__
)
def test_arguments_that_no_kernel_takes(argument):
    with pytest.raises(InputTypeError, match="argument"):
        simulate(touches)[1, 1](argument)


def test_arrays_in_another_byte_order():
    dtype = np.dtype(float).newbyteorder()
    with pytest.raises(InputTypeError, match=f"argument 0 is of type ndarray and dtype {dtype}, "):
        simulate(touches)[1, 1](np.zeros(2, dtype))


def test_what_is_no_stream_and_no_number_of_bytes():
    kernel = simulate(touches)
    for stream in ("x", 1.5, [0]):
        with pytest.raises(InputTypeError, match=r"stream\]: .* is no stream; give one of cuda\.s"):
            kernel[1, 1, stream]
    for shared in ("x", 2.5, None):
        with pytest.raises(InputTypeError, match=r"shared_bytes\]: .* is no number of bytes"):
            kernel[1, 1, 0, shared]
    for stream in (0, None, SimulatedDevice().stream()):
        values = np.zeros(1)
        kernel[1, 1, stream, np.int64(0)](values)
        assert values[0] == 1


def test_too_few_or_too_many_arguments():
    with pytest.raises(
        InputTypeError,
        match=r"^touches \(test_checks.py, line \d+\) takes 1 arguments \(values\), 2 were given",
    ):
        simulate(touches)[1, 1](np.zeros(1), 2)
    with pytest.raises(InputTypeError, match="0 were given"):
        simulate(touches)[1, 1]()


def test_signatures_that_do_not_fit():
    kernel = simulate(touches, signature="void(float32[:])")
    values = np.zeros(1, np.float32)
    kernel[1, 1](values)
    assert values[0] == 1
    with pytest.raises(InputTypeError, match="there are"):
        kernel[1, 1](np.zeros((1, 1), np.float32))


@pytest.mark.parametrize("who", [0, 63])
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("stores", "stores"),
        ("stores", "adds"),
        ("stores", "loads"),
        ("rewrites", "stores"),
        ("rewrites", "adds"),
    ],
)
def test_one_of_all_threads_goes_on_without_a_barrier(first, then, who):
    @cuda.jit
    def kernel(values, out):
        values[0] = 7
        if cuda.threadIdx.x == who:
            if then == "stores":
                values[0] = 5
            elif then == "adds":
                cuda.atomic.add(values, 0, 1)
            else:
                out[0] = values[0]

    values = np.full(1, 7 if first == "rewrites" else 0)
    with pytest.raises(KernelFaultError, match="racecheck"):
        run(kernel, 1, 64, values, np.zeros(1))


def test_who_wrote_the_same_long_ago_is_forgotten():
    @cuda.jit
    def kernel(values, out):
        values[0] = 7
        cuda.syncthreads()
        if cuda.threadIdx.x < 32:
            if cuda.threadIdx.x == 0:
                values[0] = 5
            cuda.syncwarp()
            out[cuda.threadIdx.x] = values[0]

    out = np.zeros(32)
    run(kernel, 1, 64, np.zeros(1), out)
    assert (out == 5).all()


# --- records --------------------------------------------------------------------------------------

PAIR = np.dtype([("key", "i4"), ("value", "f4")])
# Four bytes behind `count` are nobody's.
PADDED = np.dtype([("x", "f8"), ("count", "i4")], align=True)
VECTOR = np.dtype([("v", "f4", (4,)), ("w", "i4")])
NESTED = np.dtype([("pair", PAIR), ("n", "i4")], align=True)


Pair, Padded, Vector, Nested = map(from_dtype, (PAIR, PADDED, VECTOR, NESTED))


@cuda.jit
def two_fields(out):
    shared = cuda.shared.array(32, Pair)
    t = cuda.threadIdx.x
    if t < 32:
        shared[t].key = t
    else:
        shared[t - 32].value = t
    cuda.syncthreads()
    if t < 32:
        out[t] = shared[t].key + shared[t].value


@cuda.jit
def parts_of_one_field(out):
    shared = cuda.shared.array(0, Vector)
    t = cuda.threadIdx.x
    shared[t // 4].v[t % 4] = t
    if t % 4 == 3:
        cuda.atomic.add(shared[t // 4 : t // 4 + 1].w, 0, 1)
    cuda.syncthreads()
    out[t] = shared[t // 4].v[3 - t % 4]


@cuda.jit
def one_field_twice(out):
    shared = cuda.shared.array(32, Nested)
    t = cuda.threadIdx.x
    shared[t % 32].n = t
    shared[t % 32].pair.key = t  # twice
    cuda.syncthreads()
    out[t] = shared[t % 32].n


def test_fields_of_records_are_told_apart():
    out = np.zeros(32)
    run(two_fields, 1, 64, out, checks=True)
    np.testing.assert_array_equal(out, np.arange(32) * 2 + 32)
    out = np.zeros(64)
    simulate(parts_of_one_field, checks=("memcheck", "racecheck"))[1, 64, 0, 20 * 16](out)
    np.testing.assert_array_equal(out, np.arange(64) // 4 * 4 + 3 - np.arange(64) % 4)
    fault = fault_of(one_field_twice, 1, 64, np.zeros(64), checks=True)
    assert fault.check == "racecheck"


@cuda.jit
def turned(x, out, incomplete):
    shared = cuda.shared.array(32, Padded)
    local = cuda.local.array(2, Padded)
    t = cuda.threadIdx.x
    local[0].x = x[t]
    if not incomplete:
        local[0].count = t
    local[1] = local[0]  # read
    shared[t] = local[1]
    cuda.syncthreads()
    out[t] = shared[31 - t]


def test_what_fills_a_record_is_not_read():
    out, x = np.zeros(32, PADDED), np.arange(32.0)
    run(turned, 1, 32, x, out, False, checks=True)
    np.testing.assert_array_equal(out["count"], np.arange(32)[::-1])
    fault = fault_of(turned, 1, 32, x, out, True, checks=True)
    assert fault.check == "initcheck"
    assert f"line {line_of(turned, '# read')}" in str(fault)


@cuda.jit(device=True)
def meet():
    cuda.syncthreads()  # the barrier


@cuda.jit
def meets_in_one_function(out):
    if cuda.threadIdx.x < 32:
        meet()  # some
    else:
        meet()  # others
    out[cuda.threadIdx.x] = 1


def test_barriers_of_one_line_are_told_by_their_calls():
    fault = str(fault_of(meets_in_one_function, 1, 64, np.zeros(64), checks=True))
    assert fault.count(f"line {line_of(meet, '# the barrier')}, called from") == 2
    for call in ("# some", "# others"):
        assert f"line {line_of(meets_in_one_function, call)}" in fault


def test_one_thread_that_returned_is_one():
    fault = str(fault_of(returns_early, 1, 32, np.zeros(31)))
    assert "1 thread of block (0,0,0) has returned before this barrier" in fault
