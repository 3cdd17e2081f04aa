"""``warpladder new``: a ladder of one's own to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from warpladder.cli.options import Json

__all__ = ["new"]


def new(
    path: Annotated[
        Path, typer.Argument(metavar="NAME", help="Of the ladder, or a file with that name.")
    ],
    json: Json = False,
) -> None:
    """Write a small ladder of your own: one file that works as it stands.

    It has a task with its oracle, two rungs that make predictions, and a wrong
    rung that a check must catch. Change it bit by bit; climb, explain, check and
    sass take the file by its name. A file that is there is never overwritten.

    [bold]warpladder new my_ladder[/]

    [bold]warpladder climb my_ladder.py[/]
    """
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.new import new_ladder
    from warpladder.lab.registry import find_ladder

    file = new_ladder(path)
    ladder = find_ladder(str(file))
    rungs = [rung.name for rung in ladder.rungs]
    wrong = [broken.rung.name for broken in ladder.wrong]
    if json:
        print_json({"file": str(file), "ladder": ladder.name, "rungs": rungs, "wrong": wrong})
        return
    console = stdout()
    told = f"wrote {file}: {ladder.title}, {len(rungs)} rungs and {len(wrong)} wrong one"
    console.print(told, soft_wrap=True)
    console.print("\nNow try:")
    commands = (("climb", file), ("explain", f"{file}/{rungs[-1]}"), ("check", file))
    for command, what in commands:
        console.print(f"  warpladder {command} {shlex.quote(str(what))}", soft_wrap=True)
