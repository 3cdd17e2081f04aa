"""What requests cost is worked out once for each pattern of addresses."""

from __future__ import annotations

import numpy as np
import pytest

from warpladder.simulator.checks import traffic
from warpladder.simulator.checks.traffic import (
    atomic_passes,
    constant_wavefronts,
    cost,
    global_traffic,
    shared_wavefronts,
)
from warpladder.simulator.machine.lanes import Geometry, Lanes

WORKS = (atomic_passes, constant_wavefronts, shared_wavefronts, global_traffic)
SIZES = (1, 2, 4, 8, 12, 16)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(traffic, "_known", {})
    monkeypatch.setattr(traffic, "_remembered", 0)


def lanes_of(threads, chosen=None):
    """Return the threads of two blocks, or some of them."""
    everyone = Lanes(Geometry((2, 1, 1), (threads, 1, 1)), 0, 2)
    return everyone if chosen is None else everyone.take(np.flatnonzero(chosen))


def worked_out(work, lanes, address, size):
    """Cost warp by warp, each one's addresses in a row of their own."""
    rows = []
    for warp in np.unique(lanes.warp):
        row = np.full(32, -1, np.int64)
        row[lanes.lane[lanes.warp == warp]] = address[lanes.warp == warp]
        rows.append(work(row[None], size))
    return tuple(int(total) for total in np.sum(rows, axis=0))


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("threads", [32, 45])
def test_what_is_remembered_is_what_would_be_worked_out(work, size, threads):
    rng = np.random.default_rng(size)
    for chosen in (None, rng.random(2 * threads) < 0.5):
        lanes = lanes_of(threads, chosen)
        pattern = 4096 + size * rng.integers(0, 300, lanes.count)
        # Twice each; moved by less than a line or a bank, which is another pattern, and by more.
        for moved in (0, 0, 1, 4, 32, 128, 4096 + 64, -4096 + 4):
            address = pattern + moved
            assert cost(work, lanes, address, size) == worked_out(work, lanes, address, size)


@pytest.mark.parametrize("work", WORKS[1:])
def test_one_address_for_all(work):
    lanes = lanes_of(64)
    for address in (512, 515, 1024):
        table = np.full((lanes.row_count, 1), address, np.int64)
        assert cost(work, lanes, np.asarray(address), 4) == work(table, 4)


def test_the_same_pattern_is_worked_out_once():
    lanes = lanes_of(64)
    for line in range(10):
        cost(global_traffic, lanes, 128 * line + 4 * lanes.ident, 4)
        cost(shared_wavefronts, lanes, 132 * line + 4 * lanes.ident, 4)
    assert len(traffic._known) == 2


def test_what_is_asked_for_is_part_of_the_pattern():
    lanes = lanes_of(32)
    addresses = 16 * lanes.ident
    for work in WORKS:
        for size in SIZES:
            assert cost(work, lanes, addresses, size) == worked_out(work, lanes, addresses, size)
    assert len(traffic._known) == len(WORKS) * len(SIZES)


def test_who_asks_is_part_of_the_pattern():
    addresses = 4 * np.arange(32)
    whole, halves = lanes_of(16), lanes_of(32, np.arange(64) % 2 == 0)
    assert cost(global_traffic, whole, addresses, 4) == (4, 2, 128)
    assert cost(global_traffic, halves, addresses, 4) == (4, 2, 128)
    one_warp = Lanes(Geometry((1, 1, 1), (32, 1, 1)), 0, 1)
    assert cost(global_traffic, one_warp, addresses, 4) == (4, 1, 128)


def test_only_so_much_is_remembered(monkeypatch):
    lanes = lanes_of(32)
    room = 5 * 8 * lanes.count
    monkeypatch.setattr(traffic, "_MOST_REMEMBERED", room)
    for step in range(1, 30):
        address = 4 * step * lanes.ident
        assert cost(global_traffic, lanes, address, 4) == worked_out(
            global_traffic, lanes, address, 4
        )
        assert sum(len(key[-1]) for key in traffic._known) <= room


def test_who_asks_takes_room_too(monkeypatch):
    monkeypatch.setattr(traffic, "_MOST_REMEMBERED", 20_000)
    rng = np.random.default_rng(7)
    for _ in range(200):
        cost(global_traffic, lanes_of(64, rng.random(128) < 0.5), np.asarray(512), 4)
        kept = [len(who) + len(pattern) for *_, who, pattern in traffic._known]
        assert sum(kept) + traffic._EACH * len(kept) <= 20_000
    assert len(traffic._known) > 10


# --- some of the threads --------------------------------------------------------------------------


def test_some_threads_have_what_they_have_among_all():
    geometry = Geometry((3, 2, 1), (5, 9, 1))
    everyone = Lanes(geometry, 1, 4)
    where = np.flatnonzero(np.arange(everyone.count) % 7 < 3)
    some = everyone.take(where).take(np.arange(0, len(where), 2))
    places = where[::2]
    for name in ("rank", "lane", "slot", "warp", "place", "ident"):
        np.testing.assert_array_equal(getattr(some, name), getattr(everyone, name)[places])
    for axis in range(3):
        for mine, all_of_them in (
            (some.thread[axis], everyone.thread[axis]),
            (some.block[axis], everyone.block[axis]),
        ):
            expected = all_of_them[places] if np.ndim(all_of_them) else all_of_them
            np.testing.assert_array_equal(mine, expected)
    assert some.count == len(places)
    assert some.row_count == len(np.unique(some.warp)) == some.rows()[1]
    np.testing.assert_array_equal(some.rows()[0], np.unique(some.warp, return_inverse=True)[1])
    with pytest.raises(AttributeError, match="colour"):
        _ = some.colour  # type: ignore[attr-defined]
