"""The climb: every rung of a ladder verified, counted and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from warpladder.errors import InputError, MissingExtraError
from warpladder.lab.bench import Timing, cold_cache, time_rung
from warpladder.lab.devices import Simulated
from warpladder.lab.verify import PredictionResult, Verdict, check_predictions, judge, pose, verify
from warpladder.rung import Ladder, Rung

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.lab.ceilings import Ceilings, Limit
    from warpladder.lab.gpu_timing import ColdCache
    from warpladder.simulator.checks.counters import Counters

__all__ = ["Row", "climb"]

#: What a rung says to someone who has no device for it.
_NEEDS = {
    "device": "runs kernels; use the device simulator or cuda",
    "gpu": "runs on a GPU only; use the device cuda",
}


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one rung.

    Attributes
    ----------
    rung
        The rung.
    verdicts
        By size, that of the last timed result last.
    predictions
        Counted on the simulator; none for a rung on the CPU.
    n
        The size that was timed, or None where nothing was.
    timing
        At that size.
    rate
        Of the task's unit, per second.
    limit
        The least time in which this machine could solve the problem, where it was measured.
    skipped
        Why it was not run at the size asked for, if so.
    """

    rung: Rung
    verdicts: tuple[Verdict, ...]
    predictions: tuple[PredictionResult, ...] = ()
    n: int | None = None
    timing: Timing | None = None
    rate: float | None = None
    limit: Limit | None = None
    skipped: str = ""

    @property
    def percent_of_limit(self) -> float | None:
        """How much of what this machine allows for the problem the rung reaches."""
        if self.limit is None or self.timing is None:
            return None
        return 100 * self.limit.seconds / self.timing.seconds

    @property
    def faults(self) -> list[str]:
        """Everything that is not as it must be, a sentence each."""
        faulty = [verdict for verdict in self.verdicts if not verdict.ok]
        sizes = ", ".join(dict.fromkeys(str(verdict.n) for verdict in faulty))
        wrong = [f"is wrong at n = {sizes}; the first: {faulty[0].fault}"] if faulty else []
        broken = [
            f"predicted {p.prediction}, " + (p.fault or f"counted {p.shown}")
            for p in self.predictions
            if not p.ok and p.fault not in {verdict.fault for verdict in faulty}
        ]
        percent = self.percent_of_limit
        if self.limit is not None and percent is not None and percent > 100:
            broken.append(
                f"{percent:.1f} % of what {self.limit.by} allows: the work that its task declares, "
                "the measured ceiling or the time is wrong"
            )
        return wrong + broken


class _Means(NamedTuple):
    """What rungs are climbed with; ``seen`` is what was counted for those before."""

    device: Device | None
    simulator: Callable[..., Simulated] | None
    cache: ColdCache | None
    ceilings: Ceilings | None
    seen: dict[tuple[str, int], Counters]


def climb(
    ladder: Ladder,
    device: Device | None,
    *,
    simulator: Callable[..., Simulated] | None,
    n: int | None = None,
    only: str | None = None,
    ceilings: Ceilings | None = None,
) -> Iterator[Row]:
    """Yield a row for every rung of the ladder that can run, in order.

    Each rung is verified at the sizes of its task and at ``n``, its predictions are counted on
    simulated devices, and it is timed at ``n``; the last result that was timed is verified again.
    Nothing is timed on a simulated device, whose time says nothing of a GPU's.

    Parameters
    ----------
    ladder
        The ladder.
    device
        Where its kernels run; None runs the rungs on the CPU alone.
    simulator
        Makes the devices on which predictions are counted; takes the keyword ``checks``. With None
        nothing is counted.
    n
        Problem size; by default that of the task, and on a simulated device none but its sizes.
    only
        The name of one rung.
    ceilings
        Of the device, if it is a GPU; without them nothing is said of limits.

    Raises
    ------
    InputError
        No rung of the ladder can run without a device.
    """
    chosen = [rung for rung in ladder.rungs if only in {None, rung.name}]
    able = [rung for rung in chosen if device is not None or rung.on == "cpu"]
    if chosen and not able:
        raise InputError(
            f"{chosen[0].name} {_NEEDS[chosen[0].on]}"
            if only
            else f"no rung of {ladder.name} runs on the CPU; use the device simulator or cuda"
        )
    # Checks take most of a simulation's time, and `verify` has made them where there are any.
    counting = None if simulator is None else partial(simulator, checks=False)
    means = _Means(device, counting, cold_cache(device), ceilings, {})
    for rung in able:
        yield _climb(rung, ladder, means, n)


def _climb(rung: Rung, ladder: Ladder, means: _Means, asked: int | None) -> Row:
    device = means.device
    simulated = isinstance(device, Simulated)
    if simulated and rung.on == "gpu":
        return Row(rung, (), skipped=f"runs on a GPU only: {rung.limits}")
    n = rung.task.default_n if asked is None and not simulated else asked
    skipped = ""
    if n is not None and rung.max_n is not None and n > rung.max_n:
        most = f"takes up to n = {rung.max_n}: {rung.limits}"
        # Nobody asked for the task's own size.
        n, skipped = (rung.max_n, "") if asked is None else (None, most)
    try:
        verdicts = verify(rung, device)
        if n is not None:
            verdicts += verify(rung, device, [n])
    except MissingExtraError as missing:
        return Row(rung, (), skipped=f"was left out: {missing}")
    predictions: tuple[PredictionResult, ...] = ()
    if rung.on == "device" and means.simulator is not None:
        predictions = tuple(check_predictions(rung, ladder, means.simulator, means.seen))
    if n is None or simulated or not all(verdict.ok for verdict in verdicts):
        return Row(rung, tuple(verdicts), predictions, skipped=skipped)

    problem = pose(rung.task, n)
    timing, result = time_rung(rung, device, means.cache, problem)
    verdicts.append(judge(rung, n, problem, result))
    work = rung.task.work(problem)
    # A CPU has limits of its own, and what a library launches is not timed on the GPU.
    limit = means.ceilings.limit(rung.task, work) if means.ceilings and timing.kernels else None
    rate = work.operations / timing.seconds
    return Row(rung, tuple(verdicts), predictions, n, timing, rate, limit)
