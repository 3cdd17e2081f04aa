"""Many graphs at once on a GPU, as the simulator runs it, and the rung behind it."""

from __future__ import annotations

import numpy as np
import pytest
from batch_checks import check, plain_distances, stack_of
from numba import float32, float64, int32, int64
from oracles import DTYPES, as_float

import warpladder as wl
from choosing import large, only
from warpladder.device.numba_target import types
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.lab.verify import check_predictions, verify
from warpladder.shortest_paths import batches
from warpladder.shortest_paths.gpu.batches import close_batch
from warpladder.shortest_paths.ladder import LADDER
from warpladder.shortest_paths.rungs import batch_of_blocks
from warpladder.simulator import SimulatedDevice


def check_on_the_simulator(b, n, dtype, next_hops, **options):
    weights = stack_of(b, n, dtype, density=4 / max(n, 4))
    device = SimulatedDevice(counters=False, **options)
    batch = wl.shortest_paths(weights, next_hops=next_hops, device=device)
    check(weights, batch)
    assert batch.dist_matrix.dtype == dtype
    assert len(device.launches) == (1 if n else 0)
    assert device.properties.name in batch.why


#: By default one of each size, and pairs of int16; test_gpu_engine.py has the others.
BY_DEFAULT = {("int16", False), ("int32", True), ("float64", False)}


@pytest.mark.parametrize(
    ("n", "dtype", "next_hops"),
    only(
        lambda n, *variant: variant in BY_DEFAULT and (n or variant == ("int32", True)),
        [33, 1, 0],
        DTYPES,
        [True, False],
    ),
)
def test_the_simulated_gpu_agrees(n, dtype, next_hops):
    check_on_the_simulator(2, n, dtype, next_hops)


@pytest.mark.parametrize(
    ("n", "dtype", "next_hops"),
    [
        (2, "int32", True),
        (32, "float32", False),
        (65, "int16", False),
        *large(
            (31, "int16", False),
            (64, "int32", True),
            (31, "int32", False),
            (32, "float32", True),
            (64, "int32", False),
        ),
        *large((64, "float64", True), (65, "int16", True)),
        *large((65, "float32", False), (65, "int64", True)),
    ],
)
def test_around_whole_warps_and_tiles(n, dtype, next_hops):
    check_on_the_simulator(2 if n <= 64 else 1, n, dtype, next_hops)


# By default there are two, with all checks.
@pytest.mark.large
def test_three_tiles_in_a_row():
    check_on_the_simulator(1, 130, "int32", True, checks=False)


@pytest.mark.large
def test_warps_in_any_order():
    check_on_the_simulator(1, 20, "int32", True, schedule="warps-reverse")


def test_graphs_that_do_not_fit_go_in_parts(monkeypatch):
    weights = stack_of(7, 20, "int16")
    expected = plain_distances(weights)
    device = SimulatedDevice(checks=False, counters=False)
    room = 3 * batch_of_blocks.bytes_per_graph(20, "int16", None) / 0.8
    monkeypatch.setattr(device, "free_bytes", lambda: room)
    seen = []
    batch = wl.shortest_paths(weights, device=device, progress=seen.append)
    assert np.array_equal(as_float(batch.dist_matrix), expected)
    assert len(device.launches) == 3
    assert seen == [3 / 7, 6 / 7]


def test_no_graphs_launch_nothing():
    device = SimulatedDevice()
    assert len(wl.shortest_paths(np.ones((0, 5, 5)), device=device)) == 0
    close_batch(device, np.ones((0, 5, 5)), np.ones((0, 0, 0), np.int32))
    assert device.counters.launches == 0


def test_graphs_that_fill_a_gpu_go_one_by_one(monkeypatch):
    monkeypatch.setattr(batches, "FILLS_A_GPU", 20)
    weights = stack_of(2, 20, "int32")
    device = SimulatedDevice(checks=False, counters=False)
    batch = wl.shortest_paths(weights, device=device)
    check(weights, batch)
    assert "2 graphs one by one" in batch.why
    assert len(device.launches) == 2


# --- the rung -------------------------------------------------------------------------------------


def test_the_rung_is_right_and_as_predicted():
    rung = LADDER.find("batch-of-blocks")
    assert rung is batch_of_blocks.RUNG
    assert all(verdict.ok for verdict in verify(rung, SimulatedDevice()))
    assert all(result.ok for result in check_predictions(rung, LADDER, SimulatedDevice))


NUMBERS = {
    "int16": (types.int16, int32),
    "int64": (int64, int64),
    "float32": (float32, float32),
    "float64": (float64, float64),
}


# Hops take registers of their own: without them there is less to spill. Numbers of int16 are int32,
# and as such the engine's are compiled.
@pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")
@pytest.mark.parametrize("dtype", large(*NUMBERS))
def test_kernels_for_every_dtype_compile_without_spills(dtype):
    given, number = NUMBERS[dtype]
    stack, hops = types.Array(given, 3, "C"), types.Array(types.int16, 3, "C")
    padded, padded_hops = types.Array(number, 3, "C"), types.Array(int32, 3, "C")
    links = hops if dtype == "int16" else padded_hops
    no_path = float64 if dtype.startswith("float") else int64
    for kernel, arguments in (
        (batch_of_blocks.close_in_one_tile(number, carry=True), (stack, links, no_path)),
        (
            batch_of_blocks.close_in_many_tiles(number, carry=True),
            (stack, links, padded, padded_hops, no_path),
        ),
    ):
        found = compile_kernel(kernel, arguments)
        assert (found.spill_bytes, found.stack_bytes) == (0, 0)


class Measuring(SimulatedDevice):
    """Adds up what it allocates."""

    def __init__(self):
        super().__init__(checks=False, counters=False)
        self.taken = 0

    def empty(self, shape, dtype):
        self.taken += int(np.prod(shape)) * np.dtype(dtype).itemsize
        return super().empty(shape, dtype)


@pytest.mark.parametrize(("n", "hops"), [(20, None), (20, "int32"), (70, "int16")])
def test_the_bytes_foretold_are_those_allocated(n, hops):
    device = Measuring()
    dist = device.to_device(np.ones((2, n, n), np.int16))
    links = None if hops is None else device.empty((2, n, n), hops)
    batch_of_blocks.close_graphs(device, dist, links, 16_383)
    # Hops that are not wanted take a place of 4 bytes for each graph.
    foretold = 2 * (batch_of_blocks.bytes_per_graph(n, "int16", hops) + 4 * (hops is None))
    assert dist.nbytes + device.taken == foretold
