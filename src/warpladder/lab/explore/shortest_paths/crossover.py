"""The size from which on a GPU is worth it.

Three ways to the same distances: three loops on one core, the library's engine for all cores and
the vector unit, and the library's engine for GPUs with the matrix sent there and the result fetched
back. Each has a fixed cost and a rate. Where two curves cross, the one with the larger fixed cost
and the better rate begins to win.

Expect: the loops start in no time and relax a few billion times a second at the best. A call of the
library checks its input and looks at its options, some 100 microseconds: it overtakes the loops
where those need as long, which is at n of 50 to 100. A GPU adds launches and transfers, and has to
overtake an engine that is tens of times as fast as the loops: some hundred vertices, more of them
the more cores the CPU has.

Source: HB exploration 5; HB 2.3
"""

from __future__ import annotations

from itertools import combinations
from math import exp, log
from typing import NamedTuple

from warpladder.lab.explore.exploration import Column, Exploration, Findings, Setting, Table
from warpladder.lab.explore.shortest_paths.methods import (
    GPU,
    Times,
    time_methods,
    times_panel,
    times_table,
)

__all__ = ["EXPLORATION", "Crossing", "find_crossing"]


class Crossing(NamedTuple):
    """From where on one method is faster than another.

    Attributes
    ----------
    at
        The size, interpolated; None where no two measured sizes have the crossing between them.
    below, above
        The measured sizes around it: the last at which it is not faster, the first at which it is.
        None where there is no such size.
    """

    at: float | None
    below: int | None
    above: int | None


def find_crossing(slow: dict[int, float], fast: dict[int, float]) -> Crossing:
    """Return from which size on ``fast`` stays below ``slow``.

    Between two measured sizes the ratio of the times is taken to follow a power of n; outside of
    them nothing is said.

    Parameters
    ----------
    slow, fast
        Seconds by size; the sizes that both have count.

    Examples
    --------
    >>> find_crossing({10: 1.0, 40: 16.0}, {10: 4.0, 40: 4.0})
    Crossing(at=20.0, below=10, above=40)
    >>> find_crossing({10: 1.0, 40: 16.0}, {10: 0.5, 40: 4.0})
    Crossing(at=None, below=None, above=10)
    """
    sizes = sorted(slow.keys() & fast.keys())
    ratios = [log(fast[n] / slow[n]) for n in sizes]
    behind = [place for place, ratio in enumerate(ratios) if ratio >= 0]
    if not behind:
        return Crossing(None, None, sizes[0] if sizes else None)
    last = behind[-1]
    if last == len(sizes) - 1:
        return Crossing(None, sizes[last], None)
    below, above = sizes[last], sizes[last + 1]
    part = ratios[last] / (ratios[last] - ratios[last + 1])
    at = exp(log(below) + part * (log(above) - log(below)))
    return Crossing(round(at, 6), below, above)


def _run(setting: Setting) -> Findings:
    times, remarks = time_methods(setting)
    medians = {
        name: {n: spread.median for n, spread in known.items()} for name, known in times.items()
    }
    found = {
        (slow, fast): find_crossing(medians[slow], medians[fast])
        for slow, fast in combinations(times, 2)
    }
    crossings = Table(
        "from where on it is faster, interpolated between measured sizes",
        (
            Column("fast", "method", "text"),
            Column("slow", "than", "text"),
            Column("at", "n"),
            Column("below", "not yet at n", "count"),
            Column("above", "already at n", "count"),
        ),
        tuple(
            {"fast": fast, "slow": slow, **crossing._asdict()}
            for (slow, fast), crossing in found.items()
        ),
    )
    return Findings(
        (times_table(times, setting), crossings),
        _answer(times, found),
        (times_panel(times, setting),),
        remarks,
    )


def _answer(times: Times, found: dict[tuple[str, str], Crossing]) -> tuple[str, ...]:
    said: list[str] = []
    for (slow, fast), crossing in found.items():
        said.append(f"{fast} against {slow}: {_sentence(crossing)}.")
    if GPU not in times:
        said.append(
            "When the GPU is worth it cannot be said on this machine, and nothing is guessed."
        )
    return tuple(said)


def _sentence(crossing: Crossing) -> str:
    at, below, above = crossing
    if at is not None:
        return f"faster from n of about {at:.0f} on (not at {below}, but at {above})"
    if above is not None:
        return f"faster at every size measured, from n = {above} on; where it begins lies below"
    if below is not None:
        return f"not faster up to n = {below}; where it begins, if it does, lies beyond"
    return "no size has been measured with both"


EXPLORATION = Exploration(
    name="crossover",
    question="Is CUDA worth the trouble: from which size on does it win?",
    source="HB exploration 5; HB 2.3",
    run=_run,
    sizes=(16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
    largest=16384,
    why_largest="a matrix of that size takes a gigabyte",
    rung="shortest-paths/sequential-cpu",
)
