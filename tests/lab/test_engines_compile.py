"""Kernels that belong to an engine and to no rung compile without spills, too.

What calls mostly run for the one they were timed for and for the oldest, others for the oldest or
the newest, by turns. What kernels of all dtypes or limiters have in common is compiled for some.
"""

from __future__ import annotations

from functools import cache
from itertools import cycle
from unittest.mock import patch

import numpy as np
import pytest

import warpladder as wl
from choosing import only
from warpladder.advection.forms import LIMITERS, Edge, Limited, Problem, Stencil
from warpladder.advection.gpu.engine import GpuEngine
from warpladder.advection.gpu_tiles.plan import STRIPS, Shape
from warpladder.device.properties import properties_of
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.lab.launches import launched_variants
from warpladder.lab.registry import ladders
from warpladder.lab.sass import instruction_mix
from warpladder.overlap_join.forms import Join, Rows
from warpladder.overlap_join.gpu.engine import GpuEngine as OverlapEngine
from warpladder.overlap_join.gpu.tuning import Tuning
from warpladder.overlap_join.measures import as_rule
from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.gpu import close as closing
from warpladder.shortest_paths.gpu import halves, length_bound
from warpladder.shortest_paths.gpu.halves import close_half
from warpladder.shortest_paths.gpu.length_bound import all_below
from warpladder.shortest_paths.gpu.small_rounds import close_in_small_tiles
from warpladder.shortest_paths.gpu.tagged_rounds import close_in_tagged_tiles
from warpladder.shortest_paths.gpu.whole import close_whole
from warpladder.shortest_paths.gpu_tiles import small
from warpladder.shortest_paths.gpu_tiles.large import TILE
from warpladder.simulator import SimulatedDevice
from warpladder.simulator.execution.arguments import types_of
from warpladder.simulator.frontend.signatures import as_dispatcher, own_signatures, signature_types

MASKED = True
#: That a round of shortest paths relaxes.
PARTS = ("cross", "rest")
TARGETS = ((7, 5), (8, 0), (9, 0), (10, 0))
#: Bytes that a kernel of matrices beyond the memory may spill: it takes its operands from three
#: matrices where `one-launch` has one, so there are more addresses to keep. Around the hot loop.
#: Reductions have 64 registers, for four blocks on a multiprocessor: products, which keep exponents
#: of their own, spill some, float16 with a mask, and on 10.0 several statistics. Overlaps are
#: counted by as many threads as there are places for, with 32 registers each; what they spill they
#: need once for each row. The longest strips of cells leave few registers for what is needed once
#: before and after all steps. Large tiles spill addresses of operands once for 1,024 relaxations,
#: as those of `register-tiles`; with tags they do on 7.5 and 8.0. Exact sums of float32 have 64
#: registers as well; what few numbers need spills.
SPILLS = {
    ("relax_large_tiles", 4): 40,
    ("relax_deep_cross", 4): 40,
    ("relax_deep_rest", 4): 40,
    ("relax_half_of_deep_cross", 4): 40,
    ("relax_half_of_deep_rest", 4): 40,
    ("relax_strips", 4): 40,
    ("relax_half_of_tagged_cross", 4): 80,
    ("relax_half_of_tagged_rest", 4): 80,
    ("relax_small_cross", 4): 16,
    ("relax_half_of_small_cross", 4): 24,
    ("relax_half_of_small_rest", 4): 32,
    ("relax_small_tiles", 4): 200,
    ("relax_small_tiles", 8): 32,
    ("reduce_along", 4, "sum"): 8,
    ("reduce_along", 4, "prod"): 260,
    ("reduce_across", 4, "prod"): 8,
    ("reduce_along", 4, ("sum", "min", "max", "mean", "var")): 280,
    ("reduce_along", 2, MASKED): 320,
    ("count_in_shared", 8): 240,
    ("add_exactly", 4): 200,
    ("advance_strips", 4, 64): 36,
    ("advance_strips", 4, 128): 72,
}


class Noting(SimulatedDevice):
    """Notes what is launched and with which types; runs it only where that is wanted."""

    def __init__(self, *, runs: bool, free: int | None = None) -> None:
        super().__init__(checks=False, counters=False, multiprocessors=1)
        self.runs, self.free = runs, free
        self.noted: set[tuple[object, tuple[object, ...]]] = set()

    def free_bytes(self):
        return super().free_bytes() if self.free is None else self.free

    def launch(self, kernel, grid, block, *args, **options):
        found = as_dispatcher(kernel)
        self.noted.add((found, signature_types(found, types_of(args), own_signatures(found))))
        if self.runs:
            super().launch(kernel, grid, block, *args, **options)


