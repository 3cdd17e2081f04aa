"""Loads and stores of 16 bytes, and the address from which they are allowed, for kernels.

A thread can load 16 neighbouring bytes in one instruction (``LDG.E.128``, C's ``int4``) if they
begin at a multiple of 16. Numba loads element by element, and the compiler joins loads only where
it knows that the address is such a multiple; of an array passed to a kernel it knows the alignment
of one element. `load_16_bytes` asks for the wide load outright, `store_16_bytes` for the wide
store. `address_of` tells where an array begins, so that a kernel can find the first element from
which they are allowed.

The simulator knows them, by `warpladder.simulator.intrinsics.wide_loads`: there memcheck reports a
wide access that is not aligned. On a GPU it is an error that ends all work of the process there.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warpladder.device.llvm import LANE, data_of, vector_at
from warpladder.device.numba_target import cgutils, intrinsic, types
from warpladder.errors import InputTypeError

__all__ = ["WIDE_BYTES", "address_of", "load_16_bytes", "store_16_bytes"]

#: Of the widest load that every GPU has.
WIDE_BYTES = 16


@intrinsic
def load_16_bytes(typingctx: Any, array: Any, index: Any) -> Any:
    """Return the elements from ``index`` on that 16 bytes hold, as a tuple.

    Parameters
    ----------
    array
        Contiguous, in C order if it has several dimensions; of integers or floating-point numbers.
    index
        An integer for each dimension, a tuple if there are several. The first element must lie at a
        multiple of 16 bytes, and all within the last dimension, which is not checked; an index does
        not count from the end.

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
    del typingctx
    count = _elements("load_16_bytes", array, index)
    bits = int(array.dtype.bitwidth)
    words = _words_of(bits)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments, words)
        loaded = builder.load(place, align=WIDE_BYTES)
        elements = []
        for number in range(words.count):
            whole = builder.extract_element(loaded, LANE(number))
            for shift in range(0, words.element.width, bits):
                part = builder.lshr(whole, ir.Constant(words.element, shift))
                part = builder.trunc(part, ir.IntType(bits))
                elements.append(builder.bitcast(part, context.get_data_type(array.dtype)))
        return cgutils.pack_array(builder, elements)

    return types.UniTuple(array.dtype, count)(array, index), codegen


@intrinsic
def store_16_bytes(typingctx: Any, array: Any, index: Any, elements: Any) -> Any:
    """Write the elements from ``index`` on that 16 bytes hold.

    Parameters
    ----------
    array, index
        As for `load_16_bytes`.
    elements
        A tuple of numbers, as many as that returns; they are converted to the array's dtype.

    Raises
    ------
    InputTypeError
        When a kernel is compiled for another kind of array, one that is read-only, or another
        number of elements.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.device.wide_loads import load_16_bytes, store_16_bytes
    >>> from warpladder.simulator import SimulatedDevice
    >>> @cuda.jit
    ... def turn_over(matrix):
    ...     a, b, c, d = load_16_bytes(matrix, (1, 4))
    ...     store_16_bytes(matrix, (1, 4), (d, c, b, a))
    >>> device = SimulatedDevice()
    >>> matrix = device.to_device(np.arange(16, dtype=np.int32).reshape(2, 8))
    >>> device.launch(turn_over, 1, 1, matrix)
    >>> device.to_host(matrix)[1].tolist()
    [8, 9, 10, 11, 15, 14, 13, 12]
    """
    del typingctx
    count = _elements("store_16_bytes", array, index)
    if not array.mutable:
        raise InputTypeError(f"store_16_bytes: {array} is read-only")
    if not isinstance(elements, types.BaseTuple) or len(elements) != count:
        raise InputTypeError(
            f"store_16_bytes: {elements} is no tuple of the {count} elements of type "
            f"{array.dtype} that 16 bytes hold"
        )
    bits = int(array.dtype.bitwidth)
    words = _words_of(bits)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments, words)
        parts = cgutils.unpack_tuple(builder, arguments[2], count)
        joined = ir.Constant(words, ir.Undefined)
        in_word = words.element.width // bits
        for number in range(words.count):
            whole = ir.Constant(words.element, 0)
            for k, part in enumerate(parts[number * in_word : (number + 1) * in_word]):
                part = builder.bitcast(part, ir.IntType(bits))  # noqa: PLW2901 - as plain bits
                if bits < words.element.width:
                    part = builder.zext(part, words.element)  # noqa: PLW2901 - as wide as a word
                whole = builder.or_(whole, builder.shl(part, words.element(k * bits)))
            joined = builder.insert_element(joined, whole, LANE(number))
        builder.store(joined, place, align=WIDE_BYTES)
        return context.get_dummy_value()

    return types.void(array, index, types.UniTuple(array.dtype, count)), codegen


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
store_16_bytes._set_uuid("warpladder.device.wide_loads.store_16_bytes")
address_of._set_uuid("warpladder.device.wide_loads.address_of")


def _elements(name: str, array: Any, index: Any) -> int:
    """Return how many elements of the array 16 bytes hold."""
    axes = index.types if isinstance(index, types.BaseTuple) else (index,)
    contiguous = isinstance(array, types.Array) and (
        array.layout == "C" or (array.ndim == 1 and array.layout == "F")
    )
    if not contiguous or (array.ndim != 1 and len(axes) == 1):
        raise InputTypeError(
            f"{name}: {array} is no contiguous array of one dimension; of several, in C order, it "
            f"takes an index for each"
        )
    if len(axes) != array.ndim or not all(isinstance(axis, types.Integer) for axis in axes):
        raise InputTypeError(f"{name}: {index} is no index of {array}, an integer for each axis")
    if not isinstance(array.dtype, types.Integer | types.Float):
        raise InputTypeError(f"{name}: elements of type {array.dtype} are no plain numbers")
    return WIDE_BYTES * 8 // int(array.dtype.bitwidth)


def _words_of(bits: int) -> ir.VectorType:
    """Return 16 bytes as a vector of whole words: the compiler would take one of bytes apart."""
    word = ir.IntType(max(bits, 32))
    return ir.VectorType(word, WIDE_BYTES * 8 // word.width)


def _place(context: Any, builder: Any, signature: Any, arguments: Any, words: ir.VectorType) -> Any:
    """Return the address of the words that begin with the element at the index."""
    kind, index = signature.args[:2]
    array = context.make_array(kind)(context, builder, arguments[0])
    if isinstance(index, types.BaseTuple):
        parts = zip(cgutils.unpack_tuple(builder, arguments[1]), index.types, strict=True)
    else:
        parts = zip([arguments[1]], [index], strict=True)
    places = [context.cast(builder, part, axis, types.intp) for part, axis in parts]
    shape = cgutils.unpack_tuple(builder, array.shape, kind.ndim)
    whole = places[0]
    for place, extent in zip(places[1:], shape[1:], strict=True):
        whole = builder.add(builder.mul(whole, extent), place)
    return vector_at(builder, array.data, whole, words)
