"""The benchmark of advection on GPUs, tried on a simulated one with few cells."""

from __future__ import annotations

import sys

import pytest

from warpladder.simulator import SimulatedDevice

LIMITS = {"float32_per_second": 2e12, "float64_per_second": 1e12, "copy_bytes_per_second": 8e12}


class Timed(SimulatedDevice):
    """A launch takes a millisecond."""

    kernel_ms = 0.0

    def reset_kernel_ms(self):
        self.kernel_ms = 0.0

    def launch(self, kernel, *rest, **options):
        super().launch(kernel, *rest, **options)
        self.kernel_ms += 1.0


@pytest.fixture
def bench(program):
    pytest.importorskip("cuda.core")
    return program("gpu_advection")


def upwind(bench, dtype):
    return bench.stencil_of("upwind", 0.5, dtype)


@pytest.fixture
def gpu():
    return Timed(checks=False, counters=False)


@pytest.mark.numba_cuda
def test_the_engine_is_checked(bench, gpu, monkeypatch, capsys):
    # Five linear schemes, and four limiters both ways.
    everything = bench.rules("float32", systems=2)
    assert len(everything) == 13
    assert {len(one.offsets) for one in everything.values()} == {2, 3, 4}
    monkeypatch.setattr(bench, "rules", lambda dtype: {"upwind": upwind(bench, dtype)})
    # Three kinds of ends, two dtypes.
    assert [row["good"] for row in bench.check(gpu, (3,), 2)] == 6 * [True]
    assert "6 of 6 checks passed" in capsys.readouterr().out


@pytest.mark.numba_cuda
def test_what_differs_is_told(bench, gpu, monkeypatch, capsys):
    real = bench.GpuEngine.advance
    monkeypatch.setattr(bench.GpuEngine, "advance", lambda *given: real(*given) + 1)
    monkeypatch.setattr(bench, "rules", lambda dtype: {"upwind": upwind(bench, dtype)})
    assert not any(row["good"] for row in bench.check(gpu, (3,), 2))
    assert "WRONG: upwind, copy, 3 float32: " in capsys.readouterr().out


# By default the other check is, which goes the same way.
@pytest.mark.large
@pytest.mark.numba_cuda
def test_strips_of_every_length_are_checked(bench, gpu, monkeypatch, capsys):
    monkeypatch.setattr(bench, "STRIPS", {4: (8, 16), 8: (8,)})
    rows = bench.check_strips(gpu, 700, 3)
    assert [row["good"] for row in rows] == 6 * [True]
    assert "6 of 6 checks of strips passed" in capsys.readouterr().out


@pytest.mark.numba_cuda
@pytest.mark.skipif(sys.platform == "win32", reason="a program that is a script")
def test_what_convstencil_prints_is_read(bench, tmp_path):
    program = tmp_path / "convstencil_1d"
    program.write_text('#!/bin/sh\necho "Time = 1[ms]"\necho "GStencil/s = $(($2 * $3)).5"\n')
    program.chmod(0o755)
    (row,) = bench.time_convstencil(program, (100,), 10)
    # Three steps to a pass: four passes.
    assert row["T_per_second"] == 0.4005
    assert bench.time_convstencil(None, (100,), 10) == []


@pytest.mark.numba_cuda
def test_the_ladder_is_timed_by_its_launches(bench, gpu):
    rows = {row["case"]: row for row in bench.time_ladder(gpu, (40,), LIMITS)}
    assert len(rows) == 7
    assert all(row["right"] for row in rows.values())
    assert rows["warp-shuffle"]["kernel_ms"] == 24
    assert rows["steps-per-tile"]["kernel_ms"] == 1
    assert rows["warp-shuffle"]["T_per_second"] == pytest.approx(40 / 1e-3 / 1e12)
    assert rows["warp-shuffle"]["percent_of_registers"] == pytest.approx(100 * 4e4 / 2e12)


@pytest.mark.numba_cuda
def test_the_engine_is_timed_and_compared(bench, gpu, monkeypatch):
    monkeypatch.setattr(bench, "_rate", lambda *_given: 1e12)
    rows = bench.time_engine(gpu, (40,), LIMITS, 2)
    by_case = {row["case"]: row for row in rows}
    assert by_case["lax-friedrichs, float32"]["percent_of_registers"] == 50
    # Three neighbours are three operations.
    assert by_case["lax-wendroff, float64"]["percent_of_registers"] == pytest.approx(150)
    assert by_case["upwind, float32"]["times_a_plain_step_s_bound"] == 1
    asked = bench.targets([{**row, "n": 1 << 26} for row in rows])
    assert [one["name"] for one in asked] == [
        "2^26 cells: T cell steps/s",
        "2^26 cells: % of registers",
    ]
    assert not any(one["met"] for one in asked)


@pytest.mark.numba_cuda
def test_rates_of_calls(bench, gpu):
    (row,) = [one for one in bench.time_limiters(gpu, (40,), 1) if one["case"] == "minmod"]
    assert row["T_per_second"] > 0
    shapes = bench.time_shapes(gpu, (256,), (2, 100), 2)
    assert shapes[0]["2"] > 0
    # A tile of 256 cells would lose most of them; a longer strip has more than there are.
    assert shapes[0]["100"] == shapes[1]["2"] == ""
