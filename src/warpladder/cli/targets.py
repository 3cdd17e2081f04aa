"""What a command writes must not take the place of what it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import typer

__all__ = ["check_no_input"]


def check_no_input(option: str, output: Path | None, inputs: Iterable[Path | None]) -> None:
    """Refuse a file to write that is also read, by whatever path or link.

    Examples
    --------
    >>> check_no_input("-o", Path("pairs.csv"), [Path("rows.csv"), None])
    """
    # What is too long for a name, or in a folder that is closed, is told where it is opened.
    if output is None or not os.path.exists(output):  # noqa: PTH110 - Path's raises over these
        return
    for file in inputs:
        if file is not None and os.path.exists(file) and output.samefile(file):  # noqa: PTH110
            raise typer.BadParameter(
                f"{option} {output} is a file that is read; give what is written one of its own"
            )
