"""Devices on which reductions run, sizes at which few numbers are many tiles, ways looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from numpy.typing import NDArray

from warpladder.reduction import api
from warpladder.reduction.gpu import stream
from warpladder.reduction.memory import layout
from warpladder.reduction.shortcuts import few, views
from warpladder.simulator import SimulatedDevice


@pytest.fixture(autouse=True)
def _as_if_not_called(request: pytest.FixtureRequest) -> Iterator[None]:
    """How arrays are cut is remembered; with other sizes of tiles it is not to be."""
    changes_sizes = "monkeypatch" in request.fixturenames
    if changes_sizes:
        _forget_ways()
    yield
    if changes_sizes:
        _forget_ways()


def _forget_ways() -> None:
    few.known_ways.clear()
    for remembered in (few.answer, few.answer_to, views._way_to):
        remembered.cache_clear()


@pytest.fixture(scope="module")
def gpu() -> SimulatedDevice:
    return SimulatedDevice(counters=False, checks=False, multiprocessors=1)


@pytest.fixture(scope="module")
def strict_gpu() -> SimulatedDevice:
    return SimulatedDevice(counters=False, multiprocessors=1)


@pytest.fixture
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "TILE_BYTES", 1 << 13)
    monkeypatch.setattr(layout, "_TILES", 1 << 30)
    monkeypatch.setattr(layout, "CACHED_BYTES", 1 << 13)
    monkeypatch.setattr(stream, "_LEAST_TILE_BYTES", 1 << 13)
    monkeypatch.setattr(stream, "_MOST_TILE_BYTES", 1 << 13)
    monkeypatch.setattr(stream, "_LEAST_PIECE_BYTES", 1 << 10)


@pytest.fixture
def longer_ways(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of the arrays that were left to longer ways."""
    noted, answer = [], api.answer_of_view

    def noting(values: NDArray[Any], *options: Any) -> Any:
        noted.append(values)
        return answer(values, *options)

    monkeypatch.setattr(api, "answer_of_view", noting)
    return noted
