"""compute-sanitizer's four tools over every rung and wrong rung, beside the simulator's checks.

Starting Python under a tool takes seconds, so right rungs share processes; where a tool finds
anything there, or the process does not end, each of its rungs is run once more alone, so that every
finding has its rung. Wrong rungs are alone from the start: what they break ends their process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from validation.common import Entry, Request, Steps, describe, write_whole
from warpladder.device.cuda_device import CudaDevice
from warpladder.errors import KernelFaultError
from warpladder.lab.registry import find_rung, ladders
from warpladder.lab.verify import judge, pose
from warpladder.rung import Rung
from warpladder.simulator import SimulatedDevice

__all__ = [
    "PART_SECONDS", "SIMULATOR", "TOOLS", "findings", "sanitized_child", "sanitizer_steps",
]  # fmt: skip

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

#: Stands for a tool where the simulator runs the rungs instead, with all its checks.
SIMULATOR = "simulator"

#: No process is started later than that.
PART_SECONDS = 200

#: How long several rungs in a process may take, and one alone.
_TOGETHER_SECONDS, _ALONE_SECONDS = 100, 40

#: Right rungs in a process.
_TOGETHER = 6

#: The tools slow a kernel down a hundredfold, and a problem of more elements shows nothing new.
_LARGEST = 1025

_SCRIPT = Path(__file__).resolve().parent.parent / "validate_simulator.py"


@dataclass(frozen=True)
class _Ended:
    """How a process ended: after how many seconds it was stopped, or what it said."""

    stopped: float | None
    status: int | None
    said: str
    #: What the child noted about each rung that it came to the end of.
    noted: dict[str, Entry]


def sanitizer_steps(request: Request) -> Steps:
    """Have every tool and the simulator look at every rung; each step collects what they found."""
    program = "" if request.dry else _find()
    until = monotonic() + PART_SECONDS
    pool = ThreadPoolExecutor(os.cpu_count())
    right = [
        f"{ladder.name}/{rung.name}"
        for ladder in ladders()
        for rung in ladder.rungs
        if rung.on == "device"
    ]
    # Where host code alone is wrong, there is nothing in the kernels to find.
    wrong = [
        f"{ladder.name}/{one.rung.name}"
        for ladder in ladders()
        for one in ladder.wrong
        if one.caught_by != "verification"
    ]
    # Neighbours take about as long as each other: a group takes its rungs from everywhere.
    groups = -(-len(right) // _TOGETHER)
    together = [right[k::groups] for k in range(groups)] + [[path] for path in wrong]
    looking = {
        (tool, path): future
        for paths in together
        for tool in (*TOOLS, SIMULATOR)
        for future in [pool.submit(_look, tool, paths, program, request, until)]
        for path in paths
    }
    for path in (*right, *wrong):
        yield path, partial(_collect, path, looking, is_wrong=path in wrong)


def _find() -> str:
    found = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(found).exists():
        raise FileNotFoundError(
            "compute-sanitizer is not installed; it comes with the CUDA toolkit"
        )
    return found


def _collect(
    path: str, looking: dict[tuple[str, str], Future[dict[str, Entry]]], *, is_wrong: bool
) -> Entry:
    """Return what was found in a rung by each, and what of that is not as it must be."""
    found = {tool: looking[tool, path].result()[path] for tool in (*TOOLS, SIMULATOR)}
    row = {tool: one["found"] for tool, one in found.items()}
    if is_wrong:
        faults = [] if row[SIMULATOR] in {*TOOLS, "livelock"} else [SIMULATOR]
    else:
        faults = [tool for tool, one in found.items() if one["found"] not in {0, ""}]
        faults += [tool for tool, one in found.items() if one.get("fault")]
    differences = [{"by": tool, **found[tool]} for tool in dict.fromkeys(faults)]
    return {"wrong": is_wrong, "row": row, "differences": differences}


# --- looking, from outside ------------------------------------------------------------------------


def _look(
    tool: str, paths: Sequence[str], program: str, request: Request, until: float
) -> dict[str, Entry]:
    """Return for each rung how many findings a tool has, or in words why that is not known.

    Of the simulator it is the name of the check that stopped the rung, nothing where none did.
    """
    limit = _ALONE_SECONDS if len(paths) == 1 else _TOGETHER_SECONDS
    seconds = min(limit, until - monotonic())
    if seconds <= 0:
        return {path: {"found": "not run for want of time"} for path in paths}
    ended = _run(tool, paths, program, request, seconds)
    count = findings(ended.said)
    complete = ended.stopped is None and all(path in ended.noted for path in paths)
    if tool == SIMULATOR and complete:
        return {path: {"found": note.pop("check", "")} | note for path, note in ended.noted.items()}
    if complete and (count == 0 or (count is not None and len(paths) == 1)):
        return {path: {"found": count} | ended.noted[path] for path in paths}
    if len(paths) > 1:
        alone = [_look(tool, [path], program, request, until) for path in paths]
        return {path: found for one in alone for path, found in one.items()}
    return {paths[0]: {"found": _reason(ended)} | ended.noted.get(paths[0], {})}


def _reason(ended: _Ended) -> str:
    if ended.stopped is not None:
        return f"did not end in {ended.stopped:.0f} s"
    last = (ended.said.strip().splitlines() or ["nothing was said"])[-1]
    return f"ended with status {ended.status}: {last[:200]}"


def findings(said: str) -> int | None:
    """Return how many findings compute-sanitizer sums up, None where it did not come to that.

    Examples
    --------
    >>> findings("========= ERROR SUMMARY: 24 errors")
    24
    >>> findings("========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)")
    1
    """
    if re.search(r"^=+ Internal ", said, re.MULTILINE):
        return None  # the tool itself failed, and then sums up what it has not looked for
    summary = re.search(
        r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)", said, re.MULTILINE
    )
    return int(summary[1]) if summary else None


def _run(tool: str, paths: Sequence[str], program: str, request: Request, seconds: float) -> _Ended:
    with tempfile.TemporaryDirectory(prefix="validate-") as work:
        state, said = Path(work) / "noted.json", Path(work) / "said.txt"
        child = [sys.executable, str(_SCRIPT), "--sanitized-child", tool, *paths]
        child += ["--state", str(state), *["--dry"] * request.dry]
        with said.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own command
                child if request.dry or tool == SIMULATOR else [*_options(program, tool), *child],
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                status, stopped = process.wait(seconds), None
            except subprocess.TimeoutExpired:
                # With what the tool has started: a kernel that spins takes the GPU from the others.
                os.killpg(process.pid, signal.SIGKILL)
                status, stopped = process.wait(), seconds
        noted = json.loads(state.read_text()) if state.exists() else {}
        return _Ended(stopped, status, said.read_text(errors="replace"), noted)


def _options(program: str, tool: str) -> list[str]:
    options = [program, "--tool", tool, "--target-processes", "all", "--launch-timeout", "0"]
    # A kernel that was stopped for what it did is not counted once more as a call that failed.
    return [*options, "--report-api-errors", "no"] if tool == "memcheck" else options


# --- looking, from inside -------------------------------------------------------------------------


def sanitized_child(tool: str, paths: Sequence[str], state: Path, request: Request) -> None:
    """Run rungs, and note after each whether its answer is right and which check stopped it."""
    gpu = None if request.dry or tool == SIMULATOR else CudaDevice()
    noted: dict[str, Entry] = {}
    for path in paths:
        # A simulated device is of no use after a fault; a GPU neither, and then nothing follows.
        noted[path] = _run_rung(path, SimulatedDevice() if gpu is None else gpu)
        write_whole(state, json.dumps(noted))
    if request.dry and tool != SIMULATOR:
        # In a rehearsal the simulator's checks stand for the tools.
        found = sum(note.get("check") == tool for note in noted.values())
        print(f"========= ERROR SUMMARY: {found} error{'s' * (found != 1)}")


def _run_rung(path: str, device: Any) -> Entry:
    _, rung = find_rung(path)
    for n in _sizes(path, rung):
        problem = pose(rung.task, n)
        try:
            result = rung.run(device, problem)
            device.synchronize()
        except KernelFaultError as fault:
            return {"check": fault.check, "fault": str(fault)[:300]}
        except Exception as fault:  # noqa: BLE001 - what a broken kernel ends in is noted
            return {"fault": describe(fault)}
        verdict = judge(rung, n, problem, result)
        if not verdict.ok:
            return {"fault": f"n = {n}: {verdict.fault}"}
    return {}


def _sizes(path: str, rung: Rung) -> tuple[int, ...]:
    """Return the size at which a wrong rung is shown, or two of those at which one is verified."""
    ladder, _ = find_rung(path)
    for wrong in ladder.wrong:
        if wrong.rung is rung:
            return (wrong.n,)
    limit = min(_LARGEST, rung.max_n or _LARGEST)
    sizes = sorted(n for n in rung.task.sizes if 0 < n <= limit)
    return tuple(dict.fromkeys((sizes[len(sizes) // 2], sizes[-1])))
