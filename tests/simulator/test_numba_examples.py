"""Examples and tests of numba-cuda, or of Numba's own target, unchanged, on the simulated GPU."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import sys
import types
import unittest
import warnings

import numpy as np
import pytest
from numba import cuda, guvectorize, vectorize

from choosing import only
from warpladder.device.numba_target import FRONT_END
from warpladder.errors import KernelFaultError
from warpladder.simulator import simulated_cuda

EXAMPLES = [
    "test_vecadd", "test_reduction", "test_matmul", "test_laplace", "test_cg", "test_sessionize",
    "test_cpu_gpu_compat", "test_globals",
]  # fmt: skip
TESTS = [
    "test_warp_ops", "test_atomics", "test_sm", "test_sync", "test_localmem", "test_constmem",
    "test_intrinsics",
]  # fmt: skip
#: Each takes as long as all the others; what they do has tests of our own.
SLOW = {"test_laplace", "test_atomics", "test_intrinsics"}

# Cases that look at what was compiled: nothing is.
INSPECTS_CODE = ("ptx", "asm", "codegen", "inspect", "const_mode")
EXCLUDED = {
    # Their results are checked, too, by the cases that these extend.
    "test_atomic_add_double": "reads the assembly",
    "test_atomic_add_double_2": "reads the assembly",
    "test_atomic_add_double_3": "reads the assembly",
    "test_atomic_add_double_global": "reads the assembly",
    "test_atomic_add_double_global_2": "reads the assembly",
    "test_atomic_add_double_global_3": "reads the assembly",
    "test_local_array": "reads the assembly",
    "test_const_array": "reads the assembly",
    "test_const_array_2d": "reads the assembly",
    "test_const_array_3d": "reads the assembly",
    "test_selp": "reads the assembly",
    "test_type_with_struct_data_model": "a type whose values only LLVM can lay out",
    "test_struct_model_type_arr": "a type whose values only LLVM can lay out",
    "test_numba_dtype": "looks at the types that the compiler noted",
    "test_numpy_dtype": "looks at the types that the compiler noted",
    "test_string_dtype": "looks at the types that the compiler noted",
    "test_issue_9229": "more than 4 billion threads",
}
if FRONT_END.package == "numba":
    EXCLUDED |= {
        "test_struct_model_type_static": "a type whose values only LLVM can lay out",
        "test_fp16_intrinsics_common": "asks for NumPy's last bit of a power",
    }


def names_of_stubs():
    """Return the modules of filecheck that numba-cuda's test base imports."""
    return ["filecheck", "filecheck.matcher", "filecheck.options", "filecheck.parser",
            "filecheck.finput"]  # fmt: skip


class Anything(types.ModuleType):
    """A module that has whatever is imported from it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@pytest.fixture(scope="module")
def simulated():
    """Simulate, with what numba-cuda's tests need beside; put everything back."""
    devices = pytest.importorskip("numba.cuda.cudadrv.devices")
    if importlib.util.find_spec("numba.cuda.tests") is None:
        pytest.skip("this numba-cuda comes without its tests")
    before = set(sys.modules)
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        if importlib.util.find_spec("filecheck") is None:
            for name in names_of_stubs():
                patch.setitem(sys.modules, name, Anything(name))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(simulated_cuda())
        patch.setattr(devices, "get_context", lambda *_: cuda.current_context())
        testing = importlib.import_module("numba.cuda.testing")
        patch.setattr(testing, "skip_if_cudadevrt_missing", lambda function: function)
        yield
        # What was imported inside holds the simulated functions.
        for name in set(sys.modules) - before:
            if name.startswith("numba.cuda.tests"):
                del sys.modules[name]


def cases_of(module):
    """Return the cases of a test module of numba-cuda: of unittest, and plain functions."""
    waiting, cases = [unittest.defaultTestLoader.loadTestsFromModule(module)], []
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, unittest.TestSuite):
            waiting.extend(one)
        else:
            cases.append(one)
    cases += [
        unittest.FunctionTestCase(value)
        for name, value in vars(module).items()
        if name.startswith("test_")
        and isinstance(value, types.FunctionType)
        and not value.__code__.co_argcount
    ]
    return cases


def outcome_of(case):
    """Run one case; return ``"passed"``, ``"skipped"`` or how it failed."""
    result = unittest.TestResult()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        # Theirs about what their tests compute on the host.
        warnings.simplefilter("ignore")
        case.run(result)
    bad = result.errors + result.failures
    if bad:
        return bad[0][1].strip().splitlines()[-1]
    return "skipped" if result.skipped else "passed"


def run_module(folder, name, excluded=()):
    """Run the cases of a module that are not excluded; return their outcomes."""
    try:
        module = importlib.import_module(f"numba.cuda.tests.{folder}.{name}")
    except ModuleNotFoundError as missing:
        pytest.skip(f"this numba-cuda comes without {missing.name}")
    outcomes = {}
    for case in cases_of(module):
        method = case.id().rpartition(".")[2]
        if method in excluded or (folder == "cudapy" and any(w in method for w in INSPECTS_CODE)):
            continue
        outcomes[method] = outcome_of(case)
    return outcomes


