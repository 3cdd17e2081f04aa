"""One rung examined, or one question explored: what was found, as plain values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from warpladder.errors import InputError, WarpladderError
from warpladder.lab.climb import climb
from warpladder.lab.devices import Simulated, open_device
from warpladder.lab.documents import explanation_document, row_document
from warpladder.lab.explain import Explanation, explain
from warpladder.lab.explore.exploration import Setting
from warpladder.lab.explore.registry import find_exploration
from warpladder.lab.own import mistake_in
from warpladder.lab.pictures.fitting import fitting_picture
from warpladder.lab.registry import find_rung
from warpladder.rung import Ladder, Rung

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.lab.ceilings import Ceilings
    from warpladder.simulator.checks.counters import Counters

__all__ = ["EXPLORED", "Examiner", "Job"]

#: The explorations that a report has, with sizes at which each takes a few seconds. The others
#: time engines on graphs of thousands of vertices, or simulate a warp at a time.
EXPLORED: dict[str, tuple[int, ...]] = {
    "order": (2, 4, 8),
    "barrier": (33,),
    "pitch": (31, 33, 64, 97, 100),
    "columns": (16, 31, 32, 64, 97),
    "updates": (5,),
    "diffusion": (200, 400),
    "schemes": (100, 200),
    "halo": (1000,),
}


class Job(NamedTuple):
    """A rung of a ladder, or an exploration, by name; an exploration is of no ladder."""

    kind: Literal["rung", "exploration"]
    ladder: str
    name: str


@dataclass(frozen=True, slots=True)
class Examiner:
    """Runs rungs and explorations.

    Attributes
    ----------
    device
        Where rungs are verified, and timed if it is a GPU.
    simulator
        Makes the devices that count; takes the keywords ``schedule`` and ``checks``.
    ceilings
        Of the device, if it is a GPU.
    seen
        What was counted, by ladder: rungs are compared with one another.
    """

    device: Device
    simulator: Callable[..., Simulated]
    ceilings: Ceilings | None = None
    seen: dict[str, dict[tuple[str, int], Counters]] = field(default_factory=dict)

    @classmethod
    def on_simulator(cls) -> Examiner:
        """Return one that needs no GPU."""
        from warpladder.simulator import SimulatedDevice

        # What is counted is counted on devices of its own.
        return cls(SimulatedDevice(counters=False), SimulatedDevice)

    @property
    def is_simulated(self) -> bool:
        """Whether nothing can be timed."""
        return isinstance(self.device, Simulated)

    def examine(self, job: Job) -> dict[str, Any]:
        """Return what became of a job; what it prints goes to standard error.

        Raises
        ------
        InputError
            A task in a file of the user's raises; where, another process could not tell.
        """
        try:
            with redirect_stdout(sys.stderr):
                return self._result_of(job)
        except WarpladderError:
            raise
        except (Exception, SystemExit) as fault:
            if not (told := mistake_in(fault)):
                raise
            raise InputError(told) from fault

    def _result_of(self, job: Job) -> dict[str, Any]:
        if job.kind == "exploration":
            return self._explored(job.name)
        ladder, rung = find_rung(f"{job.ladder}/{job.name}")
        if rung in ladder.rungs:
            return self._examined(ladder, rung)
        explanation, fault = self._explained(ladder, rung, self.simulator, {})
        caught = explanation is not None and explanation.wrong is not None and explanation.wrong.ok
        picture = fitting_picture(ladder, rung)
        return {**_document(explanation, fault, ok=caught), "picture": picture}

    def _examined(self, ladder: Ladder, rung: Rung) -> dict[str, Any]:
        """Return how a right rung was verified and timed, and what was counted.

        It is counted once: lines, totals and predictions are of the same run.
        """
        rows = climb(ladder, self.device, simulator=None, only=rung.name, ceilings=self.ceilings)
        (row,) = rows
        # The checks were on where it was verified; what is counted is the same without.
        counting = partial(self.simulator, checks=False)
        seen = self.seen.setdefault(ladder.name, {})
        explanation, fault = self._explained(ladder, rung, counting, seen)
        row = replace(row, predictions=explanation.predictions if explanation else ())
        ok = explanation is not None and not row.faults
        found = {"climbed": row_document(row), "picture": fitting_picture(ladder, rung)}
        return {**_document(explanation, fault, ok=ok), **found}

    @staticmethod
    def _explained(
        ladder: Ladder,
        rung: Rung,
        simulator: Callable[..., Simulated],
        seen: dict[tuple[str, int], Counters],
    ) -> tuple[Explanation | None, str]:
        """Return a rung explained; or None, and why it cannot be run."""
        try:
            return explain(ladder, rung, simulator, seen=seen), ""
        except WarpladderError as fault:
            return None, f"{type(fault).__name__}: {fault}"
        except (Exception, SystemExit) as fault:
            if not (told := mistake_in(fault)):
                raise
            return None, told

    def _explored(self, name: str) -> dict[str, Any]:
        exploration, sizes = find_exploration(name), EXPLORED[name]
        gpu = None if self.is_simulated else open_device("cuda", time_kernels=True)
        why = "" if gpu else "the report was made on the simulator"
        setting = Setting(sizes, exploration.gpu_sizes, exploration.size_word, gpu, why)
        findings = exploration.run(setting)
        return {
            "exploration": name,
            "question": exploration.question,
            "source": exploration.source,
            "sizes": list(sizes),
            **findings.as_dict(),
            "panels": [asdict(panel) for panel in findings.panels],
        }


def _document(explanation: Explanation | None, fault: str, *, ok: bool) -> dict[str, Any]:
    explained = explanation and explanation_document(explanation)
    if explained:
        # It stands once in a report, beside all ladders.
        del explained["nsight_compute"]
    return {"ok": ok, "fault": fault, "climbed": None, "explained": explained}
