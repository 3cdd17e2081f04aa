"""Every kernel of every ladder compiles for one of four generations of GPUs, by turns.

Without spills, but for those that are named, and what calls run: they compile for the one that they
were timed for as well, two of the latter by default. The rest is for the large tests.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
import toy
from numba import cuda, float32, int32, int64
from numba.cuda import dispatcher
from numba.cuda.cudadrv import nvvm

import warpladder.lab.compile as compiling
from calling import call
from choosing import large, only
from warpladder.device.numba_target import types
from warpladder.device.occupancy import occupancy
from warpladder.device.properties import properties_of
from warpladder.errors import DeviceError, InputError, MissingExtraError
from warpladder.lab.compile import (
    compilable_capabilities,
    compile_kernel,
    missing_tool,
)
from warpladder.lab.launches import launched_variants
from warpladder.lab.registry import find_rung, ladders
from warpladder.lab.sass import instruction_mix
from warpladder.primer.tasks import RUN, SYMBOLS
from warpladder.shortest_paths.rungs import register_tiles
from warpladder.simulator import SimulatedDevice

TARGETS = ((7, 5), (8, 0), (9, 0), (10, 0))
RUNGS = {
    f"{ladder.name}/{rung.name}": rung
    for ladder in ladders()
    for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
    if rung.on == "device"
}
#: Bytes that a kernel may spill, and why that is left alone.
SPILLS = {
    # 64 best values of 8 bytes are 128 of 255 registers, and addresses are computed ahead where
    # registers seem to be free. One block of a round of n / 128 closes the diagonal.
    ("shortest-paths/register-tiles-float64", "close_diagonal", (10, 0)): 256,
    # 64 cells of 128 registers. The engine takes it for 9.0 alone, where it was timed.
    **{
        ("shortest-paths/resident-tiles", "close_in_registers", target): most
        for target, most in {(7, 5): 700, (8, 0): 32, (10, 0): 700}.items()
    },
    # Where tags are looked at, once for 128 relaxations of a cell; and a closed tile's, once.
    **{
        ("shortest-paths/tagged-distances", kernel, target): most
        for kernel, targets, most in (
            ("close_tagged_diagonal", [(7, 5), (8, 0)], 128),
            ("close_tagged_diagonal", [(9, 0)], 8),
            ("relax_tagged_cross", [(7, 5), (8, 0)], 76),
            ("relax_tagged_rest", [(7, 5), (8, 0)], 28),
        )
        for target in targets
    },
    # Operands come 16 bytes at a time, and some of their addresses are spilled around the hot loop:
    # once for 1,024 relaxations. On an H200 float32 takes 49.2 ms for 8,192 vertices so, and 51.7
    # number by number, without a spill. For 7.5 and 8.0 that has not been timed.
    **{
        (f"shortest-paths/{rung}", kernel, target): most
        for rung, part, targets, most in (
            ("register-tiles", "", [(7, 5), (8, 0)], 40),
            ("overlapped-panels", "", [(7, 5), (8, 0)], 40),
            ("deep-rounds", "deep_", [(7, 5), (8, 0)], 40),
            ("half-tiles", "half_of_", [(7, 5), (8, 0)], 40),
            ("register-tiles-float32", "", [(7, 5), (8, 0), (9, 0), (10, 0)], 40),
            ("register-tiles-int16", "", [(7, 5), (8, 0), (10, 0)], 48),
        )
        for kernel in (f"relax_{part}cross", f"relax_{part}rest")
        for target in targets
    },
}
#: The same with a ptxas before 13.1, which keeps less in the 64 registers that this kernel has.
OLD_SPILLS = {("shortest-paths/grid-sync", "close_together", (9, 0)): 24}

#: Operands of 65 KiB, where a block has 64: the rung refuses any graph.
TOO_LARGE = {("shortest-paths/resident-tiles", (7, 5))}

#: Bytes of arrays that are to lie in local memory: eight counters.
ARRAYS = {("primer/local-array", "count_locally"): 32}

needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")


@cache
def compiled(kernel, arguments, target):
    return compile_kernel(kernel, arguments, target)


@cache
def allowed_spills():
    """The package of the extra or the system's own: the first that is found compiles."""
    told = compiling._run(compiling._tool("ptxas"), "--version").stdout
    release = re.search(r"release (\d+)\.(\d+)", told)
    return SPILLS | (OLD_SPILLS if tuple(map(int, release.groups())) < (13, 1) else {})


