"""Rounds of large matrices on a GPU, whole or half: one launch, and the order of all of them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import DTYPES, as_float, check_hops, distances, random_weights

import warpladder as wl
from choosing import large, meeting
from warpladder.shortest_paths.gpu import close as closing
from warpladder.shortest_paths.gpu import halves, small_rounds, tagged_rounds, whole
from warpladder.shortest_paths.gpu.halves import close_half
from warpladder.shortest_paths.gpu.small_rounds import close_in_small_tiles
from warpladder.shortest_paths.gpu.tagged_rounds import close_in_tagged_tiles
from warpladder.shortest_paths.gpu.whole import close_whole
from warpladder.shortest_paths.gpu_tiles import small
from warpladder.shortest_paths.gpu_tiles.large import TILE
from warpladder.shortest_paths.gpu_tiles.tagged import BITS
from warpladder.shortest_paths.rungs import deep_rounds, overlapped_panels, tagged_distances
from warpladder.shortest_paths.rungs.overlapped_panels import overlap_rounds
from warpladder.simulator import SimulatedDevice

Tile = tuple[int, int]

# ---- one launch ----------------------------------------------------------------------------------


def relaxed(
    matrix: NDArray[Any], tile: int, pivots: range, tiles: set[Tile], *, mirrored: bool = False
) -> NDArray[Any]:
    """Return the matrix after these tiles have been relaxed through those of the diagonal."""
    best = matrix.copy()
    for k in range(pivots.start * tile, pivots.stop * tile):
        np.minimum(best, matrix[:, k, None] + matrix[k], out=best)
    after = matrix.copy()
    for i, j in tiles:
        rows, columns = slice(i * tile, (i + 1) * tile), slice(j * tile, (j + 1) * tile)
        after[rows, columns] = best[rows, columns]
        if mirrored:
            after[columns, rows] = best[rows, columns].T
    return after


def operands_of(gpu: SimulatedDevice, tiles: deep_rounds.Tiles, dist: Any) -> deep_rounds.Operands:
    """Return what the engine gives these kernels, without next hops but where they have tags."""
    if tiles in TAGGED:
        return deep_rounds.Operands(*[(dist, gpu.full(dist.shape, -1, np.int32))] * 3)
    if tiles in SMALL:
        given = dist, gpu.empty((1, 1), np.int32), 1e9
        return deep_rounds.Operands(given[:2], given, given)
    if dist.dtype != np.int16:
        return deep_rounds.Operands((dist,), (dist,), (dist,))
    words = dist.view(np.int32)
    both = (words, dist) if tiles in HALVED else (words,)
    return deep_rounds.Operands((dist,), both, (words,))


SMALL = [small_rounds._TILES[8, False], small_rounds._HALVES[8, False]]
TAGGED = [tagged_distances.TAGGED, tagged_rounds._HALF]
HALVED = [halves._STRIPS, halves._TILES, halves._PAIRS, SMALL[1], TAGGED[1]]


@pytest.mark.parametrize(
    ("tiles", "dtype"),
    [
        # Launches of whole tiles are many, without pairs or tags those of the rung, whose own tests
        # run them.
        *large((whole._PAIRS, "int16"), (halves._STRIPS, "float32"), (halves._TILES, "int32")),
        *large((halves._PAIRS, "int16")),
        (SMALL[0], "float64"),
        *large((SMALL[1], "int64")),
        *large(*((tiles, "int32") for tiles in TAGGED)),
    ],
    ids=[
        *("whole-pairs", "strips", "tiles", "half-pairs", "small", "half-small"),
        *("tagged", "half-tagged"),
    ],
)
def test_one_launch_relaxes_its_tiles_and_no_others(tiles: deep_rounds.Tiles, dtype: str) -> None:
    """Rows and columns of a round, those of the next one and the rest, of four tiles in a row."""
    gpu = SimulatedDevice(counters=False, multiprocessors=1)
    count, side = 4, small.TILE if tiles in SMALL else TILE
    weights = np.random.default_rng(5).integers(1, 2000, (count * side, count * side))
    given = np.minimum(weights, weights.T).astype(dtype)
    if tiles in TAGGED:
        given <<= BITS
    halved = tiles in HALVED
    some = [(i, j) for i in range(count) for j in range(count) if i >= j or not halved]

    def launched(kernel: Any, blocks: Any, *numbers: int) -> NDArray[Any]:
        dist = gpu.to_device(given)
        operands = operands_of(gpu, tiles, dist)
        before = operands.rest if kernel is tiles.rest else operands.cross
        gpu.launch(kernel, blocks, tiles.threads, *before, *numbers)
        return gpu.to_host(dist)

    # Through tiles 1 and 2 the other rows and columns of a round of tiles 0 to 2.
    for pivot, others in ((1, {0, 2}), (2, {0, 1})):
        own = {(i, j) for i, j in some if pivot not in {i, j} and others & {i, j}}
        found = launched(tiles.cross, tiles.blocks_of_cross(3, 3), pivot, 1, 0)
        last = halved and pivot == 2
        through = range(pivot, pivot + 1)
        assert np.array_equal(found, relaxed(given, side, through, own, mirrored=last))
    # Through tiles 0 and 1 the rows and columns of the next round.
    following = {(i, j) for i, j in some if i > 1 and j > 1}
    found = launched(tiles.cross, tiles.blocks_of_cross(2, 2), 0, 2, 2)
    assert np.array_equal(found, relaxed(given, side, range(2), following))
    # Through tiles 1 and 2 the rest.
    rest = {(i, j) for i, j in some if not {1, 2} & {i, j}}
    found = launched(tiles.rest, tiles.blocks_of_rest(2), 1, 2, 2)
    assert np.array_equal(found, relaxed(given, side, range(1, 3), rest))


# ---- small tiles ---------------------------------------------------------------------------------


#: One tile, which has not even panels; test_gpu_halves.py has three in a row, whole and by half.
CHOSEN = [(33, "int32", True, 2)]


def in_small_rounds(n: int, dtype: str, hops: bool, depth: int) -> bool:
    is_small = hops or dtype.endswith("64")
    return is_small and (n, dtype, hops, depth) not in CHOSEN


@pytest.mark.parametrize(
    ("n", "dtype", "hops", "depth"),
    [
        *CHOSEN,
        *large(
            *meeting(
                (33, 64), DTYPES, [False, True], [1, 2, 3], where=in_small_rounds
            ),
            # Three tiles of numbers of 4 bytes; and four of 8: a round of three has a rest.
            (130, "int32", True, 2), (200, "float64", True, 3),
        ),
    ],
)  # fmt: skip
def test_small_tiles_in_deep_rounds(
    monkeypatch: pytest.MonkeyPatch, n: int, dtype: str, hops: bool, depth: int
) -> None:
    monkeypatch.setattr(closing, "_SMALL_ROUNDS_FROM", 0)
    monkeypatch.setattr(closing, "depth_of", lambda _: depth)
    gpu = SimulatedDevice(counters=False, multiprocessors=1)
    assert closing.plan_for(gpu, n, np.dtype(dtype), carry=hops).method == (
        "hops" if hops else "wide"
    )
    weights = random_weights(n, dtype, density=4 / n, seed=n)
    answer = wl.shortest_paths(weights, device=gpu, next_hops=hops)
    expected = distances(weights)
    assert np.array_equal(as_float(answer.dist_matrix), expected)
    if hops:
        check_hops(weights, answer.dist_matrix, answer.next_hops)


@pytest.mark.parametrize(
    ("method", "tiles", "depth"),
    [
        *(("singles", 47, 1), ("singles", 48, 2), ("singles", 127, 2), ("singles", 128, 4)),
        *(("pairs", 95, 1), ("pairs", 96, 2)),
        *(("wide", 47, 1), ("wide", 48, 2), ("wide", 95, 2), ("hops", 95, 2), ("hops", 96, 8)),
        *(("tags", 47, 1), ("tags", 48, 2), ("tags", 128, 4)),
    ],
)
def test_many_tiles_are_taken_in_deep_rounds(method: Any, tiles: int, depth: int) -> None:
    plan = closing.Plan(method, 0, np.dtype(np.int32))
    assert closing.depth_of(plan._replace(side=tiles * plan.tile)) == depth


def test_half_and_whole_are_equally_deep() -> None:
    plan = closing.Plan("singles", 48 * TILE, np.dtype(np.int32))
    matrix = np.empty((plan.side, plan.side), np.int32)
    deepest = []
    for half in (False, True):
        device: Any = Streams(48)
        closing.close(device, plan, matrix, None, 0, half=half)
        deepest.append(max(depth for _, _, depth in device.named))
    assert deepest == [2, 2]


# ---- two streams ---------------------------------------------------------------------------------


class Launch(NamedTuple):
    """What a launch reads and writes, in tiles, and which launches are certainly done before."""

    reads: set[Tile]
    writes: set[Tile]
    before: frozenset[int]


class Queue:
    """A stream, an event, or the host: what is done when all that was put there is."""

    def __init__(self, *, urgent: bool = False) -> None:
        self.urgent = urgent
        self.done: frozenset[int] = frozenset()

    def wait(self, event: Queue) -> None:
        self.done |= event.done

    def record(self, stream: Queue) -> None:
        self.done = stream.done


class Streams:
    """A device that notes in which order launches are bound to run; of a matrix of tiles."""

    def __init__(self, tiles: int) -> None:
        self.tiles = tiles
        self.launches: list[Launch] = []
        #: For each launch, what the host then knew to be done.
        self.seen: list[frozenset[int]] = []
        #: The kernels, the first tile of the diagonal that they relax through, and how many.
        self.named: list[tuple[str, int, int]] = []
        self.host = Queue()
        self.streams: list[Queue] = []
        self.properties = SimulatedDevice().properties

    def stream(self, *, urgent: bool = False) -> Queue:
        self.streams.append(Queue(urgent=urgent))
        return self.streams[-1]

    def event(self) -> Any:
        host, event = self.host, Queue()
        event.synchronize = lambda: host.wait(event)  # type: ignore[attr-defined]
        return event

    def empty(self, shape: Any, dtype: Any) -> NDArray[Any]:
        return np.empty(shape, dtype)

    def synchronize(self) -> None:
        for stream in self.streams:
            self.host.wait(stream)

    @property
    def most_ahead(self) -> int:
        """How many launches are put on streams at most while the host knows nothing of them."""
        return max(number - len(done) for number, done in enumerate(self.seen))

    def launch(
        self, kernel: Any, grid: Any, threads: Any, *args: Any, stream: Queue | None = None
    ) -> None:
        del threads
        if stream is None:
            # The default stream waits for all others.
            self.synchronize()
        numbers = [one for one in args if isinstance(one, int)]
        name = kernel.py_func.__name__
        name = name.replace("_small_diagonal", "_diagonal").replace("_small_", "_deep_")
        name = name.replace("mirror_small", "mirror_all")
        name = name.replace("_tagged_diagonal", "_diagonal").replace("_tagged_", "_deep_")
        if name in {"relax_cross", "relax_rest"}:
            # Of `overlapped-panels`, which takes one tile of the diagonal in a round.
            name = name.replace("_", "_deep_")
            numbers.insert(1, 1)
        reads, writes = touched(name, grid, self.tiles, *numbers)
        pivot, depth, *_ = (*numbers, *(0, 1)[len(numbers) :])
        self.named.append((name, pivot, depth))
        self.seen.append(self.host.done)
        # What the next round waits for goes first.
        assert stream is None or stream.urgent == ("rest" not in name)
        before = self.host.done | (stream.done if stream else frozenset())
        self.launches.append(Launch(reads, writes, before))
        (stream or self.host).done |= {len(self.launches) - 1}


def touched(
    kernel: str, grid: Any, count: int, pivot: int = 0, depth: int = 1, other: int = 0
) -> tuple[set[Tile], set[Tile]]:
    """Return the tiles that a kernel of `close_whole` or `close_half` reads and writes."""
    every = range(count)
    through = range(pivot, pivot + depth)
    halved = "half" in kernel or kernel == "relax_strips"
    mirrored = False
    match kernel:
        case "close_diagonal":
            tiles = {(pivot, pivot)}
            return tiles, tiles
        case "make_room" | "read_notes":
            tiles = {(i, j) for i in every for j in every}
            return tiles, tiles
        case "mirror_all":
            below = {(i, j) for i in every for j in range(i)}
            return below, {(j, i) for i, j in below}
        case (
            "relax_deep_rest"
            | "relax_half_of_deep_rest"
            | "relax_rest_in_pairs"
            | "relax_half_of_rest_in_pairs"
        ):
            # ``other`` is how many rows and columns are left out.
            kept = [k for k in every if not pivot <= k < pivot + other]
            tiles = {(i, j) for i in kept for j in kept}
            rows = len(kept)
            assert grid == ((rows, rows // 2 + 1) if halved else (rows, rows))
        case _:
            assert kernel in {
                *("relax_deep_cross", "relax_strips", "relax_half_of_deep_cross"),
                *("relax_cross_in_pairs", "relax_half_of_cross_in_pairs"),
            }
            others = count - depth
            crosses = grid[-1] if halved else grid[1] // 2
            strips = (4, others, crosses) if kernel == "relax_strips" else (others, crosses)
            assert grid == (strips if halved else (others, 2 * crosses))
            rows = [k for k in range(other, other + crosses) if crosses == 1 or k not in through]
            beside = [k for k in every if k not in through]
            tiles = {(i, k) for i in rows for k in beside} | {(k, i) for i in rows for k in beside}
            mirrored = halved and pivot == other + crosses - 1
    if halved:
        tiles = {(i, j) for i, j in tiles if i >= j}
    writes = tiles | ({(j, i) for i, j in tiles} if mirrored else set())
    reads = set(tiles)
    for i, j in tiles:
        operands = {tile for k in through for tile in ((i, k), (k, j))}
        if kernel == "relax_strips":
            # Of what is named by two tiles of the diagonal it reads either side.
            operands |= {(j, i) for i, j in operands}
        # Within a launch no block reads what another one writes.
        assert not operands & (writes - {(i, j), (j, i)})
        reads |= operands
    return reads, writes


@pytest.mark.parametrize("close", [close_half, close_whole])
@pytest.mark.parametrize("dtype", ["int32", "int16"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 7, 24])
def test_launches_that_touch_the_same_tiles_are_in_order(
    close: Any, dtype: str, depth: int, tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whole tiles and strips.
    monkeypatch.setattr(halves, "_TILES_FROM", 7)
    device, told = Streams(tiles), []
    matrix = np.empty((tiles * TILE, tiles * TILE), dtype)
    close(device, matrix, depth, told.append)
    assert told == sorted(told)
    # The host does not run ahead for ever, and waits in the end; what mirrors may still be at work.
    assert device.most_ahead <= 9 * (2 + (2 if depth == 1 else 3 * depth))
    known = range(len(device.launches) - (close is close_half and tiles > 1))
    assert device.host.done.issuperset(known)
    assert bool(told) == (-(-tiles // depth) > 8)
    beside = launches_beside_others(device)
    assert (beside > 0) == (tiles > 2 * depth)
    if depth == 1:
        # Beside the rest of each round but the last are the next cross, diagonal and panels.
        assert beside == (3 * (tiles - 1) if tiles > 2 else 0)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("tiles", [1, 4, 7])
def test_launches_of_small_tiles_are_in_order(half: bool, depth: int, tiles: int) -> None:
    device = Streams(tiles)
    matrix = np.empty((tiles * small.TILE, tiles * small.TILE), np.int64)
    close_in_small_tiles(device, matrix, None, depth, 1e9, half=half)
    assert (launches_beside_others(device) > 0) == (tiles > 2 * depth)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("tiles", [1, 4, 7])
def test_launches_of_tagged_tiles_are_in_order(half: bool, depth: int, tiles: int) -> None:
    device = Streams(tiles)
    matrix = np.empty((tiles * TILE, tiles * TILE), np.int32)
    close_in_tagged_tiles(device, matrix, matrix, depth, 9, half=half)  # type: ignore[arg-type]
    assert (launches_beside_others(device) > 0) == (tiles > 2 * depth)
    # Notes are mirrored with the distances, and read after that.
    mirrors = ["mirror_all"] * 2 if half and tiles > 1 else []
    assert [name for name, _, _ in device.named][-1 - len(mirrors) :] == [*mirrors, "read_notes"]


@pytest.mark.parametrize("tiles", [1, 2, 3, 24])
def test_launches_of_the_rung_are_in_order(tiles: int) -> None:
    device = Streams(tiles)
    dist = np.empty((tiles * TILE, tiles * TILE), np.int32)
    overlap_rounds(device, overlapped_panels._OfOneTile(device, dist), None)
    assert launches_beside_others(device) == (3 * (tiles - 1) if tiles > 2 else 0)


def launches_beside_others(device: Streams) -> int:
    """Return how many pairs of launches may run at the same time; none may touch the same tiles."""
    beside = 0
    for (number, one), (_, other) in combinations(enumerate(device.launches), 2):
        if number not in other.before:
            beside += 1
            assert not one.writes & (other.reads | other.writes)
            assert not one.reads & other.writes
    return beside


@pytest.mark.parametrize("close", [close_half, close_whole])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("count", [7, 8])
def test_every_tile_is_relaxed_through_every_other(close: Any, depth: int, count: int) -> None:
    device = Streams(count)
    close(device, np.empty((count * TILE, count * TILE), np.int32), depth)
    through: Counter[tuple[Tile, int]] = Counter()
    for (kernel, pivot, deep), one in zip(device.named, device.launches, strict=True):
        if kernel != "mirror_all":
            below = {t for t in one.writes if t[0] >= t[1] or close is close_whole}
            through.update((t, k) for t in below for k in range(pivot, pivot + deep))
    relaxed = [(i, j) for i in range(count) for j in range(count) if i >= j or close is close_whole]
    # Once each; those of the diagonal through themselves by being closed.
    assert through == Counter((tile, k) for tile in relaxed for k in range(count))
