"""Every page of help is made for a terminal of 80 columns."""

from __future__ import annotations

import inspect

from rich.text import Text
from typer.main import get_command

from warpladder.cli.app import app


def commands(command, *path):
    yield " ".join(path), command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, *path, name)


def test_prose_keeps_its_lines():
    """Lines are kept as they are written: of a longer one, the last word would stand alone."""
    every = list(commands(get_command(app)))
    assert len(every) > 20
    for name, command in every:
        # The first paragraph is wrapped; a command to type may take what it needs.
        _, *paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
        for shown in Text.from_markup("\n\n".join(paragraphs)).plain.splitlines():
            assert len(shown) <= 78 or shown.startswith("warpladder "), (name, shown)
