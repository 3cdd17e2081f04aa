"""Teams of compiled workers."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Barrier, Event, Thread, get_ident
from time import monotonic
from typing import Any

import numpy as np
import pytest
from numba import njit

from late_workers import members_of, pass_barrier
from warpladder.device import crew, team
from warpladder.device.crew import in_background
from warpladder.device.environment import worker_count
from warpladder.device.team import is_aborted, new_state, report_progress, run_briefly, run_team
from warpladder.device.words import fetch_add
from warpladder.errors import DeviceError


def test_progress_never_goes_back() -> None:
    """A worker that was first with its task may be the last to say so."""
    state, told = new_state(), []

    def work(_: int) -> None:
        report_progress(state, 7)
        report_progress(state, 3)

    run_team(work, 1, state, told.append)
    assert told[-1] == 7


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> ThreadPoolExecutor:
    """Return the crew of a process for which the system starts one thread and no other."""
    start, started = Thread.start, []

    def start_first(thread: Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(Thread, "start", start_first)
    pool = ThreadPoolExecutor(2)
    monkeypatch.setattr(crew, "_crew", lambda _: pool)
    return pool


def test_what_is_shared_is_done_once_where_threads_are_too_few(
    one_thread: ThreadPoolExecutor,
) -> None:
    last, done = Event(), []

    def task(number: int) -> None:
        if number == 3:
            last.set()
        assert number or last.wait(20)
        done.append(number)
        if number == 2:
            raise KeyError(number)

    with pytest.raises(KeyError, match="2"):
        crew.each(task, 4)
    one_thread.shutdown()
    assert sorted(done) == [0, 1, 2, 3]


def test_what_failed_keeps_nothing_that_it_was_given() -> None:
    def fail(given: Event) -> None:
        raise KeyError(given)

    given = Event()
    kept = weakref.ref(given)
    gc.disable()
    try:
        with suppress(KeyError):
            in_background(fail, given).result()
        del given
        until = monotonic() + 5
        while kept() is not None and monotonic() < until:
            # Another call takes the place of the last one that a thread remembers.
            in_background(int).result()
    finally:
        gc.enable()
    assert kept() is None


def test_a_team_for_which_threads_are_too_few(one_thread: ThreadPoolExecutor) -> None:
    begun = Event()
    one_thread.submit(begun.wait, 20)
    with pytest.raises(DeviceError, match=r"no thread for each of 2 workers: .*NUMBA_NUM_THREADS"):
        run_team(lambda _: None, 2, new_state())
    begun.set()
    one_thread.shutdown()


@njit(nogil=True)
def entered(state: Any, worker: Any) -> Any:
    return team.enter(state, worker)


class TestMeeting:
    """Members, and those who become it."""

    def test_the_first_waits_for_nobody_who_has_not_come(self) -> None:
        state = new_state()
        assert entered(state, 0) == 0
        for _ in range(3):
            assert pass_barrier(state)
        assert entered(state, 1) == 3
        assert members_of(state) == 2

    def test_who_came_late_is_waited_for(self) -> None:
        state = new_state()
        assert pass_barrier(state)
        assert entered(state, 1) == 1
        state[team._TASK] = 5
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(pass_barrier, state)
            assert not wait([waiting], 0.05).done
            assert pass_barrier(state)
            assert waiting.result(20)
        # Another phase, with tasks from 0 on and the same members.
        assert state[team._TASK] == 0
        assert entered(state, 2) == 2
        assert members_of(state) == 3

    def test_nobody_comes_between_two_phases(self) -> None:
        state = new_state()
        # All have arrived, and the last is about to open phase 8.
        state[team._MEETING] = 7 << team._PHASE | 2 << team._MEMBER | 2
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(entered, state, 2)
            assert not wait([coming], 0.05).done
            state[team._MEETING] = 8 << team._PHASE | 2 << team._MEMBER
            assert coming.result(20) == 8
        assert members_of(state) == 3

    def test_no_one_waits_where_the_caller_gave_up(self) -> None:
        state = new_state()
        state[team._MEETING] += 1 << team._MEMBER
        state[team._ABORT] = 1
        assert not pass_barrier(state)
        assert entered(state, 1) == -1

    @pytest.mark.large
    def test_many_threads_meet_thousands_of_times(self) -> None:
        """Every phase has its own tasks, each of them taken once, whoever comes when."""
        state, phases, tasks = new_state(), 3000, 4
        taken = np.zeros((phases, tasks), np.int64)
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(take_tasks, state, worker, taken) for worker in range(4)]:
                done.result(60)
        assert (taken == 1).all()


@njit(nogil=True)
def take_tasks(state: Any, worker: Any, taken: Any) -> None:
    phases, tasks = taken.shape
    for phase in range(team.enter(state, worker), phases):
        task = team.next_task(state)
        while task < tasks:
            fetch_add(taken.reshape(-1), phase * tasks + task, 1)
            task = team.next_task(state)
        team.barrier(state)


class TestBriefly:
    """A team of which the caller is one."""

    def test_it_is_the_first_of_all_workers(self) -> None:
        together, seen = Barrier(worker_count(), timeout=20), {}

        def work(number: int) -> None:
            seen[number] = get_ident()
            together.wait()

        run_briefly(work, worker_count(), new_state())
        assert sorted(seen) == list(range(worker_count()))
        assert seen[0] == get_ident()

    def test_who_has_not_begun_is_not_waited_for(self) -> None:
        done, began = Event(), []
        busy = [in_background(done.wait, 20) for _ in range(worker_count())]
        run_briefly(began.append, 3, new_state())
        assert not any(each.done() for each in busy)
        done.set()
        for each in busy:
            each.result()
        # Whatever was put off would have begun before this.
        in_background(int).result()
        assert began == [0]

    @pytest.mark.parametrize("failing", [0, 1])
    def test_a_failure_passes_after_all_have_left(self, failing: int) -> None:
        state, begun, left = new_state(), Barrier(2, timeout=20), []

        def work(number: int) -> None:
            begun.wait()
            if number == failing:
                raise KeyError(number)
            last = monotonic() + 20
            while number and not is_aborted(state) and monotonic() < last:
                pass
            left.append((number, is_aborted(state)))

        with pytest.raises(KeyError):
            run_briefly(work, 2, state)
        assert left == [(1 - failing, failing == 0)]
