"""A rung's kernels, line by line, beside what a GPU would do there."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpladder.errors import KernelFaultError
from warpladder.lab.devices import Simulated
from warpladder.lab.text import file_of, paragraphs_of
from warpladder.lab.verify import (
    PredictionResult,
    WrongResult,
    check_predictions,
    check_wrong,
    count,
    refuse_beyond,
)
from warpladder.rung import Ladder, Rung, WrongRung
from warpladder.simulator.checks.counters import Counters

if TYPE_CHECKING:
    from warpladder.simulator.kernel import LaunchReport

__all__ = [
    "Counted",
    "Explanation",
    "Line",
    "Listing",
    "count_lines",
    "explain",
    "size_to_explain",
    "wrong_record",
]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source, and what was counted there; None where nothing was executed."""

    number: int
    text: str
    counters: Counters | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The source of one kernel, or the lines of one other file that kernels executed.

    Attributes
    ----------
    name
        Of the kernel; of the file where it is none.
    file
        Where the source stands.
    lines
        In order.
    launches
        Every launch of this kernel; none for other files and for code of the CPU.
    """

    name: str
    file: str
    lines: tuple[Line, ...]
    launches: tuple[LaunchReport, ...] = ()

    @property
    def counters(self) -> Counters:
        """What was counted in all launches of the kernel."""
        total = Counters()
        for launch in self.launches:
            total.add(launch.counters)
        return total


@dataclass(frozen=True, slots=True)
class Counted:
    """A rung's kernels with what was counted in a run of them.

    Attributes
    ----------
    kernels
        The rung's kernels; of one on the CPU, its host function.
    elsewhere
        Lines of other files that they executed.
    total
        The sums over all launches.
    stopped
        The fault that ended a wrong rung's run with the checks off, or nothing.
    """

    kernels: tuple[Listing, ...]
    elsewhere: tuple[Listing, ...]
    total: Counters
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A rung, explained with counted evidence.

    Attributes
    ----------
    ladder, rung, n
        What was run, at which size.
    text
        The paragraphs of the docstring of the rung's file.
    file
        Where that stands.
    kernels
        In the order in which the rung lists them; for a rung on the CPU, its host function.
    elsewhere
        Lines of other functions that the kernels called, by file.
    predictions
        Beside what was counted.
    wrong
        For a wrong rung, how it was caught.
    stopped
        The fault that ended the run that was counted, where one did: an index out of bounds ends it
        with the checks off, too. Then what is counted is what warps did that came before.
    """

    ladder: Ladder
    rung: Rung
    n: int
    text: tuple[str, ...]
    file: str
    kernels: tuple[Listing, ...]
    elsewhere: tuple[Listing, ...]
    predictions: tuple[PredictionResult, ...]
    wrong: WrongResult | None
    stopped: str = ""

    @property
    def faulty_lines(self) -> set[tuple[str, int]]:
        """The lines that the fault of a wrong rung names: file names without folders, numbers."""
        fault = self.stopped or (self.wrong.fault if self.wrong else "")
        places = re.findall(r"([\w.-]+\.py),? line (\d+)", fault)
        return {(file, int(line)) for file, line in places}


def explain(
    ladder: Ladder,
    rung: Rung,
    device_factory: Callable[..., Simulated],
    n: int | None = None,
    seen: dict[tuple[str, int], Counters] | None = None,
) -> Explanation:
    """Run a rung on a simulated device and gather what was counted, line by line.

    Parameters
    ----------
    ladder, rung
        The rung, right or wrong, and its ladder. A wrong one is counted with the checks off.
    device_factory
        Makes simulated devices; takes the keywords ``schedule`` and ``checks``.
    n
        Problem size; by default that of the rung's first prediction, or the largest at which it is
        verified; for a wrong rung, that at which it is shown.
    seen
        What was counted before, as `check_predictions` has it, where several rungs are explained.

    Raises
    ------
    InputError
        ``n`` is more than the rung takes.
    """
    if n is not None:
        refuse_beyond(rung, n)
    seen = {} if seen is None else seen
    wrong = wrong_record(ladder, rung)
    size = size_to_explain(ladder, rung) if n is None else n
    counted = count_lines(ladder, rung, device_factory, size)
    if rung.on == "device" and not counted.stopped:
        seen[rung.name, size] = counted.total
    make_device = device_factory if wrong is None else partial(device_factory, checks=False)
    return Explanation(
        ladder,
        rung,
        size,
        paragraphs_of(rung),
        file_of(rung),
        counted.kernels,
        counted.elsewhere,
        tuple(check_predictions(rung, ladder, make_device, seen)),
        None if wrong is None else check_wrong(wrong, device_factory),
        counted.stopped,
    )


