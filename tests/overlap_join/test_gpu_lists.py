"""The GPU join's index: where lists stand, what is in them, and what fills them up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpladder.errors import TooLargeError
from warpladder.overlap_join.gpu.index import bounds_of_blocks
from warpladder.overlap_join.gpu_counters import lists
from warpladder.overlap_join.gpu_counters.lists import SPARE, build_lists, most_postings
from warpladder.simulator import SimulatedDevice


def lists_of(sets, ids, counters, first=0):
    """Return the list of each id as it stands, what fills it up included, and where it ends."""
    device = SimulatedDevice(counters=False)
    items = np.array([9] * first + [each for one in sets for each in sorted(one)], np.int32)
    starts = first + np.cumsum([0, *map(len, sets)], dtype=np.int64)
    span = int(starts[0]), int(starts[-1])
    there = device.to_device(starts), device.to_device(items)
    index = build_lists(device, *there, span, ids, counters)
    kind = np.uint16 if counters + SPARE <= 1 << 16 else np.uint32
    ends, postings = device.to_host(index.ends), device.to_host(index.postings).view(kind)
    in_load = 16 // postings.itemsize
    assert postings.size % in_load == 0
    found = []
    for end, next_end in pairwise(ends):
        begin = -(-int(end) // in_load) * in_load
        full = -(-int(next_end) // in_load) * in_load
        found.append((postings[begin:next_end], postings[next_end:full]))
    return found


def check(sets, ids, counters, first=0):
    for code, (rows, fill) in enumerate(lists_of(sets, ids, counters, first)):
        expected = sorted(row % counters for row, one in enumerate(sets) if code in one)
        assert sorted(rows.tolist()) == expected
        # Spare ones, each the last byte of its word, and no two neighbours in one word.
        spare = fill.astype(np.int64) - counters
        assert ((spare >= 0) & (spare < SPARE) & (spare % 4 == 3)).all()
        assert len(set(spare.tolist())) == len(spare)


@settings(max_examples=25)
@given(
    st.lists(st.sets(st.integers(0, 9)), max_size=40),
    st.sampled_from((4, 32, 65_504, 65_508)),
    st.integers(0, 3),
)
def test_each_id_has_the_rows_that_have_it(sets, counters, first):
    check(sets, 10, counters, first)


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 31, 32, 33])
def test_lists_around_the_postings_of_a_load(rows):
    check([{0, 2}] * rows, 3, 64)


@pytest.mark.parametrize("at_a_time", [200, 1000])
def test_lists_are_written_some_ids_at_a_time(monkeypatch, at_a_time):
    monkeypatch.setattr(lists, "_BYTES_AT_A_TIME", at_a_time)
    rng = np.random.default_rng(0)
    sizes = [0, 1, 31, 32, 33, 64, 65, 96, 100, *rng.integers(0, 100, 20)]
    sets = [set(rng.choice(100, size, replace=False).tolist()) for size in sizes]
    check(sets, 90, 64, first=3)
    check(sets, 100, 16)
    check(sets, 1, 32)


def test_ids_that_have_bits_have_no_list():
    check([{0, 3, 4}, {4}], 4, 32)


def test_an_index_has_no_more_places_than_32_bits_count():
    for ids in (1, 14_000_000, 300_000_000, 1 << 31):
        postings = most_postings(ids)
        # Each of them may be alone on its list.
        assert postings + 7 * min(ids, postings) < 1 << 32
        assert postings < 1 << 31


def test_a_row_of_too_many_ids_is_refused():
    many = most_postings(1 << 31) + 1
    with pytest.raises(TooLargeError, match=f"one has {many:,} ids.*device='cpu'"):
        build_lists(SimulatedDevice(), np.zeros(2), np.zeros(0), (0, many), 1 << 31, 32)


def test_blocks_keep_to_it():
    starts = np.array([0, 4, 4, 9, 30, 31])
    assert bounds_of_blocks(starts, 10, 9) == [(0, 3), (3, 4), (4, 5)]
