"""Hold the simulator against a GPU: the same kernels on both, results and counters side by side.

    PYTHONPATH=src python benchmarks/validate_simulator.py --out DIR

It runs every rung of every ladder and the micro kernels of `micro_kernels.py` on the simulated GPU
and on a real one and compares the results; reads the hardware's counters of the same launches with
Nsight Compute, where there is one; compares occupancy and limits with what the driver says; and
times the pipelines of the primer. All of it goes to ``validation_<gpu>.json``, as it comes in.

Every part is a process of its own with a time limit, so that a kernel that takes the GPU down takes
only its own step along: the part is started again behind it. Needs NumPy, Numba and numba-cuda.

``--dry`` takes a second simulated device for the GPU, and for Nsight Compute a file of the same
form with the simulator's numbers: it exercises everything but the hardware.

Exit status: 0 where all results are the same, 1 where any is not or could not be compared, 2 where
there is no GPU. Counters that disagree are listed and do not count.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve()
# A part is started by path, from whatever folder.
sys.path[:0] = [str(_HERE.parent), str(_HERE.parent.parent / "src")]

from micro_kernels import (  # noqa: E402 - found through the line above
    Case,
    arithmetic_cases,
    control_cases,
    launch_case,
    memory_cases,
)
from warpladder.device.cuda_device import CudaDevice  # noqa: E402 - likewise
from warpladder.device.occupancy import occupancy  # noqa: E402 - likewise
from warpladder.device.properties import known_capabilities, properties_of  # noqa: E402 - likewise
from warpladder.errors import LaunchError  # noqa: E402 - likewise
from warpladder.lab.compare import difference  # noqa: E402 - likewise
from warpladder.lab.registry import find_rung, ladders  # noqa: E402 - likewise
from warpladder.lab.rung import Rung  # noqa: E402 - likewise
from warpladder.simulator import Counters, SimulatedDevice  # noqa: E402 - likewise

__all__ = ["compare_counters", "main", "match_rows", "parse_ncu_csv"]

Entry = dict[str, Any]
Step = Callable[[dict[str, Entry]], Entry]

#: Parts that run side by side, one group after the other. Counters and times need the GPU alone.
_GROUPS = (("machine",), ("rungs", "micro", "occupancy"), ("counters",), ("pipelines",))

#: Seconds after which a part is stopped.
_LIMITS = {
    "machine": 60,
    "rungs": 120,
    "micro": 120,
    "occupancy": 60,
    "counters": 230,
    "pipelines": 60,
}

#: Of those, how long one process under Nsight Compute goes on with new launches.
_PROFILING_SECONDS = 75

#: How long the simulator may take over the large size of a rung.
_SIMULATED_SECONDS = 2.0

_LOST = "this process has lost the GPU"


def _say(*words: object) -> None:
    print(*words, flush=True)


# --- devices --------------------------------------------------------------------------------------


def _open_gpu(dry: bool) -> Any:
    """Return the GPU, or what stands for it."""
    return SimulatedDevice(checks=False, counters=False) if dry else CudaDevice()


def _simulator_like(gpu: Any, *, checks: bool = True, counters: bool = False) -> SimulatedDevice:
    """Return a simulated device of the GPU's compute capability and size."""
    capability = gpu.properties.compute_capability
    nearest = max(known for known in known_capabilities() if known <= capability)
    return SimulatedDevice(
        nearest,
        checks=checks,
        counters=counters,
        multiprocessors=gpu.properties.multiprocessors,
    )


# --- the machine ----------------------------------------------------------------------------------


def _machine_steps(dry: bool) -> Iterator[tuple[str, Step]]:
    yield "system", lambda _: _system()
    yield "gpu", lambda _: asdict(_open_gpu(dry).properties)
    yield "doctor", lambda _: _doctor()


def _system() -> Entry:
    packages = ("numpy", "numba", "llvmlite", "numba-cuda", "cuda-bindings", "cuda-core")
    ncu = _find_ncu()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: _version(name) for name in packages},
        "nvidia_smi": _ask(
            "nvidia-smi",
            "--query-gpu=name,driver_version,vbios_version,clocks.sm,clocks.mem,pcie.link.gen.max,"
            "pcie.link.width.max,ecc.mode.current",
            "--format=csv",
        ),
        "ncu": ncu,
        "ncu_version": _ask(ncu, "--version") if ncu else None,
        "commit": _ask("git", "-C", str(_HERE.parent), "rev-parse", "HEAD"),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _ask(*command: str) -> str | None:
    """Return what a program prints, None where it is not there or fails."""
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            command, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _doctor() -> Entry:
    import warpladder

    found = warpladder.doctor().as_dict()
    return {key: value for key, value in found.items() if not key.startswith("jit_cache")}


# --- results: rungs -------------------------------------------------------------------------------


def _rung_steps(dry: bool) -> Iterator[tuple[str, Step]]:
    gpu = _open_gpu(dry)
    for ladder in ladders():
        for rung in ladder.rungs:
            if rung.on == "device":
                yield f"{ladder.name}/{rung.name}", lambda _, r=rung: _compare_rung(r, gpu)  # type: ignore[misc]


def _compare_rung(rung: Rung, gpu: Any) -> Entry:
    """Run a rung on both devices at the sizes of its task, and at one as large as time allows."""
    simulated = _simulator_like(gpu)
    most = math.inf if rung.max_n is None else rung.max_n
    sizes = [n for n in rung.task.sizes if n <= most]
    faults = [fault for n in sizes for fault in _faults_at(rung, simulated, gpu, n)]
    entry: Entry = {"exact": rung.exact, "sizes": sizes, "differences": faults}
    fast = _simulator_like(gpu, checks=False)
    large = _large_size(rung, fast, int(min(rung.task.default_n, most)))
    began = perf_counter()
    faults += _faults_at(rung, fast, gpu, large, oracle=False)
    return entry | {
        "default_n": rung.task.default_n,
        "large_n": large,
        "large_seconds": perf_counter() - began,
    }


