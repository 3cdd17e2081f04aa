"""Whether a rung is right, whether its predictions hold, whether a wrong one is caught."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from warpladder.errors import (
    InputError,
    KernelFaultError,
    MissingExtraError,
    UnsupportedKernelError,
    WarpladderError,
)
from warpladder.lab.compare import difference, uncompared
from warpladder.lab.devices import Simulated
from warpladder.lab.own import mistake_in
from warpladder.lab.poisoned import Poisoned
from warpladder.lab.registry import find_rung
from warpladder.rung import Ladder, Prediction, Rung, Task, WrongRung, shown
from warpladder.simulator.checks.counters import Counters

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = [
    "PredictionResult",
    "Verdict",
    "WrongResult",
    "check_predictions",
    "check_wrong",
    "count",
    "judge",
    "pose",
    "refuse_beyond",
    "run",
    "sizes_of",
    "verify",
]

# A matrix of more rows has more bytes than NumPy counts, which calls that a bad value.
_MOST_ROWS = 1 << 29


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a rung's answer at size ``n`` is right; ``fault`` is empty, or says what is not."""

    n: int
    fault: str = ""

    @property
    def ok(self) -> bool:
        """Whether the answer is right."""
        return not self.fault


@dataclass(frozen=True, slots=True)
class PredictionResult:
    """A prediction beside what was counted.

    Attributes
    ----------
    prediction
        The claim.
    counted
        This rung's counter, or None where its run failed.
    base
        The counter of the rung that it is compared with, if it is.
    fault
        Why nothing was counted, if so.
    """

    prediction: Prediction
    counted: float | None
    base: float | None = None
    fault: str = ""

    @property
    def measured(self) -> float:
        """What the claim is about: the counter or the ratio of the two; NaN where there is none."""
        if self.counted is None:
            return math.nan
        if self.prediction.than is None:
            return self.counted
        return self.counted / self.base if self.base else math.nan

    @property
    def shown(self) -> str:
        """What was measured, in the form of the claim where it is as claimed: ``32/69``."""
        claimed = self.prediction.value
        same = abs(self.measured - claimed) <= 1e-9 * abs(claimed)
        return shown(claimed if same else self.measured)

    @property
    def ok(self) -> bool:
        """Whether the claim holds."""
        return self.prediction.holds(self.measured)


@dataclass(frozen=True, slots=True)
class WrongResult:
    """How a wrong rung was seen to be wrong.

    Attributes
    ----------
    wrong
        The wrong rung.
    caught
        Whether the check that must catch it did.
    fault
        The message of the check that stopped it first; empty where none did.
    visible
        Under each schedule named by the rung, whether the result is wrong with checks off.
    """

    wrong: WrongRung
    caught: bool
    fault: str
    visible: dict[str, bool]

    @property
    def ok(self) -> bool:
        """Whether it is caught, and visible wherever the rung says so."""
        return self.caught and all(self.visible.values())


def run(rung: Rung, device: Device | None, problem: Any) -> Any:
    """Return the rung's result; one on the CPU is given no device."""
    return rung.run(None if rung.on == "cpu" else device, problem)


