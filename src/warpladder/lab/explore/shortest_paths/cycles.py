"""Hochberg's study of scalability, as it is told.

Undirected cycles of 10 to 1800 vertices, on every device there is. Each is solved ten times, in
turn with ten runs that copy the matrix to the device and back and start no kernel; the difference
of the two averages is the time of the kernels. Of two devices the ratio of their times is set
against the ratio of their processors the other way round: HB found the two curves of one shape.

The devices here: one core with three loops; the CPU engine with 1, 2, 4, ... and all cores, which
copies nothing, so that nothing is subtracted; HB's kernel (`padded-rows`) on a GPU where there is
one. On the simulator it runs too, while n is small: that is what simulating costs, and says nothing
of a GPU.

Why undirected cycles: every vertex reaches every other, the longest ways have half of the vertices,
and no step of the algorithm is idle. And how far it is is known without computing it: the shorter
way round. Every answer is compared with that.

Expect: three loops take n**3 from the start. The engine has a fixed cost for each call and grows
slowly at first, then like n**3. With p cores it is p times as fast as with one, as far as there are
tiles for all: on small cycles the cores bring nothing. HB's fitted ratio would be 1 on ideal
devices: a time ratio that is the processor ratio to the power of 1. Cores that share one memory
and one clock stay somewhat below.

Source: HB 2.3
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.errors import WarpladderError
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)
from warpladder.lab.explore.measure import Spread, unsteady, wall_seconds
from warpladder.lab.explore.shortest_paths.cores import limited
from warpladder.lab.explore.shortest_paths.growth import (
    PowerLaw,
    fit_power,
    upper_exponent,
)
from warpladder.lab.explore.waves import doubled
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import run as run_rung
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["EXPLORATION", "fit_ratio"]

_SEQUENTIAL, _KERNEL = "sequential-cpu", "padded-rows"
_RUNS = 10
# A run that would take longer than this on any device is left out: there are ten of them.
_LONGEST_SECONDS = 0.5
_SIMULATED_UP_TO = 30
_FEWEST = 3


class _Device(NamedTuple):
    """How a cycle is solved, the same without kernels where that is more than nothing, up to n."""

    solve: Callable[[Weights], NDArray[Any]]
    idle: Callable[[Weights], Any] | None = None
    up_to: float = float("inf")


class _Means(NamedTuple):
    """Average seconds of the runs, of those without kernels, their difference; how runs spread."""

    run: float
    idle: float
    kernels: float
    spread: Spread


class _Idle:
    """A device on which nothing is launched."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(self, *_what: Any, **_options: Any) -> None:
        """Do nothing."""


#: By device and n.
Times = dict[str, dict[int, _Means]]


def fit_ratio(seconds: dict[int, float]) -> float:
    """Return the power of the ratio of processors that the ratio of times is, by least squares.

    Times and processors are compared with those of the most processors. 1 is ideal, 0 is no gain.

    Parameters
    ----------
    seconds
        By the number of processors, at least two of them.

    Examples
    --------
    >>> round(fit_ratio({1: 8.0, 2: 4.0, 4: 2.0}), 9), round(fit_ratio({1: 2.0, 4: 1.0}), 9)
    (1.0, 0.5)
    """
    most = max(seconds)
    x = [log(most / p) for p in seconds]
    y = [log(taken / seconds[most]) for taken in seconds.values()]
    return sum(a * b for a, b in zip(x, y, strict=True)) / sum(a * a for a in x)


def _run(setting: Setting) -> Findings:
    times = _measure(setting, _devices(setting))
    cores = _by_cores(times)
    kernels = {
        name: {n: means.kernels for n, means in known.items()}
        for name, known in times.items()
        if len(known) >= _FEWEST and all(means.kernels > 0 for means in known.values())
    }
    fits = {name: fit_power(known) for name, known in kernels.items()}
    upper = {name: upper_exponent(known) for name, known in kernels.items()}
    return Findings(
        (
            _times_table(setting, times),
            *_transfers(times),
            *_fits_table(fits, upper),
            *_ratios(cores),
        ),
        _answer(fits, cores),
        _panels(setting, times, cores),
        _remarks(setting, times),
    )


# ---- what is run -----------------------------------------------------------------------------


