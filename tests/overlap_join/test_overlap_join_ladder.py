"""What is particular to this ladder; `warpladder.lab.verify` checks every rung of every ladder."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from choosing import large, only
from warpladder.errors import InputError, KernelFaultError
from warpladder.lab.verify import check_predictions, check_wrong, verify
from warpladder.overlap_join.forms import Rows
from warpladder.overlap_join.ladder import LADDER
from warpladder.overlap_join.rungs import bitmap_tiles
from warpladder.overlap_join.rungs._published import PUBLISHED
from warpladder.overlap_join.rungs._tasks import (
    PARTNERS,
    SHARED_IDS,
    SHARED_IDS_BY_TILES,
    Problem,
    shape_of,
)
from warpladder.simulator import SimulatedDevice

SCHEDULES = ("lockstep", "warps", "warps-reverse", "warps-random")
ALL = (*LADDER.rungs, *(broken.rung for broken in LADDER.wrong))
KERNELS = [rung for rung in LADDER.rungs if rung.on == "device"]
MATRICES = [rung for rung in LADDER.rungs if rung.task.oracle == SHARED_IDS.oracle]
#: 36 * 36 steps to a pair take the simulator a second.
BY_ONE_THREAD = ("row-against-chunk", "pair-per-thread", "upper-triangle", "unrolled")
each_rung = pytest.mark.parametrize("rung", LADDER.rungs, ids=lambda rung: rung.name)
each_with_kernels = pytest.mark.parametrize("rung", KERNELS, ids=lambda rung: rung.name)


def problem_of(*sets, universe=None, threshold=2):
    """Rows with these ids, which count from 0."""
    rows = [sorted(one) for one in sets]
    starts = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    items = np.array([one for row in rows for one in row], np.int32)
    return Problem(Rows(starts, items, universe or 1 + int(items.max(initial=0))), threshold)


def sets_of(rows):
    ends = zip(rows.starts, rows.starts[1:], strict=False)
    return [set(rows.items[first:last].tolist()) for first, last in ends]


def by_sets(problem):
    """The answer by Python's sets, as a matrix."""
    sets = sets_of(problem.rows)
    n = len(sets)
    shared = [[len(a & b) if a is not b else 0 for b in sets] for a in sets]
    return np.array(shared, np.int32).reshape(n, n)


def found(rung, problem, **options):
    """What a rung finds, in the form of the oracle that it is held against, and that."""
    device = None if rung.on == "cpu" else SimulatedDevice(counters=False)
    result = rung.run(device, problem, **options)
    expected = by_sets(problem)
    if rung not in MATRICES:
        expected = (expected >= problem.threshold).sum(axis=1, dtype=np.int32)
    return result, expected


# --- where it comes from --------------------------------------------------------------------------


def test_sources_are_known():
    assert all(rung.source == "beyond" or rung.source.startswith("IM ") for rung in ALL)