def verify(
    rung: Rung, device: Device | None, sizes: Iterable[int] | None = None, seed: int = 0
) -> list[Verdict]:
    """Compare a rung with the oracle of its task, at every size.

    Memory that a rung allocates holds NaN, or an odd integer, until it is written. The problem must
    be unchanged after the run; the oracle is given a copy made before it.

    Parameters
    ----------
    rung
        The rung.
    device
        Where to run it; None for one on the CPU.
    sizes
        Problem sizes; by default those of the task that the rung takes, on the simulator those
        that the task names for it.
    seed
        For the task's ``make``.

    Raises
    ------
    InputError
        A size is beyond the rung's ``max_n``, there is no size, kernels are given no device, a
        rung that needs a GPU is given none, or the oracle's answer is more than numbers.
    MissingExtraError
        The rung needs a package that is not installed; that says nothing of its answers.

    Examples
    --------
    >>> import numpy as np
    >>> from warpladder.rung import Bound, Task, Work
    >>> task = Task(
    ...     name="twice each number",
    ...     make=lambda n, seed: np.arange(n),
    ...     oracle=lambda numbers: 2 * numbers,
    ...     work=lambda numbers: Work(numbers.size, 2 * numbers.nbytes),
    ...     unit="additions", default_n=100,
    ... )
    >>> bound = Bound("dram", "16 n bytes")
    >>> double = lambda device, numbers: numbers + numbers
    >>> verify(Rung("double", "x + x", "beyond", double, task, bound, on="cpu"), None, [3])
    [Verdict(n=3, fault='')]
    >>> square = lambda device, numbers: numbers * numbers
    >>> verify(Rung("square", "x * x", "beyond", square, task, bound, on="cpu"), None, [2])
    [Verdict(n=2, fault='result[1]: expected 2, found 1; 1 of 2 differ, ...')]
    """
    if device is None and rung.on == "device":
        raise InputError(f"{rung.name} runs kernels: it needs a device, simulator or cuda")
    if rung.on == "gpu" and (device is None or isinstance(device, Simulated)):
        raise InputError(f"{rung.name} runs on a GPU only: {rung.limits}")
    if sizes is None:
        asked = sizes_of(rung, simulated=isinstance(device, Simulated))
    else:
        asked = list(sizes)
    if not asked:
        takes = "" if rung.max_n is None else f"; it takes up to n = {rung.max_n}"
        raise InputError(f"{rung.name}: there is no size to verify it at{takes}")
    refuse_beyond(rung, max(asked))
    poisoned: Any = None if device is None else Poisoned(device)
    return [_verify(rung, poisoned, n, seed) for n in asked]


def refuse_beyond(rung: Rung, n: int) -> None:
    """Refuse a problem size that is more than a rung takes.

    Raises
    ------
    InputError
        It says how many it takes, and why no more.
    """
    if rung.max_n is not None and n > rung.max_n:
        why = f": {rung.limits}" if rung.limits else ""
        raise InputError(f"n={n}: {rung.name} takes up to {rung.max_n}{why}")


def sizes_of(rung: Rung, *, simulated: bool) -> list[int]:
    """Return the sizes at which a rung is verified, on a simulated device or another one."""
    few = rung.task.simulated if simulated else None
    return [n for n in few or rung.task.sizes if rung.max_n is None or n <= rung.max_n]


@lru_cache(maxsize=16)
def _posed(task: Task, n: int, seed: int) -> tuple[Any, Any]:
    """Return a problem and its answer: most rungs of a ladder solve the same, before and after."""
    try:
        problem = task.make(n, seed)
    except ValueError as fault:
        if n <= _MOST_ROWS:
            raise
        raise MemoryError(str(fault)) from fault
    try:
        copied = deepcopy(problem)
    except TypeError as fault:
        raise InputError(
            f"{task.name}: a problem of it cannot be copied ({fault}); it must be numbers, arrays "
            "of them, or a record of these"
        ) from fault
    answer = task.oracle(copied)
    if unlike := uncompared(answer):
        raise InputError(
            f"{task.name}: of the oracle's answer {unlike} cannot be compared; it must be numbers, "
            "arrays of them, or a record of these"
        )
    return problem, answer


def pose(task: Task, n: int, seed: int = 0) -> Any:
    """Return a problem of a task, free to be changed."""
    return deepcopy(_posed(task, n, seed)[0])


def judge(rung: Rung, n: int, problem: Any, result: Any, seed: int = 0) -> Verdict:
    """Return whether a result is right for a problem that `pose` gave, and that left unchanged."""
    untouched, expected = _posed(rung.task, n, seed)
    if changed := difference(untouched, problem, name="problem"):
        return Verdict(n, f"it changed its input: {changed}")
    found = rung.task.compared(untouched, result) if rung.task.compared else result
    return Verdict(n, difference(expected, found, _tolerance(rung, untouched)))


def _verify(rung: Rung, device: Device | None, n: int, seed: int) -> Verdict:
    problem = pose(rung.task, n, seed)
    try:
        result = run(rung, device, problem)
    except (Exception, SystemExit) as fault:
        if not (told := _told(fault)):
            raise
        return Verdict(n, told)
    return judge(rung, n, problem, result, seed)


def _told(fault: BaseException) -> str:
    """Return what ended a run, as its verdict; nothing where that is no mistake of the rung's."""
    if isinstance(fault, MissingExtraError | MemoryError):
        return ""
    if isinstance(fault, UnsupportedKernelError):
        return f"cannot run: {fault}"
    if isinstance(fault, WarpladderError):
        return f"{type(fault).__name__}: {fault}"
    return mistake_in(fault)


