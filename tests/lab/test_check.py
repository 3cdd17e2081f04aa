"""`check`: what the four checks find in programs and rungs, under every schedule."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from warpladder.errors import InputError
from warpladder.lab.check import TOOLS, check_ladder, check_program
from warpladder.lab.new import new_ladder
from warpladder.lab.own import is_ladder_file
from warpladder.lab.registry import find_ladder
from warpladder.simulator import simulate
from warpladder.simulator.execution.schedule import SCHEDULES
from warpladder.simulator.watch import watched

_START = """
import numpy as np
from numba import cuda
from warpladder.simulator import SimulatedDevice, simulate
"""

_KERNEL = """
@cuda.jit
def work(values, out):
    tile = cuda.shared.array(64, "float64")
    t = cuda.threadIdx.x
    {}
"""

_STARTS = {
    "numba": "work[1, 64](np.ones(64), cuda.device_array(64))",
    "simulate": "simulate(work)[1, 64](np.ones(64), cuda.device_array(64))",
    "device": "device = SimulatedDevice(checks=False)\n"
    "device.launch(work, 1, 64, device.to_device(np.ones(64)), device.empty(64, float))",
}


def program(folder, body, start=_STARTS["numba"]):
    path = folder / "program.py"
    path.write_text(_START + _KERNEL.format("\n    ".join(body)) + start + "\nprint('done')\n")
    return path


def line_of(path, text):
    return path.read_text().splitlines().index(f"    {text}") + 1


_FAULTS = {
    "memcheck": ["out[t + 1] = values[t]"],
    "racecheck": ["tile[t] = values[t]", "out[t] = tile[63 - t]"],
    "initcheck": ["out[t] = values[t] + out[t]"],
    "synccheck": ["if t < 40: cuda.syncthreads()"],
    "": ["tile[t] = values[t]", "cuda.syncthreads()", "out[t] = tile[63 - t]"],
}


@pytest.mark.parametrize("start", _STARTS)
@pytest.mark.parametrize("tool", _FAULTS)
def test_each_tool_finds_its_fault_however_a_kernel_is_started(tmp_path, tool, start):
    body = _FAULTS[tool]
    path = program(tmp_path, body, _STARTS[start])
    checked = check_program(path, ("lockstep", "warps-reverse"))
    assert checked.ok == (not tool)
    # Where one warp runs after the other, what a race reads has not been written yet, either.
    tools = [finding.tool for finding in checked.findings if finding.seen[0][1] == "lockstep"]
    assert tools == ([tool] if tool else [])
    for finding in checked.findings[:1]:
        assert finding.kernel == "work"
        lines = [line_of(path, text) for text in (body[::-1] if tool == "racecheck" else body)]
        assert {line for _, line in finding.places} == set(lines)
        assert {schedule for _, schedule in finding.seen} == {"lockstep", "warps-reverse"}
    if tool == "racecheck":
        first, second = checked.findings[0].threads
        assert first != second


def test_stores_of_what_is_there_are_reported_on_request(tmp_path):
    path = program(tmp_path, ["values[t] = 0.5 * (values[t - 1] + values[63 - t])"])
    assert check_program(path, SCHEDULES).ok
    checked = check_program(path, SCHEDULES, (*TOOLS, "same-value"))
    assert [finding.tool for finding in checked.findings] == ["racecheck"]
    assert [schedule for _, schedule in checked.findings[0].seen] == list(SCHEDULES)


def test_one_fault_does_not_hide_another(tmp_path, capsys):
    body = ["tile[t] = values[t]", "out[t] = tile[63 - t] + out[t]"]
    checked = check_program(program(tmp_path, body), SCHEDULES)
    assert {finding.tool for finding in checked.findings} == {"racecheck", "initcheck"}
    assert checked.launches == 3 * len(SCHEDULES)
    assert capsys.readouterr().out == ""


def test_programs_that_cannot_be_checked(tmp_path):
    before = list(sys.path), list(sys.argv)
    path = tmp_path / "program.py"
    path.write_text("x = 1\n")
    with pytest.raises(InputError, match="without having launched a kernel"):
        check_program(path, SCHEDULES)
    for text, said in (
        ("\n1 / 0\n", r"program.py, line 2: in `1 / 0`: ZeroDivisionError"),
        ("import sys\nsys.exit(2)\n", "ends itself, with status 2"),
        (_START + _KERNEL.format("x = t") + "work[1, 2000](1, 2)", r"line \d+: in `work\[1, 2000"),
    ):
        path.write_text(text)
        checked = check_program(path, ("lockstep",))
        assert not checked.ok
        assert __import__("re").search(said, checked.stopped)
    assert (list(sys.path), list(sys.argv)) == before
    path.write_text(program(tmp_path, _FAULTS[""]).read_text() + "import sys; sys.exit(0)\n")
    assert check_program(path, ("lockstep",)).ok


def test_a_program_may_write_bytes(tmp_path):
    path = program(tmp_path, _FAULTS[""])
    path.write_text(path.read_text() + "import sys; sys.stdout.buffer.write(b'done')\n")
    assert check_program(path, ("lockstep",)).ok


def test_a_program_may_go_to_another_folder_and_leave_its_own_off_the_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = program(tmp_path, _FAULTS[""])
    path.write_text("import os, sys\nos.chdir('/')\nsys.path.pop(0)\n" + path.read_text())
    before = list(sys.path)
    assert check_program(Path(path.name), ("lockstep", "warps")).ok
    assert (Path.cwd(), sys.path) == (tmp_path, before)


def test_places_in_files_whose_names_have_blanks(tmp_path):
    path = program(tmp_path, _FAULTS["racecheck"]).rename(tmp_path / "my program (2).py")
    (finding,) = check_program(path, ("lockstep",)).findings
    assert {file for file, _ in finding.places} == {path.name}


def test_rungs_and_wrong_rungs(tmp_path):
    file = new_ladder(tmp_path / "mine")
    assert is_ladder_file(file)
    (tmp_path / "taken.py").write_text("from mine import LADDER\n")
    assert is_ladder_file(tmp_path / "taken.py")
    assert not is_ladder_file(program(tmp_path, ["pass"]))
    right, other, wrong = check_ladder(find_ladder(str(file)), ("lockstep", "warps"), sizes=[33])
    assert right.ok
    assert other.ok
    assert (wrong.ok, wrong.expected) == (True, "racecheck")
    assert right.launches == 2
    text = file.read_text()
    file.write_text(text.replace("    cuda.syncthreads()\n", "", 1))
    (broken,) = check_ladder(find_ladder(str(file)), SCHEDULES, "through-a-tile", [2, 33])
    finding = broken.findings[0]
    assert (finding.tool, finding.kernel) == ("racecheck", "copy_tiles")
    assert {n for n, _ in finding.seen} <= {2, 33}
    assert {schedule for _, schedule in finding.seen} == set(SCHEDULES)
    file.write_text(text.replace("racecheck", "memcheck"))
    *_, mistaken = check_ladder(find_ladder(str(file)), ("lockstep",), "tile-without-barrier")
    assert not mistaken.ok


def test_what_cannot_be_run_is_skipped_or_stops(tmp_path):
    import toy

    plain, *_ = check_ladder(toy.LADDER, ("lockstep",), "plain")
    assert plain.skipped == "runs on the CPU"
    host = replace(toy.RACE, caught_by="verification")
    (other,) = check_ladder(replace(toy.LADDER, rungs=(), wrong=(host,)), ("lockstep",))
    assert other.skipped == "is caught by verification, and by no check"
    assert other.ok
    file = new_ladder(tmp_path / "mine")
    file.write_text(file.read_text().replace("len(problem.values)", "len(problem.value)"))
    first, *_ = check_ladder(find_ladder(str(file)), ("lockstep",))
    assert not first.ok
    assert "has no attribute 'value'" in first.stopped


def test_a_watch_rules_over_what_a_program_asks_for():
    def misread(values):
        values[0] = values[1]

    kernel = simulate(misread, counters=True)
    with watched(checks=TOOLS) as outer, watched(checks=False, schedule="warps") as inner:
        kernel[1, 1](np.ones(2))
    assert outer.launches == inner.launches == [kernel.report]
    kernel[1, 1](np.ones(2))
    assert len(inner.launches) == 1
    assert Path(__file__).name in {Path(file).name for file, _ in kernel.report.lines}


def test_watches_that_are_alike_are_told_apart():
    def write(values):
        values[0] = 1

    with watched(checks=True) as outer:
        with watched(checks=True) as inner:
            pass
        simulate(write)[1, 1](np.zeros(1))
    assert (len(outer.launches), len(inner.launches)) == (1, 0)
