"""The size of the block, for every way of adding up.

RD's kernels are written for one block size, which the fully unrolled one even has compiled in. Here
all of them that take another are run with blocks of 32 to 1,024 threads.

A block of t threads takes log2(t) steps behind one another, and leaves one number; so large blocks
take longer each, and small ones leave more to do for the next pass. A multiprocessor has places for
so many blocks and so many warps: blocks of 32 end the former first. How many warps a kernel really
gets, its registers decide as well, where its compiler is at hand to be asked.

Expect, where a thread has one element: as many load requests with any size in the first pass, and a
pass less with 1,024 than with 32 as soon as n is more than 32 * 1,024. Barriers of a warp: the
steps of a block, 5 with 32 and 10 with 1,024, so that small blocks wait less and pass more often.
The kernels whose threads walk over the array (`grid-stride` and all after it) launch as many
threads whatever the size: to them it should matter little. With 32 threads half of the places for
warps are empty on a GPU like the H200, with all other sizes none, if registers suffice.

Source: RD 7; RD 9; RD 10
"""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

from warpladder.device.occupancy import occupancy
from warpladder.device.properties import properties_of
from warpladder.errors import DeviceError, MissingExtraError
from warpladder.lab.compare import difference
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)
from warpladder.lab.explore.kernel_times import remarks_on_times, time_table
from warpladder.lab.explore.measure import Spread, in_turn, kernel_seconds
from warpladder.reduction.ladder import LADDER

if TYPE_CHECKING:
    from warpladder.rung import Rung
    from warpladder.simulator.checks.counters import Counters

__all__ = ["EXPLORATION"]

_THREADS = (32, 64, 128, 256, 512, 1024)
#: One for each of RD's ideas; every rung of the ladder whose blocks have a choice is timed.
_TREE, _WALKING = "sequential-shared", "grid-stride"
_COUNTED = (_TREE, "first-add-during-load", _WALKING, "warp-shuffle")
_CAPABILITY = (9, 0)
_NUMBER = 4

Times = dict[int, dict[tuple[str, int], Spread]]


def _run(setting: Setting) -> Findings:
    jobs = [(name, n, threads) for n in setting.sizes for name in _COUNTED for threads in _THREADS]
    counted = {
        job: _count(*job)
        for job in setting.watch(
            jobs, lambda job: f"{job[0]}, {job[2]} threads, n = {job[1]}", lambda job: job[1]
        )
    }
    registers = _registers()
    times = _time(setting)
    work = Table(
        "counted, all passes",
        (
            Column("rung", "rung", "text"),
            Column("n", "n", "count"),
            Column("threads", "threads", "count"),
            Column("launches", "passes", "count"),
            Column("requests", "requests", "count"),
            Column("barriers", "barriers", "count"),
            Column("busy", "of 32 busy"),
        ),
        tuple(_row(job, *counted[job]) for job in jobs),
    )
    places = Table(
        "warps of a multiprocessor in use %, on 9.0 as an H200 is",
        (
            Column("rung", "rung", "text"),
            Column("registers", "regs", "count"),
            *(Column(str(threads), str(threads)) for threads in _THREADS),
        ),
        tuple(_places(name, registers.get(name)) for name in _COUNTED),
    )
    timed = time_table(
        "kernel time on the GPU, medians",
        Column("case", "rung, threads", "text"),
        times,
        lambda case: f"{case[0]}, {case[1]}",
    )
    return Findings(
        (work, places, *timed),
        _answer(setting, counted, times),
        (*_panels(setting, counted), *_time_panels(times)),
        (
            *remarks_on_times(setting, times, lambda case: f"{case[0]} with {case[1]} threads"),
            *(() if registers else (_NO_COMPILER,)),
        ),
    )


def _rungs() -> list[Rung]:
    """Return the rungs whose block size can be chosen."""
    return [rung for rung in LADDER.rungs if "threads" in signature(rung.run).parameters]


def _find(name: str) -> Rung:
    return next(rung for rung in _rungs() if rung.name == name)


def _count(name: str, n: int, threads: int) -> tuple[Counters, int]:
    """Return what is counted while n numbers are added up, and how many launches that takes."""
    from warpladder.simulator import SimulatedDevice

    device, rung = SimulatedDevice(checks=False), _find(name)
    problem = rung.task.make(n, 0)
    _check(rung, problem, _sum(rung, device, problem, threads), threads)
    return device.counters, len(device.launches)


def _sum(rung: Rung, device: Any, problem: Any, threads: int) -> Any:
    # Its contract has no block size; those of `_rungs` take one besides.
    run: Any = rung.run
    return run(device, problem, threads)


def _check(rung: Rung, problem: Any, answer: Any, threads: int) -> None:
    if wrong := difference(rung.task.oracle(problem), answer):
        raise DeviceError(f"{rung.name} with blocks of {threads} threads: {wrong}")


