"""Ladders of one's own: found by place or by entry point, and told where they are mistaken."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
import toy
from fakes import FakeSimulator

from warpladder.errors import InputError, UnsupportedKernelError
from warpladder.lab import own, registry
from warpladder.lab.new import new_ladder
from warpladder.lab.program import run_program
from warpladder.lab.records import first_fault
from warpladder.lab.registry import find_ladder, find_rung
from warpladder.lab.text import paragraphs_of
from warpladder.lab.verify import check_predictions, check_wrong, pose, verify
from warpladder.rung import Bound, Ladder, Ratio
from warpladder.simulator import SimulatedDevice


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return the path of a fresh ladder in the working folder."""
    monkeypatch.chdir(tmp_path)
    return new_ladder(tmp_path / "mine")


def changed(file, old, new):
    text = file.read_text()
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1))
    return file


def line_of(file, text):
    return next(k for k, line in enumerate(file.read_text().splitlines(), 1) if text in line)


# ---- found ---------------------------------------------------------------------------------------


def test_the_new_ladder_is_right_and_its_wrong_rung_is_caught(mine):
    ladder = registry.find_ladder(str(mine))
    assert ladder.name == "mine"
    for rung in ladder.rungs:
        assert all(verdict.ok for verdict in verify(rung, SimulatedDevice(counters=False)))
        assert all(result.ok for result in check_predictions(rung, ladder, SimulatedDevice))
        assert any(part.startswith("Expect:") for part in paragraphs_of(rung))
    (wrong,) = ladder.wrong
    assert check_wrong(wrong, SimulatedDevice).ok


def test_rungs_of_files_by_name_or_alone(mine):
    assert registry.find_rung("mine.py/through-a-tile")[1].name == "through-a-tile"
    assert registry.find_rung(f"{mine}/tile-without-barrier")[1].name == "tile-without-barrier"
    with pytest.raises(InputError, match=r"several rungs, so say which: mine.py/element-per"):
        registry.find_rung("mine.py")
    changed(mine, "LADDER = Ladder(", "RUNG = THROUGH_A_TILE\nNOTHING = Ladder(")
    ladder, rung = registry.find_rung("mine.py")
    assert (ladder.name, ladder.rungs, rung.name) == ("mine", (rung,), "through-a-tile")


def test_a_file_is_run_once_and_again_after_a_change(mine):
    assert registry.find_ladder("mine.py") is registry.find_ladder(str(mine))
    changed(mine, 'title="Transposing a matrix"', 'title="Turning a matrix around"')
    assert registry.find_ladder("mine.py").title == "Turning a matrix around"


def test_a_file_may_be_called_like_a_module_and_import_its_neighbours(mine):
    (mine.parent / "beside_mine.py").write_text("TILE = 32\n")
    changed(mine, "TILE = 32", "from beside_mine import TILE")
    mine.rename("random.py")
    import random

    assert registry.find_ladder("random.py").name == "mine"
    assert sys.modules["random"] is random


