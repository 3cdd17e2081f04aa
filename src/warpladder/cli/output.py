"""What commands share: consoles and machine-readable output."""

from __future__ import annotations

import json
import math
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
    """Print one JSON document; infinities become null, which JSON has."""
    typer.echo(json.dumps(_finite(document), indent=2, ensure_ascii=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
