"""What is taken from inside Numba is there, and gives what the simulator builds on.

A new Numba that moves one of these fails here first.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import cuda
from simulating import TYPING_ERRORS, run

from warpladder.device.numba_target import (
    CUDACompiler,
    CUDADispatcher,
    PostProcessor,
    cuda_target,
    ir,
    types,
)
from warpladder.errors import InputError, InputTypeError, UnsupportedKernelError
from warpladder.simulator import simulate, simulated_cuda
from warpladder.simulator.frontend import inference
from warpladder.simulator.frontend.inference import typed_function
from warpladder.simulator.frontend.signatures import argument_type, as_dispatcher

INT32, INT64, FLOAT32, FLOAT64 = types.int32, types.int64, types.float32, types.float64


def typed(function, *arguments):
    return typed_function(as_dispatcher(function), arguments)


# --- Numba's internals ----------------------------------------------------------------------------


def test_numbas_passes_contain_those_between_which_the_front_end_ends(monkeypatch):
    taken, original = [], CUDACompiler.define_pipelines

    def spy(self):
        (full,) = original(self)
        taken.extend(implementation.__name__ for implementation, _ in full.passes)
        return [full]

    monkeypatch.setattr(CUDACompiler, "define_pipelines", spy)
    assert typed(lambda a: a + 1, INT32).result == INT64
    inference, last = taken.index("NopythonTypeInference"), taken.index("PreLowerStripPhis")
    assert 0 < inference < last
    assert any("Lowering" in name for name in taken[last:])


def swapped():
    """Return the methods in whose place others stand while a function is typed."""
    resolve = type(cuda_target.typing_context).resolve_function_type
    return (
        CUDADispatcher.get_call_template,
        CUDADispatcher.get_overload,
        resolve,
        PostProcessor.run,
    )


def test_methods_of_numba_are_put_back():
    before = swapped()

    @cuda.jit(device=True)
    def square(x):
        return x * x

    def right(values):
        values[0] = square(values[1])

    def wrong(values):
        values[0] = square("a")

    array = argument_type(np.zeros(2))
    typed(right, array)
    assert swapped() == before
    with pytest.raises(TYPING_ERRORS):
        typed(wrong, array)
    assert swapped() == before


def test_what_numbers_give_is_asked_once(monkeypatch):
    asked, resolve = [], inference._resolve

    def spy(context, function, arguments, named):
        asked.append(tuple(arguments))
        return resolve(context, function, arguments, named)

    monkeypatch.setattr(inference, "_resolve", spy)
    monkeypatch.setattr(inference, "_resolved", {})

    def sums(values, a, b):
        values[0] = a + b
        values[1] = a + b
        values[2] = a + a
        values[3] = a + 1
        values[4] = len(values)

    array = argument_type(np.zeros(5))
    one = types.literal(1)
    typed(sums, array, INT32, FLOAT64)
    typed(sums, array, FLOAT64, INT32)
    for types_of_sum in ((INT32, FLOAT64), (FLOAT64, INT32), (INT32, INT32), (INT32, one)):
        assert asked.count(types_of_sum) == 1
    # What is no number may mean something else the next time.
    assert asked.count((array,)) > 1


def test_how_long_variables_live_is_found_for_those_who_ask(monkeypatch):
    found, lifetimes = [], []

    def spy(*arguments):
        found.append(arguments)
        return compute_dead_maps(*arguments)

    module = sys.modules[PostProcessor.__module__].analysis
    compute_dead_maps = module.compute_dead_maps
    monkeypatch.setattr(module, "compute_dead_maps", spy)

    class Keeping(inference.VariableLifetime):
        def __init__(self, blocks):
            super().__init__(blocks)
            lifetimes.append(self)

    monkeypatch.setattr(inference, "VariableLifetime", Keeping)

    def total(values):
        result = 0
        for one in values:
            result += one
        return result

    assert typed(total, argument_type(np.zeros(3))).result == FLOAT64
    assert len(lifetimes) > 2
    # By the one pass that has variables deleted.
    assert len(found) == 1
    # Who asks is answered.
    assert any(lifetimes[-1].livemap.values())
    assert any(lifetimes[-1].deadmaps.combined.values())
    assert len(found) == 2


def test_lifetimes_are_found_at_once_for_other_threads_generators_and_deletions(monkeypatch):
    processed = []
    monkeypatch.setattr(inference, "_postprocess", lambda *arguments: processed.append(arguments))
    plain, generator = (SimpleNamespace(is_generator=is_one) for is_one in (False, True))
    with inference.typing_only(), ThreadPoolExecutor(1) as other:
        other.submit(PostProcessor(plain).run).result()
        PostProcessor(generator).run()
        PostProcessor(plain).run(emit_dels=True)
    assert [post.func_ir for post, *_ in processed] == [plain, generator, plain]
    assert [flags for _, *flags in processed] == [[False, False], [False, False], [True, False]]


def test_nothing_is_compiled():
    @cuda.jit(device=True)
    def square(x):
        return x * x

    @cuda.jit
    def kernel(values):
        values[0] = square(values[1])

    values = np.array([0.0, 3.0])
    simulate(kernel)[1, 1](values)
    assert values[0] == 9
    assert not kernel.overloads
    assert not square.overloads


def test_a_function_is_typed_once_for_the_same_types():
    def function(x):
        return x + 1

    dispatcher = as_dispatcher(function)
    assert as_dispatcher(dispatcher) is dispatcher
    assert typed_function(dispatcher, (INT32,)) is typed_function(dispatcher, (INT32,))
    assert typed_function(dispatcher, (INT32,)) is not typed_function(dispatcher, (INT64,))


# --- types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "left", "right", "expected"),
    [
        (lambda a, b: a + b, INT32, INT32, INT64),
        (lambda a, b: a + b, types.uint32, types.uint32, types.uint64),
        (lambda a, b: a + b, types.uint8, INT32, INT64),
        (lambda a, b: a * b, INT64, types.uint64, INT64),
        (lambda a, b: a + b, FLOAT32, FLOAT32, FLOAT32),
        (lambda a, b: a + b, FLOAT32, FLOAT64, FLOAT64),
        (lambda a, b: a + b, FLOAT32, INT32, FLOAT64),
        (lambda a, b: a / b, INT32, INT32, FLOAT64),
        (lambda a, b: a // b, INT32, INT32, INT64),
        (lambda a, b: a < b, INT32, FLOAT32, types.boolean),
        (lambda a, b: max(b, a), INT32, FLOAT64, FLOAT64),
    ],
)
def test_types_are_numbas(operation, left, right, expected):
    assert typed(operation, left, right).result == expected


def test_the_typed_ir_of_a_kernel():
    def kernel(a, b, out):
        i = cuda.grid(1)
        total = a[i] + b[i]
        out[i] = total

    array = argument_type(np.zeros(3, np.int32))
    function = typed(kernel, array, array, argument_type(np.zeros(3, np.float32)))
    assert function.types["total"] == INT64
    assert function.types["i"] == INT64
    assert function.result == types.none
    assert function.arguments[0] == array
    assert function.name.endswith("kernel")
    assert function.filename == __file__
    statements = [one for block in function.blocks.values() for one in block.body]
    (store,) = [one for one in statements if isinstance(one, ir.SetItem)]
    assert store.loc.line == kernel.__code__.co_firstlineno + 3
    sums = [
        one.value
        for one in statements
        if isinstance(one, ir.Assign) and getattr(one.value, "op", "") == "binop"
    ]
    (addition,) = sums
    assert function.signatures[addition].args == (INT64, INT64)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, INT64),
        (2.5, FLOAT64),
        (True, types.boolean),
        (np.float32(1), FLOAT32),
        (np.uint8(1), types.uint8),
        ((1, 2.0), types.Tuple((INT64, FLOAT64))),
    ],
)
def test_types_of_arguments(value, expected):
    assert argument_type(value) == expected


def test_layouts_of_arrays():
    array = np.zeros((3, 4), np.float32)
    assert argument_type(array).layout == "C"
    assert argument_type(array.T).layout == "F"
    assert argument_type(array[::2]).layout == "A"


def test_debug_mode_is_noted():
    assert typed_function(cuda.jit(debug=True, opt=False)(lambda a: a), (INT32,)).debug
    assert not typed(lambda a: a, INT32).debug


# --- device functions -----------------------------------------------------------------------------


@cuda.jit(device=True)
def scaled(value, factor=3, shift=0.5):
    return value * factor + shift


@cuda.jit(device=True)
def nested(value):
    return scaled(scaled(value), shift=1) + scaled(value, 2)


@numba.njit
def clamped(value, low, high):
    return min(max(value, low), high)


def test_device_functions_with_defaults_keywords_and_each_other():
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = nested(values[i])

    values, out = np.arange(8.0), np.zeros(8)
    run(kernel, 1, 8, values, out)
    assert np.array_equal(out, (3 * values + 0.5) * 3 + 1 + 2 * values + 0.5)


def test_a_device_function_serves_several_types():
    @cuda.jit
    def kernel(whole, fractions, out):
        i = cuda.grid(1)
        out[i] = scaled(whole[i], 2, 0) + scaled(fractions[i])

    whole, fractions, out = np.arange(4, dtype=np.int32), np.arange(4) / 4, np.zeros(4)
    run(kernel, 1, 4, whole, fractions, out)
    assert np.array_equal(out, 2 * whole + 3 * fractions + 0.5)


def test_functions_of_njit_are_called():
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        values[i] = clamped(values[i], 2, 5)

    values = np.arange(8)
    run(kernel, 1, 8, values)
    assert values.tolist() == [2, 2, 2, 3, 4, 5, 5, 5]


def test_device_functions_with_declared_signatures_convert():
    with simulated_cuda():

        @cuda.jit("float32(float32)", device=True)
        def half(value):
            return value / 2

        @cuda.jit
        def kernel(values):
            values[0] = half(values[1])

        values = np.array([0, 1 / 3])
        kernel[1, 1](values)
    # The argument is rounded to float32 first.
    assert values[0] == float(np.float32(1 / 3)) / 2
    assert values[0] != 1 / 6


def test_functions_that_return_several_values_or_none():
    @cuda.jit(device=True)
    def both(a, b):
        return a + b, a - b

    @cuda.jit(device=True)
    def write(out, i, value):
        if value < 0:
            return
        out[i] = value

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        total, difference = both(i, 3)
        write(out, i, total * difference)

    out = np.full(6, 99)
    run(kernel, 1, 6, out)
    assert out.tolist() == [99, 99, 99, 0, 7, 16]


def test_a_device_function_changes_the_arrays_it_is_given():
    @cuda.jit(device=True)
    def swap(values, a, b):
        values[a], values[b] = values[b], values[a]

    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        if values[2 * i] > values[2 * i + 1]:
            swap(values, 2 * i, 2 * i + 1)

    values = np.random.default_rng(0).permutation(20)
    expected = np.sort(values.reshape(10, 2), axis=1).ravel()
    run(kernel, 1, 10, values)
    assert np.array_equal(values, expected)


def test_closures_over_numbers_arrays_and_functions():
    def make(number, table, function):
        @cuda.jit
        def kernel(out):
            i = cuda.grid(1)
            out[i] = function(table[i]) * number

        return kernel

    table = np.array([3, 1, 4, 1])
    for number in (2, 5):
        out = np.zeros(4)
        run(make(number, table, scaled), 1, 4, out)
        assert np.array_equal(out, (3 * table + 0.5) * number)


def test_recursion_is_refused():
    @cuda.jit(device=True)
    def factorial(n):
        if n < 2:
            return 1
        return n * factorial(n - 1)

    def kernel(out):
        out[0] = factorial(5)

    with pytest.raises((UnsupportedKernelError, *TYPING_ERRORS), match="factorial"):
        simulate(kernel)[1, 1](np.zeros(1))


# --- signatures -----------------------------------------------------------------------------------


def test_arguments_are_converted_to_a_kernels_signature():
    def kernel(values, number):
        values[0] = number / 2

    values = np.zeros(1)
    simulate(kernel, signature="void(float64[:], int32)")[1, 1](values, 7.9)
    assert values[0] == 3.5
    simulate(kernel)[1, 1](values, 7.9)
    assert values[0] == 7.9 / 2


def test_two_signatures_that_fit_as_well_are_refused():
    signatures = ["void(float64[:], float32, float64)", "void(float64[:], float64, float32)"]

    with simulated_cuda():

        @cuda.jit(signatures)
        def kernel(values, a, b):
            values[0] = a + b

        with pytest.raises(InputTypeError, match=r"kernel: Ambiguous overloading .*64: .*; "):
            kernel[1, 1](np.zeros(1), 1.0, 2.0)


C_ORDER, F_ORDER = "void(float64[:,::1], float32[:])", "void(float64[::1,:], float32[:])"


@pytest.mark.parametrize(
    ("signature", "values"),
    [
        (C_ORDER, np.ones((2, 3))),
        (F_ORDER, np.ones((2, 3), order="F")),
        # Both are the same there.
        (F_ORDER, np.ones((2, 1))),
        ([C_ORDER, F_ORDER], np.ones((2, 3), order="F")),
        ("void(float64[:,:], float32[:])", np.ones((2, 6))[:, ::2]),
    ],
)
def test_arrays_lie_in_the_order_that_a_signature_says(signature, values):
    def kernel(values, out):
        out[0] = values[1, 0]

    out = np.zeros(1, np.float32)
    simulate(kernel, signature=signature)[1, 1](values, out)
    assert out[0] == 1


@pytest.mark.parametrize(
    ("signature", "values"),
    [
        (C_ORDER, np.ones((2, 3), order="F")),
        (F_ORDER, np.ones((2, 3))),
        (C_ORDER, np.ones((2, 6))[:, ::2]),
    ],
)
def test_arrays_in_another_order_than_a_signature_says_are_refused(signature, values):
    def kernel(values, out):
        out[0] = values[1, 0]

    with pytest.raises(InputTypeError, match=r"argument values: its signature says [CF] order"):
        simulate(kernel, signature=signature)[1, 1](values, np.zeros(1, np.float32))


def test_a_read_only_array_of_which_a_signature_does_not_say_so_is_only_read():
    def kernel(values, out):
        out[0] = values[1]

    values, out = np.arange(3.0), np.full(3, 5.0)
    values.flags.writeable = False
    reads = simulate(kernel, signature="void(float64[:], float64[:])")
    reads[1, 1](values, out)
    assert out[0] == 1
    with pytest.raises(InputError, match="argument out: the array is read-only, and the kernel"):
        reads[1, 1](out, values)
    assert values.tolist() == [0, 1, 2]


def test_no_signature_fits():
    with pytest.raises(InputTypeError, match="there are"):
        simulate(lambda values: values[0], signature="void(float64[:])")[1, 1](3)


def test_what_numba_cannot_type_is_refused_with_its_reason():
    def kernel(values):
        values[0] = values.no_such_attribute

    with pytest.raises(UnsupportedKernelError, match="no_such_attribute") as caught:
        simulate(kernel)[1, 1](np.zeros(1))
    assert isinstance(caught.value.__cause__, TYPING_ERRORS)
