"""The fused multiply-add of loops on a CPU.

GPU kernels say the same with `numba.cuda.fma`.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

__all__ = ["fma"]


@intrinsic
def fma(typingctx, a, b, c):
    """Return ``a * b + c``, rounded once."""
    if not (isinstance(a, types.Float) and a == b == c):
        return None

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return a(a, a, a), codegen