def _faults_at(
    rung: Rung, simulated: Any, gpu: Any, n: int, *, oracle: bool = True
) -> Iterator[Entry]:
    problem = rung.task.make(n, 0)
    tolerance = None
    if not rung.exact and rung.tolerance is not None:
        relative, absolute = rung.tolerance(problem)
        # Each of the two may be that far from the truth.
        tolerance = (2 * relative, 2 * absolute)
    results = []
    for name, device in (("simulator", simulated), ("gpu", gpu)):
        try:
            result = rung.run(device, problem)
            device.synchronize()
        except Exception as fault:
            if _LOST in str(fault):
                raise
            yield {"n": n, "on": name, "fault": f"{type(fault).__name__}: {fault}"}
            return
        results.append(result)
    if unlike := difference(results[0], results[1], tolerance):
        yield {"n": n, "on": "gpu, expected from simulator", "fault": unlike}
    if oracle and (unlike := difference(rung.task.oracle(problem), results[1], tolerance)):
        yield {"n": n, "on": "gpu, expected from oracle", "fault": unlike}


def _large_size(rung: Rung, simulated: Any, default: int) -> int:
    """Return the default size, or what of it the simulator does in the time that it is given."""
    trial = max(1, default // 64)
    problem = rung.task.make(trial, 0)
    began = perf_counter()
    rung.run(simulated, problem)
    seconds = perf_counter() - began
    grown = rung.task.work(rung.task.make(2 * trial, 0)).operations
    power = max(1.0, math.log2(grown / max(1, rung.task.work(problem).operations)))
    affordable = trial * (_SIMULATED_SECONDS / seconds) ** (1 / power)
    return int(min(default, max(trial, affordable)))


# --- results: micro kernels -----------------------------------------------------------------------


def _micro_steps(dry: bool) -> Iterator[tuple[str, Step]]:
    gpu = _open_gpu(dry)
    simulated = _simulator_like(gpu)
    for case in (*memory_cases(), *control_cases(), *arithmetic_cases()):
        yield case.name, lambda _, c=case: _compare_case(c, simulated, gpu)  # type: ignore[misc]


def _compare_case(case: Case, simulated: Any, gpu: Any) -> Entry:
    # The GPU first: what it computes is of interest also where the simulator refuses.
    found = launch_case(gpu, case)
    expected = launch_case(simulated, case)
    given = [one for one in case.arguments() if isinstance(one, np.ndarray)]
    differences = []
    for position, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
        named = case.rows if case.rows and position == len(expected) - 1 else ("",)
        rows = zip(ours, theirs, strict=True) if named != ("",) else [(ours, theirs)]
        inputs = [one for one in given[:-1] if one.shape == ours.shape[-1:]]
        for name, (mine, other) in zip(named, rows, strict=True):
            if different := _different(case, mine, other, given):
                differences.append({"array": position, "row": name, **different(inputs)})
    return {"specified": case.specified, "ulps": case.ulps, "differences": differences}


def _different(
    case: Case, simulated: Any, gpu: Any, given: list[Any]
) -> Callable[[list[Any]], Entry] | None:
    """Return what describes the difference, None where there is none."""
    if case.ulps:
        away = _ulps(simulated, gpu, given[0].dtype)
        wrong = ~(away <= case.ulps)
        fault = f"up to {np.max(away):g} units of the last place, {case.ulps} allowed"
    else:
        fault = difference(simulated, gpu)
        same = (simulated == gpu) | ((simulated != simulated) & (gpu != gpu))  # noqa: PLR0124 - NaN
        if simulated.dtype.kind == "f":
            same &= (np.signbit(simulated) == np.signbit(gpu)) | np.isnan(simulated)
        wrong = ~same
    if not (fault if not case.ulps else wrong.any()):
        return None

    def describe(inputs: list[Any]) -> Entry:
        places = np.flatnonzero(wrong.ravel())
        examples = [
            {
                "at": int(k),
                "inputs": [str(one[k]) for one in inputs],
                "simulator": str(simulated.ravel()[k]),
                "gpu": str(gpu.ravel()[k]),
            }
            for k in places[:: max(1, len(places) // 6)][:6]
        ]
        return {"fault": fault, "count": len(places), "of": wrong.size, "examples": examples}

    return describe


def _ulps(expected: Any, found: Any, dtype: Any) -> Any:
    """Return how many units of the last place of ``dtype`` lie between; infinite where none do."""
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(expected).astype(dtype)).astype(np.float64)
        away = np.abs(expected - found) / unit
    both_nan = np.isnan(expected) & np.isnan(found)
    return np.where(both_nan | (expected == found), 0.0, np.where(np.isnan(away), np.inf, away))


# --- occupancy and limits -------------------------------------------------------------------------


def _occupancy_steps(dry: bool) -> Iterator[tuple[str, Step]]:
    gpu = _open_gpu(dry)
    yield "properties", lambda _: _compare_properties(gpu)
    by_name = {case.name: case for case in (*memory_cases(), *control_cases())}
    chosen: list[tuple[str, dict[str, int]]] = [
        ("global/float32 load stride 1 offset 1, store stride 1 offset 8", {}),
        ("shared/float32 columns of rows of 33", {}),
        ("shared/float64 stride 1", {}),
        ("control/float64 sum over a block", {}),
        ("warp/votes and matches", {}),
        ("warp/votes and matches", {"max_registers": 24}),
    ]
    functions = {case.name: case for case in arithmetic_cases()}
    chosen += [
        ("arithmetic/float64 functions", {}),
        ("arithmetic/float64 functions", {"max_registers": 32}),
        ("arithmetic/float32 functions", {}),
        ("arithmetic/float64 powers", {}),
        ("arithmetic/int64 basics", {}),
        ("arithmetic/int64 basics", {"max_registers": 64}),
    ]
    for name, options in chosen:
        case = (by_name | functions)[name]
        label = f"{name} {options}" if options else name
        yield label, lambda _, c=case, o=options: _compare_occupancy(c, o, gpu)  # type: ignore[misc]


def _compare_properties(gpu: Any) -> Entry:
    told = gpu.properties
    nearest = max(known for known in known_capabilities() if known <= told.compute_capability)
    ours = properties_of(nearest)
    values = {
        field.name: {"table": getattr(ours, field.name), "driver": getattr(told, field.name)}
        for field in fields(told)
    }
    # A table cannot know how much memory a board has; the name is another one on purpose.
    aside = {"name", "memory_bytes"}
    differing = [
        name
        for name, pair in values.items()
        if pair["table"] != pair["driver"] and name not in aside
    ]
    return {"values": values, "differing": differing}


def _compare_occupancy(case: Case, options: dict[str, int], gpu: Any) -> Entry:
    from numba import cuda

    kernel = cuda.jit(**options)(case.kernel.py_func)
    fresh = Case(case.name, kernel, case.grid, case.block, case.arguments)
    launch_case(gpu, fresh)
    registers, static = 0, 0
    if isinstance(gpu, CudaDevice):
        compiled = list(kernel.overloads.values())[-1]
        registers, static = int(compiled.regs_per_thread), int(compiled.shared_mem_per_block)
    rows, wrong = [], 0
    most = gpu.properties.shared_bytes_per_block_optin - static
    for threads in (32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1024):
        for dynamic in (0, 1000, 16 << 10, 48 << 10, 100 << 10, most):
            if dynamic and dynamic > most:
                continue
            ours = _resident(
                lambda t=threads, d=dynamic: (
                    occupancy(  # type: ignore[misc]
                        gpu.properties, t, registers_per_thread=registers, shared_bytes=static + d
                    ).blocks_per_multiprocessor
                )
            )
            theirs = _resident(
                lambda t=threads, d=dynamic: gpu.max_active_blocks(kernel, t, d)  # type: ignore[misc]
            )
            wrong += ours != theirs
            rows.append([threads, dynamic, ours, theirs])
    return {
        "registers": registers,
        "static_shared_bytes": static,
        "differing": wrong,
        "columns": ["threads", "dynamic_shared_bytes", "occupancy()", "driver"],
        "rows": rows,
    }


def _resident(ask: Callable[[], int]) -> int | str:
    """Return the blocks that fit, 0 where the launch would be refused."""
    try:
        return ask()
    except LaunchError:
        return 0
    except Exception as fault:  # noqa: BLE001 - one question of many; the others are still asked
        return f"{type(fault).__name__}: {fault}"


# --- counters -------------------------------------------------------------------------------------

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_SHARED = "smsp__inst_executed_op_shared_{}.sum"
_THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"
_UNIFORM = "smsp__sass_average_branch_targets_threads_uniform.pct"

#: What is compared, and what is only kept beside it.
_METRICS = (
    *(_GLOBAL.format(what, op) for what in ("requests", "sectors") for op in ("ld", "st")),
    *(one.format(op) for one in (_WAVEFRONTS, _CONFLICTS, _SHARED) for op in ("ld", "st")),
    *(_GLOBAL.format("requests", op) for op in ("red", "atom")),
    _SHARED.format("atom"),
    _THREADS,
)
_KEPT = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
)
#: These need instrumented code, which takes long: for control flow only.
_BRANCHES = (
    _UNIFORM,
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_uniform.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _sum(metrics: dict[str, float], *names: str) -> float | None:
    found = [metrics[name] for name in names if name in metrics]
    return sum(found) if found else None


@dataclass(frozen=True)
class _Comparison:
    """A counter on both sides; None where there is nothing to compare."""

    name: str
    simulated: Callable[[Counters], float | None]
    hardware: Callable[[dict[str, float]], float | None]


def _comparisons() -> Iterator[_Comparison]:
    for op, verb in (("ld", "load"), ("st", "store")):
        requests, sectors = _GLOBAL.format("requests", op), _GLOBAL.format("sectors", op)
        shared, wavefronts = _SHARED.format(op), _WAVEFRONTS.format(op)
        conflicts = _CONFLICTS.format(op)
        yield _Comparison(
            f"global_{verb}_sectors_per_request",
            lambda c, v=verb: _ratio(  # type: ignore[misc]
                getattr(c, f"global_{v}_sectors"), getattr(c, f"global_{v}_requests")
            ),
            lambda m, s=sectors, r=requests: _ratio(m.get(s), m.get(r)),  # type: ignore[misc]
        )
        yield _Comparison(
            f"global_{verb}_requests",
            lambda c, v=verb: getattr(c, f"global_{v}_requests"),  # type: ignore[misc]
            lambda m, r=requests: m.get(r),  # type: ignore[misc]
        )
        yield _Comparison(
            f"shared_{verb}_wavefronts_per_request",
            lambda c, v=verb: _ratio(  # type: ignore[misc]
                getattr(c, f"shared_{v}_wavefronts"), getattr(c, f"shared_{v}_requests")
            ),
            lambda m, w=wavefronts, s=shared: _ratio(m.get(w), m.get(s)),  # type: ignore[misc]
        )
        yield _Comparison(
            f"shared_{verb}_conflicts_per_request",
            lambda c, v=verb: _ratio(  # type: ignore[misc]
                getattr(c, f"shared_{v}_wavefronts") - getattr(c, f"shared_{v}_ideal_wavefronts"),
                getattr(c, f"shared_{v}_requests"),
            ),
            lambda m, w=conflicts, s=shared: _ratio(m.get(w), m.get(s)),  # type: ignore[misc]
        )
        yield _Comparison(
            f"shared_{verb}_requests",
            lambda c, v=verb: getattr(c, f"shared_{v}_requests"),  # type: ignore[misc]
            lambda m, s=shared: m.get(s),  # type: ignore[misc]
        )
    yield _Comparison(
        "atomic_requests",
        lambda c: c.atomic_requests,
        lambda m: _sum(
            m,
            _GLOBAL.format("requests", "red"),
            _GLOBAL.format("requests", "atom"),
            _SHARED.format("atom"),
        ),
    )
    yield _Comparison(
        "threads_per_instruction",
        lambda c: c.threads_per_instruction if c.warp_instructions else None,
        lambda m: m.get(_THREADS),
    )
    yield _Comparison(
        "branch_uniformity",
        lambda c: c.branch_uniformity if c.branches else None,
        lambda m: m.get(_UNIFORM),
    )


def parse_ncu_csv(text: str) -> list[Entry]:
    """Return the launches in what ``ncu --csv`` wrote: its columns, and ``metrics`` as numbers.

    Both forms are read: ``--page raw``, with a column for each metric and a line of units below the
    names, and the other pages', with a line for each metric of each launch.
    """
    lines = text.splitlines()
    header = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if header is None:
        return []
    names, *rows = csv.reader(lines[header:])
    launches: dict[str, Entry] = {}
    for values in rows:
        if len(values) != len(names) or not values[0].strip().isdigit():
            continue  # the units, or a remark
        row = dict(zip(names, values, strict=True))
        launch = launches.setdefault(row["ID"], {"metrics": {}})
        launch.update({key: row[key] for key in names if "__" not in key and "Metric" not in key})
        pairs = (
            [(row["Metric Name"], row["Metric Value"])]
            if "Metric Name" in row
            else [(key, row[key]) for key in names if "__" in key]
        )
        for name, value in pairs:
            number = _number(value)
            if number is not None:
                launch["metrics"][name] = number
    return list(launches.values())


def _number(value: str) -> float | None:
    try:
        return float(value.replace(",", ""))
    except ValueError:  # n/a, or a word
        return None


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
    if launch["kernel"] not in row.get("Kernel Name", ""):
        return False
    for column, wanted in (("Block Size", launch["block"]), ("Grid Size", launch["grid"])):
        extents = [int(number) for number in re.findall(r"\d+", row.get(column, ""))]
        if extents and extents != list(wanted):
            return False
    return True


def compare_counters(
    simulated: dict[str, Counters], hardware: dict[str, dict[str, float]]
) -> dict[str, Entry]:
    """Return per counter how many launches agree, and each one that does not with both numbers."""
    answer: dict[str, Entry] = {}
    for comparison in _comparisons():
        agreed, disagreements = 0, []
        for key, metrics in hardware.items():
            if key not in simulated:
                continue
            ours, theirs = comparison.simulated(simulated[key]), comparison.hardware(metrics)
            if ours is None or theirs is None or ours == theirs == 0:
                continue
            if abs(ours - theirs) <= 0.005 * max(1.0, abs(ours)):
                agreed += 1
            else:
                disagreements.append({"launch": key, "simulator": ours, "hardware": theirs})
        answer[comparison.name] = {
            "agree": agreed,
            "of": agreed + len(disagreements),
            "disagreements": disagreements,
        }
    return answer


Plan = list[tuple[str, Callable[[Any], object]]]


def _plan(group: str) -> Plan:
    """Return what is launched under Nsight Compute, in this order, with a name for each."""
    if group == "probe":
        return [(case.name, lambda d, c=case: launch_case(d, c)) for case in memory_cases()[:1]]  # type: ignore[misc]
    if group == "memory":
        cases = memory_cases()
        # Some of everything first, for the case that time runs out.
        return [
            (case.name, lambda d, c=case: launch_case(d, c))  # type: ignore[misc]
            for start in range(5)
            for case in cases[start::5]
        ]
    plan: Plan = [(case.name, lambda d, c=case: launch_case(d, c)) for case in control_cases()]  # type: ignore[misc]
    for ladder in ladders():
        for rung in ladder.rungs:
            if rung.on != "device":
                continue
            n = next((claim.n for claim in rung.predicts), 1000)
            plan.append(
                (
                    f"{ladder.name}/{rung.name} n = {n}",
                    lambda d, r=rung, n=n: r.run(d, r.task.make(n, 0)),  # type: ignore[misc]
                )
            )
    return plan


def _keys(name: str, launches: int) -> list[str]:
    return [name] if launches == 1 else [f"{name} #{k + 1}" for k in range(launches)]


def _simulate_plan(group: str, gpu_properties: Entry) -> tuple[dict[str, Counters], Entry]:
    """Return the simulator's counters by launch, and what could not be run."""
    capability = tuple(gpu_properties["compute_capability"])
    nearest = max(known for known in known_capabilities() if known <= capability)
    device = SimulatedDevice(
        nearest, checks=False, multiprocessors=gpu_properties["multiprocessors"]
    )
    found: dict[str, Counters] = {}
    errors: Entry = {}
    for name, action in _plan(group):
        device.reset_counters()
        try:
            action(device)
        except Exception as fault:  # noqa: BLE001 - recorded, and the rest goes on
            errors[name] = f"{type(fault).__name__}: {fault}"
            continue
        keys = _keys(name, len(device.launches))
        found |= {key: report.counters for key, report in zip(keys, device.launches, strict=True)}
    return found, errors


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


def _profile_child(group: str, manifest: Path, dry_csv: Path | None) -> None:
    """Launch everything of a plan once; what is launched, and nothing else, is profiled.

    Numba compiles without launching anything, so there is nothing to warm up or to filter.
    """
    deadline = monotonic() + _PROFILING_SECONDS
    device: Any = SimulatedDevice(checks=False) if dry_csv else _RecordingGpu()
    launches: list[Entry] = []
    errors: Entry = {}
    plan = _plan(group)
    for done, (name, action) in enumerate(plan):
        if monotonic() > deadline:
            errors["time"] = f"{_PROFILING_SECONDS} s were over after {done} of {len(plan)} steps"
            break
        before = _launched(device)
        try:
            action(device)
        except Exception as fault:  # noqa: BLE001 - recorded, and the rest goes on
            errors[name] = f"{type(fault).__name__}: {fault}"
            if _LOST in str(fault):
                break
        new = _launches(device)[before:]
        launches += [
            {"key": key, **launch} for key, launch in zip(_keys(name, len(new)), new, strict=True)
        ]
    manifest.write_text(json.dumps({"launches": launches, "errors": errors}))
    if dry_csv:
        dry_csv.write_text(_dry_csv(device))


def _launched(device: Any) -> int:
    return len(_launches(device))


def _launches(device: Any) -> list[Entry]:
    if isinstance(device, SimulatedDevice):
        return [
            {
                "kernel": report.kernel.rpartition(".")[2],
                "grid": list(report.grid),
                "block": list(report.block),
            }
            for report in device.launches
        ]
    return list(device.log)


def _dry_csv(device: SimulatedDevice) -> str:
    """Return the simulator's counters in the form of Nsight Compute's."""
    columns: dict[str, Callable[[Counters], float]] = {
        _THREADS: lambda c: c.threads_per_instruction,
        _UNIFORM: lambda c: c.branch_uniformity,
        _GLOBAL.format("requests", "red"): lambda c: c.atomic_requests,
    }
    for op, verb in (("ld", "load"), ("st", "store")):
        columns |= {
            _GLOBAL.format("requests", op): lambda c, v=verb: getattr(c, f"global_{v}_requests"),  # type: ignore[misc]
            _GLOBAL.format("sectors", op): lambda c, v=verb: getattr(c, f"global_{v}_sectors"),  # type: ignore[misc]
            _SHARED.format(op): lambda c, v=verb: getattr(c, f"shared_{v}_requests"),  # type: ignore[misc]
            _WAVEFRONTS.format(op): lambda c, v=verb: getattr(c, f"shared_{v}_wavefronts"),  # type: ignore[misc]
        }
    start = ["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size"]
    lines = ["==PROF== Connected to process 1", _quoted([*start, *columns])]
    lines.append(_quoted([""] * (len(start) + len(columns))))
    for k, (report, launch) in enumerate(zip(device.launches, _launches(device), strict=True)):
        values = [f"{column(report.counters):,.6f}" for column in columns.values()]
        block, grid = tuple(launch["block"]), tuple(launch["grid"])
        lines.append(_quoted([k, 1, f"module::{launch['kernel']}", block, grid, *values]))
    return "\n".join(lines) + "\n"


def _quoted(values: Iterable[object]) -> str:
    return ",".join(f'"{value}"' for value in values)


def _find_ncu() -> str | None:
    candidates = [
        shutil.which("ncu"),
        "/usr/local/cuda/bin/ncu",
        *map(str, sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)),
        *map(str, sorted(Path("/usr/local").glob("cuda*/bin/ncu"), reverse=True)),
    ]
    return next((path for path in candidates if path and Path(path).exists()), None)


def _counter_steps(dry: bool, out: Path) -> Iterator[tuple[str, Step]]:
    properties = asdict(_open_gpu(dry).properties)
    yield "probe", lambda _: _probe(dry, out)
    for group in ("memory", "control"):
        yield (
            group,
            lambda entries, g=group: _compare_group(  # type: ignore[misc]
                g, entries.get("probe", {}), properties, dry, out
            ),
        )


def _probe(dry: bool, out: Path) -> Entry:
    """Find the metrics that this Nsight Compute knows, by one launch."""
    wanted = (*_METRICS, *_KEPT, *_BRANCHES)
    attempts = (wanted, (*_METRICS, *_KEPT), _METRICS, *((metric,) for metric in _METRICS[:4]))
    entry: Entry = {"attempts": []}
    for metrics in attempts:
        rows, _, record = _profile("probe", metrics, dry, out)
        known = [name for name in metrics if any(name in row["metrics"] for row in rows)]
        entry["attempts"].append(record | {"asked": len(metrics), "known": len(known)})
        if known:
            return entry | {"known": known, "unknown": [m for m in wanted if m not in known]}
        if not record["found"]:
            break
    return entry | {"known": [], "error": "Nsight Compute gave no numbers; see attempts"}


def _compare_group(group: str, probe: Entry, properties: Entry, dry: bool, out: Path) -> Entry:
    known = [name for name in probe.get("known", ()) if group == "control" or name not in _BRANCHES]
    if not known:
        return {"skipped": "no hardware counters could be read; see probe"}
    simulated, failed = _simulate_plan(group, properties)
    rows, manifest, record = _profile(group, known, dry, out)
    matched = match_rows(rows, manifest["launches"])
    hardware = {key: row["metrics"] for key, row in matched.items()}
    return {
        "ncu": record,
        "launches": len(manifest["launches"]),
        "rows": len(rows),
        "matched": len(matched),
        "unmatched": [one["key"] for one in manifest["launches"] if one["key"] not in matched],
        "errors": {"gpu": manifest["errors"], "simulator": failed},
        "kernel_names": sorted({str(row.get("Kernel Name", "")) for row in rows})[:60],
        "counters": compare_counters(simulated, hardware),
        "measured": {
            key: {"simulator": _without_zeros(asdict(simulated[key])), "hardware": metrics}
            for key, metrics in hardware.items()
            if key in simulated
        },
    }


def _without_zeros(counters: Entry) -> Entry:
    return {name: value for name, value in counters.items() if value}


def _profile(
    group: str, metrics: Iterable[str], dry: bool, out: Path
) -> tuple[list[Entry], Entry, Entry]:
    """Run a plan under Nsight Compute; return its rows, the manifest of launches and a record."""
    work = Path(tempfile.mkdtemp(prefix="validate-"))
    manifest, log = work / "manifest.json", out / f"ncu_{group}.csv"
    child = [sys.executable, str(_HERE), "--profile-child", group, "--manifest", str(manifest)]
    ncu = "dry" if dry else _find_ncu()
    record: Entry = {"found": ncu}
    nothing: Entry = {"launches": [], "errors": {}}
    if ncu is None:
        return [], nothing, record
    log.unlink(missing_ok=True)
    command = [
        ncu, "--clock-control", "none", "--cache-control", "none", "--target-processes", "all",
        "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log),
        "--metrics", ",".join(metrics), *child,
    ]  # fmt: skip
    if dry:
        command = [*child, "--dry-csv", str(log)]
    began = monotonic()
    # The process stops launching by itself; what is beyond is a profiler that hangs.
    limit = 40 if group == "probe" else _PROFILING_SECONDS + 30
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command, capture_output=True, text=True, timeout=limit, check=False
        )
        record |= {"status": done.returncode, "said": (done.stdout + done.stderr)[-1500:]}
    except subprocess.TimeoutExpired:
        record |= {"status": None, "said": f"stopped after {limit} s"}
    except OSError as fault:
        record |= {"status": None, "said": str(fault)}
    record["seconds"] = monotonic() - began
    text = log.read_text(errors="replace") if log.exists() else ""
    rows = parse_ncu_csv(text)
    if not rows:
        record["log"] = text[-1500:]
    launches = json.loads(manifest.read_text()) if manifest.exists() else nothing
    shutil.rmtree(work, ignore_errors=True)
    return rows, launches, record