def long(dtype):
    """A distance that fits, where a sum of two does not."""
    limit = np.finfo(dtype).max if np.dtype(dtype).kind == "f" else inner_no_path(dtype)
    return np.dtype(dtype).type(0.6 * limit)


@cache
def kernels_of_shortest_paths(dtype, hops, n):
    matrix = np.ones((n, n), dtype)
    room = 7 * n * n * matrix.itemsize // 10 * (2 if hops else 1)
    noted = set()
    for device in (Noting(runs=False), Noting(runs=False, free=room)):
        wl.shortest_paths(matrix, device=device, next_hops=hops)
        noted |= device.noted
    device = Noting(runs=True)
    small = np.ones((3, 3), dtype)
    # So that next hops are looked at, and how long the longest distance is.
    small[0, 1] = 0
    small[:2, 2] = long(dtype)
    for given in (small, small[None]):
        wl.shortest_paths(device.to_device(given), device=device, next_hops=hops)
    noted |= device.noted
    names = {kernel.py_func.__name__ for kernel, _ in noted}
    tiles = "relax_small_tiles" if hops else "relax_large_tiles"
    assert {tiles, "import_rows", "import_batch", "find_longest"} <= names
    assert not hops or {"go_further", "mark_circles"} <= names
    return noted


@cache
def kernels_of_rounds(dtype):
    device = Noting(runs=True)
    with patch.object(closing, "_ONE_LAUNCH_UP_TO", 0):
        there = device.to_device(np.full((3, 3), long(dtype), dtype))
        assert BY_HALF in wl.shortest_paths(there, device=device).why
    device.runs = False
    # No matrix of one tile has panels; whole tiles take those of many.
    for count in (3, halves._TILES_FROM):
        matrix = device.empty((count * TILE, count * TILE), dtype)
        close_half(device, matrix, 2)
        close_whole(device, matrix, 2)
    names = {kernel.py_func.__name__ for kernel, _ in device.noted}
    own = {"relax_strips", *(f"relax_{part}deep_{of}" for part in ("", "half_of_") for of in PARTS)}
    if dtype == "int16":
        own = {f"relax_{part}{of}_in_pairs" for part in ("", "half_of_") for of in PARTS}
    assert {"find_longest", "find_unlike", "mirror_all", *own} <= names
    return device.noted


@cache
def kernels_of_tagged_rounds():
    device, side = Noting(runs=True), 3 * TILE
    # Of which some ways are to be looked into.
    matrix = device.to_device(np.full((side, side), 2**28, np.int32))
    with patch.object(length_bound, "_WAYS_FROM", 0):
        assert not all_below(device, matrix, side, 2**29, 1)
    device.runs = False
    for half in (False, True):
        close_in_tagged_tiles(device, matrix, matrix, 2, 9, half=half)
    names = {kernel.py_func.__name__ for kernel, _ in device.noted}
    own = {f"relax_{part}tagged_{of}" for part in ("", "half_of_") for of in PARTS}
    assert {"close_tagged_diagonal", "shorten_ways", "find_ends", "read_notes", *own} <= names
    return device.noted


@cache
def kernels_of_small_rounds(dtype, hops):
    device, side = Noting(runs=False), 3 * small.TILE
    matrix = device.empty((side, side), dtype)
    links = device.empty((side, side), np.int32) if hops else None
    for half in (False, True):
        close_in_small_tiles(device, matrix, links, 2, np.dtype(dtype).type(9).item(), half=half)
    names = {kernel.py_func.__name__ for kernel, _ in device.noted}
    own = {f"relax_{part}small_{of}" for part in ("", "half_of_") for of in PARTS}
    assert {"close_small_diagonal", *own} <= names
    return device.noted


@cache
def kernels_of_hop_counts(dtype):
    device = Noting(runs=True)
    chain = wl.Graph.from_edges([0, 1], [1, 2])
    wl.shortest_paths(chain, dtype=dtype, method="breadth-first", next_hops=True, device=device)
    assert {kernel.py_func.__name__ for kernel, _ in device.noted} == {
        "begin_searches", "search_levels", "write_distances", "write_next_hops"
    }  # fmt: skip
    return device.noted


