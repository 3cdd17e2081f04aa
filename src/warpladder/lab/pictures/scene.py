"""What a picture is drawn from: a rung, and a real run of its kernels on the simulator."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpladder.errors import InputError, KernelFaultError
from warpladder.lab.verify import pose
from warpladder.simulator.checks.recorder import Recorder

if TYPE_CHECKING:
    from warpladder.lab.devices import Simulated
    from warpladder.rung import Ladder, Rung
    from warpladder.simulator.checks.monitor import Monitor
    from warpladder.simulator.checks.options import Checks
    from warpladder.simulator.checks.recorder import LaunchRecord
    from warpladder.simulator.machine.lanes import Geometry
    from warpladder.simulator.machine.program import Program, Site

__all__ = ["Run", "Scene", "text_of"]

#: Problem sizes below the one are too small to be drawn; those from the other on are not.
_FEW, _ENOUGH = 8, 32


class _SeenEnoughError(Exception):
    """Ends a run of which nothing more is to be recorded."""


class _UntilSeen(Recorder):
    """Ends the run once as many launches of each of these kernels are recorded as are wanted."""

    def __init__(self, kernels: set[str], launches: int, **options: Any) -> None:
        super().__init__(launches=launches, **options)
        self._missing = dict.fromkeys(kernels, launches)

    def monitor(
        self, program: Program, geometry: Geometry, checks: Checks, counting: bool
    ) -> Monitor:
        if (idle := self.forget_idle()) in self._missing:
            self._missing[idle] += 1
        if not any(self._missing.values()):
            raise _SeenEnoughError
        seen = len(self.records)
        made = super().monitor(program, geometry, checks, counting)
        name = program.name.rpartition(".")[2]
        if len(self.records) > seen and self._missing.get(name):
            self._missing[name] -= 1
        return made


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was recorded: its launches, and the device that has counted it."""

    records: list[LaunchRecord]
    device: Simulated


@dataclass(frozen=True)
class Scene:
    """A rung to be drawn.

    Attributes
    ----------
    ladder, rung
        What is drawn; it has kernels.
    asked_n
        Problem size, None for the one that suits the rung.
    line
        Of the kernel's file; None for the line that a picture finds most telling.
    """

    ladder: Ladder
    rung: Rung
    asked_n: int | None = None
    line: int | None = None

    @property
    def path(self) -> str:
        """What the rung is called."""
        return f"{self.ladder.name}/{self.rung.name}"

    @property
    def n(self) -> int:
        """The problem size: as asked for, or that of the rung's first claim if not tiny."""
        if self.asked_n is not None:
            return self.asked_n
        wrong = [one.n for one in self.ladder.wrong if one.rung.name == self.rung.name]
        claimed = [claim.n for claim in self.rung.predicts]
        sizes = [n for n in self.rung.task.sizes if n <= (self.rung.max_n or n)]
        n = (*wrong, *claimed, max(sizes))[0]
        # Of two rows or cells there is nothing to be seen.
        return n if n >= _FEW else min((one for one in sizes if one >= _ENOUGH), default=n)

    @property
    def files(self) -> set[str]:
        """The files of its kernels."""
        functions = [getattr(kernel, "py_func", kernel) for kernel in self.rung.kernels]
        return {str(Path(inspect.getsourcefile(one) or "").resolve()) for one in functions}

    @property
    def _kernel_names(self) -> set[str]:
        return {getattr(kernel, "py_func", kernel).__name__ for kernel in self.rung.kernels}

    @cached_property
    def run(self) -> Run:
        """A run of which the first launch of each kernel is recorded, four blocks of it."""
        return self.recorded()

    def recorded(
        self,
        *,
        n: int | None = None,
        blocks: int = 4,
        launches: int = 1,
        after: int = 0,
        spaces: Collection[str] = (),
        counters: bool = True,
        **options: Any,
    ) -> Run:
        """Return a run on a problem of size ``n``; see `Recorder` for what of it is recorded.

        Counters cost about half of the time of kernels with tiles in registers (4.6 s with them,
        2.5 without, two cores of an AMD EPYC), so a picture that shows none leaves them out.
        ``options`` are handed on to the rung. Of a wrong rung that a fault ends it is what came
        before.
        """
        from warpladder.simulator import SimulatedDevice

        problem_size = self.n if n is None else n
        problem = pose(self.rung.task, problem_size, 0)
        # In lockstep all warps meet a fault together; one after the other, some are done before.
        for schedule in ("lockstep", "warps"):
            recorder = _UntilSeen(
                self._kernel_names, launches, blocks=blocks, after=after, spaces=spaces
            )
            # Checks are for `climb` and `explain`; wrong rungs are to be seen at work here.
            device = SimulatedDevice(
                checks=False, counters=counters, schedule=schedule, recorder=recorder
            )
            try:
                self.rung.run(device, problem, **options)
            except _SeenEnoughError:
                break
            except KernelFaultError:
                continue
            break
        if not recorder.records:
            raise self.nothing_launched(problem_size)
        return Run(recorder.records, device)

    def nothing_launched(self, n: int) -> InputError:
        """Return the error for a run that launches no kernel."""
        return InputError(f"{self.path} launches no kernel at n = {n}; ask for a larger --n")


def text_of(site: Site) -> str:
    """Return the line of source at a place, without its indentation and its remark."""
    return linecache.getline(site.filename, site.line).partition("  #")[0].strip()
