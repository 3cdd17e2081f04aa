"""Explorations of what the sources tell: HB's programming review, its hops and its study of cycles,
CF's versions, and RD's blocks; against counts worked out by hand, and on devices whose times are
known.

No test depends on how fast anything is.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from warpladder.errors import DeviceError, WarpladderError
from warpladder.lab.explore import measure
from warpladder.lab.explore.exploration import Setting
from warpladder.lab.explore.reduction import block_size
from warpladder.lab.explore.registry import find_exploration
from warpladder.lab.explore.shortest_paths import cycles, subproblems, versions
from warpladder.lab.explore.shortest_paths.cycles import fit_ratio
from warpladder.lab.explore.shortest_paths.next_hops import walk
from warpladder.lab.explore.shortest_paths.subproblems import (
    comes_after_its_predecessors,
    in_order,
    memoized,
    recursive,
)
from warpladder.simulator import SimulatedDevice

NO_GPU = "there is none"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(measure, "_ROUNDS", 2)
    monkeypatch.setattr(measure, "_SECONDS_EACH", 0.0)
    monkeypatch.setattr(cycles, "_RUNS", 2)


class Gpu(SimulatedDevice):
    """A simulated GPU that takes a millisecond for every launch."""

    def __init__(self):
        super().__init__(checks=False, counters=False)
        self.kernel_ms = 0.0

    def launch(self, kernel, *rest, **options):
        super().launch(kernel, *rest, **options)
        self.kernel_ms += 1.0


def run(name, *sizes, **options):
    return find_exploration(name).run(Setting(sizes, why_no_gpu=NO_GPU, **options))


# ---- subproblems -----------------------------------------------------------------------------


@pytest.mark.parametrize("s", [1, 2, 3, 5, 7])
def test_calls_are_those_of_the_closed_form(s):
    (row,) = run("subproblems", s).tables[1].rows
    assert row["recursive"] == comb(2 * s, s) - 1
    assert row["memoized"] == 2 * s * (s - 1) + 1
    assert row["in_order"] == s * s


@pytest.mark.parametrize("s", [1, 2, 6])
def test_lengths_are_those_of_every_way(s):
    town = subproblems._town(s)
    best = 0 if s == 1 else np.inf
    for turns in range(1 << (2 * s - 2)):
        if turns.bit_count() != s - 1:
            continue
        place, length = (0, 0), 0
        for step in range(2 * s - 2):
            down = turns >> step & 1
            after = (place[0] + down, place[1] + 1 - down)
            length, place = length + town[after][place], after
        best = min(best, length)
    for way in (recursive, memoized, in_order):
        assert way(town, (0, 0), (s - 1, s - 1))[0] == best


def test_what_cannot_be_reached_is_infinitely_far():
    lone = {"A": {}, "B": {}}
    assert [way(lone, "A", "B")[0] for way in (recursive, memoized, in_order)] == 3 * [np.inf]


def test_orders_are_told_from_others():
    told = {"W": "JX", "X": "GDY", "Y": "DEH", "Z": "YK", "B": "WXYZ"}
    assert comes_after_its_predecessors("ACFEDGIHYXJWKZB", told)
    assert not comes_after_its_predecessors("ACFEDGIHXYJWKZB", told)  # X before Y
    assert not comes_after_its_predecessors("ACFEDGIHYXJWZKB", told)  # Z before K


def test_hbs_last_step_is_reckoned():
    rows = run("subproblems", 1).tables[0].rows
    assert {row["by"]: row["all"] for row in rows} == {"W": 105, "X": 109, "Y": 102, "Z": 113}


def test_ways_that_differ_are_a_fault(monkeypatch):
    def off(*_what):
        return -1.0, 1

    off.__name__ = "memoized"
    monkeypatch.setattr(subproblems, "memoized", off)
    with pytest.raises(WarpladderError, match="town of 2 by 2"):
        run("subproblems", 2)


# ---- next hops -------------------------------------------------------------------------------


def test_hops_of_hbs_graph_lead_along_its_shortest_paths():
    findings = run("next-hops", 3)
    rows = {row["from"]: row for row in findings.tables[0].rows}
    assert [rows["C"][to] for to in "ABCDEF"] == list("FFCFFF")
    assert [rows["A"][to] for to in "BCF"] == list("BDD")
    assert "C, F, E, A, B, which is 11 long" in findings.answer[0]
    assert findings.remarks == ("Kernel times are not measured: there is none.",)


@pytest.mark.parametrize("n", [2, 33])
def test_hops_cost_a_load_for_each_row_and_twice_the_stores(n):
    (row,) = run("next-hops", n).tables[1].rows
    per_row = 1 + 2 * -(-n // 32)
    assert row["loads"] == pytest.approx((per_row + 1) / per_row)
    assert row["stores"] in {None, 2.0}


def test_hops_are_timed_beside_distances():
    findings = run("next-hops", 2, gpu_sizes=(3, 5), gpu=Gpu())
    assert [row["next-hops"] for row in findings.tables[-1].rows] == pytest.approx(
        [1e-3 / 3, 1e-3 / 5]
    )
    assert "1.00 at n = 3, 1.00 at n = 5" in findings.answer[-1]


def test_hops_with_other_distances_are_not_timed(monkeypatch):
    from warpladder.lab.explore.shortest_paths import side_by_side

    real = side_by_side.run_rung

    def off(rung, device, problem):
        answer = real(rung, device, problem)
        return answer + 1 if rung.name == "pivot-in-register" else answer

    monkeypatch.setattr(side_by_side, "run_rung", off)
    with pytest.raises(DeviceError, match="differ in their distances at n = 3"):
        run("next-hops", 2, gpu_sizes=(3,), gpu=Gpu())


def test_to_stay_is_a_way_of_one_vertex():
    assert walk(np.array([[0]], np.int32), 0, 0) == [0]


# ---- cycles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 32, 33])
def test_cycles_and_their_distances(n):
    problem, dist = cycles._cycle(n)
    assert np.count_nonzero(problem.matrix == 1) == {1: 0, 2: 2}.get(n, 2 * n)
    expected = np.where(problem.matrix == problem.no_path, 10**6, problem.matrix)
    for k in range(n):
        expected = np.minimum(expected, expected[:, k, None] + expected[k])
    assert np.array_equal(dist, expected)


def test_ratios_are_fitted_by_least_squares():
    seconds = {1: 8.0, 2: 5.0, 4: 2.5, 8: 1.0}
    x = np.log([8, 4, 2, 1])
    y = np.log(np.array(list(seconds.values())) / 1.0)
    assert fit_ratio(seconds) == pytest.approx(np.linalg.lstsq(x[:, None], y, rcond=None)[0][0])


def test_copies_are_subtracted(monkeypatch):
    monkeypatch.setattr(cycles, "worker_count", lambda: 2)
    given = {"engine": 3e-5, "loops": 2e-3, "run": 5e-5, "idle": 2e-5}

    def known(call):
        call()
        if call.func is not cycles.run_rung:
            return given["engine"]
        if call.args[1] is None:
            return given["loops"]
        return given["idle" if isinstance(call.args[1], cycles._Idle) else "run"]

    monkeypatch.setattr(cycles, "wall_seconds", known)
    findings = run("cycles", 3, 5, 40, gpu=Gpu())
    times, copies = findings.tables[:2]
    kernels = pytest.approx(3e-5)
    assert [row["GPU"] for row in times.rows] == [kernels, kernels, kernels]
    assert [row["simulator"] for row in times.rows] == [kernels, kernels, None]
    # Too long for ten more runs at n = 40.
    assert [row["one core, loops"] for row in times.rows] == [2e-3, 2e-3, None]
    assert copies.rows[0] == {"n": 3, "run": 5e-5, "idle": 2e-5, "kernels": kernels}
    assert "one core, loops is not measured beyond n = 5" in findings.remarks[0]
    # Two cores as fast as one: to the power of 0.
    assert "to the power of 0.00" in findings.answer[1]
    assert len(findings.panels) == 2


def test_without_kernels_nothing_is_launched():
    device = Gpu()
    problem, _ = cycles._cycle(5)
    idle = cycles._devices(Setting((5,), gpu=device))["GPU"].idle
    assert idle(problem).shape == (5, 5)
    assert device.kernel_ms == 0


def test_one_core_has_no_ratios(monkeypatch):
    monkeypatch.setattr(cycles, "worker_count", lambda: 1)
    findings = run("cycles", 3)
    assert len(findings.panels) == 1
    assert [table.title[:10] for table in findings.tables] == ["undirected"]
    # Behind it may stand that times were unsteady.
    assert "The GPU is not measured: there is none." in findings.remarks


def test_wrong_distances_on_a_cycle_are_a_fault(monkeypatch):
    monkeypatch.setattr(cycles, "run_rung", lambda *_what: np.zeros((4, 4), np.int32))
    with pytest.raises(WarpladderError, match="undirected cycle of 4 vertices"):
        run("cycles", 4)


# ---- versions --------------------------------------------------------------------------------


def test_the_table_of_cf_says_what_cf_says_of_it():
    means = {name: np.mean(taken) for name, taken in versions.TABLE_II.items()}
    launches, flags, register = (means[name] for name in versions._PARALLEL)
    assert round(100 * (1 - flags / launches)) == 43
    assert round(100 * (1 - register / flags), 1) == 16.5
    assert all(len(taken) == 10 for taken in versions.TABLE_II.values())


def test_versions_are_counted():
    rows = {row["rung"]: row for row in run("versions", 8).tables[0].rows}
    # 64 cells are four runs of 16 in one warp, two rows each; every cell takes three loads.
    assert rows["consecutive-cells"]["requests"] == 8 * 16 * 3
    # A pivot for each run, two numbers a cell, and a pivot behind each of the two rows.
    assert rows["pivot-in-run"]["requests"] == 8 * (1 + 2 * 16 + 2)
    assert rows["one-thread"]["requests"] == 3 * 8**3
    # A warp for each row: its pivot, and two numbers for its eight cells at once.
    assert rows["pivot-in-register"]["requests"] == 8 * 8 * 3
    assert [rows[name]["launches"] for name in versions._COUNTED] == [1, 9, 1, 1, 1]


def test_versions_are_timed_beside_cfs_figures():
    findings = run("versions", 4, gpu_sizes=(5,), gpu=Gpu())
    (row,) = findings.tables[-1].rows
    assert row["consecutive-cells"] == pytest.approx(6e-3 / 5)
    assert "0.17 times as long as n launches" in findings.answer[-1]
    assert [panel.title.split(":")[0] for panel in findings.panels] == [
        "CF's figure 2",
        "CF's figure 3",
        "This GPU",
    ]


# ---- block sizes -----------------------------------------------------------------------------


@pytest.fixture
def two_sizes(monkeypatch):
    monkeypatch.setattr(block_size, "_THREADS", (32, 128))
    monkeypatch.setattr(block_size, "_COUNTED", ("sequential-shared", "grid-stride"))
    monkeypatch.setattr(block_size, "_registers", dict)


@pytest.mark.usefixtures("two_sizes")
@pytest.mark.parametrize("n", [33, 1025])
def test_passes_and_barriers_are_those_of_the_tree(n):
    findings = run("block-size", n)
    for row in findings.tables[0].rows[:2]:
        threads, left, passes, barriers = row["threads"], n, 0, 0
        while left > 1:
            blocks = -(-left // threads)
            barriers += blocks * (threads // 32) * (1 + int(np.log2(threads)))
            left, passes = blocks, passes + 1
        assert (row["launches"], row["barriers"]) == (passes, barriers)
    places = findings.tables[1].rows[0]
    assert (places["32"], places["128"], places["registers"]) == (50, 100, None)
    assert "no compiler is at hand" in findings.remarks[-1]


@pytest.mark.usefixtures("two_sizes")
def test_every_rung_with_a_block_of_ones_choice_is_timed(monkeypatch):
    alone = [block_size._find(name) for name in ("sequential-shared", "grid-stride")]
    monkeypatch.setattr(block_size, "_rungs", lambda: alone)
    findings = run("block-size", 40, gpu_sizes=(50,), gpu=Gpu())
    rows = {row["case"]: row["50"] for row in findings.tables[-1].rows}
    passes = {"sequential-shared, 32": 2, "sequential-shared, 128": 1}
    assert {case: rows[case] for case in passes} == pytest.approx(
        {case: 1e-3 * count for case, count in passes.items()}
    )
    assert set(rows) == {*passes, "grid-stride, 32", "grid-stride, 128"}
    assert "sequential-shared 128" in findings.answer[-1]
    assert len(findings.panels) == 2


def test_wrong_sums_are_named():
    rung = block_size._find("sequential-shared")
    problem = rung.task.make(5, 0)
    with pytest.raises(DeviceError, match="sequential-shared with blocks of 64 threads: "):
        block_size._check(rung, problem, rung.task.oracle(problem) + 1, 64)


def test_the_rungs_that_can_choose_are_those_of_rd_and_more():
    names = {rung.name for rung in block_size._rungs()}
    assert {"interleaved-global", "fully-unrolled", "wide-loads", "tuned"} <= names
    assert not names & {"sequential-cpu", "cub-library"}
