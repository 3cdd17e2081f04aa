"""A launch that compiled code asks of the driver, with numbers that stand in memory.

Python gives the driver's bindings eleven numbers for a launch, and they make eleven of C of them,
each time. Of a launch like one before only addresses of arrays are new: here all else stands in
memory as the driver takes it, and Python gives where, the addresses, and the stream. Each call has
its own copy of the words of the arguments, so that threads need not wait for one another.

The driver tells where its functions are (``cuGetProcAddress``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from warpladder.device.cuda_memory import checked
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import entry_for
from warpladder.device.words import WORD, WORD_BYTES, read_at, word_at, write_at
from warpladder.errors import DeviceError

__all__ = ["compiled_launch", "described_launch", "gpu_at"]

_INT = ir.IntType(32)
# In a description stand the driver's function, the kernel, blocks, threads and bytes of shared
# memory; how many words the arguments have, and these words; and at which of them addresses go.
_FUNCTION, _KERNEL, _FIRST_EXTENT, _COUNT, _WORDS = 0, 1, 2, 9, 10

# The driver's functions as of this version, and its own way with the default stream, on which all
# others wait, whatever the bindings were told (CU_GET_PROC_ADDRESS_LEGACY_STREAM).
_VERSION, _ONE_DEFAULT_STREAM = 12000, 1


def described_launch(
    kernel: int, extents: Sequence[int], words: Sequence[int], moving: Sequence[int]
) -> ctypes.Array[ctypes.c_int64]:
    """Return a launch as `compiled_launch` reads it.

    Parameters
    ----------
    kernel
        The driver's handle.
    extents
        Blocks in x, y and z, threads likewise, and bytes of dynamic shared memory.
    words
        Of the arguments, 8 bytes each.
    moving
        Which of the words are given at each launch.
    """
    described = [_function("cuLaunchKernel"), kernel, *extents, len(words), *words, *moving]
    return (ctypes.c_int64 * len(described))(*described)


def gpu_at(address: int) -> int | None:
    """Return the number of the GPU that has memory at an address; None where the driver knows none.

    Not by the bindings' own ``cuPointerGetAttribute``: of version 13.3 it answers 0 for the memory
    of every GPU.
    """
    from cuda.bindings import driver

    asked = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    number = ctypes.c_int()
    code = _pointer_attribute()(ctypes.byref(number), int(asked), address)
    return None if code else number.value


@cache
def _pointer_attribute() -> Any:
    signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
    return signature(_function("cuPointerGetAttribute"))


@cache
def _function(name: str) -> int:
    from cuda.bindings import driver

    answer = driver.cuGetProcAddress(name.encode(), _VERSION, _ONE_DEFAULT_STREAM)
    address = int(checked(f"finding the driver's {name}", answer[:2]))
    if not address:
        raise DeviceError(f"the driver has no {name} of CUDA 12; install a newer one")
    return address


@cache
def compiled_launch(moving: int) -> Any:
    """Return ``launch(address, stream, words)`` for descriptions in which so many words move.

    It takes the address of a description, a stream's handle and a tuple of these words, and returns
    the driver's code: 0, or that of a fault.
    """
    return entry_for(_launch, 0, 0, (0,) * moving)


@intrinsic
def _room_for(typingctx, count):
    """Return the address of so many words on the stack of the function that asks."""

    def codegen(context, builder, signature, args):
        return builder.ptrtoint(builder.alloca(WORD, args[0]), WORD)

    return types.int64(types.int64), codegen


@intrinsic
def _ask_driver(typingctx, description, pointers, stream):
    """Launch, with the arguments that pointers lead to."""

    def codegen(context, builder, signature, args):
        description, pointers, stream = args

        def read(place: int) -> Any:
            return builder.load(word_at(builder, description, ir.Constant(WORD, place)))

        extents = [builder.trunc(read(place), _INT) for place in range(_FIRST_EXTENT, _COUNT)]
        # To the driver, pointers are words.
        given = read(_KERNEL), *extents, stream, pointers, ir.Constant(WORD, 0)
        function = ir.FunctionType(_INT, [each.type for each in given]).as_pointer()
        answer = builder.call(builder.inttoptr(read(_FUNCTION), function), given)
        return builder.sext(answer, WORD)

    return types.int64(types.int64, types.int64, types.int64), codegen


@cached
@njit(nogil=True)
def _launch(description, stream, moving):
    count = read_at(description, _COUNT)
    words = _room_for(2 * count)
    pointers = words + WORD_BYTES * count
    for number in range(count):
        write_at(words, number, read_at(description, _WORDS + number))
        write_at(pointers, number, words + WORD_BYTES * number)
    for number in range(len(moving)):
        write_at(words, read_at(description, _WORDS + count + number), moving[number])
    return _ask_driver(description, pointers, stream)
