"""Modules that are imported as a new process would, with what Numba kept of them on disk."""

from __future__ import annotations

import importlib.util
import sys

import numba
import pytest


@pytest.fixture
def as_new_processes(tmp_path, monkeypatch):
    """Return what takes a module's source and returns what imports it, anew each time."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    file = tmp_path / "numbers_of.py"

    def written(source):
        file.write_text(source)
        return load

    def load():
        spec = importlib.util.spec_from_file_location("numbers_of", file)
        module = importlib.util.module_from_spec(spec)
        # Two functions of a name are told apart by their module.
        monkeypatch.setitem(sys.modules, "numbers_of", module)
        spec.loader.exec_module(module)
        return module

    return written
