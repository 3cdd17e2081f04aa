"""Instructions of a GPU that Numba cannot express, as functions for kernels.

Each is known to the simulator by the function itself, with its meaning in NumPy:
`warpladder.simulator.intrinsics.mathematics`. Outside kernels they cannot be called.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warpladder.device.numba_target import ConfigStack, intrinsic, types

__all__ = ["relax_pairs"]

_WORD = ir.IntType(32)
#: The first compute capability with arithmetic on pairs of 16-bit integers (PTX ISA 8.0).
_PAIRS_SINCE = (9, 0)


@intrinsic
def relax_pairs(typingctx: Any, best: Any, a: Any, b: Any) -> Any:
    """Return ``min(best, a + b)`` of two int16 at a time.

    A word holds two of them, the first in its lower half. Sums wrap, minima are signed. This is
    one instruction on compute capability 9.0 and 10.0, VIADDMNMX.S16x2, and two on 12.0; before
    9.0, where there are none for pairs, it is nine.

    Parameters
    ----------
    best, a, b
        int32; of wider integers the lower 32 bits count.

    Returns
    -------
    int32

    Notes
    -----
    NVVM would take a vector of two 16-bit integers apart for 9.0, so the instructions for pairs are
    spelled out. ptxas makes one of the two. Source: PTX ISA, ``add`` and ``min``.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.device.instructions import relax_pairs
    >>> from warpladder.simulator import SimulatedDevice
    >>> @cuda.jit
    ... def relax(best, a, b):
    ...     best[0] = relax_pairs(best[0], a[0], b[0])
    >>> device = SimulatedDevice()
    >>> best, a, b = (
    ...     device.to_device(np.array(pair, np.int16)) for pair in ([9, 9], [3, 3], [4, 7])
    ... )
    >>> device.launch(relax, 1, 1, *(pair.view(np.int32) for pair in (best, a, b)))
    >>> device.to_host(best).tolist()
    [7, 9]
    """
    del typingctx
    signature = types.int32(types.int32, types.int32, types.int32)
    if not all(isinstance(kind, types.Integer) for kind in (best, a, b)):
        return None

    def codegen(context: Any, builder: Any, signature: Any, words: Any) -> Any:
        del context, signature
        if ConfigStack().top().compute_capability >= _PAIRS_SINCE:
            best, a, b = words
            through = _of_two(builder, "add.s16x2", a, b)
            return _of_two(builder, "min.s16x2", best, through)
        return _relax_in_words(builder, *words)

    return signature, codegen


def _of_two(builder: Any, instruction: str, first: Any, second: Any) -> Any:
    """Emit an instruction of PTX with two operands."""
    kind = ir.FunctionType(_WORD, [_WORD, _WORD])
    return builder.call(ir.InlineAsm(kind, f"{instruction} $0, $1, $2;", "=r,r,r"), [first, second])


def _relax_in_words(builder: Any, best: Any, a: Any, b: Any) -> Any:
    """Emit the same in arithmetic of 32 bits: halves apart would take twice the registers."""
    tops, upper, half = (_WORD(bits) for bits in (0x80008000, 0xFFFF0000, 16))
    # The top bits are added without carry, so that nothing carries into the upper half.
    rest = builder.add(*(builder.and_(word, builder.not_(tops)) for word in (a, b)))
    through = builder.xor(rest, builder.and_(builder.xor(a, b), tops))
    # The upper halves decide which word is less.
    least = _lesser(builder, through, best)
    shifted = (builder.shl(word, half) for word in (through, best))
    least_of_lower = builder.lshr(_lesser(builder, *shifted), half)
    word = builder.or_(builder.and_(least, upper), least_of_lower)
    # No instruction, but the compiler does not see through it: it would keep the halves apart.
    return builder.call(ir.InlineAsm(ir.FunctionType(_WORD, [_WORD]), "", "=r,0"), [word])


def _lesser(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, b), a, b)
