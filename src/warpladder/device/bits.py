"""What compiled code asks of the bits of a word, one instruction each."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["how_many", "lowest"]


@intrinsic
def how_many(typingctx, word):
    """Return how many bits of a word are set."""

    def codegen(context, builder, sig, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def lowest(typingctx, word):
    """Return the place of a word's lowest bit that is set; there is one."""

    def codegen(context, builder, sig, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen
