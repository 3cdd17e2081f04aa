"""A report's document: rungs examined once, in order, what is wrong and what is on record."""

from __future__ import annotations

import json
import os
import re
import signal
from base64 import b64decode
from concurrent.futures import Executor, Future
from multiprocessing import active_children, util
from pathlib import Path

import pytest
import reporting

from warpladder.errors import InputError
from warpladder.lab import explain, verify
from warpladder.lab.explore.registry import EXPLORATIONS, find_exploration
from warpladder.lab.new import new_ladder
from warpladder.lab.pictures.fitting import fitting_picture
from warpladder.lab.registry import find_ladder, find_rung
from warpladder.lab.report import gather as gathering
from warpladder.lab.report.examine import EXPLORED, Examiner, Job
from warpladder.lab.report.gather import gather


@pytest.fixture(scope="module")
def document():
    return reporting.document_of("toy", "broken")


def test_rungs_come_in_their_order_with_what_was_found(document):
    toys, broken = document["ladders"]
    assert [rung["rung"] for rung in toys["rungs"]] == ["plain", "strided", "neighbours"]
    assert [rung["rung"] for rung in toys["wrong"]] == ["race"]
    assert all(rung["ok"] for rung in (*toys["rungs"], *toys["wrong"]))
    strided = toys["rungs"][1]
    assert [verdict["n"] for verdict in strided["climbed"]["verified"]] == [0, 1, 2, 33]
    assert strided["climbed"]["predictions"][0]["counted"] == 32
    counted = strided["explained"]["kernels"][0]["lines"][2]["counters"]
    assert counted["global_load_sectors"] == 320
    assert toys["wrong"][0]["explained"]["wrong"]["caught"]
    assert [rung["ok"] for rung in broken["rungs"]] == [False, False]
    assert not broken["wrong"][0]["ok"]
    assert not document["ok"]
    assert document["simulated"]
    assert toys["recorded"]["card"] == "NVIDIA H200"
    assert toys["recorded"]["times"] == [
        {"rung": "strided", "n": 64, "kernel_ms": 0.001},
        {"rung": "strided", "n": 512, "kernel_ms": 4.0},
        {"rung": "neighbours", "n": 512, "kernel_ms": 0.5},
    ]
    assert broken["recorded"] is None


def test_it_is_json(document):
    assert json.loads(json.dumps(document, allow_nan=False)) == json.loads(
        json.dumps(document, default=str)
    )


def test_each_rung_is_counted_once(monkeypatch):
    """`neighbours` is compared with `strided`, at the size at which that was counted before."""
    counted = []
    real = verify.count

    def count(rung, device, n):
        counted.append((rung.name, n))
        return real(rung, device, n)

    monkeypatch.setattr(verify, "count", count)
    monkeypatch.setattr(explain, "count", count)
    reporting.document_of("toy")
    assert counted == [("strided", 33), ("neighbours", 33), ("race", 33)]


def test_on_a_gpu_times_are_measured():
    document = reporting.document_of("toy", gpu=True)
    assert not document["simulated"]
    strided = document["ladders"][0]["rungs"][1]
    assert strided["climbed"]["kernel_seconds"] == pytest.approx(2e-3)
    assert strided["climbed"]["percent_of_limit"] == pytest.approx(25)
    assert strided["climbed"]["predictions"][0]["counted"] == 32
    assert document["ceilings"] == [{"name": "memory", "rate": 16e6, "unit": "B/s"}]


def test_progress_ends_at_one():
    told = []
    examiner = Examiner.on_simulator()
    gather(["primer"], [], _Idle(examiner), progress=told.append)
    assert told[-1] == 1
    assert told == sorted(told)


def test_a_rung_has_the_picture_that_fits_it():
    pytest.importorskip("matplotlib")
    drawn = fitting_picture(*find_rung("primer/divergence-by-thread"))
    assert drawn["kind"] == "divergence"
    assert b64decode(drawn["png"]).startswith(b"\x89PNG")
    for path in ("primer/vector-add-cpu", "shortest-paths/flag-barrier"):
        assert fitting_picture(*find_rung(path)) is None