@cache
def kernels_of_overlaps(tuning, pairs):
    rows = Rows(np.arange(0, 31, 3), np.tile(np.arange(3, dtype=np.int32), 10), 3)
    join = Join(rows, rows, as_rule("jaccard", 0.5))
    # What is launched after counting hangs on what has been found; counts are read by nobody.
    device = Noting(runs=pairs)
    engine = OverlapEngine(join, device, tuning=tuning, places=20 if pairs else None)
    if pairs:
        assert sum(len(piece.right) for piece in engine.found(0, 2, lambda _: None)) == 17
    else:
        engine.counted(0, 10, lambda _: None)
    names = {kernel.py_func.__name__ for kernel, _ in device.noted}
    assert {"count_in_shared", *(["copy_runs"] if pairs else [])} <= names
    return device.noted


@cache
def kernels_of_advection(form, dtype, ends, strip):
    offsets, limiter = form
    numbers = np.full((1, len(offsets)), 0.25, dtype)
    rule = (
        Limited(limiter, numbers[:, 0], numbers[:, 0], mirrored=offsets[-1] > 1)
        if limiter
        else Stencil(offsets, numbers)
    )
    edges = [Edge(kind, numbers[:, :1] if kind == "given" else None) for kind in ends]
    device = Noting(runs=False)
    # A strip, or None for a system that one block has whole.
    shape, n = (None, 100) if strip is None else (Shape(strip, 1), 32 * strip)
    GpuEngine(device, shape=shape).advance(
        Problem(rule, *edges), np.ones((1, n), dtype), 0, 1, lambda _: None
    )
    assert len(device.noted) == 1
    return device.noted


@cache
def kernels_of_reductions(dtype, accuracy, op, masked=False):
    if accuracy == "reproducible":
        device = Noting(runs=True)
        there = device.to_device(np.ones((2, 40), dtype))
        for axis in (None, 0):
            wl.reduce(there, op, axis=axis, accuracy=accuracy, device=device)
        return device.noted
    device = Noting(runs=False)
    kinds = EVERY_KIND_OF_ROWS if op == "sum" and accuracy == "fast" else ROWS_OF_MOST_REGISTERS
    for shape, axis in kinds:
        there, where = device.to_device(np.ones(shape, dtype)), np.ones(shape[-1], bool)
        given = {"where": where} if masked else {}
        wl.reduce(there, op, axis=axis, accuracy=accuracy, device=device, **given)
    names = [kernel.py_func.__name__ for kernel, _ in device.noted]
    half = len(kinds) // 2
    assert sorted(names) == ["reduce_across"] * half + ["reduce_along"] * half
    return device.noted


@cache
def kernels_of_rungs():
    """Return what `test_compiles.py` compiles: it takes seconds, and a kernel is the same here."""
    return {
        (variant.kernel, variant.arguments)
        for ladder in ladders()
        for rung in ladder.rungs
        if rung.on == "device"
        for variant in launched_variants(rung)
    }


