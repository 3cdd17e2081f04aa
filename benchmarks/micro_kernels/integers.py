"""Integer arithmetic at the edges of the types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda

from micro_kernels.case import Array, Case, per_element

__all__ = ["integer_cases"]


@cuda.jit
def integer_basics(a: Any, b: Any, out: Any) -> None:
    """Compute what wraps, and what never does."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x & y
        out[4, i] = x | y
        out[5, i] = x ^ y
        out[6, i] = ~x
        out[7, i] = -x
        out[8, i] = abs(x)
        out[9, i] = min(x, y)
        out[10, i] = max(x, y)
        out[11, i] = (x < y) + 2 * (x == y)


@cuda.jit
def integer_division(a: Any, b: Any, out: Any) -> None:
    """Divide, by zero and the most negative number too."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x // y
        out[1, i] = x % y


@cuda.jit
def integer_ratio(a: Any, b: Any, out: Any) -> None:
    """Turn integers into floats."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = x / b[i]
        out[1, i] = np.float32(x)
        out[2, i] = np.float64(x)
        out[3, i] = math.sqrt(x)


@cuda.jit
def integer_shifts(a: Any, b: Any, out: Any) -> None:
    """Shift by what the type has bits for."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] << b[i]
        out[1, i] = a[i] >> b[i]


@cuda.jit
def integer_powers(a: Any, b: Any, out: Any) -> None:
    """Raise to constant and variable powers."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = x**2
        out[1, i] = x**3
        out[2, i] = x ** (b[i] & 7)


@cuda.jit
def integer_bits(a: Any, out: Any) -> None:
    """Count and reverse bits."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = cuda.popc(a[i])
        out[1, i] = cuda.clz(a[i])
        out[2, i] = cuda.ffs(a[i])
        out[3, i] = cuda.brev(a[i])


@cuda.jit
def narrowing(a: Any, out: Any) -> None:
    """Cut integers to narrower types."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = np.int8(x)
        out[1, i] = np.uint8(x)
        out[2, i] = np.int16(x)
        out[3, i] = np.uint16(x)
        out[4, i] = np.int32(x)
        out[5, i] = np.uint32(x)
        out[6, i] = np.int64(x)


def _integers(dtype: str) -> tuple[Array, Array]:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    edges = {low, low + 1, high, high - 1, high // 2, 0, 1, 2, 3, 7, 10, 97, 100}
    edges |= {-k for k in (1, 2, 3, 7, 10, 97, 100)} if low < 0 else set()
    one = np.array(sorted(edges), dtype)
    a, b = (part.ravel() for part in np.meshgrid(one, one))
    more = np.random.default_rng(1).integers(low, high, (2, 200), dtype, endpoint=True)
    return np.concatenate([a, more[0]]), np.concatenate([b, more[1]])


def integer_cases() -> list[Case]:
    """Return cases of integer arithmetic."""
    cases: list[Case] = []
    for dtype in ("int32", "int64", "uint8", "int8", "uint32", "uint64"):
        a, b = _integers(dtype)
        bits = 8 * np.dtype(dtype).itemsize
        # Numba computes with 64 bits, where the most negative number has no quotient by -1.
        fits = ~((bits == 64) & (a == np.iinfo(dtype).min) & (b.astype(np.int64) == -1))
        fits &= b != 0
        shift = (np.abs(b.astype(np.int64)) % bits).astype(dtype)
        cases += [
            per_element("basics", integer_basics, (a, b), (
                "+", "-", "*", "&", "|", "^", "~", "neg", "abs", "min", "max", "compare",
            ), "int64"),
            per_element("division", integer_division, (a[fits], b[fits]), ("//", "%"), "int64"),
            per_element(
                "division by zero, or with no quotient", integer_division, (a[~fits], b[~fits]),
                ("//", "%"), "int64",
                expected=dict.fromkeys(("//", "%"), "there is no quotient"),
            ),
            per_element(
                "to floats", integer_ratio, (a[b != 0], b[b != 0]),
                ("/", "float32", "float64", "sqrt"), "float64",
            ),
            per_element("shifts", integer_shifts, (a, shift), ("<<", ">>"), "int64"),
            per_element("powers", integer_powers, (a, b), ("2", "3", "0 to 7"), "int64"),
        ]  # fmt: skip
    for dtype in ("uint32", "uint64", "int32", "int64"):
        a, b = _integers(dtype)
        cases.append(
            per_element("bits", integer_bits, (a,), ("popc", "clz", "ffs", "brev"), "int64")
        )
    a, b = _integers("int64")
    kinds = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
    cases.append(per_element("narrowing", narrowing, (a,), kinds, "int64"))
    cases.append(
        per_element(
            "shifts beyond the width", integer_shifts, (a, b), ("<<", ">>"), "int64",
            expected=dict.fromkeys(("<<", ">>"), "LLVM leaves shifts beyond the width open"),
        )
    )  # fmt: skip
    return cases
