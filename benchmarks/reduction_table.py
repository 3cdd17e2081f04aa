"""`reduce` on the CPU beside its best peer, by operation, dtype, axis and size; slow cells first.

    python benchmarks/reduction_table.py [--only TEXT | --part K/N | --join FILE FILE ...]

A cell is checked against its peers, then timed in turn with them, in one process, some calls at a
time (`report.repeated`). Its ratio is the least time of the fastest peer over our least time: below
1 we are slower. Cells below 1 are timed again after all others, up to five times, since who shares
the machine may take a core, or the way to memory, for as long as many cells take; of all times the
least of each contender counts. Peers: NumPy (for l1 and l2 ``numpy.linalg.norm``; beside a mask
``where=`` and ``values[mask]``) and, where it is installed, bottleneck. All of it takes 20 minutes
and more. Where a machine is lent for less, ``--part 1/4`` times every fourth cell from the first
on; ``--join`` makes the results of all parts, of one machine and the same packages. ``--only``
times the cells that have a text in their names, and writes nothing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import warpladder as wl
from report import (
    Target,
    interleave,
    machine,
    print_table,
    print_targets,
    repeated,
    write_results,
)

_OPERATIONS = (
    *("sum", "prod", "min", "max", "ptp", "argmax", "mean", "var", "any", "all"),
    *("count_nonzero", "l1", "l2", "nansum", "nanmax"),
)
_MASKED_OPERATIONS = ("sum", "max", "mean", "var", "any", "l2")
_DTYPES = ("int8", "int32", "int64", "float32", "float64")
_SMALL, _IN_CACHE, _MIDDLE = 1 << 10, 1 << 16, 1 << 20
_SHAPES: dict[tuple[int, ...], tuple[int | tuple[int, ...] | None, ...]] = {
    (_SMALL,): (None,),
    (32, 32): (0, 1),
    (_IN_CACHE,): (None,),
    (_MIDDLE,): (None,),
    (4096, 4096): (0, 1),
    (64, 1000, 64): (0, 1, 2),
    (8, 2_000_000): (0, 1),
    (1 << 18, 3): (0, 1),
    (3, 1 << 17): (0, 1),
    # Of each channel of images; of rows of a cube.
    (32, 64, 28, 28): ((0, 2, 3),),
    (8, 3, 256, 256): ((0, 2, 3),),
    (100, 100, 100): ((0, 2),),
}
# Arrays that lie otherwise than their shape says, with shapes and axes.
_LAYOUTS: dict[tuple[str, ...], dict[tuple[int, ...], tuple[int | None, ...]]] = {
    ("a column of 8", "every second"): {
        (_SMALL,): (None,),
        (_IN_CACHE,): (None,),
        (_MIDDLE,): (None,),
    },
    ("in Fortran order", "edges cut off"): {
        (32, 32): (None, 0, 1),
        (1024, 1024): (None, 0, 1),
    },
}
_OPERATIONS_OF_LAYOUTS = ("sum", "max", "argmax", "mean")
# What NumPy has not over several axes.
_OF_ONE_AXIS = ("argmax", "l1", "l2")
_OF_BOTTLENECK = {
    **dict.fromkeys(("sum", "nansum"), "nansum"),
    **dict.fromkeys(("max", "nanmax"), "nanmax"),
    "min": "nanmin",
    "argmax": "nanargmax",
    "mean": "nanmean",
    "var": "nanvar",
}
# Rounds of a cell, in seconds and in number, and how long a turn is at the least.
_SECONDS, _LEAST_ROUNDS, _MOST_ROUNDS, _TURN_SECONDS = 0.25, 5, 40, 1e-2
# Before a turn: threads that wait for their next call keep the other core from whoever is next.
_UNTIL_OURS_REST, _UNTIL_BLAS_RESTS = 2e-3, 0.2
_MOST_SERIES_AGAIN = 5
_SHOWN = 40
_NOT_NUMPY = ("ours", "bottleneck")

Task = Callable[[], Any]


class Cell(NamedTuple):
    """An operation on numbers of a dtype, over axes, perhaps with one more option."""

    operation: str
    dtype: str
    shape: tuple[int, ...]
    axis: int | tuple[int, ...] | None
    masked: bool = False
    keepdims: bool = False
    layout: str = ""

    @property
    def name(self) -> str:
        """All of it in words."""
        sides = f"2^{math.log2(self.shape[0]):.0f}"
        if len(self.shape) > 1:
            sides = " x ".join(map(str, self.shape))
        if self.axis is not None:
            sides += f" axis {' '.join(map(str, np.atleast_1d(self.axis)))}"
        option = " masked" * self.masked + " keepdims" * self.keepdims
        option += f", {self.layout}" if self.layout else ""
        return f"{self.operation} {self.dtype} {sides}{option}"


def main() -> None:
    """Check, time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--only", default="", help="text that the names of cells have")
    which.add_argument("--part", metavar="K/N", help="the K-th of N parts alone")
    which.add_argument("--join", nargs="+", type=Path, help="the files of all parts")
    options = parser.parse_args()
    cells = [cell for cell in _cells() if options.only in cell.name]
    if options.part:
        number, parts = map(int, options.part.split("/"))
        timed = _timed(cells[number - 1 :: parts])
        found = {cell.name: least for cell, least in timed.items()}
        name = f"reduction_table_part_{number}_of_{parts}"
        print(f"wrote {write_results(name, {'peers': _versions(), 'least': found}).name}")
        return
    described = machine()
    if options.join:
        described, least = _joined(options.join)
        timed = {cell: least[cell.name] for cell in cells}
    else:
        timed = _timed(cells)
    rows = sorted((_row(*one) for one in timed.items()), key=lambda row: float(row["ratio"]))
    for title, is_small in (("2^10 numbers", True), ("from 2^16 on", False)):
        shown = [row for row in rows if row["is_small"] is is_small]
        if shown:
            few = [{k: v for k, v in row.items() if k != "is_small"} for row in shown[:_SHOWN]]
            print_table(f"{title}: the slowest of {len(shown)} cells", few)
    if options.only:
        return
    summary = _summary(cells, rows)
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


