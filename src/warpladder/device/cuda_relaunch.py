"""Launches that Numba has made before, made again without its dispatch.

For each launch Numba finds the types of all arguments, looks for the compiled kernel, and describes
each array once more: 70 to 100 us for the eight arguments of a reduction on a Xeon, longer than
many a kernel runs. Here what kind an argument is makes a short key, under which the kernel that
Numba compiled for such arguments is kept; the driver gets the same numbers that it gets from Numba.
This leans on the inside of one release series of numba-cuda, the one that ``pyproject.toml`` asks
for; arguments of any other kind go the usual way.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Relauncher", "relaunch"]

_BEYOND = 1 << 63


class Relauncher:
    """The compiled kernels of a device, by the kinds of their arguments."""

    def __init__(self) -> None:
        from numba.cuda.cudadrv.devicearray import DeviceNDArray

        self._array_type = DeviceNDArray
        self._known: WeakKeyDictionary[Any, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()

    def described(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int]] | None:
        """Return the kinds of arguments and what the driver is given for them.

        None where one is no whole number, tuple of these, or contiguous array of Numba's.
        """
        kinds: list[Any] = []
        values: list[int] = []
        for arg in args:
            numbers = (arg,) if type(arg) is int else arg
            if type(numbers) is tuple:
                if not all(type(n) is int and -_BEYOND <= n < _BEYOND for n in numbers):
                    return None
                kinds.append(len(numbers) if numbers is arg else int)
                values += numbers
            elif type(arg) is self._array_type and arg.flags["C_CONTIGUOUS"]:
                dtype, strides = arg.dtype, arg.strides
                if 0 in strides:
                    return None
                # The type that Numba keeps at an array is slow to find for a new one.
                is_plain = dtype.isbuiltin == 1
                kinds.append((dtype.char, arg.ndim) if is_plain else arg._numba_type_)
                address = arg.device_ctypes_pointer.value or 0
                # No memory that Numba counts references of, and no owner.
                values += (0, 0, arg.size, dtype.itemsize, address, *arg.shape, *strides)
            else:
                return None
        return tuple(kinds), values

    def find(self, kernel: Any, kinds: tuple[Any, ...]) -> Any:
        """Return the compiled kernel for arguments of these kinds, None where none is kept."""
        return self._known.get(kernel, {}).get(kinds)

    def keep(self, kernel: Any, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> None:
        """Keep the compiled kernel that Numba has just launched with such arguments."""
        compiled = kernel.compile(tuple(kernel.typeof_pyval(arg) for arg in args))
        # A kernel to be debugged leaves word of its errors, which somebody has to read.
        if not (compiled.debug or compiled.cooperative or kernel.targetoptions.get("extensions")):
            self._known.setdefault(kernel, {})[kinds] = compiled


def relaunch(
    compiled: Any,
    stream: Any,
    blocks: tuple[int, ...],
    threads: tuple[int, ...],
    values: list[int],
) -> None:
    """Launch a compiled kernel on a stream of cuda.core."""
    from numba.cuda.dispatcher import launch

    function = compiled._codelibrary.get_cufunc().kernel
    launch(stream, _config(blocks, threads), function, *values)


@lru_cache(maxsize=256)
def _config(blocks: tuple[int, ...], threads: tuple[int, ...]) -> Any:
    from numba.cuda.dispatcher import LaunchConfig

    return LaunchConfig(grid=blocks, block=threads)