#: What calls run; by default compiled for one target, but for overlaps and advection:
#: test_engines_compile.py and test_advection_ladder.py compile what their engines launch.
TOPS = {
    *("shortest-paths/register-tiles", "reduction/tuned"),
    *("overlap-join/inverted-index", "advection/tuned"),
}
BY_DEFAULT = {"reduction/tuned", "shortest-paths/register-tiles"}


#: Of which it is said what they do for which target.
NAMED = {path for path, *_ in (*SPILLS, *OLD_SPILLS, *TOO_LARGE)}


def is_compiled(path, target):
    by_turns = TARGETS[list(RUNGS).index(path) % len(TARGETS)]
    return target == by_turns or (path in TOPS | NAMED and target == (9, 0))


@needs_tools
@pytest.mark.parametrize(
    ("path", "target"),
    only(
        lambda path, target: target == (9, 0) and path in BY_DEFAULT,
        RUNGS,
        TARGETS,
        where=is_compiled,
    ),
)
def test_kernels_compile_without_spills_and_their_blocks_fit(path, target):
    for variant in launched_variants(RUNGS[path]):
        found = compiled(variant.kernel, variant.arguments, target)
        assert found.cubin.startswith(b"\x7fELF")
        assert found.spill_bytes <= allowed_spills().get((path, variant.name, target), 0)
        # What is spilled lies in local memory; but for these arrays nothing else does.
        assert found.stack_bytes <= found.spill_bytes + ARRAYS.get((path, variant.name), 0)
        assert found.registers <= (variant.kernel.targetoptions.get("max_registers") or 255)
        shared = found.shared_bytes + variant.shared_bytes
        if (path, target) in TOO_LARGE:
            assert shared > properties_of(target).shared_bytes_per_block_optin
            continue
        fits = occupancy(
            properties_of(target),
            variant.threads,
            registers_per_thread=found.registers,
            shared_bytes=shared,
        )
        assert fits.blocks_per_multiprocessor >= 1


@needs_tools
@pytest.mark.parametrize(
    ("rung", "relaxation"),
    [
        ("register-tiles", {"VIADDMNMX": 512}),
        *large(("register-tiles-float32", {"FADD": 512, "FMNMX": 512})),
        # A minimum is a comparison and a selection of each half.
        *large(("register-tiles-float64", {"DADD": 512, "DSETP": 512, "FSEL": 1024})),
    ],
)
def test_the_loop_of_the_register_tiles_does_little_but_relax(rung, relaxation):
    _, found = find_rung(f"shortest-paths/{rung}")
    panels_and_rest = launched_variants(found)[1:]
    assert len(panels_and_rest) == 2
    for variant in panels_and_rest:
        loop = instruction_mix(compiled(variant.kernel, variant.arguments, (9, 0)).sass)[0]
        # Eight steps of 64 cells.
        assert loop.classes["arithmetic"] == relaxation
        assert loop.share(set(relaxation)) >= 0.85
        assert loop.depth == 2
        if rung == "register-tiles":
            assert 512 + 32 + 14 <= len(loop.instructions) <= 512 + 32 + 15
        # 16 numbers for each step, 16 bytes at a time; nothing else touches memory.
        width = 2 if rung.endswith("64") else 1
        assert loop.classes["shared loads"] == {"LDS.128": 32 * width}
        assert set(loop.classes) == {
            *("arithmetic", "shared loads", "control"),
            *("moves, constants", "integers, addresses"),
        }


