"""Times: in turn, repeated, as medians with their spread."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from statistics import quantiles
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

__all__ = ["Spread", "in_turn", "kernel_seconds", "unsteady", "wall_seconds"]

Name = TypeVar("Name", bound=Hashable)

_ROUNDS = 5
_SECONDS_EACH = 0.2
# A quarter of the runs took at least so many times as long as another quarter.
_UNSTEADY = 1.5


class Spread(NamedTuple):
    """Seconds: their quartiles, the median in the middle, and how many were taken."""

    lower: float
    median: float
    upper: float
    rounds: int


def in_turn(tasks: Mapping[Name, Callable[[], float]]) -> dict[Name, Spread]:
    """Time each task once per round, so that a change of the machine's mood hits all.

    At least five rounds, and more until a task has taken 0.2 seconds on average.

    Parameters
    ----------
    tasks
        By name; each returns its own seconds. Nothing may be left to compile or to load.

    Examples
    --------
    >>> in_turn({"always": lambda: 0.5})
    {'always': Spread(lower=0.5, median=0.5, upper=0.5, rounds=5)}
    """
    seconds: dict[Name, list[float]] = {name: [] for name in tasks}
    rounds = 0
    while rounds < _ROUNDS or sum(map(sum, seconds.values())) < _SECONDS_EACH * len(tasks):
        for name, task in tasks.items():
            seconds[name].append(task())
        rounds += 1
    spreads = {}
    for name, taken in seconds.items():
        lower, median, upper = quantiles(taken, n=4, method="inclusive")
        spreads[name] = Spread(lower, median, upper, rounds)
    return spreads


def unsteady(spreads: Mapping[str, Spread]) -> tuple[str, ...]:
    """Return the sentence that names what was timed unsteadily; none where nothing was.

    Examples
    --------
    >>> unsteady({"a": Spread(1.0, 1.1, 1.2, 5), "b": Spread(1.0, 1.1, 1.8, 5)})
    ('Unsteady, half of the runs apart by more than 1.5 times: b. Take their medians with care.',)
    """
    names = [name for name, spread in spreads.items() if spread.upper > _UNSTEADY * spread.lower]
    if not names:
        return ()
    apart = f"Unsteady, half of the runs apart by more than {_UNSTEADY:g} times"
    return (f"{apart}: {', '.join(names)}. Take their medians with care.",)


def wall_seconds(call: Callable[[], Any]) -> float:
    """Return how long a call takes on the wall clock."""
    began = perf_counter()
    call()
    return perf_counter() - began


def kernel_seconds(gpu: Any, call: Callable[..., Any], *arguments: Any) -> float:
    """Return how long the kernels of a call take on a device that adds up their time."""
    before = gpu.kernel_ms
    call(*arguments)
    gpu.synchronize()
    return float(gpu.kernel_ms - before) / 1e3
