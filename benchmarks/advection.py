"""Advection on the CPU: checked, then timed beside step loops and what registers alone allow.

Everything that is compared runs in one process in turn; figures are medians, in cell-steps a
second. The ceiling is the rate at which all cores together work out the same formula on numbers
that stay in registers, measured between the runs it is compared with.

Peers: a loop over the cells compiled by Numba, in one thread and in all, NumPy's slices, and a
compiled loop of JAX where that is installed (``pip install jax``; no extra brings it). PyClaw
(``pip install clawpack``, which takes a Fortran compiler) is timed with the schemes that both have,
once its answers are found to be ours but for rounding.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from report import Target, interleave, print_table, print_targets, quantiles, write_results
from warpladder.advection.cpu import CpuEngine
from warpladder.advection.forms import LIMITERS, Edge, Limited, Problem, Stencil
from warpladder.advection.plain import PlainEngine
from warpladder.device.arithmetic import fma
from warpladder.device.environment import worker_count
from warpladder.device.simd import vector_unit

_LARGE, _LARGE_STEPS = 1 << 24, 1024
_SIZES = (32, 64, 128, 500, 1000, 2048, 4096, 16_384, 1 << 16, 1 << 18, 1 << 20)
#: Cell-steps of one timed call, where the size allows.
_WORK = 1 << 30
_COURANT = 0.6
_SCHEMES: dict[str, dict[int, float]] = {
    "upwind": {-1: _COURANT, 0: 0.4},
    "lax-wendroff": {-1: 0.48, 0: 0.64, 1: -0.12},
    "beam-warming": {-2: -0.12, -1: 0.84, 0: 0.28},
    "fromm": {-2: -0.06, -1: 0.66, 0: 0.46, 1: -0.06},
}
_LEFT, _RIGHT = np.float32(0.8), np.float32(0.2)
#: Vectors that the ceiling keeps in registers, and rounds it works them out.
_KEPT, _ROUNDS = 12, 4_000_000


def main() -> None:
    """Check, time, print, write."""
    _check()
    targets: list[Target] = []
    document = {
        "large": _time_large(targets),
        "by_size": _time_sizes(targets),
        "by_scheme": _time_schemes(),
    }
    if find_spec("clawpack"):
        document["pyclaw"] = _time_pyclaw()
    print_targets(targets)
    path = write_results("advection", {**document, "targets": targets})
    print(f"wrote {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def _problem(offsets: dict[int, float], dtype: str = "float32") -> Problem:
    rule = Stencil(tuple(offsets), np.array([list(offsets.values())], dtype))
    return Problem(rule, Edge("copy"), Edge("copy"))


def _limited(limiter: str, dtype: str) -> Problem:
    courant = np.array([_COURANT])
    correction = courant * (1 - courant) / 2
    rule = Limited(limiter, courant.astype(dtype), correction.astype(dtype))
    return Problem(rule, Edge("copy"), Edge("copy"))


_LAX_FRIEDRICHS = {-1: float(_LEFT), 1: float(_RIGHT)}


def _advance(problem: Problem, phi: NDArray[Any], steps: int) -> NDArray[Any]:
    return CpuEngine().advance(problem, phi, 0, steps, lambda _: None)


def _check() -> None:
    """Compare with the plain loop, bit for bit, before anything is timed."""
    for dtype in ("float32", "float64"):
        phi = np.random.default_rng(1).random((1, 300_007)).astype(dtype)
        for offsets in (_LAX_FRIEDRICHS, *_SCHEMES.values()):
            problem = _problem(offsets, dtype)
            plain = PlainEngine().advance(problem, phi, 0, 300, lambda _: None)
            if _advance(problem, phi, 300).tobytes() != plain.tobytes():
                raise SystemExit(f"wrong cells: {offsets} {dtype}")


@njit(nogil=True)
def serial_loop(cells: Any, new: Any, steps: Any) -> Any:
    """Step GR's way: ghosts, then every cell."""
    n = cells.size - 2
    for _ in range(steps):
        cells[0], cells[n + 1] = cells[1], cells[n]
        for i in range(1, n + 1):
            new[i] = fma(_RIGHT, cells[i + 1], _LEFT * cells[i - 1])
        cells, new = new, cells
    return cells


