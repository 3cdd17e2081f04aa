"""What `CudaDevice` does with memory: page-locked memory, copies, fills, arrays of others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from warpladder.device.cuda_arguments import interface_of
from warpladder.device.cuda_array import CudaArray
from warpladder.device.cuda_faults import meaning_of
from warpladder.errors import DeviceError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "adopted",
    "checked",
    "copy",
    "described",
    "gathered",
    "keep",
    "lying_at",
    "page_locked",
]


def checked(doing: str, answer: tuple[Any, ...]) -> Any:
    """Return what a function of the driver answers behind its code; a code not 0 is raised."""
    code, *values = answer
    if code:
        from cuda.bindings import driver

        told = driver.cuGetErrorString(code)[1]
        said = f" ({told.decode()})" if told else ""
        raise DeviceError(f"{doing}: {code.name}{said}{meaning_of(code.name)}")
    return values[0] if values else None


def copy(doing: str, kind: str, target: int, source: int, size: int, stream: Any) -> None:
    """Copy bytes: ``kind`` is ``"HtoD"``, ``"DtoH"`` or ``"DtoD"``; without a stream, and wait."""
    from cuda.bindings import driver

    if size == 0:
        return
    if stream is None:
        checked(doing, getattr(driver, f"cuMemcpy{kind}")(target, source, size))
    else:
        call = getattr(driver, f"cuMemcpy{kind}Async")
        checked(doing, call(target, source, size, stream.handle))


class _PageLocked:
    """Page-locked memory as NumPy sees it; lives as long as an array of it."""

    def __init__(self, buffer: Any) -> None:
        self._buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "shape": (buffer.size,),
            "typestr": "|u1",
            "data": (int(buffer.handle), False),
        }


def keep(pool: Any, size: int) -> None:
    """Let a pool give back what nothing uses beyond so many bytes."""
    from cuda.bindings import driver

    attribute = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    answer = driver.cuMemPoolSetAttribute(pool.handle, attribute, driver.cuuint64_t(size))
    checked("setting up memory", answer)


def page_locked(size: int) -> NDArray[np.uint8]:
    """Return so many bytes of page-locked host memory."""
    from cuda.core import LegacyPinnedMemoryResource

    return np.asarray(_PageLocked(LegacyPinnedMemoryResource().allocate(size)))


def gathered(array: CudaArray, stream: Any) -> NDArray[Any]:
    """Return the contents of an array with gaps: all that lies between its ends is copied."""
    ends = [
        (extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)
    ]
    below, above = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
    raw = np.empty(above - below + array.dtype.itemsize, np.uint8)
    doing = f"copying {raw.nbytes} bytes from the GPU"
    copy(doing, "DtoH", raw.ctypes.data, array.address + below, raw.nbytes, stream)
    if stream is not None:
        stream.sync()
    first = raw[-below:][: array.dtype.itemsize].view(array.dtype).reshape(())
    return np.ascontiguousarray(as_strided(first, array.shape, array.strides))


def adopted(device: Any, array: Any) -> CudaArray:
    """Return an array of another library as one of ours, which shares its memory.

    Work of ours waits for the work that the other library has put on its stream.

    Raises
    ------
    InputError, InputTypeError
        As for `described`.
    """
    ours = described(device, array)
    stream = _stream_of(array)
    # 1 is the default stream, on which our own work is; 0 is how the driver calls it.
    if stream not in {None, 0, 1}:
        from cuda.core import LEGACY_DEFAULT_STREAM, Stream

        LEGACY_DEFAULT_STREAM.wait(Stream.from_handle(int(stream)))
    return ours


def described(device: Any, array: Any) -> CudaArray:
    """Return what an array's ``__cuda_array_interface__`` describes; waits for no stream.

    Raises
    ------
    InputError, InputTypeError
        It does not say where the array lies, or how; has a mask; or as for `lying_at`.
    """
    known = interface_of(array)
    address, strides = known["data"][0] or 0, known.get("strides")
    shape, dtype = tuple(known["shape"]), np.dtype(known["typestr"])
    return lying_at(device, array, address, shape, dtype, strides and tuple(strides))


def lying_at(
    device: Any,
    owner: Any,
    address: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    strides: tuple[int, ...] | None,
) -> CudaArray:
    """Return an array of another library as one of ours.

    Raises
    ------
    InputError
        Its elements lie where no GPU reads them, after which all work of the process is lost.
    """
    steps = [stride for stride, extent in zip(strides or (), shape, strict=False) if extent > 1]
    if 0 not in shape and any(place % dtype.alignment for place in (address, *steps)):
        raise InputError(
            f"an array on a GPU has elements of {dtype} that do not begin at multiples of "
            f"{dtype.alignment} bytes, as a GPU needs it; copy their bytes into an array of {dtype}"
        )
    return CudaArray.at(device, owner, address, shape, dtype, strides)


def _stream_of(array: Any) -> int | None:
    """Return the stream on which whoever made an array may still be at work on it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        # Its interface is of the version before streams.
        return int(torch.cuda.current_stream(array.device).cuda_stream)
    stream: int | None = array.__cuda_array_interface__.get("stream")
    return stream
