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

__all__ = ["Watch", "note", "overruled", "watched"]


# Equal by identity: one within another may have seen just the same.
@dataclass(slots=True, eq=False)
class Watch:
    """What is asked of every launch, and what was launched.

    Attributes
    ----------
    checks, schedule
        What launches are run with.
    counters
        Whether to count; None leaves it to the program.
    launches
        A `LaunchReport` of each; of one that faulted, up to the fault.
    kernels
        The kernels launched, each once, in the order of their first launches.
    """

    checks: Checks
    schedule: Schedule
    counters: bool | None = None
    launches: list[Any] = field(default_factory=list)
    kernels: list[Any] = field(default_factory=list)


# The innermost last. Of the process, not of a thread: programs may launch from several.
_watches: list[Watch] = []


@contextlib.contextmanager
def watched(
    *,
    checks: bool | Iterable[str],
    schedule: str = "lockstep",
    seed: int = 0,
    counters: bool | None = None,
) -> Iterator[Watch]:
    """Run every kernel with these checks, in this order, whatever the program asks for.

    Parameters
    ----------
    checks, schedule, seed, counters
        As `warpladder.simulator.simulate` takes them; without ``counters`` the program decides.

    Yields
    ------
    Watch
        What was launched so far.

    Examples
    --------
    >>> import numpy as np
    >>> from warpladder.simulator import simulate
    >>> def write_behind(values):
    ...     values[0] = 1
    >>> with watched(checks=True) as seen:
    ...     simulate(write_behind)[1, 1](np.zeros(1))
    >>> [launch.kernel for launch in seen.launches]
    ['write_behind']
    """
    watch = Watch(Checks.named(checks), Schedule.named(schedule, seed), counters)
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)


def overruled(options: Any) -> Any:
    """Return the options of a launch, with those of the watch where there is one."""
    if not _watches:
        return options
    watch = _watches[-1]
    counters = options.counters if watch.counters is None else watch.counters
    return replace(options, checks=watch.checks, schedule=watch.schedule, counters=counters)


def note(kernel: Any, report: Any) -> None:
    """Tell those who watch of a launch."""
    for watch in _watches:
        watch.launches.append(report)
        if all(known.py_func is not kernel.py_func for known in watch.kernels):
            watch.kernels.append(kernel)
