"""`warpladder picture`: files whole or absent, what there is to draw, and mistakes."""

from __future__ import annotations

import inspect
import json
import sys
import xml.etree.ElementTree as ET

import pytest

from calling import call
from warpladder.lab.pictures import registry
from warpladder.lab.registry import find_rung


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_of_the_rungs_name(folder):
    done = call("picture", "primer/access-misaligned")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "wrote access-misaligned-lanes.svg\n"
    root = ET.fromstring((folder / "access-misaligned-lanes.svg").read_bytes())  # noqa: S314 - it is our own
    assert root.tag.endswith("svg")


def test_a_line_is_one_of_lanes(folder):
    path = "primer/divergence-by-warp"
    line = next(number for number, code in lines_of(path).items() if "out[i] =" in code)
    done = call("picture", path, "--line", line, "-o", "a.png", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "rung": "primer/divergence-by-warp", "kind": "lanes", "file": "a.png",
    }  # fmt: skip
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_kinds_are_listed():
    done = call("picture", "primer/pipeline-two-way", "--list")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "same time (by default)" in " ".join(done.stdout.split())
    listed = json.loads(call("picture", "primer/pipeline-two-way", "--list", "--json").stdout)
    assert listed["by_default"] == "timeline"
    assert [kind["kind"] for kind in listed["kinds"]] == [
        "lanes", "divergence", "warps", "grid", "memory", "timeline",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["primer/strided-acces"], "no rung 'strided-acces'; did you mean strided-access?"),
        (["primer/vector-add-cpu"], "runs on the CPU and has no kernel to be recorded"),
        (["reduction/cub-library"], "calls a library and has no kernel to be recorded"),
        (["primer/strided-access", "--kind", "tree"], "--kind 'tree': primer/strided-access has"),
        (["primer/strided-access", "--line", "3"], "--line 3: nothing is read or written there"),
        (["primer/strided-access", "--line", "3", "--kind", "grid"], "a picture of lanes takes a"),
        (["primer/strided-access", "-o", "a.jpg"], "its name must end in one of .png, .svg, .pdf"),
        (["primer/strided-access", "-o", "no/a.svg"], "there is no folder no"),
        (["primer/strided-access", "--n", "0"], "launches no kernel at n = 0"),
    ],
)
def test_mistakes_leave_nothing(arguments, said, folder):
    done = call("picture", *arguments)
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert list(folder.iterdir()) == []


def test_a_fault_on_the_way_leaves_the_file_that_was_there(folder, monkeypatch):
    (folder / "a.svg").write_text("before")

    class Figure:
        def savefig(self, file, **_):
            file.write(b"half")
            raise OSError("the disk is full")

    monkeypatch.setattr(registry, "draw_picture", lambda *_, **__: Figure())
    done = call("picture", "primer/strided-access", "-o", "a.svg")
    assert done.returncode == 1
    assert [one.name for one in folder.iterdir()] == ["a.svg"]
    assert (folder / "a.svg").read_text() == "before"


def test_without_matplotlib_the_install_line_comes_first(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = call("picture", "primer/strided-access")
    assert done.returncode == 1
    assert "pip install" in done.stderr
    assert "warpladder[plot]" in done.stderr
    assert list(folder.iterdir()) == []


def lines_of(path):
    """Return the lines of a rung's kernel by number."""
    (kernel,) = find_rung(path)[1].kernels
    lines, first = inspect.getsourcelines(getattr(kernel, "py_func", kernel))
    return dict(enumerate(map(str.rstrip, lines), first))
