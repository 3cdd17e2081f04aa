"""`warpladder report`: the page, the same as JSON, refusals before anything runs, Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import reporting
import toy
from fakes import FakeSimulator

from calling import INTERRUPTION, call
from warpladder.cli import report
from warpladder.lab.report.examine import Examiner

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    # Processes of their own would know nothing of toys.
    toy.install(put=monkeypatch.setattr)
    here = Examiner(FakeSimulator(), FakeSimulator)  # type: ignore[arg-type]  # stands for it
    monkeypatch.setattr(report, "_examiner", lambda _device: here)


def made(*arguments: Any):
    return call("report", "--ladder", "toy", *arguments)


def test_the_page_is_written_and_said_to_be(tmp_path):
    page = tmp_path / "page.html"
    result = made("-o", page)
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"wrote {page}\n"
    assert result.stdout == ""
    reporting.assert_sound(reporting.parsed(page.read_text(encoding="utf-8")))
    assert list(tmp_path.iterdir()) == [page]


def test_it_is_called_report_html_where_nothing_else_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert made().returncode == 0
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_json_alone_writes_no_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = made("--json")
    assert result.returncode == 0
    found = json.loads(result.stdout)
    assert found["ladders"][0]["rungs"][1]["climbed"]["predictions"][0]["counted"] == 32
    assert not list(tmp_path.iterdir())


def test_json_beside_a_page_is_of_the_same_run(tmp_path):
    page = tmp_path / "page.html"
    found = json.loads(made("--json", "-o", page).stdout)
    assert found["made"] in page.read_text(encoding="utf-8")


def test_where_something_is_wrong_the_page_is_written_and_the_status_is_1(tmp_path):
    page = tmp_path / "page.html"
    result = call("report", "--ladder", "toy", "--ladder", "broken", "-o", page)
    assert result.returncode == 1
    assert "Something is not as it must be" in page.read_text(encoding="utf-8")


def test_open_shows_the_page(tmp_path, monkeypatch):
    shown: list[str] = []
    monkeypatch.setattr(report.typer, "launch", shown.append)
    page = tmp_path / "a page.html"
    assert made("--open", "-o", page).returncode == 0
    assert shown == [page.as_uri()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "report.pdf"], "--output report.pdf: a report is HTML, its name must end in .html"),
        (["-o", "nowhere/report.html"], "cannot write nowhere/report.html: there is no folder"),
        (["--ladder", "tow"], "no ladder 'tow'; did you mean toy?"),
    ],
)
def test_errors_are_one_line_before_anything_is_run(arguments, message, monkeypatch):
    monkeypatch.setattr(report, "_gather", None)
    result = made(*arguments)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_unknown_device_is_refused(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    for device in ("cpu", "gpu"):
        result = made("--device", device, "--ladder", "primer")
        assert result.returncode == 1
    result = call("report", "--device", "cpu")
    assert f"--device 'cpu' is not known; use one of {', '.join(report._DEVICES)}" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_told_before_anything_is_run(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "_gather", None)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = made("-o", tmp_path / "page.html")
    assert result.returncode == 1
    assert result.stderr == (
        "warpladder: a report needs jinja2, which is not installed: "
        "pip install 'warpladder[report]'\n"
    )


def test_interrupted_it_leaves_the_old_page_and_no_process(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("old")
    program = f"{INTERRUPTION}\nfrom warpladder.cli import main\nmain()"
    result = subprocess.run(
        [sys.executable, "-c", program, "report", "--ladder", "reduction", "-o", str(page)],
        capture_output=True,
        text=True,
        env={**os.environ, "WARPLADDER_TEST": str(tmp_path)},
        check=False,
        timeout=120,
    )
    assert result.returncode == 130
    assert result.stderr == "warpladder: interrupted; no file was changed\n"
    assert page.read_text() == "old"
    assert list(tmp_path.iterdir()) == [page]
    assert not _of_this_test(str(tmp_path))


def _of_this_test(mark: str) -> list[str]:
    """Return the processes that were started with the mark, where the system tells."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            started = environment.read_bytes()
        except OSError:
            continue
        if f"WARPLADDER_TEST={mark}".encode() in started:
            found.append(str(environment))
    return found


def test_help_fits_and_gives_examples():
    shown = call("report", "--help").stdout
    assert "warpladder report --open" in shown
    assert "…" not in shown