def _registers() -> dict[str, int]:
    """Return the registers of a thread by rung; nothing where no compiler is at hand."""
    from warpladder.lab.compile import compile_kernel
    from warpladder.lab.launches import launched_variants

    try:
        return {
            name: max(
                compile_kernel(variant.kernel, variant.arguments, _CAPABILITY).registers
                for variant in launched_variants(_find(name))
            )
            for name in _COUNTED
        }
    except (MissingExtraError, DeviceError):
        return {}


def _places(name: str, registers: int | None) -> dict[str, Any]:
    properties = properties_of(_CAPABILITY)
    fractions = {
        str(threads): 100
        * occupancy(
            properties,
            threads,
            registers_per_thread=registers or 0,
            shared_bytes=threads * _NUMBER,
        ).fraction
        for threads in _THREADS
    }
    return {"rung": name, "registers": registers, **fractions}


def _time(setting: Setting) -> Times:
    times: Times = {}
    if setting.gpu is None:
        return times
    gpu: Any = setting.gpu
    for n in setting.watch(setting.gpu_sizes, lambda n: f"timing n = {n}", float):
        problem = LADDER.rungs[0].task.make(n, 0)
        tasks = {}
        for rung in _rungs():
            # Those of other numbers have other tasks.
            if rung.task is not LADDER.rungs[0].task:
                continue
            for threads in _THREADS:
                # Also the first run, in which kernels are compiled.
                _check(rung, problem, _sum(rung, gpu, problem, threads), threads)
                tasks[rung.name, threads] = partial(
                    kernel_seconds, gpu, rung.run, gpu, problem, threads
                )
        times[n] = in_turn(tasks)
    return times


def _row(job: tuple[str, int, int], counted: Counters, launches: int) -> dict[str, Any]:
    name, n, threads = job
    return {
        "rung": name,
        "n": n,
        "threads": threads,
        "launches": launches,
        "requests": counted.global_load_requests,
        "barriers": counted.barriers,
        "busy": counted.threads_per_instruction,
    }


def _answer(
    setting: Setting, counted: dict[tuple[str, int, int], tuple[Counters, int]], times: Times
) -> tuple[str, ...]:
    n = max(setting.sizes)
    few, many = _THREADS[0], _THREADS[-1]
    small, large = (counted[_TREE, n, threads] for threads in (few, many))
    walks = [counted[_WALKING, n, threads][0].global_load_requests for threads in (few, many)]
    said = [
        (
            f"At n = {n:,} {_TREE} takes {small[1]} passes with blocks of {few} and {large[1]} "
            f"with blocks of {many:,}, and its warps wait at {small[0].barriers:,} and "
            f"{large[0].barriers:,} barriers."
        ),
        (
            f"{_WALKING} makes {walks[0]:,} load requests with blocks of {few} and {walks[1]:,} "
            f"with blocks of {many:,}: its threads walk over the array, however they are grouped."
        ),
    ]
    for size, spreads in times.items():
        best = {
            name: min(
                (threads for rung, threads in spreads if rung == name),
                key=lambda threads, name=name: spreads[name, threads].median,  # type: ignore[misc]
            )
            for name in dict.fromkeys(name for name, _ in spreads)
        }
        found = ", ".join(f"{name} {threads}" for name, threads in best.items())
        said.append(f"On this GPU, at n = {size:,}, the fastest blocks are: {found}.")
    return tuple(said)


def _panels(
    setting: Setting, counted: dict[tuple[str, int, int], tuple[Counters, int]]
) -> tuple[Panel, ...]:
    n = max(setting.sizes)
    places = tuple(map(float, _THREADS))
    return (
        Panel(
            f"Barriers that warps pass, n = {n:,}",
            "threads in a block",
            "barriers",
            tuple(
                Series(
                    name,
                    places,
                    tuple(counted[name, n, threads][0].barriers or None for threads in _THREADS),
                )
                for name in _COUNTED
            ),
            log_base=2,
        ),
    )


def _time_panels(times: Times) -> tuple[Panel, ...]:
    places = tuple(map(float, _THREADS))
    return tuple(
        Panel(
            f"Kernel time on the GPU, n = {n:,}",
            "threads in a block",
            "microseconds",
            tuple(
                Series(
                    name,
                    places,
                    tuple(1e6 * spreads[name, threads].median for threads in _THREADS),
                )
                for name in _COUNTED
            ),
            log_base=10,
        )
        for n, spreads in times.items()
    )


_NO_COMPILER = (
    "Registers are left out of account: no compiler is at hand (pip install 'warpladder[compile]')."
)

EXPLORATION = Exploration(
    name="block-size",
    question="Adding up: which block size for which kernel?",
    source="RD 7; RD 9; RD 10",
    run=_run,
    sizes=(1 << 10, 1 << 16),
    largest=1 << 20,
    why_largest="the simulator takes minutes for more",
    rung="reduction/sequential-shared",
    gpu_sizes=(1 << 10, 1 << 20, 1 << 28),
)
