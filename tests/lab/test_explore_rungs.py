"""Explorations that run rungs: what they count, against sectors counted by hand with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from choosing import large
from warpladder.errors import DeviceError
from warpladder.lab.explore.exploration import Setting
from warpladder.lab.explore.registry import find_exploration
from warpladder.lab.explore.shortest_paths import barrier, side_by_side
from warpladder.shortest_paths.rungs import row_blocks
from warpladder.shortest_paths.wrong import pivot_without_barrier, return_before_barrier
from warpladder.simulator import SimulatedDevice

SECTOR, NUMBER, WARP, BLOCK = 32, 4, 32, 256


class TimedSimulator(SimulatedDevice):
    """A simulated GPU that takes a millisecond for every launch, two for those of columns."""

    def __init__(self):
        super().__init__(checks=False, counters=False)
        self.kernel_ms = 0.0

    def launch(self, kernel, *rest, **options):
        super().launch(kernel, *rest, **options)
        self.kernel_ms += 2.0 if "column" in kernel.py_func.__name__ else 1.0


def sectors(n, width, *, columns=False):
    """Count the sectors of all loads of all steps, warp by warp, from the addresses themselves."""
    along = np.arange(n)
    total = 0
    for line in range(n):
        for start in range(0, n, WARP):
            lanes = along[start : start + WARP]
            cells = lanes * width + line if columns else line * width + lanes
            # Its own cells are read in every step; and line k is read by every line in step k.
            total += 2 * n * np.unique(cells * NUMBER // SECTOR).size
        total += n * -(-n // BLOCK)  # the shared entry, once per block
    return total


def run(name, *sizes, **options):
    return find_exploration(name).run(Setting(sizes, why_no_gpu="there is none", **options))


@pytest.mark.parametrize("n", [1, 32, 33, 72, *large(2, 31, 61)])
def test_pitch_counts_what_the_addresses_say(n):
    findings = run("pitch", n)
    per_request, in_all = (table.rows[0] for table in findings.tables)
    unpadded, padded = sectors(n, n), sectors(n, -(-n // 32) * 32)
    assert in_all["row-blocks"] == unpadded
    assert in_all["padded-rows"] == padded
    # The pitch reads the matrix once unaligned on its way in, once aligned on its way out.
    copies = (unpadded + padded - 2 * n * n) / (2 * n)
    assert in_all["pitched-rows"] == padded + copies
    assert in_all["saved"] == pytest.approx(100 * (unpadded - padded) / unpadded)
    requests = n * n * (1 + 2 * -(-n // WARP))
    assert per_request["row-blocks"] == pytest.approx(unpadded / requests)
    assert findings.remarks == ("Kernel times are not measured: there is none.",)


@pytest.mark.parametrize("n", [1, 16, 31, 33])
def test_columns_count_what_the_addresses_say(n):
    (table,) = run("columns", n).tables
    (row,) = table.rows
    down = sectors(n, n, columns=True)
    assert row["times"] == pytest.approx(down / sectors(n, n))
    assert row["column-blocks"] == pytest.approx(down / (n * n * (1 + 2 * -(-n // WARP))))


def test_multiples_show_the_jumps():
    table, blocks = (table.rows for table in run("multiples", 31, 32, 33, 40).tables)
    assert [row["requests"] for row in table] == [3, 3, 5, 5]
    for row in table:
        n = row["n"]
        assert row["row-blocks"] == pytest.approx(sectors(n, n) / n**2)
        assert row["padded-rows"] == pytest.approx(sectors(n, -(-n // 32) * 32) / n**2)
    assert table[1]["row-blocks"] == table[1]["padded-rows"]
    assert table[1]["busy"] == 100
    assert {row["n"]: row["warps"] for row in blocks}[256] == 8
    assert {row["n"]: row["warps"] for row in blocks}[257] == 16
    alone = run("multiples", 40)
    assert len(alone.answer) == 1


@pytest.mark.parametrize("name", ["columns", *large("pitch", "multiples")])
def test_on_a_gpu_the_time_of_a_step_is_shown(name):
    findings = run(name, 5, gpu_sizes=(3, 6), gpu=TimedSimulator())
    times = findings.tables[-1]
    assert "GPU" in times.title
    assert [row["n"] for row in times.rows] == [3, 6]
    assert times.rows[1]["row-blocks"] == pytest.approx(1e-3)
    if name == "columns":
        assert times.rows[1]["column-blocks"] == pytest.approx(2e-3)
        assert "2.00 at n = 3, 2.00 at n = 6" in findings.answer[-1]
    if name == "pitch":  # two copies beside the six steps
        assert times.rows[1]["pitched-rows"] == pytest.approx(8e-3 / 6)
    assert len(findings.panels) == 2
    assert "not measured" not in findings.remarks[0]
    assert "the host has launched" in findings.remarks[0]


def test_rungs_that_differ_are_not_timed(monkeypatch):
    real = side_by_side.run_rung

    def off(rung, device, problem):
        return real(rung, device, problem) + (rung.name == "padded-rows")

    monkeypatch.setattr(side_by_side, "run_rung", off)
    with pytest.raises(DeviceError, match=r"row-blocks, padded-rows.* differ .* at n = 3"):
        run("pitch", 2, gpu_sizes=(3,), gpu=TimedSimulator())


@pytest.mark.large
def test_the_barrier_is_needed(monkeypatch):
    # A random order takes as long as the others and shows nothing that they do not; nor do the six
    # warps of each block that have no columns.
    monkeypatch.setattr(barrier, "SCHEDULES", ("lockstep", "warps", "warps-reverse"))
    for rung in (row_blocks, pivot_without_barrier, return_before_barrier):
        monkeypatch.setattr(rung, "THREADS", 64)
    findings = run("barrier", 8, 33)
    entries, reports, lines = findings.tables
    found = {(row["rung"], row["n"]): row for row in entries.rows}
    for n in (8, 33):
        assert not any(found["row-blocks", n][name] for name in barrier.SCHEDULES)
    asked = found["pivot-without-barrier", 33]
    assert asked["lockstep"] == asked["warps"] == 0
    assert asked["warps-reverse"] > 300
    assert not any(found["pivot-without-barrier", 8][name] for name in barrier.SCHEDULES)
    assert found["cleared-flags", 33]["warps"] == "hangs"
    said = {row["rung"]: row["report"] for row in reports.rows}
    assert said["pivot-without-barrier"].startswith("racecheck: ")
    assert said["return-before-barrier"].startswith("synccheck: ")
    named = [row["source"] for row in lines.rows if row["rung"] == "pivot-without-barrier"]
    assert [text.strip() for text in named] == [
        "pivot[0] = dist[i, k]",
        "through = pivot[0] + dist[k, j]",
    ]
    assert findings.answer[0].startswith("Yes. Without it, at n = 33 ")
    assert "At n = 8 the result is right under every schedule" in findings.answer[0]
    (panel,) = findings.panels
    series = {one.name: one.y for one in panel.series}
    assert series["row-blocks"] == (0, 0, 0)
    assert series["cleared-flags"][1] is None


def test_lines_of_other_files_are_not_taken_for_the_kernel_s(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("first\nsecond\nthird\n")
    said = "load at other.py line 1 and store at kernel.py line 3 and at (kernel.py, line 2)"
    assert barrier.named_lines(said, str(file)) == [(2, "second"), (3, "third")]
