"""Kernel times of several cases at several sizes: the table of them, and what to remark on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpladder.lab.explore.exploration import Column, Setting, Table
from warpladder.lab.explore.measure import Spread, unsteady

__all__ = ["remarks_on_times", "time_table"]


def time_table(
    title: str,
    case: Column,
    times: Mapping[int, Mapping[Any, Spread]],
    shown: Callable[[Any], Any] = lambda case: case,
) -> tuple[Table, ...]:
    """Return the table of medians, a row per case and a column per size; none without times.

    Parameters
    ----------
    title
        Of the table.
    case
        The first column.
    times
        By size, then by case: the same cases at each size, in the order of the rows.
    shown
        Makes of a case what stands in the first column.

    Examples
    --------
    >>> times = {100: {"a": Spread(1, 2, 3, 5)}, 200: {"a": Spread(5, 6, 7, 5)}}
    >>> [table] = time_table("kernels", Column("case", "case", "text"), times, str.upper)
    >>> table.rows
    ({'case': 'A', '100': 2, '200': 6},)
    """
    if not times:
        return ()
    columns = (case, *(Column(str(n), f"n = {n}", "seconds") for n in times))
    cases = next(iter(times.values()))
    rows = tuple(
        {case.key: shown(one), **{str(n): known[one].median for n, known in times.items()}}
        for one in cases
    )
    return (Table(title, columns, rows),)


def remarks_on_times(
    setting: Setting,
    times: Mapping[int, Mapping[Any, Spread]],
    named: Callable[[Any], str] = str,
) -> tuple[str, ...]:
    """Return why there are no times, or the sentence that names those that are unsteady.

    Parameters
    ----------
    setting
        On what they were taken.
    times
        By size, then by case.
    named
        Names a case in a sentence.

    Examples
    --------
    >>> remarks_on_times(Setting((), why_no_gpu="there is none"), {})
    ('Kernel times are not measured: there is none.',)
    """
    if setting.gpu is None:
        return (f"Kernel times are not measured: {setting.why_no_gpu}.",)
    return unsteady(
        {
            f"{named(case)} at n = {n}": spread
            for n, known in times.items()
            for case, spread in known.items()
        }
    )
