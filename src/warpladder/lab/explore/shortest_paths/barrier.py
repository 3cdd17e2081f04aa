"""The barrier left out, to see whether it is needed.

HB's kernel has one barrier, behind the fetch of the entry that all threads of a block share, and
the source asks to leave it out and see. The wrong rungs of the ladder have done so, there and in
three other places. Here each is run on the simulator, with the checks off, under every schedule:
all warps in lockstep, or one warp at a time in forward, reverse and random order. Then once more
with the checks on.

Expect: `pivot-without-barrier` right at n = 32, whatever the schedule, for only one warp has
columns; at n = 33 right in lockstep and in forward order, where the first warp comes first, and
wrong where another does. The checker needs no luck: it names the store and the load between which
nothing stands, right result or not.

Source: HB exploration 2; CF D
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpladder.errors import KernelFaultError
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
    paragraph,
)
from warpladder.lab.registry import find_ladder
from warpladder.lab.verify import pose
from warpladder.lab.verify import run as run_rung
from warpladder.simulator.execution.schedule import SCHEDULES

if TYPE_CHECKING:
    from warpladder.rung import Rung, WrongRung

__all__ = ["EXPLORATION", "named_lines"]

#: HB's kernel with its barrier, and without: the others are beside the question.
_RIGHT, _ASKED = "row-blocks", "pivot-without-barrier"
_NEVER_ENDS = "hangs"


def named_lines(message: str, file: str) -> list[tuple[int, str]]:
    """Return the lines of a file that a check names, by number, in the order of the file.

    Examples
    --------
    >>> named_lines("racecheck: load at a.py line 44 and store at a.py line 42", "a.py")
    [(42, ''), (44, '')]
    """
    name = re.escape(Path(file).name)
    numbers = {int(found) for found in re.findall(rf"{name},? line (\d+)", message)}
    return [(number, linecache.getline(file, number).rstrip()) for number in sorted(numbers)]


def _run(setting: Setting) -> Findings:
    ladder = find_ladder("shortest-paths")
    right = ladder.find(_RIGHT)
    rungs = [*([right] if right else []), *(wrong.rung for wrong in ladder.wrong)]
    jobs = [
        (rung, n) for rung in rungs for n in setting.sizes if rung.max_n is None or n <= rung.max_n
    ]
    rows = [
        _entries(rung, n)
        for rung, n in setting.watch(
            jobs, lambda job: f"{job[0].name}, n = {job[1]}", lambda job: job[1] ** 3
        )
    ]
    caught = [_caught(wrong, max(setting.sizes)) for wrong in ladder.wrong]
    entries = Table(
        "wrong entries of n**2 under each schedule, checks off",
        (
            Column("rung", "rung", "text"),
            Column("n", "n", "count"),
            *(Column(schedule, schedule, "count") for schedule in SCHEDULES),
        ),
        tuple(rows),
    )
    reports = Table(
        "what the checker reports",
        (Column("rung", "wrong rung", "text"), Column("report", "report", "text")),
        tuple({"rung": wrong.rung.name, "report": fault} for wrong, fault in caught),
    )
    lines = Table(
        "the lines it names",
        (
            Column("rung", "wrong rung", "text"),
            Column("line", "line", "count"),
            Column("source", "source", "text"),
        ),
        tuple(
            {"rung": wrong.rung.name, "line": number, "source": text}
            for wrong, fault in caught
            for number, text in named_lines(fault, _file(wrong.rung))
        ),
    )
    return Findings((entries, reports, lines), _answer(rows, ladder.wrong), (_panel(rows),))


def _entries(rung: Rung, n: int) -> dict[str, Any]:
    """Return how many entries are wrong under each schedule, or how the run ended instead."""
    row: dict[str, Any] = {"rung": rung.name, "n": n, "entries": n * n}
    for schedule in SCHEDULES:
        row[schedule] = _wrong_entries(rung, n, schedule)
    return row


def _wrong_entries(rung: Rung, n: int, schedule: str) -> int | str:
    from warpladder.simulator import SimulatedDevice

    device = SimulatedDevice(schedule=schedule, checks=False, counters=False)
    problem = pose(rung.task, n)
    try:
        found = run_rung(rung, device, problem)
    except KernelFaultError as fault:
        return _NEVER_ENDS if fault.check == "livelock" else fault.check
    return int((found != rung.task.oracle(problem)).sum())


def _caught(wrong: WrongRung, n: int) -> tuple[WrongRung, str]:
    from warpladder.simulator import SimulatedDevice

    rung = wrong.rung
    size = n if rung.max_n is None else min(n, rung.max_n)
    try:
        run_rung(rung, SimulatedDevice(counters=False), pose(rung.task, size))
    except KernelFaultError as fault:
        return wrong, str(fault)
    return wrong, f"nothing at n = {size}"


def _file(rung: Rung) -> str:
    return inspect.getsourcefile(rung.run) or ""


def _answer(rows: list[dict[str, Any]], wrong: tuple[WrongRung, ...]) -> tuple[str, ...]:
    asked = [row for row in rows if row["rung"] == _ASKED]
    harmed = [row for row in asked if any(row[schedule] for schedule in SCHEDULES)]
    said = [f"Without it, {_sentence(row)}." for row in harmed]
    if len(harmed) < len(asked):
        sizes = ", ".join(str(row["n"]) for row in asked if row not in harmed)
        said.append(
            f"At n = {sizes} the result is right under every schedule, and so much the worse: a "
            "test at such a size would have passed."
        )
    (fault,) = (
        paragraph(sys.modules[one.rung.run.__module__].__doc__, "Fault: ")
        for one in wrong
        if one.rung.name == _ASKED
    )
    checker = (
        "Where the checker finds one of them, it does so in lockstep, where most results are "
        "right: it looks for the barrier, not for the damage. `warpladder explain "
        "shortest-paths/NAME` tells more of each."
    )
    return ("Yes. " + " ".join(said), f"How the wrong answer comes about: {fault}", checker)


def _sentence(row: dict[str, Any]) -> str:
    right = [schedule for schedule in SCHEDULES if row[schedule] == 0]
    bad = [f"{row[name]} under {name}" for name in SCHEDULES if name not in right]
    kept = f", while {' and '.join(right)} happen to be right" if right else ""
    return (
        f"at n = {row['n']} so many of {row['entries']:,} entries are wrong: {', '.join(bad)}{kept}"
    )


def _panel(rows: list[dict[str, Any]]) -> Panel:
    largest = max(row["n"] for row in rows)
    shown = [row for row in rows if row["n"] == largest]
    return Panel(
        f"Wrong entries at n = {largest}; no bar: none, or it hangs",
        "schedule of the warps",
        "% of the entries",
        tuple(
            Series(
                row["rung"],
                tuple(range(len(SCHEDULES))),
                tuple(
                    100 * row[name] / row["entries"] if isinstance(row[name], int) else None
                    for name in SCHEDULES
                ),
            )
            for row in shown
        ),
        categories=SCHEDULES,
    )


EXPLORATION = Exploration(
    name="barrier",
    question="Is the barrier behind the shared entry really necessary?",
    source="HB exploration 2; CF D",
    run=_run,
    sizes=(32, 33),
    largest=96,
    why_largest="one warp at a time the simulator takes half a minute there for each rung",
    rung=f"shortest-paths/{_RIGHT}",
)
