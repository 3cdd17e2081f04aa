"""Whether the simulator computes what the GPU computes: rungs and micro kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from micro_kernels import Case, arithmetic_cases, control_cases, launch_case, memory_cases
from validation.common import Entry, Request, Steps, describe, open_gpu, simulator_like
from warpladder.lab.compare import difference
from warpladder.lab.registry import ladders
from warpladder.rung import Rung

__all__ = ["compare_case", "micro_steps", "rung_steps"]

#: How long the simulator may take over the large size of a rung.
_SIMULATED_SECONDS = 1.0

#: The largest size of a ladder whose rungs take the simulator long.
_LARGEST = {"shortest-paths": 130}

#: How many examples a record keeps of what differs.
_EXAMPLES = 3


# --- rungs ----------------------------------------------------------------------------------------


def rung_steps(request: Request) -> Steps:
    """Compare every rung that runs on a device."""
    gpu = open_gpu(request)
    rungs = [
        (ladder.name, rung) for ladder in ladders() for rung in ladder.rungs if rung.on == "device"
    ]
    # The slowest on the simulator last: where time runs out, it takes none of the others along.
    for ladder, rung in sorted(rungs, key=lambda pair: pair[1].name.startswith("register-tiles")):
        yield f"{ladder}/{rung.name}", partial(_compare_rung, rung, gpu, _LARGEST.get(ladder))


def _compare_rung(rung: Rung, gpu: Any, largest: int | None) -> Entry:
    """Run a rung on both devices at the sizes of its task, and at one as large as time allows."""
    most = min(math.inf if bound is None else bound for bound in (rung.max_n, largest))
    sizes = [n for n in rung.task.sizes if n <= most]
    checked = simulator_like(gpu, checks=True)
    faults = [fault for n in sizes for fault in _faults_at(rung, checked, gpu, n)]
    if largest is None:
        fast = simulator_like(gpu)
        sizes.append(_large_size(rung, fast, int(min(rung.task.default_n, most))))
        faults += _faults_at(rung, fast, gpu, sizes[-1], oracle=False)
    return {"largest_n": max(sizes), "differences": faults[:_EXAMPLES]}


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
        except Exception as fault:  # noqa: BLE001 - recorded, and the other sizes are still run
            yield {"n": n, "on": name, "fault": describe(fault)}
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


# --- micro kernels --------------------------------------------------------------------------------


def micro_steps(request: Request) -> Steps:
    """Compare what every micro kernel leaves in its arrays."""
    gpu = open_gpu(request)
    simulated = simulator_like(gpu, checks=True)
    for case in (*memory_cases(), *control_cases(), *arithmetic_cases()):
        yield case.name, partial(compare_case, case, simulated, gpu)


def compare_case(case: Case, simulated: Any, gpu: Any) -> Entry:
    """Run a case on both devices; return each array, or row of the last one, that differs."""
    # The GPU first: what it computes is of interest also where the simulator refuses.
    found = launch_case(gpu, case)
    expected = launch_case(simulated, case)
    inputs = [one for one in case.arguments() if isinstance(one, np.ndarray)]
    differences = []
    for position, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
        by_row = case.rows and position == len(expected) - 1
        pairs = zip(case.rows, ours, theirs, strict=True) if by_row else [("", ours, theirs)]
        for row, mine, other in pairs:
            if different := _difference(case, mine, other, inputs):
                place = {"row": row} if by_row else {"array": position}
                reason = {"expected": case.expected[row]} if row in case.expected else {}
                differences.append(place | reason | different)
    return {"differences": differences}


def _difference(case: Case, simulated: Any, gpu: Any, inputs: list[Any]) -> Entry:
    """Return the places that differ, with what went in; nothing where none does."""
    same = (simulated == gpu) | ((simulated != simulated) & (gpu != gpu))  # noqa: PLR0124 - NaN
    if case.ulps:
        away = _ulps(simulated, gpu, inputs[0].dtype)
        same |= away <= case.ulps
    elif simulated.dtype.kind == "f":
        same &= (np.signbit(simulated) == np.signbit(gpu)) | np.isnan(simulated)
    if same.all():
        return {}
    fault = (
        f"up to {np.max(away):g} units of the last place, {case.ulps} allowed"
        if case.ulps
        else difference(simulated, gpu)
    )
    places = np.flatnonzero(~same)
    beside = [one for one in inputs[:-1] if one.shape == simulated.shape]
    examples = [
        {
            "at": int(k),
            "inputs": [str(one.ravel()[k]) for one in beside],
            "simulator": str(simulated.ravel()[k]),
            "gpu": str(gpu.ravel()[k]),
        }
        for k in places[:: -(-len(places) // _EXAMPLES)]
    ]
    return {"fault": fault, "count": len(places), "of": same.size, "examples": examples}


def _ulps(expected: Any, found: Any, dtype: Any) -> Any:
    """Return how many units of the last place of ``dtype`` lie between; infinite where none do."""
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(expected).astype(dtype)).astype(np.float64)
        away = np.abs(expected - found) / unit
    both_nan = np.isnan(expected) & np.isnan(found)
    return np.where(both_nan | (expected == found), 0.0, np.where(np.isnan(away), np.inf, away))
