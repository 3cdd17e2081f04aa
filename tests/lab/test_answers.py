"""Numbers in the answers to rungs' questions, where no counter of the rung itself shows them.

What a question changes about a kernel is changed here, and counted; what it works out from sizes
is worked out from those that the code has.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, int32, uint32

from warpladder.advection.rungs import steps_per_tile
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS, Cells
from warpladder.advection.wrong import fragile_last_block, halo_without_barrier, stale_halo
from warpladder.device.grids import blocks_for, round_up
from warpladder.device.occupancy import occupancy
from warpladder.errors import KernelFaultError
from warpladder.lab.questions import ANSWERS
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import count
from warpladder.overlap_join.forms import Rows
from warpladder.overlap_join.rungs import _launching as joining
from warpladder.overlap_join.rungs import ballot_count, row_against_chunk, sets_on_cpu
from warpladder.overlap_join.rungs._counting import partners_with
from warpladder.overlap_join.rungs._tasks import SHARED_IDS, Problem
from warpladder.overlap_join.wrong import sum_without_barrier
from warpladder.primer.rungs import matrix_add_2d
from warpladder.primer.tasks import LEVELS, THRESHOLDS, VECTOR_ADD
from warpladder.primer.wrong import flags_without_barrier, racy_increment
from warpladder.reduction.rungs import (
    first_add_during_load,
    fully_unrolled,
    grid_stride,
    host_finish,
    last_warp_unrolled,
    one_word_finish,
)
from warpladder.reduction.rungs._tasks import SUM, SUM_FLOAT32, Numbers
from warpladder.reduction.wrong import (
    last_warp_without_sync,
    powers_of_two_only,
    step_without_barrier,
    sums_in_place,
)
from warpladder.shortest_paths.rungs import column_blocks, consecutive_cells, row_blocks
from warpladder.shortest_paths.rungs._tasks import DISTANCES
from warpladder.shortest_paths.wrong import pivot_without_barrier, steps_without_barrier
from warpladder.simulator import SimulatedDevice

EVERYBODY = 0xFFFFFFFF


def counted(kernel, grid, block, *args):
    """Return what a launch counts; arrays are put on a device first."""
    device = SimulatedDevice()
    there = [device.to_device(one) if isinstance(one, np.ndarray) else one for one in args]
    device.launch(kernel, grid, block, *there)
    return device.counters


def counters_of(run, problem, **options):
    device = SimulatedDevice()
    run(device, problem, **options)
    return device.counters


def says(path, *numbers):
    """Whether an answer has these numbers in it."""
    ladder, name = path.split("/")
    text = " ".join(ANSWERS[ladder][name].text.split())
    return [number for number in numbers if number not in text] == []


def passes(wrong, problem, **options):
    """Whether all checks of the simulator find nothing."""
    try:
        wrong.run(SimulatedDevice(), problem, **options)
    except KernelFaultError:
        return False
    return True


# --- primer: where the threads of a warp read -----------------------------------------------------


@cuda.jit
def read(source, out, stride, period, jump, start):
    i = cuda.grid(1)
    out[i] = source[start + stride * (i % period) + jump * (i // period)]


def loads(stride, period=1 << 20, jump=0, start=0, dtype=np.float32, warps=1):
    """Return the sectors, lines and distinct bytes that warps of such a pattern load."""
    source, out = np.zeros(8192, dtype), np.zeros(32 * warps, dtype)
    one = counted(read, warps, 32, source, out, stride, period, jump, start)
    return one.global_load_sectors, one.global_load_lines, one.global_load_bytes


@pytest.mark.parametrize(
    ("path", "pattern", "sectors", "lines", "used"),
    [
        ("primer/vector-add-grid-stride", {"stride": 4}, 16, 4, 128),
        ("primer/access-aligned", {"stride": 1, "dtype": np.float64}, 8, 2, 256),
        ("primer/access-permuted", {"stride": 4, "period": 8}, 4, 1, 32),
        ("primer/access-misaligned", {"stride": 1, "start": 8}, 4, 2, 128),
        ("primer/access-misaligned", {"stride": 1, "start": 16}, 4, 2, 128),
        ("primer/access-misaligned", {"stride": 1, "start": 24}, 4, 2, 128),
        (
            "primer/access-scattered",
            {"stride": 1, "period": 16, "jump": 48, "start": 24},
            4,
            3,
            128,
        ),
        ("primer/strided-access", {"stride": 2}, 8, 2, 128),
        ("primer/strided-access", {"stride": 8}, 32, 8, 128),
        ("primer/translation-aos", {"stride": 4}, 16, 4, 128),
        ("primer/translation-soa", {"stride": 3, "warps": 8}, 96, 24, 1024),
        ("primer/translation-soa", {"stride": 1, "warps": 8}, 32, 8, 1024),
        ("primer/constant-broadcast", {"stride": 0}, 1, 1, 4),
        ("shortest-paths/consecutive-cells", {"stride": 2}, 8, 2, 128),
    ],
)
def test_sectors_of_a_pattern(path, pattern, sectors, lines, used):
    assert loads(**pattern) == (sectors, lines, used)
    assert says(path, str(sectors) if sectors > 1 else "One")


@pytest.mark.parametrize("block", [(8, 4), (16, 2), (32, 1)])
def test_any_full_warp_takes_4_sectors_of_an_aligned_matrix(block):
    a = np.zeros((64, 64), np.float32)
    grid = 64 // block[0], 64 // block[1]
    assert counted(matrix_add_2d.add, grid, block, a, a, a, 64).global_load_sectors_per_request == 4


def test_threads_that_the_two_dimensional_grid_starts():
    assert blocks_for(33, 32) * blocks_for(33, 8) * 256 == 2560
    assert says("primer/matrix-add-warp-rows", "2,560", "2 x 5")


# --- primer: warps that disagree, and memory of other kinds ---------------------------------------


@cuda.jit
def choose(values, out, period, taken):
    i = cuda.grid(1)
    if i % period < taken:
        out[i] = math.sqrt(math.sqrt(values[i]))
    else:
        out[i] = 1 / (1 + values[i])


def choice(period, taken):
    values = np.ones(256, np.float32)
    return counted(choose, 1, 256, values, values.copy(), period, taken)


def test_one_thread_that_disagrees_costs_as_much_as_16():
    halves, one = choice(2, 1), choice(32, 1)
    assert one.warp_instructions == halves.warp_instructions
    assert (halves.branch_uniformity, one.branch_uniformity) == (0, 0)


@pytest.mark.parametrize(("run", "uniform"), [(8, 0), (16, 0), (32, 100), (64, 100)])
def test_runs_of_a_warp_s_length_keep_it_together(run, uniform):
    assert choice(2 * run, run).branch_uniformity == uniform


@cuda.jit
def pick(out, stride, shift):
    words = cuda.shared.array(2048, int32)
    t = cuda.threadIdx.x
    for place in range(t, 2048, cuda.blockDim.x):
        words[place] = place
    cuda.syncthreads()
    if t < 128:
        out[t] = words[stride * t + shift]


@pytest.mark.parametrize(
    ("path", "stride", "shift", "wavefronts"),
    [
        ("primer/two-arrays-in-dynamic-shared", 2, 1, 2),
        ("primer/two-arrays-in-dynamic-shared", 1, 128, 1),
    ],
)
def test_pairs_half_a_block_apart_meet_no_bank_twice(path, stride, shift, wavefronts):
    one = counted(pick, 1, 128, np.zeros(128, np.int32), stride, shift)
    assert one.shared_load_wavefronts == 4 * wavefronts
    assert says(path, "8, one for each")


@pytest.mark.parametrize(("pitch", "wavefronts"), [(32, 32), (33, 1)])
def test_strips_in_rows_of_33_words_meet_no_bank_twice(pitch, wavefronts):
    one = counted(pick, 1, 32, np.zeros(128, np.int32), pitch, 5)
    assert one.shared_load_wavefronts == wavefronts
    assert says("advection/register-strips", "32: ", "33")


@cuda.jit
def quantise_from_two(samples, levels):
    thresholds = cuda.const.array_like(THRESHOLDS)
    i = cuda.grid(1)
    level = 0
    for k in range(LEVELS):
        level += thresholds[(i % 2 + k) % LEVELS] <= samples[i]
    levels[i] = level


def test_two_addresses_take_two_wavefronts():
    one = counted(quantise_from_two, 1, 256, np.ones(256, np.float32), np.zeros(256, np.int32))
    assert (one.constant_requests, one.constant_wavefronts) == (256, 512)
    assert says("primer/constant-per-thread", "512")


# --- primer: the clock ----------------------------------------------------------------------------


def finished(up, kernel, down):
    """Return when the last chunk is down; each engine takes chunks in order."""
    uploaded = computed = downloaded = 0.0
    for a, b, c in zip(up, kernel, down, strict=True):
        uploaded += a
        computed = max(computed, uploaded) + b
        downloaded = max(downloaded, computed) + c
    return downloaded


def test_pipelines():
    eighths = [4 / 8] * 8
    assert finished([4], [2], [4]) == 10
    assert finished([4, *[0] * 7], [2 / 8] * 8, eighths) == 8.25
    assert finished(eighths, [2 / 8] * 8, eighths) == 4.75
    for name, time in (("serial", "10"), ("two-way", "8.25"), ("three-way", "4.75")):
        assert says(f"primer/pipeline-{name}", f"{time} ms")


def test_bytes_of_an_addition():
    work = VECTOR_ADD.work(VECTOR_ADD.make(100, 0))
    assert work.bytes / work.operations == 12
    assert 24e9 / 12 == 2e9


# --- primer: wrong rungs --------------------------------------------------------------------------


def test_no_guard_is_needed_for_full_blocks():
    _, rung = find_rung("primer/vector-add-no-guard")
    assert passes(rung, VECTOR_ADD.make(512, 0))
    assert not passes(rung, VECTOR_ADD.make(511, 0))


@pytest.mark.parametrize(
    ("wrong", "schedule", "found"),
    [
        (racy_increment, "lockstep", 1),
        (racy_increment, "warps", 3),
        (flags_without_barrier, "warps", 11),
        (flags_without_barrier, "warps-reverse", 32),
    ],
)
def test_counts_that_depend_on_the_order_of_warps(wrong, schedule, found):
    device = SimulatedDevice(schedule=schedule, checks=False)
    problem = wrong.WRONG.rung.task.make(96, 0)
    assert wrong.run(device, problem).tolist() == [found]
    assert says(f"primer/{wrong.WRONG.rung.name}", str(found))


# --- reduction ------------------------------------------------------------------------------------


def test_least_time_of_a_sum():
    assert SUM.work(Numbers(np.zeros(100, np.int32))).bytes * 2**28 / 100 / 4.8e12 == pytest.approx(
        0.224e-3, abs=5e-7
    )
    assert says("reduction/sequential-cpu", "0.224 ms")


def at_work(step):
    """Return the threads of a block of 256 that interleaved addressing has at work in a step."""
    return [t for t in range(256) if t % 2**step == 0]


def test_warps_at_work_in_the_interleaved_tree():
    warps = [len({t // 32 for t in at_work(step)}) for step in range(1, 9)]
    assert warps == [8, 8, 8, 8, 8, 4, 2, 1]
    assert len(at_work(3)) == 32


def test_sectors_of_the_numbered_pairs():
    requests = []
    for step in range(8):
        words = [2 * 2**step * t for t in range(min(32, 128 >> step))]
        requests.append(len({word // 8 for word in words}))
    assert requests == [8, 16, 32, 16, 8, 4, 2, 1]


@cuda.jit
def add_padded(data, partial):
    shared = cuda.shared.array(264, int32)
    t, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    shared[t + t // 32] = data[t]
    cuda.syncthreads()
    stride = uint32(1)
    while stride < threads:
        left = uint32(2 * stride * t)
        right = uint32(left + stride)
        if right < threads:
            shared[left + left // 32] += shared[right + right // 32]
        cuda.syncthreads()
        stride = uint32(2 * stride)
    if t == 0:
        partial[0] = shared[0]


def test_padding_takes_the_conflicts_away():
    device = SimulatedDevice()
    data, partial = device.to_device(np.arange(256, dtype=np.int32)), device.empty(1, np.int32)
    device.launch(add_padded, 1, 256, data, partial)
    assert device.to_host(partial).tolist() == [255 * 128]
    assert device.counters.shared_bank_conflicts == 0
    assert [33 * t % 32 for t in range(8)] == list(range(8))


def test_warps_with_pairs_in_the_tree_of_halves():
    at_work = [blocks_for(128 >> step, 32) for step in range(8)]
    assert sum(at_work) / 8 == 1.5
    first = 2 * 4 * 4
    assert (first, 69 - first) == (32, 37)


def test_blocks_for_eight_elements_a_thread():
    device = SimulatedDevice()
    grid_stride.run(device, SUM.make(8192, 0))
    assert [launch.grid[0] for launch in device.launches] == [4, 1]


def test_barriers_of_a_large_block():
    problem = SUM.make(2048, 0)
    assert counters_of(last_warp_unrolled.run, problem, threads=1024).barriers == 32 * 6
    assert counters_of(first_add_during_load.run, problem, threads=1024).barriers == 32 * 11


def test_branches_of_a_small_block():
    assert counters_of(fully_unrolled.run, SUM.make(256, 0), threads=128).branches == 25


def test_elements_of_a_thread():
    assert math.ceil(2**28 / (132 * 2048)) == 993


@cuda.jit
def shuffle_down(out):
    t = cuda.threadIdx.x
    total = t
    for places in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(EVERYBODY, total, places)
    out[t] = total


def test_a_shuffle_from_beyond_the_warp_gives_a_thread_its_own():
    device = SimulatedDevice()
    out = device.empty(32, np.int64)
    device.launch(shuffle_down, 1, 32, out)
    found = device.to_host(out)
    assert (found[0], found[31]) == (sum(range(32)), 31 * 2**5)


def test_numbers_that_go_back_to_the_host():
    device = SimulatedDevice()
    host_finish.run(device, SUM.make(65_536, 0))
    assert [launch.grid[0] for launch in device.launches] == [256]
    assert 4 * 256 == 1024


def test_sizes_of_the_top():
    assert pytest.approx(25, abs=0.2) == 4.8e12 * 700e-9 / 132 / 1024
    assert (one_word_finish.MOST_BLOCKS, 40 * 132) == (32_767, 5280)
    _, rung = find_rung("reduction/tuned-float32")
    few = SUM_FLOAT32.make(1 << 12, 0)
    bound = rung.tolerance(few)[1] / np.abs(few.values).sum(dtype=np.float64)
    assert bound == pytest.approx((few.values.size / 4096 + 50) * 2.0**-24, rel=1e-5)
    assert 2**26 / 4096 + 50 == 16_434


@cuda.jit
def add_with_four_syncs(data, result):
    shared = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    shared[t] = data[t]
    cuda.syncwarp()
    for places in (16, 8, 4, 2):
        if t < places:
            shared[t] += shared[t + places]
        cuda.syncwarp()
    if t == 0:
        shared[0] += shared[1]
        result[0] = shared[0]


def test_the_last_of_five_syncs_orders_nothing():
    device = SimulatedDevice()
    result = device.empty(1, np.int32)
    device.launch(
        add_with_four_syncs, 1, 32, device.to_device(np.arange(32, dtype=np.int32)), result
    )
    assert device.to_host(result).tolist() == [496]


def test_a_block_of_one_warp_is_right_and_reported():
    problem = SUM.make(32, 0)
    for schedule in ("lockstep", "warps", "warps-reverse", "warps-random"):
        device = SimulatedDevice(schedule=schedule, checks=False)
        found = step_without_barrier.run(device, problem, threads=32)
        assert found.tolist() == SUM.oracle(problem).tolist()
    with pytest.raises(KernelFaultError, match="racecheck"):
        step_without_barrier.run(SimulatedDevice(), problem, threads=32)
    assert last_warp_without_sync.WRONG.caught_by == "racecheck"


def test_elements_that_a_block_of_96_loses():
    ones = Numbers(np.ones(192, np.int32))
    assert powers_of_two_only.run(SimulatedDevice(), ones, threads=96).tolist() == [192 - 64]


def test_one_block_may_leave_its_sum_in_place():
    assert passes(sums_in_place.WRONG.rung, SUM.make(256, 0))
    assert not passes(sums_in_place.WRONG.rung, SUM.make(257, 0))


# --- advection ------------------------------------------------------------------------------------


def test_a_courant_number_of_one_moves_the_wave_by_a_cell():
    phi = LAX_FRIEDRICHS.make(33, 0).phi
    moved = LAX_FRIEDRICHS.oracle(Cells(phi, np.float32(1), np.float32(0), 1))
    assert np.array_equal(moved, np.concatenate([phi[:1], phi[:-1]]))


def test_sectors_of_both_neighbours():
    left, right = set(range(32)), set(range(2, 34))
    sectors = [{place // 8 for place in places} for places in (left, right, left | right)]
    assert [len(one) for one in sectors] == [4, 5, 5]


def test_steps_that_a_tile_allows():
    assert steps_per_tile.TILE - 2 * 512 == 0
    assert steps_per_tile.TILE - 2 * 256 == 2 * 256


def test_the_fragile_place():
    for cells, theirs, right in ((1000, 233, 233), (1024, 1, 257)):
        assert ((cells - 1 + 2) % 256, (cells - 1) % 256 + 2) == (theirs, right)
        assert says("advection/fragile-last-block", str(theirs), str(right))
    wrong = fragile_last_block.WRONG.rung
    assert passes(wrong, LAX_FRIEDRICHS.make(1000, 0))
    assert not passes(wrong, LAX_FRIEDRICHS.make(1024, 0))


def test_cells_at_the_seams_between_warps():
    problem = Cells(np.ones(97, np.float32), np.float32(0.9), np.float32(0.1), 1)
    lost = set()
    for schedule in ("warps", "warps-reverse"):
        found = halo_without_barrier.run(SimulatedDevice(schedule=schedule, checks=False), problem)
        lost |= set(np.flatnonzero(found != 1).tolist())
    assert lost == {31, 32, 63, 64, 95, 96}


def test_a_stale_halo_shows_at_the_left_end():
    assert pytest.approx((0.08, 1e-24, 6e-8), rel=0.01) == (0.9**24, 0.1**24, 0.5**24)
    problem = LAX_FRIEDRICHS.make(220, 0)
    found = stale_halo.run(SimulatedDevice(checks=False), problem)
    kept = stale_halo.TILE - 2 * (problem.steps - 1)
    assert np.flatnonzero(found != LAX_FRIEDRICHS.oracle(problem)).tolist() == [kept]


# --- overlap join ---------------------------------------------------------------------------------


def merge_steps(left, right):
    a = b = steps = 0
    while a < len(left) and b < len(right):
        x, y = left[a], right[b]
        a, b, steps = a + (x <= y), b + (y <= x), steps + 1
    return steps


def test_steps_of_a_merge():
    even, odd = np.arange(0, 2000, 2), np.arange(1, 2001, 2)
    assert (merge_steps(even, even), merge_steps(even, odd)) == (1000, 1999)
    assert sets_on_cpu.RUNG.on == "cpu"


def test_a_warp_for_a_row_takes_a_31st_of_the_requests():
    problem = SHARED_IDS.make(17, 0)
    alone = counters_of(row_against_chunk.run, problem)
    warps = counters_of(row_against_chunk.run, problem, threads=32)
    # So it is a 31st of them with 32 rows.
    assert alone.global_load_requests == (17 - 1) * warps.global_load_requests


def test_warps_above_the_diagonal():
    def at_work(n):
        return sum(32 * column + 31 for column in range(n // 32))

    assert (at_work(64), at_work(128)) == (94, 316)
    assert (round(94 / 128, 2), round(316 / 512, 2)) == (0.73, 0.62)


def rows_of(length):
    ids = np.arange(length, dtype=np.int32)
    return Rows(np.array([0, length, 2 * length]), np.concatenate([ids, ids]), length)


def test_rows_that_are_filled_up():
    layouts = {n: joining.flat_rows(SimulatedDevice(), rows_of(n)) for n in (36, 37, 100, 1000)}
    assert {n: (one.room, one.width) for n, one in layouts.items()} == {
        36: (36, 64), 37: (40, 64), 100: (100, 128), 1000: (1000, 1024),
    }  # fmt: skip
    assert (round(28 / 64, 2), round(24 / 1024, 2)) == (0.44, 0.02)


def test_ballots_for_rows_of_100():
    one = counters_of(ballot_count.run, Problem(rows_of(100), 1))
    assert (one.shuffles, one.global_load_requests) == (4, 404)


def test_pairs_that_share_the_commonest_id():
    assert 4000 * 3999 // 2 == 7_998_000
    assert says("overlap-join/inverted-index", "7,998,000")


def test_ids_that_a_pair_shares_of_the_32_commonest():
    # What `signatures` says of 1,000 and of 4,000 rows.
    n, rows = 1000, SHARED_IDS.make(1000, 0).rows
    often = np.bincount(rows.items, minlength=rows.universe)[-32:]
    assert (often * (often - 1)).sum() / (n * (n - 1)) == pytest.approx(2.9, abs=0.05)


@pytest.mark.large
def test_two_words_of_signatures_leave_no_lists():
    _, rung = find_rung("overlap-join/signatures")
    problem, device = rung.task.make(64, 0), SimulatedDevice()
    assert np.array_equal(partners_with(device, problem, words=2), rung.task.oracle(problem))
    adding = {Path(file).name for (file, _), c in device.line_counters.items() if c.atomic_requests}
    # What goes along lists adds elsewhere, in `adding.py` and `lists.py`.
    assert adding == {"counting.py"}


def test_a_count_lacks_what_the_second_warp_finds():
    problem = SHARED_IDS.make(5, 0)
    device = SimulatedDevice(schedule="warps", checks=False)
    lacking = SHARED_IDS.oracle(problem) - sum_without_barrier.run(device, problem)
    assert lacking.max() > 0
    assert lacking.min() >= 0
    assert lacking.max() <= 36 - 32
    assert 1000 - 32 == 968


# --- shortest paths -------------------------------------------------------------------------------


def closed(weights, order):
    """Return what three loops make of weights in this order of the letters k, i and j."""
    dist, n = weights.copy(), len(weights)
    for index in np.ndindex(n, n, n):
        k, i, j = (index[order.index(letter)] for letter in "kij")
        dist[i, j] = min(dist[i, j], dist[i, k] + dist[k, j])
    return dist


def test_the_loop_over_k_is_outside():
    weights = np.full((4, 4), 100)
    np.fill_diagonal(weights, 0)
    # The way 0, 3, 2, 1: its detours are found in the other order.
    weights[0, 3] = weights[3, 2] = weights[2, 1] = 1
    assert closed(weights, "kij")[0, 1] == closed(weights, "kji")[0, 1] == 3
    assert closed(weights, "ijk")[0, 1] != 3


def test_a_grid_of_whole_rows_stays_in_its_columns():
    assert 132 * 2048 * 3 == 811_008
    threads = blocks_for(128 * 128, 16 * 256) * 256
    assert (threads, threads % 128) == (1024, 0)


def test_runs_of_cells_and_sectors():
    dist = np.zeros((128, 128), np.int32)
    for length, own in ((2, 8), (8, 32)):
        one = counted(consecutive_cells.relax_run, 1, 32, dist, 128, 0, length)
        # A warp's cells lie in one row or two: as many entries of column k.
        rows = blocks_for(32 * length, 128)
        row_k = own if length == 2 else 16
        assert one.global_load_sectors == length * (own + row_k + rows)


def test_padding_of_short_and_long_rows():
    parts = [(round_up(n, 32) - n) / n for n in (33, 2017)]
    assert [f"{100 * part:.3g}" for part in parts] == ["93.9", "1.54"]


def test_a_matrix_that_lies_column_by_column():
    weights = DISTANCES.make(128, 0).matrix
    found = []
    for kernel in (row_blocks.relax_row, column_blocks.relax_column):
        device = SimulatedDevice()
        device.launch(kernel, (1, 128), 256, device.to_device(weights).T, 128, 0)
        found.append(device.counters.global_load_sectors)
    assert found == [128 * 257, 128 * 33]


def test_sectors_that_pitched_rows_save():
    _, padded = find_rung("shortest-paths/padded-rows")
    with_padding = padded.predicts[0].value / 97
    without = padded.predicts[0].value / padded.predicts[1].value / 97
    _, pitched = find_rung("shortest-paths/pitched-rows")
    copies = pitched.predicts[0].value - padded.predicts[0].value
    assert (round(without), round(with_padding), copies) == (3123, 2619, 2774)
    assert math.ceil(copies / (without - with_padding)) == 6


def test_meetings_of_a_grid():
    assert 528**2 == 278_784
    _, rung = find_rung("shortest-paths/grid-sync")
    times = dict(rung.found[0].milliseconds)
    more = (times["grid-sync"] - times["strided-cells"]) / rung.found[0].n
    assert more == pytest.approx(2.5e-3, abs=5e-5)


def test_a_first_step_from_distances_alone():
    problem = DISTANCES.make(17, 1)
    weights, dist = problem.matrix, DISTANCES.oracle(problem)
    for i, j in np.argwhere((dist < problem.no_path) & (dist > 0)):
        first = [h for h in range(17) if h != i and weights[i, h] + dist[h, j] == dist[i, j]]
        assert first


def test_blocks_that_share_registers():
    gpu = SimulatedDevice().properties
    fits = [
        occupancy(gpu, 256, registers_per_thread=r).blocks_per_multiprocessor for r in (128, 255)
    ]
    assert fits == [2, 1]


def test_parts_of_tiles():
    assert [((2 * t - 1), t * t) for t in (512 // 128, 4096 // 128)] == [(7, 16), (63, 1024)]
    assert (384 // 128) ** 3 == 27 == 24 + 3
    assert (24 / 2 + 3) / 27 == 15 / 27
    assert 4**2 * (4 + 1) / 2 / 4**3 == 5 / 8
    assert (2 * 512 // 64 + 1, 3 * 512 // 128) == (17, 12)


def test_graphs_that_fit():
    assert [math.isqrt(48 * 1024 // size) for size in (4, 2)] == [110, 156]
    assert 64**3 / (64 * 64 * 4) == 16


def test_a_pivot_without_barrier_is_right_in_forward_order():
    weights = DISTANCES.make(33, 0).matrix
    stepped = np.minimum(weights, weights[:, :1] + weights[:1])
    for schedule, right in (("warps", True), ("warps-reverse", False)):
        device = SimulatedDevice(schedule=schedule, checks=False)
        dist = device.to_device(weights)
        device.launch(pivot_without_barrier.relax_row_at_once, (1, 33), 64, dist, 33, 0)
        assert np.array_equal(device.to_host(dist), stepped) == right


def test_steps_of_one_warp_are_right_and_reported():
    problem = DISTANCES.make(5, 0)
    for schedule in ("warps", "warps-reverse"):
        device = SimulatedDevice(schedule=schedule, checks=False)
        found = steps_without_barrier.run(device, problem)
        assert np.array_equal(found, DISTANCES.oracle(problem))
    assert not passes(steps_without_barrier.WRONG.rung, problem)


@pytest.mark.large
def test_a_shared_flag_for_every_id_of_a_long_row():
    # The tree of `sequential-shared` halves 1,024 sums ten times.
    _, rung = find_rung("reduction/sequential-shared")
    device = SimulatedDevice()
    rung.run(device, SUM.make(1024, 0), threads=1024)
    assert device.counters.barriers == 32 * (1 + 10)
    assert count(rung, SimulatedDevice(), 256).barriers == 8 * (1 + 8)
