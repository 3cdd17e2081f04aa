"""What commands share: consoles and machine-readable output."""

from __future__ import annotations

import json
import math
import sys
from contextlib import AbstractContextManager, redirect_stdout
from typing import Any

import typer
from rich.console import Console

from warpladder.lab.text import with_prefix

__all__ = ["aside", "print_json", "printable", "stderr", "stdout", "with_prefix"]

# Names of files and columns are shown as they are: "[bold]" and ":smile:" mean nothing in them.
_PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}


def stdout() -> Console:
    """Return the console for results; what is to be styled comes as `rich.text.Text`."""
    return Console(**_PLAIN)


def stderr() -> Console:
    """Return the console for progress and remarks, which must not mix with results."""
    return Console(stderr=True, **_PLAIN)


def aside() -> AbstractContextManager[Any]:
    """Send to standard error what rungs, tasks and kernels print.

    A print is a learner's first tool, and no part of the result.
    """
    return redirect_stdout(sys.stderr)


def printable(text: str) -> str:
    r"""Return text that cannot steer a terminal.

    Examples
    --------
    >>> printable("\x1b[31mred")
    '\ufffd[31mred'
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document; labels of any kind, infinities and NaN become text."""
    typer.echo(json.dumps(_without_special(document), indent=2, default=str, allow_nan=False))


def _without_special(value: Any) -> Any:
    """Return a document without the numbers that JSON has not."""
    if isinstance(value, dict):
        return {key: _without_special(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_special(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
