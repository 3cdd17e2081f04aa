"""The columns of counters that stand beside the lines of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from warpladder.simulator.checks.counters import Counters

__all__ = ["WIDTH", "Column", "choose_columns", "short"]

#: Characters that a column takes, with the space before it.
WIDTH = 5


class Column(NamedTuple):
    """A heading of at most four letters, what it means, and its value; None leaves it empty."""

    heading: str
    meaning: str
    value: Callable[[Counters], float | None]


def short(value: float) -> str:
    """Write a number in at most four characters.

    Examples
    --------
    >>> [short(value) for value in (4.0, 31.97, 1024, 65536, 12_345_678, 0.25)]
    ['4', '32', '1024', '66k', '12M', '0.2']
    """
    if value < 1:
        return f"{value:.1f}" if value else "0"
    if value < 9999.5:
        return f"{value:.3g}" if value < 99.95 else f"{value:.0f}"
    for factor, prefix in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        if value < 999.5 * factor:
            return f"{value / factor:.0f}{prefix}"
    return f"{value / 1e12:.0f}T"


def choose_columns(counted: Iterable[Counters], most: int) -> list[Column]:
    """Return the columns that are not empty everywhere, at most ``most`` of them.

    Examples
    --------
    >>> line = Counters(warp_instructions=2, thread_instructions=48, barriers=2)
    >>> [column.heading for column in choose_columns([line], most=6)]
    ['thr', 'sync']
    """
    lines = list(counted)
    filled = [
        column for column in _BY_WEIGHT if any(column.value(line) is not None for line in lines)
    ]
    kept = filled[:most]
    return [column for column in _AS_SHOWN if column in kept]


def _per(parts: Sequence[str], wholes: Sequence[str], factor: float = 1) -> _Value:
    """Return a function that gives the ratio of two sums of counters, or None for none."""

    def value(counters: Counters) -> float | None:
        whole = sum(getattr(counters, name) for name in wholes)
        part = sum(getattr(counters, name) for name in parts)
        return factor * part / whole if whole else None

    return value


def _sum(*names: str) -> _Value:
    return lambda counters: sum(getattr(counters, name) for name in names) or None


_Value = Callable[[Counters], float | None]

_REQUESTS = Column(
    "req",
    "requests to memory of any kind: one for each warp that reads, writes or updates",
    _sum(
        *(
            f"{space}_{way}_requests"
            for space in ("global", "shared", "local")
            for way in ("load", "store")
        ),
        "constant_requests",
        "atomic_requests",
    ),
)
_LOADED = Column(
    "load",
    "32-byte sectors per load from global memory; 4 is the best for 4-byte values",
    _per(("global_load_sectors",), ("global_load_requests",)),
)
_STORED = Column(
    "stor",
    "the same per store",
    _per(("global_store_sectors",), ("global_store_requests",)),
)
_USED = Column(
    "used",
    "percent of the bytes in all those sectors that threads asked for",
    _per(
        ("global_load_bytes", "global_store_bytes"),
        ("global_load_sectors", "global_store_sectors"),
        100 / 32,
    ),
)
_BANKS = Column(
    "bank",
    "bank conflicts: passes through shared memory per pass needed without, 1 to 32",
    # Loads and stores of one line have each their own pattern, and the worse one costs.
    lambda counters: (
        max(counters.shared_load_conflict_degree, counters.shared_store_conflict_degree) or None
    ),
)
_ATOMICS = Column(
    "atom",
    "passes per atomic request; 1 when all its threads meet different addresses",
    _per(("atomic_passes",), ("atomic_requests",)),
)
_CONSTANTS = Column(
    "cnst",
    "addresses per request to constant memory; 1 is a broadcast",
    _per(("constant_wavefronts",), ("constant_requests",)),
)
_LOCALS = Column(
    "locl",
    "requests to local arrays, unless the compiler keeps them in registers",
    _sum("local_load_requests", "local_store_requests"),
)
_THREADS = Column(
    "thr",
    "threads active per instruction of a warp, of 32",
    _per(("thread_instructions",), ("warp_instructions",)),
)
_UNIFORM = Column(
    "unif",
    "percent of branches that all active threads of a warp took the same way",
    _per(("uniform_branches",), ("branches",), 100),
)
_SYNCS = Column(
    "sync", "barriers and warp barriers, per warp that passed", _sum("barriers", "warp_syncs")
)
_SHUFFLES = Column("shfl", "shuffles, votes and matches of warps", _sum("shuffles"))

_AS_SHOWN = (
    _REQUESTS,
    _LOADED,
    _STORED,
    _USED,
    _BANKS,
    _ATOMICS,
    _CONSTANTS,
    _LOCALS,
    _THREADS,
    _UNIFORM,
    _SYNCS,
    _SHUFFLES,
)
#: Where not all have room, the ones that explain most of a kernel's time stay.
_BY_WEIGHT = (
    _LOADED,
    _STORED,
    _BANKS,
    _ATOMICS,
    _THREADS,
    _UNIFORM,
    _REQUESTS,
    _CONSTANTS,
    _LOCALS,
    _SHUFFLES,
    _SYNCS,
    _USED,
)
