"""Rows that are aligned in memory, and what that saves.

The same kernel on rows that follow one another without a gap, on rows that the host has padded to a
multiple of 32 numbers, and on rows with a pitch that the device allocates. A full warp reads 32
neighbouring numbers of 4 bytes, 128 bytes: 4 sectors of 32 bytes where its piece of the row begins
at a sector, 5 where it does not.

Expect: rows of n numbers all begin at a sector if n is a multiple of 8, and then padding saves
nothing. Else 7 of 8 rows begin inside one if n is odd, and a full warp reads 4 + 7/8 sectors on
average: with long rows up to 18 % of all sectors are saved. Short rows may save more or nothing,
for there the last warp, which is not full, weighs more. The pitch reads what the padding reads, and
the matrix twice more for the copies in and out: a share of about 2 / n.

On a GPU the caches are in between. A fifth sector is the first one of the next warp, which it most
likely finds in L1: expect less than the sectors say.

Source: HB fwStepK; HB exploration 3
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

_UNPADDED, _PADDED, _PITCHED = _RUNGS = ("row-blocks", "padded-rows", "pitched-rows")


def _run(setting: Setting) -> Findings:
    counted = count_rungs(_RUNGS, setting)
    times = time_rungs(_RUNGS, setting)
    requests = Table(
        "32-byte sectors per load request",
        (Column("n", "n", "count"), *(Column(name, name) for name in _RUNGS)),
        tuple(
            {
                "n": n,
                **{name: counted[name, n].global_load_sectors_per_request for name in _RUNGS},
            }
            for n in setting.sizes
        ),
    )
    sectors = Table(
        "sectors loaded in all",
        (
            Column("n", "n", "count"),
            *(Column(name, name, "count") for name in _RUNGS),
            Column("saved", "padding saves %"),
        ),
        tuple(
            {
                "n": n,
                **{name: counted[name, n].global_load_sectors for name in _RUNGS},
                "saved": _saved(counted, n),
            }
            for n in setting.sizes
        ),
    )
    return Findings(
        (requests, sectors, *kernel_table(_RUNGS, times)),
        _answer(setting, counted, times),
        (sectors_panel(_RUNGS, counted, setting), *kernel_panel(_RUNGS, times, setting)),
        remarks(setting, times),
    )


def _saved(counted: Counted, n: int) -> float:
    before = counted[_UNPADDED, n].global_load_sectors
    return 100 * (before - counted[_PADDED, n].global_load_sectors) / before


def _answer(setting: Setting, counted: Counted, times: Timed) -> tuple[str, ...]:
    best = max(setting.sizes, key=lambda n: _saved(counted, n))
    padding = (
        f"Padding saves up to {_saved(counted, best):.0f} % of the sectors here, at n = {best}. "
        "It saves nothing where n is a multiple of 8: the rows then begin at sectors as they are."
    )
    pitch = (
        "The pitch has the same effect in the steps, and costs a copy of the matrix in and one out "
        "on the device; in exchange the padding does not travel over the bus."
    )
    said = [padding, pitch]
    if times:
        gains = ratios(times, _UNPADDED, _PADDED)
        said.append(
            f"On this GPU a step takes, without padding, so many times as long as with it: {gains}."
        )
    return tuple(said)


EXPLORATION = Exploration(
    name="pitch",
    question="Rows padded by the host, pitched, or neither: what does it save?",
    source="HB fwStepK; HB exploration 3",
    run=_run,
    sizes=(31, 33, 64, 97, 100, 104, 128, 130),
    largest=512,
    why_largest="the simulator runs n**3 threads",
    rung=f"shortest-paths/{_UNPADDED}",
    gpu_sizes=(2047, 2048, 4095, 4096),
)