# --- pipelines ------------------------------------------------------------------------------------

_PIPELINES = ("pipeline-serial", "pipeline-two-way", "pipeline-three-way")
_ROUNDS = 7


class _Keeping:
    """A device that hands out the same memory in every run, and knows when the first copy began.

    What is left to time is copies and kernels: page-locked memory takes longer to get than to fill.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        self._kept: list[Any] = []
        self._next = 0
        self.began: float | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def start(self) -> None:
        """Begin another run with the memory of the last one."""
        self._next, self.began = 0, None

    def _keep(self, make: Callable[[], Any]) -> Any:
        if self._next == len(self._kept):
            self._kept.append(make())
        self._next += 1
        return self._kept[self._next - 1]

    def pinned(self, shape: Any, dtype: Any) -> Any:
        """Return page-locked memory of this place in the run."""
        return self._keep(lambda: self._device.pinned(shape, dtype))

    def empty(self, shape: Any, dtype: Any) -> Any:
        """Return device memory of this place in the run."""
        return self._keep(lambda: self._device.empty(shape, dtype))

    def to_device(self, host_array: Any, *, stream: Any = None) -> Any:
        """Copy to device memory of this place in the run."""
        array = self.empty(host_array.shape, host_array.dtype)
        self.began = perf_counter() if self.began is None else self.began
        _upload(array, host_array, stream)
        return array


def _upload(array: Any, host: Any, stream: Any) -> None:
    array.copy_to_device(host, stream=getattr(stream, "_stream", 0) or 0)


def _pipeline_steps(dry: bool) -> Iterator[tuple[str, Step]]:
    gpu = _open_gpu(dry)
    rung = find_rung(f"primer/{_PIPELINES[0]}")[1]
    n = 1 << 12 if dry else rung.task.default_n
    problem = rung.task.make(n, 0)
    shared: Entry = {"problem": problem, "expected": None}
    yield "copies and kernel alone", lambda _: _time_alone(gpu, problem)
    for name in _PIPELINES:
        yield name, lambda _, r=name: _time_pipeline(r, gpu, shared)  # type: ignore[misc]


def _time_alone(gpu: Any, problem: Any) -> Entry:
    """Time each engine by itself: upload, download, both at once, kernel."""
    n = problem.words.size
    up, down = gpu.pinned(n, np.uint32), gpu.pinned(n, np.uint32)
    up[:] = problem.words
    first, second = gpu.to_device(up), gpu.to_device(up)
    one, other = gpu.stream(), gpu.stream()
    kernel = find_rung("primer/pipeline-serial")[1].kernels[0]

    def both() -> None:
        _upload(first, up, one)
        gpu.to_host(second, down, stream=other)

    actions: dict[str, Callable[[], object]] = {
        "upload": lambda: _upload(first, up, one),
        "download": lambda: gpu.to_host(second, down, stream=other),
        "upload_and_download": both,
        "kernel": lambda: gpu.launch(kernel, -(-n // 256), 256, first, n, stream=one),
    }
    answer: Entry = {"n": n, "bytes_each_way": 4 * n}
    for name, action in actions.items():
        action()
        gpu.synchronize()
        seconds = []
        for _ in range(_ROUNDS):
            began = perf_counter()
            action()
            gpu.synchronize()
            seconds.append(perf_counter() - began)
        answer[f"{name}_ms"] = 1e3 * statistics.median(seconds)
    for name in ("upload", "download"):
        answer[f"{name}_GB_per_s"] = 4 * n / answer[f"{name}_ms"] / 1e6
    return answer


def _time_pipeline(name: str, gpu: Any, shared: Entry) -> Entry:
    rung = find_rung(f"primer/{name}")[1]
    problem = shared["problem"]
    whole, spans = [], []
    for _ in range(_ROUNDS):
        began = perf_counter()
        result = rung.run(gpu, problem)
        gpu.synchronize()
        whole.append(perf_counter() - began)
    differences = []
    # The oracle goes by words, so that a sample of them is enough of a sample.
    sample = slice(None, None, max(1, problem.words.size // 100_000))
    expected = rung.task.oracle(type(problem)(problem.words[sample]))
    if fault := difference(expected, np.ascontiguousarray(result[sample])):
        differences.append({"fault": f"sampled, expected from oracle: {fault}"})
    if shared["expected"] is None:
        shared["expected"] = result.copy()
    elif fault := difference(shared["expected"], result):
        differences.append({"fault": f"expected from {_PIPELINES[0]}: {fault}"})
    keeping = _Keeping(gpu)
    for _ in range(_ROUNDS + 1):
        keeping.start()
        result = rung.run(keeping, problem)
        gpu.synchronize()
        ended = perf_counter()
        spans.append(ended - (keeping.began or ended))
    if fault := difference(shared["expected"], result):
        differences.append({"fault": f"with kept memory, expected from first run: {fault}"})
    return {
        "n": problem.words.size,
        "end_to_end_ms": [1e3 * seconds for seconds in whole],
        "end_to_end_median_ms": 1e3 * statistics.median(whole),
        "copies_and_kernels_ms": [1e3 * seconds for seconds in spans[1:]],
        "copies_and_kernels_median_ms": 1e3 * statistics.median(spans[1:]),
        "differences": differences,
    }


# --- running the parts ----------------------------------------------------------------------------


def _steps(part: str, dry: bool, out: Path) -> Iterator[tuple[str, Step]]:
    if part == "counters":
        return _counter_steps(dry, out)
    return {
        "machine": _machine_steps,
        "rungs": _rung_steps,
        "micro": _micro_steps,
        "occupancy": _occupancy_steps,
        "pipelines": _pipeline_steps,
    }[part](dry)


def _run_part(part: str, state: Path, dry: bool, out: Path) -> int:
    """Run the steps of a part that are not in its state file yet, and write that after each."""
    document = json.loads(state.read_text()) if state.exists() else {"entries": {}}
    entries: dict[str, Entry] = document["entries"]
    broken = document.pop("running", None)
    if broken is not None and broken not in entries:
        entries[broken] = {"error": "the process ended in this step"}
    began = monotonic()
    for name, step in _steps(part, dry, out):
        if name in entries:
            continue
        document["running"] = name
        _write(state, document)
        try:
            entries[name] = step(entries)
        except Exception as fault:  # noqa: BLE001 - recorded, and the rest goes on
            entries[name] = {
                "error": f"{type(fault).__name__}: {fault}",
                "traceback": traceback.format_exc()[-2000:],
            }
            _say(f"[{part}] {name}: {type(fault).__name__}: {str(fault)[:300]}")
            if _LOST in str(fault):
                document.pop("running")
                _write(state, document)
                return 3
        else:
            found = entries[name].get("differences") or entries[name].get("differing")
            if found:
                _say(f"[{part}] {name}: differs: {str(found)[:300]}")
            elif part != "micro":
                _say(f"[{part}] {name}: done at {monotonic() - began:.1f} s")
    document.pop("running", None)
    document["complete"] = True
    _write(state, document)
    _say(f"[{part}] {len(entries)} steps in {monotonic() - began:.1f} s")
    return 0


def _write(path: Path, document: Entry) -> None:
    """Write a document whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1, default=str) + "\n")
    partial.replace(path)


