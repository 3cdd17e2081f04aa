"""A launch that compiled code asks of the driver, with numbers that stand in memory.

Python gives the driver's bindings eleven numbers for a launch, and they make eleven of C of them,
each time. Of a launch like one before only addresses of arrays are new: here all else stands in
memory as the driver takes it, and Python gives where, the addresses, and the stream. Each call has
its own copy of the words of the arguments, so that threads need not wait for one another.

What belongs to a launch is done beside it: the GPU is made the thread's current one, and the one
that was so before again; and the stream is waited for, where the caller would do nothing else.

The driver tells where its functions are (``cuGetProcAddress``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from warpladder.device.cuda_memory import checked
from warpladder.device.kernel_cache import cached
from warpladder.device.native import code_of
from warpladder.device.subroutines import entry_for, subroutine
from warpladder.device.words import WORD, WORD_BYTES, read_at, write_at
from warpladder.errors import DeviceError

__all__ = ["compiled_launch", "described_launch", "gpu_at"]

# In a description stand functions of the driver; the GPU's context and the kernel; blocks, threads
# and bytes of shared memory; how many words the arguments have, and these words; and at which of
# them addresses go.
_FUNCTIONS = "cuCtxGetCurrent", "cuCtxSetCurrent", "cuLaunchKernel", "cuStreamSynchronize"
_GET_CURRENT, _SET_CURRENT, _LAUNCH, _SYNCHRONIZE, _CONTEXT, _KERNEL, _EXTENTS = range(7)
_COUNT = _EXTENTS + 7
_WORDS = _COUNT + 1

# The driver's functions as of this version, and its own way with the default stream, on which all
# others wait, whatever the bindings were told (CU_GET_PROC_ADDRESS_LEGACY_STREAM).
_VERSION, _ONE_DEFAULT_STREAM = 12000, 1


def described_launch(
    context: int,
    kernel: int,
    extents: Sequence[int],
    words: Sequence[int],
    moving: Sequence[int],
) -> ctypes.Array[ctypes.c_int64]:
    """Return a launch as `compiled_launch` reads it.

    Parameters
    ----------
    context, kernel
        The driver's handles of the GPU's context and of the kernel.
    extents
        Blocks in x, y and z, threads likewise, and bytes of dynamic shared memory.
    words
        Of the arguments, 8 bytes each.
    moving
        Which of the words are given at each launch.
    """
    functions = map(_function, _FUNCTIONS)
    described = [*functions, context, kernel, *extents, len(words), *words, *moving]
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
    """Return ``launch(address, stream, words, waits)`` for descriptions where so many words move.

    It takes the address of a description, a stream's handle, a tuple of these words, and whether to
    wait for the stream. It returns 0, or the code of the driver's fault: below 0 where it told of
    it while it was waited for.
    """
    return entry_for(_launch, 0, 0, (0,) * moving, False)


@intrinsic
def _room_for(typingctx, count):
    """Return the address of so many words on the stack of the function that asks."""

    def codegen(context, builder, signature, args):
        return builder.ptrtoint(builder.alloca(WORD, args[0]), WORD)

    return types.int64(types.int64), codegen


@subroutine
def _extent(description: Any, number: Any) -> Any:
    return np.int32(read_at(description, _EXTENTS + number))


@cached
@njit(nogil=True)
def _launch(description, stream, moving, waits):
    count = read_at(description, _COUNT)
    words = _room_for(2 * count)
    pointers = words + WORD_BYTES * count
    for number in range(count):
        write_at(words, number, read_at(description, _WORDS + number))
        write_at(pointers, number, words + WORD_BYTES * number)
    for number in range(len(moving)):
        write_at(words, read_at(description, _WORDS + count + number), moving[number])
    own, before = read_at(description, _CONTEXT), _room_for(1)
    code = code_of(read_at(description, _GET_CURRENT), (before,))
    is_elsewhere = read_at(before, 0) != own
    if not code and is_elsewhere:
        code = code_of(read_at(description, _SET_CURRENT), (own,))
    if code:
        return code
    blocks = _extent(description, 0), _extent(description, 1), _extent(description, 2)
    threads = _extent(description, 3), _extent(description, 4), _extent(description, 5)
    given = read_at(description, _KERNEL), *blocks, *threads, _extent(description, 6)
    code = code_of(read_at(description, _LAUNCH), (*given, stream, pointers, 0))
    if waits and not code:
        code = -code_of(read_at(description, _SYNCHRONIZE), (stream,))
    if is_elsewhere:
        code_of(read_at(description, _SET_CURRENT), (read_at(before, 0),))
    return code
