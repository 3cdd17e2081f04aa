"""Times of rungs on a GPU as committed results have them, for machines that have none.

The package brings them in ``recorded.json``, which ``benchmarks/record_times.py`` makes from
``benchmarks/results``. They are what one card did on one day, and are always shown with both.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

from warpladder.rung import Rung

__all__ = ["RecordedTime", "Recording", "common_size", "recording_of", "timed_of"]


class RecordedTime(NamedTuple):
    """Milliseconds that a rung took for a problem of size ``n``, as `timed_of` says."""

    n: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Recording:
    """One run of a ladder's benchmark.

    Attributes
    ----------
    card, date
        Which GPU, and the day of the run.
    file
        Of ``benchmarks/results``, which tells how it was measured, and on what.
    times
        Milliseconds by rung and by problem size: of what `timed_of` says.
    """

    card: str
    date: str
    file: str
    times: Mapping[str, Mapping[int, float]]

    @property
    def title(self) -> str:
        """What is said beside every time: that it is recorded, with card and date."""
        return f"recorded on {self.card}, {self.date}"

    def all_of(self, rung: str) -> list[RecordedTime]:
        """Return the times of a rung, by size; none where it was not run."""
        return [RecordedTime(*one) for one in sorted(self.times.get(rung, {}).items())]

    def of(self, rung: Rung, n: int | None = None) -> RecordedTime | None:
        """Return a rung's time at ``n``, or at the size at which it is best compared with others.

        That is the one at which ``climb`` times it, where it was recorded, else the one that most
        rungs were run at, the largest of these, else its own largest. None where the rung, or an
        ``n`` that is asked for, was not run.
        """
        own = self.times.get(rung.name, {})
        if not own or (n is not None and n not in own):
            return None
        if n is None:
            common = common_size(size for by_size in self.times.values() for size in by_size)
            wanted = (rung.task.default_n, common, max(own))
            n = next(size for size in wanted if size is not None and size in own)
        return RecordedTime(n, own[n])

    def of_each(self, rungs: Iterable[Rung]) -> list[tuple[Rung, RecordedTime]]:
        """Return what of several rungs is to stand side by side; those not run are left out.

        A rung that was run at the size of most of the others has that.
        """
        own = [(rung, time) for rung in rungs if (time := self.of(rung))]
        n = common_size(time.n for _, time in own)
        return [(rung, self.of(rung, n) or time) for rung, time in own]


def common_size(sizes: Iterable[int]) -> int | None:
    """Return of the sizes of all times the most frequent, the largest of those; None of none.

    Examples
    --------
    >>> common_size([10, 20, 10, 20, 5])
    20
    """
    counts = Counter(sizes)
    return max(counts, key=lambda size: (counts[size], size), default=None)


def timed_of(rungs: Iterable[Rung]) -> str:
    """Return of what the times of rungs are: a rung that the bus bounds is timed with its copies.

    Examples
    --------
    >>> from warpladder.lab.registry import find_ladder
    >>> timed_of(find_ladder("reduction").rungs)
    'kernels alone'
    """
    bounded_by_bus = {rung.task.ceiling == "pcie" for rung in rungs}
    if bounded_by_bus == {True}:
        return "copies and kernels together"
    return "kernels alone" + ", pipelines with their copies" * (True in bounded_by_bus)


@cache
def _recordings() -> dict[str, Recording]:
    text = resources.files("warpladder.lab").joinpath("recorded.json").read_text(encoding="utf-8")
    return {
        ladder: Recording(
            run["card"],
            run["date"],
            run["file"],
            {
                rung: {int(n): milliseconds for n, milliseconds in by_size.items()}
                for rung, by_size in run["milliseconds"].items()
            },
        )
        for ladder, run in json.loads(text).items()
    }


def recording_of(ladder: str) -> Recording | None:
    """Return the recorded run of a ladder, or None where there is none.

    Examples
    --------
    >>> recorded = recording_of("shortest-paths")
    >>> recorded.title, recorded.all_of("flag-barrier")[0].n
    ('recorded on NVIDIA H200, 2026-11-27', 2048)
    >>> recording_of("a ladder that nobody has run") is None
    True
    """
    return _recordings().get(ladder)