@needs_tools
@pytest.mark.parametrize(
    ("names", "target"),
    [
        (["relax_rest"], (9, 0)),
        *large((["relax_cross"], (9, 0)), (["relax_cross", "relax_rest"], (10, 0))),
    ],
)
def test_nine_of_ten_instructions_of_pairs_relax_two_each(names, target):
    _, *others = launched_variants(RUNGS["shortest-paths/register-tiles-int16"])
    assert [variant.name for variant in others] == ["relax_cross", "relax_rest"]
    for variant in others:
        if variant.name not in names:
            continue
        found = compiled(variant.kernel, variant.arguments, target)
        loop = instruction_mix(found.sass)[0]
        opcodes = [one.opcode for one in loop.instructions]
        # Eight steps of 64 words; 16 words for each step, 16 bytes at a time.
        assert opcodes.count("VIADDMNMX.S16x2") == 512
        assert loop.classes["shared loads"] == {"LDS.128": 32}
        if target == (9, 0):
            assert len(loop.instructions) <= 512 + 32 + 16
        assert loop.share({"VIADDMNMX"}) >= 0.899
        fits = occupancy(
            properties_of(target),
            variant.threads,
            registers_per_thread=found.registers,
            shared_bytes=found.shared_bytes,
        )
        assert fits.blocks_per_multiprocessor == 4


@needs_tools
@pytest.mark.parametrize("target", [(9, 0), *large(((10, 0),), ((7, 5),))])
def test_a_local_array_is_in_local_memory_and_scalars_are_not(target):
    (local,) = launched_variants(RUNGS["primer/local-array"])
    found = compiled(local.kernel, local.arguments, target)
    assert (found.stack_bytes, found.spill_bytes) == (4 * SYMBOLS, 0)
    opcodes = Counter(re.findall(r"\b(?:LDL|STL)[.\w]*", found.sass))
    # One of each for each symbol of the text. What becomes of zeros and results is another with
    # another Python, whose bytecode Numba reads.
    assert opcodes["LDL"] >= RUN
    assert opcodes["STL"] >= RUN
    for kind in ("LDL", "STL"):
        in_all = sum(count for opcode, count in opcodes.items() if opcode.startswith(kind))
        # No more than the source asks for; wide ones take the place of several.
        assert in_all <= RUN + SYMBOLS
    (scalars,) = launched_variants(RUNGS["primer/registers"])
    found = compiled(scalars.kernel, scalars.arguments, target)
    assert found.stack_bytes == 0
    assert not re.findall(r"\b(?:LDL|STL)", found.sass)


@needs_tools
def test_four_counters_stay_in_registers():
    @cuda.jit
    def count(symbols, counts, n):
        i = cuda.grid(1)
        if i < n:
            mine = cuda.local.array(4, int32)
            for symbol in range(4):
                mine[symbol] = 0
            for k in range(RUN):
                mine[symbols[k, i]] += 1
            for symbol in range(4):
                counts[symbol, i] = mine[symbol]

    table = types.Array(int32, 2, "C")
    found = compile_kernel(count, (table, table, int64))
    assert found.stack_bytes == 0


@needs_tools
@pytest.mark.parametrize(
    ("path", "instructions"),
    [
        ("reduction/sequential-shared", 11),
        # Of four comparisons, 25 to each; and of sixteen, 6 to each.
        *large(("overlap-join/upper-triangle", 99), ("overlap-join/unrolled", 97)),
        # The step itself, of 32 cells.
        *large(("advection/register-strips", 75)),
    ],
)
def test_innermost_loops_are_as_long_as_the_texts_say(path, instructions):
    (variant,) = launched_variants(RUNGS[path])
    loops = instruction_mix(compiled(variant.kernel, variant.arguments, (9, 0)).sass)
    assert instructions in {len(loop.instructions) for loop in loops if loop.innermost}


@needs_tools
@pytest.mark.parametrize(
    ("path", "order"), [("translation-aos", "LLLSSS"), ("translation-soa", "LSLSLS")]
)
def test_loads_do_not_pass_stores_to_what_may_be_the_same_array(path, order):
    (variant,) = launched_variants(RUNGS[f"primer/{path}"])
    sass = compiled(variant.kernel, variant.arguments, (9, 0)).sass
    assert "".join(re.findall(r"\b([LS])(?:D|T)G\.", sass)) == order


