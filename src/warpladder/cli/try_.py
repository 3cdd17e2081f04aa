"""``warpladder try``: a rung with a hole, to be filled by the learner."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpladder.cli.completion import complete_exercise
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from warpladder.lab.exercises.attempt import Attempt, Judgement
    from warpladder.lab.exercises.exercise import Exercise

__all__ = ["try_"]

#: Columns of running text.
_TEXT_WIDTH = 80
#: With fewer columns than these, whole names of exercises leave no room beside them.
_NARROW = 60


def try_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="LADDER/RUNG or FILE",
            help="An exercise, to get a copy of it; your copy, to have it judged. Without it, the "
            "exercises are listed.",
            show_default=False,
            autocompletion=complete_exercise,
        ),
    ] = None,
    hint: Annotated[
        int | None,
        typer.Option(metavar="K", help="Show the K-th hint, from 1 on.", min=1, show_default=False),
    ] = None,
    solution: Annotated[
        bool, typer.Option("--solution", help="Show the lines that were taken out.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write the copy; by default LADDER_RUNG.py in this folder.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Do an exercise: fill the hole in the kernel of a rung; no GPU is needed.

    [bold]warpladder try[/]                              list the exercises

    [bold]warpladder try primer/shared-flags[/]          write a copy with a hole

    [bold]warpladder try primer_shared_flags.py[/]       have your copy judged

    [bold]warpladder try primer_shared_flags.py --hint 1[/]

    A copy is judged like the rung itself: on the simulator with all checks, by
    the oracle at every awkward size, and by what the rung predicts of the
    counters, how many instructions it is apart. So a kernel can be right and yet
    not good enough.

    The status is 1 while it is not solved.
    """
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.exercises.exercise import name_in
    from warpladder.lab.exercises.registry import find_exercise

    is_file = what is not None and what.endswith(".py")
    if what is None:
        _refuse(hint, solution, output)
        _list(as_json=json)
        return
    exercise = find_exercise(name_in(Path(what)) if is_file else what)
    if hint is not None or solution:
        _refuse(output)
        if hint is not None and solution:
            raise typer.BadParameter("one of the two", param_hint="--hint, --solution")
        _help(exercise, what, hint, as_json=json)
    elif is_file:
        _refuse(output)
        _judge(Path(what), as_json=json)
    else:
        path = _write(exercise, output)
        if json:
            print_json({**_document(exercise), "file": str(path)})
        else:
            _introduce(stdout(), exercise, path)


def _refuse(*given: object) -> None:
    if any(given):
        raise typer.BadParameter(
            "--hint and --solution are for an exercise or a copy, -o for an exercise alone"
        )


# ---- what there is -----------------------------------------------------------------------------


def _list(*, as_json: bool) -> None:
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.exercises.registry import EXERCISES

    if as_json:
        print_json({"exercises": [_document(exercise) for exercise in EXERCISES]})
        return
    console = stdout()
    console.print(_listing(EXERCISES, narrow=console.width < _NARROW))
    console.print("\nTo get a copy: warpladder try LADDER/RUNG")


def _listing(exercises: tuple[Exercise, ...], *, narrow: bool) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("exercise", no_wrap=not narrow, overflow="fold")
    table.add_column("what you write", overflow="fold")
    for exercise in exercises:
        table.add_row(exercise.rung, exercise.idea)
    return table


def _document(exercise: Exercise) -> dict[str, Any]:
    return {
        "exercise": exercise.rung,
        "idea": exercise.idea,
        "asks": " ".join(exercise.asks.split()),
        "hints": len(exercise.hints),
    }


# ---- a copy, hints, the solution -----------------------------------------------------------------


def _write(exercise: Exercise, output: Path | None) -> Path:
    import os

    from warpladder.errors import InputError
    from warpladder.lab.exercises.exercise import file_name
    from warpladder.lab.new import write_new

    path = Path(file_name(exercise.rung)) if output is None else output
    if path.suffix != ".py":
        raise typer.BadParameter(f"{str(path)!r} must end in .py", param_hint="-o")
    if os.path.lexists(path):
        raise InputError(
            f"{path} is there already: `warpladder try {shlex.quote(str(path))}` judges it, and -o "
            "takes another name"
        )
    write_new(path, exercise.copy(path.name))
    return path


