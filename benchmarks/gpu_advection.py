"""Advection on a GPU: checked against the plain loop, then timed; writes JSON.

    python benchmarks/gpu_advection.py --out DIR

Everything is checked bit for bit before it is timed. The ladder is timed by its kernels, each
launch by events around it: where a kernel is shorter than a launch, the launch is what is seen. The
engine is timed by whole calls on cells that are on the GPU already, so with all launches and all
waiting. Rates are cell steps per second: cells that were asked for, not those computed twice. The
ceiling is the same formula, a product and a fused multiply-add, on numbers that never leave their
registers; once with its weights as constants, as the engine has them, and once with all three
operands in registers, of which a multiprocessor reads two a clock.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numba import cuda

from gpu_timing import parser_of_parts, record_parts
from report import Target, print_table, print_targets
from warpladder.advection.forms import LIMITERS, Edge, Limited, Problem, Stencil
from warpladder.advection.gpu.engine import GpuEngine
from warpladder.advection.gpu_tiles.plan import STRIPS, Shape
from warpladder.advection.ladder import LADDER
from warpladder.advection.plain import PlainEngine
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.ceilings import copy_bytes_per_second, operations_per_second
from warpladder.lab.compare import difference
from warpladder.lab.explore.advection.around import LINEAR, stencil_of
from warpladder.rung import Inner

_COURANT = 0.7
_CHECKED, _CHECKED_STEPS = (33, 4097, 1_000_003), 300
_LADDER, _ENGINE = (1 << 20, 1 << 26), (1 << 26, 1 << 28)
_STEPS, _LIMITED_STEPS, _PEER_STEPS = 1000, 200, 100
#: Strips and depths among which the engine's model chooses.
_SHAPED = tuple(1 << power for power in (17, 20, 22, 24, 26, 28))
#: As even launches take them: 1,000 steps are 40, 32, 20, ... of these.
_DEPTHS = (25, 32, 50, 63, 84, 100, 112, 125, 143, 167, 200, 250, 334, 500)
#: Cell steps a second that are asked for, and of the rate that registers alone allow.
_WANTED, _WANTED_PART = 11e12, 70.0


def main() -> None:
    """Check, time, print, write."""
    parser = parser_of_parts(__doc__)
    parser.add_argument(
        "--convstencil", type=Path, help="the program convstencil_1d of ConvStencil: timed, too"
    )
    given = parser.parse_args()
    device = CudaDevice()
    timing = CudaDevice(time_kernels=True)
    parts: dict[str, Callable[[dict[str, Any]], Any]] = {
        "checks": lambda _: check(device, _CHECKED, _CHECKED_STEPS),
        "strips": lambda _: check_strips(device, _CHECKED[-1], _CHECKED_STEPS),
        "ceilings": lambda _: ceilings(device),
        "ladder": lambda record: time_ladder(timing, _LADDER, record["ceilings"]),
        "engine": lambda record: time_engine(device, _ENGINE, record["ceilings"], _STEPS),
        "peers": lambda _: [
            *time_peers(device, _ENGINE[:1], _PEER_STEPS),
            *time_convstencil(given.convstencil, _ENGINE[:1], _STEPS),
        ],
        "limiters": lambda _: time_limiters(device, _ENGINE[:1], _LIMITED_STEPS),
        "shapes": lambda _: time_shapes(device, _SHAPED, _DEPTHS, _STEPS),
        "targets": lambda record: targets(record["engine"]),
    }
    record_parts("gpu_advection", device, parts, given)


def rules(dtype: str, systems: int = 1) -> dict[str, Stencil | Limited]:
    """Return every scheme, all systems alike."""
    found: dict[str, Stencil | Limited] = {}
    for scheme in LINEAR:
        rule = stencil_of(scheme, _COURANT, dtype)
        found[scheme] = Stencil(rule.offsets, np.repeat(rule.weights, systems, axis=0))
    courant = np.full(systems, _COURANT, dtype)
    correction = np.full(systems, _COURANT * (1 - _COURANT) / 2, dtype)
    for limiter in LIMITERS:
        found[limiter] = Limited(limiter, courant, correction)
        found[f"{limiter}, mirrored"] = Limited(limiter, courant, correction, mirrored=True)
    return found


def check(device: Any, sizes: tuple[int, ...], steps: int) -> list[dict[str, Any]]:
    """Compare the engine with the plain loop, bit for bit."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    for dtype in ("float32", "float64"):
        values = rng.random((steps, 1)).astype(dtype)
        ends = {
            "copy": (Edge("copy"), Edge("copy")),
            "given": (Edge("given", values), Edge("given", values[::-1].copy())),
            "periodic": (Edge("periodic"), Edge("periodic")),
        }
        for scheme, rule in rules(dtype).items():
            for kind, edges in ends.items():
                problem = Problem(rule, *edges)
                for n in sizes:
                    phi = rng.random((1, n)).astype(dtype)
                    case = f"{scheme}, {kind}, {n} {dtype}"
                    rows.append(_verdict(case, GpuEngine(device), problem, phi, steps))
    print(f"{sum(row['good'] for row in rows)} of {len(rows)} checks passed")
    return rows


