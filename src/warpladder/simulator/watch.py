"""Every launch of a program seen from outside, under other checks than those it asks for.

A program starts its kernels in its own way: by ``simulate``, on a `SimulatedDevice`, or through
``numba.cuda`` within `simulated_cuda`. All of these end in one place, which asks here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from warpladder.simulator.checks.options import Checks
from warpladder.simulator.execution.schedule import Schedule

__all__ = ["note", "overruled", "watched"]


@dataclass(slots=True)
class _Watch:
    checks: Checks
    schedule: Schedule
    launches: list[Any] = field(default_factory=list)


# The innermost last. Of the process, not of a thread: programs may launch from several.
_watches: list[_Watch] = []


@contextlib.contextmanager
def watched(
    *, checks: bool | Iterable[str], schedule: str = "lockstep", seed: int = 0
) -> Iterator[list[Any]]:
    """Run every kernel with these checks, in this order, whatever the program asks for.

    Parameters
    ----------
    checks, schedule, seed
        As `warpladder.simulator.simulate` takes them.

    Yields
    ------
    list of LaunchReport
        What was launched so far; of a launch that faulted, up to the fault.

    Examples
    --------
    >>> import numpy as np
    >>> from warpladder.simulator import simulate
    >>> def write_behind(values):
    ...     values[0] = 1
    >>> with watched(checks=True) as launches:
    ...     simulate(write_behind)[1, 1](np.zeros(1))
    >>> [launch.kernel for launch in launches]
    ['write_behind']
    """
    watch = _Watch(Checks.named(checks), Schedule.named(schedule, seed))
    _watches.append(watch)
    try:
        yield watch.launches
    finally:
        _watches.remove(watch)


def overruled(options: Any) -> Any:
    """Return the options of a launch, with those of the watch where there is one."""
    if not _watches:
        return options
    return replace(options, checks=_watches[-1].checks, schedule=_watches[-1].schedule)


def note(report: Any) -> None:
    """Tell those who watch of a launch."""
    for watch in _watches:
        watch.launches.append(report)
