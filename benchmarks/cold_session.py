"""What a session of calls of `reduce` on the CPU costs where nothing is compiled yet, and after.

    python benchmarks/cold_session.py [--dtypes D ...] [--operations O ...]

Four dtypes (float32, float64, int32, int64), six operations (sum, mean, max, argmax, l2, any), over
all of 512 x 512 numbers and over either axis: 72 calls, in a process of their own. First with an
empty folder for compiled kernels, then, in another process, with what the first left there. CPU
seconds are those of all threads of the process, from its beginning on, imports included; they tell
what it costs also where others use the machine. Kernels are the files that Numba writes, one for
each function and types of arguments that it compiled. Answers are compared with NumPy's when the
time is taken. With fewer dtypes or operations nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import warpladder as wl

_DTYPES = "float32", "float64", "int32", "int64"
_OPERATIONS = "sum", "mean", "max", "argmax", "l2", "any"
_AXES = None, 0, 1
_SIDE = 512
#: What such a session took before there were fewer variants.
_MOST_CPU_SECONDS, _MOST_KERNELS = 26, 59


def main() -> None:
    """Run the session twice, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("--dtypes", nargs="+", default=_DTYPES)
    options.add_argument("--operations", nargs="+", default=_OPERATIONS)
    options.add_argument("--session", action="store_true", help="be the process that is measured")
    given = options.parse_args()
    asked = tuple(given.dtypes), tuple(given.operations)
    if given.session:
        print(json.dumps(session(*asked)))
        return
    # Else the process that is measured would be charged with what only this one needs.
    from report import print_table, print_targets, write_results

    rows = _time(*asked)
    calls = rows[0]["calls"]
    print_table(f"a session of {calls} calls of reduce", rows)
    if asked != (_DTYPES, _OPERATIONS):
        return
    targets = _targets(rows)
    print_targets(targets)
    document = {
        "dtypes": _DTYPES,
        "operations": _OPERATIONS,
        "axes": _AXES,
        "shape": (_SIDE, _SIDE),
        "sessions": rows,
        "targets": targets,
    }
    print(f"wrote {write_results('cold_session', document).name}")


def session(dtypes: tuple[str, ...], operations: tuple[str, ...]) -> dict[str, float]:
    """Make all calls, and return their number and the CPU seconds of the process until then."""
    arrays = {dtype: _drawn(dtype) for dtype in dtypes}
    cells = [(dtype, op, axis) for dtype in dtypes for op in operations for axis in _AXES]
    found = [wl.reduce(arrays[dtype], op, axis=axis) for dtype, op, axis in cells]
    seconds = process_time()
    for (dtype, op, axis), ours in zip(cells, found, strict=True):
        if not np.allclose(ours, _by_numpy(arrays[dtype], op, axis), rtol=1e-5):
            raise SystemExit(f"{op} of {dtype} over axis {axis} is not NumPy's")
    return {"calls": len(cells), "cpu_s": seconds}


def _drawn(dtype: str) -> NDArray[Any]:
    drawn = 100 * np.random.default_rng(0).random((_SIDE, _SIDE))
    return drawn.astype(dtype)


def _by_numpy(values: NDArray[Any], op: str, axis: int | None) -> Any:
    if op == "l2":
        return np.linalg.norm(values.astype(np.float64), axis=axis)
    return getattr(np, op)(values, axis=axis)


def _time(dtypes: tuple[str, ...], operations: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what the session takes with nothing compiled, and in a process after that."""
    command = [sys.executable, __file__, "--session"]
    command += ["--dtypes", *dtypes, "--operations", *operations]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for case in ("nothing compiled yet", "compiled before"):
            known = len(list(_kernels(folder)))
            began = perf_counter()
            done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=False)  # noqa: S603 - this file
            seconds = perf_counter() - began
            if done.returncode:
                raise SystemExit(f"{case}: the session ended with {done.returncode}")
            told = json.loads(done.stdout)
            kernels = len(list(_kernels(folder))) - known
            rows.append({"case": case, **told, "s": seconds, "kernels": kernels})
    return rows


def _kernels(folder: str) -> Iterator[Path]:
    return Path(folder).rglob("*.nbc")


def _targets(rows: list[dict[str, Any]]) -> list[Any]:
    from report import Target

    cold, warm = rows
    return [
        Target("nothing compiled yet: CPU s", cold["cpu_s"], _MOST_CPU_SECONDS, at_most=True),
        Target("nothing compiled yet: kernels", cold["kernels"], _MOST_KERNELS, at_most=True),
        Target("compiled before: kernels", warm["kernels"], 0, at_most=True),
    ]


if __name__ == "__main__":
    main()
