"""What a program leaves out and takes a shorter way with, and what that must not change."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, int32
from simulating import SCHEDULES, counted, run

from warpladder.errors import KernelFaultError, UnsupportedKernelError
from warpladder.simulator import simulate
from warpladder.simulator.machine.program import Branch


@cuda.jit
def _fill(out):
    i = cuda.grid(1)
    cells = cuda.local.array((2, 4), int32)
    for r in range(2):
        for c in range(4):
            cells[r, c] = 10 * r + c
    total = 0
    for r in range(2):
        for c in range(4):
            total += cells[r, c]
    out[i] = total


def test_a_loop_makes_no_pairs_and_an_index_no_tuple():
    out = np.zeros(64, np.int32)
    kernel = simulate(_fill)
    kernel[1, 64](out)
    assert (out == 2 * (10 * 4) // 2 + 2 * 6).all()
    (program,) = kernel.programs.values()
    heads = [block for block in program.blocks if isinstance(block.terminator, Branch)]
    # Go on by one, and have the number in the variable that the body reads.
    assert [len(head.operations) for head in heads] == [2, 2, 2, 2]
    # Of each loop the pair, of each element the tuple of its indices.
    left_out = sum(len(block.flows) - len(block.operations) for block in program.blocks)
    assert left_out >= 4 + 2


@cuda.jit
def _fibonacci(out, steps):
    i = cuda.grid(1)
    a, b = 0, 1
    for _ in range(steps[i]):
        pair = (a, b)
        a = pair[1]
        b = pair[0] + pair[1]
    out[i] = a


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_tuple_keeps_what_its_parts_were(schedule):
    steps = np.arange(70) % 11
    out = np.zeros(70, np.int64)
    run(_fibonacci, 1, 70, out, steps, schedule=schedule)
    np.testing.assert_array_equal(out, np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55])[steps])


@cuda.jit
def _last(out, before, counts):
    i = cuda.grid(1)
    j, earlier = -1, -1
    for j in range(counts[i]):
        before[i] = earlier
        earlier = j
    out[i] = j


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_behind_a_loop_its_variable_is_the_last(schedule):
    counts = np.arange(70) % 5
    out, before = np.zeros(70, np.int64), np.full(70, -9)
    run(_last, 2, 35, out, before, counts, schedule=schedule)
    np.testing.assert_array_equal(out, counts - 1)
    np.testing.assert_array_equal(before, np.where(counts, counts - 2, -9))


@cuda.jit
def _what_was(out):
    i = cuda.grid(1)
    now = i
    for k in range(4):
        before = now
        if (i + k) % 3 == 0:
            now += 10
        out[i, k] = before


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_variable_keeps_what_another_was_before_some_threads_changed_it(schedule):
    out = np.zeros((64, 4), np.int64)
    run(_what_was, 2, 32, out, schedule=schedule)
    i, k = np.ogrid[:64, :4]
    went = np.cumsum((i + k) % 3 == 0, axis=1)
    np.testing.assert_array_equal(out, i + 10 * np.pad(went, ((0, 0), (1, 0)))[:, :4])


@cuda.jit
def _exchange(out):
    i = cuda.grid(1)
    cells = cuda.local.array(2, int32)
    cells[0], cells[1] = i, -i
    before = cells[0]
    cells[0] += 1
    cells[0], cells[1] = cells[1], cells[0]
    out[i, 0], out[i, 1], out[i, 2] = before, cells[0], cells[1]


def test_what_was_loaded_stays_when_the_element_changes():
    out = np.zeros((64, 3), np.int64)
    run(_exchange, 2, 32, out)
    i = np.arange(64)
    np.testing.assert_array_equal(out, np.stack([i, -i, i + 1], axis=1))


@cuda.jit
def _rows(out, which):
    i = cuda.grid(1)
    cells = cuda.local.array((3, 2), int32)
    for r in range(3):
        cells[r, 0] = i + r
        cells[-(r + 1), 1] = which
    if i % 3 == 0:
        cells[1, 0] = 7
        cells[which, which] = -i
    row = cells[2]
    row[0] += 100
    out[i, 0] = cells[0, 0]
    out[i, 1] = cells[1, 0]
    out[i, 2] = cells[2, 0] + cells[-1, 1]
    out[i, 3] = cells[which, which]


@pytest.mark.parametrize("threads", [31, 32, 33, 64])
def test_local_arrays_in_whole_and_part_filled_warps(threads):
    i = np.arange(3 * threads)
    out = np.zeros((3 * threads, 4), np.int64)
    report = run(_rows, 3, threads, out, 1, counters=True)
    third = i % 3 == 0
    expected = [i, np.where(third, 7, i + 1), i + 103, np.where(third, -i, 1)]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))
    warps = 3 * -(-threads // 32)
    warp = i // threads * 2 + i % threads // 32
    two_more = len(np.unique(warp[third]))
    assert report.counters.local_store_requests == warps * (6 + 1) + 2 * two_more
    assert report.counters.local_load_requests == warps * (1 + 5)


@cuda.jit
def _beyond(out, which):
    cells = cuda.local.array(4, int32)
    cells[which] = 1
    out[cuda.grid(1)] = cells[which]


@cuda.jit
def _unwritten(out, which):
    cells = cuda.local.array(4, int32)
    cells[0] = 1
    out[cuda.grid(1)] = cells[which]


def test_rows_are_checked_as_any_memory_is():
    out = np.zeros(64, np.int32)
    for which in (4, -5):
        with pytest.raises(KernelFaultError, match="memcheck"):
            run(_beyond, 2, 32, out, which)
    with pytest.raises(KernelFaultError, match="initcheck"):
        run(_unwritten, 2, 32, out, 2)
    assert counted(_unwritten, 2, 32, out, 0).local_load_requests == 2


@cuda.jit
def _in_another_shape(out):
    i = cuda.grid(1)
    cells = cuda.local.array((2, 3), int32)
    for k in range(6):
        cells[k // 3, k % 3] = 10 * i + k
    turned, flat = cells.reshape(3, 2), cells.reshape(6)
    out[i, 0] = turned[2, 0]
    out[i, 1] = flat[5]
    turned[0, 1] = -i
    out[i, 2] = cells[0, 1]


@cuda.jit
def _local_or_shared(out):
    i = cuda.grid(1)
    mine, ours = cuda.local.array(4, int32), cuda.shared.array((40, 4), int32)
    for k in range(4):
        mine[k] = 10 * i + k
        ours[i, k] = -(10 * i + k)
    cells = mine if i % 2 else ours[i]
    out[i] = cells.reshape(2, 2)[1, 0]


@pytest.mark.parametrize("threads", [32, 40])
def test_local_arrays_in_another_shape(threads):
    i = np.arange(threads)
    out = np.zeros((threads, 3), np.int64)
    run(_in_another_shape, 1, threads, out)
    np.testing.assert_array_equal(out, np.stack([10 * i + 4, 10 * i + 5, -i], axis=1))
    one = np.zeros(threads, np.int64)
    run(_local_or_shared, 1, threads, one)
    np.testing.assert_array_equal(one, np.where(i % 2, 1, -1) * (10 * i + 2))


def _seen_as(dtype):
    @cuda.jit
    def kernel(out):
        cells = cuda.local.array(4, int32)
        for k in range(4):
            cells[k] = 0x3F800000
        out[cuda.grid(1)] = cells.view(dtype)[1]

    return kernel


def test_local_arrays_as_elements_of_another_type():
    out = np.zeros(32)
    run(_seen_as(np.float32), 1, 32, out)
    assert (out == 1.0).all()
    with pytest.raises(UnsupportedKernelError, match="local array of int32 viewed as float64"):
        run(_seen_as(np.float64), 1, 32, out)


@cuda.jit
def _rows_in_turn(matrix, out):
    out[0] = matrix.reshape(3, 2)[1, 0]


def test_only_what_lies_in_order_is_reshaped():
    out = np.zeros(1)
    run(_rows_in_turn, 1, 1, np.arange(6.0)[:, None], out)
    assert out[0] == 2.0
    with pytest.raises(UnsupportedKernelError, match="not C-contiguous"):
        run(_rows_in_turn, 1, 1, np.asfortranarray(np.arange(6.0).reshape(2, 3)), out)
