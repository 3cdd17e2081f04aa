"""Rungs of the shortest-paths ladder side by side: counted on the simulator, timed on a GPU."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import DeviceError
from warpladder.lab.explore.exploration import Column, Panel, Series, Setting, Table
from warpladder.lab.explore.measure import Spread, in_turn, kernel_seconds, unsteady
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import count
from warpladder.lab.verify import run as run_rung

if TYPE_CHECKING:
    from warpladder.simulator.checks.counters import Counters

__all__ = [
    "Counted",
    "count_rungs",
    "kernel_panel",
    "kernel_table",
    "ratios",
    "remarks",
    "sectors_panel",
    "time_rungs",
]

#: Counters by rung and size; likewise kernel times.
Counted = dict[tuple[str, int], "Counters"]
Timed = dict[tuple[str, int], Spread]


def count_rungs(names: tuple[str, ...], setting: Setting) -> Counted:
    """Count each rung at each size, on the simulator."""
    from warpladder.simulator import SimulatedDevice

    jobs = [(name, n) for n in setting.sizes for name in names]
    counted: Counted = {}
    for name, n in setting.watch(jobs, lambda job: f"counting {job[0]}, n = {job[1]}", _cells):
        rung = find_rung(f"shortest-paths/{name}")[1]
        counted[name, n] = count(rung, SimulatedDevice(checks=False), n)
    return counted


def time_rungs(names: tuple[str, ...], setting: Setting) -> Timed:
    """Time the kernels of each rung at each size for GPUs, in turn; nothing where there is no GPU.

    Raises
    ------
    DeviceError
        Two rungs find different distances, so that their times mean nothing.
    """
    times: Timed = {}
    if setting.gpu is None:
        return times
    rungs = [find_rung(f"shortest-paths/{name}")[1] for name in names]
    for n in setting.watch(setting.gpu_sizes, lambda n: f"timing n = {n}", lambda n: n**3):
        problem = rungs[0].task.make(n, 0)
        # Also the first run, in which kernels are compiled.
        first, *others = (_distances(run_rung(rung, setting.gpu, problem)) for rung in rungs)
        if not all(np.array_equal(first, other) for other in others):
            raise DeviceError(
                f"{', '.join(names)} differ in their distances at n = {n}; "
                "`warpladder climb shortest-paths --device cuda` says which is wrong"
            )
        spreads = in_turn(
            {
                rung.name: partial(
                    kernel_seconds, setting.gpu, run_rung, rung, setting.gpu, problem
                )
                for rung in rungs
            }
        )
        times.update({(name, n): spread for name, spread in spreads.items()})
    return times


def _distances(answer: Any) -> Any:
    """Return the distances of an answer, which a rung may give with next hops."""
    return answer[0] if isinstance(answer, tuple) else answer


def ratios(times: Timed, one: str, other: str) -> str:
    """Return how many times as long as another rung one takes, at each size."""
    sizes = dict.fromkeys(n for _, n in times)
    return ", ".join(
        f"{times[one, n].median / times[other, n].median:.2f} at n = {n}" for n in sizes
    )


def sectors_panel(names: tuple[str, ...], counted: Counted, setting: Setting) -> Panel:
    """Return the panel of the sectors that a load request of each rung reads."""
    return Panel(
        "Sectors per load request",
        setting.size_word,
        "32-byte sectors per request",
        tuple(
            Series(
                name,
                setting.sizes,
                tuple(counted[name, n].global_load_sectors_per_request for n in setting.sizes),
            )
            for name in names
        ),
        connected=False,
    )


def _cells(job: tuple[str, int]) -> float:
    return float(job[1] ** 3)


def remarks(setting: Setting, times: Timed) -> tuple[str, ...]:
    """Return what to remark on the times: what is in them, or that there are none."""
    if setting.gpu is None:
        return (f"Kernel times are not measured: {setting.why_no_gpu}.",)
    # 50 us is what both kernels of `columns` took at n = 1024 on an H200.
    launching = (
        "A kernel that ends before the host has launched the next one is timed as that launch, "
        "about 50 us beside an H200."
    )
    shaky = unsteady({f"{name} at n = {n}": spread for (name, n), spread in times.items()})
    return (launching, *shaky)


def kernel_table(names: tuple[str, ...], times: Timed) -> tuple[Table, ...]:
    """Return the table of kernel times of one step, a column per rung; none without times."""
    if not times:
        return ()
    sizes = dict.fromkeys(n for _, n in times)
    rows = tuple({"n": n, **{name: times[name, n].median / n for name in names}} for n in sizes)
    columns = (Column("n", "n", "count"), *(Column(name, name, "seconds") for name in names))
    return (Table("kernel time of one step on the GPU, medians", columns, rows),)


def kernel_panel(names: tuple[str, ...], times: Timed, setting: Setting) -> tuple[Panel, ...]:
    """Return the panel of kernel times of one step; none without times."""
    if not times:
        return ()
    sizes = tuple(dict.fromkeys(n for _, n in times))
    series = tuple(
        Series(name, sizes, tuple(1e6 * times[name, n].median / n for n in sizes)) for name in names
    )
    return (Panel("Kernel time of one step", setting.size_word, "microseconds", series),)
