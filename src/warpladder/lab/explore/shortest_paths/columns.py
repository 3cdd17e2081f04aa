"""Blocks that are pieces of columns instead of rows.

The arithmetic is the same, and so is the entry that a block shares. Only the index that belongs to
``threadIdx.x`` has changed, and with it how the 32 lanes of a warp lie in memory.

Expect: along a row a full warp reads 32 neighbours, 4 sectors. Down a column it reads 32 rows, a
sector each, of which it uses 4 bytes of 32: 32 sectors per full request, and once the pivot. At
n = 128 that is 1 + 4 * (32 + 32) = 257 sectors per column against 1 + 4 * (4 + 4) = 33 per row,
7.8 times as many. On a GPU the blocks of neighbouring columns find each other's sectors in L2: as
long as the matrix fits there, expect much less than 7.8.

Source: HB exploration 4
"""

from __future__ import annotations

from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Setting,
    Table,
)
from warpladder.lab.explore.shortest_paths.side_by_side import (
    Counted,
    Timed,
    count_rungs,
    kernel_panel,
    kernel_table,
    ratios,
    remarks,
    sectors_panel,
    time_rungs,
)

__all__ = ["EXPLORATION"]

_ROWS, _COLUMNS = _RUNGS = ("row-blocks", "column-blocks")


def _run(setting: Setting) -> Findings:
    counted = count_rungs(_RUNGS, setting)
    times = time_rungs(_RUNGS, setting)
    table = Table(
        "32-byte sectors per load request, and in all",
        (
            Column("n", "n", "count"),
            *(Column(name, name) for name in _RUNGS),
            Column("times", "times the sectors"),
            Column("used_rows", "% used, rows"),
            Column("used_columns", "columns"),
        ),
        tuple(
            {
                "n": n,
                **{name: counted[name, n].global_load_sectors_per_request for name in _RUNGS},
                "times": _times(counted, n),
                "used_rows": counted[_ROWS, n].load_utilisation_32,
                "used_columns": counted[_COLUMNS, n].load_utilisation_32,
            }
            for n in setting.sizes
        ),
    )
    return Findings(
        (table, *kernel_table(_RUNGS, times)),
        _answer(setting, counted, times),
        (sectors_panel(_RUNGS, counted, setting), *kernel_panel(_RUNGS, times, setting)),
        remarks(setting, times),
    )


def _times(counted: Counted, n: int) -> float:
    return counted[_COLUMNS, n].global_load_sectors / counted[_ROWS, n].global_load_sectors


def _answer(setting: Setting, counted: Counted, times: Timed) -> tuple[str, ...]:
    n = max(setting.sizes)
    counts = (
        f"Columns load {_times(counted, n):.1f} times the sectors of rows at n = {n}, for the same "
        "arithmetic: neighbouring threads belong to neighbouring addresses."
    )
    said = [counts]
    if times:
        losses = ratios(times, _COLUMNS, _ROWS)
        said.append(
            f"On this GPU a step takes, with columns, so many times as long as with rows: {losses}."
        )
    return tuple(said)


EXPLORATION = Exploration(
    name="columns",
    question="Blocks that are columns instead of rows: what does it cost?",
    source="HB exploration 4",
    run=_run,
    sizes=(16, 31, 32, 64, 97, 128),
    largest=512,
    why_largest="the simulator runs n**3 threads",
    rung=f"shortest-paths/{_ROWS}",
    gpu_sizes=(1024, 2048, 4096),
)
