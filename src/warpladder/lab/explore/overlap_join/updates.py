"""Threads that update one record: what goes wrong, and what it costs to mend it.

IM's learnings name an ideal case and two others. Ideal: every thread has a record of its own. Case
1: threads of one block share a record; they meet at a barrier, behind shared memory. Case 2:
threads of several blocks share it; no barrier reaches them, and they have to add atomically. Here
are the rungs of the ladder that stand for them, and for case 2 a kernel that divides the ids of a
pair among two blocks. Each block adds up its part as in case 1, and the two parts meet in global
memory: by ``+=``, or by an atomic addition.

Expect: wrong counts where `+=` or a missing barrier is, under some schedules and not under others,
which is why such a kernel passes tests. The barrier of a block does nothing for two: their `+=` is
right when one block runs behind the other, and loses a part in lockstep. Atomics mend either case.
Their price follows from how many threads meet at one place, so adding up in the block first leaves
one addition for a block where there was one for each id in common.

Source: IM case 1; IM case 2; IM learnings; IM shared flags; IM atomics
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from numba import cuda, int32

from warpladder.errors import DeviceError
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
from warpladder.lab.verify import count, pose
from warpladder.overlap_join.ladder import LADDER
from warpladder.overlap_join.rungs import shared_flags
from warpladder.overlap_join.rungs._launching import count_pairs, flat_rows
from warpladder.overlap_join.rungs.shared_flags import added_up
from warpladder.overlap_join.rungs.unrolled import count_in
from warpladder.simulator.execution.schedule import SCHEDULES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.overlap_join.rungs._tasks import Problem
    from warpladder.rung import Rung

__all__ = ["EXPLORATION"]

_PARTS, _THREADS = 2, 32
#: By case; those in the ladder have its names.
_CASES = {
    "unrolled": "0: a record each",
    "id-per-thread": "1: += by all",
    "sum-without-barrier": "1: flags, no barrier",
    "shared-flags": "1: flags, barrier",
    "ballot-count": "1: a warp's ballot",
    "parts-by-increment": "2: flags, then +=",
    "parts-by-atomics": "2: flags, then atomic",
    "atomics": "2: atomics by all",
}
_TIMED = ("unrolled", "shared-flags", "ballot-count", "parts-by-atomics", "atomics")


@cuda.jit(device=True)
def count_part(ids: Any, width: int, room: int) -> Any:
    """Return to thread 0 how many ids of one part of row ``blockIdx.y`` row ``blockIdx.x`` has."""
    flags = cuda.shared.array(_THREADS, int32)
    t = cuda.threadIdx.x
    count = 0
    for k in range(cuda.blockIdx.z * _THREADS + t, width, _PARTS * _THREADS):
        wanted = ids[cuda.blockIdx.y * width + k]
        if wanted != 0:
            count += count_in(ids, cuda.blockIdx.x * width, room, wanted)
    flags[t] = count
    cuda.syncthreads()
    return added_up(flags) if t == 0 else 0


@cuda.jit
def add_parts_by_increment(ids: Any, width: int, room: int, shared: Any) -> None:
    """Add what each of two blocks has counted, one on top of the other."""
    i, j = cuda.blockIdx.y, cuda.blockIdx.x
    if i < j:
        count = count_part(ids, width, room)
        if cuda.threadIdx.x == 0:
            shared[i, j] += count
            shared[j, i] += count


@cuda.jit
def add_parts_by_atomics(ids: Any, width: int, room: int, shared: Any) -> None:
    """Add what each of two blocks has counted, one after the other."""
    i, j = cuda.blockIdx.y, cuda.blockIdx.x
    if i < j:
        count = count_part(ids, width, room)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(shared, (i, j), count)
            cuda.atomic.add(shared, (j, i), count)


def _in_parts(name: str, kernel: Any) -> Rung:
    def run(device: Any, problem: Problem) -> NDArray[np.int32]:
        n = len(problem.rows)
        layout = flat_rows(device, problem.rows)
        return count_pairs(device, kernel, n, (n, n, _PARTS), _THREADS, *layout)

    return replace(shared_flags.RUNG, name=name, run=run, kernels=(kernel,))


def _rungs() -> dict[str, Rung]:
    made = {
        one.name: one
        for one in (
            _in_parts("parts-by-increment", add_parts_by_increment),
            _in_parts("parts-by-atomics", add_parts_by_atomics),
        )
    }
    return {name: LADDER.find(name) or made[name] for name in _CASES}


def _run(setting: Setting) -> Findings:
    rungs = _rungs()
    jobs = [(name, n) for n in setting.sizes for name in _CASES]
    rows = [
        _wrong(rungs[name], n)
        for name, n in setting.watch(
            jobs, lambda job: f"{job[0]}, n = {job[1]}", lambda job: job[1] ** 2
        )
    ]
    largest = max(setting.sizes)
    costs = tuple(_cost(rungs[name], largest) for name in _CASES)
    times = _times(setting, rungs)
    timed = time_table(
        "kernel times on the GPU, medians",
        Column("case", "case", "text"),
        times,
        _CASES.__getitem__,
    )
    wrong = Table(
        "wrong counts under each schedule, checks off",
        (
            Column("case", "case", "text"),
            Column("n", "n", "count"),
            *(Column(schedule, schedule, "count") for schedule in SCHEDULES),
        ),
        tuple(rows),
    )
    cost = Table(
        f"what it costs, all pairs of n = {largest}",
        (
            Column("case", "case", "text"),
            Column("barriers", "barriers", "count"),
            Column("shared", "shared loads", "count"),
            Column("atomics", "atomics", "count"),
            Column("passes", "passes", "count"),
        ),
        costs,
    )
    return Findings(
        (wrong, cost, *timed),
        _answer(rows, costs, times),
        (_panel(rows, largest),),
        remarks_on_times(setting, times),
    )


def _wrong(rung: Rung, n: int) -> dict[str, Any]:
    """Return how many of the counts are wrong under each schedule."""
    from warpladder.simulator import SimulatedDevice

    problem = pose(rung.task, n)
    expected = rung.task.oracle(problem)
    row: dict[str, Any] = {"case": _CASES[rung.name], "rung": rung.name, "n": n}
    for schedule in SCHEDULES:
        device = SimulatedDevice(schedule=schedule, checks=False, counters=False)
        row[schedule] = int((rung.run(device, problem) != expected).sum())
    return row


def _cost(rung: Rung, n: int) -> dict[str, Any]:
    from warpladder.simulator import SimulatedDevice

    counted = count(rung, SimulatedDevice(checks=False), n)
    return {
        "case": _CASES[rung.name],
        "rung": rung.name,
        "barriers": counted.barriers,
        "shared": counted.shared_load_requests,
        "atomics": counted.atomic_threads,
        "passes": counted.atomic_passes,
    }


def _times(setting: Setting, rungs: dict[str, Rung]) -> dict[int, dict[str, Spread]]:
    times: dict[int, dict[str, Spread]] = {}
    if setting.gpu is None:
        return times
    for n in setting.watch(setting.gpu_sizes, lambda n: f"timing n = {n}", lambda n: n**2):
        problem = shared_flags.RUNG.task.make(n, 0)
        answers = {name: rungs[name].run(setting.gpu, problem) for name in _TIMED}
        differ = [name for name, one in answers.items() if (one != answers[_TIMED[0]]).any()]
        if differ:
            raise DeviceError(f"{', '.join(differ)} and {_TIMED[0]} differ at n = {n}")
        times[n] = in_turn(
            {
                name: partial(kernel_seconds, setting.gpu, rungs[name].run, setting.gpu, problem)
                for name in _TIMED
            }
        )
    return times


def _answer(
    rows: list[dict[str, Any]],
    costs: tuple[dict[str, Any], ...],
    times: dict[int, dict[str, Spread]],
) -> tuple[str, ...]:
    always, sometimes = [], []
    for name, case in _CASES.items():
        seen = {schedule for row in rows if row["rung"] == name for schedule in SCHEDULES
                if row[schedule]}  # fmt: skip
        if len(seen) == len(SCHEDULES):
            always.append(f"'{case}'")
        elif seen:
            sometimes.append(
                f"'{case}' (under {', '.join(one for one in SCHEDULES if one in seen)})"
            )
    said = []
    if always:
        said.append(f"Wrong under every schedule: {', '.join(always)}.")
    if sometimes:
        said.append(
            "Wrong under some schedules only, so that a test may well pass: "
            f"{', '.join(sometimes)}."
        )
    said.append("All others are right under every schedule.")
    by_rung = {row["rung"]: row for row in costs}
    flags, parts, each = (by_rung[name] for name in ("shared-flags", "parts-by-atomics", "atomics"))
    price = (
        "The price: flags take a barrier for every warp and a load for every thread, "
        f"{flags['barriers']:,} and {flags['shared']:,} here; an atomic for each id in common is "
        f"{each['atomics']:,} additions, one behind the other. Where blocks add up their part "
        f"first {parts['atomics']:,} are left."
    )
    return " ".join(said), price, *(_told(n, spreads) for n, spreads in times.items())


def _told(n: int, spreads: dict[str, Spread]) -> str:
    least = min(spreads, key=lambda name: spreads[name].median)
    ratios = ", ".join(
        f"'{_CASES[name]}' {spreads[name].median / spreads[least].median:.2f}"
        for name in spreads
        if name != least
    )
    return (
        f"On this GPU, at n = {n}, '{_CASES[least]}' is fastest; the others take so many times as "
        f"long: {ratios}."
    )


def _panel(rows: list[dict[str, Any]], n: int) -> Panel:
    return Panel(
        f"Wrong counts at n = {n}; no bar: none",
        "schedule of the warps",
        "% of the counts",
        tuple(
            Series(
                _CASES[row["rung"]],
                tuple(range(len(SCHEDULES))),
                tuple(100 * row[schedule] / (n * n) for schedule in SCHEDULES),
            )
            for row in rows
            if row["n"] == n and any(row[schedule] for schedule in SCHEDULES)
        ),
        categories=SCHEDULES,
    )


EXPLORATION = Exploration(
    name="updates",
    question="What if threads update one record, in a block or across blocks?",
    source="IM case 1; IM case 2; IM learnings; IM shared flags; IM atomics",
    run=_run,
    sizes=(5,),
    largest=16,
    why_largest="rows of more have 8 ids each here, and a pair takes one warp only",
    rung=f"overlap-join/{shared_flags.RUNG.name}",
    gpu_sizes=(1000,),
)
