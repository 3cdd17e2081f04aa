"""What Numba types and compiles for no GPU is refused; what it compiles is not."""

from __future__ import annotations

import contextlib
import enum
import math

import numpy as np
import pytest
from numba import cuda, from_dtype
from simulating import TYPING_ERRORS, run

from choosing import large
from warpladder.device.builtin_target import NEWER_UFUNCS
from warpladder.device.numba_target import FRONT_END, cuda_target, types
from warpladder.errors import UnsupportedKernelError
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.simulator.frontend.lowering import ufunc_has_code
from warpladder.simulator.translation.translator import translate

needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")

PACKED = from_dtype(np.dtype([("tag", "i1"), ("weight", "f8"), ("place", "f4", 3)]))
ALIGNED = from_dtype(np.dtype([("tag", "i1"), ("weight", "f8"), ("place", "f4", 3)], align=True))


#: As much as constant memory has, and more.
TABLE, LARGE_TABLE = (np.arange(size, dtype=np.int32) for size in (16384, 16385))


class Side(enum.IntEnum):
    LEFT = 1


def kernel_of(*statements):
    """Return a kernel of an array ``x`` that consists of these lines."""
    names = {"np": np, "cuda": cuda, "math": math, "Side": Side,
             "TABLE": TABLE, "LARGE_TABLE": LARGE_TABLE}  # fmt: skip
    exec("\n    ".join(["def kernel(x):", *statements]), names)  # noqa: S102 - lines of this file
    return cuda.jit(names["kernel"])


def array_of(dtype, ndim=1):
    return (types.Array(getattr(types, dtype) if isinstance(dtype, str) else dtype, ndim, "C"),)


def is_refused(kernel, kinds):
    try:
        translate(kernel, kinds)
    except UnsupportedKernelError as fault:
        if "which is compiled for no GPU: " not in str(fault):
            raise
        return True
    return False


def cannot_be_compiled(kernel, kinds):
    try:
        compile_kernel(kernel, kinds)
    except Exception:  # noqa: BLE001 - Numba's code generation fails in many ways
        return True
    return False


def numba_cudas(*row):
    """Return a construct that Numba's own target compiles."""
    return pytest.param(*row, marks=pytest.mark.numba_cuda)


