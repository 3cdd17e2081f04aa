"""How many steps a tile should take before it goes back to memory.

A block of the rung `steps-per-tile` has 1,024 cells and takes T steps with them. It loads T cells
more at either end than it keeps, and computes them for nothing.

Expect: memory sees 8 bytes a cell for T steps, and each of the 2 T cells lost is loaded, too: of m
cells m - 2 T are kept, so 4 (1 + m / (m - 2 T)) / T bytes for each cell and step. The work is
m / (m - 2 T) times what is needed. So the bytes fall with T and the work grows: slowly, then
without end as 2 T comes near m. A GPU that could do so many operations while a byte comes, and does
two for each cell and step, has balanced them where one takes as long as the other; from there on a
deeper tile costs more than it saves. Larger tiles put that off, and registers have room for larger
ones than shared memory has.

Source: GR linear advection
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from warpladder.advection.rungs.steps_per_tile import RUNG, TILE, run
from warpladder.device.grids import WARP
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

if TYPE_CHECKING:
    from warpladder.simulator.checks.counters import Counters

__all__ = ["EXPLORATION", "bytes_expected", "work_expected"]

_COUNTED = (1, 2, 4, 8, 12, 24)
_TIMED = (1, 4, 16, 32, 64, 128, 256)
#: Cells of a tile for the model: of a block, and of a warp's strips in registers.
_TILES = (256, TILE, 32 * 48)
_DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def work_expected(tile: int, depth: int) -> float | None:
    """Return how many cells are computed for each that is kept, None where none is.

    Examples
    --------
    >>> work_expected(1024, 128), work_expected(256, 128)
    (1.3333333333333333, None)
    """
    keep = tile - 2 * depth
    return tile / keep if keep > 0 else None


def bytes_expected(tile: int, depth: int) -> float | None:
    """Return the bytes through memory for a cell and a step."""
    work = work_expected(tile, depth)
    return None if work is None else 4 * (1 + work) / depth


def _run(setting: Setting) -> Findings:
    jobs = [(n, depth) for n in setting.sizes for depth in _COUNTED]
    rows = tuple(
        _counted(n, depth)
        for n, depth in setting.watch(
            jobs, lambda job: f"counting n = {job[0]}, {job[1]} steps", lambda job: job[0]
        )
    )
    times = {n: _times(setting.gpu, n) for n in setting.gpu_sizes} if setting.gpu else {}
    counted = Table(
        f"tiles of {TILE:,} cells, counted",
        (
            Column("n", "cells", "count"),
            Column("depth", "steps", "count"),
            Column("launches", "launches", "count"),
            Column("bytes", "bytes/cell/step"),
            Column("bytes_expected", "expected"),
            Column("work", "work"),
            Column("work_expected", "expected"),
        ),
        rows,
    )
    model = Table(
        "cells computed for each that is kept, by the cells of a tile",
        (
            Column("depth", "steps", "count"),
            *(Column(str(tile), f"{tile:,} cells") for tile in _TILES),
        ),
        tuple(
            {"depth": depth, **{str(tile): work_expected(tile, depth) for tile in _TILES}}
            for depth in _DEPTHS
        ),
    )
    timed = time_table(
        "kernel time of all steps on the GPU, medians", Column("depth", "steps", "count"), times
    )
    return Findings(
        (counted, model, *timed),
        _answer(rows, times),
        (_panel(rows, setting),),
        remarks_on_times(setting, times, lambda depth: f"{depth} steps"),
    )


def _counted(n: int, depth: int) -> dict[str, Any]:
    from warpladder.simulator import SimulatedDevice

    device = SimulatedDevice(checks=False)
    problem = RUNG.task.make(n, 0)
    run(device, problem, depth)
    seen: Counters = device.counters
    updates = n * problem.steps
    # A row of 32 cells is stored once as it is loaded, and once in each step.
    loaded = seen.global_load_requests
    computed = WARP * (seen.shared_store_requests - loaded)
    return {
        "n": n,
        "depth": depth,
        "launches": seen.launches,
        "bytes": (seen.global_load_bytes + seen.global_store_bytes) / updates,
        "bytes_expected": bytes_expected(TILE, depth),
        "work": computed / updates,
        "work_expected": work_expected(TILE, depth),
    }


def _times(gpu: Any, n: int) -> dict[int, Spread]:
    problem = RUNG.task.make(n, 0)

    def seconds(depth: int) -> float:
        return kernel_seconds(gpu, run, gpu, problem, depth)

    seconds(_TIMED[-1])  # compiles
    return in_turn({depth: partial(seconds, depth) for depth in _TIMED})


def _answer(
    rows: tuple[dict[str, Any], ...], times: dict[int, dict[int, Spread]]
) -> tuple[str, ...]:
    n = max(row["n"] for row in rows)
    by_depth = {row["depth"]: row for row in rows if row["n"] == n}
    one, deepest = by_depth[min(by_depth)], by_depth[max(by_depth)]
    counted = (
        f"On {n:,} cells, {deepest['depth']} steps to a visit take memory from "
        f"{one['bytes']:.2f} to {deepest['bytes']:.2f} bytes a cell and step, and the work to "
        f"{deepest['work']:.2f} times what is needed. (Rows of 32 are counted whole, and the last "
        "tile may be a small one.)"
    )
    lost = (
        "Halos lose little until they are a good part of the tile: a quarter of the work is for "
        f"nothing at {TILE // 8} steps of {TILE:,} cells, at {_TILES[0] // 8} of {_TILES[0]}. The "
        "larger the tile, the deeper it can go: the reason for strips in registers."
    )
    said = [counted, lost]
    for size, spreads in times.items():
        best = min(spreads, key=lambda depth: spreads[depth].median)
        ratio = spreads[min(spreads)].median / spreads[best].median
        said.append(
            f"On this GPU, at n = {size}, {best} steps are fastest, {ratio:.1f} times as fast as "
            "one."
        )
    return tuple(said)


def _panel(rows: tuple[dict[str, Any], ...], setting: Setting) -> Panel:
    n = max(setting.sizes)
    seen = [row for row in rows if row["n"] == n]
    depths = tuple(float(row["depth"]) for row in seen)
    return Panel(
        f"What memory sees and what is computed, n = {n}",
        "steps to a visit",
        "bytes; cells",
        (
            Series("bytes a cell and step", depths, tuple(row["bytes"] for row in seen)),
            Series("cells computed for each kept", depths, tuple(row["work"] for row in seen)),
            Series(
                "bytes expected",
                tuple(map(float, _DEPTHS)),
                tuple(bytes_expected(TILE, depth) for depth in _DEPTHS),
                model=True,
            ),
            Series(
                "cells expected",
                tuple(map(float, _DEPTHS)),
                tuple(work_expected(TILE, depth) for depth in _DEPTHS),
                model=True,
            ),
        ),
        log_base=10,
        connected=False,
    )


EXPLORATION = Exploration(
    name="halo",
    question="How many steps should a tile take between visits to memory?",
    source="GR linear advection",
    run=_run,
    sizes=(4000,),
    largest=1 << 16,
    why_largest="the simulator takes seconds for more",
    rung=f"advection/{RUNG.name}",
    gpu_sizes=(1 << 20, 1 << 24),
)
