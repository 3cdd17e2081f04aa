"""Explorations of advection: what they find, against what follows from the schemes."""

from __future__ import annotations

import numpy as np
import pytest

from warpladder.advection.schemes import SCHEMES
from warpladder.lab.explore import measure
from warpladder.lab.explore.advection import halo, precision
from warpladder.lab.explore.advection.around import LINEAR, advance, square, stencil_of
from warpladder.lab.explore.advection.precision import sum_off
from warpladder.lab.explore.exploration import Setting
from warpladder.lab.explore.registry import find_exploration
from warpladder.simulator import SimulatedDevice


def run(name, *sizes, **options):
    return find_exploration(name).run(Setting(sizes, why_no_gpu="there is none", **options))


# --- the schemes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", LINEAR)
@pytest.mark.parametrize("courant", [0.25, 0.5, 1.0])
def test_a_scheme_is_exact_for_polynomials_of_its_order(scheme, courant):
    offsets, (weights,) = (found := stencil_of(scheme, courant)).offsets, found.weights
    order = 1 if scheme in {"lax-friedrichs", "upwind"} else 2
    for power in range(order + 1):
        # The cell at 0 gets what was c to the left of it.
        moved = sum(weights * np.array(offsets, float) ** power)
        assert moved == pytest.approx((-courant) ** power, abs=1e-15)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_at_courant_number_one_cells_go_around(scheme):
    if scheme == "beam-warming":
        assert np.array_equal(advance(scheme, square(12), 1.0, 5), np.roll(square(12), 5))
    moved = advance(scheme, square(12), 1.0, 12)
    assert np.array_equal(moved, square(12))


# --- what they find -------------------------------------------------------------------------------


def test_variances_grow_as_chances_say():
    (table,) = run("diffusion", 400).tables
    assert len(table.rows) == 14
    for row in table.rows:
        # Where a hill reaches around the ring, its variance is not to be had.
        if row["expected_grown"] < 1000:
            assert row["grown"] == pytest.approx(row["expected_grown"], abs=1e-6)
        assert row["peak"] == pytest.approx(row["expected"], rel=0.01)
    by_courant = {(row["scheme"], row["courant"]): row["peak"] for row in table.rows}
    assert by_courant["upwind", 1.0] == by_courant["lax-friedrichs", 1.0] == 1
    assert by_courant["upwind", 0.1] > by_courant["lax-friedrichs", 0.1]


def test_linear_schemes_of_second_order_swing_and_no_others():
    findings = run("schemes", 100)
    rows = {row["scheme"]: row for row in findings.tables[0].rows}
    assert list(rows) == list(SCHEMES)
    swinging = {name for name, row in rows.items() if row["lowest"] < -1e-9}
    assert swinging == {"lax-wendroff", "beam-warming", "fromm"}
    assert {name for name, row in rows.items() if row["highest"] > 1 + 1e-9} == swinging
    assert {name for name, row in rows.items() if row["variation"] > 2 + 1e-9} == swinging
    assert min(rows, key=lambda name: rows[name]["error"]) == "superbee"
    assert max(rows, key=lambda name: rows[name]["error"]) == "lax-friedrichs"
    assert "Below 0 or above 1 go lax-wendroff, beam-warming, fromm;" in findings.answer[1]
    # One panel each for linear schemes and limiters, the exact wave in both.
    assert [len(panel.series) for panel in findings.panels] == [6, 5]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_few_cells_have_a_square_wave_too(n):
    (table,) = run("schemes", n).tables
    assert all(np.isfinite(row["error"]) for row in table.rows)


def test_mass_marches_where_rounded_weights_do_not_add_up_to_one(monkeypatch):
    monkeypatch.setattr(precision, "_STEPS", (10, 4000))
    findings = run("precision", 64)
    rows = {(row["scheme"], row["courant"]): row for row in findings.tables[0].rows}
    assert len(rows) == 12
    for scheme in LINEAR:
        assert rows[scheme, 0.75]["sum"] == 0
        assert abs(rows[scheme, 0.75]["mass"]) < 20
    for scheme in ("lax-wendroff", "beam-warming"):
        row = rows[scheme, 0.7]
        assert row["mass"] == pytest.approx(4000 * row["sum"], rel=0.2)
    assert "mass marches" in findings.answer[1]
    # What differs by nothing at all has no place in a diagram of logarithms.
    assert all(
        y is None or y > 0 for panel in findings.panels for one in panel.series for y in one.y
    )


def test_sums_of_weights():
    assert sum_off("fromm", 0.75) == 0
    weights = np.float32([0.85, 0.15]).astype(float)
    assert sum_off("lax-friedrichs", 0.7) == weights.sum() - 1 != 0


def test_halos_are_counted_as_they_follow_from_the_tile():
    counted, model = run("halo", 3000).tables
    for row in counted.rows:
        assert row["launches"] == 24 // row["depth"]
        assert row["bytes"] == pytest.approx(row["bytes_expected"], rel=0.02)
        assert row["work"] == pytest.approx(row["work_expected"], rel=0.05)
    by_depth = {row["depth"]: row for row in model.rows}
    assert by_depth[128] == {"depth": 128, "256": None, "1024": 4 / 3, "1536": 1.2}


def test_depths_are_timed_on_a_gpu(monkeypatch):
    class Timed(SimulatedDevice):
        kernel_ms = 0.0

        def launch(self, kernel, *rest, **options):
            super().launch(kernel, *rest, **options)
            self.kernel_ms += 1.0

    monkeypatch.setattr(measure, "_ROUNDS", 2)
    monkeypatch.setattr(measure, "_SECONDS_EACH", 0.0)
    monkeypatch.setattr(halo, "_TIMED", (1, 24))
    gpu = Timed(checks=False, counters=False)
    findings = run("halo", 100, gpu_sizes=(200,), gpu=gpu)
    # A launch takes a millisecond here: as many as there are, in seconds.
    assert [row["200"] for row in findings.tables[-1].rows] == pytest.approx([0.024, 0.001])
    assert "at n = 200, 24 steps are fastest, 24.0 times as fast as one" in findings.answer[-1]
    assert findings.remarks == ()
    assert run("halo", 100).remarks == ("Kernel times are not measured: there is none.",)
