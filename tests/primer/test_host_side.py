"""What the host does: which streams and which memory, and how many blocks it asks for.

The kernels of these rungs are alike, and so are their counters; what they teach is in the calls.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warpladder.primer.ladder import LADDER
from warpladder.primer.rungs import asynchronous_launch
from warpladder.simulator import SimulatedDevice


class Watched:
    """A simulated device that notes what is asked of it, in order."""

    def __init__(self, **options: Any) -> None:
        self._device = SimulatedDevice(counters=False, checks=False, **options)
        self._streams: list[Any] = []
        self.calls: list[tuple[str, Any]] = []
        self.grids: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def stream(self, **options: Any) -> Any:
        self._streams.append(self._device.stream(**options))
        return self._streams[-1]

    def pinned(self, shape, dtype):
        self.calls.append(("pinned", None))
        return self._device.pinned(shape, dtype)

    def synchronize(self):
        self.calls.append(("synchronize", None))
        self._device.synchronize()

    def to_device(self, *args, stream=None, **options):
        self._note("up", stream)
        return self._device.to_device(*args, stream=stream, **options)

    def to_host(self, *args, stream=None, **options):
        self._note("down", stream)
        return self._device.to_host(*args, stream=stream, **options)

    def launch(self, kernel, grid, *args, stream=None, **options):
        self._note("kernel", stream)
        self.grids.append(grid)
        self._device.launch(kernel, grid, *args, stream=stream, **options)

    def _note(self, what: str, stream: Any) -> None:
        number = None if stream is None else self._streams.index(stream)
        self.calls.append((what, number))

    def of(self, what: str) -> list[Any]:
        """Return the streams on which something was done, by number; None is the default one."""
        return [stream for call, stream in self.calls if call == what]


def watched(name: str, n: int, **options: Any) -> Watched:
    """Return what a rung asked for, and hold its answer against the oracle's."""
    rung = LADDER.find(name)
    device, problem = Watched(**options), rung.task.make(n, 0)
    found, expected = rung.run(device, problem), rung.task.oracle(problem)
    assert np.array_equal(found, expected)
    return device


@pytest.mark.parametrize(
    ("name", "pinned", "up", "kernels", "down"),
    [
        ("pipeline-pageable", 0, [None], [None], [None]),
        ("pipeline-serial", 2, [0], [0], [0]),
        ("pipeline-default-stream", 2, [None] * 8, [None] * 8, [None] * 8),
        ("pipeline-two-way", 2, [0], [*range(1, 9)], [*range(1, 9)]),
        ("pipeline-three-way", 2, [*range(8)], [*range(8)], [*range(8)]),
    ],
)
def test_streams_and_memory_of_a_pipeline(name, pinned, up, kernels, down):
    device = watched(name, 2048)
    assert len(device.of("pinned")) == pinned
    assert (device.of("up"), device.of("kernel"), device.of("down")) == (up, kernels, down)


def test_on_the_default_stream_chunks_go_one_after_the_other():
    calls = [call for call, _ in watched("pipeline-default-stream", 2048).calls if call != "pinned"]
    assert calls == ["up", "kernel", "down"] * 8


def test_uploads_of_a_three_way_pipeline_stand_behind_nothing():
    calls = [call for call, _ in watched("pipeline-three-way", 2048).calls if call != "pinned"]
    assert calls[:8] == ["up"] * 8


@pytest.mark.parametrize(
    ("name", "streams"), [("kernels-in-turn", [0, 0]), ("kernels-side-by-side", [0, 1])]
)
def test_two_kernels_of_few_blocks_on_one_stream_or_two(name, streams):
    device = watched(name, 4096, multiprocessors=8)
    assert device.of("kernel") == streams
    # A quarter of the multiprocessors have a block each.
    assert device.grids == [2, 2]


@pytest.mark.parametrize(
    ("name", "grids"),
    [
        # One warp each; 8 blocks of 256 threads are all that a multiprocessor of 9.0 holds.
        ("few-warps", [3]),
        ("independent-loads", [3]),
        ("occupancy-grid", [1, 24]),
        ("vector-add-grid-stride", [24]),
    ],
)
def test_grids_are_as_large_as_the_device(name, grids):
    assert watched(name, 30_000, multiprocessors=3).grids == grids


@pytest.mark.parametrize("n", [1, 31, 100, 384, 385, 700])
def test_four_loads_at_a_time_miss_no_element(n):
    # 96 threads: the first step is cut off in each of its four parts, and so is the second.
    watched("independent-loads", n, multiprocessors=3)


def test_an_error_word_is_read_behind_a_wait():
    rung = LADDER.find("error-word")
    device = Watched()
    rung.run(device, rung.task.make(96, 0))
    assert [call for call, _ in device.calls] == ["up", "kernel", "synchronize", "down", "down"]


def test_the_host_adds_its_half_before_it_waits(monkeypatch):
    order: list[str] = []
    device = Watched()
    monkeypatch.setattr(device, "_note", lambda what, _stream: order.append(what))
    noting = SimpleNamespace(
        add=lambda *args, **options: (order.append("host"), np.add(*args, **options)),
        empty_like=np.empty_like,
    )
    monkeypatch.setattr(asynchronous_launch, "np", noting)
    rung = LADDER.find("asynchronous-launch")
    problem = rung.task.make(100, 0)
    rung.run(device, problem)
    assert order == ["up", "up", "kernel", "host", "down"]
