"""What is particular to this ladder; `warpladder.lab.verify` checks every rung of every ladder."""

from __future__ import annotations

import math
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda

from choosing import large
from warpladder.errors import DeviceError, InputError, InputTypeError, MissingExtraError
from warpladder.lab.climb import climb
from warpladder.lab.compare import difference
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.lab.launches import launched_variants
from warpladder.lab.sass import instruction_mix
from warpladder.lab.verify import check_predictions, check_wrong, count, verify
from warpladder.reduction.ladder import LADDER
from warpladder.reduction.rungs import one_word_finish, tuned, tuned_float32
from warpladder.reduction.rungs._combining import add
from warpladder.reduction.rungs._launching import whole_warps
from warpladder.reduction.rungs._tasks import SUM, SUM_FLOAT32, Numbers
from warpladder.simulator import SimulatedDevice

SIZES = (0, 1, 31, 32, 33, 1023, 1025, (1 << 16) + 7)
SCHEDULES = ("lockstep", "warps", "warps-reverse", "warps-random")
ALL = (*LADDER.rungs, *(broken.rung for broken in LADDER.wrong))
KERNELS = [rung for rung in LADDER.rungs if rung.on == "device"]
each_with_kernels = pytest.mark.parametrize("rung", KERNELS, ids=lambda rung: rung.name)
needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")


# --- the list -------------------------------------------------------------------------------------


def test_the_source_s_order_is_the_ladder_s():
    steps = [int(n) for rung in LADDER.rungs for n in re.findall(r"RD (\d+)", rung.source)]
    assert steps == list(range(1, 14))
    assert LADDER.rungs[0].source == "RD sequential"
    assert "GR reduction" in {rung.source for rung in LADDER.rungs}


def test_no_rung_has_a_largest_size():
    assert all(rung.max_n is None for rung in LADDER.rungs)


