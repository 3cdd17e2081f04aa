"""A right rung passes; every way of being wrong is found, and said."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import toy
from fakes import FakeGpu, FakeKernel, FakeSimulator

from warpladder.errors import InputError, LaunchError
from warpladder.lab.verify import check_predictions, check_wrong, count, verify
from warpladder.rung import AWKWARD_SIZES, WrongRung

DEVICES = (FakeGpu, FakeSimulator)


def host(function, **facts):
    return toy.rung("host", lambda _device, problem: function(problem), on="cpu", **facts)


@pytest.mark.parametrize("make_device", DEVICES)
@pytest.mark.parametrize("rung", toy.LADDER.rungs, ids=lambda rung: rung.name)
def test_a_right_rung_passes_at_every_size(make_device, rung):
    verdicts = verify(rung, make_device())
    assert [verdict.n for verdict in verdicts] == [0, 1, 2, 33]
    assert all(verdict.ok for verdict in verdicts)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda p: p.x * np.float32(3), "result[0]: expected"),
        (lambda p: np.append(2 * p.x[:-1], np.float32(np.nan)), "result[1]: expected"),
        (lambda p: 2 * p.x.astype(np.float64), "expected dtype float32, found float64"),
        (lambda p: 2 * p.x[:1], "expected shape (2,), found (1,)"),
        (lambda _: None, "of type NoneType, which holds no array"),
        (lambda p: np.multiply(p.x, 2, out=p.x), "it changed its input: problem.x[0]: expected"),
    ],
)
def test_a_wrong_answer_is_said(function, said):
    (verdict,) = verify(host(function), None, [2])
    assert not verdict.ok
    assert said in verdict.fault


def test_an_answer_with_which_nothing_can_be_compared_is_refused():
    pairs = dataclasses.replace(toy.TASK, oracle=lambda problem: set(problem.x.tolist()))
    with pytest.raises(InputError, match="of the oracle's answer result of type set cannot be"):
        verify(host(lambda _: {42}, task=pairs), None, [2])


def test_a_clobbered_input_does_not_reach_the_oracle():
    def zero_everything(problem):
        problem.x[...] = 0
        return problem.x

    assert "changed its input" in verify(host(zero_everything), None, [2])[0].fault


@pytest.mark.parametrize("make_device", DEVICES)
def test_a_result_left_unwritten_is_poison(make_device):
    zeros = dataclasses.replace(toy.TASK, oracle=lambda problem: np.zeros_like(problem.x))
    nothing = toy.running(FakeKernel(lambda _y, _x: None))
    (verdict,) = verify(toy.rung("lazy", nothing, task=zeros), make_device(), [4])
    assert "found nan (memory that was never written holds nan too); 4 of 4" in verdict.fault


def test_a_simulated_device_fills_its_memory_itself():
    class Marking(FakeSimulator):
        def empty(self, shape, dtype):
            return np.full(shape, 42, dtype)

    nothing = toy.running(FakeKernel(lambda _y, _x: None))
    assert "found 42.0" in verify(toy.rung("lazy", nothing), Marking(), [4])[0].fault


@pytest.mark.parametrize("make_device", DEVICES)
def test_pinned_memory_is_poisoned_too(make_device):
    def run(device, problem):
        return device.pinned(problem.n, np.int32)

    zeros = dataclasses.replace(toy.TASK, oracle=lambda problem: np.zeros(problem.n, np.int32))
    (verdict,) = verify(toy.rung("pinned", run, task=zeros), make_device(), [1])
    assert "this place was never written" in verdict.fault


def test_an_error_of_the_device_is_a_fault_and_others_go_on():
    def run(device, problem):
        if problem.n == 1:
            raise LaunchError("a block of 4096 threads")
        return toy.running(toy.NEAR)(device, problem)

    faults = [verdict.fault for verdict in verify(toy.rung("big", run), FakeGpu(), [1, 2])]
    assert faults == ["LaunchError: a block of 4096 threads", ""]


def test_the_seed_draws_another_problem():
    seen = []
    verify(host(lambda p: seen.append(p.x[0])), None, [1], seed=1)
    verify(host(lambda p: seen.append(p.x[0])), None, [1], seed=2)
    assert seen[0] != seen[1]


def test_an_inexact_rung_may_be_off_by_its_tolerance():
    def is_right(*tolerance):
        off = host(lambda p: 2 * p.x + np.float32(1e-3), exact=False, tolerance=lambda _: tolerance)
        return verify(off, None, [3])[0].ok

    assert is_right(0.0, 1e-2)
    assert is_right(1e-2, 0.0)
    assert not is_right(1e-5, 0.0)
    assert not is_right(0.0, 0.0)


@pytest.mark.parametrize("stated", [(np.inf, 0.0), (0.0, np.nan), (-1.0, 0.0), None])
def test_an_inexact_rung_must_state_a_tolerance(stated):
    tolerance = stated and (lambda _: stated)
    with pytest.raises(InputError, match="must state a tolerance"):
        verify(host(lambda p: p.x, exact=False, tolerance=tolerance), None, [3])


def test_sizes_beyond_the_largest_are_left_out_or_refused():
    small = dataclasses.replace(toy.NEIGHBOURS, max_n=2)
    assert [verdict.n for verdict in verify(small, FakeGpu())] == [0, 1, 2]
    with pytest.raises(InputError, match=r"^n=3: neighbours takes up to 2: one block"):
        verify(small, FakeGpu(), [1, 3])
    with pytest.raises(InputError, match="no size"):
        verify(small, FakeGpu(), [])


def test_a_task_may_name_fewer_sizes_for_the_simulator():
    few = dataclasses.replace(toy.TASK, simulated=(0, 2))
    rung = dataclasses.replace(toy.NEIGHBOURS, task=few)
    assert [verdict.n for verdict in verify(rung, FakeSimulator())] == [0, 2]
    assert [verdict.n for verdict in verify(rung, FakeGpu())] == [0, 1, 2, 33]
    assert [verdict.n for verdict in verify(rung, FakeSimulator(), [1])] == [1]


@pytest.mark.parametrize("threads", [32, 64, 128, 256])
def test_a_grid_that_lacks_its_last_block_is_found_at_the_usual_sizes(threads):
    def first_blocks(problem):
        there = 2 * problem.x
        there[max(problem.n // threads, 1) * threads :] = 0
        return there

    usual = dataclasses.replace(toy.TASK, sizes=AWKWARD_SIZES)
    assert not all(verdict.ok for verdict in verify(host(first_blocks, task=usual), None))


def test_kernels_need_a_device():
    with pytest.raises(InputError, match="needs a device"):
        verify(toy.NEIGHBOURS, None, [1])


def test_what_was_counted_before_is_not_counted_again():
    device = FakeSimulator()
    assert [count(toy.STRIDED, device, 33).global_load_sectors for _ in range(2)] == [320, 320]


def test_predictions_that_hold():
    ratio, value = check_predictions(toy.NEIGHBOURS, toy.LADDER, FakeSimulator)
    assert (ratio.ok, ratio.counted, ratio.base, ratio.measured) == (True, 4, 32, 0.125)
    assert (value.ok, value.counted, value.base, value.measured) == (True, 4, None, 4)


def test_a_rung_is_run_once_for_predictions_of_one_size():
    FakeSimulator.made = 0
    check_predictions(toy.NEIGHBOURS, toy.LADDER, FakeSimulator)
    assert FakeSimulator.made == 2


def test_what_was_counted_for_one_rung_serves_the_next():
    FakeSimulator.made = 0
    seen = {}
    check_predictions(toy.STRIDED, toy.LADDER, FakeSimulator, seen)
    check_predictions(toy.NEIGHBOURS, toy.LADDER, FakeSimulator, seen)
    assert FakeSimulator.made == 2
    assert sorted(seen) == [("neighbours", 33), ("strided", 33)]


def test_a_task_may_say_what_of_a_result_is_compared():
    task = dataclasses.replace(toy.TASK, compared=lambda problem, found: found - problem.x)
    thrice = host(lambda p: 3 * p.x, task=task, exact=False, tolerance=lambda _: (1e-6, 0.0))
    assert verify(thrice, None, [33])[0].ok
    assert not verify(host(lambda p: 2 * p.x, task=task), None, [33])[0].ok


@pytest.mark.parametrize(
    ("claim", "measured"),
    [
        (toy.claim(7), 4),
        (toy.claim(4, "<"), 4),
        (toy.claim(0.25, than="strided"), 0.125),
        (toy.claim(1, counter="barriers", than="strided"), np.nan),
    ],
)
def test_a_prediction_that_fails(claim, measured):
    rung = dataclasses.replace(toy.NEIGHBOURS, predicts=(claim,))
    (result,) = check_predictions(rung, toy.LADDER, FakeSimulator)
    assert not result.ok
    assert result.measured == pytest.approx(measured, nan_ok=True)


@pytest.mark.parametrize("facts", [{"counter": "sectors"}, {"than": "nobody"}])
def test_a_prediction_about_nothing(facts):
    rung = dataclasses.replace(toy.NEIGHBOURS, predicts=(toy.claim(4, **facts),))
    with pytest.raises(InputError, match=r"no such (counter|rung)"):
        check_predictions(rung, toy.LADDER, FakeSimulator)


def test_a_kernel_that_faults_while_it_is_counted():
    rung = dataclasses.replace(toy.RACE.rung, predicts=(toy.claim(4),))
    (result,) = check_predictions(rung, toy.LADDER, FakeSimulator)
    assert not result.ok
    assert result.counted is None
    assert result.fault.startswith("KernelFaultError: racecheck: double")


def test_a_wrong_rung_is_caught():
    result = check_wrong(toy.RACE, FakeSimulator)
    assert (result.ok, result.caught, result.visible) == (True, True, {"warps-reverse": True})
    assert result.fault == "racecheck: double does what it must not"


@pytest.mark.parametrize(
    ("changes", "caught", "visible"),
    [
        ({"caught_by": "memcheck"}, False, {"warps-reverse": True}),
        ({"visible_under": ("lockstep",)}, True, {"lockstep": False}),
        ({"rung": toy.NEIGHBOURS}, False, {"warps-reverse": False}),
    ],
)
def test_a_wrong_rung_that_is_not_caught(changes, caught, visible):
    result = check_wrong(dataclasses.replace(toy.RACE, **changes), FakeSimulator)
    assert not result.ok
    assert (result.caught, result.visible) == (caught, visible)


def test_where_only_the_host_is_wrong_the_answer_tells():
    right = toy.NEIGHBOURS
    off_by_one = toy.rung("off", lambda device, problem: right.run(device, problem) + 1)
    result = check_wrong(WrongRung(off_by_one, "verification", 33, ("lockstep",)), FakeSimulator)
    assert result.ok
    assert "expected" in result.fault
    assert not check_wrong(WrongRung(right, "verification", 33), FakeSimulator).caught
    # What a check stops has more wrong with it than its answer.
    assert not check_wrong(
        dataclasses.replace(toy.RACE, caught_by="verification"), FakeSimulator
    ).caught


def test_a_wrong_rung_counts_as_visible_where_even_unchecked_it_stops():
    def run(device, problem):
        if device.checks:
            return toy.RACE.rung.run(device, problem)
        raise LaunchError("it never ends")

    wrong = WrongRung(toy.rung("hang", run), "racecheck", 33, ("lockstep",))
    assert check_wrong(wrong, FakeSimulator).ok