def _verdict(
    case: str, engine: GpuEngine, problem: Problem, phi: Any, steps: int
) -> dict[str, Any]:
    """Compare a run with that of the plain loop; tell at once what differs."""
    here, there = (
        one.advance(problem, phi, 0, steps, lambda _: None) for one in (PlainEngine(), engine)
    )
    fault = difference(here, there)
    if fault:
        print(f"WRONG: {case}: {fault}", flush=True)
    return {"case": case, "good": not fault}


def check_strips(device: Any, n: int, steps: int) -> list[dict[str, Any]]:
    """Compare strips of every length with the plain loop, bit for bit."""
    rng = np.random.default_rng(3)
    rows: list[dict[str, Any]] = []
    for dtype, itemsize in (("float32", 4), ("float64", 8)):
        phi = rng.random((1, n)).astype(dtype)
        for scheme in ("lax-friedrichs", "fromm"):
            problem = Problem(rules(dtype)[scheme], Edge("copy"), Edge("copy"))
            for strip in STRIPS[itemsize]:
                engine = GpuEngine(device, shape=Shape(strip, 5 * strip))
                case = f"{scheme}, strips of {strip}, {dtype}"
                rows.append(_verdict(case, engine, problem, phi, steps))
    print(f"{sum(row['good'] for row in rows)} of {len(rows)} checks of strips passed")
    return rows


def ceilings(device: Any) -> dict[str, float]:
    """Measure the formula in registers alone, and memory."""
    inner: Any = LAX_FRIEDRICHS.ceiling
    found = {
        f"{dtype}_per_second": operations_per_second(device, inner(dtype))
        for dtype in ("float32", "float64")
    }

    @cuda.jit(device=True)
    def step(c: Any, a: Any, b: Any) -> Any:
        return cuda.fma(b, c, a * c)

    all_read = Inner(step, "float32")
    found["float32_weights_in_registers_per_second"] = operations_per_second(device, all_read)
    found["copy_bytes_per_second"] = copy_bytes_per_second(device)
    rows = [{"case": name, "T_per_second": rate / 1e12} for name, rate in found.items()]
    print_table("ceilings: cell steps in registers, bytes of a copy", rows)
    return found


