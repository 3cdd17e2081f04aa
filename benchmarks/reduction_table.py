"""`reduce` on the CPU beside its best peer, by operation, dtype, axis and size; slow cells first.

    python benchmarks/reduction_table.py [--only TEXT | --part K/N | --join FILE ... | --drawn N]

A cell is checked against its peers, then timed in turn with them, in one process, some calls at a
time (`report.repeated`). Its ratio is the least time of the fastest peer over our least time: below
1 we are slower. Cells below 1 are timed again after all others, up to five times, since who shares
the machine may take a core, or the way to memory, for as long as many cells take; of all times the
least of each contender counts. Peers: NumPy (for l1 and l2 ``numpy.linalg.norm``; beside a mask
``where=`` and ``values[mask]``; for two operations one after the other) and, where it is installed,
bottleneck. All of it takes 25 minutes and more. Where a machine is lent for less, ``--part 1/4``
times every fourth cell from the first on; ``--join`` makes the results of all parts, of one machine
and the same packages. ``--only`` times the cells that have a text in their names, and writes
nothing. ``--drawn`` times so many cells of shapes, axes and layouts that nobody chose, always the
same, each in one series more where it is below 1: what the table leaves out.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from reduction_cells import Cell, bottleneck, cells, drawn, tasks
from report import (
    Target,
    interleave,
    machine,
    print_table,
    print_targets,
    repeated,
    write_results,
)

# Rounds of a cell, in seconds and in number, and how long a turn is at the least.
_SECONDS, _LEAST_ROUNDS, _MOST_ROUNDS, _TURN_SECONDS = 0.25, 5, 40, 1e-2
# Before a turn: threads that wait for their next call keep the other core from whoever is next.
_UNTIL_OURS_REST, _UNTIL_BLAS_RESTS = 2e-3, 0.2
_MOST_SERIES_AGAIN = 5
_SHOWN = 40
_SEED = 1
_NOT_NUMPY = ("ours", "bottleneck")


def main() -> None:
    """Check, time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--only", default="", help="text that the names of cells have")
    which.add_argument("--part", metavar="K/N", help="the K-th of N parts alone")
    which.add_argument("--join", nargs="+", type=Path, help="the files of all parts")
    which.add_argument("--drawn", metavar="N", type=int, help="so many cells that nobody chose")
    options = parser.parse_args()
    if options.drawn:
        _time_drawn(options.drawn)
        return
    asked = [cell for cell in cells() if options.only in cell.name]
    if options.part:
        number, parts = map(int, options.part.split("/"))
        timed = _timed(asked[number - 1 :: parts])
        found = {cell.name: least for cell, least in timed.items()}
        name = f"reduction_table_part_{number}_of_{parts}"
        print(f"wrote {write_results(name, {'peers': _versions(), 'least': found}).name}")
        return
    described = machine()
    if options.join:
        described, least = _joined(options.join)
        timed = {cell: least[cell.name] for cell in asked}
    else:
        timed = _timed(asked)
    rows = sorted((_row(*one) for one in timed.items()), key=lambda row: float(row["ratio"]))
    for title, is_small in (("2^10 numbers", True), ("from 2^16 on", False)):
        shown = [row for row in rows if row["is_small"] is is_small]
        if shown:
            few = [{k: v for k, v in row.items() if k != "is_small"} for row in shown[:_SHOWN]]
            print_table(f"{title}: the slowest of {len(shown)} cells", few)
    if options.only:
        return
    summary = _summary(asked, rows)
    print_table("cells as fast as the best peer, by size", summary)
    targets = _targets(summary)
    print_targets(targets)
    document = {
        "peers": _versions(),
        "above": "NumPy",
        "most_series": 1 + _MOST_SERIES_AGAIN,
        "summary": summary,
        "targets": targets,
        "cells": rows,
    }
    print(f"wrote {write_results('reduction_table', document, described).name}")


def _time_drawn(count: int) -> None:
    """Time cells that nobody chose, say how many are slower than the best peer, and write it."""
    timed = _timed(list(drawn(count, _SEED)), most_again=1)
    rows = sorted((_row(*one) for one in timed.items()), key=lambda row: float(row["ratio"]))
    print_table("the slowest", rows[:_SHOWN])
    counts = {
        f"below_{limit}": sum(row["ratio"] < limit for row in rows) for limit in (1, 0.8, 0.5)
    }
    print_table("cells", [{"case": "drawn", "cells": len(rows), **counts}])
    document = {"peers": _versions(), "seed": _SEED, **counts, "cells": rows}
    print(f"wrote {write_results('reduction_drawn', document).name}")


