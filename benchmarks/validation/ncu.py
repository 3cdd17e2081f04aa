"""Nsight Compute: running a process under it, and reading what it writes."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from time import monotonic

from validation.common import Entry, describe, find_ncu

__all__ = ["match_rows", "parse_ncu_csv", "profile", "write_ncu_csv"]

_COLUMNS = ("ID", "Kernel Name", "Block Size", "Grid Size")


def profile(
    child: list[str], metrics: Iterable[str], log: Path, seconds: float, *, dry: bool
) -> Entry:
    """Run ``child`` under Nsight Compute, which writes to ``log``; return how that went.

    For a rehearsal the child writes the file by itself.
    """
    ncu = "dry" if dry else find_ncu()
    if ncu is None:
        return {"ncu": None}
    log.unlink(missing_ok=True)
    command = [
        ncu, "--clock-control", "none", "--cache-control", "none", "--target-processes", "all",
        "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log),
        "--metrics", ",".join(metrics), *child,
    ]  # fmt: skip
    began = monotonic()
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            child if dry else command, capture_output=True, text=True, timeout=seconds, check=False
        )
        record: Entry = {"ncu": ncu, "status": done.returncode}
        if done.returncode:
            record["said"] = (done.stdout + done.stderr)[-1000:]
    except (subprocess.TimeoutExpired, OSError) as fault:
        record = {"ncu": ncu, "status": None, "said": describe(fault)}
    return record | {"seconds": round(monotonic() - began, 1)}


def parse_ncu_csv(text: str, metrics: Iterable[str]) -> list[Entry]:
    """Return the launches in what ``ncu --csv --page raw`` wrote, with these metrics as numbers.

    The names are followed by a line of units; hundreds of columns describe the device.
    """
    lines = text.splitlines()
    header = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if header is None:
        return []
    names, *rows = csv.reader(lines[header:])
    launches = []
    for values in rows:
        row = dict(zip(names, values, strict=False))
        if row["ID"].strip().isdigit():  # not the units, nor a remark
            numbers = {name: _number(row.get(name, "")) for name in metrics}
            launches.append(
                {name: row.get(name, "") for name in _COLUMNS}
                | {"metrics": {key: value for key, value in numbers.items() if value is not None}}
            )
    return launches


def _number(value: str) -> float | None:
    try:
        return float(value.replace(",", ""))
    except ValueError:  # n/a, or a word
        return None


def write_ncu_csv(launches: list[Entry], metrics: Iterable[str]) -> str:
    """Return launches with their metrics in the form that Nsight Compute writes."""
    names = tuple(metrics)
    rows: list[list[object]] = [[*_COLUMNS, *names], [""] * (len(_COLUMNS) + len(names))]
    for k, launch in enumerate(launches):
        numbers = [f"{launch['metrics'].get(name, 0):,.6f}" for name in names]
        sizes = (tuple(launch["block"]), tuple(launch["grid"]))
        rows.append([k, f"module::{launch['kernel']}", *sizes, *numbers])
    table = "\n".join(",".join(f'"{value}"' for value in row) for row in rows)
    return f"==PROF== Connected to process 1\n{table}\n"


def match_rows(rows: list[Entry], launches: list[Entry]) -> dict[str, Entry]:
    """Return, by the key of each launch, the row that Nsight Compute wrote of it.

    Both lists are in the order of the launches; a row of something else is passed over, and so is a
    launch without a row.
    """
    matched: dict[str, Entry] = {}
    start = 0
    for launch in launches:
        for k in range(start, min(start + 16, len(rows))):
            if _belongs(rows[k], launch):
                matched[launch["key"]] = rows[k]
                start = k + 1
                break
    return matched


def _belongs(row: Entry, launch: Entry) -> bool:
    if launch["kernel"] not in row["Kernel Name"]:
        return False
    for column, wanted in (("Block Size", launch["block"]), ("Grid Size", launch["grid"])):
        if [int(number) for number in re.findall(r"\d+", row[column])] != list(wanted):
            return False
    return True
