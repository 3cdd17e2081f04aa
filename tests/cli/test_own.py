"""`warpladder new`, `check` and `try`, and the other commands on a file of one's own."""

from __future__ import annotations

import json

import pytest

from calling import call
from warpladder.lab.compile import missing_tool


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, status=0):
    result = call(*arguments)
    assert result.returncode == status, result.stderr + result.stdout
    assert "Traceback" not in result.stderr
    if "--json" not in arguments:
        assert max(map(len, result.stdout.splitlines()), default=0) <= 80
    return result


def refused(*arguments):
    """Return the one line that answers a mistake."""
    result = run(*arguments, status=1)
    (line,) = result.stderr.splitlines()
    assert result.stdout == ""
    return line


def test_a_ladder_of_ones_own_from_new_to_climb():
    shown = run("new", "mine").stdout.splitlines()
    assert shown[0] == "wrote mine.py: Transposing a matrix, 2 rungs and 1 wrong one"
    assert shown[3:] == [
        "  warpladder climb mine.py",
        "  warpladder explain mine.py/through-a-tile",
        "  warpladder check mine.py",
    ]
    assert refused("new", "mine").startswith("warpladder: mine.py is there already")
    climbed = run("climb", "mine.py", "--device", "simulator").stdout
    assert "through-a-tile     yes global_store_sectors         == 1/8 x   1/8 x" in climbed
    assert "tile-without-barrier caught by racecheck" in climbed
    one = json.loads(
        run("climb", "mine.py", "--rung", "element-per-thread", "--device", "simulator", "--json")
        .stdout
    )  # fmt: skip
    assert [row["rung"] for row in one["rungs"]] == ["element-per-thread"]
    explained = run("explain", "mine.py/through-a-tile", "--no-lines").stdout
    assert "\nExpect: 4 sectors for a store where it was 32." in explained
    assert json.loads(run("ladders", "mine.py", "--json").stdout)["ladders"][0]["name"] == "mine"


def test_commands_to_copy_are_quoted(folder):
    (folder / "my files").mkdir()
    shown = run("new", "my files/mine").stdout
    assert "  warpladder explain 'my files/mine.py/through-a-tile'\n" in shown
    copy = "my files/exercise.py"
    shown = run("try", "primer/shared-flags", "-o", copy).stdout
    assert f"  warpladder try '{copy}'\n  warpladder try '{copy}' --hint 1\n" in shown
    assert f"further: warpladder try '{copy}' --hint 2\n" in run("try", copy, "--hint", 1).stdout
    assert f"A hint: warpladder try '{copy}' --hint 1\n" in run("try", copy, status=1).stdout
    there = refused("try", "primer/shared-flags", "-o", copy)
    assert f"is there already: `warpladder try '{copy}'` judges it" in there
    (folder / "my files" / "program.py").write_text("x = 1\n")
    told = refused("climb", "my files/program.py")
    assert told.endswith("there is `warpladder check 'my files/program.py'`")


@pytest.fixture
def talkative(folder):
    """A ladder whose kernels, host code, problems and oracle print."""
    run("new", "talkative")
    file = folder / "talkative.py"
    text = file.read_text(encoding="utf-8")
    for place in ("    column, row = cuda.grid(2)\n", "    n = len(problem.values)\n"):
        text = text.replace(place, f"    print(7)\n{place}")
    for place in ("return Matrix(", "return np.ascontiguousarray("):
        text = text.replace(place, f"print(7)\n    {place}")
    assert text.count("print(7)") == 4
    file.write_text(text.replace("31, 32, 33, 70", "3"), encoding="utf-8")
    return file.name


@pytest.mark.parametrize(
    "arguments",
    [
        ("climb", "{}"),
        ("explain", "{}/element-per-thread", "--n", 2),
        ("explain", "{}/element-per-thread", "--n", 2, "--diff", "tile-without-barrier"),
        ("check", "{}/element-per-thread"),
        ("picture", "{}/element-per-thread", "--n", 2),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[::4])),
)
def test_what_rungs_print_is_no_part_of_a_document(arguments, talkative):
    json.loads(run(*(str(one).format(talkative) for one in arguments), "--json").stdout)


def test_new_as_json(folder):
    found = json.loads(run("new", "a-b.py", "--json").stdout)
    assert found == {
        "file": "a-b.py",
        "ladder": "a-b",
        "rungs": ["element-per-thread", "through-a-tile"],
        "wrong": ["tile-without-barrier"],
    }
    assert (folder / "a-b.py").is_file()


