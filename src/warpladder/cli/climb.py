"""``warpladder climb``: every rung of a ladder verified, counted and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warpladder.cli.completion import complete_ladder, complete_rung_name
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from warpladder.device.base import Device
    from warpladder.lab.ceilings import Ceilings
    from warpladder.lab.climb import Row
    from warpladder.lab.recorded import Recording
    from warpladder.lab.verify import PredictionResult, WrongResult
    from warpladder.rung import Ladder

__all__ = ["climb"]


def climb(
    name: Annotated[
        str,
        typer.Argument(
            metavar="LADDER",
            help="One of `warpladder ladders`; or FILE.py.",
            autocompletion=complete_ladder,
        ),
    ],
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="cuda, simulator or cpu; auto takes cuda where there is a GPU."
        ),
    ] = "auto",
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            metavar="N",
            help="Problem size to time, by default the task's; on the simulator, to verify.",
            min=0,
            show_default=False,
        ),
    ] = None,
    rung: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="One rung instead of all.",
            show_default=False,
            autocompletion=complete_rung_name,
        ),
    ] = None,
    counters: Annotated[
        bool,
        typer.Option(
            "--counters",
            help="On a GPU, too, count what rungs predict, on the simulator; takes its time.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Verify every rung of a ladder, count what it predicts, and time it.

    [bold]ok[/]: the result equals the oracle's at every awkward size (none, one, around
    a warp, primes), memory being poisoned before.

    [bold]predicted, counted[/]: the counter that tells this rung from the one
    below, as claimed before measuring and as the simulator counts it. An
    [bold]x[/] behind the number means: times that of another rung on the same
    problem. Where a prediction fails it is the one shown, and says so.

    [bold]kernel, end to end[/]: median times of the kernels on the GPU, with a cold cache
    (of pipelines: from the first copy to the last), and of the whole call. On
    the simulator nothing is timed, but wrong rungs are run too and must be
    caught.

    [bold]recorded[/]: where there is no GPU, the kernels' times on another one, as the
    results of benchmarks have them that come with the package; card and date
    stand below.

    [bold]limit[/]: how much of what this GPU allows the kernels reach: all that the task
    needs through memory once, or all operations at their rate on registers,
    whichever takes longer; for pipelines, all bytes over the bus. Measured in
    the same run.

    The status is 1 when a result is wrong, a prediction fails, a wrong rung
    passes or anything is beyond its limit.

    [bold]warpladder climb primer[/]

    [bold]warpladder climb primer --rung strided-access --device simulator[/]
    """
    from warpladder.call import naming_memory
    from warpladder.cli.output import aside, print_json, stdout
    from warpladder.lab.devices import Simulated, open_device
    from warpladder.lab.documents import recording_document, row_document, wrong_document
    from warpladder.lab.recorded import recording_of
    from warpladder.lab.registry import find_ladder, find_rung

    ladder = find_ladder(name)
    if rung is not None:
        find_rung(f"{name}/{rung}")
    where = open_device(device)
    ceilings = _ceilings(where)
    with aside(), naming_memory("--n", "problems of that size; give a smaller one"):
        rows, wrong = _run(ladder, where, n, rung, ceilings, counters=counters or ceilings is None)
    ok = not any(row.faults for row in rows) and all(result.ok for result in wrong)
    recording = recording_of(ladder.name)
    if json:
        print_json(
            {
                "ladder": ladder.name,
                "device": where.properties.name if where else "cpu",
                "simulated": isinstance(where, Simulated),
                "ok": ok,
                "not_measured": _not_measured(where),
                "ceilings": [known._asdict() for known in ceilings.measured()] if ceilings else [],
                "recorded": recording_document(recording),
                "rungs": [row_document(row, recording) for row in rows],
                "wrong": [wrong_document(result) for result in wrong],
            }
        )
    else:
        console = stdout()
        console.print(f"{ladder.name} on {where.properties.name if where else 'the CPU'}")
        known = [] if ceilings or not recording else _recorded(recording, ladder, rung, n)
        for part in [*known, *_parts(rows, wrong)]:
            console.print("", part, sep="\n")
        for remark in _remarks(rows, where, ceilings):
            console.print("", remark, sep="\n", markup=False)
    if not ok:
        raise typer.Exit(1)


def _ceilings(device: Device | None) -> Ceilings | None:
    from warpladder.lab.devices import Simulated

    if device is None or isinstance(device, Simulated):
        return None
    from warpladder.lab.ceilings import Ceilings

    return Ceilings(device)


def _not_measured(device: Device | None) -> str:
    """Return what only a GPU shows; nothing where there is one."""
    from warpladder.lab.devices import Simulated

    if device is None:
        return "Not measured: kernels, and limits, for which it takes a GPU."
    if isinstance(device, Simulated):
        return "Not measured: times, rates and limits, for which it takes a GPU (--device cuda)."
    return ""


def _remarks(rows: list[Row], device: Device | None, ceilings: Ceilings | None) -> list[str]:
    """Return how to read the tables, and what is not in them."""
    from warpladder.cli.output import with_prefix

    remarks = []
    units = sorted({row.rung.task.unit for row in rows if row.timing})
    if len(units) > 1:
        remarks.append(f"Rates are per second: of {', '.join(units)}.")
    if ceilings is None:
        return [*remarks, _not_measured(device)]
    known = [f"{name} {with_prefix(rate, unit)}" for name, rate, unit in ceilings.measured()]
    if known:
        remarks.append(f"Limits, measured in this run: {'; '.join(known)}.")
    if not any(row.predictions for row in rows):
        remarks.append("Not counted: what rungs predict of counters (--counters).")
    return remarks