def time_ladder(
    device: Any, sizes: tuple[int, ...], limits: dict[str, float]
) -> list[dict[str, Any]]:
    """Time the kernels of every rung, and hold each result against the one of the CPU."""
    rows: list[dict[str, Any]] = []
    for n in sizes:
        problem = LAX_FRIEDRICHS.make(n, 0)
        expected = LADDER.rungs[0].run(None, problem)
        for rung in LADDER.rungs:
            if rung.on != "device":
                continue
            taken, right = [], True
            # The first compiles.
            for _ in range(4):
                device.synchronize()
                device.reset_kernel_ms()
                found = rung.run(device, problem)
                device.synchronize()
                taken.append(device.kernel_ms)
                right &= not difference(expected, found)
            rate = n * problem.steps / min(taken[1:]) * 1000
            rows.append(
                {
                    "case": rung.name, "n": n, "steps": problem.steps,
                    "kernel_ms": min(taken[1:]), "T_per_second": rate / 1e12,
                    "percent_of_registers": 100 * rate / limits["float32_per_second"],
                    "right": right,
                }
            )  # fmt: skip
    print_table("the ladder, kernels", rows)
    return rows


def time_engine(
    device: Any, sizes: tuple[int, ...], limits: dict[str, float], steps: int
) -> list[dict[str, Any]]:
    """Time calls of linear schemes on cells of the GPU."""
    rows = []
    for n in sizes:
        for dtype in ("float32", "float64"):
            phi = _cells(device, n, dtype)
            # What a plain step could do at most: read and write each cell, and nothing else.
            plain = limits["copy_bytes_per_second"] / (2 * np.dtype(dtype).itemsize)
            for scheme in LINEAR:
                rate = _rate(device, rules(dtype)[scheme], phi, steps)
                points = len(rules(dtype)[scheme].offsets)
                # Each further neighbour is another operation.
                limit = limits[f"{dtype}_per_second"] * 2 / points
                rows.append(
                    {
                        "case": f"{scheme}, {dtype}", "n": n, "steps": steps,
                        "T_per_second": rate / 1e12,
                        "percent_of_registers": 100 * rate / limit,
                        "times_a_plain_step_s_bound": rate / plain,
                    }
                )  # fmt: skip
            del phi
    print_table("the engine, calls on cells of the GPU", rows)
    return rows


def time_peers(device: Any, sizes: tuple[int, ...], steps: int) -> list[dict[str, Any]]:
    """Time Lax-Friedrichs as a user of CuPy would write it: one kernel, a launch for each step."""
    try:
        import cupy
    except ImportError:
        return [{"case": "not run: there is no CuPy"}]

    step = cupy.ElementwiseKernel(
        "raw float32 phi, float32 a, float32 b, int64 n",
        "float32 out",
        "out = fmaf(b, phi[i < n - 1 ? i + 1 : i], a * phi[i > 0 ? i - 1 : 0])",
    )
    rule = rules("float32")["lax-friedrichs"]
    assert isinstance(rule, Stencil)  # noqa: S101 - for the type checker
    a, b = (float(weight) for weight in rule.weights[0])
    rows = []
    for n in sizes:
        ours = _cells(device, n, "float32")
        problem = Problem(rule, Edge("copy"), Edge("copy"))
        expected = GpuEngine(device).advance(problem, ours, 0, steps, lambda _: None)
        taken = []
        for _ in range(4):
            source, target = cupy.asarray(ours)[0].copy(), cupy.empty(n, "float32")
            cupy.cuda.Device().synchronize()
            began = perf_counter()
            for _ in range(steps):
                step(source, a, b, n, target)
                source, target = target, source
            cupy.cuda.Device().synchronize()
            taken.append(perf_counter() - began)
        same = bool((source == cupy.asarray(expected)[0]).all())
        rate = n * steps / min(taken[1:])
        rows.append(
            {"case": "CuPy, a launch a step", "n": n, "T_per_second": rate / 1e12, "same": same}
        )
    print_table("Lax-Friedrichs by others, float32", rows)
    return rows