def _tolerance(rung: Rung, problem: Any) -> tuple[float, float] | None:
    if rung.exact:
        return None
    stated = rung.tolerance(problem) if rung.tolerance else (math.nan, math.nan)
    # An infinite tolerance would accept anything.
    if not all(0 <= part < math.inf for part in stated):
        raise InputError(
            f"{rung.name} is inexact, so it must state a tolerance of two finite numbers, "
            f"relative and absolute; it states {stated if rung.tolerance else 'none'}"
        )
    return stated


def count(rung: Rung, device: Simulated, n: int, seed: int = 0) -> Counters:
    """Return what a simulated device counts while the rung runs on a problem of size ``n``."""
    problem = pose(rung.task, n, seed)
    device.reset_counters()
    run(rung, device, problem)
    return device.counters


def check_predictions(
    rung: Rung,
    ladder: Ladder,
    device_factory: Callable[..., Simulated],
    seen: dict[tuple[str, int], Counters] | None = None,
) -> list[PredictionResult]:
    """Count what the rung predicts, on simulated devices made by ``device_factory()``.

    Rungs are compared with one another, so most are counted for two. With ``seen``, given for one
    after another, what was counted once, by the rung's name and the size, is taken from there.

    Raises
    ------
    InputError
        A prediction names a counter or a rung that there is not.
    """
    seen = {} if seen is None else seen

    def counter(name: str, of: Rung, claim: Prediction) -> float:
        if (name, claim.n) not in seen:
            seen[name, claim.n] = count(of, device_factory(), claim.n)
        return float(getattr(seen[name, claim.n], claim.counter))

    results = []
    for claim in rung.predicts:
        if not hasattr(Counters, claim.counter):
            close = get_close_matches(claim.counter, dir(Counters), n=1)
            guess = f"; did you mean {close[0]}?" if close else ""
            raise InputError(f"{rung.name} predicts {claim}, but there is no such counter{guess}")
        than = None if claim.than is None else _other_rung(rung, claim, claim.than, ladder)
        try:
            base = None if than is None else counter(str(claim.than), than, claim)
            results.append(PredictionResult(claim, counter(rung.name, rung, claim), base))
        except UnsupportedKernelError as refusal:
            results.append(PredictionResult(claim, None, fault=f"cannot run: {refusal}"))
        except WarpladderError as fault:
            results.append(PredictionResult(claim, None, fault=f"{type(fault).__name__}: {fault}"))
        except (Exception, SystemExit) as fault:
            if not (told := mistake_in(fault)):
                raise
            results.append(PredictionResult(claim, None, fault=told))
    return results


def _other_rung(rung: Rung, claim: Prediction, name: str, ladder: Ladder) -> Rung:
    """Return the rung that a claim names: of the same ladder, or ``ladder/rung`` of another one."""
    if "/" not in name:
        other = ladder.find(name)
        if other is not None:
            return other
        raise InputError(
            f"{rung.name} predicts {claim}, but {ladder.name} has no such rung; one of another "
            "ladder is called LADDER/RUNG"
        )
    try:
        return find_rung(name)[1]
    except InputError as fault:
        raise InputError(f"{rung.name} predicts {claim}: {fault}") from fault


def check_wrong(wrong: WrongRung, device_factory: Callable[..., Simulated]) -> WrongResult:
    """Run a wrong rung with the checks on, then with them off under each schedule it names.

    ``device_factory`` is called with the keywords ``schedule`` and ``checks``. A run that ends in
    an error even with checks off, as a livelock does, counts as visibly wrong.
    """
    rung, caught, fault = wrong.rung, False, ""
    try:
        run(rung, device_factory(checks=True), rung.task.make(wrong.n, 0))
    except KernelFaultError as stopped:
        caught, fault = stopped.check == wrong.caught_by, str(stopped)
    except (Exception, SystemExit) as mistake:
        if not (fault := _told(mistake)):
            raise
    else:
        if wrong.caught_by == "verification":
            (verdict,) = verify(rung, device_factory(checks=True), [wrong.n])
            caught, fault = not verdict.ok, verdict.fault
    visible: dict[str, bool] = {
        schedule: not verify(rung, device_factory(schedule=schedule, checks=False), [wrong.n])[0].ok
        for schedule in wrong.visible_under
    }
    return WrongResult(wrong, caught, fault, visible)
