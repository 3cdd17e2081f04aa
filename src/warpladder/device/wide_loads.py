"""Loads of 16 bytes, and the address from which they are allowed, as functions for kernels.

A thread can load 16 neighbouring bytes in one instruction (``LDG.E.128``, C's ``int4``) if they
begin at a multiple of 16. Numba loads element by element, and the compiler joins loads only where
it knows that the address is such a multiple; of an array passed to a kernel it knows the alignment
of one element. `load_16_bytes` asks for the wide load outright. `address_of` tells where an array
begins, so that a kernel can find the first element from which wide loads are allowed.

The simulator knows both, by `warpladder.simulator.intrinsics.wide_loads`: there memcheck reports a
wide load that is not aligned. On a GPU it is an error that ends all work of the process there.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warpladder.device.llvm import data_of
from warpladder.device.numba_target import cgutils, intrinsic, types
from warpladder.errors import InputTypeError

__all__ = ["WIDE_BYTES", "address_of", "load_16_bytes"]

#: Of the widest load that every GPU has.
WIDE_BYTES = 16


@intrinsic
def load_16_bytes(typingctx: Any, array: Any, index: Any) -> Any:
    """Return the elements from ``index`` on that 16 bytes hold, as a tuple.

    Parameters
    ----------
    array
        Of one dimension and contiguous; of integers or floating-point numbers.
    index
        The first of them must lie at a multiple of 16 bytes, and all within the array, which is
        not checked; an index does not count from the end.

    Returns
    -------
    tuple
        Of 16 elements of 1 byte, 8 of 2, 4 of 4 or 2 of 8.

    Raises
    ------
    InputTypeError
        When a kernel is compiled for another kind of array.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.device.wide_loads import load_16_bytes
    >>> from warpladder.simulator import SimulatedDevice
    >>> @cuda.jit
    ... def add_four(numbers, total):
    ...     four = load_16_bytes(numbers, 4)
    ...     total[0] = four[0] + four[1] + four[2] + four[3]
    >>> device = SimulatedDevice()
    >>> total = device.empty(1, np.int32)
    >>> device.launch(add_four, 1, 1, device.to_device(np.arange(8, dtype=np.int32)), total)
    >>> device.to_host(total), device.counters.global_load_requests
    (array([22], dtype=int32), 1)
    """
    del typingctx, index
    count = _elements(array)
    bits = int(array.dtype.bitwidth)
    # A vector of whole words: the compiler would take one of bytes apart.
    word = ir.IntType(max(bits, 32))
    words = WIDE_BYTES * 8 // word.width

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        place = builder.gep(data, [arguments[1]])
        place = builder.bitcast(place, ir.VectorType(word, words).as_pointer())
        loaded = builder.load(place, align=WIDE_BYTES)
        elements = []
        for number in range(words):
            whole = builder.extract_element(loaded, ir.Constant(ir.IntType(32), number))
            for shift in range(0, word.width, bits):
                part = builder.lshr(whole, ir.Constant(word, shift))
                part = builder.trunc(part, ir.IntType(bits))
                elements.append(builder.bitcast(part, context.get_data_type(array.dtype)))
        return cgutils.pack_array(builder, elements)

    return types.UniTuple(array.dtype, count)(array, types.intp), codegen


@intrinsic
def address_of(typingctx: Any, array: Any) -> Any:
    """Return the address of an array's first element, int64."""
    del typingctx
    if not isinstance(array, types.Array):
        raise InputTypeError(f"address_of: {array} is no array")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), codegen


# Numba finds a kernel in its cache on disk by the bytes of what the kernel calls, and has a new
# random name in them for an intrinsic in each process, unless it is given one.
load_16_bytes._set_uuid("warpladder.device.wide_loads.load_16_bytes")
address_of._set_uuid("warpladder.device.wide_loads.address_of")


def _elements(array: Any) -> int:
    """Return how many elements of the array 16 bytes hold."""
    if not isinstance(array, types.Array) or array.ndim != 1 or array.layout not in {"C", "F"}:
        raise InputTypeError(f"load_16_bytes: {array} is no contiguous array of one dimension")
    if not isinstance(array.dtype, types.Integer | types.Float):
        raise InputTypeError(f"load_16_bytes: elements of type {array.dtype} are no plain numbers")
    return WIDE_BYTES * 8 // int(array.dtype.bitwidth)