@njit(nogil=True)
def _stretch(cells: Any, new: Any) -> None:
    for i in range(new.size):
        new[i] = fma(_RIGHT, cells[i + 2], _LEFT * cells[i])


@njit(parallel=True)
def parallel_loop(cells: Any, new: Any, steps: Any) -> Any:
    """Do the same in all threads, each with stretches that are made of vectors."""
    n = cells.size - 2
    stretches = 64
    for _ in range(steps):
        cells[0], cells[n + 1] = cells[1], cells[n]
        for k in prange(stretches):
            first, last = k * n // stretches, (k + 1) * n // stretches
            _stretch(cells[first : last + 2], new[first + 1 : last + 1])
        cells, new = new, cells
    return cells


def numpy_loop(cells: NDArray[Any], new: NDArray[Any], steps: int) -> NDArray[Any]:
    """Do the same with slices."""
    for _ in range(steps):
        cells[0], cells[-1] = cells[1], cells[-2]
        new[1:-1] = _LEFT * cells[:-2] + _RIGHT * cells[2:]
        cells, new = new, cells
    return cells


def jax_loop(phi: NDArray[Any], steps: int) -> Callable[[], object]:
    """Return a call of the same as JAX compiles it."""
    import jax
    import jax.numpy as jnp

    def step(_: Any, cells: Any) -> Any:
        padded = jnp.pad(cells, 1, mode="edge")
        return _LEFT * padded[:-2] + _RIGHT * padded[2:]

    run = jax.jit(lambda cells: jax.lax.fori_loop(0, steps, step, cells))
    there = jax.device_put(phi[0])
    return lambda: run(there).block_until_ready()


@intrinsic
def _in_registers(typingctx, rounds, a, b):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """Work out the formula for a ring of vectors, so many rounds; nothing is loaded or stored."""
    lanes = vector_unit().bytes // 4

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]  # noqa: ARG001
        kind = ir.VectorType(ir.FloatType(), lanes)
        lane = ir.IntType(32)
        unknown = ir.Constant(kind, ir.Undefined)
        weights = [
            builder.shuffle_vector(
                builder.insert_element(unknown, one, lane(0)),
                unknown,
                ir.Constant(ir.VectorType(lane, lanes), [0] * lanes),
            )
            for one in args[1:]
        ]
        multiply_add = ir.Function(
            builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fma.v{lanes}f32"
        )
        before = builder.block
        loop, after = (builder.append_basic_block(name) for name in ("loop", "after"))
        builder.branch(loop)
        builder.position_at_end(loop)
        count = builder.phi(args[0].type)
        ring = [builder.phi(kind) for _ in range(_KEPT)]
        new = [
            builder.call(
                multiply_add,
                [weights[1], ring[(k + 1) % _KEPT], builder.fmul(weights[0], ring[k - 1])],
            )
            for k in range(_KEPT)
        ]
        left = builder.sub(count, args[0].type(1))
        count.add_incoming(args[0], before)
        count.add_incoming(left, loop)
        for k, (old, value) in enumerate(zip(ring, new, strict=True)):
            old.add_incoming(ir.Constant(kind, [1.0 + k + j for j in range(lanes)]), before)
            old.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed(">", left, args[0].type(0)), loop, after)
        builder.position_at_end(after)
        total = new[0]
        for value in new[1:]:
            total = builder.fadd(total, value)
        result = builder.extract_element(total, lane(0))
        for j in range(1, lanes):
            result = builder.fadd(result, builder.extract_element(total, lane(j)))
        return result

    return types.float32(types.int64, types.float32, types.float32), codegen


@njit(nogil=True)
def _registers(rounds: Any) -> Any:
    return _in_registers(rounds, _LEFT, _RIGHT)


def _ceiling(pool: ThreadPoolExecutor) -> float:
    """Return seconds for a cell-step on all cores where only arithmetic limits."""
    from time import perf_counter

    began = perf_counter()
    list(pool.map(_registers, [_ROUNDS] * worker_count()))
    lanes = vector_unit().bytes // 4
    return (perf_counter() - began) / (_ROUNDS * _KEPT * lanes * worker_count())


