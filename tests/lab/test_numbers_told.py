"""No rung tells a number that nothing holds.

What a rung predicts is counted on the simulator, and what it found stands in committed results
(`test_found`). Whatever else its text tells must stand here, worked out once more or counted, or
named with the test that holds it. Small whole numbers and powers of two are left alone: they are
widths, places and steps of the code that the text explains.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from functools import cache
from math import ceil
from pathlib import Path

import numpy as np
import pytest

from warpladder.device.properties import known_capabilities, properties_of
from warpladder.lab.registry import find_rung, ladders
from warpladder.lab.verify import count
from warpladder.overlap_join.rungs._published import PUBLISHED
from warpladder.overlap_join.rungs._tasks import shape_of
from warpladder.reduction.rungs.tuned import IN_FLIGHT
from warpladder.rung import Ratio
from warpladder.simulator import SimulatedDevice

ROOT = Path(__file__).parents[2]
H200 = properties_of((9, 0))
NUMBER = re.compile(r"(?<![\w.`*^-])\d[\d,]*(?:\.\d+)?(?![\w`])")
#: Days, names of cards, and compute capabilities: no quantities.
NAMES = re.compile(
    r"\d{4}-\d\d-\d\d|GTX\s\d+|"
    + "|".join(rf"\b{major}\.{minor}\b" for major, minor in (*known_capabilities(), (6, 0)))
)


def numbers(text):
    found = (number.rstrip(",").replace(",", "") for number in NUMBER.findall(NAMES.sub("", text)))
    return {float(number) for number in found}


@cache
def record(name):
    path = ROOT / "benchmarks" / "results" / f"{name}-nvidia-h200.json"
    return json.loads(path.read_text(encoding="utf-8"))


def percent_of_the_rung(path):
    """Return what the same with one thing changed took, in percent of the rung."""
    (row,) = (one for one in record("gpu_variants")["variants"] if one["case"] == path)
    return 100 * row["changed_ms"] / row["rung_ms"]


@cache
def counted(path, n=256):
    return count(find_rung(path)[1], SimulatedDevice(checks=False), n)


def claimed(path, counter):
    (claim,) = (one for one in find_rung(path)[1].predicts if one.counter == counter)
    return claim.value


def kernels_alone(rung):
    (row,) = (one for one in record("gpu_variants")["variants"] if one["case"].endswith(rung))
    return row["changed_ms"]


@cache
def shared_ids(n):
    """Return what all pairs of n rows have in common, what its 32 commonest ids make, and ids."""
    items = find_rung("overlap-join/inverted-index")[1].task.make(n, 0).rows.items
    rows_with = np.sort(np.bincount(items))[::-1].astype(np.int64)
    pairs = rows_with * (rows_with - 1) // 2
    return pairs.sum(), pairs[:32].sum(), items.size, np.count_nonzero(rows_with)


#: By rung, number by number: what it is, worked out; in a string which test has it, or who says so.
TOLD = {
    "primer/vector-add-grid": {24: 1024 - 1000},
    "primer/device-memory": {8000: 2 * 4 * 1000, 4000: 4 * 1000},
    "primer/bank-stride-two": {62: 2 * 31},
    "primer/bank-padding": {4224: 4 * 32 * 33},
    "primer/independent-loads": {
        396: lambda: counted("primer/independent-loads", 16896).branches,
        660: lambda: counted("primer/few-warps", 16896).branches,
    },
    "primer/translation-soa": {82: lambda: percent_of_the_rung("primer/translation-soa")},
    "primer/error-word": {13: lambda: percent_of_the_rung("primer/error-word")},
    "primer/kernels-in-turn": {16: lambda: percent_of_the_rung("primer/kernels-in-turn")},
    "primer/kernels-side-by-side": {51: lambda: 100 * kernels_alone("kernels-side-by-side")
                                    / kernels_alone("kernels-in-turn")},
    # `test_primer_ladder.py::test_occupancy_is_as_the_table_says` has the rest of the table.
    "primer/occupancy-grid": {
        40: H200.registers_per_multiprocessor // (6 * 256) // 8 * 8,
        24: "in the table, whose rows that test works out",
        48: "in the table, whose rows that test works out",
        100: 100 * 8 * 8 / 64,
        75: 100 * 6 * 8 / 64, 50: 100 * 4 * 8 / 64, 25: 100 * 2 * 8 / 64, 528: 66 * 8,
    },
    "primer/reverse-without-barrier": {255: 256 - 1},
    "primer/matrix-add-2d": {11: 3 * 4 - 1, 13: ceil(400 / 32)},
    "primer/divergence-by-warp": {
        50: lambda: counted("primer/divergence-by-thread").branch_uniformity
    },
    "primer/access-misaligned": {124: 128 - 4},
    # `test_primer_ladder` finds the positions in the task's oracle, and so lines and sectors.
    "primer/access-scattered": {
        48: 384 / 2 / 4, 25: lambda: find_rung("primer/access-scattered")[1].task.oracle(
            find_rung("primer/access-scattered")[1].task.make(1, 0)._replace(
                source=np.arange(128))
        )[0],
        100: 4 * 25, 163: 4 * (25 + 16) - 1, 292: 4 * (48 + 25), 355: 4 * (48 + 25 + 16) - 1,
        10: 292 // 32 + 1, 11: 355 // 32,
    },
    "primer/local-array": {24: 8 + 16},
    "primer/registers": {255: H200.max_registers_per_thread},
    "primer/shared-flags": {95: 96 - 1},
    "primer/atomic-count": {93: max(range(0, 96, 3))},
    "primer/vector-add-no-guard": {24: 4 * 256 - 1000},
    "primer/racy-increment": {11: len(range(0, 32, 3))},
    "primer/flags-without-barrier": {
        11: len(range(0, 32, 3)), 21: len(range(0, 96, 3)) - len(range(0, 32, 3)),
    },
    "shortest-paths/one-thread": {28: 32 - 4},
    "shortest-paths/launch-per-k": {
        4572: lambda: claimed("shortest-paths/launch-per-k", "global_load_sectors") / 128
    },
    "shortest-paths/consecutive-cells": {
        4.9: lambda: 1 / claimed("shortest-paths/strided-cells", "global_load_sectors")
    },
    "shortest-paths/padded-rows": {
        388: 4 * 97, 12: 4 * 97 // 32, 31: 32 - 1,
        1513: sum(
            (4 * (97 * row + min(lane + 31, 96)) + 3) // 32 - 4 * (97 * row + lane) // 32 + 1
            for row in range(97) for lane in range(0, 97, 32)
        ),
    },
    "shortest-paths/pitched-rows": {254043: 97 * 97 * (1 + 13 + 13), 1513: 13 * 13 + 84 * 16,
                                    13: 3 * 4 + 1},
    "shortest-paths/flag-barrier": {
        528: 4 * H200.multiprocessors,
        3206: lambda: record("gpu_shortest_paths")["ladder"]["carrega_ferreira_ms"][
            "one launch, flags"],
        5623.5: lambda: record("gpu_shortest_paths")["ladder"]["carrega_ferreira_ms"][
            "GPU parallel"],
    },
    "shortest-paths/pivot-in-register": {129: 1 + 2 * 2048 / 32, 192: 3 * 2048 / 32},
    "shortest-paths/register-tiles": {
        14: "test_compiles.py::test_the_loop_of_the_register_tiles_does_little_but_relax",
        15: "test_compiles.py::test_the_loop_of_the_register_tiles_does_little_but_relax",
    },
    "shortest-paths/register-tiles-float64": {
        53: np.finfo(np.float64).nmant + 1, 255: H200.max_registers_per_thread,
    },
    "shortest-paths/register-tiles-int16": {
        16383: np.iinfo(np.int16).max // 2,
        16: "test_compiles.py::test_nine_of_ten_instructions_of_pairs_relax_two_each",
    },
    "shortest-paths/pivot-in-run": {
        98: lambda: percent_of_the_rung("shortest-paths/pivot-in-run"),
        2730: lambda: record("gpu_shortest_paths")["ladder"]["carrega_ferreira_ms"][
            "D[i,k] in a register"],
        3206: lambda: record("gpu_shortest_paths")["ladder"]["carrega_ferreira_ms"][
            "one launch, flags"],
    },
    "shortest-paths/deep-rounds": {144: (2048 // 128 - 2 * 2) ** 2},
    "shortest-paths/half-tiles": {
        52: 100 * (32 + 1) / 2 / 32, 120: 15 * (15 + 1) / 2, 225: 15 * 15,
        132: H200.multiprocessors,
    },
    "shortest-paths/small-n-one-block": {
        36: 4 * 96 * 96 / 1024, 48: "of a block that does not ask for more, on every GPU",
    },
    "shortest-paths/batch-of-blocks": {33: 64 // 2 + 1},
    "shortest-paths/return-before-barrier": {159: 256 - 97},
    "reduction/interleaved-global": {
        191: lambda: counted("reduction/interleaved-global").branches,
        143: lambda: counted("reduction/interleaved-global").uniform_branches,
        72: 8 * (8 + 1), 17: 64 - 47,
    },
    "reduction/indexed-global": {
        144: lambda: counted("reduction/indexed-global").branches,
        138: lambda: counted("reduction/indexed-global").uniform_branches,
        72: 8 * (8 + 1), 255: lambda: counted("reduction/indexed-global").global_load_sectors,
    },
    # Stride by stride: `test_conflicts_of_numbered_pairs_step_by_step`.
    "reduction/indexed-shared": {
        12: lambda: (counted("reduction/indexed-shared").shared_load_requests - 1) / 2,
        47: lambda: (counted("reduction/indexed-shared").shared_load_wavefronts - 1) / 2,
    },
    "reduction/sequential-global": {
        25: lambda: counted("reduction/sequential-global").global_load_requests, 12: (25 - 1) / 2,
    },
    "reduction/sequential-shared": {
        12: (25 - 1) / 2,
        11: "test_compiles.py::test_innermost_loops_are_as_long_as_the_texts_say",
    },
    "reduction/wide-loads": {
        4.8: "supposed", 700: "supposed", 132: H200.multiprocessors,
        25: 4.8e12 * 700e-9 / 132 / 1024,
    },
    "reduction/tuned": {
        4.8: "supposed", 700: "supposed", 132: H200.multiprocessors,
        25: 4.8e12 * 700e-9 / 132 / 1024,
        3.4: 4.8e12 * 700e-9 / 1e6,
        # Loads; additions, two at a time; the rest, which
        # `test_the_hot_loop_has_four_wide_loads_on_their_way` holds to be no more.
        20: IN_FLIGHT + 16 / 2 + 8,
    },
    "reduction/warp-shuffle": {12: (25 - 1) / 2},
    "reduction/one-word-finish": {
        53: lambda: min(row["samples"] for row in record("gpu_reduction")["libraries"])
    },
    "reduction/powers-of-two-only": {
        96: "test_reduction_ladder.py::"
            "test_powers_of_two_are_right_and_a_block_of_96_is_wrong_in_silence",
        48: 96 / 2, 24: 96 / 4, 12: 96 / 8,
    },
    "overlap-join/sets-on-cpu": {500: 1000 * 1000 / (1000 + 1000)},
    "overlap-join/row-against-chunk": {31: 32 - 1, 1334: 2 + 36 + 36 * 36},
    "overlap-join/pair-per-thread": {27: 58328 / 2184},
    "overlap-join/upper-triangle": {31: 32 - 1, 63: 64 - 1},
    "overlap-join/unrolled": {
        20: "said by IM", 31: 32 - 1,
        25: "test_compiles.py::test_innermost_loops_are_as_long_as_the_texts_say",
    },
    "overlap-join/atomics": {36: shape_of(2).ids},
    "overlap-join/shared-flags": {63: 64 - 1},
    "overlap-join/flat-rows": {39: 78 / 2, 37: 39 - 2, 36: shape_of(2).ids, 1001: 1000 + 1},
    "overlap-join/bitmap-tiles": {
        1563: ceil(50_000 / 32), 31250: 1000 * 1000 / 32, 20: 31_250 / 1563,
    },
    "overlap-join/inverted-index": {
        14: "the rows that IM wants to relate, in millions", 98: 14 * 14 / 2,
        12.5: 4000 * 4000 / 2 * 1563 / 1e9,
        275: lambda: shared_ids(4000)[0] / 1e6,
        2.26: lambda: record("gpu_overlap_join")["ceilings"]["additions_per_second"] / 1e12,
        15: lambda: ceil(shared_ids(64)[2] / 32),
    },
    "overlap-join/signatures": {
        23: lambda: shared_ids(4000)[1] / 1e6, 275: lambda: shared_ids(4000)[0] / 1e6,
        40: lambda: shared_ids(64)[3], 255: 2**8 - 1,
        2.9: "test_answers.py::test_ids_that_a_pair_shares_of_the_32_commonest",
    },
    "overlap-join/sum-without-barrier": {36: shape_of(2).ids},
    "overlap-join/fillers-return": {36: shape_of(2).ids, 28: 64 - 36},
    "advection/tile-with-halo": {255: 256 - 1},
    "advection/steps-per-tile": {
        976: 1952 / 2, 2000: 1952 + 2 * 24, 48: 2 * 1024 - 2000, 25: 24 + 1,
    },
    "advection/register-strips": {
        31: 32 - 1,
        24: lambda: claimed("advection/register-strips", "shuffles") / (2 * 2),
        75: "test_compiles.py::test_innermost_loops_are_as_long_as_the_texts_say",
    },
    "advection/tuned": {
        75: "test_compiles.py::test_innermost_loops_are_as_long_as_the_texts_say", 11: 75 - 64,
        528: "test_advection_ladder.py::test_the_top_is_as_its_text_says",
        12: "test_advection_ladder.py::test_the_top_is_as_its_text_says",
        167: "test_advection_ladder.py::test_the_top_is_as_its_text_says",
        334: 2 * 167, 0.97: 512 / 528, 0.92: 1 - 334 / 4096, 208: 256 - 2 * 24,
    },
    "advection/fragile-last-block": {255: 256 - 1, 1023: 1024 - 1},
    "advection/halo-without-barrier": {14: 2 * (8 - 1)},
}  # fmt: skip
#: Of all rungs of a ladder: IM's rows and times; cells and steps that were timed on the H200.
OF_LADDER = {
    "overlap-join": {
        1000.0, *(float(one.rows) for one in PUBLISHED), *(one.seconds for one in PUBLISHED),
        *(one.seconds / 60 for one in PUBLISHED),
    },
    "advection": {1000.0, *(float(row["steps"]) for row in record("gpu_advection")["ladder"])},
}  # fmt: skip

#: Sizes at which wrong rungs are shown.
SHOWN_AT = {wrong.rung.name: float(wrong.n) for ladder in ladders() for wrong in ladder.wrong}
RUNGS = {
    f"{ladder.name}/{rung.name}": rung
    for ladder in ladders()
    for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
}


def text_of(rung):
    return sys.modules[rung.run.__module__].__doc__.partition("\n\nSource:")[0]


def held_by_its_records(rung):
    """Return the numbers of what a rung predicts and of what it found, and those of its code."""
    held = {float(found.n) for found in rung.found} | {SHOWN_AT.get(rung.name, 0.0)}
    for found in rung.found:
        held |= {ms for _, ms in found.milliseconds}
        held |= {round(1000 * ms, 6) for _, ms in found.milliseconds}
    for claim in rung.predicts:
        value = float(claim.value)
        held |= {float(claim.n), value, *(round(value, digits) for digits in (0, 1, 2))}
        held |= numbers(claim.why)
        if isinstance(claim.value, Ratio):
            held |= {claim.value.part, claim.value.whole}
    code = vars(sys.modules[rung.run.__module__]).values()
    return held | {float(value) for value in code if isinstance(value, int)}


def is_small_or_a_power_of_two(number):
    return number.is_integer() and (number < 10 or number.hex().startswith("0x1.0000000000000p"))


@pytest.mark.parametrize("path", RUNGS)
def test_every_number_is_held_by_something(path):
    rung, ladder = RUNGS[path], path.partition("/")[0]
    alike = [
        other for other in RUNGS
        if RUNGS[other].run.__module__ == rung.run.__module__
    ]  # fmt: skip
    held = OF_LADDER.get(ladder, set()).union(
        *(held_by_its_records(RUNGS[other]) for other in alike),
        *(TOLD.get(other, {}) for other in alike),
    )
    told = {number for number in numbers(text_of(rung)) if not is_small_or_a_power_of_two(number)}
    # Counted or worked out where the text has it; else take it out or add a prediction.
    assert told - held == set()


@pytest.mark.parametrize("path", TOLD)
def test_numbers_are_what_they_are_said_to_be(path):
    told = numbers(text_of(RUNGS[path]))
    for number, value in TOLD[path].items():
        assert float(number) in told, number
        if isinstance(value, str):
            file, _, name = value.partition("::")
            if not name:
                continue
            (place,) = (ROOT / "tests").rglob(file)
            functions = ast.walk(ast.parse(place.read_text(encoding="utf-8")))
            (test,) = (one for one in functions if getattr(one, "name", "") == name)
            text = place.read_text(encoding="utf-8").splitlines()[
                min(d.lineno for d in (*test.decorator_list, test)) - 1 : test.end_lineno
            ]
            assert float(number) in numbers("\n".join(text)), (number, value)
            continue
        found = value() if callable(value) else value
        digits = len(f"{number}".partition(".")[2])
        assert round(float(found), digits) == number, (number, found)
