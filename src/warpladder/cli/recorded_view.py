"""How recorded times are shown: never without the card and the day that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpladder.lab.text import three_digits

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from warpladder.lab.recorded import Recording
    from warpladder.rung import Rung

__all__ = ["recorded_footnote", "recorded_table", "recorded_times"]


def recorded_table(recording: Recording, rungs: Sequence[Rung], n: int | None) -> Table | None:
    """Return the times of rungs, at ``n`` where that was recorded; None where nothing was."""
    shown = recording.of_each(rungs)
    if n is not None:
        shown = [(rung, recording.of(rung, n) or time) for rung, time in shown]
    if not shown:
        return None
    table = _table("rung", "n", "recorded, ms")
    for rung, time in shown:
        table.add_row(rung.name, f"{time.n:,}", three_digits(time.milliseconds))
    return table


def recorded_times(recording: Recording, *rungs: Rung) -> Table | None:
    """Return the times of one rung at all sizes, or of several at those they share."""
    by_rung = [dict(recording.all_of(rung.name)) for rung in rungs]
    sizes = sorted(set(by_rung[0]).intersection(*by_rung[1:]))
    if not sizes:
        return None
    table = _table("n", *(f"{rung.name}, ms" for rung in rungs), *["ratio"] * (len(rungs) == 2))
    table.columns[0].justify = "right"
    for n in sizes:
        times = [times[n] for times in by_rung]
        ratio = [f"{times[1] / times[0]:.3g}"] if len(times) == 2 else []
        table.add_row(f"{n:,}", *map(three_digits, times), *ratio)
    return table


def recorded_footnote(recording: Recording, *rungs: Rung) -> Text:
    """Return what the recorded times of rungs are, and where they stand."""
    from rich.text import Text

    from warpladder.lab.recorded import timed_of

    return Text(
        f"Recorded, not measured here: {recording.card}, {recording.date}, "
        f"{timed_of(rungs)} (benchmarks/results/{recording.file})."
    )


def _table(first: str, *others: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", overflow="fold")
    return table
