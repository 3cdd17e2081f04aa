"""Functions called by their address, from compiled code that knows none of their types.

A function that Numba compiled takes what its arguments are made of, word by word: a number is one
word, an array of one dimension seven. So one compiled caller does for functions of arrays of all
dtypes, which stand in memory as their addresses do.

What is Numba's own affair stands here only; `tests/device/test_native.py` fails first when a new
Numba moves it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.subroutines import subroutine

__all__ = ["address_of", "array_at", "call_at", "code_of"]

_WORD = ir.IntType(64)
_POINTER, _STATUS = ir.IntType(8).as_pointer(), ir.IntType(32)


def address_of(dispatcher: Any, *arguments: Any) -> int:
    """Return where a compiled function for arguments of the types of these begins.

    It lies there as long as the function is not collected.
    """
    kinds = tuple(map(typeof, arguments))
    dispatcher.compile(kinds)
    found = dispatcher.overloads[kinds]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


@subroutine
def array_at(address: Any, size: Any, itemsize: Any) -> Any:
    """Return what an array of one dimension is made of that lies at an address and has no owner."""
    return 0, 0, size, itemsize, address, size, itemsize


@intrinsic
def call_at(typingctx, address, words):
    """Call the function at an address with what its arguments are made of.

    It is to return nothing and to raise nothing.
    """

    def codegen(context, builder, signature, args):
        given = [builder.extract_value(args[1], place) for place in range(len(words))]
        # Where it leaves its answer and its exception; one place for all calls of a caller, whose
        # stack would grow with each round of a loop.
        answer, fault = (cgutils.alloca_once(builder, _POINTER) for _ in range(2))
        kinds = [answer.type, fault.type, *(word.type for word in given)]
        function = ir.FunctionType(_STATUS, kinds).as_pointer()
        builder.call(builder.inttoptr(args[0], function), [answer, fault, *given])
        return context.get_dummy_value()

    return types.void(types.int64, words), codegen


@intrinsic
def code_of(typingctx, function, given):
    """Return the number that a function of C answers, called by its address with integers."""

    def codegen(context, builder, signature, args):
        given = [builder.extract_value(args[1], place) for place in range(len(signature.args[1]))]
        kind = ir.FunctionType(_STATUS, [each.type for each in given]).as_pointer()
        return builder.sext(builder.call(builder.inttoptr(args[0], kind), given), _WORD)

    return types.int64(types.int64, given), codegen
