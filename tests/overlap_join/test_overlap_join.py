"""The call against brute force: every measure, every way, both sides, and what is refused."""

from __future__ import annotations

import math
from itertools import chain, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpladder as wl
from choosing import large, only
from warpladder.errors import InputError, InputTypeError, TooLargeError
from warpladder.overlap_join import cpu, plan, prepared
from warpladder.overlap_join.coding import coded
from warpladder.overlap_join.forms import Join
from warpladder.overlap_join.intake import as_sets
from warpladder.overlap_join.measures import MEASURES, as_rule
from warpladder.overlap_join.occurring import Occurring
from warpladder.overlap_join.plan import Way, choose_way, updates_of
from warpladder.overlap_join.sample import expected_pairs_of

IM_ROWS = {1: {2, 5, 6, 10, 11}, 2: {5, 10, 11, 15}, 3: {6, 10, 11, 17}, 4: {3, 10, 12, 17}}
WAYS = [Way("counting", 0, 0.1, ""), Way("counting", 1, 0.1, ""), Way("counting", 2, 0.1, ""),
        Way("slicing", 0, 0.1, ""), Way("slicing", 0, 0.1, "", masks=5),
        Way("slicing", 0, 0.1, "", masks=1 << 20), Way("gathering", 0, 0.1, ""),
        Way("prefixes", 0, 0.1, "")]  # fmt: skip


def name_of(way: Way) -> str:
    return f"{way.name}{way.hot_bytes or way.masks}"


Row = list[int]
Pair = tuple[int, int, int]


def alike(measure: str, a: set[int], b: set[int]) -> float:
    shared = len(a & b)
    if not shared:
        return 0.0
    return {
        "count": float(shared),
        "jaccard": shared / len(a | b),
        "cosine": shared / math.sqrt(len(a) * len(b)),
        "dice": 2 * shared / (len(a) + len(b)),
        "containment": shared / min(len(a), len(b)),
    }[measure]


def brute(
    rows: list[Row], measure: str, threshold: float, other: list[Row] | None = None
) -> list[Pair]:
    lefts = [set(row) for row in rows]
    rights = lefts if other is None else [set(row) for row in other]
    return [
        (i, j, len(a & b))
        for i, a in enumerate(lefts)
        for j, b in enumerate(rights)
        if (other is not None or i < j) and alike(measure, a, b) >= threshold
    ]


def found(way: Way, rows: list[Row], measure: str, threshold: float, other: Any = None,
          both_ways: bool = False) -> list[Pair]:  # fmt: skip
    codes = coded(as_sets(rows, "rows"), None if other is None else as_sets(other, "other"))
    join = Join(codes.left, codes.right, as_rule(measure, threshold), both_ways)
    hot = way.hot_bytes if 8 * way.hot_bytes <= join.right.universe else 0
    masks = min(way.masks, join.right.universe)
    engine = cpu.CpuEngine(join, Way(way.name, hot, way.seconds, "", masks=masks))
    pairs: list[Pair] = []
    done = []
    for first, counts, right, shared in engine.found(0, len(join.left), done.append):
        left = np.repeat(np.arange(first, first + len(counts)), counts)
        pairs += zip(left.tolist(), right.tolist(), shared.tolist(), strict=True)
    assert sum(done) == len(join.left)
    counted = engine.counted(0, len(join.left), lambda _: None)
    assert counted.pairs == len(pairs)
    lefts, rights = ([pair[side] for pair in pairs] for side in (0, 1))
    assert counted.of_left.tolist() == np.bincount(lefts, minlength=len(join.left)).tolist()
    assert counted.of_right.tolist() == np.bincount(rights, minlength=len(join.right)).tolist()
    return pairs


