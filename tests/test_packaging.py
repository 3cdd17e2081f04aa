"""What is installed with what, and on which systems it is tried."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def brought(extra):
    """Return the requirements of an extra, and of those that it names."""
    found = []
    for one in EXTRAS[extra]:
        if one.startswith("warpladder["):
            names = one.removeprefix("warpladder[").removesuffix("]").split(",")
            found += [requirement for name in names for requirement in brought(name)]
        else:
            found.append(one)
    return found


def test_numba_cuda_comes_by_extras_with_a_numpy_that_it_works_beside():
    assert not any("numba-cuda" in one for one in PROJECT["dependencies"])
    for extra in ("cu12", "cu13", "compile", "dev"):
        wanted = brought(extra)
        assert any(one.startswith("numba-cuda>=") for one in wanted), extra
        assert any(one.startswith("numpy<2.5") for one in wanted), extra


def test_without_numba_cuda_any_numpy_will_do():
    for extra in ("all", "test"):
        assert not any("cuda" in one or one.startswith("numpy") for one in brought(extra)), extra


def test_the_workflow_runs_every_python_that_is_named():
    prefix = "Programming Language :: Python :: "
    versions = [one.removeprefix(prefix) for one in PROJECT["classifiers"] if prefix in one]
    named = ", ".join(f'"{one}"' for one in versions)
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert f"python: [{named}]" in workflow
