"""``warpladder submit``: a command for the queue of a shared machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpladder.cli.options import Json

__all__ = ["submit"]


def submit(
    command: Annotated[
        list[str], typer.Argument(help="The program and its arguments.", metavar="COMMAND...")
    ],
    scheduler: Annotated[
        str, typer.Option(metavar="NAME", help="slurm or sge; auto takes the one that is here.")
    ] = "auto",
    name: Annotated[
        str | None,
        typer.Option(
            "--name", help="What the queue calls the job; else by the command.", metavar="NAME"
        ),
    ] = None,
    into: Annotated[
        Path, typer.Option(help="Folder of jobs; each gets a folder of its own in it.")
    ] = Path("jobs"),
    parts: Annotated[
        int,
        typer.Option(help="So many jobs; {part} and {parts} in the command are filled in.", min=1),
    ] = 1,
    time: Annotated[
        str | None, typer.Option("--time", help="Most time, as 1:30:00 or 90m.", metavar="TIME")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory to reserve, as 4GB.", metavar="SIZE")
    ] = None,
    cpus: Annotated[int | None, typer.Option(help="Cores to reserve.", min=1)] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs to reserve.", min=1)] = None,
    queue: Annotated[
        str | None, typer.Option(help="Queue of SGE, partition of SLURM.", metavar="NAME")
    ] = None,
    account: Annotated[str | None, typer.Option(help="Who is charged.", metavar="NAME")] = None,
    mail: Annotated[
        str | None, typer.Option(help="Whom to tell of begin and end.", metavar="ADDRESS")
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(
            help="Shell before the command, as 'module load cuda'; any number.", metavar="LINE"
        ),
    ] = None,
    directive: Annotated[
        list[str] | None,
        typer.Option(
            help="Further option of the scheduler, as '--qos=long'; any number.", metavar="OPTION"
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write and show the scripts; submit nothing.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until all have ended, and collect.")
    ] = False,
    json: Json = False,
) -> None:
    """Submit a command to the queue of a shared machine (SLURM, SGE).

    Options for submitting stand before the command, the command's own
    after it. It runs in this folder, with this environment's programs, in a
    job of one machine. [bold]warpladder jobs[/] shows how it stands and collects
    what came out.

    [bold]warpladder submit --gpus 1 --time 30m warpladder explore scaling --json[/]

    [bold]warpladder submit --parts 8 --memory 8GB -- warpladder overlap big.dat -t 3
      -o pairs-{part}.parquet --part {part}/{parts}[/]
    """
    from warpladder.cli.amounts import as_bytes, as_seconds
    from warpladder.cli.jobs import collect, document_of, show
    from warpladder.cli.options import options_named
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.queue import jobs as queued
    from warpladder.lab.queue.request import Request
    from warpladder.lab.queue.schedulers import find_scheduler

    if dry_run and wait:
        raise typer.BadParameter("--dry-run submits nothing that --wait could wait for")
    with options_named((), {"directives": "--directive"}):
        request = Request(
            command=tuple(command),
            name=name or _name_of(command),
            seconds=as_seconds(time),
            memory_bytes=as_bytes(memory, least=2**20),
            cpus=cpus,
            gpus=gpus,
            queue=queue,
            account=account,
            mail=mail,
            setup=tuple(setup or ()),
            directives=tuple(directive or ()),
        )
    target = find_scheduler(scheduler)
    requests = queued.parts_of(request, parts)
    where = "" if into == Path("jobs") else f" {into}"
    jobs: list[queued.Job] = []
    try:
        for one in requests:
            jobs.append(queued.submit(one, target, into, dry_run=dry_run))  # noqa: PERF401 - those before a refusal are told
        if wait:
            collect(jobs, wait=True, json=json)
            return
    except BaseException as fault:
        if any(job.job_id for job in jobs) and not isinstance(fault, typer.Exit):
            names = ", ".join(job.folder.name for job in jobs)
            fault.add_note(
                f"submitted, and not ended by this: {names}; see `warpladder jobs{where}`"
            )
        raise
    if json:
        scripts = (
            {str(job.folder): job.script.read_text(encoding="utf-8") for job in jobs}
            if dry_run
            else {}
        )
        seen = [queued.Seen(job, "written" if dry_run else "waiting") for job in jobs]
        print_json({"jobs": [document_of(one) for one in seen], "scripts": scripts})
    elif dry_run:
        for job in jobs:
            typer.echo(f"{job.script}:\n{job.script.read_text(encoding='utf-8')}")
    else:
        show(stdout(), [queued.Seen(job, "waiting") for job in jobs])
        typer.echo(f"`warpladder jobs{where}` shows how they stand", err=True)


def _name_of(command: list[str]) -> str:
    """Return a name for a job by its command: ``overlap`` for ``warpladder overlap ...``."""
    import re

    program = Path(command[0]).name
    words = [program, *(word for word in command[1:2] if program == "warpladder")]
    name = re.sub(r"[^\w.-]", "", words[-1])
    return name if name[:1].isalpha() else f"job-{name}"
