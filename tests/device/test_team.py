"""Teams of compiled workers."""

from __future__ import annotations

from threading import Barrier, Event, get_ident
from time import monotonic

import pytest

from warpladder.device.crew import in_background
from warpladder.device.environment import worker_count
from warpladder.device.team import is_aborted, new_state, report_progress, run_briefly, run_team


def test_progress_never_goes_back() -> None:
    """A worker that was first with its task may be the last to say so."""
    state, told = new_state(), []

    def work(_: int) -> None:
        report_progress(state, 7)
        report_progress(state, 3)

    run_team(work, 1, state, told.append)
    assert told[-1] == 7


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
