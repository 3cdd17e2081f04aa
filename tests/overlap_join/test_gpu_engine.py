"""The GPU engine, on a simulated GPU with all checks, beside a plain comparison of all pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import warpladder as wl
from choosing import large, only
from warpladder.device.properties import known_capabilities, properties_of
from warpladder.overlap_join.forms import Found, Join, Rows
from warpladder.overlap_join.gpu import engine as engines
from warpladder.overlap_join.gpu.engine import GpuEngine
from warpladder.overlap_join.gpu.tuning import Tuning, tuning_for
from warpladder.overlap_join.gpu_counters.sampling import Likeness
from warpladder.overlap_join.measures import MEASURES, Rule, as_rule, counts
from warpladder.simulator import SimulatedDevice

# A kernel is typed for each width of counters, threads, lanes and so on, which takes seconds: tests
# share these, and what does not hang on them takes the first.
#: Few counters, so that a few hundred rows are several blocks: two warps, and all that has a width.
SMALL = Tuning(256, threads=64, lanes=8, in_flight=2)
#: One warp with as many threads to a list, and two rows to a counter.
FOLDED = Tuning(128, fold=2, threads=32, lanes=32, in_flight=2)
#: The 32 commonest ids have bits in place of lists.
SIGNED = Tuning(256, threads=64, lanes=8, in_flight=2, words=1)
COUNT_2 = Rule(0, 2.0)


@pytest.fixture(scope="module")
def gpu() -> SimulatedDevice:
    return SimulatedDevice(counters=False, multiprocessors=16)


@pytest.fixture(scope="module")
def quick_gpu() -> SimulatedDevice:
    return SimulatedDevice(counters=False, checks=False, multiprocessors=16)


def rows_of(sets: list[Any], universe: int) -> Rows:
    items = np.array([item for each in sets for item in sorted(each)], np.int32)
    return Rows(np.cumsum([0, *map(len, sets)], dtype=np.int64), items, universe)


def random_rows(n: int, most: int, universe: int, seed: int) -> Rows:
    """Return rows of up to so many ids, the higher the commoner; some empty, some the same."""
    rng = np.random.default_rng(seed)
    chances = np.arange(1, universe + 1) ** 1.5
    sizes = rng.integers(0, most, n, endpoint=True)
    sets = [rng.choice(universe, size, False, chances / chances.sum()) for size in sizes]
    sets[3::7] = sets[2 : n - 1 : 7][: len(sets[3::7])]
    return rows_of(sets, universe)


def matrix(rows: Rows) -> NDArray[np.int64]:
    found = np.zeros((len(rows), max(rows.universe, 1)), np.int64)
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    found[owner, rows.items] = 1
    return found


def pairs_of(join: Join) -> list[tuple[int, int, int]]:
    """Return left row, right row and what they share, by comparing all."""
    left, right = matrix(join.left), matrix(join.right)
    shared, a, b = left @ right.T, left.sum(1), right.sum(1)
    found = []
    for i, j in zip(*np.nonzero(shared), strict=True):
        meet = i < j or (i != j and join.both_ways) or not join.is_self
        if meet and counts(*join.rule, int(shared[i, j]), int(a[i]), int(b[j])):
            found.append((int(i), int(j), int(shared[i, j])))
    return found


def listed(pieces: list[Found]) -> list[tuple[int, int, int]]:
    found = []
    for piece in pieces:
        left = piece.first + np.repeat(np.arange(len(piece.counts)), piece.counts)
        found += zip(left.tolist(), piece.right.tolist(), piece.shared.tolist(), strict=True)
    return found


def check(engine: GpuEngine, join: Join, first: int = 0, last: int | None = None) -> list[Found]:
    """Compare both answers of an engine with the plain one, and what it says on the way."""
    last = len(join.left) if last is None else last
    expected = [pair for pair in pairs_of(join) if first <= pair[0] < last]
    told: list[int] = []
    counted = engine.counted(first, last, told.append)
    assert sum(told) == last - first
    left, right = ([pair[side] for pair in expected] for side in (0, 1))
    assert counted.pairs == len(expected)
    assert np.array_equal(counted.of_left, np.bincount(left, minlength=len(join.left)))
    assert np.array_equal(counted.of_right, np.bincount(right, minlength=len(join.right)))
    assert counted.of_left.dtype == counted.of_right.dtype == np.int64
    told.clear()
    pieces = list(engine.found(first, last, told.append))
    assert listed(pieces) == expected
    assert sum(told) == last - first
    assert [piece.first for piece in pieces] == [
        first + sum(len(each.counts) for each in pieces[:k]) for k in range(len(pieces))
    ]
    for piece in pieces:
        assert (piece.counts.dtype, piece.right.dtype) == (np.int64, np.int32)
        assert piece.shared.dtype == np.int32
    return pieces


def test_the_four_rows_of_the_source(gpu: SimulatedDevice) -> None:
    sets = [{2, 5, 6, 10, 11}, {5, 10, 11, 15}, {6, 10, 11, 17}, {3, 10, 12, 17}]
    rows = rows_of(sets, 18)
    join = Join(rows, rows, COUNT_2)
    pieces = check(GpuEngine(join, gpu, tuning=SMALL), join)
    assert listed(pieces) == [(0, 1, 3), (0, 2, 3), (1, 2, 2), (2, 3, 2)]


@pytest.mark.parametrize("n", [0, 1, 2, 33, *large(31, 32, 97)])
@pytest.mark.parametrize("both_ways", [False, True])
def test_rows_with_themselves(gpu: SimulatedDevice, n: int, both_ways: bool) -> None:
    rows = random_rows(n, 12, 40, n) if n > 2 else rows_of([{0, 1, 2}, {1, 2}][:n], 3)
    join = Join(rows, rows, COUNT_2, both_ways)
    check(GpuEngine(join, gpu, tuning=SMALL), join)


@pytest.mark.parametrize("n", [33, *large(2, 97)])
def test_rows_divided_by_what_they_are_like(gpu: SimulatedDevice, n: int) -> None:
    rows = random_rows(n, 12, 40, n)
    join = Join(rows, rows, COUNT_2)
    check(GpuEngine(join, gpu), join)


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_block_that_is_just_full(quick_gpu: SimulatedDevice, beyond: int) -> None:
    rows = random_rows(SMALL.row_counters + beyond, 6, 60, 3)
    join = Join(rows, rows, COUNT_2)
    engine = GpuEngine(join, quick_gpu, tuning=SMALL)
    check(engine, join)
    assert len(engine._blocks(SMALL)) == 1 + beyond


@pytest.mark.parametrize(("left", "right"), [(5, 70), (70, 5), (0, 5), (5, 0)])
def test_rows_with_others(gpu: SimulatedDevice, left: int, right: int) -> None:
    sides = [random_rows(n, 10, 30, n) if n else rows_of([], 30) for n in (left, right)]
    join = Join(*sides, COUNT_2)
    check(GpuEngine(join, gpu, tuning=SMALL), join)


TUNINGS = {"plain": SMALL, "folded": FOLDED, "signed": SIGNED}
#: By default the first two. Kernels are given a measure as a number and tell `count` from the
#: others alone: these two go with every tuning, the others with one.
MEASURED = dict(zip(MEASURES[:2], TUNINGS, strict=False))


@pytest.mark.parametrize(
    ("measure", "name"),
    only(
        lambda measure, name: name == MEASURED.get(measure),
        MEASURES,
        TUNINGS,
        where=lambda measure, name: name == "plain" or measure in MEASURED,
    ),
)
def test_every_measure_over_several_blocks(
    quick_gpu: SimulatedDevice, measure: str, name: str
) -> None:
    rows = random_rows(270, 8, 60, 5)
    join = Join(rows, rows, as_rule(measure, 4 if measure == "count" else 0.5))
    assert_counts_and_pairs(quick_gpu, join, TUNINGS[name])


def assert_counts_and_pairs(device: SimulatedDevice, join: Join, tuning: Tuning) -> None:
    if tuning.fold == 1:
        check(GpuEngine(join, device, tuning=tuning), join)
        return
    expected = pairs_of(join)
    counted = GpuEngine(join, device, tuning=tuning).counted(0, len(join.left), lambda _: None)
    for of_side, side in ((counted.of_left, 0), (counted.of_right, 1)):
        every = np.bincount([pair[side] for pair in expected], minlength=len(of_side))
        assert np.array_equal(of_side, every)


@pytest.mark.parametrize(
    ("tuning", "self_join", "both_ways"),
    [(FOLDED, True, False), (SIGNED, True, True), (SMALL, False, False),
     *large((FOLDED, True, True), (FOLDED, False, False), (SIGNED, False, False))],
)  # fmt: skip
def test_with_all_checks(
    gpu: SimulatedDevice, tuning: Tuning, self_join: bool, both_ways: bool
) -> None:
    rows = random_rows(150, 10, 40, 6)
    other = rows if self_join else random_rows(140, 10, 40, 7)
    join = Join(rows, other, as_rule("jaccard", 0.6), both_ways)
    assert_counts_and_pairs(gpu, join, tuning)


def long_rows() -> Rows:
    """Return rows of which some pairs share 255, some 256 and more ids, up to all of 700."""
    rng = np.random.default_rng(1)
    sets = [set(rng.choice(900, 300, replace=False).tolist()) for _ in range(20)]
    one = set(range(700))
    sets += [one, one, set(range(255)), set(range(1, 256)), set(range(256)), set(range(640))]
    sets += [set(), {3}, set(range(445, 900)), set(range(444, 900))]
    return rows_of(sets, 900)


@pytest.mark.large
@pytest.mark.parametrize(
    ("threshold", "tuning"), [(256, SMALL), *large((255, SIGNED), (200, SMALL), (120, FOLDED))]
)
def test_counts_beyond_a_narrow_counter(
    quick_gpu: SimulatedDevice, threshold: int, tuning: Tuning
) -> None:
    rows = long_rows()
    assert_counts_and_pairs(quick_gpu, Join(rows, rows, Rule(0, float(threshold))), tuning)


#: Two that share 300 ids, others that share 255 and 256 with them, and with one another.
WIDE = rows_of([set(range(300)), set(range(300)), set(range(255)), set(range(256)), {3}], 300)


@pytest.mark.parametrize(
    ("rows", "tuning"),
    [(WIDE, SMALL), *large((WIDE, replace(FOLDED, fold=1)), (long_rows(), SMALL))],
)
def test_wider_counters_with_all_checks(gpu: SimulatedDevice, rows: Rows, tuning: Tuning) -> None:
    join = Join(rows, rows, Rule(0, 250.0))
    check(GpuEngine(join, gpu, tuning=tuning), join)


@pytest.mark.large
def test_counts_beyond_16_bits(quick_gpu: SimulatedDevice) -> None:
    long = np.arange(65_600, dtype=np.int32)
    starts = np.array([0, 65_600, 131_200, 131_203], np.int64)
    rows = Rows(starts, np.concatenate([long, long, long[:3]]), 65_600)
    join = Join(rows, rows, Rule(0, 65_590.0))
    # With two warps the simulator takes 16 times as many steps.
    many = Tuning(4096, threads=1024, lanes=8, in_flight=2)
    check(GpuEngine(join, quick_gpu, tuning=many), join)


@pytest.mark.large
def test_a_stretch_of_left_rows(quick_gpu: SimulatedDevice) -> None:
    rows = random_rows(300, 10, 60, 8)
    join = Join(rows, rows, COUNT_2)
    engine = GpuEngine(join, quick_gpu, tuning=SMALL)
    for first, last in ((0, 7), (7, 290), (290, 300), (5, 5)):
        check(engine, join, first, last)


def test_pieces_fit_the_room_for_pairs(quick_gpu: SimulatedDevice) -> None:
    rows = random_rows(120, 12, 30, 9)
    join = Join(rows, rows, COUNT_2)
    engine = GpuEngine(join, quick_gpu, tuning=SMALL, places=500)
    pieces = check(engine, join)
    assert len(pieces) > 3
    assert max(len(piece.right) for piece in pieces) <= 500


def test_candidates_fit_their_room(quick_gpu: SimulatedDevice) -> None:
    rows = random_rows(48, 12, 30, 9)
    join = Join(rows, rows, COUNT_2)
    counted = GpuEngine(join, quick_gpu, tuning=FOLDED, places=130).counted(0, 48, lambda _: None)
    assert counted.pairs == len(pairs_of(join))


def test_few_runs_at_a_time(quick_gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_MOST_RUNS", 50)
    rows = random_rows(120, 12, 30, 9)
    join = Join(rows, rows, COUNT_2)
    assert len(check(GpuEngine(join, quick_gpu, tuning=SMALL), join)) > 1


@pytest.mark.parametrize("tuning", [SMALL, *large(FOLDED)], ids=["small", "folded"])
def test_rows_that_do_not_stay_on_the_device(
    quick_gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, tuning: Tuning
) -> None:
    monkeypatch.setattr(engines, "_STRETCH_SHARE", 400 / quick_gpu.free_bytes())
    monkeypatch.setattr(engines, "_INDEX_SHARE", 0.0)
    rows = random_rows(200, 10, 40, 10)
    join = Join(rows, rows, as_rule("dice", 0.5))
    expected = pairs_of(join)
    engine = GpuEngine(join, quick_gpu, tuning=tuning, places=3000, stays=False)
    assert engine.counted(0, 200, lambda _: None).pairs == len(expected)
    if tuning.fold == 1:
        assert listed(list(engine.found(0, 200, lambda _: None))) == expected


@pytest.mark.parametrize("capability", known_capabilities())
@pytest.mark.parametrize("shared", [0.1, 1.0, 20.0])
def test_a_multiprocessor_has_places_for_the_blocks_meant(
    capability: tuple[int, int], shared: float
) -> None:
    gpu = properties_of(capability)
    tuning = tuning_for(gpu, 1 << 20, Likeness(1000.0, shared, np.zeros(0)), halves=True)
    assert tuning.threads * tuning.resident <= gpu.max_threads_per_multiprocessor
    assert tuning.resident * tuning.counters <= gpu.shared_bytes_per_multiprocessor


@pytest.mark.parametrize("threads", [16, 96, 672])
def test_threads_that_are_no_power_of_two_are_refused(threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads={threads}"):
        Tuning(1 << 14, threads=threads)


def test_rows_that_are_on_the_device(quick_gpu: SimulatedDevice) -> None:
    rows = random_rows(33, 12, 40, 33)
    there = Rows(quick_gpu.to_device(rows.starts), quick_gpu.to_device(rows.items), 40)
    expected = pairs_of(Join(rows, rows, COUNT_2))
    engine = GpuEngine(Join(there, there, COUNT_2), quick_gpu)
    assert listed(list(engine.found(0, 33, lambda _: None))) == expected
    assert engine.counted(0, 33, lambda _: None).pairs == len(expected)


def test_no_rows_have_no_progress(quick_gpu: SimulatedDevice) -> None:
    told: list[float] = []
    wl.overlap_join([], 1, count_only=True, device=quick_gpu, progress=told.append)
    assert told == []


def test_what_progress_raises_passes_through(quick_gpu: SimulatedDevice) -> None:
    rows = random_rows(40, 8, 30, 12)
    engine = GpuEngine(Join(rows, rows, COUNT_2), quick_gpu, tuning=SMALL)

    def stop(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.counted(0, 40, stop)
    with pytest.raises(KeyboardInterrupt):
        list(engine.found(0, 40, stop))


_SETS = st.lists(st.sets(st.integers(0, 19)), min_size=1, max_size=20)


@settings(max_examples=15)
@given(_SETS, _SETS, st.sampled_from(list(product(MEASURES[1:], (0.3, 0.5, 2 / 3, 1.0)))))
def test_any_sets(left: list[set[int]], right: list[set[int]], rule: tuple[str, float]) -> None:
    device = SimulatedDevice(counters=False, checks=False, multiprocessors=1)
    join = Join(rows_of(left, 20), rows_of(right, 20), as_rule(*rule))
    assert_counts_and_pairs(device, join, SMALL)
