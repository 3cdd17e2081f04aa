"""Operations on single numbers that Python has no word for, as one machine instruction each.

Beside those of `device.arithmetic`: the bit casts are what exact sums are made of. `gpu.words` says
what those are on a GPU that rules use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from warpladder.device.arithmetic import select
from warpladder.device.subroutines import PartOfOthers, subroutine

__all__ = [
    "RULES",
    "add_at",
    "as_bits",
    "as_float",
    "compiled",
    "difference",
    "either",
    "half_to_float",
    "loose",
    "mark_at",
    "rule",
    "strict",
    "strict_inline",
    "times_itself",
]

#: Compile a function whose floating-point operations stay as they are written. That has to be said:
#: Numba compiles a plain function with the fast-math flags of whoever calls it.
strict = subroutine(fastmath=False)

#: Compile a function whose sums may be put in another order. Each time that LLVM optimises it, in a
#: module of its own and in that of who calls it, that may be another order. Called, it would be the
#: one of its own where it has just been compiled, and the other where it comes from the disk: 62 of
#: 2,880 variances and the like had other last bits in the first process than in later ones. So it
#: becomes a part of what calls it, and so does what calls it strictly.
loose = subroutine(fastmath={"reassoc", "nsz"}, forceinline=True)
strict_inline = subroutine(fastmath=False, forceinline=True)

RULES: list[Callable[..., Any]] = []
"""What is a `rule`."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Let loops for a CPU call a function, which stays a plain one and is compiled as `strict`.

    What Numba keeps on disk is found by a key to which plain functions bring their code, and
    compiled ones what no other process has: loops made for a set of folds may have only the former
    among their variables.
    """
    options = {
        "nogil": True,
        "fastmath": False,
        "no_cfunc_wrapper": True,
        "pipeline_class": PartOfOthers,
    }
    overload(function, jit_options=options, strict=False)(lambda *_: function)
    return function


def rule(function: _Function) -> _Function:
    """Let kernels for a GPU call a function too, as it is written."""
    RULES.append(function)
    return compiled(function)


_BIAS = np.float32(2.0**112)
_HALF_OVERFLOW = np.float32(65536)


@compiled
def either(condition: Any, a: Any, b: Any) -> Any:
    """Return what `select` does, for functions among the variables of a loop.

    Those may not call an intrinsic: the key of the loop on disk would be another in each process.
    """
    return select(condition, a, b)


@intrinsic
def _difference(typingctx: Any, a: Any, b: Any) -> Any:  # noqa: ARG001 - Numba reads these names
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001 - Numba reads these names
        kind = signature.args[0]
        if isinstance(kind, types.Float):
            return builder.fsub(*args)
        short, double = ir.IntType(32), ir.DoubleType()

        def halves(number: Any) -> tuple[Any, Any]:
            high = builder.trunc(builder.lshr(number, ir.Constant(number.type, 32)), short)
            convert = builder.sitofp if kind.signed else builder.uitofp
            return convert(high, double), builder.uitofp(builder.trunc(number, short), double)

        # Each half is exact, of all integers, and so is their difference.
        high, low = map(builder.fsub, *map(halves, args))
        return builder.fadd(builder.fmul(high, ir.Constant(double, 2.0**32)), low)

    return (a if isinstance(a, types.Float) else types.float64)(a, a), codegen


@compiled
def difference(a: Any, b: Any) -> Any:
    """Return a - b of two floats of one type, or of two integers of 64 bits as the nearest float64.

    Strictly, or LLVM may take a sum of differences for a difference of sums.
    """
    return _difference(a, b)


@compiled
def times_itself(number: Any) -> Any:
    """Return a number times itself, rounded before it is added to anything."""
    return number * number


@intrinsic
def _as_bits(typingctx: Any, number: Any) -> Any:  # noqa: ARG001 - Numba reads these names

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001 - Numba reads these names
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@compiled
def as_bits(number: Any) -> Any:
    """Return the 64 bits of a float64 as an integer."""
    return _as_bits(number)


@intrinsic
def _as_float(typingctx: Any, bits: Any) -> Any:  # noqa: ARG001 - Numba reads these names

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001 - Numba reads these names
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@compiled
def as_float(bits: Any) -> Any:
    """Return the float64 with these 64 bits."""
    return _as_float(bits)


@compiled
def add_at(array: Any, i: Any, number: Any) -> None:
    """Add to an element, to which on a GPU others may add as well."""
    array[i] += number


@compiled
def mark_at(array: Any, i: Any, bits: Any) -> None:
    """Set bits of an element, likewise."""
    array[i] |= bits


@intrinsic
def _as_float32(typingctx: Any, bits: Any) -> Any:  # noqa: ARG001 - Numba reads these names
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001 - Numba reads these names
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.uint32), codegen


@strict
def half_to_float(bits: Any) -> Any:
    """Return as float32 the float16 with these 16 bits; Numba has no float16 on the CPU.

    Not by LLVM's own conversion: on a CPU without the instruction that calls a function which is
    not there. Exponent and fraction keep their order in the wider format, subnormals included; what
    is too small by the difference of the exponents' biases is scaled, exactly.
    """
    magnitude = _as_float32(np.uint32(np.uint32(bits & 0x7FFF) << 13)) * _BIAS
    if magnitude >= _HALF_OVERFLOW:
        magnitude = _as_float32(np.uint32(np.uint32(bits & 0x7FFF) << 13) | np.uint32(0x7F800000))
    return -magnitude if bits & 0x8000 else magnitude
