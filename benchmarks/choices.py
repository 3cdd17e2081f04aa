"""What is chosen by the size of arrays, timed on both sides of each bound, both ways.

    python benchmarks/choices.py [--only NAME ...] [--out FOLDER]

The choices stand in `choice_cases`. Ways are remembered, and memory lies as calls before have left
it: so the calls of a side are made in a process of their own, as the constant stands, and in
another with a value in its place, before anything is called, by which they go the other way. The
processes of a choice take turns, for several rounds; in each a call is warmed up and then repeated
for some turns, of which the least counts. Figures are the medians of these. All answers are
compared with NumPy's, and bit for bit with those that come the other way.

Processes begin as copies of one that has imported everything and called nothing, where a system has
such; else, and where compiled code reads the constant, they import it anew. With some choices only
nothing is written unless a folder is named.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np

from choice_cases import CHOICES
from one_choice import Choice
from reduction_cells import Cell, tasks
from report import print_table, write_results

_ROUNDS = 3
_SIDES, _WAYS = ("below", "above"), ("chosen", "other")
#: Calls before the first turn: of several operations it is found so late what they take alone.
_BEFORE, _MOST_SECONDS_BEFORE = 40, 0.1
_TURNS, _SECONDS_OF_TURN = 20, 1.5e-3
#: What begins as a copy has imported this: else it takes longer than all calls.
_IMPORTED = (
    *("__main__", "bottleneck", "warpladder.reduction.api", "scipy.linalg.cython_blas"),
    *("numba.np.arraymath", "numba.np.linalg", "numba.np.npyimpl", "numba.typed.typeddict"),
)
_COPIED = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
#: NumPy's sums of what lies across are rough.
_ROUGH = {"float16": 1e-2, "float32": 1e-4}


def main() -> None:
    """Time, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    names = [choice.name for choice in CHOICES]
    options.add_argument("--only", nargs="+", choices=names, metavar="NAME", default=names)
    options.add_argument("--out", type=Path, help="the folder that the record goes to")
    given = options.parse_args()
    chosen = [choice for choice in CHOICES if choice.name in given.only]
    if _COPIED == "forkserver":
        multiprocessing.set_forkserver_preload(list(_IMPORTED))
    rows = [row for choice in chosen for row in timed(choice)]
    print_table("choices, and the other way", [shown(row) for row in rows])
    if given.out or len(chosen) == len(CHOICES):
        document = {"rounds": _ROUNDS, "choices": rows}
        print(f"wrote {write_results('choices', document, folder=given.out).name}")


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the record as one of the table that is printed."""
    return {
        "choice": row["choice"],
        "constant": row["constant"],
        "case": row["case"],
        "us as chosen": row["chosen_us"],
        "us other way": row["other_us"],
        "gain": row["gain"],
        "bits": "same" if row["same_bits"] else "others",
    }


# ---- a choice --------------------------------------------------------------------------------


def timed(choice: Choice) -> list[dict[str, Any]]:
    """Return a row for each call of a choice: what it takes as chosen, and the other way."""
    ways = [(side, way) for side in _SIDES if choice.cells(side) for way in _WAYS]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {each: [] for each in ways}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_ROUNDS):
            for side, way in ways:
                found[side, way].append(_run(choice, side, way, Path(folder)))
    return [
        _row(
            choice,
            side,
            cell.name,
            *([one[cell.name] for one in found[side, way]] for way in _WAYS),
        )
        for side in _SIDES
        for cell in choice.cells(side)
    ]


def _run(choice: Choice, side: str, way: str, folder: Path) -> dict[str, Any]:
    """Return what a process of its own found of the calls of a side that go a way."""
    before = os.environ.copy()
    if choice.is_compiled and way == "other":
        os.environ["NUMBA_CACHE_DIR"] = str(folder / side)
    try:
        context = multiprocessing.get_context("spawn" if choice.is_compiled else _COPIED)
        with ProcessPoolExecutor(1, context) as process:
            return process.submit(calls_of, choice.name, side, way).result()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _row(
    choice: Choice,
    side: str,
    case: str,
    chosen: list[dict[str, Any]],
    other: list[dict[str, Any]],
) -> dict[str, Any]:
    times = {"chosen": [one["us"] for one in chosen], "other": [one["us"] for one in other]}
    chosen_us, other_us = (statistics.median(each) for each in times.values())
    return {
        "choice": choice.name,
        "constant": choice.constant,
        "value": choice.value,
        "between": choice.between,
        "side": side,
        "other_value": choice.other_value(side),
        "case": case,
        "chosen_us": chosen_us,
        "other_us": other_us,
        "gain": round(other_us / chosen_us, 3),
        "same_bits": {one["bits"] for one in chosen} == {one["bits"] for one in other},
        # Where only compiled code goes another way, or other numbers are handed to it, they do not.
        "functions_differ": chosen[0]["functions"] != other[0]["functions"],
        "us": times,
    }


# ---- a side, in its own process --------------------------------------------------------------


def calls_of(name: str, side: str, way: str) -> dict[str, Any]:
    """Make the calls of a side; return what each took, by which functions, and its bits."""
    (choice,) = (each for each in CHOICES if each.name == name)
    if way == "other":
        for module in choice.imported():
            setattr(module, choice.attribute, choice.other_value(side))
    return {cell.name: _call(cell) for cell in choice.cells(side)}


def _call(cell: Cell) -> dict[str, Any]:
    ours, peer, *_ = tasks(cell).values()
    began = perf_counter()
    for done in range(_BEFORE):
        ours()
        if done > 3 and perf_counter() - began > _MOST_SECONDS_BEFORE:
            break
    began = perf_counter()
    answer = ours()
    calls = max(1, round(_SECONDS_OF_TURN / (perf_counter() - began)))
    best = math.inf
    for _ in range(_TURNS):
        began = perf_counter()
        for _ in range(calls):
            ours()
        best = min(best, (perf_counter() - began) / calls)
    _compare(cell, answer, peer())
    parts = answer if isinstance(answer, tuple) else (answer,)
    bits = sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()
    return {"us": round(1e6 * best, 3), "bits": bits, "functions": _functions_of(ours)}


def _compare(cell: Cell, answer: Any, expected: Any) -> None:
    parts = zip(answer, expected, strict=True) if len(cell.of_both) > 1 else [(answer, expected)]
    close = (np.allclose(*pair, rtol=_ROUGH.get(cell.dtype, 1e-9)) for pair in parts)
    if not all(close):
        raise ValueError(f"{cell.name} is not NumPy's")


def _functions_of(task: Callable[[], object]) -> list[str]:
    """Return which functions of the package a call calls, and how often each."""
    seen: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "warpladder" in frame.f_code.co_filename:
            seen[f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_qualname}"] += 1

    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
    return [f"{name} {times}" for name, times in sorted(seen.items())]


if __name__ == "__main__":
    main()
