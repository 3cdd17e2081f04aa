"""The session where nothing is compiled yet, tried with one operation on one dtype."""

from __future__ import annotations

import json
import sys

import pytest


@pytest.fixture
def cold(program, tmp_path, monkeypatch):
    cold = program("cold_session")
    monkeypatch.setattr(program("report"), "_RESULTS", tmp_path)
    return cold


def run(cold, monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["cold_session.py", *options])
    cold.main()


def test_the_second_process_finds_what_the_first_compiled(cold, monkeypatch, tmp_path, capsys):
    made = []
    times = cold._time
    monkeypatch.setattr(cold, "_time", lambda *asked: made.extend(times(*asked)) or made)
    run(cold, monkeypatch, "--dtypes", "float32", "--operations", "any")
    first, second = made
    assert first["calls"] == second["calls"] == 3
    assert first["kernels"] > second["kernels"] == 0
    assert first["cpu_s"] > second["cpu_s"] > 0
    assert "a session of 3 calls" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_all_of_it_is_written_beside_what_was_asked_for(cold, monkeypatch, tmp_path):
    one = {"case": "nothing compiled yet", "calls": 72, "cpu_s": 26.5, "s": 27.0, "kernels": 59}
    other = {**one, "case": "compiled before", "cpu_s": 1.0, "kernels": 0}
    monkeypatch.setattr(cold, "_time", lambda *_: [one, other])
    run(cold, monkeypatch)
    (written,) = tmp_path.glob("cold_session-*.json")
    found = json.loads(written.read_text())
    assert found["sessions"] == [one, other]
    assert [target["met"] for target in found["targets"]] == [False, True, True]
    assert len(found["dtypes"]) * len(found["operations"]) * len(found["axes"]) == 72


def test_a_wrong_answer_ends_it(cold, monkeypatch):
    monkeypatch.setattr(cold.wl, "reduce", lambda *_, **__: 0.0)
    with pytest.raises(SystemExit, match="sum of float32 over axis None is not NumPy's"):
        cold.session(("float32",), ("sum",))
