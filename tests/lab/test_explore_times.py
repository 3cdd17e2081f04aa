"""Explorations that take times: the arithmetic on known times, and runs that only have to be whole.

No test depends on how fast anything is.
"""

from __future__ import annotations

import os
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import warpladder
from warpladder.device.properties import properties_of
from warpladder.errors import DeviceError, WarpladderError
from warpladder.lab.explore import measure
from warpladder.lab.explore.exploration import Setting
from warpladder.lab.explore.registry import find_exploration
from warpladder.lab.explore.shortest_paths import crossover, growth, methods, scaling
from warpladder.lab.explore.shortest_paths.cores import limited
from warpladder.lab.explore.shortest_paths.crossover import find_crossing
from warpladder.lab.explore.shortest_paths.growth import fit_power
from warpladder.lab.explore.shortest_paths.methods import ENGINE, GPU, SEQUENTIAL
from warpladder.lab.explore.waves import count_waves, doubled
from warpladder.lab.launches import Launched
from warpladder.simulator import SimulatedDevice

NO_GPU = "there is none"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(measure, "_ROUNDS", 2)
    monkeypatch.setattr(measure, "_SECONDS_EACH", 0.0)


# ---- crossover -------------------------------------------------------------------------------


def test_a_crossing_of_two_powers_is_found_exactly():
    # 2 n**3 and 500 n**2 meet at n = 250.
    slow = {n: 2e-9 * n**3 for n in (100, 200, 400)}
    fast = {n: 500e-9 * n**2 for n in (100, 200, 400)}
    crossing = find_crossing(slow, fast)
    assert crossing.at == pytest.approx(250)
    assert crossing[1:] == (200, 400)


@pytest.mark.parametrize(
    ("slow", "fast", "expected"),
    [
        # never, always, nothing in common, equal throughout
        ({1: 1.0, 2: 1.0}, {1: 2.0, 2: 2.0}, (None, 2, None)),
        ({1: 1.0, 2: 1.0}, {1: 0.5, 2: 0.5}, (None, None, 1)),
        ({1: 1.0}, {2: 1.0}, (None, None, None)),
        ({1: 1.0, 2: 1.0}, {1: 1.0, 2: 1.0}, (None, 2, None)),
        # A size that only one of them has counts for nothing.
        ({1: 1.0, 4: 1.0}, {1: 2.0, 2: 0.1, 4: 0.5}, (2.0, 1, 4)),
        # Ahead, behind, ahead: the last time counts.
        ({1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}, {1: 0.5, 2: 2.0, 4: 4.0, 8: 0.25}, (2**2.5, 4, 8)),
        # Just as fast at a measured size: from there on.
        ({1: 1.0, 2: 1.0, 4: 1.0}, {1: 2.0, 2: 1.0, 4: 0.5}, (2.0, 2, 4)),
    ],
)
def test_what_is_said_of_a_crossing_stays_within_what_was_measured(slow, fast, expected):
    assert find_crossing(slow, fast) == pytest.approx(expected)


def test_every_verdict_has_its_words():
    say = crossover._sentence
    assert "about 250 on (not at 200, but at 400)" in say(
        find_crossing({200: 1, 400: 8}, {200: 1.25, 400: 5.0})
    )
    assert "lies below" in say(find_crossing({1: 1}, {1: 0.5}))
    assert "lies beyond" in say(find_crossing({1: 1}, {1: 2}))
    assert say(find_crossing({1: 1}, {2: 2})) == "no size has been measured with both"


# ---- growth ----------------------------------------------------------------------------------


def test_a_fit_agrees_with_numpy_and_its_error_with_the_covariance():
    rng = np.random.default_rng(5)
    sizes = np.array([64, 100, 256, 300, 700, 1024])
    seconds = 3e-9 * sizes**2.7 * np.exp(rng.normal(0, 0.1, sizes.size))
    law = fit_power(dict(zip(sizes.tolist(), seconds.tolist(), strict=True)))
    (slope, offset), covariance = np.polyfit(np.log(sizes), np.log(seconds), 1, cov=True)
    assert law.exponent == pytest.approx(slope)
    assert law.factor == pytest.approx(np.exp(offset))
    assert law.error == pytest.approx(np.sqrt(covariance[0, 0]))
    ratios = seconds / (law.factor * sizes**law.exponent)
    assert law.worst == pytest.approx(max(ratios.max(), 1 / ratios.min()))
    assert law.at(256) == pytest.approx(np.exp(offset) * 256**slope)


