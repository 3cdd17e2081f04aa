"""Strong scaling: how much faster more processors make a fixed problem.

The problem stays, the processors multiply; ideally p of them take 1 / p of the time.

Three answers. The first is a model, not a measurement: the waves of blocks (`waves`) in which HB's
own kernel runs on a GPU like the H200 with p of its multiprocessors. The second is measured: the
CPU engine with p of the cores. The third is measured where there is a GPU: one resident grid
(`grid-sync`) of more and more blocks. The hardware spreads blocks over all multiprocessors, so a
small grid leaves most of them idle, or all of them nearly empty.

Expect: a multiprocessor holds 8 blocks of 256 threads. At n = 100 a launch has 100 blocks: one wave
from 13 multiprocessors on, and more of them bring nothing. At n = 1000 it has 4000: 500 waves on
one multiprocessor, 4 on 132, 125 times as fast. Measured figures stay below, for the memory behind
all processors is one, and barriers take longer the more there are to wait for.

HB asks whether 448 cores take 1/448 of the time of a single-CPU system. Only if there is work for
all of them at all times, and against a CPU core as slow as one of theirs.

Source: HB exploration 9
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.environment import worker_count
from warpladder.device.properties import properties_of
from warpladder.errors import DeviceError
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
    paragraph,
)
from warpladder.lab.explore.measure import Spread, in_turn, kernel_seconds, unsteady, wall_seconds
from warpladder.lab.explore.shortest_paths.cores import limited
from warpladder.lab.explore.waves import __doc__ as waves_text
from warpladder.lab.explore.waves import count_waves, doubled
from warpladder.lab.launches import launched
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import run as run_rung

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["EXPLORATION"]

_MODELLED, _RESIDENT = "row-blocks", "grid-sync"
_CAPABILITY = (9, 0)
Rows = list[dict[str, Any]]


def _run(setting: Setting) -> Findings:
    model = _model(setting)
    n = max(setting.sizes)
    on_cores, on_grids = _time_cores(setting, n), _time_grids(setting, n)
    cores, grids = _rows(n, "p", on_cores), _rows(n, "blocks", on_grids)
    shares = (Column("speedup", "times as fast"), Column("efficiency", "% of ideal"))
    tables = [
        Table(
            f"MODEL, not measured: waves of {_MODELLED} on p multiprocessors of an H200, all steps",
            (
                Column("n", "n", "count"),
                Column("p", "p", "count"),
                Column("waves", "waves", "count"),
                *shares,
            ),
            tuple(model),
        )
    ]
    for title, key, rows in (
        ("measured: the CPU engine on p cores", "p", cores),
        (f"measured: {_RESIDENT} on the GPU, kernel time", "blocks", grids),
    ):
        if rows:
            columns = (
                Column("n", "n", "count"),
                Column(key, key, "count"),
                Column("seconds", "time", "seconds"),
                Column("rate", "G relaxations/s"),
                *shares,
            )
            tables.append(Table(title, columns, tuple(rows)))
    return Findings(
        tuple(tables),
        _answer(model, cores, grids),
        _panels(model, cores, grids),
        (
            *_missing(setting, cores),
            *unsteady({f"{p} cores": spread for p, spread in on_cores.items()}),
            *unsteady({f"{blocks} blocks": spread for blocks, spread in on_grids.items()}),
        ),
    )


def _model(setting: Setting) -> Rows:
    rows: Rows = []
    for n in setting.sizes:
        launches = launched(f"shortest-paths/{_MODELLED}", n)
        alone = count_waves(launches, properties_of(_CAPABILITY, 1))
        for p in doubled(properties_of(_CAPABILITY).multiprocessors):
            waves = count_waves(launches, properties_of(_CAPABILITY, p))
            rows.append({"n": n, "p": p, "waves": waves, **_shares(alone / waves, p)})
    return rows


def _shares(speedup: float, processors: float) -> dict[str, float]:
    return {"speedup": speedup, "efficiency": 100 * speedup / processors}


def _rows(n: int, key: str, spreads: dict[int, Spread]) -> Rows:
    """Return the rows of what was measured, compared with the fewest processors."""
    fewest = min(spreads, default=0)
    return [
        {
            "n": n,
            key: processors,
            "seconds": spread.median,
            "rate": n**3 / spread.median / 1e9,
            **_shares(spreads[fewest].median / spread.median, processors / fewest),
        }
        for processors, spread in spreads.items()
    ]


def _time_cores(setting: Setting, n: int) -> dict[int, Spread]:
    """Time the CPU engine with 1, 2, 4, ... and all cores."""
    from warpladder import shortest_paths
    from warpladder.shortest_paths.cpu import SERIAL_UP_TO

    if n <= SERIAL_UP_TO:
        return {}
    problem = find_rung(f"shortest-paths/{_MODELLED}")[1].task.make(n, 0)
    solve = partial(shortest_paths, problem.matrix, device="cpu", no_edge=problem.no_path)

    def seconds(workers: int) -> float:
        with limited(workers):
            return wall_seconds(solve)

    counts = doubled(worker_count())
    setting.progress(0.0, f"the CPU engine, n = {n}")
    solve()  # compiles and loads
    spreads = in_turn({str(p): partial(seconds, p) for p in counts})
    return {p: spreads[str(p)] for p in counts}


class _Smaller:
    """A device that says it has fewer multiprocessors, to a rung that sizes its grid by them."""

    def __init__(self, device: Device, multiprocessors: int) -> None:
        self._device = device
        self.properties = replace(device.properties, multiprocessors=multiprocessors)
        self.blocks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(self, kernel: Any, grid: int, *rest: Any, **options: Any) -> None:
        """Launch, and note the number of blocks."""
        self.blocks = grid
        self._device.launch(kernel, grid, *rest, **options)


def _time_grids(setting: Setting, n: int) -> dict[int, Spread]:
    """Time the kernel of the resident grid with more and more blocks, on a GPU."""
    spreads: dict[int, Spread] = {}
    if setting.gpu is None:
        return spreads
    rung = find_rung(f"shortest-paths/{_RESIDENT}")[1]
    problem = rung.task.make(n, 0)
    expected = None
    counts = doubled(setting.gpu.properties.multiprocessors)
    for p in setting.watch(counts, lambda p: f"{_RESIDENT}, a grid for {p}", lambda p: 1 / p):
        device: Any = _Smaller(setting.gpu, p)
        answer = run_rung(rung, device, problem)
        expected = answer if expected is None else expected
        if not np.array_equal(expected, answer):
            raise DeviceError(f"{_RESIDENT} finds other distances on another grid at n = {n}")
        task = partial(kernel_seconds, device, run_rung, rung, device, problem)
        timed = in_turn({_RESIDENT: task})
        spreads[device.blocks] = timed[_RESIDENT]
    return spreads


def _answer(model: Rows, cores: Rows, grids: Rows) -> tuple[str, ...]:
    most = max(row["p"] for row in model)
    full = "; ".join(f"{row['speedup']:.0f} at n = {row['n']}" for row in model if row["p"] == most)
    waves = (
        f"As far as there are blocks for all. By the model {most} multiprocessors are faster than "
        f"one by the factor: {full}. A problem that fits into one wave gains nothing more."
    )
    said = [waves, "The model: " + paragraph(waves_text, "Model: ")]
    if cores:
        last = cores[-1]
        said.append(
            f"Measured at n = {last['n']}: {last['p']} cores are {last['speedup']:.2f} times as "
            "fast as one."
        )
    if grids:
        first, last = grids[0], grids[-1]
        said.append(
            f"Measured on the GPU at n = {last['n']}: {last['blocks']} blocks are "
            f"{last['speedup']:.1f} times as fast as {first['blocks']}."
        )
    return tuple(said)


def _panels(model: Rows, cores: Rows, grids: Rows) -> tuple[Panel, ...]:
    sizes = dict.fromkeys(row["n"] for row in model)
    modelled = [(f"model, n = {n}", [row for row in model if row["n"] == n]) for n in sizes]
    places = tuple(float(p) for p in dict.fromkeys(row["p"] for row in model))
    panels = [
        _panel("MODEL: waves of blocks", "multiprocessors", "p", modelled, places),
    ]
    for title, label, key, rows in (
        ("Measured: the CPU engine", "cores", "p", cores),
        (f"Measured: {_RESIDENT} on the GPU", "blocks", "blocks", grids),
    ):
        if rows:
            ideal = tuple(row[key] / rows[0][key] for row in rows)
            panels.append(_panel(title, label, key, [(f"n = {rows[0]['n']}", rows)], ideal))
    return tuple(panels)


def _panel(
    title: str, label: str, key: str, curves: list[tuple[str, Rows]], ideal: tuple[float, ...]
) -> Panel:
    places = tuple(row[key] for row in curves[0][1])
    return Panel(
        title,
        label,
        "times as fast",
        (
            *(
                Series(name, tuple(row[key] for row in rows), tuple(row["speedup"] for row in rows))
                for name, rows in curves
            ),
            Series("ideal", places, ideal, model=True),
        ),
        log_base=2,
    )


def _missing(setting: Setting, cores: Rows) -> tuple[str, ...]:
    said = []
    if not cores:
        said.append("The CPU engine is not measured: at these sizes it takes one core.")
    if setting.gpu is None:
        said.append(f"The GPU is not measured: {setting.why_no_gpu}.")
    return tuple(said)


EXPLORATION = Exploration(
    name="scaling",
    question="Strong scaling: how much do more processors bring?",
    source="HB exploration 9",
    run=_run,
    sizes=(100, 1000),
    largest=4096,
    why_largest="there the smallest grid takes most of a minute on a GPU",
    rung=f"shortest-paths/{_MODELLED}",
)
