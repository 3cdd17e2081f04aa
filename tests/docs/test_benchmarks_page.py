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
RESULTS = ROOT / "benchmarks" / "results"
README = (ROOT / "README.md").read_text(encoding="utf-8")
MARK = re.compile(r"<!-- (?!end)(.*?) -->")


def record_of(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


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
    assert readme.read_text(encoding="utf-8") == README


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


def test_cells_that_nobody_chose_are_told_of_every_machine():
    cells = README.split("| cells that nobody chose |")[1].split("<!--")[0]
    records = [record_of(path.name) for path in RESULTS.glob("reduction_drawn-*.json")]
    assert cells.count("\n| ") == len(records) > 1
    for record in records:
        cell = min(record["cells"], key=lambda cell: cell["ratio"])
        counts = len(record["cells"]), len(record["cells"]) - record["below_1"]
        counts += record["below_0.8"], record["below_0.5"]
        told = " | ".join((*map(str, counts), f"{cell['ratio']:.2g}", cell["case"]))
        assert f"{record['machine']['vector']['name']} | {told} |" in cells


def test_figures_in_sentences_are_those_of_the_records():
    """Nobody writes them but by hand: where a record is made anew they are, too."""
    calls = {row["case"]: row for row in record_of("gpu_reduction-nvidia-h200.json")["calls"]}
    bus, cpu = (
        calls[f"sum of 512 MiB of the host, {way}"]["GB_per_s"]
        for way in ("over the bus", "on the CPU")
    )
    told = " ".join(README.split())
    assert f"at {bus:.0f} GB/s and through the 16 cores beside it at {cpu:.0f}." in told
    record = record_of("reduction-amd-epyc-avx-512.json")
    (seconds,) = (row["s"] for row in record["file"] if row["case"] == "4 GiB, ours")
    # Its megabytes stand in the column of rates.
    (peak,) = (row["GB_per_s"] for row in record["file"] if "peak memory" in row["case"])
    assert f"cache takes {seconds:.2f} s and {peak / 1000:.2f} GB of memory." in told
    percent = {row["case"]: row["percent_of_ceiling"] for row in record["large"]}
    assert f"at {percent['float32, n = 2^28, fast sum']:.0f} % of the rate" in told


def test_the_site_has_every_table_of_the_readme():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    marks = MARK.findall(README)
    tables = [mark for mark in marks if mark.endswith("from benchmarks/results")]
    # What compute-sanitizer found is there rung by rung.
    tables.remove("compute-sanitizer from benchmarks/results")
    assert [mark for mark in tables if f'"<!-- {mark} -->"' not in page] == []
