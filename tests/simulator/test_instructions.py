"""Instructions that Numba cannot express: what they compute, and what they become."""

from __future__ import annotations

import ctypes
from itertools import product

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir
from numba import cuda, int32
from simulating import run

from choosing import large
from warpladder.device.instructions import _relax_in_words, relax_pairs
from warpladder.device.numba_target import types
from warpladder.errors import KernelFaultError, UnsupportedKernelError
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.lab.sass import instruction_mix
from warpladder.simulator import SimulatedDevice

needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")

#: Ends of the range, what wraps, what carries out of a lower half, "no path" and its neighbours.
EDGES = np.array([-32768, -32767, -16384, -256, -1, 0, 1, 255, 16382, 16383, 16384, 32767], "i2")


def expected(best, a, b):
    """Return the answer for arrays of int16, by NumPy."""
    with np.errstate(over="ignore"):
        return np.minimum(best, a + b)


def operands():
    """Return three arrays of int16: all triples of edges in each half, and a lot at random."""
    edges = np.array(list(product(EDGES, repeat=3)), np.int16)
    rng = np.random.default_rng(5)
    anything = rng.integers(-(2**15), 2**15, (20_000, 3, 2), np.int16)
    both = np.stack([edges, rng.permutation(edges)], axis=-1)
    return np.ascontiguousarray(np.concatenate([both, anything]).transpose(1, 0, 2))


@cuda.jit
def relax(best, a, b):
    i = cuda.grid(1)
    if i < best.size:
        best[i] = relax_pairs(best[i], a[i], b[i])


def test_every_pair_is_relaxed_as_numpy_does():
    best, a, b = operands()
    words = [part.copy().view(np.int32).reshape(-1) for part in (best, a, b)]
    run(relax, -(-words[0].size // 256), 256, *words)
    assert np.array_equal(words[0].view(np.int16).reshape(-1, 2), expected(best, a, b))


def word_of(lower, upper):
    return int(np.array([lower, upper], np.int16).view(np.int32)[0])


def test_halves_do_not_meet():
    words = [np.array([word], np.int32) for word in (word_of(5, 6), word_of(-1, 9), word_of(-1, 9))]
    run(relax, 1, 1, *words)
    # -1 + -1 carries out of the lower half, which is nothing to the upper.
    assert words[0][0] == word_of(-2, 6)


def test_one_value_for_all_threads_and_one_for_each():
    three, four = word_of(3, -3), word_of(4, 4)

    @cuda.jit
    def mixed(words, same):
        i = cuda.grid(1)
        same[i] = relax_pairs(four, three, 0)
        words[i] = relax_pairs(four, three, words[i])

    numbers = np.arange(-32, 32, dtype=np.int16)
    words, same = numbers.copy().view(np.int32), np.zeros(32, np.int32)
    run(mixed, 1, 32, words, same)
    assert (same == word_of(3, -3)).all()
    assert words.view(np.int16).tolist() == np.minimum(4, numbers + np.tile([3, -3], 32)).tolist()


def test_of_wider_integers_the_lower_half_counts():
    best, a, b = (np.array([word], np.int64) for word in (word_of(1, 2), 5 << 32, -1 << 32))
    run(relax, 1, 1, best, a, b)
    assert best[0] == 0


def test_there_are_no_pairs_of_other_kinds():
    numbers = np.zeros(1, np.float32)
    with pytest.raises(UnsupportedKernelError, match="relax_pairs"):
        run(relax, 1, 1, numbers, numbers, numbers)
    with pytest.raises(NotImplementedError, match="not usable in pure-python"):
        relax_pairs(1, 2, 3)


# ---- arrays seen as words ------------------------------------------------------------------------


def test_a_view_is_the_same_memory():
    device = SimulatedDevice()
    numbers = device.to_device(np.arange(12, dtype=np.int16).reshape(3, 4))
    words = numbers.view(np.int32)
    assert (words.shape, words.dtype) == ((3, 2), np.int32)
    device.launch(relax, 1, 1, words[1], words[0], words[0])
    expected_first = np.minimum([4, 5], [0, 2])
    assert device.to_host(numbers)[1].tolist() == [*expected_first, 6, 7]
    empty = device.to_device(np.zeros((0, 0), np.int16))
    assert empty.view(np.int32).shape == (0, 0)


def test_the_checks_know_that_a_view_is_the_same_memory():
    @cuda.jit
    def first_come(numbers, words):
        i = cuda.grid(1)
        if i < 32:
            words[i] = 0
        else:
            numbers[2 * i - 63] = 1

    device = SimulatedDevice()
    numbers = device.empty(64, np.int16)
    with pytest.raises(KernelFaultError) as caught:
        device.launch(first_come, 1, 64, numbers, numbers.view(np.int32))
    assert caught.value.check == "racecheck"

    @cuda.jit
    def half_of_it(numbers, words):
        numbers[0] = 1
        words[0] += 1

    unwritten = device.empty(64, np.int16)
    with pytest.raises(KernelFaultError) as caught:
        device.launch(half_of_it, 1, 1, unwritten, unwritten.view(np.int32))
    assert caught.value.check == "initcheck"


# ---- compiled ------------------------------------------------------------------------------------

WORDS = (types.Array(int32, 1, "C"),) * 3


@needs_tools
@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ((9, 0), {"VIADDMNMX.S16x2": 1}),
        *large(((10, 0), {"VIADDMNMX.S16x2": 1})),
        ((12, 0), {"VIADD.16x2": 1, "VIMNMX.S16x2": 1}),
    ],
)
def test_a_pair_is_one_instruction_from_9_0_on(target, wanted):
    found = compile_kernel(relax, WORDS, target)
    assert "add.s16x2" in found.ptx
    opcodes = [one.opcode for one in instruction_mix(found.sass)[0].instructions]
    assert {opcode: opcodes.count(opcode) for opcode in opcodes if "16x2" in opcode} == wanted
    assert "PRMT" not in opcodes


@needs_tools
@pytest.mark.parametrize("target", [(8, 9), *large(((7, 5),), ((8, 0),))])
def test_before_9_0_words_stay_whole(target):
    found = compile_kernel(relax, WORDS, target)
    assert "16x2" not in found.ptx
    assert ".b16" not in found.ptx
    names = instruction_mix(found.sass)[0].names
    assert names["IMNMX"] == 2
    assert names["PRMT"] == 0


@pytest.fixture(scope="module")
def on_the_cpu():
    """Return what is emitted for GPUs before 9.0 as a function of three numbers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    word = ir.IntType(32)
    module = ir.Module("words")
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(word, [word] * 3), "relax")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(_relax_in_words(builder, *function.args))
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    address = engine.get_function_address("relax")
    compiled = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int32] * 3)(address)
    # The engine owns the code.
    yield compiled
    engine.close()


def test_the_arithmetic_of_words_is_that_of_pairs(on_the_cpu):
    best, a, b = operands()
    words = [part.view(np.int32).reshape(-1).tolist() for part in (best, a, b)]
    found = np.array([on_the_cpu(*three) for three in zip(*words, strict=True)], np.int32)
    assert np.array_equal(found.view(np.int16).reshape(-1, 2), expected(best, a, b))
