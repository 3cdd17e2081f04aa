"""The simulator's checks over what is in a file: a ladder's rungs, or a program and its kernels.

A run ends at its first fault. What one check found is noted, and the others go over it once more
without that one, so that a race does not hide a read of what nobody wrote.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpladder.errors import InputError, KernelFaultError, WarpladderError
from warpladder.lab import own
from warpladder.lab.program import nothing_launched, run_program
from warpladder.lab.verify import pose, run, sizes_of
from warpladder.rung import Ladder, Rung, WrongRung

if TYPE_CHECKING:
    from warpladder.simulator.kernel import LaunchReport

__all__ = ["TOOLS", "Checked", "Finding", "check_ladder", "check_program"]

#: The checks, named like compute-sanitizer's tools.
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


@dataclass(slots=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    tool
        The check; ``"livelock"`` where threads wait without end.
    message
        Of the first time: what happened, where, by whom.
    kernel
        In which kernel.
    places
        Files, without folders, and lines: both of a race.
    threads
        Blocks and threads in words: both of a race.
    seen
        Where it was found: problem size, or None for a program, and schedule.
    """

    tool: str
    message: str
    kernel: str
    places: tuple[tuple[str, int], ...]
    threads: tuple[str, ...]
    seen: list[tuple[int | None, str]] = field(default_factory=list)


@dataclass(slots=True)
class Checked:
    """What became of a rung or a program under the checks.

    Attributes
    ----------
    name
        Of the rung, or of the file.
    launches
        Kernels launched under all schedules.
    findings
        Each once.
    expected
        The check that must catch it, for a wrong rung.
    stopped
        Why it could not be checked to its end, if so.
    skipped
        Why it was not checked at all, if so.
    """

    name: str
    launches: int = 0
    findings: list[Finding] = field(default_factory=list)
    expected: str = ""
    stopped: str = ""
    skipped: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found; of a wrong rung, whether it was caught."""
        if self.stopped:
            return False
        if self.expected:
            return any(finding.tool == self.expected for finding in self.findings)
        return not self.findings


def check_ladder(
    ladder: Ladder,
    schedules: Sequence[str],
    only: str | None = None,
    sizes: Iterable[int] | None = None,
    tools: Sequence[str] = TOOLS,
) -> Iterator[Checked]:
    """Yield what the checks find in each rung at its sizes, then in each wrong one at its own.

    Parameters
    ----------
    ladder
        The ladder.
    schedules
        Under which to run everything.
    only
        The name of one rung.
    sizes
        Instead of those of the rungs' tasks; too large ones for a rung are left out.
    tools
        The checks: `TOOLS`, and ``"same-value"`` perhaps.
    """
    chosen = None if sizes is None else tuple(sizes)
    for rung in ladder.rungs:
        if only in {None, rung.name}:
            yield _check_rung(rung, schedules, chosen, tools)
    for wrong in ladder.wrong:
        if only in {None, wrong.rung.name}:
            yield _check_wrong(wrong, schedules, tools)


def _check_rung(
    rung: Rung, schedules: Sequence[str], sizes: tuple[int, ...] | None, tools: Sequence[str]
) -> Checked:
    checked = Checked(rung.name)
    if rung.on != "device":
        checked.skipped = "runs on the CPU" if rung.on == "cpu" else "runs on a GPU only"
        return checked
    able = sizes_of(rung, simulated=True)
    if sizes is not None:
        able = [n for n in sizes if rung.max_n is None or n <= rung.max_n]
    if not able:
        checked.skipped = f"takes up to n = {rung.max_n}"
    for schedule in schedules:
        for n in able:
            _check(checked, partial(_run, rung, n), n, schedule, tools)
    return checked


def _check_wrong(wrong: WrongRung, schedules: Sequence[str], tools: Sequence[str]) -> Checked:
    if wrong.caught_by not in {*TOOLS, "livelock"}:
        return Checked(wrong.rung.name, skipped=f"is caught by {wrong.caught_by}, and by no check")
    checked = Checked(wrong.rung.name, expected=wrong.caught_by)
    for schedule in schedules:
        _check(checked, partial(_run, wrong.rung, wrong.n), wrong.n, schedule, tools)
    return checked


def _run(rung: Rung, n: int) -> None:
    from warpladder.simulator import SimulatedDevice

    problem = pose(rung.task, n)
    try:
        with redirect_stdout(io.StringIO()):
            run(rung, SimulatedDevice(counters=False), problem)
    except WarpladderError:
        raise
    except (Exception, SystemExit) as fault:
        if told := own.mistake_in(fault):
            raise InputError(told) from fault
        raise


def check_program(path: Path, schedules: Sequence[str], tools: Sequence[str] = TOOLS) -> Checked:
    """Return what the checks find in a program that launches kernels; what it prints is dropped.

    ``numba.cuda`` is the simulated GPU for it. It runs once under each schedule, and again for each
    check that finds something.

    Raises
    ------
    InputError
        Python cannot run it, or it launches no kernel.
    """
    checked = Checked(str(path))
    for schedule in schedules:
        _check(checked, partial(run_program, path), None, schedule, tools)
    if not checked.launches and not checked.stopped:
        raise nothing_launched(path)
    return checked


def _check(
    checked: Checked,
    start: Callable[[], Any],
    n: int | None,
    schedule: str,
    tools: Sequence[str],
) -> None:
    """Run something with all checks; where one finds something, once more with the others."""
    from warpladder.simulator.watch import watched

    left = list(tools)
    while left and not checked.stopped:
        with watched(checks=left, schedule=schedule) as seen:
            try:
                start()
                found = None
            except KernelFaultError as fault:
                found = fault
            except WarpladderError as fault:
                checked.stopped = str(fault)
                return
        checked.launches += len(seen.launches)
        if found is None:
            return
        _note(checked, found, seen.launches[-1] if seen.launches else None, n, schedule)
        # An index out of bounds, or an endless loop, ends every run.
        if found.check not in left:
            return
        left.remove(found.check)
        if found.check == "racecheck" and "same-value" in left:
            left.remove("same-value")


def _note(
    checked: Checked,
    fault: KernelFaultError,
    launch: LaunchReport | None,
    n: int | None,
    schedule: str,
) -> None:
    message = str(fault).removeprefix(f"{fault.check}: ")
    kernel, file = "", r"[\w.-]+\.py"
    if launch is not None:
        kernel = launch.kernel
        if launch.function is not None:
            # A name with blanks in it would not be seen to be one.
            file = f"{re.escape(Path(launch.function.__code__.co_filename).name)}|{file}"
    lines = re.findall(rf"({file}),? line (\d+)", message)
    places = tuple((file, int(line)) for file, line in lines)
    for known in checked.findings:
        if (known.tool, known.kernel, set(known.places)) == (fault.check, kernel, set(places)):
            if (n, schedule) not in known.seen:
                known.seen.append((n, schedule))
            return
    threads = tuple(re.findall(r"block \([\d,]+\), thread \([\d,]+\)", message))
    finding = Finding(fault.check, message, kernel, places, threads, [(n, schedule)])
    checked.findings.append(finding)
