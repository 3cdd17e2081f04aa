"""Sums of masks against NumPy's, and joins whose rows fill several panels, segments and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import warpladder as wl
from choosing import large
from warpladder.formats.sets import Sets
from warpladder.overlap_join import cpu, frequencies, groups, plan, slices
from warpladder.overlap_join.coding import coded
from warpladder.overlap_join.forms import Join
from warpladder.overlap_join.lanes import COPIED
from warpladder.overlap_join.listing import END, place_of
from warpladder.overlap_join.masks import aligned_words
from warpladder.overlap_join.measures import as_rule
from warpladder.overlap_join.plan import Way
from warpladder.overlap_join.sliced_lists import _row_of
from warpladder.overlap_join.uncoded import UncodedRows

WORDS, ROWS = slices.WORDS, slices.ROWS


@njit
def add_and_compare(table, places, fresh, levels, least, words, marked, counters):
    """Sum the first masks, add the others, mark, and unpack: what a row does in one panel."""
    slices.sum_masks(words, WORDS, levels, table, 0, places, 0, fresh)
    slices.add_masks(words, WORDS, levels, table, 0, places, fresh, len(places) - fresh)
    for word in range(WORDS):
        slices.unpack(words, WORDS + word, levels, counters[word])
    return slices.mark_at_least(words, WORDS, levels, least, marked, WORDS)


def bits_of(words: Any) -> Any:
    return np.unpackbits(np.asarray(words, np.uint64).view(np.uint8), bitorder="little")


@settings(max_examples=30)
@given(
    masks=st.integers(0, 12), fresh=st.integers(0, 12), spare=st.integers(0, 3),
    seed=st.integers(0, 99), density=st.sampled_from([0.02, 0.5, 1.0]),
)  # fmt: skip
def test_counts_are_sums_of_masks(
    masks: int, fresh: int, spare: int, seed: int, density: float
) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.random((masks * slices.AT_ONCE, ROWS)) < density
    table = np.packbits(chosen, axis=1, bitorder="little").view(np.uint64).reshape(-1)
    expected = chosen.sum(axis=0)
    levels = max(slices.LEAST_LEVELS, len(chosen).bit_length()) + spare
    least = int(rng.integers(0, len(chosen) + 2))
    words = np.full((levels + 2) * WORDS, 77, np.uint64)
    marked, counters = np.zeros(3 * WORDS, np.uint64), np.zeros((WORDS, 64), np.uint32)
    pairs = add_and_compare(
        table, np.arange(len(chosen), dtype=np.int32) * WORDS, min(fresh, masks) * slices.AT_ONCE,
        levels, least, words, marked, counters,
    )  # fmt: skip
    assert counters.reshape(-1).tolist() == expected.tolist()
    assert bits_of(marked[WORDS : 2 * WORDS]).tolist() == (expected >= least).tolist()
    assert pairs == (expected >= least).sum()
    # Nothing is written beside.
    assert set(words[:WORDS]) == set(words[-WORDS:]) == {77}
    assert not marked[:WORDS].any()
    assert not marked[2 * WORDS :].any()


@settings(max_examples=30)
@given(
    masks=st.integers(0, 5), fresh=st.integers(0, 5), seed=st.integers(0, 99),
    levels=st.sampled_from([slices.FEWEST_LEVELS, slices.LEAST_LEVELS, slices.LEAST_LEVELS + 1]),
    density=st.sampled_from([0.02, 0.3, 1.0]),
)  # fmt: skip
def test_counts_in_too_few_slices_pass_thresholds_all_the_same(
    masks: int, fresh: int, seed: int, levels: int, density: float
) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.random((masks * slices.AT_ONCE, ROWS)) < density
    table = np.packbits(chosen, axis=1, bitorder="little").view(np.uint64).reshape(-1)
    places = np.arange(len(chosen), dtype=np.int32) * WORDS
    for least in range(1, (1 << (levels - 1)) + 1):
        words = np.full((levels + 2) * WORDS, 77, np.uint64)
        marked, counters = np.zeros(3 * WORDS, np.uint64), np.zeros((WORDS, 64), np.uint32)
        pairs = add_and_compare(
            table, places, min(fresh, masks) * slices.AT_ONCE, levels, least, words, marked,
            counters,
        )  # fmt: skip
        is_enough = chosen.sum(axis=0) >= least
        assert bits_of(marked[WORDS : 2 * WORDS]).tolist() == is_enough.tolist()
        assert pairs == is_enough.sum()
        assert set(words[:WORDS]) == set(words[-WORDS:]) == {77}


def product_of(sets: Sets, other: Sets | None = None) -> Any:
    """Return how many ids each pair of rows shares, by a dense product."""
    sides = []
    for side in (sets, sets if other is None else other):
        owner = np.repeat(np.arange(len(side)), np.diff(side.starts))
        dense = np.zeros((len(side), 1 + max(sets.items.max(), side.items.max())), np.float32)
        dense[owner, side.items] = 1
        sides.append(dense)
    width = min(side.shape[1] for side in sides)
    return (sides[0][:, :width] @ sides[1][:, :width].T).astype(np.int64)


def check(
    sets: Sets, masks: int, threshold: int, other: Sets | None = None, *, at_once: bool = False
) -> None:
    codes = coded(sets, other)
    join = Join(codes.left, codes.right, as_rule("count", threshold))
    engine = cpu.CpuEngine(join, Way("slicing", 0, 0.1, "", masks=masks, at_once=at_once))
    shared = product_of(sets, other)
    is_pair = shared >= threshold
    if other is None:
        is_pair = np.triu(is_pair, 1)
    lefts, rights = np.nonzero(is_pair)
    done: list[int] = []
    found = [
        (np.repeat(np.arange(piece.first, piece.first + len(piece.counts)), piece.counts), piece)
        for piece in engine.found(0, len(sets), done.append)
    ]
    assert sum(done) == len(sets)
    np.testing.assert_array_equal(np.concatenate([left for left, _ in found]), lefts)
    np.testing.assert_array_equal(np.concatenate([one.right for _, one in found]), rights)
    np.testing.assert_array_equal(
        np.concatenate([one.shared for _, one in found]), shared[lefts, rights]
    )
    counted = engine.counted(0, len(sets), lambda _: None)
    assert counted.pairs == len(lefts)
    np.testing.assert_array_equal(counted.of_left, is_pair.sum(axis=1))
    np.testing.assert_array_equal(counted.of_right, is_pair.sum(axis=0))


def sets_of(n: int, universe: int, most: int, seed: int, odds: float = 1.0) -> Sets:
    """Return rows of up to so many distinct ids, low ones far more often."""
    rng = np.random.default_rng(seed)
    rows = [
        np.unique((universe * rng.random(size) ** (1 + odds)).astype(np.int64))
        for size in rng.integers(0, most + 1, n)
    ]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Sets(starts, np.concatenate(rows))


@pytest.mark.parametrize(
    ("n", "masks", "at_once"),
    [
        *((ROWS - 1, 0, False), (ROWS, 300, True), (ROWS + 1, 37, False)),
        *((2 * ROWS + 607, 0, True), (2 * ROWS + 607, 37, False)),
        *large((ROWS - 1, 37, True), (ROWS - 1, 300, False), (ROWS, 0, False), (ROWS, 37, True)),
        *large((ROWS + 1, 0, True), (ROWS + 1, 300, True), (2 * ROWS + 607, 300, False)),
    ],
)
def test_rows_of_several_panels(n: int, masks: int, at_once: bool) -> None:
    check(sets_of(n, 300, 25, n), masks, 3, at_once=at_once)


@pytest.mark.parametrize(
    ("masks", "at_once"), [(40, True), (300, False), *large((40, False), (300, True))]
)
def test_other_rows(masks: int, at_once: bool) -> None:
    check(
        sets_of(700, 300, 25, 1), masks, 4, sets_of(ROWS + 90, 300, 30, 2), at_once=at_once
    )  # fmt: skip


@pytest.mark.parametrize(
    ("masks", "threshold"),
    [(0, 2), (60, 9), *large((3, 2), (60, 1), (0, 9), (3, 1))],
)
def test_lists_met_at_once_carry_through_all_slices(masks: int, threshold: int) -> None:
    # Lists of a few rows are copied, longer ones are not; rows share up to 40 ids.
    check(sets_of(ROWS + 90, 60, 300, 7, odds=0), masks, threshold, at_once=True)
    check(sets_of(ROWS + 90, 3000, 40, 8, odds=0), masks, threshold, at_once=True)


@pytest.mark.parametrize(
    ("measure", "threshold", "masks"),
    [
        *(("count", 2, 0), ("count", 9, 40), ("jaccard", 0.2, 5), ("cosine", 0.4, 0)),
        *(("dice", 0.4, 40), ("containment", 0.6, 5)),
        *large(("count", 2, 5), ("count", 2, 40), ("count", 9, 0), ("jaccard", 0.2, 0)),
        *large(("cosine", 0.4, 40), ("dice", 0.4, 5), ("containment", 0.6, 0)),
    ],
)
def test_what_is_met_at_once_is_what_counting_finds(
    measure: str, threshold: float, masks: int
) -> None:
    sets, other = sets_of(ROWS + 70, 40, 25, 5), sets_of(ROWS - 30, 45, 25, 6)
    for codes, both_ways in (
        (coded(sets), False),
        (coded(sets), True),
        (coded(sets, other), False),
    ):
        join = Join(codes.left, codes.right, as_rule(measure, threshold), both_ways)
        ways = Way("slicing", 0, 0.1, "", masks=masks, at_once=True), Way("counting", 1, 0.1, "")
        pairs = [[], []]
        for way, pieces in zip(ways, pairs, strict=True):
            engine = cpu.CpuEngine(join, way)
            for piece in engine.found(0, len(sets), lambda _: None):
                owner = piece.first + np.repeat(np.arange(len(piece.counts)), piece.counts)
                pieces.append(np.stack([owner, piece.right, piece.shared]))
            counted = engine.counted(0, len(sets), lambda _: None)
            pieces[:] = [np.concatenate(pieces, axis=1)]
            assert counted.pairs == pieces[0].shape[1] > 0
            pieces += [counted.of_left, counted.of_right]
        for one, same in zip(*pairs, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    ("masks", "threshold", "threads"),
    [
        *((0, 1, 1), (1, 2, 3), (7, 3, 1), (40, 1, 3)),
        *large((0, 2, 3), (0, 3, 1), (1, 1, 3), (1, 3, 1), (7, 2, 1), (40, 2, 1), (40, 3, 3)),
    ],
)
def test_rows_are_listed_as_they_were_given(
    masks: int, threshold: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "_IDS_PER_WORKER", 8)
    monkeypatch.setattr(frequencies, "worker_count", lambda: threads)
    sets = sets_of(ROWS + 70, 400, 30, threshold)
    # The least id is not 0, and every second one is in no row.
    sets = Sets(sets.starts, 2 * sets.items + 77)
    rows = coded(sets).left
    assert isinstance(rows, UncodedRows)
    assert len(rows.counted.cuts) == threads + 1
    check(sets, masks, threshold, at_once=True)
    # Codes are there when they are asked for, each as often as it was said to be.
    np.testing.assert_array_equal(np.bincount(rows.items), rows.occurring.of_each)


@pytest.mark.parametrize("threshold", [1, 2, 3])
@pytest.mark.parametrize("masks", [0, 2])
def test_lists_about_as_long_as_what_is_copied_of_them(masks: int, threshold: int) -> None:
    # Ids in so many rows each; of the longest, as many rows as are copied at once stand behind one.
    counts = [1, 2, COPIED - 1, COPIED, COPIED + 1, COPIED + 2, 2 * COPIED, 2 * COPIED + 1] * 3
    rng = np.random.default_rng(threshold)
    n = 3 * COPIED
    chosen = np.zeros((n, len(counts)), np.bool_)
    for number, count in enumerate(counts):
        chosen[rng.permutation(n)[:count], number] = True
    # Rows without ids, at the end too.
    chosen[[0, 20, n - 1]] = False
    sets = Sets(np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]), np.nonzero(chosen)[1])
    assert isinstance(coded(sets).left, UncodedRows)
    check(sets, masks, threshold, at_once=True)


def test_as_many_rows_as_are_listed_as_they_were_given() -> None:
    # One more, and what stands behind lists would be a row.
    for n in (END, END + 1):
        items = np.concatenate([np.arange(n) // 2, np.arange(n) // 3 + n]).reshape(2, n).T
        sets = Sets(np.arange(n + 1, dtype=np.int64) * 2, np.ascontiguousarray(items).reshape(-1))
        codes = coded(sets)
        assert isinstance(codes.left, UncodedRows) == (n == END)
        join = Join(codes.left, codes.right, as_rule("count", 2))
        way = Way("slicing", 0, 0.1, "", masks=1, at_once=True)
        counted = cpu.CpuEngine(join, way).counted(0, n, lambda _: None)
        # Of six neighbours three pairs are of one half and of one third.
        rows = np.arange(n - 1)
        expected = (rows // 2 == (rows + 1) // 2) & (rows // 3 == (rows + 1) // 3)
        assert counted.pairs == expected.sum()
        np.testing.assert_array_equal(counted.of_left[:-1], expected)


@pytest.mark.parametrize("levels", [slices.FEWEST_LEVELS, slices.LEAST_LEVELS])
def test_tallies_become_slices_by_the_rows_they_are_of(levels: int) -> None:
    slice_half = slices.slice_in_two if levels == slices.FEWEST_LEVELS else slices.slice_in_four

    @njit
    def slice_all(places, times, tallies, words):
        for row in range(len(times)):
            places[row] = place_of(row)
            tallies[places[row]] = (1 << times[row]) - 1
        slice_half(tallies, 0, words, 0)
        slice_half(tallies, ROWS // 2, words, WORDS // 2)

    times = np.random.default_rng(levels).integers(0, 9, ROWS)
    places, tallies = np.zeros(ROWS, np.int64), np.zeros(ROWS, np.uint8)
    words = np.full((levels + 1) * WORDS, 77, np.uint64)
    slice_all(places, times, tallies, words)
    assert sorted(places.tolist()) == list(range(ROWS))
    assert [_row_of.py_func(place) for place in places] == list(range(ROWS))
    assert not tallies.any()
    expected = [times >= 1, times >= 2]
    if levels > slices.FEWEST_LEVELS:
        expected = [times >> level & 1 for level in range(levels)]
    for level, bits in enumerate(expected):
        found = bits_of(words[level * WORDS : (level + 1) * WORDS])
        assert found.tolist() == bits.astype(int).tolist()
    assert set(words[levels * WORDS :].tolist()) == {77}


@pytest.mark.parametrize("change", ["order", "twice"])
def test_rows_that_do_not_ascend_are_coded_first(change: str) -> None:
    sets = sets_of(300, 60, 20, 5)
    items = sets.items.copy()
    begin = int(sets.starts[np.diff(sets.starts).argmax()])
    items[begin : begin + 2] = items[begin : begin + 2][::-1] if change == "order" else items[begin]
    sets = Sets(sets.starts, items)
    assert not isinstance(coded(sets).left, UncodedRows)
    check(sets, 9, 2, at_once=True)


@pytest.mark.parametrize("shared", [1, 2, 7, 8, 9, 255, 256, 257])
@pytest.mark.parametrize("n", [9, 40])
def test_rows_that_share_more_lists_than_tallies_tell(n: int, shared: int) -> None:
    # Any two rows share so many ids; a byte that counts takes 256 for none.
    rows = np.stack([np.append(np.arange(shared), shared + i) for i in range(n)])
    sets = Sets(np.arange(n + 1) * (shared + 1), rows.reshape(-1))
    codes = coded(sets)
    for threshold in (1, 2, 3, 7, 8, 9, 255, 256, 257):
        join = Join(codes.left, codes.right, as_rule("count", threshold))
        engine = cpu.CpuEngine(join, Way("slicing", 0, 0.1, "", at_once=True))
        counted = engine.counted(0, n, lambda _: None)
        assert counted.pairs == (n * (n - 1) // 2 if shared >= threshold else 0)


def test_more_than_255_shared_ids_in_lists_and_masks_met_at_once() -> None:
    rng = np.random.default_rng(3)
    n, size = 70, 700
    rows = np.sort(np.stack([rng.permutation(800)[:size] for _ in range(n)]), axis=1)
    sets = Sets(np.arange(n + 1) * size, rows.reshape(-1))
    assert np.triu(product_of(sets), 1).max() > 511
    for masks in (0, 300, 800):
        for threshold in (2, 300, 620):
            check(sets, masks, threshold, at_once=True)


def test_ids_of_one_row_each_have_no_list_to_be_met_at_once() -> None:
    sets = Sets(np.array([0, 3, 6, 9]), np.array([0, 1, 9, 0, 2, 8, 0, 3, 7]))
    codes = coded(sets)
    join = Join(codes.left, codes.right, as_rule("count", 1))
    way = Way("slicing", 0, 0.1, "", lone=6, masks=1, at_once=True)
    assert cpu.CpuEngine(join, way).counted(0, 3, lambda _: None).pairs == 3


def test_more_hot_ids_met_at_once_than_a_segment_has() -> None:
    universe = 2 * groups.MASKS_AT_ONCE
    sets = sets_of(300, universe, 500, 3, odds=0)
    check(sets, universe - 700, 40, at_once=True)


def test_of_thousands_of_hot_ids_all_may_have_masks() -> None:
    # Each id is in a third of the rows: no list is worth its while, however many masks are tried.
    rng = np.random.default_rng(4)
    n, universe = 1500, groups.MASKS_AT_ONCE + 1001
    chosen = rng.random((n, universe)) < 0.3
    chosen[0] = True
    sets = Sets(np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]), np.nonzero(chosen)[1])
    codes = coded(sets)
    join = Join(codes.left, codes.right, as_rule("count", 2))
    total = float(np.dot(codes.occurring.listed, codes.occurring.rows)) / 2
    _, masks, at_once = plan._slicing_of(join, codes.occurring, codes.occurring, total)
    assert masks == universe
    assert not at_once


def test_few_hot_ids_and_many_rare_ones_are_met_at_once() -> None:
    rng = np.random.default_rng(1)
    n, size = 6 * ROWS, 100
    items = (250_000 * rng.random(n * size) ** 3).astype(np.int64)
    sets = Sets(np.arange(n + 1) * size, items)
    codes = coded(sets)
    join = Join(codes.left, codes.right, as_rule("count", 2))
    way = plan.choose_way(join, codes.occurring)
    assert way.name == "slicing"
    assert way.at_once
    assert 0 < way.masks < 2 * groups.MASKS_AT_ONCE
    counted = wl.overlap_join(sets, 2, count_only=True)
    other = Way("counting", 1, way.seconds, "", way.lone)
    expected = cpu.CpuEngine(join, other).counted(0, n, lambda _: None)
    assert counted.pairs == expected.pairs
    np.testing.assert_array_equal(counted.degrees, expected.of_left + expected.of_right)


@pytest.mark.parametrize("at_once", [False, True])
def test_only_rows_met_at_once_need_room_for_copies_of_their_lists(at_once: bool) -> None:
    size = groups._LISTED // COPIED
    sets = Sets(np.array([0, size, 2 * size]), np.tile(np.arange(size), 2))
    codes = coded(sets)
    join = Join(codes.left, codes.right, as_rule("count", 2))
    engine = cpu.CpuEngine(join, Way("slicing", 0, 0.1, "", masks=1, at_once=at_once))
    assert (len(engine._new_scratch(0).listed) > groups._LISTED) == at_once
    assert engine.counted(0, 2, lambda _: None).pairs == 1


def test_masks_of_several_segments_and_rows_of_many_ids() -> None:
    universe = 2 * groups.MASKS_AT_ONCE + 900
    sets = sets_of(ROWS + 70, universe, 500, 3, odds=0)
    assert len(np.unique(sets.items)) > 2 * groups.MASKS_AT_ONCE
    check(sets, universe - 500, 40)


@pytest.mark.parametrize("threshold", [3, *large(2, 9)])
def test_rows_that_share_enough_before_all_their_masks_are_added(threshold: int) -> None:
    universe = 2 * groups.MASKS_AT_ONCE + 900
    sets = sets_of(ROWS + 70, universe, 1500, threshold, odds=0.2)
    check(sets, universe - 500, threshold)


def test_masks_of_many_segments_are_all_added_where_no_row_is_done() -> None:
    universe = 4 * groups.MASKS_AT_ONCE + 900
    sets = sets_of(90, universe, 1500, 5, odds=0)
    assert len(np.unique(sets.items)) > 4 * groups.MASKS_AT_ONCE
    check(sets, len(np.unique(sets.items)), 60)


def test_counts_that_fill_their_last_slice_long_before_they_are_enough() -> None:
    # More than 2^12 of 5,000 are shared when two of three segments have been added.
    n, size = ROWS + 3, 2 * groups.MASKS_AT_ONCE + 904
    sets = Sets(np.arange(n + 1) * size, np.tile(np.arange(size), n))
    check(sets, size, size)


def test_more_rows_than_a_group_has_and_more_pairs_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sets = sets_of(groups.GROUP + 700, 40, 6, 4)
    monkeypatch.setattr(cpu, "_LEAST_KEPT", 1)
    monkeypatch.setattr(cpu, "worker_count", lambda: 1)
    monkeypatch.setattr(cpu, "_STRETCHES_PER_WORKER", 1)
    check(sets, 30, 2)


def test_degrees_beyond_what_slices_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    # 2^16 rows meet the last one, and one thread visits all: its degree is added up in between.
    monkeypatch.setattr(cpu, "worker_count", lambda: 1)
    monkeypatch.setattr(cpu, "_STRETCHES_PER_WORKER", 1)
    n = (1 << groups.DEGREE_LEVELS) + groups.GROUP + 5
    starts = np.arange(n + 1)
    rows = Sets(starts, np.zeros(n, np.int64))
    codes = coded(rows)
    join = Join(codes.left, codes.right, as_rule("count", 1))
    counted = cpu.CpuEngine(join, Way("slicing", 0, 0.01, "", masks=1)).counted(
        0, n, lambda _: None
    )
    assert counted.pairs == n * (n - 1) // 2
    np.testing.assert_array_equal(counted.of_right, np.arange(n))


def test_words_of_a_table_begin_a_line() -> None:
    for count in (1, 8, 1000):
        words = aligned_words(count)
        assert len(words) == count
        assert words.ctypes.data % 64 == 0
        assert not words.any()


def test_lists_that_are_too_long_have_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Most rows have the first id; more than a list of rows behind one may have.
    longest = 1000
    monkeypatch.setattr(plan, "LONGEST_LIST", longest)
    n = longest + 10
    starts = np.arange(0, 2 * n + 1, 2)
    items = np.stack([np.zeros(n, np.int64), 1 + np.arange(n) // 2], axis=1).reshape(-1)
    codes = coded(Sets(starts, items))
    join = Join(codes.left, codes.right, as_rule("count", 2))
    assert plan.choose_way(join, codes.occurring).name != "gathering"
    # As if lists cost nothing.
    nanoseconds, masks, _ = plan._slicing_of(join, codes.occurring, codes.occurring, 0.0)
    assert nanoseconds < float("inf")
    assert masks >= 1
    assert wl.overlap_join(Sets(starts, items), 2, count_only=True).pairs == n // 2
