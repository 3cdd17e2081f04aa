"""The questions with which rungs end, answered, and the answers checked by what is counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from warpladder.lab.answers import advection, overlap_join, primer, reduction, shortest_paths
from warpladder.lab.answers.record import Answer
from warpladder.lab.devices import Simulated
from warpladder.lab.verify import PredictionResult, check_predictions
from warpladder.rung import Ladder, Rung

__all__ = ["ANSWERS", "Answered", "answer"]

#: By ladder and rung.
ANSWERS: dict[str, dict[str, Answer]] = {
    "primer": primer.ANSWERS,
    "reduction": reduction.ANSWERS,
    "advection": advection.ANSWERS,
    "overlap-join": overlap_join.ANSWERS,
    "shortest-paths": shortest_paths.ANSWERS,
}


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to a rung's question.

    Attributes
    ----------
    text
        In one paragraph.
    counted
        Its claims about counters, beside what was counted.
    """

    text: str
    counted: tuple[PredictionResult, ...]


def answer(ladder: Ladder, rung: Rung, device_factory: Callable[..., Simulated]) -> Answered | None:
    """Return the answer to a rung's question, its claims counted; None where there is no answer.

    Parameters
    ----------
    ladder, rung
        The rung, right or wrong, and its ladder.
    device_factory
        Makes simulated devices.
    """
    known = ANSWERS.get(ladder.name, {}).get(rung.name)
    if known is None:
        return None
    asked = replace(rung, predicts=known.counted)
    return Answered(
        " ".join(known.text.split()), tuple(check_predictions(asked, ladder, device_factory))
    )
