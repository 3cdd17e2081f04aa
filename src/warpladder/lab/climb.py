"""The climb: every rung of a ladder verified, counted and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.errors import InputError, MissingExtraError
from warpladder.lab.devices import Simulated, Timed
from warpladder.lab.rung import Ladder, Rung, Work
from warpladder.lab.verify import PredictionResult, Verdict, check_predictions, pose, run, verify

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["Row", "Timing", "climb"]

_SECONDS = 0.3
_REPETITIONS = 5
#: What a rung says to someone who has no device for it.
_NEEDS = {
    "device": "runs kernels; use the device simulator or cuda",
    "gpu": "runs on a GPU only; use the device cuda",
}


class Timing(NamedTuple):
    """Medians: of the whole call on the wall clock, and of its kernels where a GPU ran them."""

    total_seconds: float
    kernel_seconds: float | None
    repetitions: int

    @property
    def seconds(self) -> float:
        """The time of the computation itself: of its kernels, or of the call on a CPU."""
        return self.total_seconds if self.kernel_seconds is None else self.kernel_seconds


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one rung.

    Attributes
    ----------
    rung
        The rung.
    verdicts
        By size, those after timing last.
    predictions
        Counted on the simulator; none for a rung on the CPU.
    n
        The size that was timed, or None where nothing was.
    timing
        At that size.
    rate
        Of the task's unit, per second.
    percent_of_bound
        Of the measured ceiling of what bounds the rung, where that was given.
    skipped
        Why it was not run at the size asked for, if so.
    """

    rung: Rung
    verdicts: tuple[Verdict, ...]
    predictions: tuple[PredictionResult, ...] = ()
    n: int | None = None
    timing: Timing | None = None
    rate: float | None = None
    percent_of_bound: float | None = None
    skipped: str = ""

    @property
    def faults(self) -> list[str]:
        """Everything that is not as it must be, a sentence each."""
        faulty = [verdict for verdict in self.verdicts if not verdict.ok]
        sizes = ", ".join(dict.fromkeys(str(verdict.n) for verdict in faulty))
        wrong = [f"is wrong at n = {sizes}; the first: {faulty[0].fault}"] if faulty else []
        broken = [
            f"predicted {p.prediction}, " + (p.fault or f"counted {p.measured:g}")
            for p in self.predictions
            if not p.ok
        ]
        if self.percent_of_bound is not None and self.percent_of_bound > 100:
            broken.append(
                f"{self.percent_of_bound:.0f} % of what {self.rung.bound.by} allows: the work it "
                "declares, the measured ceiling or the time is wrong"
            )
        return wrong + broken


def climb(
    ladder: Ladder,
    device: Device | None,
    *,
    simulator: Callable[..., Simulated],
    n: int | None = None,
    only: str | None = None,
    ceilings: Mapping[str, float] | None = None,
) -> Iterator[Row]:
    """Yield a row for every rung of the ladder that can run, in order.

    Each rung is verified at the sizes of its task and at ``n``, its predictions are counted on
    simulated devices, and it is timed at ``n``, at least five times and 0.3 seconds; then it is
    verified again. Nothing is timed on a simulated device, whose time says nothing of a GPU's.

    Parameters
    ----------
    ladder
        The ladder.
    device
        Where its kernels run; None runs the rungs on the CPU alone.
    simulator
        Makes the devices on which predictions are counted.
    n
        Problem size; by default that of the task, and on a simulated device none but its sizes.
    only
        The name of one rung.
    ceilings
        What was measured on this machine, by what bounds a rung: bytes per second for ``"dram"``
        and ``"pcie"``, the task's unit per second for the others.

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
    for rung in able:
        yield _climb(rung, ladder, device, simulator, n, ceilings or {})


def _climb(
    rung: Rung,
    ladder: Ladder,
    device: Device | None,
    simulator: Callable[..., Simulated],
    asked: int | None,
    ceilings: Mapping[str, float],
) -> Row:
    simulated = isinstance(device, Simulated)
    if simulated and rung.on == "gpu":
        return Row(rung, (), skipped=f"runs on a GPU only: {rung.limits}")
    n = rung.task.default_n if asked is None and not simulated else asked
    skipped = ""
    if n is not None and rung.max_n is not None and n > rung.max_n:
        n, skipped = None, f"takes up to n = {rung.max_n}: {rung.limits}"
    try:
        verdicts = verify(rung, device)
    except MissingExtraError as missing:
        return Row(rung, (), skipped=f"was left out: {missing}")
    if n is not None:
        verdicts += verify(rung, device, [n])
    predictions = tuple(check_predictions(rung, ladder, simulator)) if rung.on == "device" else ()
    if n is None or simulated or not all(verdict.ok for verdict in verdicts):
        return Row(rung, tuple(verdicts), predictions, skipped=skipped)

    problem = pose(rung.task, n)
    timing = _time(rung, device, problem)
    verdicts += verify(rung, device, [n])
    work = rung.task.work(problem)
    return Row(
        rung,
        tuple(verdicts),
        predictions,
        n,
        timing,
        rate=work.operations / timing.seconds,
        percent_of_bound=_percent(rung, work, timing, ceilings),
    )


def _time(rung: Rung, device: Device | None, problem: Any) -> Timing:
    """Time a rung that has run before, so nothing is left to compile."""
    on_gpu = device if isinstance(device, Timed) and rung.on == "device" else None
    total: list[float] = []
    kernels: list[float] = []
    spent = 0.0
    while len(total) < _REPETITIONS or spent < _SECONDS:
        before = 0.0 if on_gpu is None else on_gpu.kernel_ms
        began = perf_counter()
        run(rung, device, problem)
        if on_gpu is not None:
            on_gpu.synchronize()
        total.append(perf_counter() - began)
        spent += total[-1]
        if on_gpu is not None:
            kernels.append((on_gpu.kernel_ms - before) / 1e3)
    return Timing(median(total), median(kernels) if kernels else None, len(total))


def _percent(rung: Rung, work: Work, timing: Timing, ceilings: Mapping[str, float]) -> float | None:
    if rung.bound.by not in ceilings:
        return None
    amount = work.bytes if rung.bound.by in {"dram", "pcie"} else work.operations
    # The bus carries what comes and goes around the kernels, not within them.
    seconds = timing.total_seconds if rung.bound.by == "pcie" else timing.seconds
    return 100 * amount / seconds / ceilings[rung.bound.by]
