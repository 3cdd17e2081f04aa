"""``warpladder jobs``: how submitted jobs stand, and what came out of them."""

from __future__ import annotations

import json as json_module
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpladder.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console

    from warpladder.lab.queue.jobs import Job, Seen

__all__ = ["collect", "document_of", "jobs", "show"]


def jobs(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of jobs, or single jobs' own; else jobs.", show_default=False),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until all have ended.")] = False,
    collected: Annotated[
        bool,
        typer.Option("--collect", help="Print what their commands printed, in order."),
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="End those that wait or run, first.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how jobs of [bold]warpladder submit[/] stand, and collect what came out.

    A job is written, waiting, running, done, failed (its command ended with a
    status that is not 0) or killed (it was ended before its command was).
    With --collect the status is 1 unless all are done.

    [bold]warpladder jobs[/]                  a table of what is in the folder jobs

    [bold]warpladder jobs --wait --collect[/]  what all printed, once they have ended

    [bold]warpladder jobs jobs/explore.1 --json --collect[/]  with the JSON it printed
    """
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.queue import jobs as queued

    found = queued.read_jobs(folders or [Path("jobs")])
    if cancel:
        _cancel(found)
    if collected:
        collect(found, wait=wait, json=json)
        return
    seen = _seen(found, wait)
    if json:
        print_json({"jobs": [document_of(one) for one in seen]})
    else:
        show(stdout(), seen)


def _cancel(found: Sequence[Job]) -> None:
    """End what waits or runs; what cannot be ended is told once the others are."""
    from warpladder.errors import DeviceError
    from warpladder.lab.queue.jobs import look
    from warpladder.lab.queue.schedulers import find_scheduler

    faults = []
    for job in found:
        try:
            if job.job_id is not None and not look(job).is_over:
                find_scheduler(job.scheduler).cancel(job.job_id)
        except DeviceError as fault:
            faults.append(str(fault))
    if faults:
        raise DeviceError("; ".join(faults))


def _seen(found: Sequence[Job], wait: bool) -> list[Seen]:
    from warpladder.cli.progress import progress_bar
    from warpladder.lab.queue import jobs as queued

    if not wait:
        return [queued.look(job) for job in found]
    with progress_bar("waiting") as progress:
        return queued.wait_for(found, progress)


def collect(found: Sequence[Job], *, wait: bool, json: bool) -> None:
    """Print what jobs printed, in order; leave with status 1 unless all are done."""
    from warpladder.cli.output import print_json
    from warpladder.lab.queue.jobs import printed_by

    seen = _seen(found, wait)
    if json:
        print_json({"jobs": [{**document_of(one), **_printed(one.job)} for one in seen]})
    else:
        for one in seen:
            output, errors = printed_by(one.job)
            if one.state != "done":
                typer.echo(f"warpladder: job {one.job.folder.name} {_told(one)}", err=True)
            typer.echo(output, nl=False)
            typer.echo(errors, nl=False, err=True)
    if any(one.state != "done" for one in seen):
        raise typer.Exit(1)


def document_of(seen: Seen) -> dict[str, Any]:
    """Return how it stands with a job, for JSON."""
    job = seen.job
    return {
        "folder": str(job.folder),
        "name": job.name,
        "scheduler": job.scheduler,
        "id": job.job_id,
        "command": list(job.command),
        "submitted": job.submitted,
        "state": seen.state,
        "status": seen.status,
        "seconds": seen.seconds,
        "said": seen.said,
    }


def _printed(job: Job) -> dict[str, Any]:
    """Return what a command printed: as what it says where it is JSON, else as text."""
    from warpladder.lab.queue.jobs import printed_by

    output, errors = printed_by(job)
    try:
        return {"output": json_module.loads(output), "errors": errors}
    except ValueError:
        return {"output": output, "errors": errors}


def show(console: Console, seen: Sequence[Seen]) -> None:
    """Print a table of jobs."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("job", "number", "state", "s"):
        table.add_column(name, justify="right" if name == "s" else "left", no_wrap=name != "state")
    table.add_column("command", overflow="fold")
    for one in seen:
        table.add_row(
            one.job.folder.name,
            f"{one.job.scheduler} {one.job.job_id or '-'}",
            _told(one),
            "" if one.seconds is None else f"{one.seconds:,}",
            shlex.join(one.job.command),
        )
    console.print(table)


def _told(seen: Seen) -> str:
    if seen.state == "failed":
        return f"failed, status {seen.status}"
    has_word = seen.said and seen.said != seen.state
    return f"{seen.state}, {seen.said}" if has_word and seen.state != "waiting" else seen.state