@needs_tools
@pytest.mark.parametrize(("path", "branches"), [("pivot-in-run", 4), ("consecutive-cells", 0)])
def test_a_kept_pivot_is_reloaded_behind_a_branch_in_each_of_four_steps(path, branches):
    (variant,) = launched_variants(RUNGS[f"shortest-paths/{path}"])
    loops = instruction_mix(compiled(variant.kernel, variant.arguments, (9, 0)).sass)
    four_steps = Counter(one.opcode for one in loops[0].instructions)
    assert (four_steps["LDG.E"], four_steps["BSSY"]) == (12, branches)


@needs_tools
def test_the_command_fits_80_columns(monkeypatch):
    monkeypatch.setattr(compiling, "compile_kernel", compiled)
    result = call("sass", "shortest-paths/register-tiles")
    assert result.returncode == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    shown = [line.split() for line in result.stdout.splitlines()]
    assert ["spilled,", "local", "0", "bytes,", "0", "bytes"] in shown
    assert "512 VIADDMNMX" in result.stdout
    assert "2 blocks of 256 threads; the limit is registers" in " ".join(result.stdout.split())


def test_the_exceptions_are_about_kernels_that_there_are():
    for path, name, target in (*SPILLS, *OLD_SPILLS):
        assert name in {kernel.py_func.__name__ for kernel in RUNGS[path].kernels}
        assert target in TARGETS


@cuda.jit(device=True)
def doubled(x):
    return x + x


