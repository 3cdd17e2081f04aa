"""The matrix that stays in registers: the rung, and when the engine takes it."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import warpladder as wl
from choosing import only
from warpladder.errors import KernelFaultError, TooLargeError
from warpladder.shortest_paths.gpu.close import plan_for
from warpladder.shortest_paths.gpu_tiles.large import CELLS, THREADS, place_of
from warpladder.shortest_paths.rungs import resident_tiles
from warpladder.shortest_paths.rungs._tasks import DISTANCES, DISTANCES_FLOAT32
from warpladder.simulator import SimulatedDevice


def test_two_multiprocessors_have_places_for_four_tiles():
    device = SimulatedDevice(checks=False, counters=False, multiprocessors=2)
    assert resident_tiles.most_tiles(device) == 4
    assert plan_for(device, 130, np.dtype(np.int32), carry=False).method == "resident"


# By default the rung is run with one tile, and what tiles wait for is seen below.
@pytest.mark.large
def test_nine_tiles_have_some_that_wait_for_both_panels():
    device = SimulatedDevice(counters=False, multiprocessors=5)
    weights = DISTANCES.make(260, 3).matrix
    found, expected = (wl.shortest_paths(weights, device=where) for where in (device, "cpu"))
    assert "5 multiprocessors" in found.why
    assert np.array_equal(found.dist_matrix, expected.dist_matrix)


# The minimum of floats parts the threads of a warp, which takes the simulator twice as long.
@pytest.mark.large
def test_floats_stay_in_one_tile():
    device = SimulatedDevice(checks=False, counters=False)
    problem = DISTANCES_FLOAT32.make(33, 3)
    assert np.array_equal(resident_tiles.run(device, problem), DISTANCES_FLOAT32.oracle(problem))


def test_more_tiles_than_places_are_refused():
    with pytest.raises(TooLargeError, match=r"260 vertices are 9 tiles.* hold 2; use overlapped"):
        resident_tiles.run(SimulatedDevice(multiprocessors=1), DISTANCES.make(260, 0))


@pytest.mark.parametrize(
    ("n", "dtype", "carry", "method"),
    [
        (1536, "int32", False, "one launch"),
        (1537, "int32", False, "resident"),
        (1537, "int16", False, "resident"),
        (2048, "float32", False, "resident"),
        (2049, "float32", False, "one launch"),
        (1600, "int32", True, "one launch"),
        (1601, "int32", True, "hops"),
        (1600, "float64", False, "one launch"),
        (1601, "float64", False, "wide"),
    ],
)
def test_what_fills_most_places_and_not_more_stays(n, dtype, carry, method):
    plan = plan_for(SimulatedDevice(), n, np.dtype(dtype), carry=carry)
    assert (plan.method, plan.takes_half) == (method, method in {"wide", "hops"})
    assert plan.dtype == ("int32" if dtype == "int16" else dtype)


def test_where_it_was_not_timed_nothing_stays():
    device = SimulatedDevice((8, 0))
    assert resident_tiles.most_tiles(device) == 216
    assert plan_for(device, 1700, np.dtype(np.int32), carry=False).method == "one launch"


def test_where_shared_memory_is_too_small_for_operands_there_are_no_places():
    assert resident_tiles.most_tiles(SimulatedDevice((7, 5))) == 0


def test_the_rung_takes_no_more_vertices_than_it_says():
    most = resident_tiles.most_tiles(SimulatedDevice())
    assert resident_tiles.RUNG.max_n == 128 * int(most**0.5)


@cuda.jit
def tile_beside_the_diagonal(is_row, row_panels, column_panels, flags):
    """Take a tile of noughts, of two times two, through the vertices of the first tile."""
    operands = cuda.shared.array(0, row_panels.dtype, 16)
    best = cuda.local.array(CELLS, row_panels.dtype)
    t = cuda.threadIdx.x
    y, x = place_of(t)
    for r in range(8):
        for c in range(8):
            best[r, c] = 0
    panels = row_panels, column_panels
    if is_row:
        resident_tiles.relax_in_row(best, operands, *panels, flags, 0, 1, 2, t, y, x)
    else:
        resident_tiles.relax_in_column(best, operands, *panels, flags, 0, 1, 2, t, y, x)


def flags_of_the_diagonal(*, is_row):
    """Return which flags a tile beside it waits for, in turn, and which it raises."""
    others = resident_tiles.flag_of_column if is_row else resident_tiles.flag_of_row
    own = resident_tiles.flag_of_row if is_row else resident_tiles.flag_of_column
    waits = [
        flag
        for half in range(2)
        for flag in (
            resident_tiles.flag_of_corner.py_func(half, 2),
            others.py_func(half, 0, 2),
        )
    ]
    return waits, [own.py_func(half, 1, 2) for half in range(2)]


@pytest.mark.parametrize(
    ("is_row", "missing"),
    # A column waits in the same loop, for other flags.
    only(
        lambda is_row, missing: is_row or missing in {None, 0, 3},
        [True, False],
        [None, 0, 1, 2, 3],
    ),
)
def test_a_tile_beside_the_diagonal_waits_for_each_of_its_parts(is_row, missing):
    waits, raises = flags_of_the_diagonal(is_row=is_row)
    device = SimulatedDevice(counters=False)
    panels = [device.full((256, 256), 0, np.int32) for _ in range(2)]
    flags = device.full(20, 0, np.int32)
    raised = device.to_host(flags)
    raised[[flag for number, flag in enumerate(waits) if number != missing]] = 1
    device.to_device(raised, out=flags)

    def launch():
        device.launch(
            tile_beside_the_diagonal, 1, THREADS, is_row, *panels, flags,
            shared_bytes=resident_tiles._shared_bytes(4), cooperative=True,
        )  # fmt: skip

    if missing is None:
        launch()
        assert sorted(np.nonzero(device.to_host(flags))[0]) == sorted(waits + raises)
    else:
        with pytest.raises(KernelFaultError, match=r"livelock: .* near resident_tiles"):
            launch()


@pytest.mark.parametrize("panel", ["row", "column"])
def test_a_tile_of_the_rest_waits_for_both_panels(panel):
    """The first of four is that in the last round; one part of a panel is missing there."""
    flag_of = {one: getattr(resident_tiles, f"flag_of_{one}").py_func for one in ("row", "column")}
    device = SimulatedDevice(counters=False)
    matrices = [device.full((256, 256), 0, np.int32) for _ in range(3)]
    raised = np.ones(20, np.int32)
    raised[flag_of[panel](3, 0, 2)] = 0
    with pytest.raises(KernelFaultError, match=r"livelock: .* near resident_tiles"):
        device.launch(
            resident_tiles.close_in_registers, 1, THREADS,
            *matrices, device.to_device(raised), 2,
            shared_bytes=resident_tiles._shared_bytes(4), cooperative=True,
        )  # fmt: skip