def _peers(phi: NDArray[Any], steps: int) -> dict[str, Callable[[], object]]:
    """Return calls of the step loops, each with the cells padded beforehand."""
    cells = np.pad(phi[0], 1)
    new = cells.copy()
    tasks: dict[str, Callable[[], object]] = {
        "Numba, one thread": partial(serial_loop, cells, new, steps),
        "Numba, all threads": partial(parallel_loop, cells, new, steps),
        "NumPy slices": partial(numpy_loop, cells, new, steps),
    }
    if find_spec("jax"):
        tasks["JAX"] = jax_loop(phi, steps)
    return tasks


def _time_large(targets: list[Target]) -> list[dict[str, Any]]:
    """Time cells beyond the caches beside the peers and the ceiling."""
    phi = np.random.default_rng(0).random((1, _LARGE), np.float32)
    few = 8
    steps = {"warpladder": _LARGE_STEPS}
    problem = _problem(_LAX_FRIEDRICHS)
    tasks = _peers(phi, few)
    tasks["warpladder"] = partial(_advance, problem, phi, _LARGE_STEPS)
    for task in tasks.values():
        task()
    with ThreadPoolExecutor(worker_count()) as pool:
        _ceiling(pool)
        figures = interleave({**tasks, "registers only": lambda: _ceiling(pool)}, rounds=7)
    each = {
        name: [
            one if name == "registers only" else one / (_LARGE * steps.get(name, few))
            for one in seconds
        ]
        for name, seconds in figures.items()
    }
    median = {name: statistics.median(values) for name, values in each.items()}
    ours = median["warpladder"]
    targets.append(
        Target("share of registers only, 2^24 cells", median["registers only"] / ours, 0.6)
    )
    for peer, asked in (("Numba, all threads", 5), ("NumPy slices", 60)):
        targets.append(Target(f"times {peer}, 2^24 cells", median[peer] / ours, asked))
    rows = [
        {
            "case": name,
            "G_cell_steps_per_s": 1e-9 / median[name],
            "percent_of_ceiling": 100 * median["registers only"] / median[name],
            "warpladder_is_times": median[name] / ours,
            "ns_a_cell_step": quantiles([1e9 * one for one in values]),
        }
        for name, values in each.items()
    ]
    print_table(
        f"Lax-Friedrichs, float32, 2^24 cells, {_LARGE_STEPS} steps",
        [{key: row[key] for key in list(row)[:-1]} for row in rows],
    )
    return rows


def _time_sizes(targets: list[Target]) -> list[dict[str, Any]]:
    """Time rows of every size beside the loops."""
    rows = []
    least = float("inf")
    for n in _SIZES:
        phi = np.random.default_rng(0).random((1, n), np.float32)
        steps = _WORK // max(n, 4096)
        problem = _problem(_LAX_FRIEDRICHS)
        peers = _peers(phi, steps)
        tasks: dict[str, Callable[[], object]] = {
            "warpladder": partial(_advance, problem, phi, steps),
            "serial": peers["Numba, one thread"],
            "parallel": peers["Numba, all threads"],
        }
        if n < 1 << 16:
            # A thousand times too slow to be waited for.
            del tasks["parallel"]
        for task in tasks.values():
            task()
        # Where both run the same few vectors, medians of seven went from 0.94 to 1.4 of each other.
        figures = interleave(tasks, rounds=21)
        median = {name: statistics.median(seconds) for name, seconds in figures.items()}
        times = median["serial"] / median["warpladder"]
        least = min(least, times)
        rows.append(
            {
                "case": f"{n:,} cells, {steps:,} steps",
                "cells": n,
                "G_cell_steps_per_s": 1e-9 * n * steps / median["warpladder"],
                "times_one_thread": times,
                "times_all_threads": median["parallel"] / median["warpladder"]
                if "parallel" in median
                else None,
            }
        )
        if n == 1 << 16:
            targets.append(Target("times Numba, one thread, 2^16 cells", times, 2.5))
    targets.append(Target("times Numba, one thread, the least of all sizes", least, 1.0))
    print_table(
        "Lax-Friedrichs, float32, by size",
        [{key: row[key] for key in row if key != "cells"} for row in rows],
    )
    return rows