class _Idle:
    """Says of every rung that nothing is known."""

    ceilings = None
    is_simulated = True

    def __init__(self, examiner):
        self.device = examiner.device

    def examine(self, _job: Job):
        return {"ok": True, "fault": "", "climbed": None, "explained": None, "picture": None}


def test_a_mistake_in_a_ladder_of_ones_own_stands_in_its_report(tmp_path, capsys):
    file = new_ladder(tmp_path / "mine")
    text = file.read_text(encoding="utf-8")
    assert "device.to_device(problem.values)" in text
    aloud = text.replace("    n = len(", "    print(7)\n    n = len(")
    file.write_text(aloud.replace("to_device(problem.values)", "to_device(problem.value)"))
    ladder = find_ladder(str(file))
    job = Job("rung", str(file), ladder.rungs[1].name)
    found = Examiner.on_simulator().examine(job)
    assert capsys.readouterr().out == ""
    assert not found["ok"]
    assert "mine.py, line" in found["fault"]
    assert "has no attribute 'value'" in found["fault"]
    file.write_text(text.replace("default_rng(seed)", "default_rng(sead)"))
    with pytest.raises(InputError, match=r"mine.py, line \d+: .*name 'sead' is not defined"):
        Examiner.on_simulator().examine(job)


@pytest.mark.large
def test_other_processes_examine_too():
    document = gather([], ["schemes"], None, processes=2)
    (schemes,) = document["explorations"]
    assert schemes["question"] == find_exploration("schemes").question
    assert schemes["sizes"] == list(EXPLORED["schemes"])
    assert schemes["panels"][0]["series"]
    assert document["device"] == "the simulator"


def test_interrupted_it_leaves_to_the_pool_what_is_asked_of_it(monkeypatch):
    """The pool's own thread stumbles over what others have cancelled when its processes end."""
    answered, interrupted, waiting = (Future() for _ in range(3))
    answered.set_result({})
    interrupted.set_exception(KeyboardInterrupt())
    futures = iter((answered, interrupted, waiting))

    class Pool(Executor):
        def submit(self, *_):
            return next(futures)

    monkeypatch.setattr(gathering, "ProcessPoolExecutor", lambda *_, **__: Pool())
    with (
        pytest.raises(KeyboardInterrupt),
        gathering._examined([Job("exploration", "", "schemes")] * 3, None, 2) as results,
    ):
        list(results)
    assert not waiting.cancelled()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system tells no masks")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_process_is_started_comes_after_it(number, monkeypatch, capfd):
    """One that was half started was known to nobody, and told of its end in a dozen lines."""
    real, blocked, known = util.spawnv_passfds, [], []

    def spawn(*arguments):
        child = real(*arguments)
        if b"spawn_main" in b" ".join(map(os.fsencode, arguments[1])):
            status = Path(f"/proc/{child}/status").read_text(encoding="ascii")
            (mask,) = re.findall(r"SigBlk:\s*(\w+)", status)
            blocked.append(bool(int(mask, 16) >> (signal.SIGINT - 1) & 1))
            signal.raise_signal(number)
        return child

    def end(*_):
        known.extend(active_children())
        raise KeyboardInterrupt

    monkeypatch.setattr(util, "spawnv_passfds", spawn)
    before = signal.signal(number, end)
    try:
        with pytest.raises(KeyboardInterrupt):
            gather([], ["schemes", "order"], None, processes=2)
    finally:
        signal.signal(number, before)
    assert blocked == [True, True]
    assert len(known) == 2
    for child in known:
        child.join()
    assert capfd.readouterr().err == ""


def test_unknown_names_are_refused_before_anything_is_run():
    with pytest.raises(InputError, match="no ladder 'tow'"):
        gather(["tow"], [], None)


def test_explorations_of_the_report_are_explorations():
    assert set(EXPLORED) <= set(EXPLORATIONS)
    for name, sizes in EXPLORED.items():
        assert 1 <= min(sizes) <= max(sizes) <= find_exploration(name).largest
