"""Additions in shared memory whose result nobody asks for, as functions for kernels.

Of ``cuda.atomic.add`` on a shared array, under a condition, the compiler makes a branch, and in it
finds out anew where shared memory begins: seventeen instructions to count up by one in an array of
narrow counters. Here the condition is a predicate of the addition, and the kernel finds the address
once. That makes nine.

The simulator knows both, by `warpladder.simulator.intrinsics.shared_adds`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warpladder.device.llvm import data_of
from warpladder.device.numba_target import intrinsic, types
from warpladder.errors import InputTypeError

__all__ = ["add_where", "shared_address"]

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

    Atomic; nothing is returned. One instruction, ``ATOMS.ADD``, beside what the condition and the
    index take.

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
    if not (isinstance(array, types.Array) and array.ndim == 1 and array.layout in {"C", "F"}):
        raise InputTypeError(f"add_where: {array} is no contiguous array of one dimension")
    if not (isinstance(array.dtype, types.Integer) and array.dtype.bitwidth == _WORD.width):
        raise InputTypeError(f"add_where: elements of type {array.dtype} are no 32-bit integers")
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


# As in `wide_loads`: a name that is the same in each process.
shared_address._set_uuid("warpladder.device.shared_adds.shared_address")
add_where._set_uuid("warpladder.device.shared_adds.add_where")