# By default test_numba_target.py has such a process, without a file.
@pytest.mark.large
def test_a_file_takes_the_cuda_target_that_works(mine):
    """In a process of its own, where that of numba-cuda cannot be imported."""
    load = f"from warpladder.lab.own import load; print(load({str(mine)!r}).name)"
    broken = "import sys; sys.modules['numba.cuda.cgutils'] = None"
    done = subprocess.run(
        [sys.executable, "-c", f"{broken}; {load}"], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{mine.stem}\n", done.stderr


def test_modules(monkeypatch):
    assert registry.find_ladder("toy:LADDER") is toy.LADDER
    assert registry.find_rung("toy:LADDER/strided") == (toy.LADDER, toy.STRIDED)
    assert registry.find_rung("toy:STRIDED")[1] is toy.STRIDED
    with pytest.raises(InputError, match="the module toy has no LADER"):
        registry.find_ladder("toy:LADER")
    with pytest.raises(InputError, match="there is no module 'toys'"):
        registry.find_ladder("toys:LADDER")


def test_a_module_that_prints_or_ends_the_program(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "tells_own.py").write_text("from toy import LADDER\nprint('told')\n")
    assert registry.find_ladder("tells_own:LADDER") is toy.LADDER
    assert capsys.readouterr() == ("", "told\n")
    (tmp_path / "ends_own.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(InputError, match=r"ends_own.py, line 1.: it ends the program"):
        registry.find_ladder("ends_own:LADDER")


def package(folder, name, *points):
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join((f"[{own.GROUP}]", *points)))


def test_ladders_of_other_packages(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    package(tmp_path, "one", "toy = toy:LADDER", "twice = toy:LADDER", "gone = nowhere:LADDER")
    package(tmp_path, "two", "twice = toy:BROKEN", "primer = toy:LADDER", "other = toy:LADDER")
    assert registry.find_ladder("toy") is toy.LADDER
    assert registry.find_rung("toy/strided")[1] is toy.STRIDED
    # A folder of that name is not meant.
    (tmp_path / "toy" / "strided").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert registry.find_rung("toy/strided")[1] is toy.STRIDED
    assert registry.find_ladder("primer").title.startswith("The ideas")
    assert registry.ladder_names()[:2] == list(registry.LADDERS)[:2]
    told = []
    assert [ladder.name for ladder in registry.ladders(told.append)][-1] == "toy"
    assert len(told) == 3
    with pytest.raises(InputError, match=r"announced twice, by one .toy:LADDER. and two"):
        registry.find_ladder("twice")
    with pytest.raises(InputError, match=r"package one .nowhere:LADDER. cannot be used: there is"):
        registry.find_ladder("gone")
    with pytest.raises(InputError, match="calls itself 'toy'; its entry point must"):
        registry.find_ladder("other")
    with pytest.raises(InputError, match="did you mean toy"):
        registry.find_ladder("toyy")


# ---- than= names a rung of another ladder --------------------------------------------------------


def test_a_claim_about_a_rung_of_another_ladder(monkeypatch):
    monkeypatch.setattr(registry, "LADDERS", {"toy": "toy:LADDER"})
    claim = toy.claim(Ratio(1, 8), than="toy/strided")
    # Called as the other one is: the two must not be taken for one.
    rung = replace(toy.NEIGHBOURS, name="strided", predicts=(claim, toy.claim(4)))
    ladder = Ladder("mine", "Mine", (rung,))
    first, second = check_predictions(rung, ladder, FakeSimulator)
    assert (first.counted, first.base, first.ok) == (4, 32, True)
    assert (second.counted, second.ok) == (4, True)
    assert str(claim).endswith("x toy/strided's at n = 33")


@pytest.mark.parametrize(
    ("than", "counter", "said"),
    [
        ("strided", "branches", "mine has no such rung; one of another ladder is called LADDER/"),
        ("primer/strided", "branches", "no rung 'strided'; did you mean strided-access"),
        (None, "branchs", "there is no such counter; did you mean branches"),
    ],
)
def test_claims_about_what_is_not_there(than, counter, said):
    rung = replace(toy.NEIGHBOURS, predicts=(toy.claim(1, counter=counter, than=than),))
    with pytest.raises(InputError, match=said):
        check_predictions(rung, Ladder("mine", "Mine", (rung,)), FakeSimulator)


# ---- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ("cuda.grid(2)", "cuda.grid(2", "cuda.grid(2", "Python cannot read it: '(' was never"),
        ("import numpy as np", "import numpi as np", "import numpi", "No module named 'numpi'"),
        ("TILE = 32\n", "TILE = TILES\n", "TILE = TILES", "in `TILE = TILES`: NameError"),
        ("kernels=(copy_elements,)", "kernels=(copy_elements)", "= Rung(", "one has a comma"),
        ('Bound("dram", "8', 'Bound("memory", "8', "THROUGH_A_TILE = Rung(", "'dram', 'shared'"),
        ('caught_by="racecheck"', 'caught_by="race"', "rung=Rung(", "'memcheck', 'racecheck'"),
        (
            '=("warps",)',
            '=("warp",)',
            "rung=Rung(",
            "is ('warp',); it must be a tuple of 'lockstep'",
        ),
        ('"through-a-tile",', '"element-per-thread",', "TILE = Rung(", "two rungs are called"),
        ("LADDER = Ladder(", "LADDER = dict(", "LADDER = dict(", "LADDER is of type dict"),
        ("LADDER = Ladder(", "L = Ladder(", "", "leaves no LADDER and no RUNG"),
        ("TILE = 32\n", "raise SystemExit(3)\n", "raise SystemExit", "it ends the program"),
        ("def make(n: int, seed: int)", "def make(n: int)", "TRANSPOSE = Task(", "is make(n); it"),
        ("tile(device: Device, problem", "tile(problem", "TILE = Rung(", "of 2 arguments"),
        ("default_n=4096", "default_n='4096'", "TRANSPOSE = Task(", "it must be a whole number"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(mine, old, new, at, said):
    changed(mine, old, new)
    with pytest.raises(InputError) as fault:
        registry.find_ladder("mine.py")
    told = str(fault.value)
    assert said in told
    assert "\n" not in told
    assert told.startswith(f"mine.py, line {line_of(mine, at)}: " if at else "mine.py leaves")


def test_files_that_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"there is no file no.py; `warpladder new no.py`"):
        registry.find_ladder("no.py")
    (tmp_path / "bytes.py").write_bytes(b"x = '\xff\x00'\n")
    with pytest.raises(InputError, match=r"bytes.py.*Python cannot read it"):
        registry.find_ladder("bytes.py")
    (tmp_path / "found.py").write_text("")
    with pytest.raises(InputError, match=r"no ladder 'found'; the file of that name is found.py"):
        registry.find_ladder("found")
    for folder in (".", str(tmp_path)):
        for find in (registry.find_ladder, registry.find_rung):
            with pytest.raises(InputError, match=r"is a folder; name a file in it"):
                find(folder)
    too_long = "x" * 5000
    with pytest.raises(InputError, match=r"no ladder 'xxx"):
        registry.find_ladder(too_long)
    with pytest.raises(InputError, match=r"no ladder 'xxx"):
        registry.find_rung(f"{too_long}/one")


def test_what_a_rung_of_ones_own_raises_is_its_verdict(mine):
    changed(mine, "device.to_device(problem.values)", "device.to_device(problem.value)")
    rung = registry.find_ladder("mine.py").rungs[1]
    verdict = verify(rung, SimulatedDevice(counters=False), [2])[0]
    line = line_of(mine, "problem.value)")
    assert verdict.fault.startswith(f"mine.py, line {line}: in `matrix, out = ")
    assert "has no attribute 'value'" in verdict.fault
    (first, _) = check_predictions(rung, Ladder("x", "X", registry.find_ladder("mine.py").rungs),
                                   SimulatedDevice)  # fmt: skip
    assert "has no attribute 'value'" in first.fault
    # What raises in a rung of this package is a mistake of ours.
    with pytest.raises(ZeroDivisionError):
        verify(toy.rung("zero", lambda *_: 1 // 0), FakeSimulator(), [2])


def test_what_ends_the_program_is_a_mistake_and_not_the_end(mine):
    changed(mine, "    matrix, out = device", "    raise SystemExit(0)\n    matrix, out = device")
    ladder = registry.find_ladder("mine.py")
    (verdict,) = verify(ladder.rungs[1], SimulatedDevice(counters=False), [2])
    said = f"mine.py, line {line_of(mine, 'raise SystemExit')}: in `raise SystemExit(0)`: it ends"
    assert verdict.fault.startswith(said)
    (first, _) = check_predictions(ladder.rungs[1], ladder, SimulatedDevice)
    assert first.fault.startswith(said)


def test_a_mistake_in_a_wrong_rung_is_told_with_it(mine):
    changed(mine, "copy_tiles_at_once(matrix, out, n):", "copy_tiles_at_once(matrix, outs, n):")
    (wrong,) = registry.find_ladder("mine.py").wrong
    found = check_wrong(wrong, SimulatedDevice)
    assert not found.ok
    assert found.fault.startswith("cannot run: copy_tiles_at_once (mine.py, line ")


def test_problems_that_cannot_be_copied_are_refused(mine):
    changed(mine, "return Matrix(np", "return (n for n in ())\n    return Matrix(np")
    with pytest.raises(InputError, match=r"^transpose an n x n matrix: a problem of it cannot be"):
        pose(registry.find_ladder("mine.py").rungs[0].task, 2)


def test_no_ladder_is_called_as_ours_are(tmp_path, mine):
    """What is recorded and answered of ladders is kept by their names."""
    with pytest.raises(InputError, match="reduction is a ladder of warpladder's; take another"):
        new_ladder(tmp_path / "reduction")
    text = mine.read_text(encoding="utf-8").replace('name="mine"', 'name="reduction"')
    mine.write_text(text, encoding="utf-8")
    for look in (find_ladder, lambda place: find_rung(f"{place}/tiled")):
        with pytest.raises(InputError, match="called 'reduction', as one of warpladder's is"):
            look(str(mine))
    assert find_ladder("warpladder.reduction.ladder:LADDER") is find_ladder("reduction")


def test_a_program_that_numba_cannot_type_is_told_by_line_and_reason(tmp_path):
    program = tmp_path / "misspelt.py"
    program.write_text(
        "from numba import cuda\nimport numpy as np\nwidth = 3\n@cuda.jit\ndef widen(a):\n"
        "    a[0] = wdth\nwiden[1, 1](np.zeros(1))\n"
    )
    with pytest.raises(UnsupportedKernelError, match=r"line 6\): .*'wdth' is not .*mean width"):
        run_program(program)


def test_new_never_overwrites_and_takes_names_only(tmp_path):
    file = new_ladder(tmp_path / "one-two")
    before = file.read_bytes()
    with pytest.raises(InputError, match="is there already and is left as it is"):
        new_ladder(file)
    assert file.read_bytes() == before
    # One that begins with - could be given to no command.
    for name in ('a"b', "-x"):
        with pytest.raises(InputError, match="cannot be the name of a ladder"):
            new_ladder(tmp_path / name)
    with pytest.raises(InputError, match="there is no folder"):
        new_ladder(tmp_path / "nowhere" / "one")
    if sys.platform != "win32":  # where not everybody may make links
        (tmp_path / "link.py").symlink_to(tmp_path / "nothing")
        with pytest.raises(InputError, match="is there already"):
            new_ladder(tmp_path / "link")


def test_the_records_of_this_package_have_no_fault():
    assert first_fault(registry.find_ladder("primer")) is None
    assert first_fault(registry.find_ladder("reduction")) is None
    assert first_fault(toy.LADDER) is None
    assert first_fault(Bound("dram", "8 n")) is None
    assert "sizes of the Task" in str(first_fault(replace(toy.TASK, sizes=(1, "2"))))
    assert "exact of the Rung" in str(first_fault(replace(toy.STRIDED, exact="yes")))
    assert textwrap.shorten(str(first_fault(replace(toy.STRIDED, max_n=2.5))), 200).endswith(
        "it must be a whole number or None"
    )
