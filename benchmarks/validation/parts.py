"""Running the parts: each a process of its own with a time limit, some of them side by side.

A part writes what it found after every step, so that what ends it takes only what is not done yet.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic

from validation.common import Entry, Request, Steps, describe, machine_steps, write_whole
from validation.launches import SCRIPT, counter_steps
from validation.occupancy import occupancy_steps
from validation.pipelines import pipeline_steps
from validation.results import micro_steps, rung_steps
from validation.sanitizer import PART_SECONDS, sanitizer_steps

__all__ = ["GROUPS", "PARTS", "run_group", "run_part"]

PARTS: dict[str, Callable[[Request], Steps]] = {
    "machine": machine_steps,
    "rungs": rung_steps,
    "micro": micro_steps,
    "occupancy": occupancy_steps,
    "counters": counter_steps,
    "pipelines": pipeline_steps,
    "sanitizer": sanitizer_steps,
}

#: Parts that run side by side, one group after the other. Counters and times need the GPU alone;
#: the last part starts as many processes as there are cores.
GROUPS = (
    ("machine",),
    ("rungs", "micro", "occupancy"),
    ("counters",),
    ("pipelines",),
    ("sanitizer",),
)

#: Seconds after which a part is stopped.
_LIMITS = {
    "machine": 60,
    "rungs": 100,
    "micro": 120,
    "occupancy": 60,
    "counters": 230,
    "pipelines": 60,
    # It ends by itself: what it starts would outlive it.
    "sanitizer": PART_SECONDS + 30,
}

_LOST = "this process has lost the GPU"


def run_part(part: str, state: Path, request: Request) -> int:
    """Run the steps of a part and write what is found after each; return the exit status."""
    entries: dict[str, Entry] = {}
    document: Entry = {"entries": entries}
    began = monotonic()
    try:
        steps = list(PARTS[part](request))
    except Exception as fault:  # noqa: BLE001 - recorded; the other parts go on
        write_whole(state, json.dumps(document | {"error": describe(fault)}))
        return 1
    document["steps"] = [name for name, _ in steps]
    for name, step in steps:
        document["running"] = name
        write_whole(state, json.dumps(document, default=str))
        try:
            entries[name] = step()
        except Exception as fault:  # noqa: BLE001 - recorded, and the rest goes on
            place = traceback.extract_tb(fault.__traceback__)[-1]
            entries[name] = {
                "error": f"{describe(fault)} ({Path(place.filename).name}:{place.lineno})"
            }
        entry = entries[name]
        if found := entry.get("error") or entry.get("differences"):
            print(f"[{part}] {name}: {str(found)[:300]}", flush=True)
        elif part != "micro":
            print(f"[{part}] {name}: done at {monotonic() - began:.1f} s", flush=True)
        if _LOST in str(entry.get("error")):
            break
    del document["running"]
    write_whole(state, json.dumps(document, default=str))
    print(f"[{part}] {len(entries)} steps in {monotonic() - began:.1f} s", flush=True)
    return int(len(entries) < len(steps))


def run_group(
    parts: Iterable[str], folder: Path, request: Request, until: float
) -> dict[str, Entry]:
    """Run parts side by side, each until its limit; return what they found."""
    began = monotonic()
    found = {}
    # The shortest limit first, so that waiting for one part delays the end of no other.
    started = [(part, _start(part, folder, request)) for part in sorted(parts, key=_LIMITS.get)]  # type: ignore[arg-type]
    for part, process in started:
        limit = min(began + _LIMITS[part], until)
        ended = ""
        try:
            if status := process.wait(max(0.0, limit - monotonic())):
                ended = f"the process ended with status {status}"
        except subprocess.TimeoutExpired:
            # With whatever it started: a profiler left behind would disturb what comes next.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        found[part] = _read(_state(folder, part), ended)
    return found


def _state(folder: Path, part: str) -> Path:
    return folder / f"{part}.json"


def _start(part: str, folder: Path, request: Request) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-u", str(SCRIPT), "--part", part, "--out", str(request.out)]
    command += ["--state", str(_state(folder, part)), *["--dry"] * request.dry]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    return subprocess.Popen(  # noqa: S603 - our own script
        command, env=environment, start_new_session=True
    )


def _read(state: Path, ended: str) -> Entry:
    """Return what a part wrote; the steps that it did not come to are skipped, with the reason."""
    document: Entry = json.loads(state.read_text()) if state.exists() else {"entries": {}}
    running = document.pop("running", None)
    steps = document.pop("steps", [])
    for name in steps:
        if name not in document["entries"]:
            kind = "error" if ended and name == running else "skipped"
            document["entries"][name] = {kind: ended or "the time of this part was over"}
    if not steps:
        document.setdefault("error", ended or "stopped before its first step")
    return document