def _run(
    ladder: Ladder,
    device: Device | None,
    n: int | None,
    only: str | None,
    ceilings: Ceilings | None,
    *,
    counters: bool,
) -> tuple[list[Row], list[WrongResult]]:
    """Climb, with a progress bar on standard error."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from warpladder.cli.output import stderr
    from warpladder.lab.climb import climb as climb_ladder
    from warpladder.lab.devices import Simulated
    from warpladder.lab.verify import check_wrong
    from warpladder.simulator import SimulatedDevice

    rows: list[Row] = []
    caught: list[WrongResult] = []
    simulated = isinstance(device, Simulated)
    wrong = [w for w in ladder.wrong if simulated and only in {None, w.rung.name}]
    total = (1 if only else len(ladder.rungs)) + len(wrong)
    simulator = SimulatedDevice if counters else None
    console = stderr()
    columns = (TextColumn("climbing"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("rungs", total=total)
        for row in climb_ladder(
            ladder, device, simulator=simulator, n=n, only=only, ceilings=ceilings
        ):
            rows.append(row)
            bar.advance(task)
        for broken in wrong:
            caught.append(check_wrong(broken, SimulatedDevice))
            bar.advance(task)
    return rows, caught


def _recorded(
    recording: Recording, ladder: Ladder, only: str | None, n: int | None
) -> list[RenderableType]:
    from warpladder.cli.recorded_view import recorded_footnote, recorded_table

    rungs = [rung for rung in ladder.rungs if only in {None, rung.name}]
    table = recorded_table(recording, rungs, n)
    return [table, recorded_footnote(recording, *rungs)] if table else []


def _parts(rows: list[Row], wrong: list[WrongResult]) -> list[RenderableType]:
    from rich.text import Text

    parts: list[RenderableType] = []
    timed = any(row.timing for row in rows)
    if timed:
        parts.append(_times(rows))
    counted = [row for row in rows if row.predictions] if timed else rows
    if counted:
        parts.append(_evidence(counted))
    if wrong:
        parts.append(_wrong(wrong))
    faults = [Text(f"{row.rung.name} {fault}", "red") for row in rows for fault in row.faults]
    skipped = [Text(f"{row.rung.name} {row.skipped}") for row in rows if row.skipped]
    return [*parts, *faults, *skipped]


def _times(rows: list[Row]) -> Table:
    from warpladder.cli.output import with_prefix

    units = {row.rung.task.unit for row in rows if row.timing}
    rate = f"{units.pop()}/s" if len(units) == 1 else "rate"
    table = _empty_table("rung", "ok", "n", "kernel", "end to end", rate, "limit")
    for row in rows:
        timing, percent = row.timing, row.percent_of_limit
        table.add_row(
            row.rung.name,
            _yes(row),
            "" if row.n is None else str(row.n),
            with_prefix(timing.kernel_seconds, "s") if timing and timing.kernel_seconds else "",
            with_prefix(timing.total_seconds, "s") if timing else "",
            "" if row.rate is None else with_prefix(row.rate),
            "" if percent is None else f"{percent:.3g} %" if percent >= 0.01 else "< 0.01 %",
        )
    return table


def _evidence(rows: list[Row]) -> Table:
    table = _empty_table("rung", "ok", "decisive counter", "predicted", "counted")
    table.columns[2].justify = "left"
    table.columns[2].no_wrap = False
    table.columns[2].overflow = "fold"
    for row in rows:
        failing = [result for result in row.predictions if not result.ok]
        told = [*failing, *row.predictions][:1]
        decisive = _decisive(told[0]) if told else ("", "", "")
        table.add_row(row.rung.name, _yes(row), *decisive)
    return table


def _decisive(result: PredictionResult) -> tuple[str, str, Text]:
    from rich.text import Text

    from warpladder.rung import shown

    claim = result.prediction
    times = " x" if claim.than else ""
    measured = "--" if result.counted is None else f"{result.shown}{times}"
    return (
        # Its full name would be broken in the middle of a word at 80 columns.
        claim.counter.replace("_per_", "/"),
        f"{claim.relation} {shown(claim.value)}{times}",
        Text(measured, "green") if result.ok else Text(f"{measured}\nFAILS", "bold red"),
    )


def _wrong(results: list[WrongResult]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("wrong rung", no_wrap=True)
    table.add_column("what the simulator saw", overflow="fold")
    for result in results:
        must = result.wrong.caught_by
        said = f"caught by {must}" if result.caught else f"NOT caught by {must}"
        if result.fault and not result.caught:
            said += f" but stopped: {result.fault}"
        hidden = [schedule for schedule, seen in result.visible.items() if not seen]
        if hidden:
            said += f"; with checks off, right under the schedule {' and '.join(hidden)}"
        table.add_row(result.wrong.rung.name, Text(said, "green" if result.ok else "red"))
    return table


def _empty_table(first: str, *others: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _yes(row: Row) -> Text:
    from rich.text import Text

    if not row.verdicts:
        return Text("--")
    return Text("yes", "green") if all(v.ok for v in row.verdicts) else Text("NO", "bold red")
