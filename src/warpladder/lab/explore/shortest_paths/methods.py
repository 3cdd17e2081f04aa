"""Whole computations of shortest paths, timed over the number of vertices.

The sequential rung, and the library's own call on the CPU and on a GPU, transfers included. The
problem is that of the ladder, int32, and all methods must find the same distances. Who would take
longer than 1.5 seconds for one run is left out from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import DeviceError, WarpladderError
from warpladder.lab.explore.exploration import Column, Panel, Series, Setting, Table
from warpladder.lab.explore.measure import Spread, in_turn, unsteady, wall_seconds
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import run as run_rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ENGINE", "GPU", "SEQUENTIAL", "Times", "time_methods", "times_panel", "times_table"]

SEQUENTIAL, ENGINE, GPU = "sequential CPU", "CPU engine", "GPU"

#: By method and size.
Times = dict[str, dict[int, Spread]]
_Method = Callable[[Any], "NDArray[Any]"]

_LONGEST_SECONDS = 1.5
# A call on so few vertices is mostly what a call costs at all: n**3 says nothing yet.
_SOON_UP_TO = 64


def time_methods(setting: Setting) -> tuple[Times, tuple[str, ...]]:
    """Time all methods at all sizes, in turn; return the times, and what to remark on them.

    Where there is a GPU the sizes for it are added, for all methods that take part until then.

    Raises
    ------
    WarpladderError
        Two methods find different distances, so that their times mean nothing.
    """
    rung = find_rung("shortest-paths/sequential-cpu")[1]
    methods, remarks = _methods(setting)
    times: Times = {name: {} for name in methods}
    for n in setting.watch(_sizes(setting), lambda n: f"timing n = {n}", lambda n: n**3):
        problem = rung.task.make(n, 0)
        taking_part = {name: solve for name, solve in methods.items() if _ends(times[name], n)}
        # Also the first run, in which code is compiled and loaded.
        _compare({name: solve(problem) for name, solve in taking_part.items()}, problem, n)
        spreads = in_turn(
            {
                name: partial(wall_seconds, partial(solve, problem))
                for name, solve in taking_part.items()
            }
        )
        for name, spread in spreads.items():
            times[name][n] = spread
    every = {
        f"{name} at n = {n}": spread for name, known in times.items() for n, spread in known.items()
    }
    return times, (*remarks, *_left_out(times, setting), *unsteady(every))


def _sizes(setting: Setting) -> list[int]:
    return sorted({*setting.sizes, *(setting.gpu_sizes if setting.gpu else ())})


def _methods(setting: Setting) -> tuple[dict[str, _Method], tuple[str, ...]]:
    rung = find_rung("shortest-paths/sequential-cpu")[1]
    methods: dict[str, _Method] = {
        SEQUENTIAL: partial(run_rung, rung, None),
        ENGINE: partial(_call, "cpu"),
    }
    why = setting.why_no_gpu
    if setting.gpu is not None:
        try:
            _call("cuda", rung.task.make(2, 0))
        except DeviceError as fault:
            why = str(fault).rstrip(".")
        else:
            return {**methods, GPU: partial(_call, "cuda")}, ()
    return methods, (f"The GPU is not measured: {why}.",)


def _call(device: Any, problem: Any) -> NDArray[Any]:
    from warpladder import shortest_paths

    answer = shortest_paths(
        problem.matrix, device=device, no_edge=problem.no_path, method="floyd-warshall"
    )
    found: NDArray[Any] = answer.dist_matrix
    return found


def _ends(known: dict[int, Spread], n: int) -> bool:
    """Return whether a run may be expected to end soon: n**3 from the size before."""
    if not known or n <= _SOON_UP_TO:
        return True
    before = max(known)
    return known[before].median * (n / before) ** 3 <= _LONGEST_SECONDS


def _compare(answers: dict[str, NDArray[Any]], problem: Any, n: int) -> None:
    # The call has another number for "no path" than the rungs.
    same = [
        np.where(dist == np.iinfo(dist.dtype).max, problem.no_path, dist)
        for dist in answers.values()
    ]
    if not all(np.array_equal(same[0], other) for other in same[1:]):
        raise WarpladderError(
            f"{', '.join(answers)} differ in their distances at n = {n}: this is a fault of "
            "warpladder, please report it"
        )


def _left_out(times: Times, setting: Setting) -> tuple[str, ...]:
    return tuple(
        f"{name} is not measured beyond n = {max(known)}: a run would take more than "
        f"{_LONGEST_SECONDS:g} s."
        for name, known in times.items()
        if max(known) < _sizes(setting)[-1]
    )


def times_table(times: Times, setting: Setting) -> Table:
    """Return the medians, a column per method."""
    rows = tuple(
        {
            "n": n,
            **{name: known[n].median if n in known else None for name, known in times.items()},
            "spread": {name: known[n]._asdict() for name, known in times.items() if n in known},
        }
        for n in _sizes(setting)
    )
    headings = {GPU: "GPU, with transfers"}
    return Table(
        "time of the whole computation, medians",
        (
            Column("n", "n", "count"),
            *(Column(name, headings.get(name, name), "seconds") for name in times),
        ),
        rows,
    )


def times_panel(times: Times, setting: Setting) -> Panel:
    """Return the times over the sizes."""
    return Panel(
        "Whole computation, medians",
        setting.size_word,
        "seconds",
        tuple(
            Series(name, tuple(known), tuple(spread.median for spread in known.values()))
            for name, known in times.items()
        ),
        log_base=10,
    )
