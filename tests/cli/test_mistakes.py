"""A mistake in a learner's kernel is one line that names the place."""

from __future__ import annotations

from pathlib import Path

import pytest

import calling
from warpladder.lab.registry import LADDERS

_LINES = (Path(__file__).parents[1] / "lab" / "mistaken.py").read_text().splitlines()


@pytest.fixture
def run(monkeypatch):
    """Return what runs a command that knows the ladder, on a terminal where all has room."""
    monkeypatch.setitem(LADDERS, "mistaken", "mistaken:LADDER")
    monkeypatch.setattr(calling, "COLUMNS", 500)
    return calling.call


def line_of(text):
    (found,) = (number for number, line in enumerate(_LINES, 1) if text in line)
    return found


def misspelt():
    line = line_of("x[ii]")
    return (
        f"misspelt (mistaken.py, line {line}): in `{_LINES[line - 1].strip()}`: "
        "name 'ii' is not defined"
    )


def test_climb_says_each_mistake_once(run):
    result = run("climb", "mistaken", "--device", "simulator")
    assert result.returncode == 1
    assert not result.stderr
    told = [line for line in result.stdout.splitlines() if "mistaken.py" in line]
    assert len(told) == 2
    assert misspelt() in told[0]
    assert "the simulator cannot run a list" in told[1]
    assert f"mistaken.py, line {line_of('[2, 2]')})" in told[1]


def test_explain_says_it_in_one_line(run):
    result = run("explain", "mistaken/misspelt")
    assert result.returncode == 1
    assert not result.stdout
    assert result.stderr == f"warpladder: {misspelt()}\n"
