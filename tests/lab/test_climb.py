"""The climb verifies, counts and times, each where it means something."""

from __future__ import annotations

import dataclasses
from itertools import count

import numpy as np
import pytest
import toy
from fakes import FakeGpu, FakeKernel, FakeSimulator

from warpladder.errors import InputError
from warpladder.lab import bench
from warpladder.lab.ceilings import Ceilings
from warpladder.lab.climb import climb
from warpladder.rung import Ladder, Work


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(bench, "_SECONDS", 0.0)


def ceilings(memory=1e12, bus=1e12, rates=None):
    """Return the ceilings of a GPU whose ceilings are known."""
    known = Ceilings(FakeGpu())
    known.memory, known.bus = memory, bus
    known.rate = lambda task, dtype: (rates or {}).get((task.unit, dtype))
    return known


def rows(device, ladder=toy.LADDER, **options):
    return list(climb(ladder, device, simulator=FakeSimulator, **options))


def sizes(row):
    return [verdict.n for verdict in row.verdicts]


def test_on_the_simulator_nothing_is_timed():
    plain, strided, neighbours = rows(FakeSimulator())
    assert [row.timing for row in (plain, strided, neighbours)] == [None] * 3
    assert [len(row.predictions) for row in (plain, strided, neighbours)] == [0, 1, 2]
    assert sizes(plain) == [0, 1, 2, 33]
    assert not any(row.faults for row in (plain, strided, neighbours))


def test_on_the_simulator_a_size_is_verified_where_it_is_asked_for():
    assert sizes(rows(FakeSimulator(), n=70, only="strided")[0]) == [0, 1, 2, 33, 70]


def test_on_a_gpu_kernels_and_the_whole_are_timed_and_verified_again():
    plain, strided, _ = rows(FakeGpu())
    assert plain.timing.kernel_seconds is None
    assert plain.timing.total_seconds > 0
    assert strided.timing.kernel_seconds == pytest.approx(2e-3)
    assert len(strided.timing.totals) == len(strided.timing.kernels) == 5
    assert strided.rate == pytest.approx(1000 / 2e-3)
    assert sizes(strided) == [0, 1, 2, 33, 1000, 1000]
    assert [result.ok for result in strided.predictions] == [True]


def test_timing_goes_on_for_its_time(monkeypatch):
    clock = count(0.0, 0.02)
    monkeypatch.setattr(bench, "_SECONDS", 0.3)
    monkeypatch.setattr(bench, "perf_counter", lambda: next(clock))
    assert len(rows(FakeGpu(), only="strided")[0].timing.totals) in {15, 16}


def test_what_takes_hardly_any_time_is_timed_a_hundred_times(monkeypatch):
    monkeypatch.setattr(bench, "_SECONDS", 0.3)
    clock = count(0.0, 1e-6)
    monkeypatch.setattr(bench, "perf_counter", lambda: next(clock))
    assert len(rows(None)[0].timing.totals) == 100


def test_the_median_is_taken(monkeypatch):
    ticks = iter(np.cumsum([0, 0.1, 0, 0.9, 0, 0.2, 0, 0.3, 0, 0.05]).tolist())
    monkeypatch.setattr(bench, "perf_counter", lambda: next(ticks))
    assert rows(None)[0].timing.total_seconds == pytest.approx(0.2)


def test_what_takes_seconds_is_timed_three_times(monkeypatch):
    ticks = iter(np.cumsum([0, 2, 0, 9, 0, 3]).tolist())
    monkeypatch.setattr(bench, "perf_counter", lambda: next(ticks))
    assert rows(None)[0].timing.totals == (2, 9, 3)


def test_without_a_size_asked_for_a_rung_is_timed_at_its_largest():
    small = dataclasses.replace(toy.NEIGHBOURS, max_n=50, predicts=())
    (row,) = rows(FakeGpu(), Ladder("l", "L", (small,)))
    assert (row.n, row.skipped) == (50, "")
    assert row.timing is not None


def test_a_fault_that_shows_after_timing_only():
    calls = count()

    def wears_out(_device, problem):
        return problem.x * np.float32(2 + (next(calls) >= 9))

    ladder = Ladder("l", "L", (toy.rung("worn", wears_out, on="cpu"),))
    (row,) = rows(None, ladder)
    assert row.timing is not None
    assert row.faults[0].startswith("is wrong at n = 1000; the first: result[0]: expected")


