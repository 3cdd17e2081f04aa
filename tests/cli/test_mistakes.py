"""A mistake in a learner's kernel is one line that names the place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_LAB = Path(__file__).parents[1] / "lab"
_COMMAND = (
    f"import sys; sys.path.insert(0, {str(_LAB)!r});"
    "from warpladder.lab.registry import LADDERS; LADDERS.update(mistaken='mistaken:LADDER');"
    "from warpladder.cli import main; main()"
)
_LINES = (_LAB / "mistaken.py").read_text().splitlines()


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-c", _COMMAND, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "500"},
        check=False,
    )


def line_of(text):
    (found,) = (number for number, line in enumerate(_LINES, 1) if text in line)
    return found


def misspelt():
    line = line_of("x[ii]")
    return (
        f"misspelt (mistaken.py, line {line}): in `{_LINES[line - 1].strip()}`: "
        "name 'ii' is not defined"
    )


def test_climb_says_each_mistake_once():
    result = run("climb", "mistaken", "--device", "simulator")
    assert result.returncode == 1
    assert not result.stderr
    told = [line for line in result.stdout.splitlines() if "mistaken.py" in line]
    assert len(told) == 2
    assert misspelt() in told[0]
    assert "the simulator cannot run a list" in told[1]
    assert f"mistaken.py, line {line_of('[2, 2]')})" in told[1]


def test_explain_says_it_in_one_line():
    result = run("explain", "mistaken/misspelt")
    assert result.returncode == 1
    assert not result.stdout
    assert result.stderr == f"warpladder: {misspelt()}\n"
