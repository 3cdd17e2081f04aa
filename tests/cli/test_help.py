"""Every page of help is made for a terminal of 80 columns."""

from __future__ import annotations

import inspect

from rich.text import Text
from typer.main import get_command
from typer.models import OptionInfo

import calling
from warpladder.cli.app import app


def test_options_have_their_own_names():
    """Typer 0.27 takes a metavar for the name of an option that names itself no other way."""
    found = 0
    for name, command in commands(get_command(app)):
        if command.callback is None:
            continue
        for parameter in inspect.signature(command.callback, eval_str=True).parameters.values():
            for about in getattr(parameter.annotation, "__metadata__", ()):
                if isinstance(about, OptionInfo) and about.metavar == parameter.name.upper():
                    # The first name stands where a default stood before there was Annotated.
                    assert about.default == f"--{parameter.name}", (name, parameter.name)
                    found += 1
    assert found


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


def test_a_terminal_that_does_not_know_its_width(monkeypatch):
    monkeypatch.setattr(calling, "COLUMNS", 0)
    assert "Reduce the numbers in a file" in calling.call("reduce", "--help").stdout


def test_a_terminal_that_lacks_letters(monkeypatch):
    monkeypatch.setattr(calling, "ENCODING", "ascii")
    result = calling.call("climb", "--help")
    assert result.returncode == 0, result.stderr
    assert r"Ci\xeancias" in result.stdout
