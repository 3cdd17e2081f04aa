"""Float arithmetic at the edges of the types, and functions that no standard rounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda

from micro_kernels.case import Array, Case, per_element

__all__ = ["float_cases"]


@cuda.jit
def float_to_integer(a: Any, out: Any) -> None:
    """Turn floats into integers, those that no integer is near to as well."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = np.int32(x)
        out[1, i] = np.int64(x)
        out[2, i] = np.uint32(x)
        out[3, i] = np.uint64(x)
        out[4, i] = int(x)


@cuda.jit
def float_to_narrow(a: Any, out: Any) -> None:
    """Turn floats into integers of fewer than 32 bits."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = np.int8(x)
        out[1, i] = np.uint8(x)
        out[2, i] = np.int16(x)
        out[3, i] = np.uint16(x)


@cuda.jit
def float_basics(a: Any, b: Any, out: Any) -> None:
    """Compute what IEEE 754 rounds in one way."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x / y
        out[4, i] = -x
        out[5, i] = abs(x)
        out[6, i] = min(x, y)
        out[7, i] = max(x, y)
        out[8, i] = (x < y) + 2 * (x == y) + 4 * (x != y) + 8 * (x >= y)
        out[9, i] = math.sqrt(abs(x))
        out[10, i] = np.float32(x)
        out[11, i] = math.copysign(x, y)


@cuda.jit
def float_fused(a: Any, b: Any, c: Any, out: Any) -> None:
    """Multiply and add with one rounding, asked for."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = cuda.fma(a[i], b[i], c[i])


@cuda.jit
def float_contracted(a: Any, b: Any, c: Any, out: Any) -> None:
    """Multiply and add: whether with one rounding or two is up to the compiler."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] * b[i] + c[i]


@cuda.jit
def float_rounding(a: Any, out: Any) -> None:
    """Round to whole numbers."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = math.floor(x)
        out[1, i] = math.ceil(x)
        out[2, i] = math.trunc(x)
        out[3, i] = math.isnan(x) + 2 * math.isinf(x)


@cuda.jit
def float_nearest(a: Any, out: Any) -> None:
    """Round halves to even."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = round(a[i])


@cuda.jit
def float_division(a: Any, b: Any, out: Any) -> None:
    """Divide with a whole quotient."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x // y
        out[1, i] = x % y
        out[2, i] = math.fmod(x, y)


@cuda.jit
def float_powers(a: Any, out: Any) -> None:
    """Raise to whole powers."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = x**2
        out[1, i] = x**3
        out[2, i] = x**-1
        out[3, i] = x**5


@cuda.jit
def float_pow(a: Any, b: Any, out: Any) -> None:
    """Raise to any power."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] ** b[i]
        out[1, i] = math.pow(a[i], b[i])


@cuda.jit
def transcendental(a: Any, out: Any) -> None:
    """Compute functions that no standard rounds."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = math.exp(x)
        out[1, i] = math.log(abs(x))
        out[2, i] = math.sin(x)
        out[3, i] = math.cos(x)
        out[4, i] = math.tanh(x)
        out[5, i] = math.atan(x)
        out[6, i] = math.log1p(abs(x))
        out[7, i] = math.expm1(x)
        out[8, i] = math.erf(x)
        out[9, i] = math.hypot(x, x + 1)


def _floats(dtype: str) -> tuple[Array, Array]:
    limits = np.finfo(dtype)
    edges = [
        0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 127.5, 255.9, 300.0, 32767.5, 65536.0,
        float(limits.max), float(limits.tiny), float(limits.smallest_subnormal),
        float(limits.eps), 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e10, 1e20, math.inf,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        one = np.array([*edges, *(-edge for edge in edges), math.nan], dtype)
    a, b = (part.ravel() for part in np.meshgrid(one, one))
    rng = np.random.default_rng(2)
    more = rng.standard_normal((2, 500)) * 10.0 ** rng.integers(-10, 10, (2, 500))
    return np.concatenate([a, more[0].astype(dtype)]), np.concatenate([b, more[1].astype(dtype)])


def float_cases(dtype: str) -> list[Case]:
    """Return cases of float arithmetic."""
    a, b = _floats(dtype)
    near = np.random.default_rng(4).standard_normal((3, 2000)).astype(dtype)
    # Sums that cancel show a second rounding.
    near[2, ::2] = -(near[0, ::2] * near[1, ::2])
    every = tuple(np.concatenate(pair) for pair in ((a, near[0]), (b, near[1]), (b[::-1], near[2])))
    modest = np.random.default_rng(6).uniform(-20, 20, 2000).astype(dtype)
    positive = np.abs(modest) + np.finfo(dtype).eps
    return [
        per_element("basics", float_basics, (a, b), (
            "+", "-", "*", "/", "neg", "abs", "min", "max", "compare", "sqrt", "float32",
            "copysign",
        ), "float64"),
        per_element("fma", float_fused, every, ("fma",), "float64"),
        per_element(
            "a b + c", float_contracted, every, ("a b + c",), "float64",
            expected={"a b + c": "NVVM contracts a product and a sum to one fma"},
        ),
        per_element(
            "to integers", float_to_integer, (a,), ("int32", "int64", "uint32", "uint64", "int"),
            "int64",
        ),
        per_element(
            "to narrow integers", float_to_narrow, (a,), ("int8", "uint8", "int16", "uint16"),
            "int64",
            expected=dict.fromkeys(
                ("int8", "uint8", "int16", "uint16"),
                "LLVM leaves open what does not fit the integer: NVVM may keep more bits",
            ),
        ),
        per_element(
            "to whole numbers", float_rounding, (a,), ("floor", "ceil", "trunc", "is"), "float64"
        ),
        per_element("to nearest", float_nearest, (a[np.abs(a) < 1e9],), ("round",), "float64"),
        per_element(
            "whole quotients", float_division, (a, b), ("//", "%", "fmod"), "float64",
            expected=dict.fromkeys(
                ("//", "%"), "a sequence of operations, which NVVM may contract to fma"
            ),
        ),
        per_element("whole powers", float_powers, (a,), ("2", "3", "-1", "5"), "float64"),
        per_element(
            "powers", float_pow, (positive, modest[::-1].copy()), ("**", "pow"), "float64", ulps=8
        ),
        per_element("functions", transcendental, (modest,), (
            "exp", "log", "sin", "cos", "tanh", "atan", "log1p", "expm1", "erf", "hypot",
        ), "float64", ulps=8),
    ]  # fmt: skip