def time_convstencil(
    program: Path | None, sizes: tuple[int, ...], steps: int
) -> list[dict[str, Any]]:
    """Time ConvStencil's stencil of three points, float64 on tensor cores, by its own clock.

    Chen et al., PPoPP 2024. A pass of it takes three steps, with numbers of its own. As its sources
    stand, an H200 stops the kernel: the last lane of a block reads one number past shared memory
    (compute-sanitizer names line 69 of `gpu_1r.cu`). With room for eight numbers more, so
    ``sharedmem[2][SM_SIZE_ROW * SM_SIZE_COL + 8]``, it runs. Built by ``nvcc -O3 --use_fast_math
    -rdc=true -arch=sm_90`` from `main.cu`, `gpu_1r.cu` and `gpu_2r.cu` of `src/1d`.
    """
    rows = []
    for n in sizes if program else ():
        command = [str(program), "1d1r", str(n), str(-(-steps // 3))]
        told = subprocess.run(  # noqa: S603 - the program that whoever measures has built
            command, capture_output=True, text=True, check=True
        ).stdout
        rate = float(re.findall(r"GStencil/s = ([\d.]+)", told)[0]) / 1000
        rows.append({"case": "ConvStencil 1D3P, float64", "n": n, "T_per_second": rate})
    if rows:
        print_table("three points by ConvStencil", rows)
    return rows


def time_limiters(device: Any, sizes: tuple[int, ...], steps: int) -> list[dict[str, Any]]:
    """Time calls of schemes with a limiter."""
    rows = []
    for n in sizes:
        phi = _cells(device, n, "float32")
        for limiter in LIMITERS:
            rate = _rate(device, rules("float32")[limiter], phi, steps)
            rows.append({"case": limiter, "n": n, "steps": steps, "T_per_second": rate / 1e12})
    print_table("limiters, calls on cells of the GPU", rows)
    return rows


def time_shapes(
    device: Any, sizes: tuple[int, ...], depths: tuple[int, ...], steps: int
) -> list[dict[str, Any]]:
    """Time Lax-Friedrichs with other strips and depths than the engine's model chooses."""
    rule = rules("float32")["lax-friedrichs"]
    rows = []
    for n in sizes:
        phi = _cells(device, n, "float32")
        chosen = _rate(device, rule, phi, steps) / 1e12
        for strip in STRIPS[4]:
            row: dict[str, Any] = {"case": f"strips of {strip}", "n": n, "chosen": chosen}
            for depth in depths:
                fits = 3 * depth < 32 * strip <= n
                shape = Shape(strip, depth)
                rate = _rate(device, rule, phi, steps, shape) / 1e12 if fits else None
                row[f"{depth}"] = "" if rate is None else rate
            rows.append(row)
    print_table("T cell steps per second by strip and depth; as the engine's model chooses", rows)
    return rows


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    """Return what is asked for, beside what was reached."""
    found = []
    for row in rows:
        if row["case"] == "lax-friedrichs, float32":
            where = f"2^{row['n'].bit_length() - 1} cells"
            found += [
                Target(f"{where}: T cell steps/s", row["T_per_second"], _WANTED / 1e12),
                Target(f"{where}: % of registers", row["percent_of_registers"], _WANTED_PART),
            ]
    print_targets(found)
    return found


def _cells(device: Any, n: int, dtype: str) -> Any:
    """Return cells on the GPU, (1, n): a few drawn at random, over and over."""
    drawn = np.random.default_rng(2).random(min(n, 1 << 20)).astype(dtype)
    return device.to_device(np.tile(drawn, -(-n // drawn.size))[None, :n])


def _rate(
    device: Any, rule: Stencil | Limited, phi: Any, steps: int, shape: Shape | None = None
) -> float:
    """Return cell steps per second of a call, the best of three after one that compiles."""
    problem = Problem(rule, Edge("copy"), Edge("copy"))
    engine = GpuEngine(device, shape=shape)
    taken = []
    for _ in range(4):
        device.synchronize()
        began = perf_counter()
        engine.advance(problem, phi, 0, steps, lambda _: None)
        device.synchronize()
        taken.append(perf_counter() - began)
    return float(phi.shape[1] * steps / min(taken[1:]))


if __name__ == "__main__":
    main()
