"""Words of memory that compiled threads share, and words found by their address.

Shared words are those of an array of int64, or lie behind an address. Each access to one is atomic,
and all threads see them in one order.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.llvm import data_of

__all__ = [
    "WORD",
    "WORD_BYTES",
    "copy_at",
    "exchanged_if",
    "fetch_add",
    "fetch_max",
    "load",
    "place_of",
    "read_at",
    "store",
    "word_at",
    "write_at",
]

WORD, WORD_BYTES = ir.IntType(64), 8
_BYTES = ir.IntType(8).as_pointer()


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if isinstance(signature.args[0], types.Integer):
        return word_at(builder, *args[:2])
    return builder.gep(data_of(context, builder, signature, args, 0), [args[1]])


@intrinsic
def copy_at(typingctx, place, source, size):
    """Copy so many bytes from an address to another; neither is written while it is read."""

    def codegen(context, builder, signature, args):
        into, given = (builder.inttoptr(args[n], _BYTES) for n in range(2))
        cgutils.raw_memcpy(builder, into, given, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def load(typingctx, words, index):
    """Return a shared word."""

    def codegen(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.load_atomic(address, "seq_cst", WORD_BYTES)

    return types.int64(words, types.intp), codegen


@intrinsic
def store(typingctx, words, index, value):
    """Give a shared word a value."""

    def codegen(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        builder.store_atomic(args[2], address, "seq_cst", WORD_BYTES)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.int64), codegen


@intrinsic
def exchanged_if(typingctx, words, index, old, new):
    """Give a shared word a new value if it has the old one; return whether it had."""

    def codegen(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        found = builder.cmpxchg(address, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(words, types.intp, types.int64, types.int64), codegen


def _fetching(operation: str) -> Any:
    """Return what changes a shared word at once, and gives what it was."""

    @intrinsic
    def change(typingctx, words, index, value):
        def codegen(context, builder, signature, args):
            address = _address(context, builder, signature, args)
            return builder.atomic_rmw(operation, address, args[2], "seq_cst")

        return types.int64(words, types.intp, types.int64), codegen

    return change


fetch_add, fetch_max = _fetching("add"), _fetching("max")


@intrinsic
def place_of(typingctx, array):
    """Return the address of the first element of an array."""

    def codegen(context, builder, signature, args):
        return builder.ptrtoint(data_of(context, builder, signature, args, 0), WORD)

    return types.int64(array), codegen


@intrinsic
def read_at(typingctx, address, place):
    """Return the word at a place behind an address."""

    def codegen(context, builder, signature, args):
        return builder.load(word_at(builder, *args))

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def write_at(typingctx, address, place, word):
    """Write the word at a place behind an address."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], word_at(builder, *args[:2]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


def word_at(builder: Any, address: Any, place: Any) -> Any:
    """Return the place of a word behind an address, for code under construction."""
    return builder.gep(builder.inttoptr(address, WORD.as_pointer()), [place])
