"""Functions that Numba types and compiles for no GPU: refused, with what to write instead.

What can be asked of Numba is asked (`frontend.lowering`). The rest, kinds of arguments at which its
code generation fails, is told by the handlers of those constructs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import types
from warpladder.simulator.frontend.lowering import has_code, ufunc_has_code
from warpladder.simulator.machine.builder import Builder

__all__ = ["require_code", "require_ufunc_code"]

#: Where `math` has nothing of the name.
_INSTEAD: dict[Any, str] = {
    np.absolute: "abs()", np.add: "+", np.cbrt: "cuda.cbrt", np.divmod: "// and %",
    np.float_power: "**", np.floor_divide: "//", np.multiply: "*", np.negative: "-",
    np.positive: "the number itself", np.power: "**", np.reciprocal: "1 / x",
    np.remainder: "%", np.rint: "round()", np.sign: "comparisons", np.signbit: "math.copysign",
    np.square: "x * x", np.subtract: "-",
}  # fmt: skip


def require_code(t: Builder, stub: Any, signature: Any) -> None:
    """Refuse a function of `numba.cuda` that is compiled for none of these types."""
    if not has_code(stub, signature):
        t.refuse_uncompiled(f"{stub.__name__} of {_kinds(signature)}", "convert it first")
    if stub is cuda.selp and types.unliteral(signature.args[0]) != types.boolean:
        t.refuse_uncompiled(f"{stub.__name__} of {_kinds(signature)}", "begin with a comparison")


def require_ufunc_code(t: Builder, ufunc: np.ufunc, signature: Any) -> None:
    """Refuse one of NumPy's functions that is compiled for none of these types."""
    if ufunc_has_code(ufunc, signature):
        return
    instead = _INSTEAD.get(ufunc)
    if instead is None:
        name = ufunc.__name__
        instead = f"math.{name}" if hasattr(math, name) else "functions of math, or operators"
    t.refuse_uncompiled(f"np.{ufunc.__name__} of {_kinds(signature)}", f"use {instead}")


def _kinds(signature: Any) -> str:
    return ", ".join(str(types.unliteral(kind)) for kind in signature.args)
