"""What is particular to this ladder; `warpladder.lab.verify` checks every rung of every ladder."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from choosing import large
from warpladder.advection.gpu_tiles.plan import STRIPS, Shape, shape_for
from warpladder.advection.gpu_tiles.strips import WARPS, strips_kernel, tiles_of
from warpladder.advection.ladder import LADDER
from warpladder.advection.rungs import tuned
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS, Cells, fma_exactly
from warpladder.advection.wrong.stale_halo import TILE as THIN_TILE
from warpladder.device.occupancy import occupancy
from warpladder.device.properties import properties_of
from warpladder.lab.compare import difference
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.lab.launches import launched_variants
from warpladder.lab.sass import instruction_mix
from warpladder.lab.verify import check_predictions, check_wrong, verify
from warpladder.simulator import SimulatedDevice

SCHEDULES = ("lockstep", "warps", "warps-reverse", "warps-random")
KERNELS = [rung for rung in LADDER.rungs if rung.on == "device"]
#: Rungs whose blocks or warps take 1,024 cells, and those that take many steps with them.
BY_TILES = ("cells-per-thread", "warp-shuffle", "steps-per-tile", "register-strips")
#: Other depths, so that there are several launches and a last one with fewer steps.
DEEP = {
    "steps-per-tile": {"depth": 10},
    "register-strips": {"depth": 10},
    "tuned": {"shape": Shape(8, 10)},
}
each_rung = pytest.mark.parametrize("rung", LADDER.rungs, ids=lambda rung: rung.name)
each_with_kernels = pytest.mark.parametrize("rung", KERNELS, ids=lambda rung: rung.name)
needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")


def found(rung, problem, **options):
    device = None if rung.on == "cpu" else SimulatedDevice(counters=False)
    return rung.run(device, problem, **options)


def with_cells(phi, steps=5, courant=0.5):
    a, b = np.float32((1 + courant) / 2), np.float32((1 - courant) / 2)
    return Cells(np.asarray(phi, np.float32), a, b, steps)


@each_rung
def test_a_rung_is_exact_at_every_size(rung):
    assert rung.exact
    assert not rung.limits


# --- the problem and its oracle -------------------------------------------------------------------


def test_problems_repeat():
    one, same, other = (LAX_FRIEDRICHS.make(97, seed).phi for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    # A flat bottom, a flat top, and all in between.
    assert 0.1 < (one == 0).mean() + (one == 1).mean() < 0.6
    assert LAX_FRIEDRICHS.work(LAX_FRIEDRICHS.make(97, 1)) == (24 * 97, 8 * 97, "float32")


def test_the_oracle_s_fma_is_that_of_the_c_library():
    name = ctypes.util.find_library("m")
    if name is None:
        pytest.skip("there is no C library of mathematics by that name")
    fmaf = ctypes.CDLL(name).fmaf
    fmaf.restype, fmaf.argtypes = ctypes.c_float, 3 * [ctypes.c_float]
    rng = np.random.default_rng(0)
    # Summands of all sizes beside the product; many lie near the middle between two numbers.
    a = np.float32(1 + 2.0**-12)
    b = (1 + rng.integers(0, 1 << 12, 2000) * 2.0**-12).astype(np.float32)
    c = np.ldexp(rng.choice([-1, 1], 2000), rng.integers(-60, 30, 2000)).astype(np.float32)
    assert fma_exactly(a, b, c).tolist() == [fmaf(a, *each) for each in zip(b, c, strict=True)]
    twice = (a.astype(np.float64) * b + c).astype(np.float32)
    assert (twice != fma_exactly(a, b, c)).any()


def test_the_oracle_moves_cells_as_gr_s_code_does_and_not_as_the_slide_s_formula():
    phi = np.zeros(200)
    phi[50:70] = 1
    problem = with_cells(phi, steps=40, courant=0.5)
    c = 0.5
    for _ in range(problem.steps):
        left, right = np.append(phi[:1], phi[:-1]), np.append(phi[1:], phi[-1:])
        phi = 0.5 * ((right + left) - c * (right - left))
    answer = LAX_FRIEDRICHS.oracle(problem)
    # Each step adds half a unit of the last place at most, and weights add up to one.
    assert np.abs(answer - phi).max() < 40 * 2.0**-23
    middle = (answer * np.arange(200)).sum() / answer.sum()
    assert middle == pytest.approx(59.5 + 40 * c, abs=0.01)


# --- right ----------------------------------------------------------------------------------------


@each_rung
def test_a_rung_is_right_at_every_size(rung):
    # A warp with its neighbours, a block with its.
    sizes = (0, 1, 33, 257) if rung.name in BY_TILES else (0, 1, 2, 32, 33, 256, 257)
    device = None if rung.on == "cpu" else SimulatedDevice(counters=False)
    for verdict in verify(rung, device, sizes, seed=3):
        assert verdict.ok, (verdict.n, verdict.fault)


@pytest.mark.parametrize("name", BY_TILES)
@pytest.mark.parametrize("sizes", [(1025,), *large([2, 31, 32, 97, 255, 1023, 1024, 2049, 3001])])
def test_tiles_are_right_at_their_edges(name, sizes):
    for verdict in verify(LADDER.find(name), SimulatedDevice(counters=False), sizes, seed=4):
        assert verdict.ok, (verdict.n, verdict.fault)


@pytest.mark.parametrize("name", DEEP)
def test_several_launches_and_a_last_one_with_fewer_steps(name):
    rung = LADDER.find(name)
    # Tiles that just fit, and one cell more; of strips of 8 cells 256 fit, of the others 1,024.
    for n in (256, 600) if name == "tuned" else (5, 1024, 1025):
        problem = LAX_FRIEDRICHS.make(n, 5)
        assert not difference(LAX_FRIEDRICHS.oracle(problem), found(rung, problem, **DEEP[name]))


@each_with_kernels
@pytest.mark.parametrize("schedule", ["warps-reverse", *large("warps", "warps-random")])
def test_a_rung_is_right_in_every_schedule(rung, schedule):
    device = SimulatedDevice(schedule=schedule, counters=False)
    for verdict in verify(rung, device, [97], seed=3):
        assert verdict.ok, (verdict.n, verdict.fault)


@each_rung
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_spreads_by_a_cell_a_step(rung, value):
    phi = np.ones(40)
    phi[[0, 20]] = value
    problem = with_cells(phi)
    result = found(rung, problem)
    assert not difference(LAX_FRIEDRICHS.oracle(problem), result)
    assert np.flatnonzero(~np.isfinite(result)).tolist() == [*range(6), *range(15, 26, 2)]


@each_rung
def test_at_courant_number_one_cells_move_as_they_are(rung):
    problem = LAX_FRIEDRICHS.make(130, 1)._replace(a=np.float32(1), b=np.float32(0), steps=7)
    result = found(rung, problem)
    assert np.array_equal(result[7:], problem.phi[:-7])
    assert (result[:7] == problem.phi[0]).all()


@each_rung
@pytest.mark.parametrize("n", [40, 300])
def test_no_step_changes_nothing_and_gives_an_array_of_its_own(rung, n):
    problem = with_cells(np.arange(n), steps=0)
    result = found(rung, problem)
    assert np.array_equal(result, problem.phi)
    assert not np.shares_memory(result, problem.phi)


H200 = properties_of((9, 0))

# --- what is predicted ----------------------------------------------------------------------------

SEEN: dict = {}


@each_with_kernels
def test_predictions_hold(rung):
    results = check_predictions(rung, LADDER, lambda: SimulatedDevice(checks=False), SEEN)
    assert not [f"{one.prediction}: {one.shown} {one.fault}" for one in results if not one.ok]


@pytest.mark.parametrize("n", [1024, 1025, 5000, 10**6])
@pytest.mark.parametrize("steps", [1, 10, 100])
def test_tiles_cover_the_cells_and_no_tile_is_idle(n, steps):
    lost, keep = 2 * steps, 1024 - 2 * steps
    tiles = tiles_of(n, 1024, lost, ring=False)
    # The last but one must not reach the end; the last one must.
    assert (tiles - 1) * keep + 1024 >= n
    assert tiles == 1 or (tiles - 2) * keep + 1024 < n
    around = tiles_of(n, 1024, lost, ring=True)
    assert (around - 1) * keep < n <= around * keep


def test_shapes_are_such_that_a_tile_fits_and_keeps_something():
    for itemsize, strips in STRIPS.items():
        for n in (255, 256, 257, 5000, 1 << 20, 1 << 28):
            for form in (tuned.FORM, ((-4, -1, 0, 2, 4), None), ((-2, -1, 0, 1), "mc")):
                shape = shape_for(form, itemsize, n, 3, 1000, H200, ring=False)
                if n < 32 * min(STRIPS[4]):
                    assert shape is None
                    continue
                assert shape.strip in strips
                assert 32 * shape.strip <= n
                assert 32 * shape.strip - shape.depth * (form[0][-1] - form[0][0]) > 0


def test_many_cells_take_the_longest_strips_and_few_make_more_warps():
    many = shape_for(tuned.FORM, 4, 1 << 26, 1, 1000, H200, ring=False)
    few = shape_for(tuned.FORM, 4, 1 << 14, 1, 1000, H200, ring=False)
    assert many.strip == max(STRIPS[4]) > few.strip
    # Launches are even: the last one has as many steps as the others, or a few less.
    assert 1000 % many.depth == 0 or 1000 % many.depth > 0.9 * many.depth
    # Less than an eighth of the work is done twice.
    assert 2 * many.depth / (32 * many.strip) < 1 / 8


def test_shapes_that_the_model_chooses_are_the_fastest_that_were_measured_or_nearly():
    name = "gpu_advection-nvidia-h200.json"
    record = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / name).read_text())
    rates: dict = {}
    for row in record["shapes"]:
        strip = int(row["case"].removeprefix("strips of "))
        for depth, rate in row.items():
            if depth.isdigit() and rate != "":
                rates.setdefault(row["n"], {})[Shape(strip, int(depth))] = rate
    assert len(rates) == 6
    for n, measured in rates.items():
        chosen = shape_for(tuned.FORM, 4, n, 1, 1000, H200, ring=False)
        assert chosen in measured, "measure it, too: `_DEPTHS` of benchmarks/gpu_advection.py"
        assert measured[chosen] > 0.95 * max(measured.values())


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


def test_gr_s_last_block_is_right_but_where_it_is_full_or_lacks_a_cell():
    rung = LADDER.find("fragile-last-block")
    sizes = (1, 97, 254, 255, 256, 257, 510, 511, 512, 513, 1000)
    right = {verdict.n for verdict in verify(rung, SimulatedDevice(counters=False), sizes)
             if verdict.ok}  # fmt: skip
    assert right == set(sizes) - {255, 256, 511, 512}


def test_a_thin_halo_is_right_within_a_tile_and_wrong_by_little_beyond():
    rung = LADDER.find("stale-halo")
    device = SimulatedDevice(checks=False, counters=False)
    problem = LAX_FRIEDRICHS.make(200, 0)
    assert not difference(LAX_FRIEDRICHS.oracle(problem), rung.run(device, problem))
    problem = LAX_FRIEDRICHS.make(1000, 0)
    wrong_at = np.flatnonzero(rung.run(device, problem) != LAX_FRIEDRICHS.oracle(problem))
    kept = THIN_TILE - 2 * 23
    seams = np.arange(kept, 1000, kept)
    assert wrong_at.size
    assert set(wrong_at) <= {*seams, *(seams - 1)}


# --- compiled -------------------------------------------------------------------------------------


@cache
def top_compiled(strip, target):
    (variant,) = launched_variants(tuned.RUNG)
    kernel = strips_kernel(tuned.FORM, "float32", strip, (False, False), ring=False, alike=True)
    return compile_kernel(kernel, variant.arguments, target)


@needs_tools
@pytest.mark.parametrize(
    ("strip", "target"),
    [(128, (9, 0)), *large((128, (7, 5)), (128, (10, 0)), (48, (8, 0)), (48, (9, 0)))],
)
def test_nearly_all_instructions_of_the_top_compute(strip, target):
    compiled = top_compiled(strip, target)
    opcodes = [
        one.opcode.partition(".")[0] for one in instruction_mix(compiled.sass)[0].instructions
    ]
    # Two steps of all cells; nothing is loaded, stored or moved.
    assert opcodes.count("FFMA") == opcodes.count("FMUL") == 2 * strip
    assert opcodes.count("SHFL") == 4
    assert not {"LDL", "STL"} & set(opcodes)
    assert 4 * strip / len(opcodes) > (0.9 if strip == 48 else 0.94)
    if strip == 48 or target == (9, 0):
        assert compiled.spill_bytes == compiled.stack_bytes == 0
    # On 10.0 the compiler gives long strips ten moves.
    assert opcodes.count("MOV") <= (10 if strip == 128 and target == (10, 0) else 0)


@needs_tools
def test_the_top_is_as_its_text_says():
    compiled = top_compiled(128, (9, 0))
    assert len(instruction_mix(compiled.sass)[0].instructions) == 528
    shared = {"registers_per_thread": compiled.registers, "shared_bytes": compiled.shared_bytes}
    assert occupancy(H200, 32 * WARPS, **shared).warps_per_multiprocessor == 12
    assert shape_for(tuned.FORM, 4, 1 << 26, 1, 1000, H200, ring=False) == Shape(128, 167)


# By default the share of what computes is counted, which this makes.
@pytest.mark.large
@needs_tools
def test_weights_that_all_systems_share_take_no_register_to_read():
    """A fused multiply-add of three registers waits for the third: two are read in a clock."""
    loop = instruction_mix(top_compiled(48, (9, 0)).sass)[0]
    computing = [one for one in loop.instructions if one.opcode in {"FFMA", "FMUL"}]
    assert len(computing) == 4 * 48
    # Uniform registers are of another file, and so are constants.
    assert all("UR" in one.operands or "c[" in one.operands for one in computing)


@needs_tools
@pytest.mark.parametrize("limiter", ["van-leer", *large("minmod", "superbee", "mc")])
def test_the_compiler_fuses_nothing_but_what_is_written(limiter):
    """Van Leer's slope is a product: less another slope it would be one operation."""
    (variant,) = launched_variants(tuned.RUNG)
    form = ((-2, -1, 0, 1), limiter)
    kernel = strips_kernel(form, "float32", 16, (False, False), ring=False, alike=True)
    compiled = compile_kernel(kernel, variant.arguments)
    assert (compiled.spill_bytes, compiled.stack_bytes) == (0, 0)
    # Two in each of 16 cells, in the two steps of the loop and in the last one.
    assert compiled.ptx.count("fma.rn.f32") == 3 * 16 * 2
    loop = instruction_mix(compiled.sass)[0]
    opcodes = [one.opcode.partition(".")[0] for one in loop.instructions]
    # Beside these, five of each division.
    assert opcodes.count("FFMA") == 2 * 16 * 2 + 5 * opcodes.count("MUFU")
