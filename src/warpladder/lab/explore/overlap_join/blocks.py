"""How many threads a block has, and what becomes of them.

IM launches blocks of one thread first, then of 1,000, and concludes that the block is to be a
multiple of 32 and the rest a matter of trying. Here one row is compared with all rows of a chunk,
as in the rung `row-against-chunk`, by blocks from one thread to 1,024.

Expect: a block of t threads takes ceil(t / 32) warps, and the last of them is filled up with lanes
that do nothing: of a block of one thread 1/32 works, of 33 threads 33/64, of 1,000 threads 1000 /
1024. The loads of a chunk go down with the warps that make them. A multiple of 32 wastes no lanes;
that does not make all multiples alike. A multiprocessor has places for so many blocks and so many
warps: small blocks end the former before the latter, and large ones leave over what is too little
for another. And a chunk of few rows in large blocks has fewer blocks than there are
multiprocessors.

Source: IM row against chunk; IM learnings
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from warpladder.device.grids import WARP, blocks_for
from warpladder.device.occupancy import occupancy
from warpladder.device.properties import properties_of
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
from warpladder.overlap_join.rungs._launching import rows_apart
from warpladder.overlap_join.rungs.row_against_chunk import RUNG, compare_with_chunk

if TYPE_CHECKING:
    from warpladder.simulator.checks.counters import Counters

__all__ = ["EXPLORATION"]

_THREADS = (1, 8, 32, 33, 64, 100, 128, 256, 512, 1000, 1024)
#: Of IM's card, of one with fewer places for threads, and of an H200.
_CAPABILITIES = ((6, 1), (8, 6), (9, 0))

_PART_FILLED = (
    " They fill no warp: each thread reads a row of its own, in a line of its own, so that lines "
    "limit and not lanes; and part-filled warps are more of them, which hide each other's waiting."
)


def _run(setting: Setting) -> Findings:
    jobs = [(n, threads) for n in setting.sizes for threads in _THREADS]
    counted = {
        job: _count(*job)
        for job in setting.watch(
            jobs, lambda job: f"counting n = {job[0]}, {job[1]} threads", lambda _job: 1.0
        )
    }
    times = {n: _time(setting.gpu, n) for n in setting.gpu_sizes} if setting.gpu else {}
    launch = Table(
        "one row against a chunk of n",
        (
            Column("n", "n", "count"),
            Column("threads", "threads", "count"),
            Column("warps", "warps", "count"),
            Column("busy", "threads/instruction"),
            Column("requests", "load requests", "count"),
            Column("sectors", "sectors/request"),
        ),
        tuple(_row(n, threads, counted[n, threads]) for n, threads in jobs),
    )
    places = Table(
        "warps of a multiprocessor in use %, by compute capability",
        (
            Column("threads", "threads", "count"),
            Column("filled", "lanes filled %"),
            *(Column(_named(one), _named(one)) for one in _CAPABILITIES),
        ),
        tuple(_places(threads) for threads in _THREADS),
    )
    timed = time_table(
        "kernel time of one row against a chunk on the GPU, medians",
        Column("threads", "threads", "count"),
        times,
    )
    return Findings(
        (launch, places, *timed),
        _answer(setting, counted, times),
        (_panel(setting, counted),),
        remarks_on_times(setting, times, lambda threads: f"{threads} threads"),
    )


def _count(n: int, threads: int) -> Counters:
    """Return what is counted while row 0 is compared with all others."""
    from warpladder.simulator import SimulatedDevice

    device = SimulatedDevice(checks=False)
    _compare(device, *_laid_out(device, n), threads)
    return device.counters


def _laid_out(device: Any, n: int) -> tuple[Any, Any]:
    layout = rows_apart(device, RUNG.task.make(n, 0).rows)
    return layout, device.full((1, n), 0, "int32")


def _compare(device: Any, layout: Any, shared: Any, threads: int) -> None:
    n = shared.shape[1]
    device.launch(compare_with_chunk, blocks_for(n, threads), threads, *layout, shared, 0)


def _time(gpu: Any, n: int) -> dict[int, Spread]:
    layout, shared = _laid_out(gpu, n)

    def seconds(threads: int) -> float:
        return kernel_seconds(gpu, _compare, gpu, layout, shared, threads)

    seconds(WARP)  # compiles
    return in_turn({threads: partial(seconds, threads) for threads in _THREADS})


def _row(n: int, threads: int, counted: Counters) -> dict[str, Any]:
    return {
        "n": n,
        "threads": threads,
        "warps": blocks_for(n, threads) * blocks_for(threads, WARP),
        "busy": counted.threads_per_instruction,
        "requests": counted.global_load_requests,
        "sectors": counted.global_load_sectors_per_request,
    }


def _named(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def _places(threads: int) -> dict[str, Any]:
    fractions = {
        _named(one): 100 * occupancy(properties_of(one), threads).fraction for one in _CAPABILITIES
    }
    filled = 100 * threads / (WARP * blocks_for(threads, WARP))
    return {"threads": threads, "filled": filled, **fractions}


def _answer(
    setting: Setting,
    counted: dict[tuple[int, int], Counters],
    times: dict[int, dict[int, Spread]],
) -> tuple[str, ...]:
    n = max(setting.sizes)
    alone, whole = (counted[n, threads].global_load_requests for threads in (1, WARP))
    lanes = (
        f"Whole warps: at n = {n} blocks of one thread make {alone:,} load requests and blocks of "
        f"32 make {whole:,}. A block of 33 takes two warps for one thread more; one of 1,000 "
        "leaves 8 of 1,024 lanes empty, which costs little."
    )
    kept = {threads: _places(threads) for threads in _THREADS}
    places = (
        "But not any number of them. With 32 threads a block, places for blocks run out first: "
        f"{kept[32]['9.0']:.0f} % of the warps on 9.0, {kept[32]['8.6']:.0f} % on 8.6. With 1,024, "
        f"8.6 has room for one block and {kept[1024]['8.6']:.0f} %. 128 to 512 fill all three."
    )
    said = [lanes, places]
    for size, spreads in times.items():
        best = min(spreads, key=lambda threads: spreads[threads].median)
        ratio = spreads[1].median / spreads[best].median
        said.append(
            f"On this GPU, at n = {size}, blocks of {best} threads are fastest, {ratio:.1f} times "
            f"as fast as blocks of one.{_PART_FILLED if best % WARP else ''}"
        )
    return tuple(said)


def _panel(setting: Setting, counted: dict[tuple[int, int], Counters]) -> Panel:
    return Panel(
        "Threads at work in an instruction",
        "threads in a block",
        "of 32",
        tuple(
            Series(
                f"n = {n}",
                tuple(map(float, _THREADS)),
                tuple(counted[n, threads].threads_per_instruction for threads in _THREADS),
            )
            for n in setting.sizes
        ),
        log_base=2,
        connected=False,
    )


EXPLORATION = Exploration(
    name="blocks",
    question="How many threads should a block have?",
    source="IM row against chunk; IM learnings",
    run=_run,
    sizes=(100, 500),
    largest=999,
    why_largest="rows of more have 1,000 ids here, a million steps for the simulator",
    rung=f"overlap-join/{RUNG.name}",
    gpu_sizes=(4000, 20_000),
)