def _timed(cells: list[Cell]) -> dict[Cell, dict[str, float]]:
    """Return the least seconds of each cell's contenders."""
    timed = {cell: _time(cell) for cell in cells}
    for series in range(_MOST_SERIES_AGAIN):
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
    missing = [cell.name for cell in _cells() if cell.name not in least]
    if missing:
        raise SystemExit(f"no part has {missing[0]}, nor {len(missing) - 1} others")
    return parts[0]["machine"], least


def _versions() -> dict[str, str]:
    """Return the versions of the peers."""
    is_there = _bottleneck() is not None
    bottleneck = importlib.metadata.version("bottleneck") if is_there else "not installed"
    return {"numpy": np.__version__, "bottleneck": bottleneck}


def _cells() -> Iterator[Cell]:
    for shape, axes in _SHAPES.items():
        for axis in axes:
            for dtype in _DTYPES:
                for operation in _OPERATIONS:
                    if isinstance(axis, tuple) and operation in _OF_ONE_AXIS:
                        continue
                    # What is no float has no NaN to skip.
                    if dtype.startswith("float") or not operation.startswith("nan"):
                        yield Cell(operation, dtype, shape, axis)
    for size in (_SMALL, _IN_CACHE, _MIDDLE):
        for dtype in ("int32", "float32", "float64"):
            for operation in _MASKED_OPERATIONS:
                yield Cell(operation, dtype, (size,), None, masked=True)
    for dtype in ("int32", "float32", "float64"):
        for operation in _OPERATIONS:
            if dtype.startswith("float") or not operation.startswith("nan"):
                yield Cell(operation, dtype, (32, 32), 1, keepdims=True)
    for layouts, shapes in _LAYOUTS.items():
        for layout, (shape, axes) in product(layouts, shapes.items()):
            for axis, dtype, operation in product(
                axes, ("float32", "float64"), _OPERATIONS_OF_LAYOUTS
            ):
                yield Cell(operation, dtype, shape, axis, layout=layout)


@cache
def _bottleneck() -> Any:
    try:
        return importlib.import_module("bottleneck")
    except ImportError:
        return None


@cache
def _drawn(dtype: str, size: int) -> NDArray[Any]:
    """Return integers of both signs, or floats of one: the peers' sums of others are rough."""
    rng = np.random.default_rng(4)
    if dtype.startswith("float"):
        return (1 + rng.random(size, np.float32)).astype(dtype)
    return rng.integers(-100, 100, size, dtype)


