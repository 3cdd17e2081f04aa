"""Programs of benchmarks are no package: tests import them by name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def program(monkeypatch):
    """Return what imports a program; what it has imported is anew for the next test."""
    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in {file.stem for file in BENCHMARKS.glob("*.py")} & (set(sys.modules) - known):
        del sys.modules[name]