def _timed(asked: list[Cell], most_again: int = _MOST_SERIES_AGAIN) -> dict[Cell, dict[str, float]]:
    """Return the least seconds of each cell's contenders."""
    timed = {cell: _time(cell) for cell in asked}
    for series in range(most_again):
        for cell, least in timed.items():
            # Of small cells it is not the ratio that is asked for: there one more is enough.
            row = _row(cell, least)
            if row["ratio"] < 1 and not (row["is_small"] and series):
                again = _time(cell)
                timed[cell] = {name: min(seconds, again[name]) for name, seconds in least.items()}
    return timed


def _joined(paths: list[Path]) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """Return the machine that all parts were timed on, and what was found of all cells."""
    parts = [json.loads(path.read_text()) for path in paths]
    # Not by what else it says: how much memory is free is never the same.
    places = [
        [part["peers"], *(part["machine"][key] for key in ("cpu", "cores", "vector", "packages"))]
        for part in parts
    ]
    if any(place != places[0] for place in places):
        raise SystemExit("these parts are of machines, or packages, that differ")
    least = {name: one for part in parts for name, one in part["least"].items()}
    missing = [cell.name for cell in cells() if cell.name not in least]
    if missing:
        raise SystemExit(f"no part has {missing[0]}, nor {len(missing) - 1} others")
    return parts[0]["machine"], least


def _versions() -> dict[str, str]:
    """Return the versions of the peers."""
    is_there = bottleneck() is not None
    version = importlib.metadata.version("bottleneck") if is_there else "not installed"
    return {"numpy": np.__version__, "bottleneck": version}


def _time(cell: Cell) -> dict[str, float]:
    """Check a cell and return the least seconds of ours and of its peers."""
    calls = tasks(cell)
    answers = [task() for task in calls.values()]
    if not np.allclose(answers[0], answers[1], rtol=1e-3):
        raise SystemExit(f"{cell.name}: {answers[0]} is not {answers[1]}")
    rest = _UNTIL_BLAS_RESTS if cell.is_of_blas else _UNTIL_OURS_REST
    timed = {name: repeated(task, _TURN_SECONDS, rest) for name, task in calls.items()}
    began = perf_counter()
    for run in timed.values():
        run()
    rounds = round(_SECONDS / (perf_counter() - began))
    figures = interleave(timed, min(max(rounds, _LEAST_ROUNDS), _MOST_ROUNDS))
    return {name: min(seconds) for name, seconds in figures.items()}


def _row(cell: Cell, least: dict[str, float]) -> dict[str, Any]:
    """Return what the table says of a cell."""
    best = min((name for name in least if name != "ours"), key=least.__getitem__)
    of_numpy = min(seconds for name, seconds in least.items() if name not in _NOT_NUMPY)
    return {
        "case": cell.name,
        "us": float(f"{1e6 * least['ours']:.4g}"),
        "numpy_us": float(f"{1e6 * of_numpy:.4g}"),
        "best_peer_us": float(f"{1e6 * least[best]:.4g}"),
        "best_peer": best,
        "ratio": float(f"{least[best] / least['ours']:.3g}"),
        "is_small": cell.is_small,
    }


def _summary(asked: list[Cell], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count, by size, the cells that are as fast as the best peer."""
    by_name = {row["case"]: row for row in rows}
    groups: dict[str, list[Cell]] = {}
    for cell in asked:
        groups.setdefault(cell.group, []).append(cell)
    found = []
    for name, group in groups.items():
        of_group = [by_name[cell.name] for cell in group]
        ratios = sorted(row["ratio"] for row in of_group)
        found.append(
            {
                "case": name,
                "cells": len(group),
                "at_least_1.0": sum(ratio >= 1 for ratio in ratios),
                "at_least_0.9": sum(ratio >= 0.9 for ratio in ratios),
                "least_ratio": ratios[0],
                "median_ratio": ratios[len(ratios) // 2],
                "most_us_above": max(row["us"] - row["numpy_us"] for row in of_group),
            }
        )
    return found


def _targets(summary: list[dict[str, Any]]) -> list[Target]:
    targets = []
    for row in summary:
        if row["case"].startswith("2^10"):
            limit: float = 3 if row["case"].endswith("flat") else 6
            name = f"{row['case']}: us above NumPy"
            targets.append(Target(name, row["most_us_above"], limit, at_most=True))
        else:
            limit = 0.9 if "l2" in row["case"] else 1
            targets.append(Target(f"{row['case']}: least ratio", row["least_ratio"], limit))
    return targets


if __name__ == "__main__":
    main()
