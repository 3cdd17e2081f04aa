"""Numba as the compiler: from a kernel and its arguments to what a driver launches.

This is the seam. Below it stands Numba, which makes a cubin of a ``@cuda.jit`` kernel for the types
of its arguments; above it cuda.core, which knows cubins, entry points and machine words and nothing
of Numba. Another compiler of the same kernels would stand in for what is here.

Arguments are described in two ways. Their *kinds* are what a kernel is compiled for, cheap to make
and to compare: under them a compiled kernel is found again. Their *words* are what the kernel is
given: an array becomes its size, address, shape and strides, a tuple its elements.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from warpladder.device.cuda_array import CudaArray

__all__ = ["Compiled", "compile_kernel", "kinds_and_words"]

_BEYOND = 1 << 63


class Compiled(NamedTuple):
    """A kernel compiled for the kinds of its arguments.

    Attributes
    ----------
    code
        The cubin, a ``cuda.core.ObjectCode``.
    entry
        The kernel's name in it.
    is_cooperative
        Whether it has a barrier for the whole grid, so that all its blocks must be resident.
    needs_numba
        Whether only Numba can launch it: a kernel to be debugged leaves word of its errors, which
        somebody has to read, and extensions have their own way with arguments.
    """

    code: Any
    entry: str
    is_cooperative: bool
    needs_numba: bool


def kinds_and_words(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]] | None:
    """Return the kinds of arguments, and what the driver is given for them.

    None where one is of a kind that is left to Numba.
    """
    kinds: list[Any] = []
    words: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind is CudaArray:
            kinds.append(arg.kind)
            words += arg.words
        elif kind is int and -_BEYOND <= arg < _BEYOND:
            kinds.append(int)
            words.append(arg)
        elif kind is tuple:
            inner = kinds_and_words(arg)
            if inner is None:
                return None
            kinds.append(inner[0])
            words += inner[1]
        elif kind is float or kind is bool:
            kinds.append(kind)
            words.append(arg)
        elif isinstance(arg, np.generic) and arg.dtype.kind in "biuf":
            kinds.append(arg.dtype)
            words.append(ctypes.c_uint16(int(arg.view(np.uint16))) if kind is np.float16 else arg)
        else:
            return None
    return tuple(kinds), words


def compile_kernel(kernel: Any, args: tuple[Any, ...]) -> Compiled:
    """Return a kernel compiled for arguments like these and the current GPU."""
    variant = kernel.compile(tuple(kernel.typeof_pyval(arg) for arg in args))
    needs_numba = bool(variant.debug or kernel.targetoptions.get("extensions"))
    code = variant.library.get_cubin()
    return Compiled(code, variant.entry_name, bool(variant.cooperative), needs_numba)