_MADE = """
import numpy as np
from numba import cuda

def make(step):
    @cuda.jit
    def add(values):
        i = cuda.grid(1)
        values[i] += step
    return add

numbers = np.zeros(96)
one, two = make(1), make(2)
one[1, 32](numbers)
two[1, 64](numbers)
two[1, 96](numbers)
"""
_RACE = """\
import numpy as np
from numba import cuda


@cuda.jit
def count_even(numbers, total):
    i = cuda.grid(1)
    if i < numbers.size and numbers[i] % 2 == 0:
        total[0] += 1


count_even[4, 64](np.arange(256), np.zeros(1, dtype=np.int64))
"""


def test_a_race_is_told_with_its_line_and_both_threads(folder):
    (folder / "race.py").write_text(_RACE)
    shown = run("check", "race.py", "--schedule", "lockstep", status=1).stdout
    assert "racecheck  race.py:9" in shown
    words = " ".join(shown.split())
    assert "thread (0,0,0) and load" in words
    assert "under lockstep." in words
    found = json.loads(run("check", "race.py", "--json", status=1).stdout)
    assert found["tools"] == ["memcheck", "racecheck", "initcheck", "synccheck"]
    assert not found["ok"]
    (finding,) = found["checked"][0]["findings"]
    assert finding["places"] == [{"file": "race.py", "line": 9}] * 2
    assert len(finding["threads"]) == 2
    (folder / "race.py").write_text(_RACE.replace("total[0] += 1", "cuda.atomic.add(total, 0, 1)"))
    assert "nothing" in run("check", "race.py", "--schedule", "warps").stdout


def test_a_program_is_explained_as_it_is(folder):
    (folder / "race.py").write_text(f'"""Count even numbers."""\n{_RACE}')
    shown = run("explain", "race.py").stdout.splitlines()
    assert shown[:4] == ["race.py/race: a program with kernels of its own", "race.py", "",
                         "Count even numbers."]  # fmt: skip
    assert "count_even: 1 launch, grid 4, block 64" in shown
    line = next(line.split() for line in shown if "total[0] += 1" in line)
    # 8 warps load and store one place, half of their threads. The code has no room for more.
    assert line[:4] == ["16", "1", "1", "16"]
    assert "For used a wider terminal has room." in " ".join(" ".join(shown).split())
    found = json.loads(run("explain", "race.py", "--compute-capability", "7.5", "--json").stdout)
    assert found["kernels"][0]["counters"]["global_store_requests"] == 8
    found = refused("explain", "race.py", "--compute-capability", "9.7")
    assert "--compute-capability 9.7 is not known; use one of 5.0, 5.2, " in found
    (folder / "race.py").write_text("x = 1\n")
    assert "ends without having launched a kernel" in refused("explain", "race.py")
    (folder / "race.py").write_text(_RACE.replace("numbers[i] %", "numbers[i + 1] %"))
    assert refused("explain", "race.py").startswith("warpladder: memcheck: count_even (race.py, l")


def test_kernels_that_one_function_makes_are_told_apart(folder):
    (folder / "made.py").write_text(_MADE)
    first, second = json.loads(run("explain", "made.py", "--json").stdout)["kernels"]
    assert [first["name"], second["name"]] == ["add (step = 1)", "add (step = 2)"]
    assert [len(first["launches"]), len(second["launches"])] == [1, 2]
    # 1 warp loads once, in the other's launches 2 and 3 of them.
    loads = [
        [line["counters"]["global_load_requests"] for line in kernel["lines"] if line["counters"]]
        for kernel in (first, second)
    ]
    assert loads == [[0, 1], [0, 5]]


@pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")
def test_the_kernels_of_a_program_are_compiled(folder):
    (folder / "made.py").write_text(_MADE)
    found = json.loads(run("sass", "made.py", "--json").stdout)
    assert found["rung"] == "made.py/made"
    # The block is the largest of all launches of a kernel.
    assert [kernel["threads_per_block"] for kernel in found["kernels"]] == [32, 96]
    assert [kernel["arguments"] for kernel in found["kernels"]] == [["array(float64, 1d, C)"]] * 2