def _time_schemes() -> list[dict[str, Any]]:
    """Time every scheme beside the plain loop of the package, which is for any scheme."""
    rows = []
    n, steps = 1 << 20, 512
    rules: dict[str, Any] = {"lax-friedrichs": _LAX_FRIEDRICHS, **_SCHEMES}
    for dtype in ("float32", "float64"):
        phi = np.random.default_rng(0).random((1, n)).astype(dtype)
        for name in (*rules, *LIMITERS):
            problem = _problem(rules[name], dtype) if name in rules else _limited(name, dtype)
            few = 8
            tasks: dict[str, Callable[[], object]] = {
                "warpladder": partial(_advance, problem, phi, steps),
                "plain": partial(PlainEngine().advance, problem, phi, 0, few, lambda _: None),
            }
            for task in tasks.values():
                task()
            figures = interleave(tasks, rounds=5)
            ours = statistics.median(figures["warpladder"]) / steps
            plain = statistics.median(figures["plain"]) / few
            rows.append(
                {
                    "case": f"{name}, {dtype}",
                    "scheme": name,
                    "G_cell_steps_per_s": 1e-9 * n / ours,
                    "times_plain_loop": plain / ours,
                }
            )
    print_table(
        f"by scheme, {n:,} cells, {steps} steps",
        [{key: row[key] for key in row if key != "scheme"} for row in rows],
    )
    return rows


def _pyclaw_steps(phi: NDArray[Any], limiter: str | None) -> Callable[[int], NDArray[Any]]:
    """Return a call by which PyClaw takes steps, upwind or with a limiter, and gives its cells."""
    from clawpack import pyclaw, riemann

    kinds = pyclaw.limiters.tvd
    limiters = {
        "minmod": kinds.minmod,
        "superbee": kinds.superbee,
        "van-leer": kinds.vanleer,
        "mc": kinds.MC,
    }
    solver = pyclaw.ClawSolver1D(riemann.advection_1D)
    solver.order = 1 if limiter is None else 2
    if limiter is not None:
        solver.limiters = limiters[limiter]
    solver.bc_lower[0] = solver.bc_upper[0] = pyclaw.BC.extrap
    domain = pyclaw.Domain(pyclaw.Dimension(0.0, 1.0, phi.size, name="x"))
    state = pyclaw.State(domain, 1)
    state.problem_data["u"] = 1.0
    state.q[0] = phi
    solution = pyclaw.Solution(state, domain)
    solver.dt_variable, solver.dt = False, _COURANT / phi.size
    solver.setup(solution)

    def take(steps: int) -> NDArray[Any]:
        for _ in range(steps):
            solver.step(solution, True, 0.0, np.inf)
        cells: NDArray[Any] = solution.q[0]
        return cells

    return take


def _time_pyclaw() -> list[dict[str, Any]]:
    """Time the schemes that PyClaw has, too: float64, which is what it works in."""
    rows = []
    n, steps, few, checked = 1 << 20, 512, 8, 5000
    for name in ("upwind", *LIMITERS):
        limiter = None if name == "upwind" else name
        problem = _limited(name, "float64") if limiter else _problem(_SCHEMES[name], "float64")
        small = np.random.default_rng(1).random((1, checked))
        theirs = _pyclaw_steps(small[0], limiter)(50)
        # Each step rounds a few times, and both sum in another order.
        if not np.allclose(theirs, _advance(problem, small, 50)[0], rtol=0, atol=1e-13):
            raise SystemExit(f"PyClaw has other cells: {name}")
        phi = np.random.default_rng(0).random((1, n))
        tasks: dict[str, Callable[[], object]] = {
            "warpladder": partial(_advance, problem, phi, steps),
            "PyClaw": partial(_pyclaw_steps(phi[0], limiter), few),
        }
        for task in tasks.values():
            task()
        figures = interleave(tasks, rounds=5)
        ours = statistics.median(figures["warpladder"]) / steps
        pyclaw = statistics.median(figures["PyClaw"]) / few
        rows.append(
            {
                "case": name,
                "G_cell_steps_per_s": 1e-9 * n / ours,
                "PyClaw_G_cell_steps_per_s": 1e-9 * n / pyclaw,
                "times_PyClaw": pyclaw / ours,
            }
        )
    print_table(f"beside PyClaw, float64, {n:,} cells", rows)
    return rows


if __name__ == "__main__":
    main()