# The first test of this file: what follows stays within the substitutes.
def test_the_substitutes_are_gone_afterwards():
    names = ["jit", "to_device", "device_array", "synchronize", "stream", "current_context"]
    before = {name: getattr(cuda, name) for name in names}

    def fails():
        with simulated_cuda():
            replaced.extend(name for name in names if getattr(cuda, name) is not before[name])
            raise ZeroDivisionError

    replaced = []
    with pytest.raises(ZeroDivisionError):
        fails()
    assert replaced == names
    assert {name: getattr(cuda, name) for name in names} == before


@pytest.mark.parametrize("name", only(lambda name: name not in SLOW, EXAMPLES))
def test_an_example_of_the_documentation(name, simulated):
    outcomes = run_module("doc_examples", name)
    assert outcomes
    assert set(outcomes.values()) == {"passed"}, outcomes


@pytest.mark.parametrize("name", only(lambda name: name not in SLOW, TESTS))
def test_a_module_of_numbas_tests(name, simulated):
    outcomes = run_module("cudapy", name, EXCLUDED)
    bad = {case: how for case, how in outcomes.items() if how not in {"passed", "skipped"}}
    assert not bad, bad
    assert sum(how == "passed" for how in outcomes.values()) >= 3


def test_every_excluded_case_is_there(simulated):
    found = set()
    for name in TESTS:
        module = importlib.import_module(f"numba.cuda.tests.cudapy.{name}")
        found |= {case.id().rpartition(".")[2] for case in cases_of(module)}
    assert set(EXCLUDED) <= found


@pytest.mark.parametrize("name", ["pinned_array_like", "mapped_array_like"])
def test_host_arrays_like_others(name):
    options = {"portable": True, "wc": False} if name.startswith("mapped") else {}
    with simulated_cuda():
        make = getattr(cuda, name)
        like = np.zeros((2, 3), np.int16, order="F")
        for given in (like, cuda.to_device(like)):
            made = make(given, **options)
            assert isinstance(made, np.ndarray)
            assert (made.shape, made.dtype, made.strides) == (like.shape, like.dtype, like.strides)


@pytest.mark.parametrize("signature", ["float32(float32, float32)", "(float32, float32)"])
def test_a_ufunc_for_a_gpu(signature):
    with simulated_cuda():

        @vectorize([signature], target="cuda")
        def weighted(a, b):
            return a * b + a

        rows = np.arange(6, dtype=np.float32).reshape(2, 3)
        assert weighted(rows, np.float32(2)).tolist() == [[0, 3, 6], [9, 12, 15]]
        on_device = cuda.to_device(rows)
        assert weighted(on_device, on_device).copy_to_host().tolist() == [[0, 2, 6], [12, 20, 30]]
        # One row for all, and what does not lie in C order.
        for other in (cuda.to_device(rows[1]), cuda.to_device(rows.copy("F"))[1]):
            assert weighted(on_device, other).copy_to_host().tolist() == [[0, 5, 12], [12, 20, 30]]
        turned = cuda.to_device(rows.copy("F"))
        assert weighted(turned, on_device).copy_to_host().tolist() == [[0, 2, 6], [12, 20, 30]]


def test_a_generalised_ufunc_repeats_its_inputs():
    with simulated_cuda():

        @guvectorize(["void(float32[:], float32, float32[:])"], "(n),()->(n)", target="cuda")
        def scaled(row, factor, out):
            for i in range(row.size):
                out[i] = row[i] * factor

        rows, row = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([1, 2, 3])
        for factor in (np.float32(2), np.float32([2, 2])):
            assert scaled(rows, factor).tolist() == (2 * rows).tolist()
            assert scaled(cuda.to_device(rows), factor).copy_to_host().tolist() == [
                [0, 2, 4], [6, 8, 10],
            ]  # fmt: skip
        assert scaled(row, np.float32([1, 2])).tolist() == [[1, 2, 3], [2, 4, 6]]


@pytest.mark.parametrize("inline", [True, False, "always", "never"])
def test_inline_as_programs_write_it(inline):
    with simulated_cuda():

        @cuda.jit(device=True, inline=inline)
        def next_to(value):
            return value + 1

        @cuda.jit("void(int64[:])", inline=inline)
        def kernel(values):
            values[cuda.grid(1)] = next_to(cuda.grid(1))

        values = np.zeros(3, np.int64)
        kernel[1, 3](values)
    assert values.tolist() == [1, 2, 3]


@pytest.mark.numba_cuda
def test_an_array_of_the_device_from_outside_a_kernel_is_used_where_it_lies():
    with simulated_cuda(checks=True, counters=True):
        table, pair = cuda.to_device(np.arange(6).reshape(2, 3)), (cuda.device_array(4),)

        @cuda.jit
        def turn():
            i = cuda.grid(1)
            table[0, i] = table[1, 2 - i]

        @cuda.jit
        def outside(out):
            out[0] = table[2, 0]

        @cuda.jit
        def unwritten(out):
            out[0] = pair[0][1]

        @cuda.jit
        def meeting(given):
            given[0, cuda.grid(1)] = 0
            table[0, 0] = 1

        turn[1, 3]()
        assert table.copy_to_host().tolist() == [[5, 4, 3], [3, 4, 5]]
        assert turn.report.counters.global_load_requests == 1
        for kernel, words in (
            (outside, "memcheck: .*out of bounds of axis 0"),
            (unwritten, r"initcheck: .*a device array\[1\] is read before"),
            (meeting, r"racecheck: .*\[0, 0\]: store at"),
        ):
            with pytest.raises(KernelFaultError, match=words):
                kernel[1, 3](table)