def test_check_of_rungs():
    found = json.loads(run("check", "primer/vector-add-grid", "--n", 33, "--json").stdout)
    assert [one["name"] for one in found["checked"]] == ["vector-add-grid"]
    assert found["checked"][0]["launches"] == 4
    shown = run("check", "primer/vector-add-no-guard", "--schedule", "lockstep").stdout
    assert "caught by memcheck, as a wrong rung must be" in " ".join(shown.split())
    assert "runs on the CPU" in run("check", "primer/vector-add-cpu").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "gone.py"], "there is no file gone.py"),
        (["check", "idle.py"], "idle.py ends without having launched a kernel"),
        (["check", "broken.py"], "broken.py, line 2: Python cannot read it"),
        (["check", "prime"], "no ladder 'prime'; did you mean primer?"),
        (["check", "primer/x"], "no rung 'x'"),
        (["check", "idle.py", "--schedule", "all"], "--schedule 'all' is not known"),
        (["climb", "idle.py"], "idle.py leaves no LADDER and no RUNG"),
        (["climb", "ends.py"], "there is `warpladder check ends.py`"),
        (["climb", "broken.py"], "broken.py, line 2: Python cannot read it"),
        (["explain", "gone.py/one"], "there is no file gone.py"),
        (["sass", "gone.py/one"], "there is no file gone.py"),
        (["climb", "no.such.module:LADDER"], "there is no module 'no.such.module'"),
        (["new", "a b"], "'a b' cannot be the name of a ladder"),
        (["new", ""], "cannot be the name of a ladder"),
        (["try", "primer/x"], "no exercise 'primer/x'"),
        (["try", "idle.py"], "idle.py is no exercise"),
        (["try", "gone.py"], "there is no file gone.py; `warpladder try LADDER/RUNG` writes"),
    ],
)
def test_mistakes_are_one_line(folder, arguments, said):
    (folder / "idle.py").write_text("x = 1\n")
    (folder / "broken.py").write_text("x = 1\ny = (\n")
    (folder / "ends.py").write_text("x = 1 / 0\n")
    assert said in refused(*arguments)


def test_what_only_shows_when_it_runs_is_one_line_too():
    run("new", "mine")
    from pathlib import Path

    file = Path("mine.py")
    file.write_text(file.read_text().replace("(problem.values.T)", "(problem.value.T)"))
    line = refused("climb", "mine.py", "--device", "simulator")
    assert line.startswith("warpladder: mine.py, line ")
    assert line.endswith("AttributeError: 'Matrix' object has no attribute 'value'")


def test_the_exercises_are_listed():
    listed = run("try").stdout
    assert "primer/shared-flags" in listed
    found = json.loads(run("try", "--json").stdout)["exercises"]
    assert len(found) >= 12
    assert all(one["hints"] >= 2 for one in found)


def test_who_ends_the_program_has_solved_nothing(folder):
    run("try", "primer/shared-flags")
    path = folder / "primer_shared_flags.py"
    path.write_text(path.read_text().replace("    n = problem", "    exit(0)\n    n = problem"))
    assert "in `exit(0)`: it ends the" in run("try", path.name, status=1).stdout
    run("new", "mine")
    file = folder / "mine.py"
    text = file.read_text().replace("return np.asc", "raise SystemExit(0)\n    return np.asc")
    file.write_text(text)
    assert "in `raise SystemExit(0)`: it ends the program" in refused("climb", "mine.py")


def test_exercises_on_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    # Not a letter to a line.
    assert "the guard at the" in run("try").stdout


def test_an_exercise_from_the_copy_to_the_solution(folder):
    shown = run("try", "primer/shared-flags").stdout
    path = folder / "primer_shared_flags.py"
    text = path.read_text()
    place = text.splitlines().index(
        "    # --- until here ------------------------------------------------------------"
    )
    assert f"wrote primer_shared_flags.py: your turn is at line {place + 1}." in shown
    assert "primer_shared_flags.py is there already" in refused("try", "primer/shared-flags")
    assert path.read_text() == text
    failing = run("try", path.name, status=1).stdout
    assert "WRONG  at n = 1: racecheck: count_by_flags" in failing
    assert "Between the marks it is as you got it." in failing
    assert "--hint 1" in failing
    assert "racecheck names" in run("try", path.name, "--hint", 1).stdout
    assert "further: warpladder try primer/shared-flags --solution" in (
        run("try", "primer/shared-flags", "--hint", 3).stdout
    )
    assert run("try", path.name, "--solution").stdout == "cuda.syncthreads()\n"
    lines = text.splitlines()
    lines.insert(place, "    cuda.syncthreads()  # all flags are there")
    path.write_text("\n".join(lines))
    solved = run("try", path.name).stdout
    assert "Solved. Read on: warpladder explain primer/shared-flags" in solved
    assert "holds  predicted barriers == 3 at n = 96, counted 3" in solved
    path.write_text(path.read_text().replace("# all flags are there", "\n    print(t)"))
    found = json.loads(run("try", path.name, "--json").stdout)
    assert (found["solved"], found["untouched"]) == (True, False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["try", "--hint", "1"],
        ["try", "primer/shared-flags", "--hint", "1", "--solution"],
        ["try", "primer/shared-flags", "--hint", "9"],
        ["try", "primer/shared-flags", "-o", "mine.txt"],
        ["try", "primer/shared-flags", "--solution", "-o", "mine.py"],
    ],
)
def test_usage(folder, arguments):
    result = run(*arguments, status=2)
    assert "Usage" in result.stderr
    assert not list(folder.iterdir())


def test_help_fits_80_columns():
    for name in ("new", "check", "try"):
        shown = run(name, "--help").stdout
        assert f"warpladder {name}" in shown
        assert "…" not in shown