#: Side by side with a thread each, with several, in pieces; along which some threads of a block go,
#: all of one, several blocks.
EVERY_KIND_OF_ROWS = (
    ((2, 1 << 16), 0), ((300, 500), 0), ((8192, 256), 0),
    ((1000, 600), 1), ((600, 8192), 1), ((2, 1 << 19), 1),
)  # fmt: skip
#: What spills in others than these spills more here: in pieces, and along some threads of a block.
ROWS_OF_MOST_REGISTERS = EVERY_KIND_OF_ROWS[2:4]
#: As the engine takes them for an H200; a GPU with places for fewer threads gets others.
LONG_AND_SHORT_LISTS = (
    Tuning(1 << 14, threads=1024, resident=2, lanes=16, in_flight=1),
    Tuning(1 << 13, threads=512, resident=3, lanes=8, in_flight=2, words=1),
    Tuning(3 << 16, fold=1, threads=1024, resident=1, lanes=8, in_flight=4),
)
COPY, GIVEN, RING = ("copy", "copy"), ("given", "given"), ("periodic", "periodic")
TWO, FIVE = ((-1, 1), None), ((-4, -2, 0, 2, 4), None)
#: One-sided: these spill most.
UPWIND, BEAM_WARMING = ((-1, 0), None), ((-2, -1, 0), None)
LIMITED = {name: ((-2, -1, 0, 1), name) for name in LIMITERS}
MIRRORED = {name: ((-1, 0, 1, 2), name) for name in LIMITERS}
LIMITED_BY_TURNS = (LIMITED, "float32", RING), (MIRRORED, "float64", GIVEN)
CALLS = [
    (kernels_of_shortest_paths, "int32", False, 1200),
    (kernels_of_overlaps, LONG_AND_SHORT_LISTS[0], False),
    (kernels_of_reductions, "float32", "fast", "sum"),
    (kernels_of_advection, MIRRORED["van-leer"], "float64", COPY, 16),
]
OTHER_CALLS = [
    *((kernels_of_rounds, dtype) for dtype in ("int16", "int32")),
    (kernels_of_tagged_rounds,),
    # Floats have the longer relaxation; those of 8 bytes spill most, with next hops or without.
    (kernels_of_small_rounds, "float64", False),
    *((kernels_of_small_rounds, dtype, True) for dtype in ("float32", "float64")),
    (kernels_of_shortest_paths, "float64", True, 600),
    # A dtype is what is written in the end.
    *((kernels_of_hop_counts, dtype) for dtype in ("int16", "float64")),
    *((kernels_of_reductions, dtype, "reproducible", "sum") for dtype in ("float32", "float64")),
    (kernels_of_overlaps, LONG_AND_SHORT_LISTS[-1], True),
    (kernels_of_advection, FIVE, "float32", GIVEN, max(STRIPS[4])),
    (kernels_of_advection, FIVE, "float64", RING, max(STRIPS[8])),
    *(
        (kernels_of_advection, form, "float32", GIVEN, strip)
        for form in (UPWIND, BEAM_WARMING)
        for strip in STRIPS[4][-2:]
    ),
    (kernels_of_advection, TWO, "float32", GIVEN, None),
    (kernels_of_reductions, "float32", "fast", ("sum", "min", "max", "mean", "var")),
    (kernels_of_reductions, "float32", "fast", "prod"),
    (kernels_of_reductions, "float16", "fast", "nansum", MASKED),
    (kernels_of_shortest_paths, "int32", True, 600),
    (kernels_of_reductions, "float64", "compensated", "sum"),
    *((kernels_of_overlaps, tuning, False) for tuning in LONG_AND_SHORT_LISTS[1:]),
    *(
        (kernels_of_advection, TWO, dtype, COPY, strip)
        for dtype, itemsize in (("float32", 4), ("float64", 8))
        for strip in STRIPS[itemsize]
    ),
    *(
        (kernels_of_advection, forms[name], dtype, ends, 16)
        for name, (forms, dtype, ends) in zip(LIMITERS, cycle(LIMITED_BY_TURNS), strict=False)
    ),
    (kernels_of_advection, LIMITED["mc"], "float64", RING, None),
]


def has_places(call, target):
    """Whether a multiprocessor of the target has places for the threads of a tuning, if any.

    And whether it has the instruction without which int16 does not go in pairs.
    """
    if call == (kernels_of_rounds, "int16") and target < closing._PAIRS_FROM:
        return False
    most = properties_of(target).max_threads_per_multiprocessor
    return all(one.threads * one.resident <= most for one in call if isinstance(one, Tuning))


def is_compiled(call, target):
    """Whether a call's kernels are: for the oldest or the newest, by turns, or for more."""
    able = [one for one in TARGETS if has_places(call, one)]
    if call in CALLS:
        return target in (able[0], (9, 0))
    return target == able[-(OTHER_CALLS.index(call) % 2)]


def is_default(call, target):
    """Whether a call's kernels are compiled for a target by default: the source is the same.

    The others' are for the large tests: sums alone take seven seconds, and their loop is the
    ladder's, which is compiled by default.
    """
    return call in CALLS[:2] and target == (9, 0)


@pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")
@pytest.mark.parametrize(
    ("call", "target"),
    only(is_default, [*CALLS, *OTHER_CALLS], TARGETS, where=is_compiled),
)
def test_engines_compile_without_spills(call, target):
    kernels_of, *arguments = call
    for kernel, types in kernels_of(*arguments) - kernels_of_rungs():
        found = compile_kernel(kernel, types, target)
        name = kernel.py_func.__name__
        numbers = getattr(types[0], "dtype", types[0])
        size = numbers.bitwidth // 8
        allowed = SPILLS.get((name, size), SPILLS.get((name, size, *arguments[-1:]), 0))
        assert found.spill_bytes <= allowed, (name, types)
        if name == "advance_strips" and found.spill_bytes:
            # Two steps, the longest straight code.
            loop = max(instruction_mix(found.sass), key=lambda loop: len(loop.instructions))
            assert not [one for one in loop.instructions if one.opcode.startswith(("LDL", "STL"))]
