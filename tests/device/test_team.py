"""Teams of compiled workers."""

from __future__ import annotations

from warpladder.device.team import new_state, report_progress, run_team


def test_progress_never_goes_back() -> None:
    """A worker that was first with its task may be the last to say so."""
    state, told = new_state(), []

    def work(_: int) -> None:
        report_progress(state, 7)
        report_progress(state, 3)

    run_team(work, 1, state, told.append)
    assert told[-1] == 7