# --- the problems ---------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [SUM, SUM_FLOAT32], ids=lambda task: task.name)
def test_problems_repeat(task):
    one, same, other = (task.make(97, seed).values for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert task.work(Numbers(one))[:2] == (97, 388)


@pytest.mark.parametrize("n", SIZES)
def test_the_oracle_is_python_s_sum_modulo_2_to_the_32(n):
    problem = SUM.make(n, 3)
    true = sum(map(int, problem.values))
    (found,) = SUM.oracle(problem)
    assert found.dtype == np.int32
    assert (int(found) - true) % 2**32 == 0
    if n > 1000:
        assert abs(true) > 2**31


def test_the_oracle_of_floats_is_the_true_sum_rounded():
    problem = SUM_FLOAT32.make(65543, 3)
    assert SUM_FLOAT32.oracle(problem) == [np.float32(math.fsum(problem.values))]


# --- right at every size, in every schedule, for every block --------------------------------------


@each_with_kernels
def test_a_rung_is_right_at_every_size(rung):
    for verdict in verify(rung, SimulatedDevice(counters=False), SIZES, seed=3):
        assert verdict.ok, (verdict.n, verdict.fault)


@each_with_kernels
@pytest.mark.parametrize("schedule", ["warps-reverse", *large("warps", "warps-random")])
def test_a_rung_is_right_in_every_schedule(rung, schedule):
    for verdict in verify(
        rung, SimulatedDevice(schedule=schedule, counters=False), [33, 1025], seed=3
    ):
        assert verdict.ok, (verdict.n, verdict.fault)


@each_with_kernels
@pytest.mark.parametrize(
    ("threads", "sizes"),
    [
        *((96, SIZES[5:7]), (100, SIZES[1:5]), (1024, SIZES[-1:])),
        *large(
            (96, SIZES[-3:]),
            (32, SIZES[-3:]),
            (96, SIZES),
            (100, SIZES[-3:]),
            (992, SIZES),
            (1024, SIZES[-3:]),
        ),
    ],
)
def test_a_block_may_have_any_size(rung, threads, sizes):
    for n in sizes:
        problem = rung.task.make(n, 4)
        found = rung.run(SimulatedDevice(counters=False), problem, threads=threads)
        # Smaller blocks have longer chains of additions than those the tolerance is derived for.
        relative, absolute = (0.0, 0.0) if rung.exact else rung.tolerance(problem)
        allowed = None if rung.exact else (relative, 16 * absolute)
        assert not difference(rung.task.oracle(problem), found, allowed)


@each_with_kernels
def test_floats_are_added_as_well_or_refused(rung):
    for n in (0, 1, 33, 1025, 5000):
        problem = SUM_FLOAT32.make(n, 3)
        if rung.name == "one-word-finish":
            with pytest.raises(InputTypeError, match="float32 is not added in one word"):
                rung.run(SimulatedDevice(counters=False), problem)
            continue
        (found,) = rung.run(SimulatedDevice(counters=False), problem)
        # So far off may a sum be in any order of additions, and in most it is not.
        most = max(n - 1, 0) * 2.0**-24 * math.fsum(np.abs(problem.values))
        assert found.dtype == np.float32
        assert abs(float(found) - math.fsum(problem.values)) <= 1.001 * most


@each_with_kernels
@pytest.mark.parametrize("threads", [0, 31, 1025])
def test_other_blocks_are_refused(rung, threads):
    with pytest.raises(InputError, match=rf"threads={threads}: .* 32 to 1024 threads"):
        rung.run(SimulatedDevice(counters=False), rung.task.make(5, 0), threads=threads)


@pytest.mark.parametrize(
    "rung", [rung for rung in ALL if rung.on == "device"], ids=lambda rung: rung.name
)
def test_nothing_is_launched_for_nothing(rung):
    device = SimulatedDevice()
    assert rung.run(device, rung.task.make(0, 0)) == [0]
    assert not device.launches


def test_the_loop_on_the_cpu_is_right():
    (rung,) = (rung for rung in LADDER.rungs if rung.on == "cpu")
    assert all(verdict.ok for verdict in verify(rung, None, SIZES))


# --- predictions ----------------------------------------------------------------------------------


@each_with_kernels
def test_predictions_hold(rung):
    for result in check_predictions(rung, LADDER, SimulatedDevice):
        assert result.ok, (str(result.prediction), result.measured, result.fault)


def test_conflicts_of_numbered_pairs_step_by_step():
    degrees, loads, stores = [], 0, 0
    for stride in (1, 2, 4, 8, 16, 32, 64, 128):
        words = np.arange(0, 256, 2 * stride)
        warps = [words[first : first + 32] for first in range(0, words.size, 32)]
        each = [np.bincount(warp % 32).max() for warp in warps]
        degrees.append(max(each))
        loads += 2 * sum(degree - 1 for degree in each)
        stores += sum(degree - 1 for degree in each)
    assert degrees == [2, 4, 8, 8, 8, 4, 2, 1]
    found = count(LADDER.find("indexed-shared"), SimulatedDevice(), 256)
    assert found.shared_bank_conflicts == loads + stores == 105
    assert found.shared_load_wavefronts - found.shared_load_ideal_wavefronts == loads


@pytest.mark.parametrize(
    ("name", "launches"),
    [
        ("interleaved-global", 3),
        ("first-add-during-load", 3),
        ("grid-stride", 2),
        ("warp-shuffle", 2),
        ("host-finish", 1),
        ("last-block-finish", 1),
        ("tuned", 1),
        ("one-word-finish", 1),
    ],
)
def test_launches_for_a_larger_array(name, launches):
    device = SimulatedDevice(checks=False, counters=False)
    problem = SUM.make((1 << 18) + 1, 0)
    assert LADDER.find(name).run(device, problem) == SUM.oracle(problem)
    assert len(device.launches) == launches


def test_grids_are_held_to_the_size_of_the_device():
    n = 1 << 17
    limits = {"grid-stride": 8, "last-block-finish": 8, "tuned": 4, "one-word-finish": 32}
    for name, blocks in limits.items():
        device = SimulatedDevice(multiprocessors=1, checks=False, counters=False)
        problem = SUM.make(n, 0)
        assert LADDER.find(name).run(device, problem) == SUM.oracle(problem)
        assert device.launches[0].grid == (blocks, 1, 1)


# --- the wrong ones -------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", LADDER.wrong, ids=lambda broken: broken.rung.name)
def test_a_wrong_rung_is_caught_and_visible_where_it_says(broken):
    result = check_wrong(broken, SimulatedDevice)
    assert result.ok, (result.fault, result.visible)


@pytest.mark.parametrize("name", ["last-warp-without-sync", "finish-without-fence"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_some_faults_show_under_no_schedule(name, schedule):
    device = SimulatedDevice(schedule=schedule, checks=False, counters=False)
    assert all(verdict.ok for verdict in verify(LADDER.find(name), device, [33, 1025, 8192]))


@pytest.mark.parametrize("name", ["step-without-barrier", "sums-in-place"])
def test_lockstep_hides_what_is_not_waited_for(name):
    (verdict,) = verify(LADDER.find(name), SimulatedDevice(checks=False, counters=False), [1025])
    assert verdict.ok


def test_powers_of_two_are_right_and_a_block_of_96_is_wrong_in_silence():
    rung = LADDER.find("powers-of-two-only")
    problem = SUM.make(512, 0)
    assert rung.run(SimulatedDevice(counters=False), problem) == SUM.oracle(problem)
    ones = Numbers(np.ones(192, np.int32))
    # Every check is on: 96 sums of 2, of which a third is lost.
    assert rung.run(SimulatedDevice(counters=False), ones, threads=96) == [128]


# --- the top: any operation, any alignment --------------------------------------------------------


@cuda.jit(device=True)
def larger(a, b):
    return max(a, b)


@cuda.jit(device=True)
def product(a, b):
    return a * b


@pytest.mark.parametrize(
    "dtype", ["int8", "float32", "int64", *large("uint16", "int32", "float64")]
)
@pytest.mark.parametrize("n", [0, 2, 17, 4097])
def test_arrays_may_begin_anywhere(dtype, n):
    numbers = np.random.default_rng(n).integers(0, 100, n + 20).astype(dtype)
    wide = np.int64 if numbers.dtype.kind in "iu" else np.float64
    device = SimulatedDevice()
    everything = device.to_device(numbers)
    for first in (0, 1, 3, 15):
        part = everything[first : first + n]
        (total,) = tuned.reduce_with(device, part, add, wide(0))
        assert total.dtype == wide
        assert total == numbers[first : first + n].sum(dtype=wide)


@pytest.mark.parametrize("n", [0, 1, 33, 20_000])
def test_any_operation(n):
    device = SimulatedDevice()
    numbers = np.random.default_rng(n).integers(-1000, 1000, n, np.int32)
    (largest,) = tuned.reduce_with(device, numbers, larger, np.int32(-(2**31)))
    assert largest == numbers.max(initial=-(2**31))
    (of_all,) = tuned.reduce_with(device, numbers | 1, product, np.int32(1))
    assert of_all == np.multiply.reduce(numbers | 1, dtype=np.int32)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 7, 4096, 4999])
def test_nan_and_infinity_come_through(value, place):
    numbers = np.ones(5000, np.float32)
    numbers[place] = value
    (found,) = tuned.run(SimulatedDevice(counters=False), Numbers(numbers))
    assert np.array_equal(found, np.float32(value), equal_nan=True)
    numbers[place - 1] = -value
    (found,) = tuned.run(SimulatedDevice(counters=False), Numbers(numbers))
    assert np.isnan(found)


def test_the_tolerance_is_held_and_an_element_more_would_not_be():
    problem = SUM_FLOAT32.make(4097, 1)
    relative, absolute = tuned_float32.tolerance(problem)
    true = math.fsum(problem.values)
    (found,) = tuned_float32.RUNG.run(SimulatedDevice(counters=False), problem)
    assert abs(float(found) - true) < absolute < 0.01
    assert relative == np.finfo(np.float32).eps / 2
    assert np.mean(np.abs(problem.values) > absolute) > 0.99


def test_the_bound_counts_every_addition():
    # In each addition the smaller summand is lost, half a unit: the most that rounding can do.
    share = tuned_float32.tolerance(Numbers(np.ones(1 << 20, np.float32)))[1] / (1 << 20)
    assert share == pytest.approx(((1 << 20) / 4096 + 50) * 2.0**-24, rel=1e-4)


# --- sums of integers: the word that is sum and ticket --------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("value", [-(2**29), -1, 0, 1, 2**29])
def test_sums_of_either_sign_leave_the_tickets_whole(dtype, value):
    # Blocks before the last have added up to less than nothing, to nothing, to something.
    limits = np.iinfo(dtype)
    numbers = np.full(200_000, min(max(value, limits.min), limits.max), dtype)
    device = SimulatedDevice(multiprocessors=1, checks=False, counters=False)
    (total,) = one_word_finish.sum_with(device, numbers, np.dtype(np.int64), threads=32)
    assert device.launches[0].grid == (40, 1, 1)
    assert total == numbers.sum(dtype=np.int64)


def test_the_largest_sums_fit_and_larger_ones_do_not():
    most = one_word_finish.LARGEST_SUM
    device = SimulatedDevice(multiprocessors=1)
    for sign in (-1, 1):
        numbers = np.zeros(5000, np.int64)
        numbers[[7, 3000]] = sign * (most - 1), sign
        (total,) = one_word_finish.sum_with(device, numbers, np.dtype(np.int64), threads=32)
        assert total == sign * most


def test_the_word_is_left_at_zero_for_the_next_launch():
    device = SimulatedDevice()
    problem = SUM.make(50_000, 1)
    word, result = device.full(1, 0, np.int64), device.empty(1, np.int32)
    data = device.to_device(problem.values)
    for _ in range(2):
        device.launch(one_word_finish.KERNELS[0], 7, 256, data, word, result, np.int32(0))
        assert device.to_host(word) == 0
        assert device.to_host(result) == SUM.oracle(problem)


# --- the library ----------------------------------------------------------------------------------


@pytest.mark.numba_cuda
def test_the_library_names_what_is_missing_and_what_it_needs(monkeypatch):
    rung = LADDER.find("cub-library")
    monkeypatch.setitem(sys.modules, "cuda.compute", None)
    with pytest.raises(MissingExtraError, match=r"cuda-cccl.*pip install 'warpladder\[cccl\]'"):
        rung.run(SimulatedDevice(), SUM.make(5, 0))
    monkeypatch.setitem(sys.modules, "cuda.compute", SimpleNamespace())
    monkeypatch.setattr("cuda.compute", SimpleNamespace(), raising=False)
    with pytest.raises(DeviceError, match="no simulator runs"):
        rung.run(SimulatedDevice(), SUM.make(5, 0))


def test_the_library_is_left_out_on_the_simulator_with_the_reason():
    rung = LADDER.find("cub-library")
    with pytest.raises(InputError, match="cub-library runs on a GPU only: CUB's kernels"):
        verify(rung, SimulatedDevice())
    (row,) = climb(LADDER, SimulatedDevice(), simulator=SimulatedDevice, only="cub-library")
    assert not row.faults
    assert not row.verdicts
    assert "pip install 'warpladder[cccl]'" in row.skipped


# --- machine code ---------------------------------------------------------------------------------


def loads_on_their_way(loop):
    """Return the most wide loads issued before what the first of them brings is used."""
    waiting, most = [], 0
    for one in loop.instructions:
        registers = {int(number) for number in re.findall(r"\bR(\d+)", one.operands)}
        wide = one.name == "LDG.128"
        target = int(re.match(r"R(\d+)", one.operands)[1]) if wide else None
        used = registers - {target}
        waiting = [load for load in waiting if not used & load]
        if wide:
            waiting.append(set(range(target, target + 4)))
            most = max(most, len(waiting))
    return most


def widest_loop(kernel, arguments, target):
    found = compile_kernel(kernel, arguments, target)
    loops = instruction_mix(found.sass)
    return found, max(loops, key=lambda loop: (loop.names["LDG.128"], -len(loop.instructions)))


@needs_tools
@pytest.mark.parametrize(
    ("name", "addition", "additions", "target"),
    [
        ("tuned-float32", "FADD", 16, (9, 0)),
        *large(("tuned", "IADD3", 8, (9, 0)), ("tuned", "IADD3", 8, (7, 5))),
        *large(("tuned-float32", "FADD", 16, (10, 0))),
        *large(("one-word-finish", "IADD3", 8, (8, 0)), ("one-word-finish", "IADD3", 8, (9, 0))),
    ],
    ids=str,
)
def test_the_hot_loop_has_four_wide_loads_on_their_way(name, addition, additions, target):
    (variant,) = launched_variants(LADDER.find(name))
    found, loop = widest_loop(variant.kernel, variant.arguments, target)
    loads = loop.names["LDG.128"]
    assert found.spill_bytes == found.stack_bytes == 0
    # So four blocks of 256 threads fit a multiprocessor of any GPU; the last rung needs no room.
    assert found.registers <= (72 if name == "one-word-finish" else 64)
    assert loop.innermost
    assert loads % 4 == 0
    assert loads_on_their_way(loop) >= 4
    assert loop.classes["global loads"].total() == loads
    assert loop.names[addition] >= additions * loads // 4
    # Besides loads and additions: the index, the address, a comparison, a jump, some copying.
    assert len(loop.instructions) <= (4 + additions + 8) * loads // 4


# By default the loop of the last rung is looked at, which has wide loads.
@pytest.mark.large
@needs_tools
def test_wide_loads_are_wide_and_others_are_not():
    for name, wide in (("grid-stride", 0), ("wide-loads", 1), ("last-block-finish", 1)):
        (variant,) = launched_variants(LADDER.find(name))
        _, loop = widest_loop(variant.kernel, variant.arguments, (9, 0))
        assert bool(loop.names["LDG.128"]) == bool(wide)


def test_blocks_are_whole_warps():
    assert [whole_warps(threads) for threads in (32, 33, 64, 1000, 1024)] == [
        32,
        64,
        64,
        1024,
        1024,
    ]
