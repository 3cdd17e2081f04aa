"""What is particular to this ladder; `warpladder.lab.verify` checks every rung of every ladder."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numba import cuda

from choosing import large
from warpladder.errors import InputError
from warpladder.lab.verify import check_predictions, check_wrong, verify
from warpladder.shortest_paths.ladder import LADDER
from warpladder.shortest_paths.rungs import _launching, _tasks
from warpladder.shortest_paths.rungs._tasks import Weights
from warpladder.shortest_paths.rungs.flag_barrier import meet
from warpladder.shortest_paths.rungs.half_tiles import grid_of_pairs, pair_of
from warpladder.simulator import SimulatedDevice

ALL = (*LADDER.rungs, *(broken.rung for broken in LADDER.wrong))


def run(name: str, problem: Weights, device=None):
    rung = LADDER.find(name)
    assert rung is not None
    return rung.run(
        None if rung.on == "cpu" else device or SimulatedDevice(counters=False), problem
    )


# --- the list -------------------------------------------------------------------------------------


def test_the_order_is_the_story():
    names = [rung.name for rung in LADDER.rungs]
    assert names == [
        "sequential-cpu",
        "one-thread",
        "launch-per-k",
        "consecutive-cells",
        "strided-cells",
        "row-blocks",
        "padded-rows",
        "column-blocks",
        "pitched-rows",
        "flag-barrier",
        "grid-sync",
        "pivot-in-run",
        "pivot-in-register",
        "next-hops",
        "blocked-shared",
        "register-tiles",
        "overlapped-panels",
        "deep-rounds",
        "register-tiles-float32",
        "register-tiles-float64",
        "register-tiles-int16",
        "half-tiles",
        "one-launch",
        "one-launch-next-hops",
        "tagged-distances",
        "resident-tiles",
        "small-n-one-block",
        "batch-of-blocks",
    ]


def test_every_version_of_the_sources_is_there():
    sources = " ".join(rung.source for rung in ALL)
    wanted = ["CF A", "CF B", "CF C", "CF D", "CF E", "GR Floyd-Warshall", "HB fwStepK"]
    assert all(place in sources for place in wanted)
    assert {int(number) for number in re.findall(r"HB exploration (\d)", sources)} == {
        2,
        3,
        4,
        5,
        8,
    }


# --- the problems ---------------------------------------------------------------------------------

#: Stacks of graphs have tests of their own.
TASKS = list(
    {id(rung.task): rung.task for rung in ALL if rung.task.make(1, 0).matrix.ndim == 2}.values()
)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_problems_repeat_have_pairs_without_a_path_and_long_detours(task):
    one, same, other = (task.make(97, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.matrix, same.matrix)
    assert not np.array_equal(one.matrix, other.matrix)
    answer = task.oracle(one)
    dist = answer[0] if isinstance(answer, tuple) else answer
    assert dist.dtype == one.matrix.dtype
    assert (dist[1:, 0] == one.no_path).all()
    between = one.matrix == one.no_path
    assert np.count_nonzero(dist[between] < one.no_path) > 97 * 97 // 2


@pytest.mark.parametrize("n", [0, 1, 2, 61])
def test_the_oracle_agrees_with_scipy(n):
    sparse = pytest.importorskip("scipy.sparse.csgraph")
    problem = _tasks.DISTANCES.make(n, 7)
    weights = np.where(problem.matrix == problem.no_path, np.inf, problem.matrix)
    expected = sparse.floyd_warshall(weights) if n else weights
    found = _tasks.DISTANCES.oracle(problem).astype(float)
    assert np.array_equal(np.where(found == problem.no_path, np.inf, found), expected)


def test_no_sum_overflows_or_is_rounded():
    assert 2 * _tasks.DISTANCES.make(3, 0).no_path <= np.iinfo(np.int32).max
    matrix = _tasks.DISTANCES_FLOAT32.make(97, 0).matrix
    assert np.array_equal(matrix[np.isfinite(matrix)] * 16 % 1, np.zeros(np.isfinite(matrix).sum()))
    for task in (_tasks.DISTANCES_FLOAT32, _tasks.DISTANCES_FLOAT64):
        exactly = matrix.astype(np.float64)
        for k in range(97):
            exactly = np.minimum(exactly, exactly[:, k, None] + exactly[k])
        found = task.oracle(task.make(97, 0))
        assert found.dtype == task.make(97, 0).matrix.dtype
        assert np.array_equal(found, exactly)


@pytest.mark.parametrize("n", [0, 1, 2, 33])
def test_hops_are_as_long_as_the_distances_say_or_seen_not_to_be(n):
    task = _tasks.LENGTHS_ALONG_HOPS
    problem = task.make(n, 1)
    dist, hops = _tasks.NEXT_HOPS.oracle(problem)
    for found, expected in zip(task.compared(problem, (dist, hops)), (dist, dist), strict=True):
        assert np.array_equal(found, expected)
    if n < 33:
        return
    i, j = next((i, j) for i, j in np.ndindex(n, n) if hops[i, j] not in {-1, i, j})
    stranger = int(np.argmax(problem.matrix[i]))
    # To stay, to go nowhere, to leave the graph, and to go where no edge leads.
    for step in (i, -1, n, np.iinfo(np.int32).min, stranger):
        changed = hops.copy()
        changed[i, j] = step
        assert task.compared(problem, (dist, changed))[1][i, j] != dist[i, j]
    changed = hops.copy()
    changed[1, 0] = 2
    assert task.compared(problem, (dist, changed))[1][1, 0] != dist[1, 0]


@pytest.mark.parametrize(
    "rung", [rung for rung in ALL if rung.on == "device"], ids=lambda r: r.name
)
def test_an_empty_graph_launches_nothing(rung):
    device = SimulatedDevice()
    rung.run(device, rung.task.make(0, 0))
    assert not device.launches


def test_padding_adds_vertices_without_edges():
    problem = _tasks.DISTANCES.make(5, 0)
    wide = _launching.padded(problem, 8)
    square = _launching.padded(problem, 8, 8)
    assert wide.shape == (5, 8)
    assert np.array_equal(square[:5], wide)
    assert np.array_equal(wide[:, :5], problem.matrix)
    assert (square[5:] == problem.no_path).all()
    assert (wide[:, 5:] == problem.no_path).all()


# --- right and wrong, at sizes that are quick -----------------------------------------------------

#: 19 graphs are many for the simulator; test_batch_of_blocks.py takes fewer, in every schedule too.
QUICK = [rung for rung in LADDER.rungs if rung.name not in {"one-thread", "batch-of-blocks"}]


#: Whatever the size, they relax tiles of 64 or 128 vertices: warp by warp, for up to a minute.
TILED = [
    rung
    for rung in QUICK
    if rung.name.startswith(
        (
            "register-tiles",
            "overlapped-panels",
            "tagged-distances",
            "deep-rounds",
            "half-tiles",
            "one-launch",
            "resident-tiles",
        )
    )
]


#: test_register_tiles_int16.py has the one, the engine's tests the kernels of the next, and HB's
#: graph is given to the last, which differ from `row-blocks` in where cells lie or who takes them.
ELSEWHERE = [
    rung
    for rung in QUICK
    if rung.name.endswith(("-int16", "-float32"))
    or rung.name in {"half-tiles", "deep-rounds", "tagged-distances"}
    or rung.name in {"padded-rows", "column-blocks", "pitched-rows"}
]


def size_in_schedules(rung):
    """Return how many vertices there are in every schedule.

    Half of one tile is all of it, and a round of two needs a tile behind it; the engine's tests run
    other tiled rungs on several, the large ones of them those that are resident.
    """
    several = {"half-tiles": 130, "tagged-distances": 130, "deep-rounds": 260}
    return several.get(rung.name, 33 if rung in TILED else 19)


@pytest.mark.parametrize(
    "rung",
    [*(rung for rung in QUICK if rung not in ELSEWHERE), *large(*ELSEWHERE)],
    ids=lambda rung: rung.name,
)
def test_a_rung_is_right_in_every_schedule(rung):
    if rung.on == "cpu":
        assert all(verdict.ok for verdict in verify(rung, None, [33, 61]))
        return
    for schedule in ("lockstep",) if rung in TILED else ("lockstep", "warps-reverse"):
        device = SimulatedDevice(schedule=schedule, counters=False)
        (verdict,) = verify(rung, device, [size_in_schedules(rung)], seed=3)
        assert verdict.ok, verdict.fault


#: Of one tile the others run one of these kernels, or much the same in another type or with tags.
#: `resident-tiles` closes quarters by the latter's; its own barriers are checked in lockstep.
OWN_DIAGONALS = [rung for rung in TILED if rung.name in {"register-tiles", "one-launch-next-hops"}]


@pytest.mark.parametrize("rung", large(*OWN_DIAGONALS), ids=lambda rung: rung.name)
def test_a_tiled_rung_is_right_warp_by_warp(rung):
    (verdict,) = verify(
        rung, SimulatedDevice(schedule="warps-reverse", counters=False), [19], seed=3
    )
    assert verdict.ok, verdict.fault


#: With 258 vertices two blocks are in a row; the others cut rows as one of these does.
TWO_BLOCKS_IN_A_ROW = {"launch-per-k", "row-blocks", "grid-sync", "pivot-in-register"}


def left_out_of_climbs(rung):
    """Return the sizes that are for GPUs and for this test.

    257 is one vertex fewer than two blocks, and 520 two tiles more than the 260 that every schedule
    has.
    """
    task = rung.task
    beyond = (258,) if rung.name in TWO_BLOCKS_IN_A_ROW else ()
    simulated = (*(task.simulated or task.sizes), 257, 520)
    return [n for n in (*task.sizes, *beyond) if n not in simulated]


@pytest.mark.parametrize(
    ("name", "n"),
    large(
        *(
            (rung.name, n)
            for rung in QUICK
            if rung.on == "device"
            for n in left_out_of_climbs(rung)
            if n <= (rung.max_n or n)
            and n != size_in_schedules(rung)
            # Tests of their engines have nine tiles; the last is so with next hops.
            and not (rung.name in {"resident-tiles", "tagged-distances", "one-launch"} and n > 128)
        )
    ),
)
def test_sizes_that_a_climb_leaves_out(name, n):
    (verdict,) = verify(LADDER.find(name), SimulatedDevice(counters=False), [n])
    assert verdict.ok, verdict.fault


#: Those of the others take seconds each: `make docs` counts all, and has no page if one fails.
QUICKLY_COUNTED = ["blocked-shared", "register-tiles", "small-n-one-block"]

#: Rungs are compared with those below, which have been counted before.
SEEN: dict = {}


@pytest.mark.parametrize("name", [*QUICKLY_COUNTED, *large("padded-rows")])
def test_predictions_hold(name):
    simulated = partial(SimulatedDevice, checks=False)
    results = check_predictions(LADDER.find(name), LADDER, simulated, SEEN)
    assert all(result.ok for result in results), [
        (str(result.prediction), result.measured) for result in results if not result.ok
    ]


@pytest.mark.parametrize("broken", LADDER.wrong, ids=lambda broken: broken.rung.name)
def test_a_wrong_rung_is_caught(broken):
    # The schedules that make it visible take longer; the laboratory's own test runs them.
    result = check_wrong(replace(broken, visible_under=()), SimulatedDevice)
    assert result.ok, result.fault


def test_cleared_flags_end_in_a_livelock_or_in_a_wrong_answer():
    rung = LADDER.find("cleared-flags")
    (endless,) = verify(rung, SimulatedDevice(schedule="warps", checks=False, counters=False), [33])
    (early,) = verify(
        rung, SimulatedDevice(schedule="warps-reverse", checks=False, counters=False), [33]
    )
    assert "livelock" in endless.fault
    assert early.fault.startswith("result[")


# --- HB's six vertices ----------------------------------------------------------------------------

# Matrices printed in HB, spot check 4: before the first step and after the last one.
X = 2**31 // 2 - 1
HOCHBERG_BEFORE = np.array(
    [
        [0, 4, X, 5, 5, X],
        [X, 0, 7, 3, X, X],
        [X, X, 0, X, X, 4],
        [7, X, 3, 0, 4, 3],
        [2, X, X, 6, 0, X],
        [X, X, X, 2, 1, 0],
    ],
    np.int32,
)
HOCHBERG_AFTER = np.array(
    [
        [0, 4, 8, 5, 5, 8],
        [9, 0, 6, 3, 7, 6],
        [7, 11, 0, 6, 5, 4],
        [6, 10, 3, 0, 4, 3],
        [2, 6, 9, 6, 0, 9],
        [3, 7, 5, 2, 1, 0],
    ],
    np.int32,
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(r.name, marks=pytest.mark.large if r in TILED else ())
        for r in LADDER.rungs
        if any(r.task is task for task in TASKS)
        and r.task.make(1, 0).matrix.dtype == np.int32
        # HB's edges lead one way.
        and r.task is not _tasks.DISTANCES_UNDIRECTED
    ],
)
def test_hochbergs_six_vertices(name):
    problem = Weights(HOCHBERG_BEFORE.copy(), X)
    result = run(name, problem)
    assert np.array_equal(result[0] if isinstance(result, tuple) else result, HOCHBERG_AFTER)


# --- undirected graphs ----------------------------------------------------------------------------


@pytest.mark.parametrize("others", range(1, 10))
def test_each_pair_of_tiles_is_made_once(others):
    columns, rows = grid_of_pairs(others)
    blocks = [(x, y) for y in range(rows) for x in range(columns)]
    made = [pair_of.py_func(x, y, others) for x, y in blocks]
    assert sorted(pair for pair in made if pair != (-1, -1)) == [
        (row, column) for row in range(others) for column in range(row + 1)
    ]


@pytest.mark.parametrize("n", [1, 2, 33, 130])
def test_undirected_problems_are_symmetric(n):
    matrix, no_path = _tasks.DISTANCES_UNDIRECTED.make(n, 3)
    assert np.array_equal(matrix, matrix.T)
    assert (matrix[1:, 0] == no_path).all()
    assert (np.diagonal(matrix) == 0).all()


def test_a_digraph_is_refused_by_the_edge_that_leads_one_way():
    with pytest.raises(InputError, match=r"weight \(0, 1\) is 4 and \(1, 0\) is 1073741823; use"):
        run("half-tiles", Weights(HOCHBERG_BEFORE.copy(), X))


# What two tiles in a row have is predicted.
@pytest.mark.large
def test_little_more_than_half_of_the_tiles_are_relaxed():
    device = SimulatedDevice(checks=False)
    run("half-tiles", _tasks.DISTANCES_UNDIRECTED.make(384, 0), device)
    # Of 27 tiles 18 are relaxed, and each of three pairs is mirrored.
    assert device.counters.shared_load_requests == 16_384 * 18 + 1536 * 3


# --- next hops ------------------------------------------------------------------------------------


def test_an_edge_wins_over_a_detour_and_the_first_detour_over_a_later_one():
    # From 0 to 3: by an edge of 4, or through 1 or 2, 2 + 2 each. From 0 to 4: 6 through any.
    weights = np.full((5, 5), X, np.int32)
    np.fill_diagonal(weights, 0)
    weights[0, [1, 2, 3]] = 2, 2, 4
    weights[[1, 2], 3] = 2
    weights[3, 4] = 2
    dist, hops = run("next-hops", Weights(weights, X))
    assert (dist[0, 3], hops[0, 3]) == (4, 3)
    assert (dist[0, 4], hops[0, 4]) == (6, 3)
    weights[0, 3] = 5
    dist, hops = run("next-hops", Weights(weights, X))
    assert (dist[0, 3], hops[0, 3]) == (4, 1)
    assert (dist[0, 4], hops[0, 4]) == (6, 1)
    assert hops[4, 0] == -1


def test_hops_lead_along_paths_of_the_right_length():
    problem = _tasks.NEXT_HOPS.make(33, 5)
    dist, hops = run("next-hops", problem)
    for i, j in np.ndindex(dist.shape):
        length, at = 0, i
        while at != j and hops[at, j] >= 0:
            length += problem.matrix[at, hops[at, j]]
            at = hops[at, j]
        assert (length if at == j else problem.no_path) == dist[i, j]


# --- the flag barrier -----------------------------------------------------------------------------


@cuda.jit
def pass_on(values, flags, rounds):
    """Let each block copy what its left neighbour had in the round before, plus one."""
    block = cuda.blockIdx.x
    for r in range(rounds):
        if cuda.threadIdx.x == 0:
            values[r + 1, block] = values[r, (block + 1) % cuda.gridDim.x] + 1
        meet(flags, r + 1)


@pytest.mark.parametrize("schedule", ["lockstep", "warps"])
def test_the_flag_barrier_holds_with_more_blocks_than_the_simulator_runs_at_once(schedule):
    # 32,768 threads are one batch in lockstep; warp by warp every block is one of its own.
    blocks, threads = (5, 64) if schedule == "warps" else (36, 1024)
    device = SimulatedDevice(schedule=schedule)
    values = device.full((4, blocks), 0, np.int32)
    device.launch(pass_on, blocks, threads, values, device.full(blocks, 0, np.int32), 3)
    assert np.array_equal(device.to_host(values), np.arange(4)[:, None] + np.zeros((4, blocks)))


def test_a_grid_that_meets_is_resident_whatever_the_device():
    for capability in ((5, 0), (7, 5), (8, 6), (9, 0), (12, 0)):
        device = SimulatedDevice(capability)
        gpu = device.properties
        blocks = _launching.resident_together(device) // gpu.multiprocessors
        assert blocks * _launching.THREADS <= gpu.max_threads_per_multiprocessor
        taken = blocks * _launching.THREADS * _launching.MAX_REGISTERS
        assert taken <= gpu.registers_per_multiprocessor
