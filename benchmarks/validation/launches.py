"""What is launched with counters: on the simulator, and once more under Nsight Compute."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from micro_kernels import Case, control_cases, launch_case, memory_cases
from validation.common import Entry, Request, Steps, describe, open_gpu, simulator_like
from validation.counters import METRICS, UNIFORM, metrics_of
from validation.ncu import match_rows, parse_ncu_csv, profile, write_ncu_csv
from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.registry import ladders
from warpladder.rung import Rung
from warpladder.simulator import SimulatedDevice

__all__ = ["counter_steps", "profile_child"]

SCRIPT = Path(__file__).resolve().parent.parent / "validate_simulator.py"

#: How long one process under Nsight Compute goes on with new launches, and lives after that.
_PROFILING_SECONDS, _ENDING_SECONDS = 75, 30

#: Their blocks wait for each other: where a profiler's code leaves no room for all, they never end.
_SPINNING = ("flag-barrier", "pivot-in-run")

Plan = dict[str, Callable[[Any], object]]


def counter_steps(request: Request) -> Steps:
    """Count everything on both sides, a process for each group of launches."""
    for group in ("memory", "control", "rungs"):
        yield group, partial(_count_group, group, request)


def _plan(group: str) -> Plan:
    """Return what is launched, with a name for each."""
    if group == "rungs":
        return {
            f"{ladder.name}/{rung.name} n = {_size(rung)}": partial(_run_rung, rung)
            for ladder in ladders()
            for rung in ladder.rungs
            if rung.on == "device" and rung.name not in _SPINNING
        }
    cases = memory_cases() if group == "memory" else control_cases()
    return {case.name: partial(_run_case, case) for case in cases}


def _run_case(case: Case, device: Any) -> None:
    launch_case(device, case)


def _run_rung(rung: Rung, device: Any) -> None:
    rung.run(device, rung.task.make(_size(rung), 0))


def _size(rung: Rung) -> int:
    return next((claim.n for claim in rung.predicts), 1000)


def _count_group(group: str, request: Request) -> Entry:
    device = simulator_like(open_gpu(request), counters=True)
    simulated: dict[str, dict[str, float]] = {}
    launched: dict[str, int] = {}
    refused: Entry = dict.fromkeys(_SPINNING, "not counted: it spins") if group == "rungs" else {}
    for name, action in _plan(group).items():
        device.reset_counters()
        try:
            action(device)
        except Exception as fault:  # noqa: BLE001 - recorded, and the rest goes on
            refused[name] = describe(fault)
        reports = device.launches
        launched[name] = len(reports)
        if name not in refused:
            counted = [metrics_of(report.counters) for report in reports]
            simulated |= zip(_keys(name, len(reports)), counted, strict=True)
    metrics = [name for name in METRICS if name != UNIFORM or group != "memory"]
    log = request.out / f"ncu_{group}.csv"
    with tempfile.TemporaryDirectory(prefix="validate-") as work:
        manifest = Path(work) / "manifest.json"
        # Few launches first: where time runs out, it takes the fewest steps along.
        document = {"order": sorted(launched, key=lambda name: launched[name])}
        manifest.write_text(json.dumps(document))
        child = [sys.executable, str(SCRIPT), "--profile-child", group, "--state", str(manifest)]
        if request.dry:
            child += ["--dry", "--out", str(request.out)]
        limit = _PROFILING_SECONDS + _ENDING_SECONDS
        record = profile(child, metrics, log, limit, dry=request.dry)
        done = {"launches": [], "errors": {}} | json.loads(manifest.read_text())
    text = log.read_text(errors="replace") if log.exists() else ""
    rows = match_rows(parse_ncu_csv(text, metrics), done["launches"])
    if not rows:
        record["error"] = f"no counters of the hardware could be read: {text[-600:]}"
    return record | {
        "launches": len(done["launches"]),
        "refused": {"gpu": done["errors"], "simulator": refused},
        "unmatched": [one["key"] for one in done["launches"] if one["key"] not in rows],
        "simulated": simulated,
        "hardware": {key: row["metrics"] for key, row in rows.items()},
    }


def _keys(name: str, launches: int) -> list[str]:
    return [name] if launches == 1 else [f"{name} #{k + 1}" for k in range(launches)]


class _RecordingGpu(CudaDevice):
    """A GPU that keeps a list of its launches."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Entry] = []

    def launch(self, kernel: Any, grid: Any, block: Any, *args: Any, **options: Any) -> None:
        """Launch, and note what."""
        super().launch(kernel, grid, block, *args, **options)
        self.log.append(
            {"kernel": kernel.py_func.__name__, "grid": _three(grid), "block": _three(block)}
        )


def _three(extents: Any) -> list[int]:
    given = extents if isinstance(extents, tuple) else (extents,)
    return [*map(int, given), *(1,) * (3 - len(given))]


def _log(device: Any) -> list[Entry]:
    if not isinstance(device, SimulatedDevice):
        return list(device.log)
    return [
        {
            "kernel": report.kernel.rpartition(".")[2],
            "grid": list(report.grid),
            "block": list(report.block),
            "metrics": metrics_of(report.counters),
        }
        for report in device.launches
    ]


def profile_child(group: str, manifest: Path, request: Request) -> None:
    """Launch everything of a plan once; what is launched, and nothing else, is profiled.

    Numba compiles without launching anything, so there is nothing to warm up or to filter.
    """
    deadline = monotonic() + _PROFILING_SECONDS
    device: Any = SimulatedDevice(checks=False) if request.dry else _RecordingGpu()
    launches: list[Entry] = []
    errors: Entry = {}
    plan = _plan(group)
    order = json.loads(manifest.read_text())["order"]
    for position, name in enumerate(order):
        if monotonic() > deadline:
            errors["time"] = f"not launched for want of time: {', '.join(order[position:])}"
            break
        before = len(_log(device))
        try:
            plan[name](device)
        except Exception as fault:  # noqa: BLE001 - recorded, and the rest goes on
            errors[name] = describe(fault)
        new = _log(device)[before:]
        keys = _keys(name, len(new))
        launches += [{"key": key} | launch for key, launch in zip(keys, new, strict=True)]
    manifest.write_text(json.dumps({"launches": launches, "errors": errors}))
    if request.dry:
        (request.out / f"ncu_{group}.csv").write_text(write_ncu_csv(launches, METRICS))
