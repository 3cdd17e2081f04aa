"""What happens at multiples of 32.

One of HB's curves leaps upward with some regularity, and the source asks why. Two things come in
whole pieces: threads in warps of 32, and rows in blocks of 256 threads.

Expect, per row and step: 1 + 2 * ceil(n / 32) load requests, one of the pivot entry and two per
warp that has a column. They jump by 2 from n = 32 to 33, where the second warp has one lane to do.
The warps that are launched, 8 * ceil(n / 256), jump from 256 to 257: a second block per row, seven
of whose warps do nothing but wait at the barrier. Sectors have no jump at 32. Padded rows take
another 2 at each multiple of 8; unpadded ones more than that in between, and as few exactly at the
multiples of 8, where all rows begin at a sector. So just before a multiple of 32 is dear, the
multiple itself cheap, and just behind it dear again.

Source: HB exploration 7
"""

from __future__ import annotations

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
    count_rungs,
    kernel_panel,
    kernel_table,
    remarks,
    time_rungs,
)
from warpladder.lab.launches import launched

__all__ = ["EXPLORATION"]

_UNPADDED, _PADDED = _RUNGS = ("row-blocks", "padded-rows")
#: Around the width of a block, where nothing has to be simulated to count what is launched.
_AROUND_BLOCKS = (255, 256, 257, 511, 512, 513)


def _run(setting: Setting) -> Findings:
    counted = count_rungs(_RUNGS, setting)
    times = time_rungs(_RUNGS, setting)
    rows = tuple(_row(counted, n) for n in setting.sizes)
    table = Table(
        "per row and step",
        (
            Column("n", "n", "count"),
            Column("requests", "load requests"),
            Column("busy", "lanes busy %"),
            Column(_UNPADDED, f"sectors, {_UNPADDED}"),
            Column(_PADDED, f"{_PADDED}"),
        ),
        rows,
    )
    blocks = Table(
        "warps launched per row and step",
        (Column("n", "n", "count"), Column("warps", "warps"), Column("useful", "with a column")),
        tuple({"n": n, "warps": _launched_warps(n), "useful": -(-n // 32)} for n in _AROUND_BLOCKS),
    )
    panel = Panel(
        "Loads per row and step",
        setting.size_word,
        "sectors, requests",
        (
            *(
                Series(f"sectors, {name}", setting.sizes, tuple(row[name] for row in rows))
                for name in _RUNGS
            ),
            Series("requests, both", setting.sizes, tuple(row["requests"] for row in rows)),
        ),
        connected=False,
    )
    return Findings(
        (table, blocks, *kernel_table(_RUNGS, times)),
        _answer(rows),
        (panel, *kernel_panel(_RUNGS, times, setting)),
        remarks(setting, times),
    )


def _row(counted: Counted, n: int) -> dict[str, Any]:
    per_row = n * n
    requests = counted[_PADDED, n].global_load_requests / per_row
    return {
        "n": n,
        "requests": requests,
        "busy": 100 * n / (32 * -(-n // 32)),
        **{name: counted[name, n].global_load_sectors / per_row for name in _RUNGS},
    }


def _launched_warps(n: int) -> float:
    return sum(launch.warps for launch in launched(f"shortest-paths/{_UNPADDED}", n)) / (n * n)


def _answer(rows: tuple[dict[str, Any], ...]) -> tuple[str, ...]:
    why = (
        "Work comes in whole warps and whole blocks. Requests jump behind each multiple of 32, "
        "where one more warp per row has a single column to do; launched warps jump behind each "
        "multiple of 256, the width of a block. Which of the two HB's curve shows, its text leaves "
        "open."
    )
    by_size = {row["n"]: row for row in rows}
    jumps = [n for n in by_size if n % 32 == 0 and n + 1 in by_size]
    if not jumps:
        return (why,)
    now, behind = by_size[jumps[0]], by_size[jumps[0] + 1]
    first = (
        f"From n = {jumps[0]} to {jumps[0] + 1} the requests per row and step go from "
        f"{now['requests']:g} to {behind['requests']:g}, the sectors of unpadded rows from "
        f"{now[_UNPADDED]:.1f} to {behind[_UNPADDED]:.1f}, those of padded rows from "
        f"{now[_PADDED]:.1f} to {behind[_PADDED]:.1f}."
    )
    return why, first


EXPLORATION = Exploration(
    name="multiples",
    question="Why does the time leap at multiples of 32?",
    source="HB exploration 7",
    run=_run,
    sizes=(31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129),
    largest=512,
    why_largest="the simulator runs n**3 threads",
    rung=f"shortest-paths/{_UNPADDED}",
    gpu_sizes=(3071, 3072, 3073, 4095, 4096, 4097),
)