def count_lines(
    ladder: Ladder, rung: Rung, device_factory: Callable[..., Simulated], n: int
) -> Counted:
    """Run a rung on a simulated device and return its kernels with what each line did.

    A wrong rung is run with the checks off. Where a fault stops it even so, what counts is what its
    warps did before.
    """
    right = wrong_record(ladder, rung) is None
    make_device = device_factory if right else partial(device_factory, checks=False)
    device, stopped = make_device(), ""
    try:
        if rung.on == "device":
            count(rung, device, n)
    except KernelFaultError:
        if right:
            raise
        # In lockstep all warps meet the fault together; one after the other, some are done before.
        device = make_device(schedule="warps")
        stopped = _fault_of(rung, device, n)
    counted = {(_resolved(file), line): sums for (file, line), sums in device.line_counters.items()}
    kernels = tuple(
        _listing(kernel, rung.kernels, counted, device.launches)
        for kernel in rung.kernels or (rung.run,)
    )
    return Counted(kernels, _elsewhere(kernels, counted), device.counters, stopped)


def wrong_record(ladder: Ladder, rung: Rung) -> WrongRung | None:
    """Return what a ladder says of a rung that is wrong, or None of one that is right."""
    return next((wrong for wrong in ladder.wrong if wrong.rung.name == rung.name), None)


def _fault_of(rung: Rung, device: Simulated, n: int) -> str:
    """Count as far as the run comes, and return why it came no further."""
    try:
        count(rung, device, n)
    except KernelFaultError as fault:
        return str(fault)
    return ""


def size_to_explain(ladder: Ladder, rung: Rung) -> int:
    """Return the size at which a rung shows what it is about: that of its first prediction."""
    if wrong := wrong_record(ladder, rung):
        return wrong.n
    if rung.predicts:
        return rung.predicts[0].n
    return max(n for n in rung.task.sizes if rung.max_n is None or n <= rung.max_n)


def _listing(
    kernel: Any,
    kernels: tuple[Any, ...],
    counted: dict[tuple[str, int], Counters],
    launches: list[LaunchReport],
) -> Listing:
    function = _function(kernel)
    try:
        source, first = inspect.getsourcelines(function)
    except OSError:
        # A program made it of text, as `cuda.vectorize` does.
        source, first = [], 0
    file = _resolved(inspect.getsourcefile(function) or "")
    name = function.__name__
    # One that a function makes for its arguments is launched under that function's name, too.
    names = {name, function.__qualname__}
    if sum(_function(one).__code__ is function.__code__ for one in kernels) <= 1:
        own = tuple(launch for launch in launches if launch.kernel in names)
    else:
        own = tuple(launch for launch in launches if launch.function is function)
        name += _made_for(function)
        counted = _by_line(own)
    lines = tuple(
        Line(number, text.rstrip(), counted.get((file, number)))
        for number, text in enumerate(source, first)
    )
    return Listing(name, file, lines, own)


def _function(kernel: Any) -> Any:
    return getattr(kernel, "py_func", kernel)


def _made_for(function: Callable[..., Any]) -> str:
    """Return what tells a kernel from others that the same function makes: ``(size = 32)``."""
    values = inspect.getclosurevars(function).nonlocals
    told = [f"{name} = {value}" for name, value in values.items() if not callable(value)]
    return f" ({', '.join(told)})" if told else ""


def _by_line(launches: Iterable[LaunchReport]) -> dict[tuple[str, int], Counters]:
    sums: dict[tuple[str, int], Counters] = {}
    for launch in launches:
        for (file, number), counters in launch.lines.items():
            sums.setdefault((_resolved(file), number), Counters()).add(counters)
    return sums


def _elsewhere(
    kernels: tuple[Listing, ...], counted: dict[tuple[str, int], Counters]
) -> tuple[Listing, ...]:
    shown = {(kernel.file, line.number) for kernel in kernels for line in kernel.lines}
    by_file: dict[str, list[Line]] = {}
    for file, number in sorted(counted.keys() - shown):
        text = linecache.getline(file, number).rstrip()
        by_file.setdefault(file, []).append(Line(number, text, counted[file, number]))
    return tuple(Listing(Path(file).name, file, tuple(lines)) for file, lines in by_file.items())


def _resolved(file: str) -> str:
    return str(Path(file).resolve())
