"""What commands share: consoles and machine-readable output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from warpladder.errors import WarpladderError

__all__ = ["options_named", "print_json", "printable", "stderr", "stdout", "with_prefix"]

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


@contextmanager
def options_named(
    literal: str, options: Mapping[str, str], errors: type[WarpladderError] = WarpladderError
) -> Iterator[None]:
    """Let errors that name arguments of the library name options of the command instead.

    Messages of the library begin with an argument's name or have it after a blank, with ``=`` and
    a value or with a colon.

    Parameters
    ----------
    literal
        A part of messages to leave as it is: the name of a file.
    options
        For an argument's name, what to call it.
    errors
        Which errors.

    Examples
    --------
    >>> from warpladder.errors import InputError
    >>> with options_named("dtype=1.csv", {"dtype": "--type"}):
    ...     raise InputError("dtype=1.csv: dtype='x' is not known")
    Traceback (most recent call last):
        ...
    warpladder.errors.InputError: dtype=1.csv: --type 'x' is not known
    """
    argument = re.compile(rf"(?<![^ (])({'|'.join(options)})([=:])")

    def spelled(found: re.Match[str]) -> str:
        return options[found[1]] + (" " if found[2] == "=" else ":")

    try:
        yield
    except errors as fault:
        parts = str(fault).split(literal)
        fault.args = (literal.join(argument.sub(spelled, part) for part in parts),)
        raise


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document; labels of any kind become text."""
    typer.echo(json.dumps(document, indent=2, default=str, allow_nan=False))


def with_prefix(value: float, unit: str = "") -> str:
    """Return a number with three digits and an SI prefix: ``12.3 G``, ``4.5 ms``."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value / 1e-6:.3g} u{unit}"