def _devices(setting: Setting) -> dict[str, _Device]:
    from warpladder.simulator import SimulatedDevice

    sequential, kernel = (find_rung(f"shortest-paths/{name}")[1] for name in (_SEQUENTIAL, _KERNEL))
    devices = {"one core, loops": _Device(partial(run_rung, sequential, None))}
    for p in doubled(worker_count()):
        devices[_named(p)] = _Device(partial(_on_cores, p))
    simulated = SimulatedDevice(checks=False, counters=False)
    for name, device, up_to in (
        ("simulator", simulated, _SIMULATED_UP_TO),
        ("GPU", setting.gpu, float("inf")),
    ):
        if device is not None:
            devices[name] = _Device(
                partial(run_rung, kernel, device), partial(run_rung, kernel, _Idle(device)), up_to
            )
    return devices


def _named(cores: int) -> str:
    return f"engine, {cores} core{'s' if cores > 1 else ''}"


def _on_cores(cores: int, problem: Weights) -> NDArray[Any]:
    from warpladder import shortest_paths

    with limited(cores):
        answer = shortest_paths(
            problem.matrix, device="cpu", no_edge=problem.no_path, method="floyd-warshall"
        )
    found: NDArray[Any] = answer.dist_matrix
    return found


def _cycle(n: int) -> tuple[Weights, NDArray[np.int32]]:
    """Return an undirected cycle, and how far it is: the shorter way round."""
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    dist = np.minimum(apart, n - apart).astype(np.int32)
    no_path = inner_no_path(np.int32).item()
    return Weights(np.where(dist <= 1, dist, np.int32(no_path)), no_path), dist


def _measure(setting: Setting, devices: dict[str, _Device]) -> Times:
    times: Times = {name: {} for name in devices}
    for n in setting.watch(setting.sizes, lambda n: f"cycle of {n}", lambda n: n**3):
        problem, dist = _cycle(n)
        here = {
            name: device
            for name, device in devices.items()
            if n <= device.up_to and _ends(times[name], n)
        }
        for name, device in here.items():
            # Also the first run, in which code is compiled and loaded.
            if not np.array_equal(device.solve(problem), dist):
                raise WarpladderError(
                    f"{name} finds wrong distances on the undirected cycle of {n} vertices: this "
                    "is a fault of warpladder, please report it"
                )
        for name, means in _alternate(here, problem).items():
            times[name][n] = means
    return times


def _ends(known: dict[int, _Means], n: int) -> bool:
    """Return whether a run may be expected to end soon: n**3 from the size before."""
    if not known or n <= _SIMULATED_UP_TO:
        return True
    before = max(known)
    return known[before].run * (n / before) ** 3 <= _LONGEST_SECONDS