def _numbers(cell: Cell) -> NDArray[Any]:
    values = _drawn(cell.dtype, math.prod(cell.shape)).reshape(cell.shape)
    # A truth is settled by the first element that decides; a product is not to overflow.
    if cell.operation in {"any", "all", "prod"}:
        return np.full_like(values, cell.operation != "any")
    if cell.operation == "ptp" and cell.dtype == "int8":
        # A range that int8 cannot hold is refused.
        return values // 2
    if cell.operation.startswith("nan"):
        values = values.copy()
        # No side is a multiple of 11: no row has only NaNs.
        values.reshape(-1)[::11] = np.nan
    return values


def _laid(values: NDArray[Any], layout: str) -> NDArray[Any]:
    """Return the same numbers as they lie in a part of a larger array, or in another order."""
    if layout == "in Fortran order":
        return np.asfortranarray(values)
    shape, dtype = values.shape, values.dtype
    if layout == "a column of 8":
        laid = np.empty((*shape, 8), dtype)[..., 3]
    elif layout == "every second":
        laid = np.empty((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    else:
        whole = np.empty([n + 2 for n in shape], dtype)
        laid = whole[(slice(1, -1),) * len(shape)]
    laid[...] = values
    return laid


def _peers(cell: Cell, values: NDArray[Any], mask: NDArray[np.bool_] | None) -> dict[str, Task]:
    operation, axis = cell.operation, cell.axis
    norms = {"l1": partial(np.linalg.norm, ord=1), "l2": np.linalg.norm}
    function: Any = norms.get(operation) or getattr(np, operation)
    if mask is not None:
        peers: dict[str, Task] = {"values[mask]": lambda: function(values[mask])}
        if operation != "l2":
            options = {"initial": values[mask].min()} if operation == "max" else {}
            peers["where="] = partial(function, values, where=mask, **options)
        return peers
    options = {"keepdims": True} if cell.keepdims else {}
    peers = {"numpy": partial(function, values, axis=axis, **options)}
    if (
        _bottleneck() is not None
        and not (cell.keepdims or isinstance(axis, tuple))
        and operation in _OF_BOTTLENECK
        and cell.dtype != "int8"
    ):
        name = _OF_BOTTLENECK[operation]
        peers["bottleneck"] = partial(getattr(_bottleneck(), name), values, axis=axis)
    return peers


def _time(cell: Cell) -> dict[str, float]:
    """Check a cell and return the least seconds of ours and of its peers."""
    values = _numbers(cell)
    values = _laid(values, cell.layout) if cell.layout else values
    mask = np.random.default_rng(6).random(cell.shape) < 0.5 if cell.masked else None
    peers = _peers(cell, values, mask)
    options: dict[str, Any] = {} if mask is None else {"where": mask}
    options |= {"keepdims": True} if cell.keepdims else {}
    tasks: dict[str, Task] = {
        "ours": partial(wl.reduce, values, cell.operation, axis=cell.axis, **options),
        **peers,
    }
    answers = [task() for task in tasks.values()]
    if not np.allclose(answers[0], answers[1], rtol=1e-3):
        raise SystemExit(f"{cell.name}: {answers[0]} is not {answers[1]}")
    rest = _UNTIL_BLAS_RESTS if _is_of_blas(cell) else _UNTIL_OURS_REST
    timed = {name: repeated(task, _TURN_SECONDS, rest) for name, task in tasks.items()}
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
        "is_small": math.prod(cell.shape) == _SMALL,
    }


def _is_of_blas(cell: Cell) -> bool:
    """Tell whether a peer calls BLAS, which has threads of its own."""
    return cell.operation == "l2" and cell.axis is None


def _summary(cells: list[Cell], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count, by size, the cells that are as fast as the best peer."""
    by_name = {row["case"]: row for row in rows}
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        kind = "masked" if cell.masked else "flat" if cell.axis is None else "with an axis"
        kind = "views" if cell.layout else kind
        kind += ", kept" * cell.keepdims
        size = math.prod(cell.shape)
        sizes = "2^10" if size == _SMALL else "from 2^16 on"
        # Of 2^16 numbers and more it is BLAS that makes it.
        kind = "l2" if cell.operation == "l2" and size > _SMALL else kind
        groups.setdefault(f"{sizes}, {kind}", []).append(cell)
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
