"""Matrices larger than the device's memory: right, within that memory, and whatever overlaps."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections import deque
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from oracles import absent, as_float, check_hops, distances, random_weights

import warpladder as wl
from choosing import large
from warpladder.device import staging
from warpladder.errors import TooLargeError
from warpladder.shortest_paths.dense import export_dist, hop_matrix, import_weights, inner_no_path
from warpladder.shortest_paths.gpu import close, engine, out_of_core
from warpladder.shortest_paths.gpu.out_of_core import Sizes
from warpladder.shortest_paths.gpu.product import Part, Product, copy_columns
from warpladder.simulator import SimulatedDevice


class Device(SimulatedDevice):
    """A device that holds so many bytes and no more, and counts what crosses the bus."""

    def __init__(self, budget=1 << 40, *, checks=False):
        super().__init__(counters=False, checks=checks, multiprocessors=1)
        self.budget, self.held, self.most, self.sent, self.fetched = budget, 0, 0, 0, 0

    def free_bytes(self):
        return self.budget - self.held

    def empty(self, shape, dtype):
        array = super().empty(shape, dtype)
        self.held += array.nbytes
        self.most = max(self.most, self.held)
        assert self.held <= self.budget
        weakref.finalize(array.buffer.raw, self._release, array.nbytes)
        return array

    def full(self, shape, value, dtype):
        array = self.empty(shape, dtype)
        array.fill(np.full(shape, value, dtype))
        return array

    def _release(self, size):
        self.held -= size

    def left(self):
        """Return what is still held; the simulator's own rings keep arrays for a while."""
        gc.collect()
        return self.held

    def to_device(self, host_array, out=None, *, stream=None):
        assert out is not None
        self.sent += out.nbytes
        return super().to_device(host_array, out, stream=stream)

    def to_host(self, device_array, out=None, *, stream=None):
        self.fetched += device_array.nbytes
        return super().to_host(device_array, out, stream=stream)


class IdleDevice(Device):
    """A device that launches nothing, for what does not depend on results."""

    def launch(self, kernel, grid, *others, **options):
        del kernel, others, options
        assert np.min(grid) > 0


class Mark:
    """A place in a stream."""

    def __init__(self, stream):
        self.stream, self.reached = stream, False

    def reach(self):
        while not self.reached:
            self.stream.do_next()

    def __call__(self):
        self.reached = True


class LateStream:
    """Does what it has to do when somebody waits for it, and not before."""

    def __init__(self):
        self.tasks = deque()

    def do_next(self):
        self.tasks.popleft()()

    def synchronize(self):
        while self.tasks:
            self.do_next()

    def wait(self, event):
        if event.mark:
            self.tasks.append(event.mark.reach)


class LateEvent:
    mark = None

    def record(self, stream):
        self.mark = Mark(stream)
        stream.tasks.append(self.mark)

    def synchronize(self):
        if self.mark:
            self.mark.reach()


class LateDevice(Device):
    """A device on which everything is as late as its streams and events allow.

    The other one does everything at once. Where both give the same, nobody reads what is still to
    be written or overwrites what is still to be read.
    """

    def __init__(self, budget=1 << 40):
        super().__init__(budget)
        self.streams = []

    def stream(self, *, urgent=False):
        del urgent
        self.streams.append(LateStream())
        return self.streams[-1]

    def event(self):
        return LateEvent()

    def synchronize(self):
        # What was put first comes last, unless somebody says that it must not.
        for stream in reversed(self.streams):
            stream.synchronize()

    def _put(self, stream, task):
        if stream is None:
            self.synchronize()
            task()
        else:
            stream.tasks.append(task)

    def launch(self, *args, stream=None, **options):
        self._put(stream, partial(super().launch, *args, **options))

    def to_device(self, host_array, out=None, *, stream=None):
        self._put(stream, partial(super().to_device, host_array, out))
        return out

    def to_host(self, device_array, out=None, *, stream=None):
        self._put(stream, partial(super().to_host, device_array, out))
        return out


def ready(weights, *, hops):
    """Return what an engine gets: weights prepared, and first hops."""
    dist, links = np.empty_like(weights), hop_matrix(weights.dtype, len(weights), wanted=hops)
    import_weights(weights, dist, links, absent(weights.dtype.name))
    return dist, links


def check(weights, sizes, *, hops, device=None):
    """Close the weights on the device; compare with the CPU engine, and walk the hops."""
    dist, links = ready(weights, hops=hops)
    gpu = device or Device()
    gpu.budget = sizes.device_bytes(np.promote_types(dist.dtype, np.int16), carry=hops) * 2 + 64
    out_of_core.floyd_warshall(gpu, dist, links, sizes=sizes)
    # Negative weights take something off "no path" where it is a number.
    export_dist(dist, links, inner_no_path(dist.dtype) / 2)
    assert np.array_equal(as_float(dist), distances(weights))
    if hops:
        check_hops(weights, dist, links)