REFUSED = [
    ("np.exp(x[0])", "float64", "np.exp of float64, .*: use math.exp"),
    ("np.floor_divide(x[0], x[1])", "int32", "np.floor_divide of int32, int32, .*: use //"),
    ("np.sin(x[0])", "float16", "np.sin of float16"),
    ("np.add(x, x, x)", "float64", r"np.add of .*: use \+"),
    numba_cudas("x[0] /= 2", "int32", "a /= b of integers, .*: write a = a / b"),
    ("cuda.ffs(x[0])", "int8", "ffs of int8"),
    ("cuda.selp(x[0], 1, 2)", "int32", "selp of int32, int64, int64, .*: begin with a comparison"),
    ("max(x[0], x[1])", "complex128", "a call of max"),
    ("np.float32(x[0])", "complex64", "complex64 as float32, .*: take its real part"),
    ("complex(x[0], x[1])", "complex128", "complex128 as float64"),
    ("x[1] = 1 if x[0] else 2", "float16", "float16 as bool, .*: compare it"),
    ("x[0] = Side.LEFT", "float64", r"IntEnum<int64>\(Side\) as float64, .*: take its value"),
    ("x[0] = Side.LEFT < 2.5", "int32", r"IntEnum<int64>\(Side\) as float64"),
    ("raise ValueError(x[0])", "int32", "an exception with a value that is not constant"),
    ('print((x[0], "a"))', "int32", "print"),
    ('print(f"{x[0]}")', "float64", r"print\(\) of unicode_type"),
    ("x[...][0]", "int32", r"x\[\.\.\.\] or x\[None\]"),
    numba_cudas("x[None][0, 0]", "int32", r"x\[\.\.\.\] or x\[None\]"),
    ("x[:] = x", "int32", "an array put into another, .*: assign its elements in a loop"),
    ("x.ravel()[0]", "int32", r"ravel\(\), .*: use reshape"),
    ("x.imag[0]", "float64", "the imaginary part of an array of float64"),
    ("cuda.shared.array((0, 2), np.int32)", "int32", r"an array of shape \(0, 2\)"),
    ("cuda.shared.array(-1, np.int32)", "int32", r"an array of shape \(-1,\)"),
    ("cuda.local.array(0, np.int32)", "int32", r"an array of shape \(0,\)"),
    ('cuda.local.array(3, "M8[s]")', "int32", r"an array of datetime64\[s\]"),
    ("cuda.atomic.add(x, (0,), 1)", "int32", r"an atomic operation at \(i,\)"),
    ("cuda.atomic.add(x, 0, None)", "int32", "an atomic operation with None"),
    ("cuda.shfl_sync(-1, 1, x[0])", "int16", "a mask or lane of type int16, .*: take int32"),
    ("cuda.ballot_sync(x[0], True)", "uint8", "a mask or lane of type uint8"),
    (
        "x[0] = LARGE_TABLE[x[1]]",
        "int32",
        "constant arrays of 65540 bytes, more than 65536, .*: pass",
    ),
    ("x[0] = cuda.const.array_like(LARGE_TABLE)[x[1]]", "int32", "constant arrays of 65540 bytes"),
    ("x[0] = TABLE[x[1]] + LARGE_TABLE[x[1]]", "int32", "constant arrays of 131076 bytes"),
    ("x[0].weight", PACKED, "the field weight, 1 bytes into its record and not aligned"),
    ('x[0]["weight"] = 1', PACKED, "the field weight, .*: take a dtype with align=True"),
    ("x[0].place[0]", PACKED, "the field place"),
    ("x[0].place = 1", ALIGNED, r"as the array place of a record, .*: use \[\"place\"\]"),
    ("x[0].place = x.place[1]", ALIGNED, "as the array place of a record"),
]


@pytest.mark.parametrize(("statement", "dtype", "words"), REFUSED)
def test_what_is_compiled_for_no_gpu_is_refused(statement, dtype, words):
    with pytest.raises(UnsupportedKernelError, match=words) as refused:
        translate(kernel_of(statement), array_of(dtype))
    assert "kernel: " in str(refused.value)
    assert "(<string>, line 2" in str(refused.value)


@needs_tools
@pytest.mark.parametrize(("statement", "dtype", "_"), REFUSED)
def test_what_is_refused_cannot_be_compiled(statement, dtype, _):
    assert cannot_be_compiled(kernel_of(statement), array_of(dtype))


#: Close to what is refused, and compiled.
TAKEN = {
    "int32": [
        "np.sin(x[0])", "np.maximum(x[0], x[1])", "x[0] = x[0] / 2", "x[0] //= 2", "cuda.ffs(x[0])",
        "cuda.selp(x[0] > 0, x[1], x[0])", "x[:] = 1", "x[0:2] = 1, 2", "x[:][0]",
        "x.reshape(2, 2)",
        "cuda.atomic.add(x, 0, 1)", "cuda.shfl_sync(-1, x[0], 1)", "cuda.ballot_sync(x[0], x[1])",
        "cuda.shared.array(0, np.int32)", 'print("a", x[0], (x[1], x[2]))', "x.real[0]",
        'if x[0] < 0: raise ValueError("a", 1)', "cuda.match_any_sync(x[0], x[1])",
        "x[0] = TABLE[x[1]] + LARGE_TABLE[3] + LARGE_TABLE.size", "x[0] = TABLE[x[1]]",
        "x[0] = Side.LEFT + x[0]", "x[0] = (Side.LEFT, 2)[0]", "x[1] = Side.LEFT in (1, 2)",
    ],
    "float16": ["not x[0]", "x[0] = 1 if x[0] != 0 else 2", "int(x[0])", "np.sin(x, x)"],
    "complex64": ["bool(x[0])", "np.sin(x[0])", "x.imag[0]", "np.float32(x[0].real)"],
    PACKED: ["x[0].tag", "x.weight[0]", 'x["weight"][0] = 1', "x[0] = x[1]"],
    ALIGNED: ["x[0].weight", 'x[0]["weight"] = 1', "x[0].place[0] = 1", "x[0].place[:] = 1",
              "x[0].place = x[1].place", "x[0]['place'] = x[1].place"],
}  # fmt: skip


