"""What is behind the pictures, against worked-out values and oracles; and that all are drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from choosing import large, only
from warpladder.errors import InputError
from warpladder.formats.pictures import save_picture
from warpladder.lab.pictures.counters import tallies_of
from warpladder.lab.pictures.divergence import idlest
from warpladder.lab.pictures.grid import owners_of
from warpladder.lab.pictures.halo import NO_CELL, RIGHT, WRONG, tiles_of
from warpladder.lab.pictures.hierarchy import levels_of
from warpladder.lab.pictures.phases import (
    READ,
    READ_BY_ONE,
    WRITTEN,
    WRITTEN_BY_ONE,
    map_of,
    side_of,
)
from warpladder.lab.pictures.queues import Queues, placed
from warpladder.lab.pictures.registry import KINDS, draw_picture, favourite_of, kinds_of
from warpladder.lab.pictures.requests import busiest, executions_of
from warpladder.lab.pictures.scene import Scene, text_of
from warpladder.lab.pictures.tree import needed_of, steps_of
from warpladder.lab.pictures.warps import lane_of
from warpladder.lab.registry import find_rung, ladders
from warpladder.simulator import Counters
from warpladder.simulator.checks.recorder import Access
from warpladder.simulator.machine.lanes import Geometry


def scene_of(path, **options):
    return Scene(*find_rung(path), **options)


# --- lanes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "sectors"),
    [
        ("primer/access-aligned", [4, 4]),
        ("primer/access-misaligned", [5, 4]),
        ("primer/strided-access", [32, 4]),
        ("primer/translation-aos", [12, 12]),
        ("primer/translation-soa", [4, 4]),
    ],
)
def test_sectors_of_a_warp(path, sectors):
    scene = scene_of(path)
    execution = busiest(scene, scene.run)
    assert [request.access.verb for request in execution.requests] == ["load", "store"]
    assert [request.sectors for request in execution.requests] == sectors
    assert execution.where == "warp 0 of block 0"
    for request in execution.requests:
        assert request.lanes.tolist() == list(range(32))
        assert request.used == 128


def test_banks_of_a_warp():
    scene = scene_of("reduction/indexed-shared")
    execution = busiest(scene, scene.run)
    assert text_of(execution.site) == "shared[left] += shared[left + stride]"
    # The worst of its steps: every 8th word, in 4 banks.
    left, right, store = execution.requests
    assert left.access.addresses.tolist() == [32 * lane for lane in range(32)]
    assert right.access.addresses.tolist() == [32 * lane + 16 for lane in range(32)]
    assert left.wavefronts == right.wavefronts == store.wavefronts == (8, 1)


def test_a_line_is_asked_for():
    path = "reduction/sequential-shared"
    line = busiest(scene_of(path), scene_of(path).run).site.line
    scene = scene_of(path, line=line)
    every = executions_of(scene.run.records[0], 0)
    sites = {execution.site.line for execution in every}
    other = min(sites - {line})
    chosen = busiest(scene_of(path, line=other), scene.run)
    assert chosen.site.line == other
    with pytest.raises(InputError, match=rf"line=1: .* lines of {path} where .*: {min(sites)}, "):
        busiest(scene_of(path, line=1), scene.run)


# --- divergence -----------------------------------------------------------------------------------


def test_lanes_of_a_branch_take_turns():
    by_thread = idlest(scene_of("primer/divergence-by-thread").run.records)
    parted = by_thread.active[by_thread.active.sum(axis=1) < 32]
    assert {tuple(np.flatnonzero(row)) for row in parted} == {
        tuple(range(0, 32, 2)),
        tuple(range(1, 32, 2)),
    }
    by_warp = idlest(scene_of("primer/divergence-by-warp").run.records)
    assert by_warp.active.all()
    assert by_warp.threads_per_instruction == 32


def test_a_life_has_as_many_instructions_as_are_counted():
    scene = scene_of("reduction/interleaved-shared", asked_n=32)
    life = idlest(scene.run.records)
    alone = scene.run.device.counters
    assert len(life.sites) == len(life.active)
    assert life.lanes == 32
    # Of 8 warps the first has all the work; no warp runs more.
    assert life.warp == 0
    assert alone.warp_instructions >= len(life.sites) >= alone.warp_instructions / 8


# --- grid, warps, memory --------------------------------------------------------------------------


def test_owners_of_a_matrix():
    scene = scene_of("primer/matrix-add-2d")
    owners = owners_of(scene.recorded(blocks=64).records[0])
    assert (owners.name, owners.verb, owners.shape) == ("out", "stores", (10, 10))
    for (row, column), thread in np.ndenumerate(owners.thread):
        block, rank = divmod(int(thread), 16)
        assert (block, rank) == (row // 4 * 3 + column // 4, row % 4 * 4 + column % 4)


def test_a_warp_goes_along_x():
    square = Geometry((1, 1, 1), (16, 16, 1))
    assert [lane_of(square, *place) for place in ((15, 0), (0, 1), (0, 2), (15, 15))] == [
        (0, 15), (0, 16), (1, 0), (7, 31),
    ]  # fmt: skip


def test_levels_tell_what_was_counted():
    counters = Counters(global_load_sectors=3, shared_load_requests=2, shared_load_wavefronts=64)
    used = {level.name: level.traffic for level in levels_of(counters, 128, 0, 0) if level.is_used}
    assert used == {
        "shared memory": "2 requests in 64 wavefronts of 128 bytes",
        "global memory": "96 bytes loaded in whole sectors, 0 stored",
    }


# --- pipelines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "streams", "end"),
    # In chunks of 256 words: 8 up, 8 in kernels, 8 down; the last two each but for what overlaps.
    [("serial", 1, 24), ("two-way", 9, 8 + 8 + 1), ("three-way", 8, 8 + 1 + 1)],
)
def test_pipelines(name, streams, end):
    queues = Queues.of(scene_of(f"primer/pipeline-{name}"))
    order = placed(queues.operations)
    assert max(one.end for one in order) == 1024 * end
    assert len({one.operation.stream for one in order}) == streams
    assert queues.bytes_of("up") == queues.bytes_of("down") == 8192
    for earlier, later in pairwise(order):
        if earlier.operation.stream == later.operation.stream:
            assert earlier.end <= later.begin


# --- trees ----------------------------------------------------------------------------------------


def tree_of(name):
    record = scene_of(f"reduction/{name}").recorded(n=64, blocks=1, threads=32).records[0]
    return steps_of(record)


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        (
            "interleaved-shared",
            [[(k, k + s) for k in range(0, 32, 2 * s)] for s in (1, 2, 4, 8, 16)],
        ),
        ("sequential-shared", [[(k, k + s) for k in range(s)] for s in (16, 8, 4, 2, 1)]),
    ],
)
def test_trees(name, pairs):
    load, *steps, store = tree_of(name)
    assert load.moves == {("shared", k): (("data", k),) for k in range(32)}
    expected = [
        {("shared", left): (("shared", left), ("shared", right)) for left, right in step}
        for step in pairs
    ]
    assert [step.moves for step in steps] == expected
    assert store.moves == {("partial", 0): (("shared", 0),)}


def test_a_wide_load_brings_four_elements():
    (load, *_) = tree_of("wide-loads")
    # 16 of 32 threads have four of the 64 elements; the others store nothing but a zero.
    assert [load.moves["shared", k] for k in (0, 15, 16)] == [
        tuple(("data", k) for k in range(4)),
        tuple(("data", k) for k in range(60, 64)),
        (),
    ]


def test_of_a_shuffled_tree_half_is_needed_each_time():
    needed = needed_of(tree_of("warp-shuffle"))
    # Loaded, then down by 16, 8, 4, 2 and 1; then the sum of the warp.
    assert [len(places) for places in needed[:7]] == [32, 16, 8, 4, 2, 1, 1]


# --- shortest paths -------------------------------------------------------------------------------


def test_phases_of_the_second_round():
    scene = scene_of("shortest-paths/blocked-shared")
    run = scene.recorded(n=96, blocks=4096, after=1, spaces=("global",))
    side = side_of(run.records[0])
    assert side == 32
    maps = [map_of(record, side).tolist() for record in run.records]
    o, r, w, one_r, one_w = 0, READ, WRITTEN, READ_BY_ONE, WRITTEN_BY_ONE
    # The last block of the cross takes the tile below the diagonal's, that of the rest the corner.
    assert maps == [
        [[o, o, o], [o, one_w, o], [o, o, o]],
        [[o, w, o], [w, one_r, w], [o, one_w, o]],
        [[w, r, w], [r, o, one_r], [w, one_r, one_w]],
    ]


# --- advection ------------------------------------------------------------------------------------


def test_a_tile_goes_wrong_by_a_cell_a_step():
    record = scene_of("advection/steps-per-tile").recorded(blocks=2).records[0]
    first, second = tiles_of(record)
    for tile in (first, second):
        assert (tile.loaded.sum(), tile.stored.sum(), len(tile.steps)) == (1000, 976, 25)
        wrong = [int((state == WRONG).sum()) for state in tile.steps]
        assert wrong == list(range(25))
        assert (tile.steps[-1][tile.stored] == RIGHT).all()
    # At the ends of all cells nothing goes wrong.
    assert first.steps[-1][0] == RIGHT
    assert first.steps[-1][-1] == NO_CELL
    np.testing.assert_array_equal(first.stored, ~second.stored)


def test_a_halo_is_loaded_twice():
    tiles = tiles_of(scene_of("advection/tile-with-halo").recorded(blocks=3).records[0])
    assert [int(tile.loaded.sum()) for tile in tiles] == [258, 258, 258]
    # With the ghost before the first cell, which the first block sets.
    assert [int(tile.stored.sum()) for tile in tiles] == [257, 256, 256]
    assert int((tiles[0].loaded & tiles[1].loaded).sum()) == 2


# --- joins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["signatures", *large("inverted-index")])
def test_counters_are_ids_in_common(name):
    scene = scene_of(f"overlap-join/{name}")
    rows = scene.rung.task.make(scene.n, 0).rows
    sets = [
        set(rows.items[begin:end].tolist())
        for begin, end in zip(rows.starts[:-1], rows.starts[1:], strict=True)
    ]
    tallies = [tally for record in scene.recorded(blocks=3).records for tally in tallies_of(record)]
    assert tallies
    for tally in tallies:
        for other in range(tally.row + 1, len(sets)):
            listed = int(tally.additions[other]) if other < len(tally.additions) else 0
            assert listed + tally.common.get(other, 0) == len(sets[tally.row] & sets[other])
        assert (tally.signature is None) == (name == "inverted-index")


# --- all of them ----------------------------------------------------------------------------------

ONE_OF_EACH = {
    "lanes": "primer/strided-access",
    "divergence": "primer/divergence-by-thread",
    "warps": "primer/matrix-add-2d",
    "grid": "primer/matrix-add-2d",
    "memory": "primer/vector-add-grid",
    "layout": "primer/translation-aos",
    "timeline": "primer/pipeline-three-way",
    "tree": "reduction/sequential-shared",
    "phases": "shortest-paths/blocked-shared",
    "halo": "advection/tile-with-halo",
    "counters": "overlap-join/signatures",
}


# Counters are for rows by the hundred.
SLOW = {"counters"}


@pytest.mark.parametrize("kind", only(lambda kind: kind not in SLOW, [kind.name for kind in KINDS]))
def test_each_kind_is_drawn(kind, tmp_path):
    path = tmp_path / "picture.svg"
    save_picture(draw_picture(ONE_OF_EACH[kind], kind), path)
    root = ET.fromstring(path.read_bytes())  # noqa: S314 - it is our own
    assert root.tag.endswith("svg")
    # 6 inches; more than a frame is in it.
    assert root.get("width") == "432pt"
    assert len(list(root.iter())) > 50
    assert [one.name for one in tmp_path.iterdir()] == ["picture.svg"]


def test_every_rung_with_a_kernel_has_pictures():
    for ladder in ladders():
        for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong)):
            names = [kind.name for kind in kinds_of(ladder, rung)]
            if rung.on == "device" and rung.kernels:
                assert names[:5] == ["lanes", "divergence", "warps", "grid", "memory"]
                assert favourite_of(ladder, rung).name in names
            else:
                assert not names
                with pytest.raises(InputError, match="has no kernel to be recorded"):
                    favourite_of(ladder, rung)


def test_favourites_name_rungs():
    paths = [f"{ladder.name}/{rung.name}" for ladder in ladders() for rung in ladder.rungs]
    for kind in KINDS:
        for prefix in kind.favourites:
            assert any(path.startswith(prefix) for path in paths)


@pytest.mark.parametrize(
    ("path", "kind", "n", "said"),
    [
        ("primer/registers", "memory", 0, "launches no kernel at n = 0; ask for a larger --n"),
        ("advection/tuned", "halo", 100, "advance_whole stores to no line of cells; ask for anoth"),
        ("primer/pipeline-three-way", "timeline", 0, "launches no kernel at n = 0"),
        ("reduction/sequential-shared", "tree", 1000, "n=1000: a tree is drawn of 64 numbers"),
    ],
)
def test_a_size_of_which_there_is_no_picture(path, kind, n, said):
    with pytest.raises(InputError, match=said):
        draw_picture(path, kind, n=n)


def test_a_launch_that_touches_no_memory_is_not_the_one_drawn():
    """It is made over no elements, so that there is a compiled kernel to ask about."""
    scene = scene_of("primer/occupancy-grid")
    (record,) = scene.run.records
    assert record.geometry.blocks > 1
    assert any(isinstance(event, Access) for event in record.events)
