"""Explorations of the overlap join: what they count, against what follows from the problem."""

from __future__ import annotations

import numpy as np
import pytest

from warpladder.errors import DeviceError
from warpladder.lab.explore import measure
from warpladder.lab.explore.exploration import Setting
from warpladder.lab.explore.overlap_join import concurrency, updates
from warpladder.lab.explore.overlap_join.concurrency import modelled
from warpladder.lab.explore.registry import find_exploration
from warpladder.simulator import SimulatedDevice


class TimedSimulator(SimulatedDevice):
    """A simulated GPU on which a launch takes a millisecond, or as many as a block has threads."""

    def __init__(self, *, by_threads=False):
        super().__init__(checks=False, counters=False)
        self.kernel_ms = 0.0
        self._by_threads = by_threads

    def launch(self, kernel, grid, block, *rest, **options):
        super().launch(kernel, grid, block, *rest, **options)
        self.kernel_ms += float(block) if self._by_threads else 1.0


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(measure, "_ROUNDS", 2)
    monkeypatch.setattr(measure, "_SECONDS_EACH", 0.0)


def run(name, *sizes, **options):
    return find_exploration(name).run(Setting(sizes, why_no_gpu="there is none", **options))


# --- blocks ---------------------------------------------------------------------------------------


def test_blocks_are_counted_by_whole_warps():
    launch, places = run("blocks", 40).tables
    rows = {row["threads"]: row for row in launch.rows}
    # Rows of 8 ids: two starts, 8 ids, 64 ids to compare them with; row 0 is not met by itself.
    assert rows[1]["requests"] == 39 * 74
    assert rows[32]["requests"] == rows[256]["requests"] == 2 * 74
    assert (rows[1]["warps"], rows[8]["warps"], rows[33]["warps"]) == (40, 5, 4)
    assert rows[1]["busy"] == 1
    assert rows[32]["sectors"] > 10
    filled = {row["threads"]: row for row in places.rows}
    assert filled[33]["filled"] == pytest.approx(100 * 33 / 64)
    assert filled[1000]["filled"] == pytest.approx(100 * 1000 / 1024)
    # By the places of CUDA's table: 64 warps and 32 blocks, 48 and 16, 64 and 32.
    assert [filled[32][one] for one in ("6.1", "8.6", "9.0")] == pytest.approx([50, 100 / 3, 50])
    assert filled[1024]["8.6"] == pytest.approx(100 * 32 / 48)


def test_blocks_are_timed_on_a_gpu():
    findings = run("blocks", 17, gpu_sizes=(20,), gpu=TimedSimulator(by_threads=True))
    rows = {row["threads"]: row["20"] for row in findings.tables[-1].rows}
    assert rows[256] == pytest.approx(0.256)
    assert "at n = 20, blocks of 1 threads are fastest, 1.0 times" in findings.answer[-1]
    assert "They fill no warp" in findings.answer[-1]
    assert findings.remarks == ()
    assert run("blocks", 17).remarks == ("Kernel times are not measured: there is none.",)


# --- updates ------------------------------------------------------------------------------


def test_every_case_goes_wrong_as_it_is_said_to():
    findings = run("updates", 5)
    wrong, cost = ({row["rung"]: row for row in table.rows} for table in findings.tables)
    bad = {name: {one for one in updates.SCHEDULES if row[one]} for name, row in wrong.items()}
    assert bad["id-per-thread"] == set(updates.SCHEDULES)
    assert {"warps"} <= bad["sum-without-barrier"] <= {"warps", "warps-random"}
    assert bad["parts-by-increment"] == {"lockstep"}
    right = ("unrolled", "shared-flags", "ballot-count", "parts-by-atomics", "atomics")
    assert not any(bad[name] for name in right)
    # Ten pairs of five rows: a place for either order, from both of two blocks.
    assert cost["parts-by-atomics"]["atomics"] == 10 * 2 * 2
    assert cost["shared-flags"]["barriers"] == 10 * 2
    assert cost["shared-flags"]["shared"] == 10 * 64
    assert not any(cost["ballot-count"][key] for key in ("barriers", "shared", "atomics"))
    assert "Wrong under every schedule: '1: += by all'." in findings.answer[0]
    assert "'2: flags, then +=' (under lockstep)" in findings.answer[0]