def _run_group(parts: Iterable[str], folder: Path, dry: bool, out: Path, until: float) -> None:
    """Run parts side by side; start one again that ended in the middle, behind where it did."""
    waiting = list(parts)
    running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
    starts = dict.fromkeys(waiting, 0)
    limits = {part: min(until, monotonic() + _LIMITS[part]) for part in waiting}
    while waiting or running:
        for part in waiting:
            starts[part] += 1
            running[part] = (_start_part(part, folder, dry, out), limits[part])
        waiting = []
        for part, (process, limit) in list(running.items()):
            if process.poll() is None and monotonic() > limit:
                # With whatever it started: a profiler left behind would disturb what comes next.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                _say(f"[{part}] stopped: its time was over")
                del running[part]
            elif process.poll() is not None:
                del running[part]
                if process.returncode and starts[part] < 4 and monotonic() < limit:
                    _say(f"[{part}] ended with status {process.returncode}; again, behind it")
                    waiting.append(part)
        if running and not waiting:
            sleep(0.1)


def _start_part(part: str, folder: Path, dry: bool, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-u", str(_HERE), "--part", part, "--out", str(out)]
    command += ["--state", str(folder / f"{part}.json")]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    return subprocess.Popen(  # noqa: S603 - our own script
        command + ["--dry"] * dry, env=environment, start_new_session=True
    )


def _collect(folder: Path) -> dict[str, Entry]:
    parts = {}
    for part in (part for group in _GROUPS for part in group):
        state = folder / f"{part}.json"
        try:
            parts[part] = json.loads(state.read_text())
        except (OSError, ValueError):
            parts[part] = {"entries": {}, "error": "this part left nothing"}
    return parts


def _result_path(out: Path, parts: dict[str, Entry]) -> Path:
    gpu = parts["machine"]["entries"].get("gpu", {}).get("name", "unknown")
    return out / f"validation_{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


# --- the summary ----------------------------------------------------------------------------------


def _failing(part: str, parts: dict[str, Entry]) -> list[str]:
    """Return the steps of a part whose results differ or could not be compared."""
    entries = parts[part]["entries"]
    bad = [
        name
        for name, entry in entries.items()
        if "error" in entry or (entry.get("differences") and entry.get("specified", True))
    ]
    return bad if parts[part].get("complete") else [*bad, "(not complete)"]


def _summary(parts: dict[str, Entry]) -> Entry:
    results = {}
    for part in ("rungs", "micro", "pipelines"):
        entries = parts[part]["entries"]
        results[part] = {
            "steps": len(entries),
            "complete": bool(parts[part].get("complete")),
            "failing": _failing(part, parts),
            "unspecified_that_differ": [
                name
                for name, entry in entries.items()
                if entry.get("differences") and not entry.get("specified", True)
            ],
        }
    counters: dict[str, Entry] = {}
    for group in parts["counters"]["entries"].values():
        for name, found in group.get("counters", {}).items():
            total = counters.setdefault(name, {"agree": 0, "of": 0})
            total["agree"] += found["agree"]
            total["of"] += found["of"]
    resident = [entry for entry in parts["occupancy"]["entries"].values() if "rows" in entry]
    return {
        "results": results,
        "counters": counters,
        "occupancy": {
            "asked": sum(len(entry["rows"]) for entry in resident),
            "differing": sum(entry["differing"] for entry in resident),
            "failing": [n for n, e in parts["occupancy"]["entries"].items() if "error" in e],
            "properties_differing": parts["occupancy"]["entries"]
            .get("properties", {})
            .get("differing"),
        },
    }


def _print_summary(parts: dict[str, Entry], summary: Entry) -> None:
    machine = parts["machine"]["entries"]
    _say("\n=== simulator against", machine.get("gpu", {}).get("name", "no GPU"), "===")
    _say(f"{'results':44} {'same':>6} {'of':>6}")
    for part, found in summary["results"].items():
        failing = found["failing"]
        _say(f"{part:44} {max(0, found['steps'] - len(failing)):6} {found['steps']:6}")
        for name in failing[:25]:
            entry = parts[part]["entries"].get(name, {})
            first = (entry.get("differences") or [{}])[0]
            why = entry.get("error") or f"{first.get('row', '')} {first.get('fault', '')}"
            _say(f"    DIFFERS {name}: {why.strip()[:200]}")
        for name in found["unspecified_that_differ"]:
            _say(f"    (unspecified, differs) {name}")
    _say(f"\n{'counters':44} {'agree':>6} {'of':>6}")
    for name, found in summary["counters"].items():
        _say(f"{name:44} {found['agree']:6} {found['of']:6}")
    for group, entry in parts["counters"]["entries"].items():
        for name, found in entry.get("counters", {}).items():
            for one in found["disagreements"][:6]:
                _say(
                    f"    {group} {name}: {one['launch']}: simulator {one['simulator']:g}, "
                    f"hardware {one['hardware']:g}"
                )
        if "error" in entry or "skipped" in entry:
            _say(f"    {group}: {entry.get('error') or entry.get('skipped')}")
    occupied = summary["occupancy"]
    _say(
        f"\noccupancy: {occupied['asked'] - occupied['differing']} of {occupied['asked']} agree; "
        f"limits that differ: {occupied['properties_differing']}"
    )
    for name, entry in parts["pipelines"]["entries"].items():
        times = {k: round(v, 3) for k, v in entry.items() if isinstance(v, float)}
        _say(f"{name}: {times}")


def main(arguments: list[str] | None = None) -> int:
    """Validate; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--dry", action="store_true", help="no GPU: two simulated devices")
    parser.add_argument("--only", nargs="*", help="these parts, beside that of the machine")
    parser.add_argument("--seconds", type=float, default=480, help="stop after this time")
    for internal in ("--part", "--profile-child"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    for internal in ("--state", "--manifest", "--dry-csv"):
        parser.add_argument(internal, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.profile_child:
        _profile_child(given.profile_child, given.manifest, given.dry_csv)
        return 0
    out = given.out.resolve()
    if given.part:
        return _run_part(given.part, given.state, given.dry, out)
    return _validate(out, dry=given.dry, only=given.only, seconds=given.seconds)


def _validate(out: Path, *, dry: bool, only: list[str] | None, seconds: float) -> int:
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="validate-state-"))
    began = monotonic()
    for group in _GROUPS:
        chosen = [part for part in group if only is None or part in {"machine", *only}]
        if chosen:
            _say(f"--- {', '.join(chosen)} ({monotonic() - began:.0f} s)")
            _run_group(chosen, folder, dry, out, began + seconds)
        parts = _collect(folder)
        path = _result_path(out, parts)
        summary = _summary(parts)
        _write(
            path,
            {
                "dry": dry,
                "seconds": monotonic() - began,
                "summary": summary,
                **{part: {"entries": {}} | found for part, found in parts.items()},
            },
        )
        if "error" in parts["machine"]["entries"].get("gpu", {"error": ""}):
            _say(f"no GPU to validate against; see {path}")
            return 2
    shutil.rmtree(folder, ignore_errors=True)
    _print_summary(parts, summary)
    _say(f"\nwrote {path} after {monotonic() - began:.0f} s")
    asked = [part for part in summary["results"] if only is None or part in only]
    return int(any(summary["results"][part]["failing"] for part in asked))


if __name__ == "__main__":
    sys.exit(main())