@pytest.mark.parametrize("dtype", TAKEN)
def test_what_is_compiled_is_taken(dtype):
    assert not is_refused(kernel_of(*TAKEN[dtype]), array_of(dtype))


@needs_tools
@pytest.mark.parametrize("dtype", TAKEN)
def test_what_is_taken_can_be_compiled(dtype):
    assert not cannot_be_compiled(kernel_of(*TAKEN[dtype]), array_of(dtype))


UFUNCS = {value.__name__: value for value in vars(np).values() if isinstance(value, np.ufunc)}


@needs_tools
@pytest.mark.parametrize(
    "dtype",
    ["float64", *large("float16", "int32", "uint64", "boolean", "complex64")],
)
def test_of_numpys_functions_those_are_refused_that_are_not_compiled(dtype):
    taken = []
    for name, ufunc in UFUNCS.items():
        call = f"np.{name}({', '.join(['x[0]', 'x[1]'][: ufunc.nin])})"
        try:
            refused = is_refused(kernel_of(call), array_of(dtype))
        except TYPING_ERRORS:
            continue
        if refused:
            assert cannot_be_compiled(kernel_of(call), array_of(dtype)), call
        else:
            taken.append(call)
    # All at once, which takes a tenth of the time.
    assert not cannot_be_compiled(kernel_of(*taken or ["pass"]), array_of(dtype))
    assert (len(taken) > 20) == (dtype != "float16")


@pytest.mark.parametrize("ufunc", sorted(NEWER_UFUNCS, key=str))
def test_what_numba_cuda_alone_compiles_is_taken_with_numbas_own_target(ufunc):
    kinds = (types.complex128,) * ufunc.nin
    result = types.boolean if ufunc is np.isnan else types.complex128
    assert ufunc_has_code(ufunc, result(*kinds))
    known = FRONT_END.package == "numba-cuda"
    with contextlib.nullcontext() if known else pytest.raises(KeyError):
        cuda_target.target_context.get_ufunc_info(ufunc)


@pytest.mark.parametrize("name", ["exp", "sqrt", "floor", "expm1", "trunc", "fabs", "copysign"])
def test_what_is_to_be_written_instead_has_code(name):
    arguments = "x[0], x[1]"[: 4 if UFUNCS[name].nin == 1 else None]
    with pytest.raises(UnsupportedKernelError, match=rf"use math\.{name} \("):
        translate(kernel_of(f"np.{name}({arguments})"), array_of("float64"))
    assert not is_refused(kernel_of(f"math.{name}({arguments})"), array_of("float64"))


@pytest.mark.numba_cuda
def test_arrays_are_put_into_slices_where_kernels_allocate(monkeypatch):
    from numba.cuda.core import config

    @cuda.jit
    def kernel(matrix, row):
        i = cuda.grid(1)
        matrix[i, 1:3] = row[:2]
        matrix[i, 1:] = matrix[i, :-1]
        matrix[i, 0] = row.ravel()[2]

    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", True, raising=False)
    assert cuda_target.target_context.enable_nrt
    matrix = np.arange(8).reshape(2, 4)
    run(kernel, 1, 2, matrix, np.array([70, 80, 90]))
    assert matrix.tolist() == [[90, 0, 70, 80], [90, 4, 70, 80]]