@cuda.jit
def double_all(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = doubled(a[i])


ARRAY = types.Array(float32, 1, "C")


@needs_tools
def test_what_is_compiled():
    found = compile_kernel(double_all, (ARRAY,), (8, 0))
    assert (found.name, found.compute_capability) == ("double_all", (8, 0))
    assert ".target sm_80" in found.ptx
    assert "FADD" in found.sass
    assert ".target\tsm_80" in found.sass
    assert 0 < found.registers < 32
    assert (found.spill_bytes, found.stack_bytes, found.shared_bytes) == (0, 0, 0)


@needs_tools
def test_what_calls_library_functions_is_compiled_without_them():
    def negated(a):
        a[0] = -a[0]

    found = compile_kernel(cuda.jit(negated), (types.Array(types.float16, 1, "C"),))
    assert 0 < found.registers < 32


@needs_tools
def test_the_limit_on_registers_holds_and_spills_are_seen():
    few = cuda.jit(max_registers=64)(register_tiles.relax_rest.py_func)
    found = compile_kernel(few, (types.Array(int32, 2, "C"), int64, int64))
    assert found.registers <= 64
    assert found.stack_bytes > 0
    assert found.spill_bytes > 64
    assert found.shared_bytes == 4 * 16 * (132 + 128)
    assert "LDL" in found.sass


@needs_tools
def test_fastmath_holds():
    @cuda.jit
    def divide(a):
        a[0] /= a[1]

    exact = compile_kernel(divide, (ARRAY,))
    fast = compile_kernel(cuda.jit(fastmath=True)(divide.py_func), (ARRAY,))
    assert "div.rn.f32" in exact.ptx
    assert "div.approx" in fast.ptx


@needs_tools
def test_numba_is_left_as_it_was():
    from numba.cuda.core import config

    places = (
        (dispatcher, "get_current_device"),
        (config, "FORCE_CUDA_CC"),
        (nvvm, "get_libdevice"),
        (nvvm, "open_libdevice"),
        (dispatcher.CUDADispatcher, "compile_device"),
    )
    before = [getattr(*place) for place in places]
    for target in TARGETS:
        compile_kernel(double_all, (ARRAY,), target)
    with pytest.raises(Exception, match=r"No implementation|Failed in cuda mode"):
        compile_kernel(double_all, (types.unicode_type,))
    assert [getattr(*place) for place in places] == before
    assert not doubled.overloads
    assert not double_all.overloads


@needs_tools
def test_compiling_and_simulating_keep_out_of_each_others_way():
    for _ in range(2):
        device = SimulatedDevice()
        numbers = device.to_device(np.arange(40, dtype=np.float32))
        device.launch(double_all, 2, 32, numbers)
        assert (device.to_host(numbers) == 2 * np.arange(40)).all()
        assert "FADD" in compile_kernel(double_all, (ARRAY,)).sass
    with compiling._without_gpu((9, 0)):
        other = SimulatedDevice()
        numbers = other.full(3, 1, np.float64)
        other.launch(double_all, 1, 32, numbers)
        assert list(other.to_host(numbers)) == [2, 2, 2]


def test_a_capability_that_cuda_13_has_dropped():
    assert (7, 0) not in compilable_capabilities()
    with pytest.raises(InputError, match=r"compute_capability=7\.0: .* 7\.5, 8\.0, "):
        compile_kernel(double_all, (ARRAY,), (7, 0))


@needs_tools
def test_what_ptxas_says_is_passed_on():
    @cuda.jit
    def too_much(a):
        everything = cuda.shared.array(70_000, float32)
        everything[cuda.threadIdx.x] = a[0]
        cuda.syncthreads()
        a[0] = everything[0]

    with pytest.raises(DeviceError, match=r"ptxas failed: .*uses too much shared"):
        compile_kernel(too_much, (ARRAY,))


@pytest.mark.numba_cuda
def test_what_is_missing_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr("cuda.pathfinder.find_nvidia_binary_utility", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"ptxas.*pip install 'warpladder\[compile\]'"):
        compiling._tool("ptxas")
    assert "not installed: pip install 'warpladder[compile]'" in missing_tool()


@pytest.mark.numba_cuda
def test_nvvm_is_missed_too(monkeypatch):
    from cuda.pathfinder import DynamicLibNotFoundError

    def nowhere(name):
        raise DynamicLibNotFoundError(name)

    monkeypatch.setattr("cuda.pathfinder.load_nvidia_dynamic_lib", nowhere)
    compiling._libdevice.cache_clear()
    with pytest.raises(MissingExtraError, match=r"NVVM.*warpladder\[compile\]"):
        compile_kernel(double_all, (ARRAY,))


# ---- what rungs launch -----------------------------------------------------------------------


def test_every_kernel_is_found_with_its_types():
    _, rung = find_rung("shortest-paths/register-tiles-float64")
    found = launched_variants(rung)
    assert [variant.name for variant in found] == ["close_diagonal", "relax_cross", "relax_rest"]
    assert [str(kind) for kind in found[2].arguments] == [
        "array(float64, 2d, C)",
        "int64",
        "int64",
    ]
    assert {variant.threads for variant in found} == {256}


def test_dynamic_shared_memory_is_found():
    _, rung = find_rung("primer/two-arrays-in-dynamic-shared")
    (variant,) = launched_variants(rung)
    assert variant.shared_bytes > 0


def test_a_rung_on_the_cpu_launches_nothing():
    assert launched_variants(toy.PLAIN) == []


def rung(run, *kernels, sizes=(4,)):
    task = dataclasses.replace(toy.TASK, sizes=sizes, default_n=64)
    return toy.rung("made", run, task=task, kernels=kernels)


def test_larger_sizes_are_tried_until_all_kernels_are_launched():
    def run(device, problem):
        if problem.n > 16:
            device.launch(double_all, (2, 2), (16, 4), device.to_device(problem.x))

    (variant,) = launched_variants(rung(run, double_all))
    assert (variant.threads, variant.arguments) == (64, (ARRAY,))

    with pytest.raises(InputError, match="made lists a kernel that it launches at no size"):
        launched_variants(rung(lambda _device, _problem: None, double_all))


def test_the_largest_launch_of_a_kernel_counts_and_types_tell_variants_apart():
    def run(device, problem):
        numbers = device.to_device(problem.x)
        device.launch(double_all, 1, 64, numbers)
        device.launch(double_all, 1, 32, numbers, shared_bytes=8)
        device.launch(double_all, 1, 32, device.to_device(problem.x.astype(np.float64)))

    one, two = launched_variants(rung(run, double_all))
    assert (one.threads, one.shared_bytes) == (64, 8)
    assert (two.threads, str(two.arguments[0])) == (32, "array(float64, 1d, C)")


def test_a_rung_that_waits_for_results_is_stopped():
    def run(device, problem):
        numbers = device.to_device(problem.x)
        while device.to_host(numbers)[0] < np.inf:
            device.launch(double_all, 1, 32, numbers)

    assert len(launched_variants(rung(run, double_all))) == 1
