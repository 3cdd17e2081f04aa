"""What commands share: consoles and machine-readable output."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console

__all__ = ["print_json", "stderr", "stdout"]


def stdout() -> Console:
    """Return the console for results."""
    return Console(highlight=False)


def stderr() -> Console:
    """Return the console for progress and remarks, which must not mix with results."""
    return Console(stderr=True, highlight=False)


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document; labels of any kind become text."""
    typer.echo(json.dumps(document, indent=2, default=str, allow_nan=False))
