"""The columns of counters beside the lines of a kernel, and the room that both have.

The code comes first: it has the width that its lines need, and where the terminal is narrow, enough
that few of them are broken. The columns share what is left, the most telling ones first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from warpladder.simulator.checks.counters import Counters

__all__ = [
    "WIDTH",
    "Column",
    "choose_columns",
    "columns_beside",
    "filled_columns",
    "pieces",
    "short",
]

#: Characters that a column takes, with the space before it.
WIDTH = 5

#: Characters that the code is left on a narrow terminal: few lines of kernels are longer.
_NARROW = 56


class Column(NamedTuple):
    """A heading of at most four letters, what it means, and its value; None leaves it empty.

    A column that has its ``best`` value on every line tells nothing; it is the first to go where
    there is no room.
    """

    heading: str
    meaning: str
    value: Callable[[Counters], float | None]
    best: float | None = None

    def is_filled(self, lines: Iterable[Counters]) -> bool:
        """Return whether it has a value on any line."""
        return any(self.value(line) is not None for line in lines)

    def is_told(self, lines: Iterable[Counters]) -> bool:
        """Return whether any line has another than the best value."""
        return any(self.value(line) not in {None, self.best} for line in lines)


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


def filled_columns(counted: Iterable[Counters]) -> list[Column]:
    """Return the columns that are not empty everywhere."""
    lines = list(counted)
    return [column for column in _AS_SHOWN if column.is_filled(lines)]


def columns_beside(code_width: int, width: int, counted: Iterable[Counters]) -> list[Column]:
    """Return the columns for which there is room in ``width`` beside code of ``code_width``.

    Code that is wider than what a narrow terminal leaves it is broken for a few columns.

    Examples
    --------
    >>> lines = [Counters(warp_instructions=2, thread_instructions=48, barriers=2)]
    >>> [len(columns_beside(50, width, lines)) for width in (50, 57, 80)]
    [0, 1, 2]
    """
    room = width - min(code_width, max(_NARROW, width // 2))
    return choose_columns(counted, max(room // WIDTH, 0))


def pieces(line: str, width: int) -> list[str]:
    """Break a line of source that is too wide; what follows the first piece is indented more.

    It is broken behind a blank, else a comma or an opening bracket; a word that is wider than
    ``width`` is broken anywhere.

    Examples
    --------
    >>> pieces("    total = combine(total, partial[block])", 30)
    ['    total = combine(total, ', '        partial[block])']
    >>> pieces("a = b", 30)
    ['a = b']
    """
    indent = min(len(line) - len(line.lstrip()), width // 2)
    found: list[str] = []
    while len(line) > width:
        blank = line.rfind(" ", indent + 1, width)
        bracket = max(line.rfind(mark, indent + 1, width) for mark in ",([")
        best = blank if blank > max(indent + 4, width // 2) else bracket
        end = best + 1 if best > indent + 4 else width
        found.append(line[:end])
        line = " " * min(indent + 4, width // 2) + line[end:].lstrip()
    return [*found, line]


def choose_columns(counted: Iterable[Counters], most: int) -> list[Column]:
    """Return the columns that are not empty everywhere, at most ``most`` of them.

    Examples
    --------
    >>> line = Counters(warp_instructions=2, thread_instructions=48, barriers=2)
    >>> [column.heading for column in choose_columns([line], most=6)]
    ['thr', 'sync']
    """
    lines = list(counted)
    filled = [column for column in _BY_WEIGHT if column.is_filled(lines)]
    kept = sorted(filled, key=lambda column: not column.is_told(lines))[:most]
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
    "32-byte sectors, what today's GPUs move, per load from global memory; 4 is the best for "
    "4-byte values",
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
    best=100,
)
_BANKS = Column(
    "bank",
    "bank conflicts: passes through shared memory per pass needed without, 1 to 32",
    # Loads and stores of one line have each their own pattern, and the worse one costs.
    lambda counters: (
        max(counters.shared_load_conflict_degree, counters.shared_store_conflict_degree) or None
    ),
    best=1,
)
_ATOMICS = Column(
    "atom",
    "passes per atomic request; 1 when all its threads meet different addresses",
    _per(("atomic_passes",), ("atomic_requests",)),
    best=1,
)
_CONSTANTS = Column(
    "cnst",
    "addresses per request to constant memory; 1 is a broadcast",
    _per(("constant_wavefronts",), ("constant_requests",)),
    best=1,
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
    best=32,
)
_UNIFORM = Column(
    "unif",
    "percent of branches that all active threads of a warp took the same way",
    _per(("uniform_branches",), ("branches",), 100),
    best=100,
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
