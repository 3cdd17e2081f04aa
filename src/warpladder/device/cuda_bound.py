"""A launch on a GPU that is made again and again, with other arrays in the same places.

What a launch costs is mostly finding out what it is: of which kinds its arguments are, which
machine words the kernel is given for them, whether the driver takes such a grid. Here that is done
once; of an array only the address is written anew.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from warpladder.device.cuda_arguments import with_others
from warpladder.device.cuda_array import CudaArray
from warpladder.device.cuda_current import current_context
from warpladder.device.cuda_memory import checked
from warpladder.device.cuda_streams import stream_at
from warpladder.device.driver_calls import compiled_launch, described_launch
from warpladder.errors import InputTypeError

if TYPE_CHECKING:
    from warpladder.device.cuda_current import CurrentGpu
    from warpladder.device.cuda_launcher import Ready

__all__ = ["CudaBound", "Rebound"]

# Of the words of an array, that with the address: see `CudaArray.words`.
_ADDRESS = 4


class CudaBound:
    """A launch that was checked; made by `CudaDevice.bind`.

    Parameters
    ----------
    name
        Of the kernel.
    ready
        The launch.
    args
        Of the kernel: arrays of ours, numbers, and tuples of these.
    moving
        Which of the arrays are replaced at each launch, by their number in ``args``.
    current
        Makes the GPU current.
    """

    def __init__(
        self,
        name: str,
        ready: Ready,
        args: tuple[Any, ...],
        moving: Sequence[int],
        current: CurrentGpu,
    ) -> None:
        self._name = name
        words: list[int] = []
        addresses: list[int] = []
        arrays: list[CudaArray] = []
        _lay_out(args, words, addresses, arrays)
        # What is not replaced has to live as long as this, what is should not.
        self._kept = [array for number, array in enumerate(arrays) if number not in moving]
        extents = ready.extents
        with current:
            context = int(current_context())
        self._described = described_launch(
            context,
            int(ready.loaded.kernel.handle),
            (*extents.blocks, *extents.threads, extents.shared_bytes),
            words,
            [addresses[which] for which in moving],
        )
        self._description = ctypes.addressof(self._described)
        self._start = compiled_launch(len(moving))

    def __call__(self, arrays: tuple[int, ...], stream: int = 0, waits: bool = False) -> None:
        """Launch the kernel for arrays at these addresses, on a stream of the driver."""
        code = self._start(self._description, stream, arrays, waits)
        if code:
            from cuda.bindings import driver

            doing = "waiting for the stream of" if code < 0 else "launching"
            checked(f"{doing} {self._name}", (driver.CUresult(abs(code)),))


def _lay_out(
    args: tuple[Any, ...], words: list[int], addresses: list[int], arrays: list[CudaArray]
) -> None:
    """Append the machine words of arguments, and each array with the place of its address."""
    for arg in args:
        if type(arg) is CudaArray:
            arrays.append(arg)
            addresses.append(len(words) + _ADDRESS)
            words.extend(arg.words)
        elif type(arg) is tuple:
            _lay_out(arg, words, addresses, arrays)
        elif type(arg) is float:
            words.extend(struct.unpack("q", struct.pack("d", arg)))
        elif type(arg) is int:
            words.append(arg)
        else:
            raise InputTypeError(
                f"args: {type(arg).__name__} cannot be bound, only arrays of ours, int and float"
            )


class Rebound:
    """A launch that is put together anew each time: kernels that are timed, or that Numba launches.

    Parameters
    ----------
    launch
        `CudaDevice.launch`.
    given
        Its arguments: kernel, grid, block and those of the kernel.
    moving, current
        As for `CudaBound`.
    """

    def __init__(
        self,
        launch: Callable[..., None],
        given: tuple[Any, ...],
        moving: Sequence[int],
        current: CurrentGpu,
    ) -> None:
        self._launch, self._current = launch, current
        # Without the memory of what is replaced, which others may want back.
        self._given = with_others(
            given, CudaArray, lambda number, array: array.moved(0) if number in moving else array
        )
        self._moving = moving

    def __call__(self, arrays: tuple[int, ...], stream: int = 0, waits: bool = False) -> None:
        """Launch the kernel for arrays at these addresses, on a stream of the driver."""
        there = dict(zip(self._moving, arrays, strict=True))
        args = with_others(
            self._given[3:],
            CudaArray,
            lambda number, array: array.moved(there[number]) if number in there else array,
        )
        self._launch(*self._given[:3], *args, stream=stream_at(stream))
        if waits:
            with self._current:
                stream_at(stream).sync()