def _introduce(console: Console, exercise: Exercise, path: Path) -> None:
    from rich.text import Text

    from warpladder.lab.exercises.exercise import BEGIN
    from warpladder.lab.own import read_source
    from warpladder.lab.text import wrapped

    lines = [line.strip() for line in read_source(path)[0].splitlines()]
    console.print(Text.assemble((exercise.rung, "bold"), f": {exercise.idea}\n"))
    for paragraph in exercise.asks.strip().split("\n\n"):
        console.print(wrapped(" ".join(paragraph.split()), _TEXT_WIDTH), end="\n\n")
    place = lines.index(BEGIN) + 2
    console.print(f"wrote {path}: your turn is at line {place}. Then:", soft_wrap=True)
    command = f"warpladder try {shlex.quote(str(path))}"
    console.print(f"  {command}\n  {command} --hint 1", soft_wrap=True)


def _help(exercise: Exercise, what: str, hint: int | None, *, as_json: bool) -> None:
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.text import wrapped

    count = len(exercise.hints)
    if hint is not None and hint > count:
        raise typer.BadParameter(
            f"{exercise.rung} has {count} hints; --solution shows what was taken out",
            param_hint="--hint",
        )
    console = stdout()
    if hint is None:
        if as_json:
            print_json({**_document(exercise), "solution": exercise.solution})
        else:
            console.print(exercise.solution)
        return
    text = exercise.hints[hint - 1]
    if as_json:
        print_json({**_document(exercise), "number": hint, "hint": text})
        return
    console.print(wrapped(text, _TEXT_WIDTH))
    more = f"--hint {hint + 1}" if hint < count else "--solution"
    command = f"warpladder try {shlex.quote(what)} {more}"
    console.print(f"\nHint {hint} of {count}; further: {command}", soft_wrap=True)


# ---- the judgement -------------------------------------------------------------------------------


def _judge(path: Path, *, as_json: bool) -> None:
    from warpladder.cli.output import aside, print_json, stdout
    from warpladder.lab.documents import judgement_document
    from warpladder.lab.exercises.attempt import judge_attempt, open_attempt

    attempt = open_attempt(path)
    with aside():
        judged = judge_attempt(attempt)
    if as_json:
        print_json(
            {
                **_document(attempt.exercise),
                "file": str(path),
                "untouched": attempt.untouched,
                **judgement_document(judged),
            }
        )
    else:
        _show(stdout(), attempt, judged)
    if not judged.solved:
        raise typer.Exit(1)


def _show(console: Console, attempt: Attempt, judged: Judgement) -> None:
    from rich.text import Text

    from warpladder.lab.exercises.registry import next_exercise

    exercise, path = attempt.exercise, attempt.path
    console.print(Text.assemble((exercise.rung, "bold"), f": {exercise.idea}\n"))
    right = [str(verdict.n) for verdict in judged.verdicts if verdict.ok]
    if right:
        console.print(Text.assemble(("right  ", "green"), f"at n = {', '.join(right)}"))
    for verdict in judged.verdicts:
        if not verdict.ok:
            console.print(
                Text.assemble(
                    ("WRONG  ", "bold red"),
                    f"at n = {verdict.n}: {verdict.fault.removeprefix('KernelFaultError: ')}",
                )
            )
    for result in judged.predictions:
        mark = ("holds  ", "green") if result.ok else ("FAILS  ", "bold red")
        counted = result.fault or f"counted {result.shown}"
        told = Text.assemble(mark, f"predicted {result.prediction}, {counted}")
        console.print(told)
        if not result.ok:
            console.print(f"       {result.prediction.why}")
    if judged.solved:
        console.print(f"\nSolved. Read on: warpladder explain {exercise.rung}")
        if following := next_exercise(exercise):
            console.print(f"The next one:    warpladder try {following.rung}")
        return
    if attempt.untouched:
        console.print("\nBetween the marks it is as you got it.")
    elif judged.right:
        console.print("\nThe answers are right, but not in the way that is asked for.")
    command = f"warpladder try {shlex.quote(str(path))} --hint 1"
    console.print(f"\nNot yet. A hint: {command}", soft_wrap=True)
