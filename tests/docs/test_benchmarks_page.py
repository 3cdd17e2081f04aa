"""The tables of the benchmarks, which the site takes from the README, are what is on record."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!-- (?!end)(.*?) -->")


@pytest.fixture
def readme(tmp_path):
    return Path(shutil.copy(ROOT / "README.md", tmp_path))


@pytest.mark.parametrize("program", ["publish", "publish_gpu"])
def test_publishing_again_changes_nothing(program, readme, monkeypatch):
    pytest.importorskip("matplotlib", reason="figures are drawn with it")
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    publisher = importlib.import_module(program)
    for name, value in vars(publisher).items():
        if name.startswith(("_draw", "draw_")) and callable(value):
            monkeypatch.setattr(publisher, name, lambda *_: None)
    replace = publisher.replace_results
    changed = []

    def replace_in_the_copy(name, lines):
        changed.append(name)
        replace(name, lines, readme)

    monkeypatch.setattr(publisher, "replace_results", replace_in_the_copy)
    publisher.main()
    assert changed
    assert readme.read_text(encoding="utf-8") == (ROOT / "README.md").read_text(encoding="utf-8")


def test_results_measured_last_are_published_whenever_they_were_written(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    report = importlib.import_module("report")
    monkeypatch.setattr(report, "_RESULTS", tmp_path)
    for name, date in (("table-new-cpu", "2026-11-24"), ("table-old-cpu", "2026-11-23")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"date": date}))
    assert report.newest_results("table-*") == {"date": "2026-11-24"}


def test_a_part_is_published_from_the_record_that_measured_it_last(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    report = importlib.import_module("report")
    monkeypatch.setattr(report, "_RESULTS", tmp_path)
    records = {
        "old": {"date": "2026-11-20", "speed": 1, "size": 1, "measured": {"speed": "2026-11-25"}},
        "new": {"date": "2026-11-24", "speed": 2, "size": 2},
        "newest": {"date": "2026-11-26", "size": 3},
    }
    for name, record in records.items():
        (tmp_path / f"gpu-{name}.json").write_text(json.dumps(record))
    assert report.newest_results("gpu-*", "speed") == records["old"]
    assert report.newest_results("gpu-*", "size") == records["newest"]
    assert report.newest_results("gpu-*", "size", "speed") == records["new"]


def test_the_site_has_every_table_of_the_readme():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    marks = MARK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    tables = [mark for mark in marks if mark.endswith("from benchmarks/results")]
    # What compute-sanitizer found is there rung by rung.
    tables.remove("compute-sanitizer from benchmarks/results")
    assert [mark for mark in tables if f'"<!-- {mark} -->"' not in page] == []