def test_growth_fits_what_it_can_and_says_what_it_cannot(monkeypatch):
    def spread(seconds):
        return measure.Spread(seconds, seconds, seconds, 5)

    cubic = {n: spread(1e-9 * n**3) for n in (10, 20, 40, 80, 160, 320)}
    few = {10: spread(1.0), 20: spread(2.0)}
    monkeypatch.setattr(
        growth, "time_methods", lambda _setting: ({SEQUENTIAL: cubic, GPU: few}, ("a remark",))
    )
    findings = find_exploration("growth").run(Setting(tuple(cubic)))
    times, fits = findings.tables
    assert fits.rows[0]["exponent"] == pytest.approx(3)
    assert fits.rows[0]["upper"] == pytest.approx(3)
    assert "exponent" not in fits.rows[1]
    assert findings.remarks == ("a remark", "GPU: 2 sizes are too few for a fit.")
    assert "sequential CPU n^(3.00 +- 0.00)" in findings.answer[0]
    assert times.rows[2][GPU] is None
    assert [one.model for one in findings.panels[0].series] == [False, False, True]


# ---- whole computations ----------------------------------------------------------------------


REAL = warpladder.shortest_paths


def answering(off=0):
    """Return a stand-in for the library's call; on the CPU it is the real one."""

    def call(matrix, *, device, **options):
        answer = REAL(matrix, device="cpu", **options)
        if device == "cuda":
            return SimpleNamespace(dist_matrix=answer.dist_matrix + np.int32(off))
        return answer

    return call


def test_methods_without_a_gpu():
    times, remarks = methods.time_methods(Setting((1, 2, 33), why_no_gpu=NO_GPU))
    assert list(times) == [SEQUENTIAL, ENGINE]
    assert all(list(known) == [1, 2, 33] for known in times.values())
    assert remarks[0] == "The GPU is not measured: there is none."


def test_sizes_for_a_gpu_are_added_where_there_is_one(monkeypatch):
    monkeypatch.setattr(warpladder, "shortest_paths", answering())
    asked = Setting((3, 5), gpu_sizes=(4, 5), gpu=SimulatedDevice())
    findings = find_exploration("growth").run(asked)
    assert [row["n"] for row in findings.tables[0].rows] == [3, 4, 5]
    without = Setting((3, 5), gpu_sizes=(4, 5), why_no_gpu=NO_GPU)
    assert list(methods.time_methods(without)[0][ENGINE]) == [3, 5]


@pytest.mark.parametrize(("exponent", "early"), [(2.9, False), (1.0, True)])
def test_growth_that_is_not_cubic_yet_is_called_so(monkeypatch, exponent, early):
    known = {n: measure.Spread(*3 * (1e-6 * n**exponent,), 5) for n in (8, 16, 32, 64, 128, 256)}
    monkeypatch.setattr(growth, "time_methods", lambda _setting: ({ENGINE: known}, ()))
    answer = find_exploration("growth").run(Setting(tuple(known))).answer
    assert any("CPU engine is not there yet: n^1.00" in text for text in answer) == early


def test_methods_with_a_gpu(monkeypatch):
    monkeypatch.setattr(warpladder, "shortest_paths", answering())
    setting = Setting((5, 33), gpu=SimulatedDevice())
    findings = find_exploration("crossover").run(setting)
    times, crossings = findings.tables
    assert [column.heading for column in times.columns][-1] == "GPU, with transfers"
    assert all(row[GPU] > 0 for row in times.rows)
    assert [(row["fast"], row["slow"]) for row in crossings.rows] == [
        (ENGINE, SEQUENTIAL),
        (GPU, SEQUENTIAL),
        (GPU, ENGINE),
    ]
    assert not any("cannot be said" in text for text in findings.answer)


def test_a_gpu_without_an_engine_for_it_is_not_measured(monkeypatch):
    def refusing(matrix, *, device, **options):
        if device == "cuda":
            raise DeviceError("no engine yet.")
        return REAL(matrix, device=device, **options)

    monkeypatch.setattr(warpladder, "shortest_paths", refusing)
    findings = find_exploration("crossover").run(Setting((4,), gpu=SimulatedDevice()))
    assert "The GPU is not measured: no engine yet." in findings.remarks
    assert findings.answer[-1].startswith("When the GPU is worth it cannot be said")


def test_methods_that_differ_are_not_timed(monkeypatch):
    monkeypatch.setattr(warpladder, "shortest_paths", answering(off=1))
    with pytest.raises(WarpladderError, match="differ in their distances at n = 4"):
        methods.time_methods(Setting((4,), gpu=SimulatedDevice()))


