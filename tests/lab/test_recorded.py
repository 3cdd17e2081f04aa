"""Times that the package brings are those of the committed results, and are shown as recorded."""

from __future__ import annotations

import dataclasses
import json
import sys
from importlib import import_module
from pathlib import Path

import pytest
import toy

from warpladder.lab import recorded
from warpladder.lab.recorded import RecordedTime, Recording, recording_of, timed_of
from warpladder.lab.registry import LADDERS, find_ladder

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
TIMED = [ladder for ladder in LADDERS if recording_of(ladder)]
RECORDING = Recording(
    "NVIDIA H200",
    "2026-11-20",
    "gpu_toy.json",
    {"plain": {64: 0.5}, "strided": {64: 0.25, 2000: 4.0, 1000: 2.0}, "other": {2000: 1.0}},
)


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield import_module("record_times")
    sys.modules.pop("record_times")


def test_the_packaged_file_is_what_the_results_say(program):
    assert json.loads(program.PACKAGED.read_text(encoding="utf-8")) == program.recorded_times()
    assert Path(recorded.__file__).with_name("recorded.json") == program.PACKAGED


@pytest.mark.parametrize("ladder", TIMED)
def test_every_time_stands_in_its_file_with_card_and_date(ladder):
    """Read once more, without the program that wrote it."""
    run = recording_of(ladder)
    document = json.loads((RESULTS / run.file).read_text(encoding="utf-8"))
    measured = document.get("measured", {}).get("ladder", document["date"])
    assert (document["gpu"], measured[:10]) == (run.card, run.date)
    part = document["ladder"]
    rows = part["rungs"] if isinstance(part, dict) else part
    theirs = {
        (row["case"], row["n"]): row.get("kernel_ms") or row["kernel_us"] / 1000 for row in rows
    }
    ours = {(rung, time.n): time.milliseconds for rung in run.times for time in run.all_of(rung)}
    assert ours == pytest.approx(theirs, rel=5e-5)


@pytest.mark.parametrize("ladder", TIMED)
def test_times_are_of_rungs_that_there_are(ladder):
    run, names = recording_of(ladder), {rung.name for rung in find_ladder(ladder).rungs}
    assert set(run.times) <= names


def test_all_ladders_have_been_timed():
    assert set(TIMED) == set(LADDERS)


def test_every_kernel_of_the_primer_has_been_timed():
    kernels = {rung.name for rung in find_ladder("primer").rungs if rung.on == "device"}
    assert kernels == set(recording_of("primer").times)


def test_the_newest_run_is_taken(program, monkeypatch, tmp_path):
    for card, date, again in (
        ("old", "2026-01-02", {}),
        ("new", "2026-02-03", {"ladder": "2026-11-30T00:00:00", "calls": "2026-12-01T00:00:00"}),
        ("odd", "2026-03-04", {"calls": "2026-12-02T00:00:00"}),
    ):
        rows = [{"case": "tuned", "n": 8, "kernel_us": 1234.5678}]
        document = {"gpu": card, "date": f"{date}T00:00:00", "ladder": rows, "measured": again}
        (tmp_path / f"gpu_reduction-{card}.json").write_text(json.dumps(document))
    (tmp_path / "gpu_advection-new.json").write_text('{"gpu": "new", "date": "2027", "calls": []}')
    monkeypatch.setattr(program, "_RESULTS", tmp_path)
    assert program.recorded_times() == {
        "reduction": {
            "card": "new",
            "date": "2026-11-30",
            "file": "gpu_reduction-new.json",
            "milliseconds": {"tuned": {"8": 1.2346}},
        }
    }


def test_what_is_bound_by_the_bus_was_timed_with_its_copies():
    primer = find_ladder("primer")
    pipeline, kernel = primer.find("pipeline-serial"), primer.find("few-warps")
    assert timed_of([pipeline]) == "copies and kernels together"
    assert timed_of([kernel]) == "kernels alone"
    assert timed_of(primer.rungs) == "kernels alone, pipelines with their copies"


def test_the_size_is_the_one_asked_for_or_the_best_to_compare_at():
    plain, strided = toy.PLAIN, toy.STRIDED
    assert RECORDING.of(strided, 64) == RecordedTime(64, 0.25)
    assert RECORDING.of(strided, 65) is None
    # The task's own size is 1000; two rungs were run at 64 and at 2000.
    assert RECORDING.of(strided) == RecordedTime(1000, 2.0)
    assert RECORDING.of(plain) == RecordedTime(64, 0.5)
    assert RECORDING.of(toy.rung("other", plain.run)) == RecordedTime(2000, 1.0)
    assert RECORDING.of(toy.NEIGHBOURS) is None
    assert RECORDING.all_of("strided")[-1] == (2000, 4.0)


def test_side_by_side_rungs_have_the_size_of_most_where_they_were_run_at_it():
    plain, strided = toy.PLAIN, toy.STRIDED
    other, third = toy.rung("other", plain.run), toy.rung("third", plain.run)
    run = dataclasses.replace(RECORDING, times={**RECORDING.times, "third": {2000: 8.0}})
    shown = run.of_each([plain, strided, toy.NEIGHBOURS, other, third])
    assert shown == [(plain, (64, 0.5)), (strided, (2000, 4.0)), (other, (2000, 1.0)),
                     (third, (2000, 8.0))]  # fmt: skip
    # Without them it has the size of its task.
    assert run.of_each([plain, strided])[1] == (strided, (1000, 2.0))
    assert run.of_each([toy.NEIGHBOURS]) == []
