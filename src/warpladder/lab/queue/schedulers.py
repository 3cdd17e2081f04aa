"""What SLURM and SGE call what a job asks for; the words to them and from them are qtoolkit's.

qtoolkit writes the lines for the scheduler from a table of options, knows the commands that submit,
ask and cancel, and reads what they say. What it lacks stands here: the names of options that mean
the same, and what a scheduler says of jobs it has forgotten.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from warpladder.errors import DeviceError, InputError, MissingExtraError
from warpladder.lab.queue.request import ERRORS, OUTPUT, Request, body_of

__all__ = ["SCHEDULERS", "Scheduler", "State", "find_scheduler"]

State = Literal["waiting", "running", "gone"]
"""What a scheduler says of a job: it has not begun, it runs, or it is not heard of any more."""

# The last stage that each of qtoolkit's states has a part in. One that failed is gone.
_STATES: dict[str, State] = {
    "QUEUED": "waiting",
    "QUEUED_HELD": "waiting",
    "REQUEUED": "waiting",
    "REQUEUED_HELD": "waiting",
    "RUNNING": "running",
    "SUSPENDED": "running",
}


def _slurm(request: Request) -> dict[str, Any]:
    return {
        "job_name": request.name,
        "nodes": 1,
        "ntasks": 1,
        "cpus_per_task": request.cpus,
        "gpus": request.gpus,
        "mem": request.memory_bytes and f"{_mebibytes(request)}M",
        "time": request.seconds and _clock(request.seconds),
        "partition": request.queue,
        "account": request.account,
        "mail_user": request.mail,
        "mail_type": request.mail and "BEGIN,END,FAIL",
        "qverbatim": [f"#SBATCH {line}" for line in request.directives],
    }


def _sge(request: Request) -> dict[str, Any]:
    resources = []
    if request.memory_bytes:
        # It counts for each core.
        resources.append(f"mem_free={-(-_mebibytes(request) // (request.cpus or 1))}M")
    if request.gpus:
        resources.append(f"gpu={request.gpus}")
    further = ["-S /bin/bash", *([f"-A {request.account}"] if request.account else [])]
    return {
        "job_name": request.name,
        "model": request.cpus and f"smp {request.cpus}",
        "select": ",".join(resources),
        "walltime": request.seconds and _clock(request.seconds),
        "queue": request.queue,
        "mail_user": request.mail,
        "mail_type": request.mail and "bea",
        "qverbatim": [f"#$ {line}" for line in (*further, *request.directives)],
    }


def _mebibytes(request: Request) -> int:
    return -(-(request.memory_bytes or 0) // 2**20)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@dataclass(frozen=True)
class Scheduler:
    """A program that keeps a queue of jobs.

    Attributes
    ----------
    name
        ``"slurm"`` or ``"sge"``.
    program
        The command that submits, by which it is known to be there.
    options
        What it calls what a `Request` asks for.
    """

    name: str
    program: str
    options: Callable[[Request], dict[str, Any]]

    @cached_property
    def _manager(self) -> Any:
        try:
            from qtoolkit.io.sge import SGEIO
            from qtoolkit.io.slurm import SlurmIO
            from qtoolkit.manager import QueueManager
        except ImportError as error:
            raise MissingExtraError("submitting jobs", "qtoolkit", "queue") from error
        return QueueManager({"slurm": SlurmIO, "sge": SGEIO}[self.name]())

    def is_here(self) -> bool:
        """Return whether its commands are on this machine."""
        return shutil.which(self.program) is not None

    def script(self, request: Request, folder: Path, work_folder: Path, programs: Path) -> str:
        """Return the script of a job, which is to stand in a folder of its own."""
        options = {
            **self.options(request),
            "qout_path": folder / OUTPUT,
            "qerr_path": folder / ERRORS,
        }
        options["qverbatim"] = "\n".join(options["qverbatim"])
        given = {name: value for name, value in options.items() if value}
        body = "\n".join(body_of(request, folder, work_folder, programs))
        text: str = self._words.get_submission_script(body, given)
        return f"{text}\n"

    def submit(self, script: Path) -> str:
        """Give a script to the queue; return the number of the job.

        Raises
        ------
        DeviceError
            The scheduler is not here, or refuses it; what it said is quoted.
        """
        from qtoolkit.core.exceptions import QTKError

        out, error, status = self._tell(self._words.get_submit_cmd(script))
        try:
            found = self._words.parse_submit_output(status, out, error)
        except QTKError:
            found = None
        if status or found is None or not found.job_id:
            raise DeviceError(f"{self.program} refused {script}: {_brief(error or out)}")
        return str(found.job_id)

    def state(self, job_id: str) -> tuple[State, str]:
        """Return how it stands with a job, and a word of the scheduler's about that.

        Raises
        ------
        DeviceError
            The scheduler is not here, or does not answer: then nothing is known of the job.
        """
        from qtoolkit.core.exceptions import QTKError

        out, error, status = self._tell(self._words.get_job_cmd(job_id))
        if "invalid job id" in error.lower():
            return "gone", ""
        try:
            job = self._words.parse_job_output(status, out, error, job_id)
        except (QTKError, LookupError, ValueError) as fault:
            raise DeviceError(
                f"{self.name} does not say how job {job_id} is: {_brief(error or str(fault))}"
            ) from fault
        if job is None:
            return "gone", ""
        said = job.sub_state.name.lower().replace("_", " ")
        return _STATES.get(job.state.name, "gone"), said

    def cancel(self, job_id: str) -> None:
        """Take a job out of the queue, or end it.

        Raises
        ------
        DeviceError
            The scheduler is not here, or cannot.
        """
        out, error, status = self._tell(self._words.get_cancel_cmd(job_id))
        if status:
            raise DeviceError(f"{self.name} did not cancel job {job_id}: {_brief(error or out)}")

    @property
    def _words(self) -> Any:
        """Return what knows the scheduler's commands and reads its answers."""
        return self._manager.scheduler_io

    def _tell(self, command: str) -> tuple[str, str, int]:
        """Return what a command of the scheduler prints, what it says of errors, and its status."""
        if not self.is_here():
            raise DeviceError(
                f"there is no {self.name} on this machine ({self.program} is not found); "
                "--dry-run writes the script without it"
            )
        found: tuple[str, str, int] = self._manager.execute_cmd(command)
        return found


SCHEDULERS = (Scheduler("slurm", "sbatch", _slurm), Scheduler("sge", "qsub", _sge))
"""What jobs can be given to, in the order in which it is looked for."""


def find_scheduler(name: str) -> Scheduler:
    """Return the scheduler of a name; of ``"auto"`` the one that is here.

    Raises
    ------
    InputError
        The name is not known.
    DeviceError
        None is here.
    """
    names = [scheduler.name for scheduler in SCHEDULERS]
    if name == "auto":
        for scheduler in SCHEDULERS:
            if scheduler.is_here():
                return scheduler
        raise DeviceError(
            "there is neither SLURM (sbatch) nor SGE (qsub) on this machine; name one with "
            "--scheduler and write its script with --dry-run"
        )
    if name not in names:
        raise InputError(f"scheduler={name!r} must be one of auto, {', '.join(names)}")
    return SCHEDULERS[names.index(name)]


def _brief(text: str) -> str:
    return " ".join(text.split())[:300]
