"""What commands share: consoles and machine-readable output."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console

__all__ = ["print_json", "printable", "stderr", "stdout", "with_prefix"]

# Names of files and columns are shown as they are: "[bold]" and ":smile:" mean nothing in them.
_PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}


def stdout() -> Console:
    """Return the console for results; what is to be styled comes as `rich.text.Text`."""
    return Console(**_PLAIN)


def stderr() -> Console:
    """Return the console for progress and remarks, which must not mix with results."""
    return Console(stderr=True, **_PLAIN)


def printable(text: str) -> str:
    r"""Return text that cannot steer a terminal.

    Examples
    --------
    >>> printable("\x1b[31mred")
    '\ufffd[31mred'
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document; labels of any kind become text."""
    typer.echo(json.dumps(document, indent=2, default=str, allow_nan=False))


def with_prefix(value: float, unit: str = "") -> str:
    """Return a number with three digits and an SI prefix: ``12.3 G``, ``4.5 ms``."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value / 1e-6:.3g} u{unit}"