def random_rows(n: int, universe: int, most: int, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    # A few ids that most rows have, the others rare, and some rows empty.
    odds = 1 / np.arange(1, universe + 1)
    odds /= odds.sum()
    return [
        rng.choice(universe, rng.integers(0, most + 1), p=odds).tolist() for _ in range(n)
    ]  # fmt: skip


def test_the_sources_rows() -> None:
    answer = wl.overlap_join(IM_ROWS, 2)
    assert isinstance(answer, wl.Overlaps)
    assert answer.groups() == {1: [2, 3], 2: [1, 3], 3: [1, 2, 4], 4: [3]}
    assert list(answer) == [(1, 2, 3), (1, 3, 3), (2, 3, 2), (3, 4, 2)]


@pytest.mark.parametrize("way", WAYS, ids=name_of)
@pytest.mark.parametrize("n", [0, 1, 2, 32, 33, *large(31, 61, 130), 197])
def test_every_way_finds_what_brute_force_finds(n: int, way: Way) -> None:
    rows = random_rows(n, 40, 12, n)
    for measure, threshold in [("count", 1), ("count", 3), ("jaccard", 0.5), ("cosine", 0.4),
                               ("dice", 0.6), ("containment", 0.75)]:  # fmt: skip
        assert found(way, rows, measure, threshold) == brute(rows, measure, threshold)


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_every_way_joins_with_other_rows_and_from_both_rows(way: Way) -> None:
    rows, other = random_rows(75, 40, 12, 1), random_rows(130, 50, 9, 2)
    for measure, threshold in [("count", 2), ("jaccard", 0.4)]:
        expected = brute(rows, measure, threshold, other)
        assert found(way, rows, measure, threshold, other) == expected
        once = brute(rows, measure, threshold)
        twice = sorted(once + [(j, i, shared) for i, j, shared in once])
        assert found(way, rows, measure, threshold, both_ways=True) == twice


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_rows_of_more_ids_than_a_byte_counts(way: Way) -> None:
    rng = np.random.default_rng(5)
    rows = [rng.choice(700, size, replace=False).tolist() for size in (254, 255, 256, 257, 600, 3)]
    rows.append(list(range(700)))
    for threshold in (1, 90, 255, 256, 257):
        assert found(way, rows, "count", threshold) == brute(rows, "count", threshold)


@pytest.mark.parametrize("way", only(WAYS[:1].__contains__, WAYS[:2]), ids=name_of)
def test_long_rows_of_which_few_share_more_than_a_byte_counts(way: Way) -> None:
    rng = np.random.default_rng(6)
    rows = [rng.choice(3000, 300, replace=False).tolist() for _ in range(130)]
    # Pairs that share 300, 256, 255 and 250 ids, and signatures may add the last of them.
    for first, shared in ((0, 300), (3, 256), (60, 255), (99, 250)):
        rows[first + 1] = rows[first][:shared] + list(range(3000, 3300 - shared))
    for threshold in (2, 40, 255):
        assert found(way, rows, "count", threshold) == brute(rows, "count", threshold)


def test_ids_of_one_row_and_ids_that_a_row_has_twice() -> None:
    # What is listed twice by one row looks more frequent than it is.
    rows = [[0, 1, 1], [0, 2, 3, 3], [4, 4, 5], [1, 5, 6, 6, 6]]
    for threshold in (1, 2):
        assert list(wl.overlap_join(rows, threshold)) == brute(rows, "count", threshold)
    counted = wl.overlap_join([[0, 0], [1, 1]], 1, count_only=True)
    assert counted.pairs == 0


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_more_rows_than_a_block_has(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    # Blocks of 64 rows, so that there are several of them, the last one with a few rows.
    monkeypatch.setattr(cpu, "BLOCK_BITS", 6)
    rows = random_rows(131, 30, 8, 7)
    assert found(way, rows, "count", 2) == brute(rows, "count", 2)
    other = random_rows(70, 30, 8, 8)
    assert found(way, rows, "count", 2, other) == brute(rows, "count", 2, other)


def test_pairs_that_do_not_fit_where_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_LEAST_KEPT", 1)
    rows = [[1, 2, 3]] * 70
    for way in WAYS:
        assert found(way, rows, "count", 2) == brute(rows, "count", 2)


def test_gathering_in_slots_and_in_counters() -> None:
    # Lists of the hottest id are longer than the slots hold, those of the last row's ids are not.
    rows = [[0, i % 7 + 1, i % 11 + 20, i % 400 + 100] for i in range(2300)]
    rows += [[5000, 5001, 120], [5000, 5001, 120, 121]]
    by_gathering = found(WAYS[3], rows, "count", 3)
    assert by_gathering == found(WAYS[0], rows, "count", 3)
    assert by_gathering[-1] == (2300, 2301, 3)
    sets = [set(row) for row in rows]
    assert all(len(sets[i] & sets[j]) == shared for i, j, shared in by_gathering)


rows_of_sets = st.lists(st.lists(st.integers(0, 12), max_size=9), max_size=14)


@given(rows=rows_of_sets, measure=st.sampled_from(MEASURES), part=st.integers(1, 6),
       whole=st.integers(1, 6), other=st.none() | rows_of_sets)  # fmt: skip
@settings(max_examples=60)
def test_thresholds_at_their_edge(
    rows: list[Row], measure: str, part: int, whole: int, other: list[Row] | None
) -> None:
    threshold = part if measure == "count" else min(part, whole) / max(part, whole)
    expected = brute(rows, measure, threshold, other)
    answer = wl.overlap_join(rows, threshold, other=other, measure=measure)  # type: ignore[arg-type]
    assert list(answer) == expected
    for way in WAYS[1:]:
        assert found(way, rows, measure, threshold, other) == expected


@given(rows=rows_of_sets, k=st.integers(1, 4), measure=st.sampled_from(MEASURES))
@settings(max_examples=60)
def test_the_best_of_each_row(rows: list[Row], k: int, measure: str) -> None:
    threshold = 1 if measure == "count" else 0.1
    sets = [set(row) for row in rows]
    expected = []
    for i, a in enumerate(sets):
        values = [(-alike(measure, a, b), j) for j, b in enumerate(sets) if j != i]
        best = sorted((value, j) for value, j in values if -value >= threshold)[:k]
        expected += [(i, j, len(a & sets[j])) for _, j in best]
    answer = wl.overlap_join(rows, threshold, measure=measure, top_k=k)  # type: ignore[arg-type]
    assert list(answer) == expected
    counts = wl.overlap_join(rows, threshold, measure=measure, top_k=k, count_only=True)  # type: ignore[arg-type]
    assert counts.pairs == len(expected)


def test_counts_and_degrees() -> None:
    rows = random_rows(150, 40, 10, 3)
    pairs = brute(rows, "count", 2)
    counts = wl.overlap_join(rows, 2, count_only=True)
    assert isinstance(counts, wl.OverlapCounts)
    both = [row for pair in pairs for row in pair[:2]]
    assert counts.pairs == len(pairs)
    assert counts.degrees.tolist() == np.bincount(both, minlength=150).tolist()
    other = random_rows(40, 40, 10, 4)
    against = wl.overlap_join(rows, 2, other=other, count_only=True)
    lefts, rights, _ = zip(*brute(rows, "count", 2, other), strict=True)
    assert against.degrees.tolist() == np.bincount(lefts, minlength=150).tolist()
    assert against.other_degrees.tolist() == np.bincount(rights, minlength=40).tolist()


def test_stop_ids_are_left_out() -> None:
    rows = [[0, 1], [0, 1], [0, 2], [0, 2, 3]]
    assert list(wl.overlap_join(rows, 1, max_frequency=2)) == [(0, 1, 1), (2, 3, 1)]
    assert list(wl.overlap_join(rows, 1, max_frequency=0.5)) == [(0, 1, 1), (2, 3, 1)]
    assert list(wl.overlap_join(rows, 1, max_frequency=0.49)) == []
    assert len(wl.overlap_join(rows, 1, max_frequency=4)) == 6


@pytest.mark.parametrize(
    "ids",
    [
        lambda i: i - 30,
        lambda i: (i - 20) << 57,
        lambda i: f"id {i}",
        lambda i: 10**12 + 977 * i,
    ],
)
def test_any_ids(ids: Any) -> None:
    rows = random_rows(60, 40, 10, 11)
    named = [[ids(i) for i in row] for row in rows]
    other = random_rows(30, 60, 10, 12)
    named_other = [[ids(i) for i in row] for row in other]
    assert list(wl.overlap_join(named, 2)) == brute(rows, "count", 2)
    against = wl.overlap_join(named, 2, other=named_other)
    assert list(against) == brute(rows, "count", 2, other)


def test_plan() -> None:
    rows = random_rows(300, 60, 12, 9)
    sets = [set(row) for row in rows]
    plan = wl.overlap_join.plan(rows, 2)
    assert plan.updates == sum(len(a & b) for i, a in enumerate(sets) for b in sets[i + 1 :])
    # There are few rows, so all of them are the sample.
    assert plan.expected_pairs == len(brute(rows, "count", 2))
    assert plan.expected_pairs <= plan.most_pairs <= plan.updates // 2
    assert plan.method in {"slicing", "counting", "gathering", "prefixes"}
    assert (plan.engine, plan.rows, plan.other_rows) == ("cpu", 300, None)
    assert "updates" in str(plan)
    other = random_rows(100, 60, 12, 10)
    against = wl.overlap_join.plan(rows, 2, other=other)
    assert against.updates == sum(len(a & set(b)) for a, b in product(sets, other))
    assert against.expected_pairs == len(brute(rows, "count", 2, other))


def test_a_sample_tells_about_how_many_pairs_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpladder.overlap_join import sample

    monkeypatch.setattr(sample, "_SAMPLED_IDS", 3000)
    monkeypatch.setattr(sample, "_SAMPLED_ROWS", 400)
    rows = random_rows(1500, 60, 12, 9)
    codes = coded(as_sets(rows, "rows"))
    join = Join(codes.left, codes.right, as_rule("count", 2))
    pairs = cpu.CpuEngine(join, WAYS[0]).counted(0, 1500, lambda _: None).pairs
    # 500 x 400 of a million pairs, of which a third count.
    assert expected_pairs_of(join) == pytest.approx(pairs, rel=0.1)


def test_ids_that_very_many_rows_have_are_coded_by_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from warpladder.overlap_join import coding

    monkeypatch.setattr(coding, "_OFTEN", 4)
    rows = random_rows(90, 25, 12, 21)
    codes = coded(as_sets([sorted(set(row)) for row in rows], "rows"))
    expected = sorted(np.bincount(list(chain(*map(set, rows)))).tolist())
    assert codes.occurring.of_each.tolist() == [count for count in expected if count]
    assert codes.occurring.of_each.tolist() == np.bincount(codes.left.items).tolist()
    assert list(wl.overlap_join(rows, 3)) == brute(rows, "count", 3)


@pytest.mark.parametrize("often", [3, 9])
def test_ids_that_several_threads_code_come_by_counts_and_then_in_their_own_order(
    often: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warpladder.overlap_join import coding, frequencies

    monkeypatch.setattr(coding, "_OFTEN", often)
    monkeypatch.setattr(frequencies, "_IDS_PER_WORKER", 4)
    monkeypatch.setattr(frequencies, "worker_count", lambda: 3)
    rng = np.random.default_rng(often)
    counts = rng.integers(0, 7, 50)
    items = rng.permutation(np.repeat(np.arange(50), counts))
    codes = coded(as_sets(items[:, np.newaxis], "rows"))
    ids = np.argsort(counts, kind="stable")[(counts == 0).sum() :]
    assert codes.occurring.of_each.tolist() == counts[ids].tolist()
    assert ids[codes.left.items].tolist() == items.tolist()


@pytest.mark.parametrize("universe", [2, 120, 3000, 200_000, *large(400_000)])
def test_rows_of_codes_of_any_width_are_sorted(universe: int) -> None:
    rng = np.random.default_rng(universe)
    # All ids are there, so that codes are as wide as the universe; a few rows are short.
    sizes = [universe, 0, 1, 32, 33, *rng.integers(33, 400, 60).tolist(), 5]
    rows = [rng.permutation(universe)[:size] for size in sizes]
    codes = coded(as_sets(rows, "rows"))
    counts = np.bincount(np.concatenate(rows), minlength=universe)
    ids = np.argsort(counts, kind="stable")
    for row, begin, end in zip(rows, codes.left.starts, codes.left.starts[1:], strict=False):
        own = codes.left.items[begin:end]
        assert (np.diff(own) > 0).all()
        assert sorted(ids[own].tolist()) == sorted(row.tolist())


@pytest.mark.parametrize("size", [3, 60])
def test_ids_that_rows_have_twice_are_in_so_many_rows_less(size: int) -> None:
    rng = np.random.default_rng(size)
    rows = rng.integers(0, 40, (50, size))
    codes = coded(as_sets(rows, "rows"))
    distinct = [len(set(row)) for row in rows.tolist()]
    assert np.diff(codes.left.starts).tolist() == distinct
    assert sum(distinct) < rows.size
    assert codes.occurring.of_each.tolist() == np.bincount(codes.left.items).tolist()
    against = coded(as_sets(rng.integers(0, 40, (20, size)), "rows"), as_sets(rows, "other"))
    assert (
        against.occurring.of_each.tolist()
        == np.bincount(against.right.items, minlength=40).tolist()
    )


@settings(max_examples=40)
@given(
    seed=st.integers(0, 999), most=st.integers(1, 12), odds=st.floats(0, 3),
    threshold=st.floats(0.1, 1),
)  # fmt: skip
def test_prefixes_are_not_given_up_where_they_cost_less(
    seed: int, most: int, odds: float, threshold: float
) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (30 * rng.random(size) ** (1 + odds)).astype(int) for size in rng.integers(1, most + 1, 60)
    ]
    codes = coded(as_sets(rows, "rows"))
    join = Join(codes.left, codes.right, as_rule("jaccard", threshold))
    total = float(np.dot(codes.occurring.listed, codes.occurring.rows)) / 2
    cost = plan._matching_of(join, codes.occurring, total, math.inf)
    assert plan._matching_of(join, codes.occurring, total, cost) == cost


def test_the_way_that_is_chosen() -> None:
    def way(rows: Any, threshold: float = 2, measure: str = "count") -> Way:
        codes = coded(as_sets(rows, "rows"))
        return choose_way(
            Join(codes.left, codes.right, as_rule(measure, threshold)), codes.occurring
        )

    rng = np.random.default_rng(1)
    sparse = rng.integers(0, 40_000, (40_000, 4))
    assert way(sparse).name == "gathering"
    common = rng.integers(0, 500, (2000, 20))
    assert (way(common).name, way(common).masks) == ("slicing", 500)
    few = way(rng.integers(0, 2000, (100, 20)))
    assert (few.name, few.masks, few.why) == ("slicing", 0, "rows share some")
    # Of 512 rows one or two have an id: too few for masks.
    scarce = rng.integers(1, 8001, (8000, 20))
    assert (way(scarce).name, way(scarce).hot_bytes) == ("counting", 0)
    hot = np.concatenate([np.zeros((8000, 1), int), scarce], axis=1)
    assert (way(hot).name, way(hot).hot_bytes) == ("counting", 1)
    # Half of each row's ids are its own: too many for a pair to share so many.
    own = 1000 + np.arange(30_000 * 10).reshape(30_000, 10)
    half = np.concatenate([rng.integers(0, 300, (30_000, 10)), own], axis=1)
    assert way(half, 11).name == "prefixes"


def test_updates_beyond_64_bits_are_counted() -> None:
    codes = coded(as_sets([[1, 2], [1]], "rows"))
    join = Join(codes.left, codes.left, as_rule("count", 1))
    of_one = (1 << 30) * ((1 << 31) - 1)
    assert updates_of(join, Occurring(np.array([1, 1 << 31]))) == of_one
    assert updates_of(join, Occurring(np.array([1, 1 << 31]), np.array([9, 3]))) == 3 * of_one


@pytest.mark.parametrize("n", [3, 60, 5000])
@pytest.mark.parametrize("threshold", [1, 2, 9])
def test_classes_of_ids_tell_the_same_way_as_all_ids(n: int, threshold: int) -> None:
    rng = np.random.default_rng(n)
    rows = [np.unique((900 * rng.random(40) ** 3).astype(int)) for _ in range(n)]
    codes = coded(as_sets(rows, "rows"))
    join = Join(codes.left, codes.right, as_rule("count", threshold))
    each = Occurring(codes.occurring.of_each)
    assert len(each.rows) > len(codes.occurring.rows)
    assert choose_way(join, codes.occurring) == choose_way(join, each)
    assert updates_of(join, codes.occurring) == updates_of(join, each)
    for most in (0, 1, 7, 100, 900, 1000):
        hottest = codes.occurring.hottest(most).tolist()
        assert hottest == each.hottest(most).tolist() == each.rows[::-1][:most].tolist()
    numbers = np.arange(len(each.rows) + 1)
    sums = codes.occurring.sums_of_hottest(codes.occurring.rows, numbers)
    assert sums.tolist() == each.sums_of_hottest(each.rows, numbers).tolist()
    assert sums.tolist() == [each.rows[len(each.rows) - number :].sum() for number in numbers]


def test_progress_ascends_to_one() -> None:
    told: list[float] = []
    wl.overlap_join(random_rows(200, 40, 10, 3), 2, progress=told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[len(told) // 2] < told[-1] == 1.0


def test_what_progress_raises_passes() -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wl.overlap_join(random_rows(200, 40, 10, 3), 2, progress=stop)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"threshold": 0}, InputError, "threshold=0: how many ids two rows share must be at"),
        ({"threshold": 1.5}, InputError, "threshold=1.5: two rows share a whole number of ids"),
        ({"threshold": "2"}, InputTypeError, "threshold='2' must be a number"),
        ({"threshold": float("nan")}, InputError, "threshold=nan"),
        ({"threshold": 2, "measure": "jaccard"}, InputError, "threshold=2: the jaccard of two"),
        ({"threshold": 0, "measure": "dice"}, InputError, "above 0 and at most 1"),
        ({"measure": "hamming"}, InputError, "measure='hamming' is not known; use one of count"),
        ({"top_k": 0}, InputError, "top_k=0 must be a whole number from 1 on"),
        ({"top_k": True}, InputError, "top_k=True"),
        ({"top_k": 1.5}, InputError, "top_k=1.5"),
        ({"max_frequency": 0}, InputError, "max_frequency=0"),
        ({"max_frequency": "x"}, InputError, "max_frequency='x'"),
        ({"device": "tpu"}, InputError, "device='tpu'"),
        ({"progress": 3}, InputTypeError, "progress=3 cannot be called"),
        ({"count_only": 3}, InputTypeError, "count_only=3 must be True or False"),
        ({"other": [["a"]]}, InputError, "other: its ids are of another kind"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        wl.overlap_join([[1, 2], [2, 1]], **options)


def test_pairs_that_cannot_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpladder.device.host_memory import HostMemory

    monkeypatch.setattr(prepared, "host_memory", lambda: HostMemory(1000, 2000, "this test has"))
    with pytest.raises(TooLargeError, match=r"about 1,225 pairs are to be expected.*count_only"):
        wl.overlap_join([[1, 2, 3]] * 50, 2)
    with pytest.raises(TooLargeError, match=r"rows: joining them takes .* join fewer at a time$"):
        wl.overlap_join([[1, 2, 3]] * 50, 2, count_only=True)
