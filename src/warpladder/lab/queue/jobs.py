"""Jobs in folders: each has its script, a record, and what its command printed.

A folder of jobs is all there is: no program runs between submitting, looking and collecting, and
any machine that sees the folder may do each of them.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.atomic import atomic_write
from warpladder.lab.queue.request import ENDED, ERRORS, OUTPUT, Request, check_folder
from warpladder.lab.queue.schedulers import Scheduler, find_scheduler
from warpladder.lab.records import first_fault

__all__ = [
    "Job",
    "Seen",
    "look",
    "parts_of",
    "printed_by",
    "read_jobs",
    "submit",
    "wait_for",
]

SCRIPT, RECORD = "job.sh", "job.json"

_SECONDS_BETWEEN_LOOKS = 2.0
# The file of a job that has just ended may take a moment to show on another machine: so many
# seconds are waited for it, by what the scheduler says; where it knows nothing the job may be old.
_PATIENCE = {"completed": 10.0, "": 1.0}


@dataclass(frozen=True)
class Job:
    """A job that was written, and submitted if it has a number."""

    folder: Path
    name: str
    scheduler: str
    command: tuple[str, ...]
    submitted: str
    job_id: str | None = None

    @property
    def script(self) -> Path:
        """What the scheduler runs."""
        return self.folder / SCRIPT


@dataclass(frozen=True)
class Seen:
    """How it stands with a job.

    Attributes
    ----------
    state
        ``"written"`` (not submitted), ``"waiting"``, ``"running"``, ``"done"``, ``"failed"`` (its
        command ended with a status that is not 0) or ``"killed"`` (it ended without a word).
    status, seconds
        What its command ended with, and after how long; None where it did not end so.
    said
        A word of the scheduler's, where it has one.
    """

    job: Job
    state: Literal["written", "waiting", "running", "done", "failed", "killed"]
    status: int | None = None
    seconds: int | None = None
    said: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state not in {"waiting", "running"}


def parts_of(request: Request, parts: int) -> list[Request]:
    """Return the requests of a command in parts, ``{part}`` and ``{parts}`` filled in.

    Raises
    ------
    InputError
        Every part would run the same command.

    Examples
    --------
    >>> request = Request(("warpladder", "overlap", "a.dat", "--part", "{part}/{parts}"), "join")
    >>> [part.command[-1] for part in parts_of(request, 2)]
    ['1/2', '2/2']
    """
    if parts < 1:
        raise InputError(f"parts={parts} must be at least 1")
    if parts == 1:
        return [_filled(request, 1, 1)]
    if not any("{part}" in word for word in request.command):
        raise InputError(
            f"parts={parts} would run one command {parts} times: write {{part}} where its parts "
            "differ, as in --part {part}/{parts} -o {part}.parquet"
        )
    return [
        replace(_filled(request, part, parts), name=f"{request.name}-{part}")
        for part in range(1, parts + 1)
    ]


def _filled(request: Request, part: int, parts: int) -> Request:
    words = (
        word.replace("{part}", str(part)).replace("{parts}", str(parts)) for word in request.command
    )
    return replace(request, command=tuple(words))


def submit(request: Request, scheduler: Scheduler, into: Path, *, dry_run: bool = False) -> Job:
    """Write the script and the record of a job into a new folder of its own, and submit it.

    Parameters
    ----------
    request
        What to run.
    scheduler
        Who is to run it.
    into
        The folder of jobs; it is made where it is not there.
    dry_run
        Whether to write only.

    Raises
    ------
    InputError
        The folder cannot be written, or not be named in a script.
    DeviceError
        The scheduler refuses the job, of which then nothing is left.
    """
    into = into.absolute()
    check_folder(into)
    job = Job(
        folder=_new_folder(into, request.name),
        name=request.name,
        scheduler=scheduler.name,
        command=request.command,
        submitted=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        text = scheduler.script(request, job.folder, Path.cwd(), Path(sys.executable).parent)
        with atomic_write(job.script) as file:
            file.write(text.encode())
        if not dry_run:
            job = replace(job, job_id=scheduler.submit(job.script))
        _record(job)
    except BaseException:
        if job.job_id is None:
            shutil.rmtree(job.folder, ignore_errors=True)
        raise
    return job


def _new_folder(into: Path, name: str) -> Path:
    try:
        into.mkdir(parents=True, exist_ok=True)
        for number in range(1, 100_000):
            folder = into / f"{name}.{number}"
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise InputError(f"into: cannot write {into}: {error.strerror or error}") from error
    raise InputError(f"into: {into} has 99,999 jobs called {name}; take another folder or name")


def _record(job: Job) -> None:
    document = {name: value for name, value in asdict(job).items() if name != "folder"}
    with atomic_write(job.folder / RECORD) as file:
        file.write(json.dumps(document, indent=2).encode())


def read_jobs(paths: Sequence[Path]) -> list[Job]:
    """Return the jobs in folders, in the order in which they were written.

    Parameters
    ----------
    paths
        Folders of jobs, or single jobs' own.

    Raises
    ------
    InputError
        A path is no folder, or has no job in it.
    FileFormatError
        A record is damaged.
    """
    found: list[Job] = []
    for path in paths:
        if not path.is_dir():
            raise InputError(f"there is no folder of jobs {path}; `warpladder submit` makes one")
        inner = (
            [path] if (path / RECORD).is_file() else [r.parent for r in path.glob(f"*/{RECORD}")]
        )
        if not inner:
            raise InputError(
                f"no job is in {path}; `warpladder submit --into {shlex.quote(str(path))}` puts "
                "one there"
            )
        found += sorted(map(_read, inner), key=lambda job: (job.submitted, _last_number(job)))
    return found


def _last_number(job: Job) -> tuple[int, ...]:
    numbers = [word for word in job.folder.name.replace("-", ".").split(".") if word.isdecimal()]
    return tuple(map(int, numbers))


def _read(folder: Path) -> Job:
    path = folder / RECORD
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        command = tuple(map(str, kept.pop("command")))
        job = Job(folder=folder, command=command, **kept)
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise FileFormatError(path, None, "the record of a job", str(fault)) from None
    if wrong := first_fault(job):
        raise FileFormatError(path, None, "the record of a job", str(wrong))
    return job


def look(job: Job) -> Seen:
    """Return how it stands with a job.

    Raises
    ------
    DeviceError
        Nothing is known of its end, and its scheduler is not here or does not answer.
    """
    if ended := _ended(job):
        return ended
    if job.job_id is None:
        return Seen(job, "written")
    state, said = find_scheduler(job.scheduler).state(job.job_id)
    if state != "gone":
        return Seen(job, state, said=said)
    # It may have ended between the two looks.
    until = time.monotonic() + _PATIENCE.get(said, 0.0)
    while not (ended := _ended(job)):
        if time.monotonic() >= until:
            return Seen(job, "killed", said=said)
        time.sleep(0.1)
    return ended


def _ended(job: Job) -> Seen | None:
    try:
        status, seconds = map(int, (job.folder / ENDED).read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return None
    except ValueError as fault:
        raise FileFormatError(job.folder / ENDED, 1, "a status and seconds", str(fault)) from None
    return Seen(job, "failed" if status else "done", status, seconds)


def wait_for(jobs: Sequence[Job], progress: Callable[[float], None]) -> list[Seen]:
    """Return how jobs have ended, once all have.

    Raises
    ------
    DeviceError
        As `look` does.
    """
    seen = [look(job) for job in jobs]
    while not all(one.is_over for one in seen):
        progress(sum(one.is_over for one in seen) / len(seen))
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        seen = [one if one.is_over else look(one.job) for one in seen]
    return seen


def printed_by(job: Job) -> tuple[str, str]:
    """Return what a job's command has printed so far, and what it has said of errors."""
    output, errors = (
        path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        for path in (job.folder / OUTPUT, job.folder / ERRORS)
    )
    return output, errors