# ---- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "sizes", "dtype", "hops"),
    [
        (1, (64, 64, 64), "int64", False),
        (2, (64, 64, 64), "int32", True),
        (33, (128, 128, 128), "float32", False),
        (64, (64, 64, 64), "float64", False),
        *large((130, (192, 128, 128), "int32", True), (129, (192, 128, 64), "int64", False)),
    ],
)
def test_wherever_blocks_and_bands_end(n, sizes, dtype, hops):
    check(random_weights(n, dtype, density=0.05, seed=n), Sizes(*sizes), hops=hops)


# By default they go along with int32, above and where a call takes this way.
@pytest.mark.parametrize("dtype", large("float64", "int16", "float32", "int64"))
def test_next_hops_of_every_dtype(dtype):
    check(random_weights(97, dtype, density=0.05, seed=1), Sizes(128, 64, 64), hops=True)


@pytest.mark.parametrize(("n", "dtype", "up_to"), large((129, "int16", 4096), (200, "float32", 0)))
def test_tiles_of_128(n, dtype, up_to, monkeypatch):
    monkeypatch.setattr(close, "_ONE_LAUNCH_UP_TO", up_to)
    weights = random_weights(n, dtype, density=0.05, seed=n)
    check(weights, Sizes(256, 128, 128), hops=False, device=LateDevice())


@pytest.mark.large
def test_negative_weights_and_all_checks():
    rng = np.random.default_rng(2)
    weights = random_weights(70, "int64", density=0.05, seed=2)
    heights = rng.integers(0, 500, 70)
    edges = weights != absent("int64")
    weights[edges] += (heights[:, None] - heights[None, :])[edges]
    np.fill_diagonal(weights, 0)
    check(weights, Sizes(128, 64, 64), hops=True, device=Device(checks=True))


@pytest.mark.large
def test_rounded_sums_do_not_depend_on_what_comes_first(monkeypatch):
    monkeypatch.setattr(staging, "_BAND_BYTES", 20_000)
    weights = np.random.default_rng(3).random((100, 100))
    found = []
    for device in (Device(), LateDevice()):
        dist, nothing = ready(weights, hops=False)
        out_of_core.floyd_warshall(device, dist, nothing, sizes=Sizes(128, 64, 64))
        found.append(dist)
    assert np.array_equal(*found)
    # At most n - 1 roundings along a path of positive weights, on either side.
    bound = 2 * len(weights) * np.finfo(np.float64).eps
    assert np.allclose(found[0], distances(weights), rtol=bound, atol=0)


def test_the_call_takes_this_way_where_the_matrix_does_not_fit():
    n, number_and_hop = 230, 8
    weights = random_weights(n, "int32", density=0.03, seed=4)
    device = LateDevice(240 * 256 * number_and_hop)
    answer = wl.shortest_paths(weights, next_hops=True, device=device)
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    check_hops(weights, answer.dist_matrix, answer.next_hops)
    assert device.most > 0
    assert device.left() == 0
    # There four times, and the rows of each round once more, and its block on the diagonal.
    assert device.sent == 256**2 * (4 * number_and_hop + 4) + 4 * 64**2 * number_and_hop
    assert device.fetched == 4 * n * 256 * number_and_hop


# ---- the product ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "hops"),
    [
        *(("int32", True), ("float32", False), ("int64", False), ("float64", True)),
        *large(("int32", False), ("float32", True), ("int64", True), ("float64", False)),
    ],
)
def test_product(dtype, hops):
    device = SimulatedDevice(counters=False)
    tile = 128 if dtype.endswith("32") and not hops else 64
    depth, first, rng = 64, 64, np.random.default_rng(5)
    skipped = slice(tile, 2 * tile)
    target = rng.integers(0, 50, (tile, 3 * tile)).astype(dtype)
    lefts = rng.integers(0, 50, (tile, first + depth)).astype(dtype)
    rights = rng.integers(0, 50, (depth, 3 * tile)).astype(dtype)
    links = [rng.integers(0, 99, part.shape).astype(np.int32) for part in (target, lefts)]
    sums = lefts[:, first:, None] + rights[None]
    expected = np.minimum(target, sums.min(axis=1))
    expected[:, skipped] = target[:, skipped]
    here = Part(device.to_device(target), device.to_device(links[0]) if hops else None)
    there = Part(device.to_device(lefts), device.to_device(links[1]) if hops else None)
    product = Product(device, np.dtype(dtype), carry=hops, no_path=1000)
    product.relax(
        here, there, device.to_device(rights), (first, depth), 2 * tile, (tile, tile),
        stream=device.stream(),
    )  # fmt: skip
    assert np.array_equal(device.to_host(here.dist), expected)
    if hops:
        found = device.to_host(here.hops)
        improved = expected < target
        assert np.array_equal(found[~improved], links[0][~improved])
        shortest = sums == expected[:, None]
        may_be = (shortest & (links[1][:, first:, None] == found[:, None])).any(axis=1)
        assert may_be[improved].all()


