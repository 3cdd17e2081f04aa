"""Calls of `reduce` on 0.5 to 16 MB that follow one another: with threads that stand by, without.

    python benchmarks/standby.py

By number of cores, each in a process that is kept to so many; beside NumPy, which has all of these
for l2 of floats (BLAS) and one for the rest. Ours are timed in turn, some calls at a time; NumPy
afterwards, when our threads have gone, and ours when those of BLAS have, which stay for longer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from statistics import median
from time import perf_counter, sleep
from typing import Any
from unittest import mock

import numpy as np

import warpladder as wl
from report import interleave, print_table, write_results
from warpladder.reduction.together import Together

_CORES = (2, 4, 8, 16)
#: Operation, dtype, and the axis of a matrix of 1024 columns, None for all numbers.
_CASES = (
    ("sum", "float32", None),
    ("sum", "float64", None),
    ("argmax", "int32", None),
    ("l2", "float64", None),
    ("var", "float64", 1),
    ("sum", "float32", 0),
    ("max", "int8", 0),
)
_COLUMNS = 1024
_BYTES = tuple(1 << log for log in range(19, 25))
_ROUNDS, _SECONDS_AT_ONCE, _UNTIL_BLAS_RESTS = 7, 1e-2, 0.2


def main() -> None:
    """Check, time, print, write."""
    if sys.platform != "linux":
        raise SystemExit("only Linux keeps a process to some of the cores")
    there, rows = sorted(os.sched_getaffinity(0)), []
    for cores in (each for each in _CORES if each <= len(there)):
        # Before it begins: BLAS starts its threads when NumPy is imported.
        os.sched_setaffinity(0, there[-cores:])
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            rows += process.submit(_rows, cores).result()
        print_table(f"{cores} cores", [row for row in rows if row["cores"] == cores])
    document = {"peers": {"numpy": np.__version__}, "calls": rows}
    print(f"wrote {write_results('standby', document).name}")


def _rows(cores: int) -> list[dict[str, Any]]:
    rows = []
    for operation, dtype, axis in _CASES:
        rows += [_row(cores, operation, dtype, axis, size) for size in _BYTES]
        sleep(_UNTIL_BLAS_RESTS)
    return rows


def _row(cores: int, operation: str, dtype: str, axis: int | None, size: int) -> dict[str, Any]:
    drawn = 100 * np.random.default_rng(0).random(size // np.dtype(dtype).itemsize)
    values = drawn.astype(dtype) if axis is None else drawn.astype(dtype).reshape(-1, _COLUMNS)
    ours = partial(wl.reduce, values, operation, axis=axis)
    of_numpy = np.linalg.norm if operation == "l2" else getattr(np, operation)
    peer = partial(of_numpy, values, axis=axis)
    expected = _alone(ours)
    if not np.allclose(expected, peer()):
        raise SystemExit(f"{operation} of {dtype}: {expected} is not {peer()}")
    sleep(_UNTIL_BLAS_RESTS)
    if any(ours().tobytes() != expected.tobytes() for _ in range(100)):
        raise SystemExit(f"{operation} of {dtype}: bits differ where others stand by")
    began = perf_counter()
    _alone(ours)
    calls = max(3, round(_SECONDS_AT_ONCE / (perf_counter() - began)))
    several = partial(_each, ours, calls)
    seconds = interleave({"ours": several, "alone": partial(_alone, several)}, _ROUNDS)
    seconds |= interleave({"peer": partial(_each, peer, calls)}, _ROUNDS)
    found = {name: float(f"{1e6 * median(figures):.4g}") for name, figures in seconds.items()}
    return {
        "case": f"{operation} {dtype}" + ("" if axis is None else f" axis {axis}"),
        "cores": cores,
        "kB": size >> 10,
        "us": found["ours"],
        "us_of_one_thread": found["alone"],
        "us_of_numpy": found["peer"],
    }


def _alone(call: Callable[[], Any]) -> Any:
    with mock.patch.object(Together, "_team", _nobody):
        return call()


def _nobody(*_: object) -> None:
    """Tell that nobody is there."""


def _each(call: Callable[[], Any], calls: int) -> float:
    """Return the seconds that one of so many calls takes."""
    began = perf_counter()
    for _ in range(calls):
        call()
    return (perf_counter() - began) / calls


if __name__ == "__main__":
    main()
