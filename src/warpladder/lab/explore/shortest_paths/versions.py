"""The five versions of a teaching paper, what each improves, and what it gained.

CF takes the three loops to one GPU thread, then to as many threads as the GPU holds, each with a
run of consecutive cells, then to one launch whose blocks meet by flags, then keeps D[i,k] in a
register. Its table II has ten runs of four of them at n = 2048, on a GTX 960 and a Xeon X5670.

Here the same five, counted on the simulator and timed on a GPU where there is one. Our flags are
those of `flag-barrier`, whose threads take every T-th cell instead of consecutive ones; the last
version, `pivot-in-run`, has the paper's own order. Beside it stands `pivot-in-register`, which
keeps the same entry in warps that walk along whole rows.

Expect: one launch in place of n saves launches and moves no byte less; its loads differ by the
order of the cells alone. The register saves nearly a third of the load requests of runs, and few of
their sectors. The paper's steps of 43 % and 16.5 % were taken on a card whose launches cost more
than today's. On an H200 the flags, a meeting of all blocks, cost far more than launches, and the
register gains nothing: `flag-barrier` and `pivot-in-run` tell what was found.

Source: CF A; CF B; CF C; CF D; CF E, listing 7; CF table II; CF figure 2; CF figure 3
"""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)
from warpladder.lab.explore.shortest_paths.side_by_side import (
    Counted,
    Timed,
    count_rungs,
    kernel_table,
    remarks,
    time_rungs,
)
from warpladder.lab.launches import launched

__all__ = ["EXPLORATION", "TABLE_II"]

#: Those of the paper that run in parallel, and beside the last of them the ladder's own way.
_PARALLEL = ("consecutive-cells", "flag-barrier", "pivot-in-run")
_OURS = "pivot-in-register"
_COUNTED = ("one-thread", *_PARALLEL, _OURS)
# One thread would take minutes at the sizes to time.
_TIMED = (*_PARALLEL, _OURS)
_N = 2048

#: CF, table II: milliseconds of ten runs at n = 2048, by the rung that stands for the version.
TABLE_II = {
    "sequential-cpu": (40289, 40211, 40215, 40222, 40219, 40889, 40892, 40199, 40221, 40224),
    "consecutive-cells": (5626, 5622, 5639, 5625, 5614, 5617, 5613, 5627, 5649, 5617),
    "flag-barrier": (3179, 3198, 3207, 3229, 3226, 3205, 3231, 3205, 3207, 3159),
    "pivot-in-run": (2541, 2729, 2793, 2819, 2749, 2752, 2549, 2543, 2551, 2731),
}
_THEIR_NAMES = {
    "sequential-cpu": "CPU Sequential",
    "consecutive-cells": "GPU Parallel",
    "flag-barrier": "Atomic GPU",
    "pivot-in-run": "Memory Atomic GPU",
}


_ASKING = (
    "consecutive-cells launches once more than it has steps: a kernel's registers, by which its "
    "grid is sized, are known when it has been compiled."
)


def _run(setting: Setting) -> Findings:
    counted = count_rungs(_COUNTED, setting)
    times = time_rungs(_TIMED, setting)
    counts = Table(
        "counted, all steps",
        (
            Column("n", "n", "count"),
            Column("rung", "rung", "text"),
            Column("launches", "launches", "count"),
            Column("requests", "load requests", "count"),
            Column("sectors", "sectors/request"),
            Column("atomics", "atomics", "count"),
        ),
        tuple(_row(name, n, counted) for n in setting.sizes for name in _COUNTED),
    )
    return Findings(
        (counts, _their_table(), *kernel_table(_TIMED, times)),
        _answer(setting, counted, times),
        _panels(times),
        (_ASKING, *remarks(setting, times)),
    )


def _row(name: str, n: int, counted: Counted) -> dict[str, Any]:
    found = counted[name, n]
    return {
        "n": n,
        "rung": name,
        "launches": len(launched(f"shortest-paths/{name}", n)),
        "requests": found.global_load_requests,
        "sectors": found.global_load_sectors_per_request,
        "atomics": found.atomic_requests,
    }


def _their_table() -> Table:
    rows = tuple(
        {
            "rung": name,
            "theirs": _THEIR_NAMES[name],
            "median": median(taken) / 1e3,
            "mean": fmean(taken) / 1e3,
            "times": median(TABLE_II["sequential-cpu"]) / median(taken),
        }
        for name, taken in TABLE_II.items()
    )
    columns = (
        Column("rung", "rung", "text"),
        Column("theirs", "in CF", "text"),
        Column("median", "median", "seconds"),
        Column("mean", "mean", "seconds"),
        Column("times", "times as fast"),
    )
    return Table(f"CF's table II: ten runs at n = {_N}, GTX 960 and Xeon X5670", columns, rows)


def _saved(before: float, after: float) -> float:
    return 100 * (1 - after / before)


def _answer(setting: Setting, counted: Counted, times: Timed) -> tuple[str, ...]:
    means = {name: fmean(taken) for name, taken in TABLE_II.items()}
    n = max(setting.sizes)
    kept, every = (
        counted[name, n].global_load_requests for name in ("pivot-in-run", "consecutive-cells")
    )
    said = [
        (
            "In CF one launch takes "
            f"{_saved(means['consecutive-cells'], means['flag-barrier']):.0f} % less time than n "
            "of them, and the register "
            f"{_saved(means['flag-barrier'], means['pivot-in-run']):.1f} % less than that, by the "
            "means of its runs."
        ),
        (
            f"Counted at n = {n}, the register saves {_saved(every, kept):.0f} % of the load "
            "requests of runs. What CF does not see: consecutive cells for a thread are "
            "cells apart for a warp."
        ),
    ]
    for size in dict.fromkeys(n for _, n in times):
        run, flags, register, ours = (times[name, size].median for name in _TIMED)
        said.append(
            f"On this GPU, at n = {size}, one launch with flags takes {flags / run:.2f} times as "
            f"long as n launches, the register {register / flags:.2f} times as long as that, and "
            f"{_OURS}, whose warps take whole rows, {ours / register:.2f} times as long again."
        )
    return tuple(said)


def _panels(times: Timed) -> tuple[Panel, ...]:
    """Return CF's two figures, and ours beside the second where there is a GPU."""
    figures = []
    for number, names in ((2, ("sequential-cpu", "consecutive-cells")), (3, _PARALLEL)):
        bars = tuple(median(TABLE_II[name]) / 1e3 for name in names)
        places = tuple(map(float, range(len(names))))
        figures.append(
            Panel(
                f"CF's figure {number}: n = {_N}, GTX 960",
                "version",
                "seconds",
                (Series("CF, medians of ten runs", places, bars),),
                categories=names,
            )
        )
    for n in dict.fromkeys(n for _, n in times):
        bars = tuple(times[name, n].median for name in _TIMED)
        figures.append(
            Panel(
                f"This GPU: n = {n}, kernels",
                "version",
                "seconds",
                (Series("medians", tuple(map(float, range(len(_TIMED)))), bars),),
                categories=_TIMED,
            )
        )
    return tuple(figures)


EXPLORATION = Exploration(
    name="versions",
    question="A paper's five versions: what did each improvement bring?",
    source="CF A; CF B; CF C; CF D; CF E, listing 7; CF table II; CF figure 2; CF figure 3",
    run=_run,
    sizes=(16, 32),
    largest=64,
    why_largest="one thread relaxes n**3 cells on the simulator",
    rung="shortest-paths/consecutive-cells",
    gpu_sizes=(_N,),
)
