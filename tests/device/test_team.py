"""Teams of compiled workers."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, Event, Thread, get_ident
from time import monotonic

import pytest

from warpladder.device import crew
from warpladder.device.crew import in_background
from warpladder.device.environment import worker_count
from warpladder.device.team import is_aborted, new_state, report_progress, run_briefly, run_team
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
