"""What the README shows of kernels, with numbers of lines, stands in their files at these lines."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from warpladder.lab.registry import find_rung

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def lines_of(rung):
    file = Path(inspect.getfile(find_rung(rung)[1].run))
    return ["", *file.read_text(encoding="utf-8").splitlines()]


def test_lines_beside_which_counters_stand():
    (shown,) = re.findall(r"```text\n(  req load.*?)```", README, re.DOTALL)
    numbered = re.findall(r"^.{30} (\d+)  (.*)$", shown, re.MULTILINE)
    assert len(numbered) > 4
    source = lines_of("primer/strided-access")
    for number, line in numbered:
        # What does not fit goes on below.
        assert source[int(number)].startswith(line)


@pytest.mark.parametrize(
    ("rung", "number"), re.findall(r"warpladder picture (\S+) --line (\d+)", README)
)
def test_lines_to_draw(rung, number):
    assert "[i]" in lines_of(rung)[int(number)]


def test_every_example_is_listed():
    examples = Path(__file__).parents[2] / "examples"
    listed = re.findall(r"^\| \[(\S+)\]", (examples / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(file.name for file in examples.glob("*.py"))
