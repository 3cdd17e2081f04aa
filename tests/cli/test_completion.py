"""What a shell is given to complete, as it asks for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from calling import call
from choosing import large
from warpladder.cli import completion
from warpladder.lab.explore.registry import EXPLORATIONS
from warpladder.lab.registry import LADDERS, find_ladder

#: The command line, and on standard error what it imported that takes its time.
PROGRAM = """
import sys
sys.argv = ["warpladder"]
from warpladder.cli import main
try:
    main()
finally:
    heavy = {"numpy", "numba", "llvmlite", "rich", "scipy", "pandas"} & set(sys.modules)
    print(*sorted(heavy), file=sys.stderr)
"""


def completed(line):
    """Return what bash is given for the last word of a command line."""
    words = line.split(" ")
    asked = {
        "_WARPLADDER_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr.split() == []
    return result.stdout.split()


@pytest.mark.parametrize("ladder", LADDERS)
def test_rungs_are_called_as_their_files_are(ladder):
    known = find_ladder(ladder)
    every = (*known.rungs, *(wrong.rung for wrong in known.wrong))
    assert completion.rung_names(ladder) == sorted(rung.name for rung in every)


def test_ladders_and_explorations():
    assert completion.complete_ladder("") == list(LADDERS)
    assert completion.complete_ladder("re") == ["reduction"]
    assert completion.complete_exploration("") == list(EXPLORATIONS)


def test_paths_of_all_ladders():
    every = completion.complete_rung("")
    assert {path.partition("/")[0] for path in every} == set(LADDERS)
    assert completion.complete_rung("primer/racy") == ["primer/racy-increment"]
    assert completion.complete_rung("primer/no-such") == []
    assert completion.complete_exercise("advection/t") == ["advection/tile-with-halo"]


def test_a_ladder_of_another_package_has_nothing_to_complete(monkeypatch):
    monkeypatch.setitem(LADDERS, "mine", "my_package.ladder:LADDER")
    assert completion.rung_names("mine") == []
    assert "mine" in completion.complete_ladder("")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("warpladder climb primer --rung vector-add-g",
         ["vector-add-grid", "vector-add-grid-stride"]),
        ("warpladder explain primer/strided-access --diff access-a", ["access-aligned"]),
        ("warpladder explain primer/strided-access --diff reduction/tun",
         ["reduction/tuned", "reduction/tuned-float32"]),
        ("warpladder sass advection/til", ["advection/tile-with-halo"]),
        ("warpladder explore barr", ["barrier"]),
        *large(
            ("warpladder climb red", ["reduction"]),
            ("warpladder report --ladder red", ["reduction"]),
            ("warpladder picture reduction/wa", ["reduction/warp-shuffle"]),
            ("warpladder check reduction/wa", ["reduction/warp-shuffle"]),
            ("warpladder explain reduction/wa", ["reduction/warp-shuffle"]),
            ("warpladder ladders over", ["overlap-join"]),
            ("warpladder try advection/t", ["advection/tile-with-halo"]),
        ),
    ],
)  # fmt: skip
def test_a_shell_gets_them_without_what_takes_time_to_import(line, found):
    assert completed(line) == found


def test_python_m_warpladder_is_called_by_the_name_that_a_shell_completes(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "warpladder")
    assert call("overlap").stderr.startswith("Usage: warpladder overlap ")
