"""``warpladder check``: the simulator's checks over a file of one's own, or over a ladder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpladder.cli.completion import complete_rung
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from warpladder.lab.check import Checked, Finding
    from warpladder.rung import Ladder

__all__ = ["check"]


def check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="FILE.py, FILE.py/RUNG, MODULE:LADDER, LADDER or LADDER/RUNG.",
            autocompletion=complete_rung,
        ),
    ],
    schedule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="lockstep, warps, warps-reverse or warps-random, instead of all four; may be "
            "given more than once.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        list[int] | None,
        typer.Option(
            "--n",
            metavar="N",
            help="Problem size for rungs, instead of those of their tasks; may be given more than "
            "once.",
            min=0,
            show_default=False,
        ),
    ] = None,
    same_value: Annotated[
        bool,
        typer.Option(
            "--same-value",
            help="Report threads that race also where they write the same value, or what is there "
            "already: by chance, perhaps, where arrays are full of zeros or ones.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Look for mistakes in kernels as compute-sanitizer does; no GPU is needed.

    [bold]memcheck[/]: an index out of bounds, a misaligned access. [bold]racecheck[/]: two
    threads at one place, one of them writing, and nothing between them; both
    lines and both threads are named. [bold]initcheck[/]: a read of what nobody has
    written. [bold]synccheck[/]: a barrier that not all threads reach, a mask that names
    threads that are not there.

    Rungs run at the sizes of their tasks, wrong rungs must be caught by the check
    that they name. A program that launches kernels itself, in the way of
    numba-cuda or by simulate, runs as it is on the simulated GPU; what it prints
    is dropped. All of it under every schedule: all threads together, then one
    warp after the other, forwards, backwards and at random.

    The status is 1 when something is found.

    [bold]warpladder check my_kernel.py[/]

    [bold]warpladder check primer/shared-flags --schedule warps[/]
    """
    from warpladder.cli.output import aside, print_json, stdout
    from warpladder.lab.check import TOOLS
    from warpladder.simulator.execution.schedule import SCHEDULES, Schedule

    tools = (*TOOLS, "same-value") if same_value else TOOLS
    schedules = tuple(dict.fromkeys(schedule)) if schedule else SCHEDULES
    for name in schedules:
        Schedule.named(name)
    with aside():
        checked = list(_checked(file, schedules, n, tools))
    ok = all(one.ok for one in checked)
    if json:
        print_json(
            {
                "file": file,
                "ok": ok,
                "tools": tools,
                "schedules": schedules,
                "checked": [_document(one) for one in checked],
            }
        )
    else:
        console = stdout()
        console.print(_summary(checked))
        found = [(one, finding) for one in checked if not one.expected for finding in one.findings]
        if found:
            console.print("", _findings(found), sep="\n")
        for one in checked:
            if one.stopped:
                console.print(f"\n{one.name} could not be checked to its end: {one.stopped}")
        console.print(f"\n{', '.join(tools)}; under {', '.join(schedules)}.")
    if not ok:
        raise typer.Exit(1)


def _checked(
    reference: str, schedules: tuple[str, ...], n: list[int] | None, tools: tuple[str, ...]
) -> Iterator[Checked]:
    """Check, with a progress bar on standard error."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from warpladder.cli.output import stderr
    from warpladder.lab.check import check_ladder, check_program
    from warpladder.lab.own import is_ladder_file

    path = Path(reference)
    if path.suffix == ".py" and not is_ladder_file(path):
        if n:
            raise typer.BadParameter(
                f"{reference} is a program and has sizes of its own", param_hint="--n"
            )
        yield check_program(path, schedules, tools)
        return
    ladder, only = _ladder(reference)
    names = [rung.name for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))]
    console = stderr()
    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("rungs", total=1 if only else len(names))
        for one in check_ladder(ladder, schedules, only, n, tools):
            yield one
            bar.advance(task)


def _ladder(reference: str) -> tuple[Ladder, str | None]:
    """Return a ladder, and the one rung that is asked for, if it is one."""
    from warpladder.lab.own import is_reference, split
    from warpladder.lab.registry import find_ladder, find_rung

    rung = split(reference)[1] if is_reference(reference) else reference.partition("/")[1] or None
    if rung is None:
        return find_ladder(reference), None
    ladder, found = find_rung(reference)
    return ladder, found.name


def _summary(checked: list[Checked]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("checked", overflow="fold")
    table.add_column("launches", justify="right", no_wrap=True)
    table.add_column("found", overflow="fold")
    for one in checked:
        table.add_row(one.name, f"{one.launches:,}" if one.launches else "", _outcome(one))
    return table


def _outcome(one: Checked) -> Any:
    from rich.text import Text

    if one.skipped:
        return Text(f"not checked: it {one.skipped}", "dim")
    if one.expected:
        if one.ok:
            return Text(f"caught by {one.expected}, as a wrong rung must be")
        return Text(f"a wrong rung, NOT caught by {one.expected}", "bold red")
    if one.findings:
        return Text(", ".join(dict.fromkeys(f.tool for f in one.findings)), "bold red")
    return Text("stopped", "bold red") if one.stopped else Text("nothing", "green")


def _findings(found: list[tuple[Checked, Finding]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 1, 0), header_style="bold")
    table.add_column("tool", no_wrap=True)
    table.add_column("where", overflow="fold", max_width=30)
    table.add_column("finding", overflow="fold")
    for one, finding in found:
        places = dict.fromkeys(f"{file}:{line}" for file, line in finding.places)
        seen = _seen(one, finding)
        table.add_row(
            Text(finding.tool, "bold red"),
            "\n".join((*places, finding.kernel)),
            Text.assemble(finding.message, (f"\n{seen}", "dim")),
        )
    return table


def _seen(one: Checked, finding: Finding) -> str:
    sizes = list(dict.fromkeys(str(n) for n, _ in finding.seen if n is not None))
    schedules = list(dict.fromkeys(schedule for _, schedule in finding.seen))
    where = f"{one.name} at n = {', '.join(sizes)}, " if sizes else ""
    return f"{where}under {', '.join(schedules)}"


def _document(one: Checked) -> dict[str, Any]:
    return {
        "name": one.name,
        "ok": one.ok,
        "launches": one.launches,
        "must_be_caught_by": one.expected or None,
        "stopped": one.stopped,
        "skipped": one.skipped,
        "findings": [
            {
                "tool": finding.tool,
                "message": finding.message,
                "kernel": finding.kernel,
                "places": [{"file": file, "line": line} for file, line in finding.places],
                "threads": list(finding.threads),
                "seen": [{"n": n, "schedule": schedule} for n, schedule in finding.seen],
            }
            for finding in one.findings
        ],
    }
