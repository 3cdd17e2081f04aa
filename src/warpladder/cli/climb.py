"""``warpladder climb``: every rung of a ladder verified, counted and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from warpladder.device.base import Device
    from warpladder.lab.climb import Row
    from warpladder.lab.rung import Ladder
    from warpladder.lab.verify import PredictionResult, WrongResult

__all__ = ["climb"]


def climb(
    name: Annotated[str, typer.Argument(metavar="LADDER", help="One of `warpladder ladders`.")],
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
        typer.Option(metavar="NAME", help="One rung instead of all.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Verify every rung of a ladder, count what it predicts, and time it.

    [bold]ok[/]: the result equals the oracle's at every awkward size (none, one, around
    a warp, primes), memory being poisoned before.

    [bold]predicted, counted[/]: the counter that tells this rung from the one below, as
    claimed before measuring and as the simulator counts it. An [bold]x[/] behind the
    number means: times that of another rung on the same problem.

    [bold]kernel, end to end[/]: median times on the GPU, and around it with all copies. On
    the simulator nothing is timed, but wrong rungs are run too and must be
    caught.

    The status is 1 when a result is wrong, a prediction fails or a wrong rung
    passes.

    [bold]warpladder climb primer[/]

    [bold]warpladder climb primer --rung strided-access --device simulator[/]
    """
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.devices import Simulated, open_device
    from warpladder.lab.documents import row_document, wrong_document
    from warpladder.lab.registry import find_ladder, find_rung

    ladder = find_ladder(name)
    if rung is not None:
        find_rung(f"{name}/{rung}")
    where = open_device(device)
    rows, wrong = _run(ladder, where, n, rung)
    ok = not any(row.faults for row in rows) and all(result.ok for result in wrong)
    if json:
        print_json(
            {
                "ladder": ladder.name,
                "device": where.properties.name if where else "cpu",
                "simulated": isinstance(where, Simulated),
                "ok": ok,
                "rungs": [row_document(row) for row in rows],
                "wrong": [wrong_document(result) for result in wrong],
            }
        )
    else:
        console = stdout()
        console.print(f"{ladder.name} on {where.properties.name if where else 'the CPU'}")
        for part in _parts(rows, wrong):
            console.print("", part, sep="\n")
    if not ok:
        raise typer.Exit(1)


def _run(
    ladder: Ladder, device: Device | None, n: int | None, only: str | None
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
    console = stderr()
    columns = (TextColumn("climbing"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("rungs", total=total)
        for row in climb_ladder(ladder, device, simulator=SimulatedDevice, n=n, only=only):
            rows.append(row)
            bar.advance(task)
        for broken in wrong:
            caught.append(check_wrong(broken, SimulatedDevice))
            bar.advance(task)
    return rows, caught


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

    table = _empty_table("rung", "ok", "n", "kernel", "end to end", "rate")
    for row in rows:
        timing = row.timing
        table.add_row(
            row.rung.name,
            _yes(row),
            "" if row.n is None else str(row.n),
            with_prefix(timing.kernel_seconds, "s") if timing and timing.kernel_seconds else "",
            with_prefix(timing.total_seconds, "s") if timing else "",
            "" if row.rate is None else with_prefix(row.rate, f"{row.rung.task.unit}/s"),
        )
    return table


def _evidence(rows: list[Row]) -> Table:
    table = _empty_table("rung", "ok", "decisive counter", "predicted", "counted")
    table.columns[2].justify = "left"
    table.columns[2].no_wrap = False
    table.columns[2].overflow = "fold"
    for row in rows:
        decisive = _decisive(row.predictions[0]) if row.predictions else ("", "", "")
        table.add_row(row.rung.name, _yes(row), *decisive)
    return table


def _decisive(result: PredictionResult) -> tuple[str, str, str]:
    claim = result.prediction
    times = " x" if claim.than else ""
    measured = "--" if result.counted is None else f"{result.measured:.4g}{times}"
    style = "green" if result.ok else "red"
    return (
        # Its full name would be broken in the middle of a word at 80 columns.
        claim.counter.replace("_per_", "/"),
        f"{claim.relation} {claim.value:.4g}{times}",
        f"[{style}]{measured}[/]",
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

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _yes(row: Row) -> str:
    if not row.verdicts:
        return "--"
    return "[green]yes[/]" if all(v.ok for v in row.verdicts) else "[bold red]NO[/]"
