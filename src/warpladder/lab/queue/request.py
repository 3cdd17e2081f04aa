"""What a job asks for, and the script that runs it.

The script says itself how its command ended, in a file beside it: a scheduler without accounting
forgets a job minutes after its end. What leaves no such file was killed, and how is then for the
scheduler to tell.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from warpladder.errors import InputError

__all__ = ["ENDED", "ERRORS", "OUTPUT", "Request", "body_of"]

OUTPUT, ERRORS, ENDED = "output.txt", "errors.txt", "ended.txt"
"""Files in a job's folder: what its command printed, what it said of errors, how it ended."""

_WORD = re.compile(r"[\w.+:@=/,-]+")


@dataclass(frozen=True)
class Request:
    """A command to be run by a scheduler, and what it may take.

    Attributes
    ----------
    command
        The program and its arguments.
    name
        What the queue calls the job: letters, digits and ``._-``.
    seconds
        Most time it may run, None for what the queue allows.
    memory_bytes
        Memory to reserve, None for what the queue gives.
    cpus, gpus
        Cores and GPUs to reserve, on one machine.
    queue
        The queue (of SGE) or partition (of SLURM), None for its own choice.
    account
        Who is charged.
    mail
        Who is told when the job begins and when it ends.
    setup
        Lines of shell before the command, such as ``module load cuda``.
    directives
        Further options for the scheduler, as its command line has them.
    """

    command: tuple[str, ...]
    name: str
    seconds: int | None = None
    memory_bytes: int | None = None
    cpus: int | None = None
    gpus: int | None = None
    queue: str | None = None
    account: str | None = None
    mail: str | None = None
    setup: tuple[str, ...] = field(default=())
    directives: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse what a line of a script cannot hold.

        Raises
        ------
        InputError
            An option is out of range, or has a blank or a line break where a script can have none.
        """
        if not self.command:
            raise InputError("command: there is none to run; write it after the options")
        if not re.fullmatch(r"[A-Za-z][\w.-]{0,60}", self.name):
            raise InputError(
                f"name={self.name!r} must begin with a letter and have letters, digits, '.', '_' "
                "and '-' only"
            )
        for option in ("queue", "account", "mail"):
            value = getattr(self, option)
            if value is not None and not _WORD.fullmatch(value):
                raise InputError(f"{option}={value!r} must be one word")
        for option in ("seconds", "memory_bytes", "cpus", "gpus"):
            value = getattr(self, option)
            if value is not None and value < 1:
                raise InputError(f"{option}={value} must be at least 1")
        for option in ("setup", "directives"):
            for line in getattr(self, option):
                if "\n" in line or "\r" in line:
                    raise InputError(f"{option}={line!r} must be one line")


def check_folder(folder: Path) -> None:
    """Refuse a folder whose name schedulers would read as something else.

    Raises
    ------
    InputError
        The path has blanks or characters that stand for something in names of output files.
    """
    if not _WORD.fullmatch(str(folder)):
        raise InputError(
            f"into: schedulers cannot write to {folder}: letters, digits and ._+:@=,- may stand in "
            "the names of its folders"
        )


def body_of(request: Request, folder: Path, work_folder: Path, programs: Path) -> list[str]:
    """Return the lines of a job's script, below what is for the scheduler.

    Parameters
    ----------
    request
        The command.
    folder
        The job's own folder.
    work_folder
        Where the command is to run.
    programs
        Where programs are that must be found first: this environment's.
    """
    ended = shlex.quote(str(folder / ENDED))
    lines = [
        "",
        # Before anything that can fail: a script that says nothing counts as killed.
        f'tell_end() {{ echo "$1 $SECONDS" > {ended}.part && mv {ended}.part {ended}; }}',
        "trap 'tell_end $?' EXIT",
        # Without these an end by a signal would count as that of the command before.
        *(f"trap 'exit {status}' {name}" for name, status in (("INT", 130), ("TERM", 143))),
        f"cd {shlex.quote(str(work_folder))} || exit",
        f'export PATH={shlex.quote(str(programs))}:"$PATH"',
    ]
    if request.cpus is not None:
        # A machine may have more cores than the job was given.
        lines.append(f"export NUMBA_NUM_THREADS={request.cpus}")
    if request.setup:
        # The command is not run where what it needs failed.
        lines += ["set -e", *request.setup, "set +e"]
    return [*lines, shlex.join(request.command)]
