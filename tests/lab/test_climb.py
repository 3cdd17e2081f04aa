"""The climb verifies, counts and times, each where it means something."""

from __future__ import annotations

import dataclasses
from itertools import count

import numpy as np
import pytest
import toy
from fakes import FakeGpu, FakeKernel, FakeSimulator

from warpladder.errors import InputError
from warpladder.lab import climb as climb_module
from warpladder.lab.climb import climb
from warpladder.lab.rung import Ladder


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(climb_module, "_SECONDS", 0.0)


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
    assert strided.timing.repetitions == 5
    assert strided.rate == pytest.approx(1000 / 2e-3)
    assert sizes(strided) == [0, 1, 2, 33, 1000, 1000]
    assert [result.ok for result in strided.predictions] == [True]


def test_timing_goes_on_for_its_time(monkeypatch):
    clock = count(0.0, 0.02)
    monkeypatch.setattr(climb_module, "_SECONDS", 0.3)
    monkeypatch.setattr(climb_module, "perf_counter", lambda: next(clock))
    assert rows(FakeGpu(), only="strided")[0].timing.repetitions in {15, 16}


def test_the_median_is_taken(monkeypatch):
    ticks = iter(np.cumsum([0, 1, 0, 9, 0, 2, 0, 3, 0, 0.5]).tolist())
    monkeypatch.setattr(climb_module, "perf_counter", lambda: next(ticks))
    assert rows(None)[0].timing.total_seconds == 2


def test_a_fault_that_shows_after_timing_only():
    calls = count()

    def wears_out(_device, problem):
        return problem.x * np.float32(2 + (next(calls) >= 10))

    ladder = Ladder("l", "L", (toy.rung("worn", wears_out, on="cpu"),))
    (row,) = rows(None, ladder)
    assert row.timing is not None
    assert row.faults[0].startswith("is wrong at n = 1000; the first: result[0]: expected")


def test_a_wrong_rung_is_not_timed():
    liar, off = rows(FakeGpu(), toy.BROKEN)
    assert liar.faults == ["predicted global_load_sectors_per_request == 7 at n = 33, counted 4"]
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
    device = FakeGpu()
    assert rows(device, only="strided")[0].percent_of_bound is None
    assert rows(device, only="strided", ceilings={"issue": 1.0})[0].percent_of_bound is None
    half = rows(device, only="strided", ceilings={"dram": 8000 / 2e-3 / 0.5})[0]
    assert half.percent_of_bound == pytest.approx(50)
    assert not half.faults
    (fault,) = rows(device, only="strided", ceilings={"dram": 8000 / 2e-3 / 1.5})[0].faults
    assert fault.startswith("150 % of what dram allows")


@pytest.mark.parametrize(("by", "amount"), [("issue", 1000), ("pcie", 8000)])
def test_the_bound_says_what_is_compared(by, amount):
    bound = dataclasses.replace(toy.STRIDED.bound, by=by)
    ladder = Ladder("l", "L", (dataclasses.replace(toy.STRIDED, bound=bound, predicts=()),))
    row = rows(FakeGpu(), ladder, ceilings={by: 1e12})[0]
    seconds = row.timing.total_seconds if by == "pcie" else row.timing.kernel_seconds
    assert row.percent_of_bound == pytest.approx(100 * amount / seconds / 1e12)


def test_a_kernel_that_faults_is_a_fault_of_its_rung():
    faulty = FakeKernel(toy.double, fault="memcheck")
    ladder = Ladder("l", "L", (toy.rung("out", toy.running(faulty)),))
    (fault,) = rows(FakeSimulator(), ladder)[0].faults
    assert fault.startswith("is wrong at n = 0, 1, 2, 33; the first: KernelFaultError: memcheck:")