def test_cases_are_timed_on_a_gpu():
    findings = run("updates", 2, gpu_sizes=(17,), gpu=TimedSimulator())
    assert [row["17"] for row in findings.tables[-1].rows] == pytest.approx(5 * [1e-3])
    assert "at n = 17, " in findings.answer[-1]


def test_cases_that_differ_are_not_timed(monkeypatch):
    monkeypatch.setattr(updates, "_TIMED", ("unrolled", "parts-by-increment"))
    with pytest.raises(DeviceError, match="parts-by-increment and unrolled differ at n = 4"):
        run("updates", 2, gpu_sizes=(4,), gpu=TimedSimulator())


# --- concurrency ----------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [1, 2, 3, 8, 100])
def test_the_model_is_that_of_three_engines(chunks):
    assert modelled(1, chunks, 1, 1, 1) == 3
    assert modelled(2, chunks, 1, 1, 1) == pytest.approx(2 + 1 / chunks)
    assert modelled(3, chunks, 1, 1, 1) == pytest.approx(1 + 2 / chunks)
    # The longest is never hidden, and the ends of the others are not.
    assert modelled(3, chunks, 1, 10, 1) == pytest.approx(10 + 2 / chunks)
    assert modelled(3, chunks, 4, 1, 2) == pytest.approx(4 + 3 / chunks)
    assert modelled(2, chunks, 4, 1, 2) == pytest.approx(4 + 1 / chunks + 2)


def test_ways_differ_in_launches_and_kernels_in_waves():
    ways, _, waves = run("concurrency", 2048).tables
    assert [row["launches"] for row in ways.rows] == [1, 8, 8]
    assert {row["sectors"] for row in ways.rows} == {256}
    # 132 multiprocessors with places for 8 blocks of 256 threads.
    assert {row["blocks"]: (row["behind"], row["beside"]) for row in waves.rows} == {
        66: (2, 1), 264: (2, 1), 528: (2, 1), 1056: (2, 2), 2112: (4, 4), 8448: (16, 16)
    }  # fmt: skip


def test_ways_and_kernels_are_timed_on_a_gpu(monkeypatch):
    monkeypatch.setattr(concurrency, "_REPEATS", 1)
    monkeypatch.setattr(concurrency, "_PARTS_OF_PLACES", (0, 1 / 264))
    findings = run("concurrency", 64, gpu_sizes=(100,), gpu=TimedSimulator())
    ways, kernels = findings.tables[-2:]
    assert [row["way"] for row in ways.rows] == [
        *("pipeline-serial", "pipeline-two-way", "pipeline-three-way"),
        *("pipeline-three-way, pageable", "pipeline-three-way, default stream"),
    ]
    assert all(row["100"] > 0 for row in ways.rows)
    assert [row["blocks"] for row in kernels.rows] == [1, 4]
    assert "as part of the time of pipeline-serial: pipeline-two-way" in findings.answer[2]
    assert "with 4 blocks" in findings.answer[3]


def test_what_a_device_lacks_is_not_asked_of_it():
    asked = []

    class Gpu:
        def pinned(self, shape, dtype):
            asked.append("pinned")
            return np.empty(shape, dtype)

        def launch(self, *_args, stream=None):
            asked.append(stream)

        to_device = to_host = launch

    for options in ({"pinned": False}, {"streams": False}, {}):
        device = concurrency._Without(Gpu(), **options)
        device.pinned(3, np.int32)
        device.launch(None, 1, 1, stream="s")
        device.to_device(None, stream="s")
        device.to_host(None, stream="s")
    assert asked == [*3 * ["s"], "pinned", *3 * [None], "pinned", *3 * ["s"]]


def test_ways_that_differ_are_not_timed(monkeypatch):
    real = concurrency.run

    def off(rung, device, problem):
        return real(rung, device, problem) + (rung.name == "pipeline-two-way")

    monkeypatch.setattr(concurrency, "run", off)
    with pytest.raises(DeviceError, match="pipeline-two-way and pipeline-serial leave other words"):
        run("concurrency", 64, gpu_sizes=(64,), gpu=TimedSimulator())