def test_a_method_that_would_take_long_is_left_out_and_named(monkeypatch):
    monkeypatch.setattr(methods, "_LONGEST_SECONDS", 1.0)
    slow = partial(methods._ends, {100: measure.Spread(0.1, 0.1, 0.1, 5)})
    assert slow(210)  # 0.93 seconds
    assert not slow(220)
    assert methods._ends({1: measure.Spread(0.1, 0.1, 0.1, 5)}, 33)
    assert methods._ends({}, 10**6)
    monkeypatch.setattr(methods, "_LONGEST_SECONDS", 0.0)
    times, remarks = methods.time_methods(Setting((2, 65), why_no_gpu=NO_GPU))
    assert [list(known) for known in times.values()] == [[2], [2]]
    assert "sequential CPU is not measured beyond n = 2: a run would take more" in remarks[1]


# ---- scaling ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocks", "multiprocessors", "waves"),
    # An H200's multiprocessor holds 2048 threads: 8 blocks of 256.
    [(1, 1, 1), (8, 1, 1), (9, 1, 2), (16, 2, 1), (17, 2, 2), (4000, 132, 4), (4225, 132, 5)],
)
def test_waves(blocks, multiprocessors, waves):
    launch = Launched(None, blocks, 256, 0)
    properties = properties_of((9, 0), multiprocessors)
    assert count_waves([launch], properties) == waves
    assert count_waves([launch, launch], properties) == 2 * waves


def test_shared_memory_makes_waves_smaller():
    # Two blocks of 100 KiB (and 1 KiB of the driver's) fit into 228 KiB.
    launch = Launched(None, 4, 256, 100 << 10)
    assert count_waves([launch], properties_of((9, 0), 1)) == 2


def test_doubled():
    assert [doubled(most) for most in (1, 2, 3, 132)] == [
        [1],
        [1, 2],
        [1, 2, 3],
        [1, 2, 4, 8, 16, 32, 64, 128, 132],
    ]


def test_the_model_is_called_one_and_small_problems_gain_nothing_from_more():
    findings = find_exploration("scaling").run(Setting((8, 20), why_no_gpu=NO_GPU))
    (table,) = findings.tables
    assert table.title.startswith("MODEL, not measured")
    speedups = {(row["n"], row["p"]): row["speedup"] for row in table.rows}
    assert {speedups[8, p] for p in (1, 2, 132)} == {1.0}  # 8 blocks fit on one
    assert speedups[20, 4] == speedups[20, 132] == 3.0
    assert findings.remarks == (
        "The CPU engine is not measured: at these sizes it takes one core.",
        "The GPU is not measured: there is none.",
    )


@pytest.mark.parametrize("before", [None, "2"])
def test_cores_are_limited_and_set_free_again(monkeypatch, before):
    if before is None:
        monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("NUMBA_NUM_THREADS", before)
    monkeypatch.setattr(scaling, "worker_count", lambda: 3)
    seen = []
    monkeypatch.setattr(
        warpladder,
        "shortest_paths",
        lambda *_args, **_options: seen.append(os.environ.get("NUMBA_NUM_THREADS")),
    )
    findings = find_exploration("scaling").run(Setting((300,), why_no_gpu=NO_GPU))
    assert seen == [before, "1", "2", "3", "1", "2", "3"]
    assert os.environ.get("NUMBA_NUM_THREADS") == before
    assert [row["p"] for row in findings.tables[1].rows] == [1, 2, 3]


def test_cores_are_set_free_after_a_fault(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    with pytest.raises(ValueError, match="stop"), limited(1):
        raise ValueError("stop")
    assert os.environ["NUMBA_NUM_THREADS"] == "2"


class Gpu(SimulatedDevice):
    """A simulated GPU whose kernel takes a second over the number of its blocks."""

    def __init__(self):
        super().__init__(checks=False, counters=False, multiprocessors=3)
        self.kernel_ms = 0.0

    def launch(self, kernel, grid, *rest, **options):
        super().launch(kernel, grid, *rest, **options)
        self.kernel_ms += 1000 / grid


def test_a_resident_grid_of_more_and_more_blocks():
    findings = find_exploration("scaling").run(Setting((60,), gpu=Gpu()))
    rows = findings.tables[1].rows
    # Four blocks of 256 threads for each multiprocessor the device says it has.
    assert [row["blocks"] for row in rows] == [4, 8, 12]
    assert [row["speedup"] for row in rows] == pytest.approx([1, 2, 3])
    assert [row["efficiency"] for row in rows] == pytest.approx([100, 100, 100])
    assert rows[0]["rate"] == pytest.approx(60**3 / 0.25 / 1e9)
    assert "12 blocks are 3.0 times as fast as 4" in findings.answer[-1]
    assert len(findings.panels) == 2
