"""Additions in shared memory whose result nobody asks for, as functions for kernels.

Of ``cuda.atomic.add`` on a shared array, under a condition, the compiler makes a branch, and in it
finds out anew where shared memory begins: seventeen instructions to count up by one in an array of
narrow counters. `add_where` takes an address that the kernel has found once. ptxas still makes a
branch of its predicate (CUDA 13.5 for sm_90), which takes three instructions beside the condition.

`count_byte` asks for nothing, and one instruction finds the one to be added, ``PRMT``: it picks
bytes out of two words by the lowest bits of a third, so these need not be cut out or multiplied.

The simulator knows all of them, by `warpladder.simulator.intrinsics.shared_adds`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warpladder.device.llvm import data_of
from warpladder.device.numba_target import intrinsic, types
from warpladder.errors import InputTypeError

__all__ = ["add_where", "count_byte", "shared_address"]

_WORD = ir.IntType(32)
_SHARED = 3


@intrinsic
def shared_address(typingctx: Any, array: Any) -> Any:
    """Return where an array in shared memory begins there, int32.

    The compiler rather asks for it again than keep it. What went through ``cuda.shfl_sync`` it has
    to keep.
    """
    del typingctx
    if not isinstance(array, types.Array):
        raise InputTypeError(f"shared_address: {array} is no array")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        there = ir.PointerType(data.type.pointee, _SHARED)
        return builder.ptrtoint(builder.addrspacecast(data, there), _WORD)

    return types.int32(array), codegen


@intrinsic
def add_where(
    typingctx: Any, condition: Any, array: Any, address: Any, index: Any, value: Any
) -> Any:
    """Add a number to an element of an array in shared memory, where a condition holds.

    Atomic; nothing is returned.

    Parameters
    ----------
    condition
        A truth.
    array
        Of one dimension and contiguous, of 32-bit integers, in shared memory.
    address
        What `shared_address` says of it.
    index
        Of the element; of wider integers the lower 32 bits count. Does not count from the end.
    value
        What is added, modulo 2**32.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.device.shared_adds import add_where, shared_address
    >>> from warpladder.simulator import SimulatedDevice
    >>> @cuda.jit
    ... def count_odd(numbers, counts):
    ...     odd = cuda.shared.array(1, np.uint32)
    ...     i = cuda.threadIdx.x
    ...     if i == 0:
    ...         odd[0] = 0
    ...     cuda.syncthreads()
    ...     add_where(numbers[i] % 2 == 1, odd, shared_address(odd), 0, 1)
    ...     cuda.syncthreads()
    ...     if i == 0:
    ...         counts[0] = odd[0]
    >>> device = SimulatedDevice()
    >>> counts = device.empty(1, np.uint32)
    >>> device.launch(count_odd, 1, 5, device.to_device(np.arange(5)), counts)
    >>> device.to_host(counts)
    array([2], dtype=uint32)
    """
    del typingctx
    _check_words("add_where", array)
    if not isinstance(condition, types.Boolean):
        return None
    words = (address, index, value)
    if not all(isinstance(each, types.Integer) for each in words):
        return None
    signature = types.void(types.boolean, array, types.int32, types.int32, types.int32)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        condition, _, address, index, value = arguments
        place = builder.add(address, builder.shl(index, _WORD(2)))
        if condition.type != ir.IntType(1):
            condition = builder.trunc(condition, ir.IntType(1))
        holds = builder.zext(condition, _WORD)
        kind = ir.FunctionType(ir.VoidType(), [_WORD, _WORD, _WORD])
        add = "{ .reg .pred p; setp.ne.u32 p, $0, 0; @p red.shared.add.u32 [$1], $2; }"
        builder.call(ir.InlineAsm(kind, add, "r,r,r", side_effect=True), [holds, place, value])
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def count_byte(typingctx: Any, array: Any, address: Any, index: Any, which: Any) -> Any:
    """Add one to a byte of an array of words in shared memory; carry into the next one of its word.

    Atomic; nothing is returned.

    Parameters
    ----------
    array
        Of one dimension and contiguous, of 32-bit integers, in shared memory.
    address
        What `shared_address` says of it.
    index
        Of the byte.
    which
        A number with the same two lowest bits. Where the index has been cut out of a word, the word
        from that bit on will do: its other bits are not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.device.shared_adds import count_byte, shared_address
    >>> from warpladder.simulator import SimulatedDevice
    >>> @cuda.jit
    ... def count_letters(letters, words):
    ...     counts = cuda.shared.array(7, np.uint32)
    ...     i = cuda.threadIdx.x
    ...     if i < 7:
    ...         counts[i] = 0
    ...     cuda.syncthreads()
    ...     count_byte(counts, shared_address(counts), letters[i], letters[i])
    ...     cuda.syncthreads()
    ...     if i < 7:
    ...         words[i] = counts[i]
    >>> device = SimulatedDevice()
    >>> letters = np.frombuffer(b"letters", np.uint8) - ord("a")
    >>> words = device.empty(7, np.uint32)
    >>> device.launch(count_letters, 1, 7, device.to_device(letters), words)
    >>> device.to_host(words).view(np.uint8)[letters]
    array([1, 2, 2, 2, 2, 1, 1], dtype=uint8)
    """
    del typingctx
    _check_words("count_byte", array)
    if not all(isinstance(each, types.Integer) for each in (address, index, which)):
        return None
    signature = types.void(array, types.int32, types.int32, types.int32)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        _, address, index, which = arguments
        place = builder.add(address, builder.and_(index, _WORD(~3)))
        kind = ir.FunctionType(ir.VoidType(), [_WORD, _WORD])
        # Of the bytes 1, 0, 0, 0 it takes four backwards, from byte 0, 1, 2 or 3 on.
        add = "{ .reg .b32 one; prmt.b32.b4e one, 1, 0, $1; red.shared.add.u32 [$0], one; }"
        builder.call(ir.InlineAsm(kind, add, "r,r", side_effect=True), [place, which])
        return context.get_dummy_value()

    return signature, codegen


def _check_words(name: str, array: Any) -> None:
    """Refuse anything but a contiguous array of words."""
    if not (isinstance(array, types.Array) and array.ndim == 1 and array.layout in {"C", "F"}):
        raise InputTypeError(f"{name}: {array} is no contiguous array of one dimension")
    if not (isinstance(array.dtype, types.Integer) and array.dtype.bitwidth == _WORD.width):
        raise InputTypeError(f"{name}: elements of type {array.dtype} are no 32-bit integers")


# As in `wide_loads`: a name that is the same in each process.
shared_address._set_uuid("warpladder.device.shared_adds.shared_address")
add_where._set_uuid("warpladder.device.shared_adds.add_where")
count_byte._set_uuid("warpladder.device.shared_adds.count_byte")
