"""What a learner made of an exercise, judged as the rung itself is: oracle, checks, predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from warpladder.errors import InputError
from warpladder.lab import own
from warpladder.lab.exercises.exercise import Exercise, between_marks, name_in
from warpladder.lab.exercises.registry import find_exercise
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import (
    PredictionResult,
    Verdict,
    check_predictions,
    sizes_of,
    verify,
)
from warpladder.rung import Ladder, Rung

__all__ = ["Attempt", "Judgement", "judge_attempt", "open_attempt"]


# How many instructions a line is depends on how it is written: `cuda.threadIdx.x // 32` is more of
# them than `i // 32`, and as good.
_BY_SPELLING = {"warp_instructions", "thread_instructions"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A learner's copy.

    Attributes
    ----------
    path, exercise
        The file, and what it is a copy of.
    untouched
        Whether what stands between the marks is what was put there.
    ladder, rung
        The rung as it is, but for its host function and kernels, which are the learner's.
    """

    path: Path
    exercise: Exercise
    untouched: bool
    ladder: Ladder
    rung: Rung


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far an attempt comes.

    Attributes
    ----------
    verdicts
        By size, up to the first that is wrong.
    predictions
        What the rung predicts, but of the number of instructions, beside what was counted; none
        before all answers are right.
    """

    verdicts: tuple[Verdict, ...]
    predictions: tuple[PredictionResult, ...]

    @property
    def right(self) -> bool:
        """Whether all answers are right, and no check found anything."""
        return all(verdict.ok for verdict in self.verdicts)

    @property
    def solved(self) -> bool:
        """Whether the counters are as predicted, too."""
        return self.right and all(result.ok for result in self.predictions)


def open_attempt(path: Path) -> Attempt:
    """Return a learner's copy of an exercise.

    Raises
    ------
    InputError
        It is no copy of an exercise, Python cannot run it, or there is no rung in it any more.
    """
    exercise = find_exercise(name_in(path))
    ladder, original = find_rung(exercise.rung)
    rungs = own.load(str(path)).rungs
    if len(rungs) != 1 or rungs[0].name != original.name:
        raise InputError(f"{path} must leave the RUNG {original.name!r}, and no other one")
    # The task, the predictions and the tolerance are not the learner's to change.
    rung = replace(original, run=rungs[0].run, kernels=rungs[0].kernels)
    written = between_marks(own.read_source(path)[0])
    return Attempt(path, exercise, written == exercise.placeholder, ladder, rung)


def judge_attempt(attempt: Attempt) -> Judgement:
    """Run a learner's rung on the simulator: all checks, the oracle, then the predictions."""
    from functools import partial

    from warpladder.simulator import SimulatedDevice

    verdicts = tuple(_verdicts(attempt.rung))
    if not all(verdict.ok for verdict in verdicts):
        return Judgement(verdicts, ())
    counting = partial(SimulatedDevice, checks=False)
    asked = tuple(one for one in attempt.rung.predicts if one.counter not in _BY_SPELLING)
    rung = replace(attempt.rung, predicts=asked)
    predictions = check_predictions(rung, attempt.ladder, counting)
    return Judgement(verdicts, tuple(predictions))


def _verdicts(rung: Rung) -> Iterator[Verdict]:
    from warpladder.simulator import SimulatedDevice

    for n in sizes_of(rung, simulated=True):
        (verdict,) = verify(rung, SimulatedDevice(counters=False), [n])
        yield verdict
        if not verdict.ok:
            return