@pytest.mark.parametrize("hops", [False, True])
def test_columns_are_copied(hops):
    device = SimulatedDevice(counters=False)
    source = np.arange(5 * 300).reshape(5, 300)
    target = np.zeros((5, 280), np.int64)
    parts = [
        Part(device.to_device(matrix), device.to_device(-matrix) if hops else None)
        for matrix in (source, target)
    ]
    copy_columns(device, parts[0], 20, parts[1], 10, 257, device.stream())
    target[:, 10:267] = source[:, 20:277]
    assert np.array_equal(device.to_host(parts[1].dist), target)
    if hops:
        assert np.array_equal(device.to_host(parts[1].hops), -target)


# ---- memory --------------------------------------------------------------------------------------


# How much is allocated depends on the size of a number alone; int16 is closed as int32.
@pytest.mark.parametrize(
    ("part", "dtype", "hops"),
    [
        *((0.3, "int16", False), (0.9, "int64", True), (1.02, "float32", False)),
        *large((0.3, "float32", True), (0.3, "int64", True), (0.9, "float32", False)),
        *large((0.9, "int16", True), (1.02, "int16", True), (1.02, "int64", False)),
    ],
)
def test_what_is_allocated_fits(part, dtype, hops):
    n = 1500
    dist, links = ready(random_weights(n, dtype), hops=hops)
    size = np.dtype(dtype).itemsize if dtype != "int16" else 4
    in_core = 1536**2 * (size + 4 * hops)
    device = IdleDevice(int(part * in_core))
    told = []
    engine.floyd_warshall(device, dist, links, told.append)
    assert 0.5 * device.budget < device.most <= device.budget
    assert device.left() == 0
    assert told[-1] == 1
    assert all(before <= after for before, after in pairwise(told))


def test_a_matrix_that_fits_is_left_in_the_memory():
    dist, links = ready(random_weights(500, "float64"), hops=True)
    needed = 512**2 * 12
    device = IdleDevice(-(-needed * 32 // 31))
    engine.floyd_warshall(device, dist, links)
    assert device.sent == 512**2 * 8
    assert device.most < needed + 64


@pytest.mark.parametrize(("dtype", "hops"), [("float32", False), ("float64", True)])
def test_rounds_are_as_few_as_can_be(dtype, hops):
    n, kind = 200_000, np.dtype(dtype)
    for budget in (10**9, 10**10, 10**11):
        sizes = out_of_core.sizes_for(IdleDevice(budget), n, kind, carry=hops)
        assert sizes.device_bytes(kind, carry=hops) <= budget * 31 / 32
        assert sizes.block % sizes.band == 0
        rounds = -(-sizes.width // sizes.block)
        one_less = -(-sizes.width // (rounds - 1))
        larger = sizes._replace(block=-(-one_less // sizes.band) * sizes.band)
        assert larger.device_bytes(kind, carry=hops) > budget * 31 / 32


def test_the_least_memory_and_less():
    dist, links = ready(random_weights(1000, "int32"), hops=False)
    before = dist.copy()
    smallest = Sizes(width=1024, block=128, band=128)
    least = smallest.device_bytes(dist.dtype, carry=False)
    device = Device(-(-least * 32 // 31))
    assert out_of_core.sizes_for(device, 1000, dist.dtype, carry=False) == smallest
    with pytest.raises(TooLargeError, match=rf"1,000 vertices as int32 .* {least:,} bytes"):
        engine.floyd_warshall(IdleDevice(least), dist, links)
    assert np.array_equal(dist, before)


@pytest.mark.large
def test_the_host_needs_no_second_matrix(monkeypatch):
    monkeypatch.setattr(staging, "_BAND_BYTES", 1 << 16)
    dist, links = ready(random_weights(1500, "float64"), hops=False)
    device = IdleDevice(6 << 20)
    tracemalloc.start()
    try:
        engine.floyd_warshall(device, dist, links)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A byte of the device takes two here: itself, and whether it was written.
    assert most - 2 * device.most < dist.nbytes / 10


# ---- interrupted ---------------------------------------------------------------------------------


def test_an_interrupt_leaves_nothing_behind_that_still_runs():
    def interrupt(done):
        raise KeyboardInterrupt

    dist, links = ready(random_weights(100, "float64"), hops=False)
    device = LateDevice()
    with pytest.raises(KeyboardInterrupt):
        out_of_core.floyd_warshall(device, dist, links, interrupt, Sizes(128, 64, 64))
    assert not any(stream.tasks for stream in device.streams)
    assert device.left() == 0
