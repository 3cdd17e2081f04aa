"""The contract of a rung: what every step of a ladder states about itself, and how it is run.

A ladder is an explicit list of rungs; a rung is one file with a docstring that teaches, kernels,
one host function and one `Rung` record. Everything that shows rungs (listings, tests, benchmarks,
plots) reads these records and keeps no list of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

__all__ = [
    "Bound",
    "Found",
    "Inner",
    "Ladder",
    "Prediction",
    "Ratio",
    "Rung",
    "Task",
    "Work",
    "WrongRung",
    "shown",
]

#: Sizes at which mistakes show: none, one, a warp and its neighbours, primes, no tile multiple; and
#: one more than a block of 256 has threads, without which a grid may lack its last block.
AWKWARD_SIZES = (0, 1, 2, 31, 32, 33, 61, 97, 130, 257)


class Work(NamedTuple):
    """What a problem asks for at the least: useful operations, and bytes to and from memory.

    ``dtype`` names what the operations are done on, where that decides how many a GPU can do.
    """

    operations: int
    bytes: int
    dtype: str = ""


class Inner(NamedTuple):
    """An operation on numbers in registers that a task mainly consists of.

    Attributes
    ----------
    step
        A device function, ``step(c, a, b)`` returns the new ``c``. The laboratory measures how
        often a GPU can do it where nothing else is to be done.
    dtype
        Of its operands.
    at_once
        How many of the task's operations it does.
    """

    step: Any
    dtype: str
    at_once: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """A problem that rungs solve, with its oracle.

    Attributes
    ----------
    name
        What is computed, in a few words.
    make
        ``make(n, seed) -> problem``, any record of host arrays and sizes; the same for the same
        arguments.
    oracle
        ``oracle(problem) -> expected``, an array or a tuple of arrays, by NumPy or a plain
        independent implementation.
    work
        ``work(problem) -> Work``.
    unit
        What ``Work.operations`` counts, in the plural: ``"additions"``.
    size_word
        What n counts, in the plural.
    ceiling
        What a GPU can do at most for it: move its bytes through memory, ``"dram"``, or over the
        bus from and to page-locked memory, ``"pcie"``. A function that returns the inner operation
        on numbers of ``Work.dtype`` stands for the rate of that, or memory where this takes longer.
    default_n
        The size that ``climb`` takes when none is asked for.
    sizes
        Sizes at which every rung is verified.
    simulated
        The same on the simulator, where large ones take seconds each; by default all.
    compared
        ``compared(problem, result)``: what of a rung's result is compared with the oracle's answer,
        where more than one result is right; by default the result itself.
    """

    name: str
    make: Callable[[int, int], Any]
    oracle: Callable[[Any], Any]
    work: Callable[[Any], Work]
    unit: str
    default_n: int
    sizes: tuple[int, ...] = AWKWARD_SIZES
    size_word: str = "numbers"
    ceiling: Literal["dram", "pcie"] | Callable[[str], Inner] = "dram"
    compared: Callable[[Any, Any], Any] | None = None
    simulated: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """What limits a rung on a perfect GPU, and the formula for it in words."""

    by: Literal["dram", "shared", "issue", "latency", "pcie"]
    formula: str


_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Ratio(float):
    """A quotient of two counts, shown as it was worked out.

    Examples
    --------
    >>> str(Ratio(32, 69)), Ratio(1, 2) == 0.5
    ('32/69', True)
    """

    __slots__ = ("part", "whole")

    def __new__(cls, part: int, whole: int) -> Ratio:
        """Return ``part / whole``."""
        ratio = super().__new__(cls, part / whole)
        ratio.part, ratio.whole = part, whole
        return ratio

    part: int
    whole: int

    def __getnewargs__(self) -> tuple[int, int]:  # type: ignore[override]  # it is made of two
        """Return what copies are made from."""
        return self.part, self.whole

    def __str__(self) -> str:
        return f"{self.part:,}/{self.whole:,}"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A claim about a counter, made before measuring and checked on the simulator.

    Attributes
    ----------
    counter
        An attribute of `warpladder.simulator.Counters`.
    relation
        ``"=="``, ``"<"``, ``"<="``, ``">"`` or ``">="``.
    value
        What the counter is compared with: itself, or as a multiple of ``than``'s counter. A `Ratio`
        is shown as such.
    n
        The problem size at which the claim is made.
    why
        One sentence for a learner.
    than
        Name of another rung: the claim is then about this rung's counter divided by that rung's,
        on the same problem. A rung of another ladder is called ``"ladder/rung"``; it solves the
        problem of its own task, of the same size.
    tolerance
        For ``"=="``: how far apart the two may be, as a fraction of ``value``.
    """

    counter: str
    relation: Literal["==", "<", "<=", ">", ">="]
    value: float
    n: int
    why: str
    than: str | None = None
    tolerance: float = 0.0

    def holds(self, measured: float) -> bool:
        """Return whether ``measured`` (a ratio where ``than`` is given) is as claimed."""
        if self.relation == "==":
            return abs(measured - self.value) <= self.tolerance * abs(self.value)
        return _RELATIONS[self.relation](measured, self.value)

    def __str__(self) -> str:
        times = f" x {self.than}'s" if self.than else ""
        return f"{self.counter} {self.relation} {shown(self.value)}{times} at n = {self.n}"