def _alternate(devices: dict[str, _Device], problem: Weights) -> dict[str, _Means]:
    """Take the averages of ten runs of each, with and without kernels in turn."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in devices}
    for _ in range(_RUNS):
        for name, device in devices.items():
            idle = 0.0 if device.idle is None else wall_seconds(partial(device.idle, problem))
            taken[name].append((wall_seconds(partial(device.solve, problem)), idle))
    means = {}
    for name, pairs in taken.items():
        run, idle = (float(mean) for mean in np.mean(pairs, axis=0))
        lower, middle, upper = np.quantile([whole for whole, _ in pairs], [0.25, 0.5, 0.75])
        spread = Spread(float(lower), float(middle), float(upper), len(pairs))
        means[name] = _Means(run, idle, run - idle, spread)
    return means


# ---- what is said ----------------------------------------------------------------------------


def _by_cores(times: Times) -> dict[int, float]:
    """Return the seconds of the engine by cores, at the largest size that all of them took."""
    known = {p: times[_named(p)] for p in doubled(worker_count())}
    n = max(set.intersection(*(set(sizes) for sizes in known.values())))
    return {p: sizes[n].kernels for p, sizes in known.items()}


def _times_table(setting: Setting, times: Times) -> Table:
    rows = tuple(
        {
            "n": n,
            **{name: known[n].kernels if n in known else None for name, known in times.items()},
        }
        for n in setting.sizes
    )
    columns = (Column("n", "n", "count"), *(Column(name, name, "seconds") for name in times))
    return Table(
        f"undirected cycles: averages of {_RUNS} runs, less those of copies", columns, rows
    )


def _transfers(times: Times) -> tuple[Table, ...]:
    if "GPU" not in times:
        return ()
    rows = tuple(
        {"n": n, "run": means.run, "idle": means.idle, "kernels": means.kernels}
        for n, means in times["GPU"].items()
    )
    columns = (
        Column("n", "n", "count"),
        Column("run", "with kernels", "seconds"),
        Column("idle", "copies only", "seconds"),
        Column("kernels", "difference", "seconds"),
    )
    return (Table(f"the GPU, {_KERNEL}: averages of {_RUNS} runs", columns, rows),)


def _fits_table(fits: dict[str, PowerLaw], upper: dict[str, float | None]) -> tuple[Table, ...]:
    if not fits:
        return ()
    rows = tuple(
        {"device": name, **law._asdict(), "upper": upper[name]} for name, law in fits.items()
    )
    columns = (
        Column("device", "device", "text"),
        Column("exponent", "exponent of n"),
        Column("error", "+-"),
        Column("worst", "off by up to x"),
        Column("upper", "upper half"),
    )
    return (Table("fitted: time = factor * n ** exponent", columns, rows),)


def _ratios(cores: dict[int, float]) -> tuple[Table, ...]:
    if len(cores) == 1:
        return ()
    most = max(cores)
    rows = tuple(
        {"p": p, "seconds": taken, "time": taken / cores[most], "processors": most / p}
        for p, taken in cores.items()
    )
    columns = (
        Column("p", "cores", "count"),
        Column("seconds", "time", "seconds"),
        Column("time", f"time / time of {most}"),
        Column("processors", f"{most} / cores"),
    )
    return (Table("HB's two ratios, on the largest cycle", columns, rows),)


def _answer(fits: dict[str, PowerLaw], cores: dict[int, float]) -> tuple[str, ...]:
    laws = "; ".join(f"{name} n^{law.exponent:.2f}" for name, law in fits.items())
    said = [f"How the time grows with the cycle: {laws or 'too few sizes for a fit'}."]
    if len(cores) > 1:
        said.append(
            "The ratio of times is the ratio of cores to the power of "
            f"{fit_ratio(cores):.2f}, where 1 is ideal."
        )
    said.append(
        "HB measured four cards of 32, 48, 240 and 448 cores and saw two curves of one shape. "
        "Cards differ in their clocks and memories too, so one shape is as much as could be seen; "
        "cores of one CPU differ in their number only."
    )
    return tuple(said)


def _panels(setting: Setting, times: Times, cores: dict[int, float]) -> tuple[Panel, ...]:
    curves = Panel(
        "Kernel time on undirected cycles",
        setting.size_word,
        "seconds",
        tuple(
            Series(name, tuple(known), tuple(max(one.kernels, 0) or None for one in known.values()))
            for name, known in times.items()
        ),
        log_base=10,
    )
    if len(cores) == 1:
        return (curves,)
    most, places = max(cores), tuple(map(float, cores))
    power = fit_ratio(cores)
    ratios = Panel(
        f"Ratios to {most} cores, on the largest cycle",
        "cores",
        "ratio",
        (
            Series("of times", places, tuple(taken / cores[most] for taken in cores.values())),
            Series("of cores, inverted", places, tuple(most / p for p in cores), model=True),
            Series(f"fitted, to the power of {power:.2f}", places,
                   tuple((most / p) ** power for p in cores), model=True),
        ),
        log_base=2,
    )  # fmt: skip
    return (curves, ratios)


def _remarks(setting: Setting, times: Times) -> tuple[str, ...]:
    said = [
        f"{name} is not measured beyond n = {max(known)}: a run would take more than "
        f"{_LONGEST_SECONDS:g} s."
        for name, known in times.items()
        if name != "simulator" and known and max(known) < setting.sizes[-1]
    ]
    said.append(
        f"The simulator runs cycles of up to {_SIMULATED_UP_TO} vertices; its time is what "
        "simulating costs, not what a GPU takes."
    )
    if setting.gpu is None:
        said.append(f"The GPU is not measured: {setting.why_no_gpu}.")
    else:
        said.append(
            "On the GPU every launch has events around it, which the difference has in it too."
        )
    spreads = {
        f"{name} at n = {n}": means.spread
        for name, known in times.items()
        for n, means in known.items()
    }
    return (*said, *unsteady(spreads))


EXPLORATION = Exploration(
    name="cycles",
    question="How does the time on cycles scale, from device to device?",
    source="HB 2.3",
    run=_run,
    # HB's own are 10:1800:10, which take a quarter of an hour.
    sizes=(10, 20, 30, 50, 100, 200, 300, 450, 600, 900, 1200, 1500, 1800),
    largest=8192,
    why_largest="ten runs of that size take minutes",
    rung=f"shortest-paths/{_KERNEL}",
)