# --- the problems ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 13, 33, 61, 130])
def test_the_oracles_are_python_s_sets(n):
    problem = SHARED_IDS.make(n, 3)
    shared = by_sets(problem)
    assert np.array_equal(SHARED_IDS.oracle(problem), shared)
    assert SHARED_IDS.oracle(problem).dtype == PARTNERS.oracle(problem).dtype == np.int32
    related = (shared >= problem.threshold).sum(axis=1)
    assert np.array_equal(PARTNERS.oracle(problem), related)
    work = SHARED_IDS.work(problem)
    assert work[:2] == (shared.sum() // 2, 4 * problem.rows.items.size + 4 * n * n)
    assert {type(part) for part in work[:2]} == {int}
    # A threshold that many pairs reach and many do not.
    if n > 10:
        assert 0.2 < related.mean() / n < 0.8


@pytest.mark.parametrize("n", [13, 61, 1000])
def test_rows_are_what_they_are_said_to_be(n):
    full, universe, _ = shape_of(n)
    rows = SHARED_IDS.make(n, 3).rows
    sets = sets_of(rows)
    lengths = np.diff(rows.starts)
    assert [len(one) for one in sets] == lengths.tolist()
    assert (np.diff(rows.items) > 0).sum() >= rows.items.size - n
    assert 0 <= rows.items.min() < rows.items.max() < rows.universe == universe
    assert list(lengths[3::8]) == [3 * k % (full + 1) for k in range(lengths[3::8].size)]
    assert set(np.delete(lengths, np.s_[3::8])) == {full}
    # The last ids are common, the first ones rare.
    frequency = np.bincount(rows.items, minlength=universe)
    assert frequency[-3:].sum() > 2 * frequency[: universe // 10].sum() / (universe // 10)


def test_tiles_of_bitmaps_are_verified_on_more_ids_than_they_take_at_a_time():
    assert any(shape_of(n).universe > 32 * bitmap_tiles.DEPTH for n in SHARED_IDS_BY_TILES.sizes)


def test_problems_repeat():
    one, same, other = (SHARED_IDS.make(97, seed).rows.items for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


# --- right: the source's rows, every size, every schedule, odd rows -------------------------------

#: IM's four rows; what each two share; with at least two in common.
IM_ROWS = ({2, 5, 6, 10, 11}, {5, 10, 11, 15}, {6, 10, 11, 17}, {3, 10, 12, 17})
IM_SHARED = [[0, 3, 3, 1], [3, 0, 2, 1], [3, 2, 0, 2], [1, 1, 2, 0]]
IM_GROUPS = {1: {2, 3}, 2: {1, 3}, 3: {1, 2, 4}, 4: {3}}


@each_rung
def test_the_source_s_four_rows(rung):
    problem = problem_of(*IM_ROWS, threshold=2)
    result = rung.run(None if rung.on == "cpu" else SimulatedDevice(counters=False), problem)
    partners = [len(group) for group in IM_GROUPS.values()]
    if rung not in MATRICES:
        assert result.tolist() == partners
        return
    assert result.tolist() == IM_SHARED
    groups = {i + 1: {int(j) + 1 for j in np.flatnonzero(row >= 2)} for i, row in enumerate(result)}
    assert groups == IM_GROUPS


@each_rung
@pytest.mark.parametrize("sizes", [(0, 1, 2, 13, 33), *large([31, 32, 61, 64, 65, 97, 130])])
def test_a_rung_is_right_at_every_size(rung, sizes):
    if rung.name in BY_ONE_THREAD:
        sizes = [n for n in sizes if n != 13 and n < 97]
    device = None if rung.on == "cpu" else SimulatedDevice(counters=False)
    for verdict in verify(rung, device, sizes, seed=3):
        assert verdict.ok, (verdict.n, verdict.fault)


def test_tiles_are_right_at_their_edges():
    rung = LADDER.find("bitmap-tiles")
    for verdict in verify(rung, SimulatedDevice(counters=False), (64, 65, 130), seed=3):
        assert verdict.ok, (verdict.n, verdict.fault)


#: Their schedules take seconds each; by default they run in lockstep alone.
MANY_KERNELS = {"inverted-index", "signatures"}


@pytest.mark.parametrize(
    ("schedule", "rung"),
    only(
        lambda schedule, rung: schedule == "warps-reverse" and rung.name not in MANY_KERNELS,
        ["warps-reverse", "warps", "warps-random"],
        KERNELS,
        where=lambda schedule, rung: schedule != "warps-random" or rung.name not in MANY_KERNELS,
    ),
    ids=lambda one: getattr(one, "name", one),
)
def test_a_rung_is_right_in_every_schedule(rung, schedule):
    # Two warps for a pair, where a pair has them; then several tiles or blocks.
    sizes = [3, 17]
    if rung.name in BY_ONE_THREAD:
        sizes = [2] if rung.name == "row-against-chunk" else [17]
    for verdict in verify(rung, SimulatedDevice(schedule=schedule, counters=False), sizes, seed=3):
        assert verdict.ok, (verdict.n, verdict.fault)


ODD = {
    "all empty": problem_of(set(), set(), set(), universe=1),
    "one not empty": problem_of(set(), {0}, set()),
    "the same": problem_of(*3 * [range(9)]),
    "first and last id of words": problem_of({0, 31, 32, 63}, {31, 63}, {0, 32, 63}, universe=64),
    "nothing in common": problem_of({0, 2, 4}, {1, 3, 5}, {6}),
    "of all lengths": problem_of(*(range(n) for n in (0, 1, 32, 33))),
    "one after the other": problem_of(*(range(k, k + 7) for k in range(10))),
}


@each_rung
@pytest.mark.parametrize("name", ODD)
def test_odd_rows(rung, name):
    result, expected = found(rung, ODD[name])
    assert np.array_equal(result, expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("row-against-chunk", {"threads": threads}) for threads in (32, 100)),
        *(("ballot-count", {"warps": warps}) for warps in (1, 3, 32)),
    ],
)
def test_blocks_of_other_sizes(name, options):
    result, expected = found(LADDER.find(name), ODD["one after the other"], **options)
    assert np.array_equal(result, expected)


def test_rows_longer_than_a_block_are_refused_where_each_id_has_a_thread():
    problem = problem_of(range(1025), {1024})
    for name in ("atomics", "shared-flags", "flat-rows"):
        with pytest.raises(InputError, match=r"a row has room for 10\d\d ids: a block has"):
            LADDER.find(name).run(SimulatedDevice(counters=False), problem)


def test_bitmaps_are_those_of_numpy():
    rows = SHARED_IDS.make(61, 2).rows
    device = SimulatedDevice()
    made = device.to_host(bitmap_tiles.bitmaps(device, rows))
    dense = np.zeros((64, 32 * len(made)), np.bool_)
    dense[np.repeat(np.arange(61), np.diff(rows.starts)), rows.items] = True
    words = np.packbits(dense, axis=1, bitorder="little").view(np.uint32)
    assert np.array_equal(made, words.T)


# --- what is predicted ----------------------------------------------------------------------------

SEEN: dict = {}


@each_with_kernels
def test_predictions_hold(rung):
    results = check_predictions(rung, LADDER, lambda: SimulatedDevice(checks=False), SEEN)
    assert results
    assert not [f"{one.prediction}: {one.shown} {one.fault}" for one in results if not one.ok]


# --- the wrong ones -------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", LADDER.wrong, ids=lambda broken: broken.rung.name)
def test_a_wrong_rung_is_caught_and_seen(broken):
    result = check_wrong(broken, SimulatedDevice)
    assert result.caught, result.fault
    assert all(result.visible.values()), result.visible
    # Where nothing is said to be seen, nothing is: a test of the answer would have passed.
    for schedule in set(SCHEDULES) - set(broken.visible_under):
        device = SimulatedDevice(schedule=schedule, checks=False, counters=False)
        assert verify(broken.rung, device, [broken.n])[0].ok


def lines_named(broken):
    """The lines that the checker names, of whichever file they are."""
    with pytest.raises(KernelFaultError) as fault:
        broken.rung.run(SimulatedDevice(counters=False), SHARED_IDS.make(broken.n, 0))
    files = {Path(file).name: file for file in (inspect.getsourcefile(rung.run) for rung in ALL)}
    named = re.findall(r"(\w+\.py),? line (\d+)", str(fault.value))
    return [linecache.getline(files[file], int(line)).strip() for file, line in named]


def test_the_checker_names_the_increment_and_the_flags():
    increment, flags, barrier = map(lines_named, LADDER.wrong)
    assert set(increment) == {"shared[i, j] += 1"}
    assert set(flags) == {
        "flags[t] = count_in(heap, at[j] + 1, room, wanted)",
        "total += flags[t]",
    }
    assert barrier == ["cuda.syncthreads()"]


def test_counts_of_the_increment_vary_from_launch_to_launch():
    (broken,) = [one for one in LADDER.wrong if one.rung.name == "id-per-thread"]
    problem = SHARED_IDS.make(broken.n, 0)

    def counts(schedule, seed=0):
        device = SimulatedDevice(schedule=schedule, seed=seed, checks=False, counters=False)
        return broken.rung.run(device, problem).tobytes()

    orders = [*(counts(schedule) for schedule in SCHEDULES[:3])]
    launches = [counts("warps-random", seed) for seed in range(4)]
    assert len(set(orders)) > 1
    assert len(set(launches)) > 1
    # Some counts are right; and with one id in common all of them are, in lockstep.
    few = problem_of({0, 1}, {1, 2}, {2, 0})
    assert np.array_equal(
        broken.rung.run(SimulatedDevice(checks=False, counters=False), few), by_sets(few)
    )


# --- IM's table -----------------------------------------------------------------------------------


def test_im_s_times_stand_in_the_rungs_that_they_are_of():
    for one in PUBLISHED:
        for name in one.rungs:
            text = " ".join(sys.modules[LADDER.find(name).run.__module__].__doc__.split())
            minutes = f"{one.seconds / 60:.0f} minutes"
            told = minutes if one.seconds % 60 == 0 else f"{one.seconds:g} s"
            assert told in text or name == "unrolled", (name, told)
            assert f"{one.rows:,}" in text or name == "unrolled", (name, one.rows)


def test_im_s_table_agrees_with_its_equation():
    for one in PUBLISHED:
        if not one.measured:
            per_thousand = min(
                other.seconds
                for other in PUBLISHED
                if other.rungs == one.rungs and other.rows == 1000
            )
            assert one.seconds == pytest.approx((one.rows / 1000) ** 2 * per_thousand, rel=0.01)
