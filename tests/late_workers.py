"""A team whose second worker comes in a phase that the test names, to be put in place of others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from time import monotonic
from typing import Any

from numba import njit
from numpy.typing import NDArray

from warpladder.device import team

_PATIENCE_SECONDS = 60


@njit(nogil=True)
def pass_barrier(state: Any) -> Any:
    """Meet the members of a team, as one of them."""
    return team.barrier(state)


def members_of(state: NDArray[Any]) -> int:
    """Return how many members a team has."""
    return int(state[team._MEETING] >> team._MEMBER) & 0xFFFF


def come_in_phase(phase: int, phases: int) -> Callable[..., None]:
    """Return what runs worker 0 of a team, and worker 1 from that phase of so many on.

    A third member, which does no work, keeps each phase from ending before it may.
    """

    def run(worker: Callable[[int], object], _workers: int, state: NDArray[Any], *_: Any) -> None:
        def result_of(call: Future[Any]) -> Any:
            if wait([call], _PATIENCE_SECONDS).not_done:
                # There are fewer phases, or more: nobody else comes to the barrier.
                state[team._ABORT] = 1
            return call.result()

        state[team._MEETING] += 1 << team._MEMBER
        with ThreadPoolExecutor(3) as pool:
            at_work = [pool.submit(worker, 0)]
            for here in range(phases):
                if here == phase:
                    at_work.append(pool.submit(worker, 1))
                    until = monotonic() + _PATIENCE_SECONDS
                    while members_of(state) < 3 and monotonic() < until:
                        pass
                assert result_of(pool.submit(pass_barrier, state))
            if phase >= phases:
                at_work.append(pool.submit(worker, 1))
            for call in at_work:
                result_of(call)
        assert members_of(state) == 3
        assert int(state[team._MEETING] >> team._PHASE) == phases

    return run