def shown(value: float) -> str:
    """Write a count in full, a `Ratio` as it was worked out, another number in six digits.

    Examples
    --------
    >>> [shown(value) for value in (585_216, 65_024.0, Ratio(32, 69), 12.5, 74.869109)]
    ['585,216', '65,024', '32/69', '12.5', '74.8691']
    """
    if isinstance(value, Ratio):
        return str(value)
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.6g}"


@dataclass(frozen=True, slots=True)
class Found:
    """What hardware showed of a rung, above all where it contradicts what the rung expects.

    Attributes
    ----------
    card, date
        Which GPU, and the day of the run, as its record has them.
    n
        The problem size.
    milliseconds
        Of the kernels, by the name of the rung: of this one, and of those it is compared with, to
        three digits as the record has them.
    part
        Of the record: ``ladder`` for the benchmark of the ladder, ``libraries`` for cuda-bench.
    """

    card: str
    date: str
    n: int
    milliseconds: tuple[tuple[str, float], ...]
    part: str = "ladder"


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of a ladder.

    Attributes
    ----------
    name, title
        kebab-case identifier, and one line.
    source
        Key and place in the source documents (``"RD 2"``), or ``"beyond"``.
    run
        ``run(device, problem) -> result``, shaped as the oracle's answer. A rung on the CPU takes
        None for the device.
    task
        The problem solved.
    bound
        What limits it on a perfect GPU.
    kernels
        The ``@cuda.jit`` kernels that `run` launches; ``explain`` prints them.
    predicts
        Claims that the counters must show.
    exact
        Whether the result equals the oracle's bit for bit; else `tolerance` holds.
    found
        What hardware showed, where that is told: the figures in the docstring's paragraph Found,
        each of them from a committed record of ``benchmarks/results``.
    tolerance
        ``tolerance(problem) -> (relative, absolute)``, derived in the rung's docstring.
    limits
        Sizes or devices it cannot take, and why; empty where there are none. For a rung on a GPU
        alone, why no simulator runs it.
    max_n
        The largest size it takes, where there is one.
    on
        ``"device"`` for kernels, ``"cpu"`` for host code, ``"gpu"`` for what is compiled already
        and so runs on a GPU only: a library.
    """

    name: str
    title: str
    source: str
    run: Callable[[Any, Any], Any]
    task: Task
    bound: Bound
    kernels: tuple[Any, ...] = ()
    predicts: tuple[Prediction, ...] = ()
    exact: bool = True
    tolerance: Callable[[Any], tuple[float, float]] | None = None
    limits: str = ""
    max_n: int | None = None
    on: Literal["device", "cpu", "gpu"] = "device"
    found: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True)
class WrongRung:
    """A deliberately broken kernel, and the check of the simulator that must catch it.

    Attributes
    ----------
    rung
        The broken computation, in the form of a rung.
    caught_by
        ``"memcheck"``, ``"racecheck"``, ``"initcheck"``, ``"synccheck"`` or ``"livelock"``; where
        kernels are right and host code is wrong ``"verification"``, the comparison with the oracle.
    visible_under
        Schedules of the simulator under which the result is wrong to the eye, with checks off.
    n
        The problem size at which it is shown.
    """

    rung: Rung
    caught_by: Literal[
        "memcheck", "racecheck", "initcheck", "synccheck", "livelock", "verification"
    ]
    n: int
    visible_under: tuple[Literal["lockstep", "warps", "warps-reverse", "warps-random"], ...] = ()


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rungs in the order in which they are climbed, and the wrong ones beside them."""

    name: str
    title: str
    rungs: tuple[Rung, ...]
    wrong: tuple[WrongRung, ...] = field(default=())

    def find(self, name: str) -> Rung | None:
        """Return the rung of this name, or None."""
        every = (*self.rungs, *(wrong.rung for wrong in self.wrong))
        return next((rung for rung in every if rung.name == name), None)