def test_a_wrong_rung_is_not_timed():
    liar, off = rows(FakeGpu(), toy.BROKEN)
    assert liar.faults == ["predicted warp_instructions == 1,234,567 at n = 33, counted 20"]
    assert off.timing is None
    assert off.faults[0].startswith(
        "is wrong at n = 1, 2, 33, 1000; the first: result[0]: expected"
    )


def test_a_size_beyond_the_largest_is_skipped_with_the_reason():
    row = rows(FakeGpu(), n=5000, only="neighbours")[0]
    assert row.skipped == "takes up to n = 2000: one block"
    assert row.timing is None
    assert sizes(row) == [0, 1, 2, 33]
    assert not row.faults


def test_without_a_device_the_rungs_on_the_cpu_are_climbed():
    assert [row.rung.name for row in rows(None)] == ["plain"]
    with pytest.raises(InputError, match="strided runs kernels"):
        rows(None, only="strided")
    with pytest.raises(InputError, match="no rung of broken runs on the CPU"):
        rows(None, toy.BROKEN)


def test_percent_of_what_was_measured():
    assert rows(FakeGpu(), only="strided")[0].percent_of_limit is None
    # 1000 numbers there and back in 2 ms.
    half = rows(FakeGpu(), only="strided", ceilings=ceilings(8000 / 2e-3 / 0.5))[0]
    assert half.percent_of_limit == pytest.approx(50)
    assert half.limit.by == "dram"
    assert not half.faults
    (fault,) = rows(FakeGpu(), only="strided", ceilings=ceilings(8000 / 2e-3 / 1.5))[0].faults
    assert fault.startswith("150.0 % of what dram allows")


def test_a_rung_on_the_cpu_has_no_limit():
    assert rows(FakeGpu(), only="plain", ceilings=ceilings())[0].percent_of_limit is None


def test_the_limit_is_what_takes_longest():
    task = dataclasses.replace(toy.TASK, work=lambda problem: Work(problem.n, 8, "int32"))
    ladder = Ladder("l", "L", (dataclasses.replace(toy.STRIDED, task=task, predicts=()),))
    rate = 1000 / 2e-3 / 0.25
    (row,) = rows(FakeGpu(), ladder, ceilings=ceilings(rates={("additions", "int32"): rate}))
    assert row.limit.by == "issue"
    assert row.percent_of_limit == pytest.approx(25)
    fast = {("additions", "int32"): 1e18}
    assert rows(FakeGpu(), ladder, ceilings=ceilings(rates=fast))[0].limit == ("dram", 8 / 1e12)


def test_what_the_bus_bounds_is_held_against_it_with_its_copies():
    task = dataclasses.replace(toy.TASK, ceiling="pcie")
    ladder = Ladder("l", "L", (dataclasses.replace(toy.STRIDED, task=task, predicts=()),))
    # Two copies of 5 ms and a kernel of 2.
    (row,) = rows(FakeGpu(), ladder, ceilings=ceilings(memory=1, bus=8000 / 3e-3))
    assert row.limit == ("pcie", pytest.approx(3e-3))
    assert row.percent_of_limit == pytest.approx(25)


def test_many_operations_that_nobody_measures_have_no_limit():
    task = dataclasses.replace(toy.TASK, work=lambda problem: Work(9 * problem.n, 8 * problem.n))
    ladder = Ladder("l", "L", (dataclasses.replace(toy.STRIDED, task=task, predicts=()),))
    (row,) = rows(FakeGpu(), ladder, ceilings=ceilings())
    assert row.limit is None
    assert row.timing is not None


def test_what_is_counted_is_counted_once_for_all_rungs_and_without_checks(monkeypatch):
    made = []

    def simulator(**options):
        made.append(options)
        return FakeSimulator(**options)

    list(climb(toy.LADDER, FakeGpu(), simulator=simulator))
    assert made == [{"checks": False}] * 2


def test_nothing_is_counted_without_a_simulator():
    found = list(climb(toy.LADDER, FakeGpu(), simulator=None))
    assert not any(row.predictions or row.faults for row in found)
    assert all(row.timing for row in found)


def test_a_kernel_that_faults_is_a_fault_of_its_rung():
    faulty = FakeKernel(toy.double, fault="memcheck")
    ladder = Ladder("l", "L", (toy.rung("out", toy.running(faulty)),))
    (fault,) = rows(FakeSimulator(), ladder)[0].faults
    assert fault.startswith("is wrong at n = 0, 1, 2, 33; the first: KernelFaultError: memcheck:")
